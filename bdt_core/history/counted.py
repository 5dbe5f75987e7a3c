"""From batches to arrays: confusion counts per batch and group of one declared grouping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness.coding import values_of
from bdt_core.fairness.confusion import Confusion, confusion_cells
from bdt_core.fairness.counts import CountTable, Group, group_order
from bdt_core.fairness.declared_groups import favourable_values
from bdt_core.fairness.from_counts import EVERYBODY_ELSE, LARGEST
from bdt_core.fairness.metric_results import group_name
from bdt_core.history.batch import Batch
from bdt_core.metrics import RATES, Proportion
from bdt_core.spec import AuditSpec

Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """A rate's counts per batch, of one side and of the other.

    Attributes
    ----------
    events, rows, reference_events, reference_rows : ndarray of float64, shape (batches,)
    """

    events: Counts
    rows: Counts
    reference_events: Counts
    reference_rows: Counts

    @property
    def turned(self) -> Pair:
        """The same rows, with those that had no event as events."""
        return Pair(
            self.rows - self.events, self.rows, self.reference_rows - self.reference_events, self.reference_rows
        )

    def of(self, when: slice) -> Pair:
        """Some batches only."""
        return Pair(self.events[when], self.rows[when], self.reference_events[when], self.reference_rows[when])

    def alike(self) -> tuple[float, float, float, float]:
        """Both rates with batches weighted alike on both sides, as events and rows; 0 rows where no batch has both.

        A batch weighs n m / (n + m), as in the test of Mantel & Haenszel (1959); rows are as many as would give a rate
        of that variance. With the same share of the rows in every batch, they are the sums.
        """
        both = (self.rows > 0) & (self.reference_rows > 0)
        n, m = self.rows[both], self.reference_rows[both]
        weight = n * m / (n + m)
        found: list[float] = []
        for events, rows in ((self.events[both], n), (self.reference_events[both], m)):
            effective = float(weight.sum() ** 2 / (weight**2 / rows).sum()) if weight.size else 0.0
            rate = float(np.average(events / rows, weights=weight)) if weight.size else 0.0
            found += [rate * effective, effective]
        return found[0], found[1], found[2], found[3]


@dataclass(frozen=True)
class Counted:
    """One grouping, batch by batch.

    Attributes
    ----------
    facets : tuple of str
    groups : tuple of tuple
        Every group that any batch has.
    confusion : Confusion
        Each entry of shape (batches, groups); a batch that does not count this grouping has zeros.
    reference : int or None
        The group that the others are compared with; None: everybody else.
    """

    facets: tuple[str, ...]
    groups: tuple[Group, ...]
    confusion: Confusion
    reference: int | None

    @property
    def names(self) -> tuple[str, ...]:
        """Groups as text."""
        return tuple(group_name(one) for one in self.groups)

    @property
    def rows(self) -> Counts:
        """Rows, shape (batches, groups)."""
        return self.confusion.n

    def pair(self, rate: Proportion, group: int, reference: int | None) -> Pair:
        """A rate of a group beside that of another one, or of everybody else (None)."""
        events, among = rate.events(self.confusion), rate.among(self.confusion)
        if reference is None:
            others = events.sum(axis=1) - events[:, group], among.sum(axis=1) - among[:, group]
        else:
            others = events[:, reference], among[:, reference]
        return Pair(events[:, group], among[:, group], *others)


def count_batches(batches: Sequence[Batch], spec: AuditSpec) -> tuple[list[Counted], list[str]]:
    """Counts of every grouping of a specification, and notes on what could not be used.

    Parameters
    ----------
    batches : sequence of Batch
        In the order of time.
    spec : AuditSpec

    Returns
    -------
    list of Counted
        Groupings that no batch has are left out.
    list of str
    """
    counted, notes = [], []
    if not spec.facets:
        notes.append("The specification declares no groups, so there is nothing to follow.")
    for facets in spec.facets:
        tables = [_table(one, facets, spec) for one in batches]
        used = sum(one is not None for one in tables)
        if not used:
            continue
        if used < len(batches):
            notes.append(
                f"{len(batches) - used} of {len(batches)} batches do not count {' & '.join(facets)} with the same "
                "label and prediction, and say nothing about it."
            )
        counted.append(_counted(tables, facets, spec))
    return counted, notes


def metrics_of(spec: AuditSpec) -> tuple[str, ...]:
    """Rates that are followed, as far as label and prediction allow: of the prediction, or else of the label.

    Examples
    --------
    >>> spec = AuditSpec(
    ...     name="a", source={"path": "a.csv"}, bias_variable={"column": "y"}, groups={"prediction": "granted"}
    ... )
    >>> metrics_of(spec)
    ('selection_rate',)
    """
    label, prediction = spec.group_columns()
    return tuple(
        name
        for name, rate in RATES.items()
        if rate.advice
        and rate.needs_prediction == (prediction is not None)
        and (label is not None or not rate.needs_label)
    )


def _table(batch: Batch, facets: tuple[str, ...], spec: AuditSpec) -> CountTable | None:
    columns = spec.group_columns()
    for table in batch.counts.tables:
        if table.facets == facets and (table.label, table.prediction) == columns:
            return table
    return None


def _counted(tables: Sequence[CountTable | None], facets: tuple[str, ...], spec: AuditSpec) -> Counted:
    positive, positive_prediction = favourable_values(spec)
    known = [None if one is None else one.known() for one in tables]
    groups = tuple(sorted({group for one in known if one is not None for group in one.groups}, key=group_order))
    index = {group: i for i, group in enumerate(groups)}
    cells = np.zeros((4, len(tables), len(groups)))
    for number, table in enumerate(known):
        if table is not None and table.groups:
            rows = confusion_cells(table, positive, positive_prediction).rows
            cells[:, number, [index[one] for one in table.groups]] = rows.tp, rows.fp, rows.fn, rows.tn
    confusion = Confusion(*cells)
    return Counted(facets, groups, confusion, _reference(groups, confusion.n, spec))


def _reference(groups: tuple[Group, ...], rows: Counts, spec: AuditSpec) -> int | None:
    """Position of the reference; the largest group where the one that was named belongs to another grouping.

    The largest in the first batch that has any rows: it stays the same however groups grow, and so do the signs.
    """
    wanted = group_name(values_of(spec.groups.reference))
    names = [group_name(one) for one in groups]
    if wanted == EVERYBODY_ELSE or not groups:
        return None
    if wanted != LARGEST and wanted in names:
        return names.index(wanted)
    first = int(np.argmax(rows.sum(axis=1) > 0))
    return int(np.argmax(rows[first]))
