"""Metadata of the history in the UI: numbers that plot over time, the trend figure, and every stream in a table."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from bdt_core import words
from bdt_core.said import AsItIs, Numeral, joined, of_ours, say
from bdt_core.spec.gate import name_of_check
from bdt_pipeline.assets.views import Metadata, amounts, listed, numbers, p_values, table_of

if TYPE_CHECKING:
    from bdt_core.history import HistoryFinding, LimitOverTime, Stream
    from bdt_pipeline.assets.values import History

_STREAMS_PLOTTED = 30
_STREAMS_LISTED = 200


def history(followed: History, batch: str, notes: Sequence[str]) -> Metadata:
    """All batches together; groups with too few rows in a batch without their rates in it."""
    streams = followed.streams
    return {
        "batch": batch,
        **({"trend": figure(followed)} if len(followed.batches) > 1 else {}),
        "differences over time": table_of(
            ["difference", *HEADER], [[named(one), *row(one, followed)] for one in streams[:_STREAMS_LISTED]]
        ),
        "limits over time": table_of(
            ["limit", "verdict", "broken since"],
            [
                [name_of_check(f"{one.metric} by {one.facet}"), one.verdict, AsItIs(one.broken_since or words.NOTHING)]
                for one in followed.limits
            ],
        ),
        "ratios over time": table_of(
            ["ratio", "of", *RATIO_HEADER],
            [
                [name_of_check(f"{one.metric} by {one.facet}"), one.group or "", *ratio_row(one)]
                for one in ratios(followed)
            ],
        ),
        "limits over time, in words": listed([one.sentence for one in followed.limits]),
        "groups too small to be followed": listed(
            [
                say("{name}: {group}", name=one.facet, group=group)
                for one in followed.groupings
                for group in one.too_small
            ]
        ),
        "notes": listed(notes),
        **numbers(
            batches=len(followed.batches),
            **{
                "differences shown": sum(one.discovered for one in streams),
                "drifting": sum(one.drift.state == "drift" for one in streams),
                "limits broken": sum(one.verdict == "fail" for one in followed.limits),
                "groups with few rows in the batch": len(followed.small_groups(batch)),
            },
        ),
        **amounts(
            "rate",
            **{say("difference so far: {what}", what=named(one)): one.difference for one in streams[:_STREAMS_PLOTTED]},
        ),
        **numbers(
            **{
                say("ratio so far: {what}", what=name_of_check(f"{one.metric} by {one.facet}")): one.value
                for one in ratios(followed)
            }
        ),
        **p_values(
            **{say("p, always valid: {what}", what=named(one)): one.p_value for one in streams[:_STREAMS_PLOTTED]}
        ),
    }


HEADER = ("latest batch", "so far", "trend per batch", "drift", "p always valid", "verdict")


RATIO_HEADER = ("latest batch", "so far", "trend per batch", "limit", "verdict")


def ratios(followed: History) -> list[LimitOverTime]:
    """The limits on ratios that are followed."""
    return [one for one in followed.limits if one.is_ratio and one.daily]


def ratio_row(limit: LimitOverTime) -> list[str]:
    """A ratio that is limited, as text."""
    from bdt_core.verdict.judge import Tolerated  # with the whole of inference, which definitions do without

    so_far = _with_ends(words.number(limit.value), words.number(limit.low), words.number(limit.high))
    trend = words.NOTHING
    if limit.trend is not None:
        trend = _with_ends(*(_signed(x, 1.0, 3) for x in (limit.trend.slope, limit.trend.low, limit.trend.high)))
    verdict = [of_ours(limit.verdict)]
    if limit.broken_since is not None:
        verdict.append(say("broken since {batch}", batch=AsItIs(limit.broken_since)))
    allowed = Tolerated(limit.minimum, limit.maximum).in_words()
    return [words.number(limit.daily[-1]), so_far, trend, allowed, joined(verdict, ", ")]


def row(stream: Stream, followed: History) -> list[str]:
    """One stream as text; differences in points."""
    latest = next(reversed(followed.values(stream)), None)
    so_far = words.signed(stream.difference, "rate")
    if stream.low is not None and stream.high is not None:
        so_far = _with_ends(so_far, words.signed(stream.low, "rate"), words.signed(stream.high, "rate"))
    trend = words.NOTHING
    if stream.trend is not None:
        trend = _with_ends(*(_signed(x, 100.0, 2) for x in (stream.trend.slope, stream.trend.low, stream.trend.high)))
    drift = of_ours(stream.drift.state.replace("_", " "))
    if stream.drift.change is not None:
        drift = joined([drift, words.signed(stream.drift.change, "rate")], " ")
    verdict = say("none shown")
    if stream.alarm is not None:
        message = "differs since {batch}" if stream.discovered else "none now; alarm at {batch}"
        verdict = say(message, batch=AsItIs(followed.batches[stream.alarm].id))
    return [words.signed(latest, "rate"), so_far, trend, drift, words.p_number(stream.p_value), verdict]


def named(stream: Stream) -> str:
    """A stream's name."""
    return say(
        "{metric} by {name}: {group} less {reference}",
        metric=of_ours(stream.metric.replace("_", " ")),
        name=stream.facet,
        group=stream.group,
        reference=stream.reference,
    )


_UI_DPI = 147
"""The figure is 980 pixels wide then: the UI shows it in a window that holds no more of a common screen."""


def figure(followed: History) -> dg.MarkdownMetadataValue:
    """The figure, in the event itself, so that it needs no file and no network."""
    from bdt_core.report.figure_history import history_png

    png = base64.b64encode(history_png(followed, _UI_DPI)).decode()
    return dg.MetadataValue.md(f"![differences over time](data:image/png;base64,{png})")


def finding(answer: HistoryFinding) -> Metadata:
    """What a check says beside its verdict."""
    return {"severity": answer.severity or "none", "recommendation": answer.recommendation}


def _with_ends(value: str, low: str, high: str) -> str:
    return joined([value, say("[{low} to {high}]", low=low, high=high)], " ")


def _signed(x: float, scale: float, digits: int) -> str:
    """A slope: of differences in points, to a hundredth; of ratios to a thousandth."""
    return Numeral(f"{'+' if x > 0 else words.MINUS if x < 0 else ''}{abs(x) * scale:.{digits}f}")
