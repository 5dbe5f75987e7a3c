"""Coded rows, and the comparison of single slices on them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.inference import Comparison, compare_count_arrays, compare_samples
from bdt_core.slices.contrasts import sums_and_rows
from bdt_core.slices.measure import Measure, Payload

Items = tuple[int, ...]


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

    @cached_property
    def outcomes(self) -> NDArray[Any]:
        """Outcome codes, or values less their mean."""
        if self.payload.codes is not None:
            return self.payload.codes
        assert self.payload.values is not None
        return self.payload.values - self.payload.centre

    def inside(self, items: Items) -> NDArray[np.bool_]:
        """Which rows meet all conditions."""
        from bdt_core.slices import kernels

        where = np.array(items, dtype=np.int64)
        columns = np.searchsorted(self.offsets, where, side="right") - 1
        inside = np.empty(self.rows, dtype=np.bool_)
        kernels.in_slice(self.codes, columns, where - self.offsets[columns], inside)
        return inside

    def totals(self, inside: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """What `count_slices` counts, in some of the rows or in all."""
        outcomes = self.outcomes if inside is None else self.outcomes[inside]
        if self.payload.codes is not None:
            return np.bincount(outcomes, minlength=4)
        return np.array([outcomes.size, outcomes.sum(), np.square(outcomes).sum()])

    def value(self) -> float | None:
        """The metric over all rows; None without rows in its denominator."""
        (total,), (n,) = sums_and_rows(self.measure, self.payload, self.totals()[None])
        return float(self.payload.zero + self.payload.step * total / n) if n else None

    def compare(
        self, several: list[Items], *, alpha: float, min_rows: int, permuting: bool, random_state: int
    ) -> list[tuple[NDArray[Any], Comparison, int]]:
        """Totals and rows of some slices, and their comparison with everybody else."""
        whole = self.totals()
        if self.payload.codes is not None:
            masks = (self.inside(one) for one in several)
            counted = [(self.totals(mask), int(mask.sum())) for mask in masks]
            totals = np.array([one for one, _ in counted]).reshape(-1, 4)
            events, n = sums_and_rows(self.measure, self.payload, totals)
            (all_events,), (all_n,) = sums_and_rows(self.measure, self.payload, whole[None])
            compared = compare_count_arrays(
                events, n, all_events - events, all_n - n, alpha=alpha, min_rows=min_rows,
                lower=self.payload.lower, step=self.payload.step,
            )  # fmt: skip
            return [(one, comparison, rows) for (one, rows), comparison in zip(counted, compared, strict=True)]
        values = self.payload.values
        assert values is not None
        found = []
        for one in several:
            mask = self.inside(one)
            comparison = _compare_means(values[mask], values[~mask], alpha, min_rows, permuting, random_state)
            found.append((self.totals(mask), comparison, int(mask.sum())))
        return found


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
