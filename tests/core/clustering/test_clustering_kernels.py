"""Each compiled loop equals its NumPy twin to the bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bdt_core.clustering import row_kernels
from bdt_core.clustering.refine import MAX_PASSES, refine, refine_at_once
from bdt_core.clustering.split import Layout, Prototypes, Splits, WeightedBlock, assign, block_statistics, statistics
from bdt_core.clustering.starts import Sample, candidates, draw_sample
from bdt_core.table.encoding import Encoded


def random_table(generator, rows, fields, columns, dtype, code_dtype):
    """Numbers on a grid, as the encoder makes them, and codes of up to 6 levels."""
    numeric = (np.rint(generator.normal(size=(fields, rows)) * 2**20) / 2**20).astype(dtype)
    codes = generator.integers(0, 6, size=(columns, rows)).astype(code_dtype)
    return Encoded(np.ascontiguousarray(numeric), np.ascontiguousarray(codes))


def random_splits(generator, size, fields, columns, dtype, gamma):
    return Splits(
        generator.normal(size=(size, fields)).astype(dtype),
        (0.2 * generator.normal(size=size)).astype(dtype),
        generator.integers(0, 6, size=(size, columns)),
        generator.integers(0, 6, size=(size, columns)),
        gamma,
    )


def sides_twin(table, splits, which):
    score = np.zeros(table.rows, table.numeric.dtype)
    for column, weight in zip(table.numeric, splits.linear[which], strict=True):
        score = score + weight * column
    match = np.zeros(table.rows, np.int64)
    for code, a, b in zip(table.codes, splits.modes_a[which], splits.modes_b[which], strict=True):
        match += (code == b).astype(np.int64) - (code == a)
    if len(table.codes):
        score = score + table.numeric.dtype.type(splits.gamma) * match.astype(table.numeric.dtype)
    return score > splits.thresholds[which]


def statistics_twin(table, weights, start, stop, splits, which, offsets):
    side = sides_twin(table, splits, which)[start:stop]
    weight = (weights if len(weights) else np.ones(table.rows))[start:stop] * side
    counts = np.zeros(offsets[-1])
    for code, offset in zip(table.codes, offsets[:-1], strict=True):
        np.add.at(counts, offset + code[start:stop].astype(np.int64), weight)
    return weight.sum(), (table.numeric[:, start:stop].astype(np.float64) * weight).sum(axis=1), counts


SHAPES = [
    # rows, fields, columns, dtype, codes: numbers, categories, both; over and under one chunk; both widths
    (5000, 3, 0, "float32", "uint8"),
    (5000, 0, 4, "float32", "uint8"),
    (3000, 2, 3, "float32", "uint16"),
    (1024, 2, 2, "float64", "uint8"),
    (1, 1, 1, "float32", "uint8"),
]


@pytest.mark.parametrize(("rows", "fields", "columns", "dtype", "code_dtype"), SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_split_statistics(rows, fields, columns, dtype, code_dtype, weighted):
    generator = np.random.default_rng(rows + fields)
    table = random_table(generator, rows, fields, columns, dtype, code_dtype)
    splits = random_splits(generator, 3, fields, columns, dtype, 0.5)
    layout = Layout(fields, (7,) * columns, 0.5)
    weights = generator.integers(1, 9, rows).astype(np.float64) if weighted else np.empty(0)
    start, stop = rows // 7, rows - rows // 9
    result = block_statistics(WeightedBlock(table, start, stop, weights), splits, layout)
    for which in range(3):
        n, sums, counts = statistics_twin(table, weights, start, stop, splits, which, layout.offsets)
        assert result.rows[which] == n
        assert result.sums[which].tobytes() == sums.tobytes()
        assert result.counts[which].tobytes() == counts.tobytes()
    if rows > 1:
        assert 0 < result.rows[0] < max(weights.sum(), stop - start)  # the test tells the sides apart


@pytest.mark.parametrize(("rows", "fields", "columns", "dtype", "code_dtype"), SHAPES)
def test_assign(rows, fields, columns, dtype, code_dtype):
    generator = np.random.default_rng(rows)
    table = random_table(generator, rows, fields, columns, dtype, code_dtype)
    splits = random_splits(generator, 1, fields, columns, dtype, 0.3)
    for start in (0, rows // 3):
        sides = assign(table, start, rows, splits, block_rows=777)
        assert sides.tobytes() == sides_twin(table, splits, 0)[start:].tobytes()


def test_equally_near_rows_go_to_a():
    table = Encoded(np.array([[-1.0, 0.0, 1.0]], np.float32), np.empty((0, 3), np.uint8))
    nothing = np.empty((1, 0), np.int64)
    splits = Splits(np.ones((1, 1), np.float32), np.zeros(1, np.float32), nothing, nothing, 1.0)
    assert assign(table, 0, 3, splits).tolist() == [False, False, True]


def squared_norm_twin(point):
    total = 0.0
    for value in point.tolist():
        total += value * value
    return total


def refine_twin(table, weights, a, b, layout, tolerance):
    """One start, until it rests: (split, rows, sums and counts of side b, cost); None when a side is left empty.

    Prototypes are pairs of means and modes.
    """
    offsets, dtype = layout.offsets, table.numeric.dtype
    everything = Splits.all_to_b(layout, dtype)
    whole = statistics_twin(table, weights, 0, table.rows, everything, 0, offsets)

    def centre(rows, sums, counts):
        parts = [counts[low:high] for low, high in itertools.pairwise(offsets)]
        means, modes = sums / rows, np.array([part.argmax() for part in parts], np.int64)
        mismatches = sum(rows - part.max() for part in parts)
        return means, modes, layout.gamma * mismatches - rows * squared_norm_twin(means)

    cost = np.inf
    for done in range(1, MAX_PASSES + 1):
        linear = (2.0 * (b[0] - a[0])).astype(dtype)
        threshold = dtype.type(squared_norm_twin(b[0]) - squared_norm_twin(a[0]))
        split = Splits(linear[None], np.array([threshold]), a[1][None], b[1][None], layout.gamma)
        side_b = statistics_twin(table, weights, 0, table.rows, split, 0, offsets)
        if side_b[0] in (0, whole[0]):
            return None
        *new_a, cost_a = centre(*(all_ - b_ for all_, b_ in zip(whole, side_b, strict=True)))
        *new_b, cost_b = centre(*side_b)
        before, cost = cost, cost_a + cost_b
        shift = squared_norm_twin(new_a[0] - a[0]) + squared_norm_twin(new_b[0] - b[0])
        modes = (new_a[1] != a[1]).any() or (new_b[1] != b[1]).any()
        if cost >= before or not (modes or shift > tolerance) or done == MAX_PASSES:
            return split, *side_b, cost
        a, b = new_a, new_b
    raise AssertionError


@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
@pytest.mark.parametrize("copies", [1, 9])
@pytest.mark.parametrize(("rows", "fields", "columns", "dtype", "code_dtype"), SHAPES[:-1])
def test_refine(rows, fields, columns, dtype, code_dtype, copies, tolerance):
    generator = np.random.default_rng(rows + fields)
    table = random_table(generator, rows, fields, columns, dtype, code_dtype)
    weights = generator.integers(1, copies + 1, rows).astype(np.float64)
    layout = Layout(fields, (7,) * columns, 0.5)
    chosen = generator.integers(0, rows, (2, 5))
    chosen[1, 2] = chosen[0, 2]  # a start that separates nothing
    points = Prototypes(table.numeric.T.astype(np.float64), table.codes.T.astype(np.int64))
    a, b = points[chosen[0]], points[chosen[1]]
    sample = Sample(table, weights, complete=True)
    whole = sample.statistics(layout)
    expected = [
        refine_twin(table, weights, *((one.means[s], one.modes[s]) for one in (a, b)), layout, tolerance)
        for s in range(5)
    ]
    assert expected[2] is None
    wanted = sorted((one for one in expected if one is not None), key=lambda one: one[-1])
    wanted = [one for i, one in enumerate(wanted) if i == 0 or one[-1] > wanted[i - 1][-1]]
    before = a.means.tobytes(), a.modes.tobytes()
    found = refine_at_once(sample.block, a, b, whole, layout, tolerance)
    assert (a.means.tobytes(), a.modes.tobytes()) == before
    assert len(found) == len(wanted) >= 1
    for one, (split, n, sums, counts, cost) in zip(found, wanted, strict=True):
        assert (one.cost, one.side_b.rows[0]) == (cost, n)
        assert one.side_b.sums[0].tobytes() == sums.tobytes()
        assert one.side_b.counts[0].tobytes() == counts.tobytes()
        for name in ("linear", "thresholds", "modes_a", "modes_b"):
            assert getattr(one.split, name).tobytes() == getattr(split, name).tobytes()
    assert_same(found, refine_in_blocks([WeightedBlock(table, 0, rows, weights)], a, b, whole, layout, tolerance))


def refine_in_blocks(blocks, a, b, whole, layout, tolerance):
    dtype = blocks[0].table.numeric.dtype
    return refine(lambda splits: statistics(blocks, splits, layout), a, b, whole, layout, tolerance, dtype)


def test_refine_part_of_a_table_at_once():
    generator = np.random.default_rng(11)
    table = random_table(generator, 5000, 2, 2, "float32", "uint8")
    layout = Layout(2, (7, 7), 0.5)
    points = Prototypes(table.numeric.T.astype(np.float64), table.codes.T.astype(np.int64))
    a, b = points[[700, 900, 1200]], points[[800, 1000, 1300]]
    nothing = np.empty(0)
    part = [WeightedBlock(table, 700, 2100, nothing), WeightedBlock(table, 2100, 4321, nothing)]
    whole = statistics(part, Splits.all_to_b(layout, np.float32), layout)
    at_once = refine_at_once(WeightedBlock(table, 700, 4321, nothing), a, b, whole, layout, 1e-3)
    assert_same(at_once, refine_in_blocks(part, a, b, whole, layout, 1e-3))
    assert at_once
    assert whole.rows[0] == 4321 - 700


def test_a_smaller_sample_is_the_beginning_of_a_larger_one():
    generator = np.random.default_rng(12)
    table = random_table(generator, 20_000, 1, 1, "float32", "uint8")
    table = Encoded(np.rint(table.numeric * 4000) / 4000, table.codes)  # some rows have copies
    hashes = np.empty(20_000, np.uint64)
    row_kernels.hash_rows(table.numeric.view(np.uint32), table.codes, 0, 20_000, hashes)

    def drawn(stop, size):
        def below(limit):
            return candidates(table, 1000, stop, hashes, np.uint64(3), limit, size)

        return draw_sample(below, stop - 1000, size)

    larger, smaller = (drawn(20_000, size) for size in (4000, 500))
    first = larger.first(500)
    assert first.table.numeric.tobytes() == smaller.table.numeric.tobytes()
    assert first.table.codes.tobytes() == smaller.table.codes.tobytes()
    assert first.weights.tolist() == smaller.weights.tolist()
    assert max(smaller.weights) > 1
    assert (first.complete, len(first.weights)) == (smaller.complete, 500) == (False, 500)
    everything = drawn(1400, 4000)
    assert everything.first(500) is everything
    assert everything.complete


def assert_same(found, others):
    """Splits found on a sample in one compiled loop, and pass by pass over blocks."""
    assert len(found) == len(others)
    for one, other in zip(found, others, strict=True):
        assert one.cost == other.cost
        assert one.side_b.same(other.side_b).all()
        assert one.split.to_dict() == other.split.to_dict()


@pytest.mark.parametrize("columns", [1, 3])
def test_densest(columns):
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 4, (columns, 3000)).astype(np.uint8)
    hashes = generator.permutation(3000).astype(np.uint64)
    counts = generator.integers(1, 4, 5 * columns).astype(np.float64)  # with ties
    offsets = np.arange(columns) * 5
    density = sum(counts[offset + code] for offset, code in zip(offsets, codes, strict=True))
    other = codes[:, 7].astype(np.int64)
    written = np.empty(3000)
    for first, score in ((other[:0], density), (other, density * (codes != other[:, None]).sum(axis=0))):
        wanted = min(range(500, 2900), key=lambda row, score=score: (-score[row], hashes[row]))
        found = row_kernels.densest(codes, 500, 2900, counts, offsets, first, hashes, written)
        assert found == (score[wanted], wanted)
        assert (score[500:2900] == score[wanted]).sum() > 1
        assert written[500:2900].tobytes() == density[500:2900].tobytes()


def mixed_twin(value):
    value = value.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hash_rows(dtype):
    table = random_table(np.random.default_rng(0), 500, 2, 2, dtype, "uint8")
    bits = table.numeric.view(np.uint32 if dtype == "float32" else np.uint64)
    expected = np.zeros(500, np.uint64)
    for column in (*bits, *table.codes):
        expected = mixed_twin(expected + column.astype(np.uint64))
    hashes = np.zeros(500, np.uint64)
    row_kernels.hash_rows(bits, table.codes, 0, 200, hashes)
    row_kernels.hash_rows(bits, table.codes, 200, 500, hashes)
    assert hashes.tobytes() == expected.tobytes()
    assert len(np.unique(hashes)) == 500


def test_rows_below():
    hashes = np.random.default_rng(0).integers(0, 2**64, 1000, dtype=np.uint64)
    key, limit = np.uint64(12345), np.uint64(2**62)
    where, values = row_kernels.rows_below(hashes, key, limit)
    seeded = mixed_twin(hashes ^ key)
    assert where.tolist() == np.flatnonzero(seeded <= limit).tolist()
    assert values.tolist() == seeded[seeded <= limit].tolist()
    assert 200 < len(where) < 300
    everything, _ = row_kernels.rows_below(hashes, key, np.uint64(2**64 - 1))
    assert len(everything) == 1000


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_partition(dtype, share):
    generator = np.random.default_rng(1)
    column = generator.integers(0, 200, 999).astype(dtype)
    sides = generator.random(999) < share
    expected = np.concatenate([column[~sides], column[sides]])
    row_kernels.partition(column, sides)
    assert column.tobytes() == expected.tobytes()


def test_moments_at_the_ends_of_the_range():
    values = np.random.default_rng(2).integers(-(2**31) + 1, 2**31 - 1, 10_000).astype(np.int32)
    values[:3000] = 2**31 - 1
    for chosen in (np.ones(10_000, bool), np.arange(10_000) % 3 > 0):
        rows, total, high, low = row_kernels.moments(values, chosen)
        exact = [int(value) for value in values[chosen]]
        assert (int(rows), int(total)) == (len(exact), sum(exact))
        assert (int(high) << 31) + int(low) == sum(value * value for value in exact)
