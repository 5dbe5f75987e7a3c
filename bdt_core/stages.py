"""The stages of an audit, in order, as data; and what carries each of them out.

`STAGES` is the only list: `bdt_core.audit` runs it, and the assets of the Dagster plugin are made from it.
`Stages` has a method per stage; a subclass that overrides one replaces that stage in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdt_core.spec import AuditSpec, Clustering, Significance, Source, Split

if TYPE_CHECKING:
    import pandas as pd

    from bdt_core.calibration import Calibration
    from bdt_core.clustering.clusters import Clusters
    from bdt_core.declared import DeclaredOutcomes
    from bdt_core.fairness.characteristics import Characteristics
    from bdt_core.fairness.class_outcomes import ClassOutcomes
    from bdt_core.fairness.declared_groups import GroupCounts, GroupMetrics, GroupScores
    from bdt_core.fairness.pooled_groups import PooledGroups
    from bdt_core.fairness.selection_rules import SelectionRules
    from bdt_core.findings import AuditFindings
    from bdt_core.groups.scan.blanks import Blanks
    from bdt_core.groups.scan.results import WorstGroups
    from bdt_core.groups.slices import Slices
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.mitigation import Mitigation
    from bdt_core.ranking import Findings
    from bdt_core.shards.large_source import LargeSource
    from bdt_core.shards.opening import Opened
    from bdt_core.shards.table import ShardedTable
    from bdt_core.significance import ClusterSignificance, FeatureDifferences
    from bdt_core.spec import LocalBiasSection, MitigationSection, SliceSearch
    from bdt_core.table.audit_table import AuditTable
    from bdt_core.table.rows import Rows


@dataclass(frozen=True)
class Stage:
    """One stage between the split and the report.

    Attributes
    ----------
    result : str
        Name of what it finds, as in `bdt_core.findings.AuditFindings`.
    method : str
        The method of `Stages` that carries it out.
    arguments : tuple of str
        What the method takes, in order: results of earlier stages (``train``, ``test``, ``source`` and those above
        it), a section of the specification (``spec.clustering``) or all of it (``spec``), and ``progress``. A
        question mark behind a result: None where it was not asked for.
    title : str
        What is said while it runs.
    asset : str
        Name of the asset that holds its result.
    kind : str
        Where the class of its result is: ``module:name``.
    description : str
        What the asset's page says.
    section : str
        The key of the specification that its launchpad form shows.
    asked_by : str, optional
        What of the specification asks for it, a section, ``facets`` or another property; None: always there.
    before : str, optional
        A function, ``module:name``, that takes what the method takes and gives a sentence on what is going to be
        searched and left out, or None.
    """

    result: str
    method: str
    arguments: tuple[str, ...]
    title: str
    asset: str
    kind: str
    description: str
    section: str
    asked_by: str | None = None
    before: str | None = None

    def is_asked(self, spec: AuditSpec) -> bool:
        """Whether the specification asks for it."""
        return self.asked_by is None or bool(getattr(spec, self.asked_by))

    @property
    def takes(self) -> tuple[str, ...]:
        """The results that it takes."""
        named = (one.rstrip("?") for one in self.arguments)
        return tuple(one for one in named if one.partition(".")[0] not in ("spec", "progress"))

    @property
    def keys(self) -> tuple[str, ...]:
        """The sections of the specification that it takes; none where it takes all of it."""
        named = [one.partition(".")[2] for one in self.arguments if one.partition(".")[0] == "spec"]
        return tuple(named) if all(named) else ()

    def run(
        self, stages: Stages, results: Mapping[str, Any], spec: AuditSpec, progress: StepProgress | None = None
    ) -> Any:
        """Carry it out.

        Parameters
        ----------
        stages : Stages
        results : mapping
            Results by name, as far as there are any.
        spec : AuditSpec
        progress : callable, optional
            Called with (steps done, steps), by a stage that takes it.
        """
        return getattr(stages, self.method)(*self._values(results, spec, progress))

    def said_before(self, stages: Stages, results: Mapping[str, Any], spec: AuditSpec) -> str | None:
        """A sentence for whoever waits, before our own method carries it out; None where there is nothing to say."""
        if self.before is None or getattr(type(stages), self.method) is not getattr(Stages, self.method):
            return None
        module, _, name = self.before.partition(":")
        said: str | None = getattr(import_module(module), name)(*self._values(results, spec))
        return said

    def _values(
        self, results: Mapping[str, Any], spec: AuditSpec, progress: StepProgress | None = None
    ) -> Iterator[Any]:
        """What the method takes, in order."""

        def value(name: str) -> Any:
            kind, _, section = name.partition(".")
            if kind == "spec":
                return getattr(spec, section) if section else spec
            if kind == "progress":
                return progress
            return results.get(name[:-1]) if name.endswith("?") else results[name]

        return map(value, self.arguments)


StepProgress = Callable[[int, int], None]

STAGES: tuple[Stage, ...] = (
    Stage(
        result="clusters",
        method="find_clusters",
        arguments=("train", "spec.clustering", "progress"),
        title="find clusters",
        asset="hbac_clusters",
        kind="bdt_core.clustering.clusters:Clusters",
        section="clustering",
        asked_by="clustering",
        description="Groups of similar people whose bias variable deviates, found by hierarchical bias-aware "
        "clustering (HBAC) on the train rows. Cluster 0 deviates most in the harmful direction.",
    ),
    Stage(
        result="significance",
        method="compare_clusters",
        arguments=("clusters", "train", "test", "spec.significance"),
        title="test the clusters",
        asset="cluster_significance",
        kind="bdt_core.significance:ClusterSignificance",
        section="significance",
        asked_by="clustering",
        description="Each cluster against everybody else, on rows that the search has not seen: difference, "
        "interval, p-value.",
    ),
    Stage(
        result="differences",
        method="compare_features",
        arguments=("clusters", "test", "spec.significance"),
        title="compare features",
        asset="feature_differences",
        kind="bdt_core.significance:FeatureDifferences",
        section="significance",
        asked_by="clustering",
        description="In which columns the most deviating cluster differs from everybody else, protected ones included.",
    ),
    Stage(
        result="worst_groups",
        method="find_worst_groups",
        arguments=("table", "spec"),
        title="search the worst-treated group",
        asset="worst_groups",
        kind="bdt_core.groups.scan.results:WorstGroups",
        section="worst_groups",
        asked_by="worst_groups",
        before="bdt_core.groups.scan.audited:said_before",
        description="The people who fare worst: any group that a few conditions describe, searched for on all rows, "
        "with what is certain about it and what is ruled out for every other.",
    ),
    Stage(
        result="declared",
        method="compare_declared_groups",
        arguments=("table", "spec"),
        title="compare outcomes of declared groups",
        asset="declared_outcomes",
        kind="bdt_core.declared:DeclaredOutcomes",
        section="groups",
        asked_by="declared_groupings",
        description="The bias variable of every declared group: its rate or mean, and the difference from everybody "
        "else with an interval that holds for all groups at once.",
    ),
    Stage(
        result="group_counts",
        method="count_groups",
        arguments=("source", "spec"),
        title="count declared groups",
        asset="group_counts",
        kind="bdt_core.fairness.declared_groups:GroupCounts",
        section="groups",
        asked_by="facets",
        description="Rows of each declared group, by label and prediction. Every group metric is computed from these "
        "counts; counts of several tables can be added.",
    ),
    Stage(
        result="group_metrics",
        method="compare_groups",
        arguments=("group_counts", "spec.significance", "source"),
        title="compare declared groups",
        asset="group_metrics",
        kind="bdt_core.fairness.declared_groups:GroupMetrics",
        section="significance",
        asked_by="facets",
        description="Rates of the declared groups, the 21 metrics, differences and ratios between the groups: each "
        "with its interval, or the reason why it has none.",
    ),
    Stage(
        result="group_scores",
        method="score_groups",
        arguments=("group_counts", "spec.significance"),
        title="score declared groups",
        asset="bias_score",
        kind="bdt_core.fairness.declared_groups:GroupScores",
        section="significance",
        asked_by="facets",
        description="One number per grouping, 0 when all groups have the same rates: with its interval, and the score "
        "that chance alone would give.",
    ),
    Stage(
        result="calibration",
        method="measure_calibration",
        arguments=("table", "group_counts?", "group_metrics?", "spec"),
        title="look for whom the score is off",
        asset="calibration",
        kind="bdt_core.calibration.results:Calibration",
        section="worst_groups",
        asked_by="asks_calibration",
        description="Whether the score, as the chance of a positive label, is right for everybody: the people for whom "
        "it is too low or too high, by how much at most for any other group, and how it fits declared groups.",
    ),
    Stage(
        result="numeric_metrics",
        method="compare_numbers",
        arguments=("source", "spec"),
        title="compare numbers of declared groups",
        asset="numeric_metrics",
        kind="bdt_core.fairness.declared_groups:GroupMetrics",
        section="groups",
        asked_by="numeric_facets",
        description="Means, medians and errors of the declared groups, where label and prediction are numbers, with "
        "differences and ratios between the groups: each with its interval.",
    ),
    Stage(
        result="class_outcomes",
        method="compare_classes",
        arguments=("group_counts", "spec.significance"),
        title="compare classes of declared groups",
        asset="class_outcomes",
        kind="bdt_core.fairness.class_outcomes:ClassOutcomes",
        section="significance",
        asked_by="facets",
        description="Each of three classes and more against the rest, by declared group: how often it is predicted and "
        "so, recognised and right, with one correction for all. Empty where there are two.",
    ),
    Stage(
        result="selection_rules",
        method="apply_selection_rules",
        arguments=("group_counts", "source", "spec"),
        title="apply rules of selection",
        asset="selection_rules",
        kind="bdt_core.fairness.selection_rules:SelectionRules",
        section="groups",
        asked_by="selection_rules",
        description="Tables that rules of selection ask for: selection and scoring rates with impact ratios (Local Law "
        "144), and the four-fifths rule in whole numbers.",
    ),
    Stage(
        result="pooled_groups",
        method="pool_groups",
        arguments=("table", "spec"),
        title="estimate small groups",
        asset="pooled_groups",
        kind="bdt_core.fairness.pooled_groups:PooledGroups",
        section="groups",
        asked_by="pooled_groupings",
        description="Every intersection of the declared columns, however small: estimated with help of the other "
        "groups. No limit looks at these.",
    ),
    Stage(
        result="characteristics",
        method="judge_characteristics",
        arguments=("table", "spec"),
        title="judge profiling characteristics",
        asset="profiling_characteristics",
        kind="bdt_core.fairness.characteristics:Characteristics",
        section="characteristics",
        asked_by="asks_characteristics",
        description="Columns by which people are selected: whether each finds what it should, and whom it burdens. No "
        "limit looks at these.",
    ),
    Stage(
        result="slices",
        method="find_slices",
        arguments=("train", "test", "spec.slices"),
        title="search intersections",
        asset="bias_slices",
        kind="bdt_core.groups.slices:Slices",
        section="slices",
        asked_by="slices",
        before="bdt_core.groups.slices.audited:said_before",
        description="Every intersection of a few conditions with enough people: found on the train rows, tested on "
        "the test rows, with the share of false discoveries under control.",
    ),
    Stage(
        result="local_bias",
        method="find_local_bias",
        arguments=("train", "test", "spec.local_bias"),
        title="look for local bias",
        asset="local_bias",
        kind="bdt_core.local_bias:LocalBias",
        section="local_bias",
        asked_by="local_bias",
        description="Clusters in which the algorithm treats groups differently (LOGAN), with the gaps that held-out "
        "rows confirm, beside what chance and plain k-means give.",
    ),
    Stage(
        result="ranked",
        method="rank_findings",
        arguments=(
            "table",
            "test",
            "clusters?",
            "significance?",
            "worst_groups?",
            "slices?",
            "local_bias?",
            "declared?",
            "spec",
        ),
        title="rank what was found",
        asset="findings",
        kind="bdt_core.ranking:Findings",
        section="legitimate",
        description="Everybody who fares worse, by whichever search: those first that harm most people at least, under "
        "one error control, with what remains among people alike in the legitimate factors.",
    ),
    Stage(
        result="blanks",
        method="find_blanks",
        arguments=("table", "spec"),
        title="look whose outcome is missing",
        asset="blanks",
        kind="bdt_core.groups.scan.blanks:Blanks",
        section="significance",
        description="Whether a missing outcome is a matter of group: for which groups more is missing for sure, and "
        "how much worse a group would fare if all of its blank outcomes were harmful.",
    ),
    Stage(
        result="mitigation",
        method="mitigate",
        arguments=("train", "test", "spec.mitigation"),
        title="measure a mitigation",
        asset="mitigation",
        kind="bdt_core.mitigation:Mitigation",
        section="mitigation",
        asked_by="mitigation",
        description="Thresholds per group that hold a rate equal: chosen on the train rows; what they change, and "
        "what they cost, is measured on the test rows.",
    ),
)


READING, VALIDATING, SPLITTING, WRITING = (
    "read the table",
    "validate it",
    "split train and test rows",
    "write the report",
)


def stages_of(spec: AuditSpec) -> Iterator[Stage]:
    """The stages that a specification asks for, in order."""
    return (one for one in STAGES if one.is_asked(spec))


def stages_for(result: str, spec: AuditSpec) -> tuple[Stage, ...]:
    """Those of the stages that a specification asks for that one result needs, in order.

    Examples
    --------
    >>> spec = AuditSpec(name="a", source={"path": "a.csv"}, bias_variable={"column": "y"}, slices=None)
    >>> [one.result for one in stages_for("ranked", spec)]
    ['clusters', 'significance', 'worst_groups', 'ranked']
    """
    needed, chosen = {result}, []
    for stage in reversed(tuple(stages_of(spec))):
        if stage.result in needed:
            needed |= {name.partition(".")[0] for name in stage.takes}
            chosen.append(stage)
    return tuple(reversed(chosen))


def titles_of(spec: AuditSpec) -> tuple[str, ...]:
    """What is said while an audit of a specification runs, in order, from the table to the report.

    Examples
    --------
    >>> spec = AuditSpec(name="a", source={"path": "a.csv"}, bias_variable={"column": "y"}, slices=None)
    >>> titles_of(spec)[2:5]
    ('split train and test rows', 'find clusters', 'test the clusters')
    """
    return (READING, VALIDATING, SPLITTING, *(one.title for one in stages_of(spec)), WRITING)


class Stages:
    """Every stage of the audit, as ``bdt_core`` does it.

    Subclass it and override one method to replace one stage, e.g. to read the table from somewhere else; hand it to
    `bdt_core.audit` or to ``bias_audit_definitions``. The method's modules are imported when a stage runs:
    loading the definitions costs nothing of them.

    Examples
    --------
    >>> class FromWarehouse(Stages):
    ...     def read_table(self, source):
    ...         return query_the_warehouse(source.path)
    """

    def open_table(
        self,
        frame: pd.DataFrame | None,
        spec: AuditSpec,
        progress: Callable[[str, int, int | None], None] | None = None,
        notice: Callable[[str], None] | None = None,
    ) -> AbstractContextManager[Opened]:
        """Read and validate the table where there is room for it; rows in temporary files are gone afterwards."""
        from bdt_core.shards.opening import open_table

        read = self.read_table if self.knows_where_the_table_is else None
        check = None if type(self) is Stages else self.validate  # what replaces a stage may look at any column
        counted = any("source" in stage.takes for stage in stages_of(spec))
        return open_table(frame, spec, read=read, check=check, progress=progress, notice=notice, keeps_source=counted)

    @property
    def knows_where_the_table_is(self) -> bool:
        """Whether the method that reads the table was replaced: then nobody else can read it in batches."""
        return type(self).read_table is not Stages.read_table

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
        if self.knows_where_the_table_is:
            return None
        from bdt_core.shards.large_source import LargeSource
        from bdt_core.shards.opening import memory_plan

        plan = memory_plan(spec)
        return LargeSource.of(spec.source, plan.reason) if plan.out_of_core else None

    def validate_in_shards(
        self, spec: AuditSpec, folder: str, progress: Callable[[str, int, int | None], None] | None = None
    ) -> ShardedTable:
        """Read the source in batches, check them, and write them as columns into a folder."""
        from bdt_core.shards.engine import engine_of_process
        from bdt_core.shards.opening import table_in_shards

        return table_in_shards(spec, folder, engine_of_process(spec), progress)

    def split_rows(self, table: Rows, settings: Split) -> tuple[Rows, Rows]:
        """Divide the rows into train and test rows."""
        from bdt_core.shards.opening import divide

        return divide(table, settings)

    def find_clusters(self, train: Rows, settings: Clustering, progress: StepProgress | None = None) -> Clusters:
        """Find clusters of train rows whose bias variable deviates."""
        from bdt_core.clustering.clusters import find_clusters

        return find_clusters(train, settings, progress)

    def compare_clusters(
        self, clusters: Clusters, train: Rows, test: Rows, settings: Significance
    ) -> ClusterSignificance:
        """Test every cluster on the test rows; where splits are repeated, by this object's own stages."""
        from bdt_core.significance import compare_clusters

        def split(table: AuditTable, how: Split) -> tuple[AuditTable, AuditTable]:
            train, other = self.split_rows(table, how)
            return train.in_memory(), other.in_memory()

        return compare_clusters(clusters, train, test, settings, split=split, find=self.find_clusters)

    def compare_features(self, clusters: Clusters, test: Rows, settings: Significance) -> FeatureDifferences:
        """Say what sets the most deviating cluster apart."""
        from bdt_core.significance import compare_features

        return compare_features(clusters, test, settings)

    def find_worst_groups(self, table: Rows, spec: AuditSpec) -> WorstGroups:
        """Search the people who fare worst."""
        from bdt_core.groups.scan.audited import find_audited_worst_groups

        return find_audited_worst_groups(table, spec)

    def compare_declared_groups(self, table: Rows, spec: AuditSpec) -> DeclaredOutcomes:
        """Compare the bias variable of every declared group with that of everybody else."""
        from bdt_core.declared.comparing import compare_declared_groups

        return compare_declared_groups(table, spec)

    def count_groups(self, source: pd.DataFrame | ShardedTable, spec: AuditSpec) -> GroupCounts:
        """Count the rows of every declared group."""
        from bdt_core.fairness.declared_groups import count_groups

        return count_groups(source, spec)

    def compare_groups(
        self, counts: GroupCounts, settings: Significance, source: pd.DataFrame | ShardedTable
    ) -> GroupMetrics:
        """Compute every group metric."""
        from bdt_core.fairness.declared_groups import compare_groups

        return compare_groups(counts, settings, source)

    def score_groups(self, counts: GroupCounts, settings: Significance) -> GroupScores:
        """Compute the composite score."""
        from bdt_core.fairness.declared_groups import score_groups

        return score_groups(counts, settings)

    def measure_calibration(
        self, table: Rows, counts: GroupCounts | None, metrics: GroupMetrics | None, spec: AuditSpec
    ) -> Calibration:
        """Say for whom the score is too low or too high."""
        from bdt_core.calibration.audited import measure_calibration

        return measure_calibration(table, counts, metrics, spec)

    def compare_numbers(self, source: pd.DataFrame | ShardedTable, spec: AuditSpec) -> GroupMetrics:
        """Compute means, medians and errors of groups whose label and prediction are numbers."""
        from bdt_core.fairness.numeric_groups import compare_numbers

        return compare_numbers(source, spec)

    def compare_classes(self, counts: GroupCounts, settings: Significance) -> ClassOutcomes:
        """Compare each class with the rest, where label or prediction have three and more."""
        from bdt_core.fairness.class_outcomes import compare_classes

        return compare_classes(counts, settings)

    def apply_selection_rules(
        self, counts: GroupCounts, source: pd.DataFrame | ShardedTable, spec: AuditSpec
    ) -> SelectionRules:
        """Make the tables of Local Law 144 and of the four-fifths rule."""
        from bdt_core.fairness.selection_rules import apply_selection_rules

        return apply_selection_rules(counts, source, spec)

    def pool_groups(self, table: Rows, spec: AuditSpec) -> PooledGroups:
        """Estimate every intersection of declared columns, with help of the others."""
        from bdt_core.fairness.pooled_groups import pool_groups

        return pool_groups(table, spec)

    def judge_characteristics(self, table: Rows, spec: AuditSpec) -> Characteristics:
        """Hold every profiling characteristic against the true label, the prediction and the protected columns."""
        from bdt_core.fairness.characteristics import judge_characteristics

        return judge_characteristics(table, spec)

    def find_slices(self, train: Rows, test: Rows, settings: SliceSearch) -> Slices:
        """Search intersections in which people fare worse."""
        from bdt_core.groups.slices.audited import find_bias_slices

        return find_bias_slices(train, test, settings)

    def find_local_bias(self, train: Rows, test: Rows, settings: LocalBiasSection) -> LocalBias:
        """Look for places in the data where groups are treated differently."""
        from bdt_core.local_bias.gaps import find_audited_local_bias

        return find_audited_local_bias(train, test, settings)

    def rank_findings(
        self,
        table: Rows,
        test: Rows,
        clusters: Clusters | None,
        significance: ClusterSignificance | None,
        worst_groups: WorstGroups | None,
        slices: Slices | None,
        local_bias: LocalBias | None,
        declared: DeclaredOutcomes | None,
        spec: AuditSpec,
    ) -> Findings:
        """Put all findings into one list."""
        from bdt_core.ranking.ranking import rank_findings

        return rank_findings(table, test, clusters, significance, worst_groups, slices, local_bias, declared, spec)

    def find_blanks(self, table: Rows, spec: AuditSpec) -> Blanks:
        """Say whether a missing outcome is a matter of group."""
        from bdt_core.groups.scan.blanks import find_blanks

        return find_blanks(table, spec)

    def mitigate(self, train: Rows, test: Rows, settings: MitigationSection) -> Mitigation:
        """Choose thresholds per group and measure what they change."""
        from bdt_core.mitigation.mitigating import mitigate_audited

        return mitigate_audited(train, test, settings)

    def build_document(self, findings: AuditFindings, spec: AuditSpec) -> dict[str, Any]:
        """Put what was found, and the verdict of the specification's gate, into one document."""
        from bdt_core.report.from_findings import build_document

        return build_document(findings, spec)

    def write_reports(
        self, document: dict[str, Any], folder: Path, notice: Callable[[str], None] | None = None
    ) -> dict[str, Path]:
        """Write the report files into a new folder; what a form lacks is said to `notice`."""
        from bdt_core.report.write import write_reports

        return write_reports(document, folder, notice)
