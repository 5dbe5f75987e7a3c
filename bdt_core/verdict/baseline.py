"""A report held against an earlier one: which limits are significantly worse than before?

The two reports are taken as independent samples, and compared by their confidence intervals. Of a limit on declared
groups, every group that is beyond the limit is compared with itself, at Bonferroni's level for all of them at once. The
clusters, intersections and places of two reports are different groups of people: there the harm of the worst one is
compared, whoever is in it.

With estimates d1 (now) and d0 (before) and their limits l and u, the change D = d1 - d0 has the limits

    L = D - sqrt((d1 - l1)^2 + (u0 - d0)^2)
    U = D + sqrt((u1 - d1)^2 + (d0 - l0)^2)

(MOVER), which need no variances and keep intervals lopsided. Ratios are compared by their logarithms. For m changes
at once each arm is stretched by z(1 - alpha / 2m) / z(1 - alpha / 2), which is Bonferroni's correction.

References
----------
Zou, G. Y., Donner, A. (2008). Construction of confidence limits about effect measures: a general approach. Statistics
in Medicine 27, 1693-1702.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from scipy.special import ndtri

from bdt_core import words
from bdt_core.result import Result
from bdt_core.said import Numeral, Text, joined, say
from bdt_core.sealed.answer import GateAnswer
from bdt_core.spec.gate import name_of_check
from bdt_core.verdict.comparable import ComparableReport
from bdt_core.verdict.gate import overall
from bdt_core.verdict.judge import Evidence, LimitOutcome, Tolerated
from bdt_core.verdict.kinds import LimitKind, kind_of
from bdt_core.verdict.words import Verdict, clauses, sentences

Change = Literal["worse", "not_in_baseline", "not_worse", "better"]
CHANGE_WORDS: Mapping[Change, str] = {
    "worse": say("worse than the baseline"),
    "not_in_baseline": say("not in the baseline"),
    "not_worse": say("not significantly worse than the baseline"),
    "better": say("better than the baseline"),
}
_SEVEREST_FIRST = tuple(CHANGE_WORDS)
_LARGEST_EXPONENT = 700.0
_Value = Evidence[str | None]


@dataclass(frozen=True)
class LimitChange(Result):
    """What has become of one limit since the baseline.

    Attributes
    ----------
    check : str
    change : {"worse", "not_in_baseline", "not_worse", "better"}
        Significantly worse or better, in the limit's own direction. ``not_in_baseline``: nothing there, or nothing
        now, that can be compared.
    accepted : bool
        The limit would stop what stands behind the gate, but is not significantly worse than before.
    group : str or None
        The group that decides, of a limit on declared groups.
    value, baseline : float or None
        Now and before: harm of a cluster, or the metric.
    difference, low, high : float or None
        Value less baseline, or over it for ratios, with its limits.
    is_ratio : bool
    groups_compared : int
    sentence : str
    """

    check: str
    change: Change
    accepted: bool
    group: str | None
    value: float | None
    baseline: float | None
    difference: float | None
    low: float | None
    high: float | None
    is_ratio: bool
    groups_compared: int
    sentence: Text


@dataclass(frozen=True)
class BaselineComparison(Result):
    """What all limits together say against the baseline.

    Attributes
    ----------
    verdict : {"pass", "fail", "inconclusive", "not_testable"}
        Failing limits that are not worse than the baseline count as holding.
    blocks : bool
    sentence : str
    limits : tuple of LimitChange
        In the order of the specification.
    """

    verdict: Verdict
    blocks: bool
    sentence: Text
    limits: tuple[LimitChange, ...]


def compare_with_baseline(now: ComparableReport, before: ComparableReport) -> BaselineComparison:
    """Compare each limit with an earlier report.

    Parameters
    ----------
    now : ComparableReport
    before : ComparableReport
        The baseline, from `bdt_core.verdict.comparable.read_baseline`.

    Returns
    -------
    BaselineComparison
        It blocks only where a limit that blocks is significantly worse than the baseline, or cannot be compared.

    Examples
    --------
    >>> def report(harm):
    ...     limit = {"kind": "cluster", "check": "worst_cluster", "verdict": "fail", "blocks": True,
    ...              "inconclusive": "warn", "sentence": "", "cluster": 0, "limit": 0.05, "difference": harm,
    ...              "low": harm - 0.05, "high": harm + 0.05, "p_value": 0.01, "smallest_visible": None}
    ...     spec = {"significance": {"alpha": 0.05}, "require": "all", "bias_variable": {"better": "lower"}}
    ...     variable = {"name": "error rate", "unit": "rate"}
    ...     return ComparableReport.of({"name": "x", "gate": [limit], "spec": spec, "bias_variable": variable})
    >>> [compare_with_baseline(report(now), report(0.20)).limits[0].change for now in (0.22, 0.30, 0.10)]
    ['not_worse', 'worse', 'better']
    """
    changes = tuple(_change_of_limit(limit, now, before) for limit in now.gate)
    pairs = list(zip(now.gate, changes, strict=True))
    verdict = overall(
        ["pass" if change.accepted and limit.verdict == "fail" else limit.verdict for limit, change in pairs],
        now.spec.require,
    )
    stopping = [change for limit, change in pairs if limit.blocks and not change.accepted]
    blocks = bool(stopping)
    if now.spec.require == "majority":
        blocks = verdict == "fail" or (verdict != "pass" and blocks)
    answer = GateAnswer(verdict=verdict, blocks=blocks, sentence=_overall_sentence(changes, stopping))
    held = answer.held(*(now.verdict.held_back if now.verdict else ()))
    return BaselineComparison(held.verdict, held.blocks, held.sentence, changes)


def _change_of_limit(limit: LimitOutcome, now: ComparableReport, before: ComparableReport) -> LimitChange:
    kind = kind_of(limit)
    comparison, groups = (_of_groups if kind.compared is None else _of_the_worst)(kind, limit, now, before)
    difference, low, high = comparison.difference or (None, None, None)
    return LimitChange(
        check=limit.check,
        change=comparison.change,
        accepted=limit.blocks and comparison.change in ("not_worse", "better"),
        group=comparison.group,
        value=comparison.now,
        baseline=comparison.before,
        difference=difference,
        low=low,
        high=high,
        is_ratio=kind.is_ratio_of(limit),
        groups_compared=groups,
        sentence=_sentence(kind, limit, comparison, groups, now),
    )


def _of_the_worst(
    kind: LimitKind[Any, Any], limit: LimitOutcome, now: ComparableReport, before: ComparableReport
) -> tuple[Compared, int]:
    """The comparison of whoever decides in each report."""
    same = next((one for one in before.gate if _subject(one) == _subject(limit)), None)
    worst, worst_before = _worst(limit), None if same is None else _worst(same)
    if worst is None:
        return _nothing(say("it could not be tested now")), 1
    if worst_before is None:
        why = say("no such limit there") if same is None else say("it could not be tested there")
        return _nothing(why, now=worst), 1
    return _compared_within(kind, limit, worst, worst_before, _stretches(now, before, 1)), 1


def _subject(limit: LimitOutcome) -> tuple[Any, ...]:
    """What a limit is on: limits of two reports that have the same are compared."""
    return limit.kind, limit.check, getattr(limit, "facets", ()), getattr(limit, "is_of_score", False)


def _worst(limit: LimitOutcome) -> _Value | None:
    return None if limit.estimate is None else Evidence(None, limit.estimate, limit.low, limit.high)


def _of_groups(
    kind: LimitKind[Any, Any], limit: LimitOutcome, now: ComparableReport, before: ComparableReport
) -> tuple[Compared, int]:
    """The comparison of the group that has changed for the worst, and how many were compared."""
    (each, reference), (each_before, reference_before) = (kind.groups_in(limit, one) for one in (now, before))
    values, values_before = ({one.of: one for one in several} for several in (each, each_before))
    decides: str | None = limit.who
    if limit.estimate is None or decides not in values:
        return _nothing(say("it could not be tested now"), decides), 0
    groups = [decides]
    if limit.verdict == "fail":
        groups += [one.of for one in each if one.of != decides and _fails(one, limit.tolerated)]
    if each_before and reference != reference_before:
        why = say("groups were compared with another one there")
        return _nothing(why, decides, values[decides]), len(groups)
    stretches = _stretches(now, before, len(groups))
    changes = [
        _compared_within(kind, limit, values[group], values_before[group], stretches)
        if group in values_before
        else _nothing(say("no value there, or too few rows"), group, values[group])
        for group in groups
    ]
    return min(changes, key=lambda one: _SEVEREST_FIRST.index(one.change)), len(groups)


def _nothing(why: str, group: str | None = None, now: _Value | None = None) -> Compared:
    return Compared("not_in_baseline", group, now.value if now else None, None, None, why)


def _stretches(now: ComparableReport, before: ComparableReport, groups: int) -> tuple[float, float]:
    return stretches_of(now.spec.significance.alpha, before.spec.significance.alpha, groups)


def _compared_within(
    kind: LimitKind[Any, Any], limit: LimitOutcome, now: _Value, before: _Value, stretches: tuple[float, float]
) -> Compared:
    above = _larger_is_worse(now.value, limit.tolerated)
    return compared(now, before, above=above, is_ratio=kind.is_ratio_of(limit), stretches=stretches)


def _fails(value: _Value, tolerated: Tolerated) -> bool:
    """Whether a group alone breaks a limit."""
    return tolerated.verdict(value.value, value.low, value.high) == "fail"


def _larger_is_worse(value: float, tolerated: Tolerated) -> bool:
    """Whether a value lies at the limit's maximum rather than at its minimum."""
    least, most = tolerated.minimum, tolerated.maximum
    if least is None or most is None:
        return least is None
    return bool(value - most >= least - value)


