"""Limits on intersections and on local bias: by intervals that hold for all of them at once, with four answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bdt_core.groups.slices import Slices, find_slices
from bdt_core.inference import (
    compare_counts,
    compare_samples,
    difference_found_beyond,
    interval_at_once,
    minimum_detectable_difference,
    newcombe_interval,
    welch_interval,
)
from bdt_core.local_bias import LocalBias, LocalBiasSettings, LocalRows, find_local_bias
from bdt_core.spec import LocalBiasLimit, SliceLimit
from bdt_core.verdict import LocalBiasLimitResult, SliceLimitResult, judge_local_bias, judge_slices


def people(n: int = 4000) -> pd.DataFrame:
    """The young of the north fare worse by 30 points."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.choice(["young", "old"], n), "region": rng.choice(["north", "south"], n)})
    harmed = (frame.age == "young") & (frame.region == "north")
    return frame.assign(y=(rng.random(n) < np.where(harmed, 0.5, 0.2)).astype(float))


def rows(rng: np.random.Generator, n: int, gap: float) -> LocalRows:
    """In the upper of two clouds the predictions for f are right less often."""
    x = rng.normal(size=(n, 2)) + 6 * rng.integers(0, 2, (n, 1))
    group = rng.choice(["f", "m"], n)
    return LocalRows(x, group, correct=rng.random(n) < np.where((x[:, 0] > 3) & (group == "f"), 0.9 - gap, 0.9))


@pytest.fixture(scope="module")
def slices() -> Slices:
    return find_slices(people(), columns=["age", "region"], outcome="y", metric="mean", better="lower")


@pytest.fixture(scope="module")
def local() -> LocalBias:
    rng = np.random.default_rng(0)
    settings = LocalBiasSettings(n_clusters=2, min_clusters=2, permutations=0)
    return find_local_bias(rows(rng, 3000, 0.4), rows(rng, 2000, 0.4), settings)


def test_the_worst_intersection_fails_by_an_interval_for_all_of_them(slices: Slices) -> None:
    found = judge_slices(SliceLimit(max_difference=0.05), slices, 1.0)
    (worst,) = [one for one in slices.slices if one.name == found.slice]
    assert (found.verdict, found.blocks, found.slices_tested) == ("fail", True, slices.tests)
    assert slices.tests > 1
    assert found.difference == worst.comparison.difference
    assert 0.05 < found.low < worst.comparison.low < worst.comparison.high < found.high
    assert f"for {slices.tests} intersections at once" in found.sentence
    assert "at most 5.0 points is allowed, and the whole interval is beyond it." in found.sentence
    assert found.severity == "critical"
    assert SliceLimitResult.from_dict(found.to_dict()) == found


def test_what_an_interval_alone_would_prove_can_be_open_among_many(slices: Slices) -> None:
    worst = max(slices.slices, key=lambda one: one.comparison.low or 0.0)
    alone = worst.comparison.low
    together = judge_slices(SliceLimit(max_difference=0.05), slices, 1.0).low
    between = (alone + together) / 2
    found = judge_slices(SliceLimit(max_difference=between), slices, 1.0)
    assert found.verdict == "inconclusive"
    assert "would have been found beyond the limit (80 % power)" in found.sentence
    assert judge_slices(SliceLimit(max_difference=between), replace(slices, tests=1), 1.0).verdict == "fail"


def test_the_gate_counts_each_intersection_by_its_share_of_the_errors(slices: Slices) -> None:
    found = judge_slices(SliceLimit(max_difference=0.05), slices, 1.0)
    (worst,) = [one for one in slices.slices if one.name == found.slice]
    compared, share = worst.comparison, min(0.05, 0.05 * worst.weight / slices.tests)
    assert share > 0.05 / slices.tests
    counts = (compared.events_a, compared.n_a, compared.events_b, compared.n_b)
    assert found.low == pytest.approx(newcombe_interval(*counts, confidence=1 - share)[0])
    assert found.high == pytest.approx(newcombe_interval(*counts, confidence=1 - 0.05 / slices.tests)[1])
    # What would have been found beyond the limit lies beyond it, and farther when less is tolerated to be wrong.
    assert found.smallest_visible == pytest.approx(
        difference_found_beyond(compared, 0.05, 0.05 / share, harm_is_up=True)
    )
    assert judge_slices(SliceLimit(max_difference=0.05), replace(slices, tests=2), 1.0).smallest_visible > 0.05


