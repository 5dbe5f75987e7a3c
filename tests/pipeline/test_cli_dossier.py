"""``bdt dossier``: forms from a report, or from a specification that is audited first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from bdt_core.report import for_publication
from bdt_pipeline.cli import app

EVERYTHING = Path(__file__).parents[1] / "goldens" / "everything.json"


@pytest.fixture
def bdt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command, run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *given: CliRunner().invoke(app, [str(one) for one in given], env={"COLUMNS": "200"})


def test_a_form_is_filled_in_from_a_report(bdt: Callable[..., Result], tmp_path: Path) -> None:
    given = ("dossier", EVERYTHING, "--form", "annex-iv", "--language", "nl", "--out", "files")
    made = bdt(*given)
    assert made.exit_code == 0, made.output
    assert "van de 36 velden zijn ingevuld" in made.output
    assert {one.name for one in (tmp_path / "files").iterdir()} == {"annex-iv.html", "annex-iv.md", "annex-iv.pdf"}
    assert (
        (tmp_path / "files" / "annex-iv.md")
        .read_text()
        .startswith("# Technische documentatie (Bijlage IV): everything")
    )
    again = bdt(*given)
    assert again.exit_code == 0  # the same form again changes nothing
    other = bdt(*given[:5], "en", *given[6:])
    assert other.exit_code == 2
    assert "holds a report already (annex-iv.html, annex-iv.md, annex-iv.pdf)" in other.output.replace("\n", " ")


def test_whoever_fills_in_a_public_form_from_the_owners_report_is_told(
    bdt: Callable[..., Result], tmp_path: Path
) -> None:
    told = "owner's report, which names small groups"
    assert told in bdt("dossier", EVERYTHING, "--form", "register").stderr
    published = for_publication(json.loads(EVERYTHING.read_text(encoding="utf-8")))
    (tmp_path / "report.json").write_text(json.dumps(published))
    made = bdt("dossier", "report.json", "--form", "register")
    assert (made.exit_code, made.stderr) == (0, "")


def test_cards_are_written_for_machines_too(bdt: Callable[..., Result], tmp_path: Path) -> None:
    made = bdt("dossier", EVERYTHING, "--form", "system-card")
    assert made.exit_code == 0, made.output
    (folder,) = (tmp_path / "bdt-reports").iterdir()
    assert folder.name == "everything-system-card-1"
    card = json.loads((folder / "system-card.json").read_text())
    written = (folder / "system-card.yaml").read_text()
    assert card == yaml.safe_load(written)
    assert "&id" not in written  # everybody reads it, and nobody has to look up what stands elsewhere
    assert card["name"] == "everything"


def test_a_specification_is_audited_first(bdt: Callable[..., Result], tmp_path: Path) -> None:
    pd.DataFrame({"age": [*range(20, 70)] * 10, "wrong": [0, 1, 0, 0, 1] * 100}).to_csv(tmp_path / "a.csv", index=False)
    spec = {
        "name": "ages",
        "source": {"path": "a.csv"},
        "bias_variable": {"column": "wrong"},
        "clustering": {"stability": 0, "n_init": 1, "max_iter": 1},
        "slices": None,
        "language": "nl",
        "about": {"purpose": "Leeftijden"},
    }
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(spec))
    made = bdt("dossier", "a.yaml", "--form", "fria", "--out", "files")
    assert made.exit_code == 0, made.output
    told = (tmp_path / "files" / "fria.md").read_text()
    assert "| Waar het voor dient<br>*FRIA a* | Leeftijden<br>*→ /spec/about/purpose* |" in told


def test_local_law_144_says_on_a_web_page_whether_it_has_expired(bdt: Callable[..., Result], tmp_path: Path) -> None:
    report = json.loads(EVERYTHING.read_text(encoding="utf-8"))
    report["spec"]["about"] = {"tested_on": "2025-11-28", "owner": "<b>Employer</b>", "contact": "hr@example.org"}
    (tmp_path / "report.json").write_text(json.dumps(report))
    for day, says, banner in (
        ("2026-11-28", "On 28 November 2026 that year has not passed.", "pass"),
        ("2026-11-29", "On 29 November 2026 that year has passed: the tool may not be used", "fail"),
    ):
        made = bdt("dossier", "report.json", "--form", "ll144", "--on", day, "--out", day)
        assert made.exit_code == 0, made.output
        page = (tmp_path / day / "ll144.html").read_text()
        assert "The audit is of 28 November 2025. The tool may be used until 28 November 2026" in page
        assert says in page
        assert f'class="verdict {banner}"' in page
        assert "at least 10 business days before" in page
        assert "&lt;b&gt;Employer&lt;/b&gt; uses an automated employment decision tool, [not given]" in page
        assert "if there is one: hr@example.org." in page
        assert "<script" not in page
        assert says in " ".join((tmp_path / day / "ll144.md").read_text().split())
    unknown = bdt("dossier", EVERYTHING, "--form", "ll144", "--on", "2026-11-28", "--out", "unknown")
    assert unknown.exit_code == 0, unknown.output
    assert "so it is not known until when it holds" in (tmp_path / "unknown" / "ll144.html").read_text()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((EVERYTHING, "--form", "fria", "--on", "2026-11-28"), "--on goes with --form ll144: no other form expires."),
        ((EVERYTHING, "--form", "fri"), 'There is no form "fri". Did you mean "fria"?'),
        ((EVERYTHING, "--form", "fria", "--language", "de"), 'There are no forms in "de"; there are in en, nl.'),
        (("none.json", "--form", "fria"), "none.json cannot be read: No such file or directory."),
        (("a.json", "--form", "fria"), "a.json is no report of version 1 or 2."),
        (("b.json", "--form", "fria"), "b.json is not valid JSON."),
        (("c.json", "--form", "fria"), "c.json is damaged"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(
    given: tuple[str, ...], says: str, bdt: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "c.json").write_text(json.dumps({**json.loads(EVERYTHING.read_text()), "clusters": 3}))
    refused = bdt("dossier", *given)
    assert refused.exit_code == 2
    assert says in refused.output.replace("\n", " ")
