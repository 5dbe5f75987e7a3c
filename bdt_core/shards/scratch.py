"""The folder of temporary files, which is gone when the audit is done, and after a crash when the next one begins."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bdt_core.errors import OutputError

_PREFIX = "bdt-columns-"
_OWNER = "owner"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder for temporary files, which is removed in the end, as are those that crashed audits have left."""
    where = Path(tempfile.gettempdir())
    remove_abandoned(where)
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=where))
    except OSError as error:
        raise OutputError(
            f"{where} cannot take temporary files: {error.strerror}. Name another folder in the environment variable "
            "TMPDIR."
        ) from None
    try:
        (folder / _OWNER).write_text(f"{socket.gethostname()} {os.getpid()} {_started(os.getpid())}")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(where: Path) -> list[Path]:
    """Remove folders whose process has ended, on this machine; returns them."""
    removed = []
    for folder in where.glob(f"{_PREFIX}*"):
        try:
            host, pid, started = (folder / _OWNER).read_text().split()
        except (OSError, ValueError):
            continue  # just being made, or somebody else's
        if host == socket.gethostname() and _started(int(pid)) != started:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed


def _started(pid: int) -> str:
    """When a process began, in the kernel's ticks, so that a number that is given away again is not mistaken for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        pass
    try:  # without /proc
        os.kill(pid, 0)
    except ProcessLookupError:
        return "ended"
    except OSError:
        pass
    return "running"
