"""Test the clusters on the test rows: is the difference real, and how large is it at least?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bdt_core.clustering.clusters import Clusters, TrainCluster
from bdt_core.inference import Comparison, adjust_p_values, compare_samples
from bdt_core.resampling import PermutedProcedure, RepeatedSplits, permute_procedure, repeat_splits
from bdt_core.result import Result
from bdt_core.spec import AuditSpec, Significance
from bdt_core.table.audit_table import AuditTable


@dataclass(frozen=True)
class ComparedCluster:
    """One cluster against everybody else, on the test rows.

    Attributes
    ----------
    found : TrainCluster
        The cluster as it was found on the train rows.
    test_rows : int
    comparison : Comparison
        In the bias variable's own units; its interval holds for this cluster alone.
    simultaneous : tuple of float, optional
        Interval of the difference that holds for all clusters at once (Bonferroni).
    p_adjusted : float, optional
        Corrected over the scan of all clusters.
    significant : bool, optional
        Whether the corrected p-value is at most alpha.
    worse : bool, optional
        Whether the cluster fares worse than everybody else.
    rule_precision, rule_recall : float, optional
        How well the rule in words meets the cluster.

    The optional ones are None where the cluster could not be tested.
    """

    found: TrainCluster
    test_rows: int
    comparison: Comparison
    simultaneous: tuple[float, float] | None
    p_adjusted: float | None
    significant: bool | None
    worse: bool | None
    rule_precision: float | None
    rule_recall: float | None


@dataclass(frozen=True)
class ClusterSignificance(Result):
    """All clusters, tested.

    The primary test is that of cluster 0, chosen on the train rows; it needs no correction. The scan over all
    clusters is corrected.
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

    @property
    def primary(self) -> ComparedCluster | None:
        """Cluster 0 against everybody else; None when the search made no split."""
        return self.clusters[0] if len(self.clusters) > 1 else None


def compare_clusters(
    clusters: Clusters, train: AuditTable, test: AuditTable, settings: Significance
) -> ClusterSignificance:
    """Compare every cluster with everybody else, on rows that the search has not seen.

    Parameters
    ----------
    clusters : Clusters
    train : AuditTable
        Needed only where the procedure is repeated: ``split.repeats`` above 1, or ``test: permutation``.
    test : AuditTable
    settings : Significance

    Returns
    -------
    ClusterSignificance
    """
    y = test.y
    values = np.unique(y)
    labels = clusters.predict(test)
    tested = len(clusters.train) if len(clusters.train) > 1 else 0

    def compare(label: int, alpha: float) -> Comparison:
        return compare_samples(
            y[labels == label],
            y[labels != label],
            test=settings.test,
            alpha=alpha,
            min_rows=settings.min_rows,
            random_state=clusters.spec.split.random_state,
        )

    comparisons = [compare(one.label, settings.alpha) for one in clusters.train]
    together = [compare(one.label, settings.alpha / max(tested, 1)) for one in clusters.train]
    adjusted = adjust_p_values([one.p_value for one in comparisons], settings.correction)
    X = test.X
    results = []
    for found, comparison, joint, p in zip(clusters.train, comparisons, together, adjusted, strict=True):
        inside = labels == found.label
        precision, recall = found.rule.precision_and_recall(X, inside)
        p_adjusted = None if np.isnan(p) else float(p)
        harm = comparison.difference
        if harm is not None and clusters.spec.bias_variable.better == "higher":
            harm = -harm
        results.append(
            ComparedCluster(
                found=found,
                test_rows=int(inside.sum()),
                comparison=comparison,
                simultaneous=None if joint.low is None or joint.high is None else (joint.low, joint.high),
                p_adjusted=p_adjusted,
                significant=None if p_adjusted is None else p_adjusted <= settings.alpha,
                worse=None if harm is None else harm > 0,
                rule_precision=precision,
                rule_recall=recall,
            )
        )
    return ClusterSignificance(
        spec=clusters.spec.model_copy(update={"significance": settings}),
        clusters=tuple(results),
        test_rows=len(y),
        test_mean=float(y.mean()),
        test_sd=float(y.std()),
        two_valued=len(values) <= 2,
        repeats=repeat_splits(clusters, train.joined(test), comparisons[0] if tested else None, settings),
        procedure=permute_procedure(clusters, train, test, settings) if tested else None,
        unit="rate" if set(values) <= {0.0, 1.0} else "value",
    )
