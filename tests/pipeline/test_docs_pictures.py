"""Pictures of the pages show what the program shows; those of `bdt open` and Dagster are held where these are run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import pictures
from tests.pipeline.test_docs_blocks import PAGES

ROOT = Path(__file__).parents[2]
WORDS: dict[str, Callable[[], str]] = {
    "report.png": lambda: pictures.words_of_first_page("compas"),
    "grants.png": lambda: pictures.words_of_first_page("grants"),
    "history.png": pictures.words_of_history,
    "gate-by-day.png": pictures.words_of_days,
}


@pytest.mark.parametrize("picture", WORDS)
def test_a_picture_shows_what_the_program_says(picture: str) -> None:
    assert pictures.words_in(picture) == WORDS[picture](), pictures.ANEW


def test_every_picture_stands_in_a_page_and_knows_its_words() -> None:
    there = {one.name for one in pictures.IMAGES.iterdir()}
    told = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"!\[[^]]+\]\([\w./]*images/([\w.-]+)\)", told)) == there
    assert [one for one in there if one.endswith(".png") and pictures.words_in(one) is None] == []


def test_what_is_said_of_the_thirty_days() -> None:
    history, judged = pictures.followed()
    verdicts = [one.verdict for one in judged.values()]
    page = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")
    found = re.search(r"On the (\w+) days with a certain\s+breach it stops .*; the (\w+) other red day", page)
    assert found is not None
    number = ("none", "one", "two", "three", "four", "five").index
    assert verdicts.count("fail") == number(found[1])
    assert verdicts.count("inconclusive") == number(found[2])
    assert "fail" not in verdicts[: -pictures.HARSH]
    assert len(history.batches) == len(verdicts) == 30
