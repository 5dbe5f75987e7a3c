"""Tables become arrays."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bdt_core.errors import DataError
from bdt_core.table.encoding import Encoder, as_frame, column_kind, exact_sum, level_name, mean_and_std

FRAME = pd.DataFrame(
    {
        "n": [1.0, 2.0, np.nan, 4.0, 1.0],
        "k": [7, 7, 7, 7, 7],
        "t": ["b", "a", "b", None, "c"],
        "f": [True, False, True, True, True],
    }
)


def test_kinds_follow_the_dtypes():
    frame = pd.DataFrame(
        {
            "i": [1],
            "u": np.array([1], np.uint8),
            "n": pd.array([1], "Int64"),
            "b": [True],
            "s": ["x"],
            "o": np.array(["x"], object),
            "c": pd.Categorical(["x"]),
            "nb": pd.array([True], "boolean"),
        }
    )
    kinds = {name: column_kind(frame[name]) for name in frame}
    numeric = ["i", "u", "n"]
    assert kinds == {name: "numeric" if name in numeric else "categorical" for name in frame}


def test_levels_are_ordered_by_frequency_then_name_and_missing_is_one():
    encoder = Encoder.fit(FRAME)
    levels = {column.name: column.levels for column in encoder.categorical}
    assert levels == {"t": ("b", "a", "c", None), "f": ("True", "False")}
    codes = dict(zip([column.name for column in encoder.categorical], encoder.transform(FRAME).codes, strict=True))
    assert codes["t"].tolist() == [0, 1, 0, 3, 2]
    unseen = encoder.transform(FRAME.assign(t=["z", "a", "b", None, "c"]))
    assert dict(zip("ft", unseen.codes, strict=True))["t"].tolist() == [4, 1, 0, 3, 2]
    assert encoder.levels == (3, 5)


def test_missing_categories_that_training_did_not_have_are_unseen():
    encoder = Encoder.fit(pd.DataFrame({"c": ["x", "y"]}))
    assert encoder.transform(pd.DataFrame({"c": [None, "y"]})).codes.tolist() == [[2, 1]]


def test_numbers_are_standardised_and_missing_ones_flagged():
    encoder = Encoder.fit(FRAME, dtype="float64")
    assert [(column.name, flag) for column, flag in encoder.fields] == [("k", False), ("n", False), ("n", True)]
    constant, value, flag = encoder.transform(FRAME).numeric
    assert constant.tolist() == [0.0] * 5
    known = FRAME["n"].dropna()
    expected = (FRAME["n"] - known.mean()) / known.std(ddof=0)
    np.testing.assert_allclose(value, expected.fillna(0.0), atol=1e-12)
    np.testing.assert_allclose(flag, np.where(FRAME["n"].isna(), 0.8, -0.2) / 0.4, atol=1e-12)


def test_without_scaling_numbers_are_only_centred():
    encoder = Encoder.fit(FRAME, scale=False, dtype="float64")
    _, value, flag = encoder.transform(FRAME).numeric
    np.testing.assert_allclose(value, (FRAME["n"] - 2.0).fillna(0.0), atol=1e-12)
    np.testing.assert_allclose(flag, [-0.2, -0.2, 0.8, -0.2, -0.2], atol=1e-12)


def test_without_centring_numbers_stay_as_they_are():
    encoder = Encoder.fit(FRAME[["k"]].assign(m=0.1), centre=False, dtype="float64")
    assert encoder.transform(FRAME[["k"]].assign(m=0.1)).numeric.tolist() == [[7.0] * 5, [0.1] * 5]


def test_a_flag_only_where_training_rows_were_missing():
    encoder = Encoder.fit(pd.DataFrame({"a": [0.0, 2.0]}))
    assert encoder.transform(pd.DataFrame({"a": [np.nan, 2.0]})).numeric.tolist() == [[0.0, 1.0]]


def test_a_column_missing_everywhere_has_no_weight():
    encoded = Encoder.fit(pd.DataFrame({"a": [np.nan, np.nan]})).transform(pd.DataFrame({"a": [np.nan, 5.0]}))
    assert encoded.numeric.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_are_one_contiguous_row_per_column(dtype):
    encoded = Encoder.fit(FRAME, dtype=dtype).transform(FRAME)
    assert encoded.numeric.flags.c_contiguous
    assert encoded.numeric.dtype == dtype
    assert encoded.codes.flags.c_contiguous
    assert encoded.codes.dtype == np.uint8
    assert encoded.rows == 5


@pytest.mark.parametrize(("levels", "dtype"), [(255, np.uint8), (256, np.uint16), (65_535, np.uint16)])
def test_codes_are_as_narrow_as_they_can_be(levels, dtype):
    frame = pd.DataFrame({"c": [f"l{index}" for index in range(levels)]})
    encoder = Encoder.fit(frame)
    codes = encoder.transform(frame).codes
    assert codes.dtype == dtype
    assert len(np.unique(codes)) == levels
    assert encoder.transform(pd.DataFrame({"c": ["new"]})).codes.tolist() == [[levels]]


def test_too_many_levels_look_like_an_identifier():
    frame = pd.DataFrame({"who": np.arange(65_536).astype(str)})
    with pytest.raises(DataError, match=r'"who" has 65,536 different values: it looks like an identifier'):
        Encoder.fit(frame)


def test_integers_that_turn_into_floats_keep_their_level():
    encoder = Encoder.fit(pd.DataFrame({"zip": [10, 10, 20]}), kinds={"zip": "categorical"})
    assert encoder.transform(pd.DataFrame({"zip": [20.0, np.nan, 10.0]})).codes.tolist() == [[1, 2, 0]]
    assert level_name(0.5) == "0.5"


@pytest.mark.parametrize("dtype", ["object", pd.StringDtype(na_value=np.nan), "category"])
def test_text_dtypes_agree(dtype):
    encoder = Encoder.fit(FRAME[["t"]])
    other = Encoder.fit(FRAME[["t"]].astype(dtype))
    assert encoder == other
    assert encoder.transform(FRAME[["t"]].astype(dtype)).codes.tolist() == [[0, 1, 0, 3, 2]]


def test_unused_levels_of_a_categorical_dtype_are_not_levels():
    column = pd.Categorical(["x", "y", "x"], categories=["w", "x", "y"])
    assert Encoder.fit(pd.DataFrame({"c": column})).categorical[0].levels == ("x", "y")


def test_the_encoder_survives_json():
    for settings_ in ({}, {"scale": False, "dtype": "float64"}, {"centre": False, "kinds": {"n": "categorical"}}):
        encoder = Encoder.fit(FRAME, **settings_)
        again = Encoder.from_dict(json.loads(json.dumps(encoder.to_dict(), allow_nan=False)))
        assert again == encoder
        one, two = encoder.transform(FRAME), again.transform(FRAME)
        assert one.numeric.tobytes() == two.numeric.tobytes()
        assert one.codes.tobytes() == two.codes.tobytes()


def test_row_order_does_not_matter():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.lognormal(0, 3, 5000), "c": rng.integers(0, 50, 5000).astype(str)})
    order = rng.permutation(5000)
    assert Encoder.fit(frame) == Encoder.fit(frame.iloc[order])


def test_sums_of_encoded_numbers_are_exact():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.lognormal(0, 2, 20_000), "b": rng.normal(1e6, 1, 20_000)})
    for dtype in ("float32", "float64"):
        for column in Encoder.fit(frame, dtype=dtype).transform(frame).numeric.astype(np.float64):
            exact = math.fsum(column)
            for _ in range(3):
                assert np.cumsum(rng.permutation(column))[-1] == exact


def test_the_grid_is_finer_than_the_precision_of_float32():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.normal(size=100_000)})
    encoded = Encoder.fit(frame).transform(frame).numeric[0]
    plain = ((frame["a"] - frame["a"].mean()) / frame["a"].std(ddof=0)).to_numpy().astype(np.float32)
    assert np.abs(encoded - plain).max() <= 2e-7 * np.abs(plain).max()
    assert (encoded == plain).mean() > 0.97


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (FRAME.assign(n=np.inf), 'Column "n" contains inf'),
        (FRAME.assign(n=-np.inf), 'Column "n" contains inf'),
        (FRAME.assign(n=1e150), 'Column "n" contains values beyond'),
        (FRAME.assign(n=pd.Timestamp("2020-01-01")), 'Column "n" is datetime'),
        (np.zeros(3), "Expected a table"),
        (np.zeros((2, 0)), "0 feature"),
    ],
)
def test_what_cannot_be_encoded_is_named(table, message):
    with pytest.raises(DataError, match=message):
        Encoder.fit(table)


def test_what_changed_since_training_is_named():
    encoder = Encoder.fit(FRAME)
    with pytest.raises(DataError, match='Column "n" was expected to hold numbers'):
        encoder.transform(FRAME.assign(n="many"))
    with pytest.raises(DataError, match='Missing: "n".*Did you mean "nn"'):
        encoder.transform(FRAME.rename(columns={"n": "nn"}))
    with pytest.raises(DataError, match='no column "m"'):
        Encoder.fit(FRAME, kinds={"m": "numeric"})
    with pytest.raises(TypeError, match="Sparse"):
        Encoder.fit(sparse.csr_matrix(np.eye(2)))


def test_tables_of_other_makers():
    arrow = pa.table({"n": [1.0, None], "t": ["x", "y"]})
    assert list(as_frame(arrow).columns) == ["n", "t"]
    assert Encoder.fit(arrow).categorical[0].levels == ("x", "y")
    array = np.array([[1, "a"], [2, "b"]], dtype=object)
    encoder = Encoder.fit(array)
    assert [column.name for column in encoder.numeric] == ["x0"]
    assert [column.name for column in encoder.categorical] == ["x1"]
    assert list(as_frame(pd.DataFrame({3: [1]})).columns) == ["3"]


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=60), st.randoms())
@settings(max_examples=60, deadline=None)
def test_sums_do_not_depend_on_order_and_are_close(values, random):
    array = np.array(values)
    shuffled = np.array(random.sample(values, len(values)))
    assert exact_sum(array) == exact_sum(shuffled)
    assert mean_and_std(array) == mean_and_std(shuffled)
    scale = max(np.abs(array).max(), 1e-300)
    assert abs(exact_sum(array) - math.fsum(values)) <= 1e-12 * scale
    np.testing.assert_allclose(mean_and_std(array), [array.mean(), array.std()], rtol=1e-7, atol=1e-9 * scale)


AWKWARD = pd.DataFrame(
    {
        "text": ["b", "a", None, "b"] * 30,
        "small": np.array([-128, 127, 0, 0] * 30, np.int8),
        "large": np.array([2**63, 5, 5, 2**64 - 1] * 30, np.uint64),
        "far": [-(10**12), 0, 10**12, 3] * 30,
        "near": [7, 9, 7, -2] * 30,
        "fraction": [0.5, np.nan, 1.0, 1.0] * 30,
        "flag": [True, False, False, False] * 30,
        "nullable": pd.array([1, None, 3, 3] * 30, dtype="Int64"),
    }
)


@pytest.mark.parametrize("kinds", [{}, dict.fromkeys(AWKWARD, "categorical")])
def test_fit_transform_is_fit_and_transform(kinds):
    encoder, encoded = Encoder.fit_transform(AWKWARD, kinds=kinds)
    assert encoder == Encoder.fit(AWKWARD, kinds=kinds)
    again = encoder.transform(AWKWARD)
    assert encoded.numeric.tobytes() == again.numeric.tobytes()
    assert encoded.codes.tobytes() == again.codes.tobytes()
    assert encoded.numeric.shape == again.numeric.shape == (len(encoder.fields), 120)
    assert encoded.codes.dtype == again.codes.dtype


@pytest.mark.parametrize("name", AWKWARD.columns)
def test_levels_do_not_depend_on_how_they_are_counted(name):
    column = AWKWARD[name]
    encoder, encoded = Encoder.fit_transform(column.to_frame(), kinds={name: "categorical"})
    levels = encoder.categorical[0].levels
    texts = [None if pd.isna(value) else level_name(value) for value in column.astype(object)]
    assert [levels[code] for code in encoded.codes[0]] == texts
    assert sorted(levels, key=str) == sorted(set(texts), key=str)


def test_codes_widen_where_a_later_column_needs_it():
    frame = pd.DataFrame({"a": [0, 1] * 150, "b": range(300)})
    encoder, encoded = Encoder.fit_transform(frame, kinds={"a": "categorical", "b": "categorical"})
    assert encoded.codes.dtype == np.uint16
    for column, codes in zip(encoder.categorical, encoded.codes, strict=True):
        assert [column.levels[code] for code in codes] == [str(value) for value in frame[column.name]]


def test_tables_of_any_memory_order_encode_alike():
    values = np.random.default_rng(0).normal(size=(9000, 6))
    by_rows, by_columns = np.ascontiguousarray(values), np.asfortranarray(values)
    first, second = (Encoder.fit_transform(one)[1].numeric for one in (by_rows, by_columns))
    assert first.tobytes() == second.tobytes()
    # Columns are read in groups of four, in parts of 8,192 rows.
    np.testing.assert_allclose(first[5], (values[:, 5] - values[:, 5].mean()) / values[:, 5].std(), atol=1e-6)
