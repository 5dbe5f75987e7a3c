"""Every metric of groups, once: its name, its words, what it counts, and which way it is read.

`METRICS` is the registry. The choices of a specification, the metrics that are computed, the gate, the report in all
its forms, the history of batches and the search for slices look a metric up there when they need it, so adding one is
one entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, ItemsView, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from bdt_core.errors import SpecError
from bdt_core.words import Unit, capital

Better = Literal["lower", "higher"]
Favourable = Literal["positive", "negative"]
"""The prediction (and the label) that people want: granted is positive, refused negative."""
Turned = Literal["same", "sign", "other"]
Shown = Literal["prediction", "label"]
Change = Callable[[Any], Any]


def harm_sign(better: str) -> float:
    """1 where a higher value is worse for people, -1 where a lower one is: so a difference is turned into harm."""
    return 1.0 if better == "lower" else -1.0


def as_harm(difference: float, low: float, high: float, better: str) -> tuple[float, float, float]:
    """A difference and its interval, turned so that harm is above 0.

    Examples
    --------
    >>> as_harm(-0.2, -0.3, -0.1, "higher")
    (0.2, 0.1, 0.3)
    """
    return (difference, low, high) if better == "lower" else (-difference, -high, -low)


class Directed:
    """Something that is measured of people, and which way they are better off."""

    better: Better

    @property
    def harm_sign(self) -> float:
        """See `bdt_core.metrics.harm_sign`."""
        return harm_sign(self.better)


class Counts(Protocol):
    """Rows by label and prediction, as numbers or as arrays with one entry per group.

    Attributes
    ----------
    tp, fp, fn, tn
        True and false positives and negatives; positive means favourable.
    n, positives, negatives, predicted_positives, predicted_negatives
        All rows; those with a positive or a negative label; those with a positive or a negative prediction.
    """

    @property
    def tp(self) -> Any: ...
    @property
    def fp(self) -> Any: ...
    @property
    def fn(self) -> Any: ...
    @property
    def tn(self) -> Any: ...
    @property
    def n(self) -> Any: ...
    @property
    def positives(self) -> Any: ...
    @property
    def negatives(self) -> Any: ...
    @property
    def predicted_positives(self) -> Any: ...
    @property
    def predicted_negatives(self) -> Any: ...


Part = Callable[[Counts], Any]
"""From counts to the rows that count for something."""
FunctionOfRows = Callable[[Any, Any], Any]
"""From labels and predictions, arrays of 1 (positive) and 0 with one entry per row, to a number."""
Amount = Callable[[Any, Any, Any], Any]
"""From label, prediction and tolerance, the first two arrays of numbers, to a number per row."""


def _itself(share: Any) -> Any:
    return share


@dataclass(frozen=True)
class Proportion:
    """Events among some rows.

    Attributes
    ----------
    name : str
    events, among : callable
        From counts to the numerator and the denominator.
    nobody : str
        What is missing when the denominator is 0.
    needs_label, needs_prediction : bool
    """

    name: str
    events: Part
    among: Part
    nobody: str
    needs_label: bool = True
    needs_prediction: bool = True


@dataclass(frozen=True, kw_only=True)
class PerGroupMetric:
    """A metric that every group has by itself.

    Attributes
    ----------
    name : str
        In specifications and results.
    words : str
        In tables and figures.
    heading : str
        The same where there is little room; as `words` where it is empty.
    spoken : str
        The same within a sentence; the name with spaces where it is empty.
    shown : tuple of {"prediction", "label"}
        Whether it stands for all others in the report's first table and figure: of groups with predictions, of groups
        with labels alone.
    """

    name: str
    words: str
    heading: str = ""
    spoken: str = ""
    shown: tuple[Shown, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RateMetric(Proportion, PerGroupMetric):
    """A rate: a proportion of a group's rows. Groups are compared in it, and slices can be searched for by it.

    Attributes
    ----------
    better : {"lower", "higher"} or None
        Which way people are better off; None where that depends on what a positive prediction means to them.
    short_names : tuple of str
        Usual abbreviations.
    advice : str
        What to do about a difference that grows from batch to batch. Rates without it are not followed over time.
    """

    better: Better | None = None
    short_names: tuple[str, ...] = ()
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class ScoreMetric(PerGroupMetric):
    """A metric that is no rate, and is printed as a number.

    Attributes
    ----------
    of : Proportion or None
        A proportion that it rises with, if counts give it; its interval carries over.
    change : callable
        From that proportion to the metric.
    of_counts : callable or None
        From the four counts, as arrays, to the metric: balanced accuracy, say. Undefined where that is not finite.
    of_rows : callable or None
        From labels and predictions, as arrays of 0 and 1, to the metric: any function of scikit-learn's kind. It sees
        rows in no order that means something.
    of_scores : bool
        Whether it comes from the sums of scores (`bdt_core.fairness.score_metrics`) or from rows with scores.
    undefined : str
        Why a group has none, where `of_counts` or `of_rows` gives no finite number.
    better : {"lower", "higher"} or None
        Which way people are better off, if either.
    is_ratio : bool
        Whether it is 1, not 0, without bias.
    signed : bool
        Whether it has two directions, neither of them good, so that a largest value is meant in both.
    short_names : tuple of str

    Raises
    ------
    SpecError
        Not exactly one of `of`, `of_counts`, `of_rows` and `of_scores` is given.

    Notes
    -----
    Intervals of `of_counts` and `of_rows` are percentiles of seeded draws of the counts, and so are those of their
    differences and ratios between groups (`bdt_core.fairness.functions_of_counts`).

    Examples
    --------
    >>> entry = ScoreMetric(name="youden", words="Youden's index", better="higher",
    ...                     of_counts=lambda c: c.tp / c.positives - c.fp / c.negatives)
    >>> entry.is_function
    True
    """

    of: Proportion | None = None
    change: Change = _itself
    of_counts: Part | None = None
    of_rows: FunctionOfRows | None = None
    of_scores: bool = False
    undefined: str = "undefined for these labels and predictions"
    better: Better | None = None
    is_ratio: bool = False
    signed: bool = False
    short_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = (self.of is not None, self.of_counts is not None, self.of_rows is not None, self.of_scores)
        if sum(given) != 1:
            raise SpecError(
                f'Metric "{self.name}" names {sum(given)} things that it is computed from, and needs one: of=, a '
                "proportion; of_counts=, a function of the four counts; of_rows=, a function of labels and "
                "predictions; or of_scores=True."
            )

    @property
    def is_function(self) -> bool:
        """Whether it is any function of labels and predictions, no proportion. Groups are compared in it."""
        return self.of_counts is not None or self.of_rows is not None


@dataclass(frozen=True, kw_only=True)
class NumericMetric:
    """A metric of label and prediction that are numbers: a mean or the median of an amount per row.

    Attributes
    ----------
    name, words : str
        In specifications and results; in tables.
    amount : callable
        From label, prediction and tolerance to the amount of each row.
    needs_label, needs_prediction : bool
    needs_tolerance : bool
        Whether it is there only where somebody says how far off is near enough.
    is_median : bool
        Whether it is the median of the amounts, and not their mean.
    is_share : bool
        Whether amounts are 1 or 0, so that their mean is a share of the rows.
    change : callable
        From that mean to the metric, where it is not the mean itself; it rises.
    signed : bool
        Whether it has two directions, either of which is off: then groups have no ratio in it. Of others a ratio is
        undefined where amounts are below 0 all the same.
    better : {"lower", "higher"} or None
        Which way people are better off, where nothing else has to be known for it.
    short_names : tuple of str
    """

    name: str
    words: str
    amount: Amount
    needs_label: bool = True
    needs_prediction: bool = True
    needs_tolerance: bool = False
    is_median: bool = False
    is_share: bool = False
    change: Change = _itself
    signed: bool = False
    better: Better | None = None
    short_names: tuple[str, ...] = ()

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean of the amounts itself, so that those of groups add up."""
        return not self.is_median and self.change is _itself


