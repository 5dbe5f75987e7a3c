"""Doors of the command line record looks in one ledger, and ``bdt looks`` shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bdt_pipeline.cli import app
from tests.core.report.browser import chromium
from tests.core.sealed.test_cheating import FRAME
from tests.pipeline.sealed.conftest import write_key

SPEC = """name: loans
source: {path: loans.csv}
bias_variable: {derive: positive_prediction, prediction: refused, better: lower}
protected: [sex]
gate: [{check: worst_group, max_difference: LIMIT}]
worst_groups: {permutations: 39}
clustering: null
slices: null
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("loans.csv", index=False)
    (tmp_path / "loans.yaml").write_text(SPEC.replace("LIMIT", "0.05"))
    return tmp_path


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_audit_and_gate_are_looks_at_the_same_people(folder: Path) -> None:
    run("audit", "loans.yaml")
    (folder / "loans.yaml").write_text(SPEC.replace("LIMIT", "0.5"))
    answer = json.loads(run("gate", "loans.yaml", "--format", "json"))
    assert [one["door"] for one in answer["looks"]["earlier"]] == ["audit"]
    assert answer["looks"]["earlier"][0]["verdict"] == "fail"
    assert "was moved" in answer["looks"]["earlier"][0]["changes"][0]
    told = run("looks")
    assert told.index("FAIL") < told.index("PASS") < told.index("was moved")


def test_a_table_that_cannot_be_audited_leaves_a_stopped_look(folder: Path) -> None:
    (folder / "loans.csv").write_text("age,sex\n1,f\n")
    run("gate", "loans.yaml", code=2)
    events = [json.loads(line) for line in (folder / "bdt-reports" / "looks.jsonl").read_text().splitlines()]
    assert [(one["event"], one.get("why")) for one in events] == [("begun", None), ("stopped", "DataError")]


def test_another_folder_can_hold_the_ledger(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BDT_LOOKS", str(folder / "shared"))
    run("gate", "loans.yaml", code=1)
    assert {path.name for path in folder.iterdir()} == {"loans.csv", "loans.yaml", "shared"}
    assert "FAIL" in run("looks")


def test_what_is_not_there_is_named(folder: Path) -> None:
    assert "no look is recorded there" in run("looks", code=2)
    run("gate", "loans.yaml", code=1)
    assert 'no look of an audit "lons"' in run("looks", "--name", "lons", code=2)
    assert 'there is no "fr"' in run("looks", "--language", "fr", code=2)
    (folder / "bdt-reports" / "looks.jsonl").write_bytes(b"")
    assert "lines are missing at the end" in run("looks", code=1)


def test_the_page_is_signed_and_checked(folder: Path) -> None:
    run("gate", "loans.yaml", code=1)
    write_key(folder / "clerk", 5)
    run("looks", "--out", "history", "--key", "clerk")
    files = {path.name for path in (folder / "history").iterdir()}
    assert files == {f"looks.{form}{end}" for form in ("html", "pdf", "md", "json") for end in ("", ".sig")}
    ledger = "bdt-reports/looks.jsonl"
    for form in ("html", "pdf", "md", "json"):
        told = run("verify", f"history/looks.{form}", "--key", "clerk.pub", "--ledger", ledger)
        assert "Holds: Signed by SHA256:" in told
        assert ("Holds: The page tells of all lines of the ledger." in told) == (form == "json")
        assert "name the public key" in run("verify", f"history/looks.{form}", code=2)
    (folder / "history" / "looks.md").write_text("# All is well")
    assert "Does not hold" in run("verify", "history/looks.md", "--key", "clerk.pub", code=1)
    (folder / "history" / "looks.md.sig").unlink()
    assert "Does not hold: Nobody signed the page." in run("verify", "history/looks.md", "--key", "clerk.pub", code=1)
    run("gate", "loans.yaml", "--data", "loans.csv", code=1)
    told = run("verify", "history/looks.json", "--key", "clerk.pub", "--ledger", ledger, code=1)
    assert "The ledger has other lines than the page tells of." in told
    assert "--key needs --out" in run("looks", "--key", "clerk", code=2)


def test_the_page_has_room_for_all_that_it_says(folder: Path) -> None:
    more = "{metric: demographic_parity_difference, facet: sex, max: 0.01}, {check: declared_group}"
    counted = "groups: {prediction: refused, positive: 1}\n"
    for limits in ("", f", {more}"):
        text = SPEC.replace("LIMIT}", "0.05}" + limits).replace("name: loans", f"name: people_who_ask{'_now' * 3}")
        (folder / "loans.yaml").write_text(text + counted)
        run("gate", "loans.yaml", "--report", f"bdt-reports/{len(limits)}", code=1)
    run("looks", "--out", "history")
    run("overview", "--out", "overview.html")
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 900, "height": 800})
        for file, cell in (
            ("history/looks.html", "demographic_parity_difference by sex was added"),
            ("overview.html", "declared_group"),
        ):
            page.goto((folder / file).as_uri())
            assert cell in page.inner_text("table")
            assert page.evaluate("document.documentElement.scrollWidth") <= 900
            assert page.evaluate(
                "[...document.querySelectorAll('.scroll')].every(x => x.scrollWidth <= x.clientWidth)"
            ), file


def test_batches_of_the_audit_stand_on_the_page(folder: Path) -> None:
    text = (folder / "loans.yaml").read_text() + "groups: {prediction: refused, positive: 1}\n"
    (folder / "loans.yaml").write_text(text.replace("worst_group,", "declared_group,"))
    run("gate", "loans.yaml", "--storage", "kept", code=1)
    told = run("looks", "--name", "loans", "--storage", "kept", "--out", "history")
    assert told.count("1 batch; the latest is") == 1
    page = (folder / "history" / "looks.md").read_text()
    assert "## What all batches show together" in page
    assert "1 batch; the latest is" in page
    assert "--storage needs --name" in run("looks", "--storage", "kept", code=2)
    run("looks", "--out", "without")
    assert "all batches" not in (folder / "without" / "looks.md").read_text()
