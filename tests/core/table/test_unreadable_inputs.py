"""Whatever makes a source unreadable, the error names the source, and says nothing of its values."""

from __future__ import annotations

import copy
import io
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bdt_core.audit import audit
from bdt_core.errors import BDTError, DataError, SourceError
from bdt_core.spec import AuditSpec, Source
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.sources import read_table
from bdt_core.verdict.baseline import compare_with_baseline
from bdt_core.verdict.comparable import ComparableReport, read_baseline

SECRET = "secret"


def people(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["f", "m"], rows),
            "y": rng.integers(0, 2, rows),
            "p": rng.integers(0, 2, rows),
        }
    )


TABLE = pa.Table.from_pandas(people(), preserve_index=False)


@pytest.mark.parametrize("encoding", ["base64", "rot13", "hex", "zip", "idna", "punycode", "undefined", "utf-16", "\0"])
def test_an_encoding_that_is_no_text_is_named_with_the_file(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "t.csv"
    people().to_csv(file, index=False)
    with pytest.raises(SourceError, match=r"t\.csv.*(not a known encoding of texts|not valid utf-16)"):
        read_table(Source(path=str(file), encoding=encoding))


JSON_LINES = {
    "a key twice": ('{"age": 3, "sex": "secret", "age": 4}', 'the key "age" stands there twice'),
    "half a letter": ('{"age": 3, "sex": "secret\\ud800"}', "half a letter"),
    "half a letter in a key": ('{"age": 3, "\\uD800": "secret"}', "half a letter"),
    "deep nesting": ("[" * 100_000, "nested too deep"),
    "deep nesting in a value": ('{"age": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
    "thousands of digits": ('{"age": ' + "9" * 5_000 + "}", "more than 300 digits"),
    "a number beyond floats": ('{"age": ' + "9" * 400 + "}", "more than 300 digits"),
}


@pytest.mark.parametrize("name", JSON_LINES)
def test_odd_json_is_named_by_line(tmp_path: Path, name: str) -> None:
    written, words = JSON_LINES[name]
    file = tmp_path / "t.jsonl"
    file.write_text('{"age": 1, "sex": "f"}\n' + written + "\n")
    with pytest.raises(SourceError, match=words) as caught:
        read_table(file)
    assert f"{file}, line 2" in str(caught.value)
    assert SECRET not in str(caught.value)


def noted(file: Path, table: pa.Table) -> tuple[pd.DataFrame, str]:
    """The table as it is read, and what is told of it."""
    pq.write_table(table, file)
    frame = read_table(file)
    return frame, " ".join(ReadingNotes.of(frame.attrs).remarks)


@pytest.mark.parametrize(
    "written",
    [
        b"{no",
        b"[]",
        b'{"index_columns": ["zz"], "columns": [{"name": 5}]}',
        b'{"index_columns": [{"kind": 1}]}',
        b"\xff",
    ],
)
def test_what_pandas_wrote_beside_the_columns_may_be_broken(tmp_path: Path, written: bytes) -> None:
    frame, _ = noted(tmp_path / "t.parquet", TABLE.replace_schema_metadata({b"pandas": written}))
    pd.testing.assert_frame_equal(frame, people(), check_dtype=False)


def test_bytes_that_pandas_says_are_texts_are_bytes(tmp_path: Path) -> None:
    table = TABLE.set_column(TABLE.schema.get_field_index("sex"), "sex", pa.array([b"secret", b"\xff"] * 200))
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(DataError, match='Column "sex" holds bytes') as refused:
        audit(None, spec(tmp_path / "t.parquet"))
    assert SECRET not in str(refused.value)


def test_an_index_with_a_name_is_a_column(tmp_path: Path) -> None:
    frame, told = noted(tmp_path / "t.parquet", pa.Table.from_pandas(people().set_index("sex")))
    assert frame["sex"].tolist() == people()["sex"].tolist()
    assert 'the index "sex" that pandas stored is a column' in told
    adults = people()[lambda one: one["age"] > 30]
    frame, told = noted(tmp_path / "t.parquet", pa.Table.from_pandas(adults))
    assert list(frame) == list(adults)
    assert "the index that pandas stored has no name, and is left out" in told


def test_a_time_zone_that_nobody_knows_is_told(tmp_path: Path) -> None:
    seconds = pa.array(range(400), pa.timestamp("s", "Mars/Phobos"))
    frame, told = noted(tmp_path / "t.parquet", TABLE.append_column("t", seconds))
    assert str(frame["t"].dt.tz) == "UTC"
    assert 'the time zone of "t" is not known' in told


def test_texts_and_bytes_that_are_no_texts_are_named_by_column(tmp_path: Path) -> None:
    raw = pa.array([b"secret", b"\xff"] * 200)
    invalid = pa.Array.from_buffers(pa.string(), 400, raw.buffers())
    pq.write_table(TABLE.append_column("name", invalid), tmp_path / "t.parquet")
    with pytest.raises(SourceError, match=r't\.parquet: column "name" holds texts that are not valid UTF-8') as caught:
        read_table(tmp_path / "t.parquet")
    assert SECRET not in str(caught.value)
    pq.write_table(TABLE.append_column("photo", raw), tmp_path / "t.parquet")
    with pytest.raises(DataError, match='Column "photo" holds bytes') as refused:
        audit(None, spec(tmp_path / "t.parquet"))
    assert SECRET not in str(refused.value)


def spec(file: Path, **keys: Any) -> AuditSpec:
    given = {
        "name": "a",
        "source": {"path": str(file)},
        "bias_variable": {"derive": "error", "label": "y", "prediction": "p"},
        "slices": None,
        "worst_groups": None,
    }
    return AuditSpec.model_validate(given | keys)


@pytest.mark.parametrize(("value", "mend"), [(1e-300, "Multiply"), (1e-320, "Multiply"), (1e300, "Divide")])
def test_outcomes_that_cannot_be_squared_are_refused(tmp_path: Path, value: float, mend: str) -> None:
    people().assign(loss=np.random.default_rng(1).random(400) * value).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=rf"bias variable \(loss\).*{mend} it by a constant"):
        audit(None, spec(tmp_path / "t.csv", bias_variable={"column": "loss"}))


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_big_endian_arrays_are_read(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "t.csv", index=False)
    scores = np.random.default_rng(0).random(400)
    (tmp_path / "s.npy").write_bytes(npy(scores.astype(">f8")))
    frame = read_table(Source(path=str(tmp_path / "t.csv"), arrays={"score": str(tmp_path / "s.npy")}))
    assert frame["score"].dtype == np.dtype("=f8")
    np.testing.assert_array_equal(frame["score"], scores)


def damaged_arrays() -> Iterator[bytes]:
    """Saved arrays of which some bytes are others, and kinds that are no column."""
    whole = npy(np.arange(400.0))
    rng = random.Random(0)
    for _ in range(200):
        changed = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(128)] = rng.randrange(256)
        yield bytes(changed)
    yield from (npy(np.zeros(400, kind)) for kind in ("c16", "M8[s]", "V4", "U0"))


