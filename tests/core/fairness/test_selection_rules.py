"""The four-fifths rule in whole numbers, and New York City's impact ratios."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness import FourFifths, ImpactTable, four_fifths, impact_ratios
from bdt_core.fairness.uniform_guidelines import below_four_fifths
from bdt_core.inference import koopman_interval


def impact(result, group):
    return next(one for one in result.groups if one.group == group)


def test_45_of_60_flags_and_48_of_60_does_not():
    result = four_fifths({"a": 60, "b": 45, "c": 48}, {"a": 60, "b": 60, "c": 60})
    assert result.reference == "a"
    assert [one.below_four_fifths for one in result.groups] == [False, True, False]
    assert result.adverse_impact
    b, c = impact(result, "b"), impact(result, "c")
    assert (b.ratio, b.low, b.high) == pytest.approx((0.75, *koopman_interval(45, 60, 60, 60)))
    assert b.p_value < 0.001
    # 47 of 60 would flag; one more than 45 would not clear it.
    assert (b.changes_with_one_person, c.changes_with_one_person) == (False, True)
    assert FourFifths.from_dict(result.to_dict()) == result


def test_a_ratio_of_exactly_four_fifths_never_flags():
    wrong_in_floats = 0
    for n_top in range(5, 60):
        for hired_top in range(1, n_top + 1):
            for n in range(5, 60, 5):
                hired, left = divmod(4 * hired_top * n, 5 * n_top)
                if left == 0 and 0 < hired <= n:
                    assert not below_four_fifths(hired, n, hired_top, n_top)
                    assert hired == 0 or below_four_fifths(hired - 1, n, hired_top, n_top)
                    wrong_in_floats += (hired / n) / (hired_top / n_top) < 0.8
    assert wrong_in_floats > 0


def test_one_person_in_either_group_can_turn_it():
    # 3 of 5 against 4 of 5 flags (.75); 4 of 5 would not, nor 3 of 5 against 3 of 5.
    few = impact(four_fifths({"a": 4, "b": 3}, {"a": 5, "b": 5}), "b")
    assert (few.below_four_fifths, few.changes_with_one_person) == (True, True)
    many = impact(four_fifths({"a": 400, "b": 300}, {"a": 500, "b": 500}), "b")
    assert (many.below_four_fifths, many.changes_with_one_person) == (True, False)


def test_small_shares_set_no_reference_and_make_no_finding():
    result = four_fifths({"a": 400, "b": 380, "tiny": 5, "none": 0}, {"a": 500, "b": 500, "tiny": 5, "none": 0})
    assert result.reference == "a"
    assert impact(result, "tiny").small_share
    assert impact(result, "none").rate is None
    assert result.adverse_impact is False
    hopeless = four_fifths({"a": 0, "tiny": 0}, {"a": 500, "tiny": 5})
    assert hopeless.adverse_impact is None


@pytest.mark.parametrize(
    ("selected", "applicants", "words"),
    [({"a": 3}, {"a": 2}, "0 <= selected"), ({"a": 1.5}, {"a": 2}, "whole"), ({"a": 1}, {"b": 2}, "same groups")],
)
def test_counts_are_checked(selected, applicants, words):
    with pytest.raises(DataError, match=words):
        four_fifths(selected, applicants)


def test_unknown_reference():
    with pytest.raises(SpecError, match="no group"):
        four_fifths({"a": 1}, {"a": 2}, reference="z")


@pytest.fixture
def applicants():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m", None], 3_000, p=[0.45, 0.5, 0.05]),
                          "race": rng.choice(["w", "b", "rare"], 3_000, p=[0.6, 0.39, 0.01])})  # fmt: skip
    frame["hired"] = np.where(rng.random(3_000) < np.where(frame.sex == "f", 0.3, 0.4), "yes", "no")
    frame["score"] = rng.normal(size=3_000) + (frame.race == "w")
    return frame


def test_selection_rates_by_category_and_intersection(applicants):
    by_sex, by_race, both = impact_ratios(applicants, ["sex", "race"], selected="hired", positive="yes",
                                          exclude_below=0.02)  # fmt: skip
    known = applicants.dropna(subset=["sex"])
    rates = (known.hired == "yes").groupby(known.sex).mean()
    assert [one.rate for one in by_sex.categories] == pytest.approx([rates["f"], rates["m"]])
    assert [one.impact_ratio for one in by_sex.categories] == pytest.approx([rates["f"] / rates["m"], 1.0])
    assert by_sex.unknown == applicants.sex.isna().sum()
    assert by_race.unknown == 0
    assert [one.category for one in by_race.categories if one.excluded] == [("rare",)]
    rare = next(one for one in by_race.categories if one.excluded)
    assert (rare.impact_ratio, rare.n) == (None, (applicants.race == "rare").sum())
    assert len(both.categories) == 6
    assert both.unknown == applicants.sex.isna().sum()
    assert max(one.impact_ratio for one in both.categories if not one.excluded) == 1.0
    assert ImpactTable.from_dict(both.to_dict()) == both


def test_scoring_rate_counts_those_above_the_median(applicants):
    (by_race,) = impact_ratios(applicants, ["race"], score="score")
    above = applicants.score > applicants.score.median()
    assert by_race.median == applicants.score.median()
    assert {one.category[0]: one.rate for one in by_race.categories} == pytest.approx(
        above.groupby(applicants.race).mean().to_dict()
    )
    assert by_race.rate_kind == "scoring rate"


def test_nobody_selected_and_what_must_be_named(applicants):
    (table,) = impact_ratios(applicants, ["race"], selected="hired", positive="maybe")
    assert {one.impact_ratio for one in table.categories} == {None}
    with pytest.raises(SpecError, match="selected, or the column of scores"):
        impact_ratios(applicants, ["race"])
    with pytest.raises(SpecError, match="share"):
        impact_ratios(applicants, ["race"], selected="hired", exclude_below=2)
