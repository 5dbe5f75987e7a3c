"""A name that cannot be drawn, or a form that cannot, keeps nobody from the rest of a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import typst
from typer.testing import CliRunner

from bdt_core.harmless import harmless
from bdt_core.report.pdf import LACKS
from bdt_core.words import printable
from bdt_pipeline.cli import app
from bdt_pipeline.commands import console
from tests.core.report.names_of_the_world import names

REGIONS = {"north": "उत्तर", "south": "👨\u200d👩\u200d👧", "east": "\U00013000", "west": "العربية"}
FORMS = {"report.html", "report.md", "report.json", "report.pdf"}
NOT_DRAWN = "report.pdf: It could not be drawn (TypstError), and is not there; the other files are."


@pytest.fixture
def spec_file(
    loans: pd.DataFrame, make_spec: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The specification of an audit of people whose regions have names of four scripts."""
    monkeypatch.chdir(tmp_path)
    regions = dict(zip(loans["region"].unique(), REGIONS.values(), strict=False))
    loans.assign(region=loans["region"].map(regions)).to_csv("loans.csv", index=False)
    path = tmp_path / "loans.yaml"
    path.write_text(json.dumps(make_spec("loans.csv").to_dict()))
    return path


def bdt(*given: object) -> Any:
    return CliRunner().invoke(app, list(map(str, given)), env={"COLUMNS": "200"})


def broken(*_: Any, **__: Any) -> bytes:
    raise typst.TypstError("no such glyph")


def test_a_level_without_a_font_keeps_all_forms(spec_file: Path, tmp_path: Path) -> None:
    made = bdt("audit", spec_file, "--out", "report")
    assert made.exit_code == 0, made.output
    assert {one.name for one in (tmp_path / "report").iterdir()} == FORMS
    assert f"report.pdf: {LACKS}" in made.stderr
    assert all(one in (tmp_path / "report" / "report.html").read_text(encoding="utf-8") for one in REGIONS.values())
    assert "report.html, report.pdf and report.md say what report.json does" in bdt("verify", "report").stdout


def test_a_command_says_which_form_is_not_there(
    spec_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("typst.Compiler", broken)
    made = bdt("audit", spec_file, "--out", "report")
    assert made.exit_code == 2
    assert NOT_DRAWN in made.stderr
    assert "report.html" in made.stdout
    assert {one.name for one in (tmp_path / "report").iterdir()} == FORMS - {"report.pdf"}
    filled = bdt("dossier", "report/report.json", "--form", "fria", "--out", "form")
    assert filled.exit_code == 2
    assert {one.name for one in (tmp_path / "form").iterdir()} == {"fria.html", "fria.md"}
    gated = bdt("gate", spec_file, "--report", "gated")
    assert (gated.exit_code, NOT_DRAWN in gated.stderr) == (3, True)  # which is what the rows say of the limits
    checked = bdt("verify", "report")
    assert "report.html and report.md say what report.json does" in checked.stdout


def test_dagster_says_which_form_is_not_there(
    make_spec: Callable[..., Any], instance: dg.DagsterInstance, up_to_report: None, run_audit: Any,
    values_of_loans: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("typst.Compiler", broken)
    ran = run_audit(make_spec(values_of_loans.parent / "loans.csv"), instance, only=["bias_report"])
    assert ran.success
    (event,) = ran.asset_materializations_for_node("loans__bias_report")
    assert event.metadata["what the files lack"].value == f"- {NOT_DRAWN}"
    assert {f"where report.{form} is" for form in ("html", "md", "json")} <= event.metadata.keys()
    assert "where report.pdf is" not in event.metadata


def test_the_terminal_has_every_name(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    named = [f"n{number:03} {name}" for number, name in enumerate(names(500))]
    console.show_notes(console.console(), named)
    shown = capsys.readouterr().out
    assert [one for one in named if harmless(printable(one)).strip() not in shown] == []
