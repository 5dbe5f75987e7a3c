"""The planner against simulation and against its own inverse."""

import numpy as np
import pytest

from bdt_core.errors import SpecError
from bdt_core.inference import compare_counts
from bdt_core.inference.plan import plan


def test_a_group_of_the_planned_size_shows_the_difference_as_often_as_promised():
    found = plan(8000, base_rate=0.2, difference=0.12)
    rng = np.random.default_rng(3)
    group = round(found.min_cluster_share * found.test_rows)
    rest = found.test_rows - group
    hits = sum(
        compare_counts(int(rng.binomial(group, 0.32)), group, int(rng.binomial(rest, 0.2)), rest).p_value <= 0.05
        for _ in range(1000)
    )
    assert 0.75 < hits / 1000 < 0.88


def test_the_rows_needed_suffice_and_fewer_do_not():
    for row in plan(1000, base_rate=0.1, difference=0.1).by_share:
        enough = plan(row.rows_needed + 50, base_rate=0.1, difference=0.1)
        short = plan(round(row.rows_needed * 0.9), base_rate=0.1, difference=0.1)
        assert enough.min_cluster_share <= row.share + 0.002
        assert short.min_cluster_share is None or short.min_cluster_share > row.share


def test_too_small_a_table_shows_nothing():
    found = plan(60, base_rate=0.2, difference=0.05)
    assert found.min_cluster_share is None
    assert found.min_cluster_rows is None


@pytest.mark.parametrize("wrong", [{"base_rate": 0}, {"difference": 1.5}, {"test_size": 1}])
def test_a_number_out_of_range_is_named(wrong):
    with pytest.raises(SpecError, match=next(iter(wrong))):
        plan(1000, **{"base_rate": 0.2, "difference": 0.1, **wrong})
    with pytest.raises(SpecError, match="for testing"):
        plan(3, base_rate=0.2, difference=0.1)
