"""The whole search: what it finds, in which order, on which rows, and what it refuses."""

from __future__ import annotations

import json
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bdt_core.errors import BDTError, DataError, SourceError, SpecError
from bdt_core.fairness import bias_metrics
from bdt_core.groups.slices import Slices, candidates, find_slices
from bdt_core.groups.slices.columns import MOST_LEVELS
from bdt_core.groups.slices.measure import resolve, slice_metrics
from bdt_core.groups.slices.search import _divided, _search
from bdt_core.groups.slices.settings import SliceSettings
from bdt_core.inference import adjust_p_values, compare_counts, compare_samples, newcombe_interval
from bdt_core.table.audit_table import BIAS_VARIABLE
from benchmarks.slices import compas_table

PLANTED = {"gender is F", "age_group is 51+", "region is rural"}


def in_parts(train, test, columns, label, prediction):
    """The search in rows that are divided already, as `find_slices` makes it after dividing them."""
    measure = resolve("error_rate", label=label, prediction=prediction)
    return _search([train, test], columns, measure, SliceSettings())


def in_sample(frame, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return find_slices(frame, honest=False, **how)


def members(frame, conditions):
    inside = np.ones(len(frame), dtype=bool)
    for one in conditions:
        x = frame[one.column]
        if one.kind == "missing":
            inside &= x.isna().to_numpy()
        elif one.kind == "values":
            inside &= (x == one.values[0]).to_numpy(dtype=bool, na_value=False)
        else:
            low, high = (-np.inf if one.low is None else one.low), (np.inf if one.high is None else one.high)
            inside &= ((x > low) & (x <= high)).to_numpy()
    return inside


def people(n=5000, error=0.4, seed=42):
    """The table with errors among older women in rural areas only."""
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "gender": rng.choice(["M", "F"], n),
            "age_group": rng.choice(["18-30", "31-50", "51+"], n),
            "region": rng.choice(["urban", "rural"], n),
        }
    )
    label = rng.choice([0, 1], n, p=[0.6, 0.4])
    prediction = label.copy()
    where = np.flatnonzero((frame.gender == "F") & (frame.age_group == "51+") & (frame.region == "rural"))
    flipped = rng.choice(where, int(len(where) * error), replace=False)
    prediction[flipped] = 1 - prediction[flipped]
    return frame.assign(label=label, prediction=prediction)


