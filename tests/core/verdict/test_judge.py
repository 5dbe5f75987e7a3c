"""One judge: the same intervals against the same limit give the same verdict, whatever was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.fairness.declared_groups import compare_groups, count_groups
from bdt_core.fairness.metric_results import Estimate
from bdt_core.groups.slices import find_slices
from bdt_core.history.counted import Pair
from bdt_core.history.limits import _Course, _judged
from bdt_core.local_bias import LocalBiasSettings, LocalRows, find_local_bias
from bdt_core.mitigation import MitigationSettings, mitigate, recommend
from bdt_core.mitigation.results import MetricChange
from bdt_core.spec import Limit, LocalBiasLimit, MetricLimit, SliceLimit, parse_spec
from bdt_core.verdict import (
    MetricLimitResult,
    judge_clusters,
    judge_local_bias,
    judge_metric,
    judge_slices,
)
from bdt_core.verdict.baseline import _fails
from bdt_core.verdict.judge import Evidence, Tolerated, allowed_and_why, judge
from benchmarks import simulated

Interval = tuple[float, float, float]
Kind = Callable[[Interval, float, bool], str]
MOST = 0.05
UNCOUNTED = Pair(*(np.zeros(2) for _ in range(4)))

# A difference with its interval, its p-value, and what at most 0.05 makes of it.
CASES: dict[str, tuple[Interval, float, str]] = {
    "all beyond": ((0.2, 0.1, 0.3), 0.001, "fail"),
    "all within": ((0.01, -0.02, 0.04), 0.6, "pass"),
    "both sides": ((0.06, 0.01, 0.12), 0.03, "inconclusive"),
    "significant, and may be within": ((0.2, 0.04, 0.3), 0.001, "inconclusive"),
    "not significant, and may be beyond": ((0.02, -0.1, 0.2), 0.6, "inconclusive"),
    "up to the limit": ((0.03, 0.0, 0.05), 0.2, "pass"),
    "from the limit": ((0.1, 0.05, 0.2), 0.001, "inconclusive"),
    "the other way": ((-0.03, -0.04, -0.02), 0.001, "pass"),
    "beyond, but the test does not reject": ((0.2, 0.06, 0.3), 0.06, "inconclusive"),
}
INTERVAL_ALONE = "metric", "history", "baseline", "mitigation"  # no test stands beside their intervals


@pytest.fixture(scope="module")
def kinds() -> dict[str, Kind]:
    """Every kind of evidence: its verdict on one interval; turned, so that smaller or the other group is worse."""
    rng = np.random.default_rng(1)
    frame, _ = simulated.planted(rng, 3000, 0.1, 0.3)
    clusters = simulated.run(frame, 1).significance
    slices = find_slices(frame, columns=["x0", "c0"], outcome="y", metric="mean", better="lower")
    local = a_place(rng)
    metrics = the_groups()
    mitigation = thresholds(rng)

    def cluster(check: str) -> Kind:
        def verdict(interval: Interval, p: float, turned: bool) -> str:
            value, low, high = around(interval, turned)
            first, second, *_ = clusters.clusters
            found = replace(first.comparison, difference=value, low=low, high=high, p_value=p)
            first = replace(first, comparison=found, simultaneous=(low, high), p_adjusted=p)
            calm = around((-0.5, -0.6, -0.4), turned)
            second = replace(
                second, comparison=replace(second.comparison, difference=calm[0]), simultaneous=calm[1:], p_adjusted=1.0
            )
            bias = clusters.spec.bias_variable.model_copy(update={"better": "higher" if turned else "lower"})
            spec = clusters.spec.model_copy(update={"bias_variable": bias})
            limit = Limit(check=check, max_difference=MOST)
            return judge_clusters(limit, replace(clusters, clusters=(first, second), spec=spec)).verdict

        return verdict

    def slice_(interval: Interval, p: float, turned: bool) -> str:
        value, low, high = around(interval, turned)
        one = slices.slices[0]
        found = replace(one.comparison, status="tested", difference=value, low=low, high=high, p_value=p)
        one = replace(one, comparison=found, p_adjusted=p, significant=p <= 0.05)
        better = "higher" if turned else "lower"
        changed = replace(slices, slices=(one,), tests=1, better=better)
        return judge_slices(SliceLimit(max_difference=MOST), changed, 1.0).verdict

    def local_bias(interval: Interval, p: float, turned: bool) -> str:
        gap, low, high = around(interval, turned)
        one = local.logan.clusters[0]
        held_out = replace(one.held_out, status="tested", gap=gap, low=low, high=high, p_value=p, significant=p <= 0.05)
        changed = replace(local, logan=replace(local.logan, clusters=(replace(one, held_out=held_out),)))
        return judge_local_bias(LocalBiasLimit(max_gap=MOST), changed).verdict

    def metric(interval: Interval, p: float, turned: bool) -> str:
        value, low, high = around(interval, turned)
        (facet,) = metrics.facets
        name = "selection_rate_difference"
        changed = [
            replace(one, estimate=tuple(None if x is None else value for x in one.estimate),
                    together_low=(low,) * len(one.low), together_high=(high,) * len(one.low))
            if one.name == name else one
            for one in facet.metrics.metrics
        ]  # fmt: skip
        facet = replace(facet, metrics=replace(facet.metrics, metrics=tuple(changed)))
        limit = MetricLimit(metric=name, facet="group", min=-9.0, max=MOST)
        limit = MetricLimit(metric=name, facet="group", min=-MOST, max=9.0) if turned else limit
        return judge_metric(limit, replace(metrics, facets=(facet,))).verdict

    def history(interval: Interval, p: float, turned: bool) -> str:
        value, low, high = (np.array([0.0, x]) for x in around(interval, turned))
        low[0], high[0] = -1.0, 1.0  # the first batch told nothing
        return _judged([_Course("a", UNCOUNTED, value, low, high, low, high)], tolerated(turned)).verdict

    def baseline(interval: Interval, p: float, turned: bool) -> str:
        return "fail" if _fails(Evidence(None, *around(interval, turned)), tolerated(turned)) else "not fail"

    def mitigated(interval: Interval, p: float, turned: bool) -> str:
        value, low, high = around(interval, turned)
        after = Estimate(value, low, high, None, 100, 10)
        change = MetricChange("selection_rate_difference", "a", after, after)
        found = replace(mitigation, thresholds=replace(mitigation.thresholds, metrics=(change,)))
        limit = MetricLimitResult(
            kind="metric", check="x", metric="selection_rate_difference", facet="group", group=None,
            minimum=-MOST if turned else None, maximum=None if turned else MOST, rule="interval", verdict="fail",
            blocks=True, inconclusive="warn", sentence="", value=None, low=None, high=None, confidence=0.95,
            p_value=None, smallest_visible=None, severity=None, groups_judged=2, left_out=(),
            rows_seen=2000, rows_unseen=0,
        )  # fmt: skip
        kept = recommend(found, [limit])[0].keeps_limit
        return {"yes": "pass", "no": "fail", "cannot tell": "inconclusive"}[str(kept)]

    return {
        "worst_cluster": cluster("worst_cluster"), "any_cluster": cluster("any_cluster"), "slice": slice_,
        "local_bias": local_bias, "metric": metric, "history": history, "baseline": baseline, "mitigation": mitigated,
    }  # fmt: skip


def around(interval: Interval, turned: bool) -> Interval:
    """The interval, or its mirror image."""
    value, low, high = interval
    return (-value, -high, -low) if turned else interval


def tolerated(turned: bool) -> Tolerated:
    return Tolerated(minimum=-MOST) if turned else Tolerated(maximum=MOST)


def a_place(rng: np.random.Generator) -> Any:
    x = rng.normal(size=(600, 2)) + 6 * rng.integers(0, 2, (600, 1))
    rows = LocalRows(x, rng.choice(["f", "m"], 600), correct=rng.random(600) < 0.8)
    return find_local_bias(rows, rows, LocalBiasSettings(n_clusters=2, min_clusters=1, permutations=0))


def the_groups() -> Any:
    frame = pd.DataFrame({"group": ["a", "b"] * 500, "p": [0, 1, 1, 0] * 250, "y": [0, 1, 0, 0] * 250})
    spec = parse_spec({
        "name": "x", "source": {"path": "x.csv"}, "protected": ["group"],
        "bias_variable": {"derive": "error", "label": "y", "prediction": "p"},
    })  # fmt: skip
    return compare_groups(count_groups(frame, spec), spec.significance, frame)


def thresholds(rng: np.random.Generator) -> Any:
    y = rng.integers(0, 2, 2000)
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], 2000), "s": y + rng.normal(size=2000), "y": y})
    settings = MitigationSettings(("group",), "s", "y", threshold=0.5, tolerance=0.1)
    return mitigate(frame.iloc[:1000], frame.iloc[1000:], settings)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "kind", ["worst_cluster", "any_cluster", "slice", "local_bias", "metric", "history", "baseline", "mitigation"]
)
def test_an_interval_against_a_limit(kinds: dict[str, Kind], kind: str, case: str, turned: bool) -> None:
    interval, p, wanted = CASES[case]
    if kind in INTERVAL_ALONE and "does not reject" in case:
        wanted = "fail"
    if kind == "baseline" and wanted != "fail":
        wanted = "not fail"
    assert kinds[kind](interval, p, turned) == wanted


def test_a_gap_counts_whichever_group_is_ahead_and_better_off_is_no_harm(kinds: dict[str, Kind]) -> None:
    better_off = (-0.3, -0.4, -0.2)
    assert kinds["local_bias"](better_off, 0.001, False) == "fail"
    may_be_behind = (0.01, -0.2, 0.04)
    assert kinds["local_bias"](may_be_behind, 0.6, False) == "inconclusive"
    for kind in ("worst_cluster", "slice", "metric", "history"):
        assert kinds[kind](better_off, 0.001, False) == kinds[kind](may_be_behind, 0.6, False) == "pass"


@pytest.mark.parametrize(
    ("value", "limit", "wanted"),
    [(0.79, Tolerated(0.8, None, "point"), "fail"), (0.8, Tolerated(0.8, None, "point"), "pass"),
     (1.3, Tolerated(0.8, 1.25, "point"), "fail"), (1.0, Tolerated(0.8, 1.25, "point"), "pass")],
)  # fmt: skip
def test_by_the_value_alone(value: float, limit: Tolerated, wanted: str) -> None:
    assert limit.verdict(value, 0.0, 9.0) == wanted
    assert limit.verdict(value, None, None) == wanted


@pytest.mark.parametrize(("low", "high"), [(None, None), (float("nan"), float("nan"))])
def test_an_unknown_interval_cannot_tell(low: float | None, high: float | None) -> None:
    assert Tolerated(maximum=0.05).verdict(0.5, low, high) == "inconclusive"


def test_between_two_ends_both_count() -> None:
    limit = Tolerated(0.8, 1.25)
    intervals = {(0.9, 1.2): "pass", (0.5, 0.7): "fail", (1.3, 1.5): "fail", (0.7, 1.3): "inconclusive"}
    assert {ends: limit.verdict(1.0, *ends) for ends in intervals} == intervals


def test_the_severest_decides_and_says_how_severe() -> None:
    several = [Evidence("calm", 0.01, 0.0, 0.02), Evidence("unsure", 0.9, 0.0, 1.0), Evidence("sure", 0.08, 0.06, 0.1)]
    limit = Tolerated(maximum=0.05)
    found = judge(several, limit)
    assert (found.verdict, found.decides.of, found.severity) == ("fail", "sure", "high")
    assert judge(several[:2], limit).decides.of == "unsure"
    assert judge(several[:1], limit).severity is None


def test_an_interval_beyond_that_the_test_does_not_reject_is_not_said_to_lie_on_both_sides() -> None:
    limit = Tolerated(maximum=0.05)
    found = judge([Evidence("a", 0.2, 0.06, 0.3, rejects=False)], limit)
    assert found.verdict == "inconclusive"
    says = "at most 0.05 is allowed, and the whole interval is beyond it, but the test does not reject"
    assert allowed_and_why(found, limit) == says


@pytest.mark.parametrize(
    ("value", "low", "high", "rejects", "verdict", "says"),
    [
        (0.7, 0.6, 0.79, True, "fail", "the value is beyond it, with a significant difference"),
        (0.7, 0.5, 0.95, True, "fail", "the value is beyond it, with a significant difference"),
        (0.7, 0.4, 1.2, False, "inconclusive", "the value is beyond it, without a significant difference"),
        (0.7, None, None, False, "inconclusive", "the value is beyond it, without a significant difference"),
        (0.8, 0.7, 0.9, True, "inconclusive", "the interval lies on both sides of it"),
        (0.95, 0.8, 1.1, False, "pass", "the whole interval is within it"),
    ],
)
def test_by_the_four_fifths_rule_a_value_beyond_fails_where_the_difference_is_significant(
    value: float, low: float | None, high: float | None, rejects: bool, verdict: str, says: str
) -> None:
    tolerated = Tolerated(minimum=0.8, rule="significant")
    judged = judge([Evidence("a", value, low, high, rejects=rejects)], tolerated)
    assert (judged.verdict, allowed_and_why(judged, tolerated)) == (verdict, f"at least 0.8 is required, and {says}")
