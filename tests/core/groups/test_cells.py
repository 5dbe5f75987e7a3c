"""Cells of columns: what a choice of them says holds for the rows that are in them."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from bdt_core import find_worst_groups
from bdt_core.groups.cells import LevelsColumn, OrderedColumn

FRAME = pd.DataFrame(
    {
        "age": [18.0, 25.0, 26.0, 40.0, 90.0, np.nan],
        "note": pd.Series(["none", "none", "seldom", "rare", None, "none"], dtype=object),
    }
)


@pytest.mark.parametrize(
    "column",
    [
        LevelsColumn("note", ("none",), has_others=True),
        LevelsColumn("note", ("none", None), has_others=True),
        LevelsColumn("note", ("none", "seldom"), has_others=True),
        LevelsColumn("note", ("none", "seldom", "rare", None), has_others=False),
        OrderedColumn("age", (25.0, 40.0), whole=True),
        OrderedColumn("age", (25.5, 40.5), whole=False),
    ],
)
def test_a_choice_of_cells_is_said_as_it_is(column):
    """Of values that are told apart and of others, so that neither is taken for all there are."""
    codes = column.codes(FRAME)
    for chosen in product((False, True), repeat=column.cells):
        inside = np.array(chosen)
        if inside.all() or not inside.any():
            continue
        if column.is_ordered and np.diff(np.flatnonzero(inside[:-1])).max(initial=1) > 1:
            continue  # no interval
        missing_is_another = None not in getattr(column, "levels", (None,))
        rows = ~FRAME["note"].isna() if missing_is_another else np.ones(len(FRAME), dtype=bool)
        condition = column.condition(inside)
        assert (condition.holds(FRAME) == inside[codes])[rows].all(), condition.words


def test_the_scan_names_the_one_value_that_is_repeated_among_many_that_are_not():
    rng = np.random.default_rng(0)
    usual = rng.random(2_000) < 0.5
    note = np.where(usual, "none", [f"text {i}" for i in range(2_000)])
    frame = pd.DataFrame({"note": note, "error": (rng.random(2_000) < np.where(usual, 0.4, 0.1)).astype(int)})
    found = find_worst_groups(frame, outcome="error", better="lower", permutations=19)
    assert found.worst.words == "note is none"
    assert found.worst.rows == usual.sum()
