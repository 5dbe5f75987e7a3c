"""The report as data: typed models of the parts of report.json.

What the stages hand on stands in the document as it is; the models here are of what is put together from several
stages. Every printed form is drawn from this document alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, PrivateAttr

from bdt_core.calibration.results import Calibration
from bdt_core.clustering.stability import Word
from bdt_core.declared import DeclaredOutcomes
from bdt_core.fairness.characteristics import Characteristics
from bdt_core.fairness.class_outcomes import ClassOutcomes
from bdt_core.fairness.pooled_groups import PooledGroups
from bdt_core.fairness.reported_groups import Groups
from bdt_core.fairness.selection_rules import SelectionRules
from bdt_core.groups.scan.blanks import Blanks
from bdt_core.groups.scan.results import WorstGroups
from bdt_core.groups.slices.results import Slices
from bdt_core.inference import Comparison
from bdt_core.local_bias.results import LocalBias
from bdt_core.mitigation import Mitigation, Recommendation
from bdt_core.ranking import Findings
from bdt_core.result import Part, Real
from bdt_core.said import Text
from bdt_core.sealed.answer import GateAnswer
from bdt_core.sealed.looks import Looks
from bdt_core.sealed.seal import SealedPlan
from bdt_core.sealed.subject import AuditedFile
from bdt_core.sentences import sentences_of
from bdt_core.significance.clusters import WithoutOthers
from bdt_core.significance.repeats import PermutedProcedure, RepeatedSplits
from bdt_core.spec.audit_spec import Better, BetterBy
from bdt_core.table.audit_table import LeftOut, TableColumn
from bdt_core.table.summaries import Drawn
from bdt_core.verdict.kinds import LimitResult
from bdt_core.words import Unit

T = TypeVar("T")


class Data(Part):
    """The table: every row, those that were audited, and its columns."""

    source: str
    fingerprint: str
    rows: int
    rows_audited: int
    rows_left_out: tuple[LeftOut, ...]
    columns: tuple[TableColumn, ...]
    notes: tuple[Text, ...] = ()


class ReportedVariable(Part):
    """What is held against groups, and how it is named."""

    name: Text
    short: Text
    description: Text
    kind: Literal["binary", "continuous"]
    better: Better
    better_by: BetterBy | None = None
    train_mean: float
    test_mean: float
    unit: Unit


class TrainTestSplit(Part):
    """How train and test rows were told apart; hash: every row (or all rows of a key) by its own random number."""

    train_rows: int
    test_rows: int
    train_persons: int | None = None
    test_persons: int | None = None
    test_size: float
    method: Literal["stratified", "hash"] = "stratified"
    stratified: bool
    random_state: int


class OverallVerdict(GateAnswer):
    """What all limits together say."""


class Summary(Part):
    """What was found, in words: the first finding, each of them, and the most deviating cluster."""

    headline: Text
    findings: tuple[Text, ...] = ()
    cluster: Text = ""
    what_sets_apart: tuple[Text, ...]


class Search(Part):
    """How clusters were searched for."""

    method: Literal["kmeans", "kmodes", "kprototypes"]
    engine: Literal["bdt", "reference"]
    min_cluster_rows: int


class ClusteringStability(Part):
    """How well the clustering is found again; as in `bdt_core.clustering.stability.Stability`."""

    bootstraps: int
    seeds: int
    rows: int
    rand_bootstraps: float
    rand_seeds: float


class ClusterRule(Part):
    """A cluster in words, and how well the words fit on the test rows."""

    text: Text
    precision: Real
    recall: Real


class FoundAgain(Part):
    """How well one cluster is found again."""

    jaccard: float
    word: Word


class Cluster(Part):
    """A cluster against everybody else. Gaps count harm as positive; rates of too few rows are null."""

    cluster: int
    train_rows: int
    train_mean: float
    train_gap: float
    test_rows: int
    test_mean: Real
    description: Text
    rule: ClusterRule
    stability: FoundAgain | None
    path: tuple[Text, ...]
    profile: dict[str, str | Real]
    comparison: Comparison
    p_adjusted: Real
    significant: bool | None
    worse: bool | None
    smallest_visible: Real = None
    without: WithoutOthers | None = None
    corrected_low: Real = None
    corrected_high: Real = None


class TreeNode(Part):
    """A group of train rows in the tree of splits; the step is what separates it from its sibling."""

    id: int
    parent: int | None
    children: tuple[int, ...]
    label: int | None
    rows: int
    mean: float
    std: float
    gap: Real
    step: Text | None


class Tree(Part):
    """The splits that made the clusters, parents before children."""

    nodes: Annotated[tuple[TreeNode, ...], Field(min_length=1)]


class Shrinkage(Part):
    """Harm in cluster 0 as the search saw it, and on the test rows."""

    train_gap: float
    test_gap: float


class PrimaryTest(Part):
    """The one test that was chosen before anybody looked at the test rows."""

    what: Text
    comparison: Comparison | None
    reason: Text | None
    repeated_splits: RepeatedSplits | None
    permuted_procedure: PermutedProcedure | None
    shrinkage: Shrinkage | None

    @property
    def deciding(self) -> Comparison | None:
        """What it comes to: the splits together, where there are several."""
        return self.comparison if self.repeated_splits is None else self.repeated_splits.together


class ComparedLevel(Part):
    """A level of a category: its share of the cluster against that of everybody else."""

    level: str
    rows: int
    share_cluster: Real
    share_rest: Real
    comparison: Comparison
    p_adjusted: Real
    significant: bool | None
    corrected_low: Real = None
    corrected_high: Real = None


class LevelsTest(Part):
    """The test of all levels of a category together, and Pearson's."""

    method: Text | None
    chi2: Real
    dof: int | None
    p_value: Real
    cramers_v: Real
    pearson_chi2: Real
    pearson_p_value: Real


