"""Odd files that people have: what stands in them, and how a source names them."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

Content = bytes | str | pa.Table


@dataclass(frozen=True)
class OddFiles:
    """Files, and the keys of the source that reads them; ``{folder}`` stands for where they are."""

    files: Mapping[str, Content]
    source: Mapping[str, Any] = field(default_factory=dict)

    def written(self, folder: Path) -> dict[str, Any]:
        """Write them, and return the source."""
        for name, content in self.files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, pa.Table):
                pq.write_table(content, file)
            else:
                file.write_bytes(content.encode() if isinstance(content, str) else content)
        named = self.source or {"path": "{folder}/" + next(iter(self.files))}
        keys: dict[str, Any] = json.loads(json.dumps(named).replace("{folder}", str(folder)))
        return keys


def text(content: Content, **keys: Any) -> OddFiles:
    """One separated text."""
    return OddFiles({"t.csv": content}, {"path": "{folder}/t.csv", **keys})


def lines(*written: str) -> OddFiles:
    """JSON lines."""
    return OddFiles({"t.jsonl": "".join(f"{one}\n" for one in written)})


def many(files: Mapping[str, Content], pattern: str = "*") -> OddFiles:
    """Several files of one table."""
    return OddFiles(files, {"path": f"{{folder}}/{pattern}"})


def column(*values: str) -> OddFiles:
    """A text with one odd column beside row numbers."""
    return text("x,row\n" + "".join(f"{one},{row}\n" for row, one in enumerate(values)))


def npy(array: Any) -> bytes:
    """An array as numpy saves it."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def joined(left: Content, right: Content, key: Any = "id", **keys: Any) -> OddFiles:
    """Two tables, one joined to the other."""
    names = [f"{side}.{'parquet' if isinstance(one, pa.Table) else 'csv'}" for side, one in (("l", left), ("r", right))]
    join = {"path": f"{{folder}}/{names[1]}", "key": key, **keys}
    return OddFiles(dict(zip(names, (left, right), strict=True)), {"path": f"{{folder}}/{names[0]}", "join": join})


NAMES = "name;age;score\nJörg;31;0,5\nAnaïs;44;1,25\nLi;28;2,0\n"
MIXED_ENCODINGS = "a,b\nJörg,1\n".encode() + "Anaïs,2\n".encode("cp1252")
LATE = 70_000  # rows before the odd one: beyond the first block of any reader

ENCODINGS = {
    "utf-8": text(NAMES),
    "utf-8 with a mark": text(NAMES.encode("utf-8-sig")),
    "utf-16 with a mark": text(NAMES.encode("utf-16")),
    "utf-16 big-endian with a mark": text(b"\xfe\xff" + NAMES.encode("utf-16-be")),
    "utf-16 without a mark": text(NAMES.encode("utf-16-le")),
    "latin-1": text((NAMES + "Größe und Maß, hübsch;50;3,5\n").encode("latin-1")),
    "latin-1 by name": text(NAMES.encode("latin-1"), encoding="latin-1"),
    "cp1252": text((NAMES + "„Größe“ – für 5 €;50;3,5\n").encode("cp1252")),
    "cp1252 by name": text((NAMES + "„Größe“ – für 5 €;50;3,5\n").encode("cp1252"), encoding="cp1252"),
    "utf-8 named for latin-1": text(NAMES.encode("latin-1"), encoding="utf-8"),
    "an encoding that is none": text(NAMES, encoding="utf-9"),
    "two encodings": text(MIXED_ENCODINGS),
    "cut off within a letter": text("a,b\nx,ä".encode()[:-1], encoding="utf-8"),
    "latin-1 late": text(b"a,b\n" + b"1,x\n" * LATE + "2,Größe\n".encode("latin-1"), encoding="latin-1"),
    "zero bytes": text(b"PK\x03\x04\x00\x00"),
    "a zero byte in a value": text(b"a,b\nx\x00y,1\n"),
}

