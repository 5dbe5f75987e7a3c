"""The report as data: one JSON document from which every printed form is drawn."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from importlib import metadata
from typing import Any, Literal

from bdt_core import words
from bdt_core.clustering.clusters import Clusters
from bdt_core.clustering.tree import ClusterTree
from bdt_core.findings import AuditFindings
from bdt_core.inference import CategoricalComparison, Comparison
from bdt_core.report.document_depth import depth_document
from bdt_core.report.document_drawn import drawn_document
from bdt_core.report.document_groups import groups_document
from bdt_core.result import SCHEMA_VERSION
from bdt_core.significance.clusters import ClusterSignificance, ComparedCluster
from bdt_core.significance.features import ColumnDifference, FeatureDifferences
from bdt_core.spec import AnyLimit, AuditSpec
from bdt_core.table.bias_variable import wording
from bdt_core.table.rows import Rows
from bdt_core.table.split import is_by_hash
from bdt_core.verdict import NO_CLUSTERS, judge_gate

_PACKAGES = ("numpy", "pandas", "scipy", "scikit-learn", "numba", "kmodes")
_SET_APART = 5


def build_document(
    findings: AuditFindings, gate: Sequence[AnyLimit], require: Literal["all", "majority"] = "all"
) -> dict[str, Any]:
    """Put what the stages found, and the gate's verdict, into one JSON-able document.

    Parameters
    ----------
    findings : AuditFindings
    gate : sequence of limits
        `AuditSpec.limits`: those of the gate, and those that the sections on intersections and local bias set.
    require : {"all", "majority"}

    Returns
    -------
    dict
        Version 1 of the schema in ``schema_v1.json``. Rates of clusters that were too small to test are null. It is
        the same wherever the work ran: what the specification says of that is left out.
    """
    test, clusters = findings.test, findings.clusters
    significance, differences = findings.significance, findings.differences
    metrics, scores = findings.group_metrics, findings.group_scores
    spec = significance.spec.model_copy(update={"gate": list(gate), "require": require})
    if metrics is not None:
        spec = spec.model_copy(update={"groups": metrics.spec.groups})
    judged = judge_gate(gate, require, findings)
    by_hash = is_by_hash(test, spec.split)
    document = {
        "schema_version": SCHEMA_VERSION,
        "name": spec.name,
        "software": _software(),
        "spec": printed_specification(spec),
        "data": _data(test),
        "bias_variable": _bias_variable(clusters, significance),
        "split": {
            "train_rows": clusters.train_rows,
            "test_rows": significance.test_rows,
            "test_size": spec.split.test_size,
            "method": "hash" if by_hash else "stratified",
            "stratified": spec.split.stratify and not by_hash,
            "random_state": spec.split.random_state,
        },
        "verdict": {
            "verdict": judged.verdict,
            "blocks": judged.blocks,
            "sentence": judged.sentence,
        },
        "summary": _summary(significance, differences),
        "gate": [one.to_dict() for one in judged.limits],
        "search": {
            "method": clusters.method,
            "engine": clusters.spec.clustering.engine,
            "min_cluster_rows": clusters.min_cluster_rows,
        },
        "stability": _stability(clusters),
        "clusters": [_cluster(one, clusters) for one in significance.clusters],
        "tree": {"nodes": _nodes(clusters.model.tree_)},
        "primary_test": _primary(significance),
        "differences": _differences(significance, differences),
        "proxies": [proxy for one in differences.columns if one.role == "protected" for proxy in _proxies(one)],
        "groups": groups_document(metrics, scores),
        **depth_document(findings, judged),
        **drawn_document(findings),
        "warnings": [*test.warnings, *_warnings(significance)],
    }
    plain: dict[str, Any] = _plain(document)
    return plain


def _software() -> dict[str, str]:
    versions = {"bdt": metadata.version("bdt-pipeline"), "python": platform.python_version()}
    return versions | {name: metadata.version(name) for name in _PACKAGES}


def printed_specification(spec: AuditSpec) -> dict[str, Any]:
    """The specification without what says where and in how much memory to work."""
    plain = spec.to_dict()
    plain.pop("engine")
    for key in ("memory", "memory_limit"):
        plain["clustering"].pop(key)
    return plain


def _data(test: Rows) -> dict[str, Any]:
    return {
        "source": test.spec.source.described,
        "fingerprint": test.fingerprint,
        "rows": test.rows,
        "rows_audited": test.rows - sum(one.rows for one in test.left_out),
        "rows_left_out": [vars(one) for one in test.left_out],
        "columns": [vars(one) for one in test.columns],
    }


def _bias_variable(clusters: Clusters, significance: ClusterSignificance) -> dict[str, Any]:
    settings = clusters.spec.bias_variable
    return {
        **vars(wording(settings)),
        "kind": "binary" if significance.two_valued else "continuous",
        "better": settings.better,
        "train_mean": clusters.train_mean,
        "test_mean": significance.test_mean,
        "unit": significance.unit,
    }


def _stability(clusters: Clusters) -> dict[str, Any] | None:
    if clusters.stability is None:
        return None
    return {name: value for name, value in vars(clusters.stability).items() if name != "clusters"}


def _cluster(one: ComparedCluster, clusters: Clusters) -> dict[str, Any]:
    stability = clusters.stability.clusters[one.found.label] if clusters.stability else None
    return {
        "cluster": one.found.label,
        "train_rows": one.found.rows,
        "train_mean": one.found.mean,
        "train_gap": one.found.gap,
        "test_rows": one.test_rows,
        "test_mean": one.comparison.mean_a,
        "description": str(one.found.rule),
        "rule": {"text": str(one.found.rule), "precision": one.rule_precision, "recall": one.rule_recall},
        "stability": {"jaccard": stability.jaccard, "word": stability.word} if stability else None,
        "path": list(one.found.path),
        "profile": one.found.profile,
        "comparison": _comparison(one.comparison),
        "p_adjusted": one.p_adjusted,
        "significant": one.significant,
        "worse": one.worse,
    }


def _nodes(tree: ClusterTree) -> list[dict[str, Any]]:
    return [
        {
            "id": node.id,
            "parent": node.parent,
            "children": list(node.children or ()),
            "label": node.label,
            "rows": node.rows,
            "mean": node.mean,
            "std": node.std,
            "gap": node.gap,
            "step": tree.step(node) or None,
        }
        for node in tree.nodes
    ]


def _primary(significance: ClusterSignificance) -> dict[str, Any]:
    primary = significance.primary
    return {
        "what": "cluster 0, the most deviating on the train rows, against everybody else, on the test rows",
        "comparison": _comparison(primary.comparison) if primary else None,
        "reason": primary.comparison.reason if primary else NO_CLUSTERS,
        "repeated_splits": vars(significance.repeats) if significance.repeats else None,
        "permuted_procedure": vars(significance.procedure) if significance.procedure else None,
        "shrinkage": _shrinkage(primary, significance) if primary else None,
    }


def _shrinkage(primary: ComparedCluster, significance: ClusterSignificance) -> dict[str, Any] | None:
    """The gap that the search saw on the train rows against the one on the test rows: the winner's curse."""
    difference = primary.comparison.difference
    if difference is None:
        return None
    harm = difference if significance.spec.bias_variable.better == "lower" else -difference
    return {"train_gap": primary.found.gap, "test_gap": harm}


