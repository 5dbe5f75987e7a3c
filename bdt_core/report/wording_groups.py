"""How the metrics of declared groups are written, and what the sections and the figures on them choose to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from bdt_core import words
from bdt_core.metrics import CLARIFY, CRITERIA, GATE_METRICS, GROUP_METRICS, RATES, SCORES, plain_name
from bdt_core.report.wording import asked, finite

if TYPE_CHECKING:
    from bdt_core.fairness.score_parts import BiasScore
    from bdt_core.report.document import Document, Facet, Group, GroupMetric, GroupRange, GroupValue, Rate
    from bdt_core.verdict import MetricLimitResult

_Named = TypeVar("_Named", "GroupMetric", "GroupRange")
FIGURES_SHOWN = 4
PANELS = 4
_MAP_ROWS, _MAP_COLUMNS = 20, 8


def compared_with(document: Document, limit: MetricLimitResult) -> tuple[str, str | None]:
    """By difference or ratio, and the group that each group is compared with, where that is not plain from the name."""
    rate, _, kind = limit.metric.rpartition("_")
    facets = document.groups.facets if document.groups else ()
    reference = next((one.reference for one in facets if one.facet == limit.facet), None)
    return kind, reference if rate in RATES and kind in ("difference", "ratio") else None


def rate_head(rate: str) -> str:
    """A rate's name where there is little room.

    Examples
    --------
    >>> rate_head("auc"), rate_head("accuracy")
    ('AUC', 'Accuracy')
    """
    return GROUP_METRICS[rate].heading or GROUP_METRICS[rate].words


def span(low: str, high: str) -> str:
    """An interval in the smaller line of a cell, which may be torn apart only before its second limit.

    Examples
    --------
    >>> span("0.1", "0.2")
    '[0.1 to\\xa00.2]'
    """
    return f"[{low} to\u00a0{high}]"


def rate_value(name: str, x: words.Number) -> str:
    """A rate as a percentage; scores and errors as numbers.

    Examples
    --------
    >>> rate_value("accuracy", 0.635), rate_value("auc", 0.635)
    ('63.5 %', '0.635')
    """
    return words.number(x) if name in SCORES else words.percent(x)


def rate_told(group: Group, rate: str) -> str:
    """A rate of a group with its interval, within a sentence."""
    one = asked(group.rates).get(rate)
    if one is None or one.estimate is None:
        return "undefined"
    return f"{rate_value(rate, one.estimate)} {limits(one, rate)}".rstrip()


def limits(one: Rate, rate: str) -> str:
    """A rate's interval for a group alone; nothing where it has none."""
    if one.low is None or one.high is None:
        return ""
    low, high = (rate_value(rate, x).removesuffix(" %") for x in (one.low, one.high))
    return span(low, high)


def main_rates(facet: Facet) -> list[str]:
    """The rates that stand for all: those of the prediction, or of the label where nothing is predicted."""
    known = known_rates(facet)
    of = "prediction" if "selection_rate" in known else "label"
    return [one for one in known if of in GROUP_METRICS[one].shown]


def known_rates(facet: Facet) -> list[str]:
    """Every rate that some group has, in the usual order."""
    known = {name for one in facet.groups for name in one.rates or ()}
    return [name for name in GROUP_METRICS if name in known]


def with_rates(facet: Facet) -> list[Group]:
    """Groups with enough rows for their rates to be printed."""
    return [one for one in facet.groups if one.rates is not None]


def lowest_and_highest(
    facet: Facet, rate: str, left_out: Sequence[str]
) -> tuple[tuple[Group, float], tuple[Group, float]] | None:
    """The groups between which a rate ranges, each with it, without those left out; None of fewer than two."""
    known = comparable(facet, rate, left_out)
    if len(known) < 2 or facet.groups_total > len(facet.groups):
        return None
    return min(known, key=lambda one: one[1]), max(known, key=lambda one: one[1])


def comparable(facet: Facet, rate: str, left_out: Sequence[str]) -> list[tuple[Group, float]]:
    """Groups whose rate rests on enough rows to be compared, each with the rate."""
    out = set(left_out)
    return [
        (one, found.estimate)
        for one in facet.groups
        if one.rates is not None
        and one.group not in out
        and (found := one.rates.get(rate)) is not None
        and finite(found.estimate)
    ]


def left_out(facet: Facet, rate: str) -> Sequence[str]:
    """Groups with too few rows to be compared in a rate."""
    metrics = {f"{name}_difference" for name, one in CRITERIA.items() if one.rate == rate}
    return next((one.left_out for one in facet.ranges if one.metric in metrics), [])


