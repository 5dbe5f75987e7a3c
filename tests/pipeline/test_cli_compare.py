"""``bdt compare``: from two specifications, or one and an option, to the page and the exit code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from bdt_pipeline.cli import app

FILES = {"comparison.json", "comparison.html", "comparison.pdf", "comparison.md"}
ROWS = 1500


def flat(made: Result) -> str:
    return " ".join(made.output.split())


@pytest.fixture
def bdt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command, in a folder with a table, its later version, and a specification of each."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "person": range(1000, 1000 + ROWS),
            "sex": np.where(rng.random(ROWS) < 0.4, "f", "m"),
            "age": rng.integers(18, 80, ROWS),
            "repaid": rng.integers(0, 2, ROWS),
        }
    )
    table["granted"] = np.where(rng.random(ROWS) < 0.8, table.repaid, 1 - table.repaid)
    flipped = (table.sex == "f") & (rng.random(ROWS) < 0.25)
    table["new"] = np.where(flipped, 1 - table.repaid, table.granted)
    table.drop(columns="new").to_csv("before.csv", index=False)
    table[100:].drop(columns="granted").to_csv("after.csv", index=False)
    table.to_csv("both.csv", index=False)
    spec: dict[str, Any] = {
        "name": "loans",
        "source": {"path": "before.csv"},
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
        "features": {"include": ["age"]},
        "protected": ["sex"],
        "clustering": {"stability": 0, "n_init": 1, "max_iter": 1},
        "worst_groups": None,
        "slices": None,
        "split": {"repeats": 1},
    }
    later = {**spec, "source": {"path": "after.csv"}, "bias_variable": {**spec["bias_variable"], "prediction": "new"}}
    Path("before.yaml").write_text(yaml.safe_dump(spec))
    Path("after.yaml").write_text(yaml.safe_dump({**later, "language": "nl"}))
    Path("both.yaml").write_text(yaml.safe_dump({**spec, "source": {"path": "both.csv"}}))
    return lambda *given: CliRunner().invoke(app, ["compare", *map(str, given)], env={"COLUMNS": "200"})


def test_two_specifications_of_the_same_people(bdt: Callable[..., Result], tmp_path: Path) -> None:
    made = bdt("before.yaml", "after.yaml", "--key", "person", "--max-worse", "0.02", "--out", "out")
    assert made.exit_code == 1, made.output
    assert "Mag B in de plaats komen van A? Nee, niet zoals het nu is" in made.output
    assert "VOLDOET NIET sex is f: wat foutpercentage betreft +" in flat(made)
    assert "procentpunt slechter af; toegestaan is hoogstens 2,0 procentpunt." in flat(made)
    assert {one.name for one in (tmp_path / "out").iterdir()} == FILES
    found = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert found["people"] == {
        "paired_by": "key", "a": ROWS - 100, "b": ROWS - 100, "only_a": 100, "only_b": 0, "elsewhere": 0
    }  # fmt: skip
    assert found["limit"]["verdict"] == "fail"
    before = (tmp_path / "out" / "comparison.pdf").read_bytes()
    assert bdt("before.yaml", "after.yaml", "--key", "person", "--max-worse", "0.02", "--out", "out").exit_code == 1
    assert (tmp_path / "out" / "comparison.pdf").read_bytes() == before


def test_other_people_are_compared_without_a_key(bdt: Callable[..., Result], tmp_path: Path) -> None:
    made = bdt("before.yaml", "after.yaml")
    assert made.exit_code == 0, made.output  # nothing is judged
    (folder,) = (tmp_path / "bdt-reports").iterdir()
    assert folder.name == "loans-compared-1"
    assert json.loads((folder / "comparison.json").read_text())["people"]["paired_by"] is None


def test_two_models_in_one_table(bdt: Callable[..., Result], tmp_path: Path) -> None:
    made = bdt("both.yaml", "--prediction-b", "new", "--out", "out")
    assert made.exit_code == 0, made.output
    found = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert (found["people"]["paired_by"], found["people"]["a"]) == ("row", ROWS)
    assert (found["name_a"], found["name_b"]) == ("granted", "new")
    women = next(one for one in found["groups"] if one["who"] == "sex is f")
    assert women["change"]["says"] == "worse"


def test_another_table_and_what_it_can_tell(bdt: Callable[..., Result], tmp_path: Path) -> None:
    pd.read_csv("before.csv")[700:].to_csv("few.csv", index=False)
    made = bdt("before.yaml", "--data-b", "few.csv", "--max-worse", "0.01", "--out", "out")
    assert made.exit_code == 3, made.output
    assert re.search(r"INCONCLUSIVE .*: worse in error rate by −?\S+ to \+\S+ points; at most 1.0 points", flat(made))
    passed = bdt("before.yaml", "--data-b", "few.csv", "--max-worse", "0.5", "--out", "passed")
    assert passed.exit_code == 0, passed.output
    assert "Yes, within this limit" in passed.output


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("both.yaml",), "What is B? Name a second specification, or a column with the other model's predictions"),
        (("both.yaml", "--prediction-b", "nwe"), 'There is no column "nwe", which B measures. Did you mean "new"?'),
        (("none.yaml", "both.yaml"), "none.yaml"),
        (("before.yaml", "after.yaml", "--key", "age", "--max-worse", "-1"), "is 0 or more; found -1."),
        (("before.yaml", "after.yaml", "--key", "name"), '"split.key" names the column "name"'),
        (("before.yaml", "--data-b", "none.csv"), "none.csv"),
    ],
)
def test_what_is_wrong_says_how_to_mend_it(bdt: Callable[..., Result], given: tuple[str, ...], says: str) -> None:
    made = bdt(*given)
    assert made.exit_code == 2
    assert says in flat(made)
    assert not Path("bdt-reports").exists()


def test_two_reports(bdt: Callable[..., Result], tmp_path: Path) -> None:
    report = str(Path(__file__).parents[1] / "goldens" / "everything.json")
    made = bdt(report, report, "--max-worse", "0.02", "--out", "out")
    assert made.exit_code == 3, made.output
    assert "Nobody can say yet whether anybody is better or worse off" in made.output
    found = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert {one["who"] for one in found["groups"]} >= {"sex is f", "race is a"}
    for given, says in (
        ((report, "both.yaml"), "Two report.json can be compared, or two specifications: name two of a kind."),
        ((report, report, "--key", "person"), "A report says no more than what is in it"),
        ((report, "none.json"), "none.json cannot be read"),
    ):
        wrong = bdt(*given)
        assert wrong.exit_code == 2
        assert says in flat(wrong)


def test_help_has_examples_and_exit_codes(bdt: Callable[..., Result]) -> None:
    told = flat(bdt("--help"))
    assert "bdt compare loans.yaml --prediction-b new_model" in told
    assert "3 inconclusive it is certain of nobody" in told