def _sentence(
    kind: LimitKind[Any, Any], limit: LimitOutcome, comparison: Compared, groups: int, now: ComparableReport
) -> str:
    what, caution = kind.compared_in_words(limit, now)
    if comparison.group is not None:
        what = say("{what} for {name}", what=what, name=comparison.group)
    if comparison.before is None:
        return say("{what}: cannot be compared with the baseline, {why}.", what=what, why=comparison.why)
    unit, is_ratio = kind.unit_of(limit, now.bias_variable.unit), kind.is_ratio_of(limit)

    def amount(x: float | None, *, signed: bool) -> str:
        number = words.signed(x, unit) if signed else words.number(x)
        return say("{N} points", N=number) if unit == "rate" else number

    known = say(
        "{what}: {change}, {size} now against {before}",
        what=what,
        change=CHANGE_WORDS[comparison.change],
        size=amount(comparison.now, signed=kind.is_difference),
        before=amount(comparison.before, signed=kind.is_difference),
    )
    if comparison.difference is None:
        return sentences(clauses(known, comparison.why), caution)
    write = words.number if is_ratio else partial(words.signed, unit=unit)
    size = amount(comparison.difference[0], signed=not is_ratio)
    values = {
        "N": Numeral(f"{100 * (1 - now.spec.significance.alpha):.4g}"),
        "several": say("{N} groups", N=words.count(groups)),
        "low": write(comparison.difference[1]),
        "high": write(comparison.difference[2]),
    }
    interval = say(
        "[{N} % CI for {several} at once {low} to {high}]" if groups > 1 else "[{N} % CI {low} to {high}]", **values
    )
    message = "{known}, {size} times the baseline's {interval}." if is_ratio else "{known}, change {size} {interval}."
    return sentences(say(message, known=known, size=size, interval=interval), caution)


