"""Repeated splits and the permuted procedure."""

import numpy as np
import pandas as pd
import pytest

from bdt_core.inference import combine_repeated_splits
from benchmarks import simulated


def planted(seed: int, effect: float, n: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = simulated.features(rng, n, "numeric")
    group = rng.random(n) < 0.25
    frame.loc[group, "x0"] += 6
    return frame.assign(y=(rng.random(n) < 0.2 + effect * group).astype(float))


def test_repeated_splits_keep_the_first_and_combine_all():
    once = simulated.run(planted(1, 0.25), 3).significance
    many = simulated.run(planted(1, 0.25), 3, split={"random_state": 3, "repeats": 5}).significance
    assert once.repeats is None
    assert many.primary.comparison == once.primary.comparison
    assert len(many.repeats.p_values) == 5
    assert many.repeats.p_values[0] == once.primary.comparison.p_value
    assert len(set(many.repeats.p_values)) == 5
    assert many.repeats.p_combined == combine_repeated_splits(many.repeats.p_values)
    assert many.repeats.p_combined < 0.05


@pytest.mark.parametrize(("effect", "low", "high"), [(0.3, 0.0, 0.03), (0.0, 0.03, 1.0)])
def test_the_permuted_procedure_tells_a_planted_group_from_none(effect, low, high):
    change = {"significance": {"test": "permutation", "permutations": 39}}
    found = simulated.run(planted(2, effect), 1, **change).significance.procedure
    assert found.permutations == 39
    assert low <= found.p_value <= high


def test_the_permuted_procedure_keeps_its_error_rate():
    change = {"significance": {"test": "permutation", "permutations": 19}}
    p_values = [simulated.run(planted(s, 0.0, 600), s, **change).significance.procedure.p_value for s in range(60)]
    assert sum(p <= 0.1 for p in p_values) <= 13  # binomial(60, .1): p < .01 above


def test_the_shape_of_the_settings_says_when_nothing_is_repeated():
    assert simulated.run(planted(4, 0.2), 1).significance.procedure is None
