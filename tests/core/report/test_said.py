"""Sentences as data: they survive what texts survive, and every message of a stage is in the catalogue."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from pydantic import BaseModel, TypeAdapter

from bdt_core import words
from bdt_core.errors import SourceError
from bdt_core.groups.conditions import GroupCondition
from bdt_core.report.catalogue import AS_WRITTEN, sayings
from bdt_core.report.names import Names
from bdt_core.report.translation import catalogue
from bdt_core.said import PLACE, Column, Level, Numeral, Said, Text, joined, say
from tests.goldens.frozen import FOLDER
from tests.languages import ANYTHING, ids, in_code

SENTENCE = say("{rows} rows against {others}", rows=Numeral("27"), others=Level("1.10", "kind"))


class Model(BaseModel):
    text: Text


@dataclass(frozen=True)
class Data:
    text: Text


@pytest.mark.parametrize(
    "passed",
    [
        lambda one: pickle.loads(pickle.dumps(one)),
        copy.deepcopy,
        lambda one: Model(text=one).text,
        lambda one: Model.model_validate({"text": one}).text,
        lambda one: TypeAdapter(Data).validate_python({"text": one}).text,
        words.printable,
    ],
)
def test_a_sentence_keeps_its_message_and_values(passed) -> None:  # type: ignore[no-untyped-def]
    kept = passed(SENTENCE)
    assert (kept, kept.id, dict(kept.values)) == (SENTENCE, SENTENCE.id, dict(SENTENCE.values))
    assert kept.values["others"].column == "kind"


@pytest.mark.parametrize("passed", [lambda one: one, copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_an_error_keeps_its_message_and_values(passed) -> None:  # type: ignore[no-untyped-def]
    error = passed(SourceError(say("{table} is empty", table=Column("a\x1b[31m\r::b"))))
    assert str(error) == error.sentence == "a\ufffd[31m ::b is empty"
    assert error.sentence.id == "{table} is empty"
    assert error.sentence.values == {"table": "a\ufffd[31m ::b"}
    assert isinstance(error.sentence.values["table"], Column)


def test_what_is_safe_to_print_is_still_a_sentence() -> None:
    assert isinstance(words.printable(say("{n} कक्ष", n="é")), Said)
    assert words.printable(say("{n}", n="a\u202eb")) == "a\ufffdb"


def test_a_sentence_is_its_english_text_to_whoever_asks_no_more() -> None:
    assert SENTENCE == "27 rows against 1.10"
    assert json.loads(Model(text=SENTENCE).model_dump_json()) == {"text": "27 rows against 1.10"}
    assert Model.model_json_schema()["properties"]["text"]["type"] == "string"
    assert Model(text="plain").text == "plain"
    assert AS_WRITTEN(SENTENCE) == "27 rows against 1.10"


CONDITIONS = [
    (words.interval_condition("age", 27, 35, whole=True), "age 28 tot en met 35"),
    (words.interval_condition("age", 27, 28, whole=True), "age is 28"),
    (words.interval_condition("age", None, 1234.5), "age tot en met 1234,5"),
    (words.value_condition("score", 0.5), "score is 0,5"),
    (words.value_condition("score", "0.5"), "score is 0.5"),
    (words.value_condition("kind", "none"), "kind is none"),
    (words.value_condition("kind", "none", "and", None), 'kind is none, "and" of ontbreekt'),
    (words.value_condition("is", "is", "up to 3", negated=True), 'is is niet "is" en niet up to 3'),
    (words.value_condition("is missing", None), "is missing ontbreekt"),
    (GroupCondition("age", "interval", low=27, whole=True, missing=True).words, "age vanaf 28 of ontbreekt"),
    (
        words.all_of([words.value_condition("a and b", "yes"), words.value_condition("c", "no")]),
        "a and b is yes en c is no",
    ),
    (words.capital(words.all_of([])), "Iedereen"),
    (words.listing(["kind", "none", "and"]), "kind, none en and"),
    (joined([say("everybody"), "everybody"], "; "), "iedereen; everybody"),
]  # fmt: skip


@pytest.mark.parametrize(("english", "dutch"), CONDITIONS)
def test_conditions_are_said_by_their_message_and_their_values_are_data(english: str, dutch: str) -> None:
    assert isinstance(english, Said)
    assert sayings("nl")(english) == dutch


def test_readers_names_and_units_stand_in_a_sentence() -> None:
    names = Names({"labels": {"kind": {"name": "sort", "levels": {"1.10": "first"}}}, "units": {"age": "years"}})
    told = words.all_of([words.interval_condition("age", 27, None, whole=True), words.value_condition("kind", "1.10")])
    assert sayings("nl", names)(told) == "age vanaf 28 years en sort is first"
    assert sayings("en", names)(told) == "age from 28 years and sort is first"
    assert sayings("nl", names)(words.capital(told)) == "Age vanaf 28 years en sort is first"


@cache
def messages() -> dict[str, str]:
    """Ids and what they are in Dutch."""
    return {str(one.id).removesuffix("."): str(one.string) for one in catalogue("nl") if one.id}


def test_every_message_that_a_stage_says_is_in_the_catalogue() -> None:
    """Those without a letter of their own are the same in all languages."""
    said = {
        one: place
        for one, place in in_code().items()
        if ANYTHING not in one and re.search(r"[^\W\d_]", PLACE.sub("", one))
    }
    assert len(said) > 500
    assert {one: place for one, place in said.items() if one.removesuffix(".") not in messages()} == {}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_every_message_of_a_frozen_report_is_in_the_catalogue(file: Path) -> None:
    """Also those that are put together while a stage works."""
    said = {
        one.removesuffix(".")
        for one in ids(json.loads(file.read_text(encoding="utf-8")).get("sentences", []))
        if re.search(r"[^\W\d_]", PLACE.sub("", one))
    }
    assert said - messages().keys() == set()


def test_names_of_columns_are_data_wherever_a_sentence_stands() -> None:
    told = say("No cluster deviates: {why}.", why=say("{column}: {value}", column=Column("kind"), value="none"))
    assert sayings("nl")(told) == "Geen cluster wijkt af: kind: none."
