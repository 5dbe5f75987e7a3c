"""Local bias: what is chosen to be shown, and the figure of the two groups that are furthest apart in each cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from bdt_core import words
from bdt_core.metrics import LOCAL_METRICS
from bdt_core.report.figure_axis import Axis, draw_across, scale
from bdt_core.report.sheet import CALM, GREY, HARM, INK, SMALL, Sheet
from bdt_core.report.wording import asked

if TYPE_CHECKING:
    from bdt_core.local_bias.results import GroupInCluster, LocalBias, LocalCluster
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Printed

Part = Literal["train", "test"]
PARTS: tuple[Part, Part] = ("train", "test")
SHOWN = 20
_NAME, _ROW = 16.0, 36.0
_NAMES, _TRAIN, _TEST, _RIGHT = 8.0, (20.0, 226.0), (256.0, 462.0), 472.0
_MARKS = (("o", CALM), ("D", HARM))


def pair(cluster: LocalCluster) -> tuple[str, str] | None:
    """The groups with the highest and the lowest metric among a cluster's train rows."""
    held_out = cluster.held_out
    if held_out.higher is None or held_out.lower is None:
        return None
    return held_out.higher, held_out.lower


def local_value(local: LocalBias, cluster: LocalCluster, part: Part, group: str) -> GroupInCluster | None:
    """The metric of a group in a cluster, by `part` "train" or "test"; None when it rests on too few rows."""
    settings = local.settings
    least = max(settings.min_test_rows, settings.min_group_size if part == "train" else 0)
    for group_value in cluster.train if part == "train" else cluster.test:
        if group_value.group == group and group_value.value is not None and group_value.counted >= least:
            return group_value
    return None


def group_rows(
    local: LocalBias,
) -> list[tuple[LocalCluster, str, list[tuple[int, GroupInCluster | None]]]]:
    """Every group in every cluster, where it has rows: of each part its rows, and its metric."""
    return [
        (
            cluster,
            train.group,
            [
                (one.rows, local_value(local, cluster, part, one.group))
                for part, one in zip(PARTS, (train, test), strict=True)
            ],
        )
        for cluster in (local.everywhere, *local.logan.clusters)
        for train, test in zip(cluster.train, cluster.test, strict=True)
        if train.rows or test.rows
    ]


def heading(local: LocalBias) -> str:
    """What is compared, where it is introduced."""
    metric = LOCAL_METRICS[local.settings.metric]
    return metric.heading or metric.words


def local_unit(local: LocalBias) -> words.Unit:
    """Rates are told in per cent, areas under the curve as numbers."""
    return LOCAL_METRICS[local.settings.metric].unit


def drawn_clusters(local: LocalBias) -> list[LocalCluster]:
    """Clusters with two groups to compare."""
    return [one for one in local.logan.clusters if pair(one)]


def draw(document: Printed, said: FigureWords) -> Sheet:
    """One row per cluster, the largest gap among the train rows first; all rows together stand boxed on top."""
    local = asked(document.local_bias)
    known = drawn_clusters(local)
    shown = [one for one in (local.everywhere, *known[:SHOWN]) if pair(one)]
    sheet = Sheet(said.title, 26 + _ROW * len(shown) + 36, subtitle=said.subtitle)
    top = sheet.top + 26
    bottom = top + _ROW * len(shown)
    values = [x for one in shown for part in PARTS for x in _values(local, one, part)]
    drawn = [one.value for one in values if one is not None]
    heads = ((_TRAIN, said.words["train"]), (_TEST, said.words["test"]))
    for part, ((start, end), phrase) in zip(PARTS, heads, strict=True):
        axis = scale(drawn, start, end, least=0.1)
        sheet.text(start, top - 10, sheet.fit(phrase, end - start + 12, SMALL, True), size=SMALL, bold=True)
        draw_across(sheet, axis, top, bottom, local_unit(local))
        for number, cluster in enumerate(shown):
            _gap(sheet, local, cluster, part, axis, top + _ROW * number, said.words["few"])
    for number, cluster in enumerate(shown):
        _names(sheet, cluster, top + _ROW * number + 8, said.words)
        if number:
            sheet.line([_NAMES, _RIGHT], [top + _ROW * number] * 2, width=0.4)
        if cluster.label is None:
            sheet.box(_NAMES - 4, top + 2, _RIGHT - _NAMES + 6, _ROW - 4, fill="none", edge=INK)
    _legend(sheet, local, bottom + 26, said.words)
    return sheet


