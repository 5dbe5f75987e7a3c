"""Metadata of assets in the UI: counts, tables, figures, and numbers that plot over time.

No cell values: only what the report prints too.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from bdt_core import words
from bdt_core.metrics import harm_sign
from bdt_core.said import AsItIs, Column, Level, Numeral, Sentence, joined, of_ours, say
from bdt_core.spec.gate import name_of_check
from bdt_pipeline.resources.run_log import MarkdownList, MarkdownTable

if TYPE_CHECKING:
    from upath import UPath

    from bdt_core.clustering.stability import ClusterStability
    from bdt_core.report.printed import AnyDocument
    from bdt_core.significance.clusters import ComparedCluster
    from bdt_core.spec import Source
    from bdt_core.table.rows import Rows
    from bdt_core.verdict import LimitOutcome
    from bdt_pipeline.assets.values import Clusters, ClusterSignificance, DataFrame, FeatureDifferences

Metadata = dict[str, Any]
_ROWS = "dagster/row_count"
_COLUMNS = "dagster/column_schema"
_LINEAGE = "dagster/column_lineage"
_FIGURES = {
    "clusters": "clusters against everybody else",
    "apart": "what sets the most deviating cluster apart",
}


def table_of(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> MarkdownTable:
    """A table of texts.

    Examples
    --------
    >>> print(table_of(["column", "rows"], [["a|b", 3]]).markdown())
    | column | rows |
    | --- | --- |
    | a\\|b | 3 |
    """
    return MarkdownTable(header, rows)


def columns_cell(columns: Sequence[str]) -> str:
    """Columns whose levels make groups, as a cell that no language changes."""
    return joined([Column(one) for one in columns], " & ")


def group_cell(columns: Sequence[str], values: Sequence[Any]) -> str:
    """A group as a cell that no language changes; readers' own names for its levels stand in their place."""
    return joined([Level(str(one), column) for column, one in zip(columns, values, strict=True)], " & ")


def group_cell_of_text(columns: Sequence[str], group: str) -> str:
    """The cell of a group that is known by its text alone; as it is where a level has the joint in it."""
    levels = group.split(" & ")
    return group_cell(columns, levels) if len(levels) == len(columns) else AsItIs(group)


def data_cell(text: str) -> str:
    """A name of the reader's table, of a column or a level that nobody tells, as a cell that no language changes."""
    return text if isinstance(text, Sentence) else say("{name}", name=text)


def figure(document: AnyDocument, name: str, title: str) -> dg.MarkdownMetadataValue:
    """A figure of the report that stands in the event itself, so that it needs no file and no network."""
    from bdt_core.report.figures import figure_svg

    drawn = base64.b64encode(figure_svg(document, name).encode()).decode()
    return dg.MetadataValue.md(f"![{title}](data:image/svg+xml;base64,{drawn})")


def numbers(**values: words.Number) -> Metadata:
    """Numbers that plot over time, with the digits that the report says; what is not there or infinite is left out.

    Examples
    --------
    >>> {name: one.value for name, one in numbers(ratio=2 / 3, rows=7214, far=1234.6, high="Infinity").items()}
    {'ratio': 0.667, 'rows': 7214.0, 'far': 1235.0}
    """
    return _plotted(values, lambda x: float(f"{x:.0f}" if abs(x) >= 999.5 else f"{x:.3g}"))


def p_values(**values: words.Number) -> Metadata:
    """p-values that plot over time, with the digits that the report says.

    Examples
    --------
    >>> {name: one.value for name, one in p_values(p_value=0.04123, other=0.4567).items()}
    {'p_value': 0.041, 'other': 0.46}
    """
    return _plotted(values, lambda p: float(f"{p:.2g}" if p < 0.095 else f"{p:.2f}"))


def amounts(unit: str, **values: words.Number) -> Metadata:
    """Differences that plot over time as the report says them: of rates in points, to a tenth, which the key says.

    Examples
    --------
    >>> {name: one.value for name, one in amounts("rate", low=0.12345).items()}
    {'low in points': 12.3}
    """
    if unit != "rate":
        return numbers(**values)
    in_points: dict[str, words.Number] = {say("{what} in points", what=of_ours(name)): x for name, x in values.items()}
    return _plotted(in_points, lambda x: round(x * 100, 1))


def means(unit: str, **values: words.Number) -> Metadata:
    """Means that plot over time as the report says them: shares of people in percent, which the key says.

    Examples
    --------
    >>> {name: one.value for name, one in means("rate", mean=0.35123, rare=0.00042).items()}
    {'mean in percent': 35.1, 'rare in percent': 0.04}
    """
    if unit != "rate":
        return numbers(**values)
    in_percent: dict[str, words.Number] = {
        say("{what} in percent", what=of_ours(name)): x for name, x in values.items()
    }
    return _plotted(in_percent, lambda x: round(x * 100, 1 if abs(x) >= 0.001 else 2))


