"""Names of the metrics of declared groups, and what the sections and the figures on them choose to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from bdt_core import words
from bdt_core.report.wording import asked, finite

if TYPE_CHECKING:
    from bdt_core.fairness.score_calculator import BiasScore
    from bdt_core.report.document import Document, Facet, Group, GroupMetric, GroupRange, GroupValue, Rate
    from bdt_core.verdict import MetricLimitResult

_Named = TypeVar("_Named", "GroupMetric", "GroupRange")
FIGURES_SHOWN = 4
PANELS = 4
_MAP_ROWS, _MAP_COLUMNS = 20, 8

RATE_NAMES = {
    "selection_rate": "Selection rate",
    "true_positive_rate": "True positive rate",
    "false_positive_rate": "False positive rate",
    "true_negative_rate": "True negative rate",
    "false_negative_rate": "False negative rate",
    "positive_predictive_value": "Positive predictive value",
    "negative_predictive_value": "Negative predictive value",
    "false_discovery_rate": "False discovery rate",
    "false_omission_rate": "False omission rate",
    "accuracy": "Accuracy",
    "prevalence": "Prevalence",
    "f1_score": "F1 score",
    "auc": "Area under the curve (AUC)",
    "mean_score": "Mean score",
    "brier_score": "Brier score",
    "calibration_error": "Calibration error",
    "observed_to_expected": "Observed positives per expected one",
}
_HEADS = {"positive_predictive_value": "Precision (PPV)", "auc": "AUC"}
_NO_PERCENTAGES = {"f1_score", "auc", "mean_score", "brier_score", "calibration_error", "observed_to_expected"}
_MAIN = (
    "selection_rate", "true_positive_rate", "false_positive_rate", "positive_predictive_value", "accuracy", "auc",
)  # fmt: skip
_WITHOUT_PREDICTION = ("prevalence", "auc", "mean_score")


class Criterion(NamedTuple):
    """A demand that groups be alike."""

    name: str
    asks: str
    rate: str | None
    unit: words.Unit


CRITERIA = {
    "demographic_parity": Criterion("Demographic parity", "equal selection rates", "selection_rate", "rate"),
    "equal_opportunity": Criterion("Equal opportunity", "equal true positive rates", "true_positive_rate", "rate"),
    "predictive_equality": Criterion(
        "Predictive equality", "equal false positive rates", "false_positive_rate", "rate"
    ),
    "equalized_odds": Criterion("Equalized odds", "equal true and false positive rates", None, "rate"),
    "predictive_parity": Criterion(
        "Predictive parity", "equal positive predictive values", "positive_predictive_value", "rate"
    ),
    "accuracy_equality": Criterion("Accuracy equality", "equal accuracy", "accuracy", "rate"),
    "treatment_equality": Criterion(
        "Treatment equality", "equally many false negatives per false positive", None, "value"
    ),
    "calibration": Criterion("Calibration", "equally many positives per expected one", None, "value"),
}


class ClarifyMetric(NamedTuple):
    """One of the 21 metrics: its long name, what is set against what, and its value without bias."""

    name: str
    how: str
    no_bias: str


CLARIFY = {
    "CI": ClarifyMetric("Class imbalance", "rows of others less rows of the group, over all", "0"),
    "DPL": ClarifyMetric("Difference in positive proportions in labels", "others less group", "0"),
    "KL": ClarifyMetric("Kullback-Leibler divergence of the labels", "distance", "0"),
    "JS": ClarifyMetric("Jensen-Shannon divergence of the labels", "distance", "0"),
    "LP": ClarifyMetric("L-p norm of the labels", "distance", "0"),
    "TVD": ClarifyMetric("Total variation distance of the labels", "distance", "0"),
    "KS": ClarifyMetric("Kolmogorov-Smirnov distance of the labels", "distance", "0"),
    "CDDL": ClarifyMetric("Conditional demographic disparity in labels", "share of negatives less positives", "0"),
    "DPPL": ClarifyMetric("Difference in positive proportions in predicted labels", "others less group", "0"),
    "DI": ClarifyMetric("Disparate impact", "group over others", "1"),
    "DCA": ClarifyMetric("Difference in conditional acceptance", "others less group", "0"),
    "DCR": ClarifyMetric("Difference in conditional rejection", "group less others", "0"),
    "RD": ClarifyMetric("Recall difference", "others less group", "0"),
    "SD": ClarifyMetric("Specificity difference", "group less others", "0"),
    "DAR": ClarifyMetric("Difference in acceptance rates", "others less group", "0"),
    "DRR": ClarifyMetric("Difference in rejection rates", "group less others", "0"),
    "AD": ClarifyMetric("Accuracy difference", "others less group", "0"),
    "CDDPL": ClarifyMetric(
        "Conditional demographic disparity in predicted labels", "share of negatives less positives", "0"
    ),
    "TE": ClarifyMetric("Treatment equality", "group less others", "0"),
    "FT": ClarifyMetric("Flip test", "flips to negative less flips to positive, per row", "0"),
    "GE": ClarifyMetric("Generalised entropy", "over everybody", "0"),
}

_NAMES = {"auc": "AUC", "f1_score": "F1 score"}
_LIMITED_RATES = {
    "disparate_impact": "selection_rate",
    "DI": "selection_rate",
    "DPPL": "selection_rate",
    "RD": "true_positive_rate",
    "recall_difference": "true_positive_rate",
    "SD": "true_negative_rate",
    "DAR": "positive_predictive_value",
    "AD": "accuracy",
    "DPL": "prevalence",
    "equalized_odds": "false_positive_rate",
}


def metric_name(metric: str) -> str:
    """A metric of the gate in words.

    Examples
    --------
    >>> metric_name("disparate_impact"), metric_name("DPL"), metric_name("auc")
    ('Disparate impact', 'DPL', 'AUC')
    """
    return _NAMES.get(metric) or words.capital(metric.replace("_", " "))


def compared_with(document: Document, limit: MetricLimitResult) -> tuple[str, str | None]:
    """By difference or ratio, and the group that each group is compared with, where that is not plain from the name."""
    rate, _, kind = limit.metric.rpartition("_")
    facets = document.groups.facets if document.groups else ()
    reference = next((one.reference for one in facets if one.facet == limit.facet), None)
    return kind, reference if rate in RATE_NAMES and kind in ("difference", "ratio") else None


def rate_head(rate: str) -> str:
    """A rate's name where there is little room.

    Examples
    --------
    >>> rate_head("auc"), rate_head("accuracy")
    ('AUC', 'Accuracy')
    """
    return _HEADS.get(rate, RATE_NAMES[rate])


def span(low: str, high: str) -> str:
    """An interval in the smaller line of a cell, which may be torn apart only before its second limit.

    Examples
    --------
    >>> span("0.1", "0.2")
    '[0.1 to\\xa00.2]'
    """
    return f"[{low} to\u00a0{high}]"


def rate_value(name: str, x: words.Number) -> str:
    """A rate as a percentage; scores and errors as numbers.

    Examples
    --------
    >>> rate_value("accuracy", 0.635), rate_value("auc", 0.635)
    ('63.5 %', '0.635')
    """
    return words.number(x) if name in _NO_PERCENTAGES else words.percent(x)


def rate_told(group: Group, rate: str) -> str:
    """A rate of a group with its interval, within a sentence."""
    one = asked(group.rates).get(rate)
    if one is None or one.estimate is None:
        return "undefined"
    return f"{rate_value(rate, one.estimate)} {limits(one, rate)}".rstrip()


def limits(one: Rate, rate: str) -> str:
    """A rate's interval for a group alone; nothing where it has none."""
    if one.low is None or one.high is None:
        return ""
    low, high = (rate_value(rate, x).removesuffix(" %") for x in (one.low, one.high))
    return span(low, high)


