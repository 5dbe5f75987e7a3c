"""Settings and results of the stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bdt_core.errors import SpecError
from bdt_core.fairness.coding import Value
from bdt_core.fairness.metric_results import Estimate
from bdt_core.metrics import CLARIFY, SCORES, Favourable
from bdt_core.mitigation.curves import Constraint, NamedObjective, checked_settings
from bdt_core.mitigation.proxies import ProxyTable
from bdt_core.mitigation.reweighing import Reweighing
from bdt_core.result import Result
from bdt_core.said import Column, Text, joined

NOT_OF_DECISIONS = "it does not come from labels and decisions alone"
"""Why a metric of scores, of similar people or within strata is not measured again."""


def of_more_than_decisions() -> frozenset[str]:
    """Metrics that need a score, features or a stratum beside label and decision."""
    of_scores = (name for name, one in SCORES.items() if one.of_scores)
    return frozenset({"FT", *of_scores, *(name for name, one in CLARIFY.items() if one.within_strata)})


@dataclass(frozen=True)
class MitigationSettings:
    """What mitigation is tried, on which columns.

    Attributes
    ----------
    group : tuple of str
        Columns with groups; several make intersections.
    score : str
        Numeric column; higher means that a positive label is more likely.
    label : str
        What really happened.
    prediction : str or None
        What the algorithm decides now. Without it the present decision is `threshold`.
    threshold : float or None
        Selected now is who scores at or above, whatever the group; without it the single threshold with the best
        objective on the train rows.
    positive, positive_prediction : tuple
        Values of the label, and of the prediction (by default the same), that count as positive.
    constraint, tolerance, objective, randomized
        As in `GroupThresholds`.
    features, protected : tuple of str
        Columns of the proxy table: every feature against every protected attribute (`group` by default). No
        feature: no table.
    metrics : tuple of str
        Metrics measured before and after beside the ranges over all groups, such as "DI" or "false_positive_rate".
    favourable : {"positive", "negative"} or None
        Which label and decision people want, if somebody said; see `bdt_core.fairness.metrics_from_counts`.
    alpha : float
        Intervals have confidence 1 - alpha.
    min_rows : int
        Groups with fewer train rows keep their decisions; of groups with fewer test rows no rate is shown.
    random_state : int
        Seed of drawn lots.
    person : str or None
        Column that names the person, where one may have several rows: intervals and minimum sizes then count persons.

    Examples
    --------
    >>> MitigationSettings(group=("race",), score="decile_score", label="two_year_recid").constraint
    'equal_opportunity'
    """

    group: tuple[str, ...]
    score: str
    label: str
    prediction: str | None = None
    threshold: float | None = None
    positive: tuple[Value, ...] = (1,)
    positive_prediction: tuple[Value, ...] | None = None
    constraint: Constraint = "equal_opportunity"
    tolerance: float = 0.02
    objective: NamedObjective = "accuracy"
    randomized: bool = False
    features: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    favourable: Favourable | None = None
    alpha: float = 0.05
    min_rows: int = 30
    random_state: int = 0
    person: str | None = None

    def __post_init__(self) -> None:
        checked_settings(self.constraint, self.tolerance, self.objective, self.randomized)
        if not self.group or isinstance(self.group, str):
            raise SpecError('mitigation.group must name one or more columns, as in ("race",).')
        if self.prediction is not None and self.threshold is not None:
            raise SpecError("The present decision is either mitigation.prediction or mitigation.threshold, not both.")

    @property
    def facet(self) -> str:
        """The grouping as one name."""
        return " & ".join(self.group)

    @property
    def columns(self) -> str:
        """The same, to be said: each column by the readers' name for it."""
        return joined([Column(one) for one in self.group], " & ")

    @property
    def metric(self) -> str:
        """The metric that the constraint holds down: the largest difference between two groups."""
        return f"{self.constraint}_difference"


