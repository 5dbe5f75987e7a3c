"""The grown tree as the user gets it: leaves numbered, everything in the units of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.clustering.grow import Grown
from bdt_core.clustering.split import Layout
from bdt_core.clustering.tree import ClusterTree, Node, in_own_units
from bdt_core.table.encoding import Encoder, mean_and_std


def finish(
    grown: list[Grown],
    moments: Sequence[tuple[float, float]],
    better: str,
    encoder: Encoder,
    layout: Layout,
) -> ClusterTree:
    """Number the leaves by falling gap, and say everything in the units of the table.

    Parameters
    ----------
    grown : list of Grown
    moments : sequence of (float, float)
        Mean and standard deviation of the bias variable in each of them, in its own units.
    better : {"lower", "higher"}
    encoder : Encoder
    layout : Layout

    Returns
    -------
    ClusterTree
    """
    label_of = {node.id: label for label, node in enumerate(leaves(grown))}
    nodes = []
    rows, (mean_of_all, _) = grown[0].rows, moments[0]
    for node, (mean, std) in zip(grown, moments, strict=True):
        others = rows - node.rows
        gap = rows * (mean - mean_of_all) / others if others else 0.0
        prototype, missing = in_own_units(node.centre, encoder)
        nodes.append(
            Node(
                id=node.id,
                parent=node.parent,
                children=node.children,
                label=label_of.get(node.id),
                rows=node.rows,
                mean=mean,
                std=std,
                gap=(-gap if better == "higher" else gap) + 0.0,
                accepted=node.accepted,
                prototype=prototype,
                missing=missing,
                centre=node.centre,
                split=node.split,
            )
        )
    fields = tuple((column.name, flag) for column, flag in encoder.fields)
    names = tuple(column.name for column in encoder.categorical)
    return ClusterTree(tuple(nodes), layout.gamma, fields, names)


def leaves(grown: list[Grown]) -> list[Grown]:
    """The clusters in the order of their labels: by falling gap."""
    return sorted((node for node in grown if node.children is None), key=lambda one: (-one.gap, one.id))


def labels_of_rows(grown: list[Grown], order: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Label of each row; ``order`` has every node's rows in its range."""
    labels = np.empty(len(order), dtype=np.int64)
    for label, node in enumerate(leaves(grown)):
        labels[order[node.start : node.stop]] = label
    return labels


def moments_of_nodes(
    grown: list[Grown], order: npt.NDArray[Any], y: npt.NDArray[np.float64]
) -> list[tuple[float, float]]:
    """Mean and standard deviation of the bias variable in each node, which do not depend on the order of its rows."""
    ordered = y[order]
    return [mean_and_std(ordered[node.start : node.stop]) for node in grown]