def _outcome(label: Any, prediction: Any, tolerance: Any) -> Any:  # noqa: ARG001 - amounts are called alike
    return label


def _prediction(label: Any, prediction: Any, tolerance: Any) -> Any:  # noqa: ARG001
    return prediction


def _error(label: Any, prediction: Any, tolerance: Any) -> Any:  # noqa: ARG001
    return prediction - label


def _absolute_error(label: Any, prediction: Any, tolerance: Any) -> Any:  # noqa: ARG001
    return abs(prediction - label)


def _squared_error(label: Any, prediction: Any, tolerance: Any) -> Any:  # noqa: ARG001
    return (prediction - label) ** 2


def _within(label: Any, prediction: Any, tolerance: Any) -> Any:
    return (abs(prediction - label) <= tolerance) * 1.0


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A demand that groups be alike: the largest difference and the smallest ratio over all pairs of groups.

    Attributes
    ----------
    name, words : str
    asks : str
        What is to be equal.
    of : tuple of Proportion
        What is compared; of several the worst counts.
    change : callable
        From that proportion to what is compared, where it is not the proportion itself.
    over_mean_score : bool
        Whether it is divided by the group's mean score.
    of_favourable : bool
        Whether outcomes that people want are compared, be they positive or negative. Then it is a ratio only: the
        difference is that of the other outcome, and so is the test.
    also : tuple of str
        Other names that the ratio has in specifications.
    """

    name: str
    words: str
    asks: str
    of: tuple[Proportion, ...]
    change: Change = _itself
    over_mean_score: bool = False
    of_favourable: bool = False
    also: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of what is made of it."""
        return (f"{self.name}_ratio",) if self.of_favourable else (f"{self.name}_difference", f"{self.name}_ratio")

    @property
    def rates(self) -> tuple[str, ...]:
        """Names of the rates that are to be equal; none where it is something else that is compared."""
        return () if self.unit == "value" else tuple(one.name for one in self.of)

    @property
    def rate(self) -> str | None:
        """The rate that is to be equal, where it is a single one."""
        return self.rates[0] if len(self.rates) == 1 else None

    @property
    def unit(self) -> Unit:
        """Of a difference: points, or a number."""
        return "value" if self.change is not _itself or self.over_mean_score else "rate"


