"""How the metrics of declared groups are written, and what the sections and the figures on them choose to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from bdt_core import words
from bdt_core.metrics import CLARIFY, CRITERIA, GATE_METRICS, GROUP_METRICS, SCORES, plain_name
from bdt_core.report.blocks import Cell
from bdt_core.report.wording import whole

Document = dict[str, Any]
Facet = dict[str, Any]
FIGURES_SHOWN = 4
PANELS = 4
_MAP_ROWS, _MAP_COLUMNS = 20, 8


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


def rate_cell(group: dict[str, Any], rate: str, *, counts: bool = False) -> Cell:
    """A rate of a group with its interval, and if wanted with its counts, or why it is undefined."""
    one = group["rates"].get(rate)
    if one is None:
        return Cell(words.NOTHING)
    if one["estimate"] is None:
        return Cell("undefined", note=one["undefined_reason"] or "", tone="muted")
    notes = [_limits(one, rate)]
    if counts and one["events"] is not None:
        notes.append(whole(f"{words.count(int(one['events']))} of {words.count(int(one['n']))}"))
    return Cell(rate_value(rate, one["estimate"]), note="; ".join(note for note in notes if note))


def rate_told(group: dict[str, Any], rate: str) -> str:
    """A rate of a group with its interval, within a sentence."""
    one = group["rates"].get(rate)
    if one is None or one["estimate"] is None:
        return "undefined"
    return f"{rate_value(rate, one['estimate'])} {_limits(one, rate)}".rstrip()


def _limits(one: dict[str, Any], rate: str) -> str:
    if one["low"] is None or one["high"] is None:
        return ""
    low, high = (rate_value(rate, one[end]).removesuffix(" %") for end in ("low", "high"))
    return span(low, high)


def main_rates(facet: Facet) -> list[str]:
    """The rates that stand for all: those of the prediction, or of the label where nothing is predicted."""
    known = known_rates(facet)
    of = "prediction" if "selection_rate" in known else "label"
    return [one for one in known if of in GROUP_METRICS[one].shown]


def known_rates(facet: Facet) -> list[str]:
    """Every rate that some group has, in the usual order."""
    known = {name for one in with_rates(facet) for name in one["rates"]}
    return [name for name in GROUP_METRICS if name in known]


def with_rates(facet: Facet) -> list[dict[str, Any]]:
    """Groups with enough rows for their rates to be printed."""
    return [one for one in facet["groups"] if one["rates"] is not None]


def lowest_and_highest(
    facet: Facet, rate: str, left_out: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The groups between which a rate ranges, without those left out; None where fewer than two are known."""
    out = set(left_out)
    known = [
        one
        for one in with_rates(facet)
        if one["group"] not in out and isinstance(one["rates"].get(rate, {}).get("estimate"), int | float)
    ]
    if len(known) < 2 or facet["groups_total"] > len(facet["groups"]):
        return None
    return (
        min(known, key=lambda one: one["rates"][rate]["estimate"]),
        max(known, key=lambda one: one["rates"][rate]["estimate"]),
    )


def left_out(facet: Facet, rate: str) -> list[str]:
    """Groups with too few rows to be compared in a rate."""
    asked = {f"{name}_difference" for name, one in CRITERIA.items() if one.rate == rate}
    return next((one["left_out"] for one in facet["ranges"] if one["metric"] in asked), [])


def figures_of_groups(document: Document) -> dict[str, tuple[Facet, Literal["rates", "map"]]]:
    """Figures on declared groups by name: of the first groupings that can be drawn.

    Parameters
    ----------
    document : dict
        As `bdt_core.report.printed.printed` gives it.
    """
    facets = document["groups"]["facets"] if document["groups"] else []
    drawn = [one for one in facets if main_rates(one)][:FIGURES_SHOWN]
    return {f"groups_{i}": (one, "map" if _fits_a_map(one) else "rates") for i, one in enumerate(drawn, 1)}


def grid(facet: Facet) -> tuple[list[Any], list[Any]]:
    """Values of the two columns of an intersection, each in order."""
    rows, columns = (
        sorted({one["values"][i] for one in facet["groups"]}, key=lambda x: (isinstance(x, str), x)) for i in (0, 1)
    )
    return rows, columns


def map_rate(document: Document, facet: Facet) -> str:
    """The rate that a map shows: the first that the gate limits for these groups, or the false positive rate."""
    known = known_rates(facet)
    for one in document["gate"]:
        if one["kind"] == "metric" and one["facet"] == facet["facet"]:
            for rate in (*_rates_in(one["metric"]), *_rates_in(plain_name(one["metric"]))):
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
    if len(facet["columns"]) != 2 or facet["groups_total"] > len(facet["groups"]):
        return False
    values = sorted(map(len, grid(facet)))
    return 2 <= values[0] <= _MAP_COLUMNS and values[1] <= _MAP_ROWS
