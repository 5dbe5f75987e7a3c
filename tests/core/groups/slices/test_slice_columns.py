"""Columns become conditions: bins with readable edges, values, missing ones, and columns that cannot be used."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdt_core.groups.cells import interval_positions
from bdt_core.groups.slices.columns import fit_columns, quantile_edges
from bdt_core.table.blocks import OUTCOME, OneBlock
from bdt_core.table.cuts import roundest

N = 1000


def fit(values, *, bins=5, max_levels=50, min_rows=10):
    frame = pd.DataFrame({"x": values}).assign(**{OUTCOME: 0.0})
    fitted, excluded = fit_columns(
        OneBlock(frame), frame, ["x"], rows=len(frame), bins=bins, max_levels=max_levels, min_rows=min_rows
    )
    return (fitted[0], fitted[0].codes(frame)) if fitted else excluded[0].reason


def texts(column):
    return [one.words for one in column.sliced.conditions]


def test_numbers_are_cut_into_bins_of_about_equally_many_rows_at_readable_edges():
    age = np.random.default_rng(0).uniform(18, 80, N)
    column, codes = fit(age)
    assert len(column.cells.edges) == 4
    assert all(edge == int(edge) for edge in column.cells.edges)
    assert np.bincount(codes).min() > 150
    for condition, rows in zip(column.sliced.conditions, np.bincount(codes), strict=True):
        low = -np.inf if condition.low is None else condition.low
        high = np.inf if condition.high is None else condition.high
        assert ((age > low) & (age <= high)).sum() == rows


@given(
    st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=12, max_size=200),
    st.integers(2, 8),
)
def test_edges_are_strictly_inside_and_ascending(values, bins):
    ordered = np.sort(np.array(values))
    edges = quantile_edges(ordered, bins)
    assert list(edges) == sorted(set(edges))
    assert len(edges) < bins
    assert all(ordered[0] <= edge < ordered[-1] for edge in edges)
    positions = interval_positions(ordered, edges)
    np.testing.assert_array_equal(positions, np.searchsorted(edges, ordered, side="left"))


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_the_roundest_number_lies_between(a, b):
    low, high = min(a, b), max(a, b)
    assert low <= roundest(low, high) <= high


@pytest.mark.parametrize(
    ("low", "high", "wanted"), [(0.0, 0.0, 0.0), (-0.4, 0.3, 0.0), (97.3, 103.0, 100.0), (1.23e-7, 1.31e-7, 1.25e-7)]
)
def test_round_numbers(low, high, wanted):
    assert roundest(low, high) == pytest.approx(wanted, abs=1e-12, rel=1e-12)


def test_few_numbers_stay_values_and_missing_is_one_too():
    column, codes = fit([0.0, 1.0, 2.0, np.nan] * 250)
    assert texts(column) == ["x is 0", "x is 1", "x is 2", "x is missing"]
    assert codes[:4].tolist() == [0, 1, 2, 3]
    assert [one.kind for one in column.sliced.conditions] == ["values"] * 3 + ["missing"]


def test_missing_numbers_are_an_interval_of_their_own():
    x = np.random.default_rng(0).normal(size=N)
    x[:100] = np.nan
    column, codes = fit(x)
    assert texts(column)[-1] == "x is missing"
    assert set(codes[:100]) == {5}
    assert set(codes[100:]) == set(range(5))


def test_a_value_that_fills_several_quantiles_is_one_bin():
    x = np.r_[np.zeros(600), np.arange(1, 401) % 37]
    column, _ = fit(x)
    assert column.sliced.conditions[0].words == "x up to 0"
    assert len(column.sliced.conditions) < 5


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["a", "b"] * 500),
        pd.Series(["a", "b"] * 500, dtype="category"),
        pd.Series([True, False] * 500),
        pd.Series([True, False] * 500, dtype="boolean"),
        pd.Series([1, 2] * 500, dtype="Int64"),
        pd.Series([0.5, 1.5] * 500, dtype="float32"),
    ],
    ids=str,
)
def test_values_of_any_type(values):
    column, codes = fit(values)
    assert len(column.sliced.conditions) == 2
    assert len(set(codes[::2])) == len(set(codes[1::2])) == 1


def test_rare_levels_and_levels_unseen_in_training_are_other():
    column, _ = fit(["a"] * 500 + ["b"] * 495 + ["c"] * 5)
    assert texts(column) == ["x is a", "x is b"]
    assert column.sliced.other_rows == 5
    test = pd.DataFrame({"x": pd.Series(["b", "c", "new", None, "a"], dtype="category")})
    assert column.codes(test).tolist() == [1, 2, 2, 2, 0]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["same"] * N, "same value"),
        ([np.nan] * N, "same value"),
        ([f"id {i}" for i in range(N)], "1,000 different values"),
        (np.arange(N), "identifiers"),
        (np.arange(N)[::-1] + 1e6, "identifiers"),
        (pd.date_range("2026-01-01", periods=N), "dates"),
        ([[1], [2]] * 500, "cannot be compared"),
        (["a"] * 995 + ["b"] * 5, "at least 10"),
    ],
    ids=["constant", "missing", "identifier", "row number", "number from a million", "dates", "lists", "rare"],
)
def test_columns_that_cannot_be_used_say_why(values, reason):
    assert reason in fit(values)


def test_a_million_different_numbers_are_five_bins():
    x = np.random.default_rng(0).normal(size=1_000_000)
    column, codes = fit(x, min_rows=1000)
    np.testing.assert_allclose(np.bincount(codes) / x.size, 0.2, atol=0.021)
    assert all(len(f"{abs(edge):g}") <= 4 for edge in column.cells.edges)


def test_numbers_that_are_nearly_all_the_largest_are_cut_below_it():
    values = np.full(4_000, 100.0)
    values[:200] = np.arange(200) % 90
    column, _ = fit(values, min_rows=30)
    assert [one.words for one in column.sliced.conditions] == ["x up to 89", "x from 90"]
