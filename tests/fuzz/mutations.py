"""Seeded changes of an input: of its bytes, of its text, and of what stands in it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
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
    if kind.form == "names":
        return _named(random_)
    if kind.form in ("url", "encoding"):
        return files | {kind.mutated: (_of_address if kind.form == "url" else _of_encoding)(raw, random_)}
    changes = random_.choice((1, 1, 1, 2, 3))
    if kind.of_frame is not None and (kind.form != "frame" or random_.random() < 0.5):
        from tests.fuzz.inputs import people

        frame = people()
        for _ in range(changes):
            frame = random_.choice(FRAMES[kind.form])(frame, random_)
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


def _arrow_types(frame: pd.DataFrame, random_: random.Random) -> pd.DataFrame:
    """Give a column another type of Arrow, with as much of its values as that can hold."""
    place, made = random_.randrange(frame.shape[1]), random_.choice(ARROW)
    try:
        held = pa.array(frame.iloc[:, place].tolist(), from_pandas=True).cast(made, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):  # of mixed cells Arrow makes no column
        try:
            held = pa.array(range(len(frame)), pa.int64()).cast(made, safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            held = pa.nulls(len(frame), made)
    return _replaced(frame, place, pd.Series(held, dtype=pd.ArrowDtype(made), index=frame.index))


def _index(frame: pd.DataFrame, random_: random.Random) -> pd.DataFrame:
    """Other labels of rows, and of columns: what no file has."""
    names = list(frame.columns)
    place = random_.randrange(len(names))
    match random_.randrange(7):
        case 0:
            return frame.set_axis([0] * len(frame))
        case 1:
            return frame.set_index(names[place])
        case 2:
            return frame.set_index(names[:2])
        case 3:
            return frame.set_axis(pd.date_range("2026-01-01", periods=len(frame)))
        case 4:
            odd = random_.choice((0, None, float("nan"), ("a", 1), b"x", pd.Timestamp("2026-01-01"), True))
            return frame.set_axis([odd if one == place else name for one, name in enumerate(names)], axis=1)
        case 5:
            return frame.set_axis(pd.MultiIndex.from_product([["top"], names]), axis=1)
        case _:
            return frame.iloc[:: random_.choice((-1, 2))]


def _dtypes(frame: pd.DataFrame, random_: random.Random) -> pd.DataFrame:
    """A column of pandas' own types: numbers, texts and categories that may be missing, sparse ones, periods."""
    place, made = random_.randrange(frame.shape[1]), random_.choice(DTYPES)
    try:
        return _replaced(frame, place, frame.iloc[:, place].astype(made))
    except (TypeError, ValueError):
        return frame


FRAME = (_names, _values, _values, _types, _rows)
FRAMES = {
    "frame": FRAME,
    "types": (_arrow_types,),
    "in memory": (*FRAME, _index, _index, _dtypes, _dtypes, _arrow_types, _arrow_types),
}
DTYPES = (
    "Int8", "UInt64", "Float32", "float16", "boolean", "string", "category", "complex128", "object", "period[D]",
    "datetime64[s]", "timedelta64[s]", "Sparse[int]", "Sparse[float]", "int8", "bool", "S5", "interval",
)  # fmt: skip
ARROW = (
    pa.null(), pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(38, 3),
    pa.decimal256(76, 0), pa.string(), pa.large_string(), pa.binary(), pa.binary(3), pa.large_binary(), pa.date32(),
    pa.date64(), pa.time32("s"), pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ns", "Europe/Amsterdam"),
    pa.timestamp("us", "+23:59"), pa.duration("ms"), pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.int64()), pa.list_(pa.int64()), pa.large_list(pa.string()), pa.list_(pa.int8(), 2),
    pa.struct([("a", pa.int64()), ("b", pa.string())]), pa.struct([]), pa.map_(pa.string(), pa.int64()),
)  # fmt: skip
"""What a column of Parquet can be, and a column of a frame."""
SPOKEN = (
    *ENCODINGS, "utf-16-be", "utf-32-be", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257", "cp437", "cp850", "cp852",
    "iso8859-2", "iso8859-5", "iso8859-15", "mac-roman", "mac-latin2", "koi8-r", "shift_jis", "euc-jp", "iso2022-jp",
    "gb18030", "big5", "euc-kr", "hz", "utf-8", "cp500", "cp1140", "punycode", "unicode-escape",
)  # fmt: skip