@dataclass(frozen=True, kw_only=True)
class ClarifyMetric:
    """A metric of SageMaker Clarify: a group, d, against everybody else, a.

    Attributes
    ----------
    name : str
        Clarify's abbreviation.
    long_name : str
        In specifications, where either can be written.
    words, how : str
        In the report, and what is set against what.
    title : str
        In Clarify's own documents.
    stage : {"pre_training", "post_training"}
        Whether it is of the labels or of the predictions.
    means : str
        What the side of "no bias" says on which d is worse off, where there is one.
    worse : int
        1 where d is worse off above "no bias", -1 below it, 0 where it depends.
    signed : bool
        Whether it has two directions, so that a largest value is meant in both.
    is_ratio : bool
        Whether it is 1, not 0, without bias.
    rate : str or None
        The rate in which d and a are compared, where it is a rate.
    of_d : int
        Sign of d's rate where the metric is the difference of it: 1 for d - a, -1 for a - d; else 0.
    turned : {"same", "sign", "other"}
        What becomes of it where a negative prediction or label is the favourable one: nothing, its sign changes, or it
        is another number.
    within_strata : bool
        Whether it compares inside the strata: then a row without one is not in it.
    lowest, highest : float
        Between which values it lies by its formula, whatever the data.
    """

    name: str
    long_name: str
    words: str
    how: str
    title: str
    stage: Literal["pre_training", "post_training"]
    means: str
    worse: int = 0
    signed: bool = True
    is_ratio: bool = False
    rate: str | None = None
    of_d: int = 0
    turned: Turned = "other"
    within_strata: bool = False
    lowest: float = -1.0
    highest: float = 1.0

    @property
    def no_bias(self) -> float:
        """The value without bias."""
        return 1.0 if self.is_ratio else 0.0


_PLABEL, _NLABEL = "nobody with a positive label", "nobody with a negative label"
_PPRED, _NPRED = "nobody with a positive prediction", "nobody with a negative prediction"

_SELECTION_RATE = RateMetric(
    name="selection_rate",
    words="Selection rate",
    events=lambda c: c.predicted_positives,
    among=lambda c: c.n,
    nobody="no rows",
    needs_label=False,
    shown=("prediction",),
    advice="look for inputs by which positive predictions follow the group, and compare thresholds per group",
)
_TRUE_POSITIVE_RATE = RateMetric(
    name="true_positive_rate",
    words="True positive rate",
    events=lambda c: c.tp,
    among=lambda c: c.positives,
    nobody=_PLABEL,
    better="higher",
    short_names=("tpr", "recall"),
    shown=("prediction",),
    advice="look at the people with a positive label whom the model misses, and compare thresholds per group",
)
_FALSE_POSITIVE_RATE = RateMetric(
    name="false_positive_rate",
    words="False positive rate",
    events=lambda c: c.fp,
    among=lambda c: c.negatives,
    nobody=_NLABEL,
    better="lower",
    short_names=("fpr",),
    shown=("prediction",),
    advice="look at the people with a negative label whom the model wrongly calls positive, and compare thresholds per "
    "group",
)
_POSITIVE_PREDICTIVE_VALUE = RateMetric(
    name="positive_predictive_value",
    words="Positive predictive value",
    heading="Precision (PPV)",
    events=lambda c: c.tp,
    among=lambda c: c.predicted_positives,
    nobody=_PPRED,
    better="higher",
    short_names=("ppv", "precision"),
    shown=("prediction",),
    advice="check whether scores mean the same in both groups, and calibrate them group by group",
)
_ACCURACY = RateMetric(
    name="accuracy",
    words="Accuracy",
    events=lambda c: c.tp + c.tn,
    among=lambda c: c.n,
    nobody="no rows",
    better="higher",
    shown=("prediction",),
    advice="check whether inputs and labels of the group are as complete and as recent as those of the others",
)
_PREVALENCE = RateMetric(
    name="prevalence",
    words="Prevalence",
    events=lambda c: c.positives,
    among=lambda c: c.n,
    nobody="no rows",
    needs_prediction=False,
    shown=("label",),
    advice="check how labels came about in both groups before a model learns from them",
)
# F1 = 2 J / (1 + J), where J = TP / (TP + FP + FN) is a proportion: its interval carries over.
_JACCARD = Proportion(
    "jaccard", lambda c: c.tp, lambda c: c.tp + c.fp + c.fn, "nobody with a positive label or prediction"
)
FALSE_NEGATIVE_SHARE = Proportion("false_negative_share", lambda c: c.fn, lambda c: c.fn + c.fp, "no errors")
"""FN / FP = p / (1 - p), where p = FN / (FN + FP) is a proportion."""


