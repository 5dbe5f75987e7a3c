"""Seeded changes of an input: of its bytes, of its text, and of what stands in it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pandas as pd
import yaml

from tests.fuzz.inputs import Files, Kind

TOKENS = (
    "", " ", "NA", "None", "nan", "inf", "-inf", "-0", "1e999", "1e-320", "9" * 25, "9" * 400, "0x10", "1,5", "1.234",
    "1.234,5", "€ 12", "12 %", "ja", "TRUE", "2026-02-30", "31/12/2025", "0001-01-01", "9999-12-31T23:59:60Z",
    "::error::fuzz", "::error file=a::fuzz", "##[error]fuzz", "##vso[task.fuzz]", "\x1b[31mfuzz", "\x1b]0;fuzz\x07",
    "\u202efuzz", "\u2066fuzz", "\u200b", "\x00", "\x7f", "\x85", "\u2028", "\r", "\n", "\r\n", "\x0b", "\t", '"', "'",
    '""', "\\", "`fuzz`", "<script>fuzz()</script>", "<img src=x onerror=fuzz()>", "](javascript:fuzz())", "=cmd|fuzz",
    "{{ fuzz }}", "{% fuzz %}", "{partition}", "${FUZZ}", "../../fuzz", "/", "~fuzz", "*", "demo:fuzz", "s3:/fuzz",
    "a" * 300, "é", "e\u0301", "İ", "ß", "東京", "🙂", "\ufeff", "\ufffe", "[bold]fuzz[/]", "|", ";", ",", "#",
    "!!fuzz x", "&a [*a]", "<<: x", "- x", "? x", ": x", "@x", "%x", "0o7", "1_000", "12:30:45", "yes", "~", "null",
)  # fmt: skip
"""What has broken programs before."""
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, 1e308, -1e-300, 10**14, 2**63, 10**30, float("nan"), float("inf"), "", "fuzz",
    [], {}, [[]], [None], {"": 1}, {"fuzz": {"fuzz": []}}, ["fuzz", 1, None], "x" * 5000,
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1252", "cp037", "utf-7")


def mutated(kind: Kind, random_: random.Random) -> Files:
    """Files of a kind of which one was changed, once or a few times."""
    files = dict(kind.files())
    raw = files[kind.mutated]
    changes = random_.choice((1, 1, 1, 2, 3))
    if kind.form == "frame" and kind.of_frame is not None and random_.random() < 0.5:
        from tests.fuzz.inputs import people

        frame = people()
        for _ in range(changes):
            frame = random_.choice(FRAME)(frame, random_)
        try:
            raw = kind.of_frame(frame)
        except Exception:  # what cannot be written in this form is no input of it
            raw = of_bytes(raw, random_)
    else:
        for _ in range(changes):
            raw = _ways(kind, random_)(raw, random_)
    return files | {kind.mutated: raw}


def _ways(kind: Kind, random_: random.Random) -> Callable[[bytes, random.Random], bytes]:
    ways = [of_bytes]
    if kind.form == "text":
        ways += [of_text] * 3
    elif kind.form == "lines of JSON":
        ways += [of_json_line] * 3
    elif kind.form == "document":
        ways += [of_yaml if kind.mutated.endswith(".yaml") else of_json] * 4
    return random_.choice(ways)


def of_bytes(raw: bytes, random_: random.Random) -> bytes:
    """Cut, double, swap, overwrite or insert bytes."""
    if not raw:
        return random_.choice(TOKENS).encode()
    a, b = sorted(random_.randrange(len(raw) + 1) for _ in range(2))
    near = min(len(raw), a + random_.choice((1, 1, 2, 8, 64)))
    match random_.randrange(9):
        case 0:
            return raw[:a]
        case 1:
            return raw[:a] + raw[near:]
        case 2:
            return raw[:b] + raw[a:b] + raw[b:]
        case 3:
            return raw[:a] + raw[a:near][::-1] + raw[near:]
        case 4:
            return raw[:a] + random_.randbytes(near - a) + raw[near:]
        case 5:
            return raw[:a] + random_.choice(TOKENS).encode() + raw[a:]
        case 6:
            return random_.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0", b"\n", b" ", b"%PDF", b"PK")) + raw
        case 7:
            return raw[:a] + bytes(one ^ (1 << random_.randrange(8)) for one in raw[a : a + 1]) + raw[a + 1 :]
        case _:
            return raw + random_.choice((b"\0", b"\n\n", b"\x1a", b'"', b"\r", raw[:near]))


def of_text(raw: bytes, random_: random.Random) -> bytes:
    """Change lines, cells, the header, quotation marks, line ends or the encoding of a separated text."""
    text = raw.decode(errors="surrogateescape")
    lines = text.splitlines(keepends=True) or [""]
    at = random_.randrange(len(lines))
    separator = max(",;\t", key=lines[0].count)
    cells = lines[at].split(separator)
    cell, token = random_.randrange(len(cells)), random_.choice(TOKENS)
    match random_.randrange(13):
        case 0:
            lines[at] = separator.join(cells[:cell] + cells[cell + 1 :])
        case 1:
            lines.insert(at, lines[random_.randrange(len(lines))])
        case 2:
            cells[cell] = token
            lines[at] = separator.join(cells)
        case 3:
            cells.insert(cell, token)
            lines[at] = separator.join(cells)
        case 4:
            cells[cell] = random_.choice(('"{}', '{}"', '"{}"', "'{}'", ' "{}" ', '""{}""')).format(cells[cell])
            lines[at] = separator.join(cells)
        case 5:
            names = lines[0].split(separator)
            place = random_.randrange(len(names))
            names[place] = random_.choice((token, names[0], names[place].upper(), names[place] + token))
            lines[0] = separator.join(names)
        case 6:
            chance = random_.choice((0.1, 0.5, 1.0))
            place = random_.randrange(max(1, lines[0].count(separator)))
            lines[1:] = [
                _with_cell(one, separator, place, token) if random_.random() < chance else one for one in lines[1:]
            ]
        case 7:
            ends = random_.choice(("\r\n", "\r", "\n\n", "\u2028", "\x0b", " \n", "\n\r"))
            return text.replace("\n", ends).encode(errors="surrogateescape")
        case 8:
            encoding = random_.choice(ENCODINGS)
            return text.encode("utf-8", "replace").decode("utf-8", "replace").encode(encoding, "replace")
        case 9:
            lines[at] = lines[at].replace(separator, random_.choice((";", ",", "\t", "|")))
        case 10:
            random_.shuffle(lines)
        case 11:
            lines = lines[: random_.choice((0, 1, 2, 12))]
        case _:
            lines.insert(at, token + random_.choice(("", "\n")))
    return "".join(lines).encode(errors="surrogateescape")


def _with_cell(line: str, separator: str, place: int, token: str) -> str:
    cells = line.split(separator)
    if place < len(cells) - 1:  # the last one has the line's end
        cells[place] = token
    return separator.join(cells)


def of_json_line(raw: bytes, random_: random.Random) -> bytes:
    """Change the document in one line."""
    lines = raw.split(b"\n")
    at = random_.randrange(len(lines))
    lines[at] = of_json(lines[at], random_).replace(b"\n", b" ")
    return b"\n".join(lines)


def of_json(raw: bytes, random_: random.Random) -> bytes:
    """Change what stands in a document of JSON."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return of_bytes(raw, random_)
    if random_.random() < 0.1:
        return _key_twice(raw, random_)
    return json.dumps(_changed(document, random_), ensure_ascii=random_.random() < 0.5).encode(errors="replace")


