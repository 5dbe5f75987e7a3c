"""The sections on how the clusters came about, and how the original tool would test them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bdt_core import words
from bdt_core.report.blocks import Block, Facts, Figure, Folded, Paragraph, Section, Subheading, Table, cells, columns
from bdt_core.report.wording import asked

if TYPE_CHECKING:
    from bdt_core.inference import Comparison
    from bdt_core.report.document import Cluster, Document, LevelsTest


def tree_section(document: Document) -> Section:
    """The splits that made the clusters, and each cluster in detail."""
    split = document.split
    figure = Figure(
        "tree",
        f"The splits that made the clusters, on {words.count(split.train_rows)} train rows. Gaps on train rows are "
        "too large on average, because the search looked for large ones; the test rows above tell the truth.",
        f"Tree of the splits that led to {len(document.clusters)} clusters; the folded list below gives each path.",
    )
    order = [one.name for one in document.data.columns]
    details = tuple(block for one in document.clusters for block in _cluster_details(one, document, order))
    return Section("tree", "How the clusters came about", (figure, Folded("Each cluster in detail", details)))


def _cluster_details(one: Cluster, document: Document, order: Sequence[str]) -> list[Block]:
    unit = document.bias_variable.unit
    rule, profile = one.rule, one.profile
    places = {name: place for place, name in enumerate(order)}
    known = sorted(profile, key=lambda name: (places.get(name, len(places)), name))
    points = " points" if unit == "rate" else ""
    facts = [
        ("Rule", f"{rule.text}" + (
            f" ({words.percent(rule.precision)} of those it names are in the cluster; it names "
            f"{words.percent(rule.recall)} of the cluster)" if rule.precision is not None else "")),
        ("On the train rows", f"{words.count(one.train_rows)} rows, "
         f"{document.bias_variable.short} "
         f"{words.value(one.train_mean, unit)}, gap {words.signed(one.train_gap, unit)}{points} "
         "(higher is worse)"),
        ("Typical member", "; ".join(f"{name}: {_level(profile[name])}" for name in known) or words.NOTHING),
    ]  # fmt: skip
    if one.path:
        facts.insert(1, ("Path", " → ".join(one.path)))
    return [Subheading(f"Cluster {one.cluster}"), Facts(tuple(facts))]


def _level(x: Any) -> str:
    return x if isinstance(x, str) and x not in ("Infinity", "-Infinity") else words.number(x)


def original_tool_section(document: Document) -> Section:
    """The t and chi-squared tests of the tool that this audit goes back to, beside ours."""
    note = Paragraph(
        "The unsupervised bias detection tool compares means by a t-test and categories by Pearson's chi-squared "
        "test. Its statistics on the same test rows, not corrected for the number of tests, are given for comparison "
        "only. On a bias variable with two values and a small cluster the t-test rejects far too often; no verdict "
        "here rests on it."
    )
    clusters = Table(
        "Clusters: t statistics of cluster against everybody else",
        columns("Cluster", "#Pooled t", "#p", "#Welch's t", "#p"),
        tuple(cells(str(one.cluster), *_t_cells(one.comparison)) for one in document.clusters),
    )
    blocks: list[Block] = [note, clusters]
    features = document.differences.features
    numbers = [one for one in features if one.kind == "numeric"]
    categories = [one for one in features if one.kind == "categorical" and one.table]
    if numbers:
        blocks.append(
            Table(
                "Numbers: t statistics",
                columns("Column", "#Pooled t", "#p", "#Welch's t", "#p"),
                tuple(cells(one.column, *_t_cells(one.comparison)) for one in numbers),
            )
        )
    if categories:
        blocks.append(
            Table(
                "Categories: Pearson's chi-squared",
                columns("Column", "#χ²", "#Degrees of freedom", "#p", "#Cramér's V"),
                tuple(cells(one.column, *_chi_cells(asked(one.table))) for one in categories),
            )
        )
    folded = Folded("t and chi-squared statistics", tuple(blocks))
    return Section("original", "As the original tool tests it", (folded,))


def _t_cells(comparison: Comparison) -> list[str]:
    return [
        words.number(comparison.pooled_t),
        words.p_number(comparison.pooled_t_p_value),
        words.number(comparison.welch_t),
        words.p_number(comparison.welch_t_p_value),
    ]


def _chi_cells(table: LevelsTest) -> list[str]:
    return [
        words.number(table.pearson_chi2),
        words.count(table.dof),
        words.p_number(table.pearson_p_value),
        words.number(table.cramers_v),
    ]