def _distance(name: str, long_name: str, distance: str, title: str, highest: float) -> ClarifyMetric:
    """One of Clarify's distances of two distributions."""
    return ClarifyMetric(
        name=name,
        long_name=long_name,
        words=f"{distance} of the labels",
        how="distance",
        title=title,
        stage="pre_training",
        means="distance between the label distributions of d and a; it has no direction",
        signed=False,
        turned="same",
        lowest=0.0,
        highest=highest,
    )


METRICS: dict[str, RateMetric | ScoreMetric | NumericMetric | Criterion | ClarifyMetric] = {
    one.name: one
    for one in (
        _SELECTION_RATE,
        _TRUE_POSITIVE_RATE,
        _FALSE_POSITIVE_RATE,
        RateMetric(
            name="true_negative_rate",
            words="True negative rate",
            events=lambda c: c.tn,
            among=lambda c: c.negatives,
            nobody=_NLABEL,
            better="higher",
            short_names=("tnr", "specificity"),
        ),
        RateMetric(
            name="false_negative_rate",
            words="False negative rate",
            events=lambda c: c.fn,
            among=lambda c: c.positives,
            nobody=_PLABEL,
            better="lower",
            short_names=("fnr",),
        ),
        _POSITIVE_PREDICTIVE_VALUE,
        RateMetric(
            name="negative_predictive_value",
            words="Negative predictive value",
            events=lambda c: c.tn,
            among=lambda c: c.predicted_negatives,
            nobody=_NPRED,
            better="higher",
            short_names=("npv",),
        ),
        RateMetric(
            name="false_discovery_rate",
            words="False discovery rate",
            events=lambda c: c.fp,
            among=lambda c: c.predicted_positives,
            nobody=_PPRED,
            better="lower",
            short_names=("fdr",),
        ),
        RateMetric(
            name="false_omission_rate",
            words="False omission rate",
            events=lambda c: c.fn,
            among=lambda c: c.predicted_negatives,
            nobody=_NPRED,
            better="lower",
            short_names=("for",),
        ),
        _ACCURACY,
        _PREVALENCE,
        ScoreMetric(
            name="f1_score",
            words="F1 score",
            spoken="F1 score",
            short_names=("f1",),
            of=_JACCARD,
            change=lambda share: 2 * share / (1 + share),
        ),
        ScoreMetric(
            name="auc",
            words="Area under the curve (AUC)",
            heading="AUC",
            spoken="AUC",
            shown=("prediction", "label"),
            of_scores=True,
        ),
        ScoreMetric(name="mean_score", words="Mean score", shown=("label",), of_scores=True),
        ScoreMetric(name="brier_score", words="Brier score", short_names=("brier",), of_scores=True),
        ScoreMetric(name="calibration_error", words="Calibration error", of_scores=True),
        ScoreMetric(name="calibration_gap", words="Calibration gap", signed=True, of_scores=True),
        ScoreMetric(
            name="observed_to_expected", words="Observed positives per expected one", is_ratio=True, of_scores=True
        ),
        Criterion(
            name="demographic_parity", words="Demographic parity", asks="equal selection rates", of=(_SELECTION_RATE,)
        ),
        Criterion(
            name="four_fifths",
            words="Four-fifths rule",
            asks="equal shares of favourable predictions, lowest over highest",
            of=(_SELECTION_RATE,),
            of_favourable=True,
            also=("impact_ratio",),  # as Local Law 144 calls it; the smallest of all groups
        ),
        Criterion(
            name="equal_opportunity",
            words="Equal opportunity",
            asks="equal true positive rates",
            of=(_TRUE_POSITIVE_RATE,),
        ),
        Criterion(
            name="predictive_equality",
            words="Predictive equality",
            asks="equal false positive rates",
            of=(_FALSE_POSITIVE_RATE,),
        ),
        Criterion(
            name="equalized_odds",
            words="Equalized odds",
            asks="equal true and false positive rates",
            of=(_TRUE_POSITIVE_RATE, _FALSE_POSITIVE_RATE),
        ),
        Criterion(
            name="predictive_parity",
            words="Predictive parity",
            asks="equal positive predictive values",
            of=(_POSITIVE_PREDICTIVE_VALUE,),
        ),
        Criterion(name="accuracy_equality", words="Accuracy equality", asks="equal accuracy", of=(_ACCURACY,)),
        Criterion(
            name="treatment_equality",
            words="Treatment equality",
            asks="equally many false negatives per false positive",
            of=(FALSE_NEGATIVE_SHARE,),
            change=lambda share: share / (1.0 - share),
        ),
        Criterion(
            name="calibration",
            words="Calibration",
            asks="equally many positives per expected one",
            of=(_PREVALENCE,),
            over_mean_score=True,
        ),
        ClarifyMetric(
            name="CI",
            long_name="class_imbalance",
            words="Class imbalance",
            how="rows of others less rows of the group, over all",
            title="Class Imbalance",
            stage="pre_training",
            means="above 0: d is the smaller part of the rows",
            turned="same",
        ),
        ClarifyMetric(
            name="DPL",
            long_name="difference_in_proportions_of_labels",
            words="Difference in positive proportions in labels",
            how="others less group",
            title="Difference in Positive Proportions in Labels",
            stage="pre_training",
            means="above 0: d has the favourable label less often",
            worse=1,
            rate="prevalence",
            of_d=-1,
            turned="sign",
        ),
        _distance(
            "KL", "kullback_leibler_divergence", "Kullback-Leibler divergence", "Kullback-Leibler Divergence", math.inf
        ),
        _distance(
            "JS", "jensen_shannon_divergence", "Jensen-Shannon divergence", "Jensen-Shannon Divergence", math.log(2.0)
        ),
        _distance("LP", "lp_norm", "L-p norm", "L-p Norm", math.sqrt(2.0)),
        _distance("TVD", "total_variation_distance", "Total variation distance", "Total Variation Distance", 1.0),
        _distance("KS", "kolmogorov_smirnov", "Kolmogorov-Smirnov distance", "Kolmogorov-Smirnov Distance", 1.0),
        ClarifyMetric(
            name="CDDL",
            long_name="conditional_demographic_disparity_in_labels",
            words="Conditional demographic disparity in labels",
            how="share of negatives less positives",
            title="Conditional Demographic Disparity in Labels",
            stage="pre_training",
            means="above 0: within the strata, d has more of the unfavourable labels than of the others",
            worse=1,
            turned="sign",
            within_strata=True,
        ),
        ClarifyMetric(
            name="DPPL",
            long_name="difference_in_positive_proportions_in_predicted_labels",
            words="Difference in positive proportions in predicted labels",
            how="others less group",
            title="Difference in Positive Proportions in Predicted Labels",
            stage="post_training",
            means="above 0: d gets a favourable prediction less often",
            worse=1,
            rate="selection_rate",
            of_d=-1,
            turned="sign",
        ),
        ClarifyMetric(
            name="DI",
            long_name="disparate_impact",
            words="Disparate impact",
            how="group over all others",
            title="Disparate Impact",
            stage="post_training",
            means="below 1: d gets a favourable prediction less often; below 0.8 breaks the 4/5 rule",
            worse=-1,
            signed=False,
            is_ratio=True,
            rate="selection_rate",
            lowest=0.0,
            highest=math.inf,
        ),
        ClarifyMetric(
            name="DCA",
            long_name="difference_in_conditional_acceptance",
            words="Difference in conditional acceptance",
            how="others less group",
            title="Difference in Conditional Acceptance",
            stage="post_training",
            means="below 0: d gets fewer favourable predictions per favourable label than a",
            worse=-1,
            lowest=-math.inf,
            highest=math.inf,
        ),
        ClarifyMetric(
            name="DCR",
            long_name="difference_in_conditional_rejection",
            words="Difference in conditional rejection",
            how="group less others",
            title="Difference in Conditional Rejection",
            stage="post_training",
            means="below 0: d gets more unfavourable predictions per unfavourable label than a",
            worse=-1,
            lowest=-math.inf,
            highest=math.inf,
        ),
        ClarifyMetric(
            name="RD",
            long_name="recall_difference",
            words="Recall difference",
            how="others less group",
            title="Recall Difference",
            stage="post_training",
            means="above 0: favourable labels in d are missed more often",
            worse=1,
            rate="true_positive_rate",
            of_d=-1,
        ),
        # The blog prints SD and DRR as a - d; Clarify's code and its guide have d - a.
        ClarifyMetric(
            name="SD",
            long_name="specificity_difference",
            words="Specificity difference",
            how="group less others",
            title="Specificity Difference",
            stage="post_training",
            means="above 0: unfavourable labels in d are recognised more often",
            rate="true_negative_rate",
            of_d=1,
        ),
        ClarifyMetric(
            name="DAR",
            long_name="difference_in_acceptance_rates",
            words="Difference in acceptance rates",
            how="others less group",
            title="Difference in Acceptance Rates",
            stage="post_training",
            means="above 0: favourable predictions for d are wrong more often",
            rate="positive_predictive_value",
            of_d=-1,
        ),
        ClarifyMetric(
            name="DRR",
            long_name="difference_in_rejection_rates",
            words="Difference in rejection rates",
            how="group less others",
            title="Difference in Rejection Rates",
            stage="post_training",
            means="below 0: unfavourable predictions for d are wrong more often",
            worse=-1,
            rate="negative_predictive_value",
            of_d=1,
        ),
        ClarifyMetric(
            name="AD",
            long_name="accuracy_difference_clarify",
            words="Accuracy difference",
            how="others less group",
            title="Accuracy Difference",
            stage="post_training",
            means="above 0: predictions for d are right less often",
            worse=1,
            rate="accuracy",
            of_d=-1,
            turned="same",
        ),
        ClarifyMetric(
            name="CDDPL",
            long_name="conditional_demographic_disparity_in_predicted_labels",
            words="Conditional demographic disparity in predicted labels",
            how="share of negatives less positives",
            title="Conditional Demographic Disparity in Predicted Labels",
            stage="post_training",
            means="above 0: within the strata, d has more of the unfavourable predictions",
            worse=1,
            turned="sign",
            within_strata=True,
        ),
        ClarifyMetric(
            name="TE",
            long_name="treatment_equality_clarify",
            words="Treatment equality",
            how="group less others",
            title="Treatment Equality",
            stage="post_training",
            means="above 0: per undeserved favourable prediction, d has more missed favourable labels",
            worse=1,
            lowest=-math.inf,
            highest=math.inf,
        ),
        ClarifyMetric(
            name="FT",
            long_name="flip_test",
            words="Flip test",
            how="flips to negative less flips to positive, per row",
            title="Flip Test",
            stage="post_training",
            means="above 0: d is predicted unfavourable where similar rows of a are predicted favourable",
            worse=1,
            turned="sign",
        ),
        ClarifyMetric(
            name="GE",
            long_name="generalized_entropy",
            words="Generalised entropy",
            how="over everybody",
            title="Generalized Entropy",
            stage="post_training",
            means="above 0: errors benefit some and cost others; no facet enters it",
            signed=False,
            lowest=0.0,
            highest=math.inf,
        ),
        NumericMetric(name="mean_outcome", words="Mean outcome", amount=_outcome, needs_prediction=False),
        NumericMetric(
            name="median_outcome", words="Median outcome", amount=_outcome, needs_prediction=False, is_median=True
        ),
        NumericMetric(name="mean_prediction", words="Mean prediction", amount=_prediction, needs_label=False),
        NumericMetric(
            name="median_prediction", words="Median prediction", amount=_prediction, needs_label=False, is_median=True
        ),
        NumericMetric(name="mean_error", words="Mean error (prediction less outcome)", amount=_error, signed=True),
        NumericMetric(
            name="mean_absolute_error",
            words="Mean absolute error",
            amount=_absolute_error,
            better="lower",
            short_names=("mae",),
        ),
        NumericMetric(
            name="mean_squared_error",
            words="Mean squared error",
            amount=_squared_error,
            better="lower",
            short_names=("mse",),
        ),
        NumericMetric(
            name="root_mean_squared_error",
            words="Root mean squared error",
            amount=_squared_error,
            change=math.sqrt,
            better="lower",
            short_names=("rmse",),
        ),
        NumericMetric(
            name="within_tolerance",
            words="Share within the tolerance",
            amount=_within,
            needs_tolerance=True,
            is_share=True,
            better="higher",
        ),
    )
}
"""The registry: metrics by name, in the order of the report."""

