"""Limits on the worst group that so many rows can settle: where nobody fares worse, they pass."""

from __future__ import annotations

import math

from bdt_core.inference.proportions import newcombe_interval

LOOKED_AT = 4.3
"""Standard errors by which the worst looking of all groups deviates from everybody where nobody fares worse.

The largest of M numbers that chance alone makes normal is about as large as a normal number is with a probability of
1 / M. A search of some ten columns looks at some 200 sets of four of them, and at some hundreds of groups that differ
much in each: of 120,000 the largest is 4.3. In 287 simulated tables of 5 to 15 columns, with 3,000 to 60,000 rows and
rates of .05 to .5, `settled_limit` is within a fifth of the mean bound in 159 of 162 designs, within a quarter in all.
"""
FEWEST_PEOPLE = 30
"""Of a group that is searched; smaller ones are not ruled out."""


def settled_limit(rows: float, *, base_rate: float, share: float, alpha: float = 0.05) -> float | None:
    """The limit on the worst group that passes, about, with so many rows where nobody fares worse.

    Parameters
    ----------
    rows : float
        Of as many persons; all that are audited, for the search for the worst group needs none kept apart.
    base_rate : float
        Share of the people who are harmed, in (0, 1).
    share : float
        Of the people: groups of fewer are not ruled out; up to 0.5.
    alpha : float, default 0.05
        Of the upper bounds.

    Returns
    -------
    float or None
        A difference of rates; None where groups of that share have too few people to be searched.

    Notes
    -----
    The upper bound (Newcombe's, from Wilson's) of a group that looks the worst of all. By the transform of
    `bdt_core.inference.minimum_detectable_difference`, its rate is sin^2(arcsin(sqrt(p)) + z / 2 sqrt((1 - s) / (n s)))
    with z = 4.3. For shares of .05 to .5 and rates near .5 the bound is about six standard errors,
    6 sqrt(p (1 - p) / (n s (1 - s))).

    Examples
    --------
    >>> [round(settled_limit(n, base_rate=0.15, share=0.05), 3) for n in (3_000, 12_000, 60_000)]
    [0.213, 0.099, 0.042]
    >>> settled_limit(500, base_rate=0.15, share=0.05) is None
    True
    """
    people = rows * share
    if people < FEWEST_PEOPLE:
        return None
    others = rows - people
    angle = math.asin(math.sqrt(base_rate)) + 0.5 * LOOKED_AT * math.sqrt((1.0 - share) / people)
    harmed = min(people * math.sin(min(angle, 0.5 * math.pi)) ** 2, rows * base_rate)
    _, high = newcombe_interval(harmed, people, rows * base_rate - harmed, others, confidence=1.0 - 2.0 * alpha)
    return high


def rows_to_settle(limit: float, *, base_rate: float, share: float, alpha: float = 0.05) -> int:
    """How many rows a limit on the worst group takes, about, to pass where nobody fares worse.

    Parameters
    ----------
    limit : float
        Above 0.
    base_rate, share, alpha : float
        As in `settled_limit`.

    Returns
    -------
    int
        The fewest for which `settled_limit` is no larger than the limit.

    Examples
    --------
    >>> about(rows_to_settle(0.05, base_rate=0.15, share=0.05))
    43000
    """

    def passes(rows: int) -> bool:
        settled = settled_limit(rows, base_rate=base_rate, share=share, alpha=alpha)
        return settled is not None and settled <= limit

    low = math.ceil(FEWEST_PEOPLE / share)
    high = low
    while not passes(high):
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle + 1, high)
    return low


def about(rows: int) -> int:
    """A number of rows that is no more certain than to two digits: rounded up to those.

    Examples
    --------
    >>> about(97), about(2_778), about(41_000)
    (97, 2800, 41000)
    """
    digit = int(10 ** max(len(str(rows)) - 2, 0))
    return math.ceil(rows / digit) * digit
