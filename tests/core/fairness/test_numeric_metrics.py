"""Metrics of label and prediction that are numbers: exact, the same in any order and in blocks, and honest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import mean_absolute_error, mean_squared_error, root_mean_squared_error
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness import Threshold, bias_metrics
from bdt_core.fairness.medians import median_of
from bdt_core.fairness.numeric_groups import compare_numbers
from bdt_core.inference.order_statistics import median_ranks
from bdt_core.metrics import NUMERIC
from bdt_core.spec import parse_spec
from tests.core.tables_in_blocks import SourceInBlocks

GROUPS = ("f", "m", "x")


def people(n: int = 300, seed: int = 1) -> pd.DataFrame:
    """Pay in hundreds, and what a model says of it: too much of women, and farther off of some others."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(GROUPS, n, p=(0.4, 0.4, 0.2))
    pay = 10.0 + rng.gamma(2.0, 3.0, n)
    off = rng.normal(0.0, 1.0, n) * np.where(sex == "x", 2.0, 1.0) + (sex == "f")
    return pd.DataFrame({"sex": sex, "pay": pay, "model": np.maximum(pay + off, 1.0)})


def compared(frame: pd.DataFrame, **changes: Any) -> Any:
    return bias_metrics(frame["pay"], frame["model"], groups=frame["sex"], **{"tolerance": 1.0, **changes})


def spec(**changes: Any) -> Any:
    groups = {"tolerance": 1.0, **changes.pop("groups", {})}
    return parse_spec(
        {
            "name": "pay", "source": {"path": "pay.csv"}, "protected": ["sex"], "groups": groups,
            "bias_variable": {"derive": "absolute_error", "label": "pay", "prediction": "model"}, **changes,
        }
    )  # fmt: skip


def test_values_are_those_of_numpy_and_scikit_learn():
    frame = people()
    found = compared(frame)
    known = {
        "mean_outcome": lambda y, p: np.mean(y),
        "median_outcome": lambda y, p: np.median(y),
        "mean_prediction": lambda y, p: np.mean(p),
        "median_prediction": lambda y, p: np.median(p),
        "mean_error": lambda y, p: np.mean(p - y),
        "mean_absolute_error": mean_absolute_error,
        "mean_squared_error": mean_squared_error,
        "root_mean_squared_error": root_mean_squared_error,
        "within_tolerance": lambda y, p: np.mean(np.abs(p - y) <= 1.0),
    }
    assert list(known) == list(NUMERIC) == list(found.by_group.columns)
    for name, function in known.items():
        of = {group: function(rows["pay"], rows["model"]) for group, rows in frame.groupby("sex")}
        assert found.by_group[name].to_dict() == pytest.approx(of)
        largest = frame["sex"].mode()[0]
        assert found.reference == largest
        for group in set(GROUPS) - {largest}:
            assert found[f"{name}_difference"][group].estimate == pytest.approx(of[group] - of[largest])
            if name != "mean_error":
                assert found[f"{name}_ratio"][group].estimate == pytest.approx(of[group] / of[largest])
        if NUMERIC[name].is_mean:
            assert found.overall[name] == pytest.approx(function(frame["pay"], frame["model"]))
    assert found["mae"] == found["mean_absolute_error"]


def test_intervals_are_students_wilsons_and_those_of_ranks():
    frame = people()
    found = compared(frame, alpha=0.1)
    for group, rows in frame.groupby("sex"):
        error = rows["model"] - rows["pay"]
        for name, values in (("mean_outcome", rows["pay"]), ("mean_error", error), ("mean_squared_error", error**2)):
            ends = stats.t.interval(0.9, len(values) - 1, np.mean(values), stats.sem(values))
            assert (found[name][group].low, found[name][group].high) == pytest.approx(ends)
        square, root = found["mean_squared_error"][group], found["root_mean_squared_error"][group]
        assert (root.low, root.high) == pytest.approx((np.sqrt(square.low), np.sqrt(square.high)))
        within = int((error.abs() <= 1.0).sum())
        ends = proportion_confint(within, len(rows), 0.1, "wilson")
        share = found["within_tolerance"][group]
        assert (share.low, share.high, share.events) == pytest.approx((*ends, within))
        exact = stats.quantile_test(rows["model"], p=0.5).confidence_interval(0.9)
        assert (found["median_prediction"][group].low, found["median_prediction"][group].high) == tuple(exact)
    largest = frame.groupby("sex")["pay"].count()
    near = (frame["model"] - frame["pay"]).abs().le(1.0).groupby(frame["sex"]).sum()
    newcombe = confint_proportions_2indep(near["x"], largest["x"], near["f"], largest["f"], "newcomb", alpha=0.1)
    against_women = compared(frame, alpha=0.1, reference="f")["within_tolerance_difference"]["x"]
    assert (against_women.low, against_women.high) == pytest.approx(newcombe, abs=1e-9)