class _Feature(Part):
    column: str
    role: Literal["feature", "protected"]
    status: Literal["tested", "not_testable"]
    reason: Text | None
    effect: Real
    effect_name: Text | None
    p_adjusted: Real
    significant: bool | None
    declared: bool = False


class NumericFeature(_Feature):
    """A number in the most deviating cluster against everybody else."""

    kind: Literal["numeric"]
    mean_cluster: Real
    mean_rest: Real
    comparison: Comparison
    corrected_low: Real = None
    corrected_high: Real = None


class CategoricalFeature(_Feature):
    """A category in the most deviating cluster against everybody else."""

    kind: Literal["categorical"]
    table: LevelsTest | None
    levels: tuple[ComparedLevel, ...]

    @property
    def strongest_level(self) -> ComparedLevel | None:
        """The level to show for the whole column: the largest difference, significant ones first."""
        known = [(level, level.comparison.difference) for level in self.levels]
        return max(
            (level for level, difference in known if difference is not None),
            key=lambda level: (bool(level.significant), abs(level.comparison.difference or 0.0)),
            default=None,
        )


Feature = NumericFeature | CategoricalFeature


class Differences(Part):
    """In which columns the most deviating cluster differs from everybody else."""

    cluster: int
    rows_cluster: int
    rows_rest: int
    correction: str
    tests: int
    bias_difference_significant: bool | None
    features: tuple[Annotated[Feature, Field(discriminator="kind")], ...]
    tests_declared: int = 0


class ClusterProxy(Part):
    """A protected column, or a level of one, that being in cluster 0 may stand in for."""

    column: str
    level: str | None
    cluster: Real
    rest: Real
    difference: Real
    low: Real
    high: Real
    auc: Real
    auc_low: Real
    auc_high: Real
    p_adjusted: Real
    significant: bool | None


@dataclass(frozen=True)
class Mitigated(Mitigation):
    """A mitigation, and what it was measured to do about each limit that does not hold."""

    recommendations: tuple[Recommendation, ...]


class DrawnParts(Part):
    """Of how many rows of a large table what needs single rows was worked out."""

    large_rows: int
    scores_rounded: bool
    parts: dict[str, Drawn]


