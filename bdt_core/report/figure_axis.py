"""Parts that several figures share: axes with round ends and a few numbers named on them, and columns of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bdt_core import words
from bdt_core.report.sheet import GREY, SMALL, Sheet
from bdt_core.report.wording import finite

_STEPS = 5  # between named numbers, at most
_NUMBER_COLUMNS = (358.0, 410.0, 472.0)


@dataclass(frozen=True)
class Axis:
    """A stretch of the sheet that stands for numbers.

    Attributes
    ----------
    low, high : float
        Numbers at its ends.
    ticks : tuple of float
        Numbers to name on it.
    start, end : float
        Places of the ends on the sheet, in points.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    start: float
    end: float

    def place(self, x: float) -> float:
        """Where a number is drawn; at an end where it lies beyond."""
        share = (x - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)


def scale(values: Iterable[Any], start: float, end: float, *, least: float = 0.0) -> Axis:
    """A scale with round ends that holds all finite values.

    Parameters
    ----------
    values : iterable
        What is no finite number is passed over.
    start, end : float
        Places on the sheet.
    least : float
        Smallest span, so that small differences do not look large.

    Examples
    --------
    >>> axis = scale([0.02, 0.31, None], 100, 200)
    >>> axis.low, axis.high, [round(one, 3) for one in axis.ticks]
    (0.0, 0.4, [0.0, 0.1, 0.2, 0.3, 0.4])
    >>> round(axis.place(0.2), 6)
    150.0
    """
    known = [float(x) for x in values if finite(x)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    short = max((least or abs(high) * 1e-6 or 1e-6) - (high - low), 0.0)
    low, high = low - short / 2, high + short / 2
    power = math.floor(math.log10((high - low) / _STEPS))
    sizes = (size * 10.0**power for size in (1, 2, 5, 10, 20))
    step = next(size for size in sizes if high - low <= (_STEPS - 1e-9) * size)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Axis(first * step, last * step, tuple(i * step for i in range(first, last + 1)), start, end)


def draw_across(sheet: Sheet, axis: Axis, top: float, bottom: float, unit: words.Unit) -> None:
    """Lines down from top to bottom at the named numbers, which stand below."""
    for x in axis.ticks:
        sheet.line([axis.place(x)] * 2, [top, bottom], width=0.5)
        sheet.text(axis.place(x), bottom + 9, tick(x, unit), size=SMALL, color=GREY, align="center")


def tick(x: float, unit: words.Unit) -> str:
    """A named number, of rates in points; without the noise of floats."""
    return words.number(float(f"{x * (100.0 if unit == 'rate' else 1.0):.6g}"))


def draw_number_heads(sheet: Sheet, y: float, heads: Sequence[str]) -> None:
    """Heads of the columns of numbers to the right of an axis."""
    for x, head in zip(_NUMBER_COLUMNS, heads, strict=True):
        sheet.text(x, y, head, size=SMALL, color=GREY, align="right")


def draw_numbers(sheet: Sheet, y: float, numbers: Sequence[str]) -> None:
    """A row of numbers to the right of an axis."""
    for x, number in zip(_NUMBER_COLUMNS, numbers, strict=True):
        sheet.text(x, y, number, align="right")
