"""Metrics of arrays, as other libraries take them, with the numbers that those give."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef, precision_score, roc_auc_score

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


OWN = {"mcc": matthews_corrcoef, "zero_one": lambda y_true, y_pred: np.mean(y_true != y_pred)}


def test_own_metrics_have_the_numbers_of_fairlearn_and_intervals() -> None:
    ours = bias_metrics(Y_TRUE, Y_PRED, groups=SEX, metrics=OWN)
    theirs = MetricFrame(metrics=OWN, y_true=Y_TRUE, y_pred=Y_PRED, sensitive_features=SEX)
    names = list(OWN)
    assert ours.by_group[names].to_numpy() == pytest.approx(theirs.by_group[names].astype(float).to_numpy(), rel=1e-9)
    for name in ("group_min", "group_max", "difference", "ratio"):
        told = getattr(theirs, name)().astype(float)
        pd.testing.assert_series_equal(getattr(ours, name)()[names], told, rtol=1e-9)
    pd.testing.assert_series_equal(ours.overall[names], theirs.overall.astype(float), rtol=1e-9)
    error, share = ours["zero_one"]["f"], ours["accuracy"]["f"]
    assert error.low == pytest.approx(1 - share.high, abs=0.01)
    assert error.high == pytest.approx(1 - share.low, abs=0.01)
    against = ours["zero_one_difference"]["m" if ours.reference == "f" else "f"]
    assert against.low < against.estimate < against.high
    assert bias_metrics(Y_TRUE, Y_PRED, groups=SEX, metrics=matthews_corrcoef)["matthews_corrcoef"] is not None
    plain = bias_metrics(Y_TRUE, Y_PRED, groups=SEX)
    assert [one for one in ours.metrics if "mcc" not in one.name and "zero_one" not in one.name] == list(plain.metrics)
    assert type(ours).from_dict(ours.to_dict()) == ours


@pytest.mark.parametrize("named", [False, True])
def test_control_features_compare_groups_within_their_levels(named: bool) -> None:
    metrics = {"selection_rate": selection_rate, "accuracy": accuracy_score}
    theirs = MetricFrame(
        metrics=metrics, y_true=Y_TRUE, y_pred=Y_PRED, sensitive_features={"sex": SEX}, control_features={"town": TOWN}
    )
    if named:
        table = {"sex": SEX, "town": TOWN, "y": Y_TRUE, "p": Y_PRED}
        ours = bias_metrics(table, facet="sex", label="y", prediction="p", control_features="town")
    else:
        ours = bias_metrics(Y_TRUE, Y_PRED, groups={"sex": SEX}, control_features={"town": TOWN})
    for mine, other in (
        (ours.by_group, theirs.by_group),
        (ours.overall, theirs.overall),
        *((getattr(ours, one)(), getattr(theirs, one)()) for one in ("group_min", "group_max", "difference", "ratio")),
    ):
        pd.testing.assert_frame_equal(mine.sort_index()[list(metrics)], other.astype(float).sort_index(), rtol=1e-12)
    of_delft = TOWN == "Delft"
    alone = bias_metrics(Y_TRUE[of_delft], Y_PRED[of_delft], groups={"sex": SEX[of_delft]})
    assert ours["Delft"].metrics == alone.metrics
    frame = ours.to_frame()
    assert frame.columns[:3].tolist() == ["town", "facet", "value"]
    assert len(frame) == sum(len(one.to_frame()) for one in ours.within.values())
    assert "Metrics within town: 3 levels" in repr(ours)
    with pytest.raises(SpecError, match='town has no level Delf. Did you mean "Delft"'):
        ours["Delf"]


def test_a_level_in_which_nobody_is_favoured_is_compared_all_the_same() -> None:
    town = np.where(Y_TRUE | Y_PRED, "a", np.where(RNG.random(900) < 0.5, "a", "b")).astype(object)
    town[:7] = None
    found = bias_metrics(Y_TRUE, Y_PRED, groups=SEX, control_features=town)
    assert found.control == ("control",)
    assert found["b"].by_group["selection_rate"].tolist() == [0, 0]
    assert found["a"].rows + found["b"].rows == 893


def test_a_metric_prints_as_a_number_with_its_interval() -> None:
    found = bias_metrics([1, 0, 1, 0] * 30, [1, 0, 0, 0] * 30, groups=list("ffmm") * 30)
    one = found["demographic_parity_difference"].only
    assert repr(found["demographic_parity_difference"]) == (
        f"demographic_parity_difference: 0.5 ({one.low:.3g} to {one.high:.3g})"
    )
    assert repr(found["accuracy"]).splitlines()[0] == "accuracy: 2 groups"
    assert found["accuracy"].to_frame()["estimate"].tolist() == [1.0, 0.5]
    assert str(bias_metrics([1, 1], [1, 0], groups=["f", "f"])["false_positive_rate"]["f"]).startswith("undefined (")


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"metrics": {"accuracy": accuracy_score}}, SpecError, "metrics: accuracy is there already"),
        ({"metrics": OWN, "tolerance": 1.0}, SpecError, "Label and prediction are numbers, and metrics is of such"),
        ({"control_features": {"sex": SEX}}, DataError, "sex is both a group and a control feature"),
        ({"control_features": SEX[:3]}, DataError, "differ in length"),
    ],
)
def test_own_metrics_and_control_features_that_do_not_fit_are_said(how, error, message) -> None:
    with pytest.raises(error, match=message):
        bias_metrics(Y_TRUE, Y_PRED, groups={"sex": SEX}, **how)
