"""Clusters that a search came to: small ones merged, and where further rows belong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bdt_core.errors import DataError
from bdt_core.local_bias.inputs import checked_matrix
from bdt_core.local_bias.metrics import Floats, Integers


@dataclass(frozen=True)
class Partition:
    """Clusters of the training rows, and where further rows belong.

    Attributes
    ----------
    labels : int64 ndarray of shape (n,)
        Cluster of each training row, after merging.
    centres : float64 ndarray of shape (k, p)
        Before merging, as distances from `mean`.
    merged_into : int64 ndarray of shape (k,)
        Cluster that each of the k became part of.
    inertia : float
        Sum of squared distances of the training rows from their centre, before merging.
    mean : float64 ndarray of shape (p,), exponent : int64 ndarray of shape (p,), dtype : str
        How numbers are centred and rounded before distances are taken.
    """

    labels: Integers
    centres: Floats
    merged_into: Integers
    inertia: float
    mean: Floats
    exponent: Integers
    dtype: str

    @property
    def n_clusters(self) -> int:
        """Number of clusters after merging."""
        return int(self.merged_into.max()) + 1

    def predict(self, X: Any) -> Integers:
        """Cluster of the nearest centre for each row of a table or 2-d array with the columns of the training rows."""
        matrix = checked_matrix(X, self.dtype)[0]
        if matrix.shape[1] != len(self.mean):
            raise DataError(
                f"X has {matrix.shape[1]} features, but LOGAN is expecting {len(self.mean)} features as input."
            )
        numeric = np.empty(matrix.shape[::-1], self.dtype)
        for column in range(len(self.mean)):
            values = matrix[:, column].astype(np.float64) - self.mean[column]
            numeric[column] = on_grid(values, int(self.exponent[column]))
        nearest = np.empty(len(matrix), np.int32)
        from bdt_core.local_bias import kernels

        kernels.assign_nearest(numeric, self.centres.astype(self.dtype), nearest)
        return self.merged_into[nearest]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able data, without the labels of the training rows."""
        return {
            "centres": self.centres.tolist(),
            "merged_into": self.merged_into.tolist(),
            "inertia": self.inertia,
            "mean": self.mean.tolist(),
            "exponent": self.exponent.tolist(),
            "dtype": self.dtype,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Partition:
        """Read what `to_dict` wrote; it predicts the same to the bit."""
        return cls(
            labels=np.empty(0, np.int64),
            centres=np.array(data["centres"], dtype=np.float64),
            merged_into=np.array(data["merged_into"], dtype=np.int64),
            inertia=float(data["inertia"]),
            mean=np.array(data["mean"], dtype=np.float64),
            exponent=np.array(data["exponent"], dtype=np.int64),
            dtype=str(data["dtype"]),
        )


def merge_small(centres: Floats, rows: Integers, counted: Integers, smallest: int, fewest: int) -> Integers:
    """Merge clusters in which fewer than two groups have enough rows.

    The cluster whose second largest group is smallest goes first, into the cluster whose centre (the mean of what it
    holds by then) is nearest, until all are large enough or only `fewest` are left. `counted`, shape (k, G), is the
    rows that each group's metric rests on. The result is the number, from 0 up without gaps, of the cluster that each
    became part of.
    """
    centres, rows, counted = centres.copy(), rows.copy(), counted.copy()
    into = np.arange(len(rows))
    left = np.ones(len(rows), dtype=bool)
    while left.sum() > max(fewest, 1):
        support = np.sort(counted, axis=1)[:, -2] if counted.shape[1] > 1 else np.zeros(len(rows), np.int64)
        small = np.flatnonzero(left & (support < smallest))
        if not len(small):
            break
        smallest_cluster = small[np.lexsort((small, rows[small], support[small]))[0]]
        apart = np.square(centres - centres[smallest_cluster]).sum(axis=1)
        apart[~left] = np.inf
        apart[smallest_cluster] = np.inf
        other = int(apart.argmin())
        together = rows[smallest_cluster] + rows[other]
        if together:
            centres[other] = (
                rows[smallest_cluster] * centres[smallest_cluster] + rows[other] * centres[other]
            ) / together
        rows[other] = together
        counted[other] += counted[smallest_cluster]
        left[smallest_cluster] = False
        into[into == smallest_cluster] = other
    numbers: Integers = np.searchsorted(np.flatnonzero(left), into).astype(np.int64)
    return numbers


def on_grid(values: Floats, exponent: int) -> Floats:
    """Numbers rounded to multiples of 2**exponent; 0 in a constant column, whose exponent is 2000."""
    if exponent >= 2000:
        return np.zeros(len(values))
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent) + 0.0)
