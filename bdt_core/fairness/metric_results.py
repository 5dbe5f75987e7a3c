"""All group fairness metrics of a table or of counts, each with its interval or the reason why it has none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from bdt_core.errors import SpecError, did_you_mean
from bdt_core.fairness.coding import Level
from bdt_core.fairness.counts import Group
from bdt_core.inference import adjust_p_values
from bdt_core.metrics import CLARIFY, CRITERIA, NUMERIC, RATES, SCORES, full_names, plain_name
from bdt_core.result import AuditPart, Result, Shown
from bdt_core.said import Level as OfColumn
from bdt_core.said import Text, joined

Kind = Literal["rate", "clarify", "difference", "ratio", "range", "overall"]
OVERALL = "_overall"
"""Ends the names of a user's own metrics of all rows."""

_GLANCE_RATES = 5
COLUMNS = ("facet", "value", "metric", "estimate", "low", "high", "undefined_reason", "n", "events")


@dataclass(frozen=True)
class Estimate:
    """One number with its interval.

    Attributes
    ----------
    estimate, low, high : float or None
        None: undefined, and `undefined_reason` says why. May be infinite.
    undefined_reason : str or None
    n, events : float
        Rows in the denominator of the group (of d, where d is compared with a), and those that count.
    """

    estimate: float | None
    low: float | None
    high: float | None
    undefined_reason: Text | None
    n: float
    events: float

    def __str__(self) -> str:
        if self.estimate is None:
            return f"undefined ({self.undefined_reason})"
        limits = "" if self.low is None or self.high is None else f" ({self.low:.3g} to {self.high:.3g})"
        return f"{self.estimate:.3g}{limits}"


@dataclass(frozen=True, repr=False)
class Metric(Shown):
    """One metric for every group.

    Attributes
    ----------
    name : str
    kind : {"rate", "clarify", "difference", "ratio", "range", "overall"}
        A rate, a score or a metric of numbers inside a group; one of Clarify's 21; a rate less, or over, that of the
        reference; the largest difference or smallest ratio over all pairs of groups; a user's own metric of all rows.
    values : tuple of tuple
        Groups, one value per facet; the empty tuple for a metric of all groups together.
    estimate, low, high : tuple of (float or None)
        Interval at the confidence of the result, for each group alone.
    together_low, together_high : tuple of (float or None), optional
        Limits that hold for all groups at once (differences and ratios).
    undefined_reason : tuple of (str or None)
    n, events : tuple of float
    p_value : float, optional
        Ranges: of equal rates in all groups.
    excluded : tuple of tuple
        Ranges: groups left out for having fewer rows than are needed.

    Examples
    --------
    >>> from bdt_core import bias_metrics
    >>> metric = bias_metrics([1, 0, 1, 1], [1, 0, 0, 1], groups=list("ffmm"))["selection_rate"]
    >>> metric.names, metric["f"].estimate
    (('f', 'm'), 0.5)
    >>> metric
    selection_rate: 2 groups
    group  estimate    low  high
        f       0.5 0.0608 0.939
        m       0.5 0.0608 0.939
    """

    name: str
    kind: Kind
    values: tuple[Group, ...]
    estimate: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    undefined_reason: tuple[Text | None, ...]
    n: tuple[float, ...]
    events: tuple[float, ...]
    together_low: tuple[float | None, ...] | None = None
    together_high: tuple[float | None, ...] | None = None
    p_value: float | None = None
    excluded: tuple[Group, ...] = ()

    def __getitem__(self, value: Any) -> Estimate:
        group = value if isinstance(value, tuple) else (value,)
        if group not in self.values:
            raise SpecError(
                f"{self.name} has no group {group_name(group)}. {did_you_mean(group_name(group), self.names)}"
            )
        return self._at(self.values.index(group))

    @property
    def names(self) -> tuple[str, ...]:
        """Groups as text."""
        return tuple(group_name(group) for group in self.values)

    @property
    def was_asked_for(self) -> bool:
        """Whether there are the columns that it is made of."""
        return not self.values or not all(
            reason is not None and reason.startswith(("no score column", "no label column", "no prediction column"))
            for reason in self.undefined_reason
        )

    @property
    def only(self) -> Estimate:
        """The estimate of a metric that has just one.

        Raises
        ------
        SpecError
            It has several.
        """
        if len(self.values) != 1:
            raise SpecError(f"{self.name} has {len(self.values)} values; name one of: {', '.join(self.names[:20])}.")
        return self._at(0)

    def to_frame(self) -> pd.DataFrame:
        """A row per group: its estimate, and the interval of each group alone.

        Returns
        -------
        DataFrame
            Columns group, estimate, low, high, and undefined_reason where there is one.

        Examples
        --------
        >>> from bdt_core import bias_metrics
        >>> bias_metrics([1, 0, 1, 1], [1, 0, 0, 1], groups=list("ffmm"))["accuracy"].to_frame()["estimate"].tolist()
        [1.0, 0.5]
        """
        frame = pd.DataFrame({"group": self.names, "estimate": self.estimate, "low": self.low, "high": self.high})
        frame = frame.astype(dict.fromkeys(("estimate", "low", "high"), "float64"))
        if any(self.undefined_reason):
            frame["undefined_reason"] = pd.Series(self.undefined_reason, dtype=object)
        return frame

    def _glance(self) -> tuple[str, pd.DataFrame]:
        if self.values == ((),):
            return f"{self.name}: {self.only}", pd.DataFrame()
        return f"{self.name}: {len(self.values)} groups", self.to_frame()

    def _at(self, i: int) -> Estimate:
        return Estimate(
            self.estimate[i], self.low[i], self.high[i], self.undefined_reason[i], self.n[i], self.events[i]
        )


