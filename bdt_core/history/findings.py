"""What is to be said of a history: is there drift, are there rows enough, is there a difference over time?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bdt_core import words
from bdt_core.fairness.score_parts import severity_of
from bdt_core.history.limits import number_of_batches
from bdt_core.history.results import History, Stream
from bdt_core.metrics import RATES, spoken_name
from bdt_core.result import Result
from bdt_core.said import Column, Numeral, Text, joined, of_ours, say
from bdt_core.spec import AlertSeverity
from bdt_core.verdict.words import sentences, severest, severity_by_ratio

_NAMED = 5
_NO_BATCH = say("No batch has been counted yet.")
_NOTHING = say("Nothing to do.")
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
    sentence: Text
    recommendation: Text


def drift_finding(history: History) -> Finding:
    """Has a difference moved by more than `history.drift` in the latest batch, beyond what chance does?

    Parameters
    ----------
    history : History
    """
    if not history.batches:
        return Finding(True, False, None, _NO_BATCH, _NOTHING)
    limit = history.spec.history.drift
    batch = history.batches[-1].id
    past = min(len(history.batches) - 1, history.look_back)
    drifting = sorted(
        (one for one in history.streams if one.drift.state == "drift"), key=lambda one: -abs(one.drift.change or 0.0)
    )
    moved = [one for one in history.streams if one.drift.state == "moved"]
    tested = sum(one.drift.state != "not_testable" for one in history.streams)
    size, of_past = words.size(limit, "rate"), Numeral(past)
    also = ""
    if moved:
        which = _listed([_changed(one) for one in moved])
        also = say("Moved by more than {size}, which chance alone may do: {what}.", size=size, what=which)
    if not drifting:
        if not tested:
            reasons = sorted({one.drift.reason for one in history.streams if one.drift.reason})
            why = joined([of_ours(one) for one in reasons], "; ") or say("no group is large enough")
            known = say("Drift in batch {as_is} cannot be tested: {why}.", as_is=batch, why=why)
        else:
            known = say(
                "None of {N} differences is certain to have moved by more than {size} in batch {as_is} against the "
                "{Npast} before it.",
                N=Numeral(tested),
                size=size,
                as_is=batch,
                Npast=of_past,
            )
        return Finding(True, False, None, sentences(known, also), _NOTHING)
    known = say(
        "In batch {as_is}, against the {Npast} before it, {N} of {Nall} differences moved by more than {size}: {what}.",
        as_is=batch,
        Npast=of_past,
        N=Numeral(len(drifting)),
        Nall=Numeral(tested),
        size=size,
        what=_listed([_changed(one) for one in drifting]),
    )
    first = drifting[0]
    compare = say(
        "Compare the rows of batch {as_is} with those before it, beginning with {what}: did the data, the people or "
        "the model change?",
        as_is=batch,
        what=_named(first),
    )
    advice = sentences(compare, say("Then {advice}.", advice=of_ours(RATES[first.metric].advice)))
    worst = severest([severity_by_ratio(limit, abs(one.drift.change or 0.0)) for one in drifting])
    return Finding(False, False, worst, sentences(known, also), advice)


def volume_finding(history: History, batch: str | None = None) -> Finding:
    """Has every group at least `history.min_rows` rows in a batch (the latest by default)?

    Raises
    ------
    DataError
        The history has no such batch.
    """
    if not history.batches:
        return Finding(True, False, None, _NO_BATCH, _NOTHING)
    if batch in history.waiting:
        waits = say("Batch {as_is} says nothing until its labels are there.", as_is=batch or "")
        return Finding(True, False, None, waits, _NOTHING)
    least = history.spec.history.min_rows
    name = batch or history.batches[-1].id
    small = sorted(history.small_groups(batch), key=lambda one: one.rows)
    if not small:
        enough = say("Every group has at least {N} rows in batch {as_is}.", N=words.count(least), as_is=name)
        return Finding(True, False, None, enough, _NOTHING)
    told = say(
        "{N} group with fewer than {Nleast} rows in batch {as_is}: {list}."
        if len(small) == 1
        else "{N} groups with fewer than {Nleast} rows in batch {as_is}: {list}.",
        N=Numeral(len(small)),
        Nleast=words.count(least),
        as_is=name,
        list=_listed(
            [
                say("{group} ({name}): {N}", group=one.group, name=_columns(one.facets), N=words.count(one.rows))
                for one in small
            ]
        ),
    )
    advice = say(
        "Rows per group were counted: take longer batches, or lower history.min_rows from {N}; until then drift in "
        "these groups is not tested, and only all batches together say something of them.",
        N=words.count(least),
    )
    return Finding(False, False, severity_by_ratio(small[0].rows, least), told, advice)


def difference_finding(history: History) -> Finding:
    """Do all batches together show a difference, against a limit of the gate or, where there is none, by e-BH?"""
    if not history.batches:
        return Finding(True, False, None, _NO_BATCH, _NOTHING)
    broken = [one for one in history.limits if one.verdict == "fail"]
    shown = sorted(
        (one for one in history.streams if one.discovered and not one.limited),
        key=lambda one: -abs(one.difference or 0),
    )
    told = [one.sentence for one in broken]
    severities: list[AlertSeverity] = [one.severity for one in broken if one.severity is not None]
    if shown:
        told.append(
            say(
                "Without a limit, but certain (false discovery rate {N} % however often one looks): {what}.",
                N=Numeral(f"{100 * history.spec.significance.alpha:.4g}"),
                what=_listed([_differs(one, history) for one in shown]),
            )
        )
        severities += [_OF_SCORE[severity_of(abs(one.difference or 0.0))] for one in shown]
    if not told:
        return Finding(True, False, None, _nothing_found(history), _NOTHING)
    if broken:
        one = broken[0]
        advice = say(
            "{metric} by {name} was measured ({list}): look at what changed up to batch {as_is}, fit thresholds per "
            "group or train again, and stop the deployment until it holds.",
            metric=of_ours(spoken_name(one.metric)),
            name=one.facet,
            list=one.group or "",
            as_is=one.broken_since or "",
        )
    else:
        advice = say(
            "{what} was measured: {advice}. If a difference of this size is tolerable, set a limit on it in the gate.",
            what=words.capital(_named(shown[0])),
            advice=of_ours(RATES[shown[0].metric].advice),
        )
    return Finding(False, bool(broken), severest(severities), sentences(*told), advice)


def _nothing_found(history: History) -> str:
    open_ones = [one for one in history.limits if one.verdict != "pass"]
    batches = number_of_batches(len(history.batches))
    known = say("No limit is broken and no difference without a limit is shown over {batches}.", batches=batches)
    return sentences(known, *(one.sentence for one in open_ones))


def _named(one: Stream) -> str:
    return say("{metric} by {name}, {as_is} less {as_is2}", **_places(one))


def _changed(one: Stream) -> str:
    points = _points(one.drift.change, one.drift.low, one.drift.high)
    return say("{metric} by {name}, {as_is} less {as_is2}: {N} points [{low} to {high}]", **_places(one), **points)


def _differs(one: Stream, history: History) -> str:
    values = _places(one) | _points(one.difference, one.low, one.high)
    if one.alarm is None:
        return say("{metric} by {name}, {as_is} less {as_is2}: {N} points [{low} to {high}]", **values)
    return say(
        "{metric} by {name}, {as_is} less {as_is2}: {N} points [{low} to {high}], since batch {as_is3}",
        **values,
        as_is3=history.batches[one.alarm].id,
    )


def _places(one: Stream) -> dict[str, str]:
    metric = of_ours(one.metric.replace("_", " "))
    return {"metric": metric, "name": _columns(one.facets), "as_is": one.group, "as_is2": one.reference}


def _columns(facets: Sequence[str]) -> str:
    return joined([Column(one) for one in facets], " & ")


def _points(value: float | None, low: float | None, high: float | None) -> dict[str, str]:
    return {name: words.signed(x, "rate") for name, x in (("N", value), ("low", low), ("high", high))}


def _listed(several: Sequence[str]) -> str:
    more = [say("and {N} more", N=Numeral(len(several) - _NAMED))] if len(several) > _NAMED else []
    return joined([*several[:_NAMED], *more], "; ")