M = TypeVar("M")


class _Kind(Mapping[str, M], Generic[M]):
    """The metrics of one kind, as they stand in the registry at the time of asking."""

    def __init__(self, kind: type[M]) -> None:
        self._kind = kind

    def __getitem__(self, name: str) -> M:
        metric = METRICS[name]
        if not isinstance(metric, self._kind):
            raise KeyError(name)
        return metric

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, metric in METRICS.items() if isinstance(metric, self._kind)])

    def __len__(self) -> int:
        return sum(isinstance(metric, self._kind) for metric in METRICS.values())


RATES = _Kind(RateMetric)
SCORES = _Kind(ScoreMetric)
NUMERIC = _Kind(NumericMetric)
"""Of label and prediction that are numbers, in place of rates and scores."""
GROUP_METRICS = _Kind(PerGroupMetric)
"""Rates and scores."""
CRITERIA = _Kind(Criterion)
CLARIFY = _Kind(ClarifyMetric)

BIAS_SCORE = "bias_score"


class _Choices(Mapping[str, str]):
    """What a limit can be set on, and the name that the results give it, by the registry at the time of asking."""

    def __getitem__(self, choice: str) -> str:
        return _choices()[choice]

    def __iter__(self) -> Iterator[str]:
        return iter(_choices())

    def __len__(self) -> int:
        return len(_choices())

    def items(self) -> ItemsView[str, str]:
        """Both at once: to make all choices anew for each of them takes most of reading a specification."""
        return _choices().items()


