"""A report held against an earlier one: which limits are significantly worse than before?

The two reports are taken as independent samples, and compared by their confidence intervals (`baseline_change` has the
formula). Of a limit on declared groups, every group that is beyond the limit is compared with itself, at Bonferroni's
level for all of them at once. The clusters of two reports are different groups of people: there the harm of the worst
cluster is compared, whoever is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bdt_core import words
from bdt_core.metrics import GATE_METRICS, is_ratio
from bdt_core.result import Result
from bdt_core.verdict.baseline_change import Change, Compared, Measured, compared, stretches_of
from bdt_core.verdict.baseline_report import measured, reference_of, values_of
from bdt_core.verdict.gate import overall
from bdt_core.verdict.words import Verdict

Document = dict[str, Any]
CHANGE_WORDS: dict[Change, str] = {
    "worse": "worse than the baseline",
    "not_in_baseline": "not in the baseline",
    "not_worse": "not significantly worse than the baseline",
    "better": "better than the baseline",
}
_SEVEREST_FIRST = tuple(CHANGE_WORDS)


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
    sentence: str


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
    sentence: str
    limits: tuple[LimitChange, ...]


def compare_with_baseline(document: Document, baseline: Document) -> BaselineComparison:
    """Compare each limit with an earlier report.

    Parameters
    ----------
    document : dict
        The report, as data.
    baseline : dict
        An earlier report, from :func:`bdt_core.verdict.baseline_report.read_baseline`.

    Returns
    -------
    BaselineComparison
        It blocks only where a limit that blocks is significantly worse than the baseline, or cannot be compared.

    Examples
    --------
    >>> def report(harm):
    ...     limit = {"kind": "cluster", "check": "worst_cluster", "verdict": "fail", "blocks": True,
    ...              "difference": harm, "low": harm - 0.05, "high": harm + 0.05}
    ...     spec = {"significance": {"alpha": 0.05}, "require": "all"}
    ...     return {"gate": [limit], "spec": spec, "bias_variable": {"unit": "rate"}}
    >>> [compare_with_baseline(report(now), report(0.20)).limits[0].change for now in (0.22, 0.30, 0.10)]
    ['not_worse', 'worse', 'better']
    """
    changes = tuple(_limit_change(one, document, baseline) for one in document["gate"])
    pairs = list(zip(document["gate"], changes, strict=True))
    verdict = overall(
        ["pass" if change.accepted and one["verdict"] == "fail" else one["verdict"] for one, change in pairs],
        document["spec"]["require"],
    )
    stopping = [change for one, change in pairs if one["blocks"] and not change.accepted]
    blocks = bool(stopping)
    if document["spec"]["require"] == "majority":
        blocks = verdict == "fail" or (verdict != "pass" and blocks)
    return BaselineComparison(verdict, blocks, _overall_sentence(changes, stopping), changes)


def _limit_change(limit: Document, document: Document, baseline: Document) -> LimitChange:
    if limit["kind"] == "cluster":
        found, groups, of_ratio = _cluster_change(limit, document, baseline), 1, False
        sentence = _cluster_sentence(limit, found, document)
    else:
        found, groups = _metric_change(limit, document, baseline)
        of_ratio = is_ratio(GATE_METRICS[limit["metric"]])
        sentence = _metric_sentence(limit, found, groups, document)
    difference, low, high = found.difference or (None, None, None)
    return LimitChange(
        check=limit["check"],
        change=found.change,
        accepted=bool(limit["blocks"]) and found.change in ("not_worse", "better"),
        group=found.group,
        value=found.now,
        baseline=found.before,
        difference=difference,
        low=low,
        high=high,
        is_ratio=of_ratio,
        groups_compared=groups,
        sentence=sentence,
    )


def _cluster_change(limit: Document, document: Document, baseline: Document) -> Compared:
    now = measured(limit["difference"], limit["low"], limit["high"])
    same = [one for one in baseline["gate"] if one["kind"] == "cluster" and one["check"] == limit["check"]]
    before = measured(same[0]["difference"], same[0]["low"], same[0]["high"]) if same else None
    if now is None:
        return _nothing("it could not be tested now")
    if before is None:
        return _nothing("it could not be tested there" if same else "no such limit there", now=now)
    return compared(None, now, before, above=True, is_ratio=False, stretches=_stretches(document, baseline, 1))


def _metric_change(limit: Document, document: Document, baseline: Document) -> tuple[Compared, int]:
    """The comparison of the group that has changed for the worst, and how many were compared."""
    now, before = values_of(limit, document), values_of(limit, baseline)
    decides = limit["group"]
    if limit["value"] is None or decides not in now:
        return _nothing("it could not be tested now", decides), 0
    groups = [decides]
    if limit["verdict"] == "fail":
        groups += [group for group, one in now.items() if group != decides and _fails(one, limit)]
    if before and reference_of(limit, document) != reference_of(limit, baseline):
        return _nothing("groups were compared with another one there", decides, now[decides]), len(groups)
    stretches = _stretches(document, baseline, len(groups))
    found = [
        compared(
            group, now[group], before[group],
            above=_larger_is_worse(now[group].value, limit), is_ratio=is_ratio(GATE_METRICS[limit["metric"]]),
            stretches=stretches,
        )
        if group in before
        else _nothing("no value there, or too few rows", group, now[group])
        for group in groups
    ]  # fmt: skip
    return min(found, key=lambda one: _SEVEREST_FIRST.index(one.change)), len(groups)


def _nothing(why: str, group: str | None = None, now: Measured | None = None) -> Compared:
    return Compared("not_in_baseline", group, now.value if now else None, None, None, why)


def _stretches(document: Document, baseline: Document, groups: int) -> tuple[float, float]:
    now, before = (one["spec"]["significance"]["alpha"] for one in (document, baseline))
    return stretches_of(now, before, groups)


def _fails(one: Measured, limit: Document) -> bool:
    """Whether a group's whole interval lies beyond the limit, or its value where that alone decides."""
    low, high = (one.value, one.value) if limit["rule"] == "point" else (one.low, one.high)
    if low is None or high is None:
        return False
    least, most = limit["minimum"], limit["maximum"]
    return (least is not None and high < least) or (most is not None and low > most)


