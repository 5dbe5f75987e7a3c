"""The commands, as somebody at a terminal meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner, Result

from bdt_core.audit import audit
from bdt_core.harmless import without_controls
from bdt_core.inference.settled import settled_limit
from bdt_core.spec import LANGUAGES, AuditSpec, load_spec, parse_spec
from bdt_core.spec.audit_spec import SAID
from bdt_core.table.sources import read_table
from bdt_pipeline.cli import app

REPORTS = {"report.json", "report.html", "report.pdf", "report.md"}


@pytest.fixture
def bdt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return lambda *arguments: CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def spec_file(loans_file: Path, make_spec: Callable[..., AuditSpec], tmp_path: Path) -> Callable[..., Path]:
    """Writes a specification."""

    def write(**changes: Any) -> Path:
        path = tmp_path / "loans.yaml"
        path.write_text(yaml.safe_dump(make_spec(loans_file.name, **changes).to_dict()))
        return path

    return write


@pytest.mark.parametrize("argument", ["--version", "--help", "schema"])
def test_version_help_and_schema_do_not_wait_for_the_method(argument: str) -> None:
    run = [sys.executable, "-X", "importtime", "-m", "bdt_pipeline.cli", argument]
    result = subprocess.run(run, capture_output=True, text=True, check=True)
    imported = {line.rsplit("|", 1)[-1].strip() for line in result.stderr.splitlines()}
    assert "typer" in imported
    assert not imported & {"dagster", "great_expectations", "numpy", "pandas", "scipy", "sklearn", "numba"}
    assert result.stdout
    if argument == "schema":
        assert json.loads(result.stdout)["properties"]["bias_variable"]


def test_help_says_of_every_command_what_it_does_to_the_end(bdt: Callable[..., Result]) -> None:
    listed = bdt("--help").stdout.partition("Commands:\n")[2]
    names = {one.name or one.callback.__name__ for one in app.registered_commands if one.callback is not None}
    assert {line.split()[0] for line in listed.splitlines() if not line.startswith("    ")} == names
    assert "..." not in listed
    assert listed.count(".\n") == len(names)
    assert max(map(len, listed.splitlines())) <= 80


@pytest.mark.parametrize("command", [["gate"], ["seal"], ["compare", "loans.yaml"]])
@pytest.mark.parametrize("name", ["loans.csv", "loans.parquet", "loans"])
def test_a_table_in_place_of_a_specification_is_named(
    command: list[str], name: str, bdt: Callable[..., Result], spec_file: Callable[..., Path], loans: pd.DataFrame
) -> None:
    table = spec_file().parent / name
    if name == "loans":
        table.mkdir()
    elif name == "loans.parquet":
        loans.to_parquet(table)
    result = bdt(*(spec_file() if one.endswith("yaml") else one for one in command), table)
    assert result.exit_code == 2
    assert result.stderr == f"Error: {table} is no specification, and this takes one. Write it with: bdt init {table}\n"


@pytest.mark.parametrize("command", ["demo", "init", "audit", "gate", "schema"])
def test_every_command_has_an_example(command: str, bdt: Callable[..., Result]) -> None:
    assert f"bdt {command}" in bdt(command, "--help").stdout


def test_audit_of_a_specification(bdt: Callable[..., Result], spec_file: Callable[..., Path], tmp_path: Path) -> None:
    for number in (1, 2):
        result = bdt("audit", spec_file(gate=[{"check": "worst_cluster"}]))
        assert result.exit_code == 0
        assert "FAIL" in result.stdout
        assert "Who is worse off?" in result.stdout
        assert all(name in result.stdout for name in REPORTS)
        folder = tmp_path / "bdt-reports" / f"loans-{number}"
        assert {path.name for path in folder.iterdir()} == REPORTS


def test_audit_for_publication(bdt: Callable[..., Result], spec_file: Callable[..., Path], tmp_path: Path) -> None:
    path = spec_file(gate=[{"check": "worst_cluster"}])
    result = bdt("audit", str(path), "--for", "publication", "--out", str(tmp_path / "for-others"))
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "for-others" / "report.json").read_text(encoding="utf-8"))
    assert document["publication"]["base"] == 10
    assert document["data"] | {"rows": 0, "rows_audited": 0} == {
        "source": "a table that this form does not name", "fingerprint": "", "columns": [], "rows_left_out": [],
        "rows": 0, "rows_audited": 0,
    }  # fmt: skip
    told = " ".join(result.output.split())
    assert "This form is for publication." in told
    assert f"This is about {document['findings']['findings'][0]['rows']} people" in told
    assert "Is there a difference that must be explained? Yes" in told


def test_a_new_key_of_the_noise_is_named_once(
    bdt: Callable[..., Result], spec_file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "keys" / "publication.key"
    monkeypatch.setenv("BDT_PUBLICATION_KEY", str(key))
    outputs = []
    for number in (1, 2):
        result = bdt("audit", str(spec_file()), "--for", "publication", "--out", str(tmp_path / str(number)))
        assert result.exit_code == 0, result.output
        outputs.append("".join(result.output.split()))
    assert [f"{key}isnew" in one for one in outputs] == [True, False]
    forms = [(tmp_path / str(number) / "report.json").read_bytes() for number in (1, 2)]
    assert forms[0] == forms[1]
    assert key.read_bytes().strip() not in forms[0]
    key.write_text("no key")
    refused = bdt("audit", str(spec_file()), "--for", "publication", "--out", str(tmp_path / "3"))
    assert refused.exit_code == 2
    assert "holds no key" in refused.output
    assert not (tmp_path / "3").exists()


def test_audit_of_a_table(bdt: Callable[..., Result], loans_file: Path, tmp_path: Path) -> None:
    options = ["--bias-variable", "error", "--protected", "sex, region", "--better", "higher", "--exclude", "person_id"]
    result = bdt("audit", loans_file, *options, "--out", tmp_path / "here")
    assert result.exit_code == 0
    spec = json.loads((tmp_path / "here" / "report.json").read_text())["spec"]
    assert spec["bias_variable"]["column"] == "error"
    assert spec["bias_variable"]["better"] == "higher"
    assert (spec["protected"], spec["features"]["exclude"]) == (["sex", "region"], ["person_id", "repaid", "approved"])


def test_the_command_line_goes_before_the_specification(
    bdt: Callable[..., Result], spec_file: Callable[..., Path], tmp_path: Path
) -> None:
    labels = ["--label", "repaid", "--prediction", "approved", "--derive", "false_negative_rate"]
    result = bdt("audit", spec_file(), *labels, "--out", tmp_path / "here")
    assert result.exit_code == 0
    bias = json.loads((tmp_path / "here" / "report.json").read_text())["spec"]["bias_variable"]
    assert (bias["derive"], bias["column"], bias["label"]) == ("false_negative_rate", None, "repaid")


@pytest.mark.parametrize(("wanted", "code"), [("fail", 1), ("pass", 0), ("inconclusive", 3), ("not_testable", 3)])
def test_gate_tells_by_its_exit_code(
    wanted: str, code: int, bdt: Callable[..., Result], spec_file: Callable[..., Path]
) -> None:
    found = audit(None, load_spec(spec_file(gate=[{"check": "worst_cluster"}]))).document["gate"][0]
    limit = {"fail": found["low"] / 2, "pass": 1.0, "inconclusive": found["difference"]}.get(wanted, 0.05)
    margin = 100.0 if wanted == "not_testable" else 0.0
    result = bdt("gate", spec_file(gate=[{"max_difference": limit}], clustering={"margin": margin}))
    assert result.exit_code == code
    assert result.stdout.startswith(wanted.replace("_", " ").upper() + ": loans: ")
    assert len(result.stdout.splitlines()) == 1


def test_gate_that_could_not_run(bdt: Callable[..., Result], spec_file: Callable[..., Path]) -> None:
    assert bdt("gate", spec_file(protected=["nobody"])).exit_code == 2


def test_demo_runs_the_audit_through_dagster(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "DAGSTER_HOME"}
    result = subprocess.run(
        [sys.executable, "-m", "bdt_pipeline.cli", "demo"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "FAIL" in result.stdout
    assert "May it be used? No, not as it is" in result.stdout
    assert "dagster" not in (result.stdout + result.stderr).lower().replace(str(tmp_path).lower(), "")
    assert {path.name for path in (tmp_path / "bdt-reports" / "compas-1").iterdir()} == REPORTS
    assert {path.name for path in tmp_path.iterdir()} == {"bdt-reports"}


def test_a_case_is_told_alike_in_every_language() -> None:
    """The same method, and as much is said of it."""
    from bdt_pipeline.commands.run_demo import CASES, demo_spec

    for case in CASES:
        told = {language: demo_spec(case, language) for language in LANGUAGES}
        assert [spec.language for spec in told.values()] == list(LANGUAGES)
        for spec in told.values():
            ours, first = (one.to_dict() for one in (spec, told["en"]))
            assert {key: ours[key] for key in ours if key not in SAID} == {
                key: first[key] for key in first if key not in SAID
            }
            assert spec.units.keys() == told["en"].units.keys()
            assert spec.about.model_fields_set == told["en"].about.model_fields_set
        titles = {spec.title for spec in told.values()}
        assert len(titles) == len(LANGUAGES)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [(("--case", "grant"), 'Did you mean "grants"?'), (("--language", "xx"), "there are for en, nl")],
)
def test_demo_of_nothing(wanted: tuple[str, ...], said: str, bdt: Callable[..., Result]) -> None:
    result = bdt("demo", *wanted)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


@pytest.mark.parametrize("data", ["demo:compas", "demo:adult"])
def test_init_writes_a_specification_that_runs(data: str, bdt: Callable[..., Result], tmp_path: Path) -> None:
    result = bdt("init", data)
    assert result.exit_code == 0
    spec = load_spec(tmp_path / f"{data.removeprefix('demo:')}.yaml")
    assert spec.bias_variable.derive == "error"
    assert {"race", "sex"} <= set(spec.protected)
    told = spec.to_dict()
    fewer_draws = {
        "clustering": {**told["clustering"], "stability": 0}, "worst_groups": {"permutations": 39},
        "split": {**told["split"], "repeats": 1},
    }  # fmt: skip
    people = read_table(str(spec.source.path)).head(8_000)  # the source that it names; not of all is it asked
    assert audit(people, parse_spec({**told, **fewer_draws})).document["clusters"]


def test_init_says_which_limit_on_the_worst_group_the_rows_settle(bdt: Callable[..., Result], tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    table = pd.DataFrame({"age": rng.normal(50, 9, 2_000).round(1), "fined": (rng.random(2_000) < 0.2).astype(int)})
    for rows in (2_000, 400):
        table[:rows].to_csv(tmp_path / f"fines{rows}.csv", index=False)
        settled = settled_limit(rows, base_rate=table["fined"][:rows].mean(), share=0.05)
        sentence = (
            "So few rows rule nothing out, as groups from 5.0 % of the people on are too small: a limit can be broken, "
            "and not be kept."
            if settled is None
            else "So many rows can rule out that any group from 5.0 % of the people on fares worse by more than about "
            f"{100 * settled:.1f} points: a smaller limit can be broken, and hardly be kept."
        )
        assert (settled is None) == (rows == 400)
        result = bdt("init", f"fines{rows}.csv")
        assert sentence in " ".join(result.stdout.split())
        assert f"# {sentence}\n" in (tmp_path / f"fines{rows}.yaml").read_text()


def test_init_asks_who_wants_a_positive_prediction(
    bdt: Callable[..., Result], loans_file: Path, tmp_path: Path
) -> None:
    """The limit that it offers needs the answer; with one of the lines that it offers, both run."""
    assert bdt("init", loans_file).exit_code == 0
    path = tmp_path / "loans.yaml"
    text = path.read_text()
    assert bdt("audit", path).exit_code == 0
    limited = text.replace("  # - {metric: four_fifths_ratio, facet: sex", "  - {metric: four_fifths_ratio, facet: sex")
    assert limited != text
    path.write_text(limited)
    refused = bdt("audit", path)
    assert refused.exit_code == 2
    assert '"favourable: positive"' in " ".join(refused.stderr.split())
    path.write_text(limited.replace("# favourable: positive", "favourable: positive"))
    assert bdt("audit", path).exit_code == 0


def test_what_init_offers_of_local_bias_runs(bdt: Callable[..., Result], loans_file: Path, tmp_path: Path) -> None:
    assert bdt("init", loans_file).exit_code == 0
    path = tmp_path / "loans.yaml"
    assert load_spec(path).local_bias is None
    path.write_text(path.read_text().replace("# local_bias: {", "local_bias: {"))
    spec = load_spec(path)
    assert spec.local_bias is not None
    assert spec.local_bias.group == "sex"


def test_init_recognises_what_cannot_be_a_feature(
    bdt: Callable[..., Result], loans: pd.DataFrame, tmp_path: Path
) -> None:
    table = loans.assign(
        number=range(len(loans)),
        opened="2024-05-01",
        closed=[f"2024-05-{1 + i % 28:02d}" for i in range(len(loans))],
        zip_code=[10000 + i % 40 for i in range(len(loans))],
        country="DE",
        credit_score=range(len(loans), 0, -1),
    )
    (tmp_path / "data").mkdir()
    table.to_csv(tmp_path / "data" / "loans.csv", index=False)
    result = bdt("init", "data/loans.csv", "--out", "specs/loans.yaml")
    assert result.exit_code == 0
    assert "bdt audit specs/loans.yaml" in result.stdout
    spec = load_spec(tmp_path / "specs" / "loans.yaml")
    assert Path(spec.source.path).resolve() == tmp_path / "data" / "loans.csv"
    assert {"person_id", "number", "opened", "closed", "country"} <= set(spec.features.exclude)
    assert "error" in spec.features.leaks  # which is what is measured
    assert set(spec.features.include or []) == {"age", "region", "income", "zip_code"}
    assert spec.features.kinds == {"zip_code": "categorical"}
    assert spec.protected == ["sex"]
    assert (spec.bias_variable.label, spec.bias_variable.prediction) == ("repaid", "approved")


def test_init_marks_what_it_cannot_guess_and_its_file_runs_all_the_same(
    bdt: Callable[..., Result], loans: pd.DataFrame, tmp_path: Path
) -> None:
    loans[["age", "region", "income"]].to_csv(tmp_path / "people.csv", index=False)
    said = bdt("init", tmp_path / "people.csv")
    assert said.exit_code == 0
    listed = said.stdout.partition("To look at:")[2]
    assert "GUESS" in listed
    assert "protected" in listed
    text = (tmp_path / "people.yaml").read_text()
    assert "  column: income  # TODO: is this to be measured?" in text
    assert "# TODO: THIS IS A GUESS" in text
    result = bdt("audit", "people.yaml")
    assert result.exit_code == 0
    document = json.loads((tmp_path / "bdt-reports" / "people-1" / "report.json").read_text())
    assert document["spec"]["bias_variable"]["column"] == "income"


def test_audit_of_a_table_alone_says_first_what_it_took_for_what(
    bdt: Callable[..., Result], loans: pd.DataFrame, tmp_path: Path
) -> None:
    loans.drop(columns=["repaid", "approved"]).to_csv(tmp_path / "people.csv", index=False)
    result = bdt("audit", "people.csv", "--exclude", "region", "--out", "here")
    assert result.exit_code == 0
    assert result.stderr.startswith("No specification was given. people.csv was taken for this; to change it: bdt init")
    assert 'Measured: "error"; lower is better.' in result.stderr
    spec = json.loads((tmp_path / "here" / "report.json").read_text())["spec"]
    assert spec["bias_variable"]["column"] == "error"
    assert spec["protected"] == ["sex"]
    assert spec["features"]["exclude"] == ["person_id", "region"]


def test_half_of_what_is_to_be_measured_is_not_completed_by_guesses(
    bdt: Callable[..., Result], loans_file: Path
) -> None:
    for half in (["--label", "repaid"], ["--derive", "error"]):
        result = bdt("audit", loans_file, *half)
        assert result.exit_code == 2
        assert "What shall be measured?" in result.stderr


def test_init_writes_no_character_that_turns_or_controls(
    bdt: Callable[..., Result], loans: pd.DataFrame, tmp_path: Path
) -> None:
    names = {"income": "in\u202ecome\x1b[31m", "region": "::error::\x9bregion"}
    loans = loans.rename(columns=names)
    loans["sex"] = loans["sex"].astype(str) + "\u2066"
    loans.to_parquet(tmp_path / "loans.parquet")
    assert bdt("init", tmp_path / "loans.parquet").exit_code == 0
    written = (tmp_path / "loans.yaml").read_text(encoding="utf-8")
    assert without_controls(written) == written
    assert set(names.values()) <= set(yaml.safe_load(written)["features"]["include"])


def test_init_overwrites_nothing(bdt: Callable[..., Result], loans_file: Path, tmp_path: Path) -> None:
    (tmp_path / "loans.yaml").write_text("mine")
    result = bdt("init", loans_file)
    assert result.exit_code == 2
    assert "not overwritten" in result.stderr
    assert (tmp_path / "loans.yaml").read_text() == "mine"


def test_init_of_text_labels_says_which_is_positive(
    bdt: Callable[..., Result], loans: pd.DataFrame, tmp_path: Path
) -> None:
    words = {0: "no", 1: "yes"}
    table = loans.assign(repaid=loans["repaid"].map(words), approved=loans["approved"].map(words))
    table.to_csv(tmp_path / "loans.csv", index=False)
    bdt("init", tmp_path / "loans.csv")
    spec = load_spec(tmp_path / "loans.yaml")
    assert spec.bias_variable.positive == ["yes"]
    assert audit(None, spec).document["clusters"]


def test_init_leaves_the_direction_open_where_nothing_tells_and_the_audit_waits(
    bdt: Callable[..., Result], loans: pd.DataFrame, tmp_path: Path
) -> None:
    loans[["age", "region", "error"]].rename(columns={"error": "y"}).to_csv(tmp_path / "open.csv", index=False)
    made = bdt("init", "open.csv")
    assert made.exit_code == 0
    assert "answer the question marked ANSWER_THIS" in made.stdout
    file = tmp_path / "open.yaml"
    assert "\n  better: ANSWER_THIS\n" in file.read_text()
    for command in ("audit", "gate"):
        waits = bdt(command, "open.yaml")
        assert waits.exit_code == 2
        assert "bias_variable.better (line" in waits.stderr
        assert 'Write "better: lower" where more of it is worse' in waits.stderr
    file.write_text(file.read_text().replace("ANSWER_THIS", "lower"))
    assert bdt("audit", "open.yaml", "--out", tmp_path / "answered").exit_code == 0


def test_a_table_alone_is_audited_with_a_guess_that_is_told_first(
    bdt: Callable[..., Result], loans: pd.DataFrame, tmp_path: Path
) -> None:
    loans[["age", "region", "error"]].rename(columns={"error": "y"}).to_csv(tmp_path / "open.csv", index=False)
    made = bdt("audit", "open.csv", "--out", tmp_path / "guessed")
    assert made.exit_code == 0
    before, _, _ = made.stdout.partition("Who is worse off?")
    assert "which is a guess" in " ".join(before.split())
    said = bdt("audit", "open.csv", "--better", "lower", "--out", tmp_path / "said")
    assert "guess" not in said.stdout
    stored = json.loads((tmp_path / "said" / "report.json").read_text())["bias_variable"]
    assert (stored["better"], stored["better_by"]) == ("lower", "said")