def figures_of_groups(document: Document) -> dict[str, tuple[Facet, Literal["rates", "map"]]]:
    """Figures on declared groups by name: of the first groupings that can be drawn.

    Parameters
    ----------
    document : dict
        As `bdt_core.report.printed.printed` gives it.
    """
    facets = document.groups.facets if document.groups else ()
    drawn = [one for one in facets if main_rates(one)][:FIGURES_SHOWN]
    return {f"groups_{i}": (one, "map" if _fits_a_map(one) else "rates") for i, one in enumerate(drawn, 1)}


def grid(facet: Facet) -> tuple[list[Any], list[Any]]:
    """Values of the two columns of an intersection, each in order."""
    rows, columns = (
        sorted({one.values[i] for one in facet.groups}, key=lambda x: (isinstance(x, str), x)) for i in (0, 1)
    )
    return rows, columns


def map_rate(document: Document, facet: Facet) -> str:
    """The rate that a map shows: the first that the gate limits for these groups, or the false positive rate."""
    known = known_rates(facet)
    for one in document.gate:
        if one.kind == "metric" and one.facet == facet.facet:
            for rate in (*_rates_in(one.metric), *_rates_in(plain_name(one.metric))):
                if rate in known:
                    return rate
    return "false_positive_rate" if "false_positive_rate" in known else main_rates(facet)[0]


def _rates_in(metric: str) -> list[str]:
    """A rate itself; of a criterion and of Clarify's metrics the rate that they are about."""
    if metric in CRITERIA:
        return list(CRITERIA[metric].rates[-1:])
    clarify = CLARIFY.get(GATE_METRICS.get(metric, ""))
    return [metric] if clarify is None else [clarify.rate] if clarify.rate is not None else []


def _fits_a_map(facet: Facet) -> bool:
    if len(facet.columns) != 2 or facet.groups_total > len(facet.groups):
        return False
    values = sorted(map(len, grid(facet)))
    return 2 <= values[0] <= _MAP_COLUMNS and values[1] <= _MAP_ROWS


def positive_values(document: Document, column: str) -> tuple[float | None, list[str]]:
    """What counts as positive in a column: what lies above a threshold, or the values."""
    spec, found = document.spec, asked(document.groups)
    thresholds = spec["groups"]["thresholds"]
    if column in thresholds:
        return thresholds[column], []
    values: Sequence[Any] = found.positive
    if found.label in thresholds:  # then those are the label's, cut in two
        given = (spec["groups"]["positive"], spec["bias_variable"]["positive"], 1)
        declared = next(one for one in given if one is not None)
        values = declared if isinstance(declared, list) else [declared]
    return None, [words.number(one) if isinstance(one, float) else str(one) for one in values]


def by_metric(several: Sequence[_Named]) -> dict[str, _Named]:
    """Metrics by their names."""
    return {one.metric: one for one in several}


def extremes(score: BiasScore) -> list[tuple[str, str, list[str]]]:
    """Who has the lowest and who the highest rate in each part of the score, and which rates these are."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for one in score.parts:
        if one.value:
            pairs.setdefault((one.lowest, one.highest), []).append(GROUP_METRICS[one.name].words.lower())
    return [(lowest, highest, rates) for (lowest, highest), rates in pairs.items()]


def places_with_rates(facet: Facet) -> list[int]:
    """Places of the groups with enough rows for their rates to be printed."""
    return [i for i, one in enumerate(facet.groups) if one.rates is not None]


def without_reference(facet: Facet, places: Sequence[int]) -> list[int]:
    """Places without that of the reference."""
    return [i for i in places if facet.groups[i].group != facet.reference]


def shared_reason(values: Sequence[GroupValue], places: Sequence[int]) -> str | None:
    """Why a metric is undefined, where that is the same for all of these groups."""
    reasons = {values[i].undefined_reason for i in places}
    return reasons.pop() if len(reasons) == 1 else None


def hold_together(facet: Facet) -> bool:
    """Whether intervals of differences hold for all groups at once."""
    values = [one for metric in (*facet.against_reference, *facet.clarify) for one in metric.values]
    return any(one.together_low is not None for one in values)


def ends(one: GroupValue, unit: words.Unit | None) -> str:
    """The interval that holds for all groups at once, where it is known; nothing where there is none."""
    together = one.together_low is not None and one.together_high is not None
    low, high = (one.together_low, one.together_high) if together else (one.low, one.high)
    if low is None or high is None:
        return ""
    return span(*(words.signed(x, unit) if unit else words.number(x) for x in (low, high)))
