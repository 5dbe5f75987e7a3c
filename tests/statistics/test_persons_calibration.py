"""False alarms where persons have several rows: comparisons, and whole audits with ``split.key``."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from bdt_core.fairness import count_rows, metrics_from_counts
from bdt_core.fairness.flips import _interval
from bdt_core.fairness.persons import PersonCells
from bdt_core.inference import area_under_curve, compare_counts, compare_samples
from bdt_core.inference.persons import (
    Steps,
    area_by_persons,
    area_spread,
    compare_persons,
    person_sums,
    placement_steps,
    shrink_of_mean,
)
from bdt_core.mitigation.measuring import paired_change
from benchmarks import simulated

ALPHA = 0.05


def at_most(hits: int, runs: int, rate: float) -> bool:
    """Whether so many hits are believable (p > .001) when the true rate is at most ``rate``."""
    return bool(stats.binom.sf(hits - 1, runs, rate) > 0.001)


def rows_of(rng: np.random.Generator, persons: int, kind: str) -> np.ndarray:
    """The person of each row: five rows each, or geometrically many."""
    rows = np.full(persons, 5) if kind == "even" else np.minimum(rng.geometric(0.2, persons), 40)
    return np.repeat(np.arange(persons), rows)


@pytest.mark.parametrize("kind", ["even", "uneven", "on both sides"])
@pytest.mark.parametrize(("rate", "alike"), [(0.1, 1.0), (0.3, 0.5)])
def test_a_rate_is_compared_by_persons_at_its_level(kind: str, rate: float, alike: float) -> None:
    """Few persons against 300; also where each has some of his rows on either side. The intervals cover 0 as often."""
    runs, few, hits, missed, of_rows = 250, 40, 0, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng([31, len(kind), int(10 * rate), seed])
        who = rows_of(rng, few + 300, kind)
        inside = who < few
        if kind == "on both sides":
            share = np.where(rng.random(few + 300) < 0.3, 0.5, np.where(np.arange(few + 300) < few, 0.9, 0.02))
            inside = rng.random(who.size) < share[who]
        if alike < 1.0:
            odds = (1.0 - alike) / alike
            y = rng.random(who.size) < rng.beta(rate * odds, (1.0 - rate) * odds, few + 300)[who]
        else:
            y = (rng.random(few + 300) < rate)[who]
        sums = [person_sums(y[side].astype(float), who[side], few + 300) for side in (inside, ~inside)]
        rows = compare_counts(int(y[inside].sum()), int(inside.sum()), int(y[~inside].sum()), int((~inside).sum()))
        found = compare_persons(rows, *sums, min_rows=20)
        assert found.p_value is not None
        assert rows.p_value is not None
        hits += found.p_value <= ALPHA
        of_rows += rows.p_value <= ALPHA
        missed += not (found.low <= 0.0 <= found.high)  # type: ignore[operator]
    assert at_most(hits, runs, ALPHA), hits
    assert at_most(missed, runs, ALPHA), missed
    assert not at_most(of_rows, runs, ALPHA), of_rows  # which is why


@pytest.mark.parametrize("kind", ["even", "uneven"])
@pytest.mark.parametrize("skewed", [False, True])
def test_a_mean_is_compared_by_persons_at_its_level(kind: str, skewed: bool) -> None:
    runs, hits, persons = 300, 0, 300
    for seed in range(runs):
        rng = np.random.default_rng([32, len(kind), skewed, seed])
        who = rows_of(rng, persons, kind)
        of_person = rng.exponential(size=persons) if skewed else rng.normal(size=persons)
        y, inside = of_person[who] + 0.5 * rng.normal(size=who.size), who < 60
        steps = Steps.of(np.unique(y))
        sums = [person_sums(steps.count(y[side]), who[side], persons) for side in (inside, ~inside)]
        found = compare_persons(compare_samples(y[inside], y[~inside], test="welch"), *sums, steps)
        assert found.p_value is not None
        hits += found.p_value <= ALPHA
    assert at_most(hits, runs, ALPHA), hits


def test_where_each_row_is_a_person_little_is_lost() -> None:
    """A true difference is found nearly as often as by the exact test of rows."""
    by_rows = by_persons = 0
    for seed in range(300):
        rng = np.random.default_rng([33, seed])
        y = rng.random(600) < np.where(np.arange(600) < 100, 0.45, 0.3)
        inside, who = np.arange(600) < 100, np.arange(600)
        rows = compare_counts(int(y[:100].sum()), 100, int(y[100:].sum()), 500)
        sums = [person_sums(y[side].astype(float), who[side], 600) for side in (inside, ~inside)]
        by_rows += rows.p_value <= ALPHA  # type: ignore[operator]
        by_persons += compare_persons(rows, *sums).p_value <= ALPHA  # type: ignore[operator]
    assert by_persons >= 0.93 * by_rows > 200


def test_audits_of_persons_with_five_rows_accuse_nobody(full: bool) -> None:
    """Row by row most of the same audits accuse somebody."""
    runs, rates = 300 if full else 15, {"primary": ALPHA, "any cluster": ALPHA, "intersections": 0.1, "groups": ALPHA}
    alarms, tested, of_rows = dict.fromkeys(rates, 0), 0, 0
    for seed in range(runs):
        frame = simulated.of_persons(np.random.default_rng([34, seed]), 400, 5, False, 1.0)
        found = simulated.alarms_of_persons(frame, seed)
        tested += found["tested"]
        for name in rates:
            alarms[name] += found[name]
        if seed < 5:
            by_rows = simulated.alarms_of_persons(frame, seed, key=None)
            of_rows += any(by_rows[name] for name in rates)
    assert tested >= 0.8 * runs
    assert all(at_most(alarms[name], runs, rate) for name, rate in rates.items()), alarms
    assert of_rows >= 3


@pytest.mark.parametrize("kind", ["even", "uneven"])
@pytest.mark.parametrize("labels", ["of persons", "of rows"])
def test_areas_cover_the_true_one_by_persons(kind: str, labels: str) -> None:
    """A score with a part of each person's own; a person has rows with one label, or with both."""
    runs, persons, missed, of_rows = 300, 60, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng([33, len(kind), len(labels), seed])
        who = rows_of(rng, persons, kind)
        label = (rng.random(persons) < 0.5)[who] if labels == "of persons" else rng.random(who.size) < 0.5
        score = label + rng.normal(0, 0.8, persons)[who] + rng.normal(0, 0.6, who.size)
        true = stats.norm.cdf(1.0 / 2**0.5)
        found = area_by_persons(score[label], who[label], score[~label], who[~label])
        rows = area_under_curve(score[label], score[~label])
        assert found.low is not None
        assert found.high is not None
        assert rows.low is not None
        assert rows.high is not None
        missed += not found.low <= true <= found.high
        of_rows += not rows.low <= true <= rows.high
    assert at_most(missed, runs, ALPHA), missed
    assert labels == "of rows" or not at_most(of_rows, runs, ALPHA), of_rows  # which is why


