"""Findings on a history: is there drift, are there rows enough, is there a difference over time?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bdt_core import words
from bdt_core.fairness.score_parts import severity_of
from bdt_core.history.limits import number_of_batches
from bdt_core.history.results import History, SmallGroup, Stream
from bdt_core.metrics import RATES
from bdt_core.result import Result
from bdt_core.said import AsItIs, Column, Numeral, Text, joined, of_ours, say
from bdt_core.spec import AlertSeverity
from bdt_core.verdict.words import sentences, severest, severity_by_ratio

_NAMED = 5
_OF_SCORE: dict[str, AlertSeverity] = {
    "minimal": "low", "low": "low", "moderate": "medium", "high": "high", "severe": "critical",
}  # fmt: skip


@dataclass(frozen=True)
class HistoryFinding(Result):
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
    sentence: Text
    recommendation: Text


def _no_batch() -> HistoryFinding:
    return HistoryFinding(True, False, None, say("No batch has been counted yet."), _nothing_to_do())


def _nothing_to_do() -> str:
    return say("Nothing to do.")


def drift_finding(history: History) -> HistoryFinding:
    """Has a difference moved by more than `history.drift` in the latest batch, beyond what chance does?

    Parameters
    ----------
    history : History
    """
    if not history.batches:
        return _no_batch()
    limit = history.spec.history.drift
    values = {
        "batch": AsItIs(history.batches[-1].id),
        "Npast": Numeral(str(min(len(history.batches) - 1, history.look_back))),
        "size": words.size(limit, "rate"),
    }
    drifting = sorted(
        (one for one in history.streams if one.drift.state == "drift"), key=lambda one: -abs(one.drift.change or 0.0)
    )
    moved = [one for one in history.streams if one.drift.state == "moved"]
    tested = sum(one.drift.state != "not_testable" for one in history.streams)
    also: str = ""
    if moved:
        also = say(
            "Moved by more than {size}, which chance alone may do: {what}.",
            size=values["size"],
            what=_listed([_changed(one) for one in moved]),
        )
    if not drifting:
        if not tested:
            reasons = sorted({one.drift.reason for one in history.streams if one.drift.reason})
            why = joined(reasons, "; ") or say("no group is large enough")
            sentence = say("Drift in batch {batch} cannot be tested: {why}.", batch=values["batch"], why=why)
        else:
            sentence = say(
                "None of {N} differences is certain to have moved by more than {size} in batch {batch} against the "
                "{Npast} before it.",
                N=Numeral(str(tested)),
                **values,
            )
        return HistoryFinding(True, False, None, sentences(sentence, also), _nothing_to_do())
    sentence = say(
        "In batch {batch}, against the {Npast} before it, {N} of {Nall} differences moved by more than {size}: {what}.",
        N=Numeral(str(len(drifting))),
        Nall=Numeral(str(tested)),
        what=_listed([_changed(one) for one in drifting]),
        **values,
    )
    first = drifting[0]
    advice = sentences(
        say(
            "Compare the rows of batch {batch} with those before it, beginning with {what}: did the data, the people "
            "or the model change?",
            batch=values["batch"],
            what=_named(first),
        ),
        say("Then {advice}.", advice=of_ours(RATES[first.metric].advice)),
    )
    worst = severest([severity_by_ratio(limit, abs(one.drift.change or 0.0)) for one in drifting])
    return HistoryFinding(False, False, worst, sentences(sentence, also), advice)


def volume_finding(history: History, batch: str | None = None) -> HistoryFinding:
    """Has every group at least `history.min_rows` rows in a batch (the latest by default)?

    Raises
    ------
    DataError
        The history has no such batch.
    """
    if not history.batches:
        return _no_batch()
    if batch is not None and batch in history.waiting:
        waits = say("Batch {batch} says nothing until its labels are there.", batch=AsItIs(batch))
        return HistoryFinding(True, False, None, waits, _nothing_to_do())
    least = history.spec.history.min_rows
    values = {"Nleast": words.count(least), "batch": AsItIs(batch or history.batches[-1].id)}
    small = sorted(history.small_groups(batch), key=lambda one: one.rows)
    if not small:
        enough = say("Every group has at least {Nleast} rows in batch {batch}.", **values)
        return HistoryFinding(True, False, None, enough, _nothing_to_do())
    sentence = say(
        "{N} group with fewer than {Nleast} rows in batch {batch}: {list}."
        if len(small) == 1
        else "{N} groups with fewer than {Nleast} rows in batch {batch}: {list}.",
        N=Numeral(str(len(small))),
        list=_listed([_of_rows(one) for one in small]),
        **values,
    )
    advice = say(
        "Rows per group were counted: take longer batches, or lower history.min_rows from {N}; until then drift in "
        "these groups is not tested, and only all batches together say something of them.",
        N=words.count(least),
    )
    return HistoryFinding(False, False, severity_by_ratio(small[0].rows, least), sentence, advice)


def difference_finding(history: History) -> HistoryFinding:
    """Do all batches together show a difference, against a limit of the gate or, where there is none, by e-BH?"""
    if not history.batches:
        return _no_batch()
    broken = [one for one in history.limits if one.verdict == "fail"]
    shown = sorted(
        (one for one in history.streams if one.discovered and not one.limited),
        key=lambda one: -abs(one.difference or 0),
    )
    answers: list[str] = [one.sentence for one in broken]
    severities: list[AlertSeverity] = [one.severity for one in broken if one.severity is not None]
    if shown:
        answers.append(
            say(
                "Without a limit, but certain (false discovery rate {N} % however often one looks): {what}.",
                N=Numeral(f"{100 * history.spec.significance.alpha:.4g}"),
                what=_listed([_differs(one, history) for one in shown]),
            )
        )
        severities += [_OF_SCORE[severity_of(abs(one.difference or 0.0))] for one in shown]
    if not answers:
        return HistoryFinding(True, False, None, _nothing_found(history), _nothing_to_do())
    if broken:
        first = broken[0]
        advice: str = say(
            "{metric} by {name} was measured ({group}): look at what changed up to batch {batch}, fit thresholds per "
            "group or train again, and stop the deployment until it holds.",
            metric=of_ours(words.capital(first.metric.replace("_", " "))),
            name=joined([Column(one) for one in first.facet.split(" & ")], " & "),
            group=first.group or "",
            batch=AsItIs(first.broken_since or ""),
        )
    else:
        advice = sentences(
            say(
                "{what} was measured: {advice}.",
                what=words.capital(_named(shown[0])),
                advice=of_ours(RATES[shown[0].metric].advice),
            ),
            say("If a difference of this size is tolerable, set a limit on it in the gate."),
        )
    return HistoryFinding(False, bool(broken), severest(severities), sentences(*answers), advice)


def _nothing_found(history: History) -> str:
    open_ones = [one for one in history.limits if one.verdict != "pass"]
    clean = say(
        "No limit is broken and no difference without a limit is shown over {batches}.",
        batches=number_of_batches(len(history.batches)),
    )
    return sentences(clean, *(one.sentence for one in open_ones))


def _named(stream: Stream) -> str:
    return say(
        "{metric} by {name}, {group} less {reference}",
        metric=of_ours(stream.metric.replace("_", " ")),
        name=stream.facet,
        group=stream.group,
        reference=stream.reference,
    )


def _changed(stream: Stream) -> str:
    return say(
        "{what}: {size}", what=_named(stream), size=_points(stream.drift.change, stream.drift.low, stream.drift.high)
    )


def _differs(stream: Stream, history: History) -> str:
    difference: str = say(
        "{what}: {size}", what=_named(stream), size=_points(stream.difference, stream.low, stream.high)
    )
    if stream.alarm is None:
        return difference
    return joined([difference, say("since batch {batch}", batch=AsItIs(history.batches[stream.alarm].id))], ", ")


def _of_rows(small: SmallGroup) -> str:
    return say("{group} ({name}): {N}", group=small.group, name=small.facet, N=words.count(small.rows))


def _points(value: float | None, low: float | None, high: float | None) -> str:
    shown, at_least, at_most = (words.signed(one, "rate") for one in (value, low, high))
    return joined([say("{N} points", N=shown), say("[{low} to {high}]", low=at_least, high=at_most)], " ")


def _listed(texts: Sequence[str]) -> str:
    more = [say("and {N} more", N=Numeral(str(len(texts) - _NAMED)))] if len(texts) > _NAMED else []
    return joined([*texts[:_NAMED], *more], "; ")
