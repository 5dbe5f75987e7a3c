"""Visits of several people at once, behind a proxy that knows who they are."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bdt_core.errors import SpecError
from bdt_core.harmless import harmless
from bdt_pipeline.local_page.guard import SAFE, is_request, refusal, with_rules
from bdt_pipeline.local_page.language import language, wanted_language
from bdt_pipeline.local_page.line import Line
from bdt_pipeline.local_page.pages import Guest, Pages, Why, door, static
from bdt_pipeline.local_page.visit import Visit

COOKIE = "__Host-bdt"
"""A browser takes it from this host alone, by https, and sends it nowhere else."""
_MOST_OF_A_PERSON = 3
"""Visits of one person: of several browsers, or where a cookie was lost."""
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Address:
    """The address that people open, as the proxy has it.

    Attributes
    ----------
    host : str
        With the port, where a browser names it.
    path : str
        Begins and ends with a slash.

    Examples
    --------
    >>> Address.of("https://Bias.example.org:443/audits")
    Address(host='bias.example.org', path='/audits/')
    """

    host: str
    path: str

    @classmethod
    def of(cls, url: str) -> Address:
        """Of a URL.

        Raises
        ------
        SpecError
            It is no https address without anything but a host and a path.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        whole = parts.hostname and parts.scheme == "https" and "@" not in parts.netloc
        if not whole or parts.query or parts.fragment or "%" in parts.path or ".." in parts.path:
            raise SpecError(
                f"{url} is no address that people can open. Name the one that the proxy has, such as "
                "https://bias.example.org/: https, a host, and a path where the proxy has one."
            )
        name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else f"{parts.hostname}"
        path = parts.path.strip("/")
        return cls(name if port in (None, 443) else f"{name}:{port}", f"/{path}/" if path else "/")


@dataclass(frozen=True)
class Rules:
    """What visitors may have.

    Attributes
    ----------
    user_header : str
        Header in which the proxy says who has logged in.
    most : int
        Bytes of the largest file.
    visits : int
        At once.
    audits : int
        At once; the others wait in a line. So do tables that are looked at, in a line of their own.
    hours : int
        How long a visit is kept that nobody asks for.
    """

    user_header: str
    most: int
    visits: int
    audits: int
    hours: int


@dataclass
class _Visitor:
    user: str
    visit: Visit
    pages: ASGIApp
    last: float
    asking: int = 0

    def end(self) -> None:
        """Away with all that it has, and with what a request that is being answered begins meanwhile."""
        self.visit.stop()
        shutil.rmtree(self.visit.folder, ignore_errors=True)
        self.visit.stop()


