"""The document is put together: from what the stages found, and the gate's verdict."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata
from typing import Any, Literal

from bdt_core import words
from bdt_core.clustering.clusters import Clusters
from bdt_core.clustering.stability import UNSTABLE
from bdt_core.clustering.tree import ClusterTree
from bdt_core.fairness.declared_groups import FacetMetrics, GroupMetrics, GroupScores
from bdt_core.fairness.metric_results import BiasMetrics, DeclaredTest, Metric, group_name
from bdt_core.fairness.reported_groups import Facet, Group, GroupMetric, GroupRange, Groups, GroupValue, Rate
from bdt_core.fairness.score_parts import BiasScore
from bdt_core.findings import AuditFindings
from bdt_core.groups.scan.blanks import Blanks
from bdt_core.inference import CategoricalComparison
from bdt_core.metrics import RATES, harm_sign
from bdt_core.mitigation import recommend
from bdt_core.report import document as parts
from bdt_core.report.findings import finding_sentence, headline
from bdt_core.report.without_clusters import everybody, no_differences, no_test, undivided
from bdt_core.report.wording import who_is_in
from bdt_core.result import SCHEMA_MINOR, SCHEMA_VERSION
from bdt_core.said import AsItIs, Column, Level, joined, of_ours, say
from bdt_core.sealed.seal import lacks, sealed_plan
from bdt_core.sealed.subject import audited_file
from bdt_core.significance.clusters import ClusterSignificance, ComparedCluster
from bdt_core.significance.features import ColumnDifference, FeatureDifferences
from bdt_core.spec import SAID, AuditSpec, reported_specification
from bdt_core.spec.wording import direction_warnings, wording
from bdt_core.table.measured import MeasuredOutcome
from bdt_core.table.rows import Rows
from bdt_core.table.split import is_by_hash
from bdt_core.table.summaries import Drawn
from bdt_core.verdict import NO_CLUSTERS, judge_gate
from bdt_core.version import installed_version

NOT_SEARCHED = "no clusters were searched"
NOT_SHOWN = {"rows": "fewer than {N} rows: not printed", "persons": "fewer than {N} persons: not printed"}
_PACKAGES = ("numpy", "pandas", "scipy", "scikit-learn", "numba", "kmodes")
_SET_APART = 5


def build_document(findings: AuditFindings, spec: AuditSpec) -> dict[str, Any]:
    """Put what the stages found, and the gate's verdict, into one JSON-able document.

    Parameters
    ----------
    findings : AuditFindings
    spec : AuditSpec
        Says by which limits results are judged, and how they are told; how they were made, the results say themselves.

    Returns
    -------
    dict
        A `bdt_core.report.document.Document` as data. Rates of clusters that were too small to test are null. It is
        the same wherever the work ran: what the specification says of that is left out.
    """
    test, clusters, outcome = findings.test, findings.clusters, findings.outcome
    significance, differences = findings.significance, findings.differences
    metrics, scores, mitigation = findings.group_metrics, findings.group_scores, findings.mitigation
    said = {key: getattr(spec, key) for key in ("require", "sealed", "seal", *SAID)}
    judged = judge_gate(spec.limits, spec.require, findings)
    spec = outcome.spec.model_copy(update={"gate": list(spec.limits), **said})
    if metrics is not None:
        spec = spec.model_copy(update={"groups": metrics.spec.groups})
    seal = sealed_plan(spec, test.people)
    verdict = parts.OverallVerdict(verdict=judged.verdict, blocks=judged.blocks, sentence=judged.sentence)
    train = _train(findings)
    return parts.Document(
        schema_version=SCHEMA_VERSION,
        schema_minor=SCHEMA_MINOR,
        name=spec.name,
        software=_software(),
        spec=reported_specification(spec),
        data=_data(test),
        bias_variable=_bias_variable(train, outcome),
        split=_split(test, train, outcome, spec),
        verdict=verdict.held(*lacks(spec, seal)),
        summary=_summary(findings, outcome),
        gate=judged.limits,
        **_of_clusters(clusters, significance, differences, train, outcome),
        declared_outcomes=findings.declared,
        groups=None if metrics is None else _groups(metrics, scores),
        calibration=findings.calibration,
        numeric_groups=None if findings.numeric_metrics is None else _numeric_groups(findings.numeric_metrics),
        pooled_groups=findings.pooled_groups,
        class_outcomes=None
        if findings.class_outcomes is None or findings.class_outcomes.is_empty
        else findings.class_outcomes,
        selection_rules=findings.selection_rules,
        characteristics=findings.characteristics,
        findings=findings.ranked,
        worst_groups=findings.worst_groups,
        slices=findings.slices,
        local_bias=findings.local_bias,
        blanks=findings.blanks if findings.blanks is not None and findings.blanks.rows else None,
        mitigation=None
        if mitigation is None
        else parts.Mitigated(**vars(mitigation), recommendations=recommend(mitigation, judged.limits)),
        drawn=_drawn(findings) if test.is_large else None,
        seal=seal,
        subject=audited_file(spec),
        warnings=(
            *direction_warnings(spec.bias_variable),
            *test.warnings,
            *_of_blanks(findings.blanks),
            *([] if significance is None else _warnings(significance)),
        ),
    ).to_dict()


def _software() -> dict[str, str]:
    versions = {"bdt": installed_version(), "python": platform.python_version()}
    return versions | _versions()


@cache
def _versions() -> dict[str, str]:
    """Of packages, which are what they are for as long as a process runs: to look them up reads a file of each."""
    return {name: metadata.version(name) for name in _PACKAGES}


def _data(test: Rows) -> parts.Data:
    return parts.Data(
        source=test.spec.source.in_reports,
        fingerprint=test.fingerprint,
        rows=test.rows,
        rows_audited=test.rows - sum(one.rows for one in test.left_out),
        rows_left_out=test.left_out,
        columns=test.columns,
        notes=test.notes,
    )


def _train(findings: AuditFindings) -> MeasuredOutcome:
    """The bias variable of the train rows: as the clusters say, or counted where none are searched."""
    clusters, outcome = findings.clusters, findings.outcome
    if clusters is None:
        assert findings.train is not None
        return MeasuredOutcome.of(findings.train)
    return replace(outcome, rows=clusters.train_rows, persons=clusters.train_persons, mean=clusters.train_mean)


def _bias_variable(train: MeasuredOutcome, test: MeasuredOutcome) -> parts.ReportedVariable:
    settings = train.spec.bias_variable
    return parts.ReportedVariable(
        **vars(wording(settings)),
        kind=_kind(test),
        better=settings.better,
        better_by=settings.better_by or "guessed",
        train_mean=train.mean,
        test_mean=test.mean,
        unit=test.unit,
    )


def _kind(outcome: MeasuredOutcome) -> Literal["binary", "continuous"]:
    return "binary" if outcome.two_valued else "continuous"


def _split(test: Rows, of_train: MeasuredOutcome, of_test: MeasuredOutcome, spec: AuditSpec) -> parts.TrainTestSplit:
    by_hash = is_by_hash(test, spec.split)
    return parts.TrainTestSplit(
        train_rows=of_train.rows,
        test_rows=of_test.rows,
        train_persons=of_train.persons,
        test_persons=of_test.persons,
        test_size=spec.split.test_size,
        method="hash" if by_hash else "stratified",
        stratified=spec.split.stratify and not by_hash,
        random_state=spec.split.random_state,
    )


def _of_clusters(
    clusters: Clusters | None,
    significance: ClusterSignificance | None,
    differences: FeatureDifferences | None,
    train: MeasuredOutcome,
    test: MeasuredOutcome,
) -> dict[str, Any]:
    """The members of the document that are on clusters."""
    if clusters is None or significance is None or differences is None:
        settings = test.spec.significance
        alone = everybody(
            _kind(test), 1.0 - settings.alpha, NOT_SEARCHED, rows=train.rows, test_rows=test.rows, mean=train.mean
        )
        return {
            "search": None,
            "stability": None,
            "clusters": (alone,),
            "tree": undivided(train.rows, train.mean, train.sd),
            "primary_test": no_test(NOT_SEARCHED),
            "differences": no_differences(test.rows, settings.correction),
            "proxies": (),
        }
    return {
        "search": parts.Search(
            method=clusters.method, engine=clusters.spec.room.engine, min_cluster_rows=clusters.min_cluster_rows
        ),
        "stability": _stability(clusters),
        "clusters": tuple(_cluster(one, clusters) for one in significance.clusters),
        "tree": parts.Tree(nodes=nodes_of(clusters.tree)),
        "primary_test": _primary(significance),
        "differences": _differences(significance, differences),
        "proxies": tuple(proxy for one in differences.columns if one.role == "protected" for proxy in _proxies(one)),
    }


def _stability(clusters: Clusters) -> parts.ClusteringStability | None:
    if clusters.stability is None:
        return None
    return parts.ClusteringStability.model_validate(vars(clusters.stability))


def _cluster(cluster: ComparedCluster, clusters: Clusters) -> parts.Cluster:
    stability = clusters.stability.clusters[cluster.cluster.label] if clusters.stability else None
    return parts.Cluster(
        cluster=cluster.cluster.label,
        train_rows=cluster.cluster.rows,
        train_mean=cluster.cluster.mean,
        train_gap=cluster.cluster.gap,
        test_rows=cluster.test_rows,
        test_mean=cluster.comparison.mean_a,
        description=_who(cluster),
        rule=parts.ClusterRule(
            text=str(cluster.cluster.rule), precision=cluster.rule_precision, recall=cluster.rule_recall
        ),
        stability=None if stability is None else parts.FoundAgain(jaccard=stability.jaccard, word=stability.word),
        path=cluster.cluster.path,
        profile=cluster.cluster.profile,
        comparison=cluster.comparison,
        p_adjusted=cluster.p_adjusted,
        significant=cluster.significant,
        worse=cluster.worse,
        smallest_visible=cluster.smallest_visible,
        without=cluster.without,
        **_corrected(cluster.corrected),
    )


def _who(cluster: ComparedCluster) -> str:
    return who_is_in(str(cluster.cluster.rule), cluster.rule_precision, cluster.rule_recall, cluster.cluster.path)


def _corrected(interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {"corrected_low": low, "corrected_high": high}


def nodes_of(tree: ClusterTree) -> tuple[parts.TreeNode, ...]:
    """The splits of a tree, in words."""
    return tuple(
        parts.TreeNode(
            id=node.id,
            parent=node.parent,
            children=node.children or (),
            label=node.label,
            rows=node.rows,
            mean=node.mean,
            std=node.std,
            gap=node.gap,
            step=tree.step(node) or None,
        )
        for node in tree.nodes
    )


def _primary(significance: ClusterSignificance) -> parts.PrimaryTest:
    primary, repeats = significance.primary, significance.repeats
    on_splits = "" if repeats is None else f"; that of each of {len(repeats.p_values)} splits, taken together, decides"
    return parts.PrimaryTest(
        what=f"cluster 0, the most deviating on the train rows, against everybody else, on the test rows{on_splits}",
        comparison=primary.comparison if primary else None,
        reason=primary.comparison.reason if primary else NO_CLUSTERS,
        repeated_splits=repeats,
        permuted_procedure=significance.procedure,
        shrinkage=_shrinkage(primary, significance) if primary else None,
    )


def _shrinkage(primary: ComparedCluster, significance: ClusterSignificance) -> parts.Shrinkage | None:
    """The gap that the search saw on the train rows against the one on the test rows: the winner's curse."""
    difference = primary.comparison.difference
    if difference is None:
        return None
    harm = harm_sign(significance.spec.bias_variable.better) * difference
    return parts.Shrinkage(train_gap=primary.cluster.gap, test_gap=harm)


