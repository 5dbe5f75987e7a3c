"""The four-fifths rule in whole numbers, and New York City's impact ratios."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness import FourFifths, ImpactTable, count_rows, four_fifths
from bdt_core.fairness.declared_groups import count_groups
from bdt_core.fairness.favourable import favourable
from bdt_core.fairness.local_law_144 import impact_table
from bdt_core.fairness.medians import median_of
from bdt_core.fairness.selection_rules import apply_selection_rules
from bdt_core.fairness.simultaneous import best_of_groups_p_value
from bdt_core.fairness.uniform_guidelines import below_four_fifths
from bdt_core.inference import koopman_interval, mid_p_value
from bdt_core.spec import parse_spec
from bdt_core.table.source_blocks import in_blocks


def impact(result, group):
    return next(one for one in result.groups if one.group == group)


def test_45_of_60_flags_and_48_of_60_does_not():
    result = four_fifths({"a": 60, "b": 45, "c": 48}, {"a": 60, "b": 60, "c": 60})
    assert result.reference == "a"
    assert [one.below_four_fifths for one in result.groups] == [False, True, False]
    assert result.adverse_impact
    b, c = impact(result, "b"), impact(result, "c")
    each = 1 - 2 * stats.norm.sf(3.31449 / 2**0.5)  # q(.05; 3 groups), as in the tables of Tukey's range
    assert (b.ratio, b.low, b.high) == pytest.approx((0.75, *koopman_interval(45, 60, 60, 60, each)), rel=1e-5)
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


# Without any difference .29 and .51 of all tables had a p-value below .05 against the best of 5 and of 8 groups.
TABULATED = {3: 3.314, 4: 3.633, 5: 3.858, 8: 4.286, 10: 4.474}
"""Upper 5 % points of the range of so many normals (Pearson & Hartley, Biometrika Tables I, table 29)."""


@pytest.mark.parametrize("groups", TABULATED)
def test_the_best_of_several_groups_is_corrected_as_the_tables_of_the_range_say(groups):
    alone = 2 * stats.norm.sf(TABULATED[groups] / 2**0.5)
    assert best_of_groups_p_value(alone, groups) == pytest.approx(0.05, abs=1e-4)
    for p in (0.9, 0.2, 0.001, 1e-8):
        apart = 2**0.5 * stats.norm.isf(p / 2)
        assert best_of_groups_p_value(p, groups) == pytest.approx(stats.studentized_range.sf(apart, groups, np.inf))
    assert best_of_groups_p_value(1e-30, groups) == pytest.approx(groups * (groups - 1) / 2 * 1e-30)


def test_p_values_are_corrected_for_choosing_the_best_group():
    applied = {"a": 100, "b": 100, "c": 100, "d": 100, "e": 100}
    several = four_fifths({"a": 50, "b": 38, "c": 44, "d": 45, "e": 46}, applied)
    two = four_fifths({"a": 50, "b": 38}, {"a": 100, "b": 100})
    alone = mid_p_value(38, 100, 50, 100)
    assert impact(two, "b").p_value == alone
    assert impact(several, "b").p_value == pytest.approx(
        stats.studentized_range.sf(2**0.5 * stats.norm.isf(alone / 2), 5, np.inf)
    )
    assert impact(several, "b").low < impact(two, "b").low < impact(two, "b").high < impact(several, "b").high
    named = four_fifths({"a": 50, "b": 38, "c": 44, "d": 45, "e": 46}, applied, reference="a")
    assert impact(named, "b").p_value == pytest.approx(1 - (1 - alone) ** 4)
    assert alone < impact(named, "b").p_value < impact(several, "b").p_value
    assert four_fifths({"a": 5, "b": 5}, {"a": 9, "b": 9}, reference="a").groups[1].p_value == 1.0


@pytest.fixture
def applicants():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m", None], 3_000, p=[0.45, 0.5, 0.05]),
                          "race": rng.choice(["w", "b", "rare"], 3_000, p=[0.6, 0.39, 0.01])})  # fmt: skip
    frame["hired"] = np.where(rng.random(3_000) < np.where(frame.sex == "f", 0.3, 0.4), "yes", "no")
    frame["score"] = rng.normal(size=3_000) + (frame.race == "w")
    return frame


def ratios(frame, columns, selected, positive, exclude_below=0.02):
    table = count_rows(frame, columns, prediction=selected)
    return impact_table(table, favourable(table.predictions, positive), exclude_below=exclude_below)


def test_selection_rates_by_category_and_intersection(applicants):
    by_sex, by_race, both = (ratios(applicants, one, "hired", "yes") for one in (["sex"], ["race"], ["sex", "race"]))
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


def test_impact_ratios_are_corrected_for_choosing_the_best_category(applicants):
    by_sex, both = (ratios(applicants, one, "hired", "yes") for one in (["sex"], ["sex", "race"]))
    for table, compared in ((by_sex, 2), (both, 4)):
        assert sum(not one.excluded for one in table.categories) == compared
        best = max((one for one in table.categories if not one.excluded), key=lambda one: one.rate)
        for one in table.categories:
            if not one.excluded and one is not best:
                alone = mid_p_value(one.selected, one.n, best.selected, best.n)
                apart = 2**0.5 * stats.norm.isf(alone / 2)
                assert one.p_value == pytest.approx(stats.studentized_range.sf(apart, compared, np.inf))


SEX = {"Male": (1390, 667, "1.00"), "Female": (1181, 555, ".979")}
RACE = {
    "Hispanic": (408, 204, ".97"), "White": (797, 412, "1.00"), "Black": (390, 170, ".84"),
    "Pacific": (119, 52, ".85"), "Asian": (616, 302, ".95"), "Native": (41, 18, ".85"), "Two": (213, 96, ".87"),
}  # fmt: skip
BOTH = {
    "Hispanic Male": (205, 90, ".841"), "Hispanic Female": (190, 82, ".827"),
    "White Male": (412, 215, "1.000"), "Black Male": (226, 95, ".806"), "Pacific Male": (87, 37, ".815"),
    "Asian Male": (321, 167, ".997"), "Native Male": (24, 11, ".878"), "Two Male": (115, 52, ".866"),
    "White Female": (385, 197, ".981"), "Black Female": (164, 75, ".876"), "Pacific Female": (32, 15, ".898"),
    "Asian Female": (295, 135, ".877"), "Native Female": (17, 7, ".789"), "Two Female": (98, 44, ".860"),
}  # fmt: skip
SCORED_RACE = {
    "Hispanic": (28, 18, "1.00"), "White": (40, 15, ".58"), "Black": (32, 16, ".78"), "Pacific": (8, 5, ".97"),
    "Asian": (24, 10, ".65"), "Native": (16, 10, ".97"), "Two": (20, 10, ".78"),
}  # fmt: skip
SCORED_BOTH = {
    "Hispanic Male": (16, 12, "1.00"), "Hispanic Female": (12, 6, ".67"), "White Male": (20, 7, ".47"),
    "Black Male": (20, 10, ".67"), "Pacific Male": (4, 3, "1.00"), "Asian Male": (12, 7, ".78"),
    "Native Male": (8, 5, ".83"), "Two Male": (12, 6, ".67"), "White Female": (20, 8, ".53"),
    "Black Female": (12, 6, ".67"), "Pacific Female": (4, 2, ".67"), "Asian Female": (12, 3, ".33"),
    "Native Female": (8, 5, ".83"), "Two Female": (8, 4, ".67"),
}  # fmt: skip
"""The example tables of the rule, 6 RCNY 5-301: applicants, selected (or above the median), the ratio as printed."""


@pytest.mark.parametrize("published", [SEX, RACE, BOTH, SCORED_RACE, SCORED_BOTH])
def test_the_example_tables_of_the_rule(published):
    frame = pd.DataFrame(
        [(name, int(i < selected)) for name, (n, selected, _) in published.items() for i in range(n)],
        columns=["category", "selected"],
    )
    table = ratios(frame, ["category"], "selected", 1, exclude_below=0.0)
    found = {one.category[0]: one for one in table.categories}
    assert {name: (one.n, one.selected) for name, one in found.items()} == {
        name: (n, selected) for name, (n, selected, _) in published.items()
    }
    for name, (_, _, ratio) in published.items():
        assert f"{found[name].impact_ratio:.{len(ratio.partition('.')[2])}f}".removeprefix("0") == ratio
    small = ratios(frame, ["category"], "selected", 1)
    assert {one.category[0] for one in small.categories if one.excluded} == {
        name for name, (n, _, _) in published.items() if n < 0.02 * len(frame)
    }


@pytest.mark.parametrize("rows", [1, 2, 5, 1000, 1001])
def test_the_median_of_blocks_is_that_of_numpy(rows):
    rng = np.random.default_rng(rows)
    values = rng.choice([0.0, -0.0, 1e-300, -7.5, 3e200, 0.1, -1e-5], rows) * rng.integers(-3, 4, rows)
    frame = pd.DataFrame({"score": np.append(values, [np.nan, np.inf])})

    class InBlocks:
        def map_source_blocks(self, function):
            return [function(frame.iloc[i : i + 7]) for i in range(0, len(frame), 7)]

    assert median_of(InBlocks(), "score") == np.median(values)
    assert median_of(in_blocks(frame.iloc[rows:]), "score") is None


def test_nobody_selected_has_no_ratios(applicants):
    table = ratios(applicants, ["race"], "hired", "maybe")
    assert {one.impact_ratio for one in table.categories} == {None}


def test_the_stage_counts_all_who_applied_also_those_without_a_label(applicants):
    """By the side of the decision that people want, in an audit of errors, where both a label and a decision stand."""
    frame = applicants.assign(good=np.where(applicants.index % 3 == 0, "yes", None))
    frame.loc[:9, "hired"] = None
    spec = parse_spec(
        {
            "name": "hiring",
            "source": {"path": "hiring.csv"},
            "bias_variable": {"derive": "error", "label": "good", "prediction": "hired", "positive": "yes"},
            "favourable": "positive",
            "protected": ["sex", "race"],
            "groups": {"report": ["ll144", "four_fifths"]},
        }
    )
    rules = apply_selection_rules(count_groups(frame, spec), frame, spec)
    assert (rules.prediction, rules.selected, rules.without_prediction, rules.score) == ("hired", ("yes",), 10, None)
    known = frame.dropna(subset=["hired", "sex"])
    rates = (known.hired == "yes").groupby(known.sex).mean()
    for counted in (rules.ll144[0].categories, rules.four_fifths[0].rule.groups):
        assert [category.rate for category in counted] == pytest.approx([rates["f"], rates["m"]])
