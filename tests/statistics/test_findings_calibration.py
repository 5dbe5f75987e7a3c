"""Whole audits without harm show few findings; what remains among people alike is covered as often as it is said."""

from __future__ import annotations

from functools import cache

import pytest
from scipy import stats

from benchmarks.nobody import KINDS, asked, shows_any
from benchmarks.searched import ALIKE, missed_alike


@pytest.mark.usefixtures("without_words", "fewer_permutations")
def test_few_audits_without_harm_show_any_finding(full):
    runs = 300 if full else 2
    shown = [sum(shows_any(*asked(*kind, run)) for run in range(runs)) for kind in KINDS]
    assert all(believable(one, runs) for one in shown)
    assert believable(sum(shown), runs * len(KINDS))


def believable(shown, runs):
    return stats.binom.sf(shown - 1, runs, 0.05) > 0.001


@cache
def missed_and_runs(design, full):
    runs, n = (300, 2000) if full else (10, 1000)
    return missed_alike(design, runs, n)[0], runs


def too_often(missed, runs):
    """The other way round: misses are no more than 7 in 100, if this is believable at all."""
    return stats.binom.sf(missed - 1, runs, 0.07) <= 0.001


@pytest.mark.parametrize("design", ALIKE)
def test_what_remains_is_covered(design, full):
    assert not too_often(*missed_and_runs(design, full))


def test_what_remains_is_covered_in_all_designs_together(full):
    missed, runs = zip(*(missed_and_runs(design, full) for design in ALIKE), strict=True)
    assert not too_often(sum(missed), sum(runs))
