"""The bias variable against the confusion table."""

from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import confusion_matrix, mean_absolute_error, mean_pinball_loss, mean_squared_error

from bdt_core.derivations import DERIVATIONS, Derivation, derived
from bdt_core.errors import DataError
from bdt_core.spec import BiasVariable
from bdt_core.table.bias_variable import bias_variable as compute

RNG = np.random.default_rng(5)


def bias_variable(frame, settings):
    outcome = compute(frame, settings)
    outcome.facts.refuse_useless(settings)
    return outcome.y, list(outcome.facts.left_out)


FRAME = pd.DataFrame(
    {
        "y": RNG.integers(0, 2, 300),
        "p": RNG.integers(0, 2, 300),
        "s": RNG.normal(size=300),
        "t": RNG.normal(size=300),
    }
)


def rate(derive, **more):
    y, _ = bias_variable(FRAME, BiasVariable(derive=derive, label="y", prediction="p", **more))
    return np.nanmean(y)


def test_every_derivation_is_its_rate_of_the_confusion_table():
    tn, fp, fn, tp = confusion_matrix(FRAME["y"], FRAME["p"]).ravel()
    n = len(FRAME)
    assert rate("error") == pytest.approx((fp + fn) / n)
    assert rate("false_positive") == pytest.approx(fp / n)
    assert rate("false_negative") == pytest.approx(fn / n)
    assert rate("false_positive_rate") == pytest.approx(fp / (fp + tn))
    assert rate("false_negative_rate") == pytest.approx(fn / (fn + tp))
    assert rate("positive_prediction") == pytest.approx((tp + fp) / n)


def test_errors_of_numbers():
    absolute, _ = bias_variable(FRAME, BiasVariable(derive="absolute_error", label="s", prediction="t"))
    squared, _ = bias_variable(FRAME, BiasVariable(derive="squared_error", label="s", prediction="t"))
    assert absolute.mean() == pytest.approx(mean_absolute_error(FRAME["s"], FRAME["t"]))
    assert squared.mean() == pytest.approx(mean_squared_error(FRAME["s"], FRAME["t"]))


def of_numbers(derive, label, prediction, **more):
    frame = pd.DataFrame({"label": label, "prediction": prediction})
    return compute(frame, BiasVariable(derive=derive, label="label", prediction="prediction", **more)).y


def test_the_signed_error_is_prediction_less_label():
    for better in ("lower", "higher"):
        signed = of_numbers("signed_error", FRAME["s"], FRAME["t"], better=better)
        assert np.array_equal(signed, FRAME["t"].to_numpy() - FRAME["s"].to_numpy())


@pytest.mark.parametrize("quantile", [0.01, 0.3, 0.5, 0.9])
def test_the_pinball_loss_is_that_of_its_quantile(quantile):
    loss = of_numbers("pinball_loss", FRAME["s"], FRAME["t"], quantile=quantile)
    below, above = FRAME["s"] - FRAME["t"], FRAME["t"] - FRAME["s"]
    by_row = quantile * np.maximum(below, 0) + (1 - quantile) * np.maximum(above, 0)
    assert loss == pytest.approx(by_row.to_numpy())
    assert loss.mean() == pytest.approx(mean_pinball_loss(FRAME["s"], FRAME["t"], alpha=quantile))


NUMBERS = arrays(np.float64, 7, elements=st.floats(-1e6, 1e6, allow_subnormal=False))
QUANTILES = st.floats(0.001, 0.999)


@given(NUMBERS, NUMBERS)
def test_a_signed_error_turns_round_with_label_and_prediction(label, prediction):
    signed = of_numbers("signed_error", label, prediction, better="lower")
    assert np.array_equal(signed, -of_numbers("signed_error", prediction, label, better="lower"))
    assert np.array_equal(np.abs(signed), of_numbers("absolute_error", label, prediction))


@given(NUMBERS, NUMBERS, QUANTILES)
def test_a_pinball_loss_counts_each_side_by_its_quantile(label, prediction, quantile):
    loss = of_numbers("pinball_loss", label, prediction, quantile=quantile)
    assert (loss >= 0.0).all()
    assert loss == pytest.approx(of_numbers("pinball_loss", prediction, label, quantile=1.0 - quantile))
    absolute = of_numbers("absolute_error", label, prediction)
    assert np.array_equal(of_numbers("pinball_loss", label, prediction), absolute / 2)
    assert loss + of_numbers("pinball_loss", label, prediction, quantile=1.0 - quantile) == pytest.approx(absolute)


