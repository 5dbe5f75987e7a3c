"""HBAC as a scikit-learn estimator: its contract, its settings, its storage."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from bdt_core.clustering import HBAC
from bdt_core.errors import BDTError, DataError, SpecError

NEEDS_Y = "the check calls fit(X): clusters of a bias variable cannot be found without it"
EXPECTED = {"check_clustering": NEEDS_Y, "check_clustering(readonly_memmap=True)": NEEDS_Y}


@parametrize_with_checks([HBAC()], expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def people(rows: int = 600, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": generator.integers(18, 80, rows).astype(float),
            "income": np.exp(generator.normal(10, 1, rows)),
            "city": generator.choice(["Delft", "Gouda", "Hoorn", "Breda"], rows, p=[0.4, 0.3, 0.2, 0.1]),
            "member": generator.random(rows) < 0.4,
        }
    )
    frame.loc[generator.random(rows) < 0.1, "age"] = np.nan
    frame.loc[generator.random(rows) < 0.1, "city"] = None
    wrong = (generator.random(rows) < 0.15 + 0.5 * (frame["city"] == "Gouda")).to_numpy().astype(float)
    return frame, wrong


@pytest.mark.parametrize("method", ["auto", "kmodes"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_stored_model_predicts_the_same_to_the_bit(method, dtype):
    frame, y = people()
    model = HBAC(method, dtype=dtype, random_state=3).fit(frame, y)
    text = json.dumps(model.to_dict(), allow_nan=False)
    again = HBAC.from_dict(json.loads(text))
    more, _ = people(seed=1)
    for route in ("tree", "centroid"):
        assert again.predict(more, route=route).tobytes() == model.predict(more, route=route).tobytes()
    assert json.dumps(again.to_dict()) == text
    assert again.get_params() == model.get_params()
    assert again.gaps_.tobytes() == model.gaps_.tobytes()
    assert again.tree_.path(0) == model.tree_.path(0)


def test_something_else_than_a_stored_model_is_refused():
    with pytest.raises(DataError, match=r"bdt\.hbac/1"):
        HBAC.from_dict({"format": "bdt.hbac/0"})


def test_clone_keeps_settings_and_pickle_keeps_the_fit():
    frame, y = people()
    model = HBAC(random_state=7, max_iter=3, min_cluster_size=0.05).fit(frame, y)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.fit(frame, y).labels_.tobytes() == model.labels_.tobytes()
    assert pickle.loads(pickle.dumps(model)).predict(frame).tobytes() == model.labels_.tobytes()
    assert twin.set_params(better="higher").fit(frame, y).gaps_[0] >= 0


def test_arrow_tables_and_frames_give_the_same():
    frame, y = people()
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    model, same = HBAC().fit(frame, y), HBAC().fit(arrow, y)
    assert model.labels_.tobytes() == same.labels_.tobytes()
    assert list(same.feature_names_in_) == list(frame.columns)
    assert same.predict(frame).tobytes() == model.labels_.tobytes()


def test_arrays_have_no_names():
    model = HBAC().fit(np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0))
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2


def test_progress_counts_splits_up_to_the_last():
    frame, y = people()
    seen: list[tuple[int, int]] = []
    HBAC(max_iter=4).fit(frame, y, progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[0] == (1, 4)
    assert seen[-1] == (4, 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "kmean"}, 'method must be one of .* Did you mean "kmeans"'),
        ({"engine": "sklearn"}, "engine must be one of"),
        ({"better": "up"}, "better must be one of"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"n_init": True}, "n_init must be a whole number"),
        ({"min_cluster_size": 0}, "min_cluster_size must be a share"),
        ({"min_cluster_size": 1.5}, "min_cluster_size must be a share"),
        ({"min_cluster_size": float("nan")}, "min_cluster_size must be a share"),
        ({"margin": -1}, "margin must be a number"),
        ({"scale": "yes"}, "scale must be True or False"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(SpecError, match=message):
        HBAC(**settings).fit([[0.0], [1.0]], [0, 1])


TWO = pd.DataFrame({"a": [0.0, 1.0], "b": ["x", "y"]})


@pytest.mark.parametrize(
    ("table", "y", "message"),
    [
        (TWO.assign(a=[0.0, np.inf]), [0, 1], 'Column "a" contains inf'),
        (TWO.assign(a=[0.0, -np.inf]), [0, 1], 'Column "a" contains inf'),
        (TWO.assign(a=[0.0, 1e200]), [0, 1], 'Column "a" contains values beyond'),
        (TWO.assign(a=pd.to_datetime(["2020", "2021"])), [0, 1], 'Column "a" is datetime'),
        (TWO.assign(a=[1 + 2j, 0]), [0, 1], "Complex data not supported"),
        (TWO.assign(b=[["x"], ["y"]]), [0, 1], 'Column "b" holds lists'),
        (pd.concat([TWO, TWO[["a"]]], axis=1), [0, 1], "same name"),
        (TWO[:0], [], "0 sample"),
        (TWO, [0, np.nan], "y, the bias variable, contains NaN or inf in 1 rows"),
        (TWO, [0, -np.inf], "y, the bias variable, contains NaN or inf in 1 rows"),
        (TWO, ["p", "q"], "must hold numbers"),
        (TWO, [0, 1, 2], "X has 2 rows and y has 3"),
        (TWO, None, "requires y"),
        (TWO, [[0, 1], [1, 0]], "one number per row"),
    ],
)
def test_wrong_data_is_named(table, y, message):
    with pytest.raises(BDTError, match=message):
        HBAC().fit(table, y)


def test_an_identifier_is_refused_by_name():
    frame = pd.DataFrame({"id": [f"p{index}" for index in range(70_000)]})
    with pytest.raises(DataError, match=r'Column "id" has 70,000 different values: .* identifier'):
        HBAC().fit(frame, np.arange(70_000) % 2)


@pytest.mark.parametrize("of", ["text", "number"])
def test_categories_up_to_the_limit_are_taken_and_one_more_is_not(of):
    rows = np.arange(70_000)
    y = (rows % 2).astype(float)
    values = np.minimum(rows, 65_534)  # 65,535 levels
    frame = pd.DataFrame({"id": values.astype("U5") if of == "text" else values, "b": rows % 3})
    model = HBAC("kmodes", max_iter=2, min_cluster_size=1).fit(frame, y)
    assert model.n_clusters_ > 1
    assert model.predict(frame).tobytes() == model.labels_.tobytes()
    frame["id"] = np.minimum(rows, 65_535).astype("U5") if of == "text" else np.minimum(rows, 65_535)
    with pytest.raises(DataError, match=r'Column "id" has 65,536 different values'):
        HBAC("kmodes").fit(frame, y)


def test_methods_say_which_columns_they_cannot_take():
    with pytest.raises(DataError, match='kmeans" needs numbers, but "b" is categorical'):
        HBAC("kmeans").fit(TWO, [0, 1])
    with pytest.raises(DataError, match='not both, and "b" is categorical'):
        HBAC(engine="reference").fit(TWO, [0, 1])
    with pytest.raises(DataError, match='"x0" has missing values, which the reference'):
        HBAC(engine="reference").fit([[np.nan], [1.0]], [0, 1])


def test_predict_wants_the_columns_of_the_fit():
    frame, y = people(100)
    model = HBAC()
    with pytest.raises(NotFittedError):
        model.predict(frame)
    model.fit(frame, y)
    with pytest.raises(DataError, match='Missing: "city"'):
        model.predict(frame.drop(columns="city").assign(town="Delft"))
    with pytest.raises(DataError, match='expecting 4 features as input. Not expected: "more"'):
        model.predict(frame.assign(more=1))
    with pytest.raises(SpecError, match="route"):
        model.predict(frame, route="nearest")
    shuffled = frame[frame.columns[::-1]]
    assert model.predict(shuffled).tobytes() == model.labels_.tobytes()


@pytest.mark.parametrize(
    ("table", "y"),
    [
        (np.ones((30, 2)), np.arange(30)),  # nothing varies
        (pd.DataFrame({"a": ["x"] * 30}), np.arange(30)),  # one category only
        (pd.DataFrame({"a": [None] * 30, "b": [np.nan] * 30}), np.arange(30)),  # all missing
        (np.arange(60.0).reshape(30, 2), np.ones(30)),  # y does not vary
        (np.zeros((1, 1)), np.zeros(1)),  # one row
        (np.tile([[3.0, -1e9]], (20_000, 1)), np.arange(20_000) % 7),  # copies of one row, more than a sample
    ],
)
@pytest.mark.parametrize("engine", ["bdt", "reference"])
def test_what_cannot_be_told_apart_is_one_cluster(table, y, engine):
    if engine == "reference" and isinstance(table, pd.DataFrame) and "b" in table:
        pytest.skip("the libraries refuse missing numbers")
    model = HBAC(engine=engine, min_cluster_size=1).fit(table, y)
    assert model.n_clusters_ == 1
    assert model.gaps_.tolist() == [0.0]
    assert model.predict(table).tolist() == [0] * len(y)
    assert model.predict(table, route="centroid").tolist() == [0] * len(y)


@pytest.mark.parametrize("method", ["auto", "kmodes"])
@pytest.mark.parametrize("rows", [30, 20_000])  # fewer and more than a sample takes
def test_copies_of_two_rows_are_two_clusters(method, rows):
    frame = pd.DataFrame({"n": [1.0, 2.0], "c": ["x", "y"]}).iloc[np.arange(rows) % 3 // 2].reset_index(drop=True)
    y = (frame["n"] == 2).to_numpy() + np.arange(rows) % 2
    model = HBAC(method, min_cluster_size=1).fit(frame, y)
    assert model.labels_.tolist() == (frame["n"] == 1).astype(int).tolist()
    assert model.predict(frame).tobytes() == model.labels_.tobytes()
    one_of_them = HBAC(method, min_cluster_size=0.4).fit(frame, y)  # the rarer row alone is too small a cluster
    assert one_of_them.n_clusters_ == 1


@pytest.mark.parametrize("size", [51, 0.51, 101, 10**9])
@pytest.mark.parametrize("engine", ["bdt", "reference"])
def test_a_minimum_over_half_of_the_rows_is_one_cluster(engine, size):
    frame, y = people(100)
    frame = frame if engine == "bdt" else frame[["income"]]
    model = HBAC(engine=engine, min_cluster_size=size).fit(frame, y)
    assert model.n_clusters_ == 1
    assert model.n_iter_ == (engine == "reference")  # which, like the original tool, tries once
    assert model.predict(frame).tolist() == [0] * 100


def test_constant_columns_change_nothing():
    frame, y = people()
    model = HBAC().fit(frame, y)
    more = HBAC().fit(frame.assign(zzz=1.0, zzzz="same"), y)
    assert model.labels_.tobytes() == more.labels_.tobytes()