def _differences(significance: ClusterSignificance, differences: FeatureDifferences) -> dict[str, Any]:
    primary = significance.primary
    return {
        "cluster": differences.cluster,
        "rows_cluster": differences.rows_cluster,
        "rows_rest": differences.rows_rest,
        "correction": differences.spec.significance.correction,
        "tests": differences.tests,
        "bias_difference_significant": _is_significant(primary, significance) if primary else None,
        "features": [_column(one) for one in differences.columns],
    }


def _column(one: ColumnDifference) -> dict[str, Any]:
    shared = {
        "column": one.column,
        "role": one.role,
        "kind": one.kind,
        "status": one.status,
        "reason": one.reason,
        "effect": one.effect,
        "effect_name": one.effect_name,
        "p_adjusted": one.p_adjusted,
        "significant": one.significant,
    }
    if one.numeric is not None:
        return shared | {
            "mean_cluster": one.numeric.mean_a,
            "mean_rest": one.numeric.mean_b,
            "comparison": _comparison(one.numeric),
        }
    return shared | {
        "table": _table(one.table) if one.table else None,
        "levels": [
            {
                "level": level.level,
                "rows": level.rows,
                "share_cluster": level.comparison.mean_a,
                "share_rest": level.comparison.mean_b,
                "comparison": _comparison(level.comparison),
                "p_adjusted": level.p_adjusted,
                "significant": level.significant,
            }
            for level in one.levels
        ],
    }


