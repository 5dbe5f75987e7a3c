"""Plan of an audit: the smallest group and difference that so many rows can show, and the limits that they settle."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from bdt_core.errors import SpecError
from bdt_core.inference import minimum_detectable_difference, rate_difference_beyond, required_rows
from bdt_core.inference.settled import about, rows_to_settle, settled_limit
from bdt_core.result import Result

_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class PlanRow:
    """One size of group.

    ``share`` of all rows, ``test_rows`` of the group in the test part, ``detectable`` difference there at the
    wanted power (None when none is), and the ``rows_needed`` in the whole table for the wanted difference. Where nobody
    fares worse, a limit on the worst group from this share on passes, about, from ``settled_limit`` on (None: its
    people are too few to be searched), and the wanted one with ``rows_to_settle``; both look at all rows.
    """

    share: float
    test_rows: int
    detectable: float | None
    rows_needed: int
    settled_limit: float | None
    rows_to_settle: int


@dataclass(frozen=True)
class Plan(Result):
    """What a table of a given size can show.

    `clusters` are compared at once, and allowed for. `limit` is the difference that is tolerated; a wanted difference
    is found where its interval lies beyond it. `min_cluster_share` is the smallest group, as a share of the rows, in
    which the wanted difference shows, None when no group does; `min_cluster_rows` the same in train rows: a value for
    ``clustering.min_cluster_size``. `design_effect` is rows that say as much as one row of a person of its own.
    `limit_to_settle` is the limit on the worst group for which rows are counted: `limit`, or without one `difference`.
    """

    rows: int
    test_rows: int
    base_rate: float
    difference: float
    alpha: float
    power: float
    clusters: int
    limit: float
    min_cluster_share: float | None
    min_cluster_rows: int | None
    by_share: tuple[PlanRow, ...]
    design_effect: float = 1.0

    @property
    def limit_to_settle(self) -> float:
        """What rows are counted for."""
        return self.limit or self.difference


def plan(
    rows: int,
    *,
    base_rate: float,
    difference: float,
    test_size: float = 0.2,
    alpha: float = 0.05,
    power: float = 0.8,
    clusters: int = 1,
    limit: float = 0.0,
    design_effect: float = 1.0,
) -> Plan:
    """Plan an audit of a rate, of so many rows that can be audited; SpecError for a number out of range.

    `base_rate` is among everybody else, in (0, 1), `difference` what must not be missed, 0.1 for ten points. Only the
    share `test_size` of the rows shows a difference. `clusters` are compared at once: 1 for the most deviating one,
    which is chosen before; more for ``any_cluster`` and the table of all clusters, whose p-values are corrected (Holm).
    `limit` is what the gate tolerates: 0 asks for any difference to be told from none, more for one that is found
    beyond the limit.

    Where persons have several rows, `design_effect` is how many of them say as much as one row of a person of its own,
    from 1 (what a person's rows say has nothing in common) to rows per person (it is always the same). A report has it.
    """
    for name, value in {"base_rate": base_rate, "difference": difference, "test_size": test_size}.items():
        if not 0 < value < 1:
            raise SpecError(f"{name} must lie between 0 and 1, as in 0.2; found {value:g}.")
    if clusters < 1:
        raise SpecError(f"clusters must be a whole number, 1 or more; found {clusters}.")
    if not 0.0 <= limit < difference:
        raise SpecError(
            f"limit must be 0 or more and below the difference to be found, {difference:g}; found {limit:g}."
        )
    if not 1.0 <= design_effect < math.inf:
        raise SpecError(f"design_effect must be 1 or more; found {design_effect:g}.")
    test_rows = round(rows * test_size)
    if test_rows < 2:
        raise SpecError(f"{rows:,} rows leave {test_rows} for testing. Expected at least {math.ceil(2 / test_size)}.")

    each = alpha / clusters

    def detectable(group: int, others: int) -> float:
        n, m = (max(one / design_effect, 1.0) for one in (group, others))
        if limit > 0.0:
            return rate_difference_beyond(limit, n, m, base_rate=base_rate, alpha=each, power=power)
        return minimum_detectable_difference(n, m, base_rate=base_rate, alpha=each, power=power)

    def needed(share: float) -> float:
        if limit == 0.0:
            needed = required_rows(difference, base_rate=base_rate, share=share, alpha=each, power=power)
            return needed * design_effect
        if base_rate + difference >= 1.0:
            raise SpecError(f"A rate of {base_rate} cannot be higher by {difference}.")
        fewest = _first(lambda n: detectable(n, max(n, round(n * (1.0 - share) / share))) <= difference, 1, 10**12)
        assert fewest is not None  # with enough rows any difference above the limit is found
        return fewest

    def row(share: float) -> PlanRow:
        group = round(share * test_rows)
        shown = detectable(group, test_rows - group) if 0 < group < test_rows else math.inf
        of_share = {"base_rate": base_rate, "share": share, "alpha": alpha}
        return PlanRow(
            share,
            group,
            None if math.isinf(shown) else shown,
            math.ceil(needed(share) / share / test_size),
            settled_limit(rows / design_effect, **of_share),
            about(math.ceil(design_effect * rows_to_settle(limit or difference, **of_share))),
        )

    smallest = _first(lambda group: detectable(group, test_rows - group) <= difference, 1, test_rows // 2)
    share = None if smallest is None else smallest / test_rows
    return Plan(
        rows=rows,
        test_rows=test_rows,
        base_rate=base_rate,
        difference=difference,
        alpha=alpha,
        power=power,
        clusters=clusters,
        limit=limit,
        min_cluster_share=share,
        min_cluster_rows=None if share is None else math.ceil(share * (rows - test_rows)),
        by_share=tuple(row(one) for one in _SHARES),
        design_effect=design_effect,
    )


def _first(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """The least number from low to high for which a condition holds that stays true once it is."""
    if high < low or not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