def _choices() -> dict[str, str]:
    ranges = [kind for name in in_order_of_results() for kind in CRITERIA[name].kinds]
    return {
        **{name: name for name in ranges},
        **{name: f"{metric.name}_ratio" for metric in CRITERIA.values() for name in metric.also},
        **{f"{name}_{kind}": f"{name}_{kind}" for name in compared_metrics() for kind in ("difference", "ratio")},
        **{name: name for name in GROUP_METRICS},
        **{name: name for metric in NUMERIC.values() for name in names_of_numeric(metric)},
        **{metric.long_name: metric.name for metric in CLARIFY.values()},
        **{name: name for name in CLARIFY},
        BIAS_SCORE: BIAS_SCORE,
    }


GATE_METRICS: Mapping[str, str] = _Choices()
"""Metrics that a limit can be set on, and the name that the results give them."""


def in_order_of_results() -> list[str]:
    """Names of the criteria: first those that ask for one equal rate."""
    return sorted(CRITERIA, key=lambda name: CRITERIA[name].rate is None)


def compared_metrics() -> list[str]:
    """Names of the metrics in which a group is compared with a reference: rates, and functions of counts or rows."""
    return [*RATES, *function_metrics()]


def function_metrics() -> list[str]:
    """Names of the metrics that are any function of labels and predictions, no proportion."""
    return [name for name, metric in SCORES.items() if metric.is_function]


