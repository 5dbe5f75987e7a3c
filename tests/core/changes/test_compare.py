"""From two specifications to what changed for whom: people, groups, findings, directions, limits and errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core import compare
from bdt_core.changes import ChangedGroup, Changes
from bdt_core.errors import DataError, SpecError
from tests.core.joined.made_tables import OUT_OF_CORE, QUICK

ROWS = 2400


def made(*, worse: float = 0.0, seed: int = 1) -> pd.DataFrame:
    """People of a table, what happened, and what A and B said; B harms women more often, by ``worse``."""
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(ROWS) < 0.4, "f", "m")
    age = rng.integers(18, 80, ROWS)
    harmed = rng.random(ROWS) < 0.25 + 0.3 * (age >= 60)
    moved = rng.random(ROWS) < worse * (sex == "f")
    return pd.DataFrame(
        {
            "person": [f"p{one}" for one in range(ROWS)],
            "sex": sex,
            "age": age.astype(float),
            "kind": rng.choice(list("abc"), ROWS),
            "a": harmed.astype(float),
            "b": (harmed | moved).astype(float),
        }
    )


def spec(column: str = "a", *, better: str = "lower", **changes: Any) -> dict[str, Any]:
    bias = {"column": column, "better": better}
    features = {"include": ["age", "kind"]}
    whole = {**QUICK, "source": {"path": "people.csv"}, "bias_variable": bias, "protected": ["sex"]}
    return {**whole, "features": features, **changes}


def group(found: Changes, who: str) -> ChangedGroup:
    return next(one for one in found.groups if one.who == who)


@pytest.mark.parametrize(("better", "who"), [("lower", "sex is f"), ("higher", "sex is m")])
def test_of_two_groups_the_distance_is_that_of_who_fares_worse(better: str, who: str) -> None:
    table = made(worse=0.15)
    table.loc[table.sex == "f", "a"] = np.maximum(table.a, table.index % 3 == 0)[table.sex == "f"]
    found = compare(spec("a", better=better), spec("b", better=better), data_a=table)
    assert [one.who for one in found.groups if one.found_by == "groups" and one.gap is not None] == [who]


def test_rows_of_one_table_are_compared_with_themselves() -> None:
    table = made(worse=0.15)
    found = compare(spec("a"), spec("b"), data_a=table)
    assert (found.people.paired_by, found.people.a, found.people.b) == ("row", ROWS, ROWS)
    women = table[table.sex == "f"]
    one = group(found, "sex is f").change
    assert (one.a, one.b) == pytest.approx((women.a.mean(), women.b.mean()))
    assert (one.says, group(found, "sex is m").change.says) == ("worse", "cannot_tell")
    gap = group(found, "sex is f").gap
    assert gap is not None
    men = table[table.sex == "m"]
    assert gap.difference == pytest.approx(women.b.mean() - men.b.mean() - women.a.mean() + men.a.mean())
    assert gap.says == "worse"
    assert group(found, "sex is m").gap is None  # it is that of the women
    assert found.narrower is not None
    assert found.narrower > 1.5


def test_people_are_found_again_by_their_key_and_others_are_counted() -> None:
    table = made(worse=0.15)
    before, after = table.drop(columns="b")[:2000], table.drop(columns="a")[200:].sample(frac=1.0, random_state=3)
    a, b = spec("a"), spec("b")
    found = compare(a, b, data_a=before, data_b=after, key="person")
    assert found.people.to_dict() == {
        "paired_by": "key", "a": 1800, "b": 1800, "only_a": 200, "only_b": 400, "elsewhere": 0
    }  # fmt: skip
    both = table[200:2000]
    assert (found.overall.a, found.overall.b) == pytest.approx((both.a.mean(), both.b.mean()))
    keyed = {"split": {"key": "person", "repeats": 1}}
    again = compare(spec("a", **keyed), spec("b", **keyed), data_a=before, data_b=after)
    assert again.overall == found.overall
    apart = compare(a, b, data_a=before, data_b=after)
    assert apart.people.to_dict() | {"a": 0, "b": 0} == {
        "paired_by": None, "a": 0, "b": 0, "only_a": 0, "only_b": 0, "elsewhere": None
    }  # fmt: skip
    assert (apart.people.a, apart.people.b) == (2000, 2200)
    assert apart.overall.b == pytest.approx(after.b.mean())
    assert apart.narrower is None
    assert 1.5 * (found.overall.high - found.overall.low) < apart.overall.high - apart.overall.low


def test_persons_with_several_rows_count_once() -> None:
    table = made(worse=0.15)
    once = compare(spec("a"), spec("b"), data_a=table, key="person")
    five = pd.concat([table] * 5, ignore_index=True)
    often = compare(spec("a"), spec("b"), data_a=five, key="person")
    assert often.people.a == ROWS
    for one, other in (
        (once.overall, often.overall),
        (group(once, "sex is f").change, group(often, "sex is f").change),
    ):
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=2e-3)


def test_higher_may_be_better() -> None:
    table = made(worse=0.15)
    found = compare(spec("a", better="higher"), spec("b", better="higher"), data_a=table, max_worse=0.0)
    assert group(found, "sex is f").change.says == "better"
    assert found.limit is not None
    assert (found.limit.verdict, found.limit.worse) == ("inconclusive", pytest.approx(0.0))
    turned = compare(spec("b", better="higher"), spec("a", better="higher"), data_a=table, max_worse=0.02)
    assert turned.limit is not None
    assert (turned.limit.verdict, turned.limit.who) == ("fail", "sex is f")


@pytest.mark.parametrize(("most", "verdict"), [(0.3, "pass"), (0.11, "inconclusive"), (0.02, "fail")])
def test_a_limit_is_judged_on_everybody_and_on_every_group(most: float, verdict: str) -> None:
    found = compare(spec("a"), spec("b"), data_a=made(worse=0.15), max_worse=most)
    assert found.limit is not None
    assert found.limit.verdict == verdict


def test_findings_of_a_are_followed_and_better_is_harder_to_say_of_them() -> None:
    table = made()
    table["b"] = np.where((table.age >= 60) & (np.arange(ROWS) % 10 < 6), 0.0, table.a)
    found = compare(spec("a"), spec("b"), data_a=table)
    searched = [one for one in found.groups if one.found_by == "worst_groups"]
    assert searched
    assert "age from 6" in searched[0].who
    change = searched[0].change
    assert change.says == "better"
    assert change.high - change.difference > 1.2 * (change.difference - change.low)  # the end nearer to harm is farther


def test_all_intervals_hold_at_once_and_groupings_are_those_of_the_specification() -> None:
    table = made()
    few = compare(spec("a"), spec("b"), data_a=table)
    declared = {"groups": {"facets": ["sex", "kind", ["sex", "kind"]]}}
    many = compare(spec("a", **declared), spec("b", **declared), data_a=table)
    assert "sex is f and kind is b" in {one.who for one in many.groups}
    assert many.statements == few.statements + 2 * (3 + 6)
    widths = [one.overall.high - one.overall.low for one in (few, many)]
    table.loc[::100, "b"] = 1.0 - table.b[::100]
    few, many = (compare(spec("a", **one), spec("b", **one), data_a=table) for one in ({}, declared))
    widths = [one.overall.high - one.overall.low for one in (few, many)]
    assert widths[0] < 0.9 * widths[1]


def test_alpha_and_the_smallest_group_are_those_of_a() -> None:
    table = made(worse=0.1)
    sure, unsure = (
        compare(spec("a", significance={"alpha": one}), spec("b"), data_a=table).overall for one in (0.01, 0.2)
    )
    assert sure.high - sure.low > 1.2 * (unsure.high - unsure.low)
    table.loc[:39, "sex"] = "x"
    few = compare(spec("a", significance={"min_rows": 41}), spec("b"), data_a=table)
    assert [[one.words for one in each] for each in few.too_small] == [["sex is x"]]
    assert few.min_people == 41
    assert group(compare(spec("a"), spec("b"), data_a=table), "sex is x").people_a == 40


def test_who_is_in_another_group_is_counted() -> None:
    table = made()
    moved = table.assign(sex=np.where(table.index < 100, "f", table.sex))
    found = compare(spec("a"), spec("b"), data_a=table, data_b=moved, key="person")
    assert found.people.elsewhere == int((moved.sex != table.sex).sum())


def test_what_the_other_one_measures_is_no_feature() -> None:
    table = made(worse=0.3)
    bare = {key: one for key, one in spec("a").items() if key != "features"}
    assert not compare(bare | {"features": {"exclude": ["person"]}}, spec("b"), data_a=table).spec_a["features"][
        "include"
    ]
    found = compare(bare | {"features": {"exclude": ["person"]}}, spec("b"), data_a=table)
    assert found.spec_a["features"]["exclude"] == ["person", "b"]
    assert not any(" b " in f" {one.who} " for one in found.groups)


def test_a_cluster_of_a_is_looked_for_by_all_features_and_levels_may_be_new() -> None:
    table = made()
    table["b"] = np.where(table.age >= 60, 0.0, table.a)
    new = table.assign(kind=np.where(table.index % 50 == 0, "new", table.kind))
    alone = {"worst_groups": None}
    found = compare(spec("a", **alone), spec("b", **alone), data_a=table, data_b=new, key="person")
    clusters = [one for one in found.groups if one.found_by == "clusters"]
    assert clusters
    for one in clusters:  # a fifth of the rows were kept from the search
        assert one.on_test_rows
        assert 30 <= one.people_a <= 0.35 * (table.age >= 55).sum()
    with pytest.raises(DataError, match='B does not use the column "kind", which says who is in a group of A'):
        compare(spec("a", **alone), spec("b", **alone, features={"include": ["age"]}), data_a=table, key="person")


def test_rows_have_no_key_in_what_is_written() -> None:
    found = compare(spec("a"), spec("b"), data_a=made())
    assert found.spec_a["split"]["key"] is None
    assert compare(spec("a"), spec("b"), data_a=made(), key="person").spec_b["split"]["key"] == "person"


@pytest.mark.parametrize("order", [1, 2])
def test_the_order_of_rows_does_not_matter(order: int) -> None:
    table = made(worse=0.15)
    mixed = table.sample(frac=1.0, random_state=order)
    whole = compare(spec("a"), spec("b"), data_a=table, data_b=table.copy(), key="person")
    assert compare(spec("a"), spec("b"), data_a=mixed, data_b=table.copy(), key="person") == whole


def test_rows_in_files_give_the_same(tmp_path: Path) -> None:
    table = made(worse=0.15)
    table.to_csv(tmp_path / "people.csv", index=False)
    source = {"source": {"path": str(tmp_path / "people.csv")}}
    keyed = {"split": {"key": "person", "repeats": 1}, "large_rows": 1000}
    in_memory, in_files = (
        compare(spec("a", **source, **keyed, **one), spec("b", **source, **keyed, **one))
        for one in ({}, {"clustering": OUT_OF_CORE["clustering"]})
    )
    plain, other = (one.to_dict() for one in (in_memory, in_files))
    assert plain == other
    table[200:].to_csv(tmp_path / "others.csv", index=False)
    others = {"source": {"path": str(tmp_path / "others.csv")}}
    apart = [
        compare(spec("a", **source, **one), spec("b", **others, **one))
        for one in ({"large_rows": 1000}, {"large_rows": 1000, "clustering": OUT_OF_CORE["clustering"]})
    ]
    assert apart[0].to_dict() == apart[1].to_dict()
    assert apart[0].people.paired_by is None


def test_a_result_comes_back_the_same() -> None:
    found = compare(spec("a"), spec("b"), data_a=made(worse=0.15), max_worse=0.02)
    assert Changes.from_dict(found.to_dict()) == found


@pytest.mark.parametrize(
    ("a", "b", "more", "says"),
    [
        ({}, {"better": "higher"}, {}, "bias_variable.better is lower in A and higher in B"),
        (
            {"column": "a"},
            {"column": "age", "features": {"include": ["kind"]}},
            {},
            "holds 0 and 1 in A and other numbers in B",
        ),
        ({}, {"protected": [], "features": {"include": ["age"]}}, {}, 'B does not use the column "sex"'),
        ({}, {}, {"key": "kind"}, '"split.key" names the column "kind", which has 3 different values'),
        ({}, {}, {"key": "nobody"}, 'names the column "nobody", which the table does not have'),
        ({}, {}, {"max_worse": -0.1}, "is 0 or more; found -0.1"),
    ],
)
def test_what_does_not_fit_says_how_to_mend_it(
    a: dict[str, Any], b: dict[str, Any], more: dict[str, Any], says: str
) -> None:
    with pytest.raises((DataError, SpecError), match=re.escape(says)):
        compare(spec(**{"column": "a", **a}), spec(**{"column": "b", **b}), data_a=made(), **more)


def test_a_key_that_nobody_shares_is_an_error_and_no_comparison_of_others() -> None:
    table = made()
    others = table.assign(person=[f"q{one}" for one in range(ROWS)])
    with pytest.raises(DataError, match='Nobody is in both tables by the column "person"'):
        compare(spec("a"), spec("b"), data_a=table, data_b=others, key="person")
    keyed = {"split": {"key": "person", "repeats": 1}}
    assert compare(spec("a", **keyed), spec("b", **keyed), data_a=table, data_b=others).people.paired_by is None
    others.loc[:2, "person"] = table["person"][:3]
    with pytest.raises(DataError, match="Too few people to compare: 3 in A and 3 in B, where 30 are needed"):
        compare(spec("a"), spec("b"), data_a=table, data_b=others, key="person")


@pytest.mark.parametrize(
    ("derive", "favourable"), [("error", None), ("false_positive_rate", None), ("positive_prediction", "positive")]
)
def test_predictions_of_two_models_in_one_table(derive: str, favourable: str | None) -> None:
    table = made(worse=0.2)
    table["label"] = (np.random.default_rng(4).random(ROWS) < 0.3).astype(int)
    both = {"favourable": favourable, "legitimate": []}
    a, b = (
        {**spec(), **both, "bias_variable": {"derive": derive, "prediction": one, "label": "label", "better": "lower"}}
        for one in ("a", "b")
    )
    if derive == "positive_prediction":
        a, b = ({**one, "favourable": None} for one in (a, b))
    found = compare(a, b, data_a=table)
    of_negatives = table.a[table.label == 0]
    expected = {"error": table.label != table.a, "false_positive_rate": of_negatives, "positive_prediction": table.a}
    assert found.overall.a == pytest.approx(float(expected[derive].mean()))
    assert (found.name_a, found.name_b) == ("a", "b")
