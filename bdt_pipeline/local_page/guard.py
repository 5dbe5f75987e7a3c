"""Guard of the page: only the browser that was given the address, and no page of others."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bdt_core.errors import BDTError

SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
STILL = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
"""Of a page that stands for itself, and that no script is in."""
OF_REPORT = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'"
"""Beside the report's own policy: it is a page of nobody's, wherever it is opened."""
_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # With no-referrer a browser would hide the origin of our own forms, too.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """Stands before the pages: every path begins with the token.

    Other pages in the same browser cannot reach them: they know no token, their name is not ours where they let a name
    of theirs point to this machine, and what changes something has to come from a page of ours. A token in the path is
    not sent to other ports of this machine, as a cookie would be.

    Parameters
    ----------
    pages : ASGI application
    token : str
    hosts : iterable of str
        What the browser may call us, with the port.
    once : iterable of str
        Tokens that open the page once, for a browser whose command line others on this machine can read.
    """

    def __init__(self, pages: ASGIApp, token: str, hosts: Iterable[str], once: Iterable[str] = ()) -> None:
        self._pages = pages
        self._token = token
        self._hosts = frozenset(hosts)
        self._once = set(once)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or refuse it."""
        if not await is_request(scope, send):
            return
        send = with_rules(send)
        headers = Headers(scope=scope)
        refused = refusal(headers, scope["method"], self._hosts, "http")
        if refused is not None:
            await PlainTextResponse(refused, 403)(scope, receive, send)
            return
        _, first, *rest = scope["path"].split("/")
        if self._is_first_use(first):
            await RedirectResponse(f"/{self._token}/", 303)(scope, receive, send)
        elif not _equal(first, self._token) or not rest:
            message = "This page is opened by the whole address that bdt open has printed."
            await PlainTextResponse(message, 403)(scope, receive, send)
        else:
            path = "/" + "/".join(rest)
            await self._pages({**scope, "path": path, "raw_path": path.encode()}, receive, send)

    def _is_first_use(self, token: str) -> bool:
        used = [one for one in self._once if _equal(one, token)]
        self._once.difference_update(used)
        return bool(used)


class ReadOnly:
    """Answers to GET and HEAD alone, by its own address alone; each answer is made anew.

    Links of other pages, such as Dagster's, may lead here; none of them can read, frame or embed what is here.

    Parameters
    ----------
    made : callable
        Of a path: the answer and its kind, None for another path. Errors for the user become an answer that says so.
    hosts : iterable of str
        What it may be called, with the port.
    """

    def __init__(self, made: Callable[[str], tuple[bytes, str] | None], hosts: Iterable[str]) -> None:
        self._made = made
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if not await is_request(scope, send):
            return
        headers = Headers(scope=scope)
        is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        refused = refusal(headers, scope["method"], self._hosts, "http", any_link=is_link)
        answer: Response
        if scope["method"] not in SAFE:
            answer = PlainTextResponse("Nothing can be changed here.", 405, {"Allow": ", ".join(SAFE)})
        elif refused is not None:
            answer = PlainTextResponse(refused, 403)
        else:
            answer = await self._answer(scope["path"])
        await answer(scope, receive, with_rules(send))

    async def _answer(self, path: str) -> Response:
        try:
            made = await run_in_threadpool(self._made, path)
        except BDTError as error:
            return PlainTextResponse(str(error), 503)
        if made is None:
            return PlainTextResponse("There is no such page here: / is the overview, /metrics says it as numbers.", 404)
        content, kind = made
        policy = OF_REPORT if path.endswith("/report.html") else STILL
        return Response(content, headers={"Content-Type": kind, "Content-Security-Policy": policy})


def _equal(text: str, other: str) -> bool:
    """In a time that says nothing of where they differ."""
    return secrets.compare_digest(text.encode(errors="replace"), other.encode())


def refusal(
    headers: Headers, method: str, hosts: Collection[str], scheme: str, *, any_link: bool = False
) -> str | None:
    """Why nobody is let in, whatever is known of them; None where that is to be seen.

    Parameters
    ----------
    headers : Headers
    method : str
    hosts : collection of str
        What the browser may call us.
    scheme : {"http", "https"}
        How it reaches us.
    any_link : bool
        Whether a link of any page may lead here.
    """
    if len(headers.getlist("host")) != 1 or headers["host"] not in hosts:
        return "This page answers by its own address only."
    came_from = headers.get("sec-fetch-site")
    if method in SAFE:
        if came_from not in (None, "none", "same-origin") and not any_link:
            return "Another page may not ask for this one. Open its own address."
    elif headers.getlist("origin") != [f"{scheme}://{headers['host']}"] or came_from not in (None, "same-origin"):
        return "Only the page itself may change something here."
    return None


async def is_request(scope: Scope, send: Send) -> bool:
    """Whether somebody asks for a page; a web socket is refused here."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    return bool(scope["type"] == "http")


def with_rules(send: Send) -> Send:
    """Send answers with the headers that keep a browser from what others may want of the page."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
