"""Read separated text: separator, encoding and decimal comma are detected, and what is wrong is named by line."""

from __future__ import annotations

import csv
import io
import re
import warnings
from typing import Any

import pandas as pd

from bdt_core.errors import SourceError, repeated_message, repeated_names

_SEPARATORS = (",", ";", "\t", "|")
_SNIFFED_BYTES = 1 << 20


def read_text(raw: bytes, path: str, *, separator: str | None = None, encoding: str | None = None) -> pd.DataFrame:
    """Read comma- (or semicolon-, tab-, bar-) separated text.

    Parameters
    ----------
    raw : bytes
        What the file holds.
    path : str
        Named in messages.
    separator, encoding : str, optional
        Detected when left out, and so is a decimal comma.

    Returns
    -------
    DataFrame

    Raises
    ------
    SourceError
        The text cannot be decoded, has no rows under its header, is ragged, or repeats column names.

    Examples
    --------
    >>> read_text(b"a;b\\n1;0,5\\n", "t.csv")["b"].tolist()
    [0.5]
    """
    if b"\0" in raw[:_SNIFFED_BYTES] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{path} is not a text table (it holds zero bytes). Expected .csv, .tsv or .parquet.")
    encoding = encoding or _detect_encoding(raw, path)
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
    separator = separator or _detect_separator(text)
    header = next(csv.reader(io.StringIO(text), delimiter=separator))
    repeated = repeated_names([name.strip() for name in header])
    if repeated:
        raise SourceError(repeated_message(path, repeated))
    if len(header) == 1:
        raise SourceError(
            f"{path} has one column only when read with the separator {separator!r}. "
            'Expected at least two columns; name the right one in "source.separator".'
        )
    return _parse(text, separator, path)


def _parse(text: str, separator: str, path: str) -> pd.DataFrame:
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


def _detect_encoding(raw: bytes, path: str) -> str:
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
