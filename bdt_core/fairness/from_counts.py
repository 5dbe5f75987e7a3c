"""Every metric from a count table, in the order of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import SpecError, did_you_mean
from bdt_core.fairness import comparisons
from bdt_core.fairness.coding import Threshold, Value, canonical, values_of
from bdt_core.fairness.conditional import Outcome, conditional_disparity, outcomes_by_stratum
from bdt_core.fairness.confusion import Cells, Floats, Positive, confusion_cells, favourable
from bdt_core.fairness.counts import FIXED_POINT, OUTSIDE, CountTable, Group
from bdt_core.fairness.measured import Measured, measured, nothing
from bdt_core.fairness.metric_results import BiasMetrics, Kind, Metric, group_name
from bdt_core.fairness.post_training import generalized_entropy, post_training_metrics
from bdt_core.fairness.pre_training import pre_training_metrics
from bdt_core.fairness.rates import JACCARD, RATES, RateDefinition, evaluate
from bdt_core.fairness.score_metrics import score_metrics

PRE_TRAINING = ("CDDL", "CI", "DPL", "JS", "KL", "KS", "LP", "TVD")
POST_TRAINING = ("AD", "CDDPL", "DAR", "DCA", "DCR", "DI", "DPPL", "DRR", "FT", "GE", "RD", "SD", "TE")
"""Clarify's 21 metrics."""
EVERYBODY_ELSE = "everybody else"
LARGEST = "largest group"

FacetValues = Value | Iterable[Value | tuple[Value, ...]] | Threshold
_NO_LABEL, _NO_PREDICTION = "no label column was named", "no prediction column was named"
_NO_SCORE, _NEEDS_ROWS = "no score column was named", "needs the rows, not only counts"


@dataclass(frozen=True)
class FacetContrasts:
    """Which groups make up each d; a are all other groups."""

    values: tuple[Group, ...]
    members: NDArray[np.float64] | None
    """Shape (contrasts, groups); None when every group is a d of its own."""

    def of_d(self, array: Floats) -> Floats:
        """Sum over the groups of each d; the groups are the first axis."""
        return array if self.members is None else np.tensordot(self.members, array, axes=1)


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
    metrics = [
        *_rates(known, cells, positive, alpha, given),
        *_clarify(known, cells, contrasts, positive, positive_prediction, distribution, alpha, given),
        *_against_reference(known, cells, at_reference, alpha),
        *_ranges(known, cells, positive, alpha, min_rows),
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
        notes=tuple(_notes(table, known, cells, contrasts, positive, positive_prediction, min_rows)),
        metrics=tuple(metrics),
    )


def facet_contrasts(table: CountTable, facet_values: FacetValues | None) -> FacetContrasts:
    """Find the groups that make up d."""
    if facet_values is None:
        return FacetContrasts(table.groups, None)
    if isinstance(facet_values, Threshold):
        wanted: list[Group] = [(facet_values.above,)]
    elif isinstance(facet_values, str) or not isinstance(facet_values, Iterable):
        wanted = [(canonical(facet_values),)]
    else:
        wanted = [values_of(one) if isinstance(one, tuple) else (canonical(one),) for one in facet_values]
    if not wanted or any(len(group) != len(table.facets) for group in wanted):
        raise SpecError(f"facet_values must name one value for each of: {', '.join(table.facets)}.")
    members = np.array([[group in wanted for group in table.groups]], dtype=np.float64)
    name = wanted[0] if len(wanted) == 1 else (", ".join(group_name(group) for group in wanted),)
    return FacetContrasts((name,), members)


def _rates(
    table: CountTable, cells: Cells, positive: Positive, alpha: float, given: Mapping[str, Measured]
) -> list[Metric]:
    size = len(table.groups)
    out = {}
    for name, definition in RATES.items():
        out[name] = nothing(size, missing, cells.rows.n) if (missing := _lacks(table, definition)) else _rate(
            definition, cells, alpha
        )  # fmt: skip
    jaccard = _rate(JACCARD, cells, alpha)
    lacks = _lacks(table, JACCARD)
    out["f1_score"] = nothing(size, lacks, cells.rows.n) if lacks else jaccard._replace(
        **{part: 2 * getattr(jaccard, part) / (1 + getattr(jaccard, part)) for part in ("estimate", "low", "high")}
    )  # fmt: skip
    lacks_auc = _NO_SCORE if table.score is None else _NO_LABEL if table.label is None else _NEEDS_ROWS
    out["auc"] = given.get("auc") or nothing(size, lacks_auc, cells.rows.n)
    if table.score is None:
        names = ("mean_score", "brier_score", "calibration_error", "observed_to_expected")
        out.update({name: nothing(size, _NO_SCORE, cells.rows.n) for name in names})
    else:
        out.update(score_metrics(table, positive, alpha))
    return [_metric(name, "rate", table.groups, one) for name, one in out.items()]


