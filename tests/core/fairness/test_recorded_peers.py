"""Figures that peers gave in environments of their own: equal to ours where they are right, unlike ours where not.

Their figures are in ``recorded/``, made by the scripts ``benchmarks/peers_*.py`` from the tables that
``benchmarks/peers_tables.py`` makes here again.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon
from sklearn import metrics as sk
from statsmodels.stats.proportion import proportions_ztest

from bdt_core.fairness import bias_metrics, clarify_analysis, flip_test, read_analysis_config
from bdt_core.fairness.metric_results import BiasMetrics
from bdt_core.inference import compare_counts
from benchmarks import peers_tables as tables

PEERS = ("aequitas", "aif360", "fairlearn", "smclarify")
TABLES = ("adult", "compas", "simulated")
EXACT = {"rel": 1e-9, "abs": 1e-12}
NOT_ALONE = {"CDDL", "CDDPL", "FT"}  # adult has neither strata nor features
OUR_NAMES = {
    "tpr": "true_positive_rate", "tnr": "true_negative_rate", "fpr": "false_positive_rate",
    "fnr": "false_negative_rate", "ppv": "positive_predictive_value", "precision": "positive_predictive_value",
    "npv": "negative_predictive_value", "fdr": "false_discovery_rate", "for": "false_omission_rate",
    "acc": "accuracy", "accuracy": "accuracy", "pprev": "selection_rate", "selection_rate": "selection_rate",
    "prev": "prevalence",
}  # fmt: skip


@cache
def recorded(peer: str) -> dict:
    return json.loads((Path(__file__).parent / "recorded" / f"{peer}.json").read_text(encoding="utf-8"))


def figures(peer: str, name: str) -> dict:
    return recorded(peer)["figures"][name]


@cache
def table(name: str) -> pd.DataFrame:
    if name == "compas":
        return tables.compas().rename(columns={"race": "g", "sex": "s", "two_year_recid": "y", "high_risk": "p"})
    return tables.simulated() if name == "simulated" else tables.from_counts(tables.ADULT)


@cache
def ours(name: str, reference: str = "everybody else", values: str | None = None) -> BiasMetrics:
    """All metrics of a table; ``values`` names the only groups of it that are kept."""
    frame = table(name)
    if values is not None:
        frame = frame[frame.g.isin(values.split(", "))]
    features = [f"x{i}" for i in range(4)] if name == "simulated" else None
    return bias_metrics(
        frame, facet="g", label="y", prediction="p", group="s" if "s" in frame else None, features=features,
        reference=reference, flip_sign="smclarify",
    )  # fmt: skip


def of(cells: dict, **options) -> BiasMetrics:
    """Our metrics of a small table, d against a."""
    return bias_metrics(tables.from_counts(cells), facet="g", label="y", prediction="p", facet_values="d", **options)


@pytest.mark.parametrize(
    "peer", [*PEERS, "smclarify_on_pandas_3", "smclarify_missing_strata", "smclarify_facet_thresholds"]
)
def test_peers_were_run_on_these_tables(peer):
    made = {"simulated": tables.digest(tables.simulated()), "on_a_grid": tables.digest(tables.on_a_grid())}
    assert recorded(peer)["tables"] == made
    assert recorded(peer)["made_by"].startswith(f"python -m benchmarks.peers_{peer.split('_')[0]} record")


# Where they are right.


@pytest.mark.parametrize("name", TABLES)
def test_smclarify_gives_the_same_21_metrics(name):
    result, checked = ours(name), 0
    for group, metrics in figures("smclarify", name).items():
        for metric, value in metrics.items():
            if isinstance(value, dict):  # an error: only where there is nothing to compute from
                assert (name, metric) in {("adult", one) for one in NOT_ALONE}
                continue
            found = result[metric].only if metric == "GE" else result[metric][group]
            assert found.estimate == pytest.approx(float(value), **EXACT), (group, metric)
            checked += 1
    assert checked == {"adult": 18, "compas": 6 * 20, "simulated": 5 * 21}[name]


@pytest.mark.parametrize("name", TABLES)
def test_fairlearn_gives_the_same_rates_and_ranges(name):
    theirs = figures("fairlearn", name)
    groups = list(theirs["rates"]["accuracy"])
    result = ours(name, values=", ".join(groups))
    for rate, by_group in theirs["rates"].items():
        for group, value in by_group.items():
            assert result[rate][group].estimate == pytest.approx(value, **EXACT), (rate, group)
    for criterion, value in theirs["criteria"].items():
        assert result[criterion].only.estimate == pytest.approx(value, **EXACT), criterion
    for rate, criterion in (("positive_predictive_value", "predictive_parity"), ("accuracy", "accuracy_equality")):
        gap, ratio = (result[f"{criterion}_{kind}"] for kind in ("difference", "ratio"))
        if gap.excluded:  # too few rows to count in a range of ours; theirs takes every group
            assert (name, rate, gap.excluded) == ("simulated", "positive_predictive_value", (("e",),))
            continue
        assert gap.only.estimate == pytest.approx(theirs["difference"][rate], **EXACT)
        assert ratio.only.estimate == pytest.approx(theirs["ratio"][rate], **EXACT)


@pytest.mark.parametrize(
    ("name", "reference", "values"),
    [("adult", "men", None), ("compas", "Caucasian", "African-American, Caucasian"), ("simulated", "a", None)],
)
def test_aequitas_gives_the_same_rates_and_ratios(name, reference, values):
    result, checked = ours(name, reference, values), 0
    for group, theirs in figures("aequitas", name).items():
        for key, value in theirs.items():
            if key.endswith("_significance"):
                continue
            rate, _, kind = key.partition("_")
            found = result[OUR_NAMES[rate] + ("_ratio" if kind else "")][group]
            if kind and group == reference:
                assert (value, found.undefined_reason) == (1.0, "the reference itself")
            else:
                assert found.estimate == pytest.approx(value, **EXACT), (group, key)
            checked += 1
    assert checked >= 2 * 20


@pytest.mark.parametrize("name", TABLES)
def test_aif360_gives_the_same_rates_differences_and_ratios(name):
    result = ours(name)
    for group, theirs in figures("aif360", name).items():
        found = {
            "disparate_impact": result["DI"][group].estimate,
            "statistical_parity_difference": -result["DPPL"][group].estimate,
            "equal_opportunity_difference": -result["RD"][group].estimate,
            "false_positive_rate_difference": result["false_positive_rate_difference"][group].estimate,
            "false_positive_rate_ratio": result["false_positive_rate_ratio"][group].estimate,
            "false_omission_rate_difference": -result["DRR"][group].estimate,
            "average_abs_odds_difference": np.mean([abs(result[one][group].estimate) for one in ("RD", "SD")]),
            "average_predictive_value_difference": -np.mean([result[one][group].estimate for one in ("DAR", "DRR")]),
            "generalized_entropy_index": result["GE"].only.estimate,
        }
        found |= {one: result[OUR_NAMES[one.lower()]][group].estimate for one in theirs if one not in found}
        assert found.keys() == theirs.keys()
        for key, value in theirs.items():
            assert found[key] == pytest.approx(value, **EXACT), (group, key)


# Where they are wrong.


def test_aequitas_p_values_of_errors_are_those_of_discoveries_and_omissions():
    black, white = "African-American", "Caucasian"
    theirs = figures("aequitas", "compas")[black]
    frame = table("compas")[lambda f: f.g.isin([black, white])]
    for rate, instead, label, error in (("fpr", "fdr", 0, 1), ("fnr", "for", 1, 0)):
        assert theirs[f"{rate}_significance"] == theirs[f"{instead}_significance"]
        discovered = [(frame[(frame.g == one) & (frame.p == error)].y == label).astype(int) for one in (white, black)]
        student = stats.ttest_ind(*discovered, equal_var=rate == "fpr").pvalue
        assert theirs[f"{rate}_significance"] == pytest.approx(student, rel=1e-9)
        # What it should have compared: errors among the rows with that label.
        events, n = zip(*(
            (int((part.p == error).sum()), len(part))
            for part in (frame[(frame.g == one) & (frame.y == label)] for one in (black, white))
        ), strict=True)  # fmt: skip
        right = stats.fisher_exact([events, np.subtract(n, events)]).pvalue
        ours_now = compare_counts(events[0], n[0], events[1], n[1]).p_value
        assert math.log10(ours_now) == pytest.approx(math.log10(right), abs=0.3)
        assert math.log10(ours_now) == pytest.approx(math.log10(proportions_ztest(events, n)[1]), abs=1)
        assert ours_now < 1e-24 < 1e-4 < theirs[f"{rate}_significance"]
    assert theirs["fpr_significance"] == pytest.approx(0.0504, abs=5e-5)


def test_aequitas_calls_a_ratio_over_zero_ten():
    theirs = figures("aequitas", "over_zero")["d"]
    frame = tables.from_counts(tables.NO_FALSE_POSITIVES_IN_A)
    d, a = (sk.confusion_matrix(one.y, one.p) for one in (frame[frame.g == "d"], frame[frame.g == "a"]))
    assert (d[0, 1], a[0, 1]) == (20, 0)
    found = bias_metrics(frame, facet="g", label="y", prediction="p", reference="a")["false_positive_rate_ratio"]["d"]
    assert (theirs["fpr_disparity"], found.estimate) == (10.0, math.inf)
    assert found.low > 4


def test_aequitas_mixes_up_attributes_with_the_same_values():
    theirs = figures("aequitas", "shared_values")
    assert theirs["u alone"]["u"] < 1e-8
    assert theirs["together"]["u"] == theirs["v alone"]["v"] == 1.0  # u has taken the p-value of v
    frame = tables.shared_values()
    for facet, right in (("u", 1e-8), ("v", 1.0)):
        table_of = pd.crosstab(frame[facet], frame.p)
        independent = stats.chi2_contingency(table_of, correction=False).pvalue
        found = bias_metrics(frame, facet=facet, prediction="p")["demographic_parity_difference"].p_value
        assert found == pytest.approx(independent, rel=1e-9)
        assert found <= right


def test_fairlearn_fabricates_a_gap_where_nobody_is_positive():
    theirs = figures("fairlearn", "nobody_positive")
    frame = tables.from_counts(tables.NOBODY_POSITIVE_IN_B)
    result = bias_metrics(frame, facet="g", label="y", prediction="p")
    assert theirs["true_positive_rate"] == {"a": 0.9, "b": 0.0}
    assert theirs["difference"] == theirs["equal_opportunity_difference"] == 0.9
    in_b = frame[frame.g == "b"]
    assert math.isnan(sk.recall_score(in_b.y, in_b.p, zero_division=np.nan))
    assert result["tpr"]["b"].estimate is None
    assert result["equal_opportunity_difference"].only.estimate is None
    assert result["equal_opportunity_difference"].excluded == (("b",),)


@pytest.mark.parametrize(("rows", "groups"), [(100, 2), (1000, 2), (200, 3)])
def test_fairlearn_interval_of_the_largest_gap_misses_zero(rows, groups):
    theirs = figures("fairlearn", "coverage_at_equality")[f"{groups} groups of {rows}"]
    runs, covered = theirs["runs"], 0
    for seed in range(runs):
        frame = tables.same_rate(rows, groups, seed)
        covered += bias_metrics(frame, facet="g", prediction="p")["demographic_parity_difference"].only.low <= 0
    # 90 of 100 is what 95 % can come to by chance (p = .03); theirs cannot be 95 % (p < 1e-4).
    assert covered >= 90
    assert stats.binomtest(theirs["covered"], runs, 0.95).pvalue < 1e-4


def test_aif360_calls_zero_over_zero_zero():
    theirs = figures("aif360", "zero_over_zero")
    assert theirs["PPV"] == theirs["FDR"] == 0.0  # they are shares of the same rows and add up to 1
    assert theirs["average_predictive_value_difference"] < -0.4
    frame = tables.from_counts(tables.NO_POSITIVE_PREDICTION)
    in_d = frame[frame.g == "d"]
    assert math.isnan(sk.precision_score(in_d.y, in_d.p, zero_division=np.nan))
    result = of(tables.NO_POSITIVE_PREDICTION)
    for name in ("ppv", "fdr"):
        assert result[name]["d"].undefined_reason == "nobody with a positive prediction"


def test_smclarify_fails_on_text_with_pandas_3():
    assert figures("smclarify", "text_facet")["women"]["DPL"] == pytest.approx(0.20016, abs=5e-6)
    error = figures("smclarify_on_pandas_3", "text_facet")["error"]
    assert recorded("smclarify_on_pandas_3")["versions"]["pandas"].startswith("3.")
    assert error.startswith("TypeError: Cannot interpret")
    assert of({"d": (1, 2, 3, 4), "a": (4, 3, 2, 1)})["DPL"].only.estimate is not None


@pytest.mark.parametrize(
    ("case", "cells", "metric", "reason"),
    [
        ("nobody with a positive label in d", tables.NO_POSITIVE_LABEL, "RD", "nobody with a positive label in d"),
        ("nobody predicted positive in d", tables.NO_POSITIVE_PREDICTION, "DAR",
         "nobody with a positive prediction in d"),
        ("nobody predicted positive in d", tables.NO_POSITIVE_PREDICTION, "DCA",
         "nobody with a positive prediction in d"),
        ("no errors in d", tables.NO_ERRORS, "TE", "no errors in d"),
    ],
)  # fmt: skip
def test_smclarify_calls_zero_over_zero_zero(case, cells, metric, reason):
    theirs = float(figures("smclarify", "zero_over_zero")[case][metric])
    frame = tables.from_counts(cells)
    true_a, false_a, missed_a, _ = cells["a"]
    # What is left when d's share of nobody is taken for 0, or for infinite.
    left = {
        "RD": sk.recall_score(*(frame[frame.g == "a"][one] for one in "yp")),
        "DAR": sk.precision_score(*(frame[frame.g == "a"][one] for one in "yp")),
        "DCA": -math.inf,
        "TE": -missed_a / false_a,
    }
    assert theirs == pytest.approx(left[metric])
    assert true_a > 0
    found = of(cells)[metric].only
    assert (found.estimate, found.undefined_reason) == (None, reason)


def test_smclarify_gives_up_when_nobody_is_predicted_positive():
    theirs = figures("smclarify", "zero_over_zero")
    assert "all False values" in theirs["nobody predicted positive"]["error"]
    assert theirs["nobody predicted positive, DI alone"] == 0.0  # 0 is the largest bias there is
    result = of(tables.NO_PREDICTION_AT_ALL)
    frame = tables.from_counts(tables.NO_PREDICTION_AT_ALL)
    accuracy = {group: sk.accuracy_score(part.y, part.p) for group, part in frame.groupby("g")}
    assert result["DI"].only.estimate is None
    assert result["AD"].only.estimate == pytest.approx(accuracy["a"] - accuracy["d"])
    assert result["DPPL"].only.estimate == 0.0


def test_smclarify_drops_labels_that_d_never_has():
    theirs = figures("smclarify", "absent_label")
    frame = tables.absent_label()
    result = bias_metrics(frame, facet="g", label="y", positive=3, facet_values="d")
    shares = pd.crosstab(frame.g, frame.y, normalize="index")
    p_a, p_d = (shares.loc[one].to_numpy() for one in "ad")
    gap = np.abs(p_a - p_d)
    right = {
        "KL": stats.entropy(p_a, p_d),
        "JS": jensenshannon(p_a, p_d) ** 2,
        "LP": np.linalg.norm(gap),
        "TVD": gap.sum() / 2,
        "KS": gap.max(),
    }
    for name, value in right.items():
        assert result[name].only.estimate == pytest.approx(value, rel=1e-12), name
        if name != "KS":  # the largest gap happens to be at a label that both have
            assert abs(theirs[name] - value) > 0.05, name
    assert theirs["KL"] < 0 < right["KL"] == math.inf  # a divergence is never negative


def test_smclarify_counts_missing_facets_as_the_advantaged():
    theirs = figures("smclarify", "missing_facets")
    frame = tables.missing_facets()
    result = bias_metrics(frame, facet="g", label="y", facet_values="d")
    known = frame[frame.g.notna()]
    assert (theirs["CI"], round(theirs["DPL"], 4)) == (0.4, round(15 / 70 - 15 / 30, 4))
    assert known.groupby("g").y.mean().tolist() == [0.5, 0.5]
    assert (result["CI"].only.estimate, result["DPL"].only.estimate) == (0.0, 0.0)
    assert result.missing["g"] == 40


def test_smclarify_counts_missing_labels_as_negative():
    theirs = figures("smclarify", "missing_labels")
    frame = tables.missing_labels()
    result = bias_metrics(frame, facet="g", label="y", positive="yes", facet_values="d")
    known = frame[frame.y.notna()]
    assert known.groupby("g").y.agg(lambda y: (y == "yes").mean()).tolist() == [0.5, 0.5]
    assert theirs["DPL"] == pytest.approx(30 / 60 - 30 / 100)
    assert (result["DPL"].only.estimate, result.missing["y"]) == (0.0, 40)


@pytest.mark.parametrize("stored", ["whole numbers", "floats", "30 rows"])
def test_smclarify_guesses_types_from_the_number_of_values(stored):
    theirs = figures("smclarify", "types_by_counting")[stored]
    frame = tables.from_counts(tables.FEW_ROWS if stored == "30 rows" else tables.MANY_ROWS)
    if stored == "floats":
        frame = frame.astype({"y": float})
    means = frame.groupby("g").y.mean()
    result = bias_metrics(frame, facet="g", label="y", facet_values="d")
    assert result["DPL"].only.estimate == pytest.approx(means["a"] - means["d"])
    assert result["DPL"].only.estimate > 0.2
    if stored == "whole numbers":
        assert theirs["DPL"] == pytest.approx(means["a"] - means["d"])
    else:  # 1 is taken for a threshold that no label exceeds
        assert (theirs["DPL"], theirs["KL"]) == (0.0, 0.0)


def test_strata_that_are_left_out_are_counted():
    frame = tables.one_sided_stratum()
    counts = frame.groupby("s").y.agg(["nunique", "size"])
    rows = counts.loc[counts["nunique"] == 1, "size"]
    (note,) = [one for one in bias_metrics(frame, facet="g", label="y", group="s").notes if "strata" in one]
    assert note == (
        f'CDDL leaves out {len(rows)} of {len(counts)} strata of "s" with {rows.sum()} rows: everybody there has the '
        "same kind of label."
    )
    kept = frame[~frame.s.isin(rows.index)]
    assert not [one for one in bias_metrics(kept, facet="g", label="y", group="s").notes if "strata" in one]


def test_smclarify_sees_disparity_in_a_stratum_with_one_label():
    frame = tables.one_sided_stratum()
    assert figures("smclarify", "one_sided_stratum")["CDDL"] == pytest.approx(0.16)
    rates = frame.pivot_table(index="s", columns="g", values="y")
    assert (rates.a == rates.d).all()
    assert bias_metrics(frame, facet="g", label="y", group="s", facet_values="d")["CDDL"].only.estimate == 0.0


def test_a_missing_stratum_is_no_stratum_for_smclarify_and_for_us():
    """It costs a row its place in CDDL and CDDPL, and nowhere else."""
    frame = tables.missing_strata()
    assert frame.s.isna().sum() > 100
    result = bias_metrics(frame, facet="g", label="y", prediction="p", group="s")
    theirs = figures("smclarify_missing_strata", "missing_strata")
    assert sorted(theirs) == list("abcde")
    for group, metrics in theirs.items():
        assert {"CDDL", "CDDPL", "DPL", "DI"} < set(metrics)
        for name, value in metrics.items():
            found = result[name].only if name == "GE" else result[name][group]
            assert found.estimate == pytest.approx(value, **EXACT), (group, name)


@pytest.mark.parametrize(
    ("case", "facet", "asked"),
    [
        ("whole numbers, many of them", "age", 40),
        ("whole numbers, few of them", "age", 40),
        ("floats", "as_float", 40),
        ("halves", "halves", 40.25),
        ("0 of 0 and 1", "above_50", 0),
        ("1 of 0 and 1", "above_50", 1),
        ("a threshold for floats of 0 and 1", "above_50", 0.5),
    ],
)
def test_one_number_for_a_facet_is_read_as_smclarify_reads_it(case, facet, asked):
    """Values, labels, all metrics, and with raw distances the flip test."""
    frame = tables.ages(5 if "few" in case else 1)
    frame = frame.drop(columns={"age", "as_float", "halves", "above_50"} - {facet})
    if "floats of 0" in case:
        frame = frame.astype({"above_50": float})
    config = read_analysis_config({
        "label": "y", "label_values_or_threshold": [1], "predicted_label": "p",
        "facet": [{"name_or_index": facet, "value_or_threshold": [asked]}],
    })  # fmt: skip
    found = clarify_analysis(config, frame, signs="smclarify", flip_distance="raw").analysis
    ((spoken, theirs),) = figures("smclarify_facet_thresholds", "facet_thresholds")[case].items()
    checked = 0
    for section in ("pre_training", "post_training"):
        (entry,) = found[f"{section}_bias_metrics"]["facets"][facet]
        assert entry["value_or_threshold"] == spoken
        for one in entry["metrics"]:
            if one["name"] not in ("CDDL", "CDDPL"):  # which need strata
                assert one["value"] == pytest.approx(theirs[one["name"]], **EXACT), one["name"]
                checked += 1
    assert checked == 19


def test_raw_distances_give_the_flip_test_of_smclarify_in_any_units():
    theirs = figures("smclarify", "flip_test")["x3 in other units"]
    frame = tables.simulated()
    wide, names = frame.assign(x3=1000 * frame.x3), [f"x{i}" for i in range(4)]
    in_d, predicted = (frame.g == "b").to_numpy(), (frame.p == 1).to_numpy()
    raw, scaled = (
        flip_test(wide[names], in_d, predicted, sign="smclarify", distance=one).estimate
        for one in ("raw", "standardised")
    )
    assert raw == pytest.approx(theirs)
    assert abs(scaled - theirs) > 0.1


def test_smclarify_flip_test_has_the_other_sign():
    theirs = figures("smclarify", "flip_test")["d denied what all its neighbours get"]
    frame = tables.worse_than_its_neighbours()
    in_d, predicted = (frame.g == "d").to_numpy(), (frame.p == 1).to_numpy()
    guide, code = (flip_test(frame[["x"]], in_d, predicted, sign=one).estimate for one in ("paper", "smclarify"))
    assert (guide, code, theirs) == (1.0, -1.0, -1.0)


def test_smclarify_flip_test_depends_on_units():
    theirs = figures("smclarify", "flip_test")
    frame = tables.simulated()
    wide = frame.assign(x3=1000 * frame.x3)
    in_d, predicted = (frame.g == "b").to_numpy(), (frame.p == 1).to_numpy()
    names = [f"x{i}" for i in range(4)]
    found = [flip_test(one[names], in_d, predicted, sign="smclarify").estimate for one in (frame, wide)]
    assert found[0] == found[1] == pytest.approx(theirs["standardised"])
    assert theirs["x3 in other units"] > theirs["standardised"] + 0.1


def test_smclarify_flip_test_depends_on_the_order_of_rows():
    theirs = figures("smclarify", "flip_test")["rows in some orders"]
    found = set()
    for order in range(len(theirs)):
        frame = tables.on_a_grid(order=order)
        one = flip_test(frame[["x0", "x1"]], (frame.g == "d").to_numpy(), (frame.p == 1).to_numpy(), sign="smclarify")
        found.add(one.estimate)
    assert max(theirs) - min(theirs) > 0.15
    # By hand: rows at the same place are equally near, so a place's own mean decides where it has 5 rows of a.
    frame = tables.on_a_grid()
    of_a = frame[frame.g == "a"].groupby(["x0", "x1"]).p
    assert of_a.size().min() >= 5
    d = frame[frame.g == "d"].join(of_a.mean().rename("share"), on=["x0", "x1"])
    flips = ((d.p == 0) & (d.share > 0.5)).sum() - ((d.p == 1) & (d.share < 0.5)).sum()
    assert found == {-flips / len(d)}


def test_smclarify_flip_test_takes_no_categories():
    assert "non-numeric" in figures("smclarify", "flip_test")["a feature of text"]["error"]
    frame = tables.on_a_grid().assign(c=lambda f: np.where(f.x0 > 0, "high", "low"))
    found = flip_test(frame[["x0", "x1", "c"]], (frame.g == "d").to_numpy(), (frame.p == 1).to_numpy())
    assert found.estimate is not None