SEPARATORS = {
    "commas": text("a,b,c\n1,x y,2.5\n"),
    "semicolons": text("a;b;c\n1;x y;2.5\n"),
    "tabs": text("a\tb\tc\n1\tx y\t2.5\n"),
    "bars": text("a|b|c\n1|x y|2.5\n"),
    "tsv with commas in it": OddFiles({"t.tsv": "age\ttown\n20\ta, b\n30\tc;d\n"}),
    "colons by name": text("a:b\n1:2\n", separator=":"),
    "separators within quotes": text('a,b\n"x;y;z",1\n"u;v;w",2\n'),
    "a separator that is not there": text("a,b\n1,2\n", separator=";"),
    "one column": text("a\n1\n2\n"),
    "spaces after commas": text('name, town, age\n"Smith, A", Bonn , 31\nLi,  "a, b" ,44\n" x",, 5\n'),
    "trailing separators": text("a,b\n1,2,\n3,4,\n"),
    "trailing separators also in the header": text("a,b,\n1,2,\n3,4,\n"),
    "trailing separators on a few rows": text("a,b\n1,2\n3,4,\n"),
}

DECIMALS = {
    "decimal commas": text("x;row\n0,5;1\n-1,25;2\n;3\n2;4\n"),
    "decimal commas and points": text("x;y;row\n0,5;1.5;1\n1,5;2.5;2\n"),
    "a decimal comma beside a word": text("x;row\n0,5;1\nmany;2\n"),
    "decimal points between semicolons": text("x;row\n0.5;1\n1.5;2\n"),
    "decimal commas, late": text("x;row\n" + "1;1\n" * LATE + "1,5;2\n"),
    "commas within quotes": text('x,row\n"1,5",1\n"2,5",2\n'),
    "thousands": text('x,row\n"1,234",1\n"2,345",2\n'),
    "seventeen digits": column("0.1234567890123456789", "0.30000000000000004", "5e-324", "1.7976931348623157e308"),
    "out of range": column("1e400", "-1e400", "1e-400"),
    "signs and empty parts": column("+5", "-5.", ".5", "1E3", "-0.0"),
    "infinity": column("inf", "-inf", "Infinity", "+INF", "1"),
    "not a number": column("NaN", "nan", "-nan", "1"),
    "not a number in capitals": column("NAN", "1"),
    "hexadecimal": column("0x1F", "1"),
    "underscores": column("1_000", "1"),
    "spaces after numbers": column("1 ", "2  ", "3"),
    "tabs around numbers": column("\t1", "2\t"),
    "spaces after fractions": column("1.5 ", "2"),
    "leading zeros": column("007", "012"),
    "percent": column("12 %", "13 %"),
    "digits of another script": column("١٢", "3"),
}

LINE_ENDS = {
    "of Windows": text("a,b\r\n1,x\r\n2,y\r\n"),
    "of old Macs": text("a,b\r1,x\r2,y\r"),
    "of both kinds": text("a,b\r\n1,x\n2,y\r\n3,z"),
    "quoted": text('a,b\n"x\ny",1\n"u\r\nv",2\n'),
    "quoted, of Windows": text('a,b\r\n"x\r\ny",1\r\nz,2\r\n'),
    "quoted in the header": text('"a\nx",b\n1,2\n'),
    "a long row after quoted ones": text('a,b\n"x\ny",1\nz,2,3\n'),
    "none at the end": text("a,b\n1,2\n3,4"),
    "blank lines": text("\n\na,b\n\n1,2\n   \n\n3,4\n\n"),
    "only blank lines": text("\n\n\n"),
    "none at all": text(""),
    "a header only": text("a,b\n"),
}

