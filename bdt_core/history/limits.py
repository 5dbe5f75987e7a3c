"""Limits of the gate on differences of rates, held against everything counted so far, however often one looks.

The confidence sequence within the limit passes, beyond it (after any batch) fails; else the data cannot tell yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.fairness.comparisons import FEWEST_IN_DENOMINATOR
from bdt_core.history.counted import Counted
from bdt_core.history.evidence import evidence
from bdt_core.inference.sequential import SequentialComparison
from bdt_core.metrics import CLARIFY, CRITERIA, GATE_METRICS, RATES, Favourable, rate_compared
from bdt_core.result import Result
from bdt_core.spec import AlertSeverity, AuditSpec, MetricLimit
from bdt_core.verdict import Verdict, check_name
from bdt_core.verdict.groups import both_ways
from bdt_core.verdict.judge import Evidence, Judgement, Tolerated, judge, why

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LimitOverTime(Result):
    """What a limit on a difference says of all batches together.

    Attributes
    ----------
    check : str
        Metric and grouping, as one name.
    metric, facet : str
    group : str or None
        The group, or the two groups, on which the verdict rests.
    minimum, maximum : float or None
    verdict : {"pass", "fail", "inconclusive", "not_testable"}
    value, low, high : float or None
        On all batches together; `low` to `high` is a confidence sequence for all groups at once.
    confidence : float
    broken_since : str or None
        The batch after which the whole sequence was first beyond the limit.
    severity : {"low", "medium", "high", "critical"} or None
        By limit over value (at least .9, .75, .5, below), where the limit is broken.
    sentence : str
    groups_judged : int
    left_out : tuple of str
        Groups with too few rows to be judged.
    """

    check: str
    metric: str
    facet: str
    group: str | None
    minimum: float | None
    maximum: float | None
    verdict: Verdict
    value: float | None
    low: float | None
    high: float | None
    confidence: float
    broken_since: str | None
    severity: AlertSeverity | None
    sentence: str
    groups_judged: int
    left_out: tuple[str, ...]


class _Difference(NamedTuple):
    """What a limit is about: rates, the sign of the group's rate, and whether it is a range over all groups."""

    rates: tuple[str, ...]
    sign: int
    is_range: bool
    against_all_others: bool


class _Course(NamedTuple):
    """One value under a limit after every batch, with its confidence sequence."""

    whose: str
    value: Floats
    low: Floats
    high: Floats


class _Followed(NamedTuple):
    """A course, and the batch after which it was first broken."""

    course: _Course
    since: int | None


def difference_of(metric: str, favourable: Favourable | None = None) -> _Difference | None:
    """What a metric of the gate compares, by which prediction people want; None when it is no difference of rates.

    Examples
    --------
    >>> difference_of("demographic_parity_difference").rates, difference_of("disparate_impact")
    (('selection_rate',), None)
    """
    name = GATE_METRICS[metric]
    if name in CLARIFY:
        rate, sign = rate_compared(CLARIFY[name], favourable)
        return _Difference((rate,), sign, is_range=False, against_all_others=True) if rate and sign else None
    base = name.removesuffix("_difference")
    if base == name:
        return None
    if base in CRITERIA:
        rates = CRITERIA[base].rates
        return _Difference(rates, 1, is_range=True, against_all_others=False) if rates else None
    return _Difference((base,), 1, is_range=False, against_all_others=False)


def tolerated(metric: str, counted: Counted, spec: AuditSpec) -> tuple[float | None, float | None]:
    """The tightest limits of the gate on a group's rate less the reference's."""
    lows, highs = [], []
    for limit in spec.gate:
        if not isinstance(limit, MetricLimit) or limit.facets != counted.facets:
            continue
        difference = difference_of(limit.metric, spec.favourable_outcome)
        if difference is None or metric not in difference.rates:
            continue
        if difference.against_all_others and counted.reference is not None and len(counted.groups) > 2:
            continue
        both = both_ways(limit)
        low, high = both.min, both.max
        if difference.is_range:
            low, high = None if high is None else -high, high
        elif difference.sign < 0:
            low, high = None if high is None else -high, None if low is None else -low
        lows += [] if low is None else [low]
        highs += [] if high is None else [high]
    return max(lows, default=None), min(highs, default=None)


