"""What a reader sees: a first page that is one page, figures whose words are whole, tables whose numbers are."""

from __future__ import annotations

import copy
import io
import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pypdf
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from bdt_core.report import figures, render_pdf
from bdt_core.report.blocks import Folded, Subheading, Table
from bdt_core.report.catalogue import AS_WRITTEN, say_in
from bdt_core.report.document import Printed
from bdt_core.report.figure_words import figure_words
from bdt_core.report.first_page import PHONE, first_page
from bdt_core.report.page import build_page
from bdt_core.report.pdf import with_breaks
from bdt_core.report.printed import printed
from bdt_core.report.sheet import Sheet, settings
from bdt_core.spec import LANGUAGES

GOLDENS = Path(__file__).parents[2] / "goldens"
LONG = "how pleased they are with life"
in_every_language = pytest.mark.parametrize("language", LANGUAGES)


@cache
def report(name: str, language: str) -> Printed:
    return printed(json.loads((GOLDENS / f"{name}.json").read_text())).in_language(language)


def with_long_names(name: str, language: str) -> Printed:
    """A report of which every column has a name of several words."""
    made = copy.deepcopy(json.loads((GOLDENS / f"{name}.json").read_text()))
    made["spec"] |= {
        "language": language,
        "labels": {one["name"]: {"name": f"{LONG} {n}"} for n, one in enumerate(made["data"]["columns"])},
    }
    return printed(made)


def drawn(document: Printed, figure: str) -> Sheet:
    say = AS_WRITTEN if figure == "first_page" else say_in(document)
    with settings(say):
        return figures.sheet_of(document, figure)


def words_on(sheet: Sheet) -> list[tuple[float, float, str]]:
    """Where each text begins, in points, and what it says."""
    return [(*map(float, one.get_position()), one.get_text()) for one in sheet.figure.texts]  # type: ignore[misc]


@in_every_language
@pytest.mark.parametrize("long", [False, True])
def test_the_first_page_is_one_page_with_three_findings(language: str, long: bool) -> None:
    document = with_long_names("adult", language) if long else report("adult", language)
    assert len(first_page(document).drawn) == 3
    pages = pypdf.PdfReader(io.BytesIO(render_pdf(document))).pages
    words = build_page(document).words
    assert words["follows"] in (pages[0].extract_text() or "")
    assert (pages[1].extract_text() or "").count(words["contents"]) == 1


@in_every_language
@pytest.mark.parametrize("name", ["compas", "grants", "adult"])
def test_the_first_picture_is_whole_on_a_phone(name: str, language: str) -> None:
    document = report(name, language)
    sheet = drawn(document, "first_page")
    renderer = FigureCanvasAgg(sheet.figure).get_renderer()
    right = [one.get_window_extent(renderer).x1 * 72 / sheet.figure.dpi for one in sheet.figure.texts]
    assert max(right) <= PHONE
    told = [one for _, _, one in words_on(sheet)]
    assert not any("…" in one for one in told)
    style = (Path(figures.__file__).parent / "templates" / "report.css").read_text()
    assert f"width: {sheet.width / PHONE:.2%}; max-width: none" in style


@in_every_language
@pytest.mark.parametrize("name", ["compas", "grants"])
def test_who_is_in_a_cluster_is_whole_on_its_figure(name: str, language: str) -> None:
    document = report(name, language)
    told = [one for _, _, one in words_on(drawn(document, "clusters"))]
    assert [one for one in told if "…" in one] == []
    flat = re.sub(r"\s+", " ", " ".join(told))
    for one in document.clusters:
        if (one.rule.precision or 0) > 0.75 and (one.rule.recall or 0) > 0.75:
            assert say_in(document)(one.rule.text) in flat


@in_every_language
@pytest.mark.parametrize("name", ["compas", "grants"])
def test_numbers_of_a_scale_stand_closer_together_than_those_of_two_scales_but_not_close(
    name: str, language: str
) -> None:
    document = report(name, language)
    for figure in ("groups_1", "groups_2"):
        sheet = drawn(document, figure)
        facet = int(figure[-1]) - 1
        assert document.groups is not None
        rows = len([one for one in document.groups.facets[facet].groups if one.rates is not None])
        numbers = sorted(
            (x, y, told) for x, y, told in words_on(sheet) if x > 140 and re.fullmatch(r"\d+(\.\d+)?", told)
        )
        lowest = max(y for _, y, _ in numbers)
        on_scales = [(x, told) for x, y, told in numbers if y == lowest]
        assert len(on_scales) > 6, rows
        ends = [(x - sheet.measure(t, 8) / 2, x + sheet.measure(t, 8) / 2) for x, t in on_scales]
        free = [after[0] - before[1] for before, after in pairwise(ends)]
        assert min(free) > 7, free


@in_every_language
def test_a_long_name_of_a_group_stands_in_two_lines(language: str) -> None:
    made = copy.deepcopy(json.loads((GOLDENS / "compas.json").read_text()))
    made["spec"]["language"] = language
    made["spec"]["labels"] = {"sex": {"levels": {"Female": "people who call themselves women"}}}
    told = [one.replace("\n", " ") for _, _, one in words_on(drawn(printed(made), "groups_2"))]
    assert "people who call themselves women" in " ".join(told)


