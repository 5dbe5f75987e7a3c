"""Warning of rows that are copies of others: its messages, and the numbers in it for whoever says it in other words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bdt_core.said import sentences_within

REPEATED = (
    "{N} of {Nall} rows are the same as another one in every column, far more than chance would make so: they may be "
    "one person many times, and are then counted as if they were many."
)
REPEATED_OF_SOME = (
    "{N} of {Nall} rows looked at are the same as another one in every column, far more than chance would make so: "
    "they may be one person many times, and are then counted as if they were many."
)
NEARLY = (
    "{N} of {Nall} rows are nearly the same as another one, in all but {list}, far more than chance would make so: "
    "they may be one person many times, or be made from one another."
)
NEARLY_OF_SOME = (
    "{N} of {Nall} rows looked at are nearly the same as another one, in all but {list}, far more than chance would "
    "make so: they may be one person many times, or be made from one another."
)
COUNTED_AS_MANY = "They are counted as if they were many, for the table is large: what is sure of them may not be."
ONE_OF_EACH = "One of each is audited, and the others are left out, so that they make nothing surer."


def repeated_in(warnings: Iterable[str]) -> tuple[int, int] | None:
    """How many rows are named as copies among the warnings of a table, and of how many; None where none are.

    Examples
    --------
    >>> from bdt_core.said import Numeral, say
    >>> repeated_in([say(REPEATED, N=Numeral("2,000"), Nall=Numeral("2,500"))])
    (2000, 2500)
    """
    said = _messages_of(warnings)
    return next((_counts(said[one]) for one in (REPEATED, REPEATED_OF_SOME) if one in said), None)


def nearly_repeated_in(warnings: Iterable[str]) -> tuple[int, int, bool] | None:
    """How many rows are named as near copies, of how many, and whether only one of each was audited; None without any.

    Examples
    --------
    >>> from bdt_core.said import Numeral, joined, say
    >>> told = say(NEARLY, N=Numeral("20"), Nall=Numeral("25"), list="income")
    >>> nearly_repeated_in([joined([told, say(ONE_OF_EACH)], " ")]), nearly_repeated_in([told])
    ((20, 25, True), (20, 25, False))
    """
    said = _messages_of(warnings)
    return next(((*_counts(said[one]), ONE_OF_EACH in said) for one in (NEARLY, NEARLY_OF_SOME) if one in said), None)


def _messages_of(warnings: Iterable[str]) -> dict[str, Mapping[str, str]]:
    return {one.id: one.values for warning in warnings for one in sentences_within(warning)}


def _counts(values: Mapping[str, str]) -> tuple[int, int]:
    some, of_all = (int(values[name].replace(",", "")) for name in ("N", "Nall"))
    return some, of_all
