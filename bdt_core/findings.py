"""Everything that the stages of an audit found, one attribute each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bdt_core.result import Shown

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
    from bdt_core.groups.scan.blanks import Blanks
    from bdt_core.groups.scan.results import WorstGroups
    from bdt_core.groups.slices import Slices
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.mitigation import Mitigation
    from bdt_core.ranking import Finding, Findings
    from bdt_core.significance import ClusterSignificance, FeatureDifferences
    from bdt_core.table.measured import MeasuredOutcome
    from bdt_core.table.rows import Rows


class Warnings(Shown, tuple[str, ...]):
    """What a person should know, as a tuple that can be looked at.

    Examples
    --------
    >>> Warnings(["12 rows have no age."]).to_frame()["warning"].tolist()
    ['12 rows have no age.']
    """

    def to_frame(self) -> pd.DataFrame:
        """One row per warning, in the column "warning"."""
        import pandas as pd  # not needed to load definitions

        return pd.DataFrame({"warning": list(self)}, dtype=object)

    def _glance(self) -> tuple[str, pd.DataFrame]:
        return f"Warnings: {len(self)}", self.to_frame()


@dataclass(frozen=True)
class AuditFindings:
    """What an audit found.

    Attributes
    ----------
    test : Rows
        The rows on which everything was judged; of a table that was worked on out of core only the facts are left, as
        its rows were in temporary files. The same holds for ``train`` and ``table``.
    clusters : Clusters, optional
        None, like the next two, where no clusters are searched.
    significance : ClusterSignificance, optional
    differences : FeatureDifferences, optional
    declared : DeclaredOutcomes, optional
        The bias variable of every declared group; None when none were declared.
    group_counts, group_metrics, group_scores : optional
        Of declared groups; None when none were declared.
    calibration : Calibration, optional
        For whom the score is too low or too high; None without a score, a label or a search for the worst group.
    numeric_metrics : GroupMetrics, optional
        Means, medians and errors of declared groups; None when label and prediction are no numbers.
    pooled_groups : PooledGroups, optional
        Intersections of declared columns, estimated with help of each other.
    class_outcomes : ClassOutcomes, optional
        Each of three classes and more against the rest, by declared group; empty where there are two.
    selection_rules : SelectionRules, optional
        Tables of Local Law 144 and of the four-fifths rule.
    characteristics : Characteristics, optional
        What each column by which people are selected finds, and whom it burdens.
    worst_groups : WorstGroups, optional
        The people who fare worst; None, like the following, when they were not asked for.
    slices : Slices, optional
        Intersections.
    local_bias : LocalBias, optional
    ranked : Findings, optional
        All findings in one list; `findings` is short for it.
    blanks : Blanks, optional
        Whether a missing outcome is a matter of group; without rows where none is missing.
    mitigation : Mitigation, optional
    table, train : Rows, optional
        All rows, and those on which clusters and intersections were found.
    """

    test: Rows
    clusters: Clusters | None = None
    significance: ClusterSignificance | None = None
    differences: FeatureDifferences | None = None
    declared: DeclaredOutcomes | None = None
    group_counts: GroupCounts | None = None
    group_metrics: GroupMetrics | None = None
    group_scores: GroupScores | None = None
    calibration: Calibration | None = None
    numeric_metrics: GroupMetrics | None = None
    pooled_groups: PooledGroups | None = None
    class_outcomes: ClassOutcomes | None = None
    selection_rules: SelectionRules | None = None
    characteristics: Characteristics | None = None
    worst_groups: WorstGroups | None = None
    slices: Slices | None = None
    local_bias: LocalBias | None = None
    ranked: Findings | None = None
    blanks: Blanks | None = None
    mitigation: Mitigation | None = None
    table: Rows | None = None
    train: Rows | None = None

    @property
    def outcome(self) -> MeasuredOutcome:
        """The bias variable of the test rows, whatever was searched."""
        if self.significance is None:
            from bdt_core.table.measured import MeasuredOutcome  # not needed to load definitions

            return MeasuredOutcome.of(self.test)
        return self.significance.outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Who fares worse, those first that harm most people at least."""
        return self.ranked.findings if self.ranked else ()

    @classmethod
    def of(cls, results: Mapping[str, Any]) -> AuditFindings:
        """Gather results by the names of their stages; what is no stage's result is passed over.

        :meta private:
        """
        return cls(**{name: one for name, one in results.items() if name in cls.__dataclass_fields__})