def _plotted(values: Mapping[str, words.Number], rounded: Callable[[float], float]) -> Metadata:
    return {
        name: dg.MetadataValue.float(rounded(value))
        for name, value in values.items()
        if isinstance(value, float | int) and math.isfinite(value)
    }


def raw_table(frame: DataFrame, source: Source, taken: Sequence[str] = ()) -> Metadata:
    """The table as read; of columns that were `taken` from the source's asset, with their lineage."""
    missing = frame.isna().sum()
    return {
        _ROWS: len(frame),
        _COLUMNS: _schema({str(name): str(kind) for name, kind in frame.dtypes.items()}),
        **(
            {}
            if source.asset is None
            else {
                _LINEAGE: column_lineage(
                    dg.AssetKey.from_user_string(source.asset), {one: [one] for one in taken if one in frame.columns}
                )
            }
        ),
        "columns": frame.shape[1],
        "source": source.described,
        "missing values": table_of(
            ["column", "type", "missing"],
            [[AsItIs(name), frame[name].dtype, f"{int(missing[name]):,}"] for name in frame.columns],
        ),
    }


def validated_table(table: Rows, read: dg.AssetKey) -> Metadata:
    """The audited rows and the columns' roles; the columns are those that were read, and what is measured."""
    from bdt_core.report.wording import more_than_counted
    from bdt_core.spec.wording import wording
    from bdt_core.table.audit_table import BIAS_VARIABLE

    types, bias = _types(table), table.spec.bias_variable
    measured = [one for one in (bias.column, bias.label, bias.prediction, bias.query) if one is not None]
    roles = {one.name: one.role.replace("_", " ") for one in table.columns} | {BIAS_VARIABLE: "what is measured"}
    made_of = {name: measured if name == BIAS_VARIABLE else [name] for name in types}
    return {
        _ROWS: table.audited_rows,
        _COLUMNS: _schema(types, roles),
        _LINEAGE: column_lineage(read, made_of),
        "bias variable": wording(table.spec.bias_variable).description,
        **_mean(table),
        **numbers(**{"rows audited": table.audited_rows}),
        "columns": table_of(
            ["column", "role", "kind", "missing", "distinct"],
            [
                [
                    AsItIs(one.name),
                    one.role.replace("_", " "),
                    one.kind or "",
                    *(("", "") if one.missing is None else (f"{one.missing:,}", more_than_counted(one.distinct))),
                ]
                for one in table.columns
            ],
        ),
        "rows left out": table_of(["reason", "rows"], [[one.reason, f"{one.rows:,}"] for one in table.left_out]),
        "warnings": listed(table.warnings),
        "fingerprint": table.fingerprint,
    }


def part(table: Rows, validated: dg.AssetKey) -> Metadata:
    """The train or the test rows, with the columns of the validated table."""
    types = _types(table)
    return {
        _ROWS: table.audited_rows,
        _COLUMNS: _schema(types),
        _LINEAGE: column_lineage(validated, {name: [name] for name in types}),
        **_mean(table),
        **numbers(rows=table.audited_rows),
    }


def column_lineage(before: dg.AssetKey, made_of: Mapping[str, Sequence[str]]) -> dg.TableColumnLineage:
    """Which columns of one asset before it each column comes from; `made_of` has those there by the one here."""
    return dg.TableColumnLineage(
        {name: [dg.TableColumnDep(before, one) for one in several] for name, several in made_of.items()}
    )


def _mean(table: Rows) -> Metadata:
    """Of the bias variable."""
    from bdt_core.table.measured import unit_of
    from bdt_core.table.summaries import mean_and_sd, summarise_bias_variable

    summary = summarise_bias_variable(table)
    return means(unit_of(summary), mean=mean_and_sd(summary)[0])


def _types(table: Rows) -> dict[str, str]:
    """Types of the columns; where the rows are in shards, an empty frame has them."""
    from bdt_core.table.audit_table import KEY, RANK, AuditTable

    frame = table.frame if isinstance(table, AuditTable) else table.header.frame  # type: ignore[attr-defined]
    return {str(name): str(kind) for name, kind in frame.dtypes.items() if name not in (KEY, RANK)}