def mixed(n=3000, seed=0):
    """Numbers, text and missing values; women over 45 are treated worse."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.uniform(18, 80, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(10, 1, n)),
            "race": rng.choice(list("abc"), n, p=[0.6, 0.3, 0.1]),
        }
    )
    harmed = (frame.sex == "f") & (frame.age > 45)
    label = rng.random(n) < 0.4
    wrong = rng.random(n) < np.where(harmed, 0.35, 0.1)
    return frame.assign(y=label.astype(int), p=(label ^ wrong).astype(int), loss=rng.gamma(2.0, size=n) + harmed)


# What the older example of this search finds: every value, and every pair, whose accuracy is below a share of the
# overall one.


@pytest.mark.parametrize(
    ("frame", "threshold"),
    [
        (people(), 0.9),
        (
            people(1000, error=0.0).assign(
                prediction=lambda d: np.where(
                    (d.gender == "F") & (d.region == "rural") & (np.arange(len(d)) % 2 == 0), 0, d.prediction
                )
            ),
            0.9,
        ),
    ],
    ids=["older women in rural areas", "half of a group's predictions set to 0"],
)
def test_ratios_to_the_overall_accuracy_of_every_value_and_pair(frame, threshold):
    found = in_sample(frame, label="label", prediction="prediction", metric="accuracy", max_tests=1000)
    right = (frame.label == frame.prediction).to_numpy()
    columns = ["gender", "age_group", "region"]
    below = {}
    for k in (1, 2):
        for names in combinations(columns, k):
            for key, rows in frame.groupby(list(names)).indices.items():
                if len(rows) >= (10 if k == 1 else 50) and right[rows].mean() / right.mean() < threshold:
                    key = (key,) if isinstance(key, str) else key
                    name = " and ".join(f"{c} is {v}" for c, v in zip(names, key, strict=True))
                    below[name] = right[rows].mean() / right.mean()
    ours = {one.name: one.ratio_to_overall for one in found.slices if len(one.conditions) <= 2}
    assert below
    assert {name: ratio for name, ratio in ours.items() if ratio < threshold} == pytest.approx(below)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("honest", [True, False])
def test_the_planted_slice_comes_first(seed, honest):
    frame = people(seed=seed)
    search = find_slices if honest else in_sample
    how = {"random_state": seed} if honest else {}
    found = search(frame, label="label", prediction="prediction", metric="accuracy", **how)
    assert {one.words for one in found.worst.conditions} == PLANTED
    assert found.slices[0] is found.worst
    assert found.worst.comparison.mean_b == 1.0
    assert found.worst.comparison.difference == pytest.approx(-0.4, abs=0.1)


def test_every_figure_of_a_slice_equals_its_definition():
    frame, columns = mixed(), ["sex", "age", "income", "race"]
    found = find_slices(frame, columns=columns, label="y", prediction="p")
    train, test = _divided(frame, [*columns, "y", "p"], 0.5, 0)
    assert found.reported
    wrong = (test.y != test.p).to_numpy()
    wrong_train = (train.y != train.p).to_numpy()
    for one in found.slices:
        inside, inside_train = members(test, one.conditions), members(train, one.conditions)
        assert one.train_rows == inside_train.sum()
        assert one.train_support == inside_train.mean()
        assert one.test_rows == inside.sum()
        assert one.test_support == inside.mean()
        assert one.train_value == pytest.approx(wrong_train[inside_train].mean())
        assert one.train_difference == pytest.approx(
            wrong_train[inside_train].mean() - wrong_train[~inside_train].mean()
        )
        plain = compare_counts(
            int(wrong[inside].sum()), int(inside.sum()), int(wrong[~inside].sum()), int((~inside).sum())
        )
        assert one.comparison == plain
        if plain.status == "tested":
            assert one.ratio_to_overall == pytest.approx(wrong[inside].mean() / wrong.mean())
            assert one.worse == (plain.difference > 0)
    assert found.test_value == pytest.approx(wrong.mean())


@pytest.mark.parametrize("metric", sorted(slice_metrics()))
def test_every_rate_equals_that_of_the_fairness_metrics(metric):
    frame = mixed()
    found = in_sample(
        frame, columns=["sex", "race"], label="y", prediction="p", metric=metric, better="lower",
        max_conditions=1, max_tests=1000,
    )  # fmt: skip
    rates = {column: bias_metrics(frame, facet=column, label="y", prediction="p") for column in ("sex", "race")}
    assert len(found.slices) == 5
    for one in found.slices:
        (condition,) = one.conditions
        metrics = rates[condition.column]
        if metric == "error_rate":
            wanted = 1.0 - metrics["accuracy"][condition.values[0]].estimate
        else:
            wanted = metrics[metric][condition.values[0]].estimate
            assert one.comparison.n_a == metrics[metric][condition.values[0]].n
        assert one.comparison.mean_a == pytest.approx(wanted)


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_the_direction_decides_what_is_worse(better):
    frame = mixed()
    found = find_slices(frame, columns=["sex", "age"], label="y", prediction="p", better=better)
    for one in found.slices:
        if one.significant:
            assert (one.comparison.difference > 0) == (better == "lower")
            assert one.worse
    right = frame.assign(right=1 - (frame.y != frame.p))
    errors = in_sample(frame, columns=["sex", "age"], label="y", prediction="p")
    successes = in_sample(right, columns=["sex", "age"], outcome="right", better="higher")
    assert [one.name for one in errors.slices] == [one.name for one in successes.slices]


def test_means_take_welchs_test_of_the_rows():
    frame = mixed()
    found = find_slices(frame, columns=["sex", "age"], outcome="loss", better="lower")
    test = _divided(frame, ["sex", "age", "loss"], 0.5, 0)[1]
    assert found.metric == "mean"
    assert found.worst
    permuted = 0
    for one in found.slices:
        inside = members(test, one.conditions)
        welch = compare_samples(test.loss[inside], test.loss[~inside], test="welch")
        # Where Welch's test does not reject, nothing more is asked.
        wanted = welch if welch.p_value > 0.05 else compare_samples(test.loss[inside], test.loss[~inside])
        assert one.comparison == wanted
        permuted += wanted.test == "studentised permutation"
    assert permuted
    pooled = in_sample(frame, columns=["sex", "age"], outcome="loss", better="lower")
    for one in pooled.slices:
        inside = members(frame, one.conditions)
        t = stats.ttest_ind(frame.loss[inside], frame.loss[~inside], equal_var=False)
        assert one.comparison.p_value == pytest.approx(t.pvalue)


def test_an_outcome_of_two_values_is_a_rate_in_its_own_units():
    frame = mixed()
    frame["fee"] = np.where(frame.y != frame.p, 30.0, 10.0)
    fees = find_slices(frame, columns=["sex", "age"], outcome="fee", better="lower")
    rates = find_slices(
        frame.assign(wrong=(frame.y != frame.p).astype(float)), columns=["sex", "age"], outcome="wrong", better="lower"
    )
    assert fees.worst.comparison.test == "exact mid-p"
    worst = {one.name for one in fees.slices} & {one.name for one in rates.slices}
    assert worst  # the two tables are divided differently, but the same slice is planted in both
    same = in_sample(frame, columns=["sex", "age"], outcome="fee", better="lower").worst
    rate = in_sample(frame, columns=["sex", "age"], label="y", prediction="p").worst
    assert same.name == rate.name
    assert same.comparison.difference == pytest.approx(20 * rate.comparison.difference)
    assert same.comparison.p_value == rate.comparison.p_value
    assert same.shrunken_difference == pytest.approx(20 * rate.shrunken_difference)


def test_the_correction_is_weighted_benjamini_hochberg_over_all_tests():
    frame = mixed()
    found = find_slices(frame, columns=["sex", "age", "race"], label="y", prediction="p", max_tests=30)
    tested = [one for one in found.slices if one.comparison.p_value is not None]
    assert found.tests == len(tested) <= 30 < found.searched
    assert np.mean([one.weight for one in tested]) == pytest.approx(1.0)
    by_weight = sorted(tested, key=lambda one: -one.weight)
    np.testing.assert_allclose([one.weight * (i + 1) for i, one in enumerate(by_weight)], by_weight[0].weight)
    one_sided = [
        one.comparison.p_value / 2 if one.worse and one.comparison.p_value <= 0.05 else 1.0 for one in by_weight
    ]
    wanted = adjust_p_values([min(1, p / one.weight) for p, one in zip(one_sided, by_weight, strict=True)], "bh")
    np.testing.assert_allclose([one.p_adjusted for one in by_weight], wanted)
    assert [one.significant for one in by_weight] == [bool(p <= 0.10) for p in wanted]


def test_in_sample_says_so_and_corrects_over_everything():
    frame = mixed()
    with pytest.warns(UserWarning, match="same rows"):
        found = find_slices(frame, columns=["sex", "age", "race"], label="y", prediction="p", honest=False, max_tests=5)
    assert found.in_sample
    assert "same rows" in found.warnings[0]
    assert len(found.slices) == 5 < found.tests == found.searched
    assert found.train_rows == found.test_rows == len(frame)
    every = in_sample(frame, columns=["sex", "age", "race"], label="y", prediction="p", max_tests=10_000)
    one_sided = [
        one.comparison.p_value / 2 if one.worse and one.comparison.p_value <= 0.05 else 1.0 for one in every.slices
    ]
    np.testing.assert_allclose([one.p_adjusted for one in every.slices], adjust_p_values(one_sided, "bh"))
    kept = {one.name: one.p_adjusted for one in every.slices}
    for one in found.slices:
        assert one.p_adjusted == kept[one.name] <= sorted(kept.values())[4]


def test_shrinkage_draws_small_slices_to_the_mean_of_all_that_were_tested_and_ranks():
    frame = mixed()
    found = find_slices(frame, columns=["sex", "age", "race"], label="y", prediction="p")
    assert found.prior_mean == pytest.approx(np.mean([one.comparison.difference for one in found.slices]))
    free = [one for one in found.slices if one.low < one.shrunken_difference < one.comparison.difference]
    kept = [
        (one.shrunken_difference - found.prior_mean) / (one.comparison.difference - found.prior_mean) for one in free
    ]
    assert len(free) > 4
    assert all(0 < one < 1 for one in kept)
    size = [one.test_rows for one in free]
    assert stats.spearmanr(size, kept).statistic > 0.99
    assert all(one.low <= one.shrunken_difference <= one.comparison.difference for one in found.slices)
    shrunk = [one.shrunken_difference for one in found.reported]
    assert shrunk == sorted(shrunk, reverse=True)


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_intervals_of_reported_slices_allow_for_their_selection(better):
    frame = mixed()
    frame["wrong"] = (frame.y != frame.p).astype(int) if better == "lower" else (frame.y == frame.p).astype(int)
    found = find_slices(frame, columns=["sex", "age", "race"], outcome="wrong", better=better)
    assert 0 < len(found.reported) < sum(map(bool, (one.significant for one in found.slices))) < found.tests
    for one in found.slices:
        compared = one.comparison
        own = (compared.low, compared.high)
        if not one.significant:
            assert (one.low, one.high) == own
            continue
        share = min(0.05, 0.05 * one.weight * len(found.reported) / found.tests)
        counts = (compared.events_a, compared.n_a, compared.events_b, compared.n_b)
        adjusted = newcombe_interval(*counts, confidence=1 - share)
        expected = (adjusted[0], own[1]) if better == "lower" else (own[0], adjusted[1])
        assert (one.low, one.high) == pytest.approx(expected)
    ends = np.array([(one.low, one.high) for one in found.slices], dtype=float)
    np.testing.assert_array_equal(found.to_frame()[["low", "high"]], ends)


def test_slices_that_add_nothing_are_listed_under_the_slice_that_holds_them():
    rng = np.random.default_rng(3)
    n = 20_000
    frame = pd.DataFrame({name: rng.choice(list("abc"), n) for name in ("u", "v", "w")})
    frame["wrong"] = rng.random(n) < np.where(frame.u == "a", 0.4, 0.1)
    found = find_slices(frame, outcome="wrong", better="lower")
    assert found.worst.name == "u is a"
    inside = [one for one in found.slices if one.parent == found.worst.name]
    assert len(inside) >= 10
    for one in inside:
        assert one.parent == "u is a"
        assert one.significant
        assert "u is a" in {condition.words for condition in one.conditions}
    # A part in which it is worse still stands on its own.
    worse_still = frame.assign(
        wrong=rng.random(n) < np.select([(frame.u == "a") & (frame.v == "b"), frame.u == "a"], [0.8, 0.4], 0.1)
    )
    found = find_slices(worse_still, outcome="wrong", better="lower")
    assert [one.name for one in found.reported[:2]] == ["u is a and v is b", "u is a"]


def test_a_slice_with_the_rows_of_one_of_its_parts_is_none_of_its_own():
    frame = people()
    doubled = frame.assign(copy=frame.region)
    plain = find_slices(frame, label="label", prediction="prediction")
    found = in_sample(doubled, label="label", prediction="prediction", max_tests=10_000)
    assert not any({"region is rural", "copy is rural"} <= {c.words for c in one.conditions} for one in found.slices)
    assert plain.searched == 35
    assert found.searched == 35 + 2 + 6 + 4 + 12  # the copy in place of the region: alone, in pairs, in triples


def test_the_lattice_holds_every_part_of_the_worst_slice():
    frame = people()
    found = find_slices(frame, label="label", prediction="prediction")
    assert [len(one.conditions) for one in found.lattice] == [1, 1, 1, 2, 2, 2, 3]
    assert found.lattice[-1].comparison == found.worst.comparison
    assert {one.name for one in found.lattice} == {
        " and ".join(c.words for c in part) for k in (1, 2, 3) for part in combinations(found.worst.conditions, k)
    }
    assert found.lattice[0].rows > found.lattice[3].rows > found.lattice[6].rows


def test_max_t_controls_by_permutation():
    frame = mixed()
    how = {"columns": ["sex", "age"], "label": "y", "prediction": "p"}
    found = find_slices(frame, permutations=199, **how)
    assert found.correction == "max-t"
    assert found.worst.name == find_slices(frame, **how).worst.name
    assert found.worst.p_adjusted == 1 / 200
    assert all(one.p_adjusted >= one.comparison.p_value / 2 for one in found.slices if one.worse)
    assert found == find_slices(frame.sample(frac=1, random_state=0), permutations=199, **how)
    means = find_slices(frame, permutations=199, columns=["sex", "age"], outcome="loss", better="lower")
    assert means.worst.p_adjusted == 1 / 200
    everything = in_sample(frame, permutations=49, **how)
    assert everything.worst.p_adjusted == 1 / 50


@pytest.mark.parametrize(
    ("columns", "how"),
    [
        (["sex", "age", "income", "race"], {"label": "y", "prediction": "p", "metric": "tpr"}),
        (["sex", "race"], {"outcome": "loss", "better": "lower"}),
    ],
)
def test_same_bytes_for_any_order_of_rows(columns, how):
    frame = mixed()
    one = find_slices(frame, columns=columns, **how)
    again = find_slices(frame.sample(frac=1, random_state=1).reset_index(drop=True), columns=columns, **how)
    assert json.dumps(one.to_dict()) == json.dumps(again.to_dict())
    assert find_slices(frame, columns=columns, random_state=1, **how).slices != one.slices


def test_it_comes_back_from_json():
    found = find_slices(mixed(), columns=["sex", "age", "income"], label="y", prediction="p")
    assert Slices.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    frame = found.to_frame()
    assert frame.slice.tolist() == [one.name for one in found.slices]


def test_bins_come_from_the_train_rows_alone():
    frame = mixed()
    train, test = frame[:1500], frame[1500:]
    one = in_parts(train, test, ["age"], "y", "p")
    other = in_parts(train, test.assign(age=test.age + 1000), ["age"], "y", "p")
    assert one.columns == other.columns


# DivExplorer's figures, recorded in an environment of its own by benchmarks/peers_divexplorer.py.


@pytest.fixture(scope="module")
def divexplorer():
    path = Path(__file__).parent / "recorded" / "divexplorer.json"
    recorded = json.loads(path.read_text(encoding="utf-8"))
    assert recorded["versions"]["divexplorer"] == "0.2.6"
    return recorded["figures"]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("compas", {"outcome": "error", "min_support": 0.01}),
        ("compas_score", {"outcome": "score", "min_support": 0.05}),
    ],
)
def test_counts_and_means_equal_divexplorers(divexplorer, name, how):
    frame = compas_table().drop(columns="score" if how["outcome"] == "error" else "error")
    with pytest.MonkeyPatch.context() as patch:
        # DivExplorer lists slices with the rows of one of their parts too.
        patch.setattr(candidates, "repeats_a_part", lambda items, rows: np.zeros(len(rows), dtype=bool))
        found = in_sample(frame, better="lower", min_rows=1, max_tests=100_000, **how)
    theirs = {frozenset(one["items"]): one for one in divexplorer[name] if one["items"]}
    ours = {
        frozenset(c.words.replace(" is ", "=").replace('"', "") for c in one.conditions): one for one in found.slices
    }
    # A value of nearly all rows is a condition of theirs; of ours it leaves too few others to compare with.
    assert set(ours) <= set(theirs)
    dropped = {next(iter(one)) for one in set(theirs) - set(ours) if len(one) == 1}
    assert all(one & dropped for one in set(theirs) - set(ours))
    assert len(ours) > 100
    for key, one in ours.items():
        assert one.train_rows == theirs[key]["rows"]
        assert one.train_value == pytest.approx(theirs[key]["mean"])


# Input that cannot be used.


@pytest.mark.parametrize(
    ("change", "how", "message"),
    [
        ({}, {"columns": ["sexx"]}, 'no column "sexx". Did you mean "sex"'),
        ({}, {"label": "nothing"}, 'no column "nothing"'),
        ({"y": [0, 1, 2] * 1000}, {}, r'"y" \(label\) has 3 values \(0, 1, 2\).*"positive"'),
        ({"p": np.linspace(0, 1, 3000)}, {}, r'"p" \(prediction\) has 3,000 values'),
        ({"y": np.nan}, {}, 'value in "y" and "p"'),
        ({}, {"positive": "yes"}, "never has the positive value 'yes'"),
        ({}, {"outcome": "sex", "label": None, "prediction": None, "better": "lower"}, '"sex" must be numeric'),
        (
            {"loss": np.inf},
            {"outcome": "loss", "label": None, "prediction": None, "better": "lower"},
            "3,000 infinite values",
        ),
    ],
)
def test_data_that_cannot_be_used(change, how, message):
    frame = mixed().assign(**change)
    given = {"columns": ["sex", "age"], "label": "y", "prediction": "p", **how}
    with pytest.raises(DataError, match=message):
        find_slices(frame, **given)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"metric": "acuracy"}, 'Did you mean "accuracy"'),
        ({"metric": "selection_rate"}, 'better="lower"'),
        ({"better": "more"}, "better must be"),
        ({"label": None}, "needs a label"),
        ({"outcome": "loss"}, "either an outcome, or"),
        ({"columns": "sex"}, "list of names"),
        ({"max_conditions": 6}, "from 1 to 5"),
        ({"max_conditions": 1.5}, "whole number"),
        ({"min_support": 0}, "min_support"),
        ({"fdr": 1.0}, "fdr"),
        ({"bins": 1}, "bins"),
        ({"max_levels": MOST_LEVELS + 1}, "max_levels"),
        ({"test_size": 1.0}, "test_size"),
    ],
)
def test_settings_that_cannot_be_used(how, message):
    with pytest.raises(SpecError, match=message):
        find_slices(mixed(200), **{"label": "y", "prediction": "p", **how})


def test_other_tables_that_cannot_be_used():
    with pytest.raises(DataError, match="no rows"):
        find_slices(mixed()[:0], label="y", prediction="p")
    with pytest.raises(SourceError, match="A list is not a table"):
        find_slices([1], label="y", prediction="p")
    with pytest.raises(DataError, match="2 columns named"):
        find_slices(pd.concat([mixed(), mixed()], axis=1), columns=["sex"], label="y", prediction="p")
    with pytest.raises(DataError, match="is taken: rename"):
        find_slices(mixed().assign(**{BIAS_VARIABLE: 1.0}), label="y", prediction="p")


@pytest.mark.parametrize(
    ("frame", "how", "reason"),
    [
        (mixed().assign(sex="f"), {"columns": ["sex"]}, "sex: every row has the same value"),
        (mixed().assign(sex=np.arange(3000)), {"columns": ["sex"]}, "identifiers"),
        (mixed(), {"columns": ["y"]}, "y: it is measured"),
        (mixed(), {"columns": []}, "none was given"),
        (mixed().assign(p=lambda d: d.y), {"columns": ["sex"]}, "same outcome"),
        (mixed(50), {"columns": ["sex"]}, "at least 30"),
        (mixed().assign(y=[1] * 20 + [0] * 2980), {"columns": ["sex"], "metric": "tpr"}, "30 rows in the denominator"),
        (
            mixed().assign(loss=7.5),
            {"columns": ["sex"], "outcome": "loss", "label": None, "prediction": None, "better": "lower"},
            "same outcome",
        ),
    ],
    ids=["one group", "identifier", "the label", "none", "constant", "few rows", "few positives", "constant number"],
)
@pytest.mark.parametrize("honest", [True, False])
def test_nothing_to_test_is_a_result_with_its_reason(frame, how, reason, honest):
    search = find_slices if honest else in_sample
    found = search(frame, **{"label": "y", "prediction": "p", **how})
    assert reason in found.reason
    assert found.tests == 0
    assert found.slices == found.lattice == ()
    assert found.worst is None
    assert found.to_frame().empty
    assert Slices.from_dict(found.to_dict()) == found


def test_noise_columns_of_any_kind_are_listed_and_do_not_stop_the_search():
    frame = people()
    rng = np.random.default_rng(0)
    frame["id"] = np.arange(len(frame))
    frame["text"] = [f"person {i}" for i in range(len(frame))]
    frame["when"] = pd.Timestamp("2026-01-01")
    frame["lists"] = [[i] for i in range(len(frame))]
    frame["constant"] = 1
    frame["number"] = rng.normal(size=len(frame))
    found = find_slices(frame, label="label", prediction="prediction", metric="accuracy")
    assert {one.name for one in found.excluded} == {"id", "text", "when", "lists", "constant"}
    assert {one.words for one in found.worst.conditions} == PLANTED


def test_rows_without_an_outcome_are_left_out_and_counted():
    frame = people().astype({"label": "Int64"})
    frame.loc[:99, "label"] = pd.NA
    found = find_slices(frame, label="label", prediction="prediction")
    assert found.left_out == 100
    assert found.train_rows + found.test_rows == len(frame) - 100
    alone = find_slices(frame, columns=["gender"], prediction="prediction", metric="selection_rate", better="higher")
    assert alone.left_out == 0


def test_words_for_positive_values():
    frame = people()
    words = frame.assign(
        label=frame.label.map({0: "bad", 1: "good"}), prediction=frame.prediction.map({0: "no", 1: "yes"})
    )
    how = {"columns": ["gender", "age_group", "region"], "label": "label", "prediction": "prediction"}
    one = in_sample(frame, metric="fpr", **how)
    other = in_sample(words, metric="fpr", positive="good", positive_prediction="yes", **how)
    assert one.slices == other.slices
    with pytest.raises(BDTError, match="positive_prediction"):
        find_slices(words, metric="fpr", positive="good", **how)


def test_slices_without_enough_test_rows_are_named_and_not_tested():
    frame = people()
    test = frame[frame.region == "urban"].head(1000)
    found = in_parts(frame, test, ["gender", "age_group", "region"], "label", "prediction")
    untested = [one for one in found.slices if one.status == "not_testable"]
    assert untested
    for one in untested:
        assert "rows" in one.comparison.reason
        assert one.p_adjusted is one.significant is one.worse is one.shrunken_difference is None
    assert found.tests == len(found.slices) - len(untested)


def test_columns_may_be_named_by_numbers():
    frame = people().rename(columns={"gender": 0})
    found = find_slices(frame, label="label", prediction="prediction", metric="accuracy")
    assert {one.words for one in found.worst.conditions} == {"0 is F", "age_group is 51+", "region is rural"}
