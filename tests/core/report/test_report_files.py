"""Writing the files, and the schema of the document."""

import copy
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bdt_core.audit import audit
from bdt_core.errors import OutputError
from bdt_core.report import canonical_json, render_html, write_reports
from bdt_core.report.printed import printed, printed_once
from bdt_core.result import SCHEMA_MINOR, SCHEMA_VERSION
from bdt_core.spec import parse_spec
from tests.core.report.described import described, described_and_nothing_else, document_schema
from tests.core.report.sample_document import DOCUMENTS, fail

COMPAS = {
    "name": "compas",
    "source": {"path": "demo:compas"},
    "bias_variable": {"derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk"},
    "features": {"include": ["age", "priors_count", "c_charge_degree"]},
    "protected": ["race", "sex"],
    "clustering": {"stability": 2},
    "worst_groups": {"permutations": 39},
}


@cache
def of_compas() -> dict[str, Any]:
    """A real audit's report; tests only read it."""
    return audit(None, COMPAS).document


@pytest.fixture(scope="module")
def document() -> Iterator[dict[str, Any]]:
    """A report that is written many times, and drawn once as far as its forms share what is drawn."""
    one = fail()
    with printed_once(one):
        yield one


def test_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(document_schema())


def test_a_real_audit_gives_what_the_schema_describes_and_nothing_else():
    document = of_compas()
    described_and_nothing_else().validate(json.loads(canonical_json(document)))
    assert 'id="clusters"' in render_html(document)


@pytest.mark.parametrize("name", list(DOCUMENTS))
def test_the_samples_of_these_tests_are_what_the_schema_describes(name):
    described_and_nothing_else().validate(DOCUMENTS[name]())


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("verdict", "verdict"), "maybe"),
        (("clusters", 0, "test_rows"), -1),
        (("clusters", 0, "comparison", "p_value"), "small"),
        (("schema_version",), 3),
        (("bias_variable", "better"), "bigger"),
        (("gate", 0, "kind"), "metric"),
        (("gate", 1, "severity"), "awful"),
        (("groups", "facets", 0, "groups", 0, "rows"), -1),
        (("groups", "facets", 0, "groups", 0, "rates", "accuracy", "estimate"), "high"),
        (("groups", "facets", 0, "bias_score", "severity"), "awful"),
        (("groups", "facets", 0, "clarify", 0, "values", 0, "low"), "low"),
    ],
)
def test_schema_refuses(path, wrong):
    document = copy.deepcopy(fail())
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = wrong
    with pytest.raises(jsonschema.ValidationError):
        described().validate(document)


def members_of_report() -> list[str]:
    """Every member of report.json, by the part that it is of."""
    schema = document_schema()
    parts = {"report": schema, **schema["$defs"]}
    return [f"{part}.{member}" for part, one in sorted(parts.items()) for member in sorted(one.get("properties", ()))]


def test_an_addition_raises_the_minor_number_and_nothing_is_taken_away():
    """`members.txt` begins with both numbers; whoever adds a member raises the second one, and writes it there."""
    version, *known = (Path(__file__).parent / "members.txt").read_text().splitlines()
    members = members_of_report()
    assert [one for one in known if one not in members] == [], "a version never loses a member: raise SCHEMA_VERSION"
    assert [one for one in members if one not in known] == [], "added: raise SCHEMA_MINOR, and name it in members.txt"
    assert version == f"{SCHEMA_VERSION}.{SCHEMA_MINOR}"
    assert of_compas()["schema_minor"] == SCHEMA_MINOR


def test_a_report_of_before_the_minor_number_is_read():
    older = {key: one for key, one in fail().items() if key != "schema_minor"}
    assert printed(older).schema_minor == 0
    assert printed(fail() | {"schema_minor": SCHEMA_MINOR + 1}).schema_minor == SCHEMA_MINOR + 1


def test_the_printed_specification_can_be_used_again():
    import yaml

    from bdt_core.report.page import build_page
    from bdt_core.spec.audit_spec import printed_specification

    document = of_compas()
    (repeat,) = (one for one in build_page(document).sections if one.name == "repeat")
    code = repeat.blocks[1].blocks[0].text
    assert printed_specification(parse_spec(yaml.safe_load(code))) == document["spec"]


def test_four_files_are_written_and_the_data_is_canonical(tmp_path):
    files = write_reports(fail(), tmp_path / "new" / "folder")
    assert sorted(files) == ["html", "json", "md", "pdf"]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
        "report.html",
        "report.json",
        "report.md",
        "report.pdf",
    ]
    written = files["json"].read_text(encoding="utf-8")
    assert json.loads(written) == fail()
    assert written == json.dumps(json.loads(written), sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    assert files["html"].read_text(encoding="utf-8") == render_html(fail())


def test_same_files_twice(tmp_path):
    one, other = write_reports(fail(), tmp_path / "a"), write_reports(fail(), tmp_path / "b")
    assert all(one[form].read_bytes() == other[form].read_bytes() for form in one)


@pytest.mark.parametrize("taken", ["report.json", "report.pdf"])
def test_a_report_is_never_overwritten(document, tmp_path, taken):
    (tmp_path / taken).write_text("mine")
    with pytest.raises(OutputError, match=rf"holds a report already \({taken}\)"):
        write_reports(document, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "mine"


def test_a_place_that_cannot_be_written_says_so(document, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="cannot be written"):
            write_reports(document, folder)


def test_nothing_is_left_when_writing_breaks_off(document, tmp_path, monkeypatch):
    def broken(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", broken)
    with pytest.raises(OutputError, match="No space left on device"):
        write_reports(document, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o027, 0o640)])
def test_who_may_read_a_report_is_for_the_umask_to_say(document, tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        files = write_reports(document, tmp_path / "new")
    finally:
        os.umask(before)
    assert {one.stat().st_mode & 0o777 for one in files.values()} == {mode}


def test_halves_of_surrogate_pairs_do_not_stop_the_report(tmp_path):
    document = fail()
    document["warnings"] = ["name \udc80 here"]
    files = write_reports(document, tmp_path / "a")
    assert json.loads(files["json"].read_text(encoding="utf-8"))["warnings"] == ["name \udc80 here"]
    assert "name \ufffd here" in files["html"].read_text(encoding="utf-8")


def test_json_never_holds_what_json_does_not_know():
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"x": float("nan")})