def _differences(significance: ClusterSignificance, differences: FeatureDifferences) -> parts.Differences:
    return parts.Differences(
        cluster=differences.cluster,
        rows_cluster=differences.rows_cluster,
        rows_rest=differences.rows_rest,
        correction=differences.spec.significance.correction,
        tests=differences.tests,
        bias_difference_significant=significance.main_significant,
        features=tuple(_feature(one) for one in differences.columns),
        tests_declared=differences.tests_declared,
    )


def _feature(column: ColumnDifference) -> parts.Feature:
    shared: dict[str, Any] = {
        name: getattr(column, name)
        for name in (
            "column", "role", "declared", "status", "reason", "effect", "effect_name", "p_adjusted", "significant"
        )
    }  # fmt: skip
    if column.numeric is not None:
        return parts.NumericFeature(
            kind="numeric",
            mean_cluster=column.numeric.mean_a,
            mean_rest=column.numeric.mean_b,
            comparison=column.numeric,
            **_corrected(column.corrected),
            **shared,
        )
    return parts.CategoricalFeature(
        kind="categorical",
        table=_levels_test(column.table) if column.table else None,
        levels=tuple(
            parts.ComparedLevel(
                level=level.level,
                rows=level.rows,
                share_cluster=level.comparison.mean_a,
                share_rest=level.comparison.mean_b,
                comparison=level.comparison,
                p_adjusted=level.p_adjusted,
                significant=level.significant,
                **_corrected(level.corrected),
            )
            for level in column.levels
        ),
        **shared,
    )


