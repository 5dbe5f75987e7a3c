"""The sections on where the numbers come from: data, method, and how to repeat the audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bdt_core import words
from bdt_core.report.blocks import (
    Block,
    Cell,
    Code,
    Facts,
    Folded,
    Paragraph,
    Section,
    Table,
    cells,
    columns,
)
from bdt_core.report.wording import asked, correction_words, more_than_counted

if TYPE_CHECKING:
    from bdt_core.report.document import Document
    from bdt_core.table.audit_table import Column as TableColumn

_SPEC_ORDER = (
    "name", "source", "bias_variable", "features", "protected", "missing", "split", "clustering",
    "significance", "groups", "slices", "local_bias", "mitigation", "gate", "require",
)  # fmt: skip
_METHODS = {
    "kmeans": "numbers, by k-means",
    "kmodes": "categories, by k-modes",
    "kprototypes": "numbers and categories together, by k-prototypes",
}
_GROUPS_METHOD = (
    "Declared groups are compared from counts of all rows. A rate has Wilson's interval, or Jeffreys' below 40 rows; a "
    "difference has Newcombe's, a ratio Koopman's. Whether all groups are alike is one chi-squared test per criterion, "
    "corrected by Holm's method over all groupings and criteria; the range over the groups has an interval from limits "
    "that hold for all pairs at once, because the largest of many differences is never zero, not even where nothing "
    "differs. For the same reason the composite score stands beside the one that chance alone would give."
)
_SLICES_METHOD = (
    "Intersections are found on the train rows and tested on the test rows, by the same tests as clusters, one-sided "
    "for harm. Each is compared with everybody who is not in it. Benjamini and Hochberg's method bounds the share of "
    "false discoveries among all that are called worse; intersections with stronger evidence on the train rows have a "
    "larger part of it. An intersection within a reported one that is no worse is listed under it."
)
_LOCAL_BIAS_METHOD = (
    "Local bias is searched by LOGAN (Zhao and Chang, 2020): k-means whose objective also counts the gap between the "
    "groups within each cluster. Its published figures count clusters with a gap of their own train rows, which are "
    "there by chance as well; so they stand beside those of plain k-means, beside those with the groups shuffled "
    "within clusters, and beside exact tests (for the area under the curve, DeLong's) of the gaps on the test rows."
)
_MITIGATION_METHOD = (
    "Thresholds per group are chosen by an exact sweep over all scores of the train rows. Before and after are "
    "measured on the test rows: ranges over groups with limits that hold for all pairs at once, the change of accuracy "
    "on the same rows. It is the effect of these thresholds on these people; nobody's behaviour is taken to change."
)
_DRAWN = {
    "rules": "the words for clusters",
    "stability": "the stability of clusters",
    "repeats": "the repeated splits and permutations of the whole procedure",
    "auc_of_features": "areas under the curve of numbers with many values",
    "slice_edges": "the places where intersections cut numbers",
    "slice_permutations": "permutation tests of intersections",
    "flip_test": "the flip test",
}
_WHICH_ROWS = {"rules": "train rows", "stability": "train rows", "slice_edges": "train rows",
               "slice_permutations": "test rows", "auc_of_features": "test rows"}  # fmt: skip
_DEPTH_METHODS = {"slices": _SLICES_METHOD, "local_bias": _LOCAL_BIAS_METHOD, "mitigation": _MITIGATION_METHOD}


def data_section(document: Document) -> Section:
    """The rows, what was left out and why, and the columns with their roles."""
    data, split, variable = document.data, document.split, document.bias_variable
    unit = variable.unit
    facts = Facts(
        (
            ("Source", data.source),
            ("Rows", f"{words.count(data.rows)}, of which {words.count(data.rows_audited)} audited"),
            (
                "Split",
                f"{words.count(split.train_rows)} train rows to find clusters, {words.count(split.test_rows)} "
                f"test rows to judge them; {_divided(document)}seed {split.random_state}",
            ),
            (
                "Bias variable",
                f"{variable.name}, the {variable.description}; train rows "
                f"{words.value(variable.train_mean, unit)}, test rows {words.value(variable.test_mean, unit)}",
            ),
            ("Fingerprint", data.fingerprint),
        )
    )
    blocks: list[Block] = [facts]
    if data.rows_left_out:
        blocks.append(
            Table(
                "Rows left out",
                columns("Reason", "#Rows"),
                tuple(cells(one.reason, words.count(one.rows)) for one in data.rows_left_out),
            )
        )
    blocks.append(Folded(f"The {len(data.columns)} columns", (_columns_table(data.columns),)))
    return Section("data", "Data", tuple(blocks))


def _divided(document: Document) -> str:
    """How train and test rows were told apart; nothing where they were simply drawn."""
    split = document.split
    if split.method == "hash":
        key = document.spec["split"].get("key")
        return f"each {'row' if key is None else f'value of {key}'} divided by a random number made of its content; "
    return "stratified by the bias variable; " if split.stratified else ""


def _columns_table(described: Sequence[TableColumn]) -> Table:
    return Table(
        "Columns and their roles",
        columns("Column", "Role", "Kind", "#Missing", "#Distinct values"),
        tuple(
            cells(
                one.name,
                Cell(one.role.replace("_", " "), tone="muted" if one.role == "unused" else ""),
                one.kind or words.NOTHING,
                words.count(one.missing),
                more_than_counted(one.distinct),
            )
            for one in described
        ),
    )


def method_section(document: Document) -> Section:
    """How clusters are searched and tested, and what a verdict means."""
    spec, search, split = document.spec, document.search, document.split
    significance = spec["significance"]
    confidence = f"{(1 - significance['alpha']) * 100:.4g} %"
    worst = "highest" if document.bias_variable.better == "lower" else "lowest"
    blocks: list[Block] = [
        Paragraph(
            "Hierarchical bias-aware clustering (HBAC; Misztal-Radecka and Indurkhya, 2021) looks for groups of "
            "similar "
            f"people for whom the {document.bias_variable.name} deviates. It starts with all train rows and "
            "up to "
            f"{spec['clustering']['max_iter']} times takes the group in which the bias variable varies most and "
            "divides "
            f"it into two groups of similar people ({_METHODS.get(search.method, search.method)}). A division "
            f"stays if both parts have at least {words.count(search.min_cluster_rows)} rows and one of them is "
            "further from everybody else, in the harmful direction, than the group it came from. Clusters are numbered "
            f"from the worst off on the train rows: in cluster 0 the bias variable is {worst} against everybody else. "
            "Only features are used for this; protected columns are kept out and compared afterwards."
        ),
        Paragraph(
            "A search for large differences finds them even where there are none. So the rows are divided first: "
            f"clusters are found on {words.count(split.train_rows)} train rows and judged on "
            f"{words.count(split.test_rows)} test rows that the search never saw."
        ),
        Paragraph(
            "The main test compares cluster 0 with everybody else; it is one test, chosen before the test rows are "
            "looked at, and needs no correction. A bias variable with two values is compared by the mid-p value of the "
            "exact conditional test with Newcombe's interval; other variables by Welch's t-test, or by a studentised "
            "permutation test when rows are few or skewed. In the scan over all clusters, and over all columns, "
            f"{correction_words(significance['correction'])}. A cluster with fewer than "
            f"{significance['min_rows']} test "
            "rows is not tested and its rates are not printed. A limit is judged by the "
            f"{confidence} confidence interval; to fail, the test must reject too."
        ),
        Facts(tuple((words.VERDICT_WORDS[one], meaning) for one, meaning in words.VERDICT_MEANINGS.items())),
        Paragraph(
            "What this report does not say: that people are discriminated against, or that they are not. A deviation "
            "is a starting point for human experts; a missing one may only mean that the features do not describe the "
            "group that is treated differently, or that it is too small to be seen."
        ),
    ]
    if document.groups is not None:
        blocks.insert(-2, Paragraph(_GROUPS_METHOD))
    for part, told in _DEPTH_METHODS.items():
        if getattr(document, part) is not None:
            blocks.insert(-2, Paragraph(told))
    if document.drawn:
        blocks.insert(-2, Paragraph(_large_table(document)))
    return Section("method", "Method", tuple(blocks))


def _large_table(document: Document) -> str:
    """What of a large table was worked out on how many of its rows."""
    drawn = asked(document.drawn)
    told = [
        f"{name} on {words.count(one.rows)} of {words.count(one.of)} {_WHICH_ROWS.get(part, 'rows')}"
        for part, name in _DRAWN.items()
        if (one := drawn.parts.get(part)) is not None
    ]
    told += [
        f"{name} on {words.count(found.train_rows)} train and {words.count(found.test_rows)} test rows"
        for name, part in (("local bias", "local_bias"), ("mitigation", "mitigation"))
        if (found := getattr(document, part)) is not None
    ]
    rounded = " The area under the curve of the score is that of scores rounded to 65,535 steps of their range."
    return (
        f"The table has more than {words.count(drawn.large_rows)} rows. Clusters, their tests, the comparison of "
        "columns, and the counts of groups and intersections are of all rows. "
        + (
            f"What needs single rows was worked out on some, drawn by a hash of their content: {'; '.join(told)}."
            if told
            else ""
        )
        + (rounded if drawn.scores_rounded else "")
    )


def repeat_section(document: Document) -> Section:
    """The whole specification and the versions: the same data gives the same report."""
    software = document.software
    order = {"bdt": 0, "python": 1}
    versions = tuple((name, software[name]) for name in sorted(software, key=lambda name: (order.get(name, 2), name)))
    return Section(
        "repeat",
        "To repeat this audit",
        (
            Paragraph("The same data, specification and versions give the same report, byte for byte."),
            Folded("Specification", (Code(_yaml(document.spec)),)),
            Folded("Software", (Facts(versions),)),
        ),
    )


def _yaml(spec: dict[str, Any]) -> str:
    """The specification as YAML, in its usual order; what is null has its default and is left out."""
    import yaml

    known = sorted(spec, key=lambda key: (_SPEC_ORDER.index(key) if key in _SPEC_ORDER else len(_SPEC_ORDER), key))
    ordered = {key: _without_nulls(spec[key]) for key in known}
    dumped: str = yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=100)
    return dumped.rstrip()


def _without_nulls(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _without_nulls(x[key]) for key in sorted(x) if x[key] is not None}
    if isinstance(x, list):
        return [_without_nulls(one) for one in x]
    return x
