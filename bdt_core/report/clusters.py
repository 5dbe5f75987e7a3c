"""Figure: every cluster's difference from everybody else, its interval, its size, and the limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from bdt_core import words
from bdt_core.metrics import harm_sign
from bdt_core.report.figure_axis import draw_number_heads, draw_numbers
from bdt_core.report.sheet import CALM, FAINT, GREY, HARM, HARM_TINT, INK, SMALL, WIDTH, Ruler, Sheet
from bdt_core.report.wording import finite
from bdt_core.said import AsItIs, of_ours, say

if TYPE_CHECKING:
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Cluster, ComparedLevel, Document, NumericFeature, Printed
    from bdt_core.significance.clusters import ComparedCluster

    Corrected: TypeAlias = Cluster | ComparedLevel | NumericFeature

SHOWN = 20
_NAME_LINE, _NAME_LINES = 10.0, 3
_INDENT = 26.0
_BAND = 19.0  # of the mark and its interval, below who they are
_LEFT, _RIGHT = 30.0, 310.0
_LABELLED = 0.7  # share of the axis within which a limit stands


def better_off(cluster: Cluster | ComparedCluster) -> bool:
    """Whether a cluster is called better off: significantly, and not only because another one fares badly."""
    return bool(cluster.significant and not cluster.worse and (cluster.without is None or cluster.without.stands_out))


def finding(cluster: Cluster | ComparedCluster) -> str:
    """What is found of a cluster, in a few words."""
    if cluster.comparison.status != "tested":
        return "not testable"
    if not cluster.significant:
        return "no significant difference"
    if cluster.worse:
        return "worse off"
    if better_off(cluster) or cluster.without is None:
        return "better off"
    return say("better off only than {clusters}", clusters=cluster_names(cluster.without.left_out))


def without_others(cluster: Cluster | ComparedCluster, unit: words.Unit) -> str | None:
    """How a cluster compares with everybody else without those that stand out more.

    None where there are none, and where it is worse off without them, too: then nothing is to be added.
    """
    if cluster.without is None or (cluster.worse and cluster.without.stands_out):
        return None
    names, rest = cluster_names(cluster.without.left_out), cluster.without.comparison
    if rest is None:
        return say("nobody else is left without {clusters}", clusters=names)
    size = words.difference(rest.difference, rest.low, rest.high, confidence=rest.confidence, unit=unit)
    message = "also without {clusters}: {size}" if cluster.without.stands_out else "without {clusters}: {size}"
    return say(message, clusters=names, size=size)


def tells_of_others(document: Document) -> bool:
    """Whether any line says how a cluster compares without others."""
    return any(without_others(one, document.bias_variable.unit) for one in document.clusters)


def cluster_names(labels: Sequence[int]) -> str:
    """Clusters in a sentence.

    Examples
    --------
    >>> cluster_names([0]), cluster_names([0, 2, 5])
    ('cluster 0', 'clusters 0, 2 and 5')
    """
    names = list(map(str, labels))
    if len(names) == 1:
        return say("cluster {as_is}", as_is=AsItIs(names[0]))
    return say("clusters {list}", list=words.listing([AsItIs(name) for name in names]))


def ends(tested: Corrected) -> tuple[words.Number, words.Number]:
    """The interval that goes with a corrected p-value; of reports that have none, the one that holds alone."""
    if tested.corrected_low is None or tested.corrected_high is None:
        return tested.comparison.low, tested.comparison.high
    return tested.corrected_low, tested.corrected_high


def corrected(tested: Corrected, unit: words.Unit) -> str:
    """The same in brackets."""
    low, high = ends(tested)
    if low is None or high is None:
        return ""
    return say("[{low} to {high}]", low=words.signed(low, unit), high=words.signed(high, unit))


def own(document: Document, harm: float) -> float:
    """A difference in the bias variable's own direction, in which all differences of a report are told."""
    return harm_sign(document.bias_variable.better) * harm + 0.0


def main_p(document: Document) -> str:
    """The p-value of the main test."""
    test = document.primary_test
    p = words.p_value(test.deciding.p_value if test.deciding else None)
    if test.repeated_splits is None:
        return p
    return say("{p} over {N} splits", p=p, N=words.count(len(test.repeated_splits.p_values)))


