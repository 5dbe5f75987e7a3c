"""What the sections and the figures on intersections, local bias and mitigation choose to show, and its names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from bdt_core import words
from bdt_core.metrics import CRITERIA, GROUP_METRICS, RATES, plain_name
from bdt_core.report.wording import asked, finite
from bdt_core.report.wording_groups import rate_value, span

if TYPE_CHECKING:
    from bdt_core.fairness.metric_results import Estimate
    from bdt_core.local_bias.results import GroupValue, LocalBias, LocalCluster
    from bdt_core.report.document import Document
    from bdt_core.slices.results import LatticeNode, Slice, Slices

Part = Literal["train", "test"]
PARTS: tuple[Part, Part] = ("train", "test")
LOCAL_METRICS = {
    "accuracy": "accuracy",
    "tpr": "true positive rate",
    "fpr": "false positive rate",
    "auc": "area under the curve (AUC)",
}


def figures_of_depth(document: Document) -> tuple[str, ...]:
    """Figures on intersections, local bias and mitigation that a document has."""
    slices, local = document.slices, document.local_bias
    found = []
    if slices and drawn_slices(slices):
        found.append("slices")
    if slices and len(slices.lattice) > 1:
        found.append("slices_lattice")
    if local and any(pair(one) for one in local.logan.clusters):
        found.append("local_bias")
    if mitigation_points(document):
        found.append("mitigation")
    return tuple(found)


def unit_of_slices(document: Document) -> words.Unit:
    """Whether slices are measured by a rate, as percentages and points, or by a number."""
    unit: words.Unit = document.bias_variable.unit
    return unit if asked(document.slices).metric == "mean" else "rate"


def name_of_slices(document: Document) -> tuple[str, str]:
    """What is measured of slices, at length and short."""
    variable, slices = document.bias_variable, asked(document.slices)
    if slices.metric == "mean":
        return variable.name, variable.short
    return slices.metric_name, slices.metric_name


def has_numbers(one: Slice | LatticeNode, min_rows: int) -> bool:
    """Whether a slice may be printed with its values: both sides have enough rows in their denominators."""
    comparison = one.comparison
    return bool(comparison.status == "tested" and min(comparison.n_a, comparison.n_b) >= min_rows)


def reported_slices(slices: Slices) -> list[Slice]:
    """Slices that fare significantly worse and are not listed under another, the worst first."""
    return [one for one in slices.slices if one.significant and one.parent is None]


def drawn_slices(slices: Slices) -> list[Slice]:
    """Reported slices, or where there are none all that were tested; the worst first."""
    chosen = reported_slices(slices) or slices.slices
    return [one for one in chosen if has_numbers(one, slices.min_rows)]


def within(slices: Slices, reported: Sequence[Slice], most: int) -> list[tuple[Slice, list[Slice]]]:
    """Reported slices with the first few of those that each stands for."""
    found = (
        (around, [one for one in slices.slices if one.significant and one.parent == around.name][:most])
        for around in reported
    )
    return [(around, several) for around, several in found if several]


def pair(cluster: LocalCluster) -> tuple[str, str] | None:
    """The groups with the highest and the lowest metric among a cluster's train rows."""
    held_out = cluster.held_out
    if held_out.higher is None or held_out.lower is None:
        return None
    return held_out.higher, held_out.lower


def local_value(local: LocalBias, cluster: LocalCluster, part: Part, group: str) -> GroupValue | None:
    """The metric of a group in a cluster, by `part` "train" or "test"; None when it rests on too few rows."""
    settings = local.settings
    least = max(settings.min_test_rows, settings.min_group_size if part == "train" else 0)
    for one in cluster.train if part == "train" else cluster.test:
        if one.group == group and one.value is not None and one.counted >= least:
            return one
    return None


def group_rows(
    local: LocalBias,
) -> list[tuple[LocalCluster, str, list[tuple[int, GroupValue | None]]]]:
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


def local_unit(local: LocalBias) -> words.Unit:
    """Rates are told in per cent, areas under the curve as numbers."""
    return "value" if local.settings.metric == "auc" else "rate"


def change_told(metric: str, x: words.Number) -> str:
    """A metric of mitigation in its usual form.

    Examples
    --------
    >>> change_told("equal_opportunity_difference", 0.436), change_told("demographic_parity_ratio", 0.397)
    ('43.6 points', '0.397')
    >>> change_told("accuracy", 0.655), change_told("DI", 0.5)
    ('65.5 %', '0.5')
    """
    plain = metric.removesuffix("_difference")
    if plain != metric and (plain in CRITERIA or plain in RATES):
        unit: words.Unit = CRITERIA[plain].unit if plain in CRITERIA else "rate"
        return f"{words.signed(x, unit).removeprefix('+')}{' points' if unit == 'rate' and finite(x) else ''}"
    return rate_value(metric, x) if metric in GROUP_METRICS else words.number(x)


def asked_by(metric: str) -> str:
    """What the criterion behind a difference or ratio asks for; nothing of other metrics."""
    plain = plain_name(metric)
    return CRITERIA[plain].asks if plain in CRITERIA else ""


def change_span(metric: str, low: words.Number, high: words.Number) -> str:
    """The interval of a metric of mitigation, without its unit."""
    if low is None or high is None:
        return ""
    return span(*(change_told(metric, x).removesuffix(" points").removesuffix(" %") for x in (low, high)))


def mitigation_points(document: Document) -> list[tuple[Estimate, Estimate]]:
    """Gap and accuracy at each tolerance on the test rows, as far as both are known; none to draw below two."""
    mitigation = document.mitigation
    if not mitigation or mitigation.thresholds is None:
        return []
    thresholds = mitigation.thresholds
    ends = [side.estimate for one in (thresholds.gap, thresholds.accuracy) for side in (one.before, one.after)]
    if not all(map(finite, ends)):
        return []
    return [
        (one.gap, one.accuracy)
        for one in thresholds.frontier
        if finite(one.gap.estimate) and finite(one.accuracy.estimate)
    ]


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a sentence; after the first few only how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b and 1 more')
    """
    more = len(names) - most
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:most])} and {words.count(more)} more"
