"""What is wrong in one of many files is named by file, place and column, before the first batch where that can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bdt_core.errors import SourceError
from bdt_core.table.batches import measure_source, open_batches
from bdt_core.table.sources import read_table

FILES, BAD = 500, 231


def rows_of(number: int) -> dict[str, list[object]]:
    return {"id": [2 * number, 2 * number + 1], "age": [20 + number % 50, 30], "sex": ["f", "m"]}


def written(folder: Path, numbers: range) -> Path:
    for number in numbers:
        pq.write_table(pa.table(rows_of(number)), folder / f"{number:03}.parquet")
    return folder


@pytest.fixture(scope="module")
def _five_hundred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("five_hundred"), range(1, FILES + 1))


@pytest.fixture(scope="module")
def hundred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The middle ones of them; the one that may be spoilt is written by every test that reads them."""
    return written(tmp_path_factory.mktemp("hundred"), range(BAD - 50, BAD + 50))


@pytest.fixture
def folder(_five_hundred: Path) -> Iterator[Path]:
    """500 files, of which one may be spoilt."""
    file = _five_hundred / f"{BAD}.parquet"
    good = file.read_bytes()
    yield _five_hundred
    file.write_bytes(good)


def rewrite(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        pq.write_table(change(pa.table(rows_of(BAD))), file)

    return write


def cast(name: str, kind: pa.DataType) -> Callable[[Path], None]:
    return rewrite(
        lambda table: table.set_column(
            table.schema.get_field_index(name), name, table[name].cast(kind, safe=False).combine_chunks()
        )
    )


SPOILT: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut off": (
        lambda file: file.write_bytes(file.read_bytes()[:-20]) and None,
        r"cannot be read as Parquet.*write it again",
    ),
    "empty": (lambda file: file.write_bytes(b"") and None, r"is empty \(0 bytes\): write it again"),
    "no Parquet": (lambda file: file.write_text("id,age,sex\n1,2,f\n") and None, "cannot be read as Parquet"),
    "column lacking": (
        rewrite(lambda table: table.drop_columns("sex")),
        'lacks the column "sex", unlike File 1 of 500',
    ),
    "column added": (
        rewrite(lambda table: table.append_column("new", pa.array([1, 2]))),
        'also has the column "new", unlike File 1 of 500',
    ),
    "text for number": (
        cast("age", pa.string()),
        r'"age" holds numbers in File 1 of 500: .*001\.parquet and texts in .*expected numbers',
    ),
    "flag for number": (cast("age", pa.bool_()), '"age" holds numbers in .* and true or false in'),
    "date for number": (cast("age", pa.timestamp("s")), '"age" holds numbers in .* and points in time in'),
    "repeated name": (
        lambda file: pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["age", "age"]), file),
        "'age' stand there more than once",
    ),
}


@pytest.mark.parametrize("case", SPOILT)
def test_one_bad_file_among_500_is_named_at_once(folder: Path, case: str) -> None:
    spoil, words = SPOILT[case]
    spoil(folder / f"{BAD}.parquet")
    sources = str(folder), f"{folder}/*.parquet", str(folder)
    for read, source in zip((read_table, open_batches, measure_source), sources, strict=True):
        with pytest.raises(SourceError, match=words) as caught:  # none has to read rows to tell
            read(source)
        assert f"File {BAD} of {FILES}: {folder}/{BAD}.parquet" in str(caught.value)
        assert len(str(caught.value)) < 600


def test_it_is_the_file_that_differs_from_most_that_is_named(folder: Path) -> None:
    first = folder / "001.parquet"
    good = first.read_bytes()
    try:
        rewrite(lambda table: table.drop_columns("sex"))(first)
        with pytest.raises(
            SourceError, match=r'File 1 of 500: .*001\.parquet lacks the column "sex", unlike File 2 of 500'
        ):
            open_batches(str(folder))
        cast("sex", pa.binary())(first)
        with pytest.raises(SourceError, match=r'"sex" holds texts in File 2 of 500: .* and bytes in File 1 of 500'):
            open_batches(str(folder))
    finally:
        first.write_bytes(good)


WIDER: dict[str, tuple[Callable[[Path], None], dict[str, str]]] = {
    "int32": (cast("age", pa.int32()), {"age": "int64"}),
    "float": (cast("age", pa.float64()), {"age": "float64"}),
    "gaps": (rewrite(lambda table: table.set_column(1, "age", pa.array([None, 7]))), {"age": "float64"}),
    "nothing": (rewrite(lambda table: table.set_column(1, "age", pa.nulls(2))), {"age": "float64"}),
    "nothing in texts": (rewrite(lambda table: table.set_column(2, "sex", pa.nulls(2))), {}),
    "dictionary": (cast("sex", pa.dictionary(pa.int8(), pa.string())), {}),
    "no rows": (rewrite(lambda table: table.slice(0, 0)), {}),
}


