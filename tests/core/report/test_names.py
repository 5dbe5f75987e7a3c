"""Readers' names of columns and levels stand everywhere; the table's own once, where an expert finds them back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bdt_core import words
from bdt_core.report import for_publication, render_markdown
from bdt_core.report.blocks import plain
from bdt_core.report.catalogue import AS_WRITTEN, sayings
from bdt_core.report.figures import figure_names, figure_svg
from bdt_core.report.names import Names
from bdt_core.report.page import build_page
from bdt_core.report.sheet import Sheet
from bdt_core.said import Column, Level, of_ours, say
from bdt_pipeline.commands.run_demo import demo_spec
from tests.core.report.test_language import GOLDENS, texts

SPEC = {
    "labels": {
        "race": {"name": "origin", "levels": {"b": "black", "c": "brown", "north, west": "up there"}},
        "wrong": {"name": "treated wrongly"},
        "two": {"levels": {"b": "basic", "worse off": "has two", "1": "the first"}},
    },
    "units": {"age": "years", "Income": "euros"},
    "bias_variable": {"column": "Income", "prediction": None, "derive": None},
}


def document_of(name: str, case: str, language: str) -> dict[str, Any]:
    """A frozen report as the demonstration of a language tells it."""
    document: dict[str, Any] = json.loads((GOLDENS / f"{name}.json").read_text(encoding="utf-8"))
    told = demo_spec(case, language).to_dict()
    document["spec"] |= {key: told[key] for key in ("language", "title", "labels", "units", "about")}
    return document


def raw_names(document: dict[str, Any]) -> re.Pattern[str]:
    """Names of columns and levels that readers call otherwise, where no reader's name is around them."""
    labels = document["spec"]["labels"]
    named = {column: one["name"] for column, one in labels.items() if one.get("name")}
    for one in labels.values():
        named |= one.get("levels") or {}
    raw = {name for name, told in named.items() if name != told}
    assert len(raw) > 8
    told = sorted((re.escape(one) for one in named.values()), key=len, reverse=True)
    several = "|".join(sorted((re.escape(one) for one in raw), key=len, reverse=True))
    return re.compile(rf"(?:{'|'.join(told)})|(?<!\w)(?P<raw>{several})(?!\w)")


def raw_in(said: list[str], raw: re.Pattern[str]) -> list[str]:
    return [one for one in dict.fromkeys(said) if any(found["raw"] for found in raw.finditer(one))]


CASES = [("compas_in_depth", "compas", "en"), ("compas_in_depth", "compas", "nl"), ("grants", "grants", "en")]


@pytest.mark.parametrize(("name", "case", "language"), CASES)
def test_no_raw_name_stands_in_the_report_but_in_its_list_of_columns(name: str, case: str, language: str) -> None:
    document = document_of(name, case, language)
    raw = raw_names(document)
    page = build_page(document)
    sections = {one.name: list(texts(plain(one))) for one in (*page.body, *page.annex)}
    assert {one: raw_in(said, raw) for one, said in sections.items() if one not in ("data", "repeat")} == {
        one: [] for one in sections if one not in ("data", "repeat")
    }
    names = {one["name"] for one in document["data"]["columns"]}
    assert names <= set(sections["data"])
    assert set(raw_in(sections["data"], raw)) <= names
    published = build_page(for_publication(document))
    assert raw_in(list(texts(plain(published.body))), raw) == []


@pytest.mark.parametrize(("name", "case", "language"), CASES)
def test_no_raw_name_stands_on_a_figure(name: str, case: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document, drawn, text = document_of(name, case, language), [], Sheet.text

    def kept(sheet: Sheet, x: float, y: float, words: str, **more: Any) -> None:
        drawn.append(str(sheet.said(words)).replace("\n", " "))
        text(sheet, x, y, words, **more)

    monkeypatch.setattr(Sheet, "text", kept)
    for figure in figure_names(document):
        figure_svg(document, figure)
    assert len(drawn) > 100
    assert raw_in(drawn, raw_names(document)) == []


@pytest.mark.parametrize(
    ("raw", "english", "dutch"),
    [
        (words.value_condition("race", "b"), "origin is black", "origin is black"),
        (words.capital(words.value_condition("race", "b", "c", "d", negated=True)),
         "Origin is neither black, brown nor d", "Origin is niet black, brown en niet d"),
        (words.value_condition("two", "b"), "two is basic", "two is basic"),
        (words.all_of([words.value_condition("two", "1"), words.interval_condition("age", None, 27, whole=True)]),
         "two is the first and age up to 27 years", "two is the first en age tot en met 27 years"),
        (words.interval_condition("age", 27, 28, whole=True), "age is 28 years", "age is 28 years"),
        (say("{column} is mostly {level} rather than {level_2}", column=Column("race"), level=Level("c", "race"),
             level_2=Level("b", "race")),
         "origin is mostly brown rather than black", "origin is meestal brown en niet black"),
        (say("worse off"), "worse off", "slechter af"),  # what a report says itself
        (of_ours("mean Income"), "mean Income (euros)", "mean Income (euros)"),
        (of_ours("What race ever said."), "What race ever said.", "What race ever said."),
    ],
)  # fmt: skip
def test_names_and_units_stand_where_names_and_numbers_are(raw: str, english: str, dutch: str) -> None:
    names = Names(SPEC, ["mean Income"])
    assert sayings("en", names)(raw) == english
    assert sayings("nl", names)(raw) == dutch


@pytest.mark.parametrize(
    ("data", "readers"),
    [
        ("race", "origin"),
        ("Race", "Origin"),
        ("race: c", "origin: brown"),
        ("b", "b"),  # which column's?
        ("c", "brown"),
        ("1", "1"),  # a number
        ("c & b", "brown & b"),
        ("worse off", "has two"),  # a level may be called so
    ],
)
def test_data_has_the_readers_names_in_any_language(data: str, readers: str) -> None:
    names = Names(SPEC, ["mean Income"])
    assert [sayings(language, names).name(data) for language in ("en", "nl")] == [readers, readers]


def test_a_report_without_names_of_its_own_says_what_stages_said() -> None:
    assert sayings("en", Names({"labels": {}, "units": {}})) is AS_WRITTEN


def test_units_stand_with_the_mean_and_with_bounds_in_the_body() -> None:
    document = json.loads((GOLDENS / "absolute_errors.json").read_text(encoding="utf-8"))
    document["spec"] |= {"units": {"offered": "points", "age": "years"}}
    drawn = render_markdown(document).partition("# Report")[2]
    assert "Abs. error (points)" in drawn
    assert "up to 35 years and town is north" in drawn
