"""Every metric from a count table, in the order of the report: rates of groups, Clarify's metrics, comparisons with a
reference, ranges over groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdt_core.errors import SpecError, did_you_mean
from bdt_core.fairness.coding import Threshold, Value, canonical, values_of
from bdt_core.fairness.comparisons import against_reference, ranges_over_groups
from bdt_core.fairness.conditional_disparity import Outcome, conditional_disparity, outcomes_by_stratum
from bdt_core.fairness.confusion import Cells, Floats, confusion_cells
from bdt_core.fairness.counts import FIXED_POINT, CountTable, Group
from bdt_core.fairness.facet_contrasts import FacetContrasts, FacetValues, facet_contrasts
from bdt_core.fairness.favourable import Positive, favourable
from bdt_core.fairness.functions_of_counts import (
    DrawnValues,
    drawn_functions,
    function_comparisons,
    function_values,
    named_functions,
)
from bdt_core.fairness.measured import MetricValues, first, measured_each, nothing, where, where_each
from bdt_core.fairness.metric_results import OVERALL, BiasMetrics, Kind, Metric, group_name
from bdt_core.fairness.persons import PersonMoments, as_persons
from bdt_core.fairness.post_training import generalized_entropy, post_training_metrics
from bdt_core.fairness.pre_training import pre_training_metrics
from bdt_core.fairness.rates import evaluate_all
from bdt_core.fairness.report_notes import notes
from bdt_core.fairness.score_metrics import score_metrics, score_moments
from bdt_core.metrics import (
    CLARIFY,
    CRITERIA,
    GROUP_METRICS,
    RATES,
    SCORES,
    Criterion,
    Favourable,
    FunctionOfRows,
    Proportion,
    ScoreMetric,
    in_order_of_results,
    of_stage,
)

_NO_LABEL, _NO_PREDICTION = "no label column was named", "no prediction column was named"
_NO_SCORE, _NEEDS_ROWS = "no score column was named", "needs the rows, not only counts"
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
    from_rows: Mapping[str, MetricValues] | None = None,
    favourable_outcome: Favourable = "positive",
    persons: PersonMoments | None = None,
    metrics: FunctionOfRows | Mapping[str, FunctionOfRows] | None = None,
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
    persons : PersonMoments, optional
        Of the known rows, where persons have several: all that says how sure metrics are, and minimum sizes, count
        persons.
    favourable_outcome : {"positive", "negative"}
        Which label and prediction people want. Where it is the negative one, Clarify's metrics and the four-fifths
        ratio count those; rates and criteria count positive ones in any case.
    metrics : callable or mapping of str to callable, optional
        Further metrics: functions of labels and predictions, arrays of 1 and 0.

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
    if persons is not None:
        known = as_persons(known, persons)
    cells = replace(confusion_cells(known, positive, positive_prediction), persons=persons)
    contrasts = facet_contrasts(known, facet_values)
    at_reference = place_of_reference(known.facets, known.groups, cells.rows.n, reference)
    scores = score_moments(known)
    good = favourable(known.labels, positive)
    chosen = favourable(known.predictions, positive if positive_prediction is None else positive_prediction)
    of_favourable_outcome = cells
    if favourable_outcome == "negative":
        good, chosen, of_favourable_outcome = ~good, ~chosen, cells.turned()
        given = {name: _turned(one) if name == "FT" else one for name, one in given.items()}
    of_favourable = _clarify_metrics(known, of_favourable_outcome, contrasts, good, chosen, distribution, alpha, given)
    own = named_functions(metrics)
    functions = {} if _lacks(known, RATES["accuracy"]) else drawn_functions(own, cells)
    all_metrics = [
        *_group_rates(known, cells, own, functions, positive, alpha, given),
        *_of_everybody([one for one in own if one.name not in SCORES and functions], cells.total(), alpha),
        *(of_favourable if of_favourable_outcome is cells else map(_in_our_words, of_favourable)),
        *_reference_metrics(known, cells, own, functions, at_reference, alpha),
        *_range_metrics(known, cells, of_favourable_outcome, None if scores is None else scores[0], alpha, min_rows),
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
        rows_seen=known.rows,
        rows_seen_with=_rows_seen_with(known),
        notes=tuple(notes(table, known, cells, contrasts, positive, positive_prediction, min_rows)),
        metrics=tuple(all_metrics),
    )


def _rows_seen_with(known: CountTable) -> dict[str, int]:
    """Of the rows that metrics see, those with a value of the columns that only some of them need."""
    seen = {}
    if known.score is not None:
        seen[known.score] = known.rows - known.missing()[known.score]
    if known.stratum is not None:
        seen[known.stratum] = known.known(in_strata=True).rows
    return seen


def place_of_reference(
    facets: tuple[str, ...], groups: tuple[Group, ...], rows: ArrayLike, reference: Value | tuple[Value, ...]
) -> int | None:
    """Position of the group that others are compared with; None for everybody else.

    Parameters
    ----------
    facets : tuple of str
    groups : tuple of tuple
    rows : array of shape (groups,)
        How large each is.
    reference : group, "largest group" or "everybody else"

    Raises
    ------
    SpecError
        There is no such group.
    """
    if reference == EVERYBODY_ELSE or not groups:
        return None
    if reference == LARGEST:
        return int(np.argmax(rows))
    group = values_of(reference) if isinstance(reference, tuple) else (canonical(reference),)
    if group not in groups:
        known = [group_name(one) for one in groups]
        raise SpecError(
            f'The reference "{group_name(group)}" is no group of {", ".join(facets)}. '
            f"{did_you_mean(group_name(group), [*known, LARGEST, EVERYBODY_ELSE])}"
        )
    return groups.index(group)


def _group_rates(
    table: CountTable,
    cells: Cells,
    own: Sequence[ScoreMetric],
    functions: Mapping[str, DrawnValues],
    positive: Positive,
    alpha: float,
    given: Mapping[str, MetricValues],
) -> list[Metric]:
    """Rates of each group, functions of its counts, and the metrics of its scores.

    `given` are those that were computed from the rows.
    """
    size = len(table.groups)
    proportions = {**RATES, **{name: one.of for name, one in SCORES.items() if one.of is not None}}
    rates = evaluate_all(list(proportions.values()), cells)
    low, high = rates.interval(1.0 - alpha)
    no_rows = where(cells.rows.n == 0, "no rows")
    nobody = where_each(rates.n == 0, [one.nobody for one in proportions.values()])
    of_proportions = measured_each(
        rates.estimate, (low, high), [first(no_rows, one) for one in nobody], rates.n, rates.events
    )
    out = {} if table.score is None else score_metrics(table, positive, alpha)
    for (name, proportion), values in zip(proportions.items(), of_proportions, strict=True):
        lacks = _lacks(table, proportion)
        out[name] = nothing(size, lacks, cells.rows.n) if lacks else _changed(name, values)
    lacks = _lacks(table, RATES["accuracy"])
    for metric in own:
        name = metric.name
        out[name] = (
            nothing(size, lacks, cells.rows.n) if lacks else function_values(metric, cells, functions[name], alpha)
        )
    lacks_score = _NO_SCORE if table.score is None else _NO_LABEL if table.label is None else _NEEDS_ROWS
    unknown = nothing(size, lacks_score, cells.rows.n)
    names = dict.fromkeys([*GROUP_METRICS, *(one.name for one in own)])
    return metrics_of_values("rate", table.groups, {name: given.get(name) or out.get(name, unknown) for name in names})


def _of_everybody(own: Sequence[ScoreMetric], whole: Cells, alpha: float) -> list[Metric]:
    """A user's own metrics of all rows: those of groups do not add up to them, as proportions do."""
    drawn = drawn_functions(own, whole)
    values = {f"{one.name}{OVERALL}": function_values(one, whole, drawn[one.name], alpha) for one in own}
    return metrics_of_values("overall", ((),), values)