def _rate(definition: RateDefinition, cells: Cells, alpha: float) -> Measured:
    rate = evaluate(definition, cells)
    reason = [None if n else definition.nobody if rows else "no rows"
              for n, rows in zip(rate.n, cells.rows.n, strict=True)]  # fmt: skip
    return measured(rate.estimate, rate.interval(1.0 - alpha), reason, rate.n, rate.events)


def _clarify(
    table: CountTable,
    cells: Cells,
    contrasts: FacetContrasts,
    positive: Positive,
    positive_prediction: Positive | None,
    distribution: str,
    alpha: float,
    given: Mapping[str, Measured],
) -> list[Metric]:
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
        out["CDDL"] = _conditional(table, contrasts, good, "label", alpha)
    if table.prediction is None:
        out.update({name: nothing(size, _NO_PREDICTION, d.rows.n) for name in POST_TRAINING if name != "GE"})
    else:
        out.update(post_training_metrics(d, a, alpha))
        if table.label is None:
            out.update(
                {name: nothing(size, _NO_LABEL, d.rows.n) for name in POST_TRAINING if name not in ("DPPL", "DI")}
            )
        chosen = favourable(table.predictions, positive if positive_prediction is None else positive_prediction)
        out["CDDPL"] = _conditional(table, contrasts, chosen, "prediction", alpha)
        out["FT"] = given.get("FT") or nothing(size, "no features were named for the flip test", d.rows.n)
    metrics = [
        _metric(name, "clarify", contrasts.values, out[name])
        for name in (*PRE_TRAINING, *POST_TRAINING)
        if name != "GE"
    ]
    lacks = _lacks(table, RATES["accuracy"])
    whole = cells.total()
    entropy = nothing(1, lacks, whole.rows.n) if lacks else generalized_entropy(whole, alpha)
    return [*metrics, _metric("GE", "clarify", ((),), entropy)]


def _conditional(
    table: CountTable, contrasts: FacetContrasts, good: NDArray[np.bool_], outcome: Outcome, alpha: float
) -> Measured:
    if table.stratum is None:
        return nothing(len(contrasts.values), "no group column was named to compare within")
    outcomes = outcomes_by_stratum(table, good, outcome, weighted=True)
    d = contrasts.of_d(outcomes)
    return conditional_disparity(d, outcomes.sum(axis=0) - d, alpha)


def _against_reference(table: CountTable, cells: Cells, reference: int | None, alpha: float) -> list[Metric]:
    definitions = [one for one in RATES.values() if not _lacks(table, one)] if table.groups else []
    metrics = []
    for one, found in zip(
        definitions, comparisons.against_reference(definitions, cells, reference, alpha), strict=True
    ):
        metrics += [
            _metric(f"{one.name}_difference", "difference", table.groups, found.difference, found.difference_together),
            _metric(f"{one.name}_ratio", "ratio", table.groups, found.ratio, found.ratio_together),
        ]
    return metrics


