"""Sums, means and standard deviations of blocks add up to those of the whole, to the bit."""

import math
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.inference.exact_sums import (
    Span,
    exact_sum,
    mean_and_std,
    means_and_stds_in_blocks,
    span_of,
    step_of_distances,
    step_of_values,
)


@given(st.lists(st.floats(-1e140, 1e140), max_size=60), st.integers(0, 1000), st.integers(1, 6))
@settings(max_examples=100)
def test_any_blocks_give_the_same_to_the_bit(values, seed, n_blocks):
    values = np.array(values, dtype=np.float64)
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(values)
    blocks = np.split(shuffled, np.sort(rng.integers(0, len(values) + 1, n_blocks - 1)))
    whole = reduce(add, map(span_of, blocks), Span())
    assert whole == span_of(values)

    def count(step):
        return sum(step.count(block) for block in blocks)

    spans = {"values": whole, "nothing": Span()}
    found = means_and_stds_in_blocks(spans, lambda steps: {name: count(one) for name, one in steps.items()})
    assert found == {"values": mean_and_std(values), "nothing": (0.0, 0.0)}
    step = step_of_values(whole)
    assert step.total(count(step)) == exact_sum(values)
    distances = step_of_distances(whole)
    wanted = math.fsum(values - whole.low) if len(values) else 0.0
    assert distances.total(count(distances)) == pytest.approx(wanted, rel=1e-12, abs=1e-300)


def test_of_nothing_and_of_one_value():
    assert mean_and_std(np.empty(0)) == (0.0, 0.0)
    assert mean_and_std(np.full(7, -2.5)) == (-2.5, 0.0)
    assert span_of(np.array([-0.0])) == Span(1, 0.0, 0.0)
    assert not math.copysign(1.0, span_of(np.array([-0.0])).low) < 0