def draw(document: Printed, said: FigureWords) -> Sheet:
    """One row per cluster, from the most deviating one of the train rows."""
    clusters = document.clusters[:SHOWN]
    limits = sorted(set(_limits(document)))
    heads = 13.0 * max(1, len(limits)) + 8
    ruler = Ruler()
    names = [ruler.wrap(who_is_in(one), WIDTH - 8 - _INDENT, SMALL, _NAME_LINES) for one in clusters]
    heights = [5.0 + _NAME_LINE * len(one) + _BAND for one in names]
    rows = sum(heights)
    sheet = Sheet(said.title, heads + rows + 70, subtitle=said.subtitle)
    top = sheet.top + heads + 4
    short = said.words["inside"]
    short = short if sheet.measure(short, SMALL) <= 50 else said.words["in_cluster"]
    draw_number_heads(sheet, top - 9, (said.words["rows"], short, said.words["others"]))
    axis = _Axis(sheet, document, clusters, top, rows, said.words)
    axis.limits(limits)
    largest = max((one.test_rows for one in clusters), default=1) or 1
    y = top
    for number, (cluster, name, height) in enumerate(zip(clusters, names, heights, strict=True)):
        middle = y + height - _BAND / 2 - 1
        _row_text(sheet, document, cluster, name, y, middle)
        axis.cluster(cluster, middle, largest)
        if number:
            sheet.line([8, sheet.width - 8], [y] * 2, width=0.5)
        y += height
    _legend(sheet, said.words, top + rows + 48)
    return sheet


def _limits(document: Document) -> list[float]:
    """Limits on clusters; those on declared groups are not of this scale."""
    from bdt_core.verdict import ClusterLimitResult  # loads numpy, which not every form needs

    return [one.limit for one in document.gate if isinstance(one, ClusterLimitResult)]


def who_is_in(cluster: Cluster) -> str:
    """Who is in a cluster: its rule, or where none fits what its description says; how well it fits is in the table."""
    return of_ours(
        cluster.rule.text if words.rule_fits(cluster.rule.precision, cluster.rule.recall) else cluster.description
    )


def _row_text(sheet: Sheet, document: Document, cluster: Cluster, who: list[str], y: float, middle: float) -> None:
    unit = document.bias_variable.unit
    sheet.cover(8, y + 1, sheet.width - 16, 4 + _NAME_LINE * len(who))
    sheet.text(8, y + 8.5, f"{cluster.cluster}", size=9.5, bold=True)
    for place, line in enumerate(who):
        sheet.text(_INDENT, y + 8.5 + _NAME_LINE * place, line, size=SMALL, color=GREY)
    numbers = (
        words.count(cluster.test_rows),
        words.value(cluster.test_mean, unit),
        words.value(cluster.comparison.mean_b, unit),
    )
    draw_numbers(sheet, middle, numbers)


