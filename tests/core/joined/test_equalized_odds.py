"""Equalized odds are two ranges that must hold together: each takes half of the error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult
from tests.core.joined.made_tables import quick_audit


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Three groups; in c many more are wrongly called positive."""
    rng = np.random.default_rng(3)
    group = rng.choice(list("abc"), 3000)
    label = rng.integers(0, 2, 3000)
    positive = np.where(label == 1, 0.7, 0.2 + 0.2 * (group == "c"))
    return pd.DataFrame(
        {"group": group, "label": label, "prediction": (rng.random(3000) < positive).astype(int), "x": rng.random(3000)}
    )


def audited(frame: pd.DataFrame, alpha: float, most: float = 0.5, kind: str = "difference") -> AuditResult:
    limit: dict[str, Any] = {"max": most} if kind == "difference" else {"min": most}
    return quick_audit(
        frame,
        bias_variable={"derive": "error", "label": "label", "prediction": "prediction"},
        protected=["group"],
        clustering={"stability": 0, "n_init": 1, "max_iter": 1},
        significance={"alpha": alpha},
        gate=[{"metric": f"equalized_odds_{kind}", "facet": "group", **limit}],
    )


def limits(result: AuditResult, name: str) -> tuple[float, float]:
    assert result.group_metrics is not None
    found = result.group_metrics.facets[0].metrics[name].only
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize(("kind", "worse"), [("difference", max), ("ratio", min)])
def test_the_interval_is_that_of_both_rates_at_half_of_alpha(
    frame: pd.DataFrame, kind: str, worse: Any, alpha: float
) -> None:
    result, half = audited(frame, alpha, kind=kind), audited(frame, alpha / 2)
    both = [limits(half, f"{name}_{kind}") for name in ("equal_opportunity", "predictive_equality")]
    expected = worse(low for low, _ in both), worse(high for _, high in both)
    assert limits(result, f"equalized_odds_{kind}") == pytest.approx(expected)
    (limit,) = result.document["gate"]
    assert (limit["low"], limit["high"]) == pytest.approx(expected)
    assert limit["confidence"] == 1 - alpha


def test_a_limit_that_one_rate_breaks_alone_may_hold_for_both(frame: pd.DataFrame) -> None:
    result = audited(frame, 0.05)
    alone, together = (limits(result, f"{name}_difference")[0] for name in ("predictive_equality", "equalized_odds"))
    assert together < alone
    assert audited(frame, 0.05, (together + alone) / 2).verdict == "inconclusive"


def test_the_p_value_is_that_of_two_tests(frame: pd.DataFrame) -> None:
    metrics = audited(frame, 0.05).group_metrics
    assert metrics is not None
    found = metrics.facets[0].metrics
    each = [found[f"{name}_difference"].p_value for name in ("equal_opportunity", "predictive_equality")]
    expected = 2 * min(p for p in each if p is not None)
    assert found["equalized_odds_difference"].p_value == pytest.approx(expected, rel=1e-9, abs=0.0)
