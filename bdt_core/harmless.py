"""Texts made safe for a terminal, a CI runner or a page: names from data do nothing but stand there."""

from __future__ import annotations

import re

_TURNS_OR_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Control characters but tabs and line ends, what turns the direction of writing, halves of letters, no letters."""
_OTHER_LINE_ENDS = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_FORMULA = ("=", "+", "-", "@", "\t")
"""What a spreadsheet takes for the beginning of a formula."""
_NUMBER = re.compile(r"[+-]?[0-9.,]+(?:e[+-]?[0-9]+)?", re.IGNORECASE)
_COMMANDS = re.compile(r"^(?:[^\S\n]|[\u200b\ufeff])*:(?=:)|##\w*(?=\[)", re.MULTILINE)
"""What GitHub (``::error::``, ``##[error]``) and Azure (``##vso[...]``) take for a command to the runner."""


def without_controls(text: str) -> str:
    """The text with U+FFFD for every character that is not there to be read.

    Examples
    --------
    >>> without_controls("a\\x1b[31mb\\u202ec")
    'a\ufffd[31mb\ufffdc'
    """
    return _TURNS_OR_CONTROLS.sub("\ufffd", text)


def escaped_in_json(written: str) -> str:
    """JSON in which such characters stand as escapes, so that reading it gives the same.

    Parameters
    ----------
    written : str
        JSON; its line ends are between its values.

    Examples
    --------
    >>> escaped_in_json('["é \u202e"]')
    '["é \\\\u202e"]'
    """
    return _TURNS_OR_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def harmless_cell(text: str) -> str:
    """The text as a cell of a CSV file: a spreadsheet that opens it works out no formula.

    Examples
    --------
    >>> harmless_cell("=A1&B1"), harmless_cell("@SUM(A1)"), harmless_cell("-12.5"), harmless_cell("north")
    ("'=A1&B1", "'@SUM(A1)", '-12.5', 'north')
    """
    bare = without_controls(text)
    return f"'{bare}" if bare.startswith(_FORMULA) and not _NUMBER.fullmatch(bare) else bare


def harmless(text: str) -> str:
    """The text as it may be printed: it moves no cursor, turns no writing and gives a CI runner no command.

    Lines stay lines; every other way to end one becomes a space.

    Examples
    --------
    >>> harmless("a\\r\\n ::error::b ##[group]c")
    'a \\n : :error::b ## [group]c'
    """
    if text.isascii() and text.isprintable() and ":" not in text and "#" not in text:
        return text
    return _COMMANDS.sub(r"\g<0> ", without_controls(_OTHER_LINE_ENDS.sub(" ", text)))