def _proxies(one: ColumnDifference) -> list[dict[str, Any]]:
    """How far the most deviating cluster stands in for a protected attribute that was kept out."""
    rows = (
        [(None, one.numeric, one.auc, one)] if one.numeric else [(x.level, x.comparison, x.auc, x) for x in one.levels]
    )
    return [
        {
            "column": one.column,
            "level": level,
            "cluster": comparison.mean_a,
            "rest": comparison.mean_b,
            "difference": comparison.difference,
            "low": comparison.low,
            "high": comparison.high,
            "auc": auc.auc,
            "auc_low": auc.low,
            "auc_high": auc.high,
            "p_adjusted": tested.p_adjusted,
            "significant": tested.significant,
        }
        for level, comparison, auc, tested in rows
        if auc is not None
    ]


def _table(table: CategoricalComparison) -> dict[str, Any]:
    return {
        "method": table.test,
        "chi2": table.statistic,
        "dof": table.dof,
        "p_value": table.p_value,
        "cramers_v": table.effect_size,
        "pearson_chi2": table.statistic,
        "pearson_p_value": table.chi_squared_p_value,
    }


def _summary(significance: ClusterSignificance, differences: FeatureDifferences) -> dict[str, Any]:
    primary = significance.primary
    if primary is None:
        return {"headline": f"No cluster deviates: {NO_CLUSTERS}.", "what_sets_apart": []}
    unit = significance.unit
    told = wording(significance.spec.bias_variable)
    who = f'Cluster 0, best described by "{primary.found.rule}"'
    comparison = primary.comparison
    if comparison.status != "tested":
        return {
            "headline": f"{who} ({primary.test_rows:,} test rows): not testable, {comparison.reason}",
            "what_sets_apart": [],
        }
    size = words.difference(
        comparison.difference, comparison.low, comparison.high, confidence=comparison.confidence, unit=unit
    )
    headline = (
        f"{who} ({primary.test_rows:,} test rows): {told.short} {words.value(comparison.mean_a, unit)} against "
        f"{words.value(comparison.mean_b, unit)} for everybody else, difference {size}, "
        f"{words.p_value(comparison.p_value)}."
    )
    apart = [line for one in differences.columns if (line := _what_differs(one)) is not None]
    return {"headline": headline, "what_sets_apart": apart[:_SET_APART]}


def _what_differs(one: ColumnDifference) -> str | None:
    """One line on a column that differs significantly; None otherwise."""
    if not one.significant:
        return None
    aside = " (protected, kept out of the clustering)" if one.role == "protected" else ""
    if one.numeric is not None:
        return (
            f"{one.column}{aside}: mean {words.number(one.numeric.mean_a)} against {words.number(one.numeric.mean_b)} "
            f"({one.effect_name} {words.number(one.effect)})"
        )
    strongest = max(
        (level for level in one.levels if level.significant),
        key=lambda level: (abs(level.comparison.difference or 0.0), level.level),
    )
    return (
        f"{one.column}{aside}: {strongest.level} {words.percent(strongest.comparison.mean_a)} against "
        f"{words.percent(strongest.comparison.mean_b)} ({one.effect_name} {words.number(one.effect)})"
    )


def _warnings(significance: ClusterSignificance) -> list[str]:
    small = [str(one.found.label) for one in significance.clusters if one.comparison.status != "tested"]
    if significance.primary is None or not small:
        return []
    return [
        (
            f"Not tested, for too few test rows: cluster {', '.join(small)}. Their rates are not printed; that is "
            "not a sign that they do not deviate."
        )
    ]


def _is_significant(primary: ComparedCluster, significance: ClusterSignificance) -> bool | None:
    p = primary.comparison.p_value
    return None if p is None else p <= significance.spec.significance.alpha


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return comparison.to_dict()


def _plain(value: Any) -> Any:
    """Plain JSON data: no NumPy scalars, infinities as words, no NaN."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value
