"""Trend, drift, volume, limits over time, and what the checks say of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression import linear_model
from statsmodels.tools import add_constant

from bdt_core.errors import SpecError
from bdt_core.fairness.declared_groups import compare_groups
from bdt_core.history import difference_finding, drift_finding, follow, volume_finding
from bdt_core.history.change import drifts_of, trend_of
from bdt_core.history.counted import Pair
from bdt_core.history.limits import compared_by
from bdt_core.inference import newcombe_interval
from bdt_core.verdict import judge_metric
from bdt_core.verdict.words import severest, severity_by_ratio
from tests.core.history.made_batches import counted, days, history_spec

EQUAL = {"f": (150, 50, 100, 200), "m": (300, 100, 200, 400)}
WORSE = {"f": (150, 100, 100, 150), "m": (300, 100, 200, 400)}  # twice as many are wrongly called positive


def pair(*columns: list[float]) -> Pair:
    return Pair(*(np.array(one, dtype=float) for one in columns))


def test_the_trend_is_weighted_least_squares() -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(50, 400, 12).astype(float)
    events = rng.binomial(rows.astype(int), 0.3).astype(float)
    others = rng.binomial(500, 0.25, 12).astype(float)
    given = Pair(events, rows, others, np.full(12, 500.0))
    found = trend_of(given, 12, 0.05)
    p = (events.sum() + 0.5) / (rows.sum() + 1)
    q = (others.sum() + 0.5) / 6001
    weights = 1 / (p * (1 - p) / rows + q * (1 - q) / 500)
    assert _chi_squared(given, 1 / weights) < 10  # no more scatter than counting
    fit = linear_model.WLS(events / rows - others / 500, add_constant(np.arange(12)), weights).fit(
        cov_type="fixed scale"
    )
    assert found is not None
    assert found.slope == pytest.approx(fit.params[1])
    assert found.high - found.slope == pytest.approx(stats.t.isf(0.025, 10) * fit.bse[1])


def test_days_that_scatter_widen_the_trend() -> None:
    """The variance between days is such that the points scatter about the line just as they are expected to."""
    events = [350.0, 250, 370, 260, 380, 240, 300, 350, 250, 330]
    given = pair(events, [1000] * 10, [300] * 10, [1000] * 10)
    found = trend_of(given, 30, 0.05)
    assert found is not None
    fit = linear_model.OLS((np.array(events) - 300) / 1000, add_constant(np.arange(10))).fit()
    assert found.slope == pytest.approx(fit.params[1])
    assert [found.low, found.high] == pytest.approx(fit.conf_int()[1])


def _chi_squared(given: Pair, variance: np.ndarray) -> float:
    y = given.events / given.rows - given.reference_events / given.reference_rows
    return float(linear_model.WLS(y, add_constant(np.arange(y.size)), 1 / variance).fit().ssr)


def test_the_trend_counts_empty_batches_as_time_and_needs_three() -> None:
    thousand = [1000, 0, 1000, 1000]
    found = trend_of(pair([300, 0, 340, 360], thousand, [300, 0, 300, 300], thousand), 30, 0.05)
    assert found is not None
    assert (found.slope, found.batches) == (pytest.approx(0.02), 3)
    assert trend_of(pair([1, 2], [10, 10], [1, 2], [10, 10]), 30, 0.05) is None
    recent = trend_of(pair([0, 300, 320, 340], [1000] * 4, [300] * 4, [1000] * 4), 3, 0.05)
    assert recent is not None
    assert recent.slope == pytest.approx(0.02)  # the look-back leaves the first one out


def drift(now: tuple[int, int], past: tuple[int, int], **changes: float) -> object:
    given = pair([past[0], now[0]], [past[1], now[1]], [past[0], past[0]], [past[1], past[1]])
    settings = {"limit": 0.05, "look_back": 30, "min_rows": 100, "alpha": 0.05, **changes}
    return drifts_of([given], [(now[1], past[1])], **settings)[0]  # type: ignore[arg-type]


def test_drift_is_certain_moved_or_steady() -> None:
    assert drift((500, 1000), (3000, 10_000)).state == "drift"
    assert drift((40, 100), (3000, 10_000)).state == "moved"
    assert drift((310, 1000), (3000, 10_000)).state == "steady"
    assert drift((50, 1000), (3000, 10_000)).state == "drift"  # either way
    few = drift((40, 99), (3000, 10_000))
    assert (few.state, few.reason) == ("not_testable", "fewer than 100 rows in this batch")


def test_the_interval_of_a_change_is_that_of_two_differences() -> None:
    found = drift((500, 1000), (3000, 10_000))
    d, (low, high) = 0.2, newcombe_interval(500, 1000, 3000, 10_000, 0.95)
    low0, high0 = newcombe_interval(3000, 10_000, 3000, 10_000, 0.95)
    assert found.change == pytest.approx(0.2)
    assert found.low == pytest.approx(0.2 - np.hypot(d - low, high0))
    assert found.high == pytest.approx(0.2 + np.hypot(high - d, low0))


def test_drift_looks_at_the_look_back_only() -> None:
    spec = history_spec(history={"look_back": 2})
    found = follow(days(spec, [WORSE, EQUAL, EQUAL, WORSE]), spec)
    stream = next(one for one in found.streams if one.metric == "false_positive_rate")
    assert stream.drift.change == pytest.approx(0.2)
    first = follow(days(spec, [WORSE]), spec).streams[0].drift
    assert first.reason == "there is no batch before this one"


def test_what_is_said_of_drift_names_what_moved() -> None:
    spec = history_spec()
    found = drift_finding(follow(days(spec, [EQUAL] * 5 + [WORSE]), spec))
    assert (found.passed, found.broken, found.severity) == (False, False, "critical")
    assert "2026-01-06, against the 5 before it" in found.sentence
    assert "false positive rate by sex, f less m: +20.0 points" in found.sentence
    assert "false positive rate by sex" in found.recommendation
    calm = drift_finding(follow(days(spec, [EQUAL] * 6), spec))
    assert (calm.passed, calm.severity) == (True, None)


def test_volume_names_the_groups_of_the_batch_that_was_asked_for() -> None:
    spec = history_spec()
    small = {"f": (20, 10, 10, 10), "m": (300, 100, 200, 400)}
    history = follow(days(spec, [EQUAL, small, {"m": (300, 100, 200, 400)}]), spec)
    assert volume_finding(history, "2026-01-01").passed
    second = volume_finding(history, "2026-01-02")
    assert (second.passed, second.severity) == (False, "high")
    assert "f (sex): 50" in second.sentence
    assert volume_finding(history).severity == "critical"  # none at all in the latest
    assert "f (sex): 0" in volume_finding(history).sentence


RATES = [{"metric": "false_positive_rate_difference", "facet": "sex", "min": -0.1, "max": 0.1}]


@pytest.mark.parametrize(
    ("gate", "batches", "verdict"),
    [
        (RATES, [EQUAL] * 40, "pass"),
        (RATES, [EQUAL], "inconclusive"),
        (RATES, [WORSE] * 40, "fail"),
        ([{**RATES[0], "max": 0.2}], [WORSE] * 40, "inconclusive"),  # exactly at the limit
        ([{"metric": "predictive_equality_difference", "facet": "sex", "max": 0.1}], [WORSE] * 40, "fail"),
        ([{"metric": "equalized_odds_difference", "facet": "sex", "max": 0.1}], [WORSE] * 40, "fail"),
        ([{"metric": "equal_opportunity_difference", "facet": "sex", "max": 0.1}], [WORSE] * 40, "pass"),
        ([{"metric": "demographic_parity_difference", "facet": "sex", "max": 0.05}], [WORSE] * 40, "fail"),
        ([{"metric": "DPPL", "facet": "sex", "min": -0.05, "max": 0.05}], [WORSE] * 40, "fail"),
        ([{"metric": "RD", "facet": "sex", "min": -0.05, "max": 0.05}], [WORSE] * 90, "pass"),
        ([{"metric": "accuracy_difference", "facet": "race", "max": 0.1}], [WORSE] * 4, "not_testable"),
    ],
)
def test_limits_on_differences_are_judged_over_time(gate: list, batches: list, verdict: str) -> None:
    spec = history_spec(gate=gate, favourable="positive")
    (limit,) = follow(days(spec, batches), spec).limits
    assert limit.verdict == verdict, limit.sentence
    assert (limit.broken_since is not None) == (verdict == "fail")
    assert (limit.severity is not None) == (verdict == "fail")


def test_a_limit_broken_once_stays_broken_and_says_so() -> None:
    spec = history_spec(gate=RATES)
    history = follow(days(spec, [WORSE] * 10 + [EQUAL] * 60), spec)
    (limit,) = history.limits
    assert (limit.verdict, limit.value) == ("fail", pytest.approx(2 / 70))
    assert "though it no longer is" in limit.sentence
    assert limit.severity == "low"
    first = next(
        number for number in range(1, 11) if follow(days(spec, [WORSE] * number), spec).limits[0].verdict == "fail"
    )
    assert limit.broken_since == history.batches[first - 1].id


def test_clarify_differences_have_their_own_sign() -> None:
    spec = history_spec(gate=[{"metric": "DPPL", "facet": "sex", "min": -1.0, "max": 0.5}])
    (limit,) = follow(days(spec, [WORSE] * 5), spec).limits
    assert limit.group == "m against everybody else"  # DPPL = a - d: above 0 when d has fewer positive predictions
    assert limit.value == pytest.approx(0.1)


def test_clarify_differences_count_the_outcome_that_people_want() -> None:
    """A positive prediction that harms: the group with more of them is d, and its recall is our true negative rate."""
    gate = [{"metric": "DPPL", "facet": "sex", "max": 0.05}, {"metric": "RD", "facet": "sex", "max": 0.05}]
    spec = history_spec(gate=gate, favourable="negative")
    predictions, recall = follow(days(spec, [WORSE] * 40), spec).limits
    assert (predictions.group, predictions.value, predictions.verdict) == (
        "f against everybody else",
        pytest.approx(0.1),
        "fail",
    )
    assert (recall.group, recall.value, recall.verdict) == ("f against everybody else", pytest.approx(0.2), "fail")


@pytest.mark.parametrize(("least", "verdict"), [(None, "fail"), (-0.5, "pass")])
def test_a_largest_difference_alone_holds_in_both_directions_as_in_the_gate(least: float | None, verdict: str) -> None:
    """Which group is the reference must not decide."""
    lower = {"f": (150, 25, 100, 225), "m": (300, 200, 200, 300)}  # false positive rates of .1 and .4
    spec = history_spec(gate=[{"metric": "false_positive_rate_difference", "facet": "sex", "min": least, "max": 0.1}])
    history = follow(days(spec, [lower] * 40), spec)
    (limit,) = history.limits
    assert limit.value == pytest.approx(-0.3)
    assert limit.verdict == verdict, limit.sentence
    assert difference_finding(history).broken == (verdict == "fail")
    at_once = compare_groups(counted(spec, {one: [40 * n for n in cells] for one, cells in lower.items()}),
                             spec.significance)  # fmt: skip
    gate = judge_metric(spec.gate[0], at_once)
    assert gate.verdict == verdict
    assert (limit.minimum, limit.maximum) == (gate.minimum, gate.maximum)


def test_a_range_holds_all_groups_against_one_another() -> None:
    """Two groups within the limit of the reference, each on its side, are beyond it from each other."""
    groups = {"a": (40, 0, 0, 60), "b": (60, 0, 0, 40), "m": (100, 0, 0, 100)}
    spec = history_spec(gate=[{"metric": "demographic_parity_difference", "facet": "sex", "max": 0.15}])
    (limit,) = follow(days(spec, [groups] * 200), spec).limits
    assert limit.value == pytest.approx(0.2)
    assert limit.verdict == "inconclusive"
    assert limit.group == "a and b"


def test_limits_that_compare_no_rates_are_named() -> None:
    gate = [
        {"metric": "calibration_ratio", "facet": "sex", "min": 0.8},
        {"metric": "accuracy", "facet": "sex", "min": 0.5},
    ]
    spec = history_spec(gate=gate, favourable="positive")
    history = follow(days(spec, [EQUAL]), spec)
    assert history.limits == ()
    assert history.notes == (
        "Not followed over time, being no differences or ratios of rates: calibration_ratio by sex, accuracy by sex.",
    )
    assert compared_by("calibration_difference") is None


FEWER = {"f": (60, 40, 190, 210), "m": (300, 100, 200, 400)}  # selection rates of .2 and .4


@pytest.mark.parametrize(
    ("limit", "favourable", "whose", "value", "verdict"),
    [
        ({"metric": "disparate_impact", "min": 0.8}, "positive", "f against everybody else", 0.5, "fail"),
        ({"metric": "disparate_impact", "min": 0.8}, "negative", "m against everybody else", 0.6 / 0.8, "fail"),
        ({"metric": "disparate_impact", "min": 0.4}, "positive", "f against everybody else", 0.5, "pass"),
        ({"metric": "selection_rate_ratio", "min": 0.8}, "positive", "f against m", 0.5, "fail"),
        ({"metric": "selection_rate_ratio", "min": 0.5}, "positive", "f against m", 0.5, "inconclusive"),
        ({"metric": "demographic_parity_ratio", "min": 0.8}, None, "f and m", 0.5, "fail"),
        ({"metric": "demographic_parity_ratio", "min": 0.45}, None, "f and m", 0.5, "pass"),
        ({"metric": "four_fifths_ratio", "min": 0.8}, "positive", "f and m", 0.5, "fail"),
        ({"metric": "four_fifths_ratio", "min": 0.8}, "negative", "m and f", 0.75, "fail"),
        ({"metric": "equalized_odds_ratio", "min": 0.8}, None, "f and m", 0.4, "fail"),
    ],
)
def test_limits_on_ratios_are_judged_over_time(
    limit: dict, favourable: str | None, whose: str, value: float, verdict: str
) -> None:
    spec = history_spec(gate=[{**limit, "facet": "sex"}], favourable=favourable)
    history = follow(days(spec, [FEWER] * 60), spec)
    (found,) = history.limits
    assert (found.group, found.value, found.verdict) == (whose, pytest.approx(value), verdict), found.sentence
    assert found.daily == pytest.approx([value] * 60)
    assert found.trend is not None
    assert found.trend.slope == pytest.approx(0.0, abs=1e-9)
    assert (found.severity is not None) == (verdict == "fail")
    at_once = compare_groups(counted(spec, {one: [60 * n for n in cells] for one, cells in FEWER.items()}),
                             spec.significance)  # fmt: skip
    gate = judge_metric(spec.gate[0], at_once)
    assert (gate.verdict, gate.value) == (verdict, pytest.approx(value))
    # A ratio that is tolerated is no news; nor is one that is broken told twice.
    told = difference_finding(history)
    assert told.broken == (verdict == "fail")
    assert ("selection rate by sex" in told.sentence) == ("equalized_odds" in limit["metric"])


def test_the_ratio_over_all_groups_is_the_lowest_over_the_highest() -> None:
    groups = {"a": (40, 0, 0, 60), "b": (60, 0, 0, 40), "m": (100, 0, 0, 100)}
    spec = history_spec(gate=[{"metric": "demographic_parity_ratio", "facet": "sex", "min": 0.75}])
    (limit,) = follow(days(spec, [groups] * 200), spec).limits
    assert (limit.group, limit.value) == ("a and b", pytest.approx(2 / 3))
    assert limit.daily[0] == pytest.approx(2 / 3)
    assert limit.verdict == "inconclusive"  # a against m, and b against m, hold together


def test_a_limit_that_is_broken_late_is_found_though_all_days_together_are_within() -> None:
    """120 good days do not hide what began after them."""
    gate = [{"metric": "selection_rate_ratio", "facet": "sex", "min": 0.8}]
    spec = history_spec(gate=gate, favourable="positive")
    history = follow(days(spec, [EQUAL] * 120 + [FEWER] * 8), spec)
    (limit,) = history.limits
    assert limit.verdict == "fail"
    assert "the whole sequence of the latest batches was beyond it" in limit.sentence
    assert limit.broken_since is not None
    assert limit.broken_since > history.batches[119].id
    assert limit.value > 0.95
    assert limit.severity == "high"  # by what it is for certain on the latest days
    gap = history_spec(gate=RATES)
    (late,) = follow(days(gap, [EQUAL] * 120 + [WORSE] * 8), gap).limits
    assert (late.verdict, late.value < 0.05) == ("fail", True)


def test_the_past_is_so_many_batches_or_so_long() -> None:
    several = [WORSE] * 10 + [EQUAL] * 20
    batches = days(history_spec(), several)
    at = {name: follow(batches, history_spec(history={"look_back": name})) for name in (7, "7d", "168h", "1w")}
    assert {one.look_back for one in at.values()} == {7}
    assert len({str(one.streams) for one in at.values()}) == 1
    assert at["7d"].streams[0].trend.batches == 7
    thinned = follow(batches[::8], history_spec(history={"look_back": "7d"}))
    assert thinned.look_back == 0
    assert thinned.streams[0].trend is None
    assert thinned.streams[0].drift.reason == "fewer than 10 rows to take the rate of, in the batches before"


@pytest.mark.parametrize("wrong", ["30", "d", "0d", "3 days", "1.5h", "-1d", 1, True])
def test_a_past_that_is_none_is_refused(wrong: object) -> None:
    with pytest.raises(SpecError, match="look_back"):
        history_spec(history={"look_back": wrong})


def test_a_broken_limit_is_an_error_and_a_difference_without_one_a_warning() -> None:
    spec = history_spec(gate=RATES)
    broken = difference_finding(follow(days(spec, [WORSE] * 40), spec))
    assert (broken.passed, broken.broken, broken.severity) == (False, True, "high")
    assert "False positive rate difference by sex was measured (f against m)" in broken.recommendation
    free = history_spec()
    shown = difference_finding(follow(days(free, [WORSE] * 40), free))
    assert (shown.passed, shown.broken, shown.severity) == (False, False, "high")
    assert "false positive rate by sex, f less m: +20.0 points" in shown.sentence
    calm = difference_finding(follow(days(spec, [EQUAL] * 40), spec))
    assert (calm.passed, calm.severity) == (True, None)
    tolerated = history_spec(gate=[{**RATES[0], "min": -0.3, "max": 0.3}, *(
        {"metric": f"{one}_difference", "facet": "sex", "min": -0.3, "max": 0.3}
        for one in ("selection_rate", "true_positive_rate", "positive_predictive_value", "accuracy")
    )])  # fmt: skip
    assert difference_finding(follow(days(tolerated, [WORSE] * 40), tolerated)).passed


def test_severity_by_value_over_limit() -> None:
    assert [severity_by_ratio(x, 1.0) for x in (0.95, 0.9, 0.89, 0.75, 0.5, 0.49, 0.0)] == [
        "low", "low", "medium", "medium", "high", "critical", "critical",
    ]  # fmt: skip
    assert severest([]) is None


def test_nothing_is_said_of_no_batches() -> None:
    history = follow([], history_spec())
    for finding in (drift_finding(history), volume_finding(history), difference_finding(history)):
        assert finding.sentence == "No batch has been counted yet."
