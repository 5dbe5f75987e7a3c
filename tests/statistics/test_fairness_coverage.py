"""How often the intervals of group fairness hold the truth, by simulation from known confusion probabilities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import rel_entr

from bdt_core.fairness import (
    bias_metrics,
    bias_score,
    count_rows,
    flip_test,
    four_fifths,
    metrics_from_counts,
    omnibus,
    score_parts,
)
from bdt_core.fairness.conditional_disparity import conditional_disparity
from bdt_core.fairness.counts import CountTable
from bdt_core.fairness.favourable import favourable
from bdt_core.fairness.local_law_144 import impact_table
from bdt_core.fairness.omnibus import equal_rates_p_value
from bdt_core.fairness.selection_rules import FourFifthsTable, SelectionRules
from bdt_core.spec import FourFifthsLimit
from bdt_core.verdict import judge_four_fifths

RUNS = 300
FULL_RUNS = 4_000
# TP, FP, FN, TN
EQUAL = np.array([0.25, 0.10, 0.10, 0.55])
WORSE = np.array([0.12, 0.06, 0.17, 0.65])
BETTER = np.array([0.30, 0.16, 0.07, 0.47])


def at_least(hits: int, runs: int, rate: float, slack: float = 0.0) -> bool:
    """Whether so few hits are believable (p > .001) when the true rate is at least ``rate`` less ``slack``."""
    return bool(stats.binom.cdf(hits, runs, rate - slack) > 0.001)


def counted(cells: np.ndarray) -> CountTable:
    """Count table of groups whose confusion counts are the rows of ``cells``."""
    counts = np.zeros((len(cells), 1, 2, 2, 1), dtype=np.int64)
    counts[:, 0, 1, 1, 0], counts[:, 0, 0, 1, 0], counts[:, 0, 1, 0, 0], counts[:, 0, 0, 0, 0] = cells.T
    return CountTable(
        facets=("g",),
        groups=tuple((chr(97 + i),) for i in range(len(cells))),
        stratum=None,
        strata=(None,),
        label="y",
        labels=(0, 1),
        prediction="p",
        predictions=(0, 1),
        score=None,
        weight=None,
        counts=counts,
    )


def drawn(rng: np.random.Generator, probabilities: np.ndarray, sizes: list[int]) -> CountTable:
    return counted(np.stack([rng.multinomial(n, p) for n, p in zip(sizes, probabilities, strict=True)]))


def rates_of(p: np.ndarray) -> dict[str, float]:
    tp, fp, fn, tn = p
    return {
        "selection_rate": tp + fp,
        "true_positive_rate": tp / (tp + fn),
        "false_positive_rate": fp / (fp + tn),
        "positive_predictive_value": tp / (tp + fp),
        "negative_predictive_value": tn / (tn + fn),
        "accuracy": tp + tn,
        "prevalence": tp + fn,
        "f1_score": 2 * tp / (2 * tp + fp + fn),
    }


def clarify_of(d: np.ndarray, a: np.ndarray, share_d: float) -> dict[str, float]:
    of_d, of_a = rates_of(d), rates_of(a)
    labels = [np.array([1 - one["prevalence"], one["prevalence"]]) for one in (of_d, of_a)]
    middle = (labels[0] + labels[1]) / 2
    gap = {name: of_a[name] - of_d[name] for name in of_d}
    both = share_d * d + (1 - share_d) * a
    benefit = np.array([1, 2, 0, 1])
    mean = both @ benefit
    return {
        "DPL": gap["prevalence"],
        "KL": rel_entr(labels[1], labels[0]).sum(),
        "JS": (rel_entr(labels[1], middle) + rel_entr(labels[0], middle)).sum() / 2,
        "LP": np.sqrt(2) * abs(gap["prevalence"]),
        "TVD": abs(gap["prevalence"]),
        "KS": abs(gap["prevalence"]),
        "DPPL": gap["selection_rate"],
        "DI": of_d["selection_rate"] / of_a["selection_rate"],
        "RD": gap["true_positive_rate"],
        "SD": gap["false_positive_rate"],
        "DAR": gap["positive_predictive_value"],
        "AD": gap["accuracy"],
        "DRR": -gap["negative_predictive_value"],
        "DCA": (a[0] + a[2]) / (a[0] + a[1]) - (d[0] + d[2]) / (d[0] + d[1]),
        "DCR": (d[1] + d[3]) / (d[2] + d[3]) - (a[1] + a[3]) / (a[2] + a[3]),
        "TE": d[2] / d[1] - a[2] / a[1],
        "GE": (both @ benefit**2 / mean**2 - 1) / 2,
    }


@pytest.mark.parametrize(
    ("d", "a", "sizes"),
    [(EQUAL, EQUAL, [150, 400]), (WORSE, BETTER, [150, 400]), (WORSE, EQUAL, [2_000, 800])],
    ids=["equal", "worse", "large"],
)
def test_every_rate_and_every_clarify_metric(d, a, sizes, full):
    runs = FULL_RUNS if full else RUNS
    truth = clarify_of(d, a, sizes[0] / sum(sizes)) | rates_of(d)
    # At equality the distances' bounds start at 0 unless the test rejects.
    hits = dict.fromkeys(truth, 0)
    rng = np.random.default_rng([1, *sizes])
    for _ in range(runs):
        result = metrics_from_counts(drawn(rng, np.stack([d, a]), sizes), facet_values="a")
        for name, value in truth.items():
            found = result[name][()] if name == "GE" else result[name]["a"]
            hits[name] += found.low - 1e-12 <= value <= found.high + 1e-12
    poor = {name: count / runs for name, count in hits.items() if not at_least(count, runs, 0.95, slack=0.015)}
    assert not poor


@pytest.mark.parametrize("differ", [False, True])
def test_distances_between_distributions_over_four_labels(differ, full):
    runs = FULL_RUNS if full else RUNS
    p_a = np.array([0.4, 0.3, 0.2, 0.1])
    p_d = np.array([0.25, 0.3, 0.25, 0.2]) if differ else p_a
    middle, gap = (p_a + p_d) / 2, np.abs(p_a - p_d)
    truth = {
        "CI": 0.4,  # d are 30 of 100
        "KL": rel_entr(p_a, p_d).sum(),
        "JS": (rel_entr(p_a, middle) + rel_entr(p_d, middle)).sum() / 2,
        "LP": np.sqrt((gap**2).sum()),
        "TVD": gap.sum() / 2,
        "KS": gap.max(),
    }
    hits = dict.fromkeys(truth, 0)
    rng = np.random.default_rng([6, differ])
    for _ in range(runs):
        n_d = rng.binomial(600, 0.3)
        counts = np.stack([rng.multinomial(n_d, p_d), rng.multinomial(600 - n_d, p_a)])
        table = CountTable(
            facets=("g",), groups=(("d",), ("a",)), stratum=None, strata=(None,), label="y", labels=(0, 1, 2, 3),
            prediction=None, predictions=(None,), score=None, weight=None, counts=counts.reshape(2, 1, 4, 1, 1),
        )  # fmt: skip
        result = metrics_from_counts(table, facet_values="d")
        for name, value in truth.items():
            hits[name] += result[name].only.low - 1e-12 <= value <= result[name].only.high + 1e-12
    poor = {name: count / runs for name, count in hits.items() if not at_least(count, runs, 0.95, slack=0.015)}
    assert not poor


@pytest.mark.parametrize("reference", ["a", "everybody else"])
@pytest.mark.parametrize("differ", [False, True])
def test_differences_and_ratios_of_all_groups_hold_together(reference, differ, full):
    runs = FULL_RUNS if full else RUNS // 2
    probabilities, sizes = np.stack([EQUAL] * 5), [300, 150, 200, 250, 500]
    if differ:
        probabilities[1], probabilities[-1] = WORSE, BETTER
    rates = [rates_of(one) for one in probabilities]
    names = ("selection_rate", "true_positive_rate", "positive_predictive_value", "accuracy")
    hits = {f"{name}_{kind}": 0 for name in names for kind in ("difference", "ratio")}
    truth = {}
    for name in names:
        for i, rate in enumerate(rates):
            others = [0] if reference == "a" else [j for j in range(5) if j != i]
            rest = rates_of(np.average(probabilities[others], axis=0, weights=[sizes[j] for j in others]))
            truth[name, i] = rate[name] - rest[name], rate[name] / rest[name]
    rng = np.random.default_rng([7, differ, reference == "a"])
    for _ in range(runs):
        result = metrics_from_counts(drawn(rng, probabilities, sizes), reference=reference)
        for name in names:
            for which, kind in enumerate(("difference", "ratio")):
                metric = result[f"{name}_{kind}"]
                hits[f"{name}_{kind}"] += all(
                    metric.together_low[i] - 1e-12 <= truth[name, i][which] <= metric.together_high[i] + 1e-12
                    for i in range(reference == "a", 5)
                )
    poor = {name: count / runs for name, count in hits.items() if not at_least(count, runs, 0.95, slack=0.015)}
    assert not poor


@pytest.mark.parametrize("drawn_anew", [False, True], ids=["scores as given", "calibrated scores drawn anew"])
def test_calibration_range(drawn_anew, full):
    """Observed over expected positives: scores of two groups too low and too high by a fifth, or all right."""
    runs = 2_000 if full else 150
    rng = np.random.default_rng([8, drawn_anew])
    groups = np.repeat(["a", "b", "c"], [150, 250, 400])
    off = np.repeat([1.0, 1.0, 1.0] if drawn_anew else [1.2, 1.0, 0.8], [150, 250, 400])
    hits = {"difference": 0, "ratio": 0}
    scores = rng.beta(2, 4, groups.size)
    for _ in range(runs):
        if drawn_anew:
            scores = rng.beta(2, 4, groups.size)
        chance = np.minimum(off * scores, 1.0)
        frame = pd.DataFrame({"g": groups, "s": scores, "y": (rng.random(groups.size) < chance).astype(int)})
        expected = (
            frame.assign(chance=1.0 if drawn_anew else chance, s=1.0 if drawn_anew else scores).groupby("g").sum()
        )
        odds = expected.chance / expected.s
        result = metrics_from_counts(count_rows(frame, "g", label="y", score="s"))
        for kind, value in (("difference", np.ptp(odds)), ("ratio", odds.min() / odds.max())):
            found = result[f"calibration_{kind}"].only
            hits[kind] += found.low - 1e-9 <= value <= found.high + 1e-9
    poor = {name: count / runs for name, count in hits.items() if not at_least(count, runs, 0.95, slack=0.01)}
    assert not poor


@pytest.mark.parametrize("groups", [2, 3, 6])
@pytest.mark.parametrize("differ", [False, True])
def test_ranges_and_the_composite_score(groups, differ, full, monkeypatch):
    runs = FULL_RUNS if full else RUNS // 2
    if not full:
        monkeypatch.setattr(score_parts, "_DRAWS", 499)  # as exact at 5 %: 25 of 500
    probabilities = np.stack([EQUAL] * groups)
    if differ:
        probabilities[0], probabilities[-1] = WORSE, BETTER
    rates = [rates_of(one) for one in probabilities]
    spread = {name: np.ptp([one[name] for one in rates]) for name in rates[0]}
    ratio = {name: min(one[name] for one in rates) / max(one[name] for one in rates) for name in rates[0]}
    odds = [one[2] / one[1] for one in probabilities]
    truth = {
        "demographic_parity_difference": spread["selection_rate"],
        "demographic_parity_ratio": ratio["selection_rate"],
        "equal_opportunity_difference": spread["true_positive_rate"],
        "predictive_parity_ratio": ratio["positive_predictive_value"],
        "equalized_odds_difference": max(spread["true_positive_rate"], spread["false_positive_rate"]),
        "equalized_odds_ratio": min(ratio["true_positive_rate"], ratio["false_positive_rate"]),
        "treatment_equality_difference": np.ptp(odds),
        "treatment_equality_ratio": min(odds) / max(odds),
        "predictive_equality_difference": spread["false_positive_rate"],
        "accuracy_equality_ratio": ratio["accuracy"],
    }
    score = 0.5 * spread["selection_rate"] + 0.25 * (spread["true_positive_rate"] + spread["false_positive_rate"])
    hits = dict.fromkeys([*truth, "score", "together"], 0)
    false_alarms = 0
    rng = np.random.default_rng([2, groups, differ])
    for _ in range(runs):
        table = drawn(rng, probabilities, [200 + 100 * i for i in range(groups)])
        result = metrics_from_counts(table, reference="a")
        for name, value in truth.items():
            hits[name] += result[name].only.low - 1e-9 <= value <= result[name].only.high + 1e-9
        composite = bias_score(table)
        hits["score"] += composite.low - 1e-9 <= score <= composite.high
        false_alarms += composite.p_value <= 0.05
        metric = result["selection_rate_difference"]
        hits["together"] += all(
            low <= rates[i + 1]["selection_rate"] - rates[0]["selection_rate"] <= high
            for i, (low, high) in enumerate(zip(metric.together_low[1:], metric.together_high[1:], strict=True))
        )
    poor = {name: count / runs for name, count in hits.items() if not at_least(count, runs, 0.95, slack=0.01)}
    assert not poor
    if not differ:
        assert stats.binom.sf(false_alarms - 1, runs, 0.06) > 0.001


@pytest.mark.parametrize("sizes", [(8, 12, 20), (15, 300), (400, 300, 200, 100)])
def test_omnibus_test_keeps_its_level(sizes, full):
    runs = FULL_RUNS if full else RUNS
    rng = np.random.default_rng([3, *sizes])
    n = np.array(sizes, dtype=float)
    alarms = sum(equal_rates_p_value(rng.binomial(sizes, 0.15).astype(float), n) <= 0.05 for _ in range(runs))
    assert stats.binom.sf(alarms - 1, runs, 0.05) > 0.001


@pytest.mark.parametrize(("groups", "rate"), [(401, 0.1), (1_500, 0.06), (1_500, 0.5)])
def test_omnibus_test_of_many_small_groups_keeps_its_level(groups, rate, full):
    runs = FULL_RUNS if full else RUNS
    rng = np.random.default_rng([9, groups])
    n = rng.integers(10, 60, groups)
    p_values = np.array(
        [equal_rates_p_value(rng.binomial(n, rate).astype(float), n.astype(float)) for _ in range(runs)]
    )
    for level in (0.05, 0.5):
        # Its moments are exact; the shape of the tail is not quite.
        alarms = int((p_values <= level).sum())
        assert stats.binom.sf(alarms - 1, runs, 1.1 * level) > 0.001
        assert stats.binom.cdf(alarms, runs, 0.85 * level) > 0.001


def test_omnibus_test_by_moments_agrees_with_drawing(full):
    rng = np.random.default_rng(10)
    n = rng.integers(10, 60, 500).astype(float)
    for shift in (0.0, 0.02, 0.04):
        rates = 0.1 + shift * (np.arange(500) % 2)
        events = rng.binomial(n.astype(int), rates).astype(float)
        found = equal_rates_p_value(events, n)
        statistic = omnibus._statistic(events[None], n, events.sum())[0]
        draws = 20_000 if full else 2_000
        assert found == pytest.approx(omnibus._by_drawing(statistic, n, events.sum(), draws), abs=0.04)


@pytest.mark.parametrize(
    ("sizes", "rate", "reference"),
    [
        ([200] * 5, 0.3, None),
        ([200] * 5, 0.3, "g0"),
        ([150] * 8, 0.1, None),
        ([1_000, 300, 100, 60], 0.2, None),
        ([2_000, 100, 100, 100, 100, 50], 0.5, None),
    ],
    ids=str,
)
def test_four_fifths_finds_nobody_different_from_the_best_where_all_are_alike(sizes, rate, reference, full):
    runs = 4_000 if full else 100
    rng = np.random.default_rng([12, len(sizes), sizes[0]])
    false = covered = 0
    for _ in range(runs):
        applied = {f"g{i}": n for i, n in enumerate(sizes)}
        found = four_fifths({name: int(rng.binomial(n, rate)) for name, n in applied.items()}, applied,
                            reference=reference).groups  # fmt: skip
        compared = [one for one in found if one.p_value is not None]
        false += min(one.p_value for one in compared) <= 0.05
        covered += all(one.low <= 1.0 <= one.high for one in compared)
    assert stats.binom.sf(false - 1, runs, 0.055) > 0.001, false / runs  # mid-p may exceed its level by a little
    assert at_least(covered, runs, 0.95, slack=0.01), covered / runs


def four_fifths_verdict(rng, groupings):
    """What the check says of groupings of groups of 400, each selected at its rate."""
    tables = []
    for number, rates in enumerate(groupings):
        applied = {f"g{i}": 400 for i in range(len(rates))}
        hired = {name: int(rng.binomial(400, rate)) for name, rate in zip(applied, rates, strict=True)}
        tables.append(FourFifthsTable((f"column {number}",), 0, (), four_fifths(hired, applied)))
    rules = SelectionRules("hired", (1,), 0, None, 0, "positive", 0.95, 0.02, 30, None, (), tuple(tables))
    return judge_four_fifths(FourFifthsLimit(), rules).verdict


@pytest.mark.parametrize(
    ("groupings", "wrong"),
    [
        ([[0.1] * 2, [0.1] * 5, [0.1] * 5], "fail"),  # rates so low that half of all tables have a group below 4/5
        ([[0.3] * 4, [0.5, 0.5, 0.38]], "pass"),  # one group is at .76 of the highest
    ],
    ids=["nobody differs", "one is below"],
)
def test_the_four_fifths_check_errs_in_no_more_than_its_level(groupings, wrong, full):
    runs = 4_000 if full else 100
    rng = np.random.default_rng(14)
    false = sum(four_fifths_verdict(rng, groupings) == wrong for _ in range(runs))
    assert stats.binom.sf(false - 1, runs, 0.055) > 0.001, false / runs


def test_the_four_fifths_check_finds_who_is_selected_half_as_often(full):
    rng = np.random.default_rng(15)
    found = [four_fifths_verdict(rng, [[0.3] * 4, [0.3, 0.3, 0.15]]) for _ in range(400 if full else 50)]
    assert found.count("fail") >= 0.95 * len(found)


def test_impact_ratios_find_nobody_different_from_the_best_where_all_are_alike(full):
    runs, n, groups = (1_000, 1_600, 8) if full else (60, 1_600, 8)
    rng = np.random.default_rng(13)
    false = 0
    for _ in range(runs):
        frame = pd.DataFrame({"group": rng.integers(0, groups, n), "hired": (rng.random(n) < 0.3).astype(int)})
        counts = count_rows(frame, ["group"], prediction="hired")
        table = impact_table(counts, favourable(counts.predictions, 1), exclude_below=0.0)
        false += min(one.p_value for one in table.categories if one.p_value is not None) <= 0.05
    assert stats.binom.sf(false - 1, runs, 0.055) > 0.001, false / runs


def test_conditional_disparity(full):
    runs = FULL_RUNS if full else RUNS
    rng = np.random.default_rng(4)
    # Share of d among the unfavourable and the favourable, and rows of both, per stratum.
    shares = np.array([[0.3, 0.2], [0.5, 0.5], [0.1, 0.25]])
    rows = np.array([[60, 90], [40, 20], [150, 30]])
    weight = rows.sum(1) / rows.sum()
    truth = float(weight @ (shares[:, 0] - shares[:, 1]))
    d = rng.binomial(rows, shares, size=(runs, 3, 2)).astype(float)
    found = conditional_disparity(d, rows - d, 0.05)
    assert at_least(int(((found.low <= truth) & (truth <= found.high)).sum()), runs, 0.95, slack=0.01)


def test_score_metrics_and_flip_test(full):
    runs = 2_000 if full else 150
    rng = np.random.default_rng(5)
    truth = {"mean_score": 0.4, "brier_score": 0.4 - (0.4**2 + 0.04), "observed_to_expected": 1.0}
    hits = dict.fromkeys([*truth, "calibration_error", "FT"], 0)
    for _ in range(runs):
        # A calibrated score, Beta with mean .4 and variance .04.
        s = rng.beta(2, 3, 250)
        frame = pd.DataFrame({"g": "a", "y": (rng.random(250) < s).astype(int), "s": s})
        result = bias_metrics(frame, facet="g", label="y", score="s")
        for name, value in truth.items():
            hits[name] += result[name]["a"].low <= value <= result[name]["a"].high
        hits["calibration_error"] += result["calibration_error"]["a"].low == 0.0
        in_d = np.arange(400) < 200
        predicted = np.where(in_d, rng.random(400) < 0.5, True)
        flipped = flip_test(pd.DataFrame({"x": rng.normal(size=400)}), in_d, predicted)
        hits["FT"] += flipped.low <= 0.5 <= flipped.high
    poor = {name: count / runs for name, count in hits.items() if not at_least(count, runs, 0.95, slack=0.01)}
    assert not poor
