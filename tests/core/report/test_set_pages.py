"""The pages of the printed demonstrations have no faults, and faults that are planted are found."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bdt_core.report import figure_svg, pdf, render_pdf
from bdt_core.report.document import Printed
from bdt_core.report.figures import figure_names
from bdt_core.report.printed import printed
from bdt_core.spec import LANGUAGES
from tests.core.report.set_pages import faults
from tests.core.report.test_nothing_is_cut import report

ENGLISH = frozenset(("the", "than", "worse", "better", "everybody", "else", "rows", "these", "each", "mean", "points"))
TEMPLATE = Path(pdf.__file__).parent / "templates" / "report.typ"


def in_print(document: Printed, annex: str) -> Printed:
    return printed({**document.model_dump(), "spec": {**document.spec, "pdf": annex}})


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["compas", "grants"])
@pytest.mark.parametrize("annex", ["short", "whole"])
def test_the_pages_of_the_demonstrations_have_no_faults(name: str, annex: str, language: str) -> None:
    drawn = render_pdf(in_print(report(name, language), annex))
    assert faults(drawn, ENGLISH if language != "en" else frozenset()) == []


@pytest.fixture
def with_template(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., bytes]:
    """Draws the demonstration with a template in which something is replaced."""

    def draw(*changes: tuple[str, str]) -> bytes:
        text = TEMPLATE.read_text()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        (tmp_path / "templates").mkdir()
        (tmp_path / "templates" / TEMPLATE.name).write_text(text)
        shutil.copy(TEMPLATE.with_name("picture.typ"), tmp_path / "templates")
        with monkeypatch.context() as patched:
            patched.setattr(pdf.resources, "files", lambda _: tmp_path)
            return render_pdf(in_print(report("compas", "en"), "whole"))

    return draw


def test_a_figure_that_floats_above_its_heading_is_found(with_template: Callable[..., bytes]) -> None:
    floats = with_template(
        ("if stays == true { together }", "if false { }"), ("if stays == none { bottom } else { auto }", "top")
    )
    assert [one for one in faults(floats) if one.startswith("before its heading")]


def test_a_figure_that_leaves_its_section_is_found(with_template: Callable[..., bytes]) -> None:
    late = with_template(
        ("if stays == true { together }", "if false { }"),
        ("if stays == none { bottom } else { auto }", "bottom"),
        ("place.flush()", ""),
    )
    assert [one for one in faults(late) if one.startswith("after the next heading")]


def test_a_row_alone_is_found(with_template: Callable[..., bytes]) -> None:
    loose = with_template(("or rows.len() == 1", "or true"))
    assert [one for one in faults(loose) if one.startswith("one row on page")]


def test_text_over_the_edge_and_in_another_language_is_found() -> None:
    document, english = report("compas", "nl"), report("compas", "en")
    figures: dict[str, Any] = {name: figure_svg(document, name) for name in figure_names(document)}
    figures["groups_1"] = figure_svg(english, "groups_1")
    figures["clusters"] = re.sub(
        r'(<text [^>]*) x="[\d.]+"([^>]*) transform="[^"]*"', r'\1 x="560"\2', figures["clusters"]
    )
    found = faults(render_pdf(document, figures), ENGLISH)
    assert {one.partition(" page")[0].partition(":")[0] for one in found} == {"over the edge of", "in another language"}
