"""Settings of the scan, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bdt_core.errors import SpecError
from bdt_core.groups.settings import check_shares, check_whole

SEED = 42
"""Of all that a search draws: places to start from, permutations, tables in which the group is planted. No audit has
another, so that nobody gets another answer, or a limit that holds, by asking again with another seed."""


SHARES = (0.02, 0.05, 0.1, 0.2, 0.5)
"""Of the people, for whose groups it is always said what is ruled out."""
MAX_SHARE = 0.9
"""Of the people: something is ruled out for groups up to it. The difference of a larger one hangs on the few who are
not in it, so that its bound would hide those of all others."""


@dataclass(frozen=True)
class ScanSettings:
    """See `bdt_core.groups.scan.find_worst_groups` for what they mean."""

    min_share: float = 0.01
    min_rows: int = 30
    max_groups: int = 5
    permutations: int = 199
    alpha: float = 0.05
    share: float = 1.0
    """Of alpha: what a group has to reach where this search is one of several."""
    larger_shares: tuple[float, ...] = ()
    """For whose groups something is ruled out besides those of `min_share`, as far as they are larger; ever larger."""

    @property
    def level(self) -> float:
        """The largest p-value of a confirmed group."""
        return self.alpha * self.share

    def fewest(self, min_share: float, people: int) -> int:
        """Fewest people of a group that has at least this share of them."""
        return max(self.min_rows, math.ceil(min_share * people - 1e-9))

    def __post_init__(self) -> None:
        check_whole(self, ("min_rows", 2, None), ("max_groups", 1, None), ("permutations", 19, None))
        check_shares(self, ("min_share", 0.5), ("alpha", 0.5))
        if self.level * (self.permutations + 1) < 1.0 - 1e-9:
            raise SpecError(
                f"{self.permutations} permutations cannot give a p-value of {self.level:g}: the smallest is "
                f"{1 / (self.permutations + 1):.2g}. Ask for more permutations."
            )
