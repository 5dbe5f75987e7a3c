"""Workbooks, JSON lists, and what is packed."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from bdt_core.errors import SourceError
from bdt_core.shards.opening import memory_plan
from bdt_core.spec import Source, parse_spec
from bdt_core.table.batches import measure_source
from bdt_core.table.locations import SourceFile
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.sources import read_table
from bdt_pipeline.cli import app

NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OPEN = "urn:oasis:names:tc:opendocument:xmlns"

ROWS: list[list[object]] = [
    ["age", "sex", "income", "at"],
    [31, "f", "1.234,50", 0.5],
    [44, "m", "2.000,00", 1],
    [None, "NA", "3,25", 2.5],
]


def workbook(**sheets: list[list[object]]) -> bytes:
    """The least that an .xlsx file is."""

    def cell(value: object) -> str:
        if value is None:
            return "<c/>"
        return f"<c><v>{value}</v></c>" if isinstance(value, int | float) else (
            f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        )  # fmt: skip

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" ContentType="x"/></Types>',
        )
        packed.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" Type="{RELATIONS}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        listed = "".join(f'<sheet name="{one}" sheetId="{i}" r:id="r{i}"/>' for i, one in enumerate(sheets, start=1))
        packed.writestr(
            "xl/workbook.xml", f'<workbook {NAMESPACE} xmlns:r="{RELATIONS}"><sheets>{listed}</sheets></workbook>'
        )
        linked = "".join(
            f'<Relationship Id="r{i}" Type="{RELATIONS}/worksheet" Target="worksheets/sheet{i}.xml"/>'
            for i in range(1, len(sheets) + 1)
        )
        packed.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE}/relationships">{linked}</Relationships>'
        )
        for i, rows in enumerate(sheets.values(), start=1):
            data = "".join("<row>" + "".join(map(cell, row)) + "</row>" for row in rows)
            packed.writestr(
                f"xl/worksheets/sheet{i}.xml", f"<worksheet {NAMESPACE}><sheetData>{data}</sheetData></worksheet>"
            )
    return file.getvalue()


def open_document(rows: list[list[object]]) -> bytes:
    """The least that an .ods file is."""

    def cell(value: object) -> str:
        if isinstance(value, int | float):
            return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
        if value is None:
            return "<table:table-cell/>"
        return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'

    data = "".join("<table:table-row>" + "".join(map(cell, row)) + "</table:table-row>" for row in rows)
    content = (
        f'<office:document-content xmlns:office="{OPEN}:office:1.0" xmlns:table="{OPEN}:table:1.0" '
        f'xmlns:text="{OPEN}:text:1.0"><office:body><office:spreadsheet><table:table table:name="people">{data}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        packed.writestr("META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{OPEN}:manifest:1.0"/>')
        packed.writestr("content.xml", content)
    return file.getvalue()


@pytest.mark.parametrize("name", ["t.xlsx", "t.ods"])
def test_a_sheet_is_a_table(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(workbook(people=ROWS) if name.endswith("x") else open_document(ROWS))
    frame = read_table(file)
    expected = pd.DataFrame(
        {"age": [31, 44, None], "sex": ["f", "m", None], "income": [1234.5, 2000, 3.25], "at": [0.5, 1, 2.5]}
    )
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)
    assert any("written like 1.234,5" in one for one in ReadingNotes.of(frame.attrs).remarks)
    assert measure_source(str(file)).estimated_bytes


def test_words_that_may_be_names_are_told_in_a_sheet(tmp_path: Path) -> None:
    file = tmp_path / "t.xlsx"
    rows = [["NA", "place", "mixed"], [1, "NA", 3], [2, "EU", "NA"], ["NA", "NA", "None"], ["NA", "NA", " NA "]]
    file.write_bytes(workbook(people=rows))
    frame = read_table(file)
    assert frame["NA"].tolist()[:2] == [1, 2]  # a name of a column is no missing value, and a row of such words is one
    assert len(frame) == 4
    assert frame["place"].isna().sum() == 3
    (told,) = ReadingNotes.of(frame.attrs).remarks
    assert told.startswith('Column "place": "NA", which stands there 3 times, is taken for a missing value.')
    frame = read_table(Source(path=str(file), missing_values=["?"]))
    assert frame["place"].tolist() == ["NA", "EU", "NA", "NA"]
    assert not ReadingNotes.of(frame.attrs).remarks


def test_numbers_that_are_texts_in_a_sheet_are_read(tmp_path: Path) -> None:
    """A sheet marks them with a corner, and adds them up as nothing."""
    file = tmp_path / "t.xlsx"
    columns = {
        "age": [31, "44", None, 7.5],
        "income": [1234.5, "1.234,50", "2.000,00", None],
        "code": [12, "007", "013", 14],
        "some": [1, "unknown", 3, 4],
        "doubtful": [1.5, "1,234", "2,345", 2],
    }
    file.write_bytes(workbook(people=[list(columns), *map(list, zip(*columns.values(), strict=True))]))
    frame = read_table(Source(path=str(file), decimal="comma"))
    assert frame["age"].tolist()[:2] + frame["age"].tolist()[3:] == [31, 44, 7.5]
    assert frame["income"].tolist()[:3] == [1234.5, 1234.5, 2000]
    assert frame["code"].tolist() == ["12", "007", "013", "14"]
    assert frame["some"].tolist() == ["1", "unknown", "3", "4"]
    assert frame["doubtful"].tolist() == [1.5, 1.234, 2.345, 2]
    told = ReadingNotes.of(frame.attrs).remarks
    assert 'Column "age": 1 of its numbers are texts in the sheet, and are read as numbers.' in told
    assert any(one.startswith('Column "code" holds whole numbers with zeros') for one in told)
    lone = [["doubtful", "b"], [1.5, 1], ["1,234", 2], ["2,345", 3]]  # what a number looks like says no notation
    file.write_bytes(workbook(people=lone))
    frame = read_table(file)
    assert frame["doubtful"].tolist() == ["1.5", "1,234", "2,345"]
    assert 'Column "doubtful" holds numbers like 1,234' in ReadingNotes.of(frame.attrs).questions["doubtful"]


def test_a_sheet_is_named(tmp_path: Path) -> None:
    file = tmp_path / "t.xlsx"
    file.write_bytes(workbook(notes=[["x", "y"], [1, 2]], people=ROWS))
    with pytest.raises(SourceError, match='has 2 sheets. Name one in "source.sheet": notes, people'):
        read_table(file)
    assert len(read_table(Source(path=str(file), sheet="people"))) == 3
    with pytest.raises(SourceError, match='no sheet "peple".*Did you mean "people"'):
        read_table(Source(path=str(file), sheet="peple"))


def test_a_damaged_workbook_is_named(tmp_path: Path) -> None:
    file = tmp_path / "t.xlsx"
    file.write_bytes(workbook(people=ROWS)[:-40])
    with pytest.raises(SourceError, match=r"t\.xlsx cannot be read as a table"):
        read_table(file)
    file.write_bytes(workbook(people=[["a", "a"], [1, 2]]))
    with pytest.raises(SourceError, match="stand there more than once"):
        read_table(file)


@pytest.mark.parametrize("cell", ["XFD1048576", "ZZZZZZ999999999"])
def test_a_stray_cell_is_named(tmp_path: Path, cell: str) -> None:
    """The library ends its process there, for it holds all cells up to the farthest."""
    rows = "".join(f'<row><c r="A{n}"><v>{n}</v></c><c r="B{n}"><v>1</v></c></row>' for n in range(1, 401))
    far = f'<row><c r="{cell}"><v>1</v></c></row>'
    data = f"<worksheet {NAMESPACE}><sheetData>{rows}{far}</sheetData></worksheet>"
    file = tmp_path / "t.xlsx"
    with zipfile.ZipFile(io.BytesIO(workbook(people=ROWS))) as given, zipfile.ZipFile(file, "w") as written:
        for name in given.namelist():
            written.writestr(name, data if "worksheets" in name else given.read(name))
    with pytest.raises(SourceError, match=rf"t\.xlsx: the sheet does not fit into memory.* the cell {cell}\."):
        read_table(file)
    assert CliRunner().invoke(app, ["init", str(file)]).exit_code == 2


def test_a_file_of_the_librarys_name_is_not_taken_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python_calamine.py").write_text("raise SystemExit('not ours')")
    (tmp_path / "t.xlsx").write_bytes(workbook(people=ROWS))
    monkeypatch.chdir(tmp_path)
    assert len(read_table("t.xlsx")) == 3


def test_an_audit_reads_a_workbook_once(tmp_path: Path) -> None:
    """It is looked at for a proposal, measured for the memory that it takes, and read: by one reader."""
    rows = [[["m", "f"][row % 2], 20 + row % 40, row % 3 % 2] for row in range(200)]
    (tmp_path / "t.xlsx").write_bytes(workbook(people=[["sex", "age", "fined"], *rows]))
    program = """
