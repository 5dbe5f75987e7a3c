"""The section on one facet of a Clarify analysis: who was compared, rates, metrics, all groups together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bdt_core import words
from bdt_core.clarify.analysis import DESCRIPTIONS
from bdt_core.clarify.wording import GROUPS_SHOWN, READINGS, TABLES, figure, largest, meaning, side_of, who
from bdt_core.fairness.flips import Sign
from bdt_core.fairness.metric_results import BiasMetrics, Metric, group_name
from bdt_core.report.blocks import Block, Cell, Column, Facts, Section, Table, Tone, cells, columns
from bdt_core.report.wording import whole

_SIDE_BY_SIDE = 4
_MIN_ROWS = 30
_RATES = {
    "prevalence": "Favourable labels",
    "selection_rate": "Favourable predictions",
    "true_positive_rate": "Recall",
    "false_positive_rate": "False positive rate",
    "positive_predictive_value": "Precision",
    "accuracy": "Accuracy",
}
_TONES: dict[str, Tone] = {"worse": "harm", "better": "good", "undefined": "muted"}


def facet_section(place: int, found: BiasMetrics, wanted: Sequence[str], signs: Sign) -> Section:
    """Everything about one facet.

    Parameters
    ----------
    place : int
        Of the facet among all, from 1.
    found : BiasMetrics
    wanted : sequence of str
        Metrics that were asked for.
    signs : {"paper", "smclarify"}
    """
    groups = largest(found)
    blocks: list[Block] = [Facts(tuple(_counts(found, groups)))]
    if (rates := _rates_table(found)) is not None:
        blocks.append(rates)
    for title, names in TABLES:
        shown = [one for one in names if one in wanted]
        if shown:
            blocks += _metric_tables(title, shown, found, groups, signs)
    ranges = [one for one in found.metrics if one.kind == "range"]
    if ranges and len(found["selection_rate"].values) > 1:
        blocks.append(_ranges_table(ranges, found.confidence))
    d = who(found, 0) if len(found["CI"].values) == 1 else f"{found.facet}: each value"
    return Section(f"facet-{place}", f"{d} against everybody else", tuple(blocks))


def _counts(found: BiasMetrics, groups: Sequence[int]) -> Iterator[tuple[str, str]]:
    yield "Rows", words.count(found.rows)
    for column, n in found.missing.items():
        if n:
            yield f"Without a value of {column}", f"{words.count(n)} rows, in no metric"
    names = ", ".join(group_name(found["CI"].values[i]) for i in groups)
    yield ("d", names if len(groups) == 1 else f"each group in turn: {names}")
    yield "a", "everybody else with a known value"
    if found.group is not None:
        yield "Strata", found.group


def _rates_table(found: BiasMetrics) -> Table | None:
    """Rates of every group; nothing but its size of a group with few rows."""
    sizes = found["selection_rate" if found.prediction is not None else "prevalence"].n
    names = [one for one in _RATES if any(x is not None for x in found[one].estimate)]
    groups = sorted(range(len(sizes)), key=lambda i: -sizes[i])[:GROUPS_SHOWN]
    if not names or not groups:
        return None
    rows = []
    for i in groups:
        few = sizes[i] < _MIN_ROWS
        shown = [Cell(words.NOTHING, tone="muted") if few else _rate(found[one], i) for one in names]
        note = f"fewer than {_MIN_ROWS} rows: not printed" if few else ""
        rows.append(cells(Cell(found["selection_rate"].names[i], note=note), words.count(int(sizes[i])), *shown))
    more = len(sizes) - len(groups)
    return Table(
        f"Rates of the groups, with {found.confidence * 100:.4g} % intervals"
        + (f"; {more} smaller groups stand in metrics.csv" if more else ""),
        (*columns("Group", "#Rows"), *(Column(_RATES[one], number=True) for one in names)),
        tuple(rows),
    )


def _rate(metric: Metric, i: int) -> Cell:
    if metric.estimate[i] is None:
        return Cell("undefined", note=metric.undefined_reason[i] or "", tone="muted")
    low, high = (words.percent(one).removesuffix(" %") for one in (metric.low[i], metric.high[i]))
    return Cell(words.percent(metric.estimate[i]), note=whole(f"[{low} to {high}]"))


def _metric_tables(
    title: str, names: Sequence[str], found: BiasMetrics, groups: Sequence[int], signs: Sign
) -> Iterator[Table]:
    """One d with an explanation beside it; several side by side."""
    several = len(groups) > 1
    for start in range(0, len(groups), _SIDE_BY_SIDE):
        part = groups[start : start + _SIDE_BY_SIDE]
        heads = [Column(group_name(found["CI"].values[i]) if several else "Value", number=True) for i in part]
        rows = [
            cells(
                Cell(name, note=DESCRIPTIONS[name].removesuffix(f" ({name})")),
                *(_value(name, found[name], 0 if name == "GE" else i, signs) for i in part),
                f"{READINGS[name].no_bias:g}",
                *(() if several else (meaning(name, signs),)),
            )
            for name in names
        ]
        yield Table(
            title + (f": groups {start + 1} to {start + len(part)} of {len(groups)}" if len(groups) > _SIDE_BY_SIDE
                     else ""),
            (Column("Metric"), *heads, Column("No bias", number=True), *(() if several else columns("What it says"))),
            tuple(rows),
        )  # fmt: skip


def _value(name: str, metric: Metric, i: int, signs: Sign) -> Cell:
    if metric.estimate[i] is None:
        return Cell("undefined", note=metric.undefined_reason[i] or "", tone="muted")
    limits = metric.low[i], metric.high[i]
    note = "" if None in limits else whole(f"[{figure(limits[0], name)} to {figure(limits[1], name)}]")
    tone = _TONES.get(side_of(metric, i, signs), "")
    return Cell(figure(metric.estimate[i], name), note=note, tone=tone)


def _ranges_table(ranges: Sequence[Metric], confidence: float) -> Table:
    """Differences and ratios over all groups at once."""
    by_name = {one.name: one for one in ranges}
    rows = []
    for one in ranges:
        name = one.name.removesuffix("_difference")
        if name == one.name:
            continue
        ratio = by_name[f"{name}_ratio"]
        left_out = ", ".join(map(group_name, one.excluded[:GROUPS_SHOWN]))
        note = f"without {left_out}: too few rows" if left_out else ""
        rows.append(
            cells(Cell(words.capital(name.replace("_", " ")), note=note), _over_all(one), _over_all(ratio),
                  words.p_number(one.p_value))
        )  # fmt: skip
    return Table(
        f"All groups together: largest difference and smallest ratio, with {confidence * 100:.4g} % intervals",
        columns("Rate", "#Difference", "#Ratio", "#p of equal rates"),
        tuple(rows),
    )


def _over_all(metric: Metric) -> Cell:
    one = metric.only
    if one.estimate is None:
        return Cell("undefined", note=one.undefined_reason or "", tone="muted")
    known = one.low is not None and one.high is not None
    note = whole(f"[{words.number(one.low)} to {words.number(one.high)}]") if known else ""
    return Cell(words.number(one.estimate), note=note)
