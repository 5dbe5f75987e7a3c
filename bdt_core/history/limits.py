"""Limits of the gate on differences and ratios of rates, held against all batches so far, however often one looks.

The confidence sequence of all batches within the limit passes. That sequence, or the one of the batches from any on,
beyond it after any batch fails; else the data cannot tell yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.fairness.comparisons import FEWEST_IN_DENOMINATOR
from bdt_core.history.change import Trend, trend_of
from bdt_core.history.counted import Counted, Pair
from bdt_core.inference.sequential import (
    SequentialComparison,
    SequentialRatio,
    compare_rates_over_time,
    ratio_over_time,
)
from bdt_core.metrics import CLARIFY, CRITERIA, GATE_METRICS, RATES, Favourable, rate_compared, spoken_name
from bdt_core.result import Result
from bdt_core.said import Column, Numeral, Text, joined, of_ours, say
from bdt_core.spec import AlertSeverity, AuditSpec, MetricLimit
from bdt_core.spec.gate import name_of_check
from bdt_core.verdict import Verdict, check_name
from bdt_core.verdict.groups import both_ways
from bdt_core.verdict.judge import Evidence, Judgement, Reason, Tolerated, judge, reason_of
from bdt_core.verdict.words import clauses, sentences, severest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LimitOverTime(Result):
    """What a limit on a difference or a ratio says of all batches together.

    Attributes
    ----------
    check : str
        Metric and grouping, as one name.
    metric, facet : str
    group : str or None
        The group, or the two groups, on which the verdict rests.
    is_ratio : bool
    minimum, maximum : float or None
    verdict : {"pass", "fail", "inconclusive", "not_testable"}
    value, low, high : float or None
        On all batches together; `low` to `high` is a confidence sequence for all groups at once.
    confidence : float
    broken_since : str or None
        The batch after which a whole sequence, of all batches or of the latest ones, was first beyond the limit.
    severity : {"low", "medium", "high", "critical"} or None
        By limit over value (at least .9, .75, .5, below), where the limit is broken.
    sentence : str
    groups_judged : int
    left_out : tuple of str
        Groups with too few rows to be judged.
    daily : tuple of (float or None)
        The value of `group` in each batch alone; None where a side has too few rows to print its rate.
    values, lows, highs : tuple of (float or None)
        Its value on all batches so far, after every batch, with the confidence sequence.
    trend : Trend or None
        Of `daily`, over the look-back.
    """

    check: str
    metric: str
    facet: str
    group: Text | None
    is_ratio: bool
    minimum: float | None
    maximum: float | None
    verdict: Verdict
    value: float | None
    low: float | None
    high: float | None
    confidence: float
    broken_since: str | None
    severity: AlertSeverity | None
    sentence: Text
    groups_judged: int
    left_out: tuple[str, ...]
    daily: tuple[float | None, ...]
    values: tuple[float | None, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    trend: Trend | None


class _Compared(NamedTuple):
    """What a limit is about: rates of groups, and how they are set beside each other.

    `sign` is that of the group's rate in a difference; `turned` counts those without an event in place of the others;
    a range is the largest difference, or the smallest ratio, over all pairs of groups.
    """

    rates: tuple[str, ...]
    is_ratio: bool
    sign: int = 1
    turned: bool = False
    is_range: bool = False
    against_all_others: bool = False

    def pair(self, counted: Counted, rate: str, group: int, reference: int | None) -> Pair:
        pair = counted.pair(RATES[rate], group, reference)
        return pair.turned if self.turned else pair

    def of(self, rate: Floats, other: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(rate / other if self.is_ratio else self.sign * (rate - other))


class _Course(NamedTuple):
    """One value under a limit after every batch, with its confidence sequences, and the counts that it is of."""

    whose: str
    pair: Pair
    value: Floats
    low: Floats
    high: Floats
    at_least: Floats
    at_most: Floats


class _Followed(NamedTuple):
    """A course, and the batch after which it was first broken."""

    course: _Course
    since: int | None


def compared_by(metric: str, favourable: Favourable | None = None) -> _Compared | None:
    """What a metric of the gate compares, by which prediction people want; None when it compares no rates.

    Examples
    --------
    >>> compared_by("demographic_parity_difference").rates, compared_by("disparate_impact").is_ratio, compared_by("auc")
    (('selection_rate',), True, None)
    """
    name = GATE_METRICS[metric]
    if name in CLARIFY:
        entry = CLARIFY[name]
        if entry.is_ratio and entry.rate is not None:
            turned = favourable == "negative" and entry.turned == "other"
            return _Compared((entry.rate,), is_ratio=True, turned=turned, against_all_others=True)
        rate, sign = rate_compared(entry, favourable)
        return _Compared((rate,), is_ratio=False, sign=sign, against_all_others=True) if rate and sign else None
    is_ratio = name.endswith("_ratio")
    base = name.removesuffix("_ratio" if is_ratio else "_difference")
    if base == name:
        return None
    if base in CRITERIA:
        criterion = CRITERIA[base]
        turned = criterion.of_favourable and favourable == "negative"
        return _Compared(criterion.rates, is_ratio, turned=turned, is_range=True) if criterion.rates else None
    return _Compared((base,), is_ratio) if base in RATES else None


def tolerated(metric: str, counted: Counted, spec: AuditSpec) -> tuple[float | None, float | None]:
    """The tightest limits of the gate on a group's rate less the reference's."""
    lows, highs = [], []
    for limit, compared in _limits_on(metric, counted, spec):
        if compared.is_ratio:
            continue
        both = both_ways(limit)
        low, high = both.min, both.max
        if compared.is_range:
            low, high = None if high is None else -high, high
        elif compared.sign < 0:
            low, high = None if high is None else -high, None if low is None else -low
        lows += [] if low is None else [low]
        highs += [] if high is None else [high]
    return max(lows, default=None), min(highs, default=None)


def has_ratio_limit(metric: str, counted: Counted, spec: AuditSpec) -> bool:
    """Whether the gate has a limit on the ratio of a group's rate and the reference's."""
    return any(compared.is_ratio for _, compared in _limits_on(metric, counted, spec))


def _limits_on(metric: str, counted: Counted, spec: AuditSpec) -> Iterator[tuple[MetricLimit, _Compared]]:
    """Limits on a rate of these groups, beside their reference."""
    for limit in spec.metric_limits:
        if limit.facets != counted.facets:
            continue
        compared = compared_by(limit.metric, spec.favourable_outcome)
        if compared is None or metric not in compared.rates:
            continue
        if compared.against_all_others and counted.reference is not None and len(counted.groups) > 2:
            continue
        yield limit, compared


def judge_limits(
    counted: Sequence[Counted], spec: AuditSpec, batches: Sequence[str], look_back: int
) -> tuple[tuple[LimitOverTime, ...], list[str]]:
    """Hold all batches together against every limit that is a difference or a ratio of rates.

    Parameters
    ----------
    counted : sequence of Counted
    spec : AuditSpec
    batches : sequence of str
        Names, in the order of time.
    look_back : int
        Batches that the trend goes through.

    Returns
    -------
    tuple of LimitOverTime
    list of str
        A note on the limits on metrics that cannot be followed so.
    """
    judged, others = [], []
    for limit in spec.metric_limits:
        compared = compared_by(limit.metric, spec.favourable_outcome)
        if compared is None:
            others.append(check_name(limit))
        else:
            grouping = next((one for one in counted if one.facets == limit.facets), None)
            judged.append(_judge(limit, compared, grouping, spec, batches, look_back))
    if not others:
        return tuple(judged), []
    checks = joined([name_of_check(one) for one in others], ", ")
    return tuple(judged), [say("Not followed over time, being no differences or ratios of rates: {list}.", list=checks)]


def _judge(
    limit: MetricLimit,
    compared: _Compared,
    counted: Counted | None,
    spec: AuditSpec,
    batches: Sequence[str],
    look_back: int,
) -> LimitOverTime:
    if counted is None:
        return _untestable(limit, compared, spec, say("no batch counts these groups"))
    limit = both_ways(limit)
    label, prediction = spec.group_columns()
    if any(RATES[one].needs_label and label is None for one in compared.rates):
        return _untestable(limit, compared, spec, say("it needs a label"))
    if any(RATES[one].needs_prediction and prediction is None for one in compared.rates):
        return _untestable(limit, compared, spec, say("it needs a prediction"))
    courses, groups_judged, left_out = _courses(compared, counted, spec)
    no_groups = say("no two groups have enough rows in the same batches")
    untestable = _untestable(limit, compared, spec, no_groups, left_out)
    if not courses:
        return untestable
    tolerated = Tolerated(limit.min, limit.max)
    judged = _judged(courses, tolerated)
    course, since = judged.decides.of
    broken_since = None if since is None else batches[since]
    return replace(
        untestable,
        group=course.whose,
        verdict=judged.verdict,
        value=float(course.value[-1]),
        low=float(course.low[-1]),
        high=float(course.high[-1]),
        broken_since=broken_since,
        severity=_severity(judged, tolerated) if judged.verdict == "fail" else None,
        sentence=_sentence(limit, judged, tolerated, batches, spec, left_out),
        groups_judged=groups_judged,
        daily=_daily(course.pair, compared, spec),
        values=_known(course.value),
        lows=_known(course.low),
        highs=_known(course.high),
        trend=trend_of(course.pair, look_back, spec.significance.alpha, of_ratio=compared.is_ratio),
    )


def _courses(compared: _Compared, counted: Counted, spec: AuditSpec) -> tuple[list[_Course], int, tuple[str, ...]]:
    """Values under the limit, the number of groups judged, and the groups that are not."""
    reference = None if compared.against_all_others else counted.reference
    pairs, left_out = [], set()
    for group, name in enumerate(counted.names):
        if group == reference:
            continue
        by_rate = [compared.pair(counted, rate, group, reference) for rate in compared.rates]
        rows = counted.rows[:, group].sum()
        both = [(pair.rows > 0) & (pair.reference_rows > 0) for pair in by_rate]
        fewest = min(
            side[used].sum()
            for pair, used in zip(by_rate, both, strict=True)
            for side in (pair.rows, pair.reference_rows)
        )
        if rows < spec.significance.min_rows or fewest < FEWEST_IN_DENOMINATOR:
            left_out.add(name)
        else:
            pairs.append((name, group, by_rate))
    if not pairs:
        return [], 0, tuple(sorted(left_out))
    settings = {
        "alpha": spec.significance.alpha / (len(pairs) * len(compared.rates)),
        "effect": spec.history.effect,
    }
    against = say("everybody else") if reference is None else counted.names[reference]
    judged = len(pairs) + (reference is not None)
    of = ratio_over_time if compared.is_ratio else compare_rates_over_time
    sequences = [
        (name, group, [of(*pair.effective(), **settings) for pair in several]) for name, group, several in pairs
    ]
    if not compared.is_range:
        courses = []
        for (name, _, (comparison,)), (_, _, (pair,)) in zip(sequences, pairs, strict=True):
            whose = say("{name} against {others}", name=name, others=against)
            courses.append(_Course(whose, pair, *_turned(_sequence(comparison), compared.sign)))
        return courses, judged, tuple(sorted(left_out))
    per_rate = []
    for i, rate in enumerate(compared.rates):
        values = np.stack([_sequence(several[i]) for _, _, several in sequences])
        groups = [reference, *(group for _, group, _ in sequences)]
        range_of = _range_of_ratios if compared.is_ratio else _range_of_differences
        lowest, highest, course = range_of(values)
        names = [against, *(name for name, _, _ in sequences)]
        pair = _between(compared, counted, rate, groups[lowest], groups[highest])
        per_rate.append(_Course(joined([names[lowest], names[highest]], " and "), pair, *course))
    return [_worst(per_rate, compared)], judged, tuple(sorted(left_out))


def _between(compared: _Compared, counted: Counted, rate: str, lowest: int | None, highest: int | None) -> Pair:
    """Counts of the group with the lowest rate and of that with the highest, so that the range is their value."""
    first, second = (lowest, highest) if compared.is_ratio else (highest, lowest)
    if first is not None:
        return compared.pair(counted, rate, first, second)
    # Everybody else as the first: the same two, the other way round.
    return compared.pair(counted, rate, second or 0, None).swapped


def _sequence(comparison: SequentialComparison | SequentialRatio) -> Floats:
    """Value, sequence and limits over any stretch, shape (5, batches)."""
    value = comparison.ratio if isinstance(comparison, SequentialRatio) else comparison.difference
    return np.stack([value, comparison.low, comparison.high, comparison.at_least, comparison.at_most])


def _turned(sequence: Floats, sign: int) -> Floats:
    return sequence if sign > 0 else -sequence[[0, 2, 1, 4, 3]]


def _range_of_differences(sequences: Floats) -> tuple[int, int, Floats]:
    """Largest difference over all pairs of groups, from the differences of each from the reference.

    Any of them bounds the range from below; from above it is bounded by the highest less the lowest, the reference's
    own 0 among them. The positions of the lowest and the highest group come first; 0 is the reference.
    """
    value, low, high, at_least, at_most = _filled(sequences, (0.0, -1.0, 1.0, -1.0, 1.0))
    ends = np.append(0.0, value[:, -1])

    def bounds(low: Floats, high: Floats) -> tuple[Floats, Floats]:
        at_most = np.maximum(high.max(axis=0), 0.0) - np.minimum(low.min(axis=0), 0.0)
        return np.maximum(np.maximum(low, -high).max(axis=0), 0.0), np.minimum(at_most, 1.0)

    now = np.maximum(value.max(axis=0), 0.0) - np.minimum(value.min(axis=0), 0.0)
    since = bounds(at_least, at_most)[0]
    course = np.stack([now, *bounds(low, high), since, np.ones_like(now)])
    return int(ends.argmin()), int(ends.argmax()), course


def _range_of_ratios(sequences: Floats) -> tuple[int, int, Floats]:
    """Smallest ratio over all pairs of groups, from the ratios of each to the reference: bounded as the difference."""
    value, low, high, at_least, at_most = _filled(sequences, (1.0, 0.0, np.inf, 0.0, np.inf))
    ends = np.append(1.0, value[:, -1])

    def smallest(low: Floats, high: Floats) -> Floats:
        return np.asarray(np.minimum(low.min(axis=0), 1.0) / np.maximum(high.max(axis=0), 1.0))

    def at_most_of(low: Floats, high: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.minimum(np.minimum(high, 1.0 / low).min(axis=0), 1.0))

    since = at_most_of(at_least, at_most)
    course = np.stack([smallest(value, value), smallest(low, high), at_most_of(low, high), np.zeros_like(since), since])
    return int(ends.argmin()), int(ends.argmax()), course


def _filled(sequences: Floats, unknown: tuple[float, ...]) -> Floats:
    """The parts of every group's sequence, shape (5, groups, batches), with what is unknown as wide as can be."""
    parts = np.moveaxis(sequences, 1, 0)
    return np.where(np.isnan(parts), np.array(unknown)[:, None, None], parts)


