"""People are known again under another name, in another order or file, in part; and others are not taken for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bdt_core.sealed.people import fingerprint_of, overlap
from bdt_core.table.people import Minima, PeopleFingerprint, SketchedRows, sketched_rows, telling_columns
from bdt_core.table.ranks import Hashes, content_sums, mixed, row_hashes


def people(seed: int, n: int = 4_000) -> pd.DataFrame:
    rng = np.random.default_rng([31, seed])
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(10, 1, n).round(),
            "days": rng.integers(0, 3_000, n),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(list("abcdefgh"), n),
            "race": rng.choice(list("pqrst"), n),
            "job": rng.choice(["open", "fixed", None], n),
        }
    )


def of(frame: pd.DataFrame, key: str | None = None) -> PeopleFingerprint:
    return fingerprint_of(frame, [one for one in frame.columns if one != key], key)


FRAME = people(0)
KNOWN = of(FRAME)


@pytest.mark.parametrize(
    "again",
    [
        FRAME.sample(frac=1.0, random_state=1),
        FRAME[FRAME.columns[::-1]],
        FRAME.rename(columns={"sex": "gender", "age": "years", "income": "x"}),
        FRAME.astype({"age": float, "days": "Int64", "sex": "category"}),
    ],
    ids=["other order", "other columns first", "other names", "other types"],
)
def test_the_same_people_have_the_same_fingerprint(again: pd.DataFrame) -> None:
    assert of(again).content == KNOWN.content
    assert overlap(of(again), KNOWN) == overlap(KNOWN, KNOWN)


def test_a_file_of_another_format_has_the_same_people(tmp_path) -> None:
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.to_parquet(tmp_path / "a.parquet")
    assert of(pd.read_csv(tmp_path / "a.csv")).content == of(pd.read_parquet(tmp_path / "a.parquet")).content


@pytest.mark.parametrize(
    ("changed", "of_these", "of_those"),
    [
        (FRAME.drop(columns="sex"), 1.0, 1.0),
        (FRAME.drop(columns="income"), 1.0, 1.0),
        (FRAME.assign(age=FRAME["age"] // 10), 1.0, 1.0),
        (FRAME.assign(more=np.arange(len(FRAME))), 1.0, 1.0),
        (FRAME[FRAME["region"] != "c"], 1.0, float((FRAME["region"] != "c").mean())),
        (FRAME[:800], 1.0, 0.2),
        (pd.concat([FRAME[:2_000], people(1)[:2_000]]), 0.5, 0.5),
        (pd.concat([FRAME, FRAME, FRAME]), 1.0, 1.0),
    ],
    ids=[
        "a column less",
        "a telling column less",
        "coarse",
        "a column more",
        "a region less",
        "a part",
        "half",
        "thrice",
    ],
)
def test_changed_tables_say_how_many_people_they_have_in_common(
    changed: pd.DataFrame, of_these: float, of_those: float
) -> None:
    common = overlap(of(changed), KNOWN)
    assert common is not None
    assert common.of_these == pytest.approx(of_these, abs=0.1)
    assert common.of_those == pytest.approx(of_those, abs=0.1)


def test_other_people_of_the_same_kind_are_not_taken_for_them() -> None:
    for seed in range(1, 21):
        assert overlap(of(people(seed)), KNOWN) == overlap(of(people(seed, 500)), KNOWN)
        assert not overlap(of(people(seed)), KNOWN).is_any


def test_nobody_can_say_it_where_columns_tell_people_too_little_apart() -> None:
    few = ["age", "sex", "region"]
    assert overlap(of(people(1)[few]), of(FRAME[few])) is None
    assert overlap(of(FRAME[few].sample(frac=1.0, random_state=2)), of(FRAME[few])).of_these == 1.0


def test_persons_are_known_by_their_key_whatever_else_was_changed() -> None:
    few = FRAME[["age", "sex"]].assign(person=np.arange(len(FRAME)) + 7)
    again = few.sample(frac=0.5, random_state=3).assign(age=1)
    assert overlap(of(again, "person"), of(few, "person")).of_those == pytest.approx(0.5, abs=0.1)


def test_fingerprints_of_parts_add_up() -> None:
    rng = np.random.default_rng(5)
    hashes = rng.integers(0, 2**64, 50_000, dtype=np.uint64)
    hashes[:100] = hashes[100:200]

    def minima(some: Hashes) -> Minima:
        return Minima.of(some, np.zeros_like(some), len(some))

    whole, parts = minima(hashes), minima(hashes[:120]) + minima(hashes[120:30_000])
    parts = parts + minima(hashes[30_000:])
    assert np.array_equal(whole.least, parts.least)
    assert np.array_equal(whole.rows, parts.rows)


def test_a_fingerprint_is_read_back_and_tells_nothing_of_a_row() -> None:
    data = KNOWN.to_dict()
    assert PeopleFingerprint.from_dict(data) == KNOWN
    assert sum(len(one["bytes"]) for one in data["sketches"]) < 6_000  # of 4,000 rows of 7 columns


def test_the_columns_with_most_values_tell_people_apart() -> None:
    assert telling_columns({"a": 2, "b": None, "c": 9, "d": 9, "e": 1, "f": 3, "g": 4}) == list("bcdgfa")


def by_numpy(frame: pd.DataFrame, telling: list[str], persons: Hashes) -> SketchedRows:
    """What the compiled loops do, as the method says it."""
    of = {name: mixed(pd.util.hash_pandas_object(frame[name], index=False).to_numpy()) for name in frame}
    apart = np.sum([of[name] for name in telling], axis=0, dtype=np.uint64)

    def minima(hashes: Hashes) -> Minima:
        within = hashes << np.uint64(9)
        few = within < np.uint64(2**64 // len(frame) * 512 * 16) if len(frame) > 512 * 16 else within == within
        least, rows = np.full(512, np.uint64(2**64 - 1)), np.zeros(512, np.int64)
        for value, count in zip(*np.unique(hashes[few], return_counts=True), strict=True):
            bucket = int(value >> np.uint64(55))
            if value < least[bucket]:
                least[bucket], rows[bucket] = value, count
        return Minima(least, rows)

    sketches = tuple(minima(mixed(one)) for one in (apart, *(apart - of[name] for name in telling)))
    every = np.sum(list(of.values()), axis=0, dtype=np.uint64)
    return SketchedRows(content_sums(mixed(every)), sketches, minima(mixed(persons)))


@pytest.mark.parametrize("rows", [3, 700, 200_000])
def test_the_compiled_loops_do_what_the_method_says(rows: int) -> None:
    rng = np.random.default_rng(rows)
    amounts = rng.normal(size=rows)
    amounts[: rows // 3] = np.nan
    amounts[-1:] = 0.0
    frame = pd.DataFrame(
        {
            "amount": amounts,
            "age": rng.integers(18, 80, rows),
            "town": pd.Categorical(rng.choice(["a", "b", None], rows)),
            "here": rng.random(rows) < 0.5,
            "half": rng.normal(size=rows).astype(np.float32),
        }
    )
    persons = rng.integers(0, 2**63, rows).astype(np.uint64)
    telling = ["amount", "age", "half"]
    mine, ours = by_numpy(frame, telling, persons), sketched_rows(frame, list(frame), telling, persons)
    assert ours.fingerprint.to_dict() == mine.fingerprint.to_dict()
    of_zero = frame.assign(amount=frame["amount"].where(frame["amount"] != 0, -0.0))
    assert sketched_rows(of_zero, list(frame), telling, persons).fingerprint.content == ours.fingerprint.content


def test_rows_are_hashed_as_pandas_hashes_them() -> None:
    rng = np.random.default_rng(3)
    numbers = rng.choice([0.0, -0.0, np.nan, 1.5, -np.inf, 3e300], 500)
    columns = {
        "number": numbers,
        "text": rng.choice(["a", "b"], 500).astype(object),
        "level": pd.Categorical(rng.choice(["x", "y", None], 500)),
        "whole": rng.integers(-9, 9, 500),
        "key": rng.integers(0, 9, 500).astype(np.uint64),
        "said": rng.random(500) < 0.5,
        "half": rng.random(500, dtype=np.float32),
    }
    frame = pd.DataFrame(columns)
    for some in (list(columns), ["whole"], ["number"], ["key", "half", "number"]):
        expected = pd.util.hash_pandas_object(frame[sorted(some)], index=False).to_numpy()
        np.testing.assert_array_equal(row_hashes(frame[some]), expected)
    assert not len(row_hashes(frame.iloc[:0]))
