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
from bdt_core.metrics import CLARIFY, CRITERIA, GATE_METRICS, RATES
from bdt_core.result import Result
from bdt_core.spec import AlertSeverity, AuditSpec, MetricLimit
from bdt_core.verdict import Verdict, check_name
from bdt_core.verdict.words import severity_by_ratio

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


def difference_of(metric: str) -> _Difference | None:
    """What a metric of the gate compares; None when it is no difference of rates.

    Examples
    --------
    >>> difference_of("demographic_parity_difference").rates, difference_of("disparate_impact")
    (('selection_rate',), None)
    """
    name = GATE_METRICS[metric]
    if name in CLARIFY:
        rate, sign = CLARIFY[name].rate, CLARIFY[name].of_d
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
        difference = difference_of(limit.metric)
        if difference is None or metric not in difference.rates:
            continue
        if difference.against_all_others and counted.reference is not None and len(counted.groups) > 2:
            continue
        low, high = limit.min, limit.max
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
        difference = difference_of(limit.metric)
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
    label, prediction = spec.group_columns()
    if any(RATES[one].needs_label and label is None for one in difference.rates):
        return _untestable(limit, spec, "it needs a label", ())
    if any(RATES[one].needs_prediction and prediction is None for one in difference.rates):
        return _untestable(limit, spec, "it needs a prediction", ())
    courses, judged, left_out = _courses(difference, counted, spec)
    if not courses:
        return _untestable(limit, spec, "no two groups have enough rows", left_out)
    verdict, one, since = _worst(courses, limit)
    value, low, high = float(one.value[-1]), float(one.low[-1]), float(one.high[-1])
    return LimitOverTime(
        check=check_name(limit),
        metric=limit.metric,
        facet=" & ".join(limit.facets),
        group=one.whose,
        minimum=limit.min,
        maximum=limit.max,
        verdict=verdict,
        value=value,
        low=low,
        high=high,
        confidence=1.0 - spec.significance.alpha,
        broken_since=None if since is None else batches[since],
        severity=_severity(value, limit) if verdict == "fail" else None,
        sentence=_sentence(limit, one, verdict, None if since is None else batches[since], batches, spec, left_out),
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


def _worst(courses: Sequence[_Course], limit: MetricLimit) -> tuple[Verdict, _Course, int | None]:
    """The verdict, the course on which it rests, and the batch after which the limit was first broken."""
    ranked = []
    for one in courses:
        broken = np.flatnonzero(_beyond(one.high, one.low, limit) > 0.0)
        within = _beyond(one.low[-1:], one.high[-1:], limit)[0] <= 0.0
        beyond = float(_beyond(one.value[-1:], one.value[-1:], limit)[0])
        rank = 2 if broken.size else 0 if within else 1
        ranked.append((rank, beyond, one, int(broken[0]) if broken.size else None))
    rank, _, one, since = max(ranked, key=lambda x: x[:2])
    verdicts: tuple[Verdict, ...] = ("pass", "inconclusive", "fail")
    return verdicts[rank], one, since


def _beyond(from_below: Floats, from_above: Floats, limit: MetricLimit) -> Floats:
    """The larger of how far one value lies below the minimum and the other above the maximum; NaN where unknown."""
    below = -np.inf if limit.min is None else limit.min - from_below
    above = -np.inf if limit.max is None else from_above - limit.max
    return np.asarray(np.maximum(below, above), dtype=np.float64)


def _severity(value: float, limit: MetricLimit) -> AlertSeverity:
    broken = limit.max if limit.max is not None and value > limit.max else limit.min
    return severity_by_ratio(abs(broken or 0.0), abs(value))


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
    one: _Course,
    verdict: Verdict,
    since: str | None,
    batches: Sequence[str],
    spec: AuditSpec,
    left_out: Sequence[str],
) -> str:
    value, low, high = (float(x[-1]) for x in (one.value, one.low, one.high))
    level = f"{100 * (1 - spec.significance.alpha):.4g} % confidence sequence"
    count = f"{len(batches)} batch{'es' * (len(batches) != 1)}"
    told = (
        f"{_told(limit)} is {words.number(value)} [{level} {words.number(low)} to {words.number(high)}] "
        f"({one.whose}) over {count}; {_allowed(limit)}"
    )
    if verdict == "fail":
        now = "" if _beyond(one.high[-1:], one.low[-1:], limit)[0] > 0 else ", though it no longer is"
        told += f", and after batch {since} the whole sequence was beyond it{now}."
    elif verdict == "pass":
        told += ", and the whole sequence is within it."
    else:
        told += ", and the sequence lies on both sides of it: the batches so far cannot tell."
    return told + (f" Not judged, for too few rows: {', '.join(left_out[:10])}." if left_out else "")


def _told(limit: MetricLimit) -> str:
    return words.capital(check_name(limit).replace("_", " "))


def _allowed(limit: MetricLimit) -> str:
    if limit.min is None:
        return f"at most {words.number(limit.max)} is allowed"
    if limit.max is None:
        return f"at least {words.number(limit.min)} is required"
    return f"between {words.number(limit.min)} and {words.number(limit.max)} is allowed"