@pytest.mark.parametrize("derive", ["signed_error", "pinball_loss"])
def test_missing_numbers_of_either_column_are_left_out(derive):
    settings = BiasVariable(derive=derive, label="s", prediction="t", better="lower")
    holes = FRAME.assign(s=FRAME["s"].where(FRAME.index > 4), t=FRAME["t"].where(FRAME.index < 290))
    y, left_out = bias_variable(holes, settings)
    assert np.isnan(y).sum() == left_out[0].rows == 15


LISTS = pd.DataFrame(
    {
        "query": ["a", "b", "a", "a", "b", "c", "b", None, "a", "b"],
        "score": [9.0, 0.2, 7.0, 7.0, 0.2, 5.0, 0.9, 1.0, None, 0.1],
    }
)
"""List a: 9, then 7 twice; list b: 0.9, then 0.2 twice, then 0.1; list c: one row; a row of no list; one unranked."""


def in_lists(derive, frame=LISTS, prediction="score", query="query", **more):
    outcome = compute(frame, BiasVariable(derive=derive, prediction=prediction, query=query, **more))
    return outcome.y, outcome.facts


@pytest.mark.parametrize(
    ("derive", "more", "of_a", "of_b"),
    [
        ("top_k", {"k": 1}, [1, 0, 0], [1, 0, 0, 0]),
        ("top_k", {"k": 2}, [1, 0.5, 0.5], [1, 0.5, 0.5, 0]),
        ("top_k", {}, [1, 1, 1], [1, 1, 1, 1]),
        ("position", {}, [1, 2.5, 2.5], [1, 2.5, 2.5, 4]),
        (
            "exposure",
            {},
            [1, (1 / np.log2(3) + 0.5) / 2, (1 / np.log2(3) + 0.5) / 2],
            [1, (1 / np.log2(3) + 0.5) / 2, (1 / np.log2(3) + 0.5) / 2, 1 / np.log2(5)],
        ),
    ],
)
def test_places_in_lists_by_hand(derive, more, of_a, of_b):
    y, facts = in_lists(derive, **more)
    assert y[[0, 2, 3]] == pytest.approx(np.array(of_a) - np.mean(of_a))
    assert y[[6, 1, 4, 9]] == pytest.approx(np.array(of_b) - np.mean(of_b))
    assert np.isnan(y[[5, 7, 8]]).all()
    assert [(one.rows, str(one.reason)) for one in facts.left_out[:2]] == [
        (1, "query is missing, so that their list is not known"),
        (1, "nobody else is in their list by query"),
    ]
    assert facts.left_out[2].rows == 1
    assert "is missing" in facts.left_out[2].reason


def test_places_of_a_whole_table_are_not_measured_against_it():
    y, _ = in_lists("position", query=None)
    assert y[[0, 2, 3, 5, 7, 6, 1, 4, 9]].tolist() == [1, 2.5, 2.5, 4, 5, 6, 7.5, 7.5, 9]
    assert np.isnan(y[8])
    y, _ = in_lists("top_k", query=None, k=3)
    assert np.nansum(y) == 3


def test_ranks_stand_lowest_first():
    ranks = LISTS.assign(rank=LISTS["score"].mul(-1).groupby(LISTS["query"]).rank(method="min"))
    for derive in ("top_k", "exposure", "position"):
        of_scores, _ = in_lists(derive)
        of_ranks, _ = in_lists(derive, ranks, "rank", ranked="lowest_first")
        assert np.array_equal(of_scores, of_ranks, equal_nan=True)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=9),
    st.sampled_from(["top_k", "exposure", "position"]),
    st.randoms(),
)
def test_equal_scores_have_the_mean_over_all_orders(rows, derive, random):
    frame = pd.DataFrame(rows, columns=["query", "score"])
    worth = {"top_k": lambda place: place <= 2, "exposure": lambda place: 1 / np.log2(1 + place), "position": float}
    y, _ = in_lists(derive, frame, k=2 if derive == "top_k" else None)
    for query, of_list in frame.groupby("query"):
        if len(of_list) == 1:
            assert np.isnan(y[of_list.index]).all()
            continue
        below = [(of_list["score"] > score).sum() for score in of_list["score"]]
        same = [(of_list["score"] == score).sum() for score in of_list["score"]]
        expected = np.array(
            [np.mean([worth[derive](b + 1 + j) for j in range(s)]) for b, s in zip(below, same, strict=True)]
        )
        assert y[of_list.index] == pytest.approx(expected - expected.mean(), abs=1e-9), query
    order = random.sample(range(len(frame)), len(frame))
    shuffled, _ = in_lists(derive, frame.iloc[order].reset_index(drop=True), k=2 if derive == "top_k" else None)
    assert np.array_equal(shuffled, y[order], equal_nan=True)


