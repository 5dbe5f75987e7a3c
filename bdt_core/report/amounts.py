"""Amounts as people say them: so many of 100, or a number with its unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bdt_core.report.names import Names
    from bdt_core.words import Unit

_BASES = (100, 1_000, 10_000)
_NOISE = 1e-9  # of floats: 0.29 x 100 is 29


@dataclass(frozen=True)
class Amount:
    """A mean as people say it: so many of 100 (or 1,000, or 10,000), or a number with its unit.

    Attributes
    ----------
    number : float
    of : int or None
        None: it is a number.
    unit : str or None
    """

    number: float
    of: int | None = None
    unit: str | None = None


def amounts_of_means(inside: float, outside: float, unit: Unit, names: Names) -> tuple[Amount, Amount]:
    """Two means, of the smallest number of people of whom they are not the same number."""
    if unit != "rate":
        return Amount(inside, unit=names.unit), Amount(outside, unit=names.unit)
    base = _base(lambda n: round(inside * n) != round(outside * n), _BASES[0])
    return _out_of(base, inside), _out_of(base, outside)


def amount_of_difference(difference: float, unit: Unit, names: Names) -> Amount:
    """A difference, of the smallest number of people of whom it is one at least."""
    return _amount(difference, unit, names, lambda x: round(x + _NOISE))


def at_least(difference: float, unit: Unit, names: Names) -> Amount:
    """The same of a lower bound, which is never rounded up."""
    return _amount(difference, unit, names, lambda x: math.floor(x + _NOISE))


def at_most(difference: float, unit: Unit, names: Names) -> Amount:
    """The same of an upper bound, which is never rounded down."""
    return _amount(difference, unit, names, lambda x: math.ceil(x - _NOISE))


def _amount(difference: float, unit: Unit, names: Names, whole: Callable[[float], int]) -> Amount:
    size = abs(difference)
    if unit != "rate":
        return Amount(size, unit=names.unit)
    base = _base(lambda n: min(round(size * n + _NOISE), whole(size * n)) >= 1)
    return Amount(whole(size * base), base)


def amount_of_share(share: float) -> Amount:
    """A share, of the smallest number of people of whom it is one at least."""
    return _out_of(_base_of(share), share)


def amounts_of_shares(share: float, expected: float) -> tuple[Amount, Amount]:
    """Two shares, of the smallest number of people of whom the expected one is one at least."""
    base = _base_of(expected)
    return _out_of(base, share), _out_of(base, expected)


def amount_of_chosen_share(share: float) -> Amount:
    """A share that was chosen, such as one in twenty, without rounding."""
    base = _base(lambda n: abs(share * n - round(share * n)) < _NOISE * n and round(share * n) != 0)
    return _out_of(base, share)


def _base(is_enough: Callable[[int], bool], otherwise: int = _BASES[-1]) -> int:
    """The smallest number of people, out of whom a share is said, of which something holds."""
    return next(filter(is_enough, _BASES), otherwise)


def _base_of(share: float) -> int:
    """The smallest number of people of whom a share is one at least."""
    return _base(lambda n: round(share * n) >= 1)


def _out_of(base: int, share: float) -> Amount:
    return Amount(round(share * base), base)