def test_power_beside_a_local_gap_is_that_of_the_corrected_test(local: LocalBias) -> None:
    tested = [one for one in local.logan.clusters if one.held_out.p_value is not None]
    assert len(tested) > 1
    for one in tested:
        held_out = one.held_out
        rows = held_out.counted_higher + held_out.counted_lower
        events = sum(each.events for each in one.test if each.group in (held_out.higher, held_out.lower))
        assert held_out.minimum_detectable_gap == pytest.approx(
            minimum_detectable_difference(
                held_out.counted_higher, held_out.counted_lower, base_rate=events / rows, alpha=0.05 / len(tested)
            )
        )


def test_what_would_have_been_found_of_a_local_gap_lies_beyond_the_limit(local: LocalBias) -> None:
    found = judge_local_bias(LocalBiasLimit(max_gap=0.3), local)
    assert found.smallest_visible > 0.3 > judge_local_bias(LocalBiasLimit(max_gap=0.05), local).smallest_visible


def test_nothing_significant_is_no_pass(slices: Slices) -> None:
    dull = tuple(replace(one, significant=False, p_adjusted=0.9) for one in slices.slices)
    found = judge_slices(SliceLimit(max_difference=0.25), replace(slices, slices=dull), 1.0)
    assert found.verdict == "inconclusive"


def test_all_intervals_within_pass_unless_one_was_not_tested(slices: Slices) -> None:
    limit = SliceLimit(max_difference=0.9)
    assert judge_slices(limit, slices, 1.0).verdict == "pass"
    last = slices.slices[-1]
    unknown = replace(last.comparison, status="not_testable", difference=None, low=None, high=None, p_value=None)
    partly = replace(slices, slices=(*slices.slices[:-1], replace(last, comparison=unknown, significant=None)))
    found = judge_slices(limit, partly, 1.0)
    assert found.verdict == "inconclusive"
    assert "Yet 1 intersection had too few test rows" in found.sentence


def test_without_an_intersection_there_is_nothing_to_test(slices: Slices) -> None:
    none = replace(slices, slices=(), tests=0, reason="no column can be cut")
    for found in (judge_slices(SliceLimit(), none, 0.05), judge_slices(SliceLimit(), None, 0.05)):
        assert (found.verdict, found.blocks, found.limit) == ("not_testable", False, 0.05)
        assert found.sentence.startswith("No intersection was tested: ")
    assert judge_slices(SliceLimit(inconclusive="block"), None, 0.05).blocks


def test_a_confirmed_gap_fails_by_an_interval_for_all_clusters(local: LocalBias) -> None:
    found = judge_local_bias(LocalBiasLimit(max_gap=0.05), local)
    cluster = local.logan.clusters[0]
    assert (found.verdict, found.cluster, found.higher, found.lower) == ("fail", 0, "m", "f")
    assert (found.clusters_tested, found.difference) == (2, cluster.held_out.gap)
    assert 0.05 < found.low < cluster.held_out.low < cluster.held_out.high < found.high
    counts = {one.group: (one.events, one.counted) for one in cluster.test}
    wanted = newcombe_interval(*counts["m"], *counts["f"], confidence=1 - 0.05 / 2)
    assert (found.low, found.high) == pytest.approx(wanted)
    assert "accuracy of m is higher than that of f" in found.sentence
    assert "for 2 clusters at once" in found.sentence
    assert found.severity is not None
    assert LocalBiasLimitResult.from_dict(found.to_dict()) == found


