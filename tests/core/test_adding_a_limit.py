"""A kind of limit is one file and one entry point of another package: each door finds it there."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pypdf
import pytest
import yaml
from jsonschema import Draft202012Validator

from bdt_core import audit, said
from bdt_core.errors import SpecError
from bdt_core.report import for_publication
from bdt_core.report.comment import render_comment
from bdt_core.report.dossier import FORMS, build_dossier, dossier_markdown
from bdt_core.report.gate_result import build_gate_result
from bdt_core.report.html import render_html
from bdt_core.report.junit import render_junit
from bdt_core.report.markdown import render_markdown
from bdt_core.report.pdf import render_pdf
from bdt_core.result import Result
from bdt_core.spec import json_schema, parse_spec
from bdt_core.spec.gate import KINDS_OF_LIMIT
from bdt_core.verdict import LIMITS, GateResult, register
from tests.core.report.described import document_schema
from tests.core.verdict.against import against
from tests.core.verdict.test_evidence import QUICK, people
from tests.pipeline.conftest import run

NAME = "persons_harmed"
GATE = [{"check": NAME, "max_people": 5_000}, {"check": NAME, "max_people": 50}]
PLUGIN = Path(__file__).parents[1] / "plugins" / "persons_harmed.py"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package beside the product, as an installer leaves it: a module, and the entry point that names it."""
    site = tmp_path / "site"
    told = site / "bdt_harmed-1.0.dist-info"
    told.mkdir(parents=True)
    shutil.copy(PLUGIN, site / "bdt_harmed.py")
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: bdt-harmed\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(f"[bdt.limits]\n{NAME} = bdt_harmed\n")
    monkeypatch.syspath_prepend(str(site))
    yield site
    LIMITS.pop(NAME, None)
    KINDS_OF_LIMIT.pop(NAME, None)
    said.TRANSLATED.clear()
    sys.modules.pop("bdt_harmed", None)


@pytest.fixture
def result(installed: Path) -> Any:
    return audit(people(), outcome="fined", better="lower", **QUICK, gate=GATE)


def in_language(document: dict[str, Any], language: str) -> dict[str, Any]:
    return document | {"spec": document["spec"] | {"language": language}}


def test_without_the_package_nobody_knows_it():
    with pytest.raises(SpecError, match=f'there is no check "{NAME}"'):
        parse_spec({"name": "x", "source": {"path": "x.csv"}, "bias_variable": {"column": "y"}, "gate": GATE})


def test_the_gate_judges_it_by_what_it_found(result):
    group = result.worst_groups.groups[0]
    wide, narrow = result.gate.limits
    assert narrow.verdict == "fail"
    assert narrow.low == math.floor(group.rows * result.worst_groups.at_least(group))
    assert wide.verdict == "pass"
    assert result.gate.blocks
    assert "Nothing but" not in result.gate.sentence
    assert result.gate.to_frame()[["check", "verdict", "maximum"]].values.tolist() == [
        [NAME, "pass", 5_000],
        [NAME, "fail", 50],
    ]
    again: Result = GateResult.from_dict(result.gate.to_dict())
    assert again == result.gate


def test_specification_and_report_have_it_in_their_schemas(result):
    spec = {"name": "x", "source": {"path": "x.csv"}, "gate": GATE, "bias_variable": {"column": "y"}}
    Draft202012Validator(json_schema()).validate(spec)
    with pytest.raises(SpecError, match="max_peeple.*max_people"):
        parse_spec(spec | {"gate": [{"check": NAME, "max_peeple": 5}]})
    Draft202012Validator(document_schema()).validate(result.document)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("People harmed beyond others", "at most 50 people", "people are harmed beyond others, at least")),
        ("nl", ("Mensen extra benadeeld", "hoogstens 50 mensen", "mensen zijn extra benadeeld, minstens")),
    ],
)
def test_each_form_of_the_report_says_it_in_its_own_unit(result, language: str, words: tuple[str, ...]):
    document = in_language(result.document, language)
    pages = [render_markdown(document), render_html(document)]
    pages.append("".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(render_pdf(document))).pages))
    for page in pages:
        assert all(word in " ".join(page.split()).replace("\xa0", " ") for word in words)
        assert "5000.0 points" not in page
        assert "5,000 points" not in page
    dossier = "\n".join(dossier_markdown(build_dossier(document, form, language)) for form in FORMS)
    assert words[0] in dossier
    assert " ".join(words[1].split()[-2:]) in dossier.replace("\xa0", " ")


