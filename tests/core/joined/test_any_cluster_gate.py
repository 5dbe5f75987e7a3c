"""The gate on any cluster: its intervals hold for all clusters at once, and the limit is held against those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bdt_core.audit import AuditResult
from bdt_core.inference import adjust_p_values, newcombe_interval
from tests.core.joined.made_tables import harmed, quick_audit


def intervals(result: AuditResult, alpha: float) -> np.ndarray:
    """Difference of each cluster from everybody else on the test rows, low and high; shape (clusters, 2)."""
    y, labels = result.test.y, result.clusters.predict(result.test)  # type: ignore[attr-defined, arg-type]
    inside = [labels == one.label for one in result.clusters.train]
    counts = [(y[one].sum(), one.sum(), y[~one].sum(), (~one).sum()) for one in inside]
    return np.array([newcombe_interval(*each, 1.0 - alpha) for each in counts], dtype=float)


def gate(
    check: str, most: float, large_rows: int = 1_000_000, *, only_clusters: bool = False, **significance: Any
) -> tuple[AuditResult, dict[str, Any]]:
    limit = {"check": check, "max_difference": most}
    other = {"worst_groups": None} if only_clusters else {}
    result = quick_audit(harmed(harm=0.35), gate=[limit], significance=significance, large_rows=large_rows, **other)
    assert len(result.clusters.train) in (3, 4)
    return result, result.document["gate"][0]


@pytest.mark.parametrize("large_rows", [1_000_000, 1_000], ids=["small", "large"])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_each_cluster_has_its_share_of_alpha(alpha: float, large_rows: int) -> None:
    result, limit = gate("any_cluster", 0.9, large_rows, alpha=alpha)
    together, alone = intervals(result, alpha / len(result.clusters.train)), intervals(result, alpha)
    assert (limit["low"], limit["high"]) == pytest.approx(together[limit["cluster"]].tolist())
    for one, wide, narrow in zip(result.significance.clusters, together, alone, strict=True):
        assert one.simultaneous == pytest.approx(wide.tolist())
        assert (one.comparison.low, one.comparison.high) == pytest.approx(narrow.tolist())
    result, limit = gate("worst_cluster", 0.9, large_rows, alpha=alpha)
    assert limit["cluster"] == 0
    assert (limit["low"], limit["high"]) == pytest.approx(alone[0].tolist())


def test_a_limit_between_the_two_lower_ends_fails_one_cluster_and_not_all_at_once() -> None:
    result, _ = gate("any_cluster", 0.9)
    together, alone = intervals(result, 0.05 / len(result.clusters.train))[:, 0].max(), intervals(result, 0.05)[0, 0]
    between = float(together + alone) / 2
    assert together < between < alone
    assert gate("worst_cluster", between, only_clusters=True)[0].verdict == "fail"
    assert gate("any_cluster", between, only_clusters=True)[0].verdict == "inconclusive"
    result, limit = gate("any_cluster", between)  # another search proves the same people beyond it
    assert (result.verdict, limit["broken_by"]["found_by"]) == ("fail", "worst_groups")


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "bh"])
def test_the_scan_of_all_clusters_is_corrected(correction: str) -> None:
    result, _ = gate("any_cluster", 0.9, correction=correction)
    several = result.significance.clusters
    expected = adjust_p_values([one.comparison.p_value for one in several], correction)  # type: ignore[arg-type]
    assert [one.p_adjusted for one in several] == pytest.approx(expected.tolist(), abs=0.0)
    assert [one.significant for one in several] == [bool(p <= 0.05) for p in expected]
    assert expected.sum() > sum(one.comparison.p_value or 0.0 for one in several)
