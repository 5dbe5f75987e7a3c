"""Check a table against the specification and settle its types."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, did_you_mean
from bdt_core.spec import AuditSpec
from bdt_core.table.audit_table import BIAS_VARIABLE, ROW, AuditTable, Column, LeftOut, Role, fingerprint
from bdt_core.table.bias_variable import bias_variable
from bdt_core.table.roles import assign_roles, kind_of, settle_type
from bdt_core.table.sources import JOINED

_DETERMINED = 0.999
_MANY_ROWS = 100


def validate(frame: pd.DataFrame, spec: AuditSpec) -> AuditTable:
    """Check the table and return the rows and columns that are audited, with settled types.

    Parameters
    ----------
    frame : DataFrame
        The source as read.
    spec : AuditSpec

    Returns
    -------
    AuditTable
        With warnings on constant and empty features, identifiers, leaks and duplicates.

    Raises
    ------
    DataError
        When the audit would be meaningless; the message names the column or key and how to mend it.
    """
    frame = _with_text_names(frame)
    _refuse_missing_columns(frame, spec.carried)
    roles = assign_roles(frame, spec)
    y, left_out = bias_variable(frame, spec.bias_variable)
    typed, columns, warnings = _settled_columns(frame, roles, spec)
    features = [one.name for one in columns if one.role == "feature"]
    if not features:
        raise DataError(
            "No feature is left to tell people apart. "
            + (" ".join(warnings) or 'List some in "features.include", or exclude fewer.')
        )
    typed[BIAS_VARIABLE] = y
    result = pd.DataFrame(typed)
    if spec.local_bias is not None and isinstance(spec.local_bias.embeddings, str):
        result[ROW] = np.arange(len(result), dtype=np.float64)
    result, dropped = _without_missing(result, features, spec)
    left_out += dropped
    audited = result[result[BIAS_VARIABLE].notna()]
    _refuse_too_few(len(audited), left_out, spec)
    warnings += _late(frame)
    warnings += find_leaks(audited, features, spec).values()
    warnings += _duplicates(audited, features)
    used = {BIAS_VARIABLE, *(one.name for one in columns if one.role != "unused")}
    return AuditTable(
        frame=result.reset_index(drop=True),
        columns=tuple(columns),
        spec=spec,
        rows=len(frame),
        left_out=tuple(left_out),
        fingerprint=fingerprint(result[[name for name in result if name in used]]),
        warnings=tuple(warnings),
    )


def _late(frame: pd.DataFrame) -> list[str]:
    """Rows that a join has found no match for."""
    joined = frame.attrs.get(JOINED)
    if not joined or not joined["without_match"]:
        return []
    return [
        f"{joined['without_match']:,} of {joined['rows']:,} rows have no match in {joined['table']} by "
        f"{joined['key']}: what it would add, such as a label that is not known yet, is missing there."
    ]


def _with_text_names(frame: pd.DataFrame) -> pd.DataFrame:
    names = [str(one) for one in frame.columns]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(
            f"Column names must differ, but {', '.join(map(repr, repeated[:5]))} stand there more than once."
        )
    if BIAS_VARIABLE in names:
        raise DataError(f'"{BIAS_VARIABLE}" is a reserved column name. Rename the column.')
    return frame.set_axis(names, axis="columns").reset_index(drop=True)


def _refuse_missing_columns(frame: pd.DataFrame, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in frame.columns:
            raise DataError(
                f'There is no column "{name}", which local_bias or mitigation names. '
                f"{did_you_mean(name, frame.columns)}"
            )


def _settled_columns(
    frame: pd.DataFrame, roles: dict[str, Role], spec: AuditSpec
) -> tuple[dict[str, object], list[Column], list[str]]:
    """Typed columns by name, every column's facts, and warnings on features that say nothing."""
    typed: dict[str, object] = {}
    columns: list[Column] = []
    warnings: list[str] = []
    for name, role in roles.items():
        series = frame[name]
        missing = int(series.isna().sum())
        distinct = int(series.nunique())
        kind = None
        if role in ("feature", "protected"):
            if distinct == 0 or (distinct == 1 and missing == 0):
                what = "has no value in any row" if distinct == 0 else "has the same value in every row"
                warnings.append(f'Column "{name}" {what}; it is left out of the {role}s.')
                role = "unused"
            else:
                kind = kind_of(series, spec.features.kinds.get(name))
                typed[name] = settle_type(series, kind)
                if role == "feature" and kind == "numeric" and _counts_the_rows(series, distinct):
                    warnings.append(
                        f'Column "{name}" numbers the rows one by one; if it is an identifier, add it to '
                        '"features.exclude".'
                    )
        if name not in typed and (role in ("label", "prediction") or name in spec.carried):
            typed[name] = series if pd.api.types.is_numeric_dtype(series.dtype) else settle_type(series, "categorical")
        columns.append(Column(name, role, kind, missing, distinct))
    return typed, columns, warnings