@dataclass(frozen=True, repr=False)
class BiasMetrics(AuditPart):
    """Every metric of one facet, or of the intersections of several.

    Attributes
    ----------
    facets : tuple of str
    label, prediction, group, score, weight : str or None
        Columns; `group` is the one within whose values CDDL and CDDPL compare.
    positive : tuple
        Favourable values found, or asked for when none was found; none of numbers.
    confidence : float
    reference : str
        What differences and ratios compare with: a group, or "everybody else".
    rows : int
        Rows given.
    missing : dict of str to int
        Rows without a value per column. They are in no metric; without a score or a value of `group`, in none that
        needs it.
    rows_seen : int
        Rows with a facet, a label and a prediction, as far as there are such columns: those in the metrics.
    rows_seen_with : dict of str to int
        Of these, those with a value of `score`, and of `group`.
    notes : tuple of str
        What a reader must know to use the numbers.
    metrics : tuple of Metric

    Examples
    --------
    >>> from bdt_core.fairness import bias_metrics
    >>> frame = pd.DataFrame({"sex": list("ffffmmmm") * 10, "hired": [0, 0, 1, 0, 1, 1, 1, 0] * 10})
    >>> result = bias_metrics(frame, facet="sex", label="hired")
    >>> result["DPL"]["f"].estimate, result["prevalence"]["m"].estimate
    (0.5, 0.75)
    >>> frame.loc[:4, "hired"] = None
    >>> bias_metrics(frame, facet="sex", label="hired").unseen("prevalence")
    (5, ('hired',))
    """

    facets: tuple[str, ...]
    label: str | None
    prediction: str | None
    group: str | None
    score: str | None
    weight: str | None
    positive: tuple[Level, ...]
    confidence: float
    reference: str
    rows: int
    missing: dict[str, int]
    rows_seen: int
    rows_seen_with: dict[str, int]
    notes: tuple[Text, ...]
    metrics: tuple[Metric, ...]

    @property
    def facet(self) -> str:
        """Name of the facet, or of all of them."""
        return " & ".join(self.facets)

    def unseen(self, metric: str) -> tuple[int, tuple[str, ...]]:
        """How many rows a metric did not see, and the columns that it needs and that are missing in some rows.

        Parameters
        ----------
        metric : str
            Named as in the results.

        Returns
        -------
        tuple of int and tuple of str
        """
        only = self.group if metric in CLARIFY and CLARIFY[metric].within_strata else None
        if metric in SCORES and SCORES[metric].of_scores:
            only = self.score
        criterion = CRITERIA.get(plain_name(metric))
        if criterion is not None and criterion.over_mean_score:
            only = self.score
        needed = [one for one in (*self.facets, self.label, self.prediction, only) if one is not None]
        seen = self.rows_seen if only is None else self.rows_seen_with[only]
        return self.rows - seen, tuple(one for one in dict.fromkeys(needed) if self.missing[one])

    def __getitem__(self, name: str) -> Metric:
        full_name = full_names().get(name.lower(), name)
        for metric in self.metrics:
            if metric.name == full_name:
                return metric
        raise SpecError(f'There is no metric "{name}". {did_you_mean(name, [one.name for one in self.metrics])}')

    @property
    def by_group(self) -> pd.DataFrame:
        """Every rate of every group.

        Returns
        -------
        DataFrame
            A row per group, by the values of the facets, and a column per rate. Undefined ones are missing.

        Examples
        --------
        >>> from bdt_core import bias_metrics
        >>> result = bias_metrics([1, 0, 1, 1], [1, 0, 0, 1], groups=pd.Series(list("ffmm"), name="sex"))
        >>> result.by_group[["accuracy", "selection_rate"]].loc["m"].tolist()
        [0.5, 0.5]
        """
        rates = [one for one in self.metrics if one.kind == "rate" and one.was_asked_for]
        groups = rates[0].values if rates else ()
        index = (
            pd.Index([group[0] for group in groups], name=self.facets[0])
            if len(self.facets) == 1
            else pd.MultiIndex.from_tuples(groups, names=self.facets)
        )
        return pd.DataFrame({one.name: pd.Series(one.estimate, dtype="float64").array for one in rates}, index=index)

    @property
    def overall(self) -> pd.Series:
        """Every rate, every mean of numbers and every metric of one's own, of all rows that metrics see.

        These have a known facet, label and prediction. Scores, medians and the root of a mean have none.

        Examples
        --------
        >>> from bdt_core import bias_metrics
        >>> float(bias_metrics([1, 0, 1, 0], [1, 0, 0, 0], groups=list("ffmm")).overall["accuracy"])
        0.75
        >>> list(bias_metrics([1, 0, 1, 0], groups=list("ffmm")).overall.index)  # of a label alone
        ['prevalence']
        """
        pooled = {
            one.name: math.fsum(one.events) / n
            for one in self.metrics
            if one.name in RATES and one.kind == "rate" and one.was_asked_for and (n := math.fsum(one.n))
        }
        pooled |= {
            one.name: math.fsum(x * n for x, n in zip(one.estimate, one.n, strict=True) if x is not None) / n_of_all
            for one in self.metrics
            if one.name in NUMERIC and NUMERIC[one.name].is_mean and (n_of_all := math.fsum(one.n))
        }
        own = {one.name.removesuffix(OVERALL): one.estimate[0] for one in self.metrics if one.kind == "overall"}
        return pd.Series({**pooled, **own}, dtype="float64")

    def group_min(self) -> pd.Series:
        """Smallest value of every rate over all groups, however small; see `difference`.

        Examples
        --------
        >>> from bdt_core import bias_metrics
        >>> float(bias_metrics([1, 0, 1, 0], [1, 0, 0, 0], groups=list("ffmm")).group_min()["accuracy"])
        0.5
        """
        return self.by_group.min()

    def group_max(self) -> pd.Series:
        """Largest value of every rate over all groups, however small; see `difference`.

        Examples
        --------
        >>> from bdt_core import bias_metrics
        >>> float(bias_metrics([1, 0, 1, 0], [1, 0, 0, 0], groups=list("ffmm")).group_max()["accuracy"])
        1.0
        """
        return self.by_group.max()

    def difference(self) -> pd.Series:
        """Largest less smallest value of every rate over all groups, however small.

        Chance alone makes it larger than 0, the more so the smaller the groups. The metrics named ``..._difference``
        and ``..._range`` of this result have intervals, and leave small groups out.

        Returns
        -------
        Series
            By rate; 0 is no difference.

        Examples
        --------
        >>> from bdt_core import bias_metrics
        >>> result = bias_metrics([1, 0, 1, 0], [1, 0, 0, 0], groups=list("ffmm"))
        >>> result.difference()[["accuracy", "selection_rate"]].tolist()
        [0.5, 0.5]
        """
        return self.group_max() - self.group_min()

    def ratio(self) -> pd.Series:
        """Smallest value of every rate over the largest one, over all groups, however small; see `difference`.

        Returns
        -------
        Series
            By rate; 1 is no difference, missing where the rate is 0 in all groups.

        Examples
        --------
        >>> from bdt_core import bias_metrics
        >>> result = bias_metrics([1, 0, 1, 0], [1, 0, 0, 0], groups=list("ffmm"))
        >>> result.ratio()[["accuracy", "selection_rate"]].tolist()
        [0.5, 0.0]
        """
        return self.group_min() / self.group_max()

    def _glance(self) -> tuple[str, pd.DataFrame]:
        frame = self.by_group
        seen = [one for one in frame.columns if one in RATES or one in NUMERIC][:_GLANCE_RATES]
        sentence = f"Metrics by {self.facet}: {len(frame)} groups, {self.rows_seen:,} of {self.rows:,} rows"
        return sentence, frame[seen].reset_index()

    def to_frame(self) -> pd.DataFrame:
        """All estimates, one per line; `table` is its older name.

        Returns
        -------
        DataFrame
            Columns facet, value, metric, estimate, low, high, undefined_reason, n, events, and then kind,
            together_low, together_high, p_value. Infinite estimates stay infinite, undefined ones are missing.

        Examples
        --------
        >>> from bdt_core import bias_metrics
        >>> frame = bias_metrics([1, 0, 1, 1], [1, 0, 0, 1], groups=list("ffmm")).to_frame()
        >>> frame.loc[frame["metric"] == "accuracy", ["value", "estimate"]].values.tolist()
        [['f', 1.0], ['m', 0.5]]
        """
        parts: dict[str, list[Any]] = {
            name: [] for name in (*COLUMNS, "kind", "together_low", "together_high", "p_value")
        }
        for metric in self.metrics:
            size = len(metric.values)
            none = (None,) * size
            parts["facet"] += [self.facet] * size
            parts["value"] += [None if not group else group[0] if len(group) == 1 else group_name(group)
                               for group in metric.values]  # fmt: skip
            parts["metric"] += [metric.name] * size
            parts["kind"] += [metric.kind] * size
            parts["p_value"] += [metric.p_value] * size
            for name in ("estimate", "low", "high", "undefined_reason", "n", "events", "together_low", "together_high"):
                parts[name] += getattr(metric, name) or none
        numbers = ("estimate", "low", "high", "together_low", "together_high", "p_value")
        return pd.DataFrame({
            name: pd.Series(values, dtype="float64" if name in numbers else None) for name, values in parts.items()
        })  # fmt: skip

    table = to_frame


