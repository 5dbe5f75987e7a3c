"""Area under the ROC curve per group: the one metric, beside the flip test, that needs the rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bdt_core.fairness.coding import Threshold, code_column, column, numbers
from bdt_core.fairness.confusion import Positive, favourable
from bdt_core.fairness.counting import code_groups
from bdt_core.fairness.counts import CountTable
from bdt_core.fairness.measured import Measured, measured
from bdt_core.inference import area_under_curve


def auc_by_group(
    frame: pd.DataFrame,
    table: CountTable,
    *,
    positive: Positive = 1,
    alpha: float = 0.05,
    thresholds: Mapping[str, Threshold] | None = None,
) -> Measured:
    """Chance that a row with a positive label scores above one with a negative label, inside each group.

    Parameters
    ----------
    frame : DataFrame
        The rows that `table` counted.
    table : CountTable
        Of known rows, with a score and a label.
    positive : value, values or Threshold
        Favourable labels.
    alpha : float
        Intervals (DeLong's) have confidence 1 - alpha.
    thresholds : mapping of column to Threshold, optional
        As given to `count_rows`.

    Returns
    -------
    Measured
        One entry per group of the table, in [0, 1]; .5 tells nothing. Weights are not used.
    """
    assert table.score is not None
    assert table.label is not None
    cuts = thresholds or {}
    scores = numbers(column(frame, table.score), table.score)
    label = code_column(frame, table.label, cuts.get(table.label))
    good = favourable(label.levels, positive)[label.codes]
    known = column(frame, table.label).notna().to_numpy() & np.isfinite(scores)
    for name in (table.prediction, table.stratum):
        if name is not None:
            known &= column(frame, name).notna().to_numpy()
    groups, codes, _ = code_groups(frame, table.facets, cuts)
    index = {group: i for i, group in enumerate(groups)}
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(groups)))
    areas, counts, reason = [], [], []
    for group in table.groups:
        at = index.get(group)
        rows = order[:0] if at is None else order[ends[at - 1] if at else 0 : ends[at]]
        rows = rows[known[rows]]
        result = area_under_curve(scores[rows][good[rows]], scores[rows][~good[rows]], alpha=alpha)
        areas.append([np.nan if x is None else x for x in (result.auc, result.low, result.high)])
        counts.append((result.n_a + result.n_b, result.n_a))
        missing = "positive" if not result.n_a else "negative" if not result.n_b else None
        reason.append(None if missing is None else f"nobody with a {missing} label and a score")
    estimate, low, high = np.array(areas, dtype=np.float64).reshape(-1, 3).T
    n, events = np.array(counts, dtype=np.float64).reshape(-1, 2).T
    return measured(estimate, (low, high), reason, n, events)
