"""The limits of the gate: on clusters that were found, and on metrics of groups that were declared."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from bdt_core.metrics import GATE_METRICS
from bdt_core.spec.section import Section

Inconclusive = Literal["warn", "block"]


class Limit(Section):
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
    inconclusive: Inconclusive = Field(
        "warn", description="What happens when the data cannot tell: a warning, or the gate stays shut."
    )


class MetricLimit(Section):
    """A limit on a metric of declared groups."""

    metric: str = Field(
        description=(
            "demographic_parity_difference, equalized_odds_ratio and the like: range over the groups. "
            "disparate_impact or DI and Clarify's others: each group against all others. false_positive_rate, accuracy "
            "and the like: each group. false_positive_rate_difference: each group against groups.reference. bias_score."
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
    inconclusive: Inconclusive = Field(
        "warn", description="What happens when the data cannot tell: a warning, or the gate stays shut."
    )

    @property
    def facets(self) -> tuple[str, ...]:
        """Columns with the groups."""
        return (self.facet,) if isinstance(self.facet, str) else tuple(self.facet)

    @field_validator("metric")
    @classmethod
    def _metric_is_known(cls, metric: str) -> str:
        if metric not in GATE_METRICS:
            near = difflib.get_close_matches(metric, GATE_METRICS, n=1, cutoff=0.5)
            hint = f'did you mean "{near[0]}"?' if near else "see the description of the key in: bdt schema"
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


KINDS_OF_LIMIT: dict[str, type[Section]] = {"cluster": Limit, "metric": MetricLimit}


def _kind(limit: Any) -> str:
    keys = set(limit) if isinstance(limit, dict) else set(getattr(type(limit), "model_fields", ()))
    return "metric" if {"metric", "facet"} & keys else "cluster"


AnyLimit = Annotated[Annotated[Limit, Tag("cluster")] | Annotated[MetricLimit, Tag("metric")], Discriminator(_kind)]
