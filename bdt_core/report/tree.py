"""Figure: the tree of splits, one row per group, children indented below their parent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.sheet import CALM, CALM_TINT, FAINT, GREY, HARM, HARM_TINT, INK, SMALL, Sheet
from bdt_core.said import AsItIs, of_ours

if TYPE_CHECKING:
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Cluster, Document, Printed, ReportedVariable, TreeNode

NODES_SHOWN = 29
FEATURES_SHOWN = 30
"""Of each cluster; with more of them nobody would find a way in the table, and report.json has all."""
_ROW = 32.0
_HIGH = 26.0
_NARROWEST, _WIDEST = 184.0, 240.0
"""Of boxes, which are as wide as the longest line in them."""
_DEEPEST = 96.0
_STEP_LINES = 3


def draw(document: Printed, said: FigureWords) -> Sheet:
    """Groups in boxes with rows, mean and gap; beside each box what separates it from its sibling."""
    nodes = {one.id: one for one in document.tree.nodes[:NODES_SHOWN]}
    rows = _in_reading_order(nodes)
    deepest = max(depth for _, depth in rows)
    indent = min(18.0, _DEEPEST / max(deepest, 1))
    sheet = Sheet(said.title, 10 + _ROW * len(rows) + 32, subtitle=said.subtitle)
    top = sheet.top + 10
    places = {node.id: (8 + indent * depth, top + _ROW * row) for row, (node, depth) in enumerate(rows)}
    for node, _ in rows:
        _connect(sheet, node, places)
    parents = [node.parent for node, _ in rows]
    others = {node.id for place, (node, _) in enumerate(rows) if node.parent in parents[:place]}
    texts = {node.id: _told(sheet, document.bias_variable, node, said.words) for node, _ in rows}
    longest = max(sum(sheet.measure(one, SMALL) for one in line) for line in texts.values())
    wide = min(max(longest + 18, _NARROWEST), _WIDEST)
    for node, _ in rows:
        divided = any(one not in nodes for one in node.children)
        # What separates two groups is the same the other way round: the first says it.
        step = said.words["others"] if node.id in others else of_ours(node.step or "")
        _group(sheet, node, texts[node.id], (*places[node.id], wide, _HIGH), said.words, step, divided=divided)
    _legend(sheet, said.words, top + _ROW * len(rows) + 8)
    return sheet


def _in_reading_order(nodes: dict[int, TreeNode]) -> list[tuple[TreeNode, int]]:
    """Parents before children, the worse child first, with depths."""
    ordered, pending = [], [(0, 0)]
    while pending:
        at, depth = pending.pop()
        ordered.append((nodes[at], depth))
        children = sorted((one for one in nodes[at].children if one in nodes), key=lambda one: nodes[one].gap or 0.0)
        pending += [(child, depth + 1) for child in children]
    return ordered


def _connect(sheet: Sheet, node: TreeNode, places: dict[int, tuple[float, float]]) -> None:
    x, y = places[node.id]
    for child in node.children:
        if child in places:
            down, across = places[child][1] + _HIGH / 2, places[child][0]
            sheet.line([x + 9, x + 9, across], [y + _HIGH, down, down], color=GREY, width=1)


def _told(sheet: Sheet, variable: ReportedVariable, node: TreeNode, said: Mapping[str, str]) -> tuple[AsItIs, AsItIs]:
    """The mean of a group, and how much worse or better off it is."""
    mean = AsItIs(f"{sheet.said(of_ours(variable.short))} {sheet.said(words.value(node.mean, variable.unit))}")
    if node.parent is None or node.gap is None:
        return mean, AsItIs("")
    worse = said["worse" if node.gap > 0 else "better"]
    return mean, AsItIs(f"{worse} {sheet.said(words.size(node.gap, variable.unit))}")


def _group(
    sheet: Sheet,
    node: TreeNode,
    texts: tuple[AsItIs, AsItIs],
    box: tuple[float, float, float, float],
    said: Mapping[str, str],
    step: str,
    *,
    divided: bool,
) -> None:
    x, y, wide, high = box
    worse = (node.gap or 0) > 0
    leaf = node.label is not None
    alone = node.parent is None
    fill, edge = ("white", FAINT) if alone or not leaf else (HARM_TINT, HARM) if worse else (CALM_TINT, CALM)
    sheet.box(x, y, wide, high, fill=fill, edge=edge)
    kind = said["everybody" if alone else "divided" if divided else "group"]
    name = f"{said['cluster']} {node.label}" if leaf else kind
    middle, right = y + high / 2, x + wide - 6
    sheet.text(x + 6, middle - 6, name, size=SMALL, bold=leaf)
    rows = AsItIs(f"{sheet.said(words.count(node.rows))} {said['rows']}")
    sheet.text(right, middle - 6, rows, size=SMALL, color=GREY, align="right")
    mean, gap = texts
    room = wide - 18 - sheet.measure(gap, SMALL)
    sheet.text(x + 6, middle + 6, sheet.fit(mean, room, SMALL), size=SMALL, color=INK)
    sheet.text(right, middle + 6, gap, size=SMALL, color=HARM if worse else CALM, align="right")
    if step:
        left = x + wide + 8
        lines = sheet.wrap(step, sheet.width - 8 - left, SMALL, _STEP_LINES)
        sheet.text(left, middle, "\n".join(lines), size=SMALL)


def _legend(sheet: Sheet, said: Mapping[str, str], y: float) -> None:
    x = 8.0
    for fill, edge, name in (
        (HARM_TINT, HARM, "is_worse"),
        (CALM_TINT, CALM, "is_better"),
        ("white", FAINT, "is_divided"),
    ):
        sheet.box(x, y - 5, 14, 10, fill=fill, edge=edge, round_by=2)
        sheet.text(x + 18, y, said[name], size=SMALL, color=GREY)
        x += 28 + sheet.measure(said[name], SMALL)


@dataclass(frozen=True)
class FeatureOfCluster:
    """A feature of a cluster beside everybody else, on the train rows.

    Attributes
    ----------
    column : str
    inside : number or str
        The mean of a number, the most frequent level of a category.
    mean_outside : number or None
        Of everybody else; None of a category.
    levels_outside : tuple of (str, int)
        Of a category the most frequent levels of the other clusters, and of how many of them each is that.
    """

    column: str
    inside: words.Number
    mean_outside: words.Number
    levels_outside: tuple[tuple[str, int], ...]

    @property
    def is_category(self) -> bool:
        """Whether its values are levels."""
        return _is_level(self.inside)


def features_of(document: Document, cluster: Cluster) -> list[FeatureOfCluster]:
    """The features that a cluster was searched by, the first of the table's columns."""
    places = {one.name: place for place, one in enumerate(document.data.columns)}
    known = sorted(cluster.profile, key=lambda name: (places.get(name, len(places)), name))
    others = [one for one in document.clusters if one.cluster != cluster.cluster]
    return [_feature(name, cluster, others) for name in known[:FEATURES_SHOWN]]


def _feature(name: str, cluster: Cluster, others: Sequence[Cluster]) -> FeatureOfCluster:
    inside, outside = cluster.profile[name], [one.profile[name] for one in others]
    if _is_level(inside):
        levels = Counter(map(str, outside)).most_common()
        return FeatureOfCluster(name, inside, None, tuple(levels))
    sums = [x * one.train_rows for x, one in zip(outside, others, strict=True) if isinstance(x, int | float)]
    rows = sum(one.train_rows for one in others)
    mean = sum(sums) / rows if sums and len(sums) == len(others) else None  # without a mean that is infinite
    return FeatureOfCluster(name, inside, mean, ())


def _is_level(x: words.Number) -> bool:
    return isinstance(x, str) and x not in ("Infinity", "-Infinity")
