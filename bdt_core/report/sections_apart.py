"""The section on what sets the most deviating cluster apart, and for whom it stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.blocks import Block, Cell, Figure, Folded, Paragraph, Section, Table, cells, columns
from bdt_core.report.wording import correction_words, interval_note

if TYPE_CHECKING:
    from bdt_core.report.document import CategoricalFeature, Document, Feature

LEVELS_SHOWN = 30
PROTECTED = "protected: kept out of the clustering"


def differences_section(document: Document) -> Section | None:
    """What sets the most deviating cluster apart."""
    differences = document.differences
    features = differences.features
    if not features:
        return None
    label = differences.cluster
    said: dict[bool | None, str] = {
        True: f"The bias variable of cluster {label} differs significantly from everybody else's, so it is worth "
        "asking who is in it.",
        False: f"The bias variable of cluster {label} does not differ significantly from everybody else's: read the "
        "differences below as a description, not as an explanation.",
        None: f"The bias variable of cluster {label} could not be tested: the differences below only describe the "
        "cluster.",
    }
    tests = (
        f"{words.count(differences.rows_cluster)} test rows in the cluster, {words.count(differences.rows_rest)} "
        f"others; {words.count(differences.tests)} tests, {correction_words(differences.correction)}."
    )
    figure = Figure(
        "apart",
        f"Cluster {label} against everybody else on the test rows, strongest columns first. "
        "Hollow marks: not significant.",
        _apart_alt(document),
    )
    table = Table(
        f"Columns in which cluster {label} differs, strongest first",
        columns("Column", "#In the cluster", "#Everybody else", "#Effect", "#p, corrected", "Finding"),
        tuple(_feature_row(one) for one in features),
    )
    blocks: list[Block] = [Paragraph(f"{said[differences.bias_difference_significant]} {tests}"), figure, table]
    levels = tuple(row for one in features if one.kind == "categorical" for row in _level_rows(one))
    if levels:
        all_levels = Table(
            "Share of each level in the cluster and among everybody else",
            columns("Column", "Level", "#Rows", "#In the cluster", "#Everybody else", "#Difference", "#p, corrected"),
            levels,
        )
        blocks.append(Folded("Every level of every category", (all_levels,)))
    return Section("differences", f"What sets cluster {label} apart", tuple(blocks))


def _feature_row(one: Feature) -> tuple[Cell, ...]:
    name = Cell(one.column, tag=PROTECTED if one.role == "protected" else "")
    if one.status != "tested":
        untested = Cell("not testable", note=one.reason or "", tone="muted")
        return cells(name, words.NOTHING, words.NOTHING, words.NOTHING, words.NOTHING, untested)
    if one.kind == "numeric":
        inside = Cell(words.number(one.mean_cluster), note="mean")
        outside = Cell(words.number(one.mean_rest), note="mean")
    else:
        level = one.strongest_level
        inside = Cell(words.percent(level.share_cluster), note=level.level) if level else Cell(words.NOTHING)
        outside = Cell(words.percent(level.share_rest), note=level.level) if level else Cell(words.NOTHING)
    differs = Cell("differs") if one.significant else Cell("no significant difference", tone="muted")
    return cells(
        name, inside, outside, Cell(words.number(one.effect), note=one.effect_name or ""),
        words.p_number(one.p_adjusted), differs,
    )  # fmt: skip


def _level_rows(one: CategoricalFeature) -> list[tuple[Cell, ...]]:
    levels = one.levels
    rows = []
    for level in levels[:LEVELS_SHOWN]:
        comparison = level.comparison
        difference = Cell(words.NOTHING)
        if comparison.difference is not None:
            difference = Cell(
                f"{words.signed(comparison.difference, 'rate')} points",
                note=interval_note(comparison, "rate"),
            )
        rows.append(
            cells(
                one.column,
                level.level,
                words.count(level.rows),
                words.percent(level.share_cluster),
                words.percent(level.share_rest),
                difference,
                words.p_number(level.p_adjusted),
            )
        )
    if len(levels) > LEVELS_SHOWN:
        more = f"{len(levels) - LEVELS_SHOWN} more levels are in report.json"
        rows.append(cells(one.column, Cell(more, tone="muted"), *[words.NOTHING] * 5))
    return rows


def _apart_alt(document: Document) -> str:
    apart = document.summary.what_sets_apart
    label = document.differences.cluster
    if not apart:
        return f"Chart of cluster {label} against everybody else: no column differs significantly."
    return f"Chart of what sets cluster {label} apart: {'; '.join(apart)}."
