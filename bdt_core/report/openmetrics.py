"""Audits and their histories as metrics in the OpenMetrics text format, for whoever watches with dashboards and alerts.

All metrics are gauges, and a verdict is one gauge per possible answer: the older text format of Prometheus, which the
textfile collector of node_exporter reads, knows no state sets, and refuses a whole file for one. It takes the lines
that only OpenMetrics has, units and the end, for comments.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from bdt_core import words
from bdt_core.harmless import without_controls
from bdt_core.history import History
from bdt_core.history.change import DriftState
from bdt_core.metrics import RATES
from bdt_core.report.known_audit import KnownAudit

_UNITS = ("seconds", "rows", "batches", "ratio")
_HELP = {
    "bdt_audit_looked_timestamp_seconds": "When the audit was looked at last.",
    "bdt_audit_due_timestamp_seconds": "When its next look is due, by freshness_hours or schedule.",
    "bdt_audit_verdict": "1 at the answer of the last look, 0 at the other answers; all 0 where it was stopped.",
    "bdt_audit_rows": "Rows that the newest report rests on, by part.",
    "bdt_audit_findings": "Groups of the newest report that are worse off beyond chance.",
    "bdt_limit_verdict": "1 at what the newest report says of a limit, 0 at the other answers.",
    "bdt_limit_value": "What a limit is held against, in the unit of its metric.",
    "bdt_limit_value_low": "Lower end of its interval.",
    "bdt_limit_value_high": "Upper end of its interval.",
    "bdt_group_rows": "Rows of a declared group in the newest report, where it is large enough for rates.",
    "bdt_group_rate_ratio": "A rate of such a group.",
    "bdt_group_rate_low_ratio": "Lower end of its interval.",
    "bdt_group_rate_high_ratio": "Upper end of its interval.",
    "bdt_history_batches": "Batches that the history holds.",
    "bdt_history_latest_timestamp_seconds": "Where the latest batch stands in time.",
    "bdt_history_difference_ratio": "A group's rate less its reference's, within batches, over all of them.",
    "bdt_history_difference_low_ratio": "Lower end of its confidence sequence, which holds at every look.",
    "bdt_history_difference_high_ratio": "Upper end of its confidence sequence, which holds at every look.",
    "bdt_history_difference_certain": "1 where the difference is certain, whenever one looks; else 0.",
    "bdt_history_drift": "1 at what the latest batch shows against those before it, 0 at the other states.",
    "bdt_history_limit_verdict": "1 at what all batches say of a limit, 0 at the other answers.",
}
"""All metrics, in the order of the file."""

_ANSWERS = tuple(words.VERDICT_WORDS)
_STATES = get_args(DriftState)
Labels = Mapping[str, str]


@dataclass(frozen=True)
class LabelledNumber:
    """A number, of which metric, and of what."""

    metric: str
    labels: Labels
    value: float


def openmetrics(audits: Iterable[KnownAudit]) -> str:
    r"""What audits and their histories say, as an OpenMetrics text file.

    Groups with too few rows for rates in the report, or to be followed over batches, are not in it.

    Parameters
    ----------
    audits : iterable of KnownAudit

    Returns
    -------
    str
        The same for the same audits.

    Examples
    --------
    >>> day = datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)
    >>> print(openmetrics([KnownAudit('the "loans"', None, None, None, None, due=day)]))
    # HELP bdt_audit_due_timestamp_seconds When its next look is due, by freshness_hours or schedule.
    # TYPE bdt_audit_due_timestamp_seconds gauge
    # UNIT bdt_audit_due_timestamp_seconds seconds
    bdt_audit_due_timestamp_seconds{audit="the \"loans\""} 1769817600.0
    # EOF
    <BLANKLINE>
    """
    samples = [sample for audit in audits for sample in _of_audit(audit)]
    lines = [line for metric in _HELP for line in _lines(metric, [x for x in samples if x.metric == metric])]
    return "\n".join([*lines, "# EOF", ""])


def _lines(metric: str, samples: list[LabelledNumber]) -> Iterator[str]:
    if not samples:
        return
    yield f"# HELP {metric} {_HELP[metric]}"
    yield f"# TYPE {metric} gauge"
    yield from (f"# UNIT {metric} {unit}" for unit in _UNITS if metric.endswith(f"_{unit}"))
    for sample in samples:
        labels = ",".join(f'{name}="{_escaped(label)}"' for name, label in sample.labels.items())
        yield f"{metric}{{{labels}}} {float(sample.value)!r}"


def _escaped(label: str) -> str:
    return without_controls(label).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _of_audit(audit: KnownAudit) -> Iterator[LabelledNumber]:
    labels = {"audit": audit.name}
    for metric, time in (("looked", audit.looked), ("due", audit.due)):
        if time is not None:
            yield LabelledNumber(f"bdt_audit_{metric}_timestamp_seconds", labels, time.timestamp())
    if audit.looked is not None:
        yield from _states("bdt_audit_verdict", labels, "verdict", audit.verdict, _ANSWERS)
    if audit.document is not None:
        yield from _of_report(labels, audit.document)
    if audit.history is not None:
        yield from _of_history(labels, audit.history)


def _of_report(labels: Labels, document: Mapping[str, Any]) -> Iterator[LabelledNumber]:
    for part in ("train", "test"):
        yield LabelledNumber("bdt_audit_rows", {**labels, "part": part}, document["split"][f"{part}_rows"])
    if document["findings"] is not None:
        yield LabelledNumber("bdt_audit_findings", labels, len(document["findings"]["findings"]))
    for number, limit in enumerate(document["gate"], 1):
        of_limit = {**labels, "limit": limit["check"], "number": str(number)}
        yield from _states("bdt_limit_verdict", of_limit, "verdict", limit["verdict"], _ANSWERS)
        value = limit.get("value", limit.get("difference"))
        yield from _with_interval("bdt_limit_value", "", of_limit, value, limit.get("low"), limit.get("high"))
    for facet in [] if document["groups"] is None else document["groups"]["facets"]:
        for group in facet["groups"]:
            if group["rates"] is None:  # too few rows
                continue
            of_group = {**labels, "by": facet["facet"], "group": group["group"]}
            yield LabelledNumber("bdt_group_rows", of_group, group["rows"])
            for name in [name for name in RATES if name in group["rates"]]:
                rate, of_rate = group["rates"][name], {**of_group, "metric": name}
                yield from _with_interval(
                    "bdt_group_rate", "_ratio", of_rate, rate["estimate"], rate["low"], rate["high"]
                )


def _of_history(labels: Labels, history: History) -> Iterator[LabelledNumber]:
    yield LabelledNumber("bdt_history_batches", labels, len(history.batches))
    if history.batches:
        latest: datetime.datetime = history.batches[-1].time
        yield LabelledNumber("bdt_history_latest_timestamp_seconds", labels, latest.timestamp())
    for stream in history.streams:
        of_stream = {**labels, "by": stream.facet, "group": stream.group, "reference": stream.reference}
        of_stream["metric"] = stream.metric
        yield from _with_interval(
            "bdt_history_difference", "_ratio", of_stream, stream.difference, stream.low, stream.high
        )
        yield LabelledNumber("bdt_history_difference_certain", of_stream, stream.discovered)
        yield from _states("bdt_history_drift", of_stream, "state", stream.drift.state, _STATES)
    for number, limit in enumerate(history.limits, 1):
        of_limit = {**labels, "limit": limit.check, "number": str(number)}
        yield from _states("bdt_history_limit_verdict", of_limit, "verdict", limit.verdict, _ANSWERS)


def _states(
    metric: str, labels: Labels, label: str, state: str | None, states: tuple[str, ...]
) -> Iterator[LabelledNumber]:
    for possible in states:
        yield LabelledNumber(metric, {**labels, label: possible}, possible == state)


def _with_interval(
    metric: str, unit: str, labels: Labels, value: float | None, low: float | None, high: float | None
) -> Iterator[LabelledNumber]:
    for end, number in (("", value), ("_low", low), ("_high", high)):
        if value is not None and number is not None:
            yield LabelledNumber(f"{metric}{end}{unit}", labels, number)
