"""The page on a port of this machine: begun, opened in the browser, and away with all that it had."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from threading import Thread
from types import FrameType
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from bdt_core.errors import OutputError, SpecError
from bdt_core.shards.scratch import PAGE, scratch_folder
from bdt_pipeline.commands.beforehand import compiler_beside
from bdt_pipeline.commands.printing import put
from bdt_pipeline.local_page.guard import Guard, ReadOnly
from bdt_pipeline.local_page.pages import Pages
from bdt_pipeline.local_page.visit import Visit, linked
from bdt_pipeline.local_page.visitors import Address, Rules, Visitors

HOST = "127.0.0.1"
if sys.platform == "win32":
    _ENDS = (signal.SIGTERM, signal.SIGBREAK)
else:
    _ENDS = (signal.SIGTERM, signal.SIGHUP)
"""What a system sends to end it, and when its terminal is closed."""
_PATIENCE = 2
"""Seconds that are left to a browser that is being answered when the page ends."""
_SWEPT_EVERY = 60
"""Seconds after which it is looked again for visits that nobody asks for."""


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


def serve_visitors(url: str, listen: str, rules: Rules) -> None:
    """Serve a page to several people, behind a proxy, until somebody ends it.

    Parameters
    ----------
    url : str
        The address that people open.
    listen : str
        ``HOST:PORT`` where the proxy finds the page.
    rules : Rules

    Raises
    ------
    SpecError, OutputError
        There is no such address, or it is taken.
    """
    address = Address.of(url)
    with _ended_by_signals(), scratch_folder(PAGE) as folder, _listening(listen) as listening:
        visitors = Visitors(folder, address, rules)

        async def sweep() -> None:
            while True:
                await asyncio.sleep(_SWEPT_EVERY)
                await visitors.sweep()

        words = f"People open  https://{address.host}{address.path}\nThe proxy finds the page at  http://{listen}/"
        try:
            with compiler_beside():
                run(visitors, listening, f"{words}. Ctrl-C ends it, and all files go with it.", beside=sweep())
        finally:
            visitors.stop()


def serve_overview(listen: str, made: Callable[[str], tuple[bytes, str] | None], address: str | None = None) -> None:
    """Serve what is made anew for each request until somebody ends it; nothing can be changed through it.

    Parameters
    ----------
    listen : str
        ``HOST:PORT``, by which it is asked for too.
    made : callable
        Of a path: the answer and its kind, None for another path.
    address : str, optional
        By which people ask for it through a proxy, whether that leaves the path of the address out or not.

    Raises
    ------
    SpecError, OutputError
        There is no such address, or it is taken.
    """
    with _ended_by_signals(), _listening(listen) as listening:
        port = listening.getsockname()[1]
        host = listen.rpartition(":")[0]
        hosts = [f"{host}:{port}", *([f"localhost:{port}"] if host == HOST else [])]
        public = urlsplit(address or "")

        def answer(path: str) -> tuple[bytes, str] | None:
            within = path.removeprefix(public.path) or "/"
            return made(path) or (made(within) if within.startswith("/") else None)

        words = f"The overview is at  http://{hosts[0]}/\nPrometheus finds it at  http://{hosts[0]}/metrics"
        run(ReadOnly(answer, [*hosts, *filter(None, [public.netloc.lower()])]), listening, f"{words}. Ctrl-C ends it.")


def _listening(listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    if not host or not port.isascii() or not port.isdigit():
        raise SpecError(f"{listen} is no place to listen at. Write HOST:PORT, such as {HOST}:8050.")
    try:
        return socket.create_server((host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no such port"
        raise OutputError(f"Nothing can listen at {listen}: {reason}. Name another HOST:PORT.") from None


def _serve(visit: Visit, listening: socket.socket, most: int, *, browser: bool) -> None:
    port = listening.getsockname()[1]
    token, once = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    guard = Guard(Pages(visit, most).application(), token, [f"{HOST}:{port}", f"localhost:{port}"], [once] * browser)
    words = (
        f"The page is at  http://{HOST}:{port}/{token}/\n"
        "Only this machine reaches it, and only with the whole address. Ctrl-C ends it, and what it keeps goes with it."
    )
    address = f"http://{HOST}:{port}/{once}" if browser else None
    with compiler_beside():
        run(guard, listening, words, opened=address)


def run(
    application: ASGIApp,
    listening: socket.socket,
    words: str,
    *,
    beside: Coroutine[None, None, None] | None = None,
    opened: str | None = None,
) -> None:
    """Answer at a socket until somebody ends it.

    Parameters
    ----------
    application : ASGI application
    listening : socket
    words : str
        What is printed once it answers.
    beside : coroutine, optional
        What is done beside answering.
    opened : str, optional
        The address that a browser is sent to. Others on this machine may read a browser's command line: what stands
        there must work once.
    """

    def announce() -> None:
        put(words)
        if opened is not None:
            Thread(target=webbrowser.open, args=(opened,), daemon=True).start()

    # What it would log may hold names of files and columns.
    config = uvicorn.Config(
        application, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False,
        date_header=False, proxy_headers=False, timeout_graceful_shutdown=_PATIENCE,
    )  # fmt: skip
    _Server(config, announce, beside).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Says when it can be asked, and ends without a word when it is told to."""

    def __init__(
        self, config: uvicorn.Config, announce: Callable[[], None], beside: Coroutine[None, None, None] | None
    ) -> None:
        super().__init__(config)
        self._announce = announce
        self._beside = beside
        self._task: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        if self._beside is not None:
            self._task = asyncio.create_task(self._beside)
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
