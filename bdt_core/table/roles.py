"""Roles of columns, and whether these hold numbers or categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, did_you_mean
from bdt_core.said import AsItIs, Column, Text, joined, say
from bdt_core.spec import AuditSpec, Kind
from bdt_core.table.audit_table import Role
from bdt_core.table.facts import NEIGHBOURS_ARE_ONE, ColumnFacts, holds_dates, holds_numbers, is_beyond
from bdt_core.table.source_blocks import group_columns
from bdt_core.words import count

MAX_LEVELS = 65_000
_FEW_LEVELS = 50
_MANY_NUMBERS, _MOSTLY, _FEW_DATES = 20, 0.9, 5


def assign_roles(names: Sequence[str], spec: AuditSpec) -> dict[str, Role]:
    """Part that each column of the source plays, by the names of all.

    Features are, by default, all columns that are not used elsewhere, or the first ``features.at_most`` of them.

    Raises
    ------
    DataError
        For a name that is no column, or that is claimed for two parts that exclude each other.
    """
    bias = spec.bias_variable
    named = {
        "bias_variable.column": [bias.column] if bias.column else [],
        "bias_variable.label": [bias.label] if bias.label else [],
        "bias_variable.prediction": [bias.prediction] if bias.prediction else [],
        "bias_variable.query": [bias.query] if bias.query else [],
        "protected": spec.protected,
        "features.include": spec.features.include or [],
        "features.exclude": spec.features.exclude,
        "features.leaks": spec.features.leaks,
        "features.kinds": list(spec.features.kinds),
        "split.key": [spec.split.key] if spec.split.key else [],
        "labels": list(spec.labels),
        "units": list(spec.units),
    }
    known = frozenset(names)
    for key, these in named.items():
        for name in these:
            if name not in known:
                raise DataError(
                    f'"{key}" names the column "{name}", which the table does not have. {did_you_mean(name, names)}'
                )
    included = set(spec.features.include or [])
    for name in sorted(included & set(spec.protected)):
        raise DataError(f'Column "{name}" stands in both "protected" and "features.include". Keep it in one of them.')
    if bias.column in included:
        raise DataError(f'Column "{bias.column}" is the bias variable; it cannot be a feature too.')
    if bias.query is not None and bias.query in {*included, *spec.declared_columns}:
        raise DataError(
            f'Column "{bias.query}" names the lists within which people are compared ("bias_variable.query"); it '
            "cannot be a feature, nor name groups."
        )
    features = included if spec.features.include is not None else {*_free(names, spec)[: spec.features.at_most]}
    declared = spec.declared_columns - {spec.split.key, *spec.scores}
    protected = frozenset(spec.protected)
    roles: dict[str, Role] = {}
    for name in names:
        if name == bias.column:
            roles[name] = "bias_variable"
        elif name in protected:
            roles[name] = "protected"
        elif name in features:
            roles[name] = "feature"
        elif name == bias.label:
            roles[name] = "label"
        elif name == bias.prediction:
            roles[name] = "prediction"
        elif name in declared:
            roles[name] = "protected"  # who the groups are is compared with the clusters, wherever it is said
        else:
            roles[name] = "unused"
    return roles


def beyond_the_most(names: Sequence[str], spec: AuditSpec) -> list[str]:
    """Columns that would be features if ``features.at_most`` were not reached, by the names of all."""
    return [] if spec.features.include is not None else _free(names, spec)[spec.features.at_most :]


def not_searched(columns: int, of: int, at_most: int) -> Text:
    """What to say of columns that are left out of the features because there are too many."""
    return joined(
        [
            say(
                "{N} of the {Nall} columns are not searched, only the first {Nmost} that could tell people apart "
                '("features.at_most").',
                N=count(columns),
                Nall=count(of),
                Nmost=count(at_most),
            ),
            say('Name those that matter in "features.include".'),
        ],
        " ",
    )


def _free(names: Sequence[str], spec: AuditSpec) -> list[str]:
    """Columns that a specification uses for nothing else, and does not set aside."""
    bias = spec.bias_variable
    texts = spec.local_bias.texts if spec.local_bias else None
    set_aside = {*spec.features.exclude, *spec.features.leaks, spec.split.key, bias.query, *spec.scores, texts}
    used = {bias.column, bias.label, bias.prediction, *spec.protected, *set_aside}
    return [name for name in names if name not in used]


def looked_at(names: Sequence[str], spec: AuditSpec) -> list[str] | None:
    """The columns that an audit looks at, by the names of all; of the others it knows no more than the name.

    None, for all of them, where the specification does not fit these: whoever says so knows the others then.
    """
    try:
        roles = assign_roles(names, spec)
    except DataError:
        return None
    besides = {*spec.carried, *group_columns(spec), spec.split.key, spec.bias_variable.query} - {None}
    if not besides <= roles.keys():
        return None
    return [name for name, role in roles.items() if role != "unused" or name in besides]


def kind_of(column: pd.Series, named: Kind | None) -> Kind:
    """Numbers or categories: what the specification says, else the column's type; never guessed from values."""
    if named is not None:
        return named
    if holds_dates(column):
        return "numeric"
    return "numeric" if holds_numbers(column) else "categorical"


