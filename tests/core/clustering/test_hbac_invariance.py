"""What must not change the clusters: order of rows and columns, names of levels, units of y, blocks, threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.clustering import HBAC
from bdt_core.clustering.grow import grow
from bdt_core.clustering.outcome import WholeMoments, whole_numbers
from bdt_core.clustering.rows import (
    BlockRows,
    NodeRows,
    RowsInMemory,
    content_hashes,
    row_numbers,
    varying_columns,
)
from bdt_core.clustering.split import Layout
from bdt_core.clustering.splitter import CompiledSplitter
from bdt_core.clustering.starts import SAMPLE_ROWS, draw_sample
from bdt_core.table.encoding import Encoder

seeds = st.integers(0, 10_000)
few = settings(max_examples=15, deadline=None)


def mixed(seed: int, rows: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": generator.normal(size=rows),
            "b": np.exp(generator.normal(size=rows)),
            "c": generator.choice(list("pqrst"), rows, p=[0.35, 0.25, 0.2, 0.15, 0.05]),
            "d": generator.integers(0, 3, rows),
            "e": generator.choice(["yes", "no", "maybe"], rows, p=[0.6, 0.3, 0.1]),
        }
    )
    frame.loc[generator.random(rows) < 0.05, "a"] = np.nan
    frame = frame.iloc[generator.integers(0, rows, rows)].reset_index(drop=True)  # with copies of rows
    y = (generator.random(rows) < 0.2 + 0.4 * (frame["c"] == "q")).to_numpy().astype(float)
    return frame, y


def labels(frame, y, **settings):
    return HBAC(min_cluster_size=0.03, n_init=4, **settings).fit(frame, y).labels_


METHODS = ["auto", "kmodes", "kmeans"]


def columns_for(frame, method):
    return frame[["a", "b", "d"]] if method == "kmeans" else frame[["c", "d", "e"]] if method == "kmodes" else frame


@pytest.mark.parametrize("method", METHODS)
@few
@given(seed=seeds)
def test_order_of_rows(method, seed):
    frame, y = mixed(seed)
    frame = columns_for(frame, method)
    order = np.random.default_rng(seed + 1).permutation(len(y))
    before = labels(frame, y, method=method)
    assert labels(frame.iloc[order], y[order], method=method).tobytes() == before[order].tobytes()


@pytest.mark.parametrize("method", METHODS)
@few
@given(seed=seeds)
def test_order_of_columns(method, seed):
    frame, y = mixed(seed)
    frame = columns_for(frame, method)
    order = np.random.default_rng(seed).permutation(frame.columns)
    assert labels(frame[order], y, method=method).tobytes() == labels(frame, y, method=method).tobytes()


@few
@given(seed=seeds)
def test_names_of_levels(seed):
    frame, y = mixed(seed)
    counts = [frame[name].value_counts() for name in ("c", "e")]
    if any(one.duplicated().any() for one in counts):
        return  # equally frequent levels are ordered by name
    renamed = frame.replace({"c": dict(zip("pqrst", "ZAYBX", strict=True)), "e": {"yes": "z", "no": "y", "maybe": "x"}})
    assert labels(renamed, y).tobytes() == labels(frame, y).tobytes()


@few
@given(seed=seeds, factor=st.floats(1e-9, 1e9), shift=st.floats(-10, 10), kind=st.sampled_from(["binary", "normal"]))
def test_unit_and_zero_of_y(seed, factor, shift, kind):
    frame, y = mixed(seed)
    if kind == "normal":
        y = y + np.random.default_rng(seed).normal(size=len(y))
    before = labels(frame, y)
    assert labels(frame, (y + shift) * factor).tobytes() == before.tobytes()
    assert labels(frame, -(y + shift) * factor, better="higher").tobytes() == before.tobytes()


def large(kind: str, rows: int = 30_000):
    """Over the size of the sample, so that full passes over blocks are made."""
    generator = np.random.default_rng(11)
    numbers = pd.DataFrame(generator.normal(size=(rows, 3)), columns=list("abc"))
    texts = pd.DataFrame(generator.integers(0, 9, (rows, 6)).astype("U1"), columns=list("uvwxyz"))
    frame = {"numeric": numbers, "categorical": texts, "mixed": numbers.join(texts)}[kind]
    y = generator.normal(size=rows) + (numbers["a"] > 1) + (texts["u"] == "1")
    return frame, y.to_numpy()


def tree_bytes(frame, y, *, map_blocks=map, block_rows=1 << 16, dtype="float32"):
    encoder, table = Encoder.fit_transform(frame, dtype=dtype)
    block = BlockRows(
        table,
        whole_numbers(y, "lower"),
        y,
        row_numbers(len(y)),
        content_hashes(table, varying_columns(table), map_blocks),
        Layout.of(encoder),
        map_blocks,
        block_rows,
    )
    splitter = CompiledSplitter(RowsInMemory(block), n_init=3, seed=0)
    nodes = grow(splitter, max_iter=6, min_rows=300, margin=0.0)
    parts = [repr(splitter.moments_of_nodes(nodes)).encode(), block.order.tobytes()]
    for node in nodes:
        parts += [node.centre.means.tobytes(), node.centre.modes.tobytes(), repr(node.moments).encode()]
        if node.split:
            parts += [node.split.linear.tobytes(), node.split.thresholds.tobytes()]
    assert len(nodes) > 3
    return b"".join(parts)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["numeric", "categorical", "mixed"])
def test_blocks_and_threads(kind, dtype):
    frame, y = large(kind)
    once = tree_bytes(frame, y, dtype=dtype)
    assert tree_bytes(frame, y, block_rows=4097, dtype=dtype) == once
    with ThreadPoolExecutor(3) as pool:
        assert tree_bytes(frame, y, map_blocks=pool.map, block_rows=1000, dtype=dtype) == once

    def backwards(function, blocks):
        return [function(block) for block in list(blocks)[::-1]]

    assert tree_bytes(frame, y, map_blocks=backwards, block_rows=5000, dtype=dtype) == once


@pytest.mark.parametrize("kind", ["numeric", "categorical", "mixed"])
def test_order_of_many_rows(kind):
    frame, y = large(kind)
    order = np.random.default_rng(0).permutation(len(y))
    model, other = HBAC().fit(frame, y), HBAC().fit(frame.iloc[order], y[order])
    assert other.labels_.tobytes() == model.labels_[order].tobytes()
    assert other.to_dict() == model.to_dict()
    assert model.predict(frame).tobytes() == model.labels_.tobytes()


def test_a_node_is_split_the_same_whatever_else_is_split():
    frame, y = large("numeric")
    short = HBAC(max_iter=2).fit(frame, y).tree_.nodes
    long = HBAC(max_iter=12).fit(frame, y).tree_.nodes
    for node in short:
        if node.split:
            assert node.split.to_dict() == long[node.id].split.to_dict()


def sample_of(node):
    key = np.uint64(5)
    return draw_sample(lambda limit: node.candidates(key, limit, SAMPLE_ROWS), node.rows)


def test_copies_of_a_row_do_not_crowd_the_others_out_of_the_sample():
    rows = 200_000
    values = np.zeros(rows)
    values[: 3 * SAMPLE_ROWS] = np.arange(3 * SAMPLE_ROWS)
    encoder = Encoder.fit(values[:, None])
    table, y = encoder.transform(values[:, None]), np.zeros(rows)
    hashes = content_hashes(table, varying_columns(table))
    block = BlockRows(table, y.astype(np.int32), y, row_numbers(rows), hashes, Layout.of(encoder))
    sample = sample_of(NodeRows(RowsInMemory(block), (), 1, rows))
    assert len(np.unique(sample.table.numeric)) == len(sample.weights) == SAMPLE_ROWS
    assert not sample.complete
    block.ranges[1] = 3 * SAMPLE_ROWS - 100, rows
    distinct = sample_of(NodeRows(RowsInMemory(block), (), 1, rows - 3 * SAMPLE_ROWS + 100))
    assert distinct.complete
    assert distinct.weights.sum() == rows - 3 * SAMPLE_ROWS + 100
    assert distinct.weights.max() == rows - 3 * SAMPLE_ROWS


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50))
@few
def test_moments_of_y_are_those_of_y(values):
    y = np.array(values)
    whole = whole_numbers(y, "lower")
    assert np.abs(whole.astype(np.int64)).max() < 2**31
    assert WholeMoments.of(whole) == WholeMoments.of(whole[::-1].copy())
    if np.ptp(y) > 1e-6 * np.abs(y).max():
        y = y / np.abs(y).max()  # squares of the smallest numbers would vanish
        unit = np.abs(y - y.mean()).max() / (2**31 - 1)
        np.testing.assert_allclose(WholeMoments.of(whole).std * unit, y.std(), rtol=1e-5)
