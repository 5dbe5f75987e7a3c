"""Summaries of groups: any division into blocks gives the same, and comparing them equals comparing the rows."""

import math
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bdt_core.errors import DataError, SpecError
from bdt_core.inference import compare_samples, compare_summaries, drawing_needs_rows, permutation
from bdt_core.inference.permutation import MOST_VALUES, permutation_test_of_counts
from bdt_core.inference.summaries import Centring, Moments, Scale, ValueCounts, look, summarise


def cut(values, groups, seed, blocks=4):
    """The rows in another order, in blocks of which some may be empty."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(values))
    for rows in np.split(order, np.sort(rng.integers(0, len(order) + 1, blocks - 1))):
        yield values[rows], groups[rows]


def scale_of(values):
    seen = look(values)
    centring = Centring.of(seen)
    return centring.scale(centring.count(values))


def summaries(values, groups, n_groups=2, seed=0):
    """All three looks, in blocks."""
    blocks = list(cut(values, groups, seed))
    seen = reduce(add, [look(one) for one, _ in blocks])
    how = seen.values
    if how is None:
        centring = Centring.of(seen)
        how = centring.scale(sum(centring.count(one) for one, _ in blocks))
    parts = [summarise(one, theirs, n_groups, how) for one, theirs in blocks]
    return [reduce(add, [part[i] for part in parts]) for i in range(n_groups)]


def exact_moments(values):
    """Mean, variance (ddof 1) and third moment sum without any rounding but the last."""
    numbers = [Fraction(float(one)) for one in values]
    mean = sum(numbers) / len(numbers)
    squares, cubes = (sum((one - mean) ** k for one in numbers) for k in (2, 3))
    return float(mean), float(squares / (len(numbers) - 1)), float(cubes)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40), st.integers(0, 1000))
@settings(max_examples=40)
def test_moments_of_any_blocks_are_the_same(values, seed):
    values = np.array(values)
    groups = np.random.default_rng(seed).integers(0, 3, len(values))
    if values.min() == values.max():
        values[0] += 1.0 + abs(values[0])
    scale = scale_of(values)
    assert all(scale_of(one) == scale for one in (values[::-1], np.roll(values, 3)))
    whole = summarise(values, groups, 3, scale)
    parts = [summarise(one, theirs, 3, scale) for one, theirs in cut(values, groups, seed)]
    assert [reduce(add, [part[i] for part in parts]) for i in range(3)] == whole
    for group, one in enumerate(whole):
        inside = values[groups == group]
        assert one.rows == len(inside)
        if len(inside):
            assert (one.span.low, one.span.high) == (inside.min(), inside.max())
            wanted = float(sum(map(Fraction, inside.tolist())) / len(inside))
            assert one.mean == pytest.approx(wanted, rel=1e-12, abs=1e-15 * np.abs(values).max())


@pytest.mark.parametrize(
    ("kind", "values"),
    {
        "normal": lambda rng: rng.normal(3, 2, 500),
        "far from zero": lambda rng: rng.normal(1e9, 1, 500),
        "heavy tails": lambda rng: rng.lognormal(0, 4, 500),
        "huge": lambda rng: rng.normal(0, 1e300, 500),
        "tiny": lambda rng: rng.normal(0, 1e-300, 500),
        "whole numbers": lambda rng: rng.integers(0, 10**6, 500).astype(float),
    }.items(),
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_moments_are_those_of_exact_arithmetic(kind, values):
    values = values(np.random.default_rng(5))
    groups = (np.arange(500) < 120).astype(np.int64)
    scale = scale_of(values)
    for group, one in enumerate(summarise(values, groups, 2, scale)):
        inside = values[groups == group] if kind != "huge" else values[groups == group] / 1e300
        unit = math.ldexp(1.0, scale.unit) if kind != "huge" else math.ldexp(1.0, scale.unit) / 1e300
        if kind == "tiny":
            inside, unit = inside * 1e300, unit * 1e300
        mean, variance, _ = exact_moments(inside)
        above, spread = one.mean_and_variance()
        centre = math.ldexp(scale.centre, -scale.reach)
        assert (centre + above) * unit == pytest.approx(mean, rel=1e-12, abs=1e-15 * np.abs(inside).max())
        assert spread * unit**2 == pytest.approx(variance, rel=1e-11)
        third = one.powers_around_mean()[1] * unit**3
        wanted = exact_moments(inside)[2]
        assert third == pytest.approx(wanted, rel=1e-9, abs=1e-9 * variance**1.5 * len(inside))


def test_up_to_2000_values_are_counted_and_more_are_not():
    few = np.arange(MOST_VALUES) + 0.0
    assert look(np.tile(few, 20)).values.tolist() == few.tolist()
    assert look(np.arange(MOST_VALUES + 1) + 0.0).values is None
    late = np.concatenate([np.zeros(30_000), np.arange(3_000)])
    assert look(late).values is None
    assert (look(few[:1500]) + look(few[1000:])).values.size == MOST_VALUES
    assert (look(few) + look(np.array([-1.0]))).values is None
    assert look(np.array([-0.0, 0.0])).values.tobytes() == np.zeros(1).tobytes()
    assert look(np.empty(0)).values.size == 0
    counted = summarise(np.array([-0.0, 0.0, 1.0]), np.array([0, 0, 1]), 2, np.array([0.0, 1.0]))
    assert [one.counts.tolist() for one in counted] == [[2, 0], [0, 1]]
    assert [one.rows for one in summarise(np.empty(0), np.empty(0, dtype=np.int64), 2, np.empty(0))] == [0, 0]


KINDS = {
    "two values": lambda rng, n: (rng.random(n) < 0.3).astype(float),
    "two other values": lambda rng, n: np.where(rng.random(n) < 0.3, -2.0, 7.5),
    "one value": lambda rng, n: np.full(n, 3.0),
    "zeros": lambda rng, n: np.zeros(n),
    "counts": lambda rng, n: rng.poisson(1.3, n).astype(float),
    "rounded": lambda rng, n: rng.lognormal(1, 1, n).round(1),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("test", ["auto", "exact", "welch", "permutation"])
@pytest.mark.parametrize("rows", [(60, 900), (700, 400), (12, 500), (3, 50), (0, 40)])
def test_counts_compare_like_rows(kind, test, rows):
    rng = np.random.default_rng(8)
    values, groups = KINDS[kind](rng, sum(rows)), np.repeat([0, 1], rows)
    a, b = summaries(values, groups)
    options = {"test": test, "min_rows": 5, "random_state": 4}
    sides = values[groups == 0], values[groups == 1]
    if test == "exact" and kind in ("counts", "rounded"):
        with pytest.raises(DataError, match="two values"):
            compare_summaries(a, b, **options)
        return
    same(compare_summaries(a, b, **options), compare_samples(*sides, **options))
    assert not drawing_needs_rows(a, b, test)


def same(one, other, rel=1e-12):
    """Equal but for rounding."""
    one, other = one.to_dict(), other.to_dict()
    for name, value in one.items():
        if isinstance(value, float) and other[name] is not None:
            scale = abs(other["mean_a"] or 0.0) if name in ("low", "high", "difference") else 0.0
            assert value == pytest.approx(other[name], rel=rel, abs=max(rel * scale, 1e-300)), name
        else:
            assert value == other[name], name


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("rows", [(900, 4000), (3000, 3000), (40, 4000)])
def test_moments_compare_like_rows_and_like_scipy(rows, offset):
    rng = np.random.default_rng(2)
    values, groups = rng.normal(offset, 3, sum(rows)), np.repeat([0, 1], rows)
    a, b = summaries(values, groups)
    assert isinstance(a, Moments)
    found = compare_summaries(a, b)
    sides = values[groups == 0], values[groups == 1]
    same(found, compare_samples(*sides, test="welch"), rel=1e-7 if offset else 1e-12)
    welch, pooled = stats.ttest_ind(*sides, equal_var=False), stats.ttest_ind(*sides)
    assert (found.welch_t, found.welch_t_p_value) == pytest.approx(tuple(welch), rel=1e-7 if offset else 1e-9)
    assert (found.pooled_t, found.pooled_t_p_value) == pytest.approx(tuple(pooled), rel=1e-7 if offset else 1e-9)
    interval = welch.confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-7)


def test_what_moments_cannot_tell():
    rng = np.random.default_rng(3)
    values, groups = rng.lognormal(0, 2, 5000), np.repeat([0, 1], [200, 4800])
    a, b = summaries(values, groups)
    assert compare_samples(values[:200], values[200:]).test == "studentised permutation"
    assert compare_summaries(a, b).test == "Welch's t"
    assert drawing_needs_rows(a, b)
    assert not drawing_needs_rows(a, b, "welch")
    assert (
        compare_summaries(a, b, min_rows=201).reason == compare_samples(values[:200], values[200:], min_rows=201).reason
    )
    normal = summaries(rng.normal(size=5000), groups)
    assert not drawing_needs_rows(*normal)
    assert drawing_needs_rows(*normal, "permutation")
    with pytest.raises(DataError, match="two values"):
        compare_summaries(a, b, test="exact")
    with pytest.raises(SpecError, match="Unknown test"):
        compare_summaries(a, b, test="t")
    with pytest.raises(TypeError):
        compare_summaries(a, ValueCounts(np.array([1.0]), np.array([3])))


def test_groups_of_one_value_among_many():
    scale = Scale(0, 0.25, 0)
    values = np.concatenate([np.full(50, 0.75), np.full(60, 0.75), np.linspace(0, 1, 70)])
    one, other, third = summarise(values, np.repeat([0, 1, 2], [50, 60, 70]), 3, scale)
    assert one.mean_and_variance() == (0.5, 0.0)
    assert one.mean == 0.75
    assert compare_summaries(one, other).reason == compare_samples(values[:50], values[50:110], test="welch").reason
    same(compare_summaries(one, third), compare_samples(values[:50], values[110:], test="welch"))
    assert compare_summaries(one, third.without_rows()).n_b == 0


def test_rows_drawn_from_counts_are_those_drawn_from_rows(monkeypatch):
    rng = np.random.default_rng(6)
    values = np.sort(rng.lognormal(size=900))
    in_a, in_b = rng.integers(0, 2, 900), rng.integers(1, 4, 900)
    at_hand = permutation_test_of_counts(values, in_a, in_b)
    monkeypatch.setattr(permutation, "_ROWS_AT_HAND", 1_100)
    assert permutation_test_of_counts(values, in_a, in_b) == at_hand


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64])
@pytest.mark.parametrize("n_groups", [1, 2, 16, 17, 100])
@pytest.mark.parametrize("n_values", [1, 2, 3, 900])
def test_values_are_counted_in_few_cells_as_in_many(n_values: int, n_groups: int, dtype: Any) -> None:
    rng = np.random.default_rng([n_values, n_groups])
    distinct = np.arange(n_values) - 0.5
    values, groups = rng.choice(distinct, 5000), rng.integers(0, n_groups, 5000).astype(dtype)
    for group, summary in enumerate(summarise(values, groups, n_groups, distinct)):
        expected = [np.count_nonzero((groups == group) & (values == one)) for one in distinct]
        assert isinstance(summary, ValueCounts)
        assert summary.counts.tolist() == expected
