"""Metrics of arrays, as other libraries take them, with the numbers that those give."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
from sklearn.metrics import accuracy_score, f1_score, precision_score, roc_auc_score

from bdt_core import bias_metrics
from bdt_core.errors import DataError, SpecError

RNG = np.random.default_rng(0)
Y_TRUE, SCORE = RNG.integers(0, 2, 900), RNG.random(900)
Y_PRED = (SCORE + 0.3 * Y_TRUE > 0.7).astype(int)
SEX, TOWN = RNG.choice(["f", "m"], 900), RNG.choice(["Delft", "Gouda", "Hoorn"], 900, p=[0.9, 0.08, 0.02])
PEERS = {
    "selection_rate": selection_rate,
    "true_positive_rate": true_positive_rate,
    "false_positive_rate": false_positive_rate,
    "accuracy": accuracy_score,
    "f1_score": f1_score,
    "positive_predictive_value": precision_score,
}


@pytest.mark.parametrize("groups", [pd.Series(SEX, name="sex"), pd.DataFrame({"sex": SEX, "town": TOWN})])
def test_numbers_are_those_of_fairlearn(groups) -> None:
    ours = bias_metrics(Y_TRUE, Y_PRED, groups=groups)
    theirs = MetricFrame(metrics=PEERS, y_true=Y_TRUE, y_pred=Y_PRED, sensitive_features=groups)
    pd.testing.assert_frame_equal(
        ours.by_group[list(PEERS)].sort_index(), theirs.by_group.astype(float).sort_index(), rtol=1e-12
    )
    for name in ("difference", "ratio"):
        mine, other = getattr(ours, name)()[list(PEERS)], getattr(theirs, name)().astype(float)
        pd.testing.assert_series_equal(mine, other, rtol=1e-12)
    rates = [one for one in PEERS if one != "f1_score"]
    pd.testing.assert_series_equal(ours.overall[rates], theirs.overall[rates].astype(float), rtol=1e-12)


def test_scores_and_weights_come_as_arrays_too() -> None:
    weight = RNG.integers(1, 5, 900)
    ours = bias_metrics(Y_TRUE, Y_PRED, groups=TOWN, score=SCORE)
    for town in np.unique(TOWN):
        mine = town == TOWN
        assert ours.by_group.loc[town, "auc"] == pytest.approx(roc_auc_score(Y_TRUE[mine], SCORE[mine]), rel=1e-12)
    weighted = bias_metrics(Y_TRUE, Y_PRED, groups=SEX, weight=weight)
    for sex in ("f", "m"):
        mine = sex == SEX
        by_hand = accuracy_score(Y_TRUE[mine], Y_PRED[mine], sample_weight=weight[mine])
        assert weighted.by_group.loc[sex, "accuracy"] == pytest.approx(by_hand, rel=1e-9)


def test_arrays_give_what_the_table_gives() -> None:
    frame = pd.DataFrame({"sex": SEX, "y_true": Y_TRUE, "y_pred": Y_PRED})
    table = bias_metrics(frame, facet="sex", label="y_true", prediction="y_pred")
    shuffled = pd.Series(SEX, name="sex", index=RNG.permutation(900))  # rows belong together by their order
    for groups in (shuffled, {"sex": SEX}, pl.Series("sex", SEX), frame[["sex"]]):
        assert bias_metrics(Y_TRUE, Y_PRED, groups=groups) == table
    assert bias_metrics(list(Y_TRUE), list(Y_PRED), groups=list(SEX)).facets == ("group",)
    assert table.to_frame().equals(table.table())


def test_a_group_may_be_called_like_an_array() -> None:
    found = bias_metrics(Y_TRUE, Y_PRED, groups={"y_true": SEX})
    assert found.facets == ("y_true",)
    assert found.by_group["accuracy"].tolist() == bias_metrics(Y_TRUE, Y_PRED, groups=SEX).by_group["accuracy"].tolist()


def test_decisions_alone_have_selection_rates_alone() -> None:
    found = bias_metrics(None, Y_PRED, groups=SEX)
    assert list(found.by_group.columns) == ["selection_rate"]
    assert found.by_group.loc["f", "selection_rate"] == Y_PRED[SEX == "f"].mean()


@pytest.mark.parametrize(
    ("given", "keys", "error", "message"),
    [
        ((Y_TRUE, Y_PRED[:5]), {"groups": SEX}, DataError, "differ in length: group 900, y_true 900, y_pred 5"),
        ((Y_TRUE.reshape(-1, 1), Y_PRED), {"groups": SEX}, DataError, r"y_true must have one value per row"),
        ((Y_TRUE, Y_PRED), {"groups": SEX, "facet": "sex"}, SpecError, "groups goes with arrays"),
        ((Y_TRUE, Y_PRED), {}, SpecError, r"bias_metrics\(y_true, y_pred, groups=sex\)"),
        ((pd.DataFrame({"a": [1]}),), {"label": "a"}, SpecError, 'facet="sex"'),
    ],
)
def test_what_does_not_fit_together_is_said(given, keys, error, message) -> None:
    with pytest.raises(error, match=message):
        bias_metrics(*given, **keys)
