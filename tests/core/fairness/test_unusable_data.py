"""Data that defeat one metric leave all others, and say why."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from bdt_core.fairness import bias_metrics, count_rows, metrics_from_counts

N = 600


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "g": rng.choice(list("ab"), N),
            "y": rng.integers(0, 2, N),
            "p": rng.integers(0, 2, N),
            "s": rng.random(N),
            "h": rng.choice(list("uv"), N),
        }
    )


def audit(frame, **options):
    return bias_metrics(frame, **{"facet": "g", "label": "y", "prediction": "p", "score": "s", "group": "h", **options})


def explained(result):
    """Every estimate is a number, or a reason stands beside it; never both, never a NaN."""
    for metric in result.metrics:
        for estimate, low, high, reason in zip(
            metric.estimate, metric.low, metric.high, metric.undefined_reason, strict=True
        ):
            assert (estimate is None) == (reason is not None), (metric.name, estimate, reason)
            assert estimate is None or estimate == estimate
            if estimate is not None and low is not None and high is not None:
                assert low <= estimate <= high, metric.name
    assert result.from_dict(result.to_dict()) == result
    return result


def test_a_facet_with_one_value(frame):
    result = explained(audit(frame.assign(g="a")))
    assert result["DPL"]["a"].undefined_reason == "no rows in a"
    assert result["selection_rate"]["a"].estimate is not None
    assert result["demographic_parity_ratio"].only.undefined_reason == "1 group with enough rows; two are needed"
    assert any("single value a" in note for note in result.notes)


def test_nobody_positive(frame):
    table = count_rows(frame.assign(y=0, p=0), "g", label="y", prediction="p", stratum="h", score="s")
    result = explained(metrics_from_counts(table))
    assert result["selection_rate"]["a"].estimate == 0
    assert result["tpr"]["a"].undefined_reason == "nobody with a positive label"
    assert result["DI"]["a"].estimate is None
    assert result["demographic_parity_difference"].only.estimate == 0
    assert result["demographic_parity_ratio"].only.undefined_reason == "0 in every group"
    assert result["equalized_odds_difference"].only.estimate is None
    assert any('No row of "y" has the favourable value 1' in note for note in result.notes)


def test_everybody_positive(frame):
    result = explained(audit(frame.assign(y=1, p=1)))
    assert result["DI"]["a"].estimate == 1
    assert result["fpr"]["a"].undefined_reason == "nobody with a negative label"


def test_a_label_with_three_values(frame):
    result = explained(audit(frame.assign(y=np.arange(N) % 3)))
    assert any('"y" has 3 values' in note for note in result.notes)
    assert result["prevalence"]["a"].estimate == pytest.approx(1 / 3, abs=0.1)


def test_facet_and_label_are_one_column(frame):
    result = explained(audit(frame, facet="y"))
    assert result["DPL"][1].estimate == -1
    assert result["KL"][1].estimate == np.inf
    assert any("compare a column with itself" in note for note in result.notes)


def test_probabilities_outside_0_to_1(frame):
    frame.loc[frame.index[frame.g == "a"][:3], "s"] = 1.5
    result = explained(audit(frame))
    for name in ("mean_score", "brier_score", "calibration_error"):
        assert result[name]["a"].undefined_reason == "scores outside 0 to 1"
        assert result[name]["b"].estimate is not None
    assert result["auc"]["a"].estimate is not None
    assert any("3 rows" in note for note in result.notes)


def test_a_group_without_rows_after_filtering(frame):
    facet = pd.Categorical(frame.g, categories=["a", "b", "c"])
    result = explained(audit(frame.assign(g=facet)))
    for metric in result.metrics:
        if ("c",) in metric.values:
            assert metric["c"].undefined_reason, metric.name
    listed = explained(audit(frame, facet_values="c"))
    assert listed["DPL"].only.undefined_reason == "no rows in d"
    assert any("No row has the facet value c" in note for note in listed.notes)


def test_no_rows_at_all(frame):
    for empty in (frame[:0], frame.assign(g=None), frame.assign(y=np.nan)):
        result = explained(audit(empty))
        assert result.rows == len(empty)


def test_missing_values_everywhere(frame):
    rng = np.random.default_rng(1)
    holes = frame.astype({"y": "float", "p": "float"})
    for name in holes:
        holes.loc[rng.random(N) < 0.2, name] = None
    result = explained(audit(holes))
    assert result.missing == holes.isna().sum().to_dict()
    complete = holes.dropna(subset=["g", "y", "p"])
    assert result["CI"]["a"].n == len(complete)
    assert result["CDDL"]["a"].n == (complete.g[complete.h.notna()] == "a").sum()
    assert result["auc"]["a"].n == (complete.g[complete.s.notna()] == "a").sum()


def test_five_thousand_facet_values():
    rng = np.random.default_rng(2)
    n = 200_000
    frame = pd.DataFrame({"g": rng.integers(0, 5_000, n), "y": rng.integers(0, 2, n), "p": rng.integers(0, 2, n)})
    start = time.process_time()
    result = explained(bias_metrics(frame, facet="g", label="y", prediction="p"))
    assert time.process_time() - start < 10  # under one second on a machine of its own
    assert len(result["DPL"].values) == 5_000
    assert result["demographic_parity_difference"].only.low == 0


def test_thousands_of_groups_with_few_events_each():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"g": [f"group {i % 500}" for i in range(10_000)], "y": rng.random(10_000) < 0.01, "p": 0})
    result = explained(bias_metrics(frame, facet="g", label="y", prediction="p", positive=[1, True]))
    assert result["true_positive_rate"]["group 0"].estimate is None or result["tpr"]["group 0"].n > 0
    assert result["demographic_parity_difference"].only.undefined_reason == "0 groups with enough rows; two are needed"


@pytest.mark.parametrize("feature", [1.0, np.inf, None])
def test_features_without_use_leave_the_other_metrics_alone(frame, feature):
    result = explained(audit(frame.assign(x=feature), features=["x"]))
    assert "Remove" in result["FT"]["a"].undefined_reason or "No feature" in result["FT"]["a"].undefined_reason
    assert result["FT"]["a"].n == (frame.g == "a").sum()
    assert result["DI"]["a"].estimate is not None


def test_a_group_without_weight(frame):
    weightless = frame.assign(w=(frame.g == "a").astype(float), g=frame.g.where(np.arange(N) > 50, "c"))
    result = explained(audit(weightless, weight="w"))
    assert result["selection_rate"]["b"].undefined_reason == "the weights of these rows add up to 0"
    assert result["demographic_parity_difference"].only.estimate is not None
    assert result["demographic_parity_difference"].excluded == (("b",),)


@pytest.mark.parametrize(
    "changed",
    [
        {"facet": "s", "group": None},
        {"group": "g"},
        {"prediction": "y"},
        {"facet": "p"},
        {"facet": ["g", "h", "y"]},
        {"positive": [0, 1]},
        {"facet_values": "nobody", "features": ["s"]},
        {"alpha": 1e-9},
        {"reference": "everybody else", "facet_values": ["a", "b"]},
    ],
    ids=str,
)
def test_odd_choices_of_columns_and_values(frame, changed):
    explained(audit(frame, **changed))


@pytest.mark.parametrize(
    "columns",
    [
        {"s": np.nan},
        {"s": np.inf},
        {"s": 0.0},
        {"s": True},
        {"h": None},
        {"w": 0.0},
        {"g": pd.Categorical([None] * N, categories=["a"])},
        {"g": pd.Series([1, "1", True, None, 2.5, 1.0] * (N // 6), dtype=object)},
        {"g": pd.date_range("2026-01-01", periods=N)},
        {"y": np.linspace(0, 1, N)},
    ],
    ids=lambda one: str(list(one)),
)
def test_odd_columns(frame, columns):
    explained(audit(frame.assign(**columns), weight="w" if "w" in columns else None))


def test_one_column_only(frame):
    only_label = explained(bias_metrics(frame, facet="g", label="y"))
    assert only_label["selection_rate"]["a"].undefined_reason == "no prediction column was named"
    assert only_label["CI"]["a"].estimate is not None
    only_prediction = explained(bias_metrics(frame, facet="g", prediction="p", score="s", positive=1))
    assert only_prediction["DPPL"]["a"].estimate is not None
    assert only_prediction["DPL"]["a"].undefined_reason == "no label column was named"
    assert only_prediction["CI"]["a"].estimate is not None
    assert only_prediction["mean_score"]["a"].estimate is not None
    assert only_prediction["brier_score"]["a"].undefined_reason == "no label column was named"
