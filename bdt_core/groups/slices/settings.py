"""Settings of the slice search, checked."""

from __future__ import annotations

from dataclasses import dataclass

from bdt_core.groups.settings import check_shares, check_whole
from bdt_core.groups.slices.columns import MOST_LEVELS

MOST_CONDITIONS = 5


@dataclass(frozen=True)
class SliceSettings:
    """See `bdt_core.groups.slices.find_slices` for what they mean."""

    max_conditions: int = 3
    min_support: float = 0.01
    min_rows: int = 30
    fdr: float = 0.10
    alpha: float = 0.05
    bins: int = 5
    max_levels: int = 50
    max_tests: int = 100
    permutations: int = 0
    random_state: int = 0

    def __post_init__(self) -> None:
        check_whole(
            self,
            ("max_conditions", 1, MOST_CONDITIONS),
            ("min_rows", 1, None),
            ("bins", 2, MOST_LEVELS - 1),
            ("max_levels", 2, MOST_LEVELS),
            ("max_tests", 1, None),
            ("permutations", 0, None),
            ("random_state", 0, None),
        )
        check_shares(self, ("min_support", 0.5), ("fdr", 1.0), ("alpha", 1.0))
