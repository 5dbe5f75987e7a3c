"""The figure of the page on a Clarify analysis: the map of its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from bdt_core import words
from bdt_core.clarify.reading import Side, figure, side_of, who
from bdt_core.fairness.flips import Sign
from bdt_core.fairness.metric_results import BiasMetrics, Metric
from bdt_core.metrics import CLARIFY
from bdt_core.report.figure_axis import Axis, draw_across, draw_number_heads, draw_numbers, scale
from bdt_core.report.sheet import CALM, GREY, HARM, INK, SMALL, Sheet, settings

_NAME, _TITLE, _START, _END = 8.0, 46.0, 192.0, 308.0
_ROW, _FOOT = 22.0, 18.0
_LEAST = 0.2  # so that small differences do not look large
_TICKS = 4  # which have room side by side
_BOUND = 1.5  # metrics within it share an axis
_MARKS: dict[Side, tuple[str, str, str]] = {
    "worse": ("s", HARM, HARM),
    "better": ("o", CALM, CALM),
    "untold": ("o", "white", GREY),
}
_NO_DIRECTION = ("D", "white", GREY)
_LEGEND = (
    (*_MARKS["worse"], "d is worse off"),
    (*_MARKS["better"], "d is better off"),
    (*_MARKS["untold"], "not certain"),
    (*_NO_DIRECTION, "says not who is worse off"),
)


def title_of(measured: BiasMetrics, names: Sequence[str], i: int, signs: Sign) -> str:
    """What the map of a d shows, as a sentence."""
    d, sides = words.printable(who(measured, i)), [side_of(measured[x], i, signs) for x in names if CLARIFY[x].worse]
    if not sides:
        return f"{d}: against everybody else"
    return (
        f"{d}: worse off by {sides.count('worse')} of {len(sides)} metrics that have a direction, "
        f"better off by {sides.count('better')}"
    )


def metrics_map(measured: BiasMetrics, names: Sequence[str], i: int, signs: Sign) -> str:
    """Every metric of a d with its interval, as SVG.

    Parameters
    ----------
    measured : BiasMetrics
    names : sequence of str
        Metrics that compare d with a, in the order of the report.
    i : int
        Place of d among those of the facet.
    signs : {"paper", "smclarify"}

    Returns
    -------
    str
        Metrics that lie within -1 and 1 share an axis; each of the others has its own.
    """
    ordered = sorted(names, key=lambda name: not _is_bounded(name))
    panels = [list(some) for _, some in groupby(ordered, key=lambda name: _is_bounded(name) or name)]
    subtitle = f"Each metric with its {measured.confidence * 100:.4g} % interval. The dark line is no bias."
    with settings():
        body = 20 + sum(_ROW * len(some) + _FOOT for some in panels) + 16
        sheet = Sheet(title_of(measured, names, i, signs), body, subtitle=subtitle)
        y = sheet.top + 20
        draw_number_heads(sheet, y - 9, ("value", "from", "to"))
        for some in panels:
            _panel(sheet, [measured[name] for name in some], i, y, signs)
            y += _ROW * len(some) + _FOOT
        sheet.legend(y + 6, _LEGEND)
        return sheet.svg()


def _is_bounded(name: str) -> bool:
    return CLARIFY[name].highest <= _BOUND


def _panel(sheet: Sheet, metrics: Sequence[Metric], i: int, top: float, signs: Sign) -> None:
    """Metrics on one axis, which holds no bias."""
    no_bias = CLARIFY[metrics[0].name].no_bias
    values = [x for one in metrics for x in (one.estimate[i], one.low[i], one.high[i])]
    axis = scale([no_bias, *values], _START, _END, least=_LEAST)
    if len(axis.ticks) > _TICKS:
        first = min(range(len(axis.ticks)), key=lambda place: abs(axis.ticks[place] - no_bias)) % 2
        axis = replace(axis, ticks=axis.ticks[first::2])
    bottom = top + _ROW * len(metrics)
    draw_across(sheet, axis, top, bottom, "value")
    sheet.line([axis.place(no_bias)] * 2, [top, bottom], color=INK, width=1.0)
    for place, metric in enumerate(metrics):
        _row(sheet, metric, i, axis, top + _ROW * (place + 0.5), signs)


def _row(sheet: Sheet, metric: Metric, i: int, axis: Axis, y: float, signs: Sign) -> None:
    value, low, high = metric.estimate[i], metric.low[i], metric.high[i]
    sheet.text(_NAME, y, metric.name, bold=True)
    title = sheet.wrap(CLARIFY[metric.name].title, _START - _TITLE - 6, SMALL, 2)
    sheet.text(_TITLE, y, "\n".join(title), size=SMALL, color=GREY, spacing=1.1)
    if value is None:
        sheet.text(_START + 3, y, "undefined", size=SMALL, color=GREY)
        return
    if low is not None and high is not None:
        sheet.line([axis.place(low), axis.place(high)], [y, y], color=GREY, width=1.8)
    shape, fill, edge = _MARKS[side_of(metric, i, signs)] if CLARIFY[metric.name].worse else _NO_DIRECTION
    sheet.mark(axis.place(value), y, shape=shape, fill=fill, edge=edge, size=5 if shape == "D" else 6)
    limits = [words.NOTHING if x is None else figure(x, metric.name) for x in (low, high)]
    draw_numbers(sheet, y, [figure(value, metric.name), *limits])
