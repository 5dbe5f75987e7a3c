"""Metrics of scores, F1 and distances between label distributions, against scikit-learn, scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve
from sklearn.utils import resample
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from bdt_core.fairness import BiasMetrics, bias_metrics
from benchmarks import peers_tables as tables

GROUPS = tuple("abcde")
FIXED_POINT = {"abs": 2e-8}
"""Scores are summed in units of 1.5e-8."""


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return tables.simulated()


@pytest.fixture(scope="module")
def result(frame) -> BiasMetrics:
    return bias_metrics(frame, facet="g", label="y", prediction="p", score="score", reference="a")


def part(frame: pd.DataFrame, group: str) -> pd.DataFrame:
    return frame[frame.g == group]


@pytest.mark.parametrize("group", GROUPS)
def test_scores(frame, result, group):
    own = part(frame, group)
    assert result["brier"][group].estimate == pytest.approx(sk.brier_score_loss(own.y, own.score), **FIXED_POINT)
    assert result["auc"][group].estimate == pytest.approx(sk.roc_auc_score(own.y, own.score), rel=1e-12)
    assert result["mean_score"][group].estimate == pytest.approx(own.score.mean(), **FIXED_POINT)
    assert result["observed_to_expected"][group].estimate == pytest.approx(own.y.sum() / own.score.sum(), abs=1e-7)


@pytest.mark.parametrize("group", GROUPS)
def test_tied_scores(frame, group):
    own = part(frame, group).assign(score=lambda f: f.score.round(1))
    found = bias_metrics(own, facet="g", label="y", score="score")
    assert found["auc"][group].estimate == pytest.approx(sk.roc_auc_score(own.y, own.score), rel=1e-12)
    assert found["brier"][group].estimate == pytest.approx(sk.brier_score_loss(own.y, own.score), **FIXED_POINT)


@pytest.mark.parametrize("group", GROUPS)
def test_area_is_the_chance_of_ranking_a_pair_rightly(frame, result, group):
    own = part(frame, group)
    u = stats.mannwhitneyu(own.score[own.y == 1], own.score[own.y == 0]).statistic
    pairs = (own.y == 1).sum() * (own.y == 0).sum()
    assert result["auc"][group].estimate == pytest.approx(u / pairs, rel=1e-12)


@pytest.mark.parametrize("group", GROUPS)
def test_calibration_error_bin_by_bin(frame, result, group):
    own = part(frame, group)
    observed, expected = calibration_curve(own.y, own.score, n_bins=10, strategy="uniform")
    rows = np.histogram(own.score, bins=10, range=(0, 1))[0]
    wanted = (rows[rows > 0] * np.abs(observed - expected)).sum() / len(own)
    found = result["calibration_error"][group]
    assert found.estimate == pytest.approx(wanted, abs=1e-7)
    assert 0 <= found.low <= wanted <= found.high


@pytest.mark.parametrize(("metric", "loss"), [("brier", sk.brier_score_loss), ("auc", sk.roc_auc_score)])
def test_intervals_are_as_wide_as_a_bootstrap(frame, result, metric, loss):
    own = part(frame, "b")
    draws = [
        loss(drawn.y, drawn.score)
        for drawn in (resample(own[["y", "score"]], random_state=seed) for seed in range(300))
    ]
    found = result[metric]["b"]
    width = np.subtract(*np.quantile(draws, [0.975, 0.025]))
    assert found.high - found.low == pytest.approx(width, rel=0.2)
    assert (found.low + found.high) / 2 == pytest.approx(np.mean(draws), abs=0.2 * width)


@pytest.mark.parametrize("group", GROUPS)
def test_f1(frame, result, group):
    own = part(frame, group)
    found = result["f1"][group]
    assert found.estimate == pytest.approx(sk.f1_score(own.y, own.p), rel=1e-12)
    jaccard = sk.jaccard_score(own.y, own.p)
    either = int(((own.y == 1) | (own.p == 1)).sum())
    low, high = proportion_confint(round(jaccard * either), either, method="wilson" if either >= 40 else "jeffreys")
    assert (found.low, found.high) == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)), rel=1e-9)


@pytest.mark.parametrize("group", GROUPS[1:])
def test_rates_differences_and_ratios_with_their_intervals(frame, result, group):
    own, other = part(frame, group), part(frame, "a")
    counts = int(own.p.sum()), len(own), int(other.p.sum()), len(other)
    rate = result["selection_rate"][group]
    assert (rate.low, rate.high) == pytest.approx(proportion_confint(*counts[:2], method="wilson"), rel=1e-9)
    gap, ratio = (result[f"selection_rate_{kind}"][group] for kind in ("difference", "ratio"))
    newcombe = confint_proportions_2indep(*counts, compare="diff", method="newcomb")
    assert (gap.low, gap.high) == pytest.approx(newcombe, rel=1e-9)
    koopman = confint_proportions_2indep(*counts, compare="ratio", method="score", correction=False)
    assert (ratio.low, ratio.high) == pytest.approx(koopman, rel=1e-6)


@pytest.mark.parametrize("group", GROUPS)
def test_two_labels_make_ks_the_two_sample_statistic(frame, result, group):
    own, rest = frame.y[frame.g == group], frame.y[frame.g != group]
    assert result["KS"][group].estimate == pytest.approx(stats.ks_2samp(rest, own).statistic, rel=1e-9)


@pytest.mark.parametrize("group", GROUPS)
def test_distances_between_distributions_over_many_labels(frame, group):
    labels = frame.assign(y=np.digitize(frame.score, [0.2, 0.35, 0.5, 0.7]))
    result = bias_metrics(labels, facet="g", label="y", positive=4)
    own, rest = (
        labels.y[one].value_counts(normalize=True).sort_index() for one in (labels.g == group, labels.g != group)
    )
    assert result["KL"][group].estimate == pytest.approx(stats.entropy(rest, own), rel=1e-9)
    assert result["JS"][group].estimate == pytest.approx(jensenshannon(rest, own) ** 2, rel=1e-9)
    assert result["TVD"][group].estimate == pytest.approx(np.abs(rest - own).sum() / 2, rel=1e-9)
    assert result["LP"][group].estimate == pytest.approx(np.linalg.norm(rest - own), rel=1e-9)
    assert result["KS"][group].estimate == pytest.approx(np.abs(rest - own).max(), rel=1e-9)


def test_one_kind_of_label_has_no_area(frame):
    found = bias_metrics(frame[(frame.g != "e") | (frame.y == 0)], facet="g", label="y", score="score")
    assert found["auc"]["e"].undefined_reason == "nobody with a positive label and a score"
    assert found["brier"]["e"].estimate is not None
