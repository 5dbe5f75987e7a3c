"""Partial pooling: the normal model by its textbook formulas, statsmodels, and what must never enter an estimate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from bdt_core.inference import pooled
from bdt_core.inference.pooled import pool_means, pool_rates

LEVELS = [np.repeat(np.arange(6), 4), np.tile(np.arange(4), 6)]
ALL = np.ones(24, dtype=bool)


def rates(seed: int, tau: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Events and rows of 24 groups of a 6 x 4 table."""
    rng = np.random.default_rng(seed)
    n = rng.integers(20, 200, 24).astype(float)
    theta = -1.2 + rng.normal(0, 0.4, 6)[LEVELS[0]] + rng.normal(0, 0.4, 4)[LEVELS[1]] + rng.normal(0, tau, 24)
    return rng.binomial(n.astype(int), special.expit(theta)).astype(float), n


def test_what_the_others_predict_is_the_normal_model_without_the_group() -> None:
    """Each group's prediction, and the likelihood of all others, are those of the dense model without it."""
    rng = np.random.default_rng(2)
    z, variances = rng.normal(size=24), rng.uniform(0.05, 1.0, 24)
    design = pooled._design(LEVELS)
    fit = pooled._fit(pooled._Model(z, variances, design))
    for at in (0, 5, 12):
        whole = design @ design.T + np.diag(variances + pooled._TAU[at] ** 2)
        for left_out in (0, 13):
            rest = np.arange(24) != left_out
            inverse = np.linalg.inv(whole[np.ix_(rest, rest)])
            mean = whole[left_out, rest] @ inverse @ z[rest]
            variance = whole[left_out, left_out] - whole[left_out, rest] @ inverse @ whole[rest, left_out]
            assert fit.mean[at, left_out] == pytest.approx(mean)
            assert fit.variance[at, left_out] == pytest.approx(variance - variances[left_out])
            others = stats.multivariate_normal(cov=whole[np.ix_(rest, rest)]).logpdf(z[rest])
            everybody = stats.multivariate_normal(cov=whole).logpdf(z)
            own = fit.log_weights[at] - fit.log_others[at, left_out]
            assert own == pytest.approx(everybody - others + 0.5 * np.log(2 * np.pi), abs=1e-6)


def test_rates_agree_with_the_mixed_model_of_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random intercepts of both columns and of cells, by variational Bayes; without the robust part, which it lacks."""
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    monkeypatch.setattr(pooled, "ROBUST", 0.0)
    events, n = rates(4)
    found = pool_rates(events, n, LEVELS, ALL)
    cell = np.repeat(np.arange(24), n.astype(int))
    y = np.concatenate([np.arange(int(m)) < k for k, m in zip(events, n, strict=True)]).astype(float)
    effects = [np.eye(6)[LEVELS[0]], np.eye(4)[LEVELS[1]], np.eye(24)]
    kind = np.repeat([0, 1, 2], [6, 4, 24])
    model = BinomialBayesMixedGLM(y, np.ones((y.size, 1)), np.hstack(effects)[cell], kind, vcp_p=1.0, fe_p=10.0)
    fitted = model.fit_vb()
    theirs = special.expit(fitted.fe_mean[0] + np.hstack(effects) @ fitted.vc_mean)
    off = np.abs(found.estimate - theirs)
    assert off.mean() < 0.008
    assert off.max() < 0.025  # theirs learns how much levels differ, too
    assert np.abs(events / n - theirs).max() > 0.04  # which no estimate of a group alone would do


def test_means_agree_with_the_mixed_model_of_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    import statsmodels.formula.api as smf

    monkeypatch.setattr(pooled, "ROBUST", 0.0)
    rng = np.random.default_rng(5)
    n = rng.integers(8, 60, 24)
    theta = 50 + 4 * (rng.normal(0, 1, 6)[LEVELS[0]] + rng.normal(0, 1, 4)[LEVELS[1]] + rng.normal(0, 0.7, 24))
    cell = np.repeat(np.arange(24), n)
    frame = pd.DataFrame({"y": rng.normal(theta[cell], 8.0), "cell": cell})
    frame = frame.assign(a=LEVELS[0][cell], b=LEVELS[1][cell], one=1)
    by = frame.groupby("cell").y
    found = pool_means(by.mean().to_numpy(), by.var().to_numpy(), n.astype(float), LEVELS, ALL)
    parts = {"a": "0 + C(a)", "b": "0 + C(b)", "c": "0 + C(cell)"}
    fitted = smf.mixedlm("y ~ 1", frame, groups="one", vc_formula=parts).fit()
    theirs = frame.assign(fitted=fitted.fittedvalues).groupby("cell").fitted.first().to_numpy()
    off = np.abs(found.estimate - theirs)
    assert off.max() < 1.0  # an eighth of a standard deviation of the rows
    assert np.abs(by.mean().to_numpy() - theirs).max() > 2.0


def test_of_a_group_whose_rows_are_not_looked_at_nothing_enters() -> None:
    events, n = rates(6)
    own = ALL.copy()
    own[[0, 7]] = False
    first = pool_rates(events, n, LEVELS, own)
    events[0], n[0], events[7], n[7] = 9.0, 9.0, 0.0, 9.0
    again = pool_rates(events, n, LEVELS, own)
    for name in ("estimate", "low", "high"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    y, variance = events / n, np.full(24, 0.2)
    mean = pool_means(y, variance, n, LEVELS, own)
    y[0], variance[7], n[7] = 5.0, 9.0, 4.0
    np.testing.assert_array_equal(mean.estimate, pool_means(y, variance, n, LEVELS, own).estimate)


def test_a_large_group_has_its_own_rate_and_a_small_one_leans_on_the_others() -> None:
    n = np.array([100_000.0, 300.0, 300.0, 300.0, 300.0, 12.0])
    events = np.array([30_000.0, 33.0, 29.0, 31.0, 28.0, 3.0])
    found = pool_rates(events, n, [np.arange(6)], np.ones(6, dtype=bool))
    assert found.estimate[0] == pytest.approx(0.3, abs=0.001)
    low, high = stats.beta.ppf([0.025, 0.975], 30_000.5, 70_000.5)
    assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=1e-3)
    calm = pool_rates(events[1:], n[1:], [np.arange(5)], np.ones(5, dtype=bool))
    assert 0.10 < calm.estimate[4] < 0.15  # 25 % of 12 among groups with about 10 %
    assert calm.high[4] - calm.low[4] < np.diff(stats.beta.ppf([0.025, 0.975], 3.5, 9.5))[0]


def test_a_small_group_that_is_like_no_other_is_believed_by_its_own_rows() -> None:
    n = np.array([300.0] * 8 + [15.0])
    events = np.array([30.0, 29, 31, 28, 33, 27, 30, 32, 12])
    found = pool_rates(events, n, [np.arange(9)], np.ones(9, dtype=bool))
    assert found.estimate[8] > 0.6
    assert found.low[8] < 0.8 < found.high[8]
    assert found.estimate[:8].max() < 0.12  # and draws nobody else towards it


def test_without_differences_between_people_there_is_nothing_to_pool() -> None:
    constant = pool_means(np.full(3, 7.0), np.zeros(3), np.full(3, 20.0), [np.arange(3)], np.ones(3, dtype=bool))
    assert constant.estimate == pytest.approx([7.0] * 3)
    never = pool_rates(np.zeros(3), np.full(3, 20.0), [np.arange(3)], np.ones(3, dtype=bool))
    assert (never.low >= 0.0).all()
    assert never.estimate.max() < 0.05
    assert 0.03 < never.high.max() < 0.2
