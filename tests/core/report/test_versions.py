"""Reports of version 1 of the schema are read as they were written; sentences of version 2 come back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bdt_core.report import for_publication, render_markdown
from bdt_core.report.document import Document
from bdt_core.report.dossier import FORMS, build_dossier, dossier_markdown
from bdt_core.report.printed import printed
from bdt_core.said import Column, Level, Said, say
from bdt_core.sentences import sentences_of, with_sentences
from bdt_core.words import count, printable
from bdt_pipeline.commands.run_dossier import read_report
from tests.core.verdict.against import against
from tests.goldens.frozen import FOLDER

EARLIER, NOW = (Path(__file__).parent / name for name in ("version_1", "version_2"))
"""The same audits, as either version wrote them: figures that audits find otherwise since are no matter of versions."""
NAMES = sorted(one.stem for one in EARLIER.iterdir())


def of_version_1(name: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((EARLIER / f"{name}.json").read_text())
    assert report["schema_version"] == 1
    return report


def of_now(name: str, *, language: str = "en") -> dict[str, Any]:
    """A report of today; for another language without the messages of its sentences, which version 1 has not."""
    report: dict[str, Any] = json.loads((NOW / f"{name}.json").read_text())
    assert report["schema_version"] == 2
    if language != "en":
        del report["sentences"]
    return report


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", "nl"])
def test_a_report_of_version_1_is_printed_as_that_of_today(name: str, language: str) -> None:
    earlier, now = (printed(one).in_language(language) for one in (of_version_1(name), of_now(name, language=language)))
    assert render_markdown(earlier) == render_markdown(now)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", FORMS)
def test_dossiers_read_version_1(name: str, form: str) -> None:
    read_report(EARLIER / f"{name}.json")
    for language in ("en", "nl"):
        both = (of_version_1(name), of_now(name, language=language))
        earlier, now = (build_dossier(one, form, language) for one in both)
        assert dossier_markdown(earlier) == dossier_markdown(now)


@pytest.mark.parametrize("name", NAMES)
def test_a_form_for_publication_is_made_of_version_1(name: str) -> None:
    earlier, now = (for_publication(one) for one in (of_version_1(name), of_now(name)))
    for one in (earlier, now):  # the older report knows of fewer texts what their messages are
        del one["sentences"]
    assert earlier == now


@pytest.mark.parametrize("name", NAMES)
def test_a_baseline_may_be_of_version_1(name: str) -> None:
    now = of_now(name)
    assert against(now, of_version_1(name)) == against(now, now)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json"), key=lambda one: one.name))
def test_sentences_come_back(file: Path) -> None:
    report = json.loads(file.read_text())
    if "sentences" not in report:
        assert file.name.endswith(".gate.json")
        return
    known = with_sentences(report)
    assert known == report, "the English text is the same"
    assert sentences_of({name: one for name, one in known.items() if name != "sentences"}) == report["sentences"]
    assert Document.model_validate(known).to_dict()["sentences"] == report["sentences"], "no model loses a message"


def test_every_kind_of_value_comes_back() -> None:
    inner = say("{column} is {value}", column=Column("a/b~c"), value=Level("1.0", "a/b~c", is_number=True))
    text = say("{rows} rows where {group} in {data}", rows=count(1200), group=inner, data="x")
    document = {"p~a/r/t": ["plain", {"q": text}], "capital": Said("Where", "where", {})}
    back = with_sentences(json.loads(json.dumps(document | {"sentences": sentences_of(document)})))
    again = back["p~a/r/t"][1]["q"]
    assert (again, again.id) == (text, text.id)
    assert type(again.values["rows"]) is type(text.values["rows"])
    level = again.values["group"].values["value"]
    assert (level, level.column, level.is_number) == ("1.0", "a/b~c", True)
    assert (back["capital"], back["capital"].id) == ("Where", "where")


def test_what_is_read_is_not_changed() -> None:
    document = {"notes": [{"text": say("{n} rows", n=count(3))}]}
    plain = json.loads(json.dumps(document | {"sentences": sentences_of(document)}))
    assert isinstance(with_sentences(plain)["notes"][0]["text"], Said)
    assert type(plain["notes"][0]["text"]) is str


def test_values_of_sentences_are_made_safe_as_the_text_is() -> None:
    safe = printable(say("{column} is empty", column=Column("a\x1b[31m")))
    assert safe == "a\ufffd[31m is empty"
    assert safe.values["column"] == "a\ufffd[31m"


def test_a_report_that_was_edited_says_what_it_reads() -> None:
    document = {
        "notes": [say("{column} is empty", column=Column("kind")), say("{column} is full", column=Column("kind"))]
    }
    plain = json.loads(json.dumps(document | {"sentences": sentences_of(document)}))
    edited = with_sentences(plain | {"notes": ["kind is half full"]})["notes"]
    assert edited == ["kind is half full"]
    assert not isinstance(edited[0], Said)
    kept = with_sentences(plain | {"notes": [plain["notes"][0], "anything"]})["notes"]
    assert [isinstance(note, Said) for note in kept] == [True, False]