def _worst(courses: Sequence[_Course], compared: _Compared) -> _Course:
    """The larger of several ranges, or the smaller of ratios, by their value now."""
    worst = min if compared.is_ratio else max
    decides = worst(courses, key=lambda one: float(one.value[-1]))
    of = np.min if compared.is_ratio else np.max
    names = ("value", "low", "high", "at_least", "at_most")
    return _Course(
        decides.whose, decides.pair, *(of([getattr(one, name) for one in courses], axis=0) for name in names)
    )


def _daily(pair: Pair, compared: _Compared, spec: AuditSpec) -> tuple[float | None, ...]:
    """The value in each batch alone."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = compared.of(pair.events / pair.rows, pair.reference_events / pair.reference_rows)
    fewest = max(spec.significance.min_rows, FEWEST_IN_DENOMINATOR)
    return _known(np.where(np.minimum(pair.rows, pair.reference_rows) >= fewest, values, np.nan))


def _known(values: Floats) -> tuple[float | None, ...]:
    return tuple(one if math.isfinite(one) else None for one in values.tolist())


def _severity(judged: Judgement[_Followed], tolerated: Tolerated) -> AlertSeverity:
    """By the value so far, and by what it is for certain over some stretch until now; low where all is within again."""
    course = judged.decides.of.course
    ends = (float(course.value[-1]), float(course.at_least[-1]), float(course.at_most[-1]))
    beyond = [ends[0], *(ends[1:2] if tolerated.is_beyond(ends[1], math.inf) else ()),
              *(ends[2:] if tolerated.is_beyond(-math.inf, ends[2]) else ())]  # fmt: skip
    return severest(one for one in map(tolerated.severity, beyond) if one is not None) or "low"


def _judged(courses: Sequence[_Course], tolerated: Tolerated) -> Judgement[_Followed]:
    """What a limit says of all courses: one that was ever broken for certain stays broken."""
    known = []
    for course in courses:
        stretches = zip(course.at_least.tolist(), course.at_most.tolist(), strict=True)
        since = next((i for i, both in enumerate(stretches) if tolerated.is_beyond(*both)), None)
        low, high = (
            (course.low[-1], course.high[-1]) if since is None else (course.at_least[since], course.at_most[since])
        )
        known.append(Evidence(_Followed(course, since), float(course.value[-1]), float(low), float(high)))
    return judge(known, tolerated)


def _untestable(
    limit: MetricLimit, compared: _Compared, spec: AuditSpec, reason: str, left_out: tuple[str, ...] = ()
) -> LimitOverTime:
    return LimitOverTime(
        check=check_name(limit),
        metric=limit.metric,
        facet=" & ".join(limit.facets),
        group=None,
        is_ratio=compared.is_ratio,
        minimum=limit.min,
        maximum=limit.max,
        verdict="not_testable",
        value=None,
        low=None,
        high=None,
        confidence=1.0 - spec.significance.alpha,
        broken_since=None,
        severity=None,
        sentence=say("{what} is not testable over time: {why}.", what=_what(limit), why=reason),
        groups_judged=0,
        left_out=left_out,
        daily=(),
        values=(),
        lows=(),
        highs=(),
        trend=None,
    )


_SEQUENCES: Mapping[Reason, str] = {
    "beyond": "{allowed}, and the whole sequence is beyond it",
    "within": "{allowed}, and the whole sequence is within it",
    "both sides": "{allowed}, and the sequence lies on both sides of it: the batches so far cannot tell",
}
"""No test beside a sequence could keep it from being beyond a limit."""
_WAS_BEYOND = "{allowed}, and after batch {as_is} the whole sequence was beyond it"
_NO_LONGER_BEYOND = "{allowed}, and after batch {as_is} the whole sequence was beyond it, though it no longer is"
_LATEST_WERE_BEYOND = "{allowed}, and after batch {as_is} the whole sequence of the latest batches was beyond it"


def _sentence(
    limit: MetricLimit,
    judged: Judgement[_Followed],
    tolerated: Tolerated,
    batches: Sequence[str],
    spec: AuditSpec,
    left_out: Sequence[str],
) -> str:
    course, since = judged.decides.of
    value, low, high = (float(x[-1]) for x in (course.value, course.low, course.high))
    values = {"allowed": tolerated.allowed()}
    if since is None:
        message = _SEQUENCES[reason_of(judged, tolerated)]
    else:
        if not tolerated.is_beyond(float(course.low[since]), float(course.high[since])):
            message = _LATEST_WERE_BEYOND
        else:
            message = _WAS_BEYOND if tolerated.is_beyond(low, high) else _NO_LONGER_BEYOND
        values["as_is"] = batches[since]
    known = say(
        "{what} is {N} [{Nlevel} % confidence sequence {low} to {high}] ({who}) over {batches}",
        what=_what(limit),
        N=words.number(value),
        Nlevel=Numeral(f"{100 * (1 - spec.significance.alpha):.4g}"),
        low=words.number(low),
        high=words.number(high),
        who=course.whose,
        batches=number_of_batches(len(batches)),
    )
    named = joined(left_out[:10], ", ")
    not_judged = say("Not judged, for too few rows: {list}.", list=named) if left_out else ""
    return sentences(clauses(known, say(message, **values)), not_judged)


def number_of_batches(n: int) -> str:
    """Batches within a sentence.

    Examples
    --------
    >>> number_of_batches(1), number_of_batches(1200)
    ('1 batch', '1,200 batches')
    """
    return say("{N} batch" if n == 1 else "{N} batches", N=words.count(n))


def _what(limit: MetricLimit) -> str:
    """The metric and its groups."""
    metric, name = of_ours(spoken_name(limit.metric)), joined([Column(one) for one in limit.facets], " & ")
    return say("{metric} by {name}", metric=metric, name=name)