@dataclass(frozen=True, repr=False)
class ControlledMetrics(Shown):
    """Every metric among people who are alike in control features: groups are compared within each of their levels.

    Attributes
    ----------
    control : tuple of str
        Names of the control features.
    within : dict of tuple to BiasMetrics
        By the values of these. Rows without one are in none.

    Examples
    --------
    >>> from bdt_core import bias_metrics
    >>> town = pd.Series(list("aaaabbbb"), name="town")
    >>> sex = pd.Series(list("ffmmffmm"), name="sex")
    >>> found = bias_metrics([1, 0] * 4, [1, 0, 0, 0, 1, 0, 1, 0], groups=sex, control_features=town)
    >>> found.difference()["accuracy"].to_dict(), found.overall["accuracy"].to_dict()
    ({'a': 0.5, 'b': 0.0}, {'a': 0.75, 'b': 1.0})
    >>> found["a"]["accuracy"]["m"].estimate, found.by_group.loc[("b", "m"), "accuracy"].item()
    (0.5, 1.0)
    >>> [one.loc["a", "accuracy"].item() for one in (found.group_min(), found.group_max(), found.ratio())]
    [0.5, 1.0, 0.5]
    >>> found.to_frame().loc[0, ["town", "facet", "value", "metric"]].tolist()
    ['a', 'sex', 'f', 'selection_rate']
    """

    control: tuple[str, ...]
    within: dict[Group, BiasMetrics]

    def __getitem__(self, level: Any) -> BiasMetrics:
        group = level if isinstance(level, tuple) else (level,)
        if group not in self.within:
            known = [group_name(one) for one in self.within]
            raise SpecError(
                f"{' & '.join(self.control)} has no level {group_name(group)}. {did_you_mean(group_name(group), known)}"
            )
        return self.within[group]

    @property
    def by_group(self) -> pd.DataFrame:
        """Every rate of every group: a row per level of the control features and group."""
        return self._each(lambda one: one.by_group)

    @property
    def overall(self) -> pd.DataFrame:
        """Every rate of all: a row per level of the control features; see `BiasMetrics.overall`."""
        return self._each(lambda one: one.overall.to_frame().T, one_row=True)

    def group_min(self) -> pd.DataFrame:
        """Smallest value of every rate within each level of the control features."""
        return self._each(lambda one: one.group_min().to_frame().T, one_row=True)

    def group_max(self) -> pd.DataFrame:
        """Largest value of every rate within each level of the control features."""
        return self._each(lambda one: one.group_max().to_frame().T, one_row=True)

    def difference(self) -> pd.DataFrame:
        """Largest less smallest value of every rate within each level of the control features."""
        return self.group_max() - self.group_min()

    def ratio(self) -> pd.DataFrame:
        """Smallest value of every rate over the largest one within each level of the control features."""
        return self.group_min() / self.group_max()

    def to_frame(self) -> pd.DataFrame:
        """All estimates, one per line, as those of `BiasMetrics`; the first columns are the control features."""
        return self._each(BiasMetrics.to_frame, one_row=True).reset_index()

    def _glance(self) -> tuple[str, pd.DataFrame]:
        frame = self.by_group
        seen = [one for one in frame.columns if one in RATES or one in NUMERIC][:_GLANCE_RATES]
        return f"Metrics within {' & '.join(self.control)}: {len(self.within)} levels", frame[seen].reset_index()

    def _each(self, of: Callable[[BiasMetrics], pd.DataFrame], *, one_row: bool = False) -> pd.DataFrame:
        """What each level has, under each other, with the level in front."""
        single = len(self.control) == 1
        parts = {level[0] if single else level: of(one) for level, one in self.within.items()}
        stacked = pd.concat(parts, names=list(self.control))
        return stacked.droplevel(-1) if one_row else stacked


