"""Reports of random tables, and of two editions of a table, under attack."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bdt_core.report import for_publication
from tests.privacy.attacker import WITH_TOWNS, Attacked, Edition, attack
from tests.privacy.tables import report, spec_of_findings, table, table_of_towns

KEY = b"the owner's, of these studies"


def of_one_table(seed: int, *, published: bool, most: int) -> list[Attacked]:
    """A report of a random table."""
    return attack([_edition(table(seed), published=published)], most, seed)


def of_two_editions(seed: int, *, published: bool, most: int) -> list[Attacked]:
    """Reports of a random table and of the same people with a few more: the baseline, say, and this month's."""
    first = table(seed)
    second = pd.concat([first, table(seed + 100_000, least=5, most=40)], ignore_index=True)
    return attack([_edition(one, published=published) for one in (first, second)], most, seed)


def of_findings(seed: int, *, published: bool, most: int) -> list[Attacked]:
    """A report of a random table in which people of one town fare worse, who are no declared group."""
    frame = table_of_towns(seed)
    found = report(frame, spec_of_findings())
    printed = for_publication(found, KEY) if published else found
    return attack([Edition(frame, printed, found)], most, seed, WITH_TOWNS)


def recovered(found: Sequence[Attacked]) -> list[Attacked]:
    """Counts that the attacker knows."""
    return [one for one in found if one.width == 0]


def _edition(frame: pd.DataFrame, *, published: bool) -> Edition:
    found = report(frame)
    return Edition(frame, for_publication(found, KEY) if published else found, found)