def of_yaml(raw: bytes, random_: random.Random) -> bytes:
    """Change what stands in a document of YAML, or its lines."""
    if random_.random() < 0.25:
        lines = raw.decode(errors="replace").splitlines(keepends=True) or [""]
        at, token = random_.randrange(len(lines)), random_.choice(TOKENS)
        lines[at] = random_.choice(
            (lines[at] * 2, "  " + lines[at], lines[at].lstrip(), lines[at].rstrip("\n") + token + "\n", token + "\n")
        )
        return "".join(lines).encode()
    try:
        document = yaml.safe_load(raw)
        return yaml.safe_dump(_changed(document, random_), sort_keys=False, allow_unicode=True).encode(errors="replace")
    except (yaml.YAMLError, ValueError, RecursionError, AttributeError):
        return of_bytes(raw, random_)


def _key_twice(raw: bytes, random_: random.Random) -> bytes:
    places = [place for place, one in enumerate(raw) if one == ord("{")]
    at = random_.choice(places or [0]) + 1
    return raw[:at] + b'"name": 1, "name": 2, ' + raw[at:]


def _changed(document: Any, random_: random.Random) -> Any:
    """The document with one node of it changed."""
    document = copy.deepcopy(document)
    places = list(_places(document))
    if not places:
        return random_.choice(VALUES)
    holder, key = random_.choice(places)
    value = holder[key]
    token = random_.choice(TOKENS)
    match random_.randrange(9):
        case 0 | 1:
            holder[key] = copy.deepcopy(random_.choice(VALUES))
        case 2:
            holder[key] = token
        case 3:
            del holder[key]
        case 4 if isinstance(holder, dict):
            holder[random_.choice((token, str(key) + "s", str(key).upper()))] = holder.pop(key)
        case 5:
            holder[key] = random_.choice(([value], {"fuzz": value}, [value, value], str(value)))
        case 6:
            deep: Any = value
            for _ in range(random_.choice((3, 60, 300))):
                deep = [deep]
            holder[key] = deep
        case 7:
            other, name = random_.choice(places)
            holder[key] = copy.deepcopy(other[name])
        case _ if isinstance(value, int | float) and not isinstance(value, bool):
            holder[key] = value * random_.choice((-1, 0, 1e3, 10**6, 10**12, 1e-9, 1e300))
        case _:
            holder[key] = token
    return document