def test_places_need_numbers():
    with pytest.raises(DataError, match=r'"score" \(bias_variable\.prediction\) must be numeric'):
        in_lists("exposure", LISTS.assign(score="high"))


def test_every_derivation_is_registered_once():
    assert list(DERIVATIONS) == list(get_args(Derivation))
    assert derived(None) is None
    for name, made in DERIVATIONS.items():
        ways = (made.amount is not None, made.event is not None, made.of_places, name == "positive_prediction")
        assert sum(ways) == 1, name


def test_rows_outside_the_denominator_are_counted():
    y, left_out = bias_variable(FRAME, BiasVariable(derive="false_positive_rate", label="y", prediction="p"))
    assert np.isnan(y).sum() == (FRAME["y"] == 1).sum() == left_out[0].rows


def test_named_positive_values_take_the_place_of_one():
    named = FRAME.assign(y=FRAME["y"].map({0: "no", 1: "yes"}), p=FRAME["p"].map({0: "Low", 1: "High"}))
    settings = BiasVariable(derive="error", label="y", prediction="p", positive=["yes", "High"])
    assert np.array_equal(
        bias_variable(named, settings)[0],
        bias_variable(FRAME, BiasVariable(derive="error", label="y", prediction="p"))[0],
    )


def test_missing_labels_are_left_out_and_counted():
    holes = FRAME.astype({"y": float})
    holes.loc[:9, "y"] = np.nan
    y, left_out = bias_variable(holes, BiasVariable(derive="error", label="y", prediction="p"))
    assert np.isnan(y[:10]).all()
    assert not np.isnan(y[10:]).any()
    assert left_out[-1].rows == 10


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.Series(["a", "b", "3"] * 100), "must be numeric, but 200 of 300"),
        (pd.Series([1.0] * 300), "is constant"),
        (pd.Series([np.nan] * 300), "is missing in all 300 rows"),
        (pd.Series([1.0, np.inf, 2.0] * 100), "100 infinite values"),
    ],
)
def test_a_useless_column_is_refused(column, words):
    with pytest.raises(DataError, match=words):
        bias_variable(FRAME.assign(b=column), BiasVariable(column="b"))


def test_outcomes_in_lists_are_refused():
    lists = FRAME.assign(y=[[0], [1, 2], []] * 100)
    with pytest.raises(DataError, match=r'Column "y" \(bias_variable.prediction\) holds lists or other containers'):
        bias_variable(lists, BiasVariable(derive="positive_prediction", prediction="y"))


def test_a_label_with_three_values_is_refused_unless_the_positive_one_is_named():
    three = FRAME.assign(y=[0, 1, 2] * 100)
    with pytest.raises(DataError, match=r'Column "y" .* has 3 values \(0, 1, 2\) where two are needed'):
        bias_variable(three, BiasVariable(derive="error", label="y", prediction="p"))
    y, _ = bias_variable(three, BiasVariable(derive="positive_prediction", prediction="y", positive=2))
    assert y.mean() == pytest.approx(1 / 3)
    with pytest.raises(DataError, match="never has the positive value 7 .*label and prediction.$"):
        bias_variable(three, BiasVariable(derive="positive_prediction", prediction="y", positive=7))
    answers = FRAME.assign(y=["yes", "no", "no"] * 100)
    with pytest.raises(DataError, match='YAML takes yes, no, on and off for true and false: write "yes" in quotes'):
        bias_variable(answers, BiasVariable(derive="positive_prediction", prediction="y", positive=True))
