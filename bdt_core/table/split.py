"""Divide the rows: clusters are found on one part and tested on the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.spec import Split
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable, row_hashes

_FEW_VALUES = 10


def split_rows(table: AuditTable, settings: Split) -> tuple[AuditTable, AuditTable]:
    """Divide a table at random into train and test rows.

    Rows are first put in the order of their content, so the same rows in another order give the same parts.
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
    carried = [name for name in table.frame.columns if name not in table.used]
    hashes = row_hashes(table.frame[table.used])
    # Equal rows may differ in what is carried along: they too get an order of their own.
    order = np.lexsort((row_hashes(table.frame[carried]) if carried else hashes, hashes))
    frame = table.frame.take(order)
    strata = _strata(frame[BIAS_VARIABLE].to_numpy(dtype=np.float64), settings.stratify)
    rng = np.random.default_rng(settings.random_state)
    is_test = np.zeros(len(frame), dtype=bool)
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        is_test[rng.permutation(rows)[: round(settings.test_size * len(rows))]] = True
    spec = table.spec.model_copy(update={"split": settings})
    train = table.with_rows(frame[~is_test], "train", spec)
    test = table.with_rows(frame[is_test], "test", spec)
    for part in (train, test):
        if len(part.y) < 2:
            raise DataError(
                f"The {part.part} part would hold {len(part.y)} of {len(table.y)} audited rows. Expected at least 2: "
                'bring more rows or change "split.test_size".'
            )
    return train, test


def _strata(y: NDArray[np.float64], stratify: bool) -> NDArray[np.int64]:
    """Stratum per row; rows without a bias variable are a stratum of their own."""
    outside = np.isnan(y)
    if not stratify or outside.all():
        return outside.astype(np.int64)
    values = np.unique(y[~outside])
    if len(values) > _FEW_VALUES:
        values = np.unique(np.quantile(y[~outside], np.arange(1, 10) / 10))
    return np.where(outside, -1, np.searchsorted(values, y, side="right")).astype(np.int64)
