"""Growing the tree: which leaf is split next, and which splits are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from bdt_core.clustering.outcome import WholeMoments
from bdt_core.clustering.split import Prototypes, Splits

Progress = Callable[[int, int], object]


@dataclass
class Grown:
    """A node while the tree grows.

    `position` is 1 for the root, 2 k and 2 k + 1 for the children of k: where the node stands, whatever else was split.
    Labels are numbered by creation; the first child keeps its parent's. `memory` is what the splitter wants to remember
    of the node.
    """

    id: int
    parent: int | None
    position: int
    moments: WholeMoments
    gap: Fraction
    label: int
    centre: Prototypes
    children: tuple[int, int] | None = None
    split: Splits | None = None
    accepted: bool | None = None
    memory: Any = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """Number of training rows."""
        return self.moments.rows


@dataclass(frozen=True)
class Halves:
    """A proposed split of a node's rows, each side's centre, and what the splitter wants to remember of it."""

    split: Splits
    centre_a: Prototypes
    centre_b: Prototypes
    memory_a: Any = None
    memory_b: Any = None


class Splitter(Protocol):
    """Holds the rows of the table, and their bias variable, wherever they are; it knows nodes by their position."""

    def centre(self) -> tuple[Prototypes, Any]:
        """Centre of all rows, and what to remember of the root."""

    def moments(self) -> WholeMoments:
        """Moments of all rows' bias variable, higher is worse."""

    def propose(self, node: Grown) -> Halves | None:
        """Split the node's rows; None when they cannot be told apart."""

    def moments_of_b(self, node: Grown, halves: Halves) -> WholeMoments:
        """Moments of the bias variable on side b of a proposed split."""

    def partition(self, node: Grown, halves: Halves, *, last: bool) -> None:
        """Keep a proposed split: from now on each side is a node. After the ``last`` one no other is proposed."""

    def moments_of_nodes(self, grown: list[Grown]) -> list[tuple[float, float]]:
        """Mean and standard deviation of the bias variable in each node, in its own units."""


def grow(
    splitter: Splitter,
    *,
    max_iter: int,
    min_rows: int,
    margin: float,
    count_hopeless: bool = False,
    progress: Progress | None = None,
) -> list[Grown]:
    """Hierarchical bias-aware clustering (Misztal-Radecka & Indurkhya 2021).

    Repeatedly take the leaf with the largest standard deviation of y that was not tried before (of equal ones that with
    the lowest label), and split it in two; keep the split when both parts have at least ``min_rows`` rows and one of
    them has a gap that is at least its parent's plus ``margin`` standard deviations of y.

    ``max_iter`` splits are tried; `progress` is called with how many were, and with it. With `count_hopeless` a leaf of
    fewer than twice ``min_rows`` rows uses up an attempt, as in the original tool. The nodes come root first, children
    after their parent.
    """
    whole = splitter.moments()
    centre, memory = splitter.centre()
    nodes = [Grown(0, None, 1, whole, Fraction(0), 0, centre, memory=memory)]
    step = Fraction(margin * whole.std)
    labels = 1
    for attempt in range(max_iter):
        smallest = 2 if count_hopeless else max(2 * min_rows, 2)
        waiting = [node for node in nodes if node.accepted is None and node.moments.std > 0.0 and node.rows >= smallest]
        if not waiting:
            break
        node = max(waiting, key=lambda one: (one.moments.std, -one.label))
        node.accepted = False
        halves = splitter.propose(node)
        if halves is not None:
            b = splitter.moments_of_b(node, halves)
            a = node.moments - b
            is_large_enough = min(a.rows, b.rows) >= max(min_rows, 1)
            if is_large_enough and max(a.gap(whole), b.gap(whole)) >= node.gap + step:
                splitter.partition(node, halves, last=attempt + 1 == max_iter)
                _adopt(nodes, node, halves, a, b, whole, labels)
                labels += 1
        if progress is not None:
            progress(attempt + 1, max_iter)
    if progress is not None:
        progress(max_iter, max_iter)
    return nodes


def _adopt(
    nodes: list[Grown],
    node: Grown,
    halves: Halves,
    a: WholeMoments,
    b: WholeMoments,
    whole: WholeMoments,
    new_label: int,
) -> None:
    first = Grown(
        len(nodes), node.id, 2 * node.position, a, a.gap(whole), node.label, halves.centre_a, memory=halves.memory_a
    )
    second = Grown(
        len(nodes) + 1, node.id, 2 * node.position + 1, b, b.gap(whole), new_label,
        halves.centre_b, memory=halves.memory_b,
    )  # fmt: skip
    node.accepted = True
    node.children = (first.id, second.id)
    node.split = halves.split
    node.memory = None
    nodes += [first, second]
