"""Rows with a score and what happened: measured in groups, and searched for groups of whom the score is off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from bdt_core.calibration.results import CalibratedGroup, Calibration, Way
from bdt_core.fairness.score_metrics import gap_limits
from bdt_core.groups.conditions import GroupCondition, members
from bdt_core.groups.scan.results import Certificate, WorstGroups
from bdt_core.groups.scan.score_gaps import gaps_ruled_out
from bdt_core.groups.scan.settings import ScanSettings
from bdt_core.groups.scan.stages import Question, scan
from bdt_core.inference.exact_sums import exact_sum
from bdt_core.metrics import Better
from bdt_core.said import Column, say
from bdt_core.table.blocks import OUTCOME, OneBlock

Floats = NDArray[np.float64]
EITHER_WAY = 0.5
"""Of alpha: for scores that are too low, and for those that are too high."""
_VARIANCE = "(variance)"
_WAYS: dict[Better, Way] = {"lower": "too low", "higher": "too high"}
"""Which label less score is better, and what is said of the score where it is worse."""


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with a score and a label.

    Attributes
    ----------
    frame : DataFrame
        With the columns that make groups, and the key.
    happened : ndarray of float64, shape (n,)
        1 where the label is positive, else 0.
    scores : ndarray of float64, shape (n,)
    columns : tuple of str
        Those that make groups.
    key : str or None
        Column of the frame that says which rows are one person's.
    """

    frame: pd.DataFrame
    happened: Floats
    scores: Floats
    columns: tuple[str, ...]
    key: str | None = None

    @property
    def persons(self) -> NDArray[np.int64] | None:
        """Numbers of persons, from 0; None where each row is one."""
        return None if self.key is None else pd.factorize(self.frame[self.key], sort=True)[0].astype(np.int64)

    def searched(self, empty: Calibration, settings: ScanSettings) -> Calibration:
        """Search for the groups of whom the score is off, and say what is ruled out for all others.

        Parameters
        ----------
        empty : Calibration
            Without results.
        settings : ScanSettings
            Of either search.
        """
        if not len(self.frame):
            return replace(empty, reason=say("no row has a label and a score"))
        if self.scores.min() < 0.0 or self.scores.max() > 1.0:
            reason = say("{name} is no chance: it is not always from 0 to 1", name=Column(empty.score))
            return replace(empty, reason=reason)
        z = float(ndtri(1.0 - settings.alpha / 2.0))
        everybody = self.group((), z, z)
        of_all = replace(empty, everybody=everybody)
        sure: list[CalibratedGroup] = []
        for better, way in _WAYS.items():
            worst = self._scanned(better, settings)
            if worst.reason is not None:
                return replace(of_all, reason=worst.reason)
            for differs in worst.groups:
                group = self.group(differs.conditions, differs.reach or z, z, way)
                if group.way == way:  # who differs only because everybody else is off the other way is no finding
                    sure.append(replace(group, p_value=differs.p_value))
        sure.sort(key=lambda one: (-one.at_least, one.words))
        ruled_out = gaps_ruled_out(self.frame, self.columns, self.happened, self.scores, self.persons, settings)
        known = [everybody, *sure]
        return replace(of_all, groups=tuple(sure), ruled_out=tuple(_beside(one, known) for one in ruled_out))

    def group(
        self, conditions: Sequence[GroupCondition], near: float, far: float, way: Way = "too low"
    ) -> CalibratedGroup:
        """A group by itself.

        Parameters
        ----------
        conditions : sequence of GroupCondition
        near, far : float
            Standard errors that its interval reaches towards no gap, and away from it.
        way : {"too low", "too high"}
            What is said of the score for this group.
        """
        inside = members(self.frame, conditions)
        happened, scores = self.happened[inside], self.scores[inside]
        n = happened.size
        share, mean = float(happened.sum()) / n, exact_sum(scores) / n
        gap = share - mean
        apart = happened - scores - gap
        variance = exact_sum(apart * apart) / max(n - 1, 1)
        worth = n / self._design_effect(apart, inside)
        of_group = [np.array([x]) for x in (share, mean, variance, worth)]
        low, high = (
            float(gap_limits(of_group[0], of_group[1], of_group[2], of_group[3], reach)[place][0])
            for place, reach in enumerate((near, far) if way == "too low" else (far, near))
        )
        return CalibratedGroup(tuple(conditions), n, n / len(self.frame), mean, share, gap, low, high)

    def _design_effect(self, apart: Floats, inside: NDArray[np.bool_]) -> float:
        """Variance of a sum over that of as many rows of different persons; at least 1."""
        persons = self.persons
        alone = exact_sum(apart * apart)
        if persons is None or not alone:
            return 1.0
        of_rows = persons[inside]
        order = np.lexsort((apart, of_rows))  # so that the order of the rows does not matter
        by_person = np.asarray(np.bincount(of_rows[order], weights=apart[order]), np.float64)
        return max(1.0, exact_sum(by_person * by_person) / alone)

    def _scanned(self, better: Better, settings: ScanSettings) -> WorstGroups:
        """The search for the worst group, by label less score, which spreads as labels of these chances do.

        As a label's own spread grows where the score is too low, it would hide the gap of the very group.
        """
        used = [*self.columns, *([] if self.key is None else [self.key])]
        of_rows = {OUTCOME: self.happened - self.scores, _VARIANCE: self.scores * (1.0 - self.scores)}
        block = OneBlock(self.frame[used].assign(**of_rows))
        question = Question(self.columns, OUTCOME, better, key=self.key, variance=_VARIANCE, only_groups=True)
        return scan(block, question, settings, sample_rows=len(self.frame))


def _beside(certificate: Certificate, groups: Sequence[CalibratedGroup]) -> Certificate:
    """The same with what was found of groups large enough, and of everybody."""
    large = [one for one in groups if one.share >= certificate.min_share]
    return replace(
        certificate,
        confirmed_difference=max(one.at_least for one in groups),
        found_difference=max(abs(one.gap or 0.0) for one in large),
    )
