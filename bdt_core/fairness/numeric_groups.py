"""The audit's stage for declared groups whose label and prediction are numbers."""

from __future__ import annotations

from functools import partial

import pandas as pd

from bdt_core.fairness.declared_groups import (
    FacetMetrics,
    GroupMetrics,
    check_reference,
    cuts_of,
    makes_no_groups,
    note_of_numbers,
    reference_among,
)
from bdt_core.fairness.numeric_metrics import compare_by_numbers
from bdt_core.fairness.numeric_sums import NumericColumns
from bdt_core.fairness.persons import KeyedBlocks
from bdt_core.spec import AuditSpec
from bdt_core.table.source_blocks import SourceBlocks, in_blocks


def compare_numbers(source: pd.DataFrame | SourceBlocks, spec: AuditSpec) -> GroupMetrics:
    """Compute means, medians and errors of every grouping, each with its interval.

    Parameters
    ----------
    source : DataFrame or SourceBlocks
        The source as it was read, or blocks of it; the results are the same.
    spec : AuditSpec
        Its `numeric_facets` are compared in its `numeric_columns`, by ``groups`` and ``significance``; with
        ``split.key`` intervals count persons.

    Returns
    -------
    GroupMetrics

    Raises
    ------
    DataError
        A column does not exist or is no numbers.
    SpecError
        `groups.reference` names no group of any grouping.

    Examples
    --------
    >>> from bdt_core.spec import parse_spec
    >>> frame = pd.DataFrame({"sex": list("fm") * 50, "pay": [*range(100)], "model": [*range(1, 101)]})
    >>> spec = parse_spec({
    ...     "name": "pay", "source": {"path": "pay.csv"}, "protected": ["sex"],
    ...     "bias_variable": {"derive": "absolute_error", "label": "pay", "prediction": "model"},
    ... })
    >>> compare_numbers(frame, spec).facets[0].metrics["mean_error"]["f"].estimate
    1.0
    """
    blocks = in_blocks(source)
    lone = [any(one) for one in zip(*blocks.map_source_blocks(partial(_lone_numbers, spec=spec)), strict=True)]
    notes = tuple(note_of_numbers(facets) for facets, is_lone in zip(spec.numeric_facets, lone, strict=True) if is_lone)
    usable = tuple(facets for facets, is_lone in zip(spec.numeric_facets, lone, strict=True) if not is_lone)
    if not usable:
        return GroupMetrics(spec, (), (), notes)
    label, prediction = spec.numeric_columns()
    by_person = spec.split.key is not None
    facets = compare_by_numbers(
        KeyedBlocks(blocks, spec) if by_person else blocks,
        NumericColumns(usable, label, prediction, spec.groups.tolerance, cuts_of(spec)),
        partial(reference_among, named=spec.groups.reference),
        alpha=spec.significance.alpha,
        min_rows=spec.significance.min_rows,
        by_person=by_person,
    )
    check_reference([group for one in facets for group in one.groups], spec)
    return GroupMetrics(spec, tuple(FacetMetrics(*one) for one in facets), (), notes)


def _lone_numbers(frame: pd.DataFrame, spec: AuditSpec) -> list[bool]:
    return [makes_no_groups(frame, facets, spec) for facets in spec.numeric_facets]
