"""Searches beside clusters and declared groups, in a specification: intersections, local bias; and mitigation."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from bdt_core.metrics import LocalMetricName
from bdt_core.spec.section import SpecSection
from bdt_core.spec.source import usable_address


class WorstGroupSearch(SpecSection):
    """The people who fare worst: any group that a few conditions describe, searched for and proven on all rows."""

    columns: list[str] | None = Field(
        None, description="Columns whose conditions make the groups; by default features and protected."
    )
    min_share: float = Field(0.01, gt=0, lt=0.5, description="Fewest people of a group, as a share of all.")
    max_groups: int = Field(5, ge=1, le=20, description="Most groups that are looked for, one after the other.")
    permutations: int = Field(
        199, ge=39, le=100_000, description="Searches on permuted outcomes, which say what chance alone would find."
    )


class SliceSearch(SpecSection):
    """Every intersection of conditions with enough people: found on the train rows, tested on the test rows."""

    columns: list[str] | None = Field(
        None, description="Columns whose values make the slices; by default features and protected."
    )
    max_conditions: int = Field(3, ge=1, le=5, description="Most conditions of a slice.")
    min_support: float = Field(0.01, gt=0, lt=0.5, description="Fewest train rows of a slice, as a share.")
    bins: int = Field(5, ge=2, le=20, description="Numbers are cut into so many intervals of equally many rows.")
    fdr: float = Field(
        0.10,
        gt=0,
        lt=1,
        description=(
            "Share of false discoveries that is accepted, on average. Where looks are allowed, that of all of them "
            "together."
        ),
    )
    max_difference: float | None = Field(
        None,
        ge=0,
        description="Adds the limit {check: worst_slice, max_difference: ...} to the gate, behind the others.",
    )


class LocalBiasSection(SpecSection):
    """Places where an algorithm treats groups differently, though it may not over all rows (LOGAN)."""

    group: str = Field(description="Column with the groups, e.g. race.")
    embeddings: list[str] | str | None = Field(
        None, description="Columns to cluster on, or a .npy file with one row per row; by default the features."
    )
    texts: str | None = Field(
        None,
        description="Column with what each row says, e.g. comment: clusters are told by their words. It is no feature.",
    )
    words_by: Literal["ctfidf", "lda"] = Field(
        "ctfidf",
        description=(
            "Of texts, the words that a cluster is told by: ctfidf, those that it has more often than other clusters; "
            "lda, those of the topic that its texts are mostly about, of a topic model with as many topics as clusters."
        ),
    )
    describe_by: list[str] | None = Field(
        None,
        description=(
            "Columns that say what sets a cluster apart, e.g. [age, job]; by default those clustered on, or the "
            "features where embeddings come from a file."
        ),
    )
    places: str | None = Field(
        None,
        description=(
            "Column whose values are the places, e.g. office, or the clusters of another method; by default LOGAN "
            "looks for places, and n_clusters and weight are of its search."
        ),
    )
    metric: LocalMetricName = Field(
        "accuracy", description="What is compared between groups; auc, of the label and groups.score."
    )
    n_clusters: int = Field(10, ge=2, le=10_000, description="Clusters to start from; small ones are merged.")
    weight: float = Field(
        0.003,
        ge=0,
        description="Weight of the gap beside distances; 0 is k-means, from 0.01 on clusters may follow outcomes.",
    )
    min_group_size: int = Field(20, ge=1, description="Fewest train rows of either group in a cluster.")
    max_gap: float | None = Field(
        None, gt=0, lt=1, description="Adds the limit {check: local_bias, max_gap: ...} to the gate, behind the others."
    )

    @model_validator(mode="after")
    def _places_are_looked_for_or_named(self) -> LocalBiasSection:
        if self.places is not None and self.embeddings is not None:
            raise ValueError(
                '"places" names the places, and "embeddings" says by what they are looked for: leave one out'
            )
        if self.places == self.group:
            raise ValueError(f'"places" and "group" both name "{self.group}": a place holds one group then')
        return self

    @field_validator("embeddings")
    @classmethod
    def _usable(cls, embeddings: list[str] | str | None) -> list[str] | str | None:
        return usable_address(embeddings) if isinstance(embeddings, str) else embeddings


class MitigationSection(SpecSection):
    """Thresholds per group that hold a rate equal: chosen on the train rows, measured on the test rows."""

    group: str | list[str] = Field(description="Column (or columns) with the groups, e.g. race.")
    score: str = Field(description="Column with the score; higher means that a positive label is more likely.")
    constraint: Literal["demographic_parity", "equal_opportunity", "equalized_odds", "predictive_parity"] = Field(
        "equal_opportunity", description="What is held equal: selection, TPR, TPR and FPR, or precision."
    )
    tolerance: float = Field(0.02, ge=0, lt=1, description="Largest gap between groups that is left.")
    objective: Literal["accuracy", "balanced_accuracy"] = Field("accuracy", description="What is best among those.")
    randomized: bool = Field(False, description="Whether lots may be drawn between two thresholds.")

    @property
    def facets(self) -> tuple[str, ...]:
        """Columns with the groups."""
        return (self.group,) if isinstance(self.group, str) else tuple(self.group)
