"""Two reports: declared groups are compared by what is printed, as well as if the tables were at hand."""

from __future__ import annotations

import copy
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.comparing import compare, compare_reports
from bdt_core.errors import DataError, SpecError
from bdt_core.report import for_publication
from tests.core.joined.made_tables import QUICK

ROWS = 1500


def table(seed: int, more: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(ROWS) < 0.4, "f", "m")
    label = rng.random(ROWS) < 0.4
    wrong = rng.random(ROWS) < 0.2 + more * (sex == "f")
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, ROWS).astype(float),
            "sex": sex,
            "label": label.astype(int),
            "said": (label ^ wrong).astype(int),
        }
    )


def spec(derive: str = "error", **changes: Any) -> dict[str, Any]:
    bias = {"derive": derive, "label": "label", "prediction": "said"}
    whole = {**QUICK, "source": {"path": "people.csv"}, "bias_variable": bias, "protected": ["sex"]}
    return {**whole, "features": {"include": ["age"]}, "worst_groups": None, **changes}


@cache
def documents(derive: str) -> tuple[dict[str, Any], dict[str, Any]]:
    before, after = (audit(table(*made), spec(derive)).document for made in ((1, 0.0), (2, 0.2)))
    return before, after


@pytest.mark.parametrize("derive", ["error", "false_positive_rate", "false_negative_rate", "positive_prediction"])
def test_reports_say_what_the_tables_would(derive: str) -> None:
    found = compare_reports(*documents(derive), max_worse=0.02)
    tables = compare(spec(derive), spec(derive), data_a=table(1), data_b=table(2, 0.2), max_worse=0.02)
    assert found.people.paired_by is None
    assert (found.people.a, found.people.b) == (tables.people.a, tables.people.b)
    assert (found.overall.a, found.overall.b) == pytest.approx((tables.overall.a, tables.overall.b))
    declared = [one for one in tables.groups if one.found_by == "groups"]
    assert [one.who for one in found.groups] == [one.who for one in declared] == ["sex is f", "sex is m"]
    for one, other in zip(found.groups, declared, strict=True):
        assert (one.people_a, one.people_b) == (other.people_a, other.people_b)
        assert (one.change.a, one.change.b) == pytest.approx((other.change.a, other.change.b))
    women, of_tables = found.groups[0], declared[0]
    assert women.change.high - women.change.low == pytest.approx(
        of_tables.change.high - of_tables.change.low, rel=0.15
    )  # as many statements, less those on findings
    ((gap,), (gap_of_tables,)) = ([one.gap for one in each if one.gap is not None] for each in (found.groups, declared))
    assert gap.difference == pytest.approx(gap_of_tables.difference)
    if derive == "error":
        assert (women.change.says, gap.says) == ("worse", "worse")
        assert found.limit is not None
        assert (found.limit.verdict, found.limit.who) == ("fail", "sex is f")


def test_persons_with_several_rows_count_once() -> None:
    """As they do where the tables are at hand; what they weigh are their rows."""
    frames = []
    for seed, more in ((1, 0.0), (2, 0.2)):
        people = table(seed, more).rename_axis("person").reset_index()
        frames.append(pd.concat([people, people[people["sex"] == "f"]], ignore_index=True))
    of_persons = spec(split={"key": "person"})
    found = compare_reports(*(audit(frame, of_persons).document for frame in frames))
    tables = compare(
        of_persons,
        spec(split={"key": "person"}),
        data_a=frames[0],
        data_b=frames[1].assign(person=frames[1]["person"] + ROWS),
    )
    assert (found.people.a, found.people.b) == (tables.people.a, tables.people.b) == (ROWS, ROWS)
    assert (found.overall.a, found.overall.b) == pytest.approx((tables.overall.a, tables.overall.b))
    people_of = {one.who: (one.people_a, one.people_b) for one in tables.groups if one.found_by == "groups"}
    assert {one.who: (one.people_a, one.people_b) for one in found.groups} == people_of


def test_small_groups_are_named() -> None:
    before, after = copy.deepcopy(documents("error"))
    after["groups"]["facets"][0]["groups"][1]["rates"] = None
    found = compare_reports(before, after)
    assert [one.who for one in found.groups] == ["sex is f"]
    assert [[one.words for one in each] for each in found.too_small] == [["sex is m"]]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"publication": {"a": 1}}, "A is a form for publication, whose numbers are rounded"),
        ({"groups": None}, "has no declared groups. Compare the two specifications"),
    ],
)
def test_what_reports_do_not_hold(changed: dict[str, Any], says: str) -> None:
    before, after = documents("error")
    with pytest.raises(DataError, match=re.escape(says)):
        compare_reports({**before, **changed}, after)


def test_reports_of_another_measure_or_of_none_are_refused() -> None:
    before, after = documents("error")
    with pytest.raises(SpecError, match="bias_variable.derive is error in A and false_positive_rate in B"):
        compare_reports(before, documents("false_positive_rate")[1])
    with pytest.raises(DataError, match="form for publication"):
        compare_reports(before, for_publication(after))
    made = table(1)
    column = {**spec(), "bias_variable": {"column": "said"}, "groups": {"label": "label", "prediction": "said"}}
    document = audit(made, column).document
    with pytest.raises(DataError, match="Reports do not hold said of declared groups. Compare the two specifications"):
        compare_reports(document, document)
