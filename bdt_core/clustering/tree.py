"""The tree of clusters: what was split, into what, and how to say it in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.clustering.grow import Grown
from bdt_core.clustering.split import Layout, Prototypes, Splits, assign
from bdt_core.metrics import harm_sign
from bdt_core.said import Column, Level, Numeral, joined, say
from bdt_core.table.encoding import Encoded, Encoder

_GATHERED = 16
"""Rows fewer than one in so many are brought together before they are placed; of more, it is quicker to place all."""

NAMED_FEATURES = 3
"""A step of a path names at most so many features ..."""

NAMED_SHARE = 0.05
"""... and none that makes up less than this share of the distance between the two sides."""


@dataclass(frozen=True)
class Node:
    """One group of training rows.

    Attributes
    ----------
    id : int
        0 for the root; children come after their parent.
    parent : int or None
    children : (int, int) or None
        Side a and side b of the split.
    label : int or None
        Label of the cluster when the node is a leaf.
    rows : int
    mean, std : float
        Of the bias variable, in its own units and direction (ddof 0).
    gap : float
        Mean of the bias variable in the node minus its mean in all other training rows, turned so that
        positive is worse; 0 for the root.
    accepted : bool or None
        Whether a split of the node was kept; None when none was tried.
    prototype : dict
        Mean of each number among the rows that have it, in its own units (None when none has), and most
        frequent level of each category (None when that is "missing").
    missing : dict
        Share of rows without a value, for numbers with missing values.
    centre : Prototypes
        The same in encoded units.
    split : Splits or None
        The rule that sends rows to the children.
    """

    id: int
    parent: int | None
    children: tuple[int, int] | None
    label: int | None
    rows: int
    mean: float
    std: float
    gap: float
    accepted: bool | None
    prototype: dict[str, float | str | None]
    missing: dict[str, float]
    centre: Prototypes
    split: Splits | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able data."""
        return {
            "id": self.id,
            "parent": self.parent,
            "children": list(self.children) if self.children else None,
            "label": self.label,
            "rows": self.rows,
            "mean": self.mean,
            "std": self.std,
            "gap": self.gap,
            "accepted": self.accepted,
            "prototype": self.prototype,
            "missing": self.missing,
            "centre": {"means": self.centre.means[0].tolist(), "modes": self.centre.modes[0].tolist()},
            "split": self.split.to_dict() if self.split else None,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], dtype: Any) -> Node:
        """Read what `to_dict` wrote."""
        centre = Prototypes(
            np.array([data["centre"]["means"]], dtype=np.float64),
            np.array([data["centre"]["modes"]], dtype=np.int64),
        )
        plain = {key: value for key, value in data.items() if key not in ("centre", "split", "children")}
        return cls(
            **plain,
            children=tuple(data["children"]) if data["children"] else None,
            centre=centre,
            split=Splits.from_dict(data["split"], dtype) if data["split"] else None,
        )