def settle_type(column: pd.Series, kind: Kind) -> pd.Series:
    """The column as float64 or as categories of text; missing stays missing. Dates as numbers are years.

    Raises
    ------
    DataError
        For text or infinite values in a numeric column, and for lists in a categorical one.
    """
    return _as_numbers(column) if kind == "numeric" else _as_categories(column)


def looks_like_identifier(levels: int, rows: int) -> bool:
    """Whether a categorical column has too many levels to describe a group."""
    return levels > MAX_LEVELS or levels > max(_FEW_LEVELS, rows / 2)


def refuse_identifier(name: str, levels: int | None, rows: int) -> None:
    """Raise DataError for a categorical column with too many levels to describe a group.

    Parameters
    ----------
    levels : int or None
        None when they are too many to be counted.
    """
    if levels is None or looks_like_identifier(levels, rows):
        counted = f"more than {MAX_LEVELS:,}" if levels is None else f"{levels:,}"
        raise DataError(
            f'Column "{name}" has {counted} different values in {rows:,} rows: it looks like an identifier. Add it to '
            '"features.exclude" (or group its values). If it should be numbers, set '
            f'"features.kinds.{name}" to numeric, and what is no number will be counted.'
        )


def refuse_rounded(values: pd.Series | pd.Index, name: object) -> None:
    """Raise DataError for floats that name something, and each of which may stand for several whole numbers."""
    if pd.api.types.is_float_dtype(values.dtype) and is_beyond(values):
        raise DataError(
            f'Column "{name}" names people, groups or values by whole numbers from {NEIGHBOURS_ARE_ONE:,} on, which '
            "came as floats, as where some are missing or have decimals: neighbours would be one. Fill the gaps, or "
            "write them as texts (in a text file with a letter before each)."
        )


def warn_of_rounded(name: str, facts: ColumnFacts, *, names_groups: bool, is_feature: bool) -> list[str]:
    """What to say of a column of numbers that floats do not tell from their neighbours.

    Raises
    ------
    DataError
        They name groups.
    """
    if not facts.is_beyond:
        return []
    warning = say(
        'Column "{as_is}" holds numbers from {N} on, which are rounded: neighbours are one.',
        as_is=Column(name),
        N=count(NEIGHBOURS_ARE_ONE),
    )
    if names_groups:
        raise DataError(f'{warning} As they name groups, set "features.kinds.{name}" to categorical.')
    if not is_feature:  # of a legitimate factor that is none, the source alone says what it is
        return [joined([warning, say("If they name something, write them as texts in the source.")], " ")]
    mended = say(
        'If they name something, set "{as_is}" to categorical, or add the column to "features.exclude".',
        as_is=_kind_of(name),
    )
    return [joined([warning, mended], " ")]


def warn_of_dates_as_texts(name: str, facts: ColumnFacts) -> list[str]:
    """What to say of a column of texts most of which are dates: it is left out, for each day would be a group."""
    dates, distinct = facts.distinct_dates, facts.distinct or 0
    if dates < _FEW_DATES or dates < _MOSTLY * distinct:
        return []
    warning = say(
        'Column "{as_is}" holds dates as texts, not all in one notation that is certain, and is left out.',
        as_is=Column(name),
    )
    mended = say(
        'Write them as 2026-01-31 in a text file, or as dates; or set "{as_is}" to categorical.', as_is=_kind_of(name)
    )
    return [joined([warning, mended], " ")]