def _overall_sentence(changes: Sequence[LimitChange], stopping: Sequence[LimitChange]) -> str:
    if not stopping:
        held = say("No broken limit is significantly worse than the baseline.")
        return held if any(one.accepted for one in changes) else say("No limit stops the gate.")
    parts = []
    for change, phrase in CHANGE_WORDS.items():
        checks = [
            name_of_check(check) for check in dict.fromkeys(one.check for one in stopping if one.change == change)
        ]
        if checks:
            parts.append(say("{change}: {checks}.", change=words.capital(phrase), checks=joined(checks, ", ")))
    return sentences(*parts)


class Compared(NamedTuple):
    """One value now and before; ``why`` says why its change has no size, if so."""

    change: Change
    group: str | None
    now: float | None
    before: float | None
    difference: tuple[float, float, float] | None
    why: str


def compared(
    now: _Value, before: _Value, *, above: bool, is_ratio: bool, stretches: tuple[float, float] = (1.0, 1.0)
) -> Compared:
    """Hold a value against the same value of an earlier sample.

    Parameters
    ----------
    now, before : Evidence
        Without limits, a value that lies no farther in the harmful direction is not worse; one that does cannot be
        compared.
    above : bool
        Larger is worse; else smaller is.
    is_ratio : bool
        Compared by logarithms.
    stretches : tuple of float
        By how much the arms of the two intervals grow, from :func:`stretches_of`.

    Examples
    --------
    >>> now, before = Evidence(None, 0.30, 0.26, 0.34), Evidence(None, 0.20, 0.17, 0.23)
    >>> comparison = compared(now, before, above=True, is_ratio=False)
    >>> comparison.change, [round(one, 3) for one in comparison.difference]
    ('worse', [0.1, 0.05, 0.15])
    """
    values = now.value, before.value
    if now.low is None or now.high is None or before.low is None or before.high is None:
        farther = now.value > before.value if above else now.value < before.value
        no_interval = say("there is no interval to tell a change from chance")
        return Compared("not_in_baseline" if farther else "not_worse", now.of, *values, None, no_interval)
    first, second = (now.value, now.low, now.high), (before.value, before.low, before.high)
    difference = _change_of_ratio(first, second, stretches) if is_ratio else _change(first, second, stretches)
    why = ""
    if difference is not None:
        none = 1.0 if is_ratio else 0.0
        up, down = difference[1] > none, difference[2] < none
    else:
        why = say("the change has no finite size, so the intervals decide that do or do not touch")
        up, down = now.low > before.high, now.high < before.low
    worse, better = (up, down) if above else (down, up)
    return Compared("worse" if worse else "better" if better else "not_worse", now.of, *values, difference, why)


