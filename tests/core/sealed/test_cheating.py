"""Recipes for an undeserved Pass are told on page 1 of the next look; honest histories accuse nobody."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult, audit
from bdt_core.report.markdown import render_markdown
from bdt_core.sealed import looking as looking_module
from bdt_core.sealed.ledger import FILE
from bdt_core.sealed.looking import looking
from bdt_core.spec import parse_spec

SPEC: dict[str, Any] = {
    "name": "loans",
    "source": {"path": "loans.csv"},
    "bias_variable": {"derive": "positive_prediction", "prediction": "refused", "better": "lower"},
    "protected": ["sex"],
    "gate": [{"check": "worst_group", "max_difference": 0.05}],
    "worst_groups": {"permutations": 39},
    "clustering": None,
    "slices": None,
}


def people(seed: int = 0, n: int = 2_000) -> pd.DataFrame:
    rng = np.random.default_rng([32, seed])
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(10, 1, n).round(),
            "days": rng.integers(0, 900, n),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "south", "east", "west"], n),
            "education": rng.choice(list("abcd"), n),
        }
    )
    worse = frame["sex"].eq("f") & frame["region"].eq("south")
    return frame.assign(refused=(rng.random(n) < 0.15 + 0.3 * worse).astype(int))


FRAME = people()
SOUTH = FRAME["sex"].eq("f") & FRAME["region"].eq("south")


def looked_at(folder: Path, frame: pd.DataFrame, **changes: Any) -> AuditResult:
    spec = parse_spec({**SPEC, **changes})
    with looking(folder, spec, "audit") as look:
        return audit(frame, spec).recorded(look)


def page_1(result: AuditResult) -> str:
    """The line on looks; nothing of a first one."""
    found = re.search(r"^- \*\*Looks\*\*: (.*)$", render_markdown(result.document), re.MULTILINE)
    return "" if found is None else found.group(1).replace("\\", "")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The ledger after one honest look, which fails."""
    folder = tmp_path_factory.mktemp("reports")
    result = looked_at(folder, FRAME)
    assert result.verdict == "fail"
    assert page_1(result) == ""
    assert result.document == audit(FRAME, parse_spec(SPEC)).document
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path, before: dict[str, bytes]) -> Path:
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