def test_titles_of_figures_begin_with_a_capital() -> None:
    made = copy.deepcopy(json.loads((GOLDENS / "grants.json").read_text()))
    for figure in ("groups_1", "groups_2", "worst_groups", "first_page"):
        title = figure_words(printed(made), figure).title
        assert title[:1].isupper(), title


# --- Tables in print -----------------------------------------------------------------------------------------------


def table_of(*rows: tuple[tuple[str, str], ...], numbers: str, labels: list[str]) -> dict[str, Any]:
    """A table as the page has it: of each cell its text and note; `numbers` says which columns hold numbers."""
    return {
        "kind": "table",
        "caption": "",
        "columns": [{"label": one, "number": kind == "n"} for one, kind in zip(labels, numbers, strict=True)],
        "rows": [[{"text": text, "note": note, "tag": "", "tone": ""} for text, note in row] for row in rows],
    }


CLUSTERS = table_of(
    *[
        (
            (str(n), ""),
            ("years away from home up to 3 and age up to 23 and distance to the parents up to 58 kilometres "
             "(87.0 % of these people are in it; covers 95.6 %)", "stability 0.97: stable"),
            ("562", "2,236 train"),
            ("25.1 %", ""),
            ("+10.2 procentpunt", "[+4.0 to +16.6]"),
            ("no significant difference", "18.9 points would have been found with a power of 80 %"),
        )
        for n in range(8)
    ],
    numbers="ntnnnt",
    labels=["Cluster", "Who is in it, nearly", "Test rows", "FPR", "Difference", "Finding"],
)  # fmt: skip


def test_a_number_keeps_its_unit_and_texts_share_what_is_left() -> None:
    """0 is as much as a column needs; others have so many letters."""
    cluster, who, rows, rate, difference, finding = with_breaks(CLUSTERS)["widths"]
    assert cluster < 10
    assert rows == 0 or rows >= len("2,236 train") * 0.85
    assert rate == 0 or rate >= len("25.1 %")
    assert difference == 0 or difference >= len("+10.2 procentpunt")
    # The longer text has more of the rest, so that neither makes the rows much higher than the other.
    who_lines, finding_lines = 147 / who, 24 / finding + 0.85 * 50 * 0.85 / finding
    assert who > finding > 10
    assert abs(who_lines - finding_lines) < 2.5


def test_a_table_with_room_for_all_fills_the_page() -> None:
    table = table_of((("man", "reference"), ("5,819", "")), numbers="tn", labels=["Group", "Rows"])
    widths = with_breaks(table)["widths"]
    assert all(one > 0 for one in widths)


def test_numbers_stay_beside_what_is_theirs() -> None:
    assert with_breaks("a power of 80 % and p < 0.001") == "a power of 80\u00a0% and p <\u00a00.001"
    assert with_breaks({"kind": "code", "text": "80 % < 0.001"})["text"] == "80 % < 0.001"


@in_every_language
@pytest.mark.parametrize("name", ["compas", "grants"])
def test_every_difference_of_the_findings_has_its_unit(name: str, language: str) -> None:
    page = build_page(report(name, language))
    (findings,) = [one for one in page.body if one.name == "findings"]
    (table,) = [one for one in findings.blocks if isinstance(one, Table)]
    unit = {"en": "points", "nl": "procentpunt"}[language]
    assert [row[4].text for row in table.rows if not row[4].text.endswith(unit)] == []
    assert not any(isinstance(one, Folded | Subheading) and "_" in str(one) for one in findings.blocks)


@in_every_language
def test_one_factor_is_a_fact_and_two_are_facts(language: str) -> None:
    one = {"en": "So this fact explains a part of it", "nl": "Dit verklaart een deel van het verschil"}[language]
    two = {"en": "So these facts explain a part of it", "nl": "Deze feiten verklaren een deel van het verschil"}[
        language
    ]
    said = {name: str(build_page(report(name, language)).first) for name in ("grants", "compas")}
    assert one in said["grants"]
    assert two not in said["grants"]
    assert two in said["compas"]
    assert one not in said["compas"]


@in_every_language
@pytest.mark.parametrize("unit", [None, "euro"])
def test_numbers_of_the_bias_variable_have_its_unit_in_the_captions(language: str, unit: str | None) -> None:
    made = copy.deepcopy(json.loads((GOLDENS / "higher_is_better.json").read_text()))
    assert made["bias_variable"]["unit"] == "value"
    made["spec"] |= {"language": language, "units": {made["spec"]["bias_variable"]["column"]: unit} if unit else {}}
    page = build_page(printed(made))
    tables = [x for one in page.body if one.name in ("findings", "gate") for x in one.blocks if isinstance(x, Table)]
    assert len(tables) == 2
    assert [one.caption.endswith(", in euro") for one in tables] == [unit is not None] * 2
