"""One cluster far off moves everybody else: who is called better or worse off all the same?"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from bdt_core.inference import adjust_p_values, compare_counts
from bdt_core.significance.clusters import ComparedCluster, compare_without_others
from bdt_core.spec import Significance

SETTINGS = Significance()


def compared(events, rows):
    """Clusters with so many events among so many rows, compared as the audit does it."""

    def compare(label, left_out):
        others = [i for i in range(len(rows)) if i != label and i not in left_out]
        return compare_counts(int(events[label]), int(rows[label]), int(events[others].sum()), int(rows[others].sum()))

    comparisons = [compare(label, ()) for label in range(len(rows))]
    adjusted = adjust_p_values([one.p_value for one in comparisons], "holm")
    clusters = [
        ComparedCluster(
            SimpleNamespace(label=label), one.n_a, one, None, float(p), bool(p <= 0.05), one.difference > 0, None, None
        )
        for label, (one, p) in enumerate(zip(comparisons, adjusted, strict=True))
    ]
    return compare_without_others(clusters, SETTINGS, compare)


def stands_out(one):
    return one.significant and (one.without is None or one.without.stands_out)


def test_one_bad_cluster_makes_no_other_one_better_off():
    first, *others = compared(np.array([200, 100, 104, 96]), np.array([400, 1000, 1000, 1000]))
    assert all(one.significant and not one.worse for one in others)  # beside everybody else, with the bad one
    assert stands_out(first)
    assert first.worse
    assert first.without is None
    for one in others:
        assert one.without.left_out == (0,)
        assert not one.without.stands_out
    alone = compare_counts(100, 1000, 200, 2000)
    assert others[0].without.comparison == alone


def test_who_is_better_off_all_the_same_is_called_so_and_of_two_clusters_one_is_everybody_else():
    first, good, *like = compared(np.array([200, 40, 104, 96]), np.array([400, 1000, 1000, 1000]))
    assert stands_out(first)
    assert stands_out(good)
    assert good.without.left_out == (0,)
    assert good.without.comparison.difference == pytest.approx(0.04 - 0.1)
    assert {one.without.left_out for one in like if one.without} <= {(0, 1)}
    assert not any(map(stands_out, like))
    first, rest = compared(np.array([200, 100]), np.array([400, 1000]))
    assert first.significant
    assert rest.significant
    assert first.without is None
    assert (rest.without.left_out, rest.without.comparison, rest.without.stands_out) == ((0,), None, False)


@pytest.mark.parametrize(
    ("differing", "sizes"),
    [
        ({0: 0.2}, [300] * 6),
        ({0: 0.3}, [800, 200, 200, 200, 200]),
        ({0: 0.1, 1: 0.2}, [300] * 7),
        ({0: 0.25, 1: -0.12}, [400] * 6),
        ({0: 0.06}, [300] * 8),
    ],
)
def test_clusters_that_are_like_all_others_are_seldom_called_better_or_worse_off(differing, sizes, full):
    runs = 5_000 if full else 150
    rng = np.random.default_rng([21, len(sizes), len(differing)])
    rows = np.array(sizes)
    rates = 0.2 + np.array([differing.get(i, 0.0) for i in range(len(sizes))])
    like = [i for i in range(len(sizes)) if i not in differing]
    before = after = found = 0
    for _ in range(runs):
        clusters = compared(rng.binomial(rows, rates), rows)
        before += any(clusters[i].significant for i in like)
        after += any(stands_out(clusters[i]) for i in like)
        found += bool(stands_out(clusters[max(differing, key=differing.get)]))
    assert stats.binom.sf(after - 1, runs, 0.06) > 0.001, after / runs
    if max(differing.values()) >= 0.2:
        assert before > 0.15 * runs
        assert found > 0.98 * runs
