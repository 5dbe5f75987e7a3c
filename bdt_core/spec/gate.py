"""The limits of the gate: on what was found (clusters, intersections, local bias) and on metrics of declared groups."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import entry_points
from itertools import chain, count
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, field_validator, model_validator

from bdt_core import words
from bdt_core.errors import SpecError, nearest
from bdt_core.metrics import GATE_METRICS, LOCAL_METRICS, NUMERIC, is_of_numbers, plain_name
from bdt_core.said import Column, Numeral, joined, of_ours, say
from bdt_core.spec.depth import SliceSearch, WorstGroupSearch
from bdt_core.spec.direction import problem_of_direction
from bdt_core.spec.registered import Registered
from bdt_core.spec.section import SpecSection
from bdt_core.spec.wording import compared_with, named

if TYPE_CHECKING:
    from bdt_core.spec.audit_spec import AuditSpec

Inconclusive = Literal["warn", "block"]
Counted = Literal["metrics", "numbers", "outcomes"]
"""What a limit on declared groups is on."""
PLUGINS = "bdt.limits"
"""Entry points of other packages that add a kind of limit: modules that register it when they are imported."""


_OF_PEOPLE = ("ranked", "outcome", "significance", "worst_groups", "slices", "local_bias", "blanks", "declared")
"""Whatever finds people can break a limit on them."""


def name_of_check(check: str) -> str:
    """The name of a limit's check: keys of ours, which stay where a language has no words for them, and columns.

    Examples
    --------
    >>> name_of_check("worst_cluster"), name_of_check("disparate_impact by race & sex")
    ('worst_cluster', 'disparate_impact by race & sex')
    """
    metric, by, facet = check.partition(" by ")
    if not by:
        return of_ours(check)
    columns = joined([Column(column) for column in facet.split(" & ")], " & ")
    return say("{metric} by {facet}", metric=of_ours(metric), facet=columns)


class GateLimit(SpecSection):
    """Base of all kinds of limit, as the specification has them.

    A kind that others add is a subclass with a `kind` of its own and a ``check: Literal[...]`` by which a specification
    names it; `bdt_core.verdict.register` adds it, with its judge and its words.

    Attributes
    ----------
    kind : str
        The kind's name in reports.
    counts : {"metrics", "numbers", "outcomes"} or None
        What is counted by `facets`: metrics of label and prediction, the same where they are numbers, or the bias
        variable.
    results : tuple of str
        Results of stages that it is judged by (see `bdt_core.stages`); "outcome" is the bias variable, measured. Its
        check in Dagster stands on the asset of the first.
    applies : str or None
        The rule of selection that is applied for it.
    """

    kind: ClassVar[str]
    counts: ClassVar[Counted | None] = None
    results: ClassVar[tuple[str, ...]] = _OF_PEOPLE
    applies: ClassVar[Literal["four_fifths"] | None] = None

    inconclusive: Inconclusive = Field(
        "warn", description="What happens when the data cannot tell: a warning, or the gate stays shut."
    )

    @classmethod
    def checks(cls) -> tuple[str, ...]:
        """The values of ``check`` that name this kind."""
        check = cls.model_fields.get("check")
        return () if check is None else get_args(check.annotation)

    @property
    def facets(self) -> tuple[str, ...]:
        """Columns with the groups that it is on; none where it is on all, or on no declared ones."""
        return ()

    @property
    def least_share(self) -> float | None:
        """Share of the people below which groups are not judged."""
        return None

    @property
    def ruled_out_share(self) -> float | None:
        """Share of the people from which on the search for the worst group has to rule groups out for it."""
        return None

    def check_name(self) -> str:
        """The name of its check in Dagster, without the columns that it is on."""
        return str(getattr(self, "check", self.kind))

    def question(self, spec: AuditSpec) -> str:
        """What its check in Dagster asks: whether people fare worse by more than is tolerated."""
        most, share = getattr(self, "max_difference", None), self.least_share
        who = of_ours(self.people())
        return say(
            "Does no {who} fare worse in {measure} than {than} by more than {what}?",
            who=who if share is None else say("{who} of at least {N} of the people", who=who, N=words.percent(share)),
            measure=named(spec.bias_variable),
            than=of_ours(self.others(spec)),
            what=say("what is tolerated") if most is None else Numeral(f"{most:g}"),
        )

    def people(self) -> str:
        """One of whom it is on."""
        return str(getattr(self, "check", self.kind)).replace("_", " ")

    def others(self, spec: AuditSpec) -> str:  # noqa: ARG002 - some compare people alike
        """Whom they are compared with."""
        return "everybody else"

    @classmethod
    def unasked(cls, spec: AuditSpec) -> GateLimit | None:  # noqa: ARG003 - most have none
        """The limit whose check Dagster has where the gate names none of this kind."""
        return None

    def searches(self) -> dict[str, SpecSection]:
        """Sections without which it has nothing to judge, as they are added where the specification has none."""
        return {}

    def problem_in(self, spec: AuditSpec) -> str | None:  # noqa: ARG002 - each kind has its own
        """What it lacks in a specification, and how to mend that; None where it lacks nothing."""
        return None


class Limit(GateLimit):
    """A limit on clusters: how much worse off may a group be that the search has found?"""

    kind = "cluster"

    check: Literal["worst_cluster", "any_cluster"] = Field(
        "worst_cluster",
        description="worst_cluster: the most deviating cluster of the train rows. any_cluster: each of them.",
    )
    max_difference: float | None = Field(
        None,
        ge=0,
        description=(
            "Largest tolerated difference from everybody else in the harmful direction, in units of the bias "
            "variable. Default: 0.05 for a two-valued one, a fifth of its standard deviation otherwise."
        ),
    )

    @field_validator("check", mode="before")
    @classmethod
    def _check_is_known(cls, check: Any) -> Any:
        known = [one for kind in KINDS_OF_LIMIT.values() for one in kind.checks()]
        if isinstance(check, str) and check not in known:
            hint = nearest(check, known, f"known: {', '.join(known)}")
            raise ValueError(f'there is no check "{check}"; {hint}')
        return check

    def people(self) -> str:
        """A cluster."""
        return "most deviating cluster" if self.check == "worst_cluster" else "cluster"

    def problem_in(self, spec: AuditSpec) -> str | None:
        """Clusters that nobody searches."""
        if spec.clustering is not None:
            return None
        return (
            f'"gate" limits "{self.check}", and "clustering: null" searches no clusters: leave "clustering" out, or '
            'take this limit out of "gate"'
        )


class MetricLimit(GateLimit):
    """A limit on a metric of declared groups."""

    kind = "metric"
    counts: ClassVar[Counted | None] = "metrics"
    results: ClassVar[tuple[str, ...]] = ("group_metrics", "group_scores")

    metric: str = Field(
        description=(
            "demographic_parity_difference, equalized_odds_ratio and the like: range over the groups. "
            "disparate_impact or DI and Clarify's others: each group against all others, by what is favourable. "
            "four_fifths_ratio or impact_ratio: lowest over highest share of favourable predictions. "
            "false_positive_rate, accuracy and "
            "the like: each group. false_positive_rate_difference: each group against groups.reference. bias_score."
        ),
        json_schema_extra=lambda schema: schema.update(enum=[*_metrics()]),  # as they are when it is asked for
    )
    facet: str | list[str] = Field(description="Column with the groups; several columns make intersections.")
    min: float | None = Field(None, description="Smallest value that is tolerated, e.g. 0.8 for a ratio.")
    max: float | None = Field(
        None,
        description="Largest value that is tolerated, e.g. 0.1 for a difference; without min, in both directions.",
    )
    rule: Literal["interval", "point"] = Field(
        "interval",
        description=(
            "interval: pass or fail only when the whole interval lies on one side. point: the value alone decides; "
            "in small groups it often fails by chance."
        ),
    )

    @property
    def facets(self) -> tuple[str, ...]:
        """Columns with the groups."""
        return (self.facet,) if isinstance(self.facet, str) else tuple(self.facet)

    @field_validator("metric")
    @classmethod
    def _metric_is_known(cls, metric: str) -> str:
        if metric not in GATE_METRICS:
            hint = nearest(metric, GATE_METRICS, "see the description of the key in: bdt schema")
            raise ValueError(f'there is no metric "{metric}"; {hint}')
        if metric not in _metrics(numbers=cls.counts == "numbers"):
            kind = "a NumericLimit" if is_of_numbers(metric) else "a MetricLimit"
            raise ValueError(f'a limit on "{metric}" is {kind}')
        return metric

    @model_validator(mode="after")
    def _has_a_limit(self) -> MetricLimit:
        if self.min is None and self.max is None:
            raise ValueError('give "min", "max" or both')
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f'"min" ({self.min:g}) is larger than "max" ({self.max:g})')
        if not self.facets or len(set(self.facets)) < len(self.facets):
            raise ValueError('"facet" must name one column, or a list of different ones')
        return self

    def check_name(self) -> str:
        """The metric."""
        return self.metric

    def question(self, spec: AuditSpec) -> str:  # noqa: ARG002 - the limit says all
        """Whether the metric lies within its ends."""
        ends = []
        if self.min is not None:
            ends.append(say("at least {size}", size=Numeral(f"{self.min:g}")))
        if self.max is not None:
            ends.append(say("at most {size}", size=Numeral(f"{self.max:g}")))
        return say(
            "Is {metric} by {name} {allowed}?",
            metric=of_ours(self.metric),
            name=joined([Column(one) for one in self.facets], " & "),
            allowed=joined(ends, " and "),
        )

    def problem_in(self, spec: AuditSpec) -> str | None:
        """No columns to count the metric from, or an end of it that lets every harm pass."""
        if spec.group_columns() == (None, None):
            needed = (
                f'the gate limits "{self.metric}", which needs "groups.label" or "groups.prediction" (or a '
                "bias_variable that is derived from label and prediction)"
            )
            if spec.numeric_columns() == (None, None):
                return needed
            return (
                f"{needed} whose values are counted, and those of this specification are numbers: limit a metric of "
                'numbers such as "mean_absolute_error_difference", or name columns with a decision in "groups.label" '
                'and "groups.prediction", without "groups.numbers"'
            )
        return problem_of_direction(self, spec.favourable_said())


class NumericLimit(MetricLimit):
    """A limit on a metric of declared groups whose label and prediction are numbers."""

    kind = "numeric_metric"
    counts = "numbers"
    results = ("numeric_metrics",)

    metric: str = Field(
        description=(
            "mean_outcome, median_prediction, mean_error, mean_absolute_error, root_mean_squared_error, "
            "within_tolerance (with groups.tolerance) and the like: each group, where label and prediction are "
            "numbers. mean_absolute_error_difference, mean_prediction_ratio and the like: each group against "
            "groups.reference."
        ),
        json_schema_extra=lambda schema: schema.update(enum=[*_metrics(numbers=True)]),
    )

    def problem_in(self, spec: AuditSpec) -> str | None:
        """No numbers to compute the metric from, or an end of it that lets every harm pass."""
        metric = NUMERIC[plain_name(self.metric)]
        label, prediction = spec.numeric_columns()
        if (label, prediction) == (None, None):
            return (
                f'the gate limits "{self.metric}", which needs label and prediction that are numbers: derive the '
                'bias_variable from them, such as "derive: absolute_error", or set "groups.numbers: true" with '
                '"groups.label" and "groups.prediction"'
            )
        needed = ((label, "label", metric.needs_label), (prediction, "prediction", metric.needs_prediction))
        for column, key, is_needed in needed:
            if is_needed and column is None:
                return f'the gate limits "{self.metric}", which needs "groups.{key}"'
        if metric.needs_tolerance and spec.groups.tolerance is None:
            return (
                f'the gate limits "{self.metric}", which needs "groups.tolerance": how far a prediction may be off and '
                "be near enough, such as 0.5"
            )
        return problem_of_direction(self, None)


def _metrics(*, numbers: bool = False) -> list[str]:
    """What a limit can be on: metrics of decisions, or those of numbers."""
    return [name for name, result in GATE_METRICS.items() if is_of_numbers(result) == numbers]


RULED_OUT_FROM = 0.05
"""Of the people: what a pass rules out where nothing else is said. Of smaller groups too many look bad by chance."""


class WorstGroupLimit(GateLimit):
    """A limit on groups of people: how much worse off may any of them be, whom a search could have found or who are
    declared?"""

    kind = "worst_group"
    counts = "outcomes"
    results = (*_OF_PEOPLE, "calibration")

    check: Literal["worst_group", "declared_group"] = Field(
        "worst_group",
        description=(
            "worst_group: any group that conditions on the columns describe, on all rows. declared_group: each level "
            "of the declared columns, by the bias variable; nothing has to be searched for it."
        ),
    )
    max_difference: float | None = Field(
        None,
        ge=0,
        description=(
            "Largest tolerated difference from everybody else in the harmful direction, in units of the bias "
            "variable. Default: as for clusters."
        ),
    )
    min_share: float | None = Field(
        None,
        gt=0,
        lt=0.5,
        description=(
            "Groups of a smaller share of the people are not judged, and named where they are proven to fare worse. "
            "Default: every proven group is judged."
        ),
    )
    ruled_out_from: float | None = Field(
        None,
        gt=0,
        lt=0.5,
        description=(
            "Of worst_group: a pass rules out every group from this share of the people on, or from min_share where "
            "that is more. Smaller groups are searched, and a proven one breaks the limit, but few rows cannot rule "
            "them out. Default: 0.05, or worst_groups.min_share where that is more."
        ),
    )
    of: Literal["raw", "remaining", "calibration"] | None = Field(
        None,
        description=(
            "raw: the difference from everybody else. remaining: what remains of it among people alike in the "
            "legitimate factors, the default where there are any. Two limits hold both. calibration: not the bias "
            "variable, but how far groups.score is off, either way: the mean score of a group beside its share of "
            "positive labels."
        ),
    )
    facet: str | list[str] | None = Field(
        None,
        description=(
            "Of declared_group: the column with the groups, or several for intersections; by default all that are "
            "declared."
        ),
    )

    @property
    def facets(self) -> tuple[str, ...]:
        """Columns with the groups; none where all groupings are meant."""
        return () if self.facet is None else (self.facet,) if isinstance(self.facet, str) else tuple(self.facet)

    @model_validator(mode="after")
    def _keys_fit_the_check(self) -> WorstGroupLimit:
        if self.check == "worst_group" and self.facet is not None:
            raise ValueError('"facet" goes with "check: declared_group"; worst_group judges every group that is found')
        if self.check == "declared_group" and self.of == "remaining":
            raise ValueError('"of: remaining" goes with "check: worst_group"; declared groups are compared as they are')
        if self.check == "declared_group" and self.of == "calibration":
            raise ValueError(
                '"of: calibration" goes with "check: worst_group"; of declared groups limit '
                "{metric: calibration_gap, facet: COLUMN, max: 0.05} instead"
            )
        if self.check == "declared_group" and self.ruled_out_from is not None:
            raise ValueError('"ruled_out_from" goes with "check: worst_group"; every declared group is judged')
        return self

    @property
    def least_share(self) -> float | None:
        """Smaller groups are not judged."""
        return self.min_share

    @property
    def ruled_out_share(self) -> float:
        """No smaller group than is judged has to be ruled out."""
        return max(self.min_share or 0.0, self.ruled_out_from or RULED_OUT_FROM)

    def ruled_out_among(self, searched: float) -> float:
        """The same where groups of at least a share were asked of the search: no smaller one, unless they are named."""
        named = self.min_share is not None or self.ruled_out_from is not None
        return self.ruled_out_share if named else max(self.ruled_out_share, searched)

    def check_name(self) -> str:
        """Of its own, where it is on the score."""
        return "calibration_of_worst_group" if self.of == "calibration" else super().check_name()

    def people(self) -> str:
        """A group."""
        return "group that conditions describe" if self.check == "worst_group" else "declared group"

    def others(self, spec: AuditSpec) -> str:
        """Everybody else, or people alike."""
        return compared_with(self.of, spec)

    def question(self, spec: AuditSpec) -> str:
        """Whether people fare worse by more, or a score is off by more."""
        if self.of != "calibration":
            return super().question(spec)
        what = say("what is tolerated") if self.max_difference is None else Numeral(f"{self.max_difference:g}")
        return say(
            "Is {name} off by no more than {what} for any group that conditions describe?",
            name=Column(spec.groups.score or ""),
            what=what,
        )

    def searches(self) -> dict[str, SpecSection]:
        """Declared groups need no search."""
        return {"worst_groups": WorstGroupSearch()} if self.check == "worst_group" else {}

    def problem_in(self, spec: AuditSpec) -> str | None:
        """Nobody to be alike in, no groups, or no score that could be right."""
        if self.of == "calibration":
            return _problem_of_calibration(spec)
        if self.of is not None and self.check == "worst_group" and not spec.legitimate:
            return (
                f'the gate\'s "of: {self.of}" asks for a comparison with or without legitimate factors, and none '
                "is named: add legitimate: [COLUMN], or leave it out"
            )
        if self.check == "declared_group" and not spec.declared_groupings:
            return (
                'the gate limits "declared_group", and no group is declared: name columns in "protected", in '
                '"groups.facets" or in the limit\'s "facet"'
            )
        return None


def _problem_of_calibration(spec: AuditSpec) -> str | None:
    """What a score lacks that is to be right for everybody."""
    if spec.groups.score is None:
        return (
            'the gate\'s "of: calibration" asks whether a score is right, and none is named: set "groups.score" to the '
            "column with the predicted chance of a positive label"
        )
    if spec.group_columns()[0] is None:
        return (
            f'the gate\'s "of: calibration" holds the score "{spec.groups.score}" against what really happened: set '
            '"groups.label" (or derive the bias_variable from a label)'
        )
    return None


class SliceLimit(GateLimit):
    """A limit on intersections: how much worse off may any of those be that the search has found?"""

    kind = "slice"

    check: Literal["worst_slice"] = Field(
        "worst_slice", description="worst_slice: each intersection that was tested, all of them at once."
    )
    max_difference: float | None = Field(
        None,
        ge=0,
        description=(
            "Largest tolerated difference from everybody else in the harmful direction, in units of the bias "
            "variable. Default: as for clusters."
        ),
    )

    def people(self) -> str:
        """An intersection."""
        return "intersection"

    @classmethod
    def unasked(cls, spec: AuditSpec) -> SliceLimit | None:
        """The default, where intersections are searched."""
        return None if spec.slices is None else cls()

    def searches(self) -> dict[str, SpecSection]:
        """The intersections."""
        return {"slices": SliceSearch()}


class LocalBiasLimit(GateLimit):
    """A limit on local bias: how far may groups be apart within any cluster of similar people?"""

    kind = "local_bias"

    check: Literal["local_bias"] = Field(
        "local_bias", description="local_bias: the gap between groups within each cluster, all of them at once."
    )
    max_gap: float = Field(0.05, gt=0, lt=1, description="Largest tolerated gap between two groups, as a share.")

    def check_name(self) -> str:
        """Of its own, for the search has the name of the check."""
        return "local_gaps"

    def question(self, spec: AuditSpec) -> str:
        """Whether groups are farther apart."""
        unit = "rate" if spec.local_bias is None else LOCAL_METRICS[spec.local_bias.metric].unit
        most = words.size(self.max_gap, unit)
        return say("Is no gap between two groups within a cluster larger than {size} on the test rows?", size=most)

    @classmethod
    def unasked(cls, spec: AuditSpec) -> LocalBiasLimit | None:
        """The default, where local bias is looked for."""
        return None if spec.local_bias is None else cls()

    def problem_in(self, spec: AuditSpec) -> str | None:
        """Local bias that nobody looks for: only the user knows between which groups."""
        if spec.local_bias is not None:
            return None
        return (
            'the gate limits "local_bias", which is not looked for: add the section "local_bias" with its "group", '
            "as in local_bias: {group: race}"
        )


class FourFifthsLimit(GateLimit):
    """The four-fifths rule (29 CFR 1607.4 D): is any group selected less than 4/5 as often as the most selected one?"""

    kind = "four_fifths"
    counts = "metrics"
    applies = "four_fifths"
    results = ("selection_rules",)

    check: Literal["four_fifths"] = Field(
        "four_fifths",
        description=(
            "four_fifths: fails where a group is selected less than 4/5 as often as the one with the highest rate, in "
            "whole numbers, and the difference is significant. Passes where the whole interval is from 4/5 on."
        ),
    )
    facet: str | list[str] | None = Field(
        None, description="Column with the groups, or several for intersections; by default every declared grouping."
    )

    @property
    def facets(self) -> tuple[str, ...]:
        """Columns with the groups; none where all groupings are meant."""
        return () if self.facet is None else (self.facet,) if isinstance(self.facet, str) else tuple(self.facet)

    @model_validator(mode="after")
    def _columns_differ(self) -> FourFifthsLimit:
        if self.facet is not None and (not self.facets or len(set(self.facets)) < len(self.facets)):
            raise ValueError('"facet" must name one column, or a list of different ones')
        return self

    def question(self, spec: AuditSpec) -> str:  # noqa: ARG002 - the limit says all
        """Whether the rule holds."""
        if not self.facets:
            return say("Is no group selected less than 4/5 as often as the one with the highest rate?")
        return say(
            "Is no group by {name} selected less than 4/5 as often as the one with the highest rate?",
            name=joined([Column(one) for one in self.facets], " & "),
        )

    def problem_in(self, spec: AuditSpec) -> str | None:
        """Rows of one person, which the rule would count as people."""
        if spec.split.key is None:
            return None
        return (
            'the check "four_fifths" counts rows, and "split.key" says that persons have several: limit '
            "{metric: four_fifths_ratio, facet: COLUMN, min: 0.8} instead, which counts persons"
        )


KINDS_OF_LIMIT: dict[str, type[GateLimit]] = {
    one.kind: one
    for one in (Limit, MetricLimit, NumericLimit, WorstGroupLimit, SliceLimit, LocalBiasLimit, FourFifthsLimit)
}
"""All kinds of limit, by name."""


def kinds_with_plugins() -> dict[str, type[GateLimit]]:
    """All kinds of limit, those of other packages included, which are imported now.

    Raises
    ------
    SpecError
        A package's module cannot be imported.
    """
    for plugin in entry_points(group=PLUGINS):
        if plugin.name not in KINDS_OF_LIMIT:
            try:
                plugin.load()
            except Exception as error:
                raise SpecError(
                    f'The kind of limit "{plugin.name}" cannot be loaded from {plugin.value}: {error}. Repair or '
                    f"remove the package that has it as an entry point of {PLUGINS}."
                ) from error
    return KINDS_OF_LIMIT


def check_names(limits: Iterable[GateLimit]) -> dict[str, GateLimit]:
    """The limits by the name of their check in Dagster.

    Examples
    --------
    >>> list(check_names([MetricLimit(metric="disparate_impact", facet=["race", "sex"], min=0.8), SliceLimit()]))
    ['disparate_impact_by_race_and_sex', 'worst_slice']
    """
    named: dict[str, GateLimit] = {}
    for limit in limits:
        base = limit.check_name() + (f"_by_{'_and_'.join(limit.facets)}" if limit.facets else "")
        base = re.sub(r"\W+", "_", base, flags=re.ASCII).strip("_")
        name = next(x for x in chain([base], (f"{base}_{i}" for i in count(2))) if x not in named)
        named[name] = limit
    return named


def _kind(limit: Any) -> str:
    if isinstance(limit, GateLimit):
        return limit.kind
    keys = limit if isinstance(limit, dict) else {}
    if "metric" in keys or ("facet" in keys and "check" not in keys):
        metric = keys.get("metric")
        return (NumericLimit if metric in _metrics(numbers=True) else MetricLimit).kind
    if "check" not in keys and "max_gap" in keys:
        return LocalBiasLimit.kind
    if "check" not in keys:
        return Limit.kind
    check = str(keys["check"])
    for known in (KINDS_OF_LIMIT.items, lambda: kinds_with_plugins().items()):
        for name, kind in known():
            if check in kind.checks():
                return name
    return Limit.kind


AnyLimit = Annotated[GateLimit, Registered(lambda: KINDS_OF_LIMIT, _kind, seen=_kind)]
