"""Ledger of looks: a file with a line for each event, in which every line holds the hash of the line before it.

A line that was changed, taken out or moved breaks the chain. The end of the chain stands in a second file, so that
lines that are missing at the end are noticed, too. Whoever changes both files can change the past; a bundle or an
attestation that others hold says what the ledger was.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdt_core.errors import OutputError
from bdt_core.result import SCHEMA_MINOR
from bdt_core.said import Text, say
from bdt_core.sealed.canonical import canonical_bytes
from bdt_core.words import count

if TYPE_CHECKING:
    from filelock import BaseFileLock

FILE, HEAD, LOCK = "looks.jsonl", "looks.head", "looks.lock"
FILES = frozenset({FILE, HEAD, LOCK})
MISSING, UNLISTED = "lines_missing", "reports_unlisted"
"""Members of a line: what was noticed when it was written."""
_OF_A_LOOK, _REPORTS_READ = f'"schema_minor": {SCHEMA_MINOR}'.encode(), 100
"""Reports of versions that kept no ledger have another one."""
_WAIT = 60.0
"""Seconds to wait for another writer to add a line, which takes milliseconds unless the disk is slow."""

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Chain:
    """A ledger that was read.

    Attributes
    ----------
    events : tuple of mapping
        The lines that can be read, in their order.
    head : str
        Hash of the last line; empty where there is none.
    lines : int
        All lines, readable ones and others.
    problems : tuple of Text
        What does not fit: a line that was changed, lines that are missing, a clock that was turned back.
    misses_lines : bool
        Whether the end is not where the second file says. The next line says so, too, as a new end is written with it.
    """

    events: tuple[Event, ...]
    head: str
    lines: int
    problems: tuple[Text, ...]
    misses_lines: bool = False

    @classmethod
    def of(cls, content: bytes, end: Event | None) -> Chain:
        """Of the bytes of a ledger, and what the second file says of its end."""
        lines = content.split(b"\n")
        lines = lines[:-1] if lines[-1] == b"" else lines
        hashes = ["", *(hashlib.sha256(line).hexdigest() for line in lines)]
        events: list[Event] = []
        problems: list[Text] = []
        for number, line in enumerate(lines, 1):
            event = _event(line)
            if event is None:
                problems.append(say("line {N} cannot be read: it was changed, or cut short", N=count(number)))
                continue
            if event.get("previous") != hashes[number - 1]:
                problems.append(say("lines before line {N} were changed, taken out or moved", N=count(number)))
            if events and event["time"] < events[-1]["time"]:
                problems.append(say("the clock was turned back before line {N}", N=count(number)))
            problems += _noticed(event, number)
            events.append(event)
        missing = _problem_of_end(hashes, end)
        problems += [] if missing is None else [missing]
        return cls(tuple(events), hashes[-1], len(lines), tuple(problems), missing is not None)

    def has_begun(self, look: str) -> bool:
        """Whether a look stands in it."""
        return any(event["event"] == "begun" and event["look"] == look for event in self.events)


def _event(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    is_event = isinstance(event, dict) and all(isinstance(event.get(key), str) for key in ("event", "look", "time"))
    return event if is_event else None


def _noticed(event: Event, number: int) -> Iterator[Text]:
    """What was noticed when a line was written, and cannot be seen any more."""
    if event.get(MISSING):
        yield say("lines were missing at the end, or other ones stood there, before line {N}", N=count(number))
    if reports := event.get(UNLISTED):
        yield say("{N} reports stood beside it when it began which it does not list", N=count(reports))


def _problem_of_end(hashes: list[str], end: Event | None) -> Text | None:
    if end is None:
        is_new = len(hashes) == 1
        return None if is_new else say("the file {name}, which says where the ledger ends, is missing", name=HEAD)
    lines = end.get("lines")
    if not isinstance(lines, int) or lines >= len(hashes):
        return say("lines are missing at the end")
    return None if end.get("head") == hashes[lines] else say("it ends in other lines than it did")


@dataclass(frozen=True)
class Ledger:
    """The ledger in a folder.

    Attributes
    ----------
    folder : Path
        Made with the first line.
    """

    folder: Path

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / FILE

    def read(self) -> Chain:
        """All of it; nothing where there is no ledger yet.

        Raises
        ------
        OutputError
            It is there and cannot be read.
        """
        content, end = _bytes(self.path), _bytes(self.folder / HEAD)
        return Chain.of(content or b"", None if end is None else _of_end(end))

    def append(self, event: Callable[[Chain], Event | None]) -> None:
        """Add a line, made of the ledger as it is, or none; the line is on the disk when this returns.

        Raises
        ------
        OutputError
            It cannot be written. Nothing of it stands in the ledger then.
        """
        with self._locked():
            chain = self.read()
            noticed: dict[str, Any] = {MISSING: True} if chain.misses_lines else {}
            unlisted = 0 if chain.lines else self._reports_of_looks()
            noticed |= {UNLISTED: unlisted} if unlisted else {}
            added = event(chain)
            if added is not None:
                line = canonical_bytes({**added, **noticed, "previous": chain.head})
                self._append(line, chain.lines)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._held(FileLock(self.folder / LOCK, timeout=_WAIT)):
                yield
        except OSError as error:
            raise OutputError(f"{self.path} cannot be written: {error.strerror or error}.") from None

    def _held(self, lock: BaseFileLock) -> AbstractContextManager[object]:
        """The lock, held: on a slow disk others take long before, and are waited for while they add lines."""
        from filelock import Timeout

        while True:
            before = _bytes(self.folder / HEAD)
            try:
                return lock.acquire()
            except Timeout:
                if _bytes(self.folder / HEAD) == before:
                    raise OutputError(
                        f"Another run holds {self.folder / LOCK} for more than {_WAIT:.0f} seconds. If none is "
                        "running, delete that file."
                    ) from None

    def _reports_of_looks(self) -> int:
        """How many reports stand beside a ledger that is about to begin, of looks that stood in another one."""
        reports = islice(self.folder.glob("*/report.json"), _REPORTS_READ)
        return sum(_OF_A_LOOK in path.read_bytes() for path in reports)

    def _append(self, line: bytes, lines: int) -> None:
        before = self.path.stat().st_size if self.path.exists() else 0
        with self.path.open("ab", buffering=0) as stream:
            torn = before > 0 and not _ends_a_line(self.path)  # whoever wrote last was killed while writing
            written = (b"\n" if torn else b"") + line + b"\n"
            try:
                if stream.write(written) != len(written):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(stream.fileno())
            except OSError:
                os.truncate(self.path, before)
                raise
        self._write_end(lines + 1, hashlib.sha256(line).hexdigest())

    def _write_end(self, lines: int, head: str) -> None:
        beside = self.folder / f"{HEAD}.new"
        beside.write_bytes(canonical_bytes({"lines": lines, "head": head}) + b"\n")
        beside.replace(self.folder / HEAD)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror or error}.") from None


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read() == b"\n"


def _of_end(content: bytes) -> Event:
    try:
        end = json.loads(content)
    except ValueError:
        return {}
    return end if isinstance(end, dict) else {}
