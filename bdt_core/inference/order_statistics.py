"""Limits of a median by ranks: no matter how the values are distributed."""

from __future__ import annotations

import math

from scipy import special


def median_ranks(rows: int, alpha: float, worth: float | None = None) -> tuple[int, int] | None:
    """Between which ranks the median lies: as many values lie below it as heads among so many throws of a coin.

    Parameters
    ----------
    rows : int
    alpha : float
        The limits have confidence 1 - alpha at least.
    worth : float, optional
        How many rows of different persons these are worth; then as large a share of them lies outside (Woodruff).

    Returns
    -------
    tuple of int, or None
        Ranks from 0; None where the rows are too few for any limits.

    References
    ----------
    Conover, W. J. (1999). Practical Nonparametric Statistics, 3.2. Woodruff, R. S. (1952). JASA 47, 635-646.

    Examples
    --------
    >>> median_ranks(20, 0.05), median_ranks(5, 0.05), median_ranks(40, 0.05, worth=20.0)
    ((5, 14), None, (11, 28))
    """
    throws = rows if worth is None else max(min(math.floor(worth), rows), 1)
    outside = math.ceil(float(special.bdtrik(0.5 * alpha, throws, 0.5)))
    # The inverse is rounded: the most that are outside by chance with half of alpha at most.
    while outside > 0 and special.bdtr(outside - 1, throws, 0.5) > 0.5 * alpha:
        outside -= 1
    while special.bdtr(outside, throws, 0.5) <= 0.5 * alpha:
        outside += 1
    outside = outside * rows // throws
    return None if outside < 1 else (outside - 1, rows - outside)
