"""The legitimate factors of a table's rows, as `bdt_core.inference.alike` takes them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bdt_core.inference.alike import Factors
from bdt_core.metrics import harm_sign
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.persons import numbers_of, persons_of
from bdt_core.table.rows import Rows

MOST_ROWS = 100_000
_SEED = 42
"""Of the divisions into folds: no audit has another, so that its seed does not decide what remains."""


def rows_for_factors(table: Rows) -> AuditTable:
    """All rows; of more than `MOST_ROWS` that many, drawn by their hash."""
    most = min(MOST_ROWS, table.spec.large_rows)
    return table.sample(most) if table.audited_rows > most else table.in_memory()


def factors_of(table: AuditTable) -> Factors:
    """The legitimate factors and the harm of the audited rows: the bias variable, turned so that higher is worse."""
    spec, frame = table.spec, table.audited
    columns = [frame[name] for name in spec.legitimate]
    numeric = [pd.api.types.is_numeric_dtype(one.dtype) for one in columns]
    values = np.stack(
        [
            one.to_numpy(dtype=np.float64, na_value=np.nan)
            if is_number
            else np.where((codes := pd.factorize(one, sort=True)[0]) < 0, np.nan, codes)
            for one, is_number in zip(columns, numeric, strict=True)
        ],
        axis=1,
    )
    harm = harm_sign(spec.bias_variable.better) * table.y
    counted = persons_of(table)
    units = None if counted is None else numbers_of(counted[0], table).astype(np.int64)
    return Factors(values, tuple(not one for one in numeric), harm, units, seed=_SEED)