def test_the_variance_of_an_area_is_that_of_persons_drawn_anew() -> None:
    """Obuchowski's variance against the bootstrap of whole persons, where a person may have rows with both labels."""
    rng = np.random.default_rng(34)
    who = rows_of(rng, 120, "uneven")
    label = rng.random(who.size) < rng.beta(1, 1, 120)[who]
    score = label + rng.normal(0, 1, 120)[who] + rng.normal(0, 0.5, who.size)
    values, place = np.unique(score, return_inverse=True)
    counts = [np.bincount(place[side], minlength=values.size) for side in (label, ~label)]
    sums = [person_sums(placement_steps(one)[place[side]], who[side], 120)
            for one, side in zip(counts[::-1], (label, ~label), strict=True)]  # fmt: skip
    rows_of_person = [np.flatnonzero(who == one) for one in range(120)]
    drawn = []
    for _ in range(700):
        rows = np.concatenate([rows_of_person[one] for one in rng.integers(0, 120, 120)])
        a, b = score[rows][label[rows]], score[rows][~label[rows]]
        drawn.append(stats.mannwhitneyu(a, b, method="asymptotic").statistic / (a.size * b.size))
    assert area_spread(*sums).variance ** 0.5 == pytest.approx(np.std(drawn), rel=0.1)


