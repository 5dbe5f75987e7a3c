"""A table that somebody names: where it is, and what to call its audit."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import ValidationError

from bdt_core.errors import SpecError
from bdt_core.spec import Source

_LONGEST = 200


def source_of(data: str) -> Source:
    """The source of a table that is named on the command line.

    Raises
    ------
    SpecError
        It cannot be one.
    """
    try:
        return Source(path=data)
    except ValidationError as error:
        reason = str(error.errors(include_url=False)[0]["msg"]).removeprefix("Value error, ")
        raise SpecError(f"DATA cannot be {data[:_LONGEST]}: {reason}.") from None


def name_of(target: str) -> str:
    """A name for an audit, from its table's file name.

    Examples
    --------
    >>> name_of("data/loans 2024-05.csv"), name_of("demo:compas")
    ('loans_2024_05', 'compas')
    """
    stem = Path(target.removeprefix("demo:")).stem
    return re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_") or "audit"
