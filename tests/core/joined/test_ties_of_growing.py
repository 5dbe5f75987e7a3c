"""Leaves in which the bias variable varies equally: the lowest label is split next, whatever the order of rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.clustering import HBAC, ClusterTree

KINDS: dict[str, Any] = {"numbers": float, "categories": str}


def corners(kind: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Eight places apart by 100, 10 and 1; in each half of the people are wronged, so every leaf varies equally."""
    cells = np.array(list(itertools.product((0, 1), repeat=3)))
    rows = np.repeat(cells, 20, axis=0)
    if kind == "numbers":
        frame = pd.DataFrame(rows * [100.0, 10.0, 1.0], columns=["far", "near", "close"])
    else:  # as many equal columns as the distance weighs
        names = [f"{name}{i}" for name, times in (("far", 9), ("near", 4), ("close", 1)) for i in range(times)]
        frame = pd.DataFrame(np.repeat(rows, [9, 4, 1], axis=1), columns=names).astype(str)
    return frame, np.tile([0.0, 1.0], len(rows) // 2)


def grown(kind: str, max_iter: int, order: np.ndarray | None = None, **settings: Any) -> ClusterTree:
    frame, y = corners(kind)
    if order is not None:
        frame, y = frame.iloc[order].reset_index(drop=True), y[order]
    model = HBAC(max_iter=max_iter, min_cluster_size=15, scale=False, **settings).fit(frame, y)
    tree: ClusterTree = model.tree_
    assert {node.std for node in tree.nodes} == {0.5}
    return tree


def split(tree: ClusterTree) -> list[int]:
    """The nodes that were split, in the order of their splits."""
    return [node.parent for node in tree.nodes[1::2] if node.parent is not None]


@pytest.mark.parametrize("kind", KINDS)
def test_of_equal_leaves_the_lowest_label_is_split_next(kind: str) -> None:
    """The first child keeps its parent's label, so 0's line is split to its end before label 1 has its turn."""
    assert split(grown(kind, 1)) == [0]
    assert split(grown(kind, 2)) == [0, 1]
    assert split(grown(kind, 3)) == [0, 1, 3]  # and not 2, which has waited longer
    assert split(grown(kind, 7)) == [0, 1, 3, 2, 7, 4, 8]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_order_of_the_rows_decides_nothing(kind: str, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(160)
    tree, shuffled = grown(kind, 3), grown(kind, 3, order)
    assert split(shuffled) == split(tree)
    assert [node.prototype for node in shuffled.nodes] == [node.prototype for node in tree.nodes]


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_the_direction_of_the_bias_variable_decides_nothing(better: str) -> None:
    assert split(grown("numbers", 4, better=better)) == [0, 1, 3, 2]


def test_the_leaf_that_varies_more_goes_before_a_lower_label() -> None:
    frame, y = corners("numbers")
    first = grown("numbers", 1).nodes[1].prototype["far"]
    y = np.where((frame["far"] == first) & (frame["near"] == 0), 0.0, y)  # label 0's leaf now varies less
    model = HBAC(max_iter=2, min_cluster_size=15, scale=False).fit(frame, y)
    (attempted,) = (node for node in model.tree_.nodes[1:3] if node.accepted is not None)
    assert attempted.prototype["far"] != first
