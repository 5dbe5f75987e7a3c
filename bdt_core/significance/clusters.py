"""Test of the clusters on the test rows: whether a difference is real, and how large it is at least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from bdt_core.clustering.clusters import Clusters, TrainCluster, find_clusters
from bdt_core.clustering.rule import precision_and_recall
from bdt_core.inference import Comparison, adjust_p_values, corrected_interval
from bdt_core.metrics import harm_sign
from bdt_core.result import Result
from bdt_core.significance.repeats import (
    FindClusters,
    PermutedProcedure,
    RepeatedSplits,
    SplitRows,
    number_of_splits,
    permute_procedure,
    repeat_splits,
)
from bdt_core.significance.tested_rows import TestedRows
from bdt_core.spec import AuditSpec, Significance
from bdt_core.table.measured import MeasuredOutcome
from bdt_core.table.rows import Rows
from bdt_core.table.split import split_rows
from bdt_core.table.summaries import Drawn, rows_at_hand


@dataclass(frozen=True)
class WithoutOthers:
    """A cluster against everybody else without the clusters that stand out more, of which there is at least one.

    `comparison` is None where nobody else is left. The cluster `stands_out` when it differs significantly all the same,
    in the same direction.
    """

    left_out: tuple[int, ...]
    comparison: Comparison | None
    stands_out: bool


@dataclass(frozen=True)
class ComparedCluster:
    """One cluster against everybody else, on the test rows.

    Attributes
    ----------
    cluster : TrainCluster
        The cluster as it was found on the train rows.
    test_rows : int
    comparison : Comparison
        In the bias variable's own units; its interval holds for this cluster alone.
    simultaneous : tuple of float, optional
        Interval of the difference that holds for all clusters at once (Bonferroni).
    corrected : tuple of float, optional
        Interval of the difference that goes with `p_adjusted`.
    p_adjusted : float, optional
        Corrected over the scan of all clusters.
    significant : bool, optional
        Whether the corrected p-value is at most alpha.
    worse : bool, optional
        Whether the cluster fares worse than everybody else.
    smallest_visible : float, optional
        The difference that the corrected test would have found with 80 % power, were it the only one.
    without : WithoutOthers, optional
        Of a significant cluster, where others stand out more: one cluster far off moves everybody else, and makes
        clusters differ from them that are like all others.
    rule_precision, rule_recall : float, optional
        How well the rule in words meets the cluster.

    The optional ones are None where the cluster could not be tested.
    """

    cluster: TrainCluster
    test_rows: int
    comparison: Comparison
    simultaneous: tuple[float, float] | None
    p_adjusted: float | None
    significant: bool | None
    worse: bool | None
    rule_precision: float | None
    rule_recall: float | None
    smallest_visible: float | None = None
    without: WithoutOthers | None = None
    corrected: tuple[float, float] | None = None


@dataclass(frozen=True)
class ClusterSignificance(Result):
    """All clusters, tested.

    The primary test is that of cluster 0, chosen on the train rows; it needs no correction. The scan over all
    clusters is corrected. ``persons`` are those of the test rows, where persons may have several rows.
    """

    spec: AuditSpec
    clusters: tuple[ComparedCluster, ...]
    test_rows: int
    test_mean: float
    test_sd: float
    two_valued: bool
    unit: Literal["rate", "value"]
    repeats: RepeatedSplits | None
    procedure: PermutedProcedure | None
    drawn: Drawn | None = None
    persons: int | None = None

    @property
    def outcome(self) -> MeasuredOutcome:
        """The bias variable of the test rows."""
        return MeasuredOutcome(
            self.spec, self.test_rows, self.persons, self.test_mean, self.test_sd, self.two_valued, self.unit
        )

    @property
    def primary(self) -> ComparedCluster | None:
        """Cluster 0 against everybody else; None when the search made no split."""
        return self.clusters[0] if len(self.clusters) > 1 else None

    @property
    def deciding(self) -> Comparison | None:
        """What the primary test comes to: the splits together, where there are several; None when nothing was split."""
        if self.primary is None:
            return None
        return self.primary.comparison if self.repeats is None else self.repeats.together

    @property
    def main_significant(self) -> bool | None:
        """Whether the primary test rejects; None: not testable."""
        if self.deciding is None or self.deciding.p_value is None:
            return None
        return self.deciding.p_value <= self.spec.significance.alpha


def compare_clusters(
    clusters: Clusters,
    train: Rows,
    test: Rows,
    settings: Significance,
    *,
    split: SplitRows = split_rows,
    find: FindClusters = find_clusters,
) -> ClusterSignificance:
    """Compare every cluster with everybody else, on rows that the search has not seen.

    Parameters
    ----------
    clusters : Clusters
    train : Rows
        Needed where the procedure is repeated: on several splits, or with ``test: permutation``.
    test : Rows
    settings : Significance
    split, find : callable
        The stages that made the parts and the clusters; several splits carry them out again.

    Returns
    -------
    ClusterSignificance

    Notes
    -----
    Clusters are compared by counts and exact sums over the blocks of rows, which make the same tests as the rows. Only
    where a bias variable of more than 2,000 distinct values would be tested by permutation, and there are more than
    ``large_rows`` test rows, Welch's test is kept.
    """
    spec, rows = clusters.spec, TestedRows(clusters, test)
    tested = len(clusters.train) if len(clusters.train) > 1 else 0

    options: dict[str, Any] = {
        "test": settings.test,
        "min_rows": settings.min_rows,
        "random_state": spec.split.random_state,
    }

    def compared(alpha: float) -> list[Comparison]:
        return [rows.compare_cluster(one.label, alpha=alpha, **options) for one in clusters.train]

    comparisons, together = compared(settings.alpha), compared(settings.alpha / max(tested, 1))
    adjusted = adjust_p_values([one.p_value for one in comparisons], settings.correction)
    interval_of = partial(
        corrected_interval,
        correction=settings.correction,
        tests=int((~np.isnan(adjusted)).sum()),
        rejected=int((adjusted <= settings.alpha).sum()),
    )
    results, sign = [], harm_sign(spec.bias_variable.better)
    for cluster, comparison, joint, p in zip(clusters.train, comparisons, together, adjusted, strict=True):
        met, both, inside = rows.meeting_rule(cluster)
        precision, recall = precision_and_recall(met, both, inside)
        p_adjusted = None if np.isnan(p) else float(p)
        harm = None if comparison.difference is None else sign * comparison.difference
        results.append(
            ComparedCluster(
                cluster=cluster,
                test_rows=inside,
                comparison=comparison,
                simultaneous=None if joint.low is None or joint.high is None else (joint.low, joint.high),
                p_adjusted=p_adjusted,
                significant=None if p_adjusted is None else p_adjusted <= settings.alpha,
                worse=None if harm is None else harm > 0,
                rule_precision=precision,
                rule_recall=recall,
                smallest_visible=(comparison if settings.correction == "none" else joint).minimum_detectable_difference,
                corrected=interval_of(comparison, p_adjusted),
            )
        )
    splits = number_of_splits(clusters, is_large=train.is_large) if tested else 1
    repeats = procedure = drawn = None
    if splits > 1 or (settings.test == "permutation" and tested):
        train_rows, test_rows = rows_at_hand(train), rows_at_hand(test)
        drawn = Drawn.of_tables((train_rows, test_rows), (train, test))
        if splits > 1:
            own = comparisons[0]
            repeats = repeat_splits(clusters, train_rows, test_rows, own, settings, splits, split=split, find=find)
        procedure = permute_procedure(clusters, train_rows, test_rows, settings)
    compare = partial(rows.compare_cluster, alpha=settings.alpha, **options)
    (mean, sd), values = rows.mean_and_sd, rows.few_values
    return ClusterSignificance(
        spec=spec.model_copy(update={"significance": settings}),
        clusters=compare_without_others(results, settings, compare),
        test_rows=rows.rows,
        test_mean=mean,
        test_sd=sd,
        two_valued=values is not None and len(values) <= 2,
        repeats=repeats,
        procedure=procedure,
        unit="rate" if values is not None and values <= {0.0, 1.0} else "value",
        drawn=drawn,
        persons=rows.persons,
    )


def compare_without_others(
    clusters: Sequence[ComparedCluster],
    settings: Significance,
    compare: Callable[[int, Sequence[int]], Comparison],
) -> tuple[ComparedCluster, ...]:
    """Compare each significant cluster with everybody else without those that stand out more.

    The cluster with the lowest p-value is taken out, if it is significant among all that are left; then those that
    remain are compared with each other. When the first cluster is taken out that is like all others, all that differ
    have been taken out or are further off; so the chance of that is alpha at most, as of Holm's procedure. A cluster
    only loses by this: it has to be significant beside everybody else, too.
    """
    left = [one for one in clusters if one.p_adjusted is not None]
    open_ = [one for one in left if one.significant]
    out: list[int] = []
    without: dict[int, WithoutOthers | None] = {}
    while open_:
        alone = len(out) == len(clusters) - 1
        compared = {
            one.cluster.label: None if alone else compare(one.cluster.label, tuple(out)) if out else one.comparison
            for one in open_
        }
        p_values = [one.p_value if one is not None else None for one in compared.values()]
        first = min(range(len(open_)), key=lambda i: 1.0 if (p := p_values[i]) is None else p)
        adjusted = adjust_p_values([*p_values, *[1.0] * (len(left) - len(open_))], settings.correction)
        chosen, comparison = open_[first], compared[open_[first].cluster.label]
        stands_out = bool(adjusted[first] <= settings.alpha) and _same_direction(comparison, chosen.comparison)
        without[chosen.cluster.label] = WithoutOthers(tuple(sorted(out)), comparison, stands_out) if out else None
        open_.remove(chosen)
        if stands_out:
            left.remove(chosen)
            out.append(chosen.cluster.label)
    return tuple(replace(one, without=without.get(one.cluster.label)) for one in clusters)


def _same_direction(first: Comparison | None, other: Comparison) -> bool:
    return first is not None and (first.difference or 0.0) * (other.difference or 0.0) > 0.0
