"""Read a table from a file or from the demonstration data."""

from __future__ import annotations

import csv
import io
import re
import warnings
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from bdt_core.errors import SourceError, did_you_mean
from bdt_core.spec import Source

DEMO_FILES = {"compas": "compas.csv", "adult": "adult.parquet"}
_SEPARATORS = (",", ";", "\t", "|")
_SNIFFED_BYTES = 1 << 20


def read_table(source: Source | str | Path) -> pd.DataFrame:
    """Read the table that a source names.

    Parameters
    ----------
    source : Source, str or Path
        A ``.csv``, ``.tsv`` or ``.parquet`` file, a folder of Parquet files, or ``demo:compas``, ``demo:adult``.
        Separator, encoding and decimal comma of a text file are detected unless the source names them.

    Returns
    -------
    DataFrame
        The table as it stands; nothing is dropped or converted.

    Raises
    ------
    SourceError
        When the file is missing, empty, has no rows, fewer than two columns, repeated column names, ragged rows,
        or cannot be decoded.

    Examples
    --------
    >>> len(read_table("demo:compas"))
    7214
    """
    if not isinstance(source, Source):
        source = Source(path=str(source))
    path = _locate(source.path)
    frame = _read_parquet(path) if _is_parquet(path) else _read_text(path, source)
    _refuse_unusable(frame, path)
    return frame


def _locate(path: str) -> Path:
    if path.startswith("demo:"):
        name = path.removeprefix("demo:")
        if name not in DEMO_FILES:
            raise SourceError(f'There is no demonstration data named "{name}". {did_you_mean(name, DEMO_FILES)}')
        return Path(str(resources.files("bdt_core"))) / "data" / DEMO_FILES[name]
    file = Path(path).expanduser()
    if not file.exists():
        siblings = [one.name for one in file.parent.iterdir()] if file.parent.is_dir() else []
        hint = did_you_mean(file.name, siblings) if siblings else f"The folder {file.parent} does not exist either."
        raise SourceError(f"{path} does not exist. {hint}")
    if file.is_file() and file.stat().st_size == 0:
        raise SourceError(f"{path} is empty (0 bytes). Expected a table with a header line.")
    return file


def _is_parquet(path: Path) -> bool:
    if path.is_dir():
        if not any(path.rglob("*.parquet")):
            raise SourceError(f"The folder {path} holds no .parquet file. Name a .csv, .tsv or .parquet file.")
        return True
    return path.suffix.lower() in {".parquet", ".pq"}


def _read_parquet(path: Path) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    repeated = _repeated(table.column_names)
    if repeated:
        raise SourceError(_repeated_message(path, repeated))
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _read_text(path: Path, source: Source) -> pd.DataFrame:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.") from None
    if b"\0" in raw[:_SNIFFED_BYTES] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{path} is not a text table (it holds zero bytes). Expected .csv, .tsv or .parquet.")
    encoding = source.encoding or _detect_encoding(raw, path)
    try:
        text = raw.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise SourceError(
            f'"{encoding}" is not a known encoding. Expected utf-8, cp1252, ... in source.encoding.'
        ) from None
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise SourceError(
            f"{path}, line {line}: not valid {encoding}. Save the file in one encoding (UTF-8), "
            'or name its encoding in "source.encoding".'
        ) from None
    if not text.strip():
        raise SourceError(f"{path} holds only blank lines. Expected a table with a header line.")
    separator = source.separator or _detect_separator(text)
    header = next(csv.reader(io.StringIO(text), delimiter=separator))
    repeated = _repeated([name.strip() for name in header])
    if repeated:
        raise SourceError(_repeated_message(path, repeated))
    if len(header) == 1:
        raise SourceError(
            f"{path} has one column only when read with the separator {separator!r}. "
            'Expected at least two columns; name the right one in "source.separator".'
        )
    return _parse(text, separator, path)


def _parse(text: str, separator: str, path: Path) -> pd.DataFrame:
    options: dict[str, Any] = {
        "sep": separator,
        "skipinitialspace": True,
        "low_memory": False,
        "index_col": False,
    }
    frame: pd.DataFrame
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(io.StringIO(text), **options)
            if separator == ";" and _has_decimal_commas(frame):
                frame = pd.read_csv(io.StringIO(text), decimal=",", **options)
    except pd.errors.ParserWarning:
        raise SourceError(
            f"{path}: rows have more columns than the header. Put quotes around values that hold the separator."
        ) from None
    except pd.errors.ParserError as error:
        where = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        if where:
            raise SourceError(
                f"{path}, line {where[2]}: {where[3]} columns where the header has {where[1]}. "
                "Put quotes around values that hold the separator."
            ) from None
        if "EOF inside string" in str(error):
            raise SourceError(f"{path}: a quotation mark is opened and never closed. Close it or remove it.") from None
        raise SourceError(f"{path} cannot be read as a table: {error}.") from None
    frame.columns = [str(name).strip() for name in frame.columns]
    return frame


def _detect_encoding(raw: bytes, path: Path) -> str:
    """UTF-8 when it decodes; UTF-16 by its mark; else the single-byte encoding that fits best."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        multibyte = re.search(rb"[\xc3-\xf4][\x80-\xbf]", raw)
        if multibyte:
            lines = (raw[: multibyte.start()].count(b"\n") + 1, raw[: error.start].count(b"\n") + 1)
            raise SourceError(
                f"{path} mixes encodings: line {lines[0]} is UTF-8, line {lines[1]} is not. Save the file in one "
                'encoding (UTF-8), or force one with "source.encoding", e.g. cp1252.'
            ) from None
        from charset_normalizer import from_bytes

        best = from_bytes(raw[:_SNIFFED_BYTES]).best()
        return best.encoding if best is not None else "cp1252"
    return "utf-8"


def _detect_separator(text: str) -> str:
    """The separator under which the first lines have the most columns, equally many on each line."""

    def columns(separator: str) -> int:
        lines = [
            len(row)
            for _, row in zip(range(20), csv.reader(io.StringIO(text), delimiter=separator), strict=False)
            if row
        ]
        return lines[0] if lines and min(lines) == max(lines) else min(1, len(lines))

    best = max(_SEPARATORS, key=columns)
    if columns(best) > 1:
        return best
    header = text.split("\n", 1)[0]  # ragged rows: take the header's word, so that the error names the line
    return max(_SEPARATORS, key=header.count)


def _has_decimal_commas(frame: pd.DataFrame) -> bool:
    texts = frame.select_dtypes(exclude="number")
    return any(
        (filled := texts[name].dropna().astype(str)).size > 0 and filled.str.fullmatch(r"-?\d+,\d+|-?\d+").all()
        for name in texts.columns
    )


def _refuse_unusable(frame: pd.DataFrame, path: Path) -> None:
    if len(frame) == 0:
        raise SourceError(f"{path} has a header but no rows.")
    if frame.shape[1] < 2:
        raise SourceError(f"{path} has one column only. Expected the bias variable and at least one feature.")


def _repeated(names: list[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def _repeated_message(path: Path, repeated: list[str]) -> str:
    names = ", ".join(map(repr, repeated[:5]))
    return f"{path}: column names must differ, but {names} stand there more than once. Rename them."
