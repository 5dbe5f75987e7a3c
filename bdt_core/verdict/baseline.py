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

import json
import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from scipy.special import ndtri

from bdt_core import words
from bdt_core.errors import SourceError
from bdt_core.metrics import GATE_METRICS, is_ratio
from bdt_core.result import READABLE_VERSIONS, Result
from bdt_core.spec import AuditSpec
from bdt_core.verdict.gate import overall
from bdt_core.verdict.judge import Tolerated
from bdt_core.verdict.kinds import kind_named
from bdt_core.verdict.local_bias import metric_words
from bdt_core.verdict.words import Verdict

Document = dict[str, Any]
Change = Literal["worse", "not_in_baseline", "not_worse", "better"]
CHANGE_WORDS: dict[Change, str] = {
    "worse": "worse than the baseline",
    "not_in_baseline": "not in the baseline",
    "not_worse": "not significantly worse than the baseline",
    "better": "better than the baseline",
}
NO_INTERVAL = "there is no interval to tell a change from chance"
NO_FINITE_SIZE = "the change has no finite size, so the intervals decide that do or do not touch"
_LARGEST_EXPONENT = 700.0
_SEVEREST_FIRST = tuple(CHANGE_WORDS)
_NEEDED = {"name": str, "spec": dict, "bias_variable": dict, "gate": list}
_MEND = "Name the report.json of an earlier audit."
_AGAIN = "Make it again: bdt gate SPEC --report DIR"


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


def compare_with_baseline(document: Document, baseline: Document, file: str | Path | None = None) -> BaselineComparison:
    """Compare each limit with an earlier report.

    Parameters
    ----------
    document : dict
        The report, as data.
    baseline : dict
        An earlier report, from `read_baseline`.
    file : str or Path, optional
        Where the earlier report is, for messages.

    Returns
    -------
    BaselineComparison
        It blocks only where a limit that blocks is significantly worse than the baseline, or cannot be compared.

    Raises
    ------
    SourceError
        The earlier report is damaged where a limit needs it.

    Examples
    --------
    >>> def report(harm):
    ...     limit = {"kind": "cluster", "check": "worst_cluster", "verdict": "fail", "blocks": True,
    ...              "difference": harm, "low": harm - 0.05, "high": harm + 0.05}
    ...     spec = {"significance": {"alpha": 0.05}, "require": "all"}
    ...     return {"gate": [limit], "spec": spec, "bias_variable": {"name": "error rate", "unit": "rate"}}
    >>> [compare_with_baseline(report(now), report(0.20)).limits[0].change for now in (0.22, 0.30, 0.10)]
    ['not_worse', 'worse', 'better']
    """
    changes = tuple(_change_or_refusal(one, document, baseline, file) for one in document["gate"])
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


def _change_or_refusal(limit: Document, document: Document, baseline: Document, file: str | Path | None) -> LimitChange:
    try:
        return _limit_change(limit, document, baseline)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError):
        _limit_change(limit, document, document)  # what cannot be held against itself is no fault of the baseline
        raise SourceError(
            f"The baseline{'' if file is None else f' {file}'} is damaged: what the limit {limit['check']} is compared "
            f"with is not what a report has there. {_AGAIN}"
        ) from None


def _limit_change(limit: Document, document: Document, baseline: Document) -> LimitChange:
    if limit["kind"] == "metric":
        found, groups = _metric_change(limit, document, baseline)
        of_ratio = is_ratio(GATE_METRICS[limit["metric"]])
        sentence = _metric_sentence(limit, found, groups, document)
    else:
        found, groups, of_ratio = _worst_change(limit, document, baseline), 1, kind_named(limit["kind"]).is_ratio
        sentence = _worst_sentence(limit, found, document)
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


def _worst_change(limit: Document, document: Document, baseline: Document) -> Compared:
    of_ratio = kind_named(limit["kind"]).is_ratio
    size = "difference" if "difference" in limit else "value"
    now = measured(limit[size], limit["low"], limit["high"])
    same = [one for one in baseline["gate"] if _is_the_same(one, limit)]
    before = measured(same[0][size], same[0]["low"], same[0]["high"]) if same else None
    if now is None:
        return _nothing("it could not be tested now")
    if before is None:
        return _nothing("it could not be tested there" if same else "no such limit there", now=now)
    stretches = _stretches(document, baseline, 1)
    return compared(None, now, before, above=not of_ratio, is_ratio=of_ratio, stretches=stretches)


