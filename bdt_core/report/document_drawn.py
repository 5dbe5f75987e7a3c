"""The part of the report's document on what was worked out on some of a large table's rows."""

from __future__ import annotations

from typing import Any

from bdt_core.findings import AuditFindings
from bdt_core.table.summaries import Drawn


def drawn_document(findings: AuditFindings) -> dict[str, Any]:
    """Of how many rows what needs single rows was worked out, and of how many they were drawn; nothing of small tables.

    Local bias and mitigation are left out: they say themselves on how many rows they were worked out.
    """
    test, clusters, metrics, slices = findings.test, findings.clusters, findings.group_metrics, findings.slices
    if not test.is_large:
        return {}
    stability = clusters.stability
    shown = Drawn(clusters.shown_rows, clusters.train_rows)
    parts = {
        "rules": shown if shown.rows < shown.of else None,
        "stability": None if stability is None else Drawn(stability.rows, clusters.train_rows),
        "repeats": findings.significance.drawn,
        "auc_of_features": findings.differences.drawn,
        "slice_edges": None if slices is None else slices.cut_on,
        "slice_permutations": None if slices is None else slices.permuted_on,
        "flip_test": None if metrics is None else metrics.drawn,
    }
    return {
        "drawn": {
            "large_rows": test.spec.large_rows,
            "scores_rounded": metrics is not None and metrics.spec.groups.score is not None,
            "parts": {name: vars(one) for name, one in parts.items() if one is not None and one.rows < one.of},
        }
    }
