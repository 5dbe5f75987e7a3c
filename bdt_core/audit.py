"""The whole audit: the stages in order, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd

from bdt_core.clustering.clusters import Clusters, find_clusters
from bdt_core.depth import Depth, look_deeper
from bdt_core.fairness.declared_groups import (
    GroupCounts,
    GroupMetrics,
    GroupScores,
    compare_groups,
    count_groups,
    score_groups,
)
from bdt_core.report.document import build_document
from bdt_core.shards.opening import Opened, divide, open_table
from bdt_core.significance.clusters import ClusterSignificance, compare_clusters
from bdt_core.significance.features import FeatureDifferences, compare_features
from bdt_core.spec import AuditSpec, load_spec, parse_spec
from bdt_core.table.rows import Rows
from bdt_core.verdict import Verdict

STAGES = (
    "read the table",
    "validate it",
    "split train and test rows",
    "find clusters",
    "test the clusters",
    "compare features",
    "compare declared groups",
    "search intersections",
    "write the report",
)
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Attributes
    ----------
    table, train, test : Rows
        Of a table that was worked on out of core only the facts are left: its rows were in temporary files.
    clusters : Clusters
    significance : ClusterSignificance
    differences : FeatureDifferences
    group_counts, group_metrics, group_scores
        Of declared groups; None when none were declared.
    depth : Depth
        Slices, local bias and mitigation, each as far as it was asked for.
    document : dict
        The report as data.
    """

    table: Rows
    train: Rows
    test: Rows
    clusters: Clusters
    significance: ClusterSignificance
    differences: FeatureDifferences
    group_counts: GroupCounts | None
    group_metrics: GroupMetrics | None
    group_scores: GroupScores | None
    depth: Depth
    document: dict[str, Any]

    @property
    def verdict(self) -> Verdict:
        """pass, fail, inconclusive or not_testable."""
        return cast("Verdict", self.document["verdict"]["verdict"])

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-able data."""
        return self.document

    def write(self, folder: str | Path) -> dict[str, Path]:
        """Write report.json, report.html, report.pdf and report.md.

        Raises
        ------
        OutputError
            When the folder cannot be written or holds a report already.
        """
        from bdt_core.report.write import write_reports

        return write_reports(self.document, folder)

    def _repr_html_(self) -> str:
        from bdt_core.report.html import render_notebook

        return render_notebook(self.document)

    def __repr__(self) -> str:
        return f"AuditResult({self.document['name']!r}, {self.verdict}: {self.document['summary']['headline']})"


def audit(
    data: pd.DataFrame | str | Path | None,
    spec: AuditSpec | dict[str, Any] | str | Path,
    *,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
) -> AuditResult:
    """Audit a table.

    Parameters
    ----------
    data : DataFrame, path or None
        The table; None reads the specification's own source.
    spec : AuditSpec, dict or path of a YAML file
    progress : callable, optional
        Called with (stage, steps done, steps of the stage).
    notice : callable, optional
        Called with a sentence, when the table is too large for memory and is worked on in temporary files.

    Returns
    -------
    AuditResult

    Raises
    ------
    SpecError, SourceError, DataError
        What is wrong and how to mend it.

    Examples
    --------
    >>> result = audit(
    ...     "demo:compas",
    ...     {
    ...         "name": "compas",
    ...         "source": {"path": "demo:compas"},
    ...         "bias_variable": {
    ...             "derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk"
    ...         },
    ...         "features": {"include": ["age", "priors_count", "c_charge_degree"]},
    ...         "protected": ["race", "sex"],
    ...     },
    ... )
    >>> result.verdict
    'fail'
    """
    settled = _settled(spec, data)
    say = _Announcer(progress)
    say(0)
    frame = data if isinstance(data, pd.DataFrame) else None
    with open_table(frame, settled, progress=say.rows, notice=notice) as opened:
        return _audit(opened, settled, say)


def _audit(opened: Opened, settled: AuditSpec, say: _Announcer) -> AuditResult:
    """The stages after the table is there."""
    table = opened.table
    say(2)
    train, test = divide(table, settled.split)
    say(3)
    clusters = find_clusters(train, settled.clustering, progress=say.steps(3))
    say(4)
    significance = compare_clusters(clusters, train, test, settled.significance)
    say(5)
    differences = compare_features(clusters, test, settled.significance)
    say(6)
    counts = metrics = scores = None
    if settled.facets:
        counts = count_groups(opened.source, settled)
        metrics = compare_groups(counts, settled.significance, opened.source)
        scores = score_groups(counts, settled.significance)
    say(7)
    depth = look_deeper(train, test, settled)
    say(8)
    document = build_document(
        test,
        clusters,
        significance,
        differences,
        settled.limits,
        require=settled.require,
        metrics=metrics,
        scores=scores,
        depth=depth,
    )
    return AuditResult(
        table, train, test, clusters, significance, differences, counts, metrics, scores, depth, document
    )


def _settled(spec: AuditSpec | dict[str, Any] | str | Path, data: pd.DataFrame | str | Path | None) -> AuditSpec:
    """The specification as a model; a path in ``data`` takes the place of its source."""
    if isinstance(spec, str | Path):
        spec = load_spec(spec)
    if not isinstance(data, str | Path):
        return spec if isinstance(spec, AuditSpec) else parse_spec({"source": {"path": "(DataFrame)"}, **spec})
    if isinstance(spec, AuditSpec):
        return spec.model_copy(update={"source": spec.source.model_copy(update={"path": str(data)})})
    return parse_spec({**spec, "source": {**spec.get("source", {}), "path": str(data)}})


class _Announcer:
    """Tells the caller which stage runs and how far it is."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def __call__(self, stage: int) -> None:
        if self._progress is not None:
            self._progress(STAGES[stage], 0, 1)

    def rows(self, what: str, done: int, total: int | None) -> None:
        """Of a source that is read in batches."""
        if self._progress is not None:
            self._progress(what, done, total or done)

    def steps(self, stage: int) -> Callable[[int, int], None] | None:
        progress = self._progress
        return None if progress is None else lambda done, total: progress(STAGES[stage], done, total)
