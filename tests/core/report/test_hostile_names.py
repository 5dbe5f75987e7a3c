"""Names and levels of a table are the reader's: no language changes one, whatever it reads like.

A table is audited whose columns and levels have names that are nobody's words. Other names are put into its
report.json: words of the report, numbers as texts, signs of other scripts. The Dutch report that is drawn from it must
be, letter by letter, that of the first with the names put in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase
from typing import Any

import pytest

from bdt_core import audit
from bdt_core.report.blocks import plain
from bdt_core.report.dossier import FORMS, build_dossier
from bdt_core.report.figure_words import figure_words
from bdt_core.report.figures import figure_names
from bdt_core.report.page import build_page
from bdt_core.report.printed import printed
from bdt_core.report.translation import BY_THEMSELVES, catalogue
from bdt_core.spec import AuditSpec
from bdt_core.words import capital, is_ambiguous
from tests.core.report.test_language import texts
from tests.goldens.audits import people

QUOTES = re.compile("[\"'“”‘’]")


@dataclass(frozen=True)
class Naming:
    """What columns are called, and levels by their column."""

    columns: Mapping[str, str]
    levels: Mapping[str, Mapping[str, str]]


WORDS = Naming(
    {
        "age": "Distance", "income": "mean", "town": "kind", "job": "is", "sex": "Fail", "race": "rows",
        "contract": "and", "score": "points", "repaid": "label", "granted": "prediction",
    },
    {
        "town": {"north": "none", "south": "1.10", "east": "2,000", "west": "yes"},
        "job": {"office": "kind", "works": "everybody else", "none": "missing"},
        "sex": {"f": "and", "m": "no"},
        "race": {"a": "is", "b": "Fail", "c": "Distance", "rare": "up to 3"},
        "contract": {"fixed": "not", "open": "worse off"},
    },
)  # fmt: skip
SIGNS = Naming(
    {
        "age": "groups", "income": "cluster 0", "town": "नाम", "job": "error rate", "sex": "🙂 people",
        "race": "stable", "contract": "AUC", "score": "p-value", "repaid": "F1 score", "granted": "selection rate",
    },
    {
        "town": {"north": "true positive rate", "south": "0.5", "east": "1,000 rows", "west": "उत्तर"},
        "job": {"office": "5.0 points", "works": "p = 0.05", "none": "everybody"},
        "sex": {"f": "🚲", "m": "infinite"},
        "race": {"a": "Pass", "b": "(rare levels", "c": "not testable", "rare": "high"},
        "contract": {"fixed": "low", "open": "critical"},
    },
)  # fmt: skip


def neutral(naming: Naming) -> Naming:
    """Names that are nobody's words, each of them for one column or one level."""
    tokens = (f"qx{first}{second}q" for first in ascii_lowercase for second in ascii_lowercase)
    return Naming(
        {column: next(tokens) for column in naming.columns},
        {column: {level: next(tokens) for level in each} for column, each in naming.levels.items()},
    )


def spec_of(naming: Naming) -> AuditSpec:
    name = naming.columns
    return AuditSpec.model_validate(
        {
            "name": "hostile",
            "language": "nl",
            "favourable": "positive",
            "source": {"path": "people.csv"},
            "bias_variable": {"derive": "error", "label": name["repaid"], "prediction": name["granted"]},
            "features": {"include": [name[one] for one in ("age", "income", "town", "job")]},
            "protected": [name[one] for one in ("sex", "race", "contract")],
            "groups": {
                "facets": [name["sex"], name["race"], [name["contract"], name["sex"]], name["age"]],
                "score": name["score"],
                "stratum": name["job"],
                "thresholds": {name["age"]: 40},
                "similar_by": [name["income"], name["town"]],
            },
            "slices": {
                "columns": [name[one] for one in ("town", "age", "race", "sex")],
                "max_conditions": 2,
                "bins": 3,
            },
            "local_bias": {"group": name["sex"], "n_clusters": 4},
            "mitigation": {"group": name["race"], "score": name["score"], "tolerance": 0.05},
            "clustering": {"stability": 5, "max_iter": 4},
            "gate": [
                {"check": "worst_cluster", "max_difference": 0.05},
                {"check": "any_cluster", "max_difference": 0.3},
                {"check": "worst_group", "max_difference": 0.05},
                {"metric": "selection_rate", "facet": name["race"], "min": 0.2},
                {"metric": "DI", "facet": name["sex"], "min": 0.8},
            ],
        }
    )


NEUTRAL = neutral(WORDS)


@cache
def neutral_document() -> str:
    """The report as JSON, of a table whose names are nobody's words."""
    frame = people(1_600, 14, gaps=True)[list(NEUTRAL.columns)]
    for column, levels in NEUTRAL.levels.items():
        frame[column] = frame[column].map(levels)
    return json.dumps(audit(frame.rename(columns=NEUTRAL.columns), spec_of(NEUTRAL)).to_dict())


CONDITIONS = {one.id for one in catalogue("nl") if one.context == "condition"}


