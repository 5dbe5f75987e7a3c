"""One way to write data as bytes, so that a digest of it says the same everywhere."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from bdt_core.errors import SourceError

_PIECE = 1 << 20


def canonical_bytes(data: Any) -> bytes:
    """Data as JSON with sorted keys, without spaces, in UTF-8.

    Raises
    ------
    ValueError
        A number is not finite.

    Examples
    --------
    >>> canonical_bytes({"b": [1, 0.5], "a": None})
    b'{"a":null,"b":[1,0.5]}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(data: Any) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal digits.

    Examples
    --------
    >>> digest({"a": 1})
    '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862'
    """
    return hashlib.sha256(canonical_bytes(data)).hexdigest()


def digest_of_file(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal digits.

    Raises
    ------
    SourceError
        It cannot be read.
    """
    made = hashlib.sha256()
    try:
        with Path(path).open("rb") as file:
            while piece := file.read(_PIECE):
                made.update(piece)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.") from None
    return made.hexdigest()
