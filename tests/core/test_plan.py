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


@pytest.mark.parametrize(("clusters", "limit", "before"), [(8, 0.0, 0.6), (1, 0.05, 0.5), (8, 0.05, 0.3)])
def test_the_plan_is_for_the_decision_that_is_made(clusters, limit, before):
    # Planned for one test of no difference at all, the difference is found far less often than was promised.
    rng = np.random.default_rng(4)

    def share_found(planned):
        group = round(planned.min_cluster_share * planned.test_rows)
        rest = planned.test_rows - group
        hits = 0
        for _ in range(400):
            found = compare_counts(int(rng.binomial(group, 0.32)), group, int(rng.binomial(rest, 0.2)), rest,
                                   alpha=0.05 / clusters)  # fmt: skip
            hits += found.p_value <= 0.05 / clusters and found.low > limit
        return hits / 400

    assert share_found(plan(40_000, base_rate=0.2, difference=0.12)) < before
    planned = plan(40_000, base_rate=0.2, difference=0.12, clusters=clusters, limit=limit)
    assert 0.72 < share_found(planned) < 0.88
    for row in planned.by_share:
        enough = plan(row.rows_needed + 50, base_rate=0.2, difference=0.12, clusters=clusters, limit=limit)
        assert enough.min_cluster_share <= row.share + 0.002


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


@pytest.mark.parametrize(
    "wrong", [{"base_rate": 0}, {"difference": 1.5}, {"test_size": 1}, {"clusters": 0}, {"limit": 0.1}, {"limit": -1}]
)
def test_a_number_out_of_range_is_named(wrong):
    with pytest.raises(SpecError, match=next(iter(wrong))):
        plan(1000, **{"base_rate": 0.2, "difference": 0.1, **wrong})
    with pytest.raises(SpecError, match="for testing"):
        plan(3, base_rate=0.2, difference=0.1)


@pytest.mark.parametrize("limit", [0.0, 0.05])
def test_five_rows_a_person_that_say_the_same_need_five_times_the_rows(limit):
    persons = plan(8_000, base_rate=0.2, difference=0.12, limit=limit)
    rows = plan(40_000, base_rate=0.2, difference=0.12, limit=limit, design_effect=5.0)
    assert rows.min_cluster_share == pytest.approx(persons.min_cluster_share, abs=0.001)
    for one, each in zip(rows.by_share, persons.by_share, strict=True):
        assert one.detectable == pytest.approx(each.detectable, rel=0.02)
        assert one.rows_needed == pytest.approx(5 * each.rows_needed, rel=0.02)
    with pytest.raises(SpecError, match="design_effect must be 1 or more"):
        plan(8_000, base_rate=0.2, difference=0.12, design_effect=0.5)