@dataclass(frozen=True)
class ClusterTree:
    """The hierarchy that the clustering made.

    Attributes
    ----------
    nodes : tuple of Node
        In the order of their ids.
    gamma : float
        Weight of a categorical mismatch.
    numeric : tuple of (str, bool)
        Of each encoded number its column, and whether it is the flag of missing values.
    categorical : tuple of str
        The columns of the codes.
    """

    nodes: tuple[Node, ...]
    gamma: float
    numeric: tuple[tuple[str, bool], ...]
    categorical: tuple[str, ...]

    def leaf(self, label: int) -> Node:
        """The leaf of a cluster."""
        for node in self.nodes:
            if node.label == label:
                return node
        raise KeyError(f"There is no cluster {label}; there are {self.n_leaves}, numbered from 0.")

    @property
    def n_leaves(self) -> int:
        """Number of clusters."""
        return sum(node.label is not None for node in self.nodes)

    @property
    def leaves_of_nodes(self) -> npt.NDArray[np.int64]:
        """Which leaves each node but the root has under it: 1 or 0, shape (leaves, nodes). A root alone has itself."""
        under = np.zeros((self.n_leaves, len(self.nodes)), dtype=np.int64)
        for node in self.nodes:
            above: int | None = node.id
            while node.label is not None and above is not None:
                under[node.label, above] = 1
                above = self.nodes[above].parent
        return under[:, 1:] if len(self.nodes) > 1 else under

    def path(self, label: int) -> list[str]:
        """What separates a cluster from the rest, one step per split from the root down.

        Each step names the features that make up most of the distance between the branch that the cluster is
        in and the other branch.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from bdt_core.clustering import HBAC
        >>> frame = pd.DataFrame({"age": [20, 21, 22, 60, 61, 62], "sex": list("fmffmf")})
        >>> model = HBAC(min_cluster_size=2, max_iter=1).fit(frame, np.array([1, 1, 0, 0, 0, 0]))
        >>> model.tree_.path(0)
        ['age lower: mean 21 against 61']
        """
        steps = []
        node = self.leaf(label)
        while node.parent is not None:
            steps.append(self.step(node))
            node = self.nodes[node.parent]
        return steps[::-1]

    def step(self, node: Node) -> str:
        """What separates a node from its sibling, in words; empty for the root."""
        if node.parent is None:
            return ""
        first, second = self.nodes[node.parent].children or (node.id, node.id)
        return self._step(node, self.nodes[second if node.id == first else first])

    def route(self, table: Encoded) -> npt.NDArray[np.intp]:
        """Label of each row: down the tree, to the nearer of two siblings at each node."""
        at = np.zeros(table.rows, dtype=np.intp)
        for node in self.nodes:
            if node.children is None or node.split is None:
                continue
            here = np.flatnonzero(at == node.id)
            if _GATHERED * len(here) < table.rows:
                sides = assign(table.take(here), 0, len(here), node.split)
            else:
                sides = assign(table, 0, table.rows, node.split)[here]
            at[here] = np.where(sides, node.children[1], node.children[0])
        labels = np.array([-1 if node.label is None else node.label for node in self.nodes], dtype=np.intp)
        return labels[at]

    def nearest(self, table: Encoded) -> npt.NDArray[np.intp]:
        """Label of each row: the leaf with the nearest centre, the lower label when two are equally near."""
        best = np.full(table.rows, np.inf)
        labels = np.zeros(table.rows, dtype=np.intp)
        for label in range(self.n_leaves):
            distance = self.squared_distance(table, label)
            closer = distance < best
            labels[closer] = label
            best[closer] = distance[closer]
        return labels

    def squared_distance(self, table: Encoded, label: int) -> npt.NDArray[np.float64]:
        """How far each row is from a cluster's centre: squares of numbers' differences, `gamma` for each category."""
        centre = self.leaf(label).centre
        distance = np.zeros(table.rows)
        for column, mean in zip(table.numeric, centre.means[0], strict=True):
            distance += (column.astype(np.float64) - mean) ** 2
        for code, mode in zip(table.codes, centre.modes[0], strict=True):
            distance += self.gamma * (code != mode)
        return distance

    def export_text(self) -> str:
        """The splits as text, a line per group, the worse side first; see `HBAC.export_text`."""
        lines, pending = [], [(self.nodes[0], 0)]
        while pending:
            node, depth = pending.pop()
            words = self.step(node) or "everybody"
            facts = [f"{node.rows:,} rows", f"mean {number_in_words(node.mean)}"]
            facts += [f"gap {number_in_words(node.gap)}"] if node.parent is not None else []
            leaf = "" if node.label is None else f" -> cluster {node.label}"
            lines.append(f"{'|   ' * depth}|--- {words} ({', '.join(facts)}){leaf}")
            children = sorted((self.nodes[one] for one in node.children or ()), key=lambda one: one.gap)
            pending += [(child, depth + 1) for child in children]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able data: ``nodes``, each with the fields of `Node`, and the attributes above."""
        return {
            "gamma": self.gamma,
            "numeric": [list(one) for one in self.numeric],
            "categorical": list(self.categorical),
            "nodes": [node.to_dict() for node in self.nodes],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], dtype: Any = "float32") -> ClusterTree:
        """Read what `to_dict` wrote."""
        return cls(
            nodes=tuple(Node.from_dict(one, dtype) for one in data["nodes"]),
            gamma=float(data["gamma"]),
            numeric=tuple((str(name), bool(flag)) for name, flag in data["numeric"]),
            categorical=tuple(data["categorical"]),
        )

    def _step(self, here: Node, there: Node) -> str:
        """What sets one branch apart from its sibling, the largest part of their distance first."""
        apart: list[tuple[float, str]] = []
        both = zip(here.centre.means[0].tolist(), there.centre.means[0].tolist(), strict=True)
        for (name, is_flag), (ours, theirs) in zip(self.numeric, both, strict=True):
            words = _shares(name, here, there) if is_flag else _means(name, here, there)
            apart.append(((ours - theirs) ** 2, words))
        for name, ours, theirs in zip(self.categorical, here.centre.modes[0], there.centre.modes[0], strict=True):
            if ours != theirs:
                most, theirs_most = (_level(name, node.prototype[name]) for node in (here, there))
                words = say(
                    "{column} is mostly {level} rather than {level_2}",
                    column=Column(name),
                    level=most,
                    level_2=theirs_most,
                )
                apart.append((self.gamma, words))
        total = math.fsum(share for share, _ in apart)
        ranked = sorted(apart, key=lambda one: -one[0])[:NAMED_FEATURES]
        return joined([words for share, words in ranked if share > 0.0 and share >= NAMED_SHARE * total], "; ")


def _means(name: str, here: Node, there: Node) -> str:
    ours, theirs = here.prototype[name], there.prototype[name]
    if not isinstance(ours, float) or not isinstance(theirs, float):
        message = "{column} always missing" if ours is None else "{column} not always missing"
        return say(message, column=Column(name))
    message = (
        "{column} higher: mean {N} against {Nother}" if ours > theirs else "{column} lower: mean {N} against {Nother}"
    )
    return say(message, column=Column(name), N=Numeral(number_in_words(ours)), Nother=Numeral(number_in_words(theirs)))


def _shares(name: str, here: Node, there: Node) -> str:
    ours, theirs = here.missing[name], there.missing[name]
    message = (
        "{column} missing more often: {N} against {Nother}"
        if ours > theirs
        else "{column} missing less often: {N} against {Nother}"
    )
    return say(message, column=Column(name), N=Numeral(f"{100 * ours:.0f} %"), Nother=Numeral(f"{100 * theirs:.0f} %"))


def _level(column: str, level: float | str | None) -> str:
    return say("missing") if level is None else say("'{level}'", level=Level(str(level), column))


def finish(
    grown: list[Grown],
    moments: Sequence[tuple[float, float]],
    better: str,
    encoder: Encoder,
    layout: Layout,
) -> ClusterTree:
    """Number the leaves by falling gap, and say everything in the units of the table.

    `moments` are mean and standard deviation of the bias variable in each of the grown nodes, in its own units.
    """
    label_of = {node.id: label for label, node in enumerate(leaves_of(grown))}
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
                gap=harm_sign(better) * gap + 0.0,
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


def leaves_of(grown: list[Grown]) -> list[Grown]:
    """The clusters in the order of their labels: by falling gap."""
    return sorted((node for node in grown if node.children is None), key=lambda one: (-one.gap, one.id))


def in_own_units(centre: Prototypes, encoder: Encoder) -> tuple[dict[str, float | str | None], dict[str, float]]:
    """A centre as means and level names, and the share of missing values of numbers that have any."""
    values: dict[str, float | str | None] = {}
    missing: dict[str, float] = {}
    encoded = iter(centre.means[0].tolist())
    for column in encoder.numeric:
        distance = next(encoded)  # from the mean, with missing values counted as 0
        divisor = column.std if encoder.scale and encoder.centre else 1.0
        if column.missing is None:
            values[column.name] = _as_precise(column.mean + distance * divisor, column.std, encoder.dtype)
            continue
        spread = (column.missing * (1.0 - column.missing)) ** 0.5 if encoder.scale else 1.0
        absent = min(max(column.missing + next(encoded) * spread, 0.0), 1.0)
        missing[column.name] = absent
        known = absent < 1.0 - 1e-6  # flags are encoded in float32
        mean = column.mean + distance * divisor / (1.0 - absent) if known else None
        values[column.name] = None if mean is None else _as_precise(mean, column.std, encoder.dtype)
    for category, mode in zip(encoder.categorical, centre.modes[0].tolist(), strict=True):
        values[category.name] = category.levels[mode] if mode < len(category.levels) else None
    return {name: values[name] for name in encoder.names}, missing


def _as_precise(value: float, std: float, dtype: str) -> float:
    """The value without the digits that encoded rows do not have: 0 and not -1e-9."""
    digits = 6 if dtype == "float32" else 13
    return value if std <= 0.0 else round(value, digits - math.floor(math.log10(std))) + 0.0


def number_in_words(value: float) -> str:
    """Three significant digits without an exponent where that is readable."""
    if value != 0.0 and not 1e-4 <= abs(value) < 1e12:
        return f"{value:.3g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):g}"
