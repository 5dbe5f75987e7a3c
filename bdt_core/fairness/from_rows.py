"""Every metric from a table: count, compute, and add the two metrics that need the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness.area_under_curve import ScoreCounts, auc_by_group, count_scores
from bdt_core.fairness.arrays import SCORE, WEIGHT, Y_PRED, Y_TRUE, table_of_arrays
from bdt_core.fairness.coding import Threshold, Value, code_column, column
from bdt_core.fairness.counting import code_groups, count_rows
from bdt_core.fairness.counts import CountTable, Group
from bdt_core.fairness.facet_contrasts import FacetValues, facet_contrasts
from bdt_core.fairness.favourable import Positive, favourable, refuse_absent
from bdt_core.fairness.flips import Distance, Sign, flip_test, usable_features
from bdt_core.fairness.from_counts import LARGEST, metrics_from_counts
from bdt_core.fairness.measured import MetricValues, measured, nothing
from bdt_core.fairness.metric_results import BiasMetrics, ControlledMetrics
from bdt_core.fairness.numeric_metrics import compare_by_numbers
from bdt_core.fairness.numeric_sums import NumericColumns, hold_numbers
from bdt_core.inference.persons import Persons
from bdt_core.metrics import FunctionOfRows
from bdt_core.table.audit_table import KEY
from bdt_core.table.frames import AnyTable, handed_over
from bdt_core.table.source_blocks import SourceBlocks, in_blocks

if TYPE_CHECKING:
    from bdt_core.table.summaries import Drawn


@overload
def bias_metrics(
    frame: AnyTable,
    *,
    facet: str | Sequence[str],
    label: str | None = None,
    prediction: str | None = None,
    positive: Positive = 1,
    group: str | None = None,
    facet_values: FacetValues | None = None,
    score: str | None = None,
    positive_prediction: Positive | None = None,
    weight: str | None = None,
    features: Sequence[str] | None = None,
    reference: Value | tuple[Value, ...] = LARGEST,
    distribution: Literal["all", "two"] = "all",
    flip_sign: Sign = "paper",
    flip_distance: Distance = "standardised",
    tolerance: float | None = None,
    alpha: float = 0.05,
    min_rows: int = 30,
    metrics: FunctionOfRows | Mapping[str, FunctionOfRows] | None = None,
) -> BiasMetrics: ...


@overload
def bias_metrics(
    frame: ArrayLike | None,
    y_pred: ArrayLike | None = None,
    *,
    groups: Any,
    positive: Positive = 1,
    facet_values: FacetValues | None = None,
    score: ArrayLike | None = None,
    positive_prediction: Positive | None = None,
    weight: ArrayLike | None = None,
    reference: Value | tuple[Value, ...] = LARGEST,
    distribution: Literal["all", "two"] = "all",
    tolerance: float | None = None,
    alpha: float = 0.05,
    min_rows: int = 30,
    metrics: FunctionOfRows | Mapping[str, FunctionOfRows] | None = None,
) -> BiasMetrics: ...


@overload
def bias_metrics(
    frame: Any,
    y_pred: ArrayLike | None = None,
    *,
    control_features: Any,
    facet: str | Sequence[str] | None = None,
    groups: Any = None,
    label: str | None = None,
    prediction: str | None = None,
    positive: Positive = 1,
    group: str | None = None,
    facet_values: FacetValues | None = None,
    score: Any = None,
    positive_prediction: Positive | None = None,
    weight: Any = None,
    features: Sequence[str] | None = None,
    reference: Value | tuple[Value, ...] = LARGEST,
    distribution: Literal["all", "two"] = "all",
    flip_sign: Sign = "paper",
    flip_distance: Distance = "standardised",
    tolerance: float | None = None,
    alpha: float = 0.05,
    min_rows: int = 30,
    metrics: FunctionOfRows | Mapping[str, FunctionOfRows] | None = None,
) -> ControlledMetrics: ...


def bias_metrics(
    frame: Any,
    y_pred: ArrayLike | None = None,
    *,
    facet: str | Sequence[str] | None = None,
    groups: Any = None,
    label: str | None = None,
    prediction: str | None = None,
    positive: Positive = 1,
    group: str | None = None,
    facet_values: FacetValues | None = None,
    score: Any = None,
    positive_prediction: Positive | None = None,
    weight: Any = None,
    features: Sequence[str] | None = None,
    reference: Value | tuple[Value, ...] = LARGEST,
    distribution: Literal["all", "two"] = "all",
    flip_sign: Sign = "paper",
    flip_distance: Distance = "standardised",
    tolerance: float | None = None,
    alpha: float = 0.05,
    min_rows: int = 30,
    metrics: FunctionOfRows | Mapping[str, FunctionOfRows] | None = None,
    control_features: Any = None,
) -> BiasMetrics | ControlledMetrics:
    """Compute all group fairness metrics, each with its interval or the reason why it is undefined.

    Either of a table, whose columns are named, or of arrays: ``bias_metrics(y_true, y_pred, groups=sex)``.

    Label and prediction are values that are counted, such as granted or refused; or numbers, such as amounts or grades:
    then the metrics are means, medians and errors. They are numbers where `tolerance` is given, or where both have more
    than two values, one of them has fractions or more than 20 values, and nothing says which are positive.

    Parameters
    ----------
    frame : DataFrame, Arrow table or dict of columns; or array of shape (n,)
        The table; or with `groups` what really happened (y_true), None where that is not known.
    y_pred : array of shape (n,), optional
        With `groups`: what the algorithm said.
    facet : str or sequence of str
        Protected attribute, of a table; several make intersections.
    groups : array or Series of shape (n,), table or mapping of arrays
        Protected attribute, of arrays; several columns make intersections. Without a name it is called "group".
    label, prediction : str, optional
        What really happened, and what the algorithm said; at least one of them.
    positive : value, values or Threshold
        Favourable values of label and prediction; a `Threshold` cuts continuous ones, strictly greater being
        favourable.
    group : str, optional
        Column within whose values CDDL and CDDPL compare.
    facet_values : value, values or Threshold, optional
        The values that make up d for Clarify's metrics; without it every value is compared with the rest. A
        `Threshold` makes d the rows strictly above it.
    score : str, optional
        Predicted probability of a favourable label; an array beside arrays.
    positive_prediction : optional
        Favourable values of the prediction, where they differ from those of the label.
    weight : str, optional
        Weight of each row; an array beside arrays.
    features : sequence of str, optional
        Columns by which the flip test finds similar rows.
    reference : group, "largest group" or "everybody else"
        What rates are compared with.
    distribution : {"all", "two"}
        Whether KL, JS, LP, TVD and KS compare all label values or two.
    flip_sign : {"paper", "smclarify"}
        Sign of the flip test.
    flip_distance : {"standardised", "raw"}
        Units of the flip test; see `flip_test`.
    tolerance : float, optional
        Of numbers: how far off a prediction may be and be near enough, for the metric "within_tolerance".
    alpha : float
        Intervals have confidence 1 - alpha.
    min_rows : int
        Groups with fewer rows are left out of ranges.
    metrics : callable or mapping of str to callable, optional
        Further metrics of your own, by their names: functions of labels and predictions as scikit-learn and fairlearn
        have them. They get arrays in which 1 is favourable and 0 is not, in no order that means something. Their
        intervals, and those of their differences and ratios, are of seeded draws.
    control_features : str or sequence of str; with `groups` an array, table or mapping of arrays; optional
        People are compared with people who are alike in these: groups within each level of them, as fairlearn does.

    Returns
    -------
    BiasMetrics, or ControlledMetrics with `control_features`

    Raises
    ------
    DataError, SpecError
        A column or a setting that cannot be used, such as a favourable value that no row has. Data that leave a metric
        undefined raise nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": list("fm") * 50, "hired": [1, 1, 0, 1] * 25, "advice": [0, 1, 0, 1] * 25})
    >>> result = bias_metrics(frame, facet="sex", label="hired", prediction="advice")
    >>> result["selection_rate"]["f"].estimate, result["DI"]["f"].estimate, result["DI"]["m"].estimate
    (0.0, 0.0, inf)
    >>> result["RD"]["f"].estimate, result["positive_predictive_value"]["f"].undefined_reason
    (1.0, 'nobody with a positive prediction')

    The same of arrays, as a table of groups and as differences between them:

    >>> result = bias_metrics(frame["hired"], frame["advice"], groups=frame["sex"])
    >>> result.by_group["selection_rate"].to_dict(), float(result.difference()["selection_rate"])
    ({'f': 0.0, 'm': 1.0}, 1.0)

    A metric of one's own, with its interval, and groups compared among people of the same town:

    >>> def right(y_true, y_pred):
    ...     return (y_true == y_pred).mean()
    >>> result = bias_metrics(frame["hired"], frame["advice"], groups=frame["sex"], metrics=right)
    >>> print(result["right"]["m"], float(result.overall["right"]))
    1 (0.92 to 1) 0.75
    >>> town = pd.Series(list("aaab") * 25, name="town")
    >>> result = bias_metrics(frame["hired"], frame["advice"], groups=frame["sex"], control_features=town)
    >>> result.difference()["selection_rate"].to_dict()
    {'a': 1.0, 'b': 0.0}

    Of numbers:

    >>> paid = pd.Series([2.5, 3.0, 4.0, 5.5] * 10)
    >>> result = bias_metrics(paid, paid + [0.5, -0.5, 0.0, 1.0] * 10, groups=list("ffmm") * 10)
    >>> result["mean_absolute_error"]["m"].estimate, result["mean_error_difference"]["m"].estimate
    (0.5, 0.5)
    """
    control: tuple[str, ...]
    if groups is not None:
        named = (facet, label, prediction, group, features)
        if any(one is not None for one in named):
            raise SpecError("groups goes with arrays: leave facet, label, prediction, group and features out.")
        frame, facet, control, columns = table_of_arrays(
            frame, y_pred, groups, control=control_features, score=score, weight=weight
        )
        label, prediction, score, weight = (columns.get(one) for one in (Y_TRUE, Y_PRED, SCORE, WEIGHT))
    elif facet is None or y_pred is not None:
        raise SpecError(
            'Name the column of groups, as in bias_metrics(frame, facet="sex", label="hired"), or give arrays, as in '
            "bias_metrics(y_true, y_pred, groups=sex)."
        )
    else:
        frame = handed_over(frame)
        control = (control_features,) if isinstance(control_features, str) else tuple(control_features or ())
    of_decisions = {
        "positive": None if isinstance(positive, int) and positive == 1 else positive,
        "positive_prediction": positive_prediction,
        "score": score,
        "group": group,
        "facet_values": facet_values,
        "features": features,
        "weight": weight,
        "metrics": metrics,
    }
    said = [name for name, value in of_decisions.items() if value is not None]
    says_what_is_positive = not {"positive", "positive_prediction", "score"}.isdisjoint(said)
    of_numbers = tolerance is not None or (not says_what_is_positive and hold_numbers(frame, label, prediction))
    if of_numbers and said:
        raise SpecError(
            f"Label and prediction are numbers, and {said[0]} is of such that are counted: leave it out, or say "
            "without tolerance which values are positive, as in positive=Threshold(50)."
        )
    thresholds = _thresholds(facet, label, prediction, positive, positive_prediction, facet_values)
    if positive_prediction is None:
        favoured, keys = (positive, positive), ("positive", "positive")
    else:
        favoured, keys = (positive, positive_prediction), ("positive", "positive_prediction")

    def of_rows(rows: pd.DataFrame, *, are_all: bool) -> BiasMetrics:
        if of_numbers:
            groupings = ((facet,) if isinstance(facet, str) else tuple(facet),)
            asked = NumericColumns(groupings, label, prediction, tolerance)
            (facets,) = compare_by_numbers(in_blocks(rows), asked, lambda _: reference, alpha=alpha, min_rows=min_rows)
            return facets.metrics
        table = count_rows(
            rows,
            facet,
            label=label,
            prediction=prediction,
            stratum=group,
            score=score,
            weight=weight,
            thresholds=thresholds,
        )
        if are_all:  # within a level of control features there may well be nobody who is favoured
            refuse_absent(table, *favoured, keys)
        seen = MeasuredRows(in_blocks(rows), similar=rows if features else None, features=tuple(features or ()))
        from_rows = seen.measured(
            table,
            positive=positive,
            positive_prediction=positive_prediction,
            facet_values=facet_values,
            flip_sign=flip_sign,
            flip_distance=flip_distance,
            alpha=alpha,
            thresholds=thresholds,
        )
        return metrics_from_counts(
            table,
            positive=positive,
            positive_prediction=positive_prediction,
            facet_values=facet_values,
            reference=reference,
            distribution=distribution,
            alpha=alpha,
            min_rows=min_rows,
            from_rows=from_rows,
            metrics=metrics,
        )

    whole = of_rows(frame, are_all=True)
    if not control:
        return whole
    levels, codes, _ = code_groups(frame, control)
    rows_of = {level: codes == place for place, level in enumerate(levels) if None not in level}
    within = {level: of_rows(frame[rows].reset_index(drop=True), are_all=False) for level, rows in rows_of.items()}
    return ControlledMetrics(control, {level: one for level, one in within.items() if one.rows})


@dataclass(frozen=True)
class MeasuredRows:
    """The rows behind counts, for the two metrics that counts cannot give.

    Attributes
    ----------
    source : SourceBlocks
        All rows, of which AUC is computed.
    rounded : bool
        Whether their scores are rounded, as those of a large table are.
    similar : DataFrame or None
        The rows of the flip test: all, or those that were drawn.
    features : tuple of str
        Columns that make rows similar.
    drawn : Drawn or None
        How many rows were drawn.
    persons : Persons or None
        Who is in the source, whose blocks then have `KEY`, where persons may have several rows.
    """

    source: SourceBlocks
    rounded: bool = False
    similar: pd.DataFrame | None = None
    features: tuple[str, ...] = ()
    drawn: Drawn | None = None
    persons: Persons | None = None
    _scores: dict[tuple[str, ...], list[ScoreCounts]] = field(default_factory=dict)

    def measured(
        self,
        table: CountTable,
        *,
        positive: Positive = 1,
        positive_prediction: Positive | None = None,
        facet_values: FacetValues | None = None,
        flip_sign: Sign = "paper",
        flip_distance: Distance = "standardised",
        alpha: float = 0.05,
        thresholds: Mapping[str, Threshold] | None = None,
    ) -> dict[str, MetricValues]:
        """Compute "auc" per group, with a score and a label, and "FT" per facet value, with features.

        Parameters
        ----------
        table : CountTable
            Of all rows.
        thresholds : mapping of column to Threshold, optional
            Those with which it was counted.

        Returns
        -------
        dict of str to Measured
            For `metrics_from_counts`; see `bias_metrics` for the other parameters.
        """
        cuts = thresholds or {}
        known = table.known()
        measured: dict[str, MetricValues] = {}
        if table.score is not None and table.label is not None:
            if table.facets not in self._scores:  # they are asked for at several alphas
                self._scores[table.facets] = count_scores(
                    self.source,
                    known,
                    rounded=self.rounded,
                    positive=positive,
                    thresholds=cuts,
                    persons=self.persons,
                )
            measured["auc"] = auc_by_group(self._scores[table.facets], alpha)
        if self.similar is not None and table.prediction is not None:
            of_prediction = positive if positive_prediction is None else positive_prediction
            measured["FT"] = _flip_tests(
                self.similar,
                known,
                facet_values,
                of_prediction,
                self.features,
                (flip_sign, flip_distance),
                alpha,
                cuts,
                None if self.persons is None else self.persons.numbers(self.similar[KEY].to_numpy()),
            )
        return measured


def _thresholds(
    facet: str | Sequence[str],
    label: str | None,
    prediction: str | None,
    positive: Positive,
    positive_prediction: Positive | None,
    facet_values: FacetValues | None,
) -> dict[str, Threshold]:
    cuts = {}
    if isinstance(facet_values, Threshold):
        if not isinstance(facet, str) and len(facet) != 1:
            raise SpecError("A threshold on the facet needs a single facet.")
        cuts[facet if isinstance(facet, str) else facet[0]] = facet_values
    if label is not None and isinstance(positive, Threshold):
        cuts[label] = positive
    of_prediction = positive if positive_prediction is None else positive_prediction
    if prediction is not None and isinstance(of_prediction, Threshold):
        cuts[prediction] = of_prediction
    return cuts


def _flip_tests(
    frame: pd.DataFrame,
    table: CountTable,
    facet_values: FacetValues | None,
    positive: Positive,
    features: Sequence[str],
    how: tuple[Sign, Distance],
    alpha: float,
    thresholds: Mapping[str, Threshold],
    persons: NDArray[np.int64] | None,
) -> MetricValues:
    assert table.prediction is not None
    prediction = code_column(frame, table.prediction, thresholds.get(table.prediction))
    known = np.ones(len(frame), dtype=bool)
    for name in (*table.facets, table.label, table.prediction):
        if name is not None:
            known &= column(frame, name).notna().to_numpy()
    predicted = favourable(prediction.levels, positive)[prediction.codes][known]
    groups, codes, _ = code_groups(frame, table.facets, thresholds)
    codes = codes[known]
    rows = usable_features(frame, features)[known]
    contrasts = facet_contrasts(table, facet_values)
    members = np.eye(len(table.groups)) if contrasts.members is None else contrasts.members
    results = []
    (sign, distance), whose = how, None if persons is None else persons[known]
    for chosen in members:
        d: set[Group] = {one for one, is_d in zip(table.groups, chosen, strict=True) if is_d}
        in_d = np.array([one in d for one in groups], dtype=bool)[codes]
        try:
            results.append(flip_test(rows, in_d, predicted, sign=sign, distance=distance, alpha=alpha, persons=whose))
        except DataError as error:  # features that cannot be compared leave the rest of the report alone
            return nothing(len(members), str(error), members @ table.counts.sum(axis=(1, 2, 3, 4)))
    parts = [[np.nan if x is None else x for x in (one.estimate, one.low, one.high)] for one in results]
    estimate, low, high = np.array(parts, dtype=np.float64).reshape(-1, 3).T
    flipped = np.array([one.to_positive + one.to_negative for one in results], dtype=np.float64)
    n = np.array([one.n_d for one in results], dtype=np.float64)
    return measured(estimate, (low, high), [one.undefined_reason for one in results], n, flipped)
