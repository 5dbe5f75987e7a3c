"""The stages that the assets call, one method each, so that a user can replace one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdt_core.spec import Clustering, Significance, Source, Split

if TYPE_CHECKING:
    import pandas as pd

    from bdt_core.clustering.clusters import Clusters
    from bdt_core.depth import Depth
    from bdt_core.fairness.declared_groups import GroupCounts, GroupMetrics, GroupScores
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.mitigation import Mitigation
    from bdt_core.shards.large_source import LargeSource
    from bdt_core.shards.table import ShardedTable
    from bdt_core.significance.clusters import ClusterSignificance
    from bdt_core.significance.features import FeatureDifferences
    from bdt_core.slices import Slices
    from bdt_core.spec import AuditSpec, SliceSearch
    from bdt_core.spec import LocalBias as LocalBiasSettings
    from bdt_core.spec import Mitigation as MitigationWanted
    from bdt_core.table.audit_table import AuditTable
    from bdt_core.table.rows import Rows


class Stages:
    """Every stage of the audit, as ``bdt_core`` does it.

    Subclass it and override one method to replace one stage, e.g. to read the table from somewhere else. The
    method's modules are imported when a stage runs: loading the definitions costs nothing of them.

    Examples
    --------
    >>> class FromWarehouse(Stages):
    ...     def read_table(self, source):
    ...         return query_the_warehouse(source.path)
    """

    def read_table(self, source: Source) -> pd.DataFrame:
        """Read the table that the source names."""
        from bdt_core.table.sources import read_table

        return read_table(source)

    def take_table(self, table: Any) -> pd.DataFrame:
        """Take the table that another asset is: a DataFrame, an Arrow or Polars table, or the path of a file."""
        from bdt_core.table.sources import as_frame

        return as_frame(table)

    def validate(self, frame: pd.DataFrame, spec: AuditSpec) -> AuditTable:
        """Check the table, settle its types and make the bias variable."""
        from bdt_core.table.validate import validate

        return validate(frame, spec)

    def leave_in_place(self, spec: AuditSpec) -> LargeSource | None:
        """The source as something to be read in batches, if its table would not fit into memory; else None."""
        if type(self).read_table is not Stages.read_table:
            return None  # only the method that replaces ours knows where the table is
        from bdt_core.shards.large_source import LargeSource
        from bdt_core.shards.opening import memory_plan

        plan = memory_plan(spec)
        return LargeSource.of(spec.source, plan.reason) if plan.out_of_core else None

    def validate_in_shards(
        self, spec: AuditSpec, folder: str, progress: Callable[[str, int, int | None], None] | None = None
    ) -> ShardedTable:
        """Read the source in batches, check them, and write them as columns into a folder."""
        from bdt_core.shards.engines import engine_of_process
        from bdt_core.shards.opening import table_in_shards

        return table_in_shards(spec, folder, engine_of_process(spec), progress)

    def split_rows(self, table: Rows, settings: Split) -> tuple[Rows, Rows]:
        """Divide the rows into train and test rows."""
        from bdt_core.shards.opening import divide

        return divide(table, settings)

    def find_clusters(
        self, train: AuditTable, settings: Clustering, progress: Callable[[int, int], None] | None = None
    ) -> Clusters:
        """Find clusters of train rows whose bias variable deviates."""
        from bdt_core.clustering.clusters import find_clusters

        return find_clusters(train, settings, progress)

    def compare_clusters(
        self, clusters: Clusters, train: AuditTable, test: AuditTable, settings: Significance
    ) -> ClusterSignificance:
        """Test every cluster on the test rows; where splits are repeated, by this object's own stages."""
        from bdt_core.significance.clusters import compare_clusters

        def split(table: AuditTable, how: Split) -> tuple[AuditTable, AuditTable]:
            one, other = self.split_rows(table, how)
            return one.in_memory(), other.in_memory()

        return compare_clusters(clusters, train, test, settings, split=split, find=self.find_clusters)

    def compare_features(self, clusters: Clusters, test: AuditTable, settings: Significance) -> FeatureDifferences:
        """Say what sets the most deviating cluster apart."""
        from bdt_core.significance.features import compare_features

        return compare_features(clusters, test, settings)

    def count_groups(self, frame: pd.DataFrame, spec: AuditSpec) -> GroupCounts:
        """Count the rows of every declared group."""
        from bdt_core.fairness.declared_groups import count_groups

        return count_groups(frame, spec)

    def compare_groups(self, counts: GroupCounts, settings: Significance, frame: pd.DataFrame) -> GroupMetrics:
        """Compute every group metric."""
        from bdt_core.fairness.declared_groups import compare_groups

        return compare_groups(counts, settings, frame)

    def score_groups(self, counts: GroupCounts, settings: Significance) -> GroupScores:
        """Compute the composite score."""
        from bdt_core.fairness.declared_groups import score_groups

        return score_groups(counts, settings)

    def find_slices(self, train: AuditTable, test: AuditTable, settings: SliceSearch) -> Slices:
        """Search intersections in which people fare worse."""
        from bdt_core.slices.stage import find_bias_slices

        return find_bias_slices(train, test, settings)

    def find_local_bias(self, train: AuditTable, test: AuditTable, settings: LocalBiasSettings) -> LocalBias:
        """Look for places in the data where groups are treated differently."""
        from bdt_core.local_bias.stage import find_audited_local_bias

        return find_audited_local_bias(train, test, settings)

    def mitigate(self, train: AuditTable, test: AuditTable, settings: MitigationWanted) -> Mitigation:
        """Choose thresholds per group and measure what they change."""
        from bdt_core.mitigation.audited import mitigate_audited

        return mitigate_audited(train, test, settings)

    def build_document(
        self,
        test: AuditTable,
        clusters: Clusters,
        significance: ClusterSignificance,
        differences: FeatureDifferences,
        spec: AuditSpec,
        metrics: GroupMetrics | None = None,
        scores: GroupScores | None = None,
        depth: Depth | None = None,
    ) -> dict[str, Any]:
        """Put what was found, and the verdict of the specification's gate, into one document."""
        from bdt_core.report.document import build_document

        return build_document(
            test,
            clusters,
            significance,
            differences,
            spec.gate,
            require=spec.require,
            metrics=metrics,
            scores=scores,
            depth=depth,
        )

    def write_reports(self, document: dict[str, Any], folder: Path) -> dict[str, Path]:
        """Write the report files into a new folder."""
        from bdt_core.report.write import write_reports

        return write_reports(document, folder)
