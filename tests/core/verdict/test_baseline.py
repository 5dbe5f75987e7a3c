"""A report against an earlier one: only what is significantly worse counts, and nothing hides behind anything."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdt_core.audit import audit
from bdt_core.errors import SourceError
from bdt_core.inference import wilson_interval
from bdt_core.report import canonical_json
from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.verdict.baseline import compare_with_baseline, compared, stretches_of
from bdt_core.verdict.comparable import ComparableReport, read_baseline
from bdt_core.verdict.judge import Evidence
from tests.core.verdict.against import against

Document = dict[str, Any]
Z = 1.959963984540054


def at(value: float, low: float | None, high: float | None) -> Evidence[str | None]:
    """A value with its interval."""
    return Evidence(None, value, low, high)


def people(selected: dict[str, float], rows: int = 400) -> pd.DataFrame:
    """As many people per group, of whom exactly so many are selected."""
    rng = np.random.default_rng(5)
    parts = [
        pd.DataFrame({"group": name, "prediction": (np.arange(rows) < round(rate * rows)).astype(int)})
        for name, rate in selected.items()
    ]
    table = pd.concat(parts, ignore_index=True)
    return table.assign(age=rng.integers(20, 70, len(table)), income=rng.normal(50, 9, len(table)))


def spec(*gate: dict[str, Any], **changes: Any) -> AuditSpec:
    return parse_spec(
        {
            "name": "loans",
            "source": {"path": "loans.csv"},
            "bias_variable": {"derive": "positive_prediction", "prediction": "prediction", "better": "higher"},
            "features": {"include": ["age", "income"]},
            "protected": ["group"],
            "clustering": {"stability": 0, "max_iter": 3},
            "gate": list(gate),
            **changes,
        }
    )


def report(selected: dict[str, float], *gate: dict[str, Any], rows: int = 400, **changes: Any) -> Document:
    return audit(people(selected, rows), spec(*gate, **changes)).document


SELECTION = {"metric": "selection_rate", "facet": "group", "min": 0.4}
PARITY = {"metric": "demographic_parity_difference", "facet": "group", "max": 0.1}
IMPACT = {"metric": "DI", "facet": "group", "min": 0.8}


@given(
    st.floats(-1, 1), st.floats(-1, 1), st.floats(0.001, 0.5), st.floats(0.001, 0.5),
)  # fmt: skip
def test_symmetric_intervals_give_the_textbook_interval_of_a_difference(
    d1: float, d0: float, se1: float, se0: float
) -> None:
    now, before = at(d1, d1 - Z * se1, d1 + Z * se1), at(d0, d0 - Z * se0, d0 + Z * se0)
    found = compared(now, before, above=True, is_ratio=False)
    assert found.difference is not None
    half = Z * math.hypot(se1, se0)
    assert found.difference == pytest.approx((d1 - d0, d1 - d0 - half, d1 - d0 + half), abs=1e-9)
    back = compared(before, now, above=True, is_ratio=False)
    assert (found.change == "worse") is (back.change == "better")
    assert (found.change == "worse") is (compared(now, before, above=False, is_ratio=False).change == "better")


def test_a_model_that_did_not_change_is_rarely_called_worse() -> None:
    rng = np.random.default_rng(1)
    trials = 4000
    counts = rng.binomial(300, 0.15, (trials, 2))
    low, high = wilson_interval(counts, 300)
    worse = 0
    for (x1, x0), (l1, l0), (u1, u0) in zip(counts / 300, low, high, strict=True):
        found = compared(at(x1, l1, u1), at(x0, l0, u0), above=True, is_ratio=False)
        worse += found.change == "worse"
    assert 0.015 < worse / trials < 0.033  # half of 5 %


def test_ratios_are_compared_by_their_logarithms() -> None:
    now, before = at(0.4, 0.3, 0.5), at(0.8, 0.7, 0.9)
    found = compared(now, before, above=False, is_ratio=True)
    assert found.change == "worse"
    assert found.difference is not None
    assert found.difference[0] == pytest.approx(0.5)
    flipped = compared(at(1 / 0.4, 1 / 0.5, 1 / 0.3), at(1 / 0.8, 1 / 0.9, 1 / 0.7), above=True, is_ratio=True)
    assert flipped.difference is not None
    assert 1 / flipped.difference[2] == pytest.approx(found.difference[1])


@pytest.mark.parametrize(
    ("now", "before", "is_ratio", "expected"),
    [
        (at(0.0, 0.0, 0.1), at(0.5, 0.4, 0.6), True, "worse"),  # log 0
        (at(0.0, 0.0, 0.45), at(0.5, 0.4, 0.6), True, "not_worse"),
        (at(math.inf, 5.0, math.inf), at(math.inf, 5.0, math.inf), False, "not_worse"),
        (at(0.5, None, None), at(0.4, 0.3, 0.5), True, "not_worse"),  # no interval, but not farther out
        (at(0.3, None, None), at(0.4, 0.3, 0.5), True, "not_in_baseline"),
    ],
)
def test_values_whose_change_has_no_size(
    now: Evidence[str | None], before: Evidence[str | None], is_ratio: bool, expected: str
) -> None:
    found = compared(now, before, above=False, is_ratio=is_ratio)
    assert found.change == expected
    assert found.difference is None
    assert found.why


def test_many_groups_and_another_level_stretch_the_arms() -> None:
    now, before = stretches_of(0.05, 0.10, 5)
    assert now == pytest.approx(2.5758 / 1.9600, abs=1e-4)
    assert before == pytest.approx(2.5758 / 1.6449, abs=1e-4)


def test_a_group_that_was_always_beyond_does_not_hide_one_that_newly_is() -> None:
    before = report({"a": 0.6, "b": 0.1, "c": 0.45}, SELECTION)
    now = report({"a": 0.6, "b": 0.1, "c": 0.2}, SELECTION)
    assert now["gate"][0]["group"] == "b"
    (change,) = against(now, before).limits
    assert (change.change, change.group, change.accepted) == ("worse", "c", False)
    assert (change.value, change.baseline) == (0.2, 0.45)
    assert change.groups_compared == 2
    not_judged = copy.deepcopy(now)
    not_judged["gate"][0]["left_out"] = ["c"]  # too few rows in a denominator
    assert against(not_judged, before).limits[0].groups_compared == 1
    same = against(now, now)
    assert (same.verdict, same.blocks, same.limits[0].accepted) == ("pass", False, True)
    better = against(before, now).limits[0]
    assert (better.group, better.change) == ("b", "not_worse")


def test_what_cannot_be_compared_still_stops() -> None:
    now = report({"a": 0.6, "b": 0.1}, SELECTION, PARITY)
    new_group = against(now, report({"a": 0.6, "c": 0.5}, SELECTION))
    assert [one.change for one in new_group.limits] == ["not_in_baseline", "worse"]
    assert (new_group.verdict, new_group.blocks) == ("fail", True)
    assert "selection_rate by group" in new_group.sentence
    no_groups = against(now, report({"a": 0.6, "b": 0.1}, groups={"facets": []}))
    assert {one.change for one in no_groups.limits} == {"not_in_baseline"}
    assert no_groups.blocks
    few = audit(pd.concat([people({"a": 0.6}), people({"b": 0.1}, rows=20)]), spec(SELECTION)).document
    assert few["gate"][0]["left_out"] == ["b"]
    assert against(now, few).limits[0].change == "not_in_baseline"


def test_another_reference_group_is_no_comparison() -> None:
    limit = {"metric": "selection_rate_difference", "facet": "group", "max": 0.1}
    rates = {"a": 0.6, "b": 0.55, "c": 0.1}
    to_a, to_b = (report(rates, limit, groups={"reference": one}) for one in "ab")
    assert against(to_a, to_a).limits[0].change == "not_worse"
    (change,) = against(to_a, to_b).limits
    assert (change.group, change.change, change.accepted) == ("c", "not_in_baseline", False)


def test_the_direction_is_that_of_the_limit() -> None:
    fair, unfair = {"a": 0.5, "b": 0.45}, {"a": 0.6, "b": 0.1}
    now, before = report(unfair, IMPACT, PARITY), report(fair, IMPACT, PARITY)
    assert [one.change for one in against(now, before).limits] == ["worse", "worse"]
    assert [one.change for one in against(before, now).limits] == ["better", "better"]
    assert not against(before, now).blocks
    both_ways = {"metric": "selection_rate_difference", "facet": "group", "max": 0.1}
    now, before = report(unfair, both_ways), report(fair, both_ways)
    assert now["gate"][0]["value"] == pytest.approx(-0.5)
    assert against(now, before).limits[0].change == "worse"
    assert against(before, now).limits[0].change == "better"


def test_the_harm_of_the_worst_cluster_is_compared() -> None:
    now = report({"a": 0.5, "b": 0.5}, {"check": "worst_cluster", "max_difference": 0.0})
    (limit,) = now["gate"]
    milder = copy.deepcopy(now)
    shift = 3 * (limit["high"] - limit["low"])
    milder["gate"][0] |= {key: limit[key] - shift for key in ("difference", "low", "high")}
    (change,) = against(now, milder).limits
    assert change.change == "worse"
    assert change.difference == pytest.approx(shift)
    assert "different groups of people" in change.sentence
    assert against(milder, now).limits[0].change == "better"
    milder["gate"][0]["check"] = "any_cluster"
    assert against(now, milder).limits[0].change == "not_in_baseline"


def test_what_blocks_because_it_cannot_tell_is_held_against_the_baseline_too() -> None:
    limit = {**SELECTION, "min": 0.5, "inconclusive": "block"}
    now = report({"a": 0.6, "b": 0.49}, limit)
    assert (now["verdict"]["verdict"], now["verdict"]["blocks"]) == ("inconclusive", True)
    same = against(now, now)
    assert (same.verdict, same.blocks) == ("inconclusive", False)  # exit code 3, never 0
    assert against(now, report({"a": 0.6, "b": 0.8}, limit)).blocks


def test_majority_counts_accepted_limits_as_holding() -> None:
    gate = (SELECTION, PARITY, {"metric": "selection_rate", "facet": "group", "min": 0.01})
    now = report({"a": 0.6, "b": 0.1}, *gate, require="majority")
    assert now["verdict"]["verdict"] == "fail"
    mild = report({"a": 0.6, "b": 0.45}, *gate, require="majority")
    assert against(now, mild).verdict == "fail"
    mixed = copy.deepcopy(mild)
    mixed["groups"]["facets"][0]["ranges"] = now["groups"]["facets"][0]["ranges"]
    found = against(now, mixed)
    assert [one.change for one in found.limits[:2]] == ["worse", "not_worse"]
    assert (found.verdict, found.blocks) == ("pass", False)


@pytest.fixture(scope="module")
def earlier() -> Document:
    return json.loads(canonical_json(report({"a": 0.6, "b": 0.1}, SELECTION)))


def test_a_report_is_read_back(earlier: Document, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(earlier))
    (change,) = compare_with_baseline(ComparableReport.of(earlier), read_baseline(file, spec(SELECTION))).limits
    assert change.change == "not_worse"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda one: "{", "not valid JSON"),
        (lambda one: "[" * 100_000, "not valid JSON"),
        (lambda one: '{"schema_version": NaN}', "not valid JSON"),
        (lambda one: "[1]", "no report of an audit"),
        (lambda one: json.dumps(one | {"schema_version": 99}), "version 99"),
        (lambda one: json.dumps(one | {"name": "other"}), 'of the audit "other", not of "loans"'),
        (lambda one: json.dumps(one | {"gate": None}), "gate is missing"),
        (lambda one: json.dumps(one | {"spec": {}}), r"spec\.bias_variable is missing"),
        (lambda one: json.dumps(one | {"gate": [one["gate"][0] | {"low": "x"}]}), r"gate\.0\.metric\.low is not what"),
        (lambda one: json.dumps(one | {"spec": one["spec"] | {"significance": {}}}), "alpha is missing"),
    ],
)
def test_a_baseline_that_does_not_fit_is_refused(
    change: Callable[[Document], str], says: str, earlier: Document, tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    file.write_text(change(earlier))
    with pytest.raises(SourceError, match=says):
        read_baseline(file, spec(SELECTION))


def test_a_baseline_that_is_missing_or_measures_the_opposite_is_refused(earlier: Document, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read_baseline(tmp_path / "nowhere.json", spec(SELECTION))
    (tmp_path / "report.json").write_text(json.dumps(earlier))
    turned = {"derive": "positive_prediction", "prediction": "prediction", "better": "lower"}
    with pytest.raises(SourceError, match=r"bias_variable\.better is higher, that of the specification lower"):
        read_baseline(tmp_path / "report.json", spec(SELECTION, bias_variable=turned, favourable="positive"))
