"""The sections of the report: rates of groups, Clarify's metrics, comparisons with a reference, ranges over groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness import comparisons
from bdt_core.fairness.conditional_disparity import Outcome, conditional_disparity, outcomes_by_stratum
from bdt_core.fairness.confusion import Cells, Floats, Positive, favourable
from bdt_core.fairness.counts import FIXED_POINT, CountTable, Group
from bdt_core.fairness.facet_contrasts import FacetContrasts
from bdt_core.fairness.measured import Measured, first, measured_each, nothing, where, where_each
from bdt_core.fairness.metric_results import Kind, Metric
from bdt_core.fairness.post_training import generalized_entropy, post_training_metrics
from bdt_core.fairness.pre_training import pre_training_metrics
from bdt_core.fairness.rates import JACCARD, RATES, RateDefinition, evaluate_all
from bdt_core.fairness.score_metrics import SCORE_METRICS, score_metrics

PRE_TRAINING = ("CDDL", "CI", "DPL", "JS", "KL", "KS", "LP", "TVD")
POST_TRAINING = ("AD", "CDDPL", "DAR", "DCA", "DCR", "DI", "DPPL", "DRR", "FT", "GE", "RD", "SD", "TE")
"""Clarify's 21 metrics."""

_NO_LABEL, _NO_PREDICTION = "no label column was named", "no prediction column was named"
_NO_SCORE, _NEEDS_ROWS = "no score column was named", "needs the rows, not only counts"


def group_rates(
    table: CountTable, cells: Cells, positive: Positive, alpha: float, given: Mapping[str, Measured]
) -> list[Metric]:
    """Rates of each group, F1, and the metrics of its scores.

    Parameters
    ----------
    table : CountTable
        Of known rows.
    cells : Cells
        Its confusion counts.
    positive, alpha
        See `metrics_from_counts`.
    given : mapping of str to Measured
        "auc" if it was computed from the rows.
    """
    size = len(table.groups)
    definitions = [*RATES.values(), JACCARD]
    rates = evaluate_all(definitions, cells)
    low, high = rates.interval(1.0 - alpha)
    no_rows = where(cells.rows.n == 0, "no rows")
    nobody = where_each(rates.n == 0, [one.nobody for one in definitions])
    reasons_of = [first(no_rows, one) for one in nobody]
    found = measured_each(rates.estimate, (low, high), reasons_of, rates.n, rates.events)
    out = {}
    for definition, one in zip(definitions, found, strict=True):
        lacks = _lacks(table, definition)
        out[definition.name] = nothing(size, lacks, cells.rows.n) if lacks else one
    jaccard = out.pop(JACCARD.name)
    out["f1_score"] = jaccard._replace(
        **{part: 2 * getattr(jaccard, part) / (1 + getattr(jaccard, part)) for part in ("estimate", "low", "high")}
    )
    lacks_auc = _NO_SCORE if table.score is None else _NO_LABEL if table.label is None else _NEEDS_ROWS
    out["auc"] = given.get("auc") or nothing(size, lacks_auc, cells.rows.n)
    if table.score is None:
        out.update({name: nothing(size, _NO_SCORE, cells.rows.n) for name in SCORE_METRICS})
    else:
        out.update(score_metrics(table, positive, alpha))
    return _metrics("rate", table.groups, out)


def clarify_metrics(
    table: CountTable,
    cells: Cells,
    contrasts: FacetContrasts,
    positive: Positive,
    positive_prediction: Positive | None,
    distribution: str,
    alpha: float,
    given: Mapping[str, Measured],
) -> list[Metric]:
    """Clarify's 21 metrics of each d against everybody else.

    Parameters
    ----------
    table, cells, positive, alpha
        See `group_rates`.
    contrasts : FacetContrasts
    positive_prediction, distribution
        See `metrics_from_counts`.
    given : mapping of str to Measured
        "FT" if it was computed from the rows.
    """
    d = cells if contrasts.members is None else cells.combined(contrasts.members)
    a = cells.total()[np.zeros(d.rows.n.size, dtype=np.intp)] - d
    size = len(contrasts.values)
    good = favourable(table.labels, positive)
    out: dict[str, Measured] = {}
    if table.label is None:
        imbalance = pre_training_metrics(d, a, d.weights.n[:, None], a.weights.n[:, None], alpha)["CI"]
        out.update({name: nothing(size, _NO_LABEL, d.rows.n) for name in PRE_TRAINING})
        out["CI"] = imbalance
    else:
        labels = (table.counts if table.weights is None else table.weights / FIXED_POINT).sum(axis=(1, 3, 4))
        if distribution == "two":
            labels = np.stack([labels[:, ~good].sum(1), labels[:, good].sum(1)], axis=1)
        if not labels.shape[1]:  # no known row at all
            labels = np.zeros((len(table.groups), 1))
        of_d = contrasts.of_d(labels.astype(np.float64))
        out.update(pre_training_metrics(d, a, of_d, labels.sum(axis=0) - of_d, alpha))
        out["CDDL"] = _disparity(table, contrasts, good, "label", alpha)
    if table.prediction is None:
        out.update({name: nothing(size, _NO_PREDICTION, d.rows.n) for name in POST_TRAINING if name != "GE"})
    else:
        out.update(post_training_metrics(d, a, alpha))
        if table.label is None:
            out.update(
                {name: nothing(size, _NO_LABEL, d.rows.n) for name in POST_TRAINING if name not in ("DPPL", "DI")}
            )
        chosen = favourable(table.predictions, positive if positive_prediction is None else positive_prediction)
        out["CDDPL"] = _disparity(table, contrasts, chosen, "prediction", alpha)
        out["FT"] = given.get("FT") or nothing(size, "no features were named for the flip test", d.rows.n)
    metrics = _metrics(
        "clarify", contrasts.values, {name: out[name] for name in (*PRE_TRAINING, *POST_TRAINING) if name != "GE"}
    )
    lacks = _lacks(table, RATES["accuracy"])
    whole = cells.total()
    entropy = nothing(1, lacks, whole.rows.n) if lacks else generalized_entropy(whole, alpha)
    return [*metrics, *_metrics("clarify", ((),), {"GE": entropy})]


