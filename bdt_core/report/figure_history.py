"""Figure of the history: differences, and ratios that are limited, batch by batch and over all batches so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from bdt_core import words
from bdt_core.history.limits import number_of_batches
from bdt_core.report.catalogue import say_for
from bdt_core.report.figures import PNG_DPI
from bdt_core.report.sheet import CALM, CALM_TINT, FAINT, GREY, HARM, INK, Sheet, onto, settings
from bdt_core.said import AsItIs, Column, Numeral, joined, of_ours, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bdt_core.history import History, LimitOverTime, Stream

_T = TypeVar("_T")
PANELS = 6
_WIDTH = 680.0
_COLUMNS = 2
_LEFT, _GAP = 44.0, 58.0
_HEIGHT, _HEAD, _FOOT = 118.0, 34.0, 30.0
_SMALLEST_SPAN = 0.06  # of what is drawn in points, so that small differences do not look large; of ratios 5 times this
_DRAWN_BATCHES = 2000


def history_svg(history: History) -> str:
    """The figure as SVG; the same history gives the same bytes."""
    return _finished(history, lambda sheet: sheet.svg())


def history_png(history: History, dpi: int = PNG_DPI) -> bytes:
    """The figure as PNG."""
    return _finished(history, lambda sheet: sheet.png(dpi))


def history_onto(history: History, axes: Callable[[float, float], Axes]) -> None:
    """The figure on axes: those that are made for its width and height, in points."""
    with onto(axes):
        _finished(history, lambda _: None)


@dataclass(frozen=True)
class Panel:
    """What one panel draws: values after every batch, None where they are unknown.

    Attributes
    ----------
    head, subhead : str
        Its two lines of text.
    daily, values, lows, highs : sequence of (float or None)
        Of each batch alone; of all so far, with the sequence.
    limits : tuple of float
    alarm : int or None
        The batch of the first alarm.
    drifts, is_broken, is_ratio : bool
    evidence : float
        The panels with the strongest come first among equals.
    """

    head: str
    subhead: str
    daily: Sequence[float | None]
    values: Sequence[float | None]
    lows: Sequence[float | None]
    highs: Sequence[float | None]
    limits: tuple[float, ...]
    alarm: int | None
    drifts: bool
    is_broken: bool
    is_ratio: bool
    evidence: float

    @property
    def scale(self) -> float:
        """Differences are drawn in points."""
        return 1.0 if self.is_ratio else 100.0


def drawn_panels(history: History) -> list[Panel]:
    """The panels that are drawn: broken limits first, then alarms, drift, limits, and the strongest evidence."""
    panels = [_of_stream(history, one) for one in history.streams]
    panels += [_of_ratio(history, one) for one in history.limits if one.is_ratio and one.daily]

    def rank(panel: Panel) -> tuple[bool, bool, bool, bool, float]:
        return not panel.is_broken, panel.alarm is None, not panel.drifts, not panel.limits, -max(panel.evidence, 1.0)

    return sorted(panels, key=rank)[:PANELS]


def _of_stream(history: History, stream: Stream) -> Panel:
    sequence = history.over_time(stream)
    limits = tuple(limit for limit in (stream.tolerated_low, stream.tolerated_high) if limit is not None)
    return Panel(
        head=say(
            "{metric}: {group} less {reference}", metric=_metric(stream), group=stream.group, reference=stream.reference
        ),
        subhead=_subhead(history, stream),
        daily=history.values(stream),
        values=_known(sequence.difference),
        lows=_known(sequence.low),
        highs=_known(sequence.high),
        limits=limits,
        alarm=stream.alarm,
        drifts=stream.drift.state == "drift",
        is_broken=_is_broken(stream),
        is_ratio=False,
        evidence=stream.e_value,
    )


def _of_ratio(history: History, ratio_limit: LimitOverTime) -> Panel:
    batches = [batch.id for batch in history.batches]
    ratio: list[str] = [
        say(
            "by {name}, ratio so far: {N} [{low} to {high}]",
            name=joined([Column(column) for column in ratio_limit.facet.split(" & ")], " & "),
            N=words.number(ratio_limit.value),
            low=words.number(ratio_limit.low),
            high=words.number(ratio_limit.high),
        )
    ]
    if ratio_limit.broken_since is not None:
        ratio.append(say("broken since {batch}", batch=AsItIs(ratio_limit.broken_since)))
    return Panel(
        head=say("{metric}: {group}", metric=_metric(ratio_limit), group=ratio_limit.group or ""),
        subhead=words.printable(joined(ratio, "; ")),
        daily=ratio_limit.daily,
        values=ratio_limit.values,
        lows=ratio_limit.lows,
        highs=ratio_limit.highs,
        limits=tuple(limit for limit in (ratio_limit.minimum, ratio_limit.maximum) if limit is not None),
        alarm=None if ratio_limit.broken_since is None else batches.index(ratio_limit.broken_since),
        drifts=False,
        is_broken=ratio_limit.verdict == "fail",
        is_ratio=True,
        evidence=1.0,
    )


def _metric(series: Stream | LimitOverTime) -> str:
    return of_ours(words.capital(series.metric.replace("_", " ")))


def _known(values: Iterable[float]) -> list[float | None]:
    return [None if one != one else float(one) for one in values]


def draw(history: History) -> Sheet:
    """One panel per difference or ratio."""
    panels = drawn_panels(history)
    rows = -(-len(panels) // _COLUMNS)
    sheet = Sheet(_title(history, panels), rows * (_HEAD + _HEIGHT + _FOOT) + 26, _WIDTH)
    width = (sheet.width - 8 - _COLUMNS * _LEFT - (_COLUMNS - 1) * (_GAP - _LEFT)) / _COLUMNS
    for number, panel in enumerate(panels):
        x = _LEFT + (number % _COLUMNS) * (width + _GAP)
        y = sheet.top + (number // _COLUMNS) * (_HEAD + _HEIGHT + _FOOT) + _HEAD
        _panel(sheet, history, panel, x, y, width)
    if panels:
        _legend(sheet, history, panels, sheet.height - 12)
    return sheet


def _finished(history: History, finish: Callable[[Sheet], _T]) -> _T:
    with settings(say_for(history.spec)):
        return finish(draw(history))


def _title(history: History, panels: Sequence[Panel]) -> str:
    batches = number_of_batches(len(history.batches))
    if not panels:
        return say("No group is large enough yet to be followed over {batches}.", batches=batches)
    ratios = [one for one in history.limits if one.is_ratio and one.daily]
    followed = len(history.streams) + len(ratios)
    alarms = sum(one.alarm is not None for one in history.streams)
    title: list[str] = [_differences(alarms, len(history.streams), batches)]
    broken = sum(one.verdict == "fail" for one in ratios)
    if broken:
        message = (
            "{N} of {Nall} limits on a ratio is broken."
            if broken == 1
            else "{N} of {Nall} limits on a ratio are broken."
        )
        title.append(say(message, N=Numeral(str(broken)), Nall=Numeral(str(len(ratios)))))
    if len(panels) < followed:
        title.append(say("Drawn: {N} of {Nall}.", N=Numeral(str(len(panels))), Nall=Numeral(str(followed))))
    return joined(title, " ")


def _differences(alarms: int, streams: int, batches: str) -> str:
    if not alarms:
        return say("No difference between groups is shown over {batches}.", batches=batches)
    if streams == 1:
        return say("The difference between groups is shown over {batches}.", batches=batches)
    message = (
        "{N} of {Nall} differences between groups is shown over {batches}."
        if alarms == 1
        else "{N} of {Nall} differences between groups are shown over {batches}."
    )
    return say(message, N=Numeral(str(alarms)), Nall=Numeral(str(streams)), batches=batches)


def _panel(sheet: Sheet, history: History, panel: Panel, x: float, y: float, width: float) -> None:
    """Batch values as dots, the value so far as a line in its confidence sequence."""
    sheet.text(
        x - _LEFT + 8,
        y - 22,
        sheet.fit(words.printable(panel.head), width + _LEFT - 10, 8.5, bold=True),
        bold=True,
    )
    sheet.text(x - _LEFT + 8, y - 9, sheet.fit(panel.subhead, width + _LEFT - 10, 7.5), size=7.5, color=GREY)
    kept = _thinned(len(panel.daily))
    at = [float(i) for i in kept]
    known = [i for i in kept if panel.daily[i] is not None]
    axes = sheet.axes(x, y, width, _HEIGHT)
    axes.set_xlim(-0.5, len(panel.daily) - 0.5)
    bottom, top = (end * panel.scale for end in _span(panel, [panel.daily[i] for i in known]))
    axes.set_ylim(bottom, top)
    axes.patch.set_visible(False)
    axes.spines["bottom"].set_visible(True)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(left=False, labelleft=True, labelsize=7, colors=GREY, pad=2)
    axes.locator_params(axis="y", nbins=5)
    axes.yaxis.set_major_formatter(lambda value, _: sheet.said(words.number(value)))
    axes.axhline(1 if panel.is_ratio else 0, color=GREY, linewidth=0.8)
    for limit in panel.limits:
        axes.axhline(limit * panel.scale, color=HARM, linewidth=1.1, linestyle="--")
    value, low, high = (_scaled(panel, of, kept, beyond) for of, beyond in
                        ((panel.values, float("nan")), (panel.lows, float("nan")), (panel.highs, top)))  # fmt: skip
    if len(at) == 1:
        axes.plot([0.0, 0.0], [low[0], high[0]], color=CALM, linewidth=1.6, alpha=0.4)
    axes.fill_between(at, low, high, color=CALM_TINT, linewidth=0, zorder=1)
    for edge in (low, high):
        axes.plot(at, edge, color=CALM, linewidth=0.5, alpha=0.6, zorder=2)
    dots = [(panel.daily[i] or 0.0) * panel.scale for i in known]
    axes.plot(known, dots, linestyle="none", marker="o", markersize=3 if len(known) <= 100 else 2, color=GREY,
              alpha=0.45, markeredgewidth=0, zorder=3)  # fmt: skip
    axes.plot(at, value, color=CALM, linewidth=1.6, zorder=4)
    if panel.alarm is not None:
        so_far = (panel.values[panel.alarm] or 0.0) * panel.scale
        axes.axvline(panel.alarm, color=HARM, linewidth=0.8, zorder=2)
        axes.plot([panel.alarm], [so_far], marker="D", markersize=6, color=HARM, markeredgecolor="white", zorder=5)
    latest = panel.daily[-1]
    if panel.drifts and latest is not None:
        axes.plot([len(panel.daily) - 1], [latest * panel.scale], marker="o", markersize=8, markerfacecolor="none",
                  markeredgecolor=HARM, markeredgewidth=1.3, zorder=5, clip_on=False)  # fmt: skip
    _dates(sheet, history, axes, x, y, width)


def _scaled(panel: Panel, values: Sequence[float | None], kept: Sequence[int], unknown: float) -> list[float]:
    return [unknown if value is None else value * panel.scale for value in (values[i] for i in kept)]


def _dates(sheet: Sheet, history: History, axes: object, x: float, y: float, width: float) -> None:
    """The first, the middle and the last batch, by time."""
    axes.set_xticks([])  # type: ignore[attr-defined]
    batches = len(history.batches)
    times = [one.time for one in history.batches]
    by_hour = batches > 1 and (times[-1] - times[0]).days < 2
    places = sorted({0, batches // 2, batches - 1}) if batches > 2 else list(range(batches))
    for place in places:
        day = times[place].strftime("%m-%d %H:%M" if by_hour else "%Y-%m-%d")
        center = x + (place + 0.5) / batches * width
        half = sheet.measure(day, 7) / 2
        sheet.text(min(max(center, x - 10 + half), x + width - half), y + _HEIGHT + 9, day, size=7, color=GREY,
                   align="center")  # fmt: skip


def _subhead(history: History, stream: Stream) -> str:
    if stream.difference is None:
        return say("by {name}; nobody to compare yet", name=stream.facet)
    value, low, high = (words.signed(x, "rate") for x in (stream.difference, stream.low, stream.high))
    difference: list[str] = [
        say("by {name}, points so far: {N} [{low} to {high}]", name=stream.facet, N=value, low=low, high=high)
    ]
    if stream.alarm is not None:
        difference.append(say("alarm at {batch}", batch=AsItIs(history.batches[stream.alarm].id)))
    text: str = words.printable(joined(difference, "; "))
    return text


def _legend(sheet: Sheet, history: History, panels: Sequence[Panel], y: float) -> None:
    confidence = Numeral(f"{100 * (1 - history.spec.significance.alpha):.4g}")
    x = 12.0
    sheet.mark(x, y, shape="o", fill=GREY, edge=GREY, size=3)
    x = _word(sheet, x + 7, y, say("one batch alone"))
    sheet.box(x - 3, y - 5, 20, 10, fill=CALM_TINT, edge=CALM_TINT, round_by=0)
    sheet.line([x - 3, x + 17], [y, y], color=CALM, width=1.6)
    message = (
        "all batches so far, {N} % confidence sequence, points (ratios: as they are)"
        if any(one.is_ratio for one in panels)
        else "all batches so far, {N} % confidence sequence, points"
    )
    x = _word(sheet, x + 22, y, say(message, N=confidence))
    if any(one.limits for one in panels):
        sheet.line([x - 3, x + 17], [y, y], color=HARM, width=1.1, style="--")
        x = _word(sheet, x + 22, y, say("limit"))
    if any(one.alarm is not None for one in panels):
        sheet.mark(x + 2, y, shape="D", fill=HARM, edge="white", size=7)
        x = _word(sheet, x + 10, y, say("first alarm"))
    if any(one.drifts for one in panels):
        sheet.mark(x + 2, y, shape="o", fill="white", edge=HARM, size=7)
        _word(sheet, x + 10, y, say("drift"))


def _word(sheet: Sheet, x: float, y: float, phrase: str) -> float:
    """Set a word of the legend; gives back where the next one may begin."""
    said = sheet.said(phrase)
    sheet.text(x, y, said, size=7.5, color=INK)
    return x + sheet.measure(said, 7.5) + 18


def _span(panel: Panel, daily: Sequence[float | None]) -> tuple[float, float]:
    """Ends of the axis: all dots, the sequence as it is now, no difference, limits. Its wide beginning is cut off."""
    ends = [float(panel.is_ratio), *panel.limits]
    ends += [x for x in (*daily, panel.lows[-1], panel.highs[-1]) if x is not None]
    bottom, top = min(ends), max(ends)
    smallest = _SMALLEST_SPAN * (5 if panel.is_ratio else 1)
    room = max(0.08 * (top - bottom), (smallest - (top - bottom)) / 2)
    return bottom - room, top + room


def _thinned(batches: int) -> list[int]:
    """Positions that are drawn: all, or evenly spread ones with the last."""
    step = max(1, batches // _DRAWN_BATCHES)
    return sorted({*range(0, batches, step), batches - 1})


def _is_broken(stream: Stream) -> bool:
    """Whether the sequence so far lies beyond a limit."""
    above = stream.tolerated_high is not None and stream.low is not None and stream.low > stream.tolerated_high
    below = stream.tolerated_low is not None and stream.high is not None and stream.high < stream.tolerated_low
    return above or below