def _levels_test(table: CategoricalComparison) -> parts.LevelsTest:
    return parts.LevelsTest(
        method=table.test,
        chi2=table.statistic,
        dof=table.dof,
        p_value=table.p_value,
        cramers_v=table.effect_size,
        pearson_chi2=table.statistic,
        pearson_p_value=table.chi_squared_p_value,
    )


def _proxies(column: ColumnDifference) -> Iterator[parts.ClusterProxy]:
    """How far the most deviating cluster stands in for a protected attribute that was kept out."""
    of_levels = [(one.level, one.comparison, one.auc, one) for one in column.levels]
    compared = [(None, column.numeric, column.auc, column)] if column.numeric else of_levels
    for level, comparison, auc, tested in compared:
        if auc is not None:
            low, high = tested.corrected or (None, None)
            yield parts.ClusterProxy(
                column=column.column,
                level=level,
                cluster=comparison.mean_a,
                rest=comparison.mean_b,
                difference=comparison.difference,
                low=low,
                high=high,
                auc=auc.auc,
                auc_low=auc.low,
                auc_high=auc.high,
                p_adjusted=tested.p_adjusted,
                significant=tested.significant,
            )


def _summary(findings: AuditFindings, outcome: MeasuredOutcome) -> parts.Summary:
    ranked, groups = findings.ranked, findings.worst_groups
    unit, short = outcome.unit, wording(outcome.spec.bias_variable).short
    cluster: str = say("No clusters were searched.")
    apart: tuple[str, ...] = ()
    if findings.clusters is not None and findings.significance is not None and findings.differences is not None:
        cluster, apart = _cluster_in_words(findings.clusters, findings.significance, findings.differences)
    return parts.Summary(
        headline=headline(ranked, groups.certificate if groups else None, unit, short),
        findings=tuple(finding_sentence(one, ranked, unit, short) for one in ranked.findings) if ranked else (),
        cluster=cluster,
        what_sets_apart=apart,
    )


