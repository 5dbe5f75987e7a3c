"""Roles, types, warnings and the split."""

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.errors import DataError
from bdt_core.said import Said, say
from bdt_core.spec import AuditSpec, Split, parse_spec
from bdt_core.table.audit_table import AuditTable, tidy
from bdt_core.table.ranks import lowest, mixed, occurrence_numbers
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.roles import settle_type
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate

N = 600


def table(seed: int = 0, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "city": rng.choice(["Riga", "Oslo", "Bern"], n),
            "member": rng.random(n) < 0.5,
            "sex": rng.choice(["f", "m"], n),
            "label": rng.integers(0, 2, n),
            "said": rng.integers(0, 2, n),
        }
    )


def spec(**change) -> AuditSpec:
    base = {
        "name": "t",
        "source": {"path": "x.csv"},
        "bias_variable": {"derive": "error", "label": "label", "prediction": "said"},
        "protected": ["sex"],
    }
    return parse_spec({**base, **change})


def test_features_are_all_columns_that_are_not_used_elsewhere():
    checked = validate(table(), spec())
    assert checked.names("feature") == ["age", "city", "member"]
    assert checked.names("protected") == ["sex"]
    assert {one.name: one.kind for one in checked.columns if one.kind} == {
        "age": "numeric",
        "city": "categorical",
        "member": "categorical",
        "sex": "categorical",
    }


def test_numbers_with_a_few_texts_among_them_are_told():
    ages = np.random.default_rng(3).integers(18, 90, N).astype(str).astype(object)
    ages[-1] = "unknown"
    (said,) = validate(table().assign(age=ages), spec()).warnings
    assert re.search(r'"age" is taken for categories, since 1 of its \d\d different values is no number', said)
    assert "unknown" not in said
    assert not validate(table().assign(age=ages), spec(features={"kinds": {"age": "categorical"}})).warnings
    codes = np.array([*map(str, range(100, 120)), *(f"V{i}" for i in range(10))])[np.arange(N) % 30]
    assert not validate(table().assign(code=codes, digits=[str(i % 40) for i in range(N)]), spec()).warnings


def test_outcomes_of_more_than_two_values_are_told():
    said = np.array(["yes", "no", "unknown"])[np.arange(N) % 3]
    bias = {"derive": "error", "label": "label", "prediction": "said", "positive": ["yes", 1]}
    (told,) = validate(table().assign(said=said), spec(bias_variable=bias)).notes
    assert told.startswith(
        'Column "said" (prediction) has 3 different values: those that "bias_variable.positive" names'
    )
    assert not validate(table().assign(said=np.where(said == "yes", "yes", "no")), spec(bias_variable=bias)).notes


def test_the_kind_is_what_the_specification_says():
    checked = validate(
        table().assign(zip_code=np.arange(N) % 7 + 1010),
        spec(features={"kinds": {"zip_code": "categorical"}}),
    )
    assert checked.X["zip_code"].cat.categories.tolist() == [str(1010 + i) for i in range(7)]


def test_whole_numbers_made_float_by_a_hole_keep_their_names():
    holes = table().assign(zip_code=(np.arange(N) % 7 + 1010).astype(float))
    holes.loc[0, "zip_code"] = np.nan
    checked = validate(holes, spec(features={"kinds": {"zip_code": "categorical"}}))
    assert "1010" in checked.X["zip_code"].cat.categories