@dataclass(frozen=True)
class DeclaredTest(Result):
    """The test of one declared metric on one facet, corrected over all that were declared."""

    facet: str
    metric: str
    p_value: float | None
    p_adjusted: float | None
    significant: bool | None


def declared_tests(
    results: Iterable[BiasMetrics], metrics: Sequence[str], *, alpha: float = 0.05
) -> tuple[DeclaredTest, ...]:
    """Correct the tests of "no difference between groups" over declared facets x declared metrics (Holm).

    Parameters
    ----------
    results : iterable of BiasMetrics
        One per declared facet.
    metrics : sequence of str
        Names of range metrics, such as "demographic_parity_difference".
    alpha : float
        Level over the whole family.

    Returns
    -------
    tuple of DeclaredTest
        A test that could not be made has None and does not count in the family.

    Raises
    ------
    SpecError
        A metric that does not exist, or has no test.
    """
    pairs = [(one, one[name]) for one in results for name in metrics]
    for _, metric in pairs:
        if metric.kind != "range":
            raise SpecError(f'"{metric.name}" has no test of its own. Declare a metric over all groups instead.')
    adjusted = adjust_p_values([metric.p_value for _, metric in pairs])
    return tuple(
        DeclaredTest(
            facet=one.facet,
            metric=metric.name,
            p_value=metric.p_value,
            p_adjusted=None if math.isnan(p) else float(p),
            significant=None if math.isnan(p) else bool(p <= alpha),
        )
        for (one, metric), p in zip(pairs, adjusted, strict=True)
    )


def group_name(group: Sequence[Level]) -> str:
    """A group as text.

    Examples
    --------
    >>> group_name(("Female", 40))
    'Female & 40'
    """
    return " & ".join(map(str, group))


def group_in_words(facets: Sequence[str], group: Sequence[Level]) -> str:
    """The same text, which knows of which column each level is.

    Examples
    --------
    >>> group_in_words(("sex", "age"), ("Female", 40)).values["second"].column
    'age'
    """
    return joined([OfColumn(str(level), facet) for facet, level in zip(facets, group, strict=True)], " & ")
