"""In which encoding a text file is, found without holding it in memory."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO

from bdt_core.errors import SourceError
from bdt_core.said import Numeral, say

_BLOCK = 1 << 20
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_NO_TABLES = ("idna", "punycode", "undefined")
"""Encodings of single names, and one that refuses everything."""

Opener = Callable[[], BinaryIO]


@contextmanager
def as_text(open_bytes: Opener, encoding: str) -> Iterator[TextIO]:
    """The file as text, without the mark at its beginning; line ends are left as they are."""
    with open_bytes() as raw, io.TextIOWrapper(raw, encoding, newline="") as text:
        if text.read(1) != "\ufeff":
            text.seek(0)
        yield text


_SIGNATURES = {
    b"%PDF-": say("a PDF"),
    b"PK\x03\x04": say("a workbook (.xlsx, .ods) or packed (.zip)"),
    b"\xd0\xcf\x11\xe0": say("an old workbook (.xls)"),
    b"PAR1": say("Parquet"),
    b"\x1f\x8b": say("packed (.gz)"),
}
"""How files begin that are no texts, and what they are."""


def encoding_of(open_bytes: Opener, name: str, given: str | None = None) -> str:
    """The encoding that is given, if the whole file is in it; else UTF-16 by its mark, UTF-8, or what fits best.

    Parameters
    ----------
    open_bytes : callable
        Opens the file at its beginning, as often as needed.
    name : str
        The file, as messages name it.
    given : str, optional

    Raises
    ------
    SourceError
        It is no text, mixes encodings, or has a line that is not in its encoding; or there is no such encoding.

    Examples
    --------
    >>> encoding_of(lambda: io.BytesIO("naïve".encode("utf-16")), "x.csv")
    'utf-16'
    """
    with open_bytes() as raw:
        beginning = raw.read(_BLOCK)
    is_marked = beginning.startswith(UTF16_MARKS)
    for signature, what in _SIGNATURES.items():
        if beginning.startswith(signature):
            raise SourceError(
                say(
                    "{table} is {what}, whatever its name says. Save the table as .csv, or give the file the ending "
                    "that it should have.",
                    table=name,
                    what=what,
                )
            )
    if b"\0" in beginning and not is_marked:
        raise SourceError(
            say("{table} is not a text table (it holds zero bytes). Expected .csv, .tsv or .parquet.", table=name)
        )
    encoding = given or ("utf-16" if is_marked else "utf-8")
    if not _is_of_texts(encoding):
        raise SourceError(
            f'{name}: "{encoding}" is not a known encoding of texts. Expected utf-8, cp1252, ... in source.encoding.'
        )
    invalid = _first_invalid(open_bytes, encoding)
    if invalid is not None and given is None and not is_marked:
        _refuse_mixed(open_bytes, name, invalid)
        from charset_normalizer import from_bytes

        best = from_bytes(beginning).best()
        encoding = best.encoding if best is not None else "cp1252"
        invalid = _first_invalid(open_bytes, encoding)
    if invalid is not None:
        raise SourceError(
            f"{name}, line {_line(open_bytes, invalid)}: not valid {encoding}. Save the file in one encoding (UTF-8), "
            'or name its encoding in "source.encoding".'
        )
    return encoding


def _is_of_texts(encoding: str) -> bool:
    """Whether there is such an encoding, and it makes texts of bytes: base64 does not."""
    try:
        codec = codecs.lookup(encoding)
        codec.incrementaldecoder()
    except (LookupError, ValueError, TypeError):
        return False
    return getattr(codec, "_is_text_encoding", True) and codec.name not in _NO_TABLES


def _refuse_mixed(open_bytes: Opener, name: str, invalid: int) -> None:
    """A file with a letter of UTF-8 is no text of single bytes either."""
    multibyte = _first_multibyte(open_bytes)
    if multibyte is not None:
        raise SourceError(
            say(
                "{table} mixes encodings: line {N} is UTF-8, line {Nother} is not. Save the file in one encoding "
                '(UTF-8), or force one with "source.encoding", e.g. cp1252.',
                table=name,
                N=Numeral(_line(open_bytes, multibyte)),
                Nother=Numeral(_line(open_bytes, invalid)),
            )
        )


def _blocks(open_bytes: Opener) -> Iterator[bytes]:
    with open_bytes() as raw:
        while block := raw.read(_BLOCK):
            yield block


def _first_invalid(open_bytes: Opener, encoding: str) -> int | None:
    """Position of the first byte that is not in the encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    before = 0  # bytes that were given to the decoder, less those it still keeps
    for block in _blocks(open_bytes):
        kept = len(decoder.getstate()[0])
        try:
            decoder.decode(block)
        except UnicodeError as error:  # some say where
            return before - kept + getattr(error, "start", 0)
        before += len(block)
    try:
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        return before - len(decoder.getstate()[0]) + getattr(error, "start", 0)
    return None


def _first_multibyte(open_bytes: Opener) -> int | None:
    """Position of the first two bytes that look like a letter of UTF-8."""
    before, last = 0, b""
    for block in _blocks(open_bytes):
        match = re.search(rb"[\xc3-\xf4][\x80-\xbf]", last + block)
        if match:
            return before - len(last) + match.start()
        before, last = before + len(block), block[-1:]
    return None


def _line(open_bytes: Opener, position: int) -> int:
    """Number of the line that a byte is in."""
    lines = 1
    for block in _blocks(open_bytes):
        lines += block[: max(position, 0)].count(b"\n")
        position -= len(block)
        if position <= 0:
            break
    return lines