def clusters(result: Clusters, unit: words.Unit) -> Metadata:
    """The clusters as they are on the train rows."""
    worst = result.train[0]
    stable = {one.label: one for one in result.stability.clusters} if result.stability else {}
    return {
        **numbers(
            clusters=len(result.train),
            **{"rows of cluster 0": worst.rows},
            **({"stability of cluster 0": stable[worst.label].jaccard} if stable else {}),
        ),
        **amounts(unit, **{"largest gap": worst.gap}),
        "method": result.method,
        "smallest cluster allowed": result.min_cluster_rows,
        "clusters found": table_of(
            ["cluster", "train rows", "mean", "difference from all others", "stability", "how it came about"],
            [
                [
                    one.label,
                    f"{one.rows:,}",
                    words.value(one.mean, unit),
                    words.signed(harm_sign(result.spec.bias_variable.better) * one.gap, unit),
                    _stability(stable[one.label]) if stable else words.NOTHING,
                    joined(one.path, " → ") or words.NOTHING,
                ]
                for one in result.train
            ],
        ),
        "note": "Differences on the train rows are too large on average, for the search looked for large ones.",
    }


def _stability(stability: ClusterStability) -> str:
    return say("{word} ({N})", word=of_ours(stability.word), N=Numeral(f"{stability.jaccard:.2f}"))


def significance(tested: ClusterSignificance) -> Metadata:
    """Every cluster against everybody else, on the test rows; the main test comes first."""
    worst = tested.deciding or tested.clusters[0].comparison
    rows = []
    for cluster in tested.clusters:
        comparison = cluster.comparison
        low, high = cluster.corrected or (comparison.low, comparison.high)
        size = words.difference(comparison.difference, low, high, confidence=comparison.confidence, unit=tested.unit)
        rows.append(
            [
                cluster.cluster.label,
                f"{cluster.test_rows:,}",
                words.value(comparison.mean_a, tested.unit),
                words.value(comparison.mean_b, tested.unit),
                size,
                words.p_value(cluster.p_adjusted),
                comparison.reason or _finding(cluster, tested),
            ]
        )
    return {
        **amounts(tested.unit, difference=worst.difference, low=worst.low, high=worst.high),
        **p_values(p_value=worst.p_value),
        **numbers(
            **{
                "test rows": tested.test_rows,
                "significant clusters": sum(bool(one.significant) for one in tested.clusters),
            },
        ),
        "clusters tested": table_of(
            ["cluster", "test rows", "mean", "everybody else", "difference", "p corrected", "finding"], rows
        ),
    }


def _finding(cluster: ComparedCluster, tested: ClusterSignificance) -> str:
    """As in the report; cluster 0 is the main test, too, which needs no correction."""
    from bdt_core.report.clusters import finding, without_others

    if cluster is tested.primary and tested.main_significant and not cluster.significant:
        if cluster.worse:
            return say("worse off in the main test, not certain among all")
        return say("better off in the main test, not certain among all")
    without = without_others(cluster, tested.unit)
    return joined([of_ours(finding(cluster)), *([] if without is None else [without])], "; ")


def differences(result: FeatureDifferences) -> Metadata:
    """What sets the most deviating cluster apart."""
    return {
        **numbers(
            tests=result.tests,
            **{"columns that differ": sum(bool(one.significant) for one in result.columns)},
        ),
        "columns": table_of(
            ["column", "role", "effect", "p corrected", "differs"],
            [
                [
                    columns_cell([one.column]),
                    one.role,
                    joined([of_ours(str(one.effect_name)), words.number(one.effect)], " ")
                    if one.status == "tested"
                    else one.reason,
                    words.p_value(one.p_adjusted),
                    "yes" if one.significant else "no",
                ]
                for one in result.columns
            ],
        ),
        "means and shares": table_of(["column", "cluster", "everybody else"], _means_and_shares(result)),
    }


def _means_and_shares(result: FeatureDifferences) -> list[list[str]]:
    rows = []
    for column in result.columns:
        if column.numeric is not None:
            means = (column.numeric.mean_a, column.numeric.mean_b)
            mean = say("{first}, {second}", first=Column(column.column), second=of_ours("mean"))
            rows.append([mean, *map(words.number, means)])
        for level in column.levels:
            shares = (level.comparison.mean_a, level.comparison.mean_b)
            rows.append([words.value_condition(column.column, level.level), *map(words.percent, shares)])
    return rows


