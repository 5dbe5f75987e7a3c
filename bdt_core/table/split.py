"""Divide the rows: clusters are found on one part and tested on the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.spec import Split
from bdt_core.table.audit_table import BIAS_VARIABLE, KEY, RANK, AuditTable, taken, tidy
from bdt_core.table.pool import blocks_of
from bdt_core.table.ranks import has_copies, is_test, row_hashes
from bdt_core.table.rows import Rows
from bdt_core.table.validate import with_ranks

_FEW_VALUES = 10


def split_rows(table: AuditTable, settings: Split) -> tuple[AuditTable, AuditTable]:
    """Divide a table at random into train and test rows.

    Rows are first put in the order of their content, so the same rows in another order give the same parts. A large
    table, or one with a key, is divided by hash: every row (or every key) by its own random number.
    Rows outside the bias variable's denominator are divided too, for metrics that need them.

    Parameters
    ----------
    table : AuditTable
    settings : Split
        With ``stratify`` each value of a discrete bias variable (each decile of a continuous one) is divided in
        the same proportion.

    Returns
    -------
    train, test : AuditTable

    Raises
    ------
    DataError
        When a part would have fewer than two audited rows.
    """
    divided = _by_hash(with_ranks(table), settings) if is_by_hash(table, settings) else _drawn(table, settings)
    spec = table.spec.model_copy(update={"split": settings})
    train, test = table.with_rows(divided[0], "train", spec), table.with_rows(divided[1], "test", spec)
    refuse_empty_parts((train, test), table.audited_rows)
    return train, test


def _drawn(table: AuditTable, settings: Split) -> tuple[pd.DataFrame, ...]:
    """Train and test rows drawn from all, in the order of their content."""
    order = order_of_content(table.frame, table.used)
    is_test_row = _stratified(table.frame[BIAS_VARIABLE].to_numpy(dtype=np.float64)[order], settings)
    return tuple(table.frame.take(order[side]) for side in (~is_test_row, is_test_row))


def _by_hash(table: AuditTable, settings: Split) -> tuple[pd.DataFrame, ...]:
    """Train and test rows by their own random numbers.

    They are in the order of their content; where they are several blocks of a large table, of which every stage takes
    the sums or a sample by their ranks, in the order in which they came.
    """
    is_test_row = on_test_side(table.frame, settings)
    parts = []
    for side in (~is_test_row, is_test_row):
        rows = taken(table.frame, np.flatnonzero(side))
        if len(rows) <= table.spec.large_rows or len(blocks_of(len(rows))) == 1:
            rows = taken(rows, order_of_content(rows, table.used))
        parts.append(tidy(rows))
    return tuple(parts)


def is_by_hash(table: Rows, settings: Split) -> bool:
    """Whether each row is divided by its own random number, as rows in shards are."""
    return settings.method == "hash" or settings.key is not None or (settings.method == "auto" and table.is_large)


def on_test_side(frame: pd.DataFrame, settings: Split) -> NDArray[np.bool_]:
    """Which rows with their ranks (or keys) are test rows."""
    numbers = frame[RANK if settings.key is None else KEY].to_numpy()
    return is_test(numbers, settings.test_size, settings.random_state)


def order_of_content(frame: pd.DataFrame, used: list[str]) -> NDArray[np.intp]:
    """The places of the rows in an order that does not depend on the one they come in."""
    hashes = row_hashes(frame[used])
    if not has_copies(hashes):
        return np.argsort(hashes)
    carried = [name for name in frame.columns if name not in used]
    # Equal rows may differ in what is carried along: they too get an order of their own.
    return np.lexsort((row_hashes(frame[carried]) if carried else hashes, hashes))


def refuse_empty_parts(parts: Sequence[Rows], audited_rows: int) -> None:
    """Raise DataError when a part has too few rows to work with."""
    for part in parts:
        if part.audited_rows < 2:
            raise DataError(
                f"The {part.part} part would hold {part.audited_rows} of {audited_rows} audited rows. Expected at "
                'least 2: bring more rows or change "split.test_size".'
            )


def _stratified(y: NDArray[np.float64], settings: Split) -> NDArray[np.bool_]:
    """Draw the test rows, in the same proportion of each stratum."""
    strata = _strata(y, settings.stratify)
    rng = np.random.default_rng(settings.random_state)
    is_test_row = np.zeros(len(y), dtype=bool)
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        is_test_row[rng.permutation(rows)[: round(settings.test_size * len(rows))]] = True
    return is_test_row


def _strata(y: NDArray[np.float64], stratify: bool) -> NDArray[np.int64]:
    """Stratum per row; rows without a bias variable are a stratum of their own."""
    outside = np.isnan(y)
    if not stratify or outside.all():
        return outside.astype(np.int64)
    values = np.unique(y[~outside])
    if len(values) > _FEW_VALUES:
        values = np.unique(np.quantile(y[~outside], np.arange(1, 10) / 10))
    return np.where(outside, -1, np.searchsorted(values, y, side="right")).astype(np.int64)
