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
from threading import Lock, Thread
from typing import IO

from bdt_core.said import say
from bdt_pipeline.local_page.child import (
    Audit,
    End,
    Failure,
    Look,
    Looked,
    Message,
    Notice,
    Step,
    Written,
    problem_of,
)
from bdt_pipeline.local_page.line import Line

_PROGRAM = "from bdt_pipeline.local_page.child import main; main()"


class Work:
    """A task in a process of its own, which has begun or waits in a line.

    Parameters
    ----------
    task : Look or Audit
    folder : Path
        Its working directory.
    temporary : Path
        Folder for what it puts down in between; gone afterwards.
    line : Line
        Where it waits while others run.

    Attributes
    ----------
    step : Step or None
        The last that was told.
    notices : list of str
    end : Failure, Looked, Written or None
        None while it waits or runs, and where it was stopped.
    """

    def __init__(self, task: Look | Audit, folder: Path, temporary: Path, line: Line) -> None:
        self.task = task
        self.step: Step | None = None
        self.notices: list[str] = []
        self.end: End | None = None
        self._folder = folder
        self._temporary = temporary
        self._line = line
        self._state = Lock()
        self._stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._listener = Thread(target=self._listen, daemon=True)
        self._line.enter(self)

    @property
    def place(self) -> int:
        """Its place in the line, the first being 1; 0 where it has begun."""
        return self._line.place_of(self)

    @property
    def process(self) -> int:
        """Number of its process, which has begun."""
        assert self._process is not None
        return self._process.pid

    def begin(self) -> None:
        """Begin, as the line says; what was stopped while it waited does not."""
        with self._state:
            if self._stopped:
                return
            # Python looks for modules where this process does, and never in the folder of the table.
            path = os.pathsep.join(filter(None, sys.path))
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _PROGRAM],
                    cwd=self._folder,
                    env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(self._temporary)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                self._over(Failure(problem_of(error)))
                return
            with suppress(OSError):  # it has ended already, which the listener tells
                pickle.dump(self.task, _open(self._process.stdin))
                _open(self._process.stdin).flush()
            self._listener.start()

    def stop(self) -> None:
        """End it, with all processes that it has begun; nothing of it is left."""
        with self._state:
            is_first, self._stopped = not self._stopped, True
        if self._process is not None:
            _kill(self._process)
            self._process.wait()
            self._listener.join()
        elif is_first and self.end is None:
            self._over(None)

    def _listen(self) -> None:
        assert self._process is not None
        end: End | None = None
        code = 0
        try:
            with _open(self._process.stdout) as messages, suppress(EOFError, OSError, pickle.UnpicklingError):
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
                _open(self._process.stdin).close()  # open as long as anybody waits for it: it ends when this is closed
            self._over(end or (None if self._stopped else Failure(_killed(code))))

    def _over(self, end: End | None) -> None:
        shutil.rmtree(self._temporary, ignore_errors=True)
        self.end = end
        self._line.leave(self)


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


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