def judge_limits(
    counted: Sequence[Counted], spec: AuditSpec, batches: Sequence[str]
) -> tuple[tuple[LimitOverTime, ...], list[str]]:
    """Hold all batches together against every limit that is a difference of rates.

    Parameters
    ----------
    counted : sequence of Counted
    spec : AuditSpec
    batches : sequence of str
        Names, in the order of time.

    Returns
    -------
    tuple of LimitOverTime
    list of str
        A note on the limits on metrics that cannot be followed so.
    """
    found, others = [], []
    for limit in spec.gate:
        if not isinstance(limit, MetricLimit):
            continue
        difference = difference_of(limit.metric, spec.favourable_outcome)
        if difference is None:
            others.append(check_name(limit))
        else:
            grouping = next((one for one in counted if one.facets == limit.facets), None)
            found.append(_judge(limit, difference, grouping, spec, batches))
    if not others:
        return tuple(found), []
    return tuple(found), [f"Not followed over time, being no differences of rates: {', '.join(others)}."]


def _judge(
    limit: MetricLimit, difference: _Difference, counted: Counted | None, spec: AuditSpec, batches: Sequence[str]
) -> LimitOverTime:
    if counted is None:
        return _untestable(limit, spec, "no batch counts these groups", ())
    limit = both_ways(limit)
    label, prediction = spec.group_columns()
    if any(RATES[one].needs_label and label is None for one in difference.rates):
        return _untestable(limit, spec, "it needs a label", ())
    if any(RATES[one].needs_prediction and prediction is None for one in difference.rates):
        return _untestable(limit, spec, "it needs a prediction", ())
    courses, judged, left_out = _courses(difference, counted, spec)
    if not courses:
        return _untestable(limit, spec, "no two groups have enough rows", left_out)
    tolerated = Tolerated(limit.min, limit.max)
    found = _judged(courses, tolerated)
    one, since = found.decides.of
    broken_since = None if since is None else batches[since]
    return LimitOverTime(
        check=check_name(limit),
        metric=limit.metric,
        facet=" & ".join(limit.facets),
        group=one.whose,
        minimum=limit.min,
        maximum=limit.max,
        verdict=found.verdict,
        value=float(one.value[-1]),
        low=float(one.low[-1]),
        high=float(one.high[-1]),
        confidence=1.0 - spec.significance.alpha,
        broken_since=broken_since,
        severity=(found.severity or "low") if found.verdict == "fail" else None,  # low: the value is within again
        sentence=_sentence(limit, found, tolerated, broken_since, len(batches), spec, left_out),
        groups_judged=judged,
        left_out=left_out,
    )


def _courses(difference: _Difference, counted: Counted, spec: AuditSpec) -> tuple[list[_Course], int, tuple[str, ...]]:
    """Values under the limit, the number of groups judged, and the groups that are not."""
    reference = None if difference.against_all_others else counted.reference
    pairs, left_out = [], set()
    for group, name in enumerate(counted.names):
        if group == reference:
            continue
        several = [counted.pair(RATES[rate], group, reference) for rate in difference.rates]
        rows = counted.rows[:, group].sum()
        fewest = min(side.sum() for pair in several for side in (pair.rows, pair.reference_rows))
        if rows < spec.significance.min_rows or fewest < FEWEST_IN_DENOMINATOR:
            left_out.add(name)
        else:
            pairs.append((name, several))
    if not pairs:
        return [], 0, tuple(sorted(left_out))
    alpha = spec.significance.alpha / (len(pairs) * len(difference.rates))
    found = [
        (name, [evidence(pair, alpha=alpha, effect=spec.history.effect) for pair in several]) for name, several in pairs
    ]
    against = "everybody else" if reference is None else counted.names[reference]
    judged = len(pairs) + (reference is not None)
    if not difference.is_range:
        sign = difference.sign
        courses = [
            _Course(f"{name} against {against}", sign * one.difference, *_turned(one.low, one.high, sign))
            for name, (one,) in found
        ]
        return courses, judged, tuple(sorted(left_out))
    per_rate = [_range([(name, several[i]) for name, several in found], against) for i in range(len(difference.rates))]
    return [_larger(per_rate)], judged, tuple(sorted(left_out))


