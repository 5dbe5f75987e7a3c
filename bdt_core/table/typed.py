"""A table as an audit saw it: which of its columns were numbers, and which categories."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bdt_core.errors import DataError, did_you_mean
from bdt_core.spec import AuditSpec
from bdt_core.table.audit_table import BIAS_VARIABLE, TableColumn
from bdt_core.table.bias_variable import bias_variable
from bdt_core.table.facts import holds_dates
from bdt_core.table.roles import settle_type
from bdt_core.table.sources import as_source_reads_it


def typed_as_audited(
    frame: pd.DataFrame,
    spec: AuditSpec,
    columns: Sequence[TableColumn],
    *,
    with_outcome: bool = False,
    as_read: bool = False,
) -> pd.DataFrame:
    """The columns of a table with the types that they had in an audit.

    Parameters
    ----------
    frame : DataFrame
        The table that was audited, or one of other people with columns of the same names; some may be missing.
    spec : AuditSpec
    columns : sequence of TableColumn
        As they were settled in the audit.
    with_outcome : bool
        Whether the bias variable is made as well, in the column ``(bias variable)``.
    as_read : bool
        Whether it was read from the source of the audit, as all of it or a batch: dates, ages and spellings are then as
        the source says.

    Returns
    -------
    DataFrame
        With the rows and the index of `frame`; where ``source.stacked`` names columns of it, each row stands there once
        for each label.

    Raises
    ------
    DataError
        A column holds something else than in the audit.
    """
    named = frame.set_axis([str(one) for one in frame.columns], axis="columns").reset_index(drop=True)
    read = named
    if not as_read:
        ages = {name: one for name, one in spec.source.ages.items() if name in named.columns}
        stacked = spec.source.stacked
        if stacked is not None and stacked.parts.isdisjoint(named.columns):
            stacked = None
        read = as_source_reads_it(named, spec.source.model_copy(update={"ages": ages, "stacked": stacked}))
    kinds = {one.name: one.kind for one in columns}
    typed = {}
    for name in read.columns:
        column, kind = read[name], kinds.get(name)
        if kind == "categorical" and holds_dates(column) and name not in spec.features.kinds:
            column = named[name]  # of these people it has nothing but dates, of those in the audit it had not
        if kind is None and not pd.api.types.is_numeric_dtype(column.dtype) and name in spec.carried:
            kind = "categorical"
        typed[name] = column if kind is None else settle_type(column, kind)
    if with_outcome:
        bias = spec.bias_variable
        for needed in (bias.column, bias.label, bias.prediction, bias.query):
            if needed is not None and needed not in read.columns:
                raise DataError(f'There is no column "{needed}". {did_you_mean(needed, read.columns)}')
        typed[BIAS_VARIABLE] = pd.Series(bias_variable(read, spec.bias_variable).y)
    every = pd.DataFrame(typed, copy=False)
    return every.set_axis(frame.index.repeat(len(every) // max(len(frame), 1)), axis="index")
