"""Each compiled loop of the encoding equals its NumPy twin to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from bdt_core.inference import sum_kernels as kernels

# Halves, which must go to the even neighbour, and what remains of -0.0.
HALVES = np.array([-2.5, -1.5, -0.5, -0.1, -0.0, 0.0, 0.5, 1.5, 2.5])


def values(rows):
    return np.concatenate([HALVES, np.random.default_rng(rows).normal(size=rows) * 1e3])


@pytest.mark.parametrize("rows", [0, 5, 4097])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize(("low", "mean"), [(0.0, 0.0), (-3.3, 0.7)])
def test_whole_steps(rows, squared, low, mean):
    every = values(rows)
    distance = every - low - mean
    steps = np.rint((distance**2 if squared else distance) * 2.0**20 * 0.5)
    assert kernels.whole_steps(every, low, mean, squared, 2.0**20, 0.5) == sum(int(one) for one in steps)


@pytest.mark.parametrize("rows", [0, 5, 4097])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_standardise(rows, dtype):
    every = values(rows)
    every[1::7] = np.nan
    mean, divisor, power = 0.3, 1.7, 2.0**11
    out = np.empty(len(every), dtype)
    kernels.standardise(every, mean, divisor, power, 1.0 / power, out)
    expected = np.where(np.isnan(every), 0.0, np.rint((every - mean) / divisor * power) / power) + 0.0
    assert out.tobytes() == expected.astype(dtype).tobytes()
    assert not np.signbit(out[out == 0.0]).any()
    kernels.standardise(HALVES, 0.0, 1.0, 1.0, 1.0, out[: len(HALVES)])
    assert out[: len(HALVES)].tolist() == [-2.0, -2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0]


def test_moment_steps():
    every = np.concatenate([values(500), [3e3, -3e3]])
    groups = np.random.default_rng(1).integers(0, 3, len(every))
    shrink, centre, enlarge = 2.0**-12, 0.011, 0.5
    rows, spans, steps = np.zeros(4, np.int64), np.tile([np.inf, -np.inf], (4, 1)), np.zeros((4, 3, 2), np.int64)
    kernels.moment_steps(every, groups, shrink, centre, enlarge, rows, spans, steps)
    distance = (every * shrink - centre) * enlarge
    assert np.abs(distance).max() <= 1.0
    power = distance
    for k in range(3):
        coarse = np.rint(power * 2.0**30)
        fine = np.rint((power * 2.0**30 - coarse) * 2.0**30)
        for group in range(3):
            inside = groups == group
            assert steps[group, k].tolist() == [sum(map(int, one[inside])) for one in (coarse, fine)]
        power = power * distance
    for group in range(3):
        assert rows[group] == (groups == group).sum()
        assert spans[group].tolist() == [every[groups == group].min(), every[groups == group].max()]
    assert rows[3] == 0
    assert spans[3].tolist() == [np.inf, -np.inf]
