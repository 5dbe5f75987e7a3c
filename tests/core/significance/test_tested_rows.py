"""Clusters tested and features compared block by block: any blocks give the same, and what the rows themselves give."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from bdt_core.clustering.clusters import find_clusters
from bdt_core.groups.conditions import members
from bdt_core.inference import area_under_curve, compare_samples
from bdt_core.shards.engine import LocalEngine
from bdt_core.shards.ingest import ingest
from bdt_core.shards.scratch import scratch_folder
from bdt_core.significance.clusters import ClusterSignificance, compare_clusters
from bdt_core.significance.features import FeatureDifferences, compare_features
from bdt_core.spec import parse_spec
from bdt_core.table.split import split_rows
from bdt_core.table.summaries import MISSING, Drawn, level_counts, mean_and_sd, summarise_bias_variable
from bdt_core.table.validate import validate
from tests.core.tables_in_blocks import TableInBlocks

ROWS = 5_000
BIAS = {
    "two values": lambda rng, group: (rng.random(len(group)) < 0.2 + 0.2 * group).astype(float),
    "counts": lambda rng, group: rng.poisson(1 + group).astype(float),
    "skewed": lambda rng, group: rng.lognormal(0, 1, len(group)) * (1 + group),
    "normal": lambda rng, group: rng.normal(3 + group, 1, len(group)),
}


def people(bias: str) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    group = rng.random(ROWS) < 0.2
    frame = pd.DataFrame(
        {
            "score": rng.normal(size=ROWS) + 3 * group,
            "income": rng.lognormal(0, 0.5, ROWS),
            "visits": rng.poisson(2, ROWS).astype(float),
            "region": rng.choice(list("wxyz"), ROWS),
            "wealth": rng.normal(size=ROWS) + group,
            "age": rng.integers(18, 90, ROWS).astype(float),
            "sex": rng.choice(["f", "m"], ROWS),
            "empty": np.where(rng.random(ROWS) < 0.001, 1.5, np.nan),
        }
    )
    frame.loc[rng.random(ROWS) < 0.05, "income"] = np.nan
    frame.loc[rng.random(ROWS) < 0.02, "region"] = None
    return frame.assign(y=BIAS[bias](rng, group))


@cache
def parts(bias):
    """Clusters, and train and test rows of a small table; nobody changes them."""
    return parts_with(bias)


def spec(**change):
    return parse_spec(
        {
            "name": "people",
            "source": {"path": "(DataFrame)"},
            "bias_variable": {"column": "y"},
            "features": {"include": ["score", "income", "visits", "region"]},
            "protected": ["wealth", "age", "sex", "empty"],
            "split": {"test_size": 0.5},
            "clustering": {"stability": 0, "max_iter": 4},
            **change,
        }
    )


def parts_with(bias, **change):
    settled = spec(**change)
    train, test = split_rows(validate(people(bias), settled), settled.split)
    return find_clusters(train, settled.clustering), train, test


def large(table, rows=1_000):
    """The same rows, but as those of a large table."""
    return replace(table, spec=table.spec.model_copy(update={"large_rows": rows}))


def in_blocks(table, seed):
    """The rows of a table in another order, in five blocks, of which the second has no rows."""
    rng = np.random.default_rng(seed)
    shuffled = table.frame.take(rng.permutation(len(table.frame))).reset_index(drop=True)
    cuts = np.sort(rng.integers(0, len(shuffled) + 1, 3)).tolist()
    return TableInBlocks(replace(table, frame=shuffled), (cuts[0], *cuts))


def as_json(result):
    return json.dumps(result.to_dict(), sort_keys=True)


def assert_equal_but_for_rounding(one, other, where=""):
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for name in one.keys() - {"large_rows"}:
            assert_equal_but_for_rounding(one[name], other[name], f"{where}/{name}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for i, pair in enumerate(zip(one, other, strict=True)):
            assert_equal_but_for_rounding(*pair, f"{where}/{i}")
    elif isinstance(one, float) and isinstance(other, float):
        assert one == pytest.approx(other, rel=2e-12, abs=1e-13), where
    else:
        assert one == other, where


@pytest.mark.parametrize("bias", BIAS)
def test_clusters_are_compared_as_their_rows_are(bias):
    clusters, train, test = parts(bias)
    settings, labels = clusters.spec.significance, clusters.predict(test)
    assert len(clusters.train) > 2
    compared = compare_clusters(clusters, train, in_blocks(large(test, 2_700), 2), settings)
    for one in compared.clusters:
        inside = labels == one.cluster.label
        wanted = compare_samples(test.y[inside], test.y[~inside], random_state=clusters.spec.split.random_state)
        assert_equal_but_for_rounding(one.comparison.to_dict(), wanted.to_dict())
        met = members(test.X, one.cluster.rule.conditions)
        assert (one.rule_precision, one.rule_recall) == (np.mean(inside[met]), np.mean(met[inside]))
        assert one.test_rows == inside.sum()
    assert (compared.test_mean, compared.test_sd) == pytest.approx((test.y.mean(), test.y.std()), rel=1e-13)
    assert compared.drawn is None


def test_columns_are_compared_as_their_rows_are():
    clusters, _, test = parts("normal")
    inside = clusters.predict(test) == 0
    found = compare_features(clusters, in_blocks(large(test, 2_700), 2), clusters.spec.significance)
    by_name = {one.column: one for one in found.columns}
    for name in ("score", "income", "visits", "wealth", "age"):
        x = test.audited[name].to_numpy()
        sides = x[inside & ~np.isnan(x)], x[~inside & ~np.isnan(x)]
        wanted = compare_samples(*sides, random_state=clusters.spec.split.random_state)
        assert_equal_but_for_rounding(by_name[name].numeric.to_dict(), wanted.to_dict())
        if by_name[name].role == "protected":
            assert by_name[name].auc == area_under_curve(*sides)
    for name in ("region", "sex", "income is missing"):
        column = test.audited["income"].isna().map({True: "yes", False: "no"}) if " " in name else test.audited[name]
        column = column.astype(object).where(column.notna(), MISSING)
        for level in by_name[name].levels:
            events = [int((column[rows] == level.level).sum()) for rows in (inside, ~inside)]
            assert [level.comparison.events_a, level.comparison.events_b] == events
    assert found.drawn is None


@pytest.mark.parametrize(("bias", "rows"), [("two values", 1_000), ("skewed", 1_000), ("skewed", 2_700)])
def test_any_blocks_give_the_same_bytes(bias, rows):
    clusters, train, test = parts(bias)
    settings, test = clusters.spec.significance, large(test, rows)
    test = replace(test, frame=test.frame.assign(**{"(rank)": np.arange(len(test.frame), dtype=np.uint64)}))
    tested = as_json(compare_clusters(clusters, train, test, settings))
    compared = as_json(compare_features(clusters, test, settings))
    for seed in range(2):
        blocks = in_blocks(test, seed)
        assert as_json(compare_clusters(clusters, train, blocks, settings)) == tested
        assert as_json(compare_features(clusters, blocks, settings)) == compared


def test_rows_in_shards_give_the_same_bytes():
    frame = people("normal")
    settled = spec(
        large_rows=1_000,
        split={"repeats": 2, "test_size": 0.5},
        significance={"test": "permutation", "permutations": 19},
    )
    train, test = split_rows(validate(frame, settled), settled.split)
    assert test.is_large
    clusters = find_clusters(train, settled.clustering)
    settings = settled.significance
    tested = compare_clusters(clusters, train, test, settings)
    assert tested.drawn == Drawn(2_000, ROWS)
    batches = [part for _, part in frame.sample(frac=1.0, random_state=1).groupby(np.arange(ROWS) // 1_300)]
    with scratch_folder() as folder, LocalEngine(1) as engine:
        parts = ingest(batches, settled, folder, engine).divided(settled.split)
        assert as_json(compare_clusters(clusters, *parts, settings)) == as_json(tested)
        found = as_json(compare_features(clusters, parts[1], settings))
    assert found == as_json(compare_features(clusters, test, settings))


def test_what_is_kept_and_what_is_drawn_above_large_rows():
    clusters, train, test = parts("skewed")
    settings = clusters.spec.significance
    small, many = (compare_clusters(clusters, train, one, settings) for one in (test, large(test)))
    assert "studentised permutation" in {one.comparison.test for one in small.clusters}
    assert {one.comparison.test for one in many.clusters} <= {"Welch's t", None}
    assert [one.test_rows for one in many.clusters] == [one.test_rows for one in small.clusters]
    assert [one.rule_recall for one in many.clusters] == [one.rule_recall for one in small.clusters]
    assert ClusterSignificance.from_dict(many.to_dict()) == many
    found = compare_features(clusters, large(test), settings)
    assert found.drawn == Drawn(1_000, test.audited_rows)
    by_name = {one.column: one for one in found.columns}
    assert by_name["wealth"].auc.n_a + by_name["wealth"].auc.n_b == 1_000
    assert by_name["age"].auc.n_a + by_name["age"].auc.n_b == test.audited_rows
    assert FeatureDifferences.from_dict(found.to_dict()) == found


def test_what_is_repeated_is_repeated_on_rows_drawn():
    change = {"significance": {"test": "permutation", "permutations": 19}, "split": {"test_size": 0.5, "repeats": 2}}
    clusters, train, test = parts_with("two values", **change)
    settings = clusters.spec.significance
    ranked = [
        replace(one, frame=one.frame.assign(**{"(rank)": np.arange(len(one.frame), dtype=np.uint64)}))
        for one in (large(train, 2_000), large(test, 2_000))
    ]
    found = compare_clusters(clusters, *ranked, settings)
    assert found.drawn == Drawn(4_000, ROWS)
    assert found.procedure.p_value == 0.05
    assert len(found.repeats.p_values) == 2
    assert found.repeats.p_values[0] == found.primary.comparison.p_value
    blocks = [in_blocks(one, 1) for one in ranked]
    assert as_json(compare_clusters(clusters, *blocks, settings)) == as_json(found)
    assert compare_clusters(clusters, train, test, settings).drawn is None


def test_without_a_split_there_is_nobody_to_compare_with():
    clusters, train, test = parts_with(
        "two values", clustering={"stability": 0, "max_iter": 1, "min_cluster_size": 0.5}
    )
    assert len(clusters.train) == 1
    settings = clusters.spec.significance
    for rows in (test, large(test)):
        compared, differences = (
            compare_clusters(clusters, train, rows, settings),
            compare_features(clusters, rows, settings),
        )
        assert compared.primary is None
        assert [one.comparison.status for one in compared.clusters] == ["not_testable"]
        assert differences.columns == ()
        assert (differences.rows_cluster, differences.rows_rest) == (test.audited_rows, 0)


def test_levels_are_added_by_name_whatever_holds_them():
    names = np.array(["b", "a", None, "b", MISSING, "c"], dtype=object)
    groups = np.array([0, 1, 0, 1, 1, 0])
    wanted = {MISSING: [1, 1], "a": [0, 1], "b": [1, 1], "c": [1, 0]}
    for dtype in (object, pd.StringDtype(na_value=np.nan), "category"):
        found = level_counts(pd.Series(names).astype(dtype), groups, 2)
        assert {name: counts.tolist() for name, counts in found.items()} == wanted


@pytest.mark.parametrize("bias", BIAS)
def test_mean_and_spread_of_the_bias_variable(bias):
    _, _, test = parts(bias)
    mean, sd = mean_and_sd(summarise_bias_variable(in_blocks(large(test), 4)))
    assert (mean, sd) == pytest.approx((test.y.mean(), test.y.std(ddof=1)), rel=1e-13)
