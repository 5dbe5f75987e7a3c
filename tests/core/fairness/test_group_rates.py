"""Rates per group and comparisons between groups, against scikit-learn, scipy and published figures."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from bdt_core.errors import SpecError
from bdt_core.fairness import BiasMetrics, bias_metrics, count_rows, declared_tests, metrics_from_counts
from bdt_core.fairness.omnibus import equal_rates_p_value
from bdt_core.inference import compare_counts, koopman_interval, newcombe_interval, rate_interval
from bdt_core.table.sources import read_table


@pytest.fixture(scope="module")
def compas():
    return read_table("demo:compas")


@pytest.fixture(scope="module")
def by_race(compas):
    frame = compas.assign(score=compas.decile_score / 10)
    return bias_metrics(frame, facet="race", label="two_year_recid", prediction="high_risk", score="score",
                        reference="Caucasian")  # fmt: skip


def test_published_rates_of_compas(by_race):
    black, white = "African-American", "Caucasian"
    assert by_race["fpr"][black].estimate == pytest.approx(0.448468, abs=5e-7)
    assert by_race["fpr"][white].estimate == pytest.approx(0.234543, abs=5e-7)
    assert by_race["fnr"][black].estimate == pytest.approx(0.279853, abs=5e-7)
    assert by_race["fnr"][white].estimate == pytest.approx(0.477226, abs=5e-7)
    assert by_race["predictive_equality_difference"].p_value < 1e-30
    one, two = by_race["fpr"][black], by_race["fpr"][white]
    pair = compare_counts(int(one.events), int(one.n), int(two.events), int(two.n))
    assert pair.p_value < 1e-30
    assert by_race["false_positive_rate_difference"][black].low > 0.18


def test_every_rate_equals_scikit_learn(compas, by_race):
    for race, part in compas.groupby("race"):
        y, p, s = part.two_year_recid, part.high_risk, part.decile_score / 10
        wanted = {
            "tpr": sk.recall_score(y, p),
            "tnr": sk.recall_score(y, p, pos_label=0),
            "ppv": sk.precision_score(y, p, zero_division=np.nan),
            "npv": sk.precision_score(y, p, pos_label=0, zero_division=np.nan),
            "accuracy": sk.accuracy_score(y, p),
            "f1": sk.f1_score(y, p),
            "auc": sk.roc_auc_score(y, s),
            "brier": sk.brier_score_loss(y, s),
            "selection_rate": p.mean(),
            "prevalence": y.mean(),
            "mean_score": s.mean(),
            "observed_to_expected": y.sum() / s.sum(),
        }
        for name, value in wanted.items():
            found = by_race[name][race]
            assert found.estimate == pytest.approx(value, rel=1e-6), name
            assert found.low <= found.estimate <= found.high, name
        for name, other in (("fpr", "tnr"), ("fnr", "tpr"), ("fdr", "ppv"), ("for", "npv")):
            assert by_race[name][race].estimate == pytest.approx(1 - wanted[other])


def test_calibration_error_by_hand():
    frame = pd.DataFrame(
        {"g": ["a"] * 8, "y": [0, 1, 1, 1, 0, 0, 0, 1], "s": [0.05, 0.05, 0.95, 0.95, 0.95, 0.45, 0.45, 1.0]}
    )
    found = bias_metrics(frame, facet="g", label="y", score="s")["calibration_error"]["a"]
    assert found.estimate == pytest.approx(2 / 8 * 0.45 + 4 / 8 * (3.85 / 4 - 3 / 4) + 2 / 8 * 0.45, abs=1e-7)


def test_intervals_are_those_of_the_inference_package(by_race):
    x, n, x_ref, n_ref = 805, 1795, 349, 1488
    rate = by_race["fpr"]["African-American"]
    assert (rate.low, rate.high) == rate_interval(x, n)
    gap = by_race["false_positive_rate_difference"]["African-American"]
    assert (gap.low, gap.high) == pytest.approx(newcombe_interval(x, n, x_ref, n_ref))
    ratio = by_race["false_positive_rate_ratio"]["African-American"]
    assert (ratio.low, ratio.high) == pytest.approx(koopman_interval(x, n, x_ref, n_ref))


def test_limits_for_all_groups_are_wider(by_race):
    for metric in by_race.metrics:
        if metric.kind in ("difference", "ratio"):
            for low, high, wide_low, wide_high in zip(
                metric.low, metric.high, metric.together_low, metric.together_high, strict=True
            ):
                if low is not None and metric.kind == "difference":
                    assert wide_low <= low
                    assert wide_high >= high


def test_small_groups_are_named_and_left_out_of_ranges(by_race):
    metric = by_race["demographic_parity_difference"]
    assert metric.excluded == (("Native American",),)
    assert any("Native American" in note for note in by_race.notes)
    assert by_race["selection_rate"]["Native American"].estimate is not None
    # "Asian" has 31 rows but fewer than 10 with a positive label.
    assert ("Asian",) in by_race["equal_opportunity_difference"].excluded


def test_ranges_equal_seed_004(by_race, compas):
    kept = [race for race in compas.race.unique() if race not in ("Native American", "Asian")]
    part = compas[compas.race.isin(kept)]
    result = bias_metrics(part, facet="race", label="two_year_recid", prediction="high_risk")
    rates = {name: [result[name][race].estimate for race in kept] for name in ("selection_rate", "tpr", "fpr", "ppv")}
    for name, rate in (
        ("demographic_parity", "selection_rate"),
        ("equal_opportunity", "tpr"),
        ("predictive_parity", "ppv"),
    ):
        assert result[f"{name}_ratio"].only.estimate == pytest.approx(min(rates[rate]) / max(rates[rate]))
        assert result[f"{name}_difference"].only.estimate == pytest.approx(max(rates[rate]) - min(rates[rate]))
    assert result["equalized_odds_ratio"].only.estimate == pytest.approx(
        min(min(rates[name]) / max(rates[name]) for name in ("tpr", "fpr"))
    )


def test_holm_over_what_was_declared(compas):
    results = [
        bias_metrics(compas, facet=facet, label="two_year_recid", prediction="high_risk") for facet in ("sex", "race")
    ]
    declared = declared_tests(results, ["demographic_parity_difference", "predictive_parity_ratio"])
    raw = [one.p_value for one in declared]
    order = np.argsort(raw)
    wanted = np.maximum.accumulate(np.array(raw)[order] * [4, 3, 2, 1])
    np.testing.assert_allclose([declared[i].p_adjusted for i in order], np.minimum(wanted, 1))
    with pytest.raises(SpecError, match="no test of its own"):
        declared_tests(results, ["DPL"])


def test_json_gives_the_result_back_and_the_table_has_its_columns(by_race):
    assert BiasMetrics.from_dict(json.loads(json.dumps(by_race.to_dict(), allow_nan=False))) == by_race
    table = by_race.table()
    assert list(table.columns[:9]) == [
        "facet", "value", "metric", "estimate", "low", "high", "undefined_reason", "n", "events",
    ]  # fmt: skip
    assert (table.estimate.isna() == table.undefined_reason.notna()).all()


def test_names_that_do_not_exist_are_answered(by_race, compas):
    with pytest.raises(SpecError, match='Did you mean "DPPL"'):
        by_race["DPPLX"]
    with pytest.raises(SpecError, match="Caucasian"):
        by_race["fpr"]["Caucasien"]
    with pytest.raises(SpecError, match="no group of race"):
        bias_metrics(compas, facet="race", label="two_year_recid", reference="Martian")


def test_weights_that_repeat_rows_give_the_same_estimates():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "g": rng.choice(list("ab"), 500),
            "y": rng.integers(0, 2, 500),
            "p": rng.integers(0, 2, 500),
            "s": rng.random(500),
            "h": rng.choice(list("uv"), 500),
            "w": rng.integers(1, 4, 500),
        }
    )
    options = {"facet": "g", "label": "y", "prediction": "p", "score": "s", "group": "h"}
    weighted = bias_metrics(frame, weight="w", **options)
    repeated = bias_metrics(frame.loc[frame.index.repeat(frame.w)], **options)
    for one, two in zip(weighted.metrics, repeated.metrics, strict=True):
        if one.name not in ("auc",):
            np.testing.assert_allclose(
                [np.nan if x is None else x for x in one.estimate],
                [np.nan if x is None else x for x in two.estimate],
                rtol=1e-5, err_msg=one.name,
            )  # fmt: skip
    # Fewer effective rows than repeated ones: wider intervals.
    assert weighted["selection_rate"]["a"].low < repeated["selection_rate"]["a"].low
    constant = bias_metrics(frame.assign(w=3.0), weight="w", **options)
    plain = bias_metrics(frame, **options)
    assert constant["DPPL"]["a"].low == pytest.approx(plain["DPPL"]["a"].low)
    assert constant["CDDL"]["a"].low == pytest.approx(plain["CDDL"]["a"].low)
    assert constant["DCA"]["a"].estimate == pytest.approx(plain["DCA"]["a"].estimate)


@pytest.mark.parametrize("reference", ["largest group", "everybody else"])
def test_weights_too_small_to_be_squared_leave_the_report_whole(reference):
    frame = pd.DataFrame({"g": list("aaaabbbb") * 20 + ["c", "c"], "y": [0, 1] * 81, "p": [1, 1, 0] * 54})
    frame["w"] = np.where(frame.g == "c", 0.001, 1.0)
    found = bias_metrics(frame, facet="g", label="y", prediction="p", weight="w", reference=reference)
    rate = found["selection_rate"]["c"]
    assert rate.estimate == pytest.approx(frame.p[frame.g == "c"].mean())
    assert rate.low < rate.estimate < rate.high or rate.estimate in (0.0, 1.0)
    assert rate.high - rate.low > 0.5  # two rows say little


CELLS = st.lists(st.tuples(*[st.integers(0, 60)] * 4), min_size=2, max_size=5)


def counted(cells, names):
    frame = pd.DataFrame(
        [(name, label, prediction, n) for name, four in zip(names, cells, strict=True)
         for (label, prediction), n in zip(((1, 1), (0, 1), (1, 0), (0, 0)), four, strict=True)],
        columns=["g", "y", "p", "n"],
    )  # fmt: skip
    facet = pd.Categorical(frame.g, categories=list(dict.fromkeys(names)))
    repeated = frame.assign(g=facet).loc[lambda f: f.index.repeat(f.n)]
    return count_rows(repeated, "g", label="y", prediction="p")


def by_name(result, rename=lambda x: x):
    return {
        (metric.name, tuple(map(rename, group))): (
            metric[group] if metric.kind != "range" else metric.only,
            metric.p_value,
        )
        for metric in result.metrics
        for group in metric.values
    }


@given(CELLS)
@settings(max_examples=20, deadline=None)
def test_renaming_groups_renames_results(cells):
    names = [f"g{i}" for i in range(len(cells))]
    other = {name: f"{9 - i}" for i, name in enumerate(names)}
    one = metrics_from_counts(counted(cells, names), reference="everybody else")
    two = metrics_from_counts(counted(cells, [other[name] for name in names]), reference="everybody else")
    renamed = by_name(one, lambda name: other[name])
    assert renamed.keys() == by_name(two).keys()
    for key, (estimate, p_value) in by_name(two).items():
        for part in ("estimate", "low", "high"):
            assert same(getattr(estimate, part), getattr(renamed[key][0], part)), key
        assert same(p_value, renamed[key][1])


def same(one, two):
    return one == two or one == pytest.approx(two, rel=1e-9, abs=1e-9)


@given(CELLS)
@settings(max_examples=20, deadline=None)
def test_an_empty_group_changes_nothing(cells):
    names = [f"g{i}" for i in range(len(cells))]
    one = by_name(metrics_from_counts(counted(cells, names)))
    two = by_name(metrics_from_counts(counted([*cells, (0, 0, 0, 0)], [*names, "nobody"])))
    assert {key: value for key, value in two.items() if key[1] != ("nobody",)} == one
    for (name, group), (estimate, _) in two.items():
        if group == ("nobody",):
            assert estimate.estimate is None, name
            assert estimate.undefined_reason, name


def test_omnibus_test_against_scipy():
    from scipy.stats import chi2_contingency

    events, n = np.array([30.0, 45.0, 20.0]), np.array([100.0, 110.0, 90.0])
    wanted = chi2_contingency([events, n - events], correction=False).pvalue
    assert equal_rates_p_value(events, n) == pytest.approx(wanted)


def test_small_omnibus_test_is_a_permutation_test_that_ignores_order():
    from scipy.stats import fisher_exact

    events, n = np.array([1.0, 6.0]), np.array([9.0, 8.0])
    found = equal_rates_p_value(events, n)
    assert found == equal_rates_p_value(events[::-1], n[::-1])
    assert found == pytest.approx(fisher_exact([[1, 8], [6, 2]]).pvalue, abs=0.01)
    assert equal_rates_p_value(np.array([0.0, 0.0]), n) == 1.0
    assert equal_rates_p_value(np.array([1.0]), np.array([5.0])) is None


def test_differences_equal_statsmodels():
    from statsmodels.stats.proportion import confint_proportions_2indep

    low, high = confint_proportions_2indep(30, 80, 50, 90, compare="diff", method="newcomb")
    frame = pd.DataFrame({"g": ["x"] * 80 + ["y"] * 90, "p": [1] * 30 + [0] * 50 + [1] * 50 + [0] * 40})
    found = bias_metrics(frame, facet="g", prediction="p", reference="y")["selection_rate_difference"]["x"]
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


def test_intersections():
    frame = pd.DataFrame({"sex": list("fm") * 60, "old": [0, 0, 1, 1] * 30, "p": [1, 0, 1, 1] * 30})
    result = bias_metrics(frame, facet=["sex", "old"], prediction="p")
    assert result["selection_rate"]["m", 0].estimate == 0.0
    assert result["selection_rate"].names == ("f & 0", "f & 1", "m & 0", "m & 1")
    assert result.facet == "sex & old"
    one = bias_metrics(frame, facet=["sex", "old"], prediction="p", facet_values=[("m", 0)])["DPPL"].only
    assert one.estimate == 1.0


FAIRLEARN = {  # fairlearn 0.15.0 on the four largest groups of COMPAS
    "selection_rate": [0.5882034632, 0.34800326, 0.2982731554, 0.2095490716],
    "tpr": [0.7201472909, 0.5227743271, 0.4439655172, 0.3233082707],
    "fpr": [0.4484679666, 0.2345430108, 0.2148148148, 0.1475409836],
    "ppv": [0.6297148114, 0.5913348946, 0.5421052632, 0.5443037975],
    "accuracy": [0.6382575758, 0.6699266504, 0.6609105181, 0.6657824934],
}
FAIRLEARN_RANGES = {
    "demographic_parity_difference": 0.378654391585426,
    "demographic_parity_ratio": 0.35625269949414223,
    "equalized_odds_difference": 0.39683902022283485,
    "equalized_odds_ratio": 0.32898890133387637,
    "equal_opportunity_difference": 0.39683902022283485,
    "equal_opportunity_ratio": 0.4489474233428714,
}


def test_recorded_figures_of_fairlearn(compas):
    races = ["African-American", "Caucasian", "Hispanic", "Other"]
    part = compas[compas.race.isin(races)]
    result = bias_metrics(part, facet="race", label="two_year_recid", prediction="high_risk")
    for name, values in FAIRLEARN.items():
        assert [result[name][race].estimate for race in races] == pytest.approx(values, abs=1e-9)
    for name, value in FAIRLEARN_RANGES.items():
        assert result[name].only.estimate == pytest.approx(value, abs=1e-12)


def test_a_group_without_positives_fabricates_no_gap(compas):
    # fairlearn counts a missing true positive rate as 0 and reports a gap as large as the other group's rate.
    frame = pd.DataFrame({"g": ["a"] * 60 + ["b"] * 60, "y": [1] * 30 + [0] * 90, "p": [1] * 27 + [0] * 93})
    found = bias_metrics(frame, facet="g", label="y", prediction="p")["equal_opportunity_difference"]
    assert (found.only.estimate, found.excluded) == (None, (("b",),))


def test_the_order_of_rows_changes_no_byte_of_the_report():
    rng = np.random.default_rng(11)
    n = 900
    frame = pd.DataFrame({
        "g": rng.choice(["x", "y", "z", None], n), "h": rng.integers(0, 3, n).astype(float), "y": rng.integers(0, 2, n),
        "p": rng.integers(0, 2, n), "s": rng.random(n), "w": rng.random(n) * 3, "x": rng.normal(size=n).round(1),
    })  # fmt: skip
    names = {"facet": "g", "label": "y", "prediction": "p", "group": "h", "score": "s", "weight": "w"}
    results = [
        json.dumps(bias_metrics(one, **names, features=["x", "h"]).to_dict())
        for one in (frame, frame.iloc[rng.permutation(n)], frame[::-1].astype({"g": "category"}))
    ]
    assert results[0] == results[1] == results[2]
