"""Conditions are written in one way, by clusters and intersections alike, and mean what they say."""

import numpy as np
import pandas as pd
import pytest

from bdt_core import words
from tests.core.clustering.test_rule import find_rule
from tests.core.joined.made_tables import quick_audit


def people(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 80, n)
    city = rng.choice(["Riga", "Oslo", "Bern"], n)
    income = np.where(rng.random(n) < 0.25, np.nan, rng.normal(30, 8, n).round(1))
    wrong = rng.random(n) < 0.1 + 0.5 * (age > 60)
    return pd.DataFrame({"age": age, "income": income, "city": city, "wrong": wrong.astype(int)})


@pytest.fixture(scope="module")
def report() -> dict:
    bias_variable = {"column": "wrong"}
    return quick_audit(people(), bias_variable=bias_variable, protected=["city"], slices={}).document


def test_an_intersection_and_a_cluster_say_the_same_of_whole_numbers(report):
    told = [one["text"] for column in report["slices"]["columns"] for one in column["conditions"]]
    assert any(one.startswith("age up to ") for one in told)
    assert any(one.startswith("age from ") for one in told)
    assert "income is missing" in told
    assert "city is Oslo" in told
    assert any(one.startswith("income above ") for one in told)  # not whole
    rules = [one["rule"]["text"] for one in report["clusters"]]
    assert any("age from" in one or "age up to" in one for one in rules)
    assert not any(sign in one for one in told + rules for sign in ("<", ">", "="))


@pytest.mark.parametrize("column", ["age", "income"])
def test_the_words_of_an_interval_name_its_rows(report, column):
    frame = people()
    (found,) = (one for one in report["slices"]["columns"] if one["name"] == column)
    for one in found["conditions"]:
        if one["kind"] == "interval":
            low, high = one["low"] or -np.inf, one["high"] or np.inf
            wanted = (frame[column] > low) & (frame[column] <= high)
            assert (held(one["text"], frame) == wanted).all(), one["text"]


def held(text: str, frame: pd.DataFrame) -> pd.Series:
    """The rows of one condition, read as a reader would."""
    column, *rest = text.split()
    x = frame[column]
    match rest:
        case ["up", "to", high]:
            return x <= float(high)
        case ["from", low]:
            return x >= float(low)
        case ["above", low]:
            return x > float(low)
        case ["above", low, "and", "up", "to", high]:
            return (x > float(low)) & (x <= float(high))
        case [low, "to", high]:
            return (x >= float(low)) & (x <= float(high))
    raise AssertionError(text)


def test_the_words_of_a_rule_are_exact_to_the_digit():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"score": rng.random(2000) * 1e5})
    inside = (X["score"] > 43_921.37).to_numpy()
    rule = find_rule(X, inside)
    assert (held(str(rule), X) == inside).all()
    assert len(str(rule)) <= len("score above 43921.37")


def test_levels_that_are_left_out_are_told_together():
    X = pd.DataFrame({"city": pd.Categorical(np.resize(["a", "b", "c", "d", "e"], 1000))})
    assert str(find_rule(X, X["city"].isin(["a", "b", "c"]).to_numpy())) == "city is neither d nor e"


def test_a_text_that_reads_missing_is_told_from_a_value_that_is():
    assert words.value_condition("income", "missing") == 'income is "missing"'
    assert words.value_condition("income", None) == "income is missing"