class Publication(Part):
    """How a form for publication was made of a report: every number in it is of counts with noise of `deviation` people
    or rows, rounded to multiples of `base`.

    Groups of fewer than `minimum` are left out, of sums, too, and rates of fewer than `rates_from`. Where a person may
    have several rows, rows are counted, and these numbers are the rows that ten persons, say, have on average. What the
    form leaves out is null, empty or nought; of findings it is told how many.

    From the numbers of one such form a label or decision of somebody is guessed right in a share of `guessed` at most,
    and in `guessed_of_ten` from ten editions, where .5 is a guess. Forms of versions without noise have none of these;
    of means of other numbers there is no such bound.
    """

    base: int
    minimum: int
    rates_from: int
    counted: Literal["people", "rows"] = "people"
    findings_left_out: int
    deviation: float | None = None
    guessed: float | None = None
    guessed_of_ten: float | None = None


class Document(Part):
    """Version 2. Readers pass over members that they do not know; the minor number says that there are more of them."""

    schema_version: Literal[1, 2]
    schema_minor: int = 0
    name: str
    software: dict[str, str]
    spec: dict[str, Any]
    publication: Publication | None = None
    data: Data
    bias_variable: ReportedVariable
    split: TrainTestSplit
    verdict: OverallVerdict
    summary: Summary
    gate: tuple[LimitResult, ...]
    search: Search | None
    stability: ClusteringStability | None
    clusters: Annotated[tuple[Cluster, ...], Field(min_length=1)]
    tree: Tree
    primary_test: PrimaryTest
    differences: Differences
    proxies: tuple[ClusterProxy, ...]
    declared_outcomes: DeclaredOutcomes | None = None
    groups: Groups | None
    calibration: Calibration | None = None
    numeric_groups: Groups | None = None
    pooled_groups: PooledGroups | None = None
    class_outcomes: ClassOutcomes | None = None
    selection_rules: SelectionRules | None = None
    characteristics: Characteristics | None = None
    findings: Findings | None = None
    worst_groups: WorstGroups | None = None
    slices: Slices | None = None
    local_bias: LocalBias | None = None
    blanks: Blanks | None = None
    mitigation: Mitigated | None = None
    drawn: DrawnParts | None = None
    seal: SealedPlan | None = None
    subject: AuditedFile | None = None
    looks: Looks | None = None
    warnings: tuple[Text, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data; infinities become the strings ``Infinity`` and ``-Infinity``."""
        left_out: dict[str, Any] = {name: set(members) for name, members in _STAGES_OWN.items()}
        left_out |= {
            name: True
            for name in (
                "drawn",
                "seal",
                "subject",
                "looks",
                "class_outcomes",
                "selection_rules",
                "publication",
                "blanks",
                "calibration",
                "numeric_groups",
            )
            if getattr(self, name) is None
        }
        if not self.data.notes:
            left_out["data"] = {"notes"}
        if self.slices is not None and self.slices.bounded is None:
            left_out["slices"].add("bounded")
        data: dict[str, Any] = json.loads(self.model_dump_json(exclude=left_out))
        data["sentences"] = sentences_of(self.model_dump(exclude=left_out))
        return data if self.split.test_persons is not None else _without_persons(data)


class Printed(Document):
    """A document that is safe to print, as `bdt_core.report.printed.printed` makes it."""

    _made: dict[str, Any] = PrivateAttr(default_factory=dict)

    def once(self, name: str, make: Callable[[Printed], T]) -> T:
        """What forms share, made by the first that asks: the page in words, figures."""
        if name not in self._made:
            self._made[name] = make(self)
        made: T = self._made[name]
        return made

    def in_language(self, language: str) -> Printed:
        """The same document, for readers of a language."""

        def made(document: Printed) -> Printed:
            other = document.model_copy(update={"spec": {**document.spec, "language": language}})
            other._made = {}  # what is made of it has other words
            return other

        return self.once(f"in {language}", made)


_STAGES_OWN = {"slices": ("cut_on", "permuted_on"), "local_bias": ("model_state",)}
"""What stages hand to one another and no reader needs: rows drawn stand in a part of their own."""


_OF_PERSONS = ("person", "persons", "train_persons", "test_persons")


def _without_persons(part: Any) -> Any:
    """A document without the members that only persons with several rows have."""
    if isinstance(part, dict):
        return {name: _without_persons(one) for name, one in part.items() if one is not None or name not in _OF_PERSONS}
    return [_without_persons(one) for one in part] if isinstance(part, list) else part
