"""Names that people have for columns and their levels, from a CSV file such as a codebook."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
    ValueError
        The file cannot be read, or a line of it says no name; file, line and mend are told.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ValueError(
            f"{path} does not exist; give the path of a CSV file, as seen from the specification"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f'{path} is no UTF-8; save it anew as "CSV UTF-8"') from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
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
    ValueError
        A line says no name, or another one than a line before it.

    Examples
    --------
    >>> names_in("column,level,name\nrace,,origin\nrace,AA,African-American", "names.csv")
    {'race': {'name': 'origin', 'levels': {'AA': 'African-American'}}}
    >>> names_in("column;level;name\nrace;AA;", "names.csv")
    Traceback (most recent call last):
    ...
    ValueError: names.csv, line 2: "race", level "AA", has no name; write one in the column "name", or delete the line
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
            where = f"{origin}, line {reader.line_num}"
            _refuse_nameless(column, level, name, where)
            first = lines.setdefault((column, level), reader.line_num)
            if first != reader.line_num:
                raise ValueError(f"{where}: {_thing(column, level)} was named in line {first}; keep one of them")
            label = labels.setdefault(column, {"levels": {}})
            if level:
                label["levels"][level] = name.strip()
            else:
                label["name"] = name.strip()
    except csv.Error as error:
        raise ValueError(f"{origin}, line {reader.line_num}: {error}; save it anew as CSV") from None
    return {
        column: {key: one[key] for key in ("name", "levels") if one.get(key)} for column, one in labels.items()
    }  # fmt: skip


def _places(head: Sequence[str], origin: str) -> list[int]:
    lacks = [one for one in COLUMNS if one not in head]
    if lacks:
        raise ValueError(
            f'{origin}, line 1: it does not name the column "{lacks[0]}"; write "{",".join(COLUMNS)}" there'
        )
    return [head.index(one) for one in COLUMNS]


def _refuse_nameless(column: str, level: str, name: str, where: str) -> None:
    if not column.strip():
        raise ValueError(f'{where}: it names no column; write one in the column "column", or delete the line')
    if not name.strip():
        raise ValueError(
            f'{where}: {_thing(column, level)} has no name; write one in the column "name", or delete the line'
        )


def _thing(column: str, level: str) -> str:
    return f'"{column}", level "{level}",' if level else f'"{column}"'
