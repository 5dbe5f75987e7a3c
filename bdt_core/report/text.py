"""How numbers are written, in one place for every printed form."""

from __future__ import annotations

import math
from typing import Literal

Unit = Literal["rate", "value"]
Number = float | str | None
MINUS = "\u2212"
NOTHING = "\u2013"


def number(x: Number) -> str:
    """A number with three significant digits, thousands separated.

    Examples
    --------
    >>> number(0.012345), number(1234567.0), number(-2.5), number(None), number("Infinity")
    ('0.0123', '1,234,567', '−2.5', '–', 'infinite')
    """
    if x is None or isinstance(x, str):
        return NOTHING if x is None else ("infinite" if not x.startswith("-") else f"{MINUS}infinite")
    if not math.isfinite(x):
        return NOTHING if math.isnan(x) else ("infinite" if x > 0 else f"{MINUS}infinite")
    size = abs(x)
    shown = f"{size:,.0f}" if size >= 1000 else f"{size:.3g}"
    return f"{MINUS}{shown}" if x < 0 and float(shown.replace(",", "")) != 0 else shown


def percent(x: Number) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> percent(0.3512), percent(0.00042), percent(None)
    ('35.1 %', '0.04 %', '–')
    """
    if x is None or isinstance(x, str):
        return number(x)
    digits = 1 if abs(x) >= 0.001 or x == 0 else 2
    return f"{MINUS if x < 0 else ''}{abs(x) * 100:.{digits}f} %"


def p_value(p: Number) -> str:
    """A p-value; small ones as a bound.

    Examples
    --------
    >>> p_value(0.0412), p_value(0.00001), p_value(None)
    ('p = 0.041', 'p < 0.001', 'p not available')
    """
    if p is None or isinstance(p, str):
        return "p not available"
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}" if p < 0.1 else f"p = {p:.2f}"


def value(x: Number, unit: Unit) -> str:
    """A mean of the bias variable: a percentage for a rate, else a number."""
    return percent(x) if unit == "rate" else number(x)


def size(x: Number, unit: Unit) -> str:
    """A difference without its sign: points for a rate, else a number.

    Examples
    --------
    >>> size(0.05, "rate"), size(-12.3, "value")
    ('5.0 points', '12.3')
    """
    if x is None or isinstance(x, str):
        return number(x)
    return f"{abs(x) * 100:.1f} points" if unit == "rate" else number(abs(x))


def signed(x: Number, unit: Unit) -> str:
    """A difference with its sign, without its unit."""
    if x is None or isinstance(x, str):
        return number(x)
    sign = "+" if x > 0 else MINUS if x < 0 else ""
    return f"{sign}{abs(x) * 100:.1f}" if unit == "rate" else f"{sign}{number(abs(x))}"


def interval(low: Number, high: Number, *, confidence: float, unit: Unit) -> str:
    """The interval of a difference, in the difference's unit.

    Examples
    --------
    >>> interval(0.091, 0.253, confidence=0.95, unit="rate")
    '[95 % CI +9.1 to +25.3]'
    """
    return f"[{confidence * 100:.4g} % CI {signed(low, unit)} to {signed(high, unit)}]"


def difference(x: Number, low: Number, high: Number, *, confidence: float, unit: Unit) -> str:
    """A difference with its interval.

    Examples
    --------
    >>> difference(0.172, 0.091, 0.253, confidence=0.95, unit="rate")
    '+17.2 points [95 % CI +9.1 to +25.3]'
    """
    if x is None:
        return NOTHING
    points = " points" if unit == "rate" else ""
    return f"{signed(x, unit)}{points} {interval(low, high, confidence=confidence, unit=unit)}"
