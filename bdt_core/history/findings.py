"""Findings on a history: drift, groups with too few rows, and differences over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bdt_core import words
from bdt_core.fairness.score_parts import severity_of
from bdt_core.history.results import History, Stream
from bdt_core.metrics import RATES
from bdt_core.result import Result
from bdt_core.spec import AlertSeverity
from bdt_core.verdict.words import severest, severity_by_ratio

_NAMED = 5
_OF_SCORE: dict[str, AlertSeverity] = {
    "minimal": "low", "low": "low", "moderate": "medium", "high": "high", "severe": "critical",
}  # fmt: skip


@dataclass(frozen=True)
class Finding(Result):
    """The answer to one question.

    Attributes
    ----------
    passed : bool
    broken : bool
        Whether a declared limit is broken, which is more than a warning.
    severity : {"low", "medium", "high", "critical"} or None
        None when passed.
    sentence : str
        What was found.
    recommendation : str
        What to do about it.
    """

    passed: bool
    broken: bool
    severity: AlertSeverity | None
    sentence: str
    recommendation: str


def drift_finding(history: History) -> Finding:
    """Has a difference moved by more than `history.drift` in the latest batch, beyond what chance does?

    Parameters
    ----------
    history : History
    """
    if not history.batches:
        return Finding(True, False, None, "No batch has been counted yet.", "Nothing to do.")
    limit = history.spec.history.drift
    batch = history.batches[-1].id
    past = min(len(history.batches) - 1, history.look_back)
    drifting = sorted(
        (one for one in history.streams if one.drift.state == "drift"), key=lambda one: -abs(one.drift.change or 0.0)
    )
    moved = [one for one in history.streams if one.drift.state == "moved"]
    tested = sum(one.drift.state != "not_testable" for one in history.streams)
    also = ""
    if moved:
        also = (
            f" Moved by more than {words.size(limit, 'rate')}, which chance alone may do: "
            f"{_listed([_changed(one) for one in moved])}."
        )
    if not drifting:
        if not tested:
            reasons = sorted({one.drift.reason for one in history.streams if one.drift.reason})
            sentence = f"Drift in batch {batch} cannot be tested: {'; '.join(reasons) or 'no group is large enough'}."
        else:
            sentence = (
                f"None of {tested} differences is certain to have moved by more than {words.size(limit, 'rate')} in "
                f"batch {batch} against the {past} before it."
            )
        return Finding(True, False, None, sentence + also, "Nothing to do.")
    sentence = (
        f"In batch {batch}, against the {past} before it, {len(drifting)} of {tested} differences moved by more than "
        f"{words.size(limit, 'rate')}: {_listed([_changed(one) for one in drifting])}."
    )
    first = drifting[0]
    advice = (
        f"Compare the rows of batch {batch} with those before it, beginning with {_named(first)}: did the data, the "
        f"people or the model change? Then {RATES[first.metric].advice}."
    )
    worst = severest([severity_by_ratio(limit, abs(one.drift.change or 0.0)) for one in drifting])
    return Finding(False, False, worst, sentence + also, advice)


def volume_finding(history: History, batch: str | None = None) -> Finding:
    """Has every group at least `history.min_rows` rows in a batch (the latest by default)?

    Raises
    ------
    DataError
        The history has no such batch.
    """
    if not history.batches:
        return Finding(True, False, None, "No batch has been counted yet.", "Nothing to do.")
    if batch in history.waiting:
        return Finding(True, False, None, f"Batch {batch} says nothing until its labels are there.", "Nothing to do.")
    least = history.spec.history.min_rows
    name = batch or history.batches[-1].id
    small = sorted(history.small_groups(batch), key=lambda one: one.rows)
    if not small:
        return Finding(True, False, None, f"Every group has at least {least:,} rows in batch {name}.", "Nothing to do.")
    named = _listed([f"{one.group} ({' & '.join(one.facets)}): {one.rows:,}" for one in small])
    sentence = f"{len(small)} group{'s' * (len(small) > 1)} with fewer than {least:,} rows in batch {name}: {named}."
    advice = (
        f"Rows per group were counted: take longer batches, or lower history.min_rows from {least:,}; until then drift "
        "in these groups is not tested, and only all batches together say something of them."
    )
    return Finding(False, False, severity_by_ratio(small[0].rows, least), sentence, advice)


def difference_finding(history: History) -> Finding:
    """Do all batches together show a difference, against a limit of the gate or, where there is none, by e-BH?"""
    if not history.batches:
        return Finding(True, False, None, "No batch has been counted yet.", "Nothing to do.")
    broken = [one for one in history.limits if one.verdict == "fail"]
    shown = sorted(
        (one for one in history.streams if one.discovered and not one.limited),
        key=lambda one: -abs(one.difference or 0),
    )
    sentences = [one.sentence for one in broken]
    severities: list[AlertSeverity] = [one.severity for one in broken if one.severity is not None]
    if shown:
        sentences.append(
            f"Without a limit, but certain (false discovery rate {100 * history.spec.significance.alpha:.4g} % however "
            f"often one looks): {_listed([_differs(one, history) for one in shown])}."
        )
        severities += [_OF_SCORE[severity_of(abs(one.difference or 0.0))] for one in shown]
    if not sentences:
        return Finding(True, False, None, _nothing_found(history), "Nothing to do.")
    if broken:
        first = broken[0]
        advice = (
            f"{words.capital(first.metric.replace('_', ' '))} by {first.facet} was measured ({first.group}): look at "
            f"what changed up to batch {first.broken_since}, fit thresholds per group or train again, and stop the "
            "deployment until it holds."
        )
    else:
        advice = (
            f"{words.capital(_named(shown[0]))} was measured: {RATES[shown[0].metric].advice}. If a difference of this "
            "size is tolerable, set a limit on it in the gate."
        )
    return Finding(False, bool(broken), severest(severities), " ".join(sentences), advice)


def _nothing_found(history: History) -> str:
    open_ones = [one for one in history.limits if one.verdict != "pass"]
    batches = f"{len(history.batches)} batch{'es' * (len(history.batches) != 1)}"
    sentence = f"No limit is broken and no difference without a limit is shown over {batches}."
    return sentence + "".join(f" {one.sentence}" for one in open_ones)


def _named(stream: Stream) -> str:
    metric = stream.metric.replace("_", " ")
    return f"{metric} by {' & '.join(stream.facets)}, {stream.group} less {stream.reference}"


def _changed(stream: Stream) -> str:
    return f"{_named(stream)}: {_points(stream.drift.change, stream.drift.low, stream.drift.high)}"


def _differs(stream: Stream, history: History) -> str:
    since = "" if stream.alarm is None else f", since batch {history.batches[stream.alarm].id}"
    return f"{_named(stream)}: {_points(stream.difference, stream.low, stream.high)}{since}"


def _points(value: float | None, low: float | None, high: float | None) -> str:
    shown, at_least, at_most = (words.signed(one, "rate") for one in (value, low, high))
    return f"{shown} points [{at_least} to {at_most}]"


def _listed(names: Sequence[str]) -> str:
    more = f"; and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return "; ".join(names[:_NAMED]) + more
