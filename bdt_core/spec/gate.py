"""The limits of the gate: on what was found (clusters, intersections, local bias) and on metrics of declared groups."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from bdt_core.errors import nearest
from bdt_core.metrics import GATE_METRICS
from bdt_core.spec.section import Section

Inconclusive = Literal["warn", "block"]


CHECKS = ("worst_group", "declared_group", "worst_cluster", "any_cluster", "worst_slice", "local_bias", "four_fifths")
"""What a limit that is not on a metric can be on."""


class _EachLimit(Section):
    inconclusive: Inconclusive = Field(
        "warn", description="What happens when the data cannot tell: a warning, or the gate stays shut."
    )


class Limit(_EachLimit):
    """A limit on clusters: how much worse off may a group be that the search has found?"""

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
        if isinstance(check, str) and check not in CHECKS:
            hint = nearest(check, CHECKS, f"known: {', '.join(CHECKS)}")
            raise ValueError(f'there is no check "{check}"; {hint}')
        return check


class MetricLimit(_EachLimit):
    """A limit on a metric of declared groups."""

    metric: str = Field(
        description=(
            "demographic_parity_difference, equalized_odds_ratio and the like: range over the groups. "
            "disparate_impact or DI and Clarify's others: each group against all others, by what is favourable. "
            "four_fifths_ratio or impact_ratio: lowest over highest share of favourable predictions. "
            "false_positive_rate, accuracy and "
            "the like: each group. false_positive_rate_difference: each group against groups.reference. bias_score."
        ),
        json_schema_extra=lambda schema: schema.update(enum=list(GATE_METRICS)),  # as they are when it is asked for
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


class WorstGroupLimit(_EachLimit):
    """A limit on groups of people: how much worse off may any of them be, whom a search could have found or who are
    declared?"""

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
            "Default: every proven group is judged, and those from worst_groups.min_share on are ruled out where it "
            "passes."
        ),
    )
    of: Literal["raw", "remaining"] | None = Field(
        None,
        description=(
            "raw: the difference from everybody else. remaining: what remains of it among people alike in the "
            "legitimate factors, the default where there are any. Two limits hold both."
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
        return self


class SliceLimit(_EachLimit):
    """A limit on intersections: how much worse off may any of those be that the search has found?"""

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


class LocalBiasLimit(_EachLimit):
    """A limit on local bias: how far may groups be apart within any cluster of similar people?"""

    check: Literal["local_bias"] = Field(
        "local_bias", description="local_bias: the gap between groups within each cluster, all of them at once."
    )
    max_gap: float = Field(0.05, gt=0, lt=1, description="Largest tolerated gap between two groups, as a share.")


class FourFifthsLimit(_EachLimit):
    """The four-fifths rule (29 CFR 1607.4 D): is any group selected less than 4/5 as often as the most selected one?"""

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


KINDS_OF_LIMIT: dict[str, type[Section]] = {
    "cluster": Limit,
    "metric": MetricLimit,
    "worst_group": WorstGroupLimit,
    "slice": SliceLimit,
    "local_bias": LocalBiasLimit,
    "four_fifths": FourFifthsLimit,
}
_KIND_OF_CHECK = {
    "worst_group": "worst_group",
    "declared_group": "worst_group",
    "worst_slice": "slice",
    "local_bias": "local_bias",
    "four_fifths": "four_fifths",
}


def _kind(limit: Any) -> str:
    if isinstance(limit, Section):
        return next((name for name, kind in KINDS_OF_LIMIT.items() if isinstance(limit, kind)), "cluster")
    keys = limit if isinstance(limit, dict) else {}
    if "metric" in keys or ("facet" in keys and "check" not in keys):
        return "metric"
    if "check" not in keys and "max_gap" in keys:
        return "local_bias"
    return _KIND_OF_CHECK.get(str(keys.get("check")), "cluster")


AnyLimit = Annotated[
    Annotated[Limit, Tag("cluster")]
    | Annotated[MetricLimit, Tag("metric")]
    | Annotated[WorstGroupLimit, Tag("worst_group")]
    | Annotated[SliceLimit, Tag("slice")]
    | Annotated[LocalBiasLimit, Tag("local_bias")]
    | Annotated[FourFifthsLimit, Tag("four_fifths")],
    Discriminator(_kind),
]
