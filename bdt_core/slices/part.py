"""Coded rows, and the comparison of single slices on them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bdt_core.inference import Comparison, compare_count_arrays, compare_samples
from bdt_core.slices.contrasts import sums_and_rows
from bdt_core.slices.counting import SliceCounts, count_slices
from bdt_core.slices.measure import Measure, Payload

Items = tuple[int, ...]


class Sliced(Protocol):
    """What the search asks of the train or the test rows, whether they are at hand or counted block by block."""

    @property
    def measure(self) -> Measure: ...
    @property
    def payload(self) -> Payload: ...
    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def whole(self) -> NDArray[Any]: ...
    @property
    def lowest(self) -> float: ...
    @property
    def is_constant(self) -> bool: ...
    @property
    def in_rows(self) -> Part: ...
    def value(self) -> float | None: ...
    def count(self, max_conditions: int, min_rows: int) -> SliceCounts: ...
    def compare(
        self, several: list[Items], *, alpha: float, min_rows: int, permuting: bool, random_state: int
    ) -> list[tuple[NDArray[Any], Comparison, int]]: ...


@dataclass(frozen=True)
class Part:
    """The train or the test rows with a known outcome.

    Attributes
    ----------
    codes : ndarray of uint8, shape (columns, n)
    payload : Payload
    measure : Measure
    offsets : ndarray of shape (columns + 1,)
        Where the items of each column begin.
    """

    codes: NDArray[np.uint8]
    payload: Payload
    measure: Measure
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, codes: NDArray[np.uint8], payload: Payload, measure: Measure, offsets: NDArray[np.int64]) -> Part:
        """Bring values in ascending order, so that no sum depends on the order of the rows."""
        if payload.values is None:
            return cls(codes, payload, measure, offsets)
        order = np.argsort(payload.values, kind="stable")
        values = payload.values[order]
        centre = float(values.mean()) if values.size else 0.0
        return cls(codes[:, order], replace(payload, values=values, centre=centre), measure, offsets)

    @property
    def rows(self) -> int:
        """Rows with a known outcome."""
        return int(self.outcomes.size)

    @property
    def columns(self) -> int:
        """How many columns are searched."""
        return len(self.codes)

    @property
    def whole(self) -> NDArray[Any]:
        """Totals of all rows."""
        return self.totals()

    @property
    def lowest(self) -> float:
        """No outcome is lower."""
        return float(self.payload.lower if self.payload.values is None else self.payload.values.min())

    @property
    def is_constant(self) -> bool:
        """Whether the outcome is the same in every row of the metric's denominator."""
        (total,), (n,) = sums_and_rows(self.measure, self.payload, self.whole[None])
        if self.payload.codes is not None:
            return bool(total in (0, n)) or self.payload.step == 0.0
        values = self.payload.values
        return values is None or bool(values[0] == values[-1])

    @property
    def in_rows(self) -> Part:
        """Itself; of a large table, a sample."""
        return self

    @cached_property
    def outcomes(self) -> NDArray[Any]:
        """Outcome codes, or values less their mean."""
        if self.payload.codes is not None:
            return self.payload.codes
        assert self.payload.values is not None
        return self.payload.values - self.payload.centre

    def inside(self, items: Items) -> NDArray[np.bool_]:
        """Which rows meet all conditions."""
        return rows_inside(self.codes, self.offsets, items)

    def totals(self, inside: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """What `count_slices` counts, in some of the rows or in all."""
        outcomes = self.outcomes if inside is None else self.outcomes[inside]
        if self.payload.codes is not None:
            return np.bincount(outcomes, minlength=4)
        return np.array([outcomes.size, outcomes.sum(), np.square(outcomes).sum()])

    def count(self, max_conditions: int, min_rows: int) -> SliceCounts:
        """Every slice with enough rows."""
        levels = np.diff(self.offsets).tolist()
        return count_slices(self.codes, levels, self.outcomes, max_conditions=max_conditions, min_rows=min_rows)

    def value(self) -> float | None:
        """The metric over all rows; None without rows in its denominator."""
        (total,), (n,) = sums_and_rows(self.measure, self.payload, self.totals()[None])
        return float(self.payload.zero + self.payload.step * total / n) if n else None

    def compare(
        self, several: list[Items], *, alpha: float, min_rows: int, permuting: bool, random_state: int
    ) -> list[tuple[NDArray[Any], Comparison, int]]:
        """Totals and rows of some slices, and their comparison with everybody else."""
        if self.payload.codes is not None:
            masks = (self.inside(one) for one in several)
            counted = [(self.totals(mask), int(mask.sum())) for mask in masks]
            totals = np.array([one for one, _ in counted]).reshape(-1, 4)
            compared = compare_rates(self.measure, self.payload, totals, self.whole, alpha, min_rows)
            return [(one, comparison, rows) for (one, rows), comparison in zip(counted, compared, strict=True)]
        values = self.payload.values
        assert values is not None
        found = []
        for one in several:
            mask = self.inside(one)
            comparison = _compare_means(values[mask], values[~mask], alpha, min_rows, permuting, random_state)
            found.append((self.totals(mask), comparison, int(mask.sum())))
        return found


def rows_inside(codes: NDArray[np.uint8], offsets: NDArray[np.int64], items: Items) -> NDArray[np.bool_]:
    """Which coded rows meet all conditions."""
    from bdt_core.slices import kernels

    where = np.array(items, dtype=np.int64)
    columns = np.searchsorted(offsets, where, side="right") - 1
    inside = np.empty(codes.shape[1], dtype=np.bool_)
    kernels.in_slice(codes, columns, where - offsets[columns], inside)
    return inside


def compare_rates(
    measure: Measure, payload: Payload, totals: NDArray[Any], whole: NDArray[Any], alpha: float, min_rows: int
) -> list[Comparison]:
    """Rates in slices against those of everybody else, from totals of shape (slices, outcomes)."""
    events, n = sums_and_rows(measure, payload, totals)
    (all_events,), (all_n,) = sums_and_rows(measure, payload, whole[None])
    return compare_count_arrays(
        events, n, all_events - events, all_n - n, alpha=alpha, min_rows=min_rows,
        lower=payload.lower, step=payload.step,
    )  # fmt: skip


def _compare_means(
    inside: NDArray[np.float64],
    rest: NDArray[np.float64],
    alpha: float,
    min_rows: int,
    permuting: bool,
    random_state: int,
) -> Comparison:
    """Welch's t, and where it rejects but cannot be relied on, a permutation test in its place.

    Both have to reject, which is as strict as the permutation test alone and spares most of its time.
    """
    found = compare_samples(inside, rest, test="welch", alpha=alpha, min_rows=min_rows)
    if not permuting or found.p_value is None or found.p_value > alpha:
        return found
    return compare_samples(inside, rest, test="auto", alpha=alpha, min_rows=min_rows, random_state=random_state)


def parts_of(items: Items) -> list[Items]:
    """All non-empty parts of a conjunction, those with the fewest conditions first.

    Examples
    --------
    >>> parts_of((1, 5))
    [(1,), (5,), (1, 5)]
    """
    return [part for k in range(1, len(items) + 1) for part in itertools.combinations(items, k)]
