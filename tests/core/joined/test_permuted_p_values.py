"""A permutation p-value counts the data themselves: it is never 0, however strong the effect."""

from __future__ import annotations

import numpy as np
import pytest

from bdt_core.groups.slices import find_slices
from bdt_core.inference.permutation import permutation_test_of_counts
from bdt_core.inference.summaries import count_values
from tests.core.joined.made_tables import harmed, quick_audit


@pytest.mark.parametrize("permutations", [19, 24])
def test_the_procedure_that_no_permutation_reaches_has_one_over_all(permutations: int) -> None:
    settings = {"test": "permutation", "permutations": permutations}
    procedure = quick_audit(harmed(harm=0.6, base=0.1), significance=settings).significance.procedure
    assert procedure is not None
    assert procedure.p_value == 1 / (permutations + 1)


def test_the_procedure_where_nothing_is_counts_those_that_reach_it() -> None:
    settings = {"test": "permutation", "permutations": 19}
    found = [
        quick_audit(harmed(400, harm=0.0, seed=seed), significance=settings).significance.procedure for seed in range(5)
    ]
    p_values = [one.p_value for one in found if one is not None and one.p_value is not None]
    assert len(p_values) >= 3
    assert {round(20 * p, 9) % 1 for p in p_values} == {0.0}
    assert min(p_values) >= 1 / 20
    assert max(p_values) > 1 / 20


def test_the_largest_statistic_of_all_slices_counts_the_data_too() -> None:
    frame = harmed(harm=0.6, base=0.1)
    frame["side"] = np.where(frame["x0"] > 4, "far", "near")
    settings = {"columns": ["side", "kind"], "outcome": "y", "metric": "mean", "better": "lower", "permutations": 19}
    found = find_slices(frame, **settings)  # type: ignore[arg-type]
    assert min(one.p_adjusted for one in found.slices if one.p_adjusted is not None) == pytest.approx(1 / 20)


def test_two_samples_without_overlap_have_two_over_all_permutations() -> None:
    in_a, in_b = count_values(np.arange(40.0), np.arange(100.0, 150.0))
    found = permutation_test_of_counts(in_a.values, in_a.counts, in_b.counts)
    assert found.p_value == 2 / 10_000
