"""Folders of temporary files, which are gone when their process is done, and after a crash when the next one begins."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bdt_core.errors import OutputError

if sys.platform != "win32":  # where no such lock is known, what a killed process left is its user's to remove
    import fcntl

COLUMNS, PAGE = "bdt-columns-", "bdt-open-"
"""What folders are called that hold a large table, and what `bdt open` keeps."""
_LOCK = "lock"
"""File of a folder that holds the name of the machine, and is locked as long as the process lives that works in it."""


@contextmanager
def scratch_folder(name: str = COLUMNS) -> Iterator[Path]:
    """A new folder for temporary files, which is removed in the end, as are those that crashed processes have left.

    Parameters
    ----------
    name : {COLUMNS, PAGE}
        What its name begins with.

    Raises
    ------
    OutputError
        Nothing can be written there.
    """
    where = Path(tempfile.gettempdir())
    remove_abandoned()
    try:
        folder = Path(tempfile.mkdtemp(prefix=name, dir=where))
        lock = _locked(folder)
    except OSError as error:
        raise OutputError(
            f"{where} cannot take temporary files: {error.strerror}. Name another folder in the environment variable "
            "TMPDIR."
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_abandoned() -> list[Path]:
    """Remove folders of this user whose process has ended, on this machine; returns them."""
    where = Path(tempfile.gettempdir())
    abandoned = [one for name in (COLUMNS, PAGE) for one in where.glob(f"{name}*") if _is_abandoned(one)]
    for folder in abandoned:
        shutil.rmtree(folder, ignore_errors=True)
    return abandoned


def _locked(folder: Path) -> int | None:
    """Lock a folder; the lock goes with the process, and with those that it was forked into, however they end."""
    if sys.platform == "win32":
        return None
    else:  # noqa: RET505 - mypy takes what follows an if for reachable on every system
        unnamed = folder / f"{_LOCK}.new"  # nobody finds the lock before it is held
        lock = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(lock, socket.gethostname().encode())
        fcntl.flock(lock, fcntl.LOCK_EX)
        unnamed.rename(folder / _LOCK)
        return lock


def _is_abandoned(folder: Path) -> bool:
    """Whether it is this user's, of this machine, and nobody holds its lock."""
    if sys.platform == "win32":
        return False
    else:  # noqa: RET505 - as in _locked
        try:
            about = folder.lstat()
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
                return False
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return False  # just being made, or going
        try:
            if os.read(lock, 256) != socket.gethostname().encode():  # locks of another machine may not be seen here
                return False
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(lock)
        return True
