"""Reports of random tables, and of two editions of a table, under attack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bdt_core.report import for_publication
from tests.privacy.attacker import Attacked, attack
from tests.privacy.tables import report, table

Report = dict[str, Any]


def of_one_table(seed: int, *, published: bool, most: int) -> list[Attacked]:
    """A report of a random table."""
    return attack([_edition(table(seed), published=published)], most, seed)


def of_two_editions(seed: int, *, published: bool, most: int) -> list[Attacked]:
    """Reports of a random table and of the same people with a few more: the baseline, say, and this month's."""
    first = table(seed)
    second = pd.concat([first, table(seed + 100_000, least=5, most=40)], ignore_index=True)
    return attack([_edition(one, published=published) for one in (first, second)], most, seed)


def recovered(found: Sequence[Attacked]) -> list[Attacked]:
    """Counts that the attacker knows."""
    return [one for one in found if one.width == 0]


def _edition(frame: pd.DataFrame, *, published: bool) -> tuple[pd.DataFrame, Report]:
    found = report(frame)
    return frame, for_publication(found) if published else found
