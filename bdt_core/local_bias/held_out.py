"""The gaps of the train rows' clusters, tested on the test rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bdt_core.inference import (
    adjust_p_values,
    area_under_curve,
    compare_counts,
    difference_limits,
    minimum_detectable_difference,
)
from bdt_core.inference.comparison import PersonsCompared
from bdt_core.inference.persons import Persons, PersonSums, compare_persons, person_sums, spread_of
from bdt_core.local_bias.metrics import Integers, LocalMetrics, gaps, metric_by_group
from bdt_core.local_bias.results import GroupInCluster, HeldOutGap, LocalCluster, or_none
from bdt_core.local_bias.rows import LocalSides
from bdt_core.metrics import LOCAL_METRICS
from bdt_core.said import Numeral, say


def judged_clusters(
    sides: LocalSides, train_labels: Integers, test_labels: Integers, k: int
) -> tuple[LocalCluster, ...]:
    """Each of k clusters with its groups' metrics and the test of its gap, corrected over the clusters."""
    settings = sides.settings
    train, test = sides.train.metrics(train_labels, k), sides.test.metrics(test_labels, k)
    train_gap = gaps(train.value, train.counted, settings.min_group_size)
    test_gap = gaps(test.value, test.counted, settings.min_test_rows)
    tests = [_held_out(sides, train, test, test_labels, label) for label in range(k)]
    adjusted = adjust_p_values([one.p_value for one in tests], "bh")
    made = sum(one.p_value is not None for one in tests)
    clusters = []
    for label, (gap, p) in enumerate(zip(tests, adjusted, strict=True)):
        if gap.p_value is not None and gap.gap is not None:
            significant = bool(p <= settings.alpha)
            gap = replace(gap, p_adjusted=float(p), significant=significant, confirmed=significant and gap.gap > 0.0)
            if not LOCAL_METRICS[settings.metric].is_area:
                gap = replace(gap, minimum_detectable_gap=_detectable(sides, test, label, gap, settings.alpha / made))
        clusters.append(
            LocalCluster(
                label=label,
                train_rows=int(train.rows[label].sum()),
                test_rows=int(test.rows[label].sum()),
                train=_values(sides, train, label),
                test=_values(sides, test, label),
                train_gap=or_none(train_gap[label]),
                test_gap=or_none(test_gap[label]),
                held_out=gap,
            )
        )
    return tuple(clusters)


def values_together(
    sides: LocalSides, train_labels: Integers, test_labels: Integers, k: int
) -> tuple[tuple[GroupInCluster, ...], ...]:
    """The groups' metrics in each of k clusters, over the rows of both parts."""
    train, test = sides.train, sides.test
    table = metric_by_group(
        np.concatenate([train_labels, test_labels]), k, np.concatenate([train.group, test.group]), len(sides.groups),
        train.rows.outcome.with_rows(test.rows.outcome),
    )  # fmt: skip
    return tuple(_values(sides, table, label) for label in range(k))


def _values(sides: LocalSides, table: LocalMetrics, label: int) -> tuple[GroupInCluster, ...]:
    is_rate = not LOCAL_METRICS[sides.settings.metric].is_area
    return tuple(
        GroupInCluster(
            group=name,
            rows=int(table.rows[label, code]),
            counted=int(table.counted[label, code]),
            events=int(table.counts[label, code, 1]) if is_rate else None,
            value=or_none(table.value[label, code]),
        )
        for code, name in enumerate(sides.groups)
    )


def _held_out(
    sides: LocalSides, train: LocalMetrics, test: LocalMetrics, test_labels: Integers, label: int
) -> HeldOutGap:
    """Test, on test rows, the two groups that are furthest apart among the train rows of a cluster.

    Where there are two with enough test rows, they are chosen among those: how many rows a metric rests on says nothing
    about the metric, so that the test stays valid.
    """
    settings = sides.settings
    counts = np.flatnonzero(train.counted[label] >= settings.min_group_size)
    if len(counts) < 2:
        return HeldOutGap(
            "not_testable",
            say(
                "fewer than two groups with {N} train rows that the metric can be computed from",
                N=Numeral(settings.min_group_size),
            ),
        )
    testable = counts[test.counted[label, counts] >= settings.min_test_rows]
    counts = testable if len(testable) >= 2 else counts
    values = train.value[label, counts]
    higher, lower = int(counts[values.argmax()]), int(counts[::-1][values[::-1].argmin()])
    result = HeldOutGap(
        "tested",
        None,
        higher=sides.groups[higher],
        lower=sides.groups[lower],
        train_gap=float(train.value[label, higher] - train.value[label, lower]),
        counted_higher=int(test.counted[label, higher]),
        counted_lower=int(test.counted[label, lower]),
    )
    if min(result.counted_higher, result.counted_lower) < settings.min_test_rows:
        return replace(
            result,
            status="not_testable",
            reason=say(
                "{N} test rows against {Nother}: each group needs at least {Nleast}",
                N=Numeral(result.counted_higher),
                Nother=Numeral(result.counted_lower),
                Nleast=Numeral(settings.min_test_rows),
            ),
        )
    if LOCAL_METRICS[settings.metric].is_area:
        return _compare_areas(sides, result, test_labels == label, higher, lower)
    events = test.counts[label, :, 1]
    comparison = compare_counts(
        int(events[higher]),
        result.counted_higher,
        int(events[lower]),
        result.counted_lower,
        alpha=settings.alpha,
        min_rows=settings.min_test_rows,
    )
    sums = _of_persons(sides, test_labels == label, higher, lower)
    if sums is not None:
        comparison = compare_persons(comparison, *sums, min_rows=settings.min_test_rows)
        result = replace(result, status=comparison.status, reason=comparison.reason, persons=comparison.persons)
    return replace(
        result,
        test=comparison.test,
        gap=comparison.difference,
        low=comparison.low,
        high=comparison.high,
        p_value=comparison.p_value,
    )


