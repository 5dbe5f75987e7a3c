"""Weights of training rows that make label and group independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Coded, Level
from bdt_core.mitigation.checks import coded, in_order, same_length
from bdt_core.result import Result
from bdt_core.said import Text, say


@dataclass(frozen=True)
class ReweighedCell:
    """One group and label.

    Attributes
    ----------
    group, label : value
    rows : int
    expected : float
        Rows if label and group were independent: n_group n_label / n.
    weight : float or None
        expected / rows; None for a cell without rows, which no weight can mend.
    """

    group: Level
    label: Level
    rows: int
    expected: float
    weight: float | None


@dataclass(frozen=True)
class Reweighing(Result):
    """Weights per group and label that make the two independent.

    Attributes
    ----------
    rows : int
    cells : tuple of ReweighedCell
    empty : tuple of str
        Cells without rows, named; the groups in them stay unequal.

    Examples
    --------
    >>> label, group = [1, 1, 1, 0, 1, 0], ["m"] * 4 + ["f"] * 2
    >>> reweigh(label, group).weights(label, group).round(2).tolist()
    [0.89, 0.89, 0.89, 1.33, 1.33, 0.67]
    """

    rows: int
    cells: tuple[ReweighedCell, ...]
    empty: tuple[Text, ...]

    def weights(self, label: ArrayLike, group: ArrayLike) -> NDArray[np.float64]:
        """The weight of each row, to be given to a learner as its sample weights.

        Parameters
        ----------
        label, group : arrays of shape (n,)

        Returns
        -------
        ndarray of shape (n,), float64
            On the rows that the weights were made from they sum to n, less what empty cells should have had.

        Raises
        ------
        DataError
            A label in a group that had no such rows.
        """
        labels, groups = _coded_pair(label, group)
        known = {(one.group, one.label): one.weight for one in self.cells}
        table = np.full((len(groups.levels), len(labels.levels)), np.nan)
        for i, of_group in enumerate(groups.levels):
            for j, of_label in enumerate(labels.levels):
                weight = known.get((of_group, of_label))
                table[i, j] = np.nan if weight is None else weight
        weights: NDArray[np.float64] = table[groups.codes, labels.codes]
        unknown = int(np.isnan(weights).sum())
        if unknown:
            raise DataError(
                f"{unknown} of {weights.size} rows are of a group and label that the weights were not made from. Make "
                "weights from all training rows."
            )
        return weights


def reweigh(label: ArrayLike, group: ArrayLike) -> Reweighing:
    """Weights that make the label independent of the group: w = n_group n_label / (n n_group&label).

    Parameters
    ----------
    label, group : arrays of shape (n,)
        Any number of values each; none missing.

    Returns
    -------
    Reweighing

    Raises
    ------
    DataError
        Missing values, different lengths or no rows.

    References
    ----------
    Kamiran, F., Calders, T. (2012). Data preprocessing techniques for classification without discrimination.
    Knowledge and Information Systems 33, 1-33.

    Examples
    --------
    >>> label, group = [1, 1, 1, 0, 1, 0, 0, 0], ["m"] * 4 + ["f"] * 4
    >>> found = reweigh(label, group)
    >>> [(one.group, one.label, round(one.weight, 3)) for one in found.cells]
    [('f', 0, 0.667), ('f', 1, 2.0), ('m', 0, 2.0), ('m', 1, 0.667)]
    >>> float(found.weights(label, group).sum())
    8.0
    """
    labels, groups = _coded_pair(label, group)
    counts = cell_counts(labels, groups)
    expected = expected_counts(counts)
    cells, empty = [], []
    for i, of_group in enumerate(groups.levels):
        for j, of_label in enumerate(labels.levels):
            rows = int(counts[i, j])
            weight = float(expected[i, j] / rows) if rows else None
            cells.append(ReweighedCell(of_group, of_label, rows, float(expected[i, j]), weight))
            if not rows:
                empty.append(say("{as_is} with label {as_is2}", as_is=str(of_group), as_is2=str(of_label)))
    return Reweighing(int(counts.sum()), tuple(cells), tuple(empty))


def cell_counts(labels: Coded, groups: Coded) -> NDArray[np.int64]:
    """Rows per group and label, or of any two columns: shape (groups, labels)."""
    shape = (len(groups.levels), len(labels.levels))
    cells = groups.codes.astype(np.int64) * shape[1] + labels.codes
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def expected_counts(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Rows per group and label if the two were independent."""
    expected: NDArray[np.float64] = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    return expected


def _coded_pair(label: ArrayLike, group: ArrayLike) -> tuple[Coded, Coded]:
    labels, groups = in_order(coded(label, "labels")), in_order(coded(group, "groups"))
    same_length(labels=labels.codes.size, groups=groups.codes.size)
    return labels, groups