def _places(document: Any) -> Any:
    """Every (holder, key) of a document."""
    entries = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in list(entries):
        yield document, key
        yield from _places(value)


def _names(frame: pd.DataFrame, random_: random.Random) -> pd.DataFrame:
    names = [str(one) for one in frame.columns]
    place = random_.randrange(len(names))
    names[place] = random_.choice((random_.choice(TOKENS), names[0], names[place] + random_.choice(TOKENS)))
    return frame.set_axis(names, axis=1)


def _values(frame: pd.DataFrame, random_: random.Random) -> pd.DataFrame:
    place, chance, token = random_.randrange(frame.shape[1]), random_.choice((0.02, 0.3, 1.0)), random_.choice(TOKENS)
    column = [token if random_.random() < chance else one for one in frame.iloc[:, place]]
    return _replaced(frame, place, pd.Series(column, index=frame.index, dtype=object).infer_objects())


def _types(frame: pd.DataFrame, random_: random.Random) -> pd.DataFrame:
    place = random_.randrange(frame.shape[1])
    rows = range(len(frame))
    made: Any = random_.choice(
        (
            pd.Series([f"{row}".encode() for row in rows], dtype=object),
            pd.Series([[row] for row in rows], dtype=object),
            pd.Series(pd.date_range("1600-01-01" if random_.random() < 0.1 else "2000-01-01", periods=len(frame))),
            pd.Series(pd.to_timedelta(list(rows), unit="D")),
            pd.Series([float("inf")] * len(frame)),
            pd.Series([float("nan")] * len(frame)),
            pd.Series([10.0**300 * (row - 50) for row in rows]),
            pd.Series([row % 2 == 0 for row in rows]),
            pd.Series([2**62 + row for row in rows]),
            pd.Series([1] * len(frame)),
            pd.Series([None] * len(frame), dtype=object),
            pd.Series([f"{row % 3}" for row in rows], dtype="category"),
        )
    )
    return _replaced(frame, place, made.set_axis(frame.index))


def _rows(frame: pd.DataFrame, random_: random.Random) -> pd.DataFrame:
    return random_.choice(
        (frame.head(random_.choice((0, 1, 2, 12))), pd.concat([frame, frame]), frame.iloc[:, :random_.choice((1, 3))])
    )  # fmt: skip


def _replaced(frame: pd.DataFrame, place: int, column: Any) -> pd.DataFrame:
    parts = [frame.iloc[:, i] if i != place else column.rename(frame.columns[place]) for i in range(frame.shape[1])]
    return pd.concat(parts, axis=1)


FRAME = (_names, _values, _values, _types, _rows)
