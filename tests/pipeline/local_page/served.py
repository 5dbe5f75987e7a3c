"""``bdt open`` as a program, tables for it, and its pages without a port."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

TOKEN = "the-token"
HOST = "127.0.0.1:8000"
PATIENCE = 600.0
"""Seconds after which nothing is expected any more, on a machine as slow as can be."""
SEND = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}


def refusals(rows: int = 400) -> pd.DataFrame:
    """People of whom the young are refused far more often."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(3)
    age = rng.integers(18, 80, rows)
    return pd.DataFrame(
        {
            "person_id": [f"id-{i:04d}" for i in range(rows)],
            "age": age,
            "region": rng.choice(["north", "south", "east"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "refused": (rng.random(rows) < np.where(age < 40, 0.65, 0.15)).astype(int),
        }
    )


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(
    application: Any,
    path: str = "/",
    body: bytes | list[bytes] | None = None,
    *,
    headers: dict[str, str] | None = None,
    token: str | None = TOKEN,
    more: tuple[tuple[str, str], ...] = (),
) -> Answer:
    """One request to an application, in this process: a form's where there is a body; with more headers of any name."""
    pieces = [] if body is None else [body] if isinstance(body, bytes) else list(body)
    given = {"host": HOST, **(SEND if body is not None else {}), **(headers or {})}
    place, _, query = path.partition("?")
    path = place if token is None else f"/{token}{place}"
    scope = {
        "type": "http", "method": "GET" if body is None else "POST", "path": path, "raw_path": b"",
        "query_string": query.encode(), "root_path": "", "scheme": "http", "http_version": "1.1",
        "headers": [(name.encode(), one.encode()) for name, one in (*given.items(), *more) if one],
        "client": None,
        "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    waiting = [{"type": "http.request", "body": one, "more_body": i < len(pieces) - 1} for i, one in enumerate(pieces)]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(dict(message))

    asyncio.run(application(scope, receive, send))
    assert not waiting or body is None or sent[0]["status"] == 403  # else the browser would be cut off
    headers_of = {name.decode(): one.decode() for name, one in sent[0]["headers"]}
    return Answer(sent[0]["status"], headers_of, b"".join(one.get("body", b"") for one in sent[1:]))


def sent_file(name: str, content: bytes, boundary: str = "XbX") -> tuple[bytes, dict[str, str]]:
    """A form with one file, as a browser sends it."""
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: text/csv'
    body = f"{head}\r\n\r\n".encode() + content + f"\r\n--{boundary}--\r\n".encode()
    return body, {"content-type": f"multipart/form-data; boundary={boundary}"}


def until(true: Callable[[], object]) -> None:
    """Wait for something."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it has not come to that"
        time.sleep(0.05)


def processes(of: int) -> set[int]:
    """The processes that one has begun, and those that these have."""
    parents: dict[int, list[int]] = {}
    for one in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (one / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents.setdefault(int(parent), []).append(int(one.name))
    found: set[int] = set()
    waiting = [of]
    while waiting:
        new = parents.get(waiting.pop(), [])
        found |= set(new)
        waiting += new
    return found


def alive(several: set[int]) -> set[int]:
    """Those of some processes that are still there."""

    def is_there(one: int) -> bool:
        try:
            return Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return set(filter(is_there, several))


@dataclass(frozen=True)
class Program:
    """``bdt open`` that runs.

    Attributes
    ----------
    address : str
    temporary : Path
        Where it puts its temporary folder.
    process : Popen
    hold : Path
        While this file is there, whoever reads or audits waits where it was told to.
    """

    address: str
    temporary: Path
    process: subprocess.Popen[str]
    hold: Path


# In the process that reads and audits: it waits before it opens a file whose path has some words in it.
_HOLDING = """
import os, sys, time

def wait(event, arguments):
    if event == "open" and {at!r} in str(arguments[0]):
        while os.path.exists({hold!r}):
            time.sleep(0.05)

if "local_page.child" in str(sys.orig_argv):
    sys.addaudithook(wait)
"""


def holding(folder: Path, at: str) -> tuple[Path, Path]:
    """Where Python is to look for modules, and the file that holds whoever reads and audits while it is there.

    Parameters
    ----------
    folder : Path
    at : str
        Words in the path of a file: it waits before it opens such a one.
    """
    modules, hold = folder / "holding", folder / "hold"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(_HOLDING.format(at=at, hold=str(hold)))
    hold.touch()
    return modules, hold


@contextmanager
def opened(folder: Path, *arguments: str, held_at: str | None = None) -> Iterator[Program]:
    """Run ``bdt open`` without a browser; whoever reads and audits waits before a file with ``held_at`` in its path."""
    temporary, hold = folder / "temporary", folder / "hold"
    temporary.mkdir(exist_ok=True)
    modules = list(filter(None, sys.path))
    if held_at is not None:
        modules.insert(0, str(holding(folder, held_at)[0]))
    process = subprocess.Popen(
        [sys.executable, "-m", "bdt_pipeline.cli", "open", "--no-browser", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(modules),
            "TMPDIR": str(temporary),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", process.stdout.readline())
        assert address is not None
        yield Program(address[0], temporary, process, hold)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
