"""Notes for a person who considers thresholds per group."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from bdt_core.fairness.coding import Level
from bdt_core.mitigation.checks import quoted
from bdt_core.mitigation.curves import Curve
from bdt_core.said import Numeral, joined, say

COARSE = 0.05
"""A share of tied rows above which decisions are called coarse."""


def threshold_notes(
    curves: list[Curve], table: pd.DataFrame, mixtures: Mapping[Level, tuple[tuple[float, float], ...]]
) -> list[str]:
    """Coarse scores, constant ones, decisions that are of no use, and lots.

    Parameters
    ----------
    curves : list of Curve
    table : DataFrame
        `GroupThresholds.table_`.
    mixtures : mapping of group to tuple of (threshold, chance)
    """
    notes = []
    coarse = [str(one.group) for one in curves if one.largest_tie > COARSE]
    if coarse:
        largest = max(one.largest_tie for one in curves)
        notes.append(
            joined(
                [
                    say(
                        "Scores are tied: up to {N} of a group's rows share one score ({list}).",
                        N=Numeral(f"{100 * largest:.1f} %"),
                        list=quoted(coarse),
                    ),
                    say("Such rows are selected together or not at all, which limits how equal rates can be."),
                ],
                " ",
            )
        )
    constant = [str(one.group) for one in curves if one.thresholds.size == 2]
    if constant:
        notes.append(
            say(
                "Every row of {list} has the same score: everybody there is selected, or nobody.",
                list=quoted(constant),
            )
        )
    selected = table["selection_rate"].to_numpy()
    for share, word in ((0.0, "nobody"), (1.0, "everybody")):
        if (selected == share).all():
            notes.append(say("These thresholds select {word} in any group: equal, and of no use.", word=say(word)))
        elif (selected == share).any():
            names = [str(one.group) for one, x in zip(curves, selected, strict=True) if x == share]
            notes.append(say("These thresholds select {word} in {list}.", word=say(word), list=quoted(names)))
    if any(len(one) > 1 for one in mixtures.values()):
        notes.append(say("Lots are drawn: people with the same score in the same group can be treated differently."))
    return notes
