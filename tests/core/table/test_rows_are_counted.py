"""Rows read are the lines of the file, less what is reported: none is shifted, filled up or swallowed in silence."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.audit import audit
from bdt_core.errors import SourceError
from bdt_core.spec import AuditSpec, Source
from bdt_core.table.batches import open_batches
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.sources import read_table

LINES = st.lists(st.text('a1," ', min_size=1, max_size=9).filter(str.strip), min_size=1, max_size=12)
GOES_ON = re.compile(r"so ([\d,]+) lines of the file go on")


def accounted(frame: pd.DataFrame) -> int:
    """Rows, lines left out, and lines that belong to the row before them."""
    notes = ReadingNotes.of(frame.attrs)
    within = sum(int(found[1].replace(",", "")) for one in notes.remarks if (found := GOES_ON.search(one)))
    return len(frame) + notes.lines_left_out + within


def read(source: Source) -> pd.DataFrame | str:
    """The table, or why it cannot be read."""
    try:
        return read_table(source)
    except SourceError as error:
        return str(error)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(lines=LINES, is_ended=st.booleans())
def test_every_line_is_a_row_or_reported(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], is_ended: bool
) -> None:
    file = tmp_path_factory.mktemp("rows") / "t.csv"
    file.write_text("\n".join(["a,b,c", *lines]) + "\n" * is_ended)
    found, strictly = read(Source(path=str(file), bad_rows="leave_out")), read(Source(path=str(file)))
    if isinstance(found, str):
        assert str(file) in found
        return
    assert accounted(found) == len(lines)
    if isinstance(strictly, str):
        assert re.search(r"t\.csv, line \d+: ", strictly)
        assert ReadingNotes.of(found.attrs).lines_left_out
    else:
        pd.testing.assert_frame_equal(strictly, found)


def people(rows: int = 400) -> list[str]:
    """Lines of a table."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "months": rng.integers(1, 400, rows),
            "sex": rng.choice(["f", "m"], rows),
            "region": rng.choice(["north", "south"], rows),
            "y": rng.integers(0, 2, rows),
            "p": rng.integers(0, 2, rows),
        }
    )
    return frame.to_csv(index=False).splitlines()


def shifted() -> list[str]:
    """A hundred rows lack their first value."""
    return [line.partition(",")[2] if row % 4 == 1 else line for row, line in enumerate(people())]


def swallowing() -> list[str]:
    """Two stray quotation marks, a hundred rows apart."""
    lines = people()
    lines[50] = re.sub("([fm]),", r'"\1,', lines[50])
    lines[150] = re.sub("([fm]),", r'\1",', lines[150])
    return lines


def cut_off() -> list[str]:
    """The last row ends early."""
    lines = people()
    return [*lines[:-1], lines[-1].rpartition(",")[0]]


FAULTY = {
    "shifted": (shifted, "line 2: 5 columns where the header has 6", 100),
    "swallowed": (swallowing, "line 51: a quotation mark is closed on line 151 only", 101),
    "cut off": (cut_off, "line 401: 5 columns where the header has 6", 1),
}


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_lines_are_refused_or_left_out_and_counted_on_page_one(tmp_path: Path, name: str) -> None:
    lines, words, count = FAULTY[name]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(lines()) + "\n")

    def spec(bad_rows: str) -> AuditSpec:
        return AuditSpec.model_validate(
            {
                "name": "a",
                "source": {"path": str(file), "bad_rows": bad_rows},
                "bias_variable": {"derive": "error", "label": "y", "prediction": "p"},
                "slices": None,
            }
        )

    with pytest.raises(SourceError, match=words):
        audit(None, spec("refuse"))
    document = audit(None, spec("leave_out")).document
    told = f"{count:,} of 400 lines of the source are left out"
    assert any(one.startswith(told) for one in document["warnings"])
    data = document["data"]
    assert (data["rows"], data["rows_audited"]) == (400, 400 - count)
    assert [one["rows"] for one in data["rows_left_out"]] == [count]


def test_lines_left_out_are_the_same_in_blocks(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\n".join(shifted()) + "\n")
    source = Source(path=str(file), bad_rows="leave_out")
    with open_batches(source, batch_rows=70) as batches:
        parts = list(batches)
    assert {ReadingNotes.of(one.attrs).lines_left_out for one in parts} == {100}
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), read_table(source))


def test_lines_of_a_joined_table_are_counted_too(tmp_path: Path) -> None:
    lines = people()
    numbered = ["id," + lines[0], *(f"{row},{line}" for row, line in enumerate(lines[1:]))]
    (tmp_path / "t.csv").write_text("\n".join(numbered) + "\n")
    other = ["id,grade,place", *(f"{row},{row % 5},x{row % 3}" for row in range(400))]
    other[7] = "6,1"
    (tmp_path / "other.csv").write_text("\n".join(other) + "\n")
    join = {"path": f"{tmp_path}/other.csv", "key": "id", "bad_rows": "leave_out"}
    told = ReadingNotes.of(read_table(Source(path=f"{tmp_path}/t.csv", join=join)).attrs).remarks
    assert any(re.match(r"1 of 400 lines of \S*other\.csv are left out: they have fewer", one) for one in told)


def test_values_of_several_lines_are_no_swallowed_rows(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text('a,b,c\n1,"Dear all, hello\nand, well, so long",2\n3,"x\ny",4\n')
    frame = read_table(file)
    assert frame["a"].tolist() == [1, 3]
    assert accounted(frame) == 4


def test_a_last_line_without_an_end_is_told(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n3,4")
    assert any("the last line has no end" in one for one in ReadingNotes.of(read_table(file).attrs).remarks)
    file.write_text("a,b\n1,2\n3,4\n")
    assert not read_table(file).attrs
