"""Amounts as people say them: a bound is never printed tighter than it is."""

import pytest

from bdt_core.report.amounts import Amount, amount_of_difference, at_least, at_most
from bdt_core.report.plain_names import PlainNames

NAMES = PlainNames({"bias_variable": {"column": "wrong"}, "labels": {}, "units": {}})


@pytest.mark.parametrize(
    ("size", "least", "nearest", "most"),
    [(0.1304, 13, 13, 14), (0.1296, 12, 13, 13), (0.29, 29, 29, 29), (0.125, 12, 13, 13), (0.07 * 3, 21, 21, 21)],
)
def test_bounds_are_rounded_away_from_what_they_rule_out(size: float, least: int, nearest: int, most: int) -> None:
    told = (at_least(size, "rate", NAMES), amount_of_difference(size, "rate", NAMES), at_most(size, "rate", NAMES))
    assert told == (Amount(least, 100), Amount(nearest, 100), Amount(most, 100))


def test_few_are_said_of_more_people() -> None:
    assert at_least(0.0096, "rate", NAMES) == Amount(9, 1_000)
    assert at_most(0.0041, "rate", NAMES) == Amount(5, 1_000)
