"""The page on all looks says when, with which answer, and what was changed; in every form, in both languages."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from bdt_core.report.looks_page import looks_as_page
from bdt_core.sealed.ledger import FILE, Ledger
from bdt_core.sealed.looking import looking
from bdt_core.sealed.looks import history_of_looks
from bdt_core.spec import parse_spec
from tests.core.sealed.test_cheating import FRAME, SPEC, looked_at, people


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reports")
    looked_at(made, FRAME).write(made / "first")
    with pytest.raises(ZeroDivisionError), looking(made, parse_spec(SPEC), "gate"):
        raise ZeroDivisionError
    looked_at(made, people(9), name="others")
    looked_at(made, FRAME, gate=[{"check": "worst_group", "max_difference": 0.5}])
    return made


def test_all_looks_stand_in_their_order_with_what_was_changed(folder: Path) -> None:
    history = history_of_looks(Ledger(folder).read())
    assert [(look.name, look.verdict) for look in history.looks] == [
        ("loans", "fail"), ("loans", None), ("others", "fail"), ("loans", "pass"),
    ]  # fmt: skip
    assert [len(look.changes) for look in history.looks] == [0, 0, 0, 1]
    assert "from" in history.looks[3].changes[0]
    assert history.problems == ()
    assert (history.lines, [one.name for one in history_of_looks(Ledger(folder).read(), "others").looks]) == (
        8,
        ["others"],
    )


def test_the_ledger_has_the_hash_of_the_report(folder: Path) -> None:
    written = (folder / "first" / "report.json").read_bytes()
    assert history_of_looks(Ledger(folder).read()).looks[0].report == hashlib.sha256(written).hexdigest()


SAID = {
    "en": ("The record is whole", "The limit on the worst group was moved from 5 to 50 of 100", "Fail"),
    "nl": ("De vastlegging is compleet", "is verlegd van 5 naar 50 op de 100", "Voldoet niet"),
}


@pytest.mark.parametrize("language", SAID)
def test_the_page_has_all_forms(folder: Path, tmp_path: Path, language: str) -> None:
    files = looks_as_page(history_of_looks(Ledger(folder).read()), language).write(tmp_path, "looks")
    assert sorted(files) == ["html", "json", "md", "pdf"]
    others = {one for other, words in SAID.items() if other != language for one in words}
    for form in ("md", "html"):
        page = files[form].read_text()
        assert [one for one in SAID[language] if one not in page] == []
        assert [one for one in others if one in page] == []
    assert files["pdf"].read_bytes().startswith(b"%PDF")
    assert len(json.loads(files["json"].read_text())["looks"]) == 4


def test_a_broken_record_is_told_first(folder: Path, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes((folder / FILE).read_bytes().replace(b"loans", b"lawns", 1))
    page = looks_as_page(history_of_looks(Ledger(tmp_path).read()))
    assert page.banner == "fail"
    assert "The record is not whole" in page.markdown()
    assert "before line 2 were changed" in page.markdown()
