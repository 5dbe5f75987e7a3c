"""Cells of one sheet of a workbook, read in a process of its own.

The library that reads workbooks is native code that holds all cells up to the farthest one. Where a stray cell lies so
far out that they do not fit into memory, it ends its process without a word; so it has one that may end.
"""

from __future__ import annotations

import io
import json
import pickle
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bdt_core.errors import SourceError
from bdt_core.said import say

_PIECE = 1 << 22
_MOST_XML = 1 << 28
"""Bytes of sheets that are searched for the cell that lies farthest out."""
_REFERENCE = re.compile(rb' r="([A-Za-z]{1,9})([0-9]{1,12})"')
_LONGEST_REFERENCE = 32
_READER = """
import io, json, os, pickle, sys
asked = json.loads(sys.stdin.buffer.readline())
try:
    import resource
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
except (ImportError, ValueError, OSError):
    pass  # there the system says how much it is
answer = {"names": [], "rows": None, "error": None}
try:
    from python_calamine import CalamineWorkbook
    book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
    answer["names"] = names = book.sheet_names
    sheet = names[0] if asked["sheet"] is None and len(names) == 1 else asked["sheet"]
    if sheet in names:
        answer["rows"] = book.get_sheet_by_name(sheet).to_python()
except MemoryError:
    raise  # which ends the process as the library does
except Exception as error:
    answer["error"] = str(error)
sys.stdout.buffer.write(pickle.dumps(answer, protocol=5))
"""
"""Reads a line of JSON and the file, and writes what `Sheets` holds."""


@dataclass(frozen=True)
class Sheets:
    """What a workbook holds.

    Attributes
    ----------
    names : list of str
        Of all sheets.
    rows : list of list, or None
        Cells of the sheet that was asked for, or of the only one; None where there is no such sheet, or several.
    """

    names: list[str]
    rows: list[list[Any]] | None


def read_sheets(content: bytes, sheet: str | None, name: str) -> Sheets:
    """Read one sheet of a workbook.

    Parameters
    ----------
    content : bytes
        Of the file.
    sheet : str or None
        None where the workbook has to have one only.
    name : str
        The file, as messages name it.

    Raises
    ------
    SourceError
        The sheet does not fit into memory.
    ValueError
        The bytes are no workbook.
    """
    asked = json.dumps({"sheet": sheet}).encode() + b"\n"
    command = [sys.executable, "-P", "-c", _READER]  # -P: a file here that has its name is not taken for the library
    done = subprocess.run(command, input=asked + content, capture_output=True, check=False)
    if done.returncode != 0 or not done.stdout:
        raise SourceError(_does_not_fit(content, name))
    answer = pickle.loads(done.stdout)  # our own process wrote it
    if answer["error"] is not None:
        raise ValueError(answer["error"])
    return Sheets(answer["names"], answer["rows"])


def _does_not_fit(content: bytes, name: str) -> str:
    cell = _farthest_cell(content)
    if cell is None:
        return say(
            "{table}: the sheet does not fit into memory. Is a cell filled that lies far away from the others? Delete "
            "it, or save the sheet as .csv.",
            table=name,
        )
    return say(
        "{table}: the sheet does not fit into memory, for it goes on to the cell {cell}. Delete what is not of the "
        "table, or save the sheet as .csv.",
        table=name,
        cell=cell,
    )


def _farthest_cell(content: bytes) -> str | None:
    """The cell of an .xlsx file up to which a sheet has most cells; None of other files."""
    farthest = max(_references(content), key=lambda place: place[0], default=None)
    return None if farthest is None else farthest[1]


def _references(content: bytes) -> Iterator[tuple[int, str]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            for entry in packed.namelist():
                if entry.startswith("xl/worksheets/"):
                    with packed.open(entry) as sheet:
                        yield from _references_in(sheet)
    except (OSError, EOFError, ValueError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        return  # the message says less


def _references_in(sheet: Any) -> Iterator[tuple[int, str]]:
    """Number of cells up to each filled one, and what it is called."""
    before = b""
    for _ in range(_MOST_XML // _PIECE):
        piece = sheet.read(_PIECE)
        if not piece:
            return
        for letters, digits in _REFERENCE.findall(before + piece):
            column = 0
            for letter in letters.upper():
                column = 26 * column + letter - ord("@")
            yield column * int(digits), (letters + digits).decode()
        before = piece[-_LONGEST_REFERENCE:]