def report(
    document: dict[str, Any], files: Mapping[str, UPath], served: str | None = None, lacks: Sequence[str] = ()
) -> Metadata:
    """Where it is served, the verdict, the first page, the whole report with its figures, what its files lack, and at
    the end where these are: paths of the server, which nobody opens at another computer.

    Dagster sorts the names: what anybody can open stands first by its name, too.
    """
    from bdt_core.report.markdown import render_first_page, render_markdown
    from bdt_core.report.printed import printed
    from bdt_core.sentences import with_sentences

    safe = printed(document)  # the same object as the forms print: they share page and figures
    document = dict(with_sentences(document))
    return {
        **({} if served is None else {"address of the report": dg.MetadataValue.url(served)}),
        "verdict": document["verdict"]["verdict"],
        "first page": dg.MetadataValue.md(render_first_page(safe)),
        "report": dg.MetadataValue.md(render_markdown(safe, figures=True)),
        **{title: figure(safe, name, title) for name, title in _FIGURES.items()},
        **({"what the files lack": listed(lacks)} if lacks else {}),
        **gate_metadata(document),
        "warnings": listed(document["warnings"]),
        **{say("where {as_is} is", as_is=AsItIs(path.name)): _link(path) for path in files.values()},
    }


_JUDGED = (
    "group",
    "reference",
    "slice",
    "cluster",
    "higher",
    "lower",
    "groups_judged",
    "slices_tested",
    "clusters_tested",
)
_AMOUNTS = ("limit", "minimum", "maximum", "difference", "value", "low", "high")


def gate_metadata(document: dict[str, Any]) -> Metadata:
    """The limits, and the first one's numbers so that they plot over time."""
    from bdt_core.sentences import with_sentences
    from bdt_core.verdict.kinds import read

    document = dict(with_sentences(document))
    limits = document["gate"]
    unit = document["bias_variable"]["unit"]
    return {
        "verdict": document["verdict"]["verdict"],
        **(_numbers_of(read(limits[0]), unit) if limits else {}),
        "limits": table_of(["check", "verdict", "limit", "found", "why"], [_limit_row(one, unit) for one in limits]),
        **_severity(document),
    }


def limit_metadata(outcome: LimitOutcome, unit: words.Unit) -> Metadata:
    """One limit: its numbers plot over time. `unit` is the bias variable's."""
    from bdt_core.verdict import kind_of

    facts = kind_of(outcome).facts(outcome)
    judged = {name.replace("_", " "): _judged(outcome, name, facts) for name in _JUDGED if facts.get(name) is not None}
    return {
        "verdict": outcome.verdict,
        "severity": outcome.severity or "none",
        **judged,
        **({} if "left_out" not in facts else {"not judged": listed([*map(data_cell, facts["left_out"])])}),
        **_numbers_of(outcome, unit),
        **numbers(**{"rows that would tell": facts.get("rows_to_settle")}),
    }


def _numbers_of(outcome: LimitOutcome, unit: words.Unit) -> Metadata:
    """What a limit tolerates and what was found, in the unit in which the report says them."""
    from bdt_core.verdict import kind_of

    kind = kind_of(outcome)
    facts = kind.facts(outcome)
    least = {"smallest value that would have shown": facts.get("smallest_visible")}
    return {
        **amounts(kind.unit_of(outcome, unit), **{name: facts.get(name) for name in _AMOUNTS}, **least),
        **p_values(p_value=facts.get("p_value")),
    }


def _judged(outcome: LimitOutcome, name: str, facts: Mapping[str, Any]) -> Any:
    """A count, words of ours, or who was judged, whose names are the reader's."""
    who = getattr(outcome, name, None)
    return data_cell(who) if isinstance(who, str) else facts[name]


def _severity(document: dict[str, Any]) -> Metadata:
    """The worst severity of the limits that do not hold, for whoever is told."""
    from bdt_core.verdict.words import severest

    if document["verdict"]["verdict"] != "fail":
        return {}
    worst = severest(
        one["severity"] for one in document["gate"] if one["verdict"] != "pass" and one["severity"] is not None
    )
    return {} if worst is None else {"severity": worst}


def _limit_row(limit: dict[str, Any], unit: words.Unit) -> list[str]:
    """A limit in so few columns that its reason has room on the page."""
    from bdt_core.verdict.kinds import allowed_cell, found_in

    value, low, high = found_in(limit, unit)
    interval = [] if words.NOTHING in (low, high) else [say("[{low} to {high}]", low=low, high=high)]
    cells = allowed_cell(limit, unit), joined([value, *interval], " ")
    return [name_of_check(limit["check"]), limit["verdict"], *cells, limit["sentence"]]


def _schema(types: Mapping[str, str], roles: Mapping[str, str] | None = None) -> dg.TableSchema:
    """Columns with their types, and what each is for."""
    return dg.TableSchema([dg.TableColumn(name, kind, (roles or {}).get(name)) for name, kind in types.items()])


def listed(lines: Sequence[str]) -> MarkdownList:
    """A list of sentences."""
    return MarkdownList(lines)


def _link(path: UPath) -> dg.MetadataValue[Any]:
    return dg.MetadataValue.path(str(path)) if isinstance(path, Path) else dg.MetadataValue.url(str(path))