import sys
readers = []
sys.addaudithook(lambda event, of: event == "subprocess.Popen" and "calamine" in str(of) and readers.append(event))
from bdt_core.table.sheets import sheet_of
from bdt_pipeline.cli import main
try:
    main()
finally:
    print("readers:", len(readers), "kept:", sheet_of.cache_info().currsize)
"""
    command = [sys.executable, "-c", program, "audit", "t.xlsx", "--bias-variable", "fined", "--out", "report"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (tmp_path / "report" / "report.json").is_file(), done.stderr
    assert done.stdout.splitlines()[-1] == "readers: 1 kept: 0"


def test_a_json_list_is_a_table(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps([{"a": 1, "b": "x"}, {"a": 2, "b": None}], indent=2))
    assert read_table(file)["a"].tolist() == [1, 2]
    for content, words in (
        ('{"a": 1}', "expected a list of objects"),
        ('{"a": 1}\n{"a": 2}', r"not valid JSON.*\.jsonl"),
        ('[{"a": 1, "a": 2}]', 'the key "a" stands there twice'),
        ('[{"a": 1, "b": 2}, 3]', "object 2: expected an object"),
    ):
        file.write_text(content)
        with pytest.raises(SourceError, match=words):
            read_table(file)


TEXT = "a,b\n" + "".join(f"{row},x{row % 3}\n" for row in range(5_000))


def zipped(**files: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name.replace("__", "."), content)
    return file.getvalue()


@pytest.mark.parametrize("name", ["t.csv.gz", "t.zip"])
def test_one_packed_file_is_read_as_it_is(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(TEXT.encode()) if name.endswith("gz") else zipped(t__csv=TEXT))
    assert read_table(file)["a"].tolist() == list(np.arange(5_000))
    assert measure_source(str(file)).estimated_bytes
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(SourceError, match=name):
        read_table(file)


def test_several_packed_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.zip").write_bytes(zipped(a__csv=TEXT, b__csv=TEXT))
    with pytest.raises(SourceError, match=r"t\.zip holds 2 files"):
        read_table(tmp_path / "t.zip")
    locked = zipped(t__csv=TEXT).replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
    (tmp_path / "t.zip").write_bytes(locked)
    with pytest.raises(SourceError, match=r"t\.zip is locked by a password\. Unpack it"):
        read_table(tmp_path / "t.zip")
    (tmp_path / "t.parquet.gz").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match="Parquet is packed in itself"):
        read_table(tmp_path / "t.parquet.gz")


def test_a_packed_file_is_as_large_as_what_is_in_it(tmp_path):
    rows = b"age,error\n" + b"".join(b"%d,%d\n" % (20 + n % 40, n % 2) for n in range(40)) * 5_000
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(rows))
    assert SourceFile(path).content_size() == len(rows) > 100 * path.stat().st_size
    spec = {
        "name": "packed",
        "source": {"path": str(path)},
        "bias_variable": {"column": "error", "better": "lower"},
        "clustering": {"memory_limit": "4 MB"},
    }
    assert memory_plan(parse_spec(spec)).out_of_core
    path.write_bytes(b"")
    assert SourceFile(path).content_size() == 0


def test_a_table_that_memory_does_not_hold_is_named_with_the_mend(tmp_path):
    path = tmp_path / "t.csv.gz"
    block = b"".join(b"%s,%d\n" % (b"place %d" % (n % 9) * 15, n % 2) for n in range(360)) * 1_000
    with gzip.open(path, "wb", compresslevel=1) as packed:
        packed.write(b"place,error\n")
        for _ in range(6):
            packed.write(block)
    spec = tmp_path / "t.yaml"
    spec.write_text(
        f"name: t\nsource: {{path: {path}}}\nbias_variable: {{column: error, better: lower}}\n"
        "features: {include: [place]}\nclustering: {memory: in_memory}\n"
    )
    audits = (
        "import resource, sys, threading\n"
        "import bdt_core.stages, bdt_core.table.text_files, pyarrow.csv, bdt_pipeline.commands.run_audit\n"
        "import bdt_core.table.sketch_kernels\n"  # it is the table that does not fit, not the compiler
        "from bdt_pipeline.cli import main\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000,) * 2)\n"
        "threading.Thread(target=threading.Event().wait).start()\n"  # as those of Arrow, which never end then
        "main()\n"
    )
    command = [sys.executable, "-c", audits, "audit", str(spec), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f'{path} does not fit into memory. Set "clustering.memory: out_of_core"' in done.stderr, done.stderr[-2000:]
    assert done.returncode == 2
