"""Test the chosen slices on the test rows, correct for their number, and fold those that add nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.groups.slices.candidates import Candidates
from bdt_core.groups.slices.coding import Items
from bdt_core.groups.slices.contrasts import adds_to
from bdt_core.groups.slices.part import CodedPart
from bdt_core.groups.slices.permutation import max_t_p_values
from bdt_core.groups.slices.results import comparisons_of_selected
from bdt_core.groups.slices.settings import SliceSettings
from bdt_core.inference import Comparison, adjust_p_values

PValues = list[float | None]


@dataclass(frozen=True)
class Tested:
    """Slices on the test rows; None stands for "not tested".

    Attributes
    ----------
    positions : ndarray
        Among the candidates.
    items : list of items
    totals : ndarray of shape (slices, numbers)
    rows : list of int
    comparisons : list of Comparison
    weights : list of float or None
        1 on average.
    p_adjusted : list of float or None
    significant : list of bool or None
    tests : int
        Size of the family.
    """

    positions: NDArray[np.intp]
    items: list[Items]
    totals: NDArray[Any]
    rows: list[int]
    comparisons: list[Comparison]
    weights: PValues
    p_adjusted: PValues
    significant: list[bool | None]
    tests: int

    def stands_for(self, i: int, selected: int) -> float:
        """How many comparisons one that was selected with others stands for: tests / (weight x selected), 1 or more.

        Intervals at 1 - alpha / comparisons are as strict as the test that selected them. Of those of the selected
        slices no more than alpha do not hold, on average (the false coverage rate).

        References
        ----------
        Benjamini, Y., Yekutieli, D. (2005). False discovery rate-adjusted multiple confidence intervals for selected
        parameters. JASA 100, 71-81.
        """
        return comparisons_of_selected(self.weights[i], self.tests, selected)


def tested_on_other_rows(candidates: Candidates, test: CodedPart, settings: SliceSettings) -> Tested:
    """Test the slices with the strongest evidence of harm on rows that had no part in choosing them."""
    positions = candidates.strongest(settings.max_tests)
    items = [candidates.items[i] for i in positions]
    compared = test.compare(items, settings)
    family = [_harm_p_value(one.p_value, one.difference, test, settings) for _, one, _ in compared]
    weights = [1.0 if p is not None else None for p in family] if settings.permutations else rank_weights(family)
    weighted = [None if p is None or w is None else min(1.0, p / w) for p, w in zip(family, weights, strict=True)]
    return _tested(positions, items, compared, weights, _adjusted(weighted, items, test, settings), family, settings)


def tested_in_sample(candidates: Candidates, rows: CodedPart, settings: SliceSettings) -> Tested:
    """Test every candidate on the rows it was found on, and keep those with the lowest p-values."""
    differences = candidates.contrasts.difference.tolist()
    family = [
        _harm_p_value(p, difference, rows, settings)
        for p, difference in zip(candidates.p_values(rows), differences, strict=True)
    ]
    adjusted = _adjusted(family, candidates.items, rows, settings)
    lowest = np.array([np.nan if p is None else p for p in family])
    order = np.lexsort((-candidates.contrasts.z, lowest))
    positions = order[: settings.max_tests]
    items = [candidates.items[i] for i in positions]
    compared = rows.compare(items, settings, permuting=False)
    weights: PValues = [1.0] * len(items)
    return _tested(positions, items, compared, weights, adjusted[positions], family, settings)


def rank_weights(family: PValues) -> PValues:
    """Weights of the tests, given in the order of their evidence on the train rows.

    Proportional to 1 / rank and 1 on average; what is not tested has no rank.

    Examples
    --------
    >>> rank_weights([0.2, None, 0.4])
    [1.3333333333333333, None, 0.6666666666666666]
    """
    tested = [i for i, p in enumerate(family) if p is not None]
    weights: PValues = [None] * len(family)
    scale = len(tested) / math.fsum(1.0 / rank for rank in range(1, len(tested) + 1)) if tested else 0.0
    for rank, i in enumerate(tested, start=1):
        weights[i] = scale / rank
    return weights


def fold(tested: Tested, test: CodedPart, alpha: float) -> list[int | None]:
    """Find the reported slice that each significant one is listed under.

    Whether it fares worse than the rest of that one is asked by an interval that allows for its selection.

    Returns
    -------
    list of int or None, length slices
        Position of the worst reported slice that holds it and whose rest is no better off than it; None when there is
        none, which makes it a reported slice itself.
    """
    parents: list[int | None] = [None] * len(tested.items)
    reported: list[int] = []
    selected = sum(map(bool, tested.significant))
    harm = [test.measure.harm_sign * (one.difference or 0.0) for one in tested.comparisons]
    shrink = [1.0 if one.persons is None else one.persons.shrink(alpha) for one in tested.comparisons]
    # Parts come before the wholes that they may hold.
    for i in sorted(range(len(tested.items)), key=lambda i: (len(tested.items[i]), -harm[i], tested.items[i])):
        if not tested.significant[i]:
            continue
        share = alpha / tested.stands_for(i, selected)
        around = [
            j
            for j in reported
            if set(tested.items[j]) < set(tested.items[i])
            and not adds_to(test.outcome, test.measure.harm_sign, tested.totals[i], tested.totals[j], share, shrink[i])
        ]
        if around:
            parents[i] = max(around, key=lambda j: harm[j])
        else:
            reported.append(i)
    return parents


def _tested(
    positions: NDArray[np.intp],
    items: list[Items],
    compared: Sequence[tuple[NDArray[Any], Comparison, int]],
    weights: PValues,
    adjusted: NDArray[np.float64],
    family: PValues,
    settings: SliceSettings,
) -> Tested:
    p_adjusted = [None if np.isnan(p) else float(p) for p in adjusted]
    return Tested(
        positions=positions,
        items=items,
        totals=np.array([totals for totals, _, _ in compared]),
        rows=[rows for _, _, rows in compared],
        comparisons=[one for _, one, _ in compared],
        weights=weights,
        p_adjusted=p_adjusted,
        significant=[None if p is None else p <= settings.fdr for p in p_adjusted],
        tests=sum(p is not None for p in family),
    )


def _harm_p_value(
    p_value: float | None, difference: float | None, part: CodedPart, settings: SliceSettings
) -> float | None:
    """One-sided p-value for harm, from a two-sided one; 1 unless the slice fares worse at the level of intervals.

    Setting p-values to 1 leaves every correction valid, and nothing is called significant that is not so alone.
    """
    if p_value is None or difference is None:
        return None
    return 0.5 * p_value if part.measure.harm_sign * difference > 0 and p_value <= settings.alpha else 1.0


def _adjusted(family: PValues, items: list[Items], part: CodedPart, settings: SliceSettings) -> NDArray[np.float64]:
    """Adjusted p-values of a family of (weighted) one-sided ones; NaN where there is none."""
    if not settings.permutations:
        return adjust_p_values(family, "bh")
    tested = [i for i, p in enumerate(family) if p is not None]
    adjusted = np.full(len(family), np.nan)
    if tested:
        largest = max_t_p_values(
            part.sample,
            part.measure.harm_sign,
            [items[i] for i in tested],
            settings.permutations,
            settings.random_state,
        )
        adjusted[tested] = np.maximum(largest, [family[i] or 0.0 for i in tested])
    return adjusted
