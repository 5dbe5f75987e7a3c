"""Which features stand in for a protected attribute."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bdt_core.errors import DataError
from bdt_core.inference import area_under_curve
from bdt_core.mitigation import ProxyTable, proxy_table
from bdt_core.mitigation.proxies import bias_corrected_cramers_v

ADULT = Path(__file__).parents[3] / "bdt_core" / "data" / "adult.parquet"


@pytest.fixture(scope="module")
def adult() -> pd.DataFrame:
    return pd.read_parquet(ADULT)


def test_the_known_proxies_of_sex_in_adult_come_first(adult):
    features = ["education_num", "hours_per_week", "relationship", "marital_status", "occupation", "workclass"]
    found = proxy_table(adult, features, ["sex"]).proxies
    assert [one.feature for one in found[:2]] == ["relationship", "marital_status"]
    assert found[0].estimate == pytest.approx(0.65, abs=0.02)
    hours = next(one for one in found if one.feature == "hours_per_week")
    assert hours.measure == "AUC"
    assert hours.low < hours.estimate < hours.high
    strengths = [one.strength for one in found]
    assert strengths == sorted(strengths, reverse=True)


def test_auc_is_that_of_the_level_told_surest(adult):
    one = proxy_table(adult, ["age"], ["race"]).proxies[0]
    inside = adult.race == one.level
    area = area_under_curve(adult.age[inside], adult.age[~inside])
    assert (one.estimate, one.low, one.high) == (area.auc, area.low, area.high)
    assert one.strength == pytest.approx(abs(2 * area.auc - 1))


def test_a_small_level_does_not_win_by_chance():
    rng = np.random.default_rng(0)
    group = np.array(["large"] * 3000 + ["other"] * 3000 + ["small"] * 30)
    number = rng.normal(size=len(group)) + 0.4 * (group == "large")
    assert proxy_table(pd.DataFrame({"g": group, "x": number}), ["x"], ["g"]).proxies[0].level in ("large", "other")


def test_bias_corrected_v_has_mean_near_0_when_independent():
    rng = np.random.default_rng(0)
    corrected, plain = [], []
    for _ in range(300):
        table = np.bincount(rng.integers(0, 30, 100), minlength=30).reshape(6, 5)
        corrected.append(bias_corrected_cramers_v(table))
        plain.append(stats.contingency.association(table, method="cramer"))
    assert np.mean(plain) > 0.18
    assert np.mean(corrected) < 0.06


def test_bias_corrected_v_by_its_formula():
    table = np.array([[30, 10, 5], [10, 25, 20]])
    n, (r, c) = table.sum(), table.shape
    phi2 = stats.chi2_contingency(table, correction=False).statistic / n - (r - 1) * (c - 1) / (n - 1)
    wanted = np.sqrt(phi2 / min(r - (r - 1) ** 2 / (n - 1) - 1, c - (c - 1) ** 2 / (n - 1) - 1))
    assert bias_corrected_cramers_v(table) == pytest.approx(wanted)


def test_rank_correlation_of_two_numbers():
    rng = np.random.default_rng(2)
    age = rng.normal(40, 10, 500)
    frame = pd.DataFrame({"age": age, "years": age + rng.normal(0, 5, 500)})
    frame.loc[:9, "years"] = np.nan
    one = proxy_table(frame, ["years", "age"], ["age"]).proxies[0]
    assert len(proxy_table(frame, ["years", "age"], ["age"]).proxies) == 1
    known = frame.dropna()
    assert one.estimate == pytest.approx(stats.spearmanr(known.age, known.years).statistic)
    assert one.low < one.estimate < one.high
    assert one.rows == 490


def test_rank_correlation_interval_covers():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(200):
        a = rng.normal(size=150)
        frame = pd.DataFrame({"a": a, "b": 0.5 * a + np.sqrt(0.75) * rng.normal(size=150)})
        one = proxy_table(frame, ["b"], ["a"]).proxies[0]
        covered += one.low <= 6 / np.pi * np.arcsin(0.25) <= one.high  # Spearman's rho of a normal pair
    assert covered >= 200 * 0.95 - 2.6 * np.sqrt(200 * 0.95 * 0.05)


def test_missing_is_a_level_and_infinite_numbers_are_left_out():
    frame = pd.DataFrame({"g": ["a", "b"] * 50, "c": ["x", None] * 50, "n": [1.0, 2.0, np.inf, 4.0] * 25})
    found = {one.feature: one for one in proxy_table(frame, ["c", "n"], ["g"]).proxies}
    assert found["c"].estimate == 1.0
    assert found["n"].rows == 75


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ([f"person {i}" for i in range(100)], "nearly every row has a value of its own"),
        (["same"] * 100, "single value"),
        ([float("nan")] * 97 + [1.0, 2.0, 3.0], "no two sides with 30 rows"),
    ],
)
def test_what_cannot_be_measured_says_why_and_comes_last(column, told):
    frame = pd.DataFrame({"g": ["a", "b"] * 50, "x": column, "y": ["p", "q", "p", "r"] * 25})
    found = proxy_table(frame, ["x", "y"], ["g"])
    assert told in found.proxies[-1].reason
    assert found.proxies[-1].feature == "x"
    assert ProxyTable.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))) == found


def test_an_unknown_column_is_named():
    with pytest.raises(DataError, match='no column "agee"'):
        proxy_table(pd.DataFrame({"age": [1], "g": ["a"]}), ["agee"], ["g"])
