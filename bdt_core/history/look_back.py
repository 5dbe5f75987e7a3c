"""Length of the look-back, in batches."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from bdt_core.spec.production import duration


def batches_back(times: Sequence[datetime.datetime], look_back: int | str) -> int:
    """Batches before the latest one that make up its past.

    Parameters
    ----------
    times : sequence of datetime
        Of the batches, in their order.
    look_back : int or str
        Batches, or a duration such as "30d" before the latest batch.

    Examples
    --------
    >>> days = [datetime.datetime(2026, 1, day, tzinfo=datetime.UTC) for day in (1, 2, 5, 6)]
    >>> batches_back(days, 30), batches_back(days, "2d"), batches_back(days, "5d"), batches_back([], "5d")
    (30, 1, 3, 0)
    """
    if isinstance(look_back, int):
        return look_back
    return sum(times[-1] - one <= duration(look_back) for one in times[:-1])
