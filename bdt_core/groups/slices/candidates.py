"""Search on the train rows: every slice with enough rows, and how strong the evidence of harm is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.groups.slices.bound import Combined, count_within_bound
from bdt_core.groups.slices.coding import Items
from bdt_core.groups.slices.contrasts import Contrasts, contrasts, moments, repeats_a_part
from bdt_core.groups.slices.counting import NO_ITEM
from bdt_core.groups.slices.outcome import CountedOutcome
from bdt_core.groups.slices.part import CodedPart
from bdt_core.groups.slices.settings import SliceSettings
from bdt_core.inference import mid_p_value
from bdt_core.inference.means import welch_t

SCREEN_Z = 1.96
"""Only slices that fare worse by so many standard errors on the train rows go on to the test rows."""


@dataclass(frozen=True)
class Candidates:
    """Slices with enough rows.

    Attributes
    ----------
    items : list of items
    rows : ndarray of shape (slices,)
    totals : ndarray of shape (slices, numbers)
    contrasts : Contrasts
        With everybody else, on the train rows.
    combined : tuple of Combined
        What was not searched whole.
    """

    items: list[Items]
    rows: NDArray[Any]
    totals: NDArray[Any]
    contrasts: Contrasts
    combined: tuple[Combined, ...] = ()

    def strongest(self, most: int) -> NDArray[np.intp]:
        """Positions of those that look worse, the strongest evidence first."""
        z = self.contrasts.z
        order = np.argsort(-z, kind="stable")
        return order[z[order] >= SCREEN_Z][:most]

    def p_values(self, train: CodedPart) -> list[float | None]:
        """Two-sided ones of every slice on the rows it was found on; 1 where it fares no worse."""
        sums, n = train.outcome.sums_and_rows(self.totals)
        all_sums, all_n = train.outcome.sums_and_rows(train.whole)
        worse = self.contrasts.harm > 0
        if isinstance(train.outcome, CountedOutcome):
            counts = np.stack([sums, n, all_sums - sums, all_n - n], axis=1).astype(np.int64).tolist()
            return [mid_p_value(*four) if harmed else 1.0 for four, harmed in zip(counts, worse, strict=True)]
        squares = self.totals[:, 2]
        rest = moments(all_sums - sums, train.whole[2] - squares, all_n - n)
        t = welch_t(*moments(sums, squares, n), *rest)
        return [None if math.isnan(p) else float(p) for p in np.where(worse, t.p_value, 1.0)]


def find_candidates(train: CodedPart, test_rows: int, min_train_rows: int, settings: SliceSettings) -> Candidates:
    """Find every conjunction with enough rows, as far as the bound of the search reaches.

    A slice that has the rows of one of its parts is none of its own.

    Returns
    -------
    Candidates
        By number of conditions, then by items; none when the outcome is constant.
    """
    if not train.columns or train.is_constant:
        nothing = np.zeros((0, len(train.whole)))
        return Candidates([], nothing[:, 0], nothing, _contrasts(train, nothing))
    counted, combined = count_within_bound(train, settings.max_conditions, min_train_rows)
    rows = train.outcome.rows(counted.totals)
    against_rest = _contrasts(train, counted.totals)
    # A slice will be as large on the test rows as its share of the train rows lets expect.
    share = min(1.0, test_rows / train.rows)
    enough = np.minimum(against_rest.n, against_rest.n_rest) * share >= settings.min_rows * train.per_person
    enough &= ~repeats_a_part(counted.items, rows)
    items = [tuple(one for one in row if one != NO_ITEM) for row in counted.items[enough].tolist()]
    return Candidates(items, rows[enough], counted.totals[enough], against_rest[enough], combined)


def _contrasts(train: CodedPart, totals: NDArray[Any]) -> Contrasts:
    return contrasts(train.outcome, train.measure.harm_sign, totals, train.whole, train.design_effect)
