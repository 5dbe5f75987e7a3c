"""Declared groups as the report has them."""

from __future__ import annotations

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from bdt_core.fairness.coding import Value
from bdt_core.fairness.score_parts import BiasScore
from bdt_core.metrics import Favourable
from bdt_core.result import Part, Real
from bdt_core.said import Text


class Rate(Part):
    """A rate of one group; events are those that count, of n rows."""

    estimate: Real
    low: Real
    high: Real
    n: float
    events: float | None
    undefined_reason: Text | None


class Group(Part):
    """A declared group; one with too few rows has no rates."""

    group: str
    values: tuple[Value, ...]
    rows: int
    persons: int | None = None
    rates: dict[str, Rate] | None


class GroupValue(Part):
    """A metric of one group, with limits for it alone and such that hold for all groups at once."""

    group: str | None
    undefined_reason: Text | None
    estimate: Real
    low: Real
    high: Real
    together_low: Real
    together_high: Real


class GroupMetric(Part):
    """A metric of every group, or of all of them together."""

    metric: str
    values: tuple[GroupValue, ...]


class GroupRange(Part):
    """Largest difference or smallest ratio over all pairs of groups."""

    metric: str
    estimate: Real
    low: Real
    high: Real
    undefined_reason: Text | None
    p_value: Real
    p_adjusted: Real
    significant: bool | None
    left_out: tuple[str, ...]


class Facet(Part):
    """A declared grouping."""

    facet: str
    columns: tuple[str, ...]
    rows: int
    missing: dict[str, int]
    reference: str
    overall: dict[str, Real] = Field({})
    notes: tuple[Text, ...]
    groups: tuple[Group, ...]
    groups_not_printed: SkipJsonSchema[int] = Field(0, exclude=True)
    against_reference: tuple[GroupMetric, ...]
    ranges: tuple[GroupRange, ...]
    clarify: tuple[GroupMetric, ...]
    bias_score: BiasScore | None

    @property
    def groups_total(self) -> int:
        """Groups, those included that are too many to be printed."""
        return len(self.groups) + self.groups_not_printed


class Groups(Part):
    """Declared groups, compared on all rows."""

    label: str | None
    prediction: str | None
    positive: tuple[Value, ...]
    favourable: Favourable | None
    score: str | None
    stratum: str | None
    confidence: float
    min_rows: int
    notes: tuple[Text, ...]
    facets: tuple[Facet, ...]
