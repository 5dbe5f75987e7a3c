"""Search on the train rows: every slice with enough rows, and how strong the evidence of harm is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.inference import mid_p_value
from bdt_core.inference.means import welch_t
from bdt_core.slices.contrasts import Contrasts, contrasts, prior_variance, repeats_a_part, sums_and_rows
from bdt_core.slices.counting import NO_ITEM, SliceCounts
from bdt_core.slices.part import Items, Sliced
from bdt_core.slices.settings import Settings

SCREEN_Z = 1.96
"""Only slices that fare worse by so many standard errors on the train rows go on to the test rows."""


@dataclass(frozen=True)
class Candidates:
    """Slices with enough rows.

    Attributes
    ----------
    items : list of items
    rows : ndarray of shape (slices,)
    totals : ndarray of shape (slices, outcomes)
    contrasts : Contrasts
        With everybody else, on the train rows.
    """

    items: list[Items]
    rows: NDArray[Any]
    totals: NDArray[Any]
    contrasts: Contrasts

    @property
    def prior_variance(self) -> float:
        """Of the true differences."""
        return prior_variance(self.contrasts)

    def strongest(self, most: int) -> NDArray[np.intp]:
        """Positions of those that look worse, the strongest evidence first."""
        z = self.contrasts.z
        order = np.argsort(-z, kind="stable")
        return order[z[order] >= SCREEN_Z][:most]

    def p_values(self, train: Sliced) -> list[float | None]:
        """Two-sided ones of every slice on the rows it was found on; 1 where it fares no worse."""
        payload = train.payload
        whole = train.whole
        sums, n = sums_and_rows(train.measure, payload, self.totals)
        (all_sums,), (all_n,) = sums_and_rows(train.measure, payload, whole[None])
        worse = self.contrasts.harm > 0
        if payload.codes is not None:
            counts = np.stack([sums, n, all_sums - sums, all_n - n], axis=1).astype(np.int64).tolist()
            return [mid_p_value(*four) if harmed else 1.0 for four, harmed in zip(counts, worse, strict=True)]
        squares, rest = self.totals[:, 2], whole[2] - self.totals[:, 2]
        t = welch_t(*_moments(sums, squares, n), *_moments(all_sums - sums, rest, all_n - n))
        return [None if math.isnan(p) else float(p) for p in np.where(worse, t.p_value, 1.0)]


def find_candidates(train: Sliced, test_rows: int, min_train_rows: int, settings: Settings) -> Candidates:
    """Find every conjunction with enough rows.

    A slice that has the rows of one of its parts is none of its own.

    Parameters
    ----------
    train : Sliced
    test_rows : int
    min_train_rows : int
    settings : Settings

    Returns
    -------
    Candidates
        By number of conditions, then by items; none when the outcome is constant.
    """
    if train.columns and not train.is_constant:
        counted = train.count(settings.max_conditions, min_train_rows)
    else:
        counted = SliceCounts(np.zeros((0, 1), dtype=np.int32), np.zeros((0, 4)))
    rows = counted.totals.sum(axis=1) if train.payload.codes is not None else counted.totals[:, 0]
    found = contrasts(train.measure, train.payload, counted.totals, train.whole)
    # A slice will be as large on the test rows as its share of the train rows lets expect.
    share = min(1.0, test_rows / train.rows)
    enough = np.minimum(found.n, found.n_rest) * share >= settings.min_rows
    if len(rows):
        enough &= ~repeats_a_part(counted.items, rows)
    items = [tuple(one for one in row if one != NO_ITEM) for row in counted.items[enough].tolist()]
    return Candidates(items, rows[enough], counted.totals[enough], found[enough])


def _moments(sums: Any, squares: Any, n: Any) -> tuple[Any, Any, Any]:
    """Mean, sample variance and rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums / n
        return mean, np.maximum(squares - n * mean * mean, 0.0) / (n - 1.0), n
