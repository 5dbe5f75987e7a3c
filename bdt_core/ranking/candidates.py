"""Candidates of each search: the people that it holds to fare worse, in the same words and units.

P-values are corrected for that search alone; who they are, and how they fare, is counted later where a search did not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from bdt_core import words
from bdt_core.clustering.clusters import Clusters
from bdt_core.clustering.stability import FOUND_AGAIN
from bdt_core.declared import DeclaredOutcomes
from bdt_core.fairness.coding import Level, code_column
from bdt_core.groups.conditions import GroupCondition
from bdt_core.groups.scan.results import WorstGroups
from bdt_core.groups.slices.results import Slices
from bdt_core.inference import Comparison, adjust_p_values, interval_at_once
from bdt_core.inference.permutation import PERMUTATIONS
from bdt_core.local_bias.results import LocalBias, LocalCluster
from bdt_core.local_bias.topics import FeatureDifference
from bdt_core.metrics import LOCAL_METRICS, as_harm
from bdt_core.ranking.results import Finding, Members
from bdt_core.said import Numeral, of_ours, say
from bdt_core.significance.clusters import ClusterSignificance
from bdt_core.spec import AuditSpec, FoundBy, LocalBiasSection
from bdt_core.spec.wording import wording

_MOST_LEVELS = 100
_PLACE_TOLD, _WORDS_TOLD = 2, 5
_ROUNDING = 1e-9


def from_worst_groups(worst: WorstGroups, measured: str) -> Iterator[Finding]:
    """The confirmed groups.

    A later one is no surer than those before it, which it was searched for behind, and compared with people alike in
    them: that is who everybody else is, then.
    """
    p_values = accumulate((one.p_value for one in worst.groups), max)
    smallest = (1.0 + _ROUNDING) / (worst.permutations + 1.0)
    for before, (group, p_value) in enumerate(zip(worst.groups, p_values, strict=True)):
        if group.low is None or group.high is None:
            continue
        finding = _finding(
            group.words, "worst_groups", measured, (group.difference, group.low, group.high), p_value,
            better=worst.better, conditions=group.conditions, reach=group.reach or 0.0, at_floor=p_value <= smallest,
        )  # fmt: skip
        yield replace(
            finding, rows=group.rows, share=group.share, mean_inside=group.mean_inside, mean_outside=group.mean_outside,
            remaining=group.among_alike, groups_before=before,
        )  # fmt: skip


def from_clusters(clusters: Clusters, significance: ClusterSignificance, measured: str) -> Iterator[Finding]:
    """Clusters that are worse off on rows that their search never saw, and that refits find again.

    The most deviating one is tested on the test rows of all splits; corrected for how many clusters there are.
    """
    spec, deciding = significance.spec, significance.deciding
    if deciding is None:
        return
    compared = [deciding, *(one.comparison for one in significance.clusters[1:])]
    p_values = adjust_p_values([one.p_value for one in compared], "holm")
    for tested, comparison, p_value in zip(significance.clusters, compared, p_values, strict=True):
        both, label = interval_at_once(comparison, len(compared)), tested.cluster.label
        if both is None or comparison.difference is None or np.isnan(p_value):
            continue
        if clusters.stability is not None and clusters.stability.clusters[label].jaccard < FOUND_AGAIN:
            continue
        fits = words.rule_fits(tested.rule_precision, tested.rule_recall)
        who: str = say("cluster {N}, which no short rule describes", N=Numeral(label))
        if fits:
            who = of_ours(str(tested.cluster.rule))
        yield _finding(
            who, "clusters", measured, (comparison.difference, *both), float(p_value), at_floor=_at_floor(comparison),
            better=spec.bias_variable.better, places=partial(_in_cluster, clusters=clusters, label=label),
            described=tested.cluster.rule.conditions if fits else (),
            reach=_quantile(spec.significance.alpha / len(compared)), on_test_rows=True,
        )  # fmt: skip


def from_slices(slices: Slices, measured: str) -> Iterator[Finding]:
    """Intersections that are reported as worse off."""
    for group in slices.reported:
        interval = interval_at_once(group.comparison, slices.tests)
        if group.p_adjusted is None or interval is None or group.comparison.difference is None:
            continue
        yield _finding(
            group.name, "slices", measured, (group.comparison.difference, *interval), group.p_adjusted,
            better=slices.better, conditions=group.conditions, reach=_quantile(slices.alpha / slices.tests),
            on_test_rows=not slices.in_sample, at_floor=_at_floor(group.comparison),
        )  # fmt: skip


def from_declared_groups(declared: DeclaredOutcomes) -> Iterator[Finding]:
    """Declared groups against everybody else, by the bias variable; corrected for how many there are."""
    for facet in declared.facets:
        for group in facet.groups:
            if (
                group.mean is None
                or group.mean_others is None
                or group.difference is None
                or group.p_adjusted is None
                or group.difference_low is None
                or group.difference_high is None
            ):
                continue
            finding = _finding(
                words.all_of([each.words for each in group.conditions]), "groups", declared.measured,
                (group.difference, group.difference_low, group.difference_high), group.p_adjusted,
                better=declared.better, conditions=group.conditions,
                reach=_quantile(declared.alpha / declared.comparisons), at_floor=False,
            )  # fmt: skip
            yield replace(
                finding, rows=group.rows, share=group.share, mean_inside=group.mean, mean_outside=group.mean_others
            )


def from_local_bias(local_bias: LocalBias, spec: AuditSpec, audited_rows: int) -> Iterator[Finding]:
    """Groups that are behind within a place of the data, where the test rows confirm it.

    People are counted in the result, for of embeddings in a file the table does not say who is where.
    """
    metric = LOCAL_METRICS[local_bias.settings.metric]
    # Rates of predictions are good or bad for people as the prediction is.
    favourable = spec.favourable_outcome
    if metric.among is not None and favourable is None:
        return
    settings = spec.local_bias
    if settings is None:
        return
    at_hand = local_bias.train_rows + local_bias.test_rows + sum(local_bias.left_out.values())
    times = max(audited_rows / at_hand, 1.0)
    in_file = settings.embeddings if isinstance(settings.embeddings, str) else None
    higher_is_worse = metric.among is not None and favourable == "negative"
    for place in local_bias.logan.clusters:
        gap = place.held_out
        if not gap.confirmed or gap.gap is None or gap.low is None or gap.high is None or gap.p_adjusted is None:
            continue
        of_group = {each.group: each for each in place.together}
        ahead, behind = (gap.higher, gap.lower) if gap.gap > 0 else (gap.lower, gap.higher)
        worse, other = (ahead, behind) if higher_is_worse else (behind, ahead)
        inside, outside = of_group[str(worse)], of_group[str(other)]
        if inside.value is None or outside.value is None:
            continue
        rows, group = round(inside.rows * times), GroupCondition.of_level(settings.group, worse)
        there = () if settings.places is None else (GroupCondition.of_level(settings.places, place.name),)
        low, high = sorted((abs(gap.low), abs(gap.high))) if gap.low * gap.high > 0 else (0.0, abs(gap.high))
        yield Finding(
            who=words.all_of([one.words for one in (group, *there)])
            if there
            else say("{rule}, in place {number} of local bias", rule=group.words, number=words.number(place.label)),
            found_by="local_bias", rows=rows, share=rows / audited_rows, measured=metric.measured or metric.words,
            mean_inside=inside.value, mean_outside=outside.value, difference=abs(gap.gap), low=low, high=high,
            p_value=gap.p_adjusted, people_harmed=None, described=(group, *there),
            compared_with=(GroupCondition.of_level(settings.group, other), *there),
            place=() if there else _place(place, settings.group, local_bias.settings.alpha),
            place_words=tuple(each.word for each in place.about.words[:_WORDS_TOLD]),
            places=None
            if in_file
            else partial(_in_place, local_bias=local_bias, place=place, settings=settings, group=str(worse)),
            embeddings=in_file, reach=_quantile(local_bias.settings.alpha), on_test_rows=True,
        )  # fmt: skip


def _place(place: LocalCluster, group: str, alpha: float) -> tuple[FeatureDifference, ...]:
    """What sets a place of local bias apart most, the column of the compared groups aside."""
    apart = [each for each in place.about.features if each.p_adjusted <= alpha and each.column != group]
    return tuple(apart[:_PLACE_TOLD])


def _finding(
    who: str, found_by: FoundBy, measured: str, interval: tuple[float, float, float], p_value: float, *, better: str,
    reach: float, at_floor: bool, on_test_rows: bool = False, conditions: tuple[GroupCondition, ...] = (),
    places: Members | None = None, described: tuple[GroupCondition, ...] = (),
) -> Finding:  # fmt: skip
    """A candidate, whose people are not counted yet."""
    difference, low, high = as_harm(*interval, better)
    return Finding(
        who=who, found_by=found_by, rows=0, share=0.0, measured=measured, mean_inside=math.nan, mean_outside=math.nan,
        difference=difference, low=low, high=high, p_value=p_value, people_harmed=None, conditions=conditions,
        places=places, described=described, reach=reach, on_test_rows=on_test_rows, at_floor=at_floor,
    )  # fmt: skip


def _at_floor(comparison: Comparison) -> bool:
    """Whether permutations could give no smaller p-value; each direction has half of it."""
    if comparison.test != "studentised permutation" or comparison.p_value is None:
        return False
    return comparison.p_value <= 2.0 * (1.0 + _ROUNDING) / (PERMUTATIONS + 1.0)


def _quantile(alpha: float) -> float:
    return float(ndtri(1.0 - alpha / 2.0))


def level_groups(
    frame: pd.DataFrame, columns: Sequence[str]
) -> Iterator[tuple[tuple[GroupCondition, ...], NDArray[np.bool_]]]:
    """Each level of a column, or each that several columns have together."""
    if any(one not in frame.columns or pd.api.types.is_float_dtype(frame[one].dtype) for one in columns):
        return
    coded = [code_column(frame, one) for one in columns]
    if any(len(one.levels) > _MOST_LEVELS for one in coded):
        return
    rows = np.stack([one.codes.astype(np.int64) for one in coded], axis=1)
    for codes in np.unique(rows, axis=0):
        levels: list[Level] = [one.levels[code] for one, code in zip(coded, codes, strict=True)]
        if None not in levels:
            yield tuple(map(GroupCondition.of_level, columns, levels)), (rows == codes).all(axis=1)


def _in_cluster(frame: pd.DataFrame, *, clusters: Clusters, label: int) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = np.asarray(clusters.model.predict(frame[list(clusters.model.encoder_.names)])) == label
    return inside


def _in_place(
    frame: pd.DataFrame, *, local_bias: LocalBias, place: LocalCluster, settings: LocalBiasSection, group: str
) -> NDArray[np.bool_]:
    names = local_bias.columns
    rows = frame[names] if names is not None else frame[settings.embeddings].to_numpy(dtype=np.float64)
    inside: NDArray[np.bool_] = np.asarray(local_bias.predict(rows)) == place.label
    return inside & (frame[settings.group].astype(str) == group).to_numpy()


def with_rows(
    finding: Finding, inside: NDArray[np.bool_], y: NDArray[np.float64], times: float, *, is_rate: bool
) -> Finding:
    """A finding with how many people it is about, of rows drawn times as many, and how they and all others fare.

    What the search counted on all rows stays.
    """
    if not finding.rows:
        means = (float(y[these].mean()) if these.any() else math.nan for these in (inside, ~inside))
        mean_inside, mean_outside = means
        finding = replace(
            finding, rows=round(int(inside.sum()) * times), share=float(inside.mean()), mean_inside=mean_inside,
            mean_outside=mean_outside,
        )  # fmt: skip
    return replace(finding, people_harmed=finding.rows * finding.difference if is_rate else None)


def name_of(spec: AuditSpec) -> str:
    """What the bias variable is called."""
    return wording(spec.bias_variable).name