def _ranges(table: CountTable, cells: Cells, positive: Positive, alpha: float, min_rows: int) -> list[Metric]:
    found: dict[str, comparisons.Range] = {}
    for name, rate in comparisons.RANGES.items():
        if not _lacks(table, RATES[rate]):
            found[name] = comparisons.range_over_groups(RATES[rate], cells, alpha, min_rows)
    if not _lacks(table, RATES["true_positive_rate"]):
        both = ("true_positive_rate", "false_positive_rate")
        found["equalized_odds"] = comparisons.worst_of(
            tuple(comparisons.range_over_groups(RATES[rate], cells, alpha / 2, min_rows) for rate in both)
        )
        found["treatment_equality"] = comparisons.treatment_range(cells, alpha, min_rows)
    if table.score is not None and table.label is not None:
        mean_score = score_metrics(table, positive, alpha)["mean_score"].estimate
        found["calibration"] = comparisons.calibration_range(cells, mean_score, alpha, min_rows)
    metrics = []
    for name, one in found.items():
        excluded = tuple(group for group, out in zip(table.groups, one.excluded, strict=True) if out)
        for part, kind in ((one.difference, "difference"), (one.ratio, "ratio")):
            undefined = one.reason or ("0 in every group" if np.isnan(part[0]) else None)
            values = [np.array([x]) for x in part]
            result = measured(
                values[0], (values[1], values[2]), [undefined], cells.rows.n.sum(), cells.rows.positives.sum()
            )
            metrics.append(_metric(f"{name}_{kind}", "range", ((),), result, None, one.p_value, excluded))
    return metrics


def _metric(
    name: str,
    kind: Kind,
    values: tuple[Group, ...],
    found: Measured,
    together: tuple[Floats, Floats] | None = None,
    p_value: float | None = None,
    excluded: tuple[Group, ...] = (),
) -> Metric:
    undefined = np.isnan(found.estimate)
    limits = [None, None] if together is None else [_listed(np.where(undefined, np.nan, limit)) for limit in together]
    return Metric(
        name=name,
        kind=kind,
        values=values,
        estimate=_listed(found.estimate),
        low=_listed(found.low),
        high=_listed(found.high),
        undefined_reason=tuple(found.reason),
        n=tuple(found.n.tolist()),
        events=tuple(found.events.tolist()),
        together_low=limits[0],
        together_high=limits[1],
        p_value=p_value,
        excluded=excluded,
    )


def _listed(values: Floats) -> tuple[float | None, ...]:
    return tuple(None if one != one else one for one in values.tolist())


def _lacks(table: CountTable, definition: RateDefinition) -> str | None:
    if definition.needs_label and table.label is None:
        return _NO_LABEL
    return _NO_PREDICTION if definition.needs_prediction and table.prediction is None else None


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


def _notes(
    table: CountTable,
    known: CountTable,
    cells: Cells,
    contrasts: FacetContrasts,
    positive: Positive,
    positive_prediction: Positive | None,
    min_rows: int,
) -> Iterable[str]:
    left_out = table.rows - known.rows
    if left_out:
        yield f"{left_out} of {table.rows} rows lack a facet, a group, a label or a prediction and are in no metric."
    if table.label in table.facets or table.prediction in table.facets:
        yield "The facet is also the label or the prediction: metrics compare a column with itself."
    if len(known.groups) == 1:
        only = group_name(known.groups[0])
        yield f"{', '.join(table.facets)} has the single value {only}: there is nobody to compare with."
    of_prediction = positive if positive_prediction is None else positive_prediction
    for name, levels, wanted in (
        (table.label, known.labels, positive),
        (table.prediction, known.predictions, of_prediction),
    ):
        if name is None:
            continue
        good = favourable(levels, wanted)
        if levels and not good.any():
            asked = wanted.above if isinstance(wanted, Threshold) else ", ".join(map(str, values_of(wanted)))
            yield f'No row of "{name}" has the favourable value {asked}. {did_you_mean(asked, map(str, levels))}'
        if int((~good).sum()) > 1:
            yield f'"{name}" has {len(levels)} values; all but the favourable ones count as unfavourable.'
    if table.score is not None and (outside := int(table.counts[..., OUTSIDE].sum())):
        yield f'{outside} rows of "{table.score}" lie outside 0 to 1: the groups that hold them have no score metrics.'
    small = [group for group, n in zip(known.groups, cells.rows.n.tolist(), strict=True) if n < min_rows]
    if small:
        names = ", ".join(group_name(group) for group in small[:20]) + (", ..." if len(small) > 20 else "")
        yield f"{len(small)} groups have fewer than {min_rows} rows and are left out of ranges: {names}."
    unknown = [one for one in contrasts.values if contrasts.members is not None and not contrasts.members.any()]
    if unknown:
        yield (
            f"No row has the facet value {group_name(unknown[0])}. "
            f"{did_you_mean(group_name(unknown[0]), [group_name(group) for group in known.groups])}"
        )