def test_a_form_for_publication_tells_the_limit_and_no_number_of_people(result):
    form = for_publication(result.document)
    _, narrow = form["gate"]
    assert (narrow["verdict"], narrow["maximum"]) == ("fail", 50)
    assert (narrow["group"], narrow["value"], narrow["low"], narrow["high"]) == (None, None, None, None)
    assert narrow["sentence"] == (
        "People harmed beyond others: at most 50 people is allowed; what was found lies beyond that."
    )
    assert "at most 50 people" in render_markdown(form)


def test_what_a_ci_system_reads_has_it(result):
    found = build_gate_result(result.document, 1)
    assert [one["outcome"] for one in found["limits"]] == ["holds", "stops"]
    assert f"Fail: {NAME}" in render_junit(found)
    assert "at most 50 people is allowed" in render_comment(result.document, found)


def test_a_baseline_is_compared_in_its_unit(result):
    compared = against(result.document, result.document)
    assert [one.change for one in compared.limits] == ["not_worse", "not_worse"]
    assert compared.limits[1].sentence.startswith(f"People harmed beyond others ({NAME}): ")
    assert "points" not in compared.limits[1].sentence


def test_dagster_checks_it_on_the_asset_that_it_is_judged_by(installed: Path, tmp_path: Path):
    people().to_csv(tmp_path / "fines.csv", index=False)
    spec = parse_spec(
        {**QUICK, "source": {"path": str(tmp_path / "fines.csv")}, "gate": GATE, "language": "nl",
         "bias_variable": {"column": "fined", "better": "lower"}}
    )  # fmt: skip
    with dg.DagsterInstance.ephemeral() as instance:
        done = run(spec, instance, config={"output": str(tmp_path / "out")})
    checks = {one.check_name: one for one in done.get_asset_check_evaluations()}
    assert (checks[NAME].passed, checks[f"{NAME}_2"].passed) == (True, False)
    assert checks[NAME].asset_key.path[-1] == "worst_groups"
    assert checks[f"{NAME}_2"].severity == dg.AssetCheckSeverity.ERROR
    assert [one.passed for one in checks.values() if one.asset_key.path[-1] == "bias_report"] == [False]


def test_the_command_line_stops_by_it_in_a_process_of_its_own(installed: Path, tmp_path: Path):
    people().to_csv(tmp_path / "fines.csv", index=False)
    spec = {
        **QUICK,
        "source": {"path": "fines.csv"},
        "gate": GATE,
        "bias_variable": {"column": "fined", "better": "lower"},
    }
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(spec))
    path = os.pathsep.join([str(installed), str(Path(__file__).parents[2])])
    program = [sys.executable, "-m", "bdt_pipeline.cli", "gate", "audit.yaml", "--report", "out"]
    done = subprocess.run(
        program, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "at most 50 people is allowed" in done.stdout
    limits = json.loads((tmp_path / "out" / "report.json").read_text())["gate"]
    assert [one["kind"] for one in limits] == [NAME, NAME]


def test_a_report_of_a_package_that_is_gone_says_what_to_install(result, installed: Path, monkeypatch):
    document = json.loads(json.dumps(result.document))
    monkeypatch.syspath_prepend(str(installed.parent))
    sys.path.remove(str(installed))
    for registry in (LIMITS, KINDS_OF_LIMIT):
        registry.pop(NAME)
    with pytest.raises(SpecError, match=f'Nobody knows the kind of limit "{NAME}": install the package'):
        render_markdown(document)


def test_an_entry_that_would_hide_another_or_could_not_be_published_is_refused(installed: Path):
    parse_spec({"name": "x", "source": {"path": "x.csv"}, "bias_variable": {"column": "y"}, "gate": GATE})
    entry = LIMITS[NAME]
    with pytest.raises(SpecError, match=f'a kind of limit "{NAME}" already'):
        register(entry)
    shown = type("Shown", (type(entry),), {"published": frozenset()})()
    LIMITS.pop(NAME)
    with pytest.raises(SpecError, match=r"HarmedOutcome.maximum could not be left out .* Shown.published"):
        register(shown)


def test_a_package_that_cannot_be_imported_is_named(installed: Path):
    (installed / "bdt_harmed.py").write_text("raise RuntimeError('no licence')\n")
    with pytest.raises(SpecError, match=f'"{NAME}" cannot be loaded from bdt_harmed: no licence'):
        json_schema()
