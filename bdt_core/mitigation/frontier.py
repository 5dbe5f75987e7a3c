"""What each tolerance costs: the best thresholds at falling tolerances."""

from __future__ import annotations

from dataclasses import dataclass

from bdt_core.fairness.coding import Level
from bdt_core.mitigation.curves import Curve, Objective, objective_value
from bdt_core.mitigation.sweep import ROUNDING, Choice, Search

TOLERANCES = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


@dataclass(frozen=True)
class FrontierPoint:
    """The best thresholds at one tolerance.

    Attributes
    ----------
    tolerance : float
        Asked for; 1 where the groups' thresholds are free.
    gap, objective : float
        On the rows of the fit.
    thresholds : dict of group to float
    """

    tolerance: float
    gap: float
    objective: float
    thresholds: dict[Level, float]


def frontier_points(
    curves: list[Curve], search: Search, objective: Objective, tolerances: tuple[float, ...]
) -> list[FrontierPoint]:
    """The exact optimum at each tolerance, from free thresholds on.

    Parameters
    ----------
    curves : list of Curve
    search : Search
        Over these curves.
    objective : str or callable
        See `GroupThresholds`.
    tolerances : tuple of float
        One that an earlier point keeps already gives no point, nor does one that cannot be met.

    Returns
    -------
    list of FrontierPoint
        By falling gap.
    """
    points: list[tuple[float, Choice]] = []
    for tolerance in (1.0, *sorted(tolerances, reverse=True)):
        if points and tolerance >= points[-1][1].gap - ROUNDING:
            continue
        found = search.best(tolerance)
        if found is None:
            break
        points.append((tolerance, found))
    return [
        FrontierPoint(
            tolerance,
            choice.gap,
            objective_value(curves, objective, choice.gain),
            {one.group: float(one.thresholds[i]) for one, i in zip(curves, choice.points, strict=True)},
        )
        for tolerance, choice in points
    ]