ROWS = {
    "short": text("a,b,c\n1,2,3\n4,5\n6\n7,8,9\n"),
    "short, the first": text("a,b,c\n1\n4,5,6\n"),
    "short of texts": text("a,b\nx\ny,z\n"),
    "short, cut off at the end": text("a,b,c\n1,2,3\n4,5,6\n7,8"),
    "long": text("a,b\n1,2\n1,2,3\n"),
    "long, the first": text("a,b\n1,2,3\n4,5,6\n"),
    "long, late": text("a,b\n" + "1,2\n" * LATE + "1,2,3\n"),
    "long after short": text("a,b\n1\n1,2,3\n"),
    "short, late": text("a,b\n" + "1,2\n" * LATE + "1\n"),
    "empty values only": text("a,b\n,\n1,2\n"),
    "spaces only": text("a,b\n , \n1,2\n"),
}

QUOTES = {
    "doubled": text('a,b\n"x ""y""",1\n'),
    "within a value": text('a,b\nx"y,1\n5" pipe,2\n'),
    "before the end of a value": text('a,b\n"p"q,1\n'),
    "never closed": text('a,b\n"x,1\n2,3\n'),
    "closed rows later": text('a,b\n"x,1\ny,2\nz",3\n'),
    "around everything": text('"a","b"\n"1","x"\n"2",""\n'),
    "around missing values": text('a,b\n"NA",1\n"",2\nx,3\n'),
    "single": text("a,b\n'x,y',1\n"),
}

HEADERS = {
    "repeated names": text("a,b,a\n1,2,3\n"),
    "repeated but for a space": text("a,b,a \n1,2,3\n"),
    "a name that is empty": text("a,,c\n1,2,3\n"),
    "two names that are empty": text("a,,\n1,2,3\n"),
    "spaces around names": text(" a , b\n1,2\n"),
    "names that are numbers": text("1,2\n3,4\n"),
    "names with dots": text("a.b,a\n1,2\n"),
}

VALUES = {
    "missing in all words": column("", "NA", "N/A", "null", "None", "#N/A", "nan", "<NA>", "x"),
    "missing numbers": column("1", "", "3"),
    "missing flags": column("True", "", "FALSE"),
    "flags": column("True", "false", "TRUE"),
    "flags as yes": column("yes", "no"),
    "flags beside numbers": column("True", "1", "0"),
    "flags beside texts": column("True", "maybe"),
    "an empty column": column("", "", ""),
    "64 bits": column("9223372036854775807", "-9223372036854775808"),
    "beyond 64 bits with a sign": column("9223372036854775808", "1"),
    "beyond 64 bits and missing": column("9223372036854775808", ""),
    "beyond 64 bits and negative": column("9223372036854775808", "-1"),
    "64 bits without a sign": column("18446744073709551615", "0"),
    "beyond 64 bits": column("123456789012345678901234", "1"),
    "beyond 64 bits, all of them": column("123456789012345678901234", "00123456789012345678901"),
    "beyond 64 bits and missing, long": column("123456789012345678901234", "", "NA"),
    "beyond 64 bits and fractions": column("123456789012345678901234", "1.5"),
    "large whole numbers and missing": column("9007199254740993", ""),
    "text late": column(*["1"] * LATE, "x"),
    "fraction late": column(*["1"] * LATE, "1.5"),
    "missing late": column(*["1"] * LATE, ""),
    "number late": column(*[""] * LATE, "7"),
    "text after missing, late": column(*[""] * LATE, "x"),
    "number after flags, late": column(*["True"] * LATE, "1"),
    "beyond 64 bits, late": column(*["-1"] * LATE, "9223372036854775808"),
    "dates": column("2026-01-31", "2026-02-01"),
    "points in time": column("2026-01-31 10:00", "2026-02-01T11:00:00Z"),
    "complex numbers": column("1+2j", "3j"),
}

