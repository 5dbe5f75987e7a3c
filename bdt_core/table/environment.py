"""Environment variables in addresses: filled in when a table is read, so that no secret stands in a specification."""

from __future__ import annotations

import os
import re

from bdt_core.errors import SourceError

_VARIABLE = re.compile(r"\$\{(\w+)\}")


def expanded(text: str, key: str) -> str:
    """The text with every ``${NAME}`` replaced by the environment variable.

    Parameters
    ----------
    text : str
    key : str
        Key of the specification, for the message.

    Raises
    ------
    SourceError
        A variable is not set.

    Examples
    --------
    >>> os.environ["BDT_EXAMPLE"] = "loans"
    >>> expanded("data/${BDT_EXAMPLE}.csv", "source.path")
    'data/loans.csv'
    """
    for name in _VARIABLE.findall(text):
        if name not in os.environ:
            raise SourceError(f"{key} names the environment variable {name}, which is not set.")
    return _VARIABLE.sub(lambda found: os.environ[found[1]], text)


def without_secrets(message: str, text: str) -> str:
    """A message on an address that was filled in, with the names of the variables where their values stood.

    Parameters
    ----------
    message : str
    text : str
        The address with its ``${NAME}``.

    Examples
    --------
    >>> os.environ["BDT_EXAMPLE"] = "secret"
    >>> without_secrets("ftp://me:secret@host cannot be reached", "ftp://me:${BDT_EXAMPLE}@host")
    'ftp://me:${BDT_EXAMPLE}@host cannot be reached'
    """
    values = {os.environ[name]: f"${{{name}}}" for name in _VARIABLE.findall(text) if os.environ.get(name)}
    for value in sorted(values, key=len, reverse=True):  # one may be a part of another
        message = message.replace(value, values[value])
    return message