def test_damaged_arrays_are_named_or_read(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "t.csv", index=False)
    source = Source(path=str(tmp_path / "t.csv"), arrays={"score": str(tmp_path / "s.npy")})
    refused = 0
    for content in damaged_arrays():
        (tmp_path / "s.npy").write_bytes(content)
        try:
            assert len(read_table(source)) == 400
        except SourceError as error:
            refused += "s.npy" in str(error)
    assert refused > 100


def places(data: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if above:
        yield above
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from places(value, (*above, key))


def damaged(document: dict[str, Any], rng: random.Random, known: list[tuple[Any, ...]]) -> dict[str, Any]:
    """The document, with one thing missing or something else."""
    changed = copy.deepcopy(document)
    *above, last = rng.choice(known)
    place: Any = changed
    for key in above:
        place = place[key]
    value: Any = rng.choice([None, "x", -1, [], {}, "Infinity", True, "(gone)"])
    if value == "(gone)":
        del place[last]
    else:
        place[last] = value
    return changed


def test_damaged_baselines_are_named(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "t.csv", index=False)
    limits = [{"max_difference": 0.05}, {"metric": "four_fifths_ratio", "facet": "sex", "min": 0.8}]
    asked = spec(tmp_path / "t.csv", protected=["sex"], favourable="positive", gate=limits)
    document = audit(None, asked).document
    now = ComparableReport.of(document)
    used = [one for one in places(document) if one[0] in ("gate", "groups", "spec", "bias_variable", "name")]
    rng, file, refused = random.Random(0), tmp_path / "baseline.json", 0
    for _ in range(300):
        file.write_text(json.dumps(damaged(document, rng, used)))
        refused += is_refused(lambda: compare_with_baseline(now, read_baseline(file, asked)), str(file))
    assert refused > 10


def is_refused(compare: Callable[[], object], name: str) -> bool:
    """Whether it cannot be compared; then the message names the file."""
    try:
        compare()
    except BDTError as error:
        return name in str(error) or pytest.fail(str(error))
    return False


def test_the_message_of_a_database_holds_no_cell_value(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as database:
        database.execute("create table t (note text, y integer)")
        database.execute("insert into t values (cast(X'7365637265742DFF' as text), 1)")
        database.commit()
    source = Source(sql="select * from t", database=f"sqlite:///{tmp_path}/t.db")
    with pytest.raises(SourceError, match="Could not decode to UTF-8 column 'note'$") as caught:
        read_table(source)
    assert "secret" not in str(caught.value)
