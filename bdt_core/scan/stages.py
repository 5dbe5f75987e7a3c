"""The stages of the scan in their order: code, search, permute, measure; and again, until nothing is confirmed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.scan.alike import Alike, fit_strata
from bdt_core.scan.climbing import Climb, Found
from bdt_core.scan.columns import fit_columns
from bdt_core.scan.language import MAX_CONDITIONS, Language
from bdt_core.scan.measuring import Sums, measure
from bdt_core.scan.null import permuted
from bdt_core.scan.results import Better, Certificate, LeftOutColumn, Searched, WorstGroup, WorstGroups
from bdt_core.scan.rows import ScanRows, coded_rows, dense, scored
from bdt_core.scan.settings import Settings
from bdt_core.table.blocks import Block, Blocks, known_rows
from bdt_core.table.summaries import Drawn


@dataclass(frozen=True)
class Question:
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
    """

    columns: tuple[str, ...]
    outcome: str
    better: Better
    legitimate: tuple[str, ...] = ()
    key: str | None = None

    @property
    def harm_sign(self) -> float:
        """1 where a higher outcome is worse, -1 where a lower one is."""
        return 1.0 if self.better == "lower" else -1.0


def scan(table: Blocks, question: Question, settings: Settings, *, sample_rows: int, left_out: int = 0) -> WorstGroups:
    """Find the worst-treated groups of a table; `bdt_core.scan.find_worst_groups` has the words.

    Parameters
    ----------
    table : Blocks
    question : Question
    settings : Settings
    sample_rows : int
        Groups are searched for in so many rows at most, and measured on all.
    left_out : int
        Rows without an outcome, if these are not in the table.

    Returns
    -------
    WorstGroups

    Raises
    ------
    DataError
        A factor that cannot be divided into classes.
    """
    counted = np.sum(table.map_blocks(_count, []), axis=0)
    frame, outcome = known_rows(table.sample(sample_rows))
    return _search(table, frame, outcome, int(counted[0]), left_out + int(counted[1]), question, settings)


def _count(block: Block) -> NDArray[np.int64]:
    rows = len(known_rows(block)[1])
    return np.array([rows, len(block.frame) - rows])


def _search(
    table: Blocks, frame: pd.DataFrame, outcome: NDArray[np.float64], rows: int, left_out: int, question: Question,
    settings: Settings,
) -> WorstGroups:  # fmt: skip
    """Search in the rows at hand, and measure on all."""
    candidates = [one for one in question.columns if one not in (*question.legitimate, question.key)]
    columns, unusable = fit_columns(frame, candidates, len(frame) / max(rows, 1))
    alike = fit_strata(frame, question.legitimate)
    levels = np.unique(outcome)
    result = partial(
        WorstGroups, outcome=question.outcome, better=question.better, is_rate=levels.size <= 2, rows=rows,
        left_out=left_out, min_share=settings.min_share, min_rows=settings.min_rows, legitimate=question.legitimate,
        strata=alike.strata, key=question.key, permutations=settings.permutations, alpha=settings.alpha,
        random_state=settings.random_state, searched_on=Drawn(len(frame), rows) if len(frame) < rows else None,
    )  # fmt: skip
    searched = Searched(tuple(one.searched for one in columns), _left_out(question, unusable), MAX_CONDITIONS, 0)
    mean = float(outcome.mean()) if outcome.size else None
    fewest = max(settings.min_rows, math.ceil(settings.min_share * len(frame) - 1e-9))
    reason = None
    if not columns:
        reason = "no column is left to search"
    elif levels.size < 2:
        reason = "every row has the same outcome"
    elif 2 * fewest > len(frame):
        reason = f"a group needs {fewest:,} rows, and as many outside of it; there are {len(frame):,}"
    if reason is not None:
        return result(groups=(), unconfirmed=None, certificate=None, searched=searched, mean=mean, reason=reason)
    language = Language.of(
        columns, [np.bincount(one.codes(frame), minlength=one.cells) for one in columns], settings.random_state
    )
    harm = (
        (outcome == (levels[-1] if question.better == "lower" else levels[0]))
        if levels.size == 2
        else outcome * question.harm_sign
    )
    scan_rows = ScanRows(
        coded_rows(frame, tuple(columns), language),
        harm.astype(np.float64),
        dense(alike.of(frame)),
        None,
        levels.size == 2,
    )
    groups, unconfirmed = _groups(table, Climb(scan_rows, language, fewest), alike, levels, question, settings)
    certificate = _certificate(table, Climb(scan_rows, language, fewest), alike, groups, question, settings)
    return result(groups=groups, unconfirmed=unconfirmed, certificate=certificate, searched=searched, mean=mean)


