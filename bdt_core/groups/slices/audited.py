"""The search in an audit: intersections in which the bias variable is worse, on the audit's own train and test rows."""

from __future__ import annotations

import math

from bdt_core.groups.settings import searched_columns
from bdt_core.groups.slices.bound import is_bounded, most_combinations
from bdt_core.groups.slices.measure import MEAN, resolve
from bdt_core.groups.slices.results import Slices
from bdt_core.groups.slices.settings import SliceSettings
from bdt_core.groups.slices.stages import search
from bdt_core.spec import SliceSearch
from bdt_core.spec.wording import wording
from bdt_core.table.audit_table import BIAS_VARIABLE
from bdt_core.table.persons import persons_of
from bdt_core.table.rows import Rows


def find_bias_slices(train: Rows, test: Rows, settings: SliceSearch) -> Slices:
    """Find the intersections of features and protected attributes in which people fare worse.

    Parameters
    ----------
    train, test : Rows
        Slices are found on the one and tested on the other.
    settings : SliceSearch

    Returns
    -------
    Slices
        Of the mean of the bias variable: a rate, where it has two values.

    Raises
    ------
    DataError
        A column that does not exist.
    """
    spec = train.spec
    name = wording(spec.bias_variable).name
    columns = searched_columns(train, settings.columns)
    outcome = name if name not in columns else BIAS_VARIABLE
    asked = SliceSettings(
        max_conditions=settings.max_conditions,
        min_support=settings.min_support,
        min_rows=spec.significance.min_rows,
        fdr=settings.fdr / (spec.looks or 1),  # of what all looks find, at most the sum of their shares is false
        alpha=spec.significance.alpha,
        bins=settings.bins,
        random_state=spec.split.random_state,
    )
    measure = resolve(MEAN, better=spec.bias_variable.better, outcome=outcome)
    persons = [persons_of(part) for part in (train, test)]
    return search(
        train,
        test,
        columns,
        measure,
        asked,
        sample_rows=spec.large_rows,
        persons=[of_part and of_part[0] for of_part in persons],
    )


def said_before(train: Rows, test: Rows, settings: SliceSearch) -> str | None:  # noqa: ARG001
    """What a search of a wide table is going to count, and what it leaves out; None where it counts everything."""
    columns = len(searched_columns(train, settings.columns))
    sizes = range(1, min(settings.max_conditions, columns) + 1)
    bounded = [size for size in sizes if is_bounded(columns, size)]
    if not bounded:
        return None
    counted = sum(min(math.comb(columns, size), most_combinations(size)) for size in sizes)
    left_out = " and ".join(
        f"of the {math.comb(columns, size):,} combinations of {size} columns {most_combinations(size):,} at most"
        for size in bounded
    )
    return (
        f"Intersections of {columns:,} columns: up to {counted:,} combinations of columns are counted on "
        f"{train.audited_rows:,} train rows, {left_out}: where more of them may have enough rows, only those of the "
        "columns that show most harm with fewer conditions. slices.columns in the specification narrows the search."
    )
