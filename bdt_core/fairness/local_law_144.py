"""Impact ratios as New York City's Local Law 144 asks for (6 RCNY 5-301), by category and intersection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness.coding import Level
from bdt_core.fairness.counts import CountTable, Group
from bdt_core.fairness.simultaneous import compare_at_once
from bdt_core.inference import Comparison
from bdt_core.result import Result


@dataclass(frozen=True)
class CategoryImpact:
    """One category, or intersection of categories.

    Attributes
    ----------
    category : tuple
        One value per column.
    n, selected : int
        Applicants, and those selected (or scored above the median).
    share : float
        Of the applicants whose categories are known.
    rate : float
        Selection rate or scoring rate.
    impact_ratio : float or None
        Rate over the highest rate of a category that is not excluded; None for excluded ones and when that is 0.
    low, high : float or None
        Koopman's interval of the ratio, which holds for all categories of the table at once.
    p_value : float or None
        Mid-p of equal rates, corrected for the number of categories and for choosing the one with the highest rate, as
        in `four_fifths`.
    excluded : bool
        Under the share below which a category may be left out. Its n and rate are still shown, as the rule wants.
    """

    category: tuple[Level, ...]
    n: int
    selected: int
    share: float
    rate: float
    impact_ratio: float | None
    low: float | None
    high: float | None
    p_value: float | None
    excluded: bool


@dataclass(frozen=True)
class ImpactTable(Result):
    """Impact ratios of the categories of some columns.

    Attributes
    ----------
    columns : tuple of str
    rate_kind : {"selection rate", "scoring rate"}
    categories : tuple of CategoryImpact
    unknown : int
        Applicants without a value in one of the columns; they are in no category.
    median : float or None
        The score that the scoring rate counts those above.
    """

    columns: tuple[str, ...]
    rate_kind: Literal["selection rate", "scoring rate"]
    categories: tuple[CategoryImpact, ...]
    unknown: int
    median: float | None


def impact_table(
    table: CountTable,
    selected: NDArray[np.bool_],
    *,
    exclude_below: float,
    median: float | None = None,
    alpha: float = 0.05,
) -> ImpactTable:
    """The impact ratios of counted categories.

    Parameters
    ----------
    table : CountTable
        Applicants by category and prediction.
    selected : ndarray of bool, shape (predictions,)
        Which of the table's predictions count as selected, or as a score on the good side of the median.
    exclude_below : float
        Share of the applicants below which a category is left out of the ratios; the rule allows .02.
    median : float, optional
        The score that divides the predictions; None where people are selected.
    alpha : float
    """
    known = table.known()
    chosen = selected[[one is not None for one in table.predictions]]
    counts = known.counts.sum(axis=(1, 2, 4))
    n, events = counts.sum(axis=1), counts[:, chosen].sum(axis=1)
    with_outcome = np.array([one is not None for one in table.predictions], dtype=bool)
    unknown = [None in group for group in table.groups]
    total = int(n.sum())
    excluded = n < exclude_below * total
    top = _top(n, events, excluded)
    compare = partial(compare_at_once, groups=int(((n > 0) & ~excluded).sum()), chosen=True, alpha=alpha)
    return ImpactTable(
        columns=table.facets,
        rate_kind="selection rate" if median is None else "scoring rate",
        categories=tuple(
            _category(group, int(n[i]), int(events[i]), total, bool(excluded[i]), None if top is None else
                      (int(n[top]), int(events[top])), i == top, compare)
            for i, group in enumerate(known.groups)
            if n[i]
        ),
        unknown=int(table.counts[unknown][:, :, :, with_outcome].sum()),
        median=median,
    )  # fmt: skip


def _top(n: NDArray[np.int64], events: NDArray[np.int64], excluded: NDArray[np.bool_]) -> int | None:
    """Position of the highest rate, the larger category first."""
    usable = [i for i in range(n.size) if n[i] and not excluded[i]]
    best = max(usable, key=lambda i: (events[i] / n[i], n[i]), default=None)
    return best if best is not None and events[best] else None


def _category(
    group: Group,
    n: int,
    selected: int,
    total: int,
    excluded: bool,
    top: tuple[int, int] | None,
    is_top: bool,
    compare: Callable[[int, int, int, int], Comparison],
) -> CategoryImpact:
    compared = None
    if top is not None and not excluded and not is_top:
        compared = compare(selected, n, top[1], top[0])
    ratio = None if top is None or excluded else 1.0 if is_top else (selected / n) / (top[1] / top[0])
    return CategoryImpact(
        category=group,
        n=n,
        selected=selected,
        share=n / total,
        rate=selected / n,
        impact_ratio=ratio,
        low=None if compared is None else compared.ratio_low,
        high=None if compared is None else compared.ratio_high,
        p_value=None if compared is None else compared.p_value,
        excluded=excluded,
    )
