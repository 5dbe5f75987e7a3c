"""Count tables: exact, mergeable, and honest about what is missing."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness import CountTable, Threshold, count_rows, merge
from bdt_core.fairness.coding import code_column
from bdt_core.fairness.counts import FIXED_POINT

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["f", "m", "x", None]),
        st.sampled_from([1, 2, None]),
        st.sampled_from([0, 1, None]),
        st.sampled_from([0, 1, None]),
        st.sampled_from(["A", "B", None]),
        st.one_of(st.none(), st.floats(-0.2, 1.2)),
        st.floats(0, 50),
    ),
    min_size=1,
    max_size=40,
)
NAMES = ["sex", "band", "label", "prediction", "dept", "score", "weight"]


def table_of(rows: list[tuple[object, ...]]) -> CountTable:
    frame = pd.DataFrame(rows, columns=NAMES).astype({"score": "float64", "weight": "float64"})
    return count_rows(
        frame,
        ["sex", "band"],
        label="label",
        prediction="prediction",
        stratum="dept",
        score="score",
        weight="weight",
    )


@given(ROWS, st.randoms(use_true_random=False), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_any_parts_in_any_order_add_up_to_the_whole(rows, random, parts):
    whole = table_of(rows)
    shuffled = random.sample(rows, len(rows))
    cuts = [shuffled[i::parts] for i in range(parts) if shuffled[i::parts]]
    assert merge(table_of(part) for part in cuts).to_dict() == whole.to_dict()


@given(ROWS)
@settings(max_examples=40, deadline=None)
def test_json_and_arrow_give_the_table_back(rows):
    table = table_of(rows)
    assert CountTable.from_dict(json.loads(json.dumps(table.to_dict()))) == table
    assert table.rows == len(rows)


@given(ROWS)
@settings(max_examples=40, deadline=None)
def test_missing_values_are_counted_and_leave_known_rows_alone(rows):
    table = table_of(rows)
    frame = pd.DataFrame(rows, columns=NAMES)
    assert table.missing() == {
        name: int(frame[name].isna().sum()) for name in ("sex", "band", "dept", "label", "prediction", "score")
    }
    known = frame.dropna(subset=["sex", "band", "label", "prediction"])
    assert table.known().rows == len(known)
    assert table.known(in_strata=True).rows == len(known.dropna(subset=["dept"]))
    assert table.by("sex").known().rows == len(frame.dropna(subset=["sex", "label", "prediction"]))


def test_counts_equal_a_group_by():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.choice(list("abc"), 5_000) for name in ("one", "two", "label", "prediction")})
    table = count_rows(frame, ["one", "two"], label="label", prediction="prediction").to_frame()
    wanted = frame.value_counts().rename("counts").reset_index().sort_values(list(frame.columns))
    pd.testing.assert_frame_equal(
        table.reset_index(drop=True), wanted.reset_index(drop=True), check_dtype=False, check_like=False
    )


def test_sums_of_scores_and_weights_are_right_to_the_fixed_point():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"g": rng.integers(0, 3, 200_000), "y": 1, "s": rng.random(200_000), "w": rng.random(200_000) * 10}
    )
    table = count_rows(frame, "g", label="y", score="s", weight="w")
    by_group = frame.assign(ws=frame.w * frame.s, wss=frame.w * frame.s**2, ww=frame.w**2).groupby("g").sum()
    axes = (1, 2, 3, 4)
    for array, name, rtol in (
        (table.weights, "w", 1e-9),
        (table.scores, "ws", 1e-9),
        (table.squared_scores, "wss", 1e-9),
    ):
        np.testing.assert_allclose(array.sum(axis=axes) / FIXED_POINT, by_group[name], rtol=rtol)
    np.testing.assert_allclose(table.squared_weights.sum(axis=axes) / FIXED_POINT * 1024, by_group["ww"], rtol=1e-6)


def test_whole_floats_numbers_and_booleans_are_one_level_in_any_order():
    parts = [
        count_rows(pd.DataFrame({"g": ["a"], "y": values}), "g", label="y")
        for values in ([1.0], np.array([True]), pd.array([1], dtype="Int64"))
    ]
    tables = [merge(order).to_dict() for order in (parts, parts[::-1])]
    assert tables[0] == tables[1]
    assert tables[0]["labels"] == [1]
    assert not isinstance(tables[0]["labels"][0], bool)


def test_column_types_do_not_matter():
    values = ["b", "a", None, "a"]
    types = [pd.Series(values, dtype=dtype) for dtype in ("object", "str", "string", "category", "string[pyarrow]")]
    types.append(pd.concat([types[1].head(2), types[1].tail(2)], ignore_index=True))  # in two chunks
    tables = [count_rows(pd.DataFrame({"g": one, "y": [1, 0, 1, 1]}), "g", label="y") for one in types]
    assert all(one == tables[0] for one in tables)


@pytest.mark.parametrize("values", [[], [None, None], ["b", None, "a", "b"], ["1", "", "1"]])
def test_text_is_coded_in_the_order_of_its_rows(values):
    coded = code_column(pd.DataFrame({"g": pd.Series(values, dtype="str")}), "g")
    assert [coded.levels[code] for code in coded.codes] == values
    assert coded.levels == tuple(dict.fromkeys(sorted(values, key=lambda one: one is None)))
    assert coded.codes.dtype == np.uint8


WHOLE = {
    "small": np.arange(-5, 40),
    "bytes": np.arange(-128, 128, dtype="int8"),
    "unsigned": np.arange(65_000, 65_536, dtype="uint16"),
    "beyond signed": np.arange(9, dtype="uint64") + np.uint64(2**63 + 5),
    "far apart": np.array([-7, 60_000, 3]),
    "too far apart": np.array([-7, 10**9, 3]),
    "floats": np.array([-3.0, 0.0, -0.0, 9.0, np.nan]),
    "halves": np.array([0.5, 1.0, -2.5]),
    "single": np.array([1.0, 2.0, np.nan], dtype="float32"),
    "large floats": np.array([2.0**40, 2.0**40 + 3, 2.0**53]),
    "nearly whole": np.array([1e-17, -65_000.0, 0.5]),
    "infinite": np.array([np.inf, 0.0, -np.inf]),
    "truth": np.array([True, False]),
    "masked": pd.array([1, None, -4, 200], dtype="Int64"),
    "masked truth": pd.array([True, None, False], dtype="boolean"),
}


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("rows", [7, 150_001])
def test_numbers_are_counted_as_a_group_by_counts_them(kind, rows):
    rng = np.random.default_rng(rows)
    values = pd.Series(WHOLE[kind])
    column = values.iloc[rng.integers(0, len(values), rows)].reset_index(drop=True)
    frame = pd.DataFrame({"g": column, "y": rng.integers(0, 2, rows), "p": rng.integers(0, 3, rows)})
    table = count_rows(frame, "g", label="y", prediction="p")
    counted = {
        tuple(one): n for *one, n in table.to_frame().astype(object).where(lambda x: x.notna(), None).values.tolist()
    }
    wanted = frame.astype(object).where(frame.notna(), None).value_counts(dropna=False).to_dict()
    assert counted == {tuple(None if pd.isna(x) else x for x in one): n for one, n in wanted.items()}


def test_chunks_add_up_in_little_memory():
    """Time and memory of counting chunk by chunk do not depend on how many there were."""

    def chunk(seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        return pd.DataFrame(
            {"g": rng.integers(0, 40, 100_000), "y": rng.integers(0, 2, 100_000), "s": rng.random(100_000)}
        )

    def peak(chunks: int) -> int:
        tracemalloc.start()
        table = merge(count_rows(chunk(seed), "g", label="y", score="s") for seed in range(chunks))
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert table.rows == 100_000 * chunks
        return used

    peak(1)
    few, many = peak(2), peak(20)
    assert many < 1.1 * few
    assert many < 5 * chunk(0).memory_usage().sum()
    whole = count_rows(pd.concat([chunk(seed) for seed in range(3)]), "g", label="y", score="s")
    assert whole == merge(count_rows(chunk(seed), "g", label="y", score="s") for seed in (2, 0, 1))


def test_no_rows_add_nothing():
    frame = pd.DataFrame({"g": ["a", "b"], "y": [0, 1], "p": ["u", "v"]})
    whole = count_rows(frame, "g", label="y", prediction="p")
    assert whole + count_rows(frame[:0], "g", label="y", prediction="p") == whole


def test_a_declared_category_without_rows_stays():
    facet = pd.Categorical(["a", "a"], categories=["a", "b"])
    assert count_rows(pd.DataFrame({"g": facet, "y": [0, 1]}), "g", label="y").groups == (("a",), ("b",))


def test_intersections_of_wide_columns_are_counted_sparsely():
    n = 3_000
    frame = pd.DataFrame({name: [f"{name}{i}" for i in range(n)] for name in ("a", "b", "c")} | {"y": 1})
    assert len(count_rows(frame, ["a", "b", "c"], label="y").groups) == n


def test_threshold_is_strict_and_keeps_missing_apart():
    frame = pd.DataFrame({"age": [39.0, 40.0, 40.5, np.nan], "y": [0, 1, 1, 1]})
    table = count_rows(frame, "age", label="y", thresholds={"age": Threshold(40)})
    assert table.groups == (("<= 40",), ("> 40",), (None,))
    assert table.counts.sum(axis=(1, 2, 3, 4)).tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f: count_rows(f, "sx", label="y"), DataError, 'no column "sx". Did you mean "sex"'),
        (lambda f: count_rows(f, "sex"), SpecError, "label, a prediction or both"),
        (lambda f: count_rows(f, [], label="y"), SpecError, "one or more different facets"),
        (lambda f: count_rows(f, "sex", label="y", weight="w"), DataError, "1 of 2 weights"),
        (lambda f: count_rows(f, "sex", label="y", score="sex"), DataError, "must be numeric"),
        (lambda f: count_rows(f, "lists", label="y"), DataError, "cannot be compared"),
        (lambda f: count_rows(f, "sex", label="y").by("age"), SpecError, "was not counted"),
        (lambda f: merge([]), DataError, "no count table"),
        (lambda f: count_rows(f, "sex", label="y") + count_rows(f, "y", label="y"), DataError, "different columns"),
        (lambda f: CountTable.from_dict({}), DataError, "schema"),
        (lambda f: Threshold(float("nan")), DataError, "finite"),
    ],
)
def test_what_cannot_be_counted_is_said(call, error, words):
    frame = pd.DataFrame({"sex": ["f", "m"], "y": [0, 1], "w": [1.0, -1.0], "lists": [[1], [2]]})
    with pytest.raises(error, match=words.replace("(", r"\(")):
        call(frame)


def test_too_many_combinations_are_refused():
    n = 20_000
    frame = pd.DataFrame({"g": np.arange(n), "y": np.arange(n) * 1.5})
    with pytest.raises(DataError, match="threshold"):
        count_rows(frame, "g", label="y")


@pytest.mark.parametrize("kind", ["int64", "int8", "uint16", "uint64", "Int64"])
@pytest.mark.parametrize("late", [0, 127, 128, -1])
def test_small_whole_numbers_are_counted_as_all_others_are(kind, late):
    if (late < 0 and kind.startswith("u")) or (late > 127 and kind == "int8"):
        late = 1
    values = pd.Series(np.arange(140_000) % 120 + 3)  # more than are looked at in one go
    values.iloc[-1] = late
    group = values.astype(kind)
    if kind == "Int64":
        group.iloc[:7] = pd.NA
    table = count_rows(pd.DataFrame({"g": group, "y": values % 2}), "g", label="y")
    expected = group.value_counts(dropna=False)
    found = {level: int(n.sum()) for (level,), n in zip(table.groups, table.counts, strict=True)}
    assert found == {None if pd.isna(level) else int(level): n for level, n in expected.items()}
    assert list(found) == sorted(found, key=lambda level: (level is None, level))