def _of_encoding(raw: bytes, random_: random.Random) -> bytes:
    """The text in another encoding, with its mark, cut within a letter, with other ends of lines, or in two encodings.

    No cell is changed: whoever reads it finds the same numbers.
    """
    text, ways = raw.decode(), [random_.choice(SPOKEN) for _ in range(2)]
    coded = text.encode(ways[0], "replace")
    match random_.randrange(5):
        case 0:
            at = random_.randrange(text.index("\n"), len(text))
            return text[:at].encode(ways[0], "replace") + text[at:].encode(ways[1], "replace")
        case 1:
            return random_.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")) + coded
        case 2:
            return coded[: random_.randrange(1, len(coded))]
        case 3:
            return text.replace("\n", random_.choice(("\r\n", "\r"))).encode(ways[0], "replace")
        case _:
            return coded


SCHEMES = (
    "http", "https", "file", "ftp", "sftp", "s3", "memory", "data", "sqlite", "sqlite+aiosqlite", "postgresql",
    "postgresql+psycopg", "mysql", "oracle", "duckdb", "snowflake", "mssql+pyodbc", "zip", "github", "javascript",
    "localhost", "HTTP", "c", "gs", "abfs", "demo", "\\\\host",
)  # fmt: skip
WHERE = (
    "127.0.0.1:9", "[::1]:9", "127.0.0.1:99999", "127.0.0.1:x", "[::1", "u:secret@127.0.0.1:9", ":secret@127.0.0.1:9",
    "u:${FUZZ}@127.0.0.1:9", "", "/", "%", "%zz", "%00", "..", "." * 300, "x" * 300, "\u202e", "é", "xn--", "a b",
    "127.0.0.1:9@127.0.0.1:9", "#", "?", "0", "127.0.0.1:9\\", "\n",
)  # fmt: skip


def _of_address(raw: bytes, random_: random.Random) -> bytes:
    """A specification whose table is at an address that leads nowhere."""
    ends = random_.choice(("://", "://", "://", ":", ":/", ":///", "::"))
    where = random_.choice(WHERE) if ends == "://" else random_.choice(WHERE).replace("secret", "")  # a path has none
    tail = random_.choice(("", "/", "/t.csv", "/t.parquet", "/*", "/{partition}", "//t.db"))
    tail += random_.choice(("", "", "?" + random_.choice(TOKENS), "#" + random_.choice(TOKENS)))
    address = random_.choice(SCHEMES) + ends + where + tail
    if ends == "://" and random_.random() < 0.1:
        address += "?password=secret"
    ways: tuple[dict[str, Any], ...] = (
        {"path": address},
        {"path": address},
        {"sql": "select 1", "database": address},
        {"path": "t.csv", "join": {"path": address, "key": "note"}},
        {"path": "t.csv", "arrays": {"p": address}},
        {"path": "t.csv", "storage_options": {"endpoint_url": address}},
    )
    spec = yaml.safe_load(raw) | {"source": random_.choice(ways)}
    return yaml.safe_dump(spec, allow_unicode=True).encode(errors="replace")


def _named(random_: random.Random) -> Files:
    """A table, a file of it, levels and an audit of any names, which a specification writes as they are."""
    from tests.fuzz.inputs import SPEC, people

    def name() -> str:
        return "".join(random_.choice(TOKENS) for _ in range(random_.choice((1, 1, 2)))) + random_.choice(("", "", "x"))

    frame = people()
    new = {one: name() if random_.random() < 0.5 else one for one in ("sex", "region", "y", "p")}
    frame = frame.rename(columns=new).replace({new["sex"]: {"f": name(), "m": name()}})
    file = name().replace("/", "_").replace("\0", "_")[:60].encode("utf-8", "replace").decode() + ".csv"
    spec = SPEC | {
        "name": name() if random_.random() < 0.2 else "people",
        "source": {"path": file},
        "bias_variable": {"derive": "error", "label": new["y"], "prediction": new["p"]},
        "protected": [new["sex"]],
        "gate": [{"metric": "selection_rate_difference", "facet": new["sex"], "max": 0.3}],
    }
    table = frame.to_csv(index=False, quoting=1).encode("utf-8", "replace")
    return {"a.yaml": yaml.safe_dump(spec).encode(), file: table}
