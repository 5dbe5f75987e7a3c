"""Local bias on the audit's own train and test rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Threshold
from bdt_core.fairness.confusion import favourable
from bdt_core.fairness.declared_groups import favourable_values
from bdt_core.local_bias.finding import LocalBias, LocalBiasSettings, LocalRows, find_local_bias, read_embeddings
from bdt_core.spec import LocalBias as Wanted
from bdt_core.table.audit_table import ROW, AuditTable
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import rows_at_hand

PUBLISHED_THRESHOLD = 0.05  # a gap from which the published summaries call a cluster biased


def find_audited_local_bias(train: Rows, test: Rows, wanted: Wanted) -> LocalBias:
    """Look for places in the data where groups are treated differently.

    Parameters
    ----------
    train, test : Rows
        Clusters are found on the one and judged on the other; of a large table on ``large_rows`` drawn rows of each.
    wanted : LocalBias
        The section of the specification.

    Returns
    -------
    LocalBias
        Of `bdt_core.local_bias.finding`.

    Raises
    ------
    SourceError, DataError
        Embeddings that cannot be read or do not fit the rows (see `read_embeddings`), or no train row with a
        favourable label; see also `find_local_bias`.
    """
    embeddings = None
    if isinstance(wanted.embeddings, str):
        embeddings = read_embeddings(wanted.embeddings, train.rows)
    settings = LocalBiasSettings(
        group=wanted.group,
        embeddings=tuple(wanted.embeddings) if isinstance(wanted.embeddings, list) else wanted.embeddings,
        n_clusters=wanted.n_clusters,
        weight=wanted.weight,
        metric=wanted.metric,
        min_group_size=wanted.min_group_size,
        threshold=PUBLISHED_THRESHOLD if wanted.max_gap is None else wanted.max_gap,
        alpha=train.spec.significance.alpha,
        min_test_rows=train.spec.significance.min_rows,  # what is not tested is not printed either
        random_state=train.spec.split.random_state,
    )
    train_rows, test_rows = (_rows(rows_at_hand(one), wanted, embeddings) for one in (train, test))
    if not (train_rows.y_true == 1.0).any():
        raise DataError(
            f'No train row has a favourable label in column "{train.spec.group_columns()[0]}". Say which value is '
            'favourable in "groups.positive", or in "bias_variable.positive".'
        )
    return find_local_bias(train_rows, test_rows, settings)


def _rows(part: AuditTable, wanted: Wanted, embeddings: Any) -> LocalRows:
    frame = part.frame
    label, prediction = part.spec.group_columns()
    assert label is not None  # the specification refuses local bias without them
    assert prediction is not None
    true, predicted = (
        _favourable(frame[name], positive)
        for name, positive in zip((label, prediction), favourable_values(part.spec), strict=True)
    )
    if embeddings is not None:
        X = embeddings[frame[ROW].to_numpy(dtype=np.int64)]
    else:
        X = frame[wanted.embeddings if isinstance(wanted.embeddings, list) else part.names("feature")]
    return LocalRows(X, frame[wanted.group].to_numpy(), y_true=true, y_pred=predicted)


def _favourable(column: Any, positive: Any) -> Any:
    """1 where a value is favourable, 0 where it is not, NaN where it is missing."""
    if isinstance(positive, Threshold):
        found = column.to_numpy(dtype=np.float64) > positive.value
    else:
        levels = tuple(column.dropna().unique().tolist())
        good = [one for one, ok in zip(levels, favourable(levels, positive), strict=True) if ok]
        found = column.isin(good).to_numpy()
    return np.where(column.isna().to_numpy(), np.nan, found.astype(np.float64))