_OF_ROWS = (
    "On its {N} test rows {short} is {value} against {others} for everybody else.",
    "On its {N} test rows {short} is {value} against {others} for everybody else, {difference}.",
)
_OF_PERSONS = (
    "On its {N} test rows of {Npersons} persons {short} is {value} against {others} for everybody else.",
    "On its {N} test rows of {Npersons} persons {short} is {value} against {others} for everybody else, {difference}.",
)


def _cluster_in_words(
    clusters: Clusters, significance: ClusterSignificance, differences: FeatureDifferences
) -> tuple[str, tuple[str, ...]]:
    """The most deviating cluster, and what sets it apart."""
    primary = significance.primary
    if primary is None:
        return say("No cluster deviates: {why}.", why=of_ours(NO_CLUSTERS)), ()
    unit = significance.unit
    measured = wording(significance.spec.bias_variable)
    stability = clusters.stability.clusters[0].word if clusters.stability else None
    who = say(
        "Cluster 0 (unstable: other draws of the rows give other people): {who}."
        if stability == UNSTABLE
        else "Cluster 0: {who}.",
        who=_who(primary),
    )
    comparison = primary.comparison
    rows = {"N": words.count(primary.test_rows)}
    if comparison.persons is not None:
        rows["Npersons"] = words.count(comparison.persons.a)
    if comparison.status != "tested":
        test_rows = say("{N} test rows of {Npersons} persons" if "Npersons" in rows else "{N} test rows", **rows)
        not_testable = say(
            "Its {rows} are not testable: {reason}", rows=test_rows, reason=of_ours(comparison.reason or "")
        )
        return joined([who, not_testable], " "), ()
    size, splits = _how_much(significance)
    values = {
        **rows,
        "short": of_ours(measured.short),
        "value": words.value(comparison.mean_a, unit),
        "others": words.value(comparison.mean_b, unit),
        "difference": size,
    }
    on_test_rows, with_difference = _OF_PERSONS if "Npersons" in rows else _OF_ROWS
    if splits is None:
        return joined([who, say(with_difference, **values)], " "), tuple(_what_differs(differences))
    return joined([who, say(on_test_rows, **values), splits], " "), tuple(_what_differs(differences))


