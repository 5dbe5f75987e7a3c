"""Two forms for publication that differ by one known person tell no more of her than they say.

A few tables; ``python -m benchmarks differencing`` attacks 1,000 pairs, five people at once, and ten editions.
"""

from __future__ import annotations

import numpy as np
import pytest

from bdt_core.report import for_publication
from tests.privacy.differencing import Pair, of_one_person, quick_spec
from tests.privacy.tables import report, table


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [pair for seed in range(5) for pair in of_one_person(seed, keys=3)]


def test_one_person(pairs: list[Pair]) -> None:
    """Guesses are right no more often than is said, but for three standard errors of so few."""
    assert len(pairs) == 60
    for each in ("label", "decision"):
        assert np.mean([getattr(pair.guess, each) for pair in pairs]) <= 0.58 + 3.0 * np.sqrt(0.25 / 60)
    assert not any(pair.guess.sure for pair in pairs)
    assert max(pair.guess.stated for pair in pairs) <= 0.58
    assert np.mean([pair.rose for pair in pairs]) < 0.25 + 3.0 * np.sqrt(0.25 * 0.75 / 60)


def test_rounding_alone_gave_some_away(pairs: list[Pair]) -> None:
    assert sum(pair.rounded_alone.sure for pair in pairs) > 0
    assert np.mean([pair.rounded_alone.both for pair in pairs]) > 0.25


def test_what_it_costs(pairs: list[Pair]) -> None:
    """Counts are off by six people on average instead of two and a half."""
    with_noise, rounded_alone = np.concatenate([pair.errors for pair in pairs]).mean(axis=0)
    assert 5.0 < with_noise < 7.5
    assert 2.0 < rounded_alone < 3.0


def test_the_order_of_rows_and_columns_does_not_matter() -> None:
    frame, key = table(7), b"the owner's"
    shuffled = frame.sample(frac=1.0, random_state=1)[frame.columns[::-1]]
    first, second = (for_publication(report(one, quick_spec()), key) for one in (frame, shuffled))
    assert first["groups"] == second["groups"]
