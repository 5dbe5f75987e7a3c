"""Bounds of how far a foretold chance is off, for every group that conditions describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bdt_core import words
from bdt_core.groups.scan.bounds import Highest, highest_bounds
from bdt_core.groups.scan.climbing import Climb
from bdt_core.groups.scan.columns import fit_columns
from bdt_core.groups.scan.language import MAX_DESCRIBED, Language
from bdt_core.groups.scan.reach import reach_of_bounds
from bdt_core.groups.scan.results import Certificate
from bdt_core.groups.scan.rows import Floats, Numbers, ScanRows, coded_rows
from bdt_core.groups.scan.settings import MAX_SHARE, ScanSettings


def gaps_ruled_out(
    frame: pd.DataFrame,
    names: Sequence[str],
    happened: Floats,
    foretold: Floats,
    persons: Numbers | None,
    settings: ScanSettings,
) -> tuple[Certificate, ...]:
    """The largest gap between what happened and what was foretold that no group is beyond, by shares of the people.

    Either direction has half of alpha. The gap of whichever group is farthest off is below its own bound with that
    confidence, and the largest of all bounds is no lower, so that there is nothing to correct for the number of groups.
    The bound is Wilson's of the events less the mean chance: outcomes of unequal chances spread no more than those of
    equal ones (Hoeffding 1956).

    Parameters
    ----------
    frame : DataFrame
        With the columns that make groups.
    names : sequence of str
        Of these columns.
    happened : ndarray of float64, shape (n,)
        1 or 0.
    foretold : ndarray of float64, shape (n,)
        Chances of 1.
    persons : ndarray of int64, shape (n,), or None
        Rows with the same number are one person's; from 0.
    settings : ScanSettings
        ``min_share``, ``larger_shares``, ``min_rows`` and ``alpha``.

    Returns
    -------
    tuple of Certificate
        The smallest share first. Differences are from what was foretold, not from everybody else; nothing is said of
        what was confirmed or found.
    """
    order = np.argsort(foretold, kind="stable")  # rows that are alike in all else have an order by it, so that sums do
    frame, happened, foretold = frame.take(order).reset_index(drop=True), happened[order], foretold[order]
    persons = None if persons is None else persons[order]
    people = len(frame) if persons is None else int(persons.max()) + 1
    least = max(settings.min_share, settings.min_rows / people)
    shares = [least, *(one for one in settings.larger_shares if one > least)]
    fewest = [settings.fewest(one, people) for one in shares]
    outside = settings.fewest(1.0 - MAX_SHARE, people)
    columns, _ = fit_columns(frame, names, 1.0)
    language = Language.of(columns, frame)
    cells = coded_rows(frame, language)

    def bounds(harm: Floats, chance: Floats) -> list[Highest | None]:
        strata = np.zeros(len(frame), dtype=np.int64)
        rows = ScanRows(cells, harm, strata, persons, True, np.arange(len(frame))).in_order()
        climb = Climb(rows, language, (fewest[0], outside), max_conditions=MAX_DESCRIBED, expected=chance)
        return highest_bounds(climb, frame, reach_of_bounds(rows, settings.alpha / 2.0), fewest)

    most = min(MAX_SHARE, 1.0 - settings.min_rows / people)
    of_shares: list[Certificate] = []
    both_ways = zip(shares, bounds(happened, foretold), bounds(1.0 - happened, 1.0 - foretold), strict=True)
    for share, *two in reversed(list(both_ways)):
        known = [one for one in two if one is not None]
        if not known:
            continue
        highest = max(known, key=lambda one: one.group.score)
        certificate = Certificate(
            largest_difference=max(highest.group.score, 0.0),
            min_share=share,
            max_share=most,
            confidence=1.0 - settings.alpha,
            rows=len(frame),
            words=words.all_of([one.words for one in highest.climb.language.conditions(highest.group.state)]),
            confirmed_difference=0.0,
            found_difference=0.0,
            max_conditions=MAX_DESCRIBED,
        )
        if of_shares and of_shares[-1].largest_difference > certificate.largest_difference:
            certificate = replace(of_shares[-1], min_share=share)  # larger groups are among those of this share
        of_shares.append(certificate)
    return tuple(of_shares[::-1])