def main_rates(facet: Facet) -> list[str]:
    """The rates that stand for all: those of the prediction, or of the label where nothing is predicted."""
    known = known_rates(facet)
    chosen = _MAIN if "selection_rate" in known else _WITHOUT_PREDICTION
    return [one for one in chosen if one in known]


def known_rates(facet: Facet) -> list[str]:
    """Every rate that some group has, in the usual order."""
    known = {name for one in facet.groups for name in one.rates or ()}
    return [name for name in RATE_NAMES if name in known]


def with_rates(facet: Facet) -> list[Group]:
    """Groups with enough rows for their rates to be printed."""
    return [one for one in facet.groups if one.rates is not None]


def lowest_and_highest(
    facet: Facet, rate: str, left_out: Sequence[str]
) -> tuple[tuple[Group, float], tuple[Group, float]] | None:
    """The groups between which a rate ranges, each with it, without those left out; None of fewer than two."""
    known = comparable(facet, rate, left_out)
    if len(known) < 2 or facet.groups_total > len(facet.groups):
        return None
    return min(known, key=lambda one: one[1]), max(known, key=lambda one: one[1])


def comparable(facet: Facet, rate: str, left_out: Sequence[str]) -> list[tuple[Group, float]]:
    """Groups whose rate rests on enough rows to be compared, each with the rate."""
    out = set(left_out)
    return [
        (one, found.estimate)
        for one in facet.groups
        if one.rates is not None
        and one.group not in out
        and (found := one.rates.get(rate)) is not None
        and finite(found.estimate)
    ]