def reference_metrics(table: CountTable, cells: Cells, reference: int | None, alpha: float) -> list[Metric]:
    """Differences and ratios of every rate, against the group at a position or everybody else (None)."""
    definitions = [one for one in RATES.values() if not _lacks(table, one)] if table.groups else []
    found = comparisons.against_reference(definitions, cells, reference, alpha)
    differences = _metrics(
        "difference",
        table.groups,
        {f"{one.name}_difference": against.difference for one, against in zip(definitions, found, strict=True)},
        together=[one.difference_together for one in found],
    )
    ratios = _metrics(
        "ratio",
        table.groups,
        {f"{one.name}_ratio": against.ratio for one, against in zip(definitions, found, strict=True)},
        together=[one.ratio_together for one in found],
    )
    return [one for pair in zip(differences, ratios, strict=True) for one in pair]


def range_metrics(
    table: CountTable, cells: Cells, mean_score: Floats | None, alpha: float, min_rows: int
) -> list[Metric]:
    """The largest difference and the smallest ratio over all groups with enough rows.

    Parameters
    ----------
    table, cells, alpha, min_rows
        See `group_rates`.
    mean_score : ndarray of shape (groups,), optional
        NaN where undefined.
    """
    criteria = [name for name, rate in comparisons.RANGES.items() if not _lacks(table, RATES[rate])]
    if not _lacks(table, RATES["true_positive_rate"]):
        criteria += ["equalized_odds", "treatment_equality"]
    if mean_score is not None and table.label is not None:
        criteria.append("calibration")
    found = comparisons.ranges_over_groups(criteria, cells, mean_score, alpha, min_rows)
    if not found:
        return []
    names = [f"{name}_{kind}" for name in found for kind in ("difference", "ratio")]
    parts = [part for one in found.values() for part in (one.difference, one.ratio)]
    estimate, low, high = np.array(parts).T[:, :, None]
    reasons_of = [
        [one.reason or ("0 in every group" if np.isnan(part[0]) else None)]
        for one in found.values()
        for part in (one.difference, one.ratio)
    ]
    n, events = (np.full_like(estimate, total.sum()) for total in (cells.rows.n, cells.rows.positives))
    results = measured_each(estimate, (low, high), reasons_of, n, events)
    tests = [
        (one.p_value, tuple(group for group, out in zip(table.groups, one.excluded.tolist(), strict=True) if out))
        for one in found.values()
        for _ in range(2)
    ]
    return _metrics("range", ((),), dict(zip(names, results, strict=True)), tests=tests)


def _disparity(
    table: CountTable, contrasts: FacetContrasts, good: NDArray[np.bool_], outcome: Outcome, alpha: float
) -> Measured:
    if table.stratum is None:
        return nothing(len(contrasts.values), "no group column was named to compare within")
    outcomes = outcomes_by_stratum(table, good, outcome, weighted=True)
    d = contrasts.of_d(outcomes)
    return conditional_disparity(d, outcomes.sum(axis=0) - d, alpha)


def _metrics(
    kind: Kind,
    values: tuple[Group, ...],
    found: Mapping[str, Measured],
    *,
    together: Sequence[tuple[Floats, Floats]] | None = None,
    tests: Sequence[tuple[float | None, tuple[Group, ...]]] | None = None,
) -> list[Metric]:
    """Metrics by name as the report has them: tuples, with None for NaN, and wherever the estimate is NaN."""
    if not found:
        return []
    limits: list[tuple[Floats, ...]] = [(one.estimate, one.low, one.high) for one in found.values()]
    if together is not None:
        limits = [(*own, *of_all) for own, of_all in zip(limits, together, strict=True)]
    numbers = np.array(limits)  # metrics x parts x groups
    listed: list[list[list[float | None]]] = numbers.tolist()
    missing = np.isnan(numbers)
    for metric, part, place in zip(*(one.tolist() for one in np.nonzero(missing | missing[:, :1])), strict=True):
        listed[metric][part][place] = None
    counts = np.array([(one.n, one.events) for one in found.values()]).tolist()
    return [
        Metric(
            name=name,
            kind=kind,
            values=values,
            estimate=tuple(parts[0]),
            low=tuple(parts[1]),
            high=tuple(parts[2]),
            undefined_reason=tuple(one.reason),
            n=tuple(n),
            events=tuple(events),
            together_low=tuple(parts[3]) if together is not None else None,
            together_high=tuple(parts[4]) if together is not None else None,
            p_value=p_value,
            excluded=excluded,
        )
        for (name, one), parts, (n, events), (p_value, excluded) in zip(
            found.items(), listed, counts, tests or repeat((None, ()), len(found)), strict=True
        )
    ]


def _lacks(table: CountTable, definition: RateDefinition) -> str | None:
    if definition.needs_label and table.label is None:
        return _NO_LABEL
    return _NO_PREDICTION if definition.needs_prediction and table.prediction is None else None