Recipe = tuple[Callable[[], pd.DataFrame], dict[str, Any], str]
RECIPES: dict[str, Recipe] = {
    "another seed": (lambda: FRAME, {"split": {"random_state": 7}}, "seed"),
    "limit moved": (
        lambda: FRAME, {"gate": [{"check": "worst_group", "max_difference": 0.5}]}, "from 0.05 to 0.5|from 5 to 50",
    ),
    "share raised": (
        lambda: FRAME, {"gate": [{"check": "worst_group", "max_difference": 0.05, "min_share": 0.3}]}, "30 of 100",
    ),
    "factor added": (lambda: FRAME, {"legitimate": ["region"]}, "region"),
    "column dropped": (lambda: FRAME.drop(columns="region"), {}, "No longer in the table: region"),
    "column excluded": (lambda: FRAME, {"features": {"exclude": ["region"]}}, "region"),
    "protected column dropped": (lambda: FRAME.drop(columns="sex"), {"protected": []}, "No longer in the table: sex"),
    "coarse bins": (lambda: FRAME.assign(days=FRAME["days"] // 400), {}, "column days has 3 values, and had"),
    "positive redefined": (
        lambda: FRAME,
        {"bias_variable": {"derive": "positive_prediction", "prediction": "refused", "positive": 0, "better": "lower"}},
        "positive",
    ),
    "direction turned round": (
        lambda: FRAME,
        {"bias_variable": {"derive": "positive_prediction", "prediction": "refused", "better": "higher"}},
        "better|higher",
    ),
    "limit on something else": (lambda: FRAME, {"gate": [{"check": "declared_group", "max_difference": 0.5}]}, "limit"),
    "rows removed": (lambda: FRAME[~(SOUTH & FRAME["refused"].eq(1))], {}, "of the people are no longer in the table"),
    "rows repeated": (lambda: pd.concat([FRAME, *[FRAME[~SOUTH]] * 3]), {}, "rows, and had 2,000"),
    "another name": (lambda: FRAME, {"name": "credit"}, "was called loans before"),
    "another name and other names of columns": (
        lambda: FRAME.rename(columns={"age": "a", "income": "b", "region": "c"}), {"name": "credit"}, "called loans",
    ),
    "the file split": (lambda: FRAME[: len(FRAME) // 2], {}, "of the people are no longer in the table"),
    "outcomes blanked": (
        lambda: FRAME.assign(refused=FRAME["refused"].where(~(SOUTH & (FRAME["refused"] == 1)))),
        {},
        "outcomes are known, and 2,000 were",
    ),
    "outcomes edited": (
        lambda: FRAME.assign(refused=FRAME["refused"].where(~SOUTH, 0)), {}, "outcomes of the same people",
    ),
    "alpha changed": (
        lambda: FRAME, {"significance": {"alpha": 0.001}, "worst_groups": {"permutations": 1_999}}, "0.001|level",
    ),
    "search switched off": (
        lambda: FRAME, {"worst_groups": None, "gate": []}, "search for the worst|limit",
    ),
    "majority of empty limits": (
        lambda: FRAME, {"require": "majority", "gate": [{"check": "worst_group", "max_difference": 0.9}] * 2}, "limit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_told_on_page_1(recipe: str, folder: Path) -> None:
    frame, changes, told = RECIPES[recipe]
    line = page_1(looked_at(folder, frame(), **changes))
    assert "One look at these people, or some of them, came before this one." in line
    assert re.search(told, line), line


def test_the_same_look_again_is_no_further_one_and_gives_the_same_report(folder: Path) -> None:
    """Its answer is the same however often it is asked for."""
    turned = FRAME[FRAME.columns[::-1]]
    first, again = (looked_at(folder, turned.sample(frac=1.0, random_state=n)) for n in (1, 2))
    assert page_1(first) == page_1(again) == ""
    assert first.document == again.document
    other = looked_at(folder, FRAME, name="other")
    assert len(other.document["looks"]["earlier"]) == 1
    assert looked_at(folder, turned).document == first.document
    assert looked_at(folder, FRAME, name="other").document == other.document
    third = looked_at(folder, FRAME, name="third")
    assert [one["name"] for one in third.document["looks"]["earlier"]] == ["loans", "other"]


def test_another_kind_of_file_is_known(folder: Path, tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "x.parquet")
    line = page_1(looked_at(folder, pd.read_parquet(tmp_path / "x.parquet"), name="other"))
    assert "One look at these people" in line


def test_a_ledger_that_was_cut_is_told(folder: Path) -> None:
    lines = (folder / FILE).read_bytes().splitlines(keepends=True)
    (folder / FILE).write_bytes(lines[0])
    assert (
        "The record of looks is not whole: lines were missing at the end, or other ones stood there, before line 2"
        in page_1(looked_at(folder, FRAME))
    )


def test_a_ledger_that_was_taken_away_is_told_by_the_reports_beside_it(folder: Path) -> None:
    looked_at(folder, FRAME).write(folder / "first")
    for path in folder.glob("looks.*"):
        path.unlink()
    assert "1 reports stood beside it when it began which it does not list" in page_1(looked_at(folder, FRAME))


def test_a_clock_that_was_turned_back_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking_module, "now", lambda: "2020-01-01T00:00:00Z")
    assert "the clock was turned back" in page_1(looked_at(folder, FRAME))


def test_a_look_that_was_stopped_is_counted(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt), looking(folder, parse_spec({**SPEC, "gate": []}), "gate"):
        raise KeyboardInterrupt
    assert "One more was stopped" in page_1(looked_at(folder, FRAME, split={"random_state": 7}))
    assert page_1(looked_at(folder, FRAME)) == ""  # that look came before


def test_a_look_that_cannot_be_recorded_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    line = page_1(looked_at(tmp_path / "file", FRAME))
    assert "this look cannot be recorded" in line


@pytest.mark.parametrize("kind", ["daily batches", "new models", "mended file", "renamed columns"])
def test_honest_histories_accuse_nobody(kind: str, tmp_path: Path) -> None:
    """Words of reproach stand nowhere; other people are not taken for the same."""
    for day in range(4):
        frame, changes = honest(kind, day)
        line = page_1(looked_at(tmp_path, frame, **changes))
        assert "not whole" not in line
        assert not re.search("limit|protected|level|seed|o longer in the table|search", line), line
        if kind == "daily batches":
            assert line == ""


def honest(kind: str, day: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    rng = np.random.default_rng([33, day])
    match kind:
        case "daily batches":
            return people(100 + day), {}
        case "new models":
            return FRAME.assign(refused=(rng.random(len(FRAME)) < 0.2).astype(int)), {}
        case "mended file":
            return FRAME.assign(income=FRAME["income"].where(rng.random(len(FRAME)) > 0.01, 30_000 + day)), {}
        case _:
            return FRAME.rename(columns={"days": f"days_{day}"}) if day > 2 else FRAME, {}
