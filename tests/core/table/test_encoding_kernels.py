"""Each compiled loop of the encoding equals its NumPy twin to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from bdt_core.table import kernels

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