@pytest.mark.parametrize("rows", [1, 5, 6, 7, 20, 101, 1000])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.001])
def test_ranks_of_a_median_leave_out_no_more_than_they_may(rows, alpha):
    ranks = median_ranks(rows, alpha)
    outside = 0 if ranks is None else ranks[0] + 1
    assert stats.binom.cdf(outside - 1, rows, 0.5) <= alpha / 2 < stats.binom.cdf(outside, rows, 0.5)
    assert ranks is None or ranks[1] == rows - 1 - ranks[0]


def test_differences_of_two_means_are_no_narrower_than_welchs_and_hardly_wider():
    frame = people(2000)
    found = compared(frame, reference="m")["mean_absolute_error_difference"]["f"]
    of = {group: (rows["model"] - rows["pay"]).abs() for group, rows in frame.groupby("sex")}
    welch = stats.ttest_ind(of["f"], of["m"], equal_var=False).confidence_interval()
    assert found.high - found.low == pytest.approx(welch.high - welch.low, rel=1e-3)
    assert found.low <= welch.low < welch.high <= found.high


def test_everybody_else_is_all_others_together():
    frame = people()
    found = compared(frame, reference="everybody else")
    for group in GROUPS:
        inside = frame["sex"] == group
        for name, function in (("median_outcome", np.median), ("mean_outcome", np.mean)):
            gap = function(frame["pay"][inside]) - function(frame["pay"][~inside])
            assert found[f"{name}_difference"][group].estimate == pytest.approx(gap)
        rest = frame["pay"][~inside]
        exact = stats.quantile_test(rest, p=0.5).confidence_interval(0.95)
        own = found["median_outcome"][group]
        low = own.estimate - np.median(rest) - np.hypot(own.estimate - own.low, exact.high - np.median(rest))
        assert found["median_outcome_difference"][group].low == pytest.approx(low)


def test_neither_the_order_of_rows_nor_the_names_of_groups_matter():
    frame = people()
    found = compared(frame).to_frame()
    mixed = compared(frame.sample(frac=1.0, random_state=3).reset_index(drop=True)).to_frame()
    pd.testing.assert_frame_equal(mixed, found, check_exact=True)
    renamed = compared(frame.assign(sex=frame["sex"].map({"f": "woman", "m": "man", "x": "other"})))
    for before, now in zip("fmx", ("woman", "man", "other"), strict=True):
        for name in NUMERIC:
            assert renamed[name][now] == compared(frame)[name][before]


def test_units_change_what_has_a_unit_and_no_ratio():
    frame = people()
    cents = frame.assign(pay=frame["pay"] * 128, model=frame["model"] * 128)
    found, scaled = compared(frame).to_frame(), compared(cents, tolerance=128.0).to_frame()
    plain = found["metric"].str.replace(r"_(ratio|difference)$", "", regex=True)
    power = plain.map(dict.fromkeys(NUMERIC, 1) | {"mean_squared_error": 2, "within_tolerance": 0})
    power = power.where(~found["metric"].str.endswith("_ratio"), 0)
    for end in ("estimate", "low", "high", "together_low", "together_high"):
        assert scaled[end].to_numpy() == pytest.approx((found[end] * 128.0**power).to_numpy(), nan_ok=True)
    moved = compared(frame.assign(pay=frame["pay"] + 8, model=frame["model"] + 8))
    for name in ("mean_error", "mean_absolute_error", "within_tolerance"):
        assert moved.by_group[name].tolist() == pytest.approx(compared(frame).by_group[name].tolist())
    assert moved["median_outcome"]["f"].low == pytest.approx(compared(frame)["median_outcome"]["f"].low + 8)


