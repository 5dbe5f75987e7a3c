"""The stage: chosen on train rows, measured on test rows, told in words."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness import bias_metrics
from bdt_core.mitigation import Mitigation, MitigationSettings, Recommendation, mitigate, recommend
from bdt_core.mitigation.measuring import paired_change
from bdt_core.verdict import ClusterLimitResult, MetricLimitResult

COMPAS = Path(__file__).parents[3] / "bdt_core" / "data" / "compas.csv"
SETTINGS = MitigationSettings(
    group=("race",),
    score="decile_score",
    label="two_year_recid",
    prediction="high_risk",
    tolerance=0.05,
    features=("age", "priors_count", "c_charge_degree"),
    metrics=("DI", "false_positive_rate"),
)


@pytest.fixture(scope="module")
def compas() -> tuple[pd.DataFrame, pd.DataFrame]:
    frame = pd.read_csv(COMPAS)
    is_test = np.random.default_rng(0).random(len(frame)) < 0.5
    return frame[~is_test], frame[is_test]


@pytest.fixture(scope="module")
def found(compas) -> Mitigation:
    return mitigate(*compas, SETTINGS)


def limit(metric="equal_opportunity_difference", facet="race", maximum=0.1, minimum=None, verdict="fail"):
    return MetricLimitResult(
        kind="metric", check=f"{metric} by {facet}", metric=metric, facet=facet, group=None, minimum=minimum,
        maximum=maximum, rule="interval", verdict=verdict, blocks=True, inconclusive="warn", sentence="", value=0.35,
        low=0.2, high=0.5, confidence=0.95, p_value=None, smallest_visible=None, severity=None, groups_judged=4,
        left_out=(), rows_seen=6172, rows_unseen=0,
    )  # fmt: skip


def cluster_limit():
    return ClusterLimitResult(
        kind="cluster", check="worst_cluster", cluster=0, limit=0.05, verdict="fail", blocks=True, inconclusive="warn",
        sentence="", difference=0.2, low=0.1, high=0.3, p_value=0.001, smallest_visible=None, severity=None,
    )  # fmt: skip


def test_present_decisions_are_recognised_as_a_threshold(found):
    assert found.status == "measured"
    assert found.present == 'the column "high_risk" (decile_score at or above 5, for everybody)'
    assert {one.threshold_before for one in found.thresholds.groups} == {5.0}


def test_the_numbers_are_those_of_the_test_rows(found, compas):
    _, test = compas
    groups = {one.group: one for one in found.thresholds.groups}
    part = test[test.race.isin(groups)].copy()
    part["new"] = [int(score >= groups[race].threshold_after)
                   for score, race in zip(part.decile_score, part.race, strict=True)]  # fmt: skip
    for column, side in (("high_risk", "before"), ("new", "after")):
        metrics = bias_metrics(part, facet="race", label="two_year_recid", prediction=column)
        assert getattr(found.thresholds.gap, side) == metrics["equal_opportunity_difference"].only
        right = (part[column] == part.two_year_recid).mean()
        assert getattr(found.thresholds.accuracy, side).estimate == pytest.approx(right)
        for name, one in groups.items():
            for rate in one.rates:
                assert getattr(rate, side) == metrics[rate.metric][name]
        for change in found.thresholds.metrics:
            estimate = metrics[change.metric][change.group] if change.group else metrics[change.metric].only
            assert getattr(change, side) == estimate
    for name, one in groups.items():
        mine = part[part.race == name]
        assert one.selected_now == ((mine.new == 1) & (mine.high_risk == 0)).sum()
        assert one.selected_no_longer == ((mine.new == 0) & (mine.high_risk == 1)).sum()
        assert one.test_rows == len(mine)


def test_the_gap_shrinks_on_rows_that_did_not_choose(found):
    gap = found.thresholds.gap
    assert found.thresholds.train_gap <= 0.05
    assert gap.before.estimate > 0.3
    assert gap.after.estimate < 0.15
    assert gap.after.low <= gap.after.estimate <= gap.after.high
    change = found.thresholds.accuracy_change
    assert change.estimate == pytest.approx(
        found.thresholds.accuracy.after.estimate - found.thresholds.accuracy.before.estimate
    )
    assert change.low < change.estimate < change.high


def test_small_groups_keep_their_decisions_and_are_named(found):
    assert {one.group for one in found.left_out} == {"Asian", "Native American"}
    assert "30 are needed" in found.left_out[0].reason
    assert found.train_rows + found.test_rows + sum(one.train_rows + one.test_rows for one in found.left_out) == 7214


def test_no_cell_of_a_small_group_is_printed(found):
    assert {one.group for one in found.reweighing.cells} == {one.group for one in found.thresholds.groups}


def test_the_frontier_starts_free_and_falls(found):
    rows = found.thresholds.frontier
    assert rows[0].tolerance == 1.0
    assert [one.train_gap for one in rows] == sorted((one.train_gap for one in rows), reverse=True)
    assert [one.train_objective for one in rows] == sorted((one.train_objective for one in rows), reverse=True)
    assert all(one.gap.estimate is not None for one in rows)


def test_json_and_back(found):
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert Mitigation.from_dict(data) == found
    assert any(math.isinf(value) for value in found.thresholds.frontier[-1].thresholds.values())


@pytest.mark.parametrize("randomized", [False, True])
def test_row_order_does_not_matter(compas, randomized):
    settings = dataclasses.replace(SETTINGS, randomized=randomized)
    train, test = compas
    shuffled = mitigate(train.sample(frac=1, random_state=1), test.sample(frac=1, random_state=2), settings)
    assert shuffled.to_dict() == mitigate(train, test, settings).to_dict()


def test_without_a_prediction_the_best_single_threshold_is_the_present(compas):
    train, test = compas
    found = mitigate(train, test, dataclasses.replace(SETTINGS, prediction=None))
    at = found.thresholds.groups[0].threshold_before
    part = train[~train.race.isin(["Asian", "Native American"])]
    right = [((part.decile_score >= t) == (part.two_year_recid == 1)).mean() for t in range(1, 11)]
    assert at == 1 + int(np.argmax(right))
    assert "best accuracy on the train rows" in found.present


def test_a_given_threshold(compas):
    found = mitigate(*compas, dataclasses.replace(SETTINGS, prediction=None, threshold=5.0))
    assert found.present == "decile_score at or above 5, for everybody"


def test_a_prediction_that_is_no_threshold_on_the_score(compas):
    train, test = (part.assign(high_risk=(part.age < 30).astype(int)) for part in compas)
    found = mitigate(train, test, SETTINGS)
    assert "no single threshold" in found.present
    assert found.thresholds.groups[0].threshold_before is None


def test_intersections_text_labels_and_missing_values(compas):
    parts = []
    for part in compas:
        changed = part.assign(outcome=np.where(part.two_year_recid == 1, "yes", "no")).reset_index(drop=True)
        changed["race"] = changed["race"].astype(object)
        changed.loc[:4, "race"] = None
        changed["decile_score"] = changed["decile_score"].astype(float)
        changed.loc[10:12, "decile_score"] = np.nan
        parts.append(changed)
    settings = MitigationSettings(("race", "sex"), "decile_score", "outcome", positive=("yes",), tolerance=0.1)
    found = mitigate(*parts, settings)
    assert found.missing == {"race & sex": 10, "decile_score": 6}
    assert "African-American & Female" in {one.group for one in found.thresholds.groups}
    assert found.proxies is None


def test_groups_that_are_numbers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": rng.integers(0, 2, 800), "s": rng.random(800)})
    frame["y"] = rng.random(800) < frame.s
    found = mitigate(frame[:400], frame[400:], MitigationSettings(("g",), "s", "y", positive=(True,), tolerance=0.05))
    assert [one.group for one in found.thresholds.groups] == ["0", "1"]


@pytest.mark.parametrize(
    ("change", "settings", "told"),
    [
        ({"race": "Other"}, {}, 'need two groups with enough rows; only "Other" has'),
        ({"decile_score": 5}, {}, "Every row has the same score"),
        ({}, {"constraint": "predictive_parity", "tolerance": 0.0}, "The smallest that some meet"),
        ({"race": None}, {}, "none has"),
    ],
)
def test_what_is_not_possible_says_why_and_the_rest_is_there(compas, change, settings, told):
    train, test = (part.assign(**change) for part in compas)
    found = mitigate(train, test, dataclasses.replace(SETTINGS, **settings))
    assert found.status == "not_possible"
    assert told in found.reason
    assert found.thresholds is None
    assert found.proxies is not None
    assert Mitigation.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))) == found
    text = recommend(found, [limit()])[0]
    assert not text.measured
    assert told in text.text


def test_a_score_that_points_the_wrong_way_is_noted(compas):
    train, test = (part.assign(decile_score=11 - part.decile_score) for part in compas)
    found = mitigate(train, test, dataclasses.replace(SETTINGS, prediction=None))
    assert any("turn its sign" in one for one in found.notes)


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"score": "decile"}, DataError, 'no column "decile"'),
        ({"score": "sex"}, DataError, "must be numeric"),
        ({"positive": ("yes",)}, DataError, "never is yes"),
        ({"metrics": ("false_positive_rat",)}, SpecError, 'Did you mean "false_positive_rate"'),
    ],
)
def test_wrong_columns_are_errors(compas, settings, error, told):
    with pytest.raises(error, match=told):
        mitigate(*compas, dataclasses.replace(SETTINGS, **settings))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"constraint": "parity"}, "Unknown constraint"),
        ({"tolerance": -0.1}, "between 0 and 1"),
        ({"group": ()}, "one or more columns"),
        ({"threshold": 5.0}, "not both"),
    ],
)
def test_wrong_settings_are_errors(settings, told):
    with pytest.raises(SpecError, match=told):
        dataclasses.replace(SETTINGS, **settings)


def test_a_recommendation_names_what_was_measured(found):
    first = recommend(found, [limit(), limit(verdict="pass")])
    assert len(first) == 1
    one = first[0]
    gap, accuracy = found.thresholds.gap, found.thresholds.accuracy
    assert one.measured
    assert f"goes from {gap.before.estimate:.3g} [95 % CI" in one.text
    assert f"to {gap.after.estimate:.3g} [95 % CI" in one.text
    assert f"{100 * accuracy.before.estimate:.1f} %" in one.text
    assert f"{100 * accuracy.after.estimate:.1f} %" in one.text
    for group in found.thresholds.groups:
        change = "stays at 5" if group.threshold_after == 5 else f"from 5 to {group.threshold_after:g}"
        assert f"{group.group} {change}" in one.text
    assert one.keeps_limit == "cannot tell"
    assert "cannot show that it holds" in one.text
    assert Recommendation.from_dict(one.to_dict()) == one


@pytest.mark.parametrize(
    ("given", "measured", "keeps", "told"),
    [
        (limit(maximum=0.9), True, "yes", "The whole interval then keeps the limit (at most 0.9)"),
        (limit("equal_opportunity_ratio", maximum=None, minimum=0.999), True, None, "at least 0.999"),
        (limit("disparate_impact", maximum=None, minimum=0.8), True, None, "the DI of "),
        (limit("demographic_parity_difference"), True, None, "They were not chosen for this metric"),
        (limit(facet="sex"), False, None, "set mitigation.group to sex"),
        (limit("bias_score"), False, None, "Near to it: the demographic parity difference goes from"),
        (limit("accuracy"), False, None, "name accuracy in mitigation.metrics"),
        (cluster_limit(), False, None, "not by cluster"),
    ],
)
def test_recommendations_by_kind_of_limit(found, given, measured, keeps, told):
    one = recommend(found, [given])[0]
    assert one.measured is measured
    assert told in one.text
    if keeps:
        assert one.keeps_limit == keeps


def test_a_recommendation_on_scores_says_why_nothing_was_measured(found):
    settings = dataclasses.replace(found.settings, metrics=("calibration_ratio",))
    one = recommend(dataclasses.replace(found, settings=settings), [limit("calibration_ratio", minimum=0.8)])[0]
    assert not one.measured
    assert one.text == (
        "Calibration ratio was not measured under other thresholds: it does not come from labels and decisions alone."
    )


def test_a_looser_choice_that_keeps_the_limit_is_offered(compas):
    found = mitigate(*compas, dataclasses.replace(SETTINGS, tolerance=0.02))
    text = recommend(found, [limit(maximum=0.1)])[0].text
    loosest = next(one for one in found.thresholds.frontier if one.train_gap <= 0.1)
    assert f"tolerance {loosest.tolerance:g}" in text
    assert f"accuracy of {100 * loosest.accuracy.estimate:.1f} %" in text


@pytest.mark.parametrize("cells", [(53, 8, 16, 9), (30, 0, 5, 12), (90, 3, 1, 40), (10, 6, 0, 2)])
def test_limits_of_the_paired_change_are_where_the_score_reaches_its_quantile(cells):
    """With the likelihood under the hypothesis maximised by search instead of by formula."""
    both, lost, gained, neither = cells
    n = sum(cells)
    before, after = np.repeat([1, 1, 0, 0], cells) == 1, np.repeat([1, 0, 1, 0], cells) == 1
    found = paired_change(before, after, 0.05)
    assert found.estimate == pytest.approx((gained - lost) / n)
    for limit in (found.low, found.high):

        def unlikely(share, limit=limit):
            x = gained * np.log(share + limit) if gained else 0.0
            y = lost * np.log(share) if lost else 0.0
            return -(x + y + (both + neither) * np.log(1 - 2 * share - limit))

        bounds = (max(0.0, -limit) + 1e-12, (1 - limit) / 2 - 1e-12)
        share = minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        score = (gained - lost - n * limit) / np.sqrt(n * (2 * share + limit * (1 - limit)))
        assert abs(score) == pytest.approx(1.959964, abs=2e-4)


def test_no_change_has_an_interval_around_0():
    same = np.arange(100) % 3 == 0
    found = paired_change(same, same, 0.05)
    assert found.estimate == 0.0
    assert -0.05 < found.low < 0.0 < found.high < 0.05
