"""Counts of all slices equal a plain group-by, whatever way they are counted."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.groups.slices import counting, kernels
from bdt_core.groups.slices.counting import count_slices, pack
from benchmarks.slices import LEVELS, coded_table


def group_by(codes, levels, payload, max_conditions, min_rows):
    """Rows and outcome totals per conjunction, by pandas; -1 marks codes of other levels."""
    frame = pd.DataFrame({i: code.astype(int) for i, code in enumerate(codes)})
    offsets = np.concatenate([[0], np.cumsum(levels)])
    found = {}
    for k in range(1, max_conditions + 1):
        for columns in combinations(range(len(levels)), k):
            for key, rows in frame.groupby(list(columns)).indices.items():
                key = key if isinstance(key, tuple) else (key,)
                if len(rows) < min_rows or any(one >= levels[c] for one, c in zip(key, columns, strict=True)):
                    continue
                values = payload[rows]
                found[tuple(int(offsets[c] + one) for one, c in zip(key, columns, strict=True))] = (
                    np.bincount(values, minlength=4)
                    if payload.dtype.kind == "u"
                    else np.r_[len(rows), values.sum(axis=0, dtype=np.int64)]
                )
    return found


def counted(codes, levels, payload, **how):
    result = count_slices(codes, levels, payload, **how)
    keys = [tuple(int(one) for one in row if one >= 0) for row in result.items]
    assert len(set(keys)) == len(keys)
    assert keys == sorted(keys, key=lambda key: (len(key), key))
    return dict(zip(keys, result.totals, strict=True))


def assert_equal(ours, plain):
    assert set(ours) == set(plain)
    for key, totals in plain.items():
        np.testing.assert_array_equal(np.pad(ours[key], (0, len(totals) - len(ours[key]))), totals)


def numbers(rng, n):
    """What is added up of each row: as large as it may be."""
    return rng.integers(-(2**30), 2**30, (n, 4), dtype=np.int32, endpoint=True)


@st.composite
def tables(draw):
    levels = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    n = draw(st.integers(1, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    with_others = draw(st.booleans())
    codes = np.stack([rng.integers(0, one + with_others, n) for one in levels]).astype(np.uint8)
    payload = rng.integers(0, draw(st.integers(1, 4)), n).astype(np.uint8) if draw(st.booleans()) else numbers(rng, n)
    return codes, levels, payload, draw(st.integers(1, 4)), draw(st.integers(1, 30))


@settings(max_examples=80, deadline=None)
@given(tables(), st.sampled_from([1, 40, 400, counting.FEWEST_CELLS]))
def test_counts_equal_a_group_by(table, fewest_cells):
    codes, levels, payload, max_conditions, min_rows = table
    with pytest.MonkeyPatch.context() as patch:
        # With few cells allowed, histograms are small or combinations are counted one by one.
        patch.setattr(counting, "FEWEST_CELLS", fewest_cells)
        ours = counted(codes, levels, payload, max_conditions=max_conditions, min_rows=min_rows)
    assert_equal(ours, group_by(codes, levels, payload, min(max_conditions, len(levels)), min_rows))


@pytest.mark.parametrize("rows", [4_000])
def test_counts_of_many_columns_equal_a_group_by(rows):
    codes, outcome = coded_table(rows)
    ours = counted(codes, LEVELS, outcome, max_conditions=3, min_rows=rows // 100)
    assert_equal(ours, group_by(codes, LEVELS, outcome, 3, rows // 100))


def test_columns_of_many_levels_are_counted_one_by_one():
    rng = np.random.default_rng(0)
    levels = [120, 90, 60, 2]
    codes = np.stack([np.minimum(rng.geometric(0.2, 6000), one) - 1 for one in levels]).astype(np.uint8)
    outcome = rng.integers(0, 4, 6000).astype(np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        seen = []
        plain = counting._Counter._one_by_one
        patch.setattr(
            counting._Counter, "_one_by_one", lambda self, wanted: (seen.extend(wanted), plain(self, wanted))[1]
        )
        ours = counted(codes, levels, outcome, max_conditions=3, min_rows=20)
    assert (0, 1, 2) in seen
    assert_equal(ours, group_by(codes, levels, outcome, 3, 20))


@pytest.mark.parametrize("kind", ["counts", "values"])
def test_neither_the_order_of_rows_nor_threads_matter(kind):
    codes, outcome = coded_table(60_000)
    payload = outcome if kind == "counts" else numbers(np.random.default_rng(0), 60_000)
    one = count_slices(codes, LEVELS, payload, max_conditions=2, min_rows=600)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "THREADED_ROWS", 1)
        many = count_slices(codes, LEVELS, payload, max_conditions=2, min_rows=600)
    np.testing.assert_array_equal(one.items, many.items)
    np.testing.assert_array_equal(one.totals, many.totals)
    order = np.random.default_rng(1).permutation(60_000)
    shuffled = count_slices(codes[:, order], LEVELS, payload[order], max_conditions=2, min_rows=600)
    np.testing.assert_array_equal(one.totals, shuffled.totals)


@given(st.lists(st.integers(1, 60), max_size=12), st.integers(1, 200))
def test_packed_groups_hold_every_column_once_within_the_limit(sizes, limit):
    groups = pack(sizes, limit)
    assert sorted(column for group in groups for column in group) == list(range(len(sizes)))
    for group in groups:
        assert len(group) == 1 or np.prod([sizes[column] for column in group]) <= limit


@pytest.mark.parametrize("code_type", [np.uint8, np.uint16])
@pytest.mark.parametrize("rows", [1, 2048, 5001])
def test_kernels_equal_their_numpy_twins(code_type, rows):
    rng = np.random.default_rng(rows)
    groups = rng.integers(0, 7, (4, rows)).astype(code_type)
    outcome = rng.integers(0, 4, rows).astype(np.uint8)
    chosen, strides = np.array([2, 0]), np.array([28, 4])
    cell = groups[2].astype(int) * 28 + groups[0].astype(int) * 4
    counts = np.zeros(196, np.int32)
    kernels.joint_counts(groups, chosen, strides, outcome, counts)
    np.testing.assert_array_equal(counts, np.bincount(cell + outcome, minlength=196))

    added = numbers(rng, rows)
    sums = np.zeros((49, 5), np.int64)
    kernels.joint_sums(groups, chosen, strides // 4, added, sums)
    twin = np.zeros((49, 5), np.int64)
    np.add.at(twin, cell // 4, np.column_stack([np.ones(rows, np.int64), added]))
    np.testing.assert_array_equal(sums, twin)

    inside = np.empty(rows, np.bool_)
    kernels.in_slice(groups.astype(np.uint8), np.array([1, 3]), np.array([2, 5]), inside)
    np.testing.assert_array_equal(inside, (groups[1] == 2) & (groups[3] == 5))