def _changed(name: str, share: MetricValues) -> MetricValues:
    """A metric that rises with a proportion; a rate is the proportion itself."""
    if name in RATES:
        return share
    change = SCORES[name].change
    return share._replace(estimate=change(share.estimate), low=change(share.low), high=change(share.high))


def _clarify_metrics(
    table: CountTable,
    cells: Cells,
    contrasts: FacetContrasts,
    good: NDArray[np.bool_],
    chosen: NDArray[np.bool_],
    distribution: str,
    alpha: float,
    given: Mapping[str, MetricValues],
) -> list[Metric]:
    """Clarify's metrics of each d against everybody else; `given` are those that were computed from the rows.

    `good` and `chosen` are the favourable ones of the table's labels and predictions; what `cells` call positive is
    favourable.
    """
    d = cells if contrasts.members is None else cells.combined(contrasts.members)
    a = cells.total()[np.zeros(d.rows.n.size, dtype=np.intp)] - d
    size = len(contrasts.values)
    out: dict[str, MetricValues] = {}
    if table.label is None:
        imbalance = pre_training_metrics(d, a, d.weights.n[:, None], a.weights.n[:, None], alpha)["CI"]
        out.update({name: nothing(size, _NO_LABEL, d.rows.n) for name in of_stage("pre_training")})
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
        out.update({name: nothing(size, _NO_PREDICTION, d.rows.n) for name in of_stage("post_training")})
    else:
        out.update(post_training_metrics(d, a, alpha))
        if table.label is None:
            for name in of_stage("post_training"):
                rate = CLARIFY[name].rate
                if rate is None or RATES[rate].needs_label:
                    out[name] = nothing(size, _NO_LABEL, d.rows.n)
        out["CDDPL"] = _disparity(table, contrasts, chosen, "prediction", alpha)
        out["FT"] = nothing(size, "no features were named for the flip test", d.rows.n)
    unknown = nothing(size, _NEEDS_ROWS, d.rows.n)
    names = [name for stage in ("pre_training", "post_training") for name in of_stage(stage) if name != "GE"]
    metrics = metrics_of_values(
        "clarify", contrasts.values, {name: given.get(name) or out.get(name, unknown) for name in names}
    )
    lacks = _lacks(table, RATES["accuracy"])
    whole = cells.total()
    entropy = nothing(1, lacks, whole.rows.n) if lacks else generalized_entropy(whole, alpha)
    return [*metrics, *metrics_of_values("clarify", ((),), {"GE": entropy})]


