"""Pictures of the pages show what the program shows; those of `bdt open` and Dagster are held where these are run."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests import pictures
from tests.pipeline.test_docs_blocks import PAGES

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
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


def test_the_chances_drawn_are_those_of_the_table() -> None:
    """Points of a line lie where its numbers are: heights follow the chances, from 0 to 1, on one scale."""
    page = (ROOT / "docs" / "validity.md").read_text(encoding="utf-8")
    table = np.array(
        [
            [float(one) / 100 for one in row]
            for row in re.findall(r"(?m)^\| (\d+)% \| (\d+)% \| (\d+)% \| (\d+)% \| (\d+)% \|", page)
        ]
    )
    drawing = ET.parse(ROOT / "docs" / "images" / "power.svg")
    panels = [one for one in drawing.iter(f"{SVG}g") if re.fullmatch(r"axes_\d+", one.get("id", ""))]
    for panel, size in zip(panels, dict.fromkeys(table[:, 0]), strict=True):
        wanted = table[table[:, 0] == size]
        height = [float(one) for one in re.findall(r"[ML] \S+ (\S+)", panel[0][0].get("d", ""))]  # of the panel itself
        low, high = max(height), min(height)
        lines = [line for line in panel.findall(f"{SVG}g[@id]") if len(list(line.iter(f"{SVG}use"))) == len(wanted)]
        drawn = [[float(one.get("y", "nan")) for one in line.iter(f"{SVG}use")] for line in lines[:3]]
        chances = -0.03 + 1.06 * (np.array(drawn) - low) / (high - low)
        assert np.abs(chances - wanted[:, [3, 2, 4]].T).max() < 0.0051, size  # oracle, ours, original; whole percents
