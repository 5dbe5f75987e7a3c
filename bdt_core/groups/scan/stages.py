"""The stages of the scan in their order: code, search, permute, measure; and again, until nothing is confirmed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from bdt_core import words
from bdt_core.groups.cells import CodedColumn, LeftOutColumn
from bdt_core.groups.scan.alike import Alike, fit_strata
from bdt_core.groups.scan.bounds import Highest, highest_bounds
from bdt_core.groups.scan.climbing import Climb, ScoredGroup
from bdt_core.groups.scan.columns import fit_columns
from bdt_core.groups.scan.curse import winners_curse
from bdt_core.groups.scan.language import MAX_CONDITIONS, MAX_DESCRIBED, Language, random_starts
from bdt_core.groups.scan.measuring import MeasuredGroup, design_effect, measure, measured, way_to_summarise
from bdt_core.groups.scan.null import p_value, scores_by_chance
from bdt_core.groups.scan.reach import reach_of_bounds
from bdt_core.groups.scan.results import (
    Certificate,
    Searched,
    SearchedColumn,
    SpreadGroup,
    Structure,
    WorstGroup,
    WorstGroups,
)
from bdt_core.groups.scan.rows import Floats, Numbers, ScanRows, coded_rows, dense
from bdt_core.groups.scan.settings import MAX_SHARE, SEED, ScanSettings
from bdt_core.groups.scan.structure import structure_beyond
from bdt_core.metrics import Better, Directed
from bdt_core.said import say
from bdt_core.table.blocks import OUTCOME, Block, Blocks, known_rows
from bdt_core.table.summaries import Drawn, How

_WEAKER = 2.0
"""Tables are made in which a group is worse by so many standard errors less than it was found to be."""
MADE_ROWS = 100_000
"""Of larger tables none like them are made: the bound for all groups at once is narrow enough there."""
_SPREAD_PERMUTATIONS, _SPREAD_AT_ONCE = 39, 4
"""Few: the search for another spread is no finding, and should cost little where there is none."""
PERMUTED_ROWS = 20_000
"""Of a larger table so many rows are permuted: the distribution of the best score hardly depends on their number."""


@dataclass(frozen=True)
class Question(Directed):
    """What is asked of a table.

    Attributes
    ----------
    columns : tuple of str
        Columns whose values make the groups.
    outcome : str
        What the outcome is called.
    better : {"lower", "higher"}
    legitimate : tuple of str
    key : str or None
    lists : str or None
        Column with the number of each row's list, of which the outcomes are less the mean.
    variance : str or None
        Column with the variance that each outcome has where nobody fares worse; None where that is seen in outcomes.
    only_groups : bool
        Whether nothing is asked beside the groups: neither what is ruled out for others nor what else columns tell.
    """

    columns: tuple[str, ...]
    outcome: str
    better: Better
    legitimate: tuple[str, ...] = ()
    key: str | None = None
    lists: str | None = None
    variance: str | None = None
    only_groups: bool = False


def scan(table: Blocks, question: Question, settings: ScanSettings, *, sample_rows: int) -> WorstGroups:
    """Find the worst-treated groups of a table; `bdt_core.groups.scan.find_worst_groups` has the words.

    Parameters
    ----------
    table : Blocks
    question : Question
    settings : ScanSettings
    sample_rows : int
        Groups are searched for in so many rows at most, and measured on all.

    Raises
    ------
    DataError
        A factor that cannot be divided into classes.
    """
    rows, left_out = np.sum(table.map_blocks(_count, [OUTCOME]), axis=0).tolist()
    frame, outcome = known_rows(table.sample(sample_rows))
    apart = dict.fromkeys(question.legitimate, "people alike in it are compared")
    if question.key is not None:
        apart[question.key] = "it says who is the same person"
    columns, unusable = fit_columns(frame, [one for one in question.columns if one not in apart], len(frame) / rows)
    named = [LeftOutColumn(name, why) for name, why in apart.items() if name in question.columns]
    alike = fit_strata(frame, question.legitimate)
    persons = None if question.key is None else _numbered(frame[question.key])
    lists = None if question.lists is None or persons is not None else _numbered(frame[question.lists])
    people = len(frame) if persons is None else int(persons.max()) + 1
    fewest = settings.fewest(settings.min_share, people)
    reason = _reason(columns, outcome, fewest, people, "rows" if persons is None else "persons")
    groups = ScannedGroups()
    certificates: list[Certificate] = []
    spread = None
    if reason is None:
        language = Language.of(columns, frame)
        scan_rows = _scan_rows(frame, outcome, language, alike, persons, lists, question)
        climb = Climb(scan_rows, language, (fewest, fewest))
        search = _Search(table, frame, climb, alike, way_to_summarise(table), _step(outcome), question, settings)
        groups = search.groups()
        if not question.only_groups:
            certificates = search.certificates(people)
            spread = None if scan_rows.is_rate else search.spread(groups.confirmed)
    return WorstGroups(
        groups=groups.confirmed,
        unconfirmed=groups.unconfirmed,
        certificate=certificates[0] if certificates else None,
        limited=tuple(certificates[1:]),
        structure=groups.structure,
        spread=spread,
        searched=Searched(
            tuple(map(SearchedColumn.of, columns)), (*named, *unusable), MAX_CONDITIONS, random_starts(len(columns))
        ),
        outcome=question.outcome,
        better=question.better,
        is_rate=bool(np.isin(outcome, (0.0, 1.0)).all()),
        rows=rows,
        left_out=left_out,
        min_share=settings.min_share,
        min_rows=settings.min_rows,
        legitimate=question.legitimate,
        strata=alike.strata,
        key=question.key,
        permutations=settings.permutations,
        alpha=settings.alpha,
        level=settings.level,
        random_state=SEED,
        reason=reason,
        searched_on=Drawn.where_fewer(len(frame), rows),
        permuted_on=Drawn.where_fewer(min(PERMUTED_ROWS, len(frame)), rows),
    ).beside(groups.confirmed)


def _count(block: Block) -> NDArray[np.int64]:
    """Rows with a known outcome, and without."""
    rows = len(known_rows(block)[1])
    return np.array([rows, len(block.frame) - rows])


def _reason(columns: Sequence[CodedColumn], outcome: Floats, fewest: int, people: int, counted: str) -> str | None:
    """Why nothing can be searched."""
    if not columns:
        return say("no column is left to search")
    if outcome.min() == outcome.max():
        return say("every row has the same outcome")
    if 2 * fewest > people:
        return say(
            "a group needs {N} {counted}, and as many outside of it; there are {people}",
            N=words.count(fewest),
            counted=say(counted),
            people=words.count(people),
        )
    return None


def _step(outcome: Floats) -> float | None:
    """The distance of the two values of an outcome; None where there are more."""
    low, high = float(outcome.min()), float(outcome.max())
    return high - low if ((outcome == low) | (outcome == high)).all() else None


def _numbered(column: pd.Series) -> Numbers:
    return dense(pd.factorize(column, sort=True)[0])


def _scan_rows(
    frame: pd.DataFrame,
    outcome: Floats,
    language: Language,
    alike: Alike,
    persons: Numbers | None,
    lists: Numbers | None,
    question: Question,
) -> ScanRows:
    is_rate = _step(outcome) is not None
    harm = outcome * question.harm_sign
    return ScanRows(
        cells=coded_rows(frame, language),
        harm=(harm == harm.max()).astype(np.float64) if is_rate else harm,
        strata=dense(alike.of(frame)),
        persons=persons,
        lists=lists,
        is_rate=is_rate,
        places=np.arange(len(frame)),
        variances=None if question.variance is None else frame[question.variance].to_numpy(np.float64),
    ).in_order()


@dataclass(frozen=True)
class ScannedGroups:
    """The confirmed groups one after the other, the first that is not, and what columns tell beyond them."""

    confirmed: tuple[WorstGroup, ...] = ()
    unconfirmed: WorstGroup | None = None
    structure: Structure | None = None


@dataclass(frozen=True, eq=False)
class _Search:
    """A table, and the rows of it that are searched.

    Attributes
    ----------
    table : Blocks
    frame : DataFrame
        What is searched.
    climb : Climb
    alike : Alike
    how : How
    step : float or None
        The distance of the two values of the outcome; None where there are more.
    question : Question
    settings : ScanSettings
    """

    table: Blocks
    frame: pd.DataFrame
    climb: Climb
    alike: Alike
    how: How
    step: float | None
    question: Question
    settings: ScanSettings

    def groups(self) -> ScannedGroups:
        """Search, and search again with what was confirmed taken out, until nothing more is confirmed."""
        groups: list[WorstGroup] = []
        unconfirmed = None
        climb, alike = self.climb, self.alike
        while len(groups) < self.settings.max_groups:
            scores = climb.scored()
            group = climb.best(scores)
            # Of what is confirmed all harm is expected: the best of nothing may be the same group once more.
            if not np.isfinite(group.score) or not climb.rows.have_others_alike(climb.rows.inside(group.state)):
                break
            number, assured = len(groups), climb.assured(group, scores)
            by_chance = scores_by_chance(
                climb.drawn(PERMUTED_ROWS, number), assured, self.settings.permutations, self.settings.level, number
            )
            of_group, p = self._measured(group, climb, alike), p_value(assured, by_chance)
            if p > self.settings.level:
                unconfirmed = self._named(group, of_group, p, (None, None))
                break
            limits = self._limits(climb, group, of_group, by_chance, number)
            groups.append(self._named(group, of_group, p, limits))
            climb = replace(climb, rows=climb.rows.within(climb.rows.inside(group.state)))
            alike = alike.within(climb.language.conditions(group.state))
        return ScannedGroups(tuple(groups), unconfirmed, self._structure(climb))

    def _structure(self, climb: Climb) -> Structure | None:
        """What columns tell beyond the confirmed groups, which the rows of the climb expect."""
        if self.question.only_groups:
            return None
        rows = climb.rows.drawn(PERMUTED_ROWS, 0)
        structure = structure_beyond(rows, climb.language, self.settings.level, self.settings.alpha)
        if structure is None or self.step is None:
            return structure
        return replace(structure, difference=structure.difference * self.step, at_least=structure.at_least * self.step)

    def _named(
        self, group: ScoredGroup, of_group: MeasuredGroup, p: float, limits: tuple[float | None, float | None]
    ) -> WorstGroup:
        """A group as it is on all rows."""
        harm = of_group.difference * self.question.harm_sign
        near = limits[0] if self.question.harm_sign > 0 else limits[1]
        return WorstGroup(
            conditions=self.climb.language.conditions(group.state),
            rows=of_group.rows,
            share=of_group.rows / of_group.all_rows,
            mean_inside=of_group.mean_inside,
            mean_outside=of_group.mean_outside,
            difference=of_group.difference,
            low=limits[0],
            high=limits[1],
            p_value=p,
            score=group.score,
            people_harmed=None if self.step is None else of_group.rows * harm / self.step,
            reach=None if near is None or of_group.error == 0.0 else abs(of_group.difference - near) / of_group.error,
        )

    def _measured(self, group: ScoredGroup, climb: Climb, alike: Alike) -> MeasuredGroup:
        of_group = measure(self.table, climb.language.conditions(group.state), alike, self.how)
        effect = design_effect(climb.rows, climb.rows.inside(group.state))
        return replace(of_group, error=of_group.error * math.sqrt(effect))

    def _limits(
        self, climb: Climb, group: ScoredGroup, of_group: MeasuredGroup, by_chance: Floats, number: int
    ) -> tuple[float, float]:
        """Interval of the true difference of a confirmed group.

        Towards no difference it reaches as far as the difference of a group named by such a search may be too large
        (`winners_curse`), and no farther than the bound that holds for all groups at once: a group's log likelihood
        ratio is by chance no larger than the largest score by chance and the price of its conditions. Of the ways
        compared by simulation (beside these two the naive interval, a truncated normal distribution, and permutations
        that keep the group's difference) this was the narrowest to cover in nine of ten: 2.4 to 4.6 standard errors
        towards no difference, where the bound for all groups has 4.4 to 5.8. On the other side a naive interval covers,
        since what is named is rarely found too small.
        """
        z = float(ndtri(1.0 - self.settings.alpha / 2.0))
        threshold = float(np.quantile(by_chance, 1.0 - self.settings.alpha))
        reach = math.sqrt(2.0 * max(threshold + climb.language.price(group.state), z * z / 2.0))
        if climb.rows.rows <= MADE_ROWS:
            weaker = max(abs(of_group.difference) - _WEAKER * of_group.error, 0.0)
            strength = max(weaker / abs(of_group.difference), 0.5) if weaker else 0.5
            curse = winners_curse(climb, climb.rows.inside(group.state), strength, threshold, number)
            if curse is not None:
                reach = min(reach, max(curse.mean + z * curse.spread, z))
        sign = self.question.harm_sign
        near, far = of_group.difference - sign * reach * of_group.error, of_group.difference + sign * z * of_group.error
        return min(near, far), max(near, far)

    def spread(self, confirmed: Sequence[WorstGroup]) -> SpreadGroup | None:
        """The people whose amounts lie farther apart, where that is confirmed, and no difference of their mean is seen.

        People in confirmed groups are alike among themselves: what those groups have is no news.
        """
        climb, alike = self.climb, self.alike
        for before in confirmed:
            climb = replace(climb, rows=climb.rows.within(before.members(self.frame)[climb.rows.places]))
            alike = alike.within(before.conditions)
        of_spread = climb.with_harm(climb.rows.apart).from_singles()
        number, level = self.settings.max_groups, self.settings.level
        group = of_spread.best(of_spread.scored())
        if not np.isfinite(group.score):
            return None
        permutations = min(max(_SPREAD_PERMUTATIONS, math.ceil(1.0 / level - 1e-9) - 1), self.settings.permutations)
        drawn = of_spread.drawn(PERMUTED_ROWS, number)
        p = p_value(group.score, scores_by_chance(drawn, group.score, permutations, level, number, _SPREAD_AT_ONCE))
        if p > level:
            return None
        of_group = self._measured(group, climb, alike)
        reach = float(ndtri(1.0 - self.settings.alpha / 2.0)) * of_group.error
        if abs(of_group.difference) > reach:
            return None
        distance = measured(of_spread.rows.harm, of_spread.rows.inside(group.state), of_spread.rows.strata)
        return SpreadGroup(
            conditions=climb.language.conditions(group.state),
            rows=of_group.rows,
            share=of_group.rows / of_group.all_rows,
            spread_inside=distance.mean_inside,
            spread_outside=distance.mean_inside - distance.difference,
            difference=of_group.difference,
            low=of_group.difference - reach,
            high=of_group.difference + reach,
            p_value=p,
        )

    @cached_property
    def reach(self) -> Floats:
        """How far upper bounds reach."""
        return reach_of_bounds(self.climb.rows, self.settings.alpha)

    def certificates(self, people: int) -> list[Certificate]:
        """The largest difference that is not ruled out of any group of the language, by shares of the people.

        The worst of all groups is one of them, whichever: its own upper bound holds with the confidence stated, and
        the largest of all upper bounds is no lower. So there is nothing to correct for.
        """
        least = max(self.settings.min_share, self.settings.min_rows / people)
        shares = [least, *(one for one in self.settings.larger_shares if one > least)]
        fewest = [self.settings.fewest(one, people) for one in shares]
        outside = self.settings.fewest(1.0 - MAX_SHARE, people)
        rows = replace(self.climb.rows, lists=None)  # a difference is told of outcomes beside their lists' means
        climb = replace(self.climb, rows=rows, fewest=(fewest[0], outside), max_conditions=MAX_DESCRIBED)
        most = min(MAX_SHARE, 1.0 - self.settings.min_rows / people)
        bounds = zip(shares, highest_bounds(climb, self.frame, self.reach, fewest), strict=True)
        certificates: list[Certificate] = []
        for share, highest in reversed(list(bounds)):
            if highest is None:
                continue
            of_share = self._certificate(share, most, highest)
            if certificates and certificates[-1].largest_difference > of_share.largest_difference:
                of_share = replace(certificates[-1], min_share=share)  # larger groups are among those of this share
            certificates.append(of_share)
        return certificates[::-1]

    def _certificate(self, min_share: float, max_share: float, highest: Highest) -> Certificate:
        climb, group = highest.climb, highest.group
        of_group, sign = self._measured(group, climb, self.alike), self.question.harm_sign
        bound = sign * of_group.difference + float(ndtri(1.0 - self.settings.alpha)) * of_group.error
        return Certificate(
            largest_difference=max(bound, group.score * (self.step or 1.0), 0.0),
            min_share=min_share,
            max_share=max_share,
            confidence=1.0 - self.settings.alpha,
            rows=of_group.all_rows,
            words=words.all_of([one.words for one in climb.language.conditions(group.state)]),
            confirmed_difference=0.0,
            found_difference=0.0,
            max_conditions=MAX_DESCRIBED,
        )