def test_a_gap_the_other_way_counts_too(local: LocalBias) -> None:
    def turned(cluster):
        gap = cluster.held_out
        names = {"higher": gap.lower, "lower": gap.higher}
        return replace(cluster, held_out=replace(gap, gap=-gap.gap, low=-gap.high, high=-gap.low, **names))

    other = replace(local, logan=replace(local.logan, clusters=tuple(map(turned, local.logan.clusters))))
    one, two = (judge_local_bias(LocalBiasLimit(), each) for each in (local, other))
    assert (one.verdict, one.higher, one.difference) == (two.verdict, two.higher, two.difference)
    assert (one.low, one.high) == pytest.approx((two.low, two.high))


def test_gaps_that_may_be_within_or_beyond_cannot_tell_and_all_within_pass(local: LocalBias) -> None:
    gap = local.logan.clusters[0].held_out
    assert judge_local_bias(LocalBiasLimit(max_gap=gap.gap), local).verdict == "inconclusive"
    assert judge_local_bias(LocalBiasLimit(max_gap=0.9), local).verdict == "pass"
    first, second = local.logan.clusters
    unknown = replace(second, held_out=replace(second.held_out, status="not_testable", gap=None, low=None, high=None))
    partly = replace(local, logan=replace(local.logan, clusters=(first, unknown)))
    found = judge_local_bias(LocalBiasLimit(max_gap=0.9), partly)
    assert found.verdict == "inconclusive"
    assert "Yet cluster 1 had too few test rows" in found.sentence


def test_equal_groups_do_not_pass_where_rows_are_few() -> None:
    rng = np.random.default_rng(5)
    settings = LocalBiasSettings(n_clusters=2, min_clusters=2, permutations=0)
    fair = find_local_bias(rows(rng, 400, 0.0), rows(rng, 300, 0.0), settings)
    assert not any(one.held_out.confirmed for one in fair.logan.clusters)
    assert judge_local_bias(LocalBiasLimit(), fair).verdict == "inconclusive"


def test_nothing_looked_for_and_nothing_tested_are_not_testable(local: LocalBias) -> None:
    none = replace(local, logan=replace(local.logan, clusters=()))
    for found in (judge_local_bias(LocalBiasLimit(), None), judge_local_bias(LocalBiasLimit(), none)):
        assert (found.verdict, found.severity, found.difference) == ("not_testable", None, None)


def test_rows_in_no_cluster_are_counted(local: LocalBias) -> None:
    whole = judge_local_bias(LocalBiasLimit(), local)
    assert (whole.rows_seen, whole.rows_unseen) == (5000, 0)
    assert "not seen" not in whole.sentence
    partly = replace(local, left_out={"without race": 7, "of a group that no train row has": 3})
    found = judge_local_bias(LocalBiasLimit(), partly)
    assert (found.rows_seen, found.rows_unseen) == (5000, 7)
    assert "Judged on 5,000 rows; 7 without a value of race were not seen." in found.sentence


def test_intervals_at_once_are_those_of_bonferronis_share() -> None:
    alone = compare_counts(20, 60, 90, 400)
    assert interval_at_once(alone, 1) == (alone.low, alone.high)
    assert interval_at_once(alone, 12) == pytest.approx(newcombe_interval(20, 60, 90, 400, confidence=1 - 0.05 / 12))
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=40), rng.normal(1.0, 3.0, size=90)
    means = compare_samples(a, b, test="welch")
    exact = welch_interval(a.mean(), a.var(ddof=1), 40, b.mean(), b.var(ddof=1), 90, confidence=1 - 0.05 / 12)
    low, high = interval_at_once(means, 12)
    assert low < exact[0] < exact[1] < high
    assert (high - low) / (exact[1] - exact[0]) < 1.05
    two = compare_samples(np.repeat([3.0, 7.0], [40, 20]), np.repeat([3.0, 7.0], [310, 90]))
    share = newcombe_interval(20, 60, 90, 400, confidence=1 - 0.05 / 12)
    assert interval_at_once(two, 12) == pytest.approx((4 * share[0], 4 * share[1]))