def _counts_the_rows(series: pd.Series, distinct: int) -> bool:
    return (
        distinct == len(series) >= _MANY_ROWS
        and pd.api.types.is_integer_dtype(series.dtype)
        and float(series.max()) - float(series.min()) < 10 * distinct
    )


def _without_missing(frame: pd.DataFrame, features: list[str], spec: AuditSpec) -> tuple[pd.DataFrame, list[LeftOut]]:
    """Apply the rule for missing feature values."""
    counts = frame[features].isna().sum()
    if spec.missing == "keep" or counts.sum() == 0:
        return frame, []
    if spec.missing == "error":
        listed = ", ".join(f'"{name}" ({int(count):,})' for name, count in counts[counts > 0].items())
        raise DataError(
            f'Missing values in {listed}, and "missing: error" forbids them. '
            'Fill them, or set "missing" to keep or drop.'
        )
    complete = frame[features].notna().all(axis="columns")
    lost = int((~complete & frame[BIAS_VARIABLE].notna()).sum())
    return frame[complete], [LeftOut('a feature is missing ("missing: drop")', lost)] if lost else []


def _refuse_too_few(rows: int, left_out: list[LeftOut], spec: AuditSpec) -> None:
    """Nothing could be found or tested on so few rows."""
    reasons = "".join(f" {one.rows:,} rows are left out: {one.reason}." for one in left_out)
    test_rows = round(rows * spec.split.test_size)
    train_rows = rows - test_rows
    wanted = 2 * spec.significance.min_rows
    if test_rows < wanted:
        enough = math.ceil(wanted / spec.split.test_size)
        raise DataError(
            f"Too few rows: {rows:,} can be audited, so {test_rows:,} would be test rows, and a comparison needs "
            f"{spec.significance.min_rows} on either side.{reasons} Bring at least {enough:,} rows, or lower "
            '"significance.min_rows".'
        )
    size = spec.clustering.min_cluster_size
    if size is None:
        return
    smallest = size * train_rows if size < 1 else size
    if 2 * smallest > train_rows:
        raise DataError(
            f'"clustering.min_cluster_size: {size:g}" is over half of the {train_rows:,} train rows, so no split is '
            "possible. Choose a smaller one, such as 0.01."
        )


def find_leaks(audited: pd.DataFrame, features: list[str], spec: AuditSpec) -> dict[str, str]:
    """Features that define or determine the bias variable: clustering on them finds only their definition.

    Returns
    -------
    dict
        A sentence by column.
    """
    y = audited[BIAS_VARIABLE].to_numpy(dtype=np.float64)
    leaks = {}
    for name in features:
        if name in (spec.bias_variable.label, spec.bias_variable.prediction):
            leaks[name] = (
                f'Column "{name}" defines the bias variable and is also a feature: clusters will follow from that '
                'definition. Take it out of "features.include".'
            )
        elif _explained(audited[name], y) >= _DETERMINED:
            leaks[name] = (
                f'Column "{name}" determines the bias variable (almost) completely: it may be a leak. If so, add it '
                'to "features.exclude".'
            )
    return leaks


def _explained(column: pd.Series, y: NDArray[np.float64]) -> float:
    """Share of the variance of y that the column explains: by group means, or linearly when nearly all differ."""
    codes, levels = pd.factorize(column, use_na_sentinel=False)
    total = float(((y - y.mean()) ** 2).sum())
    if len(levels) <= len(y) / 5:
        sizes = np.bincount(codes)
        means = np.bincount(codes, weights=y) / sizes
        return float((sizes * (means - y.mean()) ** 2).sum()) / total
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return 0.0
    known = column.notna().to_numpy()
    x = column.to_numpy(dtype=np.float64)[known]
    if x.size < 2 or x.std() == 0 or y[known].std() == 0:
        return 0.0
    return float(np.corrcoef(x, y[known])[0, 1] ** 2)


def _duplicates(audited: pd.DataFrame, features: list[str]) -> list[str]:
    distinct = len(audited[features].drop_duplicates())
    if distinct == 1:
        raise DataError("All rows have the same feature values, so nobody can be told apart. Add features.")
    return []
