"""Multinomial numbers from uniform ones, against SciPy's distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bdt_core.inference.multinomial import binomials_of, draw_multinomials


@pytest.mark.parametrize(("n", "p"), [(10, 0.3), (1, 0.5), (3000, 0.02), (3000, 0.7), (50, 0.0), (50, 1.0), (7, 0.999)])
def test_uniform_numbers_become_binomial_ones(n: int, p: float) -> None:
    """Of evenly spaced ones, each value has its share, but for one at its ends."""
    uniform = (np.arange(100_000) + 0.5) / 100_000
    counted = np.bincount(binomials_of(uniform, np.full(uniform.size, float(n)), p).astype(int), minlength=n + 1)
    assert np.abs(counted - stats.binom.pmf(np.arange(n + 1), n, p) * uniform.size).max() < 1.0


def test_groups_are_divided_as_a_multinomial_says() -> None:
    sizes, shares = np.array([3000, 40, 1, 0]), np.array([0.2, 0.0, 0.5, 0.3])
    drawn = draw_multinomials(np.random.default_rng(5), sizes, shares, 20_000)
    assert (drawn.sum(axis=2) == sizes).all()
    assert (drawn >= 0).all()
    assert not drawn[..., 1].any()
    wanted = stats.multinomial(3000, shares)
    error = np.sqrt(np.diag(wanted.cov()) / 20_000)
    assert (np.abs(drawn[:, 0].mean(axis=0) - wanted.mean()) <= 4.0 * error).all()
    assert np.cov(drawn[:, 0].T) == pytest.approx(wanted.cov(), abs=30.0)  # four standard errors of its largest


def test_the_numbers_are_those_of_the_seed() -> None:
    """Whatever the version of NumPy: only its uniform numbers are used, which its rules keep."""
    drawn = draw_multinomials(np.random.default_rng(0), np.array([100, 2000]), np.array([0.3, 0.3, 0.4]), 2)
    assert drawn.tolist() == [[[26.0, 38.0, 36.0], [593.0, 635.0, 772.0]], [[30.0, 34.0, 36.0], [600.0, 580.0, 820.0]]]
