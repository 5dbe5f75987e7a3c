"""A table that a browser sends: written into a folder as it comes, and never more of it than is allowed."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

from bdt_core.errors import BDTError
from bdt_core.harmless import harmless
from bdt_core.report.write import not_written
from bdt_core.said import say
from bdt_core.table.locations import PACKED
from bdt_core.words import count

_LONGEST_HEAD = 16_384
_LONGEST_SUFFIX = 20
_LONGEST_NAME = 180  # bytes: some are needed for what is named after it
_BOUNDARY = re.compile(r'multipart/form-data;.*?\bboundary="?([^";,\s]{1,200})"?', re.IGNORECASE)
_NAME = re.compile(rb'\bfilename="((?:[^"\\]|\\.)*)"', re.IGNORECASE)
_MEANS_SOMETHING = re.compile(r'[\x00-\x1f\x7f\ufffd/\\:*?"<>|{}\[\]$~]')
"""In paths of a specification: patterns, variables, addresses; or no letter of a file's name."""
_MB = 1_000_000
_TOO_LARGE = (
    "The file is larger than the {N} MB that this page takes. Open it by its name (bdt open FILE), which copies "
    "nothing, or allow more (bdt open --max-size)."
)


class UploadError(BDTError):
    """What was sent is no table, or too large."""


class TooLargeError(UploadError):
    """More than is allowed."""


async def received(content_type: str, pieces: AsyncIterator[bytes], folder: Path, most: int) -> str:
    """Write the file of a form with one field into a folder.

    Parameters
    ----------
    content_type : str
        Of the request.
    pieces : async iterator of bytes
        Its body.
    folder : Path
        Empty.
    most : int
        Bytes that the file may have.

    Returns
    -------
    str
        The name that the file has now.

    Raises
    ------
    UploadError
        No file was chosen.
    TooLargeError
        It is larger than allowed; nothing of it is left.
    """
    boundary = _BOUNDARY.match(content_type)
    head, waiting = await _head(pieces)
    name = _NAME.search(head)
    if boundary is None or name is None or not name[1]:
        raise UploadError("No file has arrived. Choose one, and send it again.")
    end = b"\r\n--" + boundary[1].encode()
    place = folder / safe_name(name[1].decode(errors="replace"))
    size = 0
    try:
        with open(place, "xb", opener=private) as file:
            while True:
                at = waiting.find(end)
                content = waiting[:at] if at >= 0 else waiting[: -len(end)]
                size += len(content)
                if size > most:
                    raise TooLargeError(say(_TOO_LARGE, N=count(most // _MB)))
                file.write(content)
                if at >= 0:
                    return place.name
                piece = await anext(pieces, None)
                if piece is None:
                    raise UploadError("The file has not arrived as a whole. Send it again.")
                waiting = waiting[len(content) :] + piece
    except OSError as error:
        place.unlink(missing_ok=True)
        raise UploadError(f"The file {not_written(folder, error)}") from None
    except BaseException:
        place.unlink(missing_ok=True)
        raise


async def _head(pieces: AsyncIterator[bytes]) -> tuple[bytes, bytes]:
    """What stands before the content of the first field, and what of the content came with it."""
    came = b""
    async for piece in pieces:
        came += piece
        if b"\r\n\r\n" in came or len(came) > _LONGEST_HEAD:
            break
    head, _, rest = came.partition(b"\r\n\r\n")
    return head[:_LONGEST_HEAD], rest


def private(path: str, flags: int) -> int:
    """Open a file that only its user can read, whatever the process allows others."""
    return os.open(path, flags, 0o600)


def safe_name(name: str) -> str:
    """A name for a file from one that a browser gives: it leads nowhere, and means nothing in a specification.

    Examples
    --------
    >>> safe_name("../loans: 2024*.csv"), safe_name("C:\\\\data\\\\été (1).xlsx"), safe_name("...")
    ('loans_ 2024_.csv', 'été (1).xlsx', 'table')
    """
    last = re.split(r"[/\\]", harmless(name).replace("\n", " "))[-1]
    plain = _MEANS_SOMETHING.sub("_", last).strip(". ") or "table"
    suffix = "".join(PurePosixPath(plain).suffixes[-2 if plain.endswith(PACKED) else -1 :])[:_LONGEST_SUFFIX]
    stem = plain.removesuffix(suffix)
    while len(f"{stem}{suffix}".encode()) > _LONGEST_NAME:
        stem = stem[:-1]
    return f"{stem}{suffix}"
