"""From batches to arrays: confusion counts per batch and group of one declared grouping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness.coding import values_of
from bdt_core.fairness.confusion import Confusion, confusion_cells
from bdt_core.fairness.counts import CountTable, Group, group_order
from bdt_core.fairness.declared_groups import favourable_values
from bdt_core.fairness.from_counts import EVERYBODY_ELSE, LARGEST
from bdt_core.fairness.metric_results import group_in_words, group_name
from bdt_core.fairness.persons import CELLS, PersonMoments
from bdt_core.history.batch import Batch
from bdt_core.metrics import RATES, Proportion
from bdt_core.said import Column, Numeral, joined, say
from bdt_core.spec import AuditSpec

Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """A rate's counts per batch, of one side and of the other.

    Attributes
    ----------
    events, rows, reference_events, reference_rows : ndarray of float64, shape (batches,)
    effects : (float, float)
        Design effects of both sides: rows of persons with several say as much as so many times fewer.
    """

    events: Counts
    rows: Counts
    reference_events: Counts
    reference_rows: Counts
    effects: tuple[float, float] = (1.0, 1.0)

    @property
    def turned(self) -> Pair:
        """The same rows, with those that had no event as events."""
        others = self.reference_rows - self.reference_events
        return replace(self, events=self.rows - self.events, reference_events=others)

    @property
    def swapped(self) -> Pair:
        """The other side first."""
        return Pair(self.reference_events, self.reference_rows, self.events, self.rows, self.effects[::-1])

    def of(self, when: slice) -> Pair:
        """Some batches only."""
        return Pair(
            self.events[when], self.rows[when], self.reference_events[when], self.reference_rows[when], self.effects
        )

    def effective(self) -> tuple[Counts, Counts, Counts, Counts]:
        """Events and rows of both sides, as many as would say as much if each were of another person."""
        mine, other = self.effects
        return self.events / mine, self.rows / mine, self.reference_events / other, self.reference_rows / other

    def alike(self) -> tuple[float, float, float, float]:
        """Both rates with batches weighted alike on both sides, as effective events and rows; 0 without such batches.

        A batch weighs n m / (n + m), as in the test of Mantel & Haenszel (1959); rows are as many as would give a rate
        of that variance. With the same share of the rows in every batch, they are the sums.
        """
        both = (self.rows > 0) & (self.reference_rows > 0)
        x, n, y, m = (one[both] for one in self.effective())
        weight = n * m / (n + m)
        columns: list[float] = []
        for events, rows in ((x, n), (y, m)):
            effective = float(weight.sum() ** 2 / (weight**2 / rows).sum()) if weight.size else 0.0
            rate = float(np.average(events / rows, weights=weight)) if weight.size else 0.0
            columns += [rate * effective, effective]
        return columns[0], columns[1], columns[2], columns[3]


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
    persons: PersonMoments | None = None
    """Per batch and group, one after the other; None where each row is a person."""

    @property
    def names(self) -> tuple[str, ...]:
        """Groups as text, which knows the levels that it is made of."""
        return tuple(group_in_words(self.facets, one) for one in self.groups)

    @property
    def reference_name(self) -> str:
        """What the groups are compared with, as text."""
        return say("everybody else") if self.reference is None else self.names[self.reference]

    @property
    def rows(self) -> Counts:
        """Rows, shape (batches, groups)."""
        return self.confusion.n

    @property
    def sizes(self) -> Counts:
        """Persons of each group, in each batch anew: its rows, unless persons have several."""
        if self.persons is None:
            return np.asarray(self.rows.sum(axis=0), dtype=np.float64)
        return np.asarray(self.persons.number().reshape(self.rows.shape).sum(axis=0), dtype=np.float64)

    def pair(self, rate: Proportion, group: int, reference: int | None) -> Pair:
        """A rate of a group beside that of another one, or of everybody else (None)."""
        events, among = rate.events(self.confusion), rate.among(self.confusion)
        if reference is None:
            others = events.sum(axis=1) - events[:, group], among.sum(axis=1) - among[:, group]
        else:
            others = events[:, reference], among[:, reference]
        counts = events[:, group], among[:, group], *others
        return Pair(*counts, effects=self._effects(rate, group, reference, counts))

    def _effects(
        self, rate: Proportion, group: int, reference: int | None, counts: tuple[Counts, Counts, Counts, Counts]
    ) -> tuple[float, float]:
        """Variance between persons over that of as many rows of different persons, within the batches together.

        At least 1; persons of several groups count in each, which errs on the wide side where their rows are alike.
        """
        if self.persons is None:
            return 1.0, 1.0
        single = Confusion(*np.eye(CELLS))
        event, counted = (np.asarray(part(single), dtype=np.float64) for part in (rate.events, rate.among))
        shape = self.rows.shape
        products = self.persons.products.reshape(*shape, CELLS, CELLS)
        numbers = self.persons.number(counted).reshape(shape)
        others = np.arange(shape[1]) != group if reference is None else np.arange(shape[1]) == reference
        effects = []
        for which, events, rows in (
            (np.arange(shape[1]) == group, counts[0], counts[1]),
            (others, counts[2], counts[3]),
        ):
            share = np.divide(events, rows, out=np.zeros_like(rows), where=rows > 0)
            own = event - share[:, None] * counted
            between = float(np.einsum("ti,tij,tj->", own, products[:, which].sum(axis=1), own))
            within = float((rows * share * (1.0 - share)).sum())
            persons, batches = float(numbers[:, which].sum()), int((numbers[:, which].sum(axis=1) > 0).sum())
            few = persons / max(persons - batches, 1.0)
            effects.append(max(between * few / within, 1.0) if within > 0 else 1.0)
        return effects[0], effects[1]


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
    counted: list[Counted] = []
    notes: list[str] = []
    if not spec.facets:
        notes.append(say("The specification declares no groups, so there is nothing to follow."))
    for facets in spec.facets:
        tables = [_table(one, facets, spec) for one in batches]
        used = sum(one is not None for one in tables)
        if not used:
            continue
        if used < len(batches):
            notes.append(
                say(
                    "{N} of {Nall} batches do not count {name} with the same label and prediction, and say nothing "
                    "about it.",
                    N=Numeral(str(len(batches) - used)),
                    Nall=Numeral(str(len(batches))),
                    name=joined([Column(one) for one in facets], " & "),
                )
            )
        persons = [_persons(one, table) for one, table in zip(batches, tables, strict=True)]
        counted.append(_counted(tables, persons, facets, spec))
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


def _persons(batch: Batch, table: CountTable | None) -> PersonMoments | None:
    return next((persons for one, persons in batch.counts.tables_and_persons if one is table), None)


def _counted(
    tables: Sequence[CountTable | None],
    persons: Sequence[PersonMoments | None],
    facets: tuple[str, ...],
    spec: AuditSpec,
) -> Counted:
    positive, positive_prediction = favourable_values(spec)
    known = [None if one is None else one.known() for one in tables]
    groups = tuple(sorted({group for one in known if one is not None for group in one.groups}, key=group_order))
    index = {group: i for i, group in enumerate(groups)}
    cells = np.zeros((CELLS, len(tables), len(groups)))
    products = np.zeros((len(tables), len(groups), CELLS, CELLS))
    present = np.zeros((len(tables), len(groups), 1 << CELLS))
    for number, table in enumerate(known):
        if table is not None and table.groups:
            rows = confusion_cells(table, positive, positive_prediction).rows
            at = [index[one] for one in table.groups]
            cells[:, number, at] = rows.tp, rows.fp, rows.fn, rows.tn
            its = persons[number] or _one_row_each(rows)
            products[number, at], present[number, at] = its.products, its.present
    confusion = Confusion(*cells)
    moments = None
    if any(one is not None for one in persons):
        moments = PersonMoments(products.reshape(-1, CELLS, CELLS), present.reshape(-1, 1 << CELLS))
    return Counted(facets, groups, confusion, _reference(groups, confusion.n, spec), moments)


def _one_row_each(rows: Confusion) -> PersonMoments:
    """Persons of a batch that was counted without them."""
    counts = np.stack([rows.tp, rows.fp, rows.fn, rows.tn], axis=1)
    present = np.zeros((len(counts), 1 << CELLS))
    present[:, 1 << np.arange(CELLS)] = counts
    return PersonMoments(counts[:, :, None] * np.eye(CELLS), present)


def _reference(groups: tuple[Group, ...], rows: Counts, spec: AuditSpec) -> int | None:
    """Position of the reference; the largest group where the one that was named belongs to another grouping.

    The largest in the first batch that has any rows: it stays the same however groups grow, and so do the signs.
    """
    named = group_name(values_of(spec.groups.reference))
    names = [group_name(one) for one in groups]
    if named == EVERYBODY_ELSE or not groups:
        return None
    if named != LARGEST and named in names:
        return names.index(named)
    first = int(np.argmax(rows.sum(axis=1) > 0))
    return int(np.argmax(rows[first]))