def _reference_metrics(
    table: CountTable,
    cells: Cells,
    own: Sequence[ScoreMetric],
    functions: Mapping[str, DrawnValues],
    reference: int | None,
    alpha: float,
) -> list[Metric]:
    """Differences and ratios of what groups are compared in, against the group at a position or everybody else."""
    if not table.groups:
        return []
    rates = [one for one in RATES.values() if not _lacks(table, one)]
    comparisons = against_reference(rates, cells, reference, alpha)
    comparisons += [function_comparisons(one, cells, functions[one.name], reference, alpha) for one in own if functions]
    names = [*(one.name for one in rates), *functions]
    differences = metrics_of_values(
        "difference",
        table.groups,
        {f"{name}_difference": against.difference for name, against in zip(names, comparisons, strict=True)},
        together=[one.difference_together for one in comparisons],
    )
    ratios = metrics_of_values(
        "ratio",
        table.groups,
        {f"{name}_ratio": against.ratio for name, against in zip(names, comparisons, strict=True)},
        together=[one.ratio_together for one in comparisons],
    )
    return [one for pair in zip(differences, ratios, strict=True) for one in pair]


def _range_metrics(
    table: CountTable, cells: Cells, turned: Cells, mean_score: Floats | None, alpha: float, min_rows: int
) -> list[Metric]:
    """The largest difference and the smallest ratio over all groups with enough rows, by every criterion.

    `mean_score`, of shape (groups,), is NaN where undefined; what `turned` call positive is favourable.
    """
    criteria = [name for name in in_order_of_results() if not _lacks_for(table, CRITERIA[name], mean_score)]
    by_outcome = {
        of_favourable: [name for name in criteria if CRITERIA[name].of_favourable == of_favourable]
        for of_favourable in (False, True)
    }
    ranges = ranges_over_groups(by_outcome[False], cells, mean_score, alpha, min_rows)
    ranges |= ranges_over_groups(by_outcome[True], turned, mean_score, alpha, min_rows)
    if not ranges:
        return []
    parts_by_name = {
        kind: (one, one.difference if kind.endswith("_difference") else one.ratio)
        for name, one in ranges.items()
        for kind in CRITERIA[name].kinds
    }
    names = list(parts_by_name)
    estimate, low, high = np.array([part for _, part in parts_by_name.values()]).T[:, :, None]
    reasons_of = [
        [one.reason or ("0 in every group" if np.isnan(part[0]) else None)] for one, part in parts_by_name.values()
    ]
    n, events = (np.full_like(estimate, total.sum()) for total in (cells.rows.n, cells.rows.positives))
    results = measured_each(estimate, (low, high), reasons_of, n, events)
    tests = [
        (one.p_value, tuple(group for group, out in zip(table.groups, one.excluded.tolist(), strict=True) if out))
        for one, _ in parts_by_name.values()
    ]
    return metrics_of_values("range", ((),), dict(zip(names, results, strict=True)), tests=tests)