def _values(local: LocalBias, cluster: LocalCluster, part: Part) -> list[GroupInCluster | None]:
    return [local_value(local, cluster, part, name) for name in pair(cluster) or ()]


def _styles(local: LocalBias, cluster: LocalCluster) -> list[tuple[str, str]]:
    """Marks of the two groups: each group has its own where there are only two, else by whose is higher."""
    if len(local.groups) > 2:
        return list(_MARKS)
    return [_MARKS[local.groups.index(name)] for name in pair(cluster) or ()]


def _gap(sheet: Sheet, local: LocalBias, cluster: LocalCluster, part: Part, axis: Axis, top: float, few: str) -> None:
    y = top + _NAME + (_ROW - _NAME) / 2 - 1
    values = _values(local, cluster, part)
    marked = [
        (axis.place(asked(one.value)), style)
        for one, style in zip(values, _styles(local, cluster), strict=True)
        if one is not None
    ]
    if len(marked) < 2:
        middle = (axis.start + axis.end) / 2
        wide = sheet.measure(few, SMALL) + 8
        sheet.box(middle - wide / 2, y - 7, wide, 14, fill="white", edge="white", round_by=0)
        sheet.text(middle, y, few, size=SMALL, color=GREY, align="center")
        return
    sheet.line([x for x, _ in marked], [y, y], color=GREY, width=2)
    for x, (shape, color) in reversed(marked):
        sheet.mark(x, y, shape=shape, fill=color, edge="white")


def _names(sheet: Sheet, cluster: LocalCluster, y: float, said: Mapping[str, str]) -> None:
    held_out = cluster.held_out
    if held_out.status != "tested":
        phrase, color = said["untested"], GREY
    elif held_out.confirmed:
        phrase, color = said["confirmed"], HARM
    else:
        phrase, color = said["turned" if held_out.significant else "unconfirmed"], GREY
    sheet.cover(_NAMES, y - 5, _RIGHT - 2 - _NAMES, _NAME - 4)
    sheet.text(_RIGHT - 4, y, phrase, size=SMALL, bold=held_out.confirmed, color=color, align="right")
    head = said["everywhere"] if cluster.label is None else cluster.name or f"{said['cluster']} {cluster.label}"
    sheet.text(_NAMES, y, head, size=8.5, bold=True)
    left = _NAMES + sheet.measure(head, 8.5, True) + 8
    names = pair(cluster)
    assert names is not None
    over = f" {said['over']} "
    width = _RIGHT - 12 - sheet.measure(phrase, SMALL, held_out.confirmed) - left
    half = (width - sheet.measure(over, SMALL)) / 2
    first, second = (sheet.measure(one, SMALL) for one in names)
    room = max(half, 2 * half - second), max(half, 2 * half - first)
    text = over.join(sheet.fit(one, most, SMALL) for one, most in zip(names, room, strict=True))
    sheet.text(left, y, text, size=SMALL, color=GREY)


def _legend(sheet: Sheet, local: LocalBias, y: float, said: Mapping[str, str]) -> None:
    names = local.groups if len(local.groups) == 2 else (said["ahead"], said["behind"])
    boxed = sheet.measure(said["boxed"], SMALL)
    room = (sheet.width - 8 - 14 - boxed - 20 - 2 * 21) / 2
    marks = [
        (shape, color, "white", sheet.fit(name, room, SMALL))
        for (shape, color), name in zip(_MARKS, names, strict=True)
    ]
    sheet.legend(y, marks)
    sheet.text(_RIGHT, y, said["boxed"], size=SMALL, color=GREY, align="right")
