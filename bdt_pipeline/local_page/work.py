"""Work in a child process: how far it is, how it ended, and how it is stopped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread

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
        ours, theirs = Pipe()
        # Python looks for modules where this process does, and never in the folder of the table.
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno())],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        ours.send(task)
        self._listener = Thread(target=self._listen, args=(ours,), daemon=True)
        self._listener.start()

    def stop(self) -> None:
        """End it, with all processes that it has begun; nothing of it is left."""
        self._stopped = True
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._listener.join()
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _listen(self, connection: Connection) -> None:
        end: End | None = None
        try:
            with connection, suppress(EOFError, OSError):
                while end is None:
                    message: Message = connection.recv()
                    match message:
                        case Step():
                            self.step = message
                        case Notice():
                            self.notices.append(message.sentence)
                        case Failure() | Looked() | Written():
                            end = message
        finally:
            code = self._process.wait()
            shutil.rmtree(self._temporary, ignore_errors=True)
            self.end = end or (None if self._stopped else Failure(_killed(code)))


def _killed(code: int) -> str:
    if code == -signal.SIGKILL:
        return (
            "The work was ended from outside, as systems do when memory runs out. Close other programs, or take fewer "
            "rows or columns."
        )
    return say("The work has ended without a word (code {code}). Start it again.", code=str(code))
