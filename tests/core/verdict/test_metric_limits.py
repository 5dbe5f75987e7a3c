"""Limits on metrics of declared groups: four answers, each with its reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness import bias_metrics
from bdt_core.fairness.declared_groups import GroupMetrics, GroupScores, compare_groups, count_groups, score_groups
from bdt_core.spec import AuditSpec, MetricLimit, parse_spec
from bdt_core.verdict import MetricLimitResult, judge_metric, overall

BASE = {
    "name": "hiring",
    "source": {"path": "hiring.csv"},
    "bias_variable": {"derive": "error", "label": "y", "prediction": "p"},
    "favourable": "positive",
}


def table(rates: dict[str, tuple[int, int]]) -> pd.DataFrame:
    """Groups with so many chosen of so many."""
    rows = [
        pd.DataFrame({"group": name, "p": [1] * chosen + [0] * (n - chosen), "y": [0, 1] * (n // 2) + [0] * (n % 2)})
        for name, (chosen, n) in rates.items()
    ]
    return pd.concat(rows, ignore_index=True)


def spec_of(**changes: object) -> AuditSpec:
    return parse_spec({**BASE, "protected": ["group"], **changes})


def judged(frame: pd.DataFrame, spec: AuditSpec | None = None, **limit: object) -> MetricLimitResult:
    settings = spec or spec_of()
    counts = count_groups(frame, settings)
    metrics = compare_groups(counts, settings.significance, frame)
    scores = score_groups(counts, settings.significance)
    return judge_metric(MetricLimit.model_validate({"facet": "group", **limit}), metrics, scores)


@pytest.mark.parametrize(
    ("chosen", "limit", "verdict"),
    [
        ((500, 480), {"metric": "demographic_parity_ratio", "min": 0.8}, "pass"),
        ((500, 300), {"metric": "demographic_parity_ratio", "min": 0.8}, "fail"),
        ((500, 410), {"metric": "demographic_parity_ratio", "min": 0.8}, "inconclusive"),
        ((500, 410), {"metric": "demographic_parity_ratio", "min": 0.8, "rule": "point"}, "pass"),
        ((500, 390), {"metric": "demographic_parity_ratio", "min": 0.8, "rule": "point"}, "fail"),
        ((500, 300), {"metric": "demographic_parity_difference", "max": 0.1}, "fail"),
        ((500, 480), {"metric": "demographic_parity_difference", "max": 0.1}, "pass"),
        ((500, 300), {"metric": "disparate_impact", "min": 0.8}, "fail"),
        ((500, 300), {"metric": "DI", "min": 0.5}, "pass"),
        ((500, 300), {"metric": "DPPL", "min": -0.1, "max": 0.1}, "fail"),
        ((500, 480), {"metric": "DPPL", "min": -0.1, "max": 0.1}, "pass"),
        ((500, 300), {"metric": "selection_rate_difference", "min": -0.1}, "fail"),
        ((500, 300), {"metric": "selection_rate_difference", "max": 0.1}, "fail"),
        ((500, 480), {"metric": "selection_rate_difference", "max": 0.1}, "pass"),
        ((500, 300), {"metric": "DPPL", "max": 0.1}, "fail"),
        ((500, 300), {"metric": "selection_rate_difference", "min": -0.5, "max": 0.0}, "pass"),
        ((500, 300), {"metric": "selection_rate", "min": 0.25}, "pass"),
        ((500, 300), {"metric": "selection_rate", "min": 0.4}, "fail"),
        ((500, 480), {"metric": "bias_score", "max": 0.3}, "pass"),
        ((500, 300), {"metric": "generalized_entropy", "max": 0.9}, "pass"),
        ((500, 300), {"metric": "auc", "min": 0.5}, "not_testable"),
        ((500, 300), {"metric": "CDDL", "max": 0.1}, "not_testable"),
    ],
)
def test_the_interval_against_the_limit(chosen, limit, verdict):
    found = judged(table({"a": (chosen[0], 1000), "b": (chosen[1], 1000)}), **limit)
    assert found.verdict == verdict
    assert found.blocks is (verdict == "fail")
    assert found.sentence
    if verdict == "inconclusive":
        assert "would have been found beyond the limit" in found.sentence
        assert found.smallest_visible is not None


def test_the_group_that_breaks_the_limit_is_named_and_small_ones_are_left_out():
    frame = table({"a": (500, 1000), "b": (450, 1000), "c": (300, 1000), "tiny": (0, 20)})
    found = judged(frame, metric="selection_rate", min=0.4)
    assert (found.verdict, found.group, found.left_out, found.groups_judged) == ("fail", "c", ("tiny",), 3)
    assert "for c" in found.sentence
    assert "Not judged, for too few rows: tiny." in found.sentence
    ranged = judged(frame, metric="demographic_parity_difference", max=0.05)
    assert (ranged.left_out, ranged.groups_judged) == (("tiny",), 3)
    assert "between c and a" in ranged.sentence


def test_limits_of_several_groups_hold_for_all_at_once():
    frame = table(dict.fromkeys("abcdefgh", (500, 1000)))
    alone = bias_metrics(frame, facet="group", prediction="p")["selection_rate"]["a"]
    together = judged(frame, metric="selection_rate", min=0.4)
    assert together.low < alone.low < alone.high < together.high
    eighth = bias_metrics(frame, facet="group", prediction="p", alpha=0.05 / 8)["selection_rate"]["a"]
    assert (together.low, together.high) == pytest.approx((eighth.low, eighth.high))


@pytest.mark.parametrize(
    ("chosen", "severity"), [(480, None), (380, "low"), (320, "medium"), (220, "high"), (150, "critical")]
)
def test_severity_is_the_share_of_the_limit_that_is_reached(chosen, severity):
    found = judged(table({"a": (500, 1000), "b": (chosen, 1000)}), metric="demographic_parity_ratio", min=0.8)
    assert found.severity == severity


def test_severity_of_a_difference_and_of_a_limit_of_nothing():
    frame = table({"a": (500, 1000), "b": (300, 1000)})
    assert judged(frame, metric="demographic_parity_difference", max=0.19).severity == "low"
    assert judged(frame, metric="demographic_parity_difference", max=0.1).severity == "high"
    assert judged(frame, metric="demographic_parity_difference", max=0.0).severity == "critical"


def test_nobody_to_compare_with_is_not_testable():
    found = judged(table({"a": (500, 1000), "tiny": (3, 10)}), metric="demographic_parity_difference", max=0.1)
    assert found.verdict == "not_testable"
    assert "two are needed" in found.sentence
    assert not found.blocks
    blocked = judged(table({"a": (500, 1000)}), metric="demographic_parity_difference", max=0.1, inconclusive="block")
    assert blocked.blocks


def test_infinite_values_are_judged():
    frame = table({"a": (0, 1000), "b": (300, 1000)})
    found = judged(frame, metric="disparate_impact", min=0.8, max=1.25)
    assert (found.value, found.group, found.verdict) == (float("inf"), "b", "fail")
    assert MetricLimitResult.from_dict(found.to_dict()) == found


def test_a_grouping_that_was_not_counted_is_named():
    with pytest.raises(SpecError, match=r'"grop", which was not counted. Did you mean "group"\?.*groups.facets'):
        judged(table({"a": (500, 1000), "b": (3, 100)}), metric="DI", facet="grop", min=0.8)


def test_a_column_that_does_not_exist_is_named():
    with pytest.raises(DataError, match='no column "grop".*"group"'):
        count_groups(table({"a": (5, 10)}), spec_of(protected=["grop"]))


def test_a_numeric_protected_column_is_cut_or_explained():
    frame = table({"a": (500, 1000), "b": (300, 1000)}).assign(age=lambda x: np.arange(len(x)) % 60)
    counts = count_groups(frame, spec_of(protected=["group", "age"]))
    assert [one.facets for one in counts.tables] == [("group",)]
    assert "groups.thresholds: {age: VALUE}" in counts.notes[0]
    cut = count_groups(frame, spec_of(protected=["age"], groups={"thresholds": {"age": 40}}))
    assert cut.tables[0].groups == (("<= 40",), ("> 40",))
    every = count_groups(frame, spec_of(protected=[], groups={"facets": ["age"]}))
    assert len(every.tables[0].groups) == 60


def test_a_reference_that_no_grouping_has_is_named():
    frame = table({"a": (500, 1000), "b": (300, 1000)})
    spec = spec_of(groups={"reference": "c"})
    with pytest.raises(SpecError, match='groups.reference: no grouping has a group "c"'):
        compare_groups(count_groups(frame, spec), spec.significance)
    named = spec_of(groups={"reference": "b"})
    assert compare_groups(count_groups(frame, named), named.significance).facets[0].metrics.reference == "b"


def test_results_come_back_from_json_the_same():
    frame = table({"a": (500, 1000), "b": (300, 1000), "tiny": (0, 5)})
    spec = spec_of(groups={"thresholds": {"age": 3}})
    counts = count_groups(frame, spec)
    metrics, scores = compare_groups(counts, spec.significance), score_groups(counts, spec.significance)
    assert type(counts).from_dict(counts.to_dict()).to_dict() == counts.to_dict()
    assert GroupMetrics.from_dict(metrics.to_dict()) == metrics
    assert GroupScores.from_dict(scores.to_dict()) == scores


def test_counting_twice_and_adding_gives_the_same_metrics():
    frame = table({"a": (500, 1000), "b": (300, 1000)})
    spec = spec_of()
    halves = [count_groups(frame.iloc[part::2], spec) for part in (0, 1)]
    assert halves[0].tables[0] + halves[1].tables[0] == count_groups(frame, spec).tables[0]


@given(st.lists(st.sampled_from(["pass", "fail", "inconclusive", "not_testable"]), min_size=1, max_size=7))
def test_a_majority_never_passes_what_all_pass_and_all_never_pass_what_a_majority_fails(verdicts):
    every, most = overall(verdicts), overall(verdicts, "majority")
    assert (most == "pass") == (2 * verdicts.count("pass") > len(verdicts))
    assert (most == "fail") == (2 * verdicts.count("fail") >= len(verdicts) and most != "pass")
    if every == "pass":
        assert most == "pass"
    if most == "fail":
        assert every == "fail"


def test_a_group_without_a_value_is_named():
    frame = table({"a": (0, 1200), "b": (0, 1000), "c": (300, 1000)})
    found = judged(frame, metric="selection_rate_ratio", min=0.8, max=1.25)
    assert (found.verdict, found.group) == ("fail", "c")
    assert "Undefined for: b (0 in the group and in the reference)." in found.sentence
    against = judged(frame, metric="selection_rate_difference", max=0.9)
    assert "Undefined" not in against.sentence  # the reference itself has none, and needs none