def stretches_of(alpha: float, alpha_before: float, changes: int) -> tuple[float, float]:
    """By how much the arms of two intervals grow for so many changes at once.

    Parameters
    ----------
    alpha, alpha_before : float
        Of the intervals now and before; changes are told at the first.
    changes : int

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> [round(one, 3) for one in stretches_of(0.05, 0.05, 1)], [round(one, 3) for one in stretches_of(0.05, 0.1, 4)]
    ([1.0, 1.0], [1.274, 1.518])
    """
    joint = ndtri(1.0 - alpha / (2.0 * changes))
    return float(joint / ndtri(1.0 - alpha / 2.0)), float(joint / ndtri(1.0 - alpha_before / 2.0))


_Triple = tuple[float, float, float]


def _change(now: _Triple, before: _Triple, stretches: tuple[float, float]) -> _Triple | None:
    """Difference and its limits; None where a value is infinite."""
    (d1, l1, u1), (d0, l0, u0) = now, before
    if not (math.isfinite(d1) and math.isfinite(d0)):
        return None
    change = d1 - d0
    low = change - math.hypot(stretches[0] * (d1 - l1), stretches[1] * (u0 - d0))
    high = change + math.hypot(stretches[0] * (u1 - d1), stretches[1] * (d0 - l0))
    return change, low, high


def _change_of_ratio(now: _Triple, before: _Triple, stretches: tuple[float, float]) -> _Triple | None:
    """Quotient of two ratios and its limits; None where one of them is 0 or infinite."""
    change = _change(_logarithms(now), _logarithms(before), stretches)
    if change is None:
        return None
    quotient, low, high = (math.inf if one > _LARGEST_EXPONENT else math.exp(one) for one in change)
    return quotient, low, high


def _logarithms(ratio: _Triple) -> _Triple:
    value, low, high = (-math.inf if one <= 0 else math.log(one) for one in ratio)
    return value, low, high
