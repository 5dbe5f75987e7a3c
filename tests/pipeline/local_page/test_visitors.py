"""Visits of several people at once: each its own, and what the proxy, its users and others on the machine may try."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bdt_core.errors import OutputError, SpecError
from bdt_pipeline.local_page.guard import POLICY
from bdt_pipeline.local_page.line import Line
from bdt_pipeline.local_page.serving import serve_visitors
from bdt_pipeline.local_page.visitors import COOKIE, Address, Rules, Visitors
from bdt_pipeline.local_page.work import Work
from tests.pipeline.local_page.served import Answer, alive, ask, holding, refusals, sent_file, until
from tests.pipeline.local_page.test_work import Ending, Endless

HOST = "bias.example.org"
ADDRESS = f"https://{HOST}/audits/"
OWN = {"origin": f"https://{HOST}", "sec-fetch-site": "same-origin"}
ACTIONS = ("table", "read", "answers", "stop", "back", "forget", "language", "leave")
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
RULES = Rules("X-Forwarded-User", 1_000_000, visits=4, audits=1, hours=8)


class Clock:
    """Stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Server:
    """A page for several people whose requests come as a proxy hands them on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.visitors = Visitors(folder, Address.of(ADDRESS), RULES, self.clock)

    def ask(
        self, path: str = "", body: Any = None, *, user: str = "jo", cookie: str = "", **headers: str
    ) -> Answer:  # fmt: skip
        """One request; headers by their names with _ for -."""
        given = {
            "host": HOST, "x-forwarded-user": user, "x-forwarded-proto": "https",
            "cookie": f"{COOKIE}={cookie}" if cookie else "",
        }  # fmt: skip
        given |= OWN if body is not None else {"origin": "", "sec-fetch-site": ""}
        given |= {name.replace("_", "-"): one for name, one in headers.items()}
        return ask(self.visitors, path if path.startswith("/") else f"/audits/{path}", body, headers=given, token=None)

    def enter(self, user: str = "jo") -> str:
        """Begin a visit; its cookie."""
        answer = self.ask(user=user)
        assert answer.status == 200
        name, _, rest = answer.headers["set-cookie"].partition("=")
        assert name == COOKIE
        return rest.partition(";")[0]

    def send(self, cookie: str, user: str = "jo", name: str = "people.csv", rows: int = 60) -> None:
        """Send a table, and wait until it was looked at."""
        body, headers = sent_file(name, refusals(rows).to_csv(index=False).encode())
        kind = headers["content-type"]
        assert self.ask("table", body, user=user, cookie=cookie, **{"content-type": kind}).status == 303
        until(lambda: self.place(cookie, user) != "reading")

    def place(self, cookie: str, user: str = "jo") -> str:
        """Where a visit stands."""
        return str(json.loads(self.ask("progress", user=user, cookie=cookie).text)["place"])

    @property
    def folders(self) -> list[Path]:
        return sorted(self.folder.iterdir())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.visitors.stop()
    assert server.folders == []


def test_each_visit_is_its_own(server: Server) -> None:
    jo, an = server.enter("jo"), server.enter("an")
    assert jo != an
    server.send(jo, "jo", "secret-of-jo.csv")
    assert server.place(jo, "jo") == "questions"
    assert "secret-of-jo" in server.ask(user="jo", cookie=jo).text
    assert server.place(an, "an") == "start"
    assert "secret-of-jo" not in server.ask(user="an", cookie=an).text
    assert [any(one.rglob("secret-of-jo.csv")) for one in server.folders].count(True) == 1
    assert {oct(one.stat().st_mode & 0o777) for one in server.folders} == {"0o700"}
    server.ask("language", b"language=nl", user="jo", cookie=jo)
    assert '<html lang="nl">' in server.ask(user="jo", cookie=jo).text
    assert '<html lang="en">' in server.ask(user="an", cookie=an).text


def test_the_cookie_goes_nowhere_else(server: Server) -> None:
    cookie = server.ask().headers["set-cookie"]
    assert cookie.startswith("__Host-")  # no other host can set it, and no page without https
    assert cookie.split("; ")[1:] == ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"]
    assert len(cookie.partition("=")[2].partition(";")[0]) == 43
    assert "set-cookie" not in server.ask(cookie=server.enter()).headers


@pytest.mark.parametrize("path", ["", "progress", "audit.yaml", "report.json", "report.html", "report.pdf"])
def test_neither_a_cookie_nor_a_name_alone_opens_a_visit(server: Server, path: str) -> None:
    jo = server.enter("jo")
    server.send(jo, "jo", "secret-of-jo.csv")
    for user, cookie in (("an", jo), ("jo", ""), ("jo", jo[:-1]), ("jo", jo.upper()), ("JO", jo)):
        answer = server.ask(path, user=user, cookie=cookie)
        assert "secret-of-jo" not in answer.text
        assert answer.status in (200, 410)
    for action in ACTIONS:
        answer = server.ask(action, b"do=start", user="an", cookie=jo)
        assert answer.status == 410
        assert "Your visit is over" in answer.text
    assert server.place(jo, "jo") == "questions"


def test_a_cookie_that_others_have_set_is_not_taken_over(server: Server) -> None:
    planted = "A" * 43
    answer = server.ask(cookie=planted)
    assert planted not in answer.headers["set-cookie"]
    an = server.enter("an")
    assert an not in server.ask(user="jo", cookie=an).headers["set-cookie"]  # jo would send a file into it


@pytest.mark.parametrize(
    "headers",
    [
        {"x-forwarded-user": ""},
        {"x-forwarded-user": " "},
        {"x-forwarded-user": "x" * 500},
        {"x-forwarded-proto": ""},
        {"x-forwarded-proto": "http"},
        {"host": ""},
        {"host": "evil.example"},  # a name that is made to point to this machine
        {"host": "127.0.0.1:8050"},
        {"host": f"{HOST}:8050"},
        {"host": f"{HOST}.evil.example"},
        {"host": "evil.example", "x-forwarded-host": HOST},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_what_does_not_come_through_the_proxy_is_refused(server: Server, headers: dict[str, str]) -> None:
    jo = server.enter()
    for path in ("", "page.css", "progress", "report.json", "nothing"):
        answer = server.ask(path, cookie=jo, **headers)
        assert answer.status == 403
        assert answer.headers["content-security-policy"] == POLICY
        assert "set-cookie" not in answer.headers
    assert server.ask("leave", b"", cookie=jo, **headers).status == 403
    assert len(server.folders) == 1


def test_a_header_that_comes_twice_is_nobody_s(server: Server) -> None:
    """A proxy that adds its own behind that of a visitor would let them be whom they like."""
    for name in ("x-forwarded-user", "x-forwarded-proto", "host"):
        given = {"host": HOST, "x-forwarded-user": "jo", "x-forwarded-proto": "https"}
        for more in ("an", given[name]):
            answer = ask(server.visitors, "/audits/", headers=given, token=None, more=((name, more),))
            assert answer.status == 403
    assert server.folders == []


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": ""},
        {"origin": "null"},
        {"origin": "https://evil.example"},
        {"origin": f"http://{HOST}"},
        {"origin": f"https://{HOST}:8443"},
        {"origin": f"https://{HOST}.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        LINK,
    ],
)
def test_no_other_page_changes_anything(server: Server, headers: dict[str, str]) -> None:
    jo = server.enter()
    there = list(server.folder.rglob("*"))
    for action in ACTIONS:
        assert server.ask(action, b"language=nl", cookie=jo, **headers).status == 403
    assert '<html lang="en">' in server.ask(cookie=jo).text
    assert list(server.folder.rglob("*")) == there
    for action in ACTIONS:
        assert server.ask(action, cookie=jo).status in (404, 405)  # nothing is changed by a link


def test_a_link_of_others_leads_in_and_begins_nothing(server: Server) -> None:
    """A browser sends no cookie with it: a visit that is there would be lost."""
    jo = server.enter()
    answer = server.ask(**LINK)
    assert answer.status == 200
    assert 'http-equiv="refresh" content="0; url=./"' in answer.text
    assert "set-cookie" not in answer.headers
    assert len(server.folders) == 1
    assert server.ask(cookie=jo, **{"sec-fetch-site": "same-origin"}).status == 200
    for other in ({"sec-fetch-dest": "iframe"}, {"sec-fetch-mode": "no-cors"}, {"sec-fetch-dest": "image"}):
        assert server.ask(cookie=jo, **{**LINK, **other}).status == 403
    assert server.ask("report.html", cookie=jo, **LINK).status == 403


@pytest.mark.parametrize(
    "path",
    ["/", "/audits", "/auditsx/", "/x/audits/", "//audits/", "/audits/../audits/progress", "/audits/%2e%2e/lock",
     "/audits/../lock", "/audits//etc/passwd", "/audits/..\\lock", "/audits/visit-x/table/people.csv"],
)  # fmt: skip
def test_no_path_leads_elsewhere(server: Server, path: str) -> None:
    jo = server.enter()
    server.send(jo)
    answer = server.ask(path, cookie=jo)
    assert answer.status == 404
    assert "people" not in answer.text


def test_a_name_is_text(server: Server) -> None:
    answer = server.ask(user="<b>jo</b>\x1b[31m")
    assert "<b>jo" not in answer.text
    assert "&lt;b&gt;jo" in answer.text
    assert "\x1b" not in answer.text


def test_who_leaves_leaves_nothing(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any) -> None:
    monkeypatch.syspath_prepend(holding(tmp_path_factory.mktemp("holding"), "slow.csv")[0])
    jo = server.enter()
    body, headers = sent_file("slow.csv", b"a,b\n1,2\n")
    assert server.ask("table", body, cookie=jo, **headers).status == 303
    work = server.visitors._visitors[jo].visit.work
    assert work is not None
    answer = server.ask("leave", b"", cookie=jo)
    assert "Your file and its report are deleted." in answer.text
    assert f'{COOKIE}=""; ' in answer.headers["set-cookie"]
    assert not alive({work.process})
    assert server.folders == []
    assert server.ask("table", body, cookie=jo, **headers).status == 410


def test_what_nobody_asks_for_goes(server: Server) -> None:
    jo, an = server.enter("jo"), server.enter("an")
    server.send(jo)
    server.clock.now = 8 * 3600.0
    assert server.place(an, "an") == "start"
    server.clock.now += 1.0
    asyncio.run(server.visitors.sweep())
    assert len(server.folders) == 1
    assert server.place(an, "an") == "start"
    assert server.place(jo) == "start"  # so that a page that waits leads to a new beginning
    assert server.ask("audit.yaml", cookie=jo).status == 410


def test_as_many_visits_as_are_allowed(server: Server) -> None:
    several = {user: server.enter(user) for user in ("a", "b", "c", "d")}
    for user in ("a", "b", "d"):
        server.send(several[user], user)
    e = server.enter("e")  # in the place of c, who has brought nothing
    assert server.ask("forget", b"", user="c", cookie=several["c"]).status == 410
    server.send(e, "e")
    answer = server.ask(user="c")
    assert answer.status == 503
    assert "All places are taken" in answer.text
    assert "set-cookie" not in answer.headers
    assert len(server.folders) == 4
    assert all(server.place(several[user], user) == "questions" for user in ("a", "b", "d"))
    server.ask("leave", b"", user="e", cookie=e)
    server.enter("c")


def test_one_person_does_not_take_all_places(server: Server) -> None:
    an = server.enter("an")
    server.send(an, "an")
    mine = []
    for number in range(6):
        server.clock.now = number
        mine.append(server.enter("jo"))
    assert len(server.folders) == 4
    assert [one in server.visitors._visitors for one in mine] == [False] * 3 + [True] * 3
    assert server.place(an, "an") == "questions"


def test_too_large_a_file_is_refused_in_words_for_a_visitor(server: Server) -> None:
    jo = server.enter()
    body, headers = sent_file("a.csv", b"x" * 2_000_000)
    pieces = [body[at : at + 300_000] for at in range(0, len(body), 300_000)]
    answer = server.ask("table", pieces, cookie=jo, **headers)
    assert answer.status == 413
    assert "Ask whoever runs it to allow more." in answer.text
    assert "--max-size" not in answer.text
    assert [one for one in server.folder.rglob("*") if one.is_file()] == []


# --- the line ---------------------------------------------------------------------------------------------------------


def begun(folder: Path, line: Line, task: object) -> Work:
    """Work in a folder of its own."""
    folder.mkdir()
    (folder / "work").mkdir()
    return Work(task, folder, folder / "work", line)  # type: ignore[arg-type]


def test_who_waits_is_told_the_place_and_begins_in_turn(tmp_path: Path) -> None:
    line = Line(1)
    first = begun(tmp_path / "1", line, Endless())
    second = begun(tmp_path / "2", line, Ending(""))
    third = begun(tmp_path / "3", line, Endless())
    last = begun(tmp_path / "4", line, Endless())
    try:
        assert [one.place for one in (first, second, third, last)] == [0, 1, 2, 3]
        assert second._process is None
        third.stop()  # leaves the line
        assert [one.place for one in (first, second, third, last)] == [0, 1, 0, 2]
        assert not (tmp_path / "3" / "work").exists()
        first.stop()
        until(lambda: second.end is not None)
        until(lambda: last.step is not None)  # begins when the second has ended
        assert third._process is None
        assert last.place == 0
    finally:
        for one in (first, second, third, last):
            one.stop()
    again = begun(tmp_path / "5", line, Ending(""))  # all places are free again, and one only
    after = begun(tmp_path / "6", line, Ending(""))
    until(lambda: again.end is not None and after.end is not None)


def test_work_that_cannot_begin_gives_its_place_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(1)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    assert "Unexpected error" in str(begun(tmp_path / "1", line, Ending("")).end)
    monkeypatch.undo()
    work = begun(tmp_path / "2", line, Ending(""))
    until(lambda: work.end is not None)


def test_the_page_says_the_place_in_the_line(server: Server) -> None:
    jo = server.enter()
    ahead = begun(server.folder / "ahead", server.visitors._looks, Endless())
    try:
        body, headers = sent_file("a.csv", refusals(60).to_csv(index=False).encode())
        assert server.ask("table", body, cookie=jo, **headers).status == 303
        told = json.loads(server.ask("progress", cookie=jo).text)
        assert (told["place"], told["waiting"]) == (
            "reading", "Others are at work. You are number 1 in the line; it begins by itself.",
        )  # fmt: skip
        assert "You are number 1 in the line" in server.ask(cookie=jo).text
    finally:
        ahead.stop()
        (server.folder / "ahead").rmdir()
    until(lambda: server.place(jo) == "questions")


# --- the address ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["http://bias.example.org/", "bias.example.org", "https://", "https://jo:x@bias.example.org/", "https://a/?b", "",
     "https://a/#b", "https://a/../b", "https://a/%2e", "https://a:x/", "https://[a/", "ftp://a/"],
)  # fmt: skip
def test_what_is_no_address_is_said(url: str) -> None:
    with pytest.raises(SpecError, match="is no address that people can open"):
        Address.of(url)


def test_an_address_is_as_a_browser_has_it() -> None:
    assert Address.of("https://A.example:443") == Address("a.example", "/")
    assert Address.of("https://a.example:8443/x/y") == Address("a.example:8443", "/x/y/")
    assert Address.of("https://[::1]:8443/") == Address("[::1]:8443", "/")


@pytest.mark.parametrize(
    ("listen", "kind"),
    [("8050", SpecError), ("127.0.0.1:", SpecError), ("127.0.0.1:x", SpecError), ("127.0.0.1:70000", OutputError)],
)
def test_where_nothing_can_listen_is_said(listen: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="listen"):
        serve_visitors(ADDRESS, listen, RULES)
