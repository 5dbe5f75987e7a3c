"""Repeated splits and the permuted procedure."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.inference import combine_repeated_splits
from bdt_core.significance.repeats import RepeatedSplits, _middle
from bdt_core.spec import Limit
from bdt_core.verdict import judge_clusters
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


def test_the_combined_interval_agrees_with_the_combined_test():
    """It holds no difference exactly where the combined test does not reject."""
    for seed, effect in ((1, 0.25), (2, 0.25), (5, 0.0), (6, 0.0)):
        found = simulated.run(planted(seed, effect), 3, split={"random_state": seed, "repeats": 5}).significance
        both = found.repeats
        assert both.low < both.difference < both.high
        assert (both.low <= 0.0 <= both.high) == (both.p_combined > 0.05)
        assert both.difference == np.median(both.differences)


@pytest.mark.parametrize(
    ("p_combined", "interval", "verdict"),
    [(0.82, (0.01, -0.1, 0.12), "inconclusive"), (0.01, (0.2, 0.1, 0.3), "fail"), (1.0, (0.0, -0.04, 0.04), "pass")],
)
def test_no_lucky_split_decides(p_combined, interval, verdict):
    """The audit's own split fails, whatever the others say; with repeats, all splits decide together."""
    own = simulated.run(planted(1, 0.3), 3).significance
    limit = Limit(max_difference=0.05)
    assert judge_clusters(limit, own).verdict == "fail"
    difference, low, high = interval
    splits = RepeatedSplits((0.001, 0.4, None), (0.3, 0.1, None), p_combined, difference, low, high)
    found = judge_clusters(limit, replace(own, repeats=splits))
    assert (found.verdict, found.p_value, found.low) == (verdict, p_combined, low)
    assert "of each of 3 splits" in found.sentence
    each = Limit(check="any_cluster", max_difference=0.05)
    assert judge_clusters(each, replace(own, repeats=splits)) == judge_clusters(each, own)


def test_the_gate_of_an_audit_follows_the_combined_test():
    spec = simulated.SPEC | {
        "split": {"random_state": 3, "repeats": 5},
        "gate": [{"check": "worst_cluster", "max_difference": 0.01}],
    }
    document = audit(planted(1, 0.25), spec).document
    splits, limit = document["primary_test"]["repeated_splits"], document["gate"][0]
    assert (limit["p_value"], limit["low"]) == (splits["p_combined"], splits["low"])
    assert limit["low"] != document["primary_test"]["comparison"]["low"]


def test_splits_that_could_not_be_tested_rule_nothing_out():
    assert _middle([0.1, None, 0.3], -np.inf, "lower") == 0.1
    assert _middle([0.1, None, None], -np.inf, "lower") is None
    assert _middle([0.1, 0.2], np.inf, "higher") == 0.2


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
