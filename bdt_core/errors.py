"""Every message a user can meet, in one place.

A message names the file, column, row count or YAML key, says what was expected and how to mend it. It never
repeats cell values beyond what the mend needs.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable

from bdt_core.harmless import harmless
from bdt_core.said import changed, say

OUT_OF_MEMORY = "The memory is too small for this table. Close other programs, or take fewer rows or columns."


class BDTError(ValueError):
    """Something the user can mend; command lines print its text and no traceback.

    The names in it may come from data, and it may be printed anywhere: it is made harmless here, once.
    """

    def __init__(self, message: str) -> None:
        super().__init__(changed(message, harmless))

    @property
    def sentence(self) -> str:
        """The text; where it is said by its message, it still knows that one, as ``str(error)`` does not."""
        text: str = self.args[0]
        return text


class SpecError(BDTError):
    """The audit specification is wrong: an unknown key, a value out of range."""


class SourceError(BDTError):
    """The table cannot be read."""


class UnreachableError(SourceError):
    """The table cannot be read now, and nothing says that the table itself is at fault: a network, a disk, a right."""


class DataError(BDTError):
    """The table was read, but cannot be audited as the specification wants."""


class OutputError(BDTError):
    """The results cannot be written."""


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """Ask whether the nearest known name was meant; say something else when nothing is near.

    Examples
    --------
    >>> nearest("prediciton", ["label", "prediction"], "name one."), nearest("x", ["label"], "name one.")
    ('did you mean "prediction"?', 'name one.')
    """
    near = _nearest(name, list(known))
    return f'did you mean "{near}"?' if near else otherwise


def _nearest(name: str, known: list[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.5)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, or list the known ones when nothing is near; a sentence of its own.

    Examples
    --------
    >>> did_you_mean("prediciton", ["label", "prediction"])
    'Did you mean "prediction"?'
    """
    names = [str(one) for one in known]
    if near := _nearest(name, names):
        return say('Did you mean "{as_is}"?', as_is=near)
    return say("Known names: {list}.", list=", ".join(names[:20]) + (", ..." if len(names) > 20 else ""))


def repeated_names(names: Iterable[str]) -> list[str]:
    """Names that occur more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def repeated_message(path: str, repeated: list[str]) -> str:
    """What to say of column names that occur more than once."""
    return say(
        "{table}: column names must differ, but {names} stand there more than once. Rename them.",
        table=path,
        names=", ".join(map(repr, repeated[:5])),
    )


def without_rows(table: str = "The table", *, is_file: bool = False) -> str:
    """What to say of a table that has columns only.

    Examples
    --------
    >>> without_rows("loans.csv", is_file=True)
    'loans.csv has a header but no rows. Save it again with its rows, or name another table.'
    """
    if is_file:
        return say("{table} has a header but no rows. Save it again with its rows, or name another table.", table=table)
    return say(
        "{table} has columns but no rows. Widen the condition that selects rows, or take another table.", table=table
    )
