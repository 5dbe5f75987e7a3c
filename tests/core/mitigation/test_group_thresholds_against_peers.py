"""Against published and recorded figures: Hardt et al.'s loans, fairlearn's optimizer, a guide's minimiser."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

from bdt_core.mitigation import GroupThresholds

HERE = Path(__file__).parent
ADULT = Path(__file__).parents[3] / "bdt_core" / "data" / "adult.parquet"
RECORDED = json.loads((HERE / "recorded" / "fairlearn_thresholds.json").read_text())
LINES = RECORDED["figures"]["adult"]


# Hardt, Price & Srebro (2016), section 6: share of the largest profit where a loan pays if 82 % do not default.
PUBLISHED = {"single threshold": 99.3, "equal_opportunity": 92.8, "equalized_odds": 80.2, "demographic_parity": 69.8}


def profit(tp, fp, fn, tn):
    return 18.0 * tp - 82.0 * fp


@pytest.fixture(scope="module")
def loans() -> pd.DataFrame:
    """One line per race, score and outcome; n is the (fractional) number of people."""
    below = pd.read_csv(HERE / "data" / "transrisk_cdf_by_race_ssa.csv", index_col=0) / 100
    bad = pd.read_csv(HERE / "data" / "transrisk_performance_by_race_ssa.csv", index_col=0) / 100
    people = pd.read_csv(HERE / "data" / "totals.csv", index_col=0).loc["SSA"].astype(float)
    share = below.diff().fillna(below.iloc[:1])
    parts = [
        pd.DataFrame({"race": race, "score": below.index, "good": good, "n": people[race] * share[race] * chance})
        for race in below
        for good, chance in ((1, 1 - bad[race]), (0, bad[race]))
    ]
    return pd.concat(parts, ignore_index=True)


def loan_model(loans, constraint, tolerance, randomized):
    model = GroupThresholds(constraint, tolerance=tolerance, objective=profit, randomized=randomized)
    return model.fit(loans.score, loans.good, loans.race, sample_weight=loans.n)


@pytest.fixture(scope="module")
def largest_profit(loans) -> float:
    return loan_model(loans, "demographic_parity", 1.0, False).objective_


@pytest.mark.parametrize("constraint", list(PUBLISHED)[1:])
def test_hardt_price_srebro_profit(loans, largest_profit, constraint):
    model = loan_model(loans, constraint, 0.0, True)
    assert model.gap_ < 1e-9
    assert 100 * model.objective_ / largest_profit == pytest.approx(PUBLISHED[constraint], abs=1.0)


@pytest.mark.parametrize("constraint", ["equal_opportunity", "demographic_parity"])
def test_plain_thresholds_come_as_near_within_half_a_point_of_rate(loans, largest_profit, constraint):
    model = loan_model(loans, constraint, 0.005, False)
    assert model.gap_ <= 0.005 + 1e-12
    # The published value is at distance 0.1 to 0.4 from the exact optimum, and a tolerance can only add profit.
    assert PUBLISHED[constraint] - 1 < 100 * model.objective_ / largest_profit < PUBLISHED[constraint] + 1.5


def test_hardt_price_srebro_single_threshold(loans, largest_profit):
    # Everybody in two groups at random would be one threshold; here simply: the best of all thresholds for all.
    values = [profit(*(loans.n[(loans.score >= t) & (loans.good == good)].sum() for good in (1, 0)), 0, 0)
              for t in loans.score.unique()]  # fmt: skip
    assert 100 * max(values) / largest_profit == pytest.approx(PUBLISHED["single threshold"], abs=1.0)


def expected(chance, label, group, constraint):
    rates = [
        [chance[group == one].mean(), *(chance[(group == one) & (label == y)].mean() for y in (1, 0))]
        for one in np.unique(group)
    ]
    columns = {"demographic_parity": [0], "equal_opportunity": [1], "equalized_odds": [1, 2]}[constraint]
    return np.ptp(np.array(rates)[:, columns], axis=0).max(), np.where(label == 1, chance, 1 - chance).mean()


@pytest.fixture(scope="module")
def adult() -> pd.DataFrame:
    return pd.read_parquet(ADULT)[::2]


def fitted(adult, line, tolerance, randomized):
    model = GroupThresholds(line["constraint"], tolerance=tolerance, randomized=randomized)
    return model.fit(adult.probability, adult.over_50k, adult[line["facet"]])


def test_the_record_is_of_the_version_that_is_compared():
    assert RECORDED["versions"]["fairlearn"] == "0.15.0"
    assert len(LINES) == 14


@pytest.mark.parametrize("line", LINES, ids=lambda one: f"{one['facet']} {one['constraint']} {one['tolerance']}")
def test_no_larger_gap_at_no_lower_accuracy_than_fairlearn(adult, line):
    """At the gap that fairlearn attains in expectation, by drawing lots as it does."""
    model = fitted(adult, line, line["fit"]["gap"], True)
    chance = model.selection_chance(adult.probability, adult[line["facet"]])
    gap, accuracy = expected(chance, adult.over_50k.to_numpy(), adult[line["facet"]].to_numpy(), line["constraint"])
    assert gap <= line["fit"]["gap"] + 1e-9
    assert accuracy >= line["fit"]["accuracy"] - 1e-9


@pytest.mark.parametrize("line", LINES, ids=lambda one: f"{one['facet']} {one['constraint']} {one['tolerance']}")
def test_plain_thresholds_against_drawn_decisions(adult, line):
    """Without lots: at the gap of fairlearn's drawn decisions (mean of 20) less than 0.2 points of accuracy apart."""
    model = fitted(adult, line, line["fit"]["drawn_gap"], False)
    assert model.gap_ <= line["fit"]["drawn_gap"] + 1e-9
    assert model.objective_ >= line["fit"]["drawn_accuracy"] - 0.002


def guide_minimiser(score, group, target):
    """A threshold per group by scalar minimisation of the squared distance from a target rate."""
    found = {}
    for one in np.unique(group):
        mine = score[group == one]
        found[one] = minimize_scalar(
            lambda t, mine=mine: (np.mean(mine >= t) - target) ** 2, bounds=(0.01, 0.99), method="bounded"
        ).x
    return found


def bimodal(seed, rows=400):
    """Scores near 0 and near 1 and nothing between, as confident models give: the rate is flat in between."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b"], rows // 2)
    high = rng.random(rows) < np.where(group == "a", 0.6, 0.3)
    score = np.where(high, rng.beta(60, 2, rows), rng.beta(2, 60, rows))
    label = (rng.random(rows) < np.where(high, 0.85, 0.15)).astype(int)
    return score, label, group


def test_a_scalar_minimiser_misses_its_target_on_steps_and_the_sweep_does_not():
    missed = 0
    for seed in range(40):
        score, label, group = bimodal(seed)
        target = np.mean([np.mean(score[group == one] >= 0.5) for one in "ab"])
        found = guide_minimiser(score, group, target)
        rates = [np.mean(score[group == one] >= found[one]) for one in "ab"]
        missed += abs(rates[0] - rates[1]) > 0.01
        model = GroupThresholds("demographic_parity", tolerance=0.01).fit(score, label, group)
        selected = model.predict(score, group)
        ours = [selected[group == one].mean() for one in "ab"]
        assert abs(ours[0] - ours[1]) <= 0.01 + 1e-12
        assert min(ours) > 0.0
        assert max(ours) < 1.0
    assert missed == 40
