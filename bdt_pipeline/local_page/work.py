"""Work in a child process: how far it is, how it ended, and how it is stopped."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO

from bdt_core.said import say
from bdt_pipeline.local_page.child import Audit, End, Failure, Look, Looked, Message, Notice, Step, Written

_PROGRAM = "from bdt_pipeline.local_page.child import main; main()"


class Work:
    """A task in a process of its own, which has begun.

    Parameters
    ----------
    task : Look or Audit
    folder : Path
        Its working directory.
    temporary : Path
        Folder for what it puts down in between; gone afterwards.

    Attributes
    ----------
    step : Step or None
        The last that was told.
    notices : list of str
    end : Failure, Looked, Written or None
        None while it runs, and where it was stopped.
    """

    def __init__(self, task: Look | Audit, folder: Path, temporary: Path) -> None:
        self.task = task
        self.step: Step | None = None
        self.notices: list[str] = []
        self.end: End | None = None
        self._temporary = temporary
        self._stopped = False
        # Python looks for modules where this process does, and never in the folder of the table.
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with suppress(OSError):  # it has ended already, which the listener tells
            pickle.dump(task, self._to_it)
            self._to_it.flush()
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def _to_it(self) -> IO[bytes]:
        """Open as long as anybody waits for it; it ends when this is closed."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _from_it(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def stop(self) -> None:
        """End it, with all processes that it has begun; nothing of it is left."""
        self._stopped = True
        _kill(self._process)
        self._process.wait()
        self._listener.join()
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _listen(self) -> None:
        end: End | None = None
        try:
            with self._from_it as messages, suppress(EOFError, OSError, pickle.UnpicklingError):
                while end is None:
                    message: Message = pickle.load(messages)
                    match message:
                        case Step():
                            self.step = message
                        case Notice():
                            self.notices.append(message.sentence)
                        case Failure() | Looked() | Written():
                            end = message
        finally:
            code = self._process.wait()
            with suppress(OSError):
                self._to_it.close()
            shutil.rmtree(self._temporary, ignore_errors=True)
            self.end = end or (None if self._stopped else Failure(_killed(code)))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it has begun."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/t", "/f", "/pid", str(process.pid)], capture_output=True, check=False)
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _killed(code: int) -> str:
    if sys.platform != "win32" and code == -signal.SIGKILL:
        return (
            "The work was ended from outside, as systems do when memory runs out. Close other programs, or take fewer "
            "rows or columns."
        )
    return say("The work has ended without a word (code {code}). Start it again.", code=str(code))
