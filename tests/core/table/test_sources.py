"""Reading tables: what is detected, and what is refused with which words."""

import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import SourceError
from bdt_core.spec import Source
from bdt_core.table.sources import read_table

ROWS = "name;age;score\nJörg;31;0,5\nAnaïs;44;1,25\nLi;28;2,0\n"


def test_the_demonstration_data_hold_the_published_rates():
    frame = read_table("demo:compas")
    negatives = frame[frame["two_year_recid"] == 0]
    rates = negatives.groupby("race")["high_risk"].mean()
    assert len(frame) == 7214
    assert rates["African-American"] == pytest.approx(0.448468, abs=5e-7)
    assert rates["Caucasian"] == pytest.approx(0.234543, abs=5e-7)
    assert len(read_table("demo:adult")) == 16281


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_detected(tmp_path, separator):
    file = tmp_path / "t.csv"
    file.write_text(separator.join(["a", "b", "c"]) + "\n" + separator.join(["1", "x y", "2.5"]) + "\n")
    frame = read_table(file)
    assert list(frame.columns) == ["a", "b", "c"]
    assert frame.loc[0, "c"] == 2.5


def test_a_tsv_file_is_read(tmp_path):
    frame = pd.DataFrame({"age": [20, 30], "town": ["a, b", "c;d"]})
    frame.to_csv(tmp_path / "x.tsv", sep="\t", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "x.tsv"), frame, check_dtype=False, check_categorical=False)


def test_separators_inside_quotes_do_not_count(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text('a,b\n"x;y;z",1\n"u;v;w",2\n')
    assert list(read_table(file).columns) == ["a", "b"]


def test_a_second_mark_of_the_beginning_is_no_part_of_a_name(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b"\xef\xbb\xbf" * 2 + b"a,b\n1,2\n")
    assert list(read_table(file).columns) == ["a", "b"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encoding_and_decimal_comma_are_detected(tmp_path, encoding):
    file = tmp_path / "t.csv"
    file.write_bytes(ROWS.encode(encoding))
    frame = read_table(file)
    assert list(frame.columns) == ["name", "age", "score"]
    assert frame["score"].tolist() == [0.5, 1.25, 2.0]
    assert frame["name"].tolist()[0] == "Jörg"


def test_parquet_file_and_folder_give_the_same_rows(tmp_path):
    frame = pd.DataFrame({"a": np.arange(6), "b": list("uvwxyz")})
    frame.to_parquet(tmp_path / "one.parquet", index=False)
    folder = tmp_path / "many"
    folder.mkdir()
    frame[:3].to_parquet(folder / "0.parquet", index=False)
    frame[3:].to_parquet(folder / "1.parquet", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "one.parquet"), frame, check_dtype=False)
    pd.testing.assert_frame_equal(read_table(folder), frame, check_dtype=False)


BAD = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n\n", "only blank lines"),
    "header_only": (b"a,b\n", "no rows"),
    "one_column": (b"a\n1\n2\n", "one column"),
    "repeated_names": (b"a,b,a\n1,2,3\n", "'a' stand there more than once"),
    "ragged": (b"a,b\n1,2\n1,2,3\n", "line 3: 3 columns where the header has 2"),
    "longer_rows": (b"a,b\n1,2,3\n4,5,6\n", "line 2: 3 columns where the header has 2"),
    "mixed_encodings": (
        "a,b\nJörg,1\n".encode() + "Anaïs,2\n".encode("cp1252"),
        "line 2 is UTF-8, line 3 is not",
    ),
    "open_quote": (b'a,b\n"x,1\n2,3\n', "never closed"),
    "binary": (b"P\x03\x04\x00\x00\x00", "zero bytes"),
    "a workbook": (b"PK\x03\x04\x00\x00\x00", r"is a workbook \(.xlsx, .ods\)"),
    "a PDF": (b"%PDF-1.7\n1 0 obj\nendobj\n", "is a PDF, whatever its name says. Save the table as .csv"),
    "Parquet": (b"PAR1\x15\x04\x15", "is Parquet, whatever its name says"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_unusable_file_is_named_with_its_fault(tmp_path, case):
    content, words = BAD[case]
    file = tmp_path / f"{case}.csv"
    file.write_bytes(content)
    with pytest.raises(SourceError, match=words) as caught:
        read_table(file)
    assert file.name in str(caught.value)


def test_a_wrong_separator_is_named(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match="separator ';'"):
        read_table(Source(path=str(file), separator=";"))


def test_a_wrong_encoding_names_the_line(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes("a,b\nx,1\nJörg,2\n".encode("cp1252"))
    with pytest.raises(SourceError, match="line 3: not valid utf-8"):
        read_table(Source(path=str(file), encoding="utf-8"))
    with pytest.raises(SourceError, match="not a known encoding"):
        read_table(Source(path=str(file), encoding="utf-9"))


def test_a_missing_file_suggests_its_neighbour(tmp_path):
    (tmp_path / "loans.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match='Did you mean "loans.csv"'):
        read_table(tmp_path / "loan.csv")
    with pytest.raises(SourceError, match='Did you mean "compas"'):
        read_table("demo:compass")


def test_a_broken_or_empty_parquet_is_named(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 this is not Parquet")
    with pytest.raises(SourceError, match="cannot be read as Parquet"):
        read_table(tmp_path / "t.parquet")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SourceError, match="holds no .parquet"):
        read_table(tmp_path / "folder")


def test_a_file_that_is_not_there_is_told_from_a_folder_that_is_not(tmp_path):
    with pytest.raises(SourceError, match=r"no\.csv does not exist\. The folder .* is empty\.$"):
        read_table(tmp_path / "no.csv")
    with pytest.raises(SourceError, match=r"no\.csv does not exist\. The folder .*none does not exist either\.$"):
        read_table(tmp_path / "none" / "no.csv")