JSON_LINES = {
    "objects": lines('{"a": 1, "b": "x"}', "", '{"a": 2, "b": "y"}'),
    "marked": OddFiles({"t.jsonl": '{"a": 1, "b": "x"}\n'.encode("utf-8-sig")}),
    "keys in another order": lines('{"a": 1, "b": 2}', '{"b": 3, "a": 4}'),
    "keys that lack": lines('{"a": 1, "b": 2}', '{"a": 3}', '{"c": "x", "a": 5}'),
    "a key twice": lines('{"a": 1, "a": 2, "b": 3}'),
    "nothing": lines('{"a": 1, "b": null}', '{"a": null, "b": null}'),
    "mixed values": lines('{"a": 1, "b": 0}', '{"a": "x", "b": 1.5}', '{"a": true, "b": null}'),
    "flags and nothing": lines('{"a": true, "b": 1}', '{"a": null, "b": 2}'),
    "long numbers": lines('{"a": 123456789012345678901234, "b": 9223372036854775808}', '{"a": 1, "b": 2}'),
    "not a number": lines('{"a": NaN, "b": Infinity}', '{"a": 1, "b": 2}'),
    "nested object": lines('{"a": 1, "b": {"c": 3}}'),
    "nested list": lines('{"a": 1, "b": 2}', '{"a": [1], "b": 2}'),
    "a list": lines('{"a": 1, "b": 2}', "[1, 2]"),
    "cut off": lines('{"a": 1, "b": 2}', '{"a": 1,'),
    "latin-1": OddFiles({"t.jsonl": '{"a": "Jörg", "b": 1}\n'.encode("latin-1")}),
    "line ends of Windows": OddFiles({"t.jsonl": b'{"a": 1, "b": 2}\r\n{"a": 3, "b": 4}\r\n'}),
    "empty": OddFiles({"t.jsonl": ""}),
    "blank": OddFiles({"t.jsonl": "\n\n"}),
    "one key": lines('{"a": 1}'),
    "dates": lines('{"a": "2026-01-31", "b": 1}'),
}


def part(start: int, **changed: Any) -> pa.Table:
    """Two rows of a Parquet table."""
    return pa.table({"id": [start, start + 1], "age": [20, 30], "sex": ["f", "m"]} | changed)


CODED = pa.array(["m", "x"]).dictionary_encode()

PARQUET = {
    "types": OddFiles(
        {
            "t.parquet": pa.table(
                {
                    "int8": pa.array([1, None], pa.int8()),
                    "uint64": pa.array([2**64 - 1, 0], pa.uint64()),
                    "float": pa.array([0.5, None], pa.float32()),
                    "flag": [True, None],
                    "date": pa.array([0, 1], pa.date32()),
                    "time": pa.array([0, None], pa.timestamp("us")),
                    "utc": pa.array([0, 1], pa.timestamp("ms", "UTC")),
                    "decimal": pa.array([1, None], pa.decimal128(9, 2)),
                    "bytes": [b"x", b"\xff"],
                    "nothing": pa.nulls(2),
                    "list": [[1], None],
                    "coded": CODED,
                    "a.b": [1, 2],
                }
            )
        }
    ),
    "an index of pandas": OddFiles(
        {"t.parquet": pa.Table.from_pandas(pd.DataFrame({"a": [1, 2], "b": [3, 4]}, pd.Index([7, 8], name="key")))}
    ),
    "repeated names": OddFiles({"t.parquet": pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])}),
    "no rows": OddFiles({"t.parquet": part(0).slice(0, 0)}),
    "one column": OddFiles({"t.parquet": part(0).select(["id"])}),
    "no Parquet": OddFiles({"t.parquet": "id,age\n1,2\n"}),
    "cut off": OddFiles({"t.parquet": b"PAR1" + b"x" * 40}),
    "empty among others": many({"1.parquet": part(0), "2.parquet": b""}),
    "wider numbers": many({"1.parquet": part(0, age=pa.array([1, 2], pa.int8())), "2.parquet": part(2, age=[0.5, 2])}),
    "missing in one": many({"1.parquet": part(0), "2.parquet": part(2, age=pa.array([None, 7]))}),
    "nothing in one": many({"1.parquet": part(0), "2.parquet": part(2, age=pa.nulls(2), sex=pa.nulls(2))}),
    "other levels": many(
        {"1.parquet": part(0, sex=pa.array(["f", "m"]).dictionary_encode()), "2.parquet": part(2, sex=CODED)}
    ),
    "levels and texts": many({"1.parquet": part(0), "2.parquet": part(2, sex=CODED)}),
    "columns in another order": many(
        {"1.parquet": part(0), "2.parquet": part(2).select(["sex", "id", "age"])},
    ),
    "a column that lacks": many({"1.parquet": part(0), "2.parquet": part(2), "3.parquet": part(4).drop_columns("sex")}),
    "a column more": many({"1.parquet": part(0), "2.parquet": part(2), "3.parquet": part(4, new=[1, 2])}),
    "texts for numbers": many({"1.parquet": part(0), "2.parquet": part(2, age=["old", "young"])}),
    "flags for numbers": many({"1.parquet": part(0), "2.parquet": part(2, age=[True, False])}),
    "bytes for texts": many({"1.parquet": part(0), "2.parquet": part(2, sex=[b"f", b"m"])}),
    "zones that differ": many(
        {
            "1.parquet": part(0, age=pa.array([0, 1], pa.timestamp("ms", "UTC"))),
            "2.parquet": part(2, age=pa.array([0, 1], pa.timestamp("ms"))),
        }
    ),
    "no rows in one": many({"1.parquet": part(0).slice(0, 0), "2.parquet": part(2)}),
}

