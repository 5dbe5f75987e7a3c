"""Intersections and local bias: found on the train rows, tested on the test rows, by the specification's settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult
from bdt_core.inference import newcombe_interval
from tests.core.joined.made_tables import harmed, quick_audit


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Those far out are wronged more often, women among them most."""
    table = harmed(4000, harm=0.2, base=0.2)
    rng = np.random.default_rng(6)
    table["sex"] = rng.choice(["f", "m"], len(table))
    table["label"] = rng.integers(0, 2, len(table))
    wrong = rng.random(len(table)) < 0.15 + 0.25 * ((table["x0"] > 4) & (table["sex"] == "f"))
    return table.drop(columns="y").assign(prediction=np.where(wrong, 1 - table["label"], table["label"]))


def audited(frame: pd.DataFrame, **changes: Any) -> AuditResult:
    return quick_audit(
        frame,
        bias_variable={"derive": "error", "label": "label", "prediction": "prediction"},
        protected=["sex"],
        groups={"facets": []},
        **changes,
    )


def counted(rows: pd.DataFrame, inside: np.ndarray, y: np.ndarray) -> tuple[float, int, float, int]:
    assert len(rows) == len(inside) == len(y)
    return y[inside].sum(), int(inside.sum()), y[~inside].sum(), int((~inside).sum())


def test_an_intersection_is_compared_on_the_test_rows(frame: pd.DataFrame) -> None:
    result = audited(frame, slices={"columns": ["sex", "kind"], "max_conditions": 2})
    test = result.test.audited  # type: ignore[attr-defined]
    found = result.slices
    assert found is not None
    assert (found.train_rows, found.test_rows) == (3200, 800)
    (women,) = (one for one in found.slices if one.name == "sex is f")
    x, n, y, m = counted(test, (test["sex"] == "f").to_numpy(), result.test.y)  # type: ignore[attr-defined]
    assert (women.comparison.events_a, women.comparison.n_a) == (x, n)
    assert (women.comparison.events_b, women.comparison.n_b) == (y, m)
    interval = newcombe_interval(x, n, y, m, 0.95)
    assert (women.comparison.low, women.comparison.high) == pytest.approx([float(end) for end in interval])


@pytest.mark.parametrize("large", [{}, {"large_rows": 1000}], ids=["small", "large"])
def test_intersections_obey_the_specification(frame: pd.DataFrame, large: dict[str, int]) -> None:
    slices = {"columns": ["x0", "sex", "kind"], "max_conditions": 2, "min_support": 0.05, "bins": 3}
    by_fdr = []
    for fdr in (0.001, 0.5):
        settings = {"slices": {**slices, "fdr": fdr}, "significance": {"alpha": 0.1, "min_rows": 45}}
        found = audited(frame, **settings, **large).slices
        assert found is not None
        assert (found.fdr, found.alpha, found.bins, found.min_rows) == (fdr, 0.1, 3, 45)
        assert max(len(one.conditions) for one in found.slices) == 2
        assert min(one.train_support for one in found.slices) >= 0.05
        for one in found.slices:
            assert one.comparison.confidence == pytest.approx(0.9)
            assert one.significant == (None if one.p_adjusted is None else one.p_adjusted <= fdr)
            assert one.p_adjusted is None or one.test_rows >= 45
        by_fdr.append(sum(one.significant is True for one in found.slices))
    assert 0 < by_fdr[0] < by_fdr[1]


def test_a_local_gap_is_confirmed_by_the_test_rows_at_the_audits_alpha(frame: pd.DataFrame) -> None:
    settings = {"group": "sex", "embeddings": ["x0", "x1"], "n_clusters": 2, "min_group_size": 40, "max_gap": 0.08}
    result = audited(frame, local_bias=settings, significance={"alpha": 0.1, "min_rows": 25})
    found = result.local_bias
    assert found is not None
    assert (found.train_rows, found.test_rows) == (3200, 800)
    used = found.settings
    assert (used.alpha, used.min_test_rows, used.threshold, used.min_group_size) == (0.1, 25, 0.08, 40)
    gap = found.everywhere.held_out
    test, wrong = result.test.audited, result.test.y  # type: ignore[attr-defined]
    right, men = 1.0 - wrong, (test["sex"] == "m").to_numpy()
    x, n, y, m = counted(test, men, right)
    assert (gap.higher, gap.counted_higher, gap.counted_lower) == ("m", n, m)
    low, high = newcombe_interval(x, n, y, m, 0.9)
    assert gap.gap == pytest.approx(x / n - y / m)
    assert (gap.low, gap.high) == pytest.approx((float(low), float(high)))
