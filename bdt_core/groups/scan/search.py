"""Find the people who fare worst: the scan over all groups that can be said in a few conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.fairness.coding import column, numbers
from bdt_core.groups.scan.results import WorstGroups
from bdt_core.groups.scan.settings import SHARES, ScanSettings
from bdt_core.groups.scan.stages import Question, scan
from bdt_core.metrics import Better
from bdt_core.table.blocks import OUTCOME, OneBlock, frame_at_hand, refuse_outcomes, refuse_taken, refuse_text
from bdt_core.table.frames import AnyTable


def find_worst_groups(
    frame: AnyTable,
    *,
    outcome: str,
    better: Better,
    columns: Sequence[str] | None = None,
    legitimate: Sequence[str] = (),
    key: str | None = None,
    min_share: float = 0.01,
    min_rows: int = 30,
    max_groups: int = 5,
    permutations: int = 199,
    alpha: float = 0.05,
) -> WorstGroups:
    """Find the groups of people who fare worst, say how much worse, and what can be ruled out for all others.

    A group is what a few conditions say: an interval of a number, a set of values of a category, "missing". All rows
    are searched; permutations of the outcome tell whether a group as bad would be found by chance.

    Parameters
    ----------
    frame : DataFrame, Arrow table or dict of columns
        One row per person, or several with `key`.
    outcome : str
        A numeric or two-valued column; its mean is compared. Rows without a value are left out.
    better : {"lower", "higher"}
        Whether people are better off with a lower or a higher outcome.
    columns : sequence of str, optional
        Columns whose values make the groups; by default all but `outcome`, `legitimate` and `key`. Columns that
        cannot be used are listed in the result with the reason.
    legitimate : sequence of str
        Columns that the outcome may depend on. People are compared with people alike in them.
    key : str, optional
        A column that says which rows are the same person. Persons are permuted, not rows.
    min_share : float, default 0.01
        Fewest rows of a group, as a share.
    min_rows : int, default 30
        Fewest rows of a group, and outside of it.
    max_groups : int, default 5
        Most groups; each is searched for among what those before it do not explain.
    permutations : int, default 199
    alpha : float, default 0.05
        A group is confirmed when its p-value is at most this. Intervals have confidence 1 - alpha.

    Returns
    -------
    WorstGroups

    Raises
    ------
    SpecError
        A setting out of range.
    SourceError
        `frame` is no table.
    DataError
        A column does not exist or cannot be used for what it is named.

    Notes
    -----
    The score of a group is the log likelihood ratio of "a higher rate inside, and a lower one outside" against "no
    difference" (Kulldorff), for amounts half the square of Welch's statistic of the two means, less a price for the
    length of its description. A variance in that statistic is a side's own, or everybody's where that is larger: so a
    wider spread names nobody, nor does one outlier, nor do few amounts that are alike by chance. A group of amounts is
    confirmed by the score that it keeps with one person more who fares as the 1/n do who fare best of all, among its n
    (where everybody else are the fewer, they have one more who fares as the worst do): few people may lack the tail
    that their mean rests on. People whose amounts lie farther apart, while no difference of their mean is seen, have a
    search of their own (`spread`).

    A climb from many starts replaces one condition at a time: by the best of all intervals, or the best set of values,
    which is among those that take them by their rate or mean (linear-time subset scanning). The largest score of
    permuted outcomes, found by the same climb, corrects for everything that was looked at.

    References
    ----------
    Kulldorff, M. (1997). A spatial scan statistic. Communications in Statistics 26, 1481-1496. Neill, D. B. (2012).
    Fast subset scan for spatial pattern detection. JRSS B 74, 337-360. Zhang, Z., Neill, D. B. (2016). Identifying
    significant predictive bias in classifiers. arXiv 1611.08292.

    Examples
    --------
    >>> import pandas as pd
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"age": rng.integers(18, 80, 4000), "region": rng.choice(["city", "land"], 4000)})
    >>> harmed = (frame.age < 30) & (frame.region == "land")
    >>> frame["wrong"] = rng.random(4000) < np.where(harmed, 0.3, 0.1)
    >>> found = find_worst_groups(frame, outcome="wrong", better="lower", permutations=39)
    >>> found.worst.words, found.worst.p_value
    ('age up to 30 and region is land', 0.025)

    As a table, and which rows they are:

    >>> found.to_frame()[["who", "confirmed"]].values.tolist()[0]
    ['age up to 30 and region is land', True]
    >>> inside = found.members(frame)["age up to 30 and region is land"]
    >>> int(inside.sum()) == found.worst.rows
    True
    """
    settings = ScanSettings(min_share, min_rows, max_groups, permutations, alpha, larger_shares=SHARES)
    if better not in get_args(Better):
        raise SpecError(f'better must be "lower" or "higher"; found {better!r}.')
    frame = frame_at_hand(frame, "frame")
    refuse_text(columns, "columns")
    refuse_text(legitimate, "legitimate")
    apart = [outcome, *legitimate, *([] if key is None else [key])]
    searched = [one for one in frame.columns if one not in apart] if columns is None else list(map(str, columns))
    for name in (*searched, *apart):
        if name not in frame.columns:
            raise DataError(f'There is no column "{name}". {did_you_mean(name, frame.columns)}')
    refuse_taken(frame.columns, [outcome])
    if key is not None and (nobody := int(frame[key].isna().sum())):
        raise DataError(
            f'key names the column "{key}", which is missing in {nobody:,} of {len(frame):,} rows. Every row must say '
            "whom it belongs to."
        )
    values = numbers(column(frame, outcome), outcome)
    refuse_outcomes([values], outcome)
    question = Question(
        tuple(one for one in dict.fromkeys(searched) if one != outcome), outcome, better, tuple(legitimate), key
    )
    used = list(dict.fromkeys([*question.columns, *legitimate, *([] if key is None else [key])]))
    block = OneBlock(frame[used].assign(**{OUTCOME: values}))
    return scan(block, question, settings, sample_rows=len(frame))