@pytest.mark.parametrize("case", WIDER)
def test_types_that_go_together_do(hundred: Path, case: str) -> None:
    change, dtypes = WIDER[case]
    usual = pd.read_parquet(hundred / f"{BAD + 1}.parquet").dtypes.astype(str).to_dict()
    change(hundred / f"{BAD}.parquet")
    whole = read_table(str(hundred))
    assert whole.dtypes.astype(str).to_dict() == usual | dtypes
    with open_batches(str(hundred), batch_rows=19) as batches:
        pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), whole)


@pytest.mark.parametrize(
    ("meddle", "words"),
    [
        (lambda file: file.unlink(), "was deleted while the table was being read"),
        (rewrite(lambda table: table.slice(0, 1)), "was written again while the table was being read"),
        (lambda file: file.write_bytes(b"PAR1"), "was written again while the table was being read"),
    ],
)
def test_a_file_that_changes_while_others_are_read_is_named(folder: Path, meddle, words: str) -> None:
    batches = iter(open_batches(str(folder), batch_rows=100))
    assert len(next(batches)) == 100
    meddle(folder / f"{BAD}.parquet")
    assert [len(next(batches)) for _ in range(3)] == [100] * 3  # whole batches before it
    with pytest.raises(SourceError, match=words) as caught:
        next(batches)  # and not a row of what comes after
    assert f"File {BAD} of {FILES}" in str(caught.value)


def test_a_broken_page_is_noticed(folder: Path) -> None:
    file = folder / f"{BAD}.parquet"
    table = pa.table({"id": range(5000), "age": range(5000), "sex": [str(i) for i in range(5000)]})
    pq.write_table(table, file, write_page_checksum=True, compression="none", use_dictionary=False)
    raw = bytearray(file.read_bytes())
    raw[2000:2100] = bytes(100)
    file.write_bytes(raw)
    for read in (read_table, lambda source: list(open_batches(source))):
        with pytest.raises(SourceError, match=f"File {BAD} of {FILES}.* cannot be read as Parquet"):
            read(str(folder))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    for number in range(1, 31):
        (tmp_path / f"{number:02}.csv").write_text(f"id,age,sex\n{number},30,f\n{number},31,m\n")
    return tmp_path


TEXTS: dict[str, tuple[str, str]] = {
    "ragged": ("id,age,sex\n1,30,f\n2,31,m,x\n3,32,f\n", "line 3: 4 columns where the header has 3"),
    "texts": ("id,age,sex\n1,old,f\n", '"age" holds numbers in File 1 of 30: .* and texts in File 17 of 30'),
    "flags": ("id,age,sex\n1,True,f\n", '"age" holds numbers in .* and true or false in File 17 of 30'),
    "column lacking": ("id,age\n1,30\n", 'lacks the column "sex", unlike File 1 of 30'),
    "column added": ("id,age,sex,new\n1,30,f,1\n", 'also has the column "new"'),
    "header only": ("id,age,sex\n", "has no rows"),
    "nothing": ("", "holds only blank lines"),
    "zero bytes": ("PK\0\0", "is not a text table"),
    "open quotation": ('id,age,sex\n1,"30,f\n2,31,m\n', "never closed"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_one_bad_text_among_many_is_named_before_the_first_batch(texts: Path, case: str) -> None:
    content, words = TEXTS[case]
    (texts / "17.csv").write_text(content)
    for read in (read_table, open_batches):
        with pytest.raises(SourceError, match=words) as caught:
            read(f"{texts}/*.csv")
        assert f"File 17 of 30: {texts}/17.csv" in str(caught.value)


def test_a_ragged_row_in_the_middle_of_a_long_text_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    lines = [f"{i},{i % 7}" for i in range(250_000)]
    lines[177_776] += ",1"
    file.write_text("\n".join(["a,b", *lines]))
    with pytest.raises(SourceError, match=r"t\.csv, line 177778: 3 columns where the header has 2"):
        open_batches(str(file))


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_text_that_changes_between_its_passes_is_named(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"t.{suffix}"
    frame = pd.DataFrame({"a": range(9), "b": range(9)})
    write = frame.to_csv if suffix == "csv" else lambda path, index: frame.to_json(path, orient="records", lines=True)
    write(file, index=False)
    batches = open_batches(str(file), batch_rows=2)
    with file.open("a") as opened:
        opened.write("10,11\n" if suffix == "csv" else '{"a": 1, "b": 2}\n')
    with pytest.raises(SourceError, match=rf"t\.{suffix} was written again while"):
        list(batches)


def test_an_array_that_is_cut_off_while_it_is_read_is_named(tmp_path: Path) -> None:
    import numpy as np

    from bdt_core.spec import Source

    pd.DataFrame({"a": range(9), "b": range(9)}).to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "p.npy", np.arange(9))
    source = Source.model_validate({"path": f"{tmp_path}/t.csv", "arrays": {"p": f"{tmp_path}/p.npy"}})
    raw = (tmp_path / "p.npy").read_bytes()
    batches = iter(open_batches(source, batch_rows=2))
    (tmp_path / "p.npy").write_bytes(raw[:-9])
    with pytest.raises(SourceError, match=r"p\.npy was written again while"):
        list(batches)
    with pytest.raises(SourceError, match=r"p\.npy .*it ends early"):
        list(open_batches(source, batch_rows=2))
