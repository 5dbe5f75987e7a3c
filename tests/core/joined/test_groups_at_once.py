"""Declared groups: the gate judges by limits that hold for all groups at once, and tests are corrected over all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from bdt_core.audit import AuditResult
from tests.core.joined.made_tables import quick_audit


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Four groups, one of them selected more often; and two others, where there is a little less of it."""
    rng = np.random.default_rng(4)
    group, sex = rng.choice(list("abcd"), 2400), rng.choice(["f", "m"], 2400)
    return pd.DataFrame(
        {
            "group": group,
            "sex": sex,
            "label": rng.integers(0, 2, 2400),
            "prediction": (rng.random(2400) < 0.4 + 0.15 * (group == "d") + 0.05 * (sex == "f")).astype(int),
            "x": rng.random(2400),
        }
    )


def audited(
    frame: pd.DataFrame, metric: str, alpha: float = 0.05, **limit: float
) -> tuple[AuditResult, dict[str, Any]]:
    result = quick_audit(
        frame,
        bias_variable={"derive": "error", "label": "label", "prediction": "prediction"},
        favourable="negative",
        protected=["group", "sex"],
        groups={"reference": "a"},
        clustering={"stability": 0, "n_init": 1, "max_iter": 1},
        significance={"alpha": alpha},
        gate=[{"metric": metric, "facet": "group", **limit}],
    )
    return result, result.document["gate"][0]


def alone(result: AuditResult, metric: str) -> tuple[float, float]:
    """Group d's interval that holds for this group only."""
    assert result.group_metrics is not None
    found = result.group_metrics.facets[0].metrics[metric]["d"]
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@pytest.mark.parametrize("metric", ["selection_rate", "DPPL"])
def test_a_rate_takes_each_group_at_its_share_of_alpha(frame: pd.DataFrame, metric: str) -> None:
    limit = {"max": 0.05 if metric == "DPPL" else 0.45}
    _, found = audited(frame, metric, **limit)
    assert found["group"] == "d"
    assert (found["low"], found["high"]) == pytest.approx(alone(audited(frame, metric, 0.05 / 4, **limit)[0], metric))


@pytest.mark.parametrize("metric", ["selection_rate", "selection_rate_difference", "DPPL"])
def test_what_one_group_breaks_alone_may_hold_for_all_at_once(frame: pd.DataFrame, metric: str) -> None:
    """The limit lies between the two ends that face it."""
    result, found = audited(frame, metric, max=0.05)
    assert found["group"] == "d"
    by_itself, _ = alone(result, metric)
    result, found = audited(frame, metric, max=(found["low"] + by_itself) / 2)
    assert by_itself - found["low"] > 0.003
    assert result.verdict == "inconclusive"


def test_tests_of_equal_rates_are_corrected_over_groupings_and_criteria(frame: pd.DataFrame) -> None:
    metrics = audited(frame, "DPPL", max=0.5)[0].group_metrics
    assert metrics is not None
    assert {one.facet for one in metrics.tests} == {"group", "sex"}
    made = [one for one in metrics.tests if one.p_value is not None]
    assert len(made) > 10
    _, expected, _, _ = multipletests([one.p_value for one in made], method="holm")
    assert [one.p_adjusted for one in made] == pytest.approx(expected.tolist(), rel=1e-9, abs=0.0)
    assert [one.significant for one in made] == [bool(p <= 0.05) for p in expected]
    assert any(one.significant for one in made)
    assert any(p <= 0.05 < q for p, q in zip([one.p_value for one in made], expected, strict=True) if p is not None)