@pytest.mark.parametrize("kind", ["even", "uneven"])
@pytest.mark.parametrize("alike", [True, False])
def test_flips_and_changes_cover_the_true_share_by_persons(kind: str, alike: bool) -> None:
    """Rows that change to better, to worse or not, as in the flip test, and in accuracy under other thresholds."""
    runs, persons, missed = 300, 80, np.zeros(2, dtype=int)
    for seed in range(runs):
        rng = np.random.default_rng([35, len(kind), alike, seed])
        who = rows_of(rng, persons, kind)
        of_person = rng.choice([-1, 0, 1], persons, p=[0.1, 0.7, 0.2])
        anew = rng.choice([-1, 0, 1], who.size, p=[0.1, 0.7, 0.2])
        flips = of_person[who] if alike else np.where(rng.random(who.size) < 0.5, of_person[who], anew)
        sums = person_sums(flips.astype(float), who, persons)
        shrink = shrink_of_mean(sums, int(np.abs(flips).sum()), ALPHA)
        better, worse = (flips > 0).sum() / shrink, (flips < 0).sum() / shrink
        changed = paired_change(flips < 0, flips > 0, ALPHA, shrink)
        of_flips = _interval(better, worse, flips.size / shrink, ALPHA)
        for i, (low, high) in enumerate(((changed.low, changed.high), of_flips)):
            assert low is not None
            assert high is not None
            missed[i] += not low <= 0.1 <= high
    assert all(at_most(int(one), runs, ALPHA) for one in missed), missed


def class_imbalance(in_d: np.ndarray, who: np.ndarray) -> tuple[float, float, float]:
    """Clarify's CI of group d with its interval, where persons have several rows."""
    moments = PersonCells.of((who * 2 + in_d) * 4 + 3, np.ones(who.size, dtype=np.int64)).moments(2)
    table = count_rows(pd.DataFrame({"g": np.where(in_d, "d", "a"), "y": 0}), facets="g", label="y")
    metric = metrics_from_counts(table, persons=moments)["CI"]
    assert table.groups == (("a",), ("d",))
    found = metric.estimate[1], metric.low[1], metric.high[1]
    assert None not in found
    return found  # type: ignore[return-value]


@pytest.mark.parametrize(("people", "rows_of_d"), [(60, 1), (400, 8)])
def test_class_imbalance_covers_the_true_one_by_persons(people: int, rows_of_d: int) -> None:
    """Persons of d have fewer rows than others, or more; how many of them there are is chance, too."""
    runs, missed, of_rows, share = 300, 0, 0, 0.3
    true = 1.0 - 2.0 * share * rows_of_d / (share * rows_of_d + (1.0 - share) * 3.0)
    for seed in range(runs):
        rng = np.random.default_rng([36, people, rows_of_d, seed])
        of_d = rng.random(people) < share
        rows = rng.geometric(1.0 / np.where(of_d, rows_of_d, 3))
        who = np.repeat(np.arange(people), rows)
        in_d = of_d[who]
        estimate, low, high = class_imbalance(in_d, who)
        assert low < estimate < high  # not cut off at it
        missed += not low <= true <= high
        least, most = proportion_confint(in_d.sum(), in_d.size, method="wilson")
        of_rows += not 1.0 - 2.0 * most <= true <= 1.0 - 2.0 * least
    assert at_most(missed, runs, ALPHA), missed
    assert missed >= runs * ALPHA / 4  # no wider than need be
    assert not at_most(of_rows, runs, ALPHA), of_rows  # which is why


def test_the_variance_of_class_imbalance_is_that_of_clustered_errors() -> None:
    """Against statsmodels' errors by person of a mean; with so many persons Wilson's limits are the normal ones."""
    rng = np.random.default_rng(37)
    of_d = rng.random(20_000) < 0.4
    who = np.repeat(np.arange(20_000), rng.geometric(1.0 / np.where(of_d, 2, 7)))
    in_d = of_d[who]
    fit = OLS(in_d.astype(float), np.ones(who.size)).fit(cov_type="cluster", cov_kwds={"groups": who})
    estimate, low, high = class_imbalance(in_d, who)
    low_share, high_share = fit.conf_int()[0]
    assert estimate == pytest.approx(1.0 - 2.0 * fit.params[0], abs=1e-12)
    assert (low, high) == pytest.approx((1.0 - 2.0 * high_share, 1.0 - 2.0 * low_share), abs=2e-4)
    assert high - low == pytest.approx(2.0 * (high_share - low_share), rel=2e-3)
