"""Every metric from a count table, in the order of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from bdt_core.errors import SpecError, did_you_mean
from bdt_core.fairness.coding import Threshold, Value, canonical, values_of
from bdt_core.fairness.confusion import Cells, Positive, confusion_cells
from bdt_core.fairness.counts import CountTable
from bdt_core.fairness.facet_contrasts import FacetValues, facet_contrasts
from bdt_core.fairness.measured import Measured
from bdt_core.fairness.metric_results import BiasMetrics, group_name
from bdt_core.fairness.report_notes import notes
from bdt_core.fairness.report_sections import (
    POST_TRAINING,
    PRE_TRAINING,
    clarify_metrics,
    group_rates,
    range_metrics,
    reference_metrics,
)
from bdt_core.fairness.score_metrics import score_moments

__all__ = ["EVERYBODY_ELSE", "LARGEST", "POST_TRAINING", "PRE_TRAINING", "metrics_from_counts"]

EVERYBODY_ELSE = "everybody else"
LARGEST = "largest group"


def metrics_from_counts(
    table: CountTable,
    *,
    positive: Positive = 1,
    positive_prediction: Positive | None = None,
    facet_values: FacetValues | None = None,
    reference: Value | tuple[Value, ...] = LARGEST,
    distribution: Literal["all", "two"] = "all",
    alpha: float = 0.05,
    min_rows: int = 30,
    from_rows: Mapping[str, Measured] | None = None,
) -> BiasMetrics:
    """Compute every metric from counts.

    Parameters
    ----------
    table : CountTable
        Its facets are taken together; `CountTable.by` gives each alone.
    positive : value, values or Threshold
        Favourable values of the label, and of the prediction unless `positive_prediction` names those.
    facet_values : value, values or Threshold, optional
        The facet values that make up d for Clarify's metrics; a tuple per value with several facets. Without it
        every group is compared with the rest.
    reference : group, "largest group" or "everybody else"
        What rates are compared with.
    distribution : {"all", "two"}
        Whether KL, JS, LP, TVD and KS compare all label values, or favourable and unfavourable ones.
    alpha : float
        Intervals have confidence 1 - alpha.
    min_rows : int
        Groups with fewer rows, or fewer than 10 in a rate's denominator, are left out of ranges and named.
    from_rows : mapping of str to Measured, optional
        "auc" per group and "FT" per facet value, computed from the rows.

    Returns
    -------
    BiasMetrics

    Raises
    ------
    SpecError
        A reference that is no group, or a setting out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core.fairness import count_rows
    >>> frame = pd.DataFrame({"sex": list("fm") * 50, "label": [0, 1] * 50})
    >>> result = metrics_from_counts(count_rows(frame, "sex", label="label"))
    >>> result["DPL"]["f"].estimate, result["RD"]["f"].undefined_reason
    (1.0, 'no prediction column was named')
    """
    if not 0.0 < alpha < 1.0:
        raise SpecError(f"alpha must lie between 0 and 1; found {alpha}.")
    if distribution not in ("all", "two"):
        raise SpecError(f'distribution must be "all" or "two"; found "{distribution}".')
    known = table.known()
    given = from_rows or {}
    cells = confusion_cells(known, positive, positive_prediction)
    contrasts = facet_contrasts(known, facet_values)
    at_reference = _reference(known, reference, cells)
    scores = score_moments(known)
    metrics = [
        *group_rates(known, cells, positive, alpha, given),
        *clarify_metrics(known, cells, contrasts, positive, positive_prediction, distribution, alpha, given),
        *reference_metrics(known, cells, at_reference, alpha),
        *range_metrics(known, cells, None if scores is None else scores[0], alpha, min_rows),
    ]
    return BiasMetrics(
        facets=table.facets,
        label=table.label,
        prediction=table.prediction,
        group=table.stratum,
        score=table.score,
        weight=table.weight,
        positive=(positive.above,) if isinstance(positive, Threshold) else values_of(positive),
        confidence=1.0 - alpha,
        reference=EVERYBODY_ELSE if at_reference is None else group_name(known.groups[at_reference]),
        rows=table.rows,
        missing=table.missing(),
        notes=tuple(notes(table, known, cells, contrasts, positive, positive_prediction, min_rows)),
        metrics=tuple(metrics),
    )


def _reference(table: CountTable, reference: Value | tuple[Value, ...], cells: Cells) -> int | None:
    """Position of the reference group; None for everybody else."""
    if reference == EVERYBODY_ELSE or not table.groups:
        return None
    if reference == LARGEST:
        return int(np.argmax(cells.rows.n))
    group = values_of(reference) if isinstance(reference, tuple) else (canonical(reference),)
    if group not in table.groups:
        known = [group_name(one) for one in table.groups]
        raise SpecError(
            f'The reference "{group_name(group)}" is no group of {", ".join(table.facets)}. '
            f"{did_you_mean(group_name(group), [*known, LARGEST, EVERYBODY_ELSE])}"
        )
    return table.groups.index(group)