def _detectable(sides: LocalSides, test: LocalMetrics, label: int, gap: HeldOutGap, alpha: float) -> float:
    """The gap that would have been found with 80 % power, if it were the only one in as many tests as were made."""
    codes = [sides.groups.index(str(name)) for name in (gap.higher, gap.lower)]
    events = int(test.counts[label, codes, 1].sum())
    shrink = 1.0 if gap.persons is None else gap.persons.shrink(alpha)
    return minimum_detectable_difference(
        max(round(gap.counted_higher / shrink), 1),
        max(round(gap.counted_lower / shrink), 1),
        base_rate=events / (gap.counted_higher + gap.counted_lower),
        alpha=alpha,
    )


def _of_persons(
    sides: LocalSides, inside: NDArray[np.bool_], higher: int, lower: int
) -> tuple[PersonSums, PersonSums] | None:
    """What persons of both groups have in the cluster; None where each row is a person."""
    hashes, outcome = sides.test.rows.persons, sides.test.rows.outcome.value
    if hashes is None:
        return None
    persons = Persons.of(hashes)
    who = persons.numbers(hashes)

    def of_group(code: int) -> PersonSums:
        rows = inside & (sides.test.group == code) & (outcome >= 0)
        return person_sums(outcome[rows].astype(np.float64), who[rows], persons.size)

    return of_group(higher), of_group(lower)


def _compare_areas(
    sides: LocalSides, result: HeldOutGap, inside: NDArray[np.bool_], higher: int, lower: int
) -> HeldOutGap:
    """Difference of two areas under the curve by DeLong's intervals of each, which are independent."""
    alpha = sides.settings.alpha
    outcome, group = sides.test.rows.outcome, sides.test.group
    assert outcome.score is not None
    areas = []
    for code in (higher, lower):
        rows = inside & (group == code)
        score, label = outcome.score[rows], outcome.value[rows]
        area = area_under_curve(score[label == 1], score[label == 0], alpha=alpha)
        areas.append(np.array([area.auc, area.low, area.high], dtype=np.float64))  # both labels occur: no None
    (a, low_a, high_a), (b, low_b, high_b) = (one.tolist() for one in areas)
    gap = a - b
    # The interval of two independent estimates, and the errors that the intervals' lengths stand for.
    low, high = map(float, difference_limits(a, low_a, high_a, b, low_b, high_b))
    error = float(np.hypot(high_a - low_a, high_b - low_b)) / (2.0 * float(special.ndtri(1.0 - 0.5 * alpha)))
    sums = _of_persons(sides, inside, higher, lower)
    if sums is not None:  # as if all rows of a person were alike, so that intervals err on the wide side
        spread = spread_of(*sums)
        persons = PersonsCompared(spread.persons_a, spread.persons_b, max(spread.alike, 1.0), spread.df)
        stretch = persons.shrink(alpha) ** 0.5
        low, high, error = gap - stretch * (gap - low), gap + stretch * (high - gap), stretch * error
        result = replace(result, persons=persons)
        fewest = sides.settings.min_test_rows
        if min(persons.a, persons.b) < fewest:
            few = say(
                "{N} persons against {Nother}: each group needs at least {Nleast} persons",
                N=Numeral(persons.a),
                Nother=Numeral(persons.b),
                Nleast=Numeral(fewest),
            )
            return replace(result, status="not_testable", reason=few)
    p_value = float(2.0 * special.ndtr(-abs(gap) / error))
    return replace(result, test="DeLong", gap=gap, low=max(low, -1.0), high=min(high, 1.0), p_value=p_value)
