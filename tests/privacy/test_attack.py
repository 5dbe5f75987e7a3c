"""No count of few people can be worked out from the form for publication; from the owner's report it can.

A few seeds; ``python -m benchmarks privacy`` attacks every small count of 200 tables and of 50 pairs of editions.
"""

from __future__ import annotations

import pytest

from tests.privacy.editions import of_findings, of_one_table, of_two_editions, recovered

LEAST_WIDTH = 4
"""A count that is rounded to nought may be 0 to 4, any other ten different ones."""


@pytest.mark.parametrize("seed", range(5))
def test_counts_of_few_people_stay_unknown(seed: int) -> None:
    found = of_one_table(seed, published=True, most=12)
    assert len(found) == 12
    assert [one for one in found if one.width < LEAST_WIDTH] == []
    assert all(one.low <= one.true <= one.high for one in found)


@pytest.mark.parametrize("seed", range(1000, 1002))
def test_two_editions_tell_no_more_about_few_people(seed: int) -> None:
    found = of_two_editions(seed, published=True, most=12)
    assert any("who came" in one.count for one in found)
    assert [one for one in found if one.width < LEAST_WIDTH] == []


@pytest.mark.parametrize("seed", range(2000, 2002))
def test_findings_tell_no_count_of_few_people(seed: int) -> None:
    found = of_findings(seed, published=True, most=8)
    assert any("town" in one.count for one in found)
    assert [one for one in found if one.width < LEAST_WIDTH] == []


def test_the_attacker_succeeds_on_the_owners_report() -> None:
    found = [one for seed in range(2) for one in of_one_table(seed, published=False, most=12)]
    known = recovered(found)
    assert len(known) > len(found) / 4
    assert all(one.low == one.true for one in known)
