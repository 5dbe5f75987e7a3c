"""Names that people have for columns and their levels, from a CSV file such as a codebook."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bdt_core.errors import SpecError
from bdt_core.said import Column, Level, say

COLUMNS = ("column", "level", "name")
"""What the first line of such a file names; further columns are passed over."""
_SEPARATORS = ",;\t"


def names_in_file(path: Path) -> dict[str, dict[str, Any]]:
    """``labels`` as a CSV file has them.

    Parameters
    ----------
    path : Path

    Raises
    ------
    SpecError
        The file cannot be read, or a line of it says no name; file, line and mend are told.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        message = "{file} does not exist; give the path of a CSV file, as seen from the specification."
        raise SpecError(say(message, file=str(path))) from None
    except UnicodeDecodeError:
        raise SpecError(say('{file} is no UTF-8; save it anew as "CSV UTF-8".', file=str(path))) from None
    except OSError as error:
        raise SpecError(say("{file} cannot be read: {problem}.", file=str(path), problem=str(error.strerror))) from None
    return names_in(text, str(path))


def names_in(text: str, origin: str) -> dict[str, dict[str, Any]]:
    r"""``labels`` as the text of a CSV file has them.

    Parameters
    ----------
    text : str
        Its first line is ``column,level,name``, with commas, semicolons or tabs. A line without a level names the
        column itself.
    origin : str
        Named in error messages, usually the file.

    Raises
    ------
    SpecError
        A line says no name, or another one than a line before it.

    Examples
    --------
    >>> names_in("column,level,name\nrace,,origin\nrace,AA,African-American", "names.csv")
    {'race': {'name': 'origin', 'levels': {'AA': 'African-American'}}}
    >>> names_in("column;level;name\nrace;AA;", "names.csv")
    Traceback (most recent call last):
    ...
    bdt_core.errors.SpecError: names.csv, line 2: "race", level "AA", has no name; write one, or delete the line.
    """
    head, *_ = text.splitlines() or [""]
    reader = csv.reader(text.splitlines(), delimiter=max(_SEPARATORS, key=head.count), strict=True)
    labels: dict[str, dict[str, Any]] = {}
    lines: dict[tuple[str, str], int] = {}
    try:
        places = _places([one.strip().lower() for one in next(reader, [])], origin)
        for row in reader:
            if not any(map(str.strip, row)):
                continue
            column, level, name = (row[at] if at < len(row) else "" for at in places)
            _refuse_nameless(column, level, name, {"file": origin, "N": str(reader.line_num)})
            first = lines.setdefault((column, level), reader.line_num)
            if first != reader.line_num:
                message = '{file}, line {N}: "{column}", level "{level}", was named in line {Nfirst}; keep one of them.'
                if not level:
                    message = '{file}, line {N}: "{column}" was named in line {Nfirst}; keep one of them.'
                where = {"file": origin, "N": str(reader.line_num), "Nfirst": str(first)}
                raise SpecError(say(message, **where, **_thing(column, level)))
            label = labels.setdefault(column, {"levels": {}})
            if level:
                label["levels"][level] = name.strip()
            else:
                label["name"] = name.strip()
    except csv.Error as error:
        message = "{file}, line {N}: {problem}; save it anew as CSV."
        raise SpecError(say(message, file=origin, N=str(reader.line_num), problem=str(error))) from None
    return {column: {key: one[key] for key in ("name", "levels") if one.get(key)} for column, one in labels.items()}


def _places(head: Sequence[str], origin: str) -> list[int]:
    lacks = [one for one in COLUMNS if one not in head]
    if lacks:
        message = '{file}, line 1: it does not name the column "{column}"; write "column,level,name" there.'
        raise SpecError(say(message, file=origin, column=Column(lacks[0])))
    return [head.index(one) for one in COLUMNS]


def _refuse_nameless(column: str, level: str, name: str, where: Mapping[str, str]) -> None:
    if not column.strip():
        raise SpecError(say("{file}, line {N}: it names no column; write one, or delete the line.", **where))
    if not name.strip():
        message = '{file}, line {N}: "{column}", level "{level}", has no name; write one, or delete the line.'
        if not level:
            message = '{file}, line {N}: "{column}" has no name; write one, or delete the line.'
        raise SpecError(say(message, **where, **_thing(column, level)))


def _thing(column: str, level: str) -> dict[str, str]:
    return {"column": Column(column)} | ({"level": Level(level, column)} if level else {})
