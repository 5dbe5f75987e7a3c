"""The search finds what trying every combination of thresholds finds, and what it finds holds."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.errors import DataError, SpecError
from bdt_core.mitigation import GroupThresholds
from bdt_core.mitigation.sweep import OneRate, TwoRates, window_maximum

CONSTRAINTS = ("demographic_parity", "equal_opportunity", "equalized_odds", "predictive_parity")
ROUNDING = 1e-12


def profit(tp, fp, fn, tn):
    return 3.0 * tp - 2.0 * fp - 0.5 * fn


def by_hand(score, label, group, constraint, objective):
    """Per group: every attainable (rates, gain), counted row by row."""
    positives, negatives = int(label.sum()), int((~label).sum())
    out = []
    for one in np.unique(group):
        s, y = score[group == one], label[group == one]
        points = []
        for threshold in (np.inf, *np.unique(s)):
            selected = s >= threshold
            tp, fp = int((selected & y).sum()), int((selected & ~y).sum())
            fn, tn = int(y.sum()) - tp, int((~y).sum()) - fp
            rates = {
                "demographic_parity": [(tp + fp, len(s))],
                "equal_opportunity": [(tp, tp + fn)],
                "equalized_odds": [(tp, tp + fn), (fp, fp + tn)],
                "predictive_parity": [(tp, tp + fp)],
            }[constraint]
            gain = {
                "accuracy": (tp + tn) / len(score),
                "balanced_accuracy": 0.5 * (tp / max(positives, 1) + tn / max(negatives, 1)),
                "profit": profit(tp, fp, fn, tn),
            }[objective]
            if all(n for _, n in rates):
                points.append(([x / n for x, n in rates], gain))
        out.append(points)
    return out


def best_by_hand(points, tolerance):
    """(objective, smallest gap that attains it) over all combinations; None when none is within the tolerance."""
    best = None
    for choice in itertools.product(*points):
        rates = np.array([rates for rates, _ in choice])
        gap = float((rates.max(axis=0) - rates.min(axis=0)).max())
        if gap <= tolerance + ROUNDING:
            found = (round(sum(gain for _, gain in choice), 9), -round(gap, 9))
            best = found if best is None else max(best, found)
    return best


rows = st.lists(
    st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 2)), min_size=6, max_size=26
).map(lambda several: [np.array(one) for one in zip(*several, strict=True)])  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(
    table=rows,
    constraint=st.sampled_from(CONSTRAINTS),
    tolerance=st.sampled_from([0.0, 0.04, 0.1, 0.25, 0.5, 1.0]),
    objective=st.sampled_from(["accuracy", "balanced_accuracy", "profit"]),
)
def test_no_combination_of_thresholds_is_better(table, constraint, tolerance, objective):
    score, label, group = table[0].astype(float), table[1].astype(bool), table[2]
    model = GroupThresholds(constraint, tolerance=tolerance, objective=profit if objective == "profit" else objective)
    wanted = best_by_hand(by_hand(score, label, group, constraint, objective), tolerance)
    try:
        model.fit(score, label, group)
    except (DataError, SpecError) as problem:
        told = str(problem)
        is_unusable = any(one in told for one in ("one group", "same score", "Nobody", "undefined"))
        assert is_unusable or (wanted is None and "smallest" in told), told
        return
    assert (round(model.objective_, 9), -round(model.gap_, 9)) == wanted
    # What it says of its thresholds is what they do.
    selected = model.predict(score, group).astype(bool)
    for i, line in model.table_.iterrows():
        mine = group == line["group"]
        assert line["selection_rate"] == pytest.approx(selected[mine].mean())
        assert line["accuracy"] == pytest.approx((selected == label)[mine].mean())
        assert model.groups_[i] == line["group"]


@settings(max_examples=60, deadline=None)
@given(table=rows, constraint=st.sampled_from(CONSTRAINTS), seed=st.integers(0, 5))
def test_neither_row_order_nor_names_of_groups_matter(table, constraint, seed):
    score, label, group = table[0].astype(float), table[1].astype(bool), table[2]
    names = np.array(["c", "a", "b"])[group]
    order = np.random.default_rng(seed).permutation(len(score))

    def fitted(s, y, g, randomized=False):
        try:
            return GroupThresholds(constraint, tolerance=0.2, randomized=randomized).fit(s, y, g)
        except (DataError, SpecError) as problem:
            return str(problem)

    one, other = fitted(score, label, names), fitted(score[order], label[order], names[order])
    if isinstance(one, str):
        assert one == other
        return
    assert one.thresholds_ == other.thresholds_
    pd.testing.assert_frame_equal(one.table_, other.table_)
    renamed = fitted(score, label, group)
    assert renamed.objective_ == one.objective_
    assert renamed.gap_ == pytest.approx(one.gap_, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(table=rows, constraint=st.sampled_from(CONSTRAINTS[:3]), tolerance=st.sampled_from([0.0, 0.1, 0.3]))
def test_lots_are_never_worse_and_keep_the_tolerance(table, constraint, tolerance):
    score, label, group = table[0].astype(float), table[1].astype(bool), table[2]
    try:
        plain = GroupThresholds(constraint, tolerance=tolerance).fit(score, label, group)
    except DataError:
        return
    lots = GroupThresholds(constraint, tolerance=tolerance, randomized=True).fit(score, label, group)
    assert lots.gap_ <= tolerance + 1e-7
    assert lots.objective_ >= plain.objective_ - 1e-7
    chance = lots.selection_chance(score, group)
    assert np.where(label, chance, 1 - chance).mean() == pytest.approx(lots.objective_, abs=1e-7)


def test_lots_are_the_linear_programme_over_all_thresholds():
    """Corners of the hull are enough: a programme over every point finds nothing better."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(3)
    for _ in range(8):
        score, group = rng.integers(0, 12, 90).astype(float), rng.integers(0, 3, 90)
        label = rng.random(90) < (0.15 + 0.05 * score + 0.1 * group)
        model = GroupThresholds("equalized_odds", tolerance=0.03, randomized=True).fit(score, label, group)
        points = by_hand(score, label, group, "equalized_odds", "accuracy")
        n = sum(map(len, points))
        cost = -np.array([gain for one in points for _, gain in one] + [0.0, 0.0])
        upper, right, equal, at = [], [], [], 0
        for one in points:
            mine = np.arange(at, at + len(one))
            at += len(one)
            row = np.zeros(n + 2)
            row[mine] = 1
            equal.append(row)
            for k in (0, 1):
                row = np.zeros(n + 2)
                row[mine] = [rates[k] for rates, _ in one]
                row[n + k] = -1
                upper += [row, -row]
                right += [0.03, 0.0]
        found = linprog(cost, A_ub=np.array(upper), b_ub=right, A_eq=np.array(equal), b_eq=np.ones(3), bounds=(0, 1))
        assert -found.fun == pytest.approx(model.objective_, abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(table=rows, constraint=st.sampled_from(CONSTRAINTS))
def test_the_frontier_is_best_at_every_gap(table, constraint):
    score, label, group = table[0].astype(float), table[1].astype(bool), table[2]
    try:
        model = GroupThresholds(constraint, tolerance=1.0).fit(score, label, group)
    except (DataError, SpecError):
        return
    points = by_hand(score, label, group, constraint, "accuracy")
    frontier = model.frontier((0.0, 0.05, 0.1, 0.2, 0.3, 0.5))
    assert all(one.gap > other.gap for one, other in itertools.pairwise(frontier))
    assert all(one.objective > other.objective for one, other in itertools.pairwise(frontier))
    for one in frontier:
        assert (round(one.objective, 9), -round(one.gap, 9)) == best_by_hand(points, one.gap)


def test_the_frontier_shows_the_best_at_every_usual_tolerance():
    score, group = np.tile(np.arange(200) / 200, 2), np.repeat(["a", "b"], 200)
    label = score >= np.where(group == "a", 0.2, 0.9)  # the closer the shares selected, the more are wrong
    model = GroupThresholds("demographic_parity", tolerance=1.0).fit(score, label, group)
    assert model.gap_ > 0.5
    frontier = model.frontier()
    for tolerance in (0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5):
        chosen = GroupThresholds("demographic_parity", tolerance=tolerance).fit(score, label, group)
        best = max(point.objective for point in frontier if point.gap <= tolerance + 1e-9)
        assert best == pytest.approx(chosen.objective_), tolerance


def test_a_gap_of_the_tolerance_but_for_rounding_makes_one_point_of_the_frontier():
    # Precisions .8 and .5: their difference is 0.30000000000000004 in floats.
    score, label = [0, 0, 0, 1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 1, 1, 1, 1]
    model = GroupThresholds("predictive_parity", tolerance=0.3).fit(score, label, list("aaaabbbbb"))
    assert model.gap_ == pytest.approx(0.3)
    assert len(model.frontier((0.3, 0.5))) == 1


def test_two_rates_agree_with_one_when_both_are_the_same():
    rng = np.random.default_rng(0)
    for _ in range(20):
        rates = [np.sort(np.append(rng.random(30).round(2), [0.0, 1.0])) for _ in range(3)]
        gains = [rng.integers(-20, 20, 32).astype(float) for _ in range(3)]
        for tolerance in (0.0, 0.05, 0.2):
            one, two = OneRate(rates, gains).best(tolerance), TwoRates([(r, r) for r in rates], gains).best(tolerance)
            assert one.gain == two.gain
            assert one.gap == pytest.approx(two.gap, abs=1e-8)


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.integers(-9, 9), min_size=1, max_size=70),
    windows=st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), min_size=1, max_size=20),
)
def test_window_maximum(values, windows):
    array = np.array(values, dtype=float)
    first, stop = (np.minimum(np.array(one), len(values)) for one in zip(*windows, strict=True))
    wanted = [max(values[i:j], default=-np.inf) for i, j in zip(first, stop, strict=True)]
    assert window_maximum(array, first, stop).tolist() == wanted


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(5)
    score, label, group = rng.integers(0, 8, 60).astype(float), rng.random(60) < 0.5, rng.integers(0, 3, 60)
    times = rng.integers(0, 4, 60)
    repeated = [np.repeat(one, times) for one in (score, label, group)]
    for constraint in CONSTRAINTS:
        weighted = GroupThresholds(constraint, tolerance=0.1).fit(score, label, group, sample_weight=times)
        plain = GroupThresholds(constraint, tolerance=0.1).fit(*repeated)
        assert weighted.objective_ == pytest.approx(plain.objective_)
        assert weighted.gap_ == pytest.approx(plain.gap_)
        for one in plain.groups_:  # a row of weight 0 can only add a threshold with the same decisions
            decisions = [model.predict(score, group)[(group == one) & (times > 0)] for model in (weighted, plain)]
            assert decisions[0].tolist() == decisions[1].tolist()