@dataclass(frozen=True)
class MetricChange:
    """A metric on the test rows under the present decisions and under the new thresholds.

    Attributes
    ----------
    metric : str
    group : str or None
        None for all groups together.
    before, after : Estimate
    """

    metric: str
    group: str | None
    before: Estimate
    after: Estimate


@dataclass(frozen=True)
class GroupChange:
    """What changes for one group.

    Attributes
    ----------
    group : str
    train_rows, test_rows : int
    threshold_before : float or None
        None where present decisions are no single threshold on the score.
    threshold_after : float or None
        Selected is who scores at or above; infinite: nobody, minus infinity: everybody. None where lots are drawn.
    mixture : tuple of (threshold, chance)
    selected_now, selected_no_longer : int or None
        Test rows that the new thresholds select and the present decisions do not, and the reverse.
    rates : tuple of MetricChange
        Selection rate, true and false positive rate, precision and accuracy on the test rows; none, and no counts of
        changed rows, for a group with too few.
    """

    group: str
    train_rows: int
    test_rows: int
    threshold_before: float | None
    threshold_after: float | None
    mixture: tuple[tuple[float, float], ...]
    selected_now: int | None
    selected_no_longer: int | None
    rates: tuple[MetricChange, ...]


@dataclass(frozen=True)
class FrontierRow:
    """The best thresholds at one tolerance: chosen on the train rows, measured on the test rows.

    Attributes
    ----------
    tolerance : float
        1: no constraint.
    train_gap, train_objective : float
    thresholds : dict of group to float
    gap, accuracy : Estimate
        On the test rows; a smaller gap and a higher accuracy are better.
    """

    tolerance: float
    train_gap: float
    train_objective: float
    thresholds: dict[str, float]
    gap: Estimate
    accuracy: Estimate


@dataclass(frozen=True)
class LeftOutGroup:
    """A group whose decisions stay as they are, and why."""

    group: str
    train_rows: int
    test_rows: int
    reason: Text


@dataclass(frozen=True)
class Thresholds:
    """Group thresholds, chosen on the train rows and measured on the test rows.

    Attributes
    ----------
    train_gap : float
        Largest difference on the train rows; at most the tolerance.
    groups : tuple of GroupChange
    gap : MetricChange
        The constrained metric.
    accuracy : MetricChange
        Of all rows of these groups.
    accuracy_change : Estimate
        After less before, with an interval for paired rows; negative is a cost.
    metrics : tuple of MetricChange
        Ranges over all groups, and what `settings.metrics` names.
    frontier : tuple of FrontierRow
        By falling gap; without drawing lots.
    """

    train_gap: float
    groups: tuple[GroupChange, ...]
    gap: MetricChange
    accuracy: MetricChange
    accuracy_change: Estimate
    metrics: tuple[MetricChange, ...]
    frontier: tuple[FrontierRow, ...]


@dataclass(frozen=True)
class Mitigation(Result):
    """What could be done, and what it was measured to do.

    Attributes
    ----------
    settings : MitigationSettings
    status : {"measured", "not_possible"}
    reason : str or None
        Why there are no thresholds.
    present : str
        What the present decision is.
    train_rows, test_rows : int
        Rows with group, score, label and prediction, of groups that take part.
    missing : dict of str to int
        Rows, train and test, without a value per column; they are not used.
    left_out : tuple of LeftOutGroup
    thresholds : Thresholds or None
    reweighing : Reweighing or None
        Of the train rows of groups that take part; None without such rows.
    proxies : ProxyTable or None
        On train and test rows: nothing is fitted.
    notes : tuple of str
    """

    settings: MitigationSettings
    status: Literal["measured", "not_possible"]
    reason: Text | None
    present: Text
    train_rows: int
    test_rows: int
    missing: dict[str, int]
    left_out: tuple[LeftOutGroup, ...]
    thresholds: Thresholds | None
    reweighing: Reweighing | None
    proxies: ProxyTable | None
    notes: tuple[Text, ...]
