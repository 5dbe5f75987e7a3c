"""Every sentence on how much worse somebody fares says in what, with its unit, in the readers' names and language."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from bdt_core.audit import AuditResult, audit
from bdt_core.report import for_publication, render_markdown
from bdt_core.report.catalogue import say_for, say_in
from bdt_core.report.printed import printed
from bdt_core.sentences import with_sentences
from bdt_core.spec import AnyLimit, Limit, LocalBiasLimit, SliceLimit, WorstGroupLimit, parse_spec
from bdt_core.verdict import judge_limit
from tests.core.report.test_language import ENGLISH
from tests.core.verdict.against import against
from tests.goldens.audits import people

LABELS = {
    "en": {"grade": {"name": "amount granted"}, "town": {"name": "city"}},
    "nl": {"grade": {"name": "toegekend bedrag"}, "town": {"name": "stad"}},
}
UNITS = {"grade": "euro", "offered": "euro"}
COLUMN = {"column": "grade", "better": "higher"}
ERROR = {"derive": "absolute_error", "label": "asked", "prediction": "offered"}
RATE = {"derive": "error", "label": "repaid", "prediction": "granted"}
CASES = {
    "column": (COLUMN, "lower (worse)", "amount granted (euro)", "toegekend bedrag (euro)"),
    "error": (ERROR, "higher (worse)", "absolute error (euro)", "absolute fout (euro)"),
    "rate": (RATE, "higher (worse)", "error rate", "foutpercentage"),
}
ACCURACY = {"en": "accuracy", "nl": "nauwkeurigheid"}
NAMES = {"grade", "asked", "offered", "repaid", "granted", "age", "town", "sex", "north", "south", "east", "west"}
LIMITS: dict[str, AnyLimit] = {
    "confirmed": WorstGroupLimit(max_difference=0.0),
    "ruled out": WorstGroupLimit(max_difference=50.0),
    "slice": SliceLimit(max_difference=0.0),
    "cluster": Limit(check="worst_cluster", max_difference=0.0),
    "every cluster": Limit(check="any_cluster", max_difference=0.0),
}


@pytest.fixture(scope="module", params=list(CASES))
def case(request: pytest.FixtureRequest) -> tuple[AuditResult, str, dict[str, str]]:
    """An audit, which way is worse, and what readers of each language call what was measured."""
    measured, worse, english, dutch = CASES[request.param]
    spec = {
        "name": "grants",
        "bias_variable": measured,
        "features": {"include": ["age", "town"]},
        "protected": ["sex"],
        "groups": {"label": "repaid", "prediction": "granted"},
        "local_bias": {"group": "sex", "n_clusters": 2},
        "clustering": {"stability": 0, "n_init": 1},
        "worst_groups": {"permutations": 79},
        "labels": LABELS["en"],
        "units": UNITS,
        "gate": [{"check": one} for one in ("worst_cluster", "worst_group", "worst_slice", "local_bias")],
    }
    return audit(people(1500, 3, harm=60), spec), worse, {"en": english, "nl": dutch}


def told_in(result: AuditResult, language: str) -> dict[str, Any]:
    """The report for the readers of a language."""
    document = result.document
    return document | {"spec": document["spec"] | {"language": language, "labels": LABELS[language]}}


def as_told(result: AuditResult, sentence: str) -> dict[str, str]:
    return {one: say_in(printed(told_in(result, one)))(sentence) for one in LABELS}


def assert_named(told: dict[str, str], measured: dict[str, str]) -> None:
    """In each language with the readers' name and unit, and nothing English in the Dutch one."""
    for language, sentence in told.items():
        assert measured[language] in sentence, language
    assert set(re.findall(r"(?<!\w)[a-z]+(?!\w)", told["nl"])) & (ENGLISH - NAMES) == set()


@pytest.mark.parametrize("kind", list(LIMITS))
def test_a_limit_says_what_was_measured(kind: str, case: tuple[AuditResult, str, dict[str, str]]) -> None:
    result, worse, measured = case
    found = judge_limit(LIMITS[kind], result)
    assert found.verdict != "not_testable"
    assert_named(as_told(result, found.sentence), measured)
    if kind == "confirmed":
        assert f": {worse} in " in found.sentence


def test_a_limit_that_cannot_tell_says_it_of_the_bound_too(case: tuple[AuditResult, str, dict[str, str]]) -> None:
    result, _, measured = case
    groups = result.worst_groups
    assert groups is not None
    assert groups.certificate is not None
    between = (groups.certificate.confirmed_difference + groups.certificate.largest_difference) / 2
    for beside in (groups, groups.beside(())):
        found = judge_limit(WorstGroupLimit(max_difference=between), replace(result, worst_groups=beside))
        assert found.verdict == "inconclusive"
        told = as_told(result, found.sentence)
        assert_named(told, measured)
        assert told["en"].count(measured["en"]) == told["nl"].count(measured["nl"]) == 1 + bool(beside.groups)


def test_a_limit_of_local_bias_names_its_metric(case: tuple[AuditResult, str, dict[str, str]]) -> None:
    result, _, _ = case
    found = judge_limit(LocalBiasLimit(max_gap=0.01), result)
    assert_named(as_told(result, found.sentence), ACCURACY)


def test_against_a_baseline_it_is_named(case: tuple[AuditResult, str, dict[str, str]]) -> None:
    result, _, measured = case
    same = against(result.document, result.document)
    for one in same.limits:
        named = ACCURACY if one.check == "local_bias" else measured
        assert_named(as_told(result, one.sentence), named)


def test_the_form_for_publication_names_it(case: tuple[AuditResult, str, dict[str, str]]) -> None:
    result, _, measured = case
    for one in with_sentences(for_publication(result.document))["gate"]:
        named = ACCURACY if one["check"] == "local_bias" else measured
        assert_named(as_told(result, one["sentence"]), named)


def test_what_is_ruled_out_says_of_what(case: tuple[AuditResult, str, dict[str, str]]) -> None:
    result, _, measured = case
    for language, begins in (("en", "- **What is ruled out**"), ("nl", "- **Wat is uitgesloten**")):
        (line,) = [x for x in render_markdown(told_in(result, language)).splitlines() if x.startswith(begins)]
        assert measured[language] in line


def test_dagster_says_it_as_the_report_does(case: tuple[AuditResult, str, dict[str, str]]) -> None:
    result, _, measured = case
    sentence = with_sentences(result.document)["gate"][1]["sentence"]
    for language in LABELS:
        spec = parse_spec(told_in(result, language)["spec"])
        assert measured[language] in say_for(spec)(sentence)
        assert say_for(spec)(sentence) == as_told(result, sentence)[language]