def names_of_numeric(metric: NumericMetric) -> tuple[str, ...]:
    """A metric of numbers in each group, its difference from a reference, and its ratio where it has one.

    Examples
    --------
    >>> names_of_numeric(NUMERIC["mean_error"])
    ('mean_error', 'mean_error_difference')
    """
    ratio = (f"{metric.name}_ratio",) if not metric.signed else ()
    return (metric.name, f"{metric.name}_difference", *ratio)


def is_of_numbers(metric: str) -> bool:
    """Whether a metric, named as in the results, is of label and prediction that are numbers.

    Examples
    --------
    >>> is_of_numbers("mean_absolute_error_ratio"), is_of_numbers("accuracy")
    (True, False)
    """
    return plain_name(metric) in NUMERIC


def shown_rates() -> list[str]:
    """Names of the rates of predictions that stand for all others where there is room for a few."""
    return [name for name, rate in RATES.items() if "prediction" in rate.shown]


def of_stage(stage: Literal["pre_training", "post_training"]) -> tuple[str, ...]:
    """Clarify's metrics of the labels or of the predictions, by the alphabet, as its documents have them."""
    return tuple(sorted(name for name, metric in CLARIFY.items() if metric.stage == stage))


def full_names() -> dict[str, str]:
    """Usual abbreviations of rates, scores and metrics of numbers, and the names they stand for.

    Examples
    --------
    >>> full_names()["fpr"], full_names()["recall"]
    ('false_positive_rate', 'true_positive_rate')
    """
    metrics = [METRICS[name] for name in (*GROUP_METRICS, *NUMERIC)]
    return {
        short: metric.name
        for metric in metrics
        if isinstance(metric, RateMetric | ScoreMetric | NumericMetric)
        for short in metric.short_names
    }


def spoken_name(metric: str) -> str:
    """A metric of the gate in words.

    Examples
    --------
    >>> spoken_name("disparate_impact"), spoken_name("DPL"), spoken_name("auc")
    ('Disparate impact', 'DPL', 'AUC')
    """
    spoken = GROUP_METRICS[metric].spoken if metric in GROUP_METRICS else ""
    return spoken or capital(metric.replace("_", " "))


def plain_name(metric: str) -> str:
    """The rate or criterion of which a metric is the difference or the ratio; any other metric itself.

    Examples
    --------
    >>> plain_name("equal_opportunity_ratio"), plain_name("accuracy")
    ('equal_opportunity', 'accuracy')
    """
    return metric if metric in METRICS else metric.removesuffix("_difference").removesuffix("_ratio")


def is_ratio(metric: str) -> bool:
    """Whether a metric, named as in the results, is 1 and not 0 without bias.

    Examples
    --------
    >>> [is_ratio(one) for one in ("DI", "accuracy_ratio", "accuracy_difference", "observed_to_expected")]
    [True, True, False, True]
    """
    entry = METRICS.get(metric)
    if isinstance(entry, ScoreMetric | ClarifyMetric):
        return entry.is_ratio
    return entry is None and metric.endswith("_ratio")


def is_signed(metric: str) -> bool:
    """Whether a metric of scores, a mean error, or one of Clarify's, named as in the results, has two directions.

    Examples
    --------
    >>> [is_signed(one) for one in ("DPPL", "calibration_gap", "DI", "calibration_error")]
    [True, True, False, False]
    """
    entry = METRICS.get(metric)
    return isinstance(entry, ClarifyMetric | ScoreMetric | NumericMetric) and entry.signed