def left_out(facet: Facet, rate: str) -> Sequence[str]:
    """Groups with too few rows to be compared in a rate."""
    metrics = {f"{name}_difference" for name, one in CRITERIA.items() if one.rate == rate}
    return next((one.left_out for one in facet.ranges if one.metric in metrics), [])


def figures_of_groups(document: Document) -> dict[str, tuple[Facet, Literal["rates", "map"]]]:
    """Figures on declared groups by name: of the first groupings that can be drawn.

    Parameters
    ----------
    document : dict
        As `bdt_core.report.printed.printed` gives it.
    """
    facets = document.groups.facets if document.groups else ()
    drawn = [one for one in facets if main_rates(one)][:FIGURES_SHOWN]
    return {f"groups_{i}": (one, "map" if _fits_a_map(one) else "rates") for i, one in enumerate(drawn, 1)}


def grid(facet: Facet) -> tuple[list[Any], list[Any]]:
    """Values of the two columns of an intersection, each in order."""
    rows, columns = (
        sorted({one.values[i] for one in facet.groups}, key=lambda x: (isinstance(x, str), x)) for i in (0, 1)
    )
    return rows, columns


def map_rate(document: Document, facet: Facet) -> str:
    """The rate that a map shows: the first that the gate limits for these groups, or the false positive rate."""
    known = known_rates(facet)
    for one in document.gate:
        if one.kind == "metric" and one.facet == facet.facet:
            metric = one.metric
            plain = metric.removesuffix("_difference").removesuffix("_ratio")
            criterion = CRITERIA.get(plain)
            for rate in (metric, plain, criterion.rate if criterion else None, _LIMITED_RATES.get(metric),
                         _LIMITED_RATES.get(plain)):  # fmt: skip
                if rate in known and rate is not None:
                    return rate
    return "false_positive_rate" if "false_positive_rate" in known else main_rates(facet)[0]


def _fits_a_map(facet: Facet) -> bool:
    if len(facet.columns) != 2 or facet.groups_total > len(facet.groups):
        return False
    values = sorted(map(len, grid(facet)))
    return 2 <= values[0] <= _MAP_COLUMNS and values[1] <= _MAP_ROWS


def positive_values(document: Document, column: str) -> tuple[float | None, list[str]]:
    """What counts as positive in a column: what lies above a threshold, or the values."""
    spec, found = document.spec, asked(document.groups)
    thresholds = spec["groups"]["thresholds"]
    if column in thresholds:
        return thresholds[column], []
    values: Sequence[Any] = found.positive
    if found.label in thresholds:  # then those are the label's, cut in two
        given = (spec["groups"]["positive"], spec["bias_variable"]["positive"], 1)
        declared = next(one for one in given if one is not None)
        values = declared if isinstance(declared, list) else [declared]
    return None, [words.number(one) if isinstance(one, float) else str(one) for one in values]


def by_metric(several: Sequence[_Named]) -> dict[str, _Named]:
    """Metrics by their names."""
    return {one.metric: one for one in several}


def extremes(score: BiasScore) -> list[tuple[str, str, list[str]]]:
    """Who has the lowest and who the highest rate in each part of the score, and which rates these are."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for one in score.parts:
        if one.value:
            pairs.setdefault((one.lowest, one.highest), []).append(RATE_NAMES[one.name].lower())
    return [(lowest, highest, rates) for (lowest, highest), rates in pairs.items()]


def places_with_rates(facet: Facet) -> list[int]:
    """Places of the groups with enough rows for their rates to be printed."""
    return [i for i, one in enumerate(facet.groups) if one.rates is not None]


def without_reference(facet: Facet, places: Sequence[int]) -> list[int]:
    """Places without that of the reference."""
    return [i for i in places if facet.groups[i].group != facet.reference]


def shared_reason(values: Sequence[GroupValue], places: Sequence[int]) -> str | None:
    """Why a metric is undefined, where that is the same for all of these groups."""
    reasons = {values[i].undefined_reason for i in places}
    return reasons.pop() if len(reasons) == 1 else None


def hold_together(facet: Facet) -> bool:
    """Whether intervals of differences hold for all groups at once."""
    values = [one for metric in (*facet.against_reference, *facet.clarify) for one in metric.values]
    return any(one.together_low is not None for one in values)


def ends(one: GroupValue, unit: words.Unit | None) -> str:
    """The interval that holds for all groups at once, where it is known; nothing where there is none."""
    together = one.together_low is not None and one.together_high is not None
    low, high = (one.together_low, one.together_high) if together else (one.low, one.high)
    if low is None or high is None:
        return ""
    return span(*(words.signed(x, unit) if unit else words.number(x) for x in (low, high)))
