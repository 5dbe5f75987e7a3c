"""The page on a port of this machine: begun, opened in the browser, and away with all that it had."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from types import FrameType

import uvicorn

from bdt_core.shards.scratch import PAGE, scratch_folder
from bdt_pipeline.commands.printing import put
from bdt_pipeline.local_page.guard import Guard
from bdt_pipeline.local_page.pages import Pages
from bdt_pipeline.local_page.visit import Visit, linked

HOST = "127.0.0.1"
if sys.platform == "win32":
    _ENDS = (signal.SIGTERM, signal.SIGBREAK)
else:
    _ENDS = (signal.SIGTERM, signal.SIGHUP)
"""What a system sends to end it, and when its terminal is closed."""
_PATIENCE = 2
"""Seconds that are left to a browser that is being answered when the page ends."""


def serve(file: str | None, *, most: int, browser: bool) -> None:
    """Serve the page until somebody ends it (Ctrl-C, SIGTERM, or the terminal is closed).

    Parameters
    ----------
    file : str, optional
        A table to begin with.
    most : int
        Bytes of the largest file that a browser may send.
    browser : bool
        Whether to open it.

    Raises
    ------
    SourceError, SpecError
        There is no such table.
    """
    with _ended_by_signals(), scratch_folder(PAGE) as folder, socket.socket() as listening:
        visit = Visit(folder)
        try:
            if file is not None:
                beside = visit.new_folder()
                visit.take(beside, linked(file, beside))
            listening.bind((HOST, 0))
            _serve(visit, listening, most, browser=browser)
        finally:
            visit.stop()


def _serve(visit: Visit, listening: socket.socket, most: int, *, browser: bool) -> None:
    port = listening.getsockname()[1]
    token, once = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    guard = Guard(Pages(visit, most).application(), token, [f"{HOST}:{port}", f"localhost:{port}"], [once] * browser)
    # What it would log may hold names of files and columns.
    config = uvicorn.Config(
        guard, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False, date_header=False,
        proxy_headers=False, timeout_graceful_shutdown=_PATIENCE,
    )  # fmt: skip
    server = _Server(config, lambda: _announce(port, token, once if browser else None))
    server.run(sockets=[listening])


def _announce(port: int, token: str, once: str | None) -> None:
    put(
        f"The page is at  http://{HOST}:{port}/{token}/\n"
        "Only this machine reaches it, and only with the whole address. Ctrl-C ends it, and what it keeps goes with it."
    )
    if once is not None:  # others on this machine may read a browser's command line: what stands there works once
        Thread(target=webbrowser.open, args=(f"http://{HOST}:{port}/{once}",), daemon=True).start()


class _Server(uvicorn.Server):
    """Says when it can be asked, and ends without a word when it is told to."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._announce()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in order; uvicorn's own would end the process afterwards, before all is put away."""
        with _signals(self.handle_exit, signal.SIGINT, *_ENDS):
            yield


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Also what ends a process at once gives it the time to put all away."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with _signals(end, *_ENDS):
        yield


@contextmanager
def _signals(handler: Callable[[int, FrameType | None], None], *numbers: signal.Signals) -> Iterator[None]:
    before = {one: signal.signal(one, handler) for one in numbers}
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)