FOLDERS = {
    "hive": OddFiles(
        {
            "d/year=9/sex=f/p.parquet": pa.table({"id": [1, 2], "x": [0.5, 1]}),
            "d/year=10/sex=m%20x/p.parquet": pa.table({"id": [3], "x": [2.5]}),
            "d/_SUCCESS": "",
            "d/.hidden.parquet": "no",
        },
        {"path": "{folder}/d"},
    ),
    "hive, a number and a word": many(
        {"d/k=1/p.parquet": pa.table({"id": [1]}), "d/k=one/p.parquet": pa.table({"id": [2]})}, "d"
    ),
    "hive, none": many(
        {"d/k=__HIVE_DEFAULT_PARTITION__/p.parquet": pa.table({"id": [1]}), "d/k=2/p.parquet": pa.table({"id": [2]})},
        "d",
    ),
    "hive, a key on some": many(
        {"d/k=1/p.parquet": pa.table({"id": [1], "x": [1]}), "d/p.parquet": pa.table({"id": [2], "x": [1]})}, "d"
    ),
    "hive, a key that is a column": many({"d/id=1/p.parquet": pa.table({"id": [1], "x": [1]})}, "d"),
    "hive, long numbers": many({"d/k=3000000000/p.parquet": pa.table({"id": [1]})}, "d"),
    "no Parquet in it": many({"d/t.csv": "a,b\n1,2\n"}, "d"),
    "nothing that fits": OddFiles({"t.csv": "a,b\n1,2\n"}, {"path": "{folder}/*.tsv"}),
    "a name like another": OddFiles({"loans.csv": "a,b\n1,2\n"}, {"path": "{folder}/loan.csv"}),
    "texts written otherwise": many(
        {
            "a.csv": "id,x,y,f\n1,5,,True\n2,6,,False\n",
            "b.csv": "id;x;y;f\n3;1,5;u;\n4;2;v;True\n",
            "c.csv": "id\tx\ty\tf\n5\t7\tÄ\t\n".encode("utf-16"),
        }
    ),
    "texts in another order": many({"a.csv": "a,b\n1,2\n", "b.csv": "b,a\n3,4\n"}),
    "texts and numbers": many({"a.csv": "a,b\n1,2\n", "b.csv": "a,b\nx,4\n", "c.csv": "a,b\n5,6\n"}),
    "texts of other columns": many({"a.csv": "a,b\n1,2\n", "b.csv": "a,c\n3,4\n"}),
    "a text without rows": many({"a.csv": "a,b\n1,2\n", "b.csv": "a,b\n"}),
    "a text with a long row": many({"a.csv": "a,b\n1,2\n", "b.csv": "a,b\n1,2\n1,2,3\n"}),
    "long numbers in one": many({"a.csv": "a,b\n1,2\n", "b.csv": "a,b\n18446744073709551615,4\n"}),
    "forms mixed": many(
        {
            "a.parquet": pa.table({"id": [1, 2], "s": pa.array(["u", "v"]).dictionary_encode()}),
            "b.csv": "id,s\n3.5,w\n",
            "c.jsonl": '{"id": null, "s": "x"}\n',
        }
    ),
}