class Visitors:
    """Each visit has a folder, a line of work and a page of its own, and belongs to a cookie and a person.

    The proxy says who asks: a request without its headers is refused, and so is one with two of them, of which a
    visitor may have sent one. A name alone opens no visit that is there, as whoever reaches the port on this machine
    could send any: the cookie of that visit is needed, too, and it opens nothing for another name.

    Parameters
    ----------
    folder : Path
    address : Address
    rules : Rules
    clock : callable
        Seconds, which only go forward.
    """

    def __init__(
        self, folder: Path, address: Address, rules: Rules, clock: Callable[[], float] = time.monotonic
    ) -> None:  # fmt: skip
        self._folder = folder
        self._address = address
        self._rules = rules
        self._clock = clock
        self._looks, self._audits = Line(rules.audits), Line(rules.audits)
        self._visitors: dict[str, _Visitor] = {}
        self._entering = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the pages of its visit, or refuse it."""
        if not await is_request(scope, send):
            return
        send = with_rules(send)
        request = Request(scope, receive)
        asked, user = self._path(scope["path"]), self._user(request.headers)
        refused = refusal(request.headers, request.method, [self._address.host], "https")
        token = request.cookies.get(COOKIE, "")
        visitor = self._visitors.get(token)
        if visitor is not None and visitor.user != user:
            visitor = None
        if request.headers.getlist("x-forwarded-proto") != ["https"] or user is None:
            response: Response = PlainTextResponse(
                "This page is reached through its proxy only, after the log-in.", 403
            )
        elif refused is not None and not (asked == "/" and _is_followed_link(request)):
            response = PlainTextResponse(refused, 403)
        elif asked is None:
            response = PlainTextResponse("There is nothing here.", 404)
        elif refused is not None:  # with a link of others a browser sends no cookie of ours: it asks once more
            response = _door(request, "entering")
        elif (file := static(asked[1:])) is not None and request.method in SAFE:
            response = file
        elif visitor is not None and asked == "/leave" and request.method == "POST":
            await _read_to_the_end(request)
            await self._end(token)
            response = _door(request, "left")
            response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="strict")
        elif visitor is not None:
            await self._answered(visitor, asked, scope, receive, send)
            return
        elif asked == "/progress":
            response = JSONResponse({"place": "start"})
        elif asked != "/" or request.method != "GET":
            await _read_to_the_end(request)
            response = _door(request, "over", 410)
        else:
            entered = await self._entered(user)
            if entered is not None:
                token, visitor = entered
                await self._answered(visitor, asked, scope, receive, _with_cookie(send, token))
                return
            response = _door(request, "full", 503)
        await response(scope, receive, send)

    async def sweep(self) -> None:
        """End the visits that nobody has asked for, for as long as they are kept."""
        before = self._clock() - self._rules.hours * 3600.0
        for token, visitor in list(self._visitors.items()):
            if visitor.last < before and not visitor.asking:
                await self._end(token)

    def stop(self) -> None:
        """End all visits."""
        while self._visitors:
            self._visitors.popitem()[1].end()

    def _path(self, path: str) -> str | None:
        prefix = self._address.path
        return f"/{path.removeprefix(prefix)}" if path.startswith(prefix) else None

    def _user(self, headers: Headers) -> str | None:
        """Who has logged in; None where that is not said once."""
        names = [one.strip() for one in headers.getlist(self._rules.user_header)]
        return names[0] if len(names) == 1 and 0 < len(names[0]) <= _LONGEST_NAME else None

    async def _entered(self, user: str) -> tuple[str, _Visitor] | None:
        """A new visit and its cookie; None where there is no room for it."""
        async with self._entering:
            if not await self._has_room(user):
                return None
            visit = Visit(
                Path(tempfile.mkdtemp(prefix="visit-", dir=self._folder)), looks=self._looks, audits=self._audits
            )
            pages = Pages(visit, self._rules.most, Guest(harmless(user), self._rules.hours)).application()
            token = secrets.token_urlsafe(32)
            self._visitors[token] = _Visitor(user, visit, pages, self._clock())
            return token, self._visitors[token]

    async def _answered(self, visitor: _Visitor, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        visitor.asking += 1
        try:
            await visitor.pages({**scope, "path": path, "raw_path": path.encode()}, receive, send)
        finally:
            visitor.asking -= 1
            visitor.last = self._clock()

    async def _has_room(self, user: str) -> bool:
        """Whether somebody may have one more visit: an empty one gives way to it, or an older one of their own."""
        own = {token: one for token, one in self._visitors.items() if one.user == user}
        if len(own) >= _MOST_OF_A_PERSON:
            return await self._end_oldest(_empty(own)) or await self._end_oldest(own)
        return len(self._visitors) < self._rules.visits or await self._end_oldest(_empty(self._visitors))

    async def _end_oldest(self, visitors: dict[str, _Visitor]) -> bool:
        """End the one that was asked for longest ago; whether there is one that is not being answered."""
        idle = {token: one.last for token, one in visitors.items() if not one.asking}
        if idle:
            await self._end(min(idle, key=lambda token: idle[token]))
        return bool(idle)

    async def _end(self, token: str) -> None:
        visitor = self._visitors.pop(token, None)
        if visitor is not None:
            await asyncio.to_thread(visitor.end)


def _door(request: Request, why: Why, status: int = 200) -> Response:
    return door(language(wanted_language(request.headers.get("accept-language", ""))), why, status)


def _empty(visitors: dict[str, _Visitor]) -> dict[str, _Visitor]:
    """Those who have brought nothing."""
    return {token: one for token, one in visitors.items() if one.visit.table is None}


def _is_followed_link(request: Request) -> bool:
    """Whether a person comes from another page, or from the log-in."""
    headers = request.headers
    return (
        request.method == "GET"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and headers.get("sec-fetch-site") in ("cross-site", "same-site")
    )


async def _read_to_the_end(request: Request) -> None:
    """A browser reads no answer before it has sent everything."""
    with suppress(ClientDisconnect):
        async for _ in request.stream():
            pass


def _with_cookie(send: Send, token: str) -> Send:
    cookie = f"{COOKIE}={token}; Path=/; Secure; HttpOnly; SameSite=Strict"

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"set-cookie", cookie.encode())]
        await send(message)

    return sent