class _Axis:
    """The scale of differences; harm is shaded."""

    def __init__(
        self,
        sheet: Sheet,
        document: Document,
        clusters: Sequence[Cluster],
        top: float,
        height: float,
        said: Mapping[str, str],
    ) -> None:
        self.sheet, self.top, self.bottom, self.said = sheet, top, top + height, said
        variable = document.bias_variable
        self.unit: words.Unit = variable.unit
        self.scale = 100.0 if self.unit == "rate" else 1.0
        self.harm_is_right = variable.better == "lower"
        self.low, self.high = self._range(document, clusters)
        axes = sheet.axes(_LEFT, top, _RIGHT - _LEFT, height)
        axes.set_xlim(self.low, self.high)
        axes.set_ylim(0, 1)
        axes.patch.set_visible(False)
        axes.spines.bottom.set_visible(True)
        axes.spines.bottom.set_color(FAINT)
        axes.locator_params(axis="x", nbins=6)
        axes.xaxis.set_major_formatter(lambda x, _: sheet.said(words.number(x)))
        harmful = (0, self.high) if self.harm_is_right else (self.low, 0)
        axes.axvspan(*harmful, color=HARM_TINT, zorder=0, linewidth=0)
        axes.axvline(0, color=INK, linewidth=1)
        left, right = ("better_left", "worse_right") if self.harm_is_right else ("worse_left", "better_right")
        colors = (CALM, HARM) if self.harm_is_right else (HARM, CALM)
        sheet.text(_LEFT, self.bottom + 27, said[left], size=SMALL, bold=True, color=colors[0])
        sheet.text(_RIGHT, self.bottom + 27, said[right], size=SMALL, bold=True, color=colors[1], align="right")

    def _range(self, document: Document, clusters: Sequence[Cluster]) -> tuple[float, float]:
        reach = [0.0]
        sign = 1 if self.harm_is_right else -1
        reach += [sign * limit for limit in _limits(document)]
        for cluster in clusters:
            comparison = cluster.comparison
            reach += [x for x in (*ends(cluster), comparison.difference) if finite(x)]
        low, high = min(reach) * self.scale, max(reach) * self.scale
        room = 0.08 * (high - low) or 1.0
        low, high = low - room, high + room
        for limit in (one * self.scale for one in _limits(document)):  # room for its label
            if self.harm_is_right:
                high = max(high, low + (limit - low) / _LABELLED)
            else:
                low = min(low, high - (high + limit) / _LABELLED)
        return low, high

    def x(self, difference: float) -> float:
        """Where a difference is drawn."""
        share = (difference * self.scale - self.low) / (self.high - self.low)
        return _LEFT + share * (_RIGHT - _LEFT)

    def limits(self, limits: list[float]) -> None:
        """Lines for no difference and for each limit, labelled without touching one another."""
        towards_harm, away = ("left", "right") if self.harm_is_right else ("right", "left")
        step = 3 if self.harm_is_right else -3
        self.sheet.text(self.x(0) - step, self.top - 9, self.said["none"], size=SMALL, align=away, color=GREY)  # type: ignore[arg-type]
        for number, limit in enumerate(reversed(limits)):
            x = self.x(limit if self.harm_is_right else -limit)
            y = self.top - 9 - 13 * number
            self.sheet.line([x, x], [y - 5, self.bottom], color=HARM, width=1.2, style="--")
            label = AsItIs(f"{self.said['limit']} {self.sheet.said(words.size(limit, self.unit))}")
            self.sheet.text(x + step, y, label, size=SMALL, align=towards_harm, color=HARM)  # type: ignore[arg-type]

    def cluster(self, cluster: Cluster, y: float, largest: int) -> None:
        """The mark of one cluster; a hollow one with words where nothing could be tested."""
        comparison = cluster.comparison
        if comparison.difference is None:
            x = _LEFT + 10
            phrase = self.said["untested"]
            wide = self.sheet.measure(phrase, SMALL) + 20
            self.sheet.box(x - 6, y - 7, wide, 14, fill="white", edge="white", round_by=3)
            self.sheet.mark(x, y, shape="o", fill="white", edge=GREY)
            self.sheet.text(x + 9, y, phrase, size=SMALL, color=GREY)
            return
        shape, color = mark(cluster)
        low, high = ends(cluster)
        if finite(low) and finite(high):
            reach = [self.x(low), self.x(high)]
            self.sheet.line(reach, [y, y], color=color, width=2)
            for end in reach:
                self.sheet.line([end, end], [y - 5, y + 5], color=color, width=1.2)
        x = self.x(comparison.difference)
        size = 4 + 6 * (cluster.test_rows / largest) ** 0.5
        self.sheet.mark(x, y, shape=shape, fill=color, edge="white", size=size)


def mark(cluster: Cluster) -> tuple[str, str]:
    """Shape and colour: worse, better, or not significant."""
    if cluster.significant and cluster.worse:
        return "D", HARM
    return ("o", CALM) if better_off(cluster) else ("s", GREY)


def _legend(sheet: Sheet, said: Mapping[str, str], y: float) -> None:
    marks = (
        ("D", HARM, "white", said["is_worse"]),
        ("o", CALM, "white", said["is_better"]),
        ("s", GREY, "white", said["is_neither"]),
        ("o", "white", GREY, said["untested"]),
    )
    sheet.legend(y, marks)
    sheet.text(8, y + 13, said["line"], size=SMALL, color=GREY)