def _left_out(question: Question, unusable: Sequence[LeftOutColumn]) -> tuple[LeftOutColumn, ...]:
    named = dict.fromkeys(question.legitimate, "people alike in it are compared")
    if question.key is not None:
        named[question.key] = "it says who is the same person"
    return (*(LeftOutColumn(name, why) for name, why in named.items() if name in question.columns), *unusable)


def _groups(
    table: Blocks, climb: Climb, alike: Alike, levels: NDArray[np.float64], question: Question, settings: Settings
) -> tuple[tuple[WorstGroup, ...], WorstGroup | None]:
    """The confirmed groups one after the other, and the first that is not."""
    groups: list[WorstGroup] = []
    while len(groups) < settings.max_groups:
        scores = scored(climb.rows)
        found = climb.best(scores)
        if not np.isfinite(found.score):
            break
        null = permuted(
            climb, scores, found.score, settings.permutations, settings.alpha, settings.random_state + len(groups)
        )
        p_value = null.p_value(found.score)
        confirmed = p_value <= settings.alpha
        sums = measure(table, climb.language.conditions(found.state), alike)
        limits = (
            _limits(found, climb, sums, np.quantile(null.scores, 1 - settings.alpha)) if confirmed else (None, None)
        )
        group = _group(found, climb.language, sums, limits, p_value, levels, question)
        if not confirmed:
            return tuple(groups), group
        groups.append(group)
        climb = Climb(climb.rows.within(climb.rows.inside(found.state)), climb.language, climb.min_rows)
    return tuple(groups), None


def _limits(found: Found, climb: Climb, sums: Sums, largest: float) -> tuple[float, float]:
    difference, error = sums.difference()
    reach = error * math.sqrt(2.0 * max(largest + climb.language.price(found.state), 1.0))
    return difference - reach, difference + reach


def _group(
    found: Found, language: Language, sums: Sums, limits: tuple[float | None, float | None], p_value: float,
    levels: NDArray[np.float64], question: Question,
) -> WorstGroup:  # fmt: skip
    outside, inside = sums.means
    difference, _ = sums.difference()
    harmed = None
    if levels.size == 2:
        harmed = float(sums.rows * difference * question.harm_sign / (levels[1] - levels[0]))
    return WorstGroup(
        conditions=language.conditions(found.state),
        rows=sums.rows,
        share=sums.rows / sums.all_rows,
        mean_inside=inside,
        mean_outside=outside,
        difference=difference,
        low=limits[0],
        high=limits[1],
        p_value=p_value,
        score=found.score,
        people_harmed=harmed,
    )


def _certificate(
    table: Blocks, climb: Climb, alike: Alike, groups: Sequence[WorstGroup], question: Question, settings: Settings
) -> Certificate | None:
    """The largest difference that is not ruled out, of any group of the language.

    The worst of all groups is one of them, whichever: its own upper bound holds with the confidence stated, and the
    largest of all upper bounds is no lower. So there is nothing to correct for.
    """
    found = climb.best_bound()
    if not np.isfinite(found.score):
        return None
    conditions = climb.language.conditions(found.state)
    sums = measure(table, conditions, alike)
    difference, error = sums.difference()
    sign = question.harm_sign
    at_least = [
        sign * (one.low if sign > 0 else one.high) for one in groups if one.low is not None and one.high is not None
    ]
    return Certificate(
        largest_difference=max(sign * difference + 1.6448536269514722 * error, found.score, 0.0),
        min_share=settings.min_share,
        confidence=0.95,
        rows=sums.all_rows,
        words=" and ".join(one.words for one in conditions),
        confirmed_difference=max([0.0, *at_least]),
        found_difference=max([0.0, *(sign * one.difference for one in groups)]),
    )
