"""A file that ends whoever reads it: a pipe, whose readers are killed as soon as they have opened it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import psutil

NATIVE_DEATH = signal.SIGABRT


@contextmanager
def deadly(file: Path) -> Iterator[list[int]]:
    """The processes below this one that have died of the file."""
    os.mkfifo(file)
    died: list[int] = []
    over = Event()

    def kill_readers() -> None:
        while not over.wait(0.05):
            with suppress(OSError):  # nobody reads
                os.close(os.open(file, os.O_WRONLY | os.O_NONBLOCK))
                for child in psutil.Process().children():
                    if "bdt_core.table.read_alone" in child.cmdline():
                        died.append(child.pid)
                        child.send_signal(NATIVE_DEATH)

    watcher = Thread(target=kill_readers)
    watcher.start()
    try:
        yield died
    finally:
        over.set()
        watcher.join()
