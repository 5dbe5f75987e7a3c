"""Rules for an audit's tables, built from its specification.

A rule pairs one expectation with the count that a person wants to see beside it. Counts only: no cell value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bdt_core.errors import BDTError
from bdt_core.said import Column, Numeral, joined, say
from bdt_core.spec import AuditSpec
from bdt_pipeline.resources.expectations import Expectation

if TYPE_CHECKING:
    import pandas as pd

    from bdt_core.table.audit_table import AuditTable

MOST_MISSING = 0.05
MOST_REPEATED = 0.2
MOST_LEVELS = 50
_REPEATS = "(repeats an earlier row)"


@dataclass(frozen=True)
class TableRule:
    """One expectation, and what it says to a person.

    Attributes
    ----------
    check : str
        The asset check that it belongs to.
    subject : str
        A column, or what is counted.
    observed, expected : str
    expectation : Expectation
    """

    check: str
    subject: str
    observed: str
    expected: str
    expectation: Expectation


def with_marks(frame: pd.DataFrame, spec: AuditSpec) -> pd.DataFrame:
    """The table as read, with columns that mark repeated rows and values that should be numbers and are not.

    Lists and other containers, which cannot be counted, stand there as texts.
    """
    import pandas as pd

    try:
        repeats = frame.duplicated()
    except TypeError:
        objects = frame.select_dtypes(object)
        frame = frame.assign(**{str(name): one.map(_as_text, na_action="ignore") for name, one in objects.items()})
        repeats = frame.duplicated()
    marks = {_REPEATS: repeats}
    if spec.bias_variable.is_of_numbers:
        for name in _bias_columns(spec):
            if name in frame.columns and not pd.api.types.is_numeric_dtype(frame[name].dtype):
                marks[_not_a_number(name)] = pd.to_numeric(frame[name], errors="coerce").isna() & frame[name].notna()
    return frame.assign(**marks)


def _as_text(value: Any) -> str:
    return str(value.tolist() if hasattr(value, "tolist") else value)


def raw_rules(marked: pd.DataFrame, spec: AuditSpec) -> Iterator[TableRule]:
    """Rules for the table as it was read; ``marked`` comes from :func:`with_marks`."""
    for name in _named_columns(spec):
        presence = say("there") if name in marked.columns else say("missing")
        exists = Expectation("ExpectColumnToExist", {"column": name})
        yield TableRule("columns_exist", Column(name), presence, say("there"), exists)
    rows = math.ceil(2 * spec.significance.min_rows / (spec.split.test_size if spec.uses_test_rows else 1.0))
    yield TableRule("enough_rows", say("rows"), _count(len(marked)), _at_least(rows), _row_count(rows))
    for name in _bias_columns(spec):
        if name in marked.columns:
            yield from _bias_column(marked, name, spec)
    for name in _features(marked, spec):
        missing = bool(marked[name].isna().any())
        values = int(marked[name].nunique()) + missing
        yield TableRule(
            "features_vary", Column(name), _values(values), _at_least(2), _distinct(name, least=2 - missing)
        )
    repeated = say("{N} of {Nall}", N=_count(int(marked[_REPEATS].sum())), Nall=_count(len(marked)))
    most = say("at most {size}", size=Numeral(f"{MOST_REPEATED:.0%}"))
    yield TableRule("few_duplicate_rows", say("repeated rows"), repeated, most, _unmarked(_REPEATS))


def validated_rules(table: AuditTable, spec: AuditSpec) -> Iterator[TableRule]:
    """Rules for the audited rows, ``table.audited``."""
    from bdt_core.clustering.clusters import min_cluster_rows

    rows = table.audited
    for column in table.columns:
        if column.kind == "categorical":
            levels = say("{N} categories", N=_count(int(rows[column.name].nunique())))
            most = say("at most {size}", size=Numeral(str(MOST_LEVELS)))
            yield TableRule(
                "few_categories", Column(column.name), levels, most, _distinct(column.name, most=MOST_LEVELS)
            )
    if spec.clustering is None:
        return
    share = spec.split.test_size
    smallest = min_cluster_rows(spec.clustering, round(len(rows) * (1 - share)), spec)
    testable = math.ceil(spec.significance.min_rows * (1 - share) / share)
    yield TableRule(
        "clusters_large_enough",
        say("train rows of the smallest cluster"),
        _count(smallest),
        say("at least {N}, or it will have fewer test rows than significance.min_rows", N=_count(testable)),
        _row_count(math.ceil(len(rows) * testable / smallest)),
    )


def _bias_column(marked: pd.DataFrame, name: str, spec: AuditSpec) -> Iterator[TableRule]:
    """Label, prediction or the bias variable itself: usable, and known for nearly everybody."""
    missing = say("{N} missing of {Nall}", N=_count(int(marked[name].isna().sum())), Nall=_count(len(marked)))
    most = say("at most {size}", size=Numeral(f"{MOST_MISSING:.0%}"))
    known = Expectation("ExpectColumnValuesToNotBeNull", {"column": name, "mostly": 1 - MOST_MISSING})
    yield TableRule("bias_variable_complete", Column(name), missing, most, known)
    mark = _not_a_number(name)
    if mark in marked.columns:
        texts = say("{N} values are not numbers", N=_count(int(marked[mark].sum())))
        yield TableRule("bias_variable_usable", Column(name), texts, say("numbers only"), _unmarked(mark, most=0))
    bias = spec.bias_variable
    two = not bias.is_of_numbers and bias.positive is None
    values = _values(int(marked[name].nunique()))
    expectation = _distinct(name, least=1 if two else 2, most=2 if two else None)
    distinct = joined([Numeral("1"), Numeral("2")], " or ") if two else _at_least(2)
    yield TableRule("bias_variable_usable", Column(name), values, distinct, expectation)


def _count(number: int) -> str:
    return Numeral(f"{number:,}")


def _values(number: int) -> str:
    return say("{N} values", N=_count(number))


def _at_least(number: int) -> str:
    return say("at least {size}", size=_count(number))


def _bias_columns(spec: AuditSpec) -> list[str]:
    bias = spec.bias_variable
    return [one for one in (bias.column, bias.label, bias.prediction) if one is not None]


def _named_columns(spec: AuditSpec) -> list[str]:
    """Every column that the specification names, once."""
    features = spec.features
    names = [*_bias_columns(spec), *spec.protected, *(features.include or []), *features.exclude, *features.kinds]
    return list(dict.fromkeys(names))


def _features(marked: pd.DataFrame, spec: AuditSpec) -> list[str]:
    """The columns that are clustered on; none when the roles do not fit the table, which another rule reports."""
    from bdt_core.table.roles import assign_roles

    marks = [_REPEATS, *map(_not_a_number, _bias_columns(spec))]
    try:
        roles = assign_roles([str(one) for one in marked.columns if one not in marks], spec)
    except BDTError:
        return []
    return [name for name, role in roles.items() if role == "feature"]


def _not_a_number(name: str) -> str:
    return f"({name} is not a number)"


def _unmarked(mark: str, most: float = MOST_REPEATED) -> Expectation:
    return Expectation("ExpectColumnValuesToBeInSet", {"column": mark, "value_set": [False], "mostly": 1 - most})


def _row_count(least: int) -> Expectation:
    return Expectation("ExpectTableRowCountToBeBetween", {"min_value": least})


def _distinct(column: str, least: int | None = None, most: int | None = None) -> Expectation:
    bounds: dict[str, Any] = {"min_value": least, "max_value": most}
    return Expectation("ExpectColumnUniqueValueCountToBeBetween", {"column": column, **bounds})