def depends_on_favourable(metric: str, *, both_ways: bool = False) -> bool:
    """Whether a metric, named as in the results, is read or counted by which prediction people want.

    Parameters
    ----------
    metric : str
    both_ways : bool
        Whether it is limited in both directions: then a difference that only changes its sign is not.

    Examples
    --------
    >>> [depends_on_favourable(one) for one in ("DI", "DPPL", "selection_rate_ratio", "four_fifths_ratio")]
    [True, True, True, True]
    >>> [depends_on_favourable(one) for one in ("AD", "false_positive_rate", "demographic_parity_ratio")]
    [False, False, False]
    >>> depends_on_favourable("DPPL", both_ways=True), depends_on_favourable("DI", both_ways=True)
    (False, True)
    """
    entry = METRICS.get(plain_name(metric))
    if isinstance(entry, ClarifyMetric):
        return entry.turned == "other" or (entry.turned == "sign" and not both_ways)
    if isinstance(entry, RateMetric):
        return entry.better is None and not both_ways
    return isinstance(entry, Criterion) and entry.of_favourable


def better_side(metric: str, favourable: Favourable | None) -> Better | None:
    """Which values of a metric, named as in the results, are better for the group they are of, or for all.

    Parameters
    ----------
    metric : str
    favourable : {"positive", "negative"} or None

    Returns
    -------
    {"lower", "higher"} or None
        None where neither is, as for class imbalance, or where nobody said which prediction people want.

    Examples
    --------
    >>> better_side("DI", "negative"), better_side("DPPL", "positive"), better_side("false_positive_rate_ratio", None)
    ('higher', 'lower', 'lower')
    >>> [better_side("selection_rate_difference", one) for one in ("positive", "negative", None)]
    ['higher', 'lower', None]
    """
    if metric == BIAS_SCORE:
        return "lower"
    entry = METRICS.get(plain_name(metric))
    if isinstance(entry, ClarifyMetric):
        if entry.worse:
            return "lower" if entry.worse > 0 else "higher"
        return None if entry.signed else "lower"  # a distance
    if isinstance(entry, RateMetric):
        sides: dict[Favourable | None, Better | None] = {"positive": "higher", "negative": "lower"}
        return entry.better or sides.get(favourable)
    if isinstance(entry, ScoreMetric | NumericMetric):
        return entry.better
    if isinstance(entry, Criterion):
        return "higher" if is_ratio(metric) else "lower"
    return None


def rate_compared(metric: ClarifyMetric, favourable: Favourable | None) -> tuple[str | None, int]:
    """The rate of positive outcomes of which one of Clarify's metrics is the difference, and the sign of d's rate.

    Clarify's metrics count favourable outcomes: where those are the negative ones, its recall is our true negative
    rate, and a share of favourable predictions is one less the selection rate.

    Examples
    --------
    >>> rate_compared(CLARIFY["DPPL"], "negative"), rate_compared(CLARIFY["RD"], "negative")
    (('selection_rate', 1), ('true_negative_rate', -1))
    """
    if favourable != "negative":
        return metric.rate, metric.of_d
    if metric.turned == "other":
        return _OTHER_OUTCOME.get(metric.rate or ""), metric.of_d
    return metric.rate, -metric.of_d if metric.turned == "sign" else metric.of_d


_OTHER_OUTCOME = {
    "true_positive_rate": "true_negative_rate",
    "true_negative_rate": "true_positive_rate",
    "positive_predictive_value": "negative_predictive_value",
    "negative_predictive_value": "positive_predictive_value",
}
"""What a rate is where the other outcome is called positive."""


@dataclass(frozen=True, kw_only=True)
class LocalMetric:
    """A metric that local bias compares between the groups of a place of the data.

    Attributes
    ----------
    words : str
        Within a sentence.
    heading : str or None
        Where it is introduced, if not by its words.
    measured : str or None
        What people are told to fare worse by, if not by its words.
    asked : str
        How page 1 asks for it: a measure of its words.
    among : {0, 1} or None
        The label of the rows it is a rate of positive predictions among, which are good or bad for people as the
        prediction is; None: it is of all rows.
    is_area : bool
        Whether it is the area under the curve of a score instead of a rate.
    """

    words: str
    heading: str | None = None
    measured: str | None = None
    asked: str
    among: Literal[0, 1] | None = None
    is_area: bool = False

    @property
    def unit(self) -> Unit:
        """Rates are told in per cent, areas as numbers."""
        return "value" if self.is_area else "rate"


LOCAL_METRICS: Mapping[str, LocalMetric] = MappingProxyType(
    {
        "accuracy": LocalMetric(words="accuracy", asked="accuracy"),
        "tpr": LocalMetric(words="true positive rate", asked="true_positives", among=1),
        "fpr": LocalMetric(words="false positive rate", asked="false_positive_rate", among=0),
        "auc": LocalMetric(
            words="AUC", heading="area under the curve (AUC)", measured="area", asked="area", is_area=True
        ),
    }
)
"""The metrics of local bias, as the specification names them."""
if TYPE_CHECKING:
    LocalMetricName = str
else:
    LocalMetricName = Literal[tuple(LOCAL_METRICS)]
