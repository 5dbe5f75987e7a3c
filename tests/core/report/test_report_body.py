"""The body and the annex of both demonstrations: what is told where, once, and how it is laid out in print."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pypdf
import pytest

from bdt_core.report import figures, render_html, render_markdown, render_pdf
from bdt_core.report.blocks import Block, Figure, Folded, Page, Table, plain
from bdt_core.report.document import Printed
from bdt_core.report.figure_words import figure_words
from bdt_core.report.figures import figure_data, figure_names, figure_svg
from bdt_core.report.page import build_page, open_parts
from bdt_core.report.printed import printed
from bdt_core.report.sheet import SMALL, WIDTH, settings
from tests.core.report.drawn import SAMPLES

GOLDENS = Path(__file__).parents[2] / "goldens"
DEMOS = ("compas", "compas_in_depth", "compas, short")
"""All that there is in print, and what stands open on the web page."""
MOST_PAGES = 6
every_demo = pytest.mark.parametrize("name", DEMOS)


@cache
def document(name: str) -> Printed:
    name, _, short = name.partition(", ")
    report = json.loads((GOLDENS / f"{name}.json").read_text())
    return printed({**report, "spec": {**report["spec"], "pdf": short or "whole"}})


def printed_page(name: str) -> Page:
    page = build_page(document(name))
    return replace(page, annex=open_parts(page.annex)[0]) if name.endswith("short") else page


@cache
def pdf(name: str) -> bytes:
    return render_pdf(document(name))


def read(name: str) -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(pdf(name)))


@cache
def told_in_print(name: str) -> tuple[tuple[str, list[float]], ...]:
    """Of each page its text, and how high its pieces stand."""
    told = []
    for page in read(name).pages:
        heights: list[float] = []

        def visit(text: str, cm: Any, at: Any, _font: Any, _size: Any, found: list[float] = heights) -> None:
            if text.strip():
                found.append(at[4] * cm[1] + at[5] * cm[3] + cm[5])

        told.append((page.extract_text(visitor_text=visit), heights))
    return tuple(told)


def inside(several: tuple[Block, ...]) -> list[Block]:
    return [found for one in several for found in (one, *(inside(one.blocks) if isinstance(one, Folded) else ()))]


def of_kind(name: str, kind: type) -> list[Any]:
    page = printed_page(name)
    return [one for part in (page.first, *page.sections) for one in inside(part.blocks) if isinstance(one, kind)]


def bookmarks(reader: pypdf.PdfReader, several: Any = None, depth: int = 1) -> list[tuple[int, str, int]]:
    """Level, title and page of every bookmark."""
    found = []
    for one in reader.outline if several is None else several:
        if isinstance(one, list):
            found += bookmarks(reader, one, depth + 1)
        else:
            page = reader.get_destination_page_number(one)
            assert page is not None
            found.append((depth, str(one.title).replace("\u200b", ""), page + 1))
    return found


def tagged(reader: pypdf.PdfReader) -> list[tuple[str, Any]]:
    """Every tag of the file in the order of reading."""

    def walk(x: Any) -> list[tuple[str, Any]]:
        x = x.get_object() if hasattr(x, "get_object") else x
        if isinstance(x, list):
            return [found for one in x for found in walk(one)]
        if not isinstance(x, dict):
            return []
        own = [(str(x["/S"]), x)] if "/S" in x else []
        return own + (walk(x["/K"]) if "/K" in x else [])

    return walk(reader.trailer["/Root"]["/StructTreeRoot"])  # type: ignore[index]


@pytest.mark.parametrize("name", ["groups_1", "tree", "first_page"])
def test_what_figures_say_can_be_found_in_print(name: str) -> None:
    svg = ET.fromstring(figure_svg(document("compas_in_depth"), name))
    words = {one.text.strip() for one in svg.iter("{http://www.w3.org/2000/svg}text") if one.text}
    pages = "".join(text for text, _ in told_in_print("compas_in_depth"))
    found = re.sub(r"[\s\u200b]+", "", pages)
    missing = {one for one in words if re.sub(r"\s+", "", one) not in found}
    assert len(words) > 5
    assert not missing


@every_demo
def test_the_body_has_six_pages_at_most_and_begins_on_the_second(name: str) -> None:
    pages = {title: page for level, title, page in bookmarks(read(name)) if level == 1}
    title, body, annex = pages
    assert (pages[title], pages[body]) == (1, 2)
    assert pages[annex] - pages[body] + 1 <= MOST_PAGES


def test_what_stands_in_the_body_and_what_in_the_annex() -> None:
    page = build_page(document("compas_in_depth"))
    assert [one.name for one in page.body] == ["findings", "groups", "gate", "trust"]
    assert [one.name for one in page.annex] == [
        "declared", "worst_groups", "clusters", "differences", "proxies", "rates", "pooled_groups", "characteristics",
        "slices", "local_bias", "mitigation", "tree", "original", "data", "method", "repeat",
    ]  # fmt: skip
    for drawn, heading in (
        (render_markdown(document("compas_in_depth")), "# {}\n"),
        (render_html(document("compas_in_depth")), ">{}</h2>"),
    ):
        places = [drawn.index(heading.format(one)) for one in ("Report", "Annex")]
        assert places[0] < drawn.index("How far to trust this", places[0]) < places[1]


@every_demo
def test_no_page_is_half_empty(name: str) -> None:
    """The lowest text of a page, which may be a figure's caption, is in its last quarter; footers are not counted.

    A part ends where it ends: the page before the annex may, as the last one may.
    """
    *pages, _ = told_in_print(name)
    _, _, annex = (page for level, _, page in bookmarks(read(name)) if level == 1)
    for number, (_, heights) in enumerate(pages, 1):
        assert number == annex - 1 or min(one for one in heights if 60.0 < one < 780.0) < 842.0 / 4, number


@every_demo
def test_outline_and_contents_have_every_section(name: str) -> None:
    reader, page = read(name), printed_page(name)
    parts = [part.title for part in page.first.blocks if isinstance(part, Folded)]
    sections = [[one.title for one in part] for part in (page.body, page.annex)]
    expected = [page.first.title, *parts, page.words["body"], *sections[0], page.words["annex"], *sections[1]]
    found = bookmarks(reader)
    assert [title for level, title, _ in found if level <= 2] == expected
    assert [after for (_, _, before), (_, _, after) in pairwise(found) if after < before] == []
    contents = told_in_print(name)[1][0].replace("\u200b", "")
    pages = {title: number for _, title, number in found}
    for title in (page.words["body"], *sections[0], page.words["annex"], *sections[1]):
        assert re.search(rf"{re.escape(title)}[ .]*{pages[title]}\b", contents), title


@every_demo
def test_the_file_is_tagged(name: str) -> None:
    reader = read(name)
    tags = tagged(reader)
    names = [one for one, _ in tags]
    root = reader.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]  # type: ignore[index]
    assert root["/Lang"] == "en"  # type: ignore[index]
    page = printed_page(name)
    assert names.count("/H1") == 3  # its title, the body and the annex
    assert names.count("/H2") == 1 + sum(isinstance(one, Folded) for one in page.first.blocks) + len(page.sections)
    assert names.count("/TOCI") == 2 + len(page.sections)
    drawn = [one for tag, one in tags if tag == "/Figure"]
    assert {str(one["/Alt"]) for one in drawn} == {one.alt for one in of_kind(name, Figure)}
    tables = of_kind(name, Table)
    assert names.count("/THead") == len(tables)
    assert names.count("/TH") >= sum(len(one.columns) for one in tables)


@every_demo
def test_print_says_what_the_page_says(name: str) -> None:
    """Every text of every block, but what is within figures."""
    said = re.sub(r"[\s\u200b]+", "", " ".join(text for text, _ in told_in_print(name)))

    def texts(x: Any) -> list[str]:
        if isinstance(x, str):
            return [x]
        if isinstance(x, list):
            return [text for one in x for text in texts(one)]
        if not isinstance(x, dict) or x["kind"] in ("figure", "code"):
            return []
        return [text for key, one in x.items() if key not in ("kind", "name", "tone") for text in texts(one)]

    page = printed_page(name)
    told = [one for part in (page.body, page.annex) for one in texts(plain(part)) if one]
    assert len(told) > (500 if name.endswith("short") else 1_000)

    def is_said(text: str) -> bool:
        """Whole, or up to a page's end and on from the next one's begin."""
        text = re.sub(r"\s+", "", text)
        return text in said or any(text[:i] in said and text[i:] in said for i in range(1, len(text)))

    assert [one for one in told if not is_said(one)] == []


@every_demo
def test_figures_are_drawn_as_large_as_they_are_and_their_letters_as_tall_as_the_text(name: str) -> None:
    """Libertinus Serif, in which the report is set at 10 points, has an x-height of 0.429; DejaVu Sans one of 0.547."""
    for figure in figure_names(document(name)):
        with settings():
            sheet = figures.sheet_of(document(name), figure)
        sizes = {float(one.get_fontsize()) for one in sheet.figure.texts}
        sizes |= {float(one.get_fontsize()) for axes in sheet.figure.axes for one in axes.get_xticklabels()}
        assert min(sizes) >= SMALL, figure
        assert sheet.width == WIDTH, figure
    assert SMALL * 0.547 >= 10 * 0.429
    boxes = [one["/A"] for tag, one in tagged(read(name)) if tag == "/Figure"]
    widths = []
    for one in boxes:
        for attributes in one if isinstance(one, list) else [one]:
            if "/BBox" in attributes.get_object():
                left, _, right, _ = map(float, attributes.get_object()["/BBox"])
                widths.append(right - left)
    assert len(widths) == len(boxes)
    assert all(WIDTH <= one <= 17 / 2.54 * 72 + 0.1 for one in widths)


@every_demo
def test_no_numbers_stand_in_two_tables(name: str) -> None:
    """Rows that share their name and three numbers or more that are not round."""
    seen: dict[tuple[str, str], str] = {}
    rows: dict[frozenset[str], str] = {}
    for table in of_kind(name, Table):
        for row in table.rows:
            numbers = frozenset(
                one for cell in row for one in re.findall(r"\d+[.,]\d\d\d|\d+\.\d+ %|[+−]\d+\.\d", cell.text)
            )
            key = (row[0].text, table.caption)
            if len(numbers) >= 3:
                assert seen.setdefault(key, table.caption) == table.caption
                assert rows.setdefault(numbers, table.caption) == table.caption, (numbers, table.caption)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_numbers_behind_every_figure_are_rows(name: str) -> None:
    made = printed(SAMPLES[name]())
    for figure in figure_names(made):
        heads, *rows = figure_data(made, figure)
        assert rows, figure
        assert all(heads), figure
        assert {len(one) for one in rows} == {len(heads)}
        told = figure_words(made, figure)
        assert told.title
        assert told.subtitle


def test_the_rows_have_the_numbers_of_the_report() -> None:
    made = document("compas_in_depth")
    rows = {name: figure_data(made, name)[1:] for name in figure_names(made)}
    assert len(rows) == 13
    for cluster, row in zip(made.clusters, rows["clusters"], strict=True):
        assert (int(row[0]), int(row[3]), float(row[4])) == (
            cluster.cluster, cluster.test_rows, pytest.approx(cluster.test_mean, rel=1e-5)
        )  # fmt: skip
    assert made.groups is not None
    first = made.groups.facets[0].groups[0]
    assert first.rates is not None
    assert rows["groups_1"][0][:2] == (first.group, str(first.rows))
    assert float(rows["groups_1"][0][2]) == pytest.approx(first.rates["selection_rate"].estimate, rel=1e-5)
    assert rows["first_page"][0] == ("Race is African-American", "1795", "45", "100", "22", "100")
    assert made.worst_groups is not None
    for group, row in zip(made.worst_groups.groups, rows["worst_groups"], strict=True):
        assert (int(row[1]), float(row[3])) == (group.rows, pytest.approx(group.mean_inside, rel=1e-5))
    assert len(rows["tree"]) == len(made.tree.nodes)
    assert [one[0] for one in rows["mitigation"][:2]] == ["present decisions", "thresholds chosen"]


@pytest.mark.parametrize(
    ("figure", "title"),
    [
        ("first_page", "Race is African-American: wrongly got the result “high risk” twice as often"),
        ("worst_groups", "Race is African-American: wrongly got the result “high risk” twice as often as "
         "everybody else"),
        ("clusters", "Clusters 0, 1 and 2 are significantly worse off than everybody else."),
        ("groups_1", "African-American: false positive rate twice that of everybody else"),
        ("groups_2", "By sex no difference in the false positive rate is certain"),
        ("slices_lattice", "Priors_count from 5 and race is African-American: FPR 70.8 %, all others 28.5 %"),
        ("mitigation", "Other thresholds bring the gap between groups from 43.6 to 8.2 points; accuracy: −0.3 points"),
    ],
)  # fmt: skip
def test_titles_of_figures_state_what_was_found(figure: str, title: str) -> None:
    told = figure_words(document("compas_in_depth"), figure)
    assert told.title == title
    with settings():
        sheet = figures.sheet_of(document("compas_in_depth"), figure)
    drawn = " ".join(one.get_text() for one in sheet.figure.texts)
    assert drawn.startswith(f"{title} {told.subtitle}")


@every_demo
@pytest.mark.parametrize("language", ["en", "nl"])
def test_numbers_in_the_tree_of_splits_are_whole(name: str, language: str) -> None:
    """The boxes are as wide as what is said in them, in whichever language."""
    drawn = figures.figure_svg(document(name).in_language(language), "tree")
    means = re.findall(r">(FPR [0-9][^<]*)<", drawn)
    assert len(means) == len(document(name).tree.nodes)
    assert [one for one in means if "…" in one] == []