def _lacks_for(table: CountTable, criterion: Criterion, mean_score: Floats | None) -> bool:
    """Whether something is missing that a criterion needs."""
    return (criterion.over_mean_score and mean_score is None) or any(_lacks(table, one) for one in criterion.of)


def _turned(flips: MetricValues) -> MetricValues:
    """The flip test where the other prediction is the favourable one."""
    return flips._replace(estimate=-flips.estimate, low=-flips.high, high=-flips.low)


def _in_our_words(metric: Metric) -> Metric:
    """Reasons of a metric that was computed with negative outcomes called positive."""
    swapped = {"positive": "negative", "negative": "positive"}
    return replace(
        metric,
        undefined_reason=tuple(
            one if one is None else re.sub(r"\b(positive|negative)", lambda word: swapped[word[1]], one)
            for one in metric.undefined_reason
        ),
    )


def _disparity(
    table: CountTable, contrasts: FacetContrasts, good: NDArray[np.bool_], outcome: Outcome, alpha: float
) -> MetricValues:
    if table.stratum is None:
        return nothing(len(contrasts.values), "no group column was named to compare within")
    outcomes = outcomes_by_stratum(table.known(in_strata=True), good, outcome, weighted=True)
    d = contrasts.of_d(outcomes)
    return conditional_disparity(d, outcomes.sum(axis=0) - d, alpha)


def metrics_of_values(
    kind: Kind,
    values: tuple[Group, ...],
    measured: Mapping[str, MetricValues],
    *,
    together: Sequence[tuple[Floats, Floats]] | None = None,
    tests: Sequence[tuple[float | None, tuple[Group, ...]]] | None = None,
) -> list[Metric]:
    """Metrics by name as the report has them: tuples, with None for NaN, and wherever the estimate is NaN."""
    if not measured:
        return []
    limits: list[tuple[Floats, ...]] = [(one.estimate, one.low, one.high) for one in measured.values()]
    if together is not None:
        limits = [(*own, *of_all) for own, of_all in zip(limits, together, strict=True)]
    numbers = np.array(limits)  # metrics x parts x groups
    listed: list[list[list[float | None]]] = numbers.tolist()
    missing = np.isnan(numbers)
    for metric, part, place in zip(*(one.tolist() for one in np.nonzero(missing | missing[:, :1])), strict=True):
        listed[metric][part][place] = None
    counts = np.array([(one.n, one.events) for one in measured.values()]).tolist()
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
            measured.items(), listed, counts, tests or repeat((None, ()), len(measured)), strict=True
        )
    ]


def _lacks(table: CountTable, proportion: Proportion) -> str | None:
    if proportion.needs_label and table.label is None:
        return _NO_LABEL
    return _NO_PREDICTION if proportion.needs_prediction and table.prediction is None else None