def _larger_is_worse(value: float, limit: Document) -> bool:
    """Whether a value lies at the limit's maximum rather than at its minimum."""
    least, most = limit["minimum"], limit["maximum"]
    if least is None or most is None:
        return least is None
    return bool(value - most >= least - value)


def _cluster_sentence(limit: Document, found: Compared, document: Document) -> str:
    unit = document["bias_variable"]["unit"]
    points = " points" if unit == "rate" else ""
    told = f"Harm of the worst cluster ({limit['check']})"
    if found.before is None:
        return f"{told}: cannot be compared with the baseline, {found.why}."
    told += f": {CHANGE_WORDS[found.change]}, {words.signed(found.now, unit)}{points} now against "
    told += f"{words.signed(found.before, unit)}{points}"
    people = "The clusters of two reports are different groups of people."
    if found.difference is None:
        return f"{told}; {found.why}. {people}"
    change, low, high = (words.signed(one, unit) for one in found.difference)
    return f"{told}, change {change}{points} [{_level(document)} {low} to {high}]. {people}"


def _metric_sentence(limit: Document, found: Compared, groups: int, document: Document) -> str:
    name = limit["metric"] if limit["metric"].isupper() else limit["metric"].replace("_", " ")
    told = words.capital(f"{name} by {limit['facet']}") + ("" if found.group is None else f" for {found.group}")
    if found.before is None:
        return f"{told}: cannot be compared with the baseline, {found.why}."
    told += f": {CHANGE_WORDS[found.change]}, {words.number(found.now)} now against {words.number(found.before)}"
    if found.difference is None:
        return f"{told}; {found.why}."
    if is_ratio(GATE_METRICS[limit["metric"]]):
        change, low, high = (words.number(one) for one in found.difference)
        size = f"{change} times the baseline's"
    else:
        change, low, high = (words.signed(one, "value") for one in found.difference)
        size = f"change {change}"
    at_once = f" for {groups} groups at once" if groups > 1 else ""
    return f"{told}, {size} [{_level(document)}{at_once} {low} to {high}]."


def _level(document: Document) -> str:
    return f"{100 * (1 - document['spec']['significance']['alpha']):.4g} % CI"


def _overall_sentence(changes: tuple[LimitChange, ...], stopping: list[LimitChange]) -> str:
    if not stopping:
        accepted = any(one.accepted for one in changes)
        return "No broken limit is significantly worse than the baseline." if accepted else "No limit stops the gate."
    told = []
    for change, phrase in CHANGE_WORDS.items():
        names = list(dict.fromkeys(one.check for one in stopping if one.change == change))
        if names:
            told.append(f"{words.capital(phrase)}: {', '.join(names)}.")
    return " ".join(told)