def _turned(low: Floats, high: Floats, sign: int) -> tuple[Floats, Floats]:
    return (low, high) if sign > 0 else (-high, -low)


def _range(found: Sequence[tuple[str, SequentialComparison]], against: str) -> _Course:
    """Largest difference over all pairs of groups, from the differences of each from the reference.

    Any of them bounds the range from below; from above it is bounded by the highest less the lowest, the
    reference's own 0 among them.
    """
    difference, low, high = (
        np.stack([np.nan_to_num(getattr(one, name), nan=unknown) for _, one in found])
        for name, unknown in (("difference", 0.0), ("low", -1.0), ("high", 1.0))
    )
    value = np.maximum(difference.max(axis=0), 0.0) - np.minimum(difference.min(axis=0), 0.0)
    at_least = np.maximum(np.maximum(low, -high).max(axis=0), 0.0)
    at_most = np.minimum(np.maximum(high.max(axis=0), 0.0) - np.minimum(low.min(axis=0), 0.0), 1.0)
    names = [against, *(name for name, _ in found)]
    ends = np.append(0.0, difference[:, -1])
    return _Course(f"{names[int(ends.argmin())]} and {names[int(ends.argmax())]}", value, at_least, at_most)


def _larger(several: Sequence[_Course]) -> _Course:
    """The larger of several ranges, by their value now."""
    largest = max(several, key=lambda one: float(one.value[-1]))
    value, low, high = (np.max([getattr(one, name) for one in several], axis=0) for name in ("value", "low", "high"))
    return _Course(largest.whose, value, low, high)


def _judged(courses: Sequence[_Course], tolerated: Tolerated) -> Judgement[_Followed]:
    """What a limit says of all courses: one that was ever broken for certain stays broken."""
    known = []
    for one in courses:
        intervals = zip(one.value.tolist(), one.low.tolist(), one.high.tolist(), strict=True)
        since = next((i for i, after in enumerate(intervals) if tolerated.verdict(*after) == "fail"), None)
        at = -1 if since is None else since
        known.append(Evidence(_Followed(one, since), float(one.value[-1]), float(one.low[at]), float(one.high[at])))
    return judge(known, tolerated)


def _untestable(limit: MetricLimit, spec: AuditSpec, reason: str, left_out: tuple[str, ...]) -> LimitOverTime:
    return LimitOverTime(
        check=check_name(limit),
        metric=limit.metric,
        facet=" & ".join(limit.facets),
        group=None,
        minimum=limit.min,
        maximum=limit.max,
        verdict="not_testable",
        value=None,
        low=None,
        high=None,
        confidence=1.0 - spec.significance.alpha,
        broken_since=None,
        severity=None,
        sentence=f"{_told(limit)} is not testable over time: {reason}.",
        groups_judged=0,
        left_out=left_out,
    )


def _sentence(
    limit: MetricLimit,
    found: Judgement[_Followed],
    tolerated: Tolerated,
    since: str | None,
    batches: int,
    spec: AuditSpec,
    left_out: Sequence[str],
) -> str:
    one = found.decides.of.course
    value, low, high = (float(x[-1]) for x in (one.value, one.low, one.high))
    level = f"{100 * (1 - spec.significance.alpha):.4g} % confidence sequence"
    if since is not None:
        now = "" if tolerated.is_beyond(low, high) else ", though it no longer is"
        because = f"after batch {since} the whole sequence was beyond it{now}"
    else:
        because = why(found, tolerated, interval="sequence")
        because += ": the batches so far cannot tell" if found.verdict == "inconclusive" else ""
    told = (
        f"{_told(limit)} is {words.number(value)} [{level} {words.number(low)} to {words.number(high)}] "
        f"({one.whose}) over {batches} batch{'es' * (batches != 1)}; {tolerated.allowed()}, and {because}."
    )
    return told + (f" Not judged, for too few rows: {', '.join(left_out[:10])}." if left_out else "")


def _told(limit: MetricLimit) -> str:
    return words.capital(check_name(limit).replace("_", " "))
