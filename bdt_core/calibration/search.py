"""Find the people for whom a score is off: what a notebook calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bdt_core.calibration.results import Calibration
from bdt_core.calibration.scored_rows import EITHER_WAY, ScoredRows
from bdt_core.errors import DataError, did_you_mean
from bdt_core.fairness.coding import Value, code_column, column, numbers
from bdt_core.fairness.favourable import favourable
from bdt_core.groups.scan.settings import SHARES, ScanSettings
from bdt_core.table.blocks import frame_at_hand, refuse_taken, refuse_text
from bdt_core.table.frames import AnyTable


def find_miscalibrated_groups(
    frame: AnyTable,
    *,
    label: str,
    score: str,
    positive: Value | Sequence[Value] = 1,
    columns: Sequence[str] | None = None,
    key: str | None = None,
    min_share: float = 0.01,
    min_rows: int = 30,
    max_groups: int = 5,
    permutations: int = 199,
    alpha: float = 0.05,
) -> Calibration:
    """Find the groups of people for whom a score is too low or too high, and say what can be ruled out for all others.

    Parameters
    ----------
    frame : DataFrame, Arrow table or dict of columns
        Rows without a label or a score are left out.
    label : str
        Column with what really happened.
    score : str
        Column with the predicted chance of a positive label, from 0 to 1.
    positive : value or sequence of values, default 1
        Of the label.
    columns : sequence of str, optional
        Columns whose values make the groups; by default all but `label`, `score` and `key`. A column with the
        predictions is better left out: people for whom a score is low are then found by it, as a group.
    key : str, optional
        A column that says which rows are the same person.
    min_share : float, default 0.01
        Fewest rows of a group, as a share.
    min_rows : int, default 30
        Fewest rows of a group, and outside of it.
    max_groups : int, default 5
        Most groups in either direction.
    permutations : int, default 199
    alpha : float, default 0.05
        A group is confirmed when its p-value is at most half of this; so the search has both directions. Intervals have
        confidence 1 - alpha.

    Returns
    -------
    Calibration

    Raises
    ------
    SpecError
        A setting out of range.
    SourceError
        `frame` is no table.
    DataError
        A column does not exist or cannot be used for what it is named.

    See Also
    --------
    bdt_core.find_worst_groups : The search itself.

    References
    ----------
    Zhang, Z., Neill, D. B. (2016). Identifying significant predictive bias in classifiers. arXiv 1611.08292.
    Hebert-Johnson, U., Kim, M. P., Reingold, O., Rothblum, G. N. (2018). Multicalibration: calibration for the
    (computationally-identifiable) masses. ICML 2018.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"city": rng.choice(list("abcd"), 4000), "score": rng.uniform(0.3, 0.7, 4000)})
    >>> frame["hired"] = rng.random(4000) < frame.score - np.where(frame.city == "b", 0.2, 0.0)
    >>> found = find_miscalibrated_groups(frame, label="hired", score="score", permutations=39)
    >>> [(one.words, one.way) for one in found.groups]
    [('city is b', 'too high')]
    """
    settings = ScanSettings(min_share, min_rows, max_groups, permutations, alpha, EITHER_WAY, SHARES)
    frame = frame_at_hand(frame, "frame")
    refuse_text(columns, "columns")
    refuse_taken(frame.columns, [])
    apart = [label, score, *([] if key is None else [key])]
    searched = [one for one in frame.columns if one not in apart] if columns is None else list(map(str, columns))
    for name in (*searched, *apart):
        if name not in frame.columns:
            raise DataError(f'There is no column "{name}". {did_you_mean(name, frame.columns)}')
    coded, scores = code_column(frame, label), numbers(column(frame, score), score)
    known = coded.rows_with(lambda level: level is not None) & ~np.isnan(scores)
    happened = favourable(coded.levels, positive)[coded.codes].astype(np.float64)
    rows = ScoredRows(
        frame[known].reset_index(drop=True),
        happened[known],
        scores[known],
        tuple(one for one in dict.fromkeys(searched) if one not in apart),
        key,
    )
    empty = Calibration(
        score=score, label=label, rows=int(known.sum()), left_out=int((~known).sum()), everybody=None, groups=(),
        ruled_out=(), facets=(), alpha=alpha, min_share=min_share, min_rows=min_rows, key=key,
    )  # fmt: skip
    return rows.searched(empty, settings)