@pytest.mark.parametrize("reference", ["largest group", "everybody else"])
def test_blocks_of_rows_give_the_same_to_the_last_digit(reference):
    frame = people(700).assign(person=np.arange(700) // 3)
    frame.loc[3:9, "pay"] = np.nan
    frame.loc[8:12, "sex"] = None
    asked = spec(groups={"reference": reference, "facets": ["sex", ["sex", "big"]]}, split={"key": "person"})
    frame["big"] = frame["model"] > 15
    whole = compare_numbers(frame, asked)
    for cuts in ((1, 350, 350, 699), (10, 11)):
        assert compare_numbers(SourceInBlocks(frame, cuts), asked) == whole
    metrics = whole["sex"]
    assert (metrics.rows, metrics.rows_seen, metrics.missing) == (700, 690, {"sex": 5, "pay": 7, "model": 0})
    assert metrics.unseen("mean_error") == (10, ("sex", "pay"))
    assert "10 of 700 rows lack" in metrics.notes[0]
    assert median_of(SourceInBlocks(frame, (5, 90)), "model") == np.median(frame["model"])


def test_rows_of_one_person_are_not_counted_twice():
    frame = people(240).assign(person=np.arange(240))
    four = pd.concat([frame] * 4, ignore_index=True)
    plain = compare_numbers(frame, spec())["sex"]
    by_person = compare_numbers(four, spec(split={"key": "person"}))
    by_row = compare_numbers(four, spec())["sex"]

    def width(metrics: Any, name: str) -> float:
        return metrics[name]["f"].high - metrics[name]["f"].low

    assert by_person.facets[0].persons == tuple(frame["sex"].value_counts()[list(GROUPS)])
    for name in ("mean_error", "mean_absolute_error_difference", "within_tolerance", "median_outcome"):
        assert width(by_person["sex"], name) == pytest.approx(width(plain, name), rel=0.06)
        assert width(by_row, name) < 0.7 * width(plain, name)


@pytest.mark.parametrize("draw", ["normal", "lognormal"])
def test_intervals_hold_the_truth_as_often_as_they_say(draw):
    rng, tables = np.random.default_rng(6), 400
    n, truth = np.repeat(["a", "b", "c"], (90, 60, 150)), {}
    large = rng.normal(0.0, 1.0, 2_000_000) if draw == "normal" else rng.lognormal(0.0, 0.5, 2_000_000) - 1.0
    for name, function in (("mean_error", np.mean), ("mean_absolute_error", lambda e: np.mean(np.abs(e)))):
        truth[name] = function(large)
    truth["within_tolerance"] = np.mean(np.abs(large) <= 1.0)
    held = dict.fromkeys((*truth, "together", "median"), 0)
    for _ in range(tables):
        off = rng.normal(0.0, 1.0, n.size) if draw == "normal" else rng.lognormal(0.0, 0.5, n.size) - 1.0
        pay = rng.lognormal(0.0, 1.0, n.size)
        found = bias_metrics(pay, pay + off, groups=n, tolerance=1.0, reference="c")
        for name, value in truth.items():
            held[name] += found[name]["b"].low <= value <= found[name]["b"].high
        held["median"] += found["median_outcome"]["b"].low <= 1.0 <= found["median_outcome"]["b"].high
        apart = found["mean_absolute_error_difference"]
        held["together"] += all(apart.together_low[i] <= 0.0 <= apart.together_high[i] for i in (0, 1))
    fewest = stats.binom.ppf(0.001, tables, 0.94)  # Student's is a little short of skewed errors of 60 rows
    assert min(held.values()) >= fewest, held


def test_what_cannot_be_told_is_not_told():
    frame = pd.DataFrame({"sex": list("ffffmmmmmm"), "pay": np.arange(10) / 2, "model": np.arange(10) / 2})
    found = compared(frame)
    same = found["mean_absolute_error"]["f"]
    assert (same.estimate, same.low, same.high) == (0.0, None, None)  # rows that are all alike say nothing of others
    assert found["mean_absolute_error_ratio"]["f"].undefined_reason == "0 in the group and in the reference"
    assert (found["median_outcome"]["f"].low, found["median_outcome"]["m"].low) == (None, 2.0)
    assert found["within_tolerance"]["f"].low > 0.4
    below = compared(frame.assign(pay=frame["pay"] - 1.0))
    assert below["mean_outcome_ratio"]["f"].undefined_reason == "some values are below 0"
    assert below["mean_prediction_ratio"]["f"].estimate is not None
    assert found["mean_error_difference"]["m"].undefined_reason == "the reference itself"


def test_numbers_are_known_by_their_values():
    frame = people()
    assert bias_metrics(frame["pay"], frame["model"], groups=frame["sex"]).by_group.columns[0] == "mean_outcome"
    alone = bias_metrics(frame, facet="sex", prediction="model")
    assert list(alone.by_group.columns) == ["mean_prediction", "median_prediction"]
    assert "mean_prediction" in repr(alone)
    grades = frame.assign(pay=np.arange(300) % 5, model=np.arange(300) % 4)
    assert "selection_rate" in bias_metrics(grades, facet="sex", label="pay", prediction="model").by_group
    assert "mean_error" in bias_metrics(grades, facet="sex", label="pay", prediction="model", tolerance=1).by_group
    cut = bias_metrics(frame, facet="sex", label="pay", prediction="model", positive=Threshold(15))
    assert "selection_rate" in cut.by_group


def test_what_does_not_go_with_numbers_is_refused_with_the_mend():
    frame = people().assign(town=np.arange(300).astype(str))
    columns = {"facet": "sex", "label": "pay", "prediction": "model"}
    with pytest.raises(SpecError, match="are numbers, and weight is of such that are counted"):
        bias_metrics(frame, **columns, weight="pay")
    with pytest.raises(SpecError, match="tolerance must be a finite number above 0"):
        bias_metrics(frame, **columns, tolerance=0)
    with pytest.raises(SpecError, match="tolerance needs a label and a prediction"):
        bias_metrics(frame, facet="sex", label="pay", tolerance=1)
    with pytest.raises(DataError, match='Column "town" must be numeric'):
        bias_metrics(frame, facet="sex", label="pay", prediction="town", tolerance=1)
    with pytest.raises(DataError, match="Divide it by a constant"):
        bias_metrics(frame.assign(pay=frame["pay"] * 1e141), **columns)
    with pytest.raises(SpecError, match="is no group of sex"):
        bias_metrics(frame, **columns, reference="nobody")
    many = pd.DataFrame({"sex": ["f", "m"] * 2500, "said": [f"a{i}" for i in range(5000)]})
    many["done"] = many["said"].str[::-1]
    with pytest.raises(DataError, match="too many to count. Group the values of columns with text"):
        bias_metrics(many, facet="sex", label="said", prediction="done")
