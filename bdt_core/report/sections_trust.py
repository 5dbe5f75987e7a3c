"""The sections on how far to trust what was found, and on what the clusters stand in for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.blocks import Block, Cell, Facts, Paragraph, Section, Table, cells, columns

if TYPE_CHECKING:
    from bdt_core.report.document import Cluster, Document, Proxy


def trust_section(document: Document) -> Section | None:
    """Stability, the winner's curse, repeated splits and how well the words fit."""
    if document.primary_test.comparison is None:
        return None
    facts = [*_shrinkage(document), *_stability(document), *_repeats(document), *_procedure(document)]
    blocks: list[Block] = [Facts(tuple(facts))] if facts else []
    stable = document.stability is not None
    rows = tuple(_row(one) for one in document.clusters)
    heads = (
        "Cluster",
        "Said to be",
        "#Rule is right",
        "#Rule covers",
        *(("#Found again", "Stability") if stable else ()),
    )
    blocks.append(
        Table("How well the words fit, on the test rows, and how stable each cluster is", columns(*heads), rows)
    )
    return Section("trust", "How far to trust this", tuple(blocks))


def proxies_section(document: Document) -> Section | None:
    """Protected attributes that the most deviating cluster stands in for."""
    if not document.proxies:
        return None
    told = Paragraph(
        "These columns were kept out of the search. Where cluster 0 differs in them all the same, other columns stand "
        "in for them: they are proxies. The area under the curve (AUC) says how well being in cluster 0 tells the "
        "level: 0.5 is not at all, 1 is without error; below 0.5 it tells its absence. It counts everybody with that "
        "level, so a small cluster has an AUC near 0.5 even if all of its members share the level."
    )
    table = Table(
        "What cluster 0 stands in for, on the test rows",
        columns("Protected", "#Cluster 0", "#Everybody else", "#Difference", "#AUC", "#p, corrected", "Finding"),
        tuple(_proxy_row(one) for one in document.proxies),
    )
    return Section("proxies", "Proxies for protected attributes", (told, table))


def _shrinkage(document: Document) -> list[tuple[str, str]]:
    found, unit = document.primary_test.shrinkage, document.bias_variable.unit
    if found is None:
        return []
    points = " points" if unit == "rate" else ""
    return [
        (
            "Train rows against test rows",
            f"The search saw harm of {words.signed(found.train_gap, unit)}{points} in cluster 0 on the train rows; "
            f"on the test rows it is {words.signed(found.test_gap, unit)}{points}. Whoever looks for the largest "
            "gap sees it too large on average, so only the test rows count.",
        )
    ]


def _stability(document: Document) -> list[tuple[str, str]]:
    found = document.stability
    if found is None:
        return []
    return [
        (
            "Stability",
            f"The clustering was repeated on {found.bootstraps} draws of the train rows and from "
            f"{found.seeds} other seeds. Agreement with the clusters shown (adjusted Rand index; 1 is equal, 0 is "
            f"chance): {words.number(found.rand_bootstraps)} over draws, {words.number(found.rand_seeds)} over "
            "seeds. A cluster found again with a mean Jaccard similarity of 0.85 or more is stable; below 0.6 its "
            "borders should not be interpreted, though the difference that was tested on it stands.",
        )
    ]


def _repeats(document: Document) -> list[tuple[str, str]]:
    found, unit = document.primary_test.repeated_splits, document.bias_variable.unit
    if found is None:
        return []
    p_values = ", ".join(words.p_number(p) for p in found.p_values)
    spread = ", ".join(words.signed(one, unit) for one in found.differences)
    return [
        (
            "Repeated splits",
            f"{len(found.p_values)} independent splits, this report's own first: p {p_values}; differences "
            f"{spread}. Combined (twice the median): {words.p_value(found.p_combined)}.",
        )
    ]


def _procedure(document: Document) -> list[tuple[str, str]]:
    found = document.primary_test.permuted_procedure
    if found is None:
        return []
    return [
        (
            "The whole procedure on permuted data",
            f"The bias variable was shuffled {words.count(found.permutations)} times, and each time "
            f"clustered and tested again: {words.p_value(found.p_value)}.",
        )
    ]


def _row(one: Cluster) -> tuple[Cell, ...]:
    rule, stability = one.rule, one.stability
    found = () if stability is None else (words.number(stability.jaccard), stability.word)
    return cells(str(one.cluster), rule.text, words.percent(rule.precision), words.percent(rule.recall), *found)


def _proxy_row(one: Proxy) -> tuple[Cell, ...]:
    is_level = one.level is not None
    unit: words.Unit = "rate" if is_level else "value"
    low, high = words.number(one.auc_low), words.number(one.auc_high)
    return cells(
        f"{one.column}: {one.level}" if is_level else one.column,
        words.value(one.cluster, unit),
        words.value(one.rest, unit),
        Cell(
            words.signed(one.difference, unit) + (" points" if is_level else ""),
            note=f"[{words.signed(one.low, unit)} to {words.signed(one.high, unit)}]",
        ),
        Cell(words.number(one.auc), note=f"[{low} to {high}]"),
        words.p_number(one.p_adjusted),
        Cell("differs") if one.significant else Cell("no significant difference", tone="muted"),
    )
