"""The planner against simulation and against its own inverse."""

import numpy as np
import pandas as pd
import pytest

from bdt_core import find_worst_groups
from bdt_core.errors import SpecError
from bdt_core.inference import compare_counts
from bdt_core.inference.plan import plan
from bdt_core.inference.settled import rows_to_settle, settled_limit


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


@pytest.mark.parametrize(("columns", "base_rate"), [(6, 0.15), (12, 0.05)])
def test_where_nobody_fares_worse_the_search_rules_out_about_what_the_plan_says(columns, base_rate):
    rng = np.random.default_rng([8, columns])
    n, known = 3_000, []
    for _ in range(4):
        numbers = {f"number {one}": rng.normal(size=n).round(2) for one in range(columns // 2)}
        values = {f"value {one}": rng.choice(list("abcde"), n) for one in range(columns // 2)}
        frame = pd.DataFrame({**numbers, **values, "harmed": (rng.random(n) < base_rate).astype(int)})
        found = find_worst_groups(frame, outcome="harmed", better="lower", permutations=19)
        known.append([found.ruled_out(share).largest_difference for share in (0.02, 0.05, 0.1, 0.2)])
    rows = [row for row in plan(n, base_rate=base_rate, difference=0.1).by_share if 0.02 <= row.share <= 0.2]
    assert [row.settled_limit for row in rows] == pytest.approx(np.mean(known, axis=0), rel=0.2)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.5])
@pytest.mark.parametrize("limit", [0.02, 0.2, 0.9])
def test_a_limit_takes_the_rows_that_settle_it_and_no_fewer(share, limit):
    rows = rows_to_settle(limit, base_rate=0.2, share=share)
    assert settled_limit(rows, base_rate=0.2, share=share) <= limit
    fewer = settled_limit(rows - 1, base_rate=0.2, share=share)
    assert fewer is None or fewer > limit


def test_rows_for_a_limit_are_those_for_the_difference_where_no_limit_is_named():
    named = plan(20_000, base_rate=0.2, difference=0.12, limit=0.05)
    without = plan(20_000, base_rate=0.2, difference=0.05)
    assert (named.limit_to_settle, without.limit_to_settle) == (0.05, 0.05)
    assert [row.rows_to_settle for row in named.by_share] == [row.rows_to_settle for row in without.by_share]


def test_rows_that_say_the_same_settle_what_as_many_persons_do():
    persons = plan(8_000, base_rate=0.2, difference=0.12)
    rows = plan(40_000, base_rate=0.2, difference=0.12, design_effect=5.0)
    for one, each in zip(rows.by_share, persons.by_share, strict=True):
        assert one.settled_limit == each.settled_limit
        assert one.rows_to_settle == pytest.approx(5 * each.rows_to_settle, rel=0.1)  # to two digits
