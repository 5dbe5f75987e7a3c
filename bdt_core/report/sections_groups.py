"""The section on groups that were declared: their rates, how they differ, and every metric in depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bdt_core import words
from bdt_core.metrics import GROUP_METRICS
from bdt_core.report.blocks import (
    Block,
    Bullets,
    Cell,
    Column,
    Figure,
    Paragraph,
    Section,
    Subheading,
    Table,
    cells,
    columns,
)
from bdt_core.report.sections_groups_compared import criteria_table, score_sentences
from bdt_core.report.sections_groups_depth import depth
from bdt_core.report.wording_groups import (
    PANELS,
    figures_of_groups,
    main_rates,
    map_rate,
    rate_cell,
    rate_head,
    rate_told,
    with_rates,
)

Document = dict[str, Any]
Facet = dict[str, Any]
GROUPS_SHOWN = 30
_TOLD_IN_ALT = 10


def groups_section(document: Document) -> Section | None:
    """Groups that were declared, compared on all rows; None when none were.

    Parameters
    ----------
    document : dict
        As `bdt_core.report.printed.printed` gives it.
    """
    groups = document["groups"]
    if groups is None:
        return None
    figures = {id(facet): (name, kind) for name, (facet, kind) in figures_of_groups(document).items()}
    blocks: list[Block] = [Paragraph(one) for one in _introduction(document)]
    if groups["notes"]:
        blocks.append(Bullets(tuple(groups["notes"])))
    for facet in groups["facets"]:
        blocks += _facet_blocks(document, facet, figures.get(id(facet)))
    return Section("groups", "Declared groups", tuple(blocks))


def _introduction(document: Document) -> Iterator[str]:
    groups = document["groups"]
    if not groups["facets"]:
        yield "There is no grouping to compare."
        return
    means = [
        f"a positive {what} is {_positive(document, groups[what])}"
        for what in ("prediction", "label")
        if groups[what] is not None
    ]
    yield (
        "These groups were declared, not searched for: nothing about them was chosen by looking at the rows, so they "
        f"are compared on all rows, train and test alike. Here {' and '.join(means)}. Of a group with fewer than "
        f"{groups['min_rows']} rows nothing but the number of rows is printed."
    )
    yield (
        "These numbers cannot know whether a positive prediction is good for a person, as a loan is, or bad, as a "
        "suspicion is; that decides whom a high selection rate harms. Errors are worse the more there are of them: a "
        "low accuracy or precision is worse, and so is a high false positive or false negative rate. Between groups a "
        "larger difference is worse, and so is a ratio further from 1."
    )


def _positive(document: Document, column: str) -> str:
    """What counts as positive in a column."""
    spec, groups = document["spec"], document["groups"]
    thresholds = spec["groups"]["thresholds"]
    if column in thresholds:
        return f"{column} above {words.number(thresholds[column])}"
    values = groups["positive"]
    if groups["label"] in thresholds:  # then those are the label's, cut in two
        given = (spec["groups"]["positive"], spec["bias_variable"]["positive"], 1)
        declared = next(one for one in given if one is not None)
        values = declared if isinstance(declared, list) else [declared]
    told = [words.number(one) if isinstance(one, float) else str(one) for one in values]
    return f"{column} = {told[0]}" if len(told) == 1 else f"{column} = one of {', '.join(told)}"


def _facet_blocks(document: Document, facet: Facet, figure: tuple[str, str] | None) -> list[Block]:
    confidence = f"{document['groups']['confidence'] * 100:.4g} %"
    blocks: list[Block] = [Subheading(f"By {facet['facet']}"), Paragraph(_who(document, facet))]
    if facet["notes"]:
        blocks.append(Bullets(tuple(facet["notes"])))
    if figure is not None:
        blocks.append(_figure(document, facet, *figure))
    if facet["groups"]:
        blocks.append(_rates_table(document, facet, confidence))
    if facet["ranges"]:
        blocks.append(criteria_table(facet, confidence))
    if facet["bias_score"] is not None:
        blocks.append(Paragraph(score_sentences(facet["bias_score"])))
    return [*blocks, *depth(facet, confidence)]


def _who(document: Document, facet: Facet) -> str:
    groups = facet["groups_total"]
    told = [f"{words.count(facet['rows'])} rows, {words.count(groups)} group{'s' * (groups != 1)}."]
    groups_of = document["groups"]
    needed = (*facet["columns"], groups_of["label"], groups_of["prediction"])
    stratum = None if groups_of["stratum"] in needed else groups_of["stratum"]
    lacking = [f"{column} in {words.count(n)}" for column, n in facet["missing"].items() if n and column != stratum]
    if lacking:
        told.append(f"Values are missing, and those rows are in no group: {', '.join(lacking)}.")
    if facet["missing"].get(stratum):
        without = words.count(facet["missing"][stratum])
        told.append(f"{stratum} is missing in {without} rows, without which CDDL and CDDPL alone are computed.")
    if groups > GROUPS_SHOWN:
        told.append(
            f"The {GROUPS_SHOWN} largest groups are shown; {words.count(groups - GROUPS_SHOWN)} more stand in "
            "report.json."
        )
    return " ".join(told)


def _figure(document: Document, facet: Facet, name: str, kind: str) -> Figure:
    if kind == "map":
        rate = map_rate(document, facet)
        rates_name = GROUP_METRICS[rate].words
        told = [f"{one['group']} {rate_told(one, rate)}" for one in with_rates(facet)]
        return Figure(
            name,
            f"{rates_name} of every combination of {' and '.join(facet['columns'])}, and below it how many "
            "people it is taken of. The darker, the higher.",
            f"Map of the {rates_name.lower()} by {facet['facet']}: {_some(told)}.",
        )
    rates = main_rates(facet)[:PANELS]
    told = [
        f"{one['group']}: {', '.join(f'{GROUP_METRICS[rate].words.lower()} {rate_told(one, rate)}' for rate in rates)}"
        for one in with_rates(facet)
    ]
    return Figure(
        name,
        f"Rates by {facet['facet']}, the largest group first, with intervals for each group alone. Every panel has its "
        "own scale.",
        f"Chart of rates by {facet['facet']}: {_some(told)}.",
    )


def _some(told: Sequence[str]) -> str:
    more = len(told) - _TOLD_IN_ALT
    return "; ".join([*told[:_TOLD_IN_ALT], *([f"{more} more groups stand in the tables"] if more > 0 else [])])


def _rates_table(document: Document, facet: Facet, confidence: str) -> Table:
    few = f"fewer than {document['groups']['min_rows']} rows"
    rates = main_rates(facet)
    rows = []
    for one in facet["groups"][:GROUPS_SHOWN]:
        if one["rates"] is not None:
            shown = [rate_cell(one, rate) for rate in rates]
        else:
            shown = [Cell(words.NOTHING) for _ in rates]
            shown[:1] = [Cell("not printed", note=few, tone="muted")]
        name = Cell(one["group"], note="reference" if one["group"] == facet["reference"] else "")
        rows.append(cells(name, words.count(one["rows"]), *shown))
    heads = (*columns("Group", "#Rows"), *(Column(rate_head(rate), number=True) for rate in rates))
    return Table(
        f"Rates by {facet['facet']}, with {confidence} intervals for each group alone",
        heads if rates else (*heads, Column("Rates", number=True)),
        tuple(rows),
    )
