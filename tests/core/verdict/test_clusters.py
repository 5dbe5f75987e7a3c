"""The gate's verdict, case by case, on real results whose intervals are set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bdt_core import words
from bdt_core.inference import difference_found_beyond, minimum_detectable_difference
from bdt_core.spec import Limit
from bdt_core.verdict import judge_clusters, overall
from bdt_core.verdict.kinds import kind_named
from benchmarks import simulated


@pytest.fixture(scope="module")
def tested():
    frame, _ = simulated.planted(np.random.default_rng(1), 3000, 0.1, 0.3)
    return simulated.run(frame, 1).significance


def with_intervals(tested, intervals, p=0.001, better="lower"):
    """The same clusters with other differences: (difference, low, high) each, in the variable's own units."""
    clusters = []
    for one, (difference, low, high) in zip(tested.clusters, intervals, strict=False):
        comparison = replace(one.comparison, difference=difference, low=low, high=high, p_value=p)
        clusters.append(replace(one, comparison=comparison, simultaneous=(low, high), p_adjusted=p))
    spec = tested.spec.model_copy(
        update={"bias_variable": tested.spec.bias_variable.model_copy(update={"better": better})}
    )
    return replace(tested, clusters=tuple(clusters), spec=spec)


NOTHING = (-0.5, -0.6, -0.45)
CASES = {
    "all above": ((0.2, 0.1, 0.3), 0.001, "fail"),
    "all below": ((0.01, -0.02, 0.04), 0.6, "pass"),
    "both sides": ((0.06, 0.01, 0.12), 0.03, "inconclusive"),
    "above, but the test does not reject": ((0.2, 0.06, 0.3), 0.06, "inconclusive"),
    "better off": ((-0.3, -0.4, -0.2), 0.001, "pass"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("check", ["worst_cluster", "any_cluster"])
def test_the_interval_against_the_limit(tested, case, check):
    interval, p, wanted = CASES[case]
    found = judge_clusters(Limit(check=check, max_difference=0.05), with_intervals(tested, [interval, NOTHING], p))
    assert found.verdict == wanted
    assert found.blocks == (wanted == "fail")
    assert (found.difference, found.low, found.high) == interval
    assert found.cluster == 0


@pytest.mark.parametrize("case", CASES)
def test_where_higher_is_better_harm_is_the_other_way(tested, case):
    (difference, low, high), p, wanted = CASES[case]
    mirrored = with_intervals(tested, [(-difference, -high, -low), NOTHING], p, "higher")
    found = judge_clusters(Limit(max_difference=0.05), mirrored)
    assert found.verdict == wanted
    assert (found.difference, found.low, found.high) == (difference, low, high)


@pytest.mark.parametrize(("check", "which"), [("worst_cluster", "the most deviating"), ("any_cluster", "any")])
def test_a_form_for_publication_says_which_cluster_a_limit_is_on(tested, check, which):
    fails = judge_clusters(Limit(check=check, max_difference=0.05), with_intervals(tested, [(0.2, 0.1, 0.3), NOTHING]))
    published = kind_named(fails.kind).for_publication(fails, "error rate", "rate", {})
    assert published.sentence == (
        f"Difference in error rate of {which} cluster: at most 5.0 points is allowed; what was found lies beyond that."
    )


def test_any_cluster_names_the_one_that_fails(tested):
    second = with_intervals(tested, [NOTHING, (0.3, 0.2, 0.4)])
    found = judge_clusters(Limit(check="any_cluster", max_difference=0.05), second)
    assert (found.verdict, found.cluster) == ("fail", 1)
    assert judge_clusters(Limit(max_difference=0.05), second).verdict == "pass"


def test_a_cluster_that_could_not_be_tested_keeps_any_cluster_from_passing(tested):
    passing = with_intervals(tested, [NOTHING] * len(tested.clusters))
    last = passing.clusters[-1]
    unknown = replace(last.comparison, status="not_testable", difference=None, low=None, high=None, p_value=None)
    partly = replace(passing, clusters=(*passing.clusters[:-1], replace(last, comparison=unknown, simultaneous=None)))
    assert judge_clusters(Limit(check="any_cluster"), passing).verdict == "pass"
    found = judge_clusters(Limit(check="any_cluster"), partly)
    assert found.verdict == "inconclusive"
    assert "too few test rows" in found.sentence
    assert judge_clusters(Limit(check="worst_cluster"), partly).verdict == "pass"


@pytest.mark.parametrize(("check", "at_once"), [("worst_cluster", False), ("any_cluster", True)])
def test_what_would_have_been_found_is_that_of_the_limit(tested, check, at_once):
    # A difference that an uncorrected test tells from none with 80 % power is found beyond 5 points far less often.
    found = judge_clusters(Limit(check=check, max_difference=0.15), tested)
    (decides,) = [one for one in tested.clusters if one.cluster.label == found.cluster]
    comparisons = len(tested.clusters) if at_once else 1
    expected = difference_found_beyond(decides.comparison, 0.15, comparisons, harm_is_up=True)
    assert found.smallest_visible == expected > 0.15 + 0.8 * decides.comparison.minimum_detectable_difference
    assert judge_clusters(Limit(check=check, max_difference=0.0), tested).smallest_visible < expected
    unclear = judge_clusters(Limit(check=check, max_difference=found.difference), tested)
    assert unclear.verdict == "inconclusive"
    size = words.size(unclear.smallest_visible, "rate")
    assert f"a difference of {size} would have been found beyond the limit (80 % power)" in unclear.sentence


def test_power_beside_a_corrected_finding_is_that_of_the_corrected_test(tested):
    first = tested.clusters[0]
    comparison = first.comparison
    rate = (comparison.events_a + comparison.events_b) / (comparison.n_a + comparison.n_b)
    corrected = minimum_detectable_difference(
        comparison.n_a, comparison.n_b, base_rate=rate, alpha=0.05 / len(tested.clusters)
    )
    assert first.smallest_visible == pytest.approx(corrected)
    assert first.smallest_visible > 1.1 * comparison.minimum_detectable_difference


def test_inconclusive_can_block(tested):
    both_sides = with_intervals(tested, [(0.06, 0.01, 0.12), NOTHING])
    assert judge_clusters(Limit(max_difference=0.05, inconclusive="block"), both_sides).blocks


def test_no_split_and_too_few_rows_are_not_testable(tested):
    alone = replace(tested, clusters=tested.clusters[:1])
    assert judge_clusters(Limit(), alone).verdict == "not_testable"
    first = tested.clusters[0]
    nothing = replace(
        first.comparison, status="not_testable", reason="too few", difference=None, low=None, high=None, p_value=None
    )
    small = replace(tested, clusters=(replace(first, comparison=nothing), *tested.clusters[1:]))
    found = judge_clusters(Limit(), small)
    assert found.verdict == "not_testable"
    assert "too few" in found.sentence


def test_the_default_limit_fits_the_variable(tested):
    assert judge_clusters(Limit(), tested).limit == 0.05
    continuous = replace(tested, two_valued=False, unit="value", test_sd=3.0)
    assert judge_clusters(Limit(), continuous).limit == pytest.approx(0.6)


def test_the_severest_verdict_counts(tested):
    fails = judge_clusters(Limit(max_difference=0.0), with_intervals(tested, [(0.2, 0.1, 0.3), NOTHING]))
    passes = judge_clusters(Limit(max_difference=0.9), with_intervals(tested, [(0.2, 0.1, 0.3), NOTHING]))
    assert overall([passes.verdict, fails.verdict, passes.verdict]) == "fail"
    assert overall([passes.verdict]) == "pass"
    assert overall([]) == "no_limit"
