"""Five rows of each person say what one row of each says: of chance, of columns, and of proxies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bdt_core.inference import compare_category_counts
from bdt_core.inference.persons import compare_categories_of_persons, person_sums
from bdt_core.local_bias.gaps import find_local_bias
from bdt_core.local_bias.rows import LocalRows
from bdt_core.local_bias.settings import LocalBiasSettings
from bdt_core.local_bias.topics import feature_differences
from bdt_core.mitigation.proxies import proxy_table

EACH, PERSONS = 5, 400
SETTINGS = LocalBiasSettings(n_clusters=2, permutations=400, refits=60, min_group_size=20, min_test_rows=20)


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x0": rng.normal(size=PERSONS) + 8.0 * (np.arange(PERSONS) % 2)})
    frame["x1"], frame["group"] = rng.normal(size=PERSONS), rng.choice(["f", "m"], PERSONS)
    frame["job"] = rng.choice(["a", "b", "c"], PERSONS)
    frame["label"] = (rng.random(PERSONS) < 0.5).astype(int)
    frame["score"] = rng.random(PERSONS)
    frame["correct"] = rng.random(PERSONS) < 0.7
    frame["person"] = np.random.default_rng(99 + seed).integers(0, 2**63, PERSONS).astype(np.uint64)
    return frame


def rows(frame: pd.DataFrame, metric: str, by_persons: bool) -> LocalRows:
    outcome = (
        {"y_true": frame["label"].to_numpy(), "y_score": frame["score"].to_numpy()}
        if metric == "auc"
        else {"correct": frame["correct"].to_numpy()}
    )
    persons = frame["person"].to_numpy() if by_persons else None
    return LocalRows(frame[["x0", "x1"]].to_numpy(), frame["group"].to_numpy(), persons=persons, **outcome)


@pytest.mark.parametrize("metric", ["accuracy", "auc"])
def test_what_chance_alone_would_give_counts_persons(metric):
    train, test = people(1), people(2)
    many_train, many_test = (one.loc[one.index.repeat(EACH)].reset_index(drop=True) for one in (train, test))
    settings = replace(SETTINGS, metric=metric)
    one_each, by_rows, by_persons = (
        find_local_bias(rows(one, metric, persons), rows(other, metric, persons), settings).logan
        for one, other, persons in (
            (train, test, False),
            (many_train, many_test, False),
            (many_train, many_test, True),
        )
    )
    for part in ("train", "test"):
        expected, false, true = (
            getattr(one, part).within_clusters.largest_gap for one in (one_each, by_rows, by_persons)
        )
        assert true == pytest.approx(expected, rel=0.12)
        assert false < 0.6 * expected
    searched = [one.train.whole_search.largest_gap for one in (one_each, by_rows, by_persons)]
    assert searched[2] == pytest.approx(searched[0], rel=0.25)
    assert searched[1] < 0.7 * searched[0]


def test_columns_that_describe_clusters_count_persons():
    frame = people(3)
    labels = np.arange(PERSONS) % 2
    frame["x1"] += 0.2 * labels
    many = frame.loc[frame.index.repeat(EACH)].reset_index(drop=True)
    columns, copied = ["x1", "job", "label"], np.repeat(labels, EACH)
    one_each, by_rows, by_persons = (
        {one.column: one for one in feature_differences(table[columns], clusters, 2, persons=persons)[0]}
        for table, clusters, persons in (
            (frame, labels, None),
            (many, copied, None),
            (many, copied, many["person"].to_numpy()),
        )
    )
    assert set(one_each) == set(by_persons) == set(columns)
    for name in columns:
        assert by_persons[name].effect == pytest.approx(by_rows[name].effect)
        assert by_persons[name].p_value == pytest.approx(one_each[name].p_value, rel=0.1, abs=0.003)
        assert by_rows[name].p_value < 0.8 * by_persons[name].p_value
    few = feature_differences(many[columns], copied, 2, persons=many["person"].to_numpy() % np.uint64(20))
    assert few == ((), ())


def test_pearsons_chi_squared_counts_persons():
    rng = np.random.default_rng(5)
    level, inside = rng.integers(0, 3, PERSONS), rng.random(PERSONS) < 0.4
    counts = [np.bincount(level[side], minlength=3) for side in (inside, ~inside)]
    one_each = compare_category_counts(*counts)
    who = np.repeat(np.arange(PERSONS), EACH)
    sums = [
        tuple(
            person_sums(np.repeat((level == one)[side], EACH).astype(float), who[np.repeat(side, EACH)], PERSONS)
            for side in (inside, ~inside)
        )
        for one in range(3)
    ]
    copied = [EACH * one for one in counts]
    by_persons = compare_categories_of_persons(compare_category_counts(*copied), *copied, sums)
    assert by_persons.statistic == pytest.approx(one_each.statistic, rel=0.02)
    assert by_persons.chi_squared_p_value == pytest.approx(one_each.chi_squared_p_value, rel=0.03)
    assert by_persons.effect_size == pytest.approx(one_each.effect_size)


@pytest.mark.parametrize(("feature", "protected"), [("x0", "x1"), ("job", "group"), ("x0", "group")])
def test_proxies_of_few_persons_are_not_measured(feature, protected):
    frame = people(6).head(29)
    frame = frame.loc[frame.index.repeat(EACH)].reset_index(drop=True)
    (by_rows,) = proxy_table(frame, [feature], [protected]).proxies
    (by_persons,) = proxy_table(frame, [feature], [protected], person="person").proxies
    assert by_rows.strength is not None
    assert by_persons.strength is None
    assert "30 persons" in str(by_persons.reason)
