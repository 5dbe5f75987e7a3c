"""The document's parts on clusters where there are none: everybody as one, of whom nothing is told.

Their members are not optional in version 1 of the document, and whoever reads it finds them as where a search found no
way to divide the rows.
"""

from __future__ import annotations

from typing import Any, Literal

from bdt_core.inference import Comparison
from bdt_core.report import document as parts


def everybody(
    kind: Literal["binary", "continuous"], confidence: float, why: str, *, rows: int, test_rows: int, mean: float
) -> parts.Cluster:
    """One cluster of everybody."""
    nothing: dict[str, Any] = dict.fromkeys(
        (
            "test", "events_a", "events_b", "mean_a", "mean_b", "difference", "low", "high", "ratio", "ratio_low",
            "ratio_high", "effect_size", "effect_name", "p_value", "minimum_detectable_difference", "pooled_t",
            "pooled_t_p_value", "welch_t", "welch_t_p_value",
        )
    )  # fmt: skip
    compared = Comparison(
        status="not_testable", reason=why, kind=kind, n_a=0, n_b=0, confidence=confidence, **nothing
    )  # fmt: skip
    return parts.Cluster(
        cluster=0, train_rows=rows, train_mean=mean, train_gap=0.0, test_rows=test_rows,
        test_mean=None, description=why, rule=parts.ClusterRule(text=why, precision=None, recall=None),
        stability=None, path=(), profile={}, comparison=compared, p_adjusted=None, significant=None, worse=None,
    )  # fmt: skip


def undivided(rows: int, mean: float, spread: float) -> parts.Tree:
    """The tree of splits without a split."""
    root = parts.TreeNode(
        id=0, parent=None, children=(), label=0, rows=rows, mean=mean, std=spread, gap=None, step=None
    )  # fmt: skip
    return parts.Tree(nodes=(root,))


def no_test(why: str) -> parts.PrimaryTest:
    """The main test that was not made."""
    return parts.PrimaryTest(
        what=why, comparison=None, reason=why, repeated_splits=None, permuted_procedure=None, shrinkage=None
    )  # fmt: skip


def no_differences(test_rows: int, correction: str) -> parts.Differences:
    """Of no cluster."""
    return parts.Differences(
        cluster=0, rows_cluster=0, rows_rest=test_rows, correction=correction, tests=0,
        bias_difference_significant=None, features=(),
    )  # fmt: skip
