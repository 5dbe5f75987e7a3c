"""Figure of the history: differences batch by batch and on everything counted so far, with limits and alarms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from bdt_core import words
from bdt_core.report.figures import PNG_DPI
from bdt_core.report.sheet import CALM, CALM_TINT, FAINT, GREY, HARM, INK, Sheet, has_outlines, settings

if TYPE_CHECKING:
    from bdt_core.history import History, Stream

_T = TypeVar("_T")
PANELS = 6
_COLUMNS = 2
_LEFT, _GAP = 44.0, 58.0
_HEIGHT, _HEAD, _FOOT = 118.0, 34.0, 30.0
_SMALLEST_SPAN = 0.06  # so that small differences do not look large
_DRAWN_BATCHES = 2000


def history_svg(history: History) -> str:
    """The figure as SVG; the same history gives the same bytes."""
    return _finished(history, lambda sheet: sheet.svg())


def history_png(history: History, dpi: int = PNG_DPI) -> bytes:
    """The figure as PNG."""
    return _finished(history, lambda sheet: sheet.png(dpi))


def drawn_streams(history: History) -> list[Stream]:
    """The streams that are drawn: broken limits first, then alarms, drift, limits, and the strongest evidence."""

    def rank(one: Stream) -> tuple[bool, bool, bool, bool, float]:
        drifts = one.drift.state == "drift"
        return (not _is_broken(one), one.alarm is None, not drifts, not one.limited, -max(one.e_value, 1.0))

    return sorted(history.streams, key=rank)[:PANELS]


def draw(history: History) -> Sheet:
    """One panel per stream."""
    streams = drawn_streams(history)
    rows = -(-len(streams) // _COLUMNS)
    sheet = Sheet(_title(history, streams), rows * (_HEAD + _HEIGHT + _FOOT) + 26)
    width = (sheet.width - 8 - _COLUMNS * _LEFT - (_COLUMNS - 1) * (_GAP - _LEFT)) / _COLUMNS
    for number, one in enumerate(streams):
        x = _LEFT + (number % _COLUMNS) * (width + _GAP)
        y = sheet.top + (number // _COLUMNS) * (_HEAD + _HEIGHT + _FOOT) + _HEAD
        _panel(sheet, history, one, x, y, width)
    if streams:
        _legend(sheet, history, streams, sheet.height - 12)
    return sheet


def _finished(history: History, finish: Callable[[Sheet], _T]) -> _T:
    names = [part for one in history.streams for part in (*one.facets, one.group, one.reference)]
    with settings(has_outlines("".join([*names, *(one.id for one in history.batches)]))):
        return finish(draw(history))


def _title(history: History, streams: Sequence[Stream]) -> str:
    batches = f"{words.count(len(history.batches))} batch{'es' * (len(history.batches) != 1)}"
    if not streams:
        return f"No group is large enough yet to be followed over {batches}."
    shown = f" Drawn: {len(streams)} of {len(history.streams)}." if len(streams) < len(history.streams) else ""
    found = sum(one.alarm is not None for one in history.streams)
    if not found:
        return f"No difference between groups is shown over {batches}.{shown}"
    of = f"{found} of {len(history.streams)} differences" if len(history.streams) > 1 else "The difference"
    return f"{of} between groups {'is' if found == 1 else 'are'} shown over {batches}.{shown}"


def _panel(sheet: Sheet, history: History, one: Stream, x: float, y: float, width: float) -> None:
    """Batch values as dots, the difference so far as a line in its confidence sequence."""
    head = f"{words.capital(one.metric.replace('_', ' '))}: {one.group} less {one.reference}"
    sheet.text(x - _LEFT + 8, y - 22, sheet.fit(words.printable(head), width + _LEFT - 10, 8.5, bold=True), bold=True)
    sheet.text(x - _LEFT + 8, y - 9, sheet.fit(_told(history, one), width + _LEFT - 10, 7.5), size=7.5, color=GREY)
    found = history.over_time(one)
    values = history.values(one)
    kept = _thinned(len(values))
    at = [float(i) for i in kept]
    known = [i for i in kept if values[i] is not None]
    axes = sheet.axes(x, y, width, _HEIGHT)
    axes.set_xlim(-0.5, len(values) - 0.5)
    low, high = _span(one, [values[i] for i in known], found.low[-1], found.high[-1])
    axes.set_ylim(low * 100, high * 100)
    axes.patch.set_visible(False)
    axes.spines["bottom"].set_visible(True)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(left=False, labelleft=True, labelsize=7, colors=GREY, pad=2)
    axes.locator_params(axis="y", nbins=5)
    axes.yaxis.set_major_formatter(lambda value, _: words.number(value))
    axes.axhline(0, color=GREY, linewidth=0.8)
    for limit in (one.tolerated_low, one.tolerated_high):
        if limit is not None:
            axes.axhline(limit * 100, color=HARM, linewidth=1.1, linestyle="--")
    if len(at) == 1:
        axes.plot([0.0, 0.0], [found.low[0] * 100, found.high[0] * 100], color=CALM, linewidth=1.6, alpha=0.4)
    axes.fill_between(at, found.low[kept] * 100, found.high[kept] * 100, color=CALM_TINT, linewidth=0, zorder=1)
    for edge in (found.low, found.high):
        axes.plot(at, edge[kept] * 100, color=CALM, linewidth=0.5, alpha=0.6, zorder=2)
    dots = [(values[i] or 0.0) * 100 for i in known]
    axes.plot(known, dots, linestyle="none", marker="o", markersize=3 if len(known) <= 100 else 2, color=GREY,
              alpha=0.45, markeredgewidth=0, zorder=3)  # fmt: skip
    axes.plot(at, found.difference[kept] * 100, color=CALM, linewidth=1.6, zorder=4)
    if one.alarm is not None:
        axes.axvline(one.alarm, color=HARM, linewidth=0.8, zorder=2)
        axes.plot([one.alarm], [found.difference[one.alarm] * 100], marker="D", markersize=6, color=HARM,
                  markeredgecolor="white", zorder=5)  # fmt: skip
    if one.drift.state == "drift" and values[-1] is not None:
        axes.plot([len(values) - 1], [values[-1] * 100], marker="o", markersize=8, markerfacecolor="none",
                  markeredgecolor=HARM, markeredgewidth=1.3, zorder=5, clip_on=False)  # fmt: skip
    _dates(sheet, history, axes, x, y, width)


def _dates(sheet: Sheet, history: History, axes: object, x: float, y: float, width: float) -> None:
    """The first, the middle and the last batch, by time."""
    axes.set_xticks([])  # type: ignore[attr-defined]
    several = len(history.batches)
    times = [one.time for one in history.batches]
    by_hour = several > 1 and (times[-1] - times[0]).days < 2
    places = sorted({0, several // 2, several - 1}) if several > 2 else list(range(several))
    for place in places:
        told = times[place].strftime("%m-%d %H:%M" if by_hour else "%Y-%m-%d")
        center = x + (place + 0.5) / several * width
        half = sheet.measure(told, 7) / 2
        sheet.text(min(max(center, x - 10 + half), x + width - half), y + _HEIGHT + 9, told, size=7, color=GREY,
                   align="center")  # fmt: skip


def _told(history: History, one: Stream) -> str:
    by = " & ".join(one.facets)
    if one.difference is None:
        return f"by {by}; nobody to compare yet"
    sequence = (
        f"{words.signed(one.difference, 'rate')} [{words.signed(one.low, 'rate')} to {words.signed(one.high, 'rate')}]"
    )
    since = f"; alarm at {history.batches[one.alarm].id}" if one.alarm is not None else ""
    told: str = words.printable(f"by {by}, points so far: {sequence}{since}")
    return told


def _legend(sheet: Sheet, history: History, streams: Sequence[Stream], y: float) -> None:
    confidence = f"{100 * (1 - history.spec.significance.alpha):.4g} %"
    x = 12.0
    sheet.mark(x, y, shape="o", fill=GREY, edge=GREY, size=3)
    x = _word(sheet, x + 7, y, "one batch alone")
    sheet.box(x - 3, y - 5, 20, 10, fill=CALM_TINT, edge=CALM_TINT, round_by=0)
    sheet.line([x - 3, x + 17], [y, y], color=CALM, width=1.6)
    x = _word(sheet, x + 22, y, f"all batches so far, {confidence} confidence sequence, points")
    if any(one.limited for one in streams):
        sheet.line([x - 3, x + 17], [y, y], color=HARM, width=1.1, style="--")
        x = _word(sheet, x + 22, y, "limit")
    if any(one.alarm is not None for one in streams):
        sheet.mark(x + 2, y, shape="D", fill=HARM, edge="white", size=7)
        x = _word(sheet, x + 10, y, "first alarm")
    if any(one.drift.state == "drift" for one in streams):
        sheet.mark(x + 2, y, shape="o", fill="white", edge=HARM, size=7)
        _word(sheet, x + 10, y, "drift")


def _word(sheet: Sheet, x: float, y: float, phrase: str) -> float:
    """Set a word of the legend; gives back where the next one may begin."""
    sheet.text(x, y, phrase, size=7.5, color=INK)
    return x + sheet.measure(phrase, 7.5) + 18


def _span(one: Stream, values: Sequence[float | None], low: float, high: float) -> tuple[float, float]:
    """Ends of the axis: all dots, the sequence as it is now, 0 and the limits. Its wide beginning is cut off."""
    ends = [0.0, *(x for x in values if x is not None)]
    ends += [x for x in (one.tolerated_low, one.tolerated_high, float(low), float(high)) if x is not None and x == x]
    bottom, top = min(ends), max(ends)
    room = max(0.08 * (top - bottom), (_SMALLEST_SPAN - (top - bottom)) / 2)
    return bottom - room, top + room


def _thinned(batches: int) -> list[int]:
    """Positions that are drawn: all, or evenly spread ones with the last."""
    step = max(1, batches // _DRAWN_BATCHES)
    return sorted({*range(0, batches, step), batches - 1})


def _is_broken(one: Stream) -> bool:
    """Whether the sequence so far lies beyond a limit."""
    above = one.tolerated_high is not None and one.low is not None and one.low > one.tolerated_high
    below = one.tolerated_low is not None and one.high is not None and one.high < one.tolerated_low
    return above or below
