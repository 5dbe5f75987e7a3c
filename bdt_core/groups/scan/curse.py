"""The winner's curse: how far off the difference of a group is that was searched for.

Tables are made in which the group that was found does fare worse: each row (or person) has an outcome drawn from those
of its own side. The same search in each of them names a group, whose difference is too large: for chance in its rows,
for having been chosen among its neighbours, and for having had to be significant to be named.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bdt_core.groups.scan.climbing import Climb
from bdt_core.groups.scan.measuring import design_effect, measured
from bdt_core.groups.scan.rows import Floats, Numbers, ScanRows
from bdt_core.groups.scan.settings import SEED
from bdt_core.groups.scan.units import Places, Units
from bdt_core.table.pool import mapped

_TABLES, _MOST_TABLES, _ROWS = 40, 160, 600_000
"""Tables that are made, and of fewer rows as many as have so many rows in all: in small tables errors are large, and
their mean over few tables moved what is certain by half a point and more."""
_FEWEST_NAMED = 10


@dataclass(frozen=True)
class Curse:
    """Errors of the differences of named groups, in standard errors.

    Attributes
    ----------
    mean, spread : float
        Above 0 is too large.
    """

    mean: float
    spread: float


def winners_curse(
    climb: Climb, inside: NDArray[np.bool_], strength: float, threshold: float, number: int
) -> Curse | None:
    """Errors of what is named in tables like the one at hand.

    Parameters
    ----------
    climb : Climb
    inside : ndarray of bool, shape (n,)
        The group that was found.
    strength : float
        How much of its difference is left to it, from 0 to 1: of its outcomes this share is drawn from its own, the
        others from those of people alike outside.
    threshold : float
        A group with a better score is named.
    number : int
        How many groups were confirmed before: other tables are made for each.

    Returns
    -------
    Curse or None
        None where too few tables led to a name.
    """
    error = partial(_error, climb, Drawing.of(climb.rows, inside, strength), threshold, SEED + number)
    errors = [one for one in mapped(error, range(tables_of(climb.rows.rows))) if one is not None]
    if len(errors) < _FEWEST_NAMED:
        return None
    return Curse(float(np.mean(errors)), float(np.std(errors, ddof=1)))


def tables_of(rows: int) -> int:
    """How many tables of so many rows are made.

    Examples
    --------
    >>> tables_of(1_000), tables_of(6_000), tables_of(100_000)
    (160, 100, 40)
    """
    return min(max(_ROWS // rows, _TABLES), _MOST_TABLES)


@dataclass(frozen=True, eq=False)
class Drawing:
    """Outcomes drawn with replacement among people alike of one side.

    Attributes
    ----------
    units : Units
    sides : ndarray of int64, shape (units,)
        Stratum and side of each: an odd number is inside.
    outside : ndarray of int64, shape (units,)
        The same of people alike outside of the group.
    order : ndarray of int64, shape (units,)
        Units in the order of their sides.
    begin, size : ndarray of int64, shape (sides,)
        Where those of each side begin in it, and how many they are.
    strength : float
    expected : ndarray of float64, shape (n,)
        The mean of what each row may get.
    """

    units: Units
    sides: Numbers
    outside: Numbers
    order: Places
    begin: Places
    size: Places
    strength: float
    expected: Floats

    @classmethod
    def of(cls, rows: ScanRows, inside: NDArray[np.bool_], strength: float) -> Drawing:
        """For the rows of a search."""
        units = Units.of(rows)
        side_of_row = 2 * rows.strata + inside
        sides = side_of_row[units.by_unit[units.first]]
        size = np.bincount(sides, minlength=2 * int(rows.strata.max()) + 2)
        harm = np.bincount(side_of_row, weights=rows.harm, minlength=size.size)
        means: Floats = harm / np.maximum(np.bincount(side_of_row, minlength=size.size), 1)
        own, outside = means[side_of_row], means[_outside(side_of_row, size)]
        return cls(
            units, sides, _outside(sides, size), np.argsort(sides, kind="stable"), np.cumsum(size) - size, size,
            strength, strength * own + (1.0 - strength) * outside,
        )  # fmt: skip

    def draw(self, rng: np.random.Generator) -> Places:
        """The row whose outcome each row gets."""
        weakened = rng.random(self.sides.size) >= self.strength
        sides = np.where(weakened, self.outside, self.sides)
        chosen = self.begin[sides] + (rng.random(sides.size) * self.size[sides]).astype(np.intp)
        return self.units.givers(self.order[chosen])


def _outside(sides: Numbers, size: Places) -> Numbers:
    """The side of people alike outside of the group; one's own where there are none."""
    outside = sides - sides % 2
    return np.where(size[outside] > 0, outside, sides)


def _error(climb: Climb, drawing: Drawing, threshold: float, seed: int, table: int) -> float | None:
    """How much too large the difference of the named group is in one table, in standard errors."""
    source = drawing.draw(np.random.default_rng([seed, 4, table]))
    drawn = climb.with_harm(climb.rows.harm[source])
    scores = drawn.scored()
    group = drawn.best(scores)
    if not drawn.assured(group, scores) > threshold:
        return None
    inside = drawn.rows.inside(group.state)
    named = measured(drawn.rows.harm, inside, drawn.rows.strata)
    true = measured(drawing.expected, inside, drawn.rows.strata).difference
    error = named.error * np.sqrt(design_effect(drawn.rows, inside))
    return (named.difference - true) / error if error > 0.0 else None
