"""Rules in words: what they say must hold on the rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.clustering.rule import Rule, find_rules, precision_and_recall
from bdt_core.groups.conditions import GroupCondition, members


def people(seed: int = 0, n: int = 800) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": rng.normal(30, 8, n),
            "city": pd.Categorical(rng.choice(["Riga", "Oslo", "Bern"], n)),
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
        }
    )


def find_rule(X: pd.DataFrame, inside: np.ndarray) -> Rule:
    return find_rules(X, np.where(inside, 0, -1), 1)[0]


def test_a_planted_conjunction_is_named_exactly():
    X = people()
    inside = ((X["age"] > 60) & (X["city"] == "Oslo")).to_numpy()
    rule = find_rule(X, inside)
    assert rule.precision_and_recall(X, inside) == (1.0, 1.0)
    assert sorted(one.words for one in rule.conditions) == ["age from 61", "city is Oslo"]


def test_of_two_levels_the_one_meant_is_named():
    X = people()
    assert str(find_rule(X, (X["sex"] != "f").to_numpy())) == "sex is m"


def test_a_range_is_one_condition():
    X = people()
    inside = X["age"].between(30, 40).to_numpy()
    assert str(find_rule(X, inside)) == "age 30 to 40"


def test_missing_is_a_level():
    X = people()
    X.loc[X.index[:200], "city"] = None
    assert str(find_rule(X, X["city"].isna().to_numpy())) == "city is missing"


def test_what_a_column_must_not_be_is_one_condition():
    X = pd.DataFrame({"city": pd.Categorical(np.resize(["a", "b", "c", "d", None], 1000))})
    (condition,) = find_rule(X, X["city"].isin(["a", "b", "c"]).to_numpy()).conditions
    assert condition.words == "city is neither d nor missing"
    assert np.array_equal(condition.holds(X), X["city"].isin(["a", "b", "c"]))


def test_everybody_needs_no_condition():
    X = people()
    assert str(find_rule(X, np.ones(len(X), bool))) == "everybody"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (GroupCondition("age", "interval", high=25.0, whole=True), "age up to 25"),
        (GroupCondition("age", "interval", low=25.0, whole=True), "age from 26"),
        (GroupCondition("age", "interval", 2.0, 3.0, whole=True), "age is 3"),
        (GroupCondition("income", "interval", low=10.25), "income above 10.25"),
        (GroupCondition("city", "values", values=("Oslo",), excluded=True, missing=True), "city is not Oslo"),
        (GroupCondition.of_level("city", None), "city is missing"),
    ],
)
def test_words(condition, words):
    assert condition.words == words


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 1000))
def test_words_and_rows_agree_whatever_the_cluster(seed, other):
    X = people(seed, 300)
    rng = np.random.default_rng(other)
    centre = rng.normal(size=2)
    z = X[["age", "income"]].to_numpy()
    inside = ((z - z.mean(0)) / z.std(0)) @ centre > 0.5
    rule = find_rule(X, inside)
    precision, recall = rule.precision_and_recall(X, inside)
    met = members(X, rule.conditions)
    by_hand = np.ones(len(X), bool)
    for one in rule.conditions:
        by_hand &= np.array([_by_hand(one, row) for row in X.to_dict("records")])
    assert np.array_equal(met, by_hand)
    if inside.any() and met.any():
        assert precision == pytest.approx(inside[met].mean())
        assert recall == pytest.approx(met[inside].mean())


def _by_hand(condition: GroupCondition, row: dict) -> bool:
    x = row[condition.column]
    assert condition.kind == "interval"
    return (condition.low is None or x > condition.low) and (condition.high is None or x <= condition.high)


def test_it_comes_back_from_plain_data():
    from pydantic import TypeAdapter

    X = people()
    rule = find_rule(X, (X["age"] > 60).to_numpy())
    adapter = TypeAdapter(Rule)
    assert adapter.validate_json(adapter.dump_json(rule)) == rule


def test_counts_of_blocks_add_up_to_precision_and_recall():
    X = people(4)
    inside = ((X["age"] > 55) & (X["city"] != "Oslo")).to_numpy(copy=True)
    inside[::9] = False
    rule = find_rule(X, inside)
    blocks = np.split(np.random.default_rng(2).permutation(len(X)), [0, 100, 350])
    counts = [rule.count(X.iloc[rows], inside[rows]) for rows in blocks]
    assert counts[0] == (0, 0, 0)
    met, both, all_inside = (sum(one) for one in zip(*counts, strict=True))
    assert 0 < both < met
    assert precision_and_recall(met, both, all_inside) == rule.precision_and_recall(X, inside)
    assert precision_and_recall(0, 0, 3) == (None, 0.0)
    assert precision_and_recall(3, 0, 0) == (0.0, None)


@pytest.mark.parametrize("dtype", [object, pd.StringDtype(na_value=np.nan), "category"])
def test_a_level_is_met_whatever_holds_it(dtype):
    column = pd.Series(["Oslo", None, "Riga", "Oslo"], dtype=object).astype(dtype)
    frame = pd.DataFrame({"city": column})
    for level, rows in {"Oslo": [0, 3], "Bern": [], None: [1]}.items():
        assert np.flatnonzero(GroupCondition.of_level("city", level).holds(frame)).tolist() == rows
        others = GroupCondition("city", "values", values=(level,), excluded=True, missing=True)
        if level is not None:
            assert np.flatnonzero(~others.holds(frame)).tolist() == rows