def warn_of_texts_among_numbers(name: str, facts: ColumnFacts) -> list[str]:
    """What to say of a column of text that is one of numbers but for a few values, such as "unknown"."""
    distinct = facts.distinct or 0
    figures = facts.distinct_figures
    numbers = facts.distinct_numbers + figures
    if figures and numbers == distinct >= _MANY_NUMBERS:
        warning = say(
            'Column "{as_is}" is taken for categories, since its numbers are texts that are not all in one notation '
            "that is read.",
            as_is=Column(name),
        )
        mended = say(
            'If it should be numbers, write them as 1234.5 in the source; if not, set "{as_is}" to categorical.',
            as_is=_kind_of(name),
        )
        return [joined([warning, mended], " ")]
    if numbers < _MANY_NUMBERS or not _MOSTLY <= numbers / distinct < 1:
        return []
    warning = say(
        'Column "{as_is}" is taken for categories, since {N} of its {Nall} different values is no number.'
        if distinct - numbers == 1
        else 'Column "{as_is}" is taken for categories, since {N} of its {Nall} different values are no number.',
        as_is=Column(name),
        N=count(distinct - numbers),
        Nall=count(distinct),
    )
    mended = say(
        'If it should be numbers, leave such values empty in the source; if not, set "{as_is}" to categorical.',
        as_is=_kind_of(name),
    )
    return [joined([warning, mended], " ")]


def _kind_of(name: str) -> str:
    """The key of a specification that says what a column holds."""
    return AsItIs(f"features.kinds.{name}")


def as_years(column: pd.Series) -> pd.Series:
    """Points in time as years with fractions, in UTC: the first of July is about half a year.

    Examples
    --------
    >>> as_years(pd.Series(pd.to_datetime(["2026-01-01", "2024-07-01", None]))).round(2).tolist()
    [2026.0, 2024.5, nan]
    """
    known = column.notna().to_numpy()
    times = pd.to_datetime(column[known], utc=True).dt.tz_localize(None).to_numpy("datetime64[s]")
    year = times.astype("datetime64[Y]")
    start, end = year.astype("datetime64[s]"), (year + 1).astype("datetime64[s]")
    years = np.full(len(column), np.nan)
    years[known] = 1970 + year.astype(np.int64) + (times - start) / (end - start)
    return pd.Series(years, index=column.index, name=column.name)


def _as_numbers(column: pd.Series) -> pd.Series:
    if holds_dates(column):
        return as_years(column)
    are_numbers = isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
    numbers = (column if are_numbers else pd.to_numeric(column, errors="coerce")).astype(np.float64)
    bad = 0 if are_numbers else int((numbers.isna() & column.notna()).sum())
    if bad:
        raise DataError(
            f'Column "{column.name}" is said to be numeric, but {bad:,} of {len(column):,} values are not numbers. '
            f'Set "features.kinds.{column.name}" to categorical, or clean the column.'
        )
    infinite = int(np.count_nonzero(np.isinf(numbers.to_numpy())))
    if infinite:
        raise DataError(
            f'Column "{column.name}" holds {infinite:,} infinite values. Replace them, or add the column to '
            '"features.exclude".'
        )
    return numbers


def _levels_of(column: pd.Series) -> tuple[NDArray[Any], pd.Index]:
    """What `pandas.factorize` gives of categories, in their own order: the codes are known, and only so many values."""
    categories: Any = column.array
    codes = categories.codes
    occurs = np.zeros(len(categories.categories) + 1, dtype=np.bool_)
    occurs[codes] = True  # missing, -1, is the last one
    values = np.flatnonzero(occurs[:-1])
    places = np.full(len(occurs), -1, dtype=codes.dtype)
    places[values] = np.arange(len(values))
    return places[codes], pd.CategoricalIndex(pd.Categorical.from_codes(values, dtype=categories.dtype))


def _as_categories(column: pd.Series) -> pd.Series:
    try:
        codes, values = _levels_of(column) if isinstance(column.dtype, pd.CategoricalDtype) else pd.factorize(column)
    except TypeError:
        raise DataError(
            f'Column "{column.name}" holds lists or other containers, which are no categories. Unpack them into '
            'columns of their own, or add the column to "features.exclude".'
        ) from None
    if any(isinstance(one, bytes) for one in values[:1]):
        raise DataError(
            f'Column "{column.name}" holds bytes, which are no categories. Write it as text, or add the column to '
            '"features.exclude".'
        )
    refuse_rounded(values, column.name)
    is_float = pd.api.types.is_float_dtype(values.dtype)
    # 1012.0, a whole number made float by a missing value, is 1012.
    texts = [str(int(one)) if float(one).is_integer() else str(one) for one in values] if is_float else (
        pd.Series(values).astype(str).tolist()
    )  # fmt: skip
    levels, positions = np.unique(np.array(texts, dtype=object), return_inverse=True)
    # Missing has the code -1. In few bytes, as there is one for each row.
    places = np.append(positions, -1).astype(np.min_scalar_type(-len(levels) - 1))
    return pd.Series(
        pd.Categorical.from_codes(places[codes], categories=pd.Index(levels.tolist())),
        index=column.index,
        name=column.name,
    )
