"""The grown tree as the user gets it: leaves numbered, everything in the units of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.clustering.grow import Grown
from bdt_core.clustering.split import Layout
from bdt_core.clustering.tree import ClusterTree, Node, in_own_units
from bdt_core.table.encoding import Encoder, mean_and_std


def finish(
    grown: list[Grown],
    order: npt.NDArray[Any],
    y: npt.NDArray[np.float64],
    better: str,
    encoder: Encoder,
    layout: Layout,
) -> tuple[ClusterTree, npt.NDArray[np.int64]]:
    """Number the leaves by falling gap, and say everything in the units of the table."""
    leaves = sorted((node for node in grown if node.children is None), key=lambda one: (-one.gap, one.id))
    label_of = {node.id: label for label, node in enumerate(leaves)}
    labels = np.empty(len(y), dtype=np.int64)
    nodes = []
    ordered = y[order]  # in which every node's rows are a range, and moments do not depend on the order
    mean_of_all, _ = mean_and_std(ordered)
    for node in grown:
        mean, std = mean_and_std(ordered[node.start : node.stop])
        others = len(y) - node.rows
        gap = len(y) * (mean - mean_of_all) / others if others else 0.0
        label = label_of.get(node.id)
        if label is not None:
            labels[order[node.start : node.stop]] = label
        prototype, missing = in_own_units(node.centre, encoder)
        nodes.append(
            Node(
                id=node.id,
                parent=node.parent,
                children=node.children,
                label=label,
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
    return ClusterTree(tuple(nodes), layout.gamma, fields, names), labels