def _how_much(significance: ClusterSignificance) -> tuple[str, str | None]:
    """What the main test comes to, and a sentence of it on the splits together, where there are several."""
    deciding, repeats = significance.deciding, significance.repeats
    assert deciding is not None
    size = words.difference(
        deciding.difference, deciding.low, deciding.high, confidence=deciding.confidence, unit=significance.unit
    )
    difference = say("difference {size}, {p}", size=size, p=words.p_value(deciding.p_value))
    if repeats is None:
        return difference, None
    return difference, say(
        "Found anew on each of {N} splits, on {rows} in all: {told}.",
        N=words.count(len(repeats.p_values)),
        rows=of_ours(repeats.rows_in_words),
        told=difference,
    )


def _what_differs(differences: FeatureDifferences) -> Iterator[str]:
    """Lines on columns that differ significantly: all that are declared, and the strongest others of each kind."""
    differing = [one for one in differences.columns if one.significant]
    yield from (_difference_in_words(one) for one in differing if one.declared)
    others = [one for one in differing if not one.declared]
    of_kinds = [[one for one in others if one.kind == kind][:_SET_APART] for kind in ("numeric", "categorical")]
    fewer = min(map(len, of_kinds))
    room = max(_SET_APART - fewer, _SET_APART // 2 + 1)
    chosen = [one for kind in of_kinds for one in kind[:room]][:_SET_APART]
    yield from map(_difference_in_words, chosen)


_MEANS = (
    "{column} (protected, kept out of the clustering): mean {N} against {Nother} ({effect})",
    "{column} (a declared group): mean {N} against {Nother} ({effect})",
    "{column}: mean {N} against {Nother} ({effect})",
)
_SHARES = (
    "{column} (protected, kept out of the clustering): {level} {N} against {Nother} ({effect})",
    "{column} (a declared group): {level} {N} against {Nother} ({effect})",
    "{column}: {level} {N} against {Nother} ({effect})",
)
"""Of a column that is protected, that is declared, and of any other."""


def _difference_in_words(column: ColumnDifference) -> str:
    """One line on a column that differs."""
    which = 0 if column.role == "protected" else 1 if column.declared else 2
    effect = say("{effect} {N}", effect=of_ours(column.effect_name or ""), N=words.number(column.effect))
    if column.numeric is not None:
        return say(
            _MEANS[which],
            column=Column(column.column),
            N=words.number(column.numeric.mean_a),
            Nother=words.number(column.numeric.mean_b),
            effect=effect,
        )
    strongest = max(
        (level for level in column.levels if level.significant),
        key=lambda level: (abs(level.comparison.difference or 0.0), level.level),
    )
    return say(
        _SHARES[which],
        column=Column(column.column),
        level=Level(strongest.level, column.column),
        N=words.percent(strongest.comparison.mean_a),
        Nother=words.percent(strongest.comparison.mean_b),
        effect=effect,
    )


def _warnings(significance: ClusterSignificance) -> list[str]:
    small = [str(one.cluster.label) for one in significance.clusters if one.comparison.status != "tested"]
    if significance.primary is None or not small:
        return []
    message = (
        "Not tested, for too few test rows: cluster {as_is}. Their rates are not printed; that is not a sign that they "
        "do not deviate."
    )
    return [say(message, as_is=AsItIs(", ".join(small)))]


def _of_blanks(blanks: Blanks | None) -> list[str]:
    """Of whom more outcomes are missing."""
    if blanks is None or not blanks.confirmed:
        return []
    most = blanks.confirmed[0]
    missing = say(
        "{N} of {Nall} rows have no outcome, and that is a matter of group: it is missing for {N2} where {group}, and "
        "for {N3} of everybody else.",
        N=words.count(blanks.rows),
        Nall=words.count(blanks.of),
        N2=words.percent(most.share_inside),
        group=of_ours(most.words),
        N3=words.percent(most.share_outside),
    )
    known = say("What is said of outcomes holds for those that are known; find out why the others are missing.")
    return [joined([missing, known], " ")]


def _groups(metrics: GroupMetrics, scores: GroupScores | None) -> Groups:
    """Every grouping with its rates, comparisons and score.

    Groups with fewer rows than `significance.min_rows` keep their row count and lose every number.
    """
    by_facet = {one.facets: one.score for one in scores.scores} if scores else {}
    label, prediction = metrics.spec.group_columns()
    return Groups(
        label=label,
        prediction=prediction,
        positive=metrics.facets[0].metrics.positive if metrics.facets else (),
        favourable=metrics.spec.favourable_outcome,
        score=metrics.spec.groups.score,
        stratum=metrics.spec.groups.stratum,
        confidence=1.0 - metrics.spec.significance.alpha,
        min_rows=metrics.spec.significance.min_rows,
        notes=metrics.notes,
        facets=tuple(
            _facet(one, metrics.spec.significance.min_rows, metrics.tests, by_facet.get(one.metrics.facets))
            for one in metrics.facets
        ),
    )


def _numeric_groups(metrics: GroupMetrics) -> Groups:
    """Every grouping with its means, medians, errors and comparisons; small groups as in `_groups`."""
    label, prediction = metrics.spec.numeric_columns()
    changed = {"label": label, "prediction": prediction, "positive": (), "favourable": None, "score": None}
    return _groups(metrics, None).model_copy(update={**changed, "stratum": None})


def facet_alone(metrics: BiasMetrics, min_rows: int = 0) -> Groups:
    """Groups of one grouping that is no part of an audit; all are shown where nobody said how many people they need."""
    sizes = next(one for one in metrics.metrics if one.kind == "rate" and one.was_asked_for)
    groups, rows = sizes.values, tuple(int(n) for n in sizes.n)
    facet = _facet(FacetMetrics(metrics, groups, rows), min_rows, (), None)
    largest_first = tuple(sorted(facet.groups, key=lambda one: -one.rows))
    return Groups(
        label=metrics.label,
        prediction=metrics.prediction,
        positive=metrics.positive,
        favourable=None,
        score=metrics.score,
        stratum=metrics.group,
        confidence=metrics.confidence,
        min_rows=min_rows,
        notes=metrics.notes,
        facets=(facet.model_copy(update={"groups": largest_first}),),
    )


def _facet(facet: FacetMetrics, min_rows: int, declared: Sequence[DeclaredTest], score: BiasScore | None) -> Facet:
    metrics = facet.metrics
    not_shown = say(NOT_SHOWN[facet.unit], N=words.count(min_rows))
    small = {group for group, n in zip(facet.groups, facet.sizes, strict=True) if n < min_rows}
    tests = {test.metric: test for test in declared if test.facet == metrics.facet}
    return Facet(
        facet=metrics.facet,
        columns=metrics.facets,
        rows=metrics.rows,
        missing=metrics.missing,
        reference=metrics.reference,
        overall=metrics.overall.to_dict(),
        notes=metrics.notes,
        groups=tuple(
            Group(
                group=group_name(group),
                values=group,
                rows=n,
                persons=None if facet.persons is None else facet.persons[i],
                rates=None if group in small else _rates(metrics, i),
            )
            for i, (group, n) in enumerate(zip(facet.groups, facet.rows, strict=True))
        ),
        against_reference=tuple(
            _values(x, small, not_shown) for x in metrics.metrics if x.kind in ("difference", "ratio")
        ),
        ranges=tuple(
            GroupRange(
                metric=x.name,
                estimate=x.estimate[0],
                low=x.low[0],
                high=x.high[0],
                undefined_reason=x.undefined_reason[0],
                p_value=x.p_value,
                p_adjusted=tests[x.name].p_adjusted if x.name in tests else None,
                significant=tests[x.name].significant if x.name in tests else None,
                left_out=tuple(group_name(group) for group in x.excluded),
            )
            for x in metrics.metrics
            if x.kind == "range"
        ),
        clarify=tuple(_values(x, small, not_shown) for x in metrics.metrics if x.kind == "clarify"),
        bias_score=score,
    )


def _rates(metrics: BiasMetrics, i: int) -> dict[str, Rate]:
    """Rates of one group. What was not asked for (no score column, no label) is left out."""
    return {
        one.name: Rate(
            estimate=one.estimate[i],
            low=one.low[i],
            high=one.high[i],
            n=one.n[i],
            events=one.events[i] if one.name in RATES else None,
            undefined_reason=one.undefined_reason[i],
        )
        for one in metrics.metrics
        if one.kind == "rate" and one.was_asked_for
    }


def _values(metric: Metric, small: set[tuple[Any, ...]], not_shown: str) -> GroupMetric:
    def value(i: int, group: tuple[Any, ...]) -> GroupValue:
        hidden = group in small
        return GroupValue(
            group=group_name(group) if group else None,
            undefined_reason=not_shown if hidden else metric.undefined_reason[i],
            **{name: None if hidden else getattr(metric, name)[i] for name in ("estimate", "low", "high")},
            **{name: None if hidden or limits is None else limits[i] for name, limits in together.items()},
        )

    together = {"together_low": metric.together_low, "together_high": metric.together_high}
    if None in together.values():
        together = dict.fromkeys(together)
    return GroupMetric(metric=metric.name, values=tuple(value(i, group) for i, group in enumerate(metric.values)))


def _drawn(findings: AuditFindings) -> parts.DrawnParts:
    """Of how many rows what needs single rows was worked out, and of how many they were drawn.

    Local bias and mitigation are left out: they say themselves on how many rows they were worked out.
    """
    test, clusters, metrics, slices = findings.test, findings.clusters, findings.group_metrics, findings.slices
    stability = None if clusters is None else clusters.stability
    drawn = {
        "rules": None if clusters is None else Drawn(clusters.shown_rows, clusters.train_rows),
        "stability": None if clusters is None or stability is None else Drawn(stability.rows, clusters.train_rows),
        "repeats": None if findings.significance is None else findings.significance.drawn,
        "auc_of_features": None if findings.differences is None else findings.differences.drawn,
        "slice_edges": None if slices is None else slices.cut_on,
        "slice_permutations": None if slices is None else slices.permuted_on,
        "flip_test": None if metrics is None else metrics.drawn,
    }
    return parts.DrawnParts(
        large_rows=test.spec.large_rows,
        scores_rounded=metrics is not None and metrics.spec.groups.score is not None,
        parts={name: one for name, one in drawn.items() if one is not None and one.rows < one.of},
    )