def _is_the_same(one: Document, limit: Document) -> bool:
    """Whether a limit of the baseline is on what a limit is on now."""
    return all(one.get(key) == limit.get(key) for key in ("kind", "check", "facets"))


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
    stretches, as_ratio = _stretches(document, baseline, len(groups)), is_ratio(GATE_METRICS[limit["metric"]])
    found = [
        compared(
            group, now[group], before[group],
            above=_larger_is_worse(now[group].value, limit), is_ratio=as_ratio, stretches=stretches,
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
    """Whether a group alone breaks a limit."""
    return Tolerated(limit["minimum"], limit["maximum"], limit["rule"]).verdict(*one) == "fail"


def _larger_is_worse(value: float, limit: Document) -> bool:
    """Whether a value lies at the limit's maximum rather than at its minimum."""
    least, most = limit["minimum"], limit["maximum"]
    if least is None or most is None:
        return least is None
    return bool(value - most >= least - value)


def _worst_sentence(limit: Document, found: Compared, document: Document) -> str:
    kind = kind_named(limit["kind"])
    unit = kind.unit_in(limit, document["bias_variable"]["unit"])
    points = " points" if unit == "rate" else ""
    of_ratio = kind.is_ratio
    write = words.number if of_ratio else partial(words.signed, unit=unit)
    what, people = kind_named("worst_group").compared if limit.get("broken_by") else kind.compared
    told = f"{what.format(measured=_measured(limit, document))} ({limit['check']})"
    if found.before is None:
        return f"{told}: cannot be compared with the baseline, {found.why}."
    told += f": {CHANGE_WORDS[found.change]}, {write(found.now)}{points} now against {write(found.before)}{points}"
    if found.difference is None:
        return f"{told}; {found.why}. {people}"
    change, low, high = (write(one) for one in found.difference)
    size = f"{change} times the baseline's" if of_ratio else f"change {change}{points}"
    return f"{told}, {size} [{_level(document)} {low} to {high}]. {people}"


def _measured(limit: Document, document: Document) -> str:
    """What people are compared by, of a limit on what was found."""
    if limit["kind"] == "local_bias":
        return metric_words(limit["metric"])
    slices = document.get("slices")
    if limit["kind"] == "slice" and slices and slices["outcome"] is None:  # of a rate, as a stage of one's own may be
        return str(slices["metric_name"])
    return str(document["bias_variable"]["name"])


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


class Measured(NamedTuple):
    """A value with its confidence limits."""

    value: float
    low: float | None
    high: float | None


class Compared(NamedTuple):
    """One value now and before; ``why`` says why its change has no size, if so."""

    change: Change
    group: str | None
    now: float | None
    before: float | None
    difference: tuple[float, float, float] | None
    why: str


def compared(
    group: str | None,
    now: Measured,
    before: Measured,
    *,
    above: bool,
    is_ratio: bool,
    stretches: tuple[float, float] = (1.0, 1.0),
) -> Compared:
    """Hold a value against the same value of an earlier sample.

    Parameters
    ----------
    group : str or None
        Whose value it is.
    now, before : Measured
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
    >>> now, before = Measured(0.30, 0.26, 0.34), Measured(0.20, 0.17, 0.23)
    >>> found = compared(None, now, before, above=True, is_ratio=False)
    >>> found.change, [round(one, 3) for one in found.difference]
    ('worse', [0.1, 0.05, 0.15])
    """
    values = now.value, before.value
    if now.low is None or now.high is None or before.low is None or before.high is None:
        farther = now.value > before.value if above else now.value < before.value
        return Compared("not_in_baseline" if farther else "not_worse", group, *values, None, NO_INTERVAL)
    first, second = (now.value, now.low, now.high), (before.value, before.low, before.high)
    difference = _change_of_ratio(first, second, stretches) if is_ratio else _change(first, second, stretches)
    if difference is not None:
        none = 1.0 if is_ratio else 0.0
        up, down = difference[1] > none, difference[2] < none
    else:
        up, down = now.low > before.high, now.high < before.low
    worse, better = (up, down) if above else (down, up)
    change: Change = "worse" if worse else "better" if better else "not_worse"
    return Compared(change, group, *values, difference, NO_FINITE_SIZE if difference is None else "")


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
    wanted = ndtri(1.0 - alpha / (2.0 * changes))
    return float(wanted / ndtri(1.0 - alpha / 2.0)), float(wanted / ndtri(1.0 - alpha_before / 2.0))


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


def read_baseline(path: str | Path, spec: AuditSpec) -> Document:
    """Read an earlier report.json that an audit can be compared with.

    Parameters
    ----------
    path : str or Path
    spec : AuditSpec
        Of the audit that is to be compared.

    Returns
    -------
    dict

    Raises
    ------
    SourceError
        The file is missing or no JSON; the report is of another version, of another audit, or measures something else.
    """
    file = Path(path)
    found = json_of(file, f"The baseline {file}", _MEND)
    if not isinstance(found, dict) or "schema_version" not in found:
        raise SourceError(f"The baseline {file} is no report of an audit. {_MEND}")
    if found["schema_version"] not in READABLE_VERSIONS:
        raise SourceError(
            f"The baseline {file} has version {_short(found['schema_version'])} of the report's schema; expected "
            f"{' or '.join(map(str, READABLE_VERSIONS))}. {_AGAIN}"
        )
    unfit = [key for key, kind in _NEEDED.items() if not isinstance(found.get(key), kind)]
    if unfit:
        raise SourceError(f"The baseline {file} is not a whole report: {', '.join(unfit)} is missing. {_AGAIN}")
    if found.get("publication") is not None:
        raise SourceError(
            f"The baseline {file} is a form for publication, whose numbers are rounded. Name the report.json that the "
            "audit wrote without --for publication."
        )
    if found["name"] != spec.name:
        raise SourceError(
            f'The baseline {file} is of the audit "{_short(found["name"])}", not of "{spec.name}". '
            "Name a report of the same audit."
        )
    _check_same_measure(file, found, spec)
    return found


def values_of(limit: Document, document: Document) -> dict[str | None, Measured]:
    """What a limit on declared groups is on, in any report: by group, each with its own interval.

    Parameters
    ----------
    limit : dict
        A result of the gate, of kind metric.
    document : dict
        A report.

    Returns
    -------
    dict
        None stands for all groups together. Groups with too few rows, and undefined values, are not there.
    """
    facet = _facet(limit, document)
    if facet is None:
        return {}
    name = GATE_METRICS[limit["metric"]]
    found: dict[str | None, Measured | None] = {}
    if name == "bias_score":
        score = facet["bias_score"] or {}
        found[None] = measured(score.get("score"), score.get("low"), score.get("high"))
    for one in facet["ranges"]:
        if one["metric"] == name:
            found[None] = measured(one["estimate"], one["low"], one["high"])
    for metric in (*facet["against_reference"], *facet["clarify"]):
        if metric["metric"] == name:
            for value in metric["values"]:
                found.setdefault(value["group"], measured(value["estimate"], value["low"], value["high"]))
    for group in facet["groups"]:
        rate = (group["rates"] or {}).get(name)
        if rate is not None:
            found.setdefault(group["group"], measured(rate["estimate"], rate["low"], rate["high"]))
    few = {name for one in document["gate"] if one["check"] == limit["check"] for name in one.get("left_out", ())}
    return {group: one for group, one in found.items() if one is not None and group not in few}


def reference_of(limit: Document, document: Document) -> str | None:
    """The group that a rate is compared with, where the limit is on such a comparison."""
    facet = _facet(limit, document)
    name = GATE_METRICS[limit["metric"]]
    if facet is None or all(one["metric"] != name for one in facet["against_reference"]):
        return None
    return str(facet["reference"])


def measured(value: Any, low: Any, high: Any) -> Measured | None:
    """Numbers as a report has them, where infinities are words; None without a value.

    Examples
    --------
    >>> measured("Infinity", 2.5, None), measured(None, None, None)
    (Measured(value=inf, low=2.5, high=None), None)
    """
    if value is None:
        return None
    return Measured(float(value), None if low is None else float(low), None if high is None else float(high))


def json_of(file: Path, called: str, mend: str) -> Any:
    """What a file holds that should be a report.

    Raises
    ------
    SourceError
        The file is missing or no JSON.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise SourceError(f"{called} cannot be read: {error.strerror or error}. {mend}") from None
    except (ValueError, RecursionError):
        raise SourceError(f"{called} is not valid JSON. {mend}") from None


def _check_same_measure(file: Path, found: Document, spec: AuditSpec) -> None:
    """Columns may be renamed, as for a new model; what is measured, and which way is worse, must stay."""
    before = _section(found["spec"], "bias_variable")
    for key in ("derive", "better"):
        now = getattr(spec.bias_variable, key)
        if before.get(key) != now:
            raise SourceError(
                f"The baseline {file} measures something else: its bias_variable.{key} is {_short(before.get(key))}, "
                f"that of the specification {_short(now)}. {_AGAIN}"
            )
    counted = _section(found, "groups").get("favourable") or "positive"
    wanted = spec.favourable_outcome or "positive"
    if found.get("groups") and spec.facets and counted != wanted:
        raise SourceError(
            f"The baseline {file} measures something else: it counts {_short(counted)} outcomes as favourable, the "
            f"specification {wanted} ones. {_AGAIN}"
        )
    alpha = _section(found["spec"], "significance").get("alpha")
    if not isinstance(alpha, float) or not 0 < alpha < 1:
        raise SourceError(f"The baseline {file} is not a whole report: significance.alpha is missing. {_AGAIN}")


def _section(part: Document, key: str) -> Document:
    """A section of a file that may hold anything."""
    found = part.get(key)
    return found if isinstance(found, dict) else {}


def _facet(limit: Document, document: Document) -> Document | None:
    groups = document.get("groups")
    facets: list[Document] = groups["facets"] if groups else []
    return next((one for one in facets if one["facet"] == limit["facet"]), None)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _short(x: Any) -> str:
    """A value of a file that may hold anything, for a message."""
    return str(words.printable(str(x)))[:40]