def document_with(names: Mapping[str, str]) -> dict[str, Any]:
    """The report of the same table with other names, which stages put in quotes within conditions where need be."""

    def put(text: str) -> str:
        def of(found: re.Match[str]) -> str:
            name = names[found[2].lower()]
            is_level = found[1] and found[2] not in NEUTRAL.columns.values()
            name = f'"{name}"' if is_level and is_ambiguous(name) else name
            return found[1] + _as(found[2], name)

        return _TOKEN.sub(of, text)

    def made(x: Any, within_condition: bool = False) -> Any:
        """Of a level within a condition as a stage has it: in quotes where its text needs them."""
        if isinstance(x, dict):
            is_condition = {"id", "values"} <= x.keys() and x["id"] in CONDITIONS
            within = within_condition or is_condition
            told = {put(key): made(one, within) for key, one in x.items()}
            if within_condition and isinstance(told.get("level"), str) and is_ambiguous(told["level"]):
                told["level"] = f'"{told["level"]}"'
            return told
        if isinstance(x, list):
            return [made(one, within_condition) for one in x]
        return put(x) if isinstance(x, str) else x

    document: dict[str, Any] = made(json.loads(neutral_document()))
    return document


_TOKEN = re.compile(r"((?:\b(?:is|or|nor|not|neither) |(?<=[a-z]), )?)([qQ]x[a-z][a-z]q)")


def said_in(document: dict[str, Any]) -> dict[str, list[str]]:
    """What a Dutch report says, section by section and figure by figure."""
    safe = printed(document)
    page = build_page(safe)
    said = {"first_page": list(texts(plain(page.first)))}
    said |= {one.name: list(texts(plain(one))) for one in (*page.body, *page.annex)}
    return said | {f"figure {name}": list(texts(plain(figure_words(safe, name)))) for name in figure_names(safe)}


def filled_in(document: dict[str, Any]) -> dict[str, list[str]]:
    """What the dossier's forms say, but for fingerprints and the ids of scenarios, which are those of other names."""
    forms = {name: texts(plain(build_dossier(document, name).sections)) for name in FORMS}
    return {
        name: [re.sub(r"sha256:\w+|\b(?:gate|finding)-[0-9a-f]{8}\b", "", one) for one in said]
        for name, said in forms.items()
    }


def put_in(text: str, names: Mapping[str, str]) -> str:
    """A text with names in their places, with a capital where that has one."""
    return _TOKEN.sub(lambda found: found[1] + _as(found[2], names[found[2].lower()]), text)


def _as(token: str, name: str) -> str:
    return capital(name) if token[0] == "Q" else name


def names_of(naming: Naming) -> dict[str, str]:
    """Of each token the name in its place."""
    return {NEUTRAL.columns[one]: name for one, name in naming.columns.items()} | {
        NEUTRAL.levels[column][one]: name for column, each in naming.levels.items() for one, name in each.items()
    }


def single_words() -> list[str]:
    """Messages of the catalogue that could be a name: those of one word."""
    messages = sorted({str(one.id) for one in catalogue("nl") if one.id and one.context not in BY_THEMSELVES})
    return [one for one in messages if re.fullmatch(r"[^\W_]+", one)]  # page 1 prints "p_value" as "p value"


def word_batches() -> Iterator[Naming]:
    """Namings that have every word as a column and as a level, in both kinds of letter at their start."""
    words = [made(one) for one in single_words() for made in (str, _flipped)]
    slots = [(column, level) for column, each in NEUTRAL.levels.items() for level in each]
    for start in range(0, len(words), len(NEUTRAL.columns)):
        turned = [*words[start:], *words[:start]]
        columns = dict(zip(NEUTRAL.columns, turned, strict=False))
        levels: dict[str, dict[str, str]] = {column: {} for column in NEUTRAL.levels}
        for (column, level), word in zip(slots, turned[::-1], strict=False):
            levels[column][level] = word
        yield Naming(columns, levels)


def _flipped(word: str) -> str:
    return word[:1].swapcase() + word[1:]


@cache
def neutral_texts() -> dict[str, list[str]]:
    return said_in(json.loads(neutral_document()))


def changed(
    naming: Naming, said: Callable[[dict[str, Any]], dict[str, list[str]]] = said_in
) -> dict[str, list[tuple[str, str]]]:
    """By section the texts that are not those of the neutral report with the names put in."""
    names, hostile = names_of(naming), said(document_with(names_of(naming)))
    neutral_ones = neutral_texts() if said is said_in else said(json.loads(neutral_document()))
    assert hostile.keys() == neutral_ones.keys()
    found = {}
    for section, of_tokens in neutral_ones.items():
        pairs = [
            (QUOTES.sub("", one), QUOTES.sub("", put_in(other, names)))
            for one, other in zip(hostile[section], of_tokens, strict=True)
        ]
        found[section] = [pair for pair in pairs if pair[0] != pair[1]]
    return {section: pairs for section, pairs in found.items() if pairs}


@pytest.mark.parametrize("naming", [WORDS, SIGNS], ids=["words", "signs"])
def test_the_dutch_report_has_names_and_levels_letter_by_letter(naming: Naming) -> None:
    assert changed(naming) == {}


@pytest.mark.parametrize("naming", [WORDS, SIGNS], ids=["words", "signs"])
def test_forms_of_the_dossier_have_names_and_levels_letter_by_letter(naming: Naming) -> None:
    assert changed(naming, filled_in) == {}


def test_every_word_of_the_catalogue_may_be_a_column_and_a_level() -> None:
    assert len(single_words()) > 100
    assert [found for naming in word_batches() if (found := changed(naming))] == []


def test_the_report_in_which_names_are_put_has_all_of_them() -> None:
    said = "\n".join(one for several in neutral_texts().values() for one in several)
    levels = [one for each in NEUTRAL.levels.values() for one in each.values()]
    assert [one for one in (*NEUTRAL.columns.values(), *levels) if one not in said.lower()] == []