BAD = {
    "unknown column": ({}, {"protected": ["sexe"]}, 'Did you mean "sex"'),
    "unknown label": (
        {},
        {"bias_variable": {"derive": "error", "label": "lable", "prediction": "said"}},
        'Did you mean "label"',
    ),
    "unknown label that is read row by row": (
        {},
        {
            "bias_variable": {"derive": "error", "label": "lable", "prediction": "said"},
            "local_bias": {"group": "sex"},
        },
        '"bias_variable.label" names the column "lable".*Did you mean "label"',
    ),
    "both parts": ({}, {"features": {"include": ["sex", "age"]}}, "stands in both"),
    "identifier": ({"case": [f"c{i}" for i in range(N)]}, {}, "looks like an identifier"),
    "text in a number": (
        {"x": ["1", "two"] * (N // 2)},
        {"features": {"kinds": {"x": "numeric"}}},
        f"{N // 2} of {N} values",
    ),
    "infinite": ({"x": [np.inf, 1.0] * (N // 2)}, {}, f"holds {N // 2} infinite"),
    "missing forbidden": ({"x": [np.nan, 1.0, 2.0] * (N // 3)}, {"missing": "error"}, f'"x" \\({N // 3}\\)'),
    "nothing left": ({}, {"features": {"exclude": ["age", "city", "member"]}}, "No feature is left"),
    "huge clusters": ({}, {"clustering": {"min_cluster_size": 400}}, "over half of the 480 train rows"),
    "all missing": ({"x": [np.nan] * N}, {"features": {"include": ["x"]}}, "has no value in any row"),
    "reserved": ({"(bias variable)": [1] * N}, {}, "reserved column name"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_table_that_cannot_be_audited_is_refused(case):
    columns, change, words = BAD[case]
    with pytest.raises(DataError, match=words):
        validate(table().assign(**columns), spec(**change))


def test_too_few_rows_say_how_many_are_enough():
    with pytest.raises(DataError, match="50 can be audited.*at least 300 rows"):
        validate(table(n=50), spec())


def test_all_rows_dropped_for_missing_values():
    with pytest.raises(DataError, match="Too few rows: 0 can be audited"):
        validate(
            table().assign(x=[np.nan] * (N - 1) + [1.0]).assign(z=[1.0] + [np.nan] * (N - 1)),
            spec(missing="drop"),
        )


def test_dropped_rows_are_counted():
    checked = validate(table().assign(x=[np.nan, 1.0, 2.0] * (N // 3)), spec(missing="drop"))
    assert len(checked.y) == N - N // 3
    assert [one.rows for one in checked.left_out] == [N // 3]


def test_leaks_and_useless_columns_are_warned_of_by_name():
    rows = table()
    rows["verdict"] = (rows["label"] != rows["said"]).map({True: "wrong", False: "right"})
    rows["row_number"] = np.arange(N)
    rows["country"] = "NL"
    warnings = validate(rows, spec()).warnings
    assert any('"verdict" determines the bias variable' in one for one in warnings)
    assert any('"row_number" numbers the rows' in one for one in warnings)
    assert any('"country" has the same value' in one for one in warnings)
    asked = validate(rows, spec(features={"include": ["age", "said"]})).warnings
    assert any('"said" defines the bias variable' in one for one in asked)


def test_arrow_brings_back_the_same_table():
    checked = validate(table(), spec())
    back = AuditTable.from_arrow(checked.to_arrow())
    pd.testing.assert_frame_equal(back.frame, checked.frame)
    assert (back.columns, back.spec, back.left_out, back.warnings) == (
        checked.columns,
        checked.spec,
        checked.left_out,
        checked.warnings,
    )


def test_arrow_brings_back_the_messages_of_sentences():
    rows = table().assign(country="NL", row_number=range(N))
    rows.loc[:9, "label"] = None
    rows.attrs = ReadingNotes(remarks=(say("{table} is odd", table="a.csv"),)).beside({})
    checked = validate(rows, spec())
    back = AuditTable.from_arrow(checked.to_arrow())
    before, after = (
        [one.id for one in (*x.warnings, *x.notes, *(part.reason for part in x.left_out)) if isinstance(one, Said)]
        for x in (checked, back)
    )
    assert after == before
    assert "{table} is odd" in after
    assert len(after) > 3


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_the_order_of_rows_and_columns_does_not_matter(seed, shuffle):
    rows = table(seed)
    shuffled = rows.sample(frac=1, random_state=shuffle)[sorted(rows.columns, reverse=True)]
    one, other = validate(rows, spec()), validate(shuffled, spec())
    assert one.fingerprint == other.fingerprint
    for a, b in zip(split_rows(one, Split()), split_rows(other, Split()), strict=True):
        pd.testing.assert_frame_equal(a.frame, b.frame[a.frame.columns])


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("method", ["stratified", "hash"])
def test_rows_in_another_order_are_divided_and_ordered_alike(method, distinct):
    frame = table()
    if distinct:
        frame["age"] = np.random.default_rng(1).normal(size=N)
    divided = spec(split={"method": method})
    parts = split_rows(validate(frame, divided), divided.split)
    for one, other in zip(
        parts, split_rows(validate(frame.sample(frac=1.0, random_state=2), divided), divided.split), strict=True
    ):
        pd.testing.assert_frame_equal(one.frame[one.used], other.frame[other.used])


def test_hashes_are_mixed_as_the_published_generator_does():
    """Its first numbers from 1234567 on: who divides the same table in years to come must get the same rows."""
    states = [(1234567 + step * 0x9E3779B97F4A7C15) % 2**64 for step in range(5)]
    assert mixed(np.array(states, dtype=np.uint64)).tolist() == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821
    ]  # fmt: skip


def test_audited_rows_are_those_with_a_bias_variable():
    frame = table().astype({"label": "float64"})
    for unknown in (0, 40):
        frame.loc[: unknown - 1, "label"] = np.nan
        checked = validate(frame, spec())
        assert checked.audited_rows == len(checked.y) == N - unknown
        assert checked.X["age"].tolist() == frame["age"].tolist()[unknown:]
        assert checked.audited.index.tolist() == list(range(N - unknown))


@settings(max_examples=20, deadline=None)
@given(st.floats(0.1, 0.6), st.integers(0, 100))
def test_the_split_keeps_every_row_once_and_the_shares(test_size, seed):
    checked = validate(table(), spec(split={"test_size": test_size}, significance={"min_rows": 5}))
    train, test = split_rows(checked, Split(test_size=test_size, random_state=seed))
    both = pd.concat([train.frame, test.frame])
    assert sorted(both.itertuples(index=False)) == sorted(checked.frame.itertuples(index=False))
    assert len(test.y) == pytest.approx(test_size * len(checked.y), abs=2)
    assert abs(test.y.mean() - train.y.mean()) < 0.02


def test_rows_outside_the_denominator_are_divided_too():
    checked = validate(
        table(n=2000),
        spec(bias_variable={"derive": "false_positive_rate", "label": "label", "prediction": "said"}),
    )
    train, test = split_rows(checked, Split())
    assert len(train.frame) + len(test.frame) == 2000
    assert len(test.frame) == pytest.approx(400, abs=2)
    assert (test.frame["label"] == 1).mean() == pytest.approx((train.frame["label"] == 1).mean(), abs=0.01)


def test_a_carried_column_of_one_value_is_carried_all_the_same():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=400), "sex": "f", "y": rng.integers(0, 2, 400)})
    frame["p"], frame["score"] = rng.integers(0, 2, 400), rng.normal(size=400)
    spec = parse_spec(
        {
            "name": "a",
            "source": {"path": "a.csv"},
            "bias_variable": {"derive": "error", "label": "y", "prediction": "p"},
            "protected": ["sex"],
            "mitigation": {"group": "sex", "score": "score"},
        }
    )
    table = validate(frame, spec)
    assert "sex" in table.frame
    assert "sex" not in table.used


@pytest.mark.parametrize("highest", [2**64 - 1, 2**64 - 2**50, 2**40, 300])
@pytest.mark.parametrize("rows", [0, 1, 70, 999, 1000])
def test_the_lowest_ranks_are_drawn_however_they_are_spread(highest: int, rows: int) -> None:
    ranks = np.unique(np.random.default_rng(5).integers(0, highest, 1500, dtype=np.uint64))
    mixed_up = np.random.default_rng(6).permutation(ranks)
    for all_ranks in (mixed_up, mixed_up | np.uint64(2**63)):
        expected = np.argsort(all_ranks, kind="stable")[:rows]
        np.testing.assert_array_equal(lowest(all_ranks, rows), expected)


@pytest.mark.parametrize("rows", [3, 2000, 5000])
def test_of_equal_ranks_the_first_one_is_the_lowest(rows: int) -> None:
    ranks = np.random.default_rng(7).integers(0, 40, 3000, dtype=np.uint64) << np.uint64(58)
    np.testing.assert_array_equal(lowest(ranks, rows), np.argsort(ranks, kind="stable")[:rows])


@pytest.mark.parametrize("values", ["aab", "ba", "acca", "", "c-a", "-"])
def test_a_tidy_frame_has_the_levels_that_occur_in_the_order_of_the_alphabet(values: str) -> None:
    levels = [None if one == "-" else one for one in values]
    for categories in (["a", "b", "c"], ["c", "b", "a"], sorted({one for one in levels if one})):
        column = tidy(pd.DataFrame({"level": pd.Categorical(levels, categories=categories)}))["level"]
        assert list(column.cat.categories) == sorted({one for one in levels if one})
        assert [None if pd.isna(one) else one for one in column] == levels


def test_many_numbers_are_mixed_as_few_are() -> None:
    numbers = np.random.default_rng(9).integers(0, 2**64 - 1, 300_001, dtype=np.uint64)
    few = np.concatenate([mixed(part) for part in np.array_split(numbers, 50)])
    np.testing.assert_array_equal(mixed(numbers), few)


@pytest.mark.parametrize("values", [1, 40, 5000, 2**60])
@pytest.mark.parametrize("rows", [0, 1, 2, 5000, 270_000])
def test_copies_are_numbered_in_the_order_in_which_they_come(values: int, rows: int) -> None:
    contents = np.random.default_rng(values).integers(0, values, rows, dtype=np.uint64)
    for hashes in (contents, mixed(contents)):
        seen: Counter[int] = Counter()
        expected = []
        for one in hashes.tolist():
            expected.append(seen[one])
            seen[one] += 1
        assert occurrence_numbers(hashes).tolist() == expected


@pytest.mark.parametrize(
    "categories", [["b", "a", "c"], [3, 1, 2], [2.0, 1.5, 7.0], [True, False], [pd.Timestamp("2026-01-02"), "x"]]
)
def test_categories_become_the_texts_that_their_values_become(categories: list[object]) -> None:
    for codes in ([1, 0, -1, 1], [0], [], [-1, -1], [len(categories) - 1, 0, 0]):
        column = pd.Series(pd.Categorical.from_codes(codes, categories=categories), name="level")
        settled = settle_type(column, "categorical")
        expected = [None if one < 0 else str(categories[one]) for one in codes]
        assert [None if pd.isna(one) else one for one in settled] == expected
        assert list(settled.cat.categories) == sorted({one for one in expected if one is not None})
