"""The only way to the screen: whatever is printed, by whomever, passes `Screen.write` or `put`."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

from bdt_core.errors import OutputError
from bdt_core.harmless import harmless

_IN_ASCII = str.maketrans(
    {
        "\u2212": "-", "\u2013": "-", "\u2014": "-", "\u2010": "-", "\u2011": "-", "\u00d7": "x", "\u2026": "...",
        "\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2264": "<=", "\u2265": ">=", "\u2260": "!=",
        "\u2192": "->", "\u2190": "<-", "\u00b7": "-", "\u2022": "*", "\u2713": "yes", "\u2717": "no", "\u00a0": " ",
        "\u202f": " ", "\u2060": "", "\ufffd": "?", "\u207b": "^-", "\u00b1": "+-",
    }
)  # fmt: skip


class Screen:
    """A stream of the process, as everybody writes to it: names do nothing, and it fits the terminal.

    A reader that goes away, as ``head`` does, is no error: what comes later is dropped, and the work goes on.

    Parameters
    ----------
    beneath : stream
    """

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath
        self.failure: OutputError | None = None
        self._is_gone = False

    def write(self, text: str) -> int:
        """Write what may hold anything."""
        self.pass_on(harmless(text))
        return len(text)

    def pass_on(self, text: str) -> None:
        """Write what was made harmless already, and holds the product's own commands and colours.

        Raises
        ------
        OutputError
            It cannot be written.
        """
        fits = fitting(text, getattr(self.beneath, "encoding", None) or "ascii")
        self._carefully(lambda: self.beneath.write(fits))

    def flush(self) -> None:
        """Hand on what is waiting.

        Raises
        ------
        OutputError
            It cannot be written.
        """
        self._carefully(self.beneath.flush)

    def isatty(self) -> bool:
        """Never: others, who ask before they send colours, send none."""
        return False

    def writable(self) -> bool:
        """Always."""
        return True

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "detach"):
            raise AttributeError(f"{name}: bytes would pass by")
        return getattr(self.beneath, name)

    def _carefully(self, act: Callable[[], object]) -> None:
        if self._is_gone:
            return
        try:
            act()
        except BrokenPipeError:
            self._go()
        except OSError as error:
            self._go()
            self.failure = OutputError(f"What is printed cannot be written: {error.strerror or error}.")
            raise self.failure from None

    def _go(self) -> None:
        """Whatever is still in the buffer goes nowhere, also when the interpreter ends."""
        self._is_gone = True
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.beneath.fileno())
            os.close(nowhere)


@contextmanager
def screens() -> Iterator[None]:
    """Everything that this process prints passes a `Screen`: also warnings, logs and what libraries say."""
    before = sys.stdout, sys.stderr
    written, notices = screen(), screen(error=True)
    sys.stdout, sys.stderr = cast("TextIO", written), cast("TextIO", notices)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        notices.flush()
        written.flush()
        ended = sys.exception()
        is_fine = ended is None or (isinstance(ended, SystemExit) and not ended.code)
        if is_fine and written.failure is not None:  # whoever tried to write has kept it to himself
            raise written.failure


def screen(*, error: bool = False) -> Screen:
    """Standard output, or standard error, as it may be written to; nowhere, if whoever began this has closed it."""
    stream: Any = sys.stderr if error else sys.stdout
    if stream is None:
        stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    return stream if isinstance(stream, Screen) else Screen(stream)


def put(text: str, *, error: bool = False, commands: bool = False) -> None:
    """Print a text and a line end.

    Parameters
    ----------
    text : str
        Any number of lines.
    error : bool
        On standard error.
    commands : bool
        The lines are commands to a CI runner, of which every name is escaped already.
    """
    to = screen(error=error)
    (to.pass_on if commands else to.write)(f"{text}\n")


def fitting(text: str, encoding: str) -> str:
    """A text as an encoding can hold it: signs become those of ASCII, letters lose their accents.

    Examples
    --------
    >>> fitting("−2 – 3 × 10⁻⁵, café, 東", "ascii")
    '-2 - 3 x 10^-5, cafe, \\\\u6771'
    >>> fitting("café – 東", "utf-8")
    'café – 東'
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(_fitting_character(one, encoding) for one in text)
    except LookupError:
        return fitting(text, "ascii")
    return text


def _fitting_character(character: str, encoding: str) -> str:
    with suppress(UnicodeEncodeError):
        character.encode(encoding)
        return character
    plain = character.translate(_IN_ASCII)
    if plain.isascii():
        return plain
    if "\u2800" <= character <= "\u28ff":  # what turns while a stage runs
        return "*"
    bare = "".join(one for one in unicodedata.normalize("NFKD", character) if one.isascii())
    return bare or character.encode("ascii", "backslashreplace").decode()
