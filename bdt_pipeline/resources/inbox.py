"""The inbox: a folder or bucket whose files are audited one by one, and the place for those that cannot be."""

from __future__ import annotations

import datetime
import fnmatch
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bdt_core.errors import SourceError
from bdt_core.harmless import harmless
from bdt_core.spec import Inbox
from bdt_core.spec.source import no_part
from bdt_core.table.environment import expanded
from bdt_pipeline.resources.storage import replacing

if TYPE_CHECKING:
    from upath import UPath

QUARANTINE = "quarantine"
REASON = ".reason.txt"
_UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".filepart", ".swp")
_LONGEST = 220
_CONTROL = {chr(code) for code in range(32)}


@dataclass(frozen=True)
class Arrived:
    """A file in the inbox.

    Attributes
    ----------
    name : str
    state : str
        Changes when the file does.
    """

    name: str
    state: str


def look_into(inbox: Inbox) -> list[Arrived]:
    """Files that fit the pattern, in the order of their names; unfinished and hidden ones are passed over.

    Raises
    ------
    SourceError
        The folder cannot be listed.
    """
    folder = _folder(inbox)
    try:
        folder.fs.invalidate_cache()
        entries = folder.fs.ls(folder.path, detail=True) if folder.exists() else []
    except Exception as error:
        raise SourceError(f"The inbox {inbox.folder} cannot be listed: {type(error).__name__}: {error}") from None
    files = []
    for entry in entries:
        name = entry["name"].rstrip("/").rsplit("/", 1)[-1]
        hidden = name.startswith((".", "_")) or name.lower().endswith(_UNFINISHED)
        if entry["type"] != "file" or hidden or not fnmatch.fnmatch(name, inbox.pattern):
            continue
        changed = [str(entry[key]) for key in ("mtime", "LastModified", "updated", "etag", "ETag") if key in entry]
        files.append(Arrived(name, ", ".join([f"{entry['size']} bytes", *changed])))
    return sorted(files, key=lambda one: one.name)


def cannot_be_a_part(name: str) -> str | None:
    """Why a file's name cannot be the name of a part; None if it can."""
    if "..." in name or _CONTROL & set(name):
        return 'the name holds control characters or "...": rename the file'
    reason = no_part(name)
    return None if reason is None else f"{reason}: rename the file"


def put_aside(inbox: Inbox, name: str, reason: str) -> UPath | None:
    """Move a file into the quarantine, with a text beside it that says why; None if it is not there any more.

    A file of the same name that lies there already is kept under a name with its time.
    """
    folder = _folder(inbox)
    file, shelf = folder / name, folder / QUARANTINE
    if not file.exists():
        return None
    shelf.mkdir(parents=True, exist_ok=True)
    target = shelf / name
    if target.exists():
        now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%f")
        target = shelf / f"{now}-{_cut(name)}"
    # The reason is written first: a file in quarantine is never without one.
    with replacing(shelf / _reason_of(target.name)) as beside:
        beside.write((harmless(reason) + "\n").encode())
    file.fs.mv(file.path, target.path)
    return target


def _reason_of(name: str) -> str:
    """Name of the text beside a file."""
    return _cut(name) + REASON


def _cut(name: str) -> str:
    """A name to which something can be added: most file systems allow 255 bytes."""
    return name.encode("utf-8", "surrogateescape")[:_LONGEST].decode("utf-8", "ignore")


def _folder(inbox: Inbox) -> UPath:
    from upath import UPath

    return UPath(expanded(inbox.folder, "inbox.folder"))