LEFT = "id,x\n1,5\n2,6\n3,7\n"
BESIDE = {
    "a match for each": joined(LEFT, "id,y\n3,1\n2,0\n1,1\n"),
    "rows without a match": joined(LEFT, "id,y,f,s\n3,1,True,u\n"),
    "keys of two columns": joined("i,j,x\n1,a,5\n1,b,6\n", "j,i,y\nb,1,7\na,1,8\n", ["i", "j"]),
    "keys that repeat on the left": joined("id,x\n1,5\n1,6\n", "id,y\n1,7\n"),
    "keys that repeat on the right": joined(LEFT, "id,y\n1,7\n1,8\n"),
    "keys that are missing": joined("id,x\n1,5\n,6\n", "id,y\n,7\n1,8\n"),
    "keys of two types": joined(LEFT, "id,y\na,7\n"),
    "keys with fractions": joined(LEFT, "id,y\n1.0,7\n2.5,8\n"),
    "a key that is not there": joined(LEFT, "idd,y\n1,7\n"),
    "a column in both": joined(LEFT, "id,x\n1,7\n"),
    "a column chosen": joined(LEFT, "id,x,y\n1,7,8\n", columns=["y"]),
    "a column that is not there": joined(LEFT, "id,y\n1,7\n", columns=["z"]),
    "levels": joined(part(0), part(0).select(["sex"]).append_column("y", pa.array(CODED)), "sex"),
    "an array": OddFiles(
        {"t.csv": LEFT, "p.npy": npy(np.array([[0.5], [1], [2]]))},
        {"path": "{folder}/t.csv", "arrays": {"p": "{folder}/p.npy"}},
    ),
    "an array of texts": OddFiles(
        {"t.csv": LEFT, "p.npy": npy(np.array(["u", "v", "w"]))},
        {"path": "{folder}/t.csv", "arrays": {"p": "{folder}/p.npy"}},
    ),
    "an array that is too short": OddFiles(
        {"t.csv": LEFT, "p.npy": npy(np.arange(2))}, {"path": "{folder}/t.csv", "arrays": {"p": "{folder}/p.npy"}}
    ),
    "an array of two columns": OddFiles(
        {"t.csv": LEFT, "p.npy": npy(np.ones((3, 2)))}, {"path": "{folder}/t.csv", "arrays": {"p": "{folder}/p.npy"}}
    ),
    "an array that is cut off": OddFiles(
        {"t.csv": LEFT, "p.npy": npy(np.arange(3))[:-4]}, {"path": "{folder}/t.csv", "arrays": {"p": "{folder}/p.npy"}}
    ),
    "an array by the name of a column": OddFiles(
        {"t.csv": LEFT, "x.npy": npy(np.arange(3))}, {"path": "{folder}/t.csv", "arrays": {"x": "{folder}/x.npy"}}
    ),
}

ODD: dict[str, OddFiles] = {
    f"{kind}: {name}": case
    for kind, cases in {
        "encoding": ENCODINGS,
        "separator": SEPARATORS,
        "decimal": DECIMALS,
        "line end": LINE_ENDS,
        "row": ROWS,
        "quote": QUOTES,
        "header": HEADERS,
        "value": VALUES,
        "JSON": JSON_LINES,
        "Parquet": PARQUET,
        "folder": FOLDERS,
        "beside": BESIDE,
    }.items()
    for name, case in cases.items()
}
"""All of them by name."""
