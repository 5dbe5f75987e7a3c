"""Who may ask the page for something, and what of a file it takes."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from starlette.types import ASGIApp

from bdt_pipeline.local_page.guard import POLICY, Guard
from bdt_pipeline.local_page.pages import Pages
from bdt_pipeline.local_page.upload import TooLargeError, UploadError, received, safe_name
from bdt_pipeline.local_page.visit import Visit
from tests.pipeline.local_page.served import HOST, SEND, TOKEN, ask, sent_file


@pytest.fixture
def visit(tmp_path: Path) -> Visit:
    return Visit(tmp_path)


@pytest.fixture
def application(visit: Visit) -> ASGIApp:
    return Guard(Pages(visit, 1_000_000).application(), TOKEN, [HOST, "localhost:8000"], ["once"])


def test_the_address_opens_the_page(application: ASGIApp) -> None:
    assert ask(application).status == 200
    assert ask(application, headers={"host": "localhost:8000"}).status == 200
    assert ask(application, headers={"sec-fetch-site": "none"}).status == 200
    assert ask(application, headers={"sec-fetch-site": "same-origin"}).status == 200


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "é"])
def test_without_the_token_nobody_is_let_in(application: ASGIApp, token: str) -> None:
    for path in ("", "/", "/page.css", "/progress", "/report.html"):
        answer = ask(application, f"/{token}{path}", token=None)
        assert answer.status == 403
        assert "Are some people" not in answer.text
    assert ask(application, f"/{token}/language", b"language=nl", token=None).status == 403


def test_the_token_alone_is_no_page(application: ASGIApp) -> None:
    assert ask(application, f"/{TOKEN}", token=None).status == 403  # whose links would lead elsewhere


@pytest.mark.parametrize("host", ["", "evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8001", "localhost"])
def test_a_name_of_others_for_this_machine_is_refused(application: ASGIApp, host: str) -> None:
    assert ask(application, headers={"host": host}).status == 403
    origin = {"host": host, "origin": f"http://{host}"}
    assert ask(application, "/language", b"language=nl", headers=origin).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": ""},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:8001"},
        {"origin": "http://localhost:8000"},
        {"origin": f"https://{HOST}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another port of this machine
        {"sec-fetch-site": "none"},
    ],
)
@pytest.mark.parametrize("path", ["/table", "/example", "/read", "/answers", "/stop", "/back", "/forget", "/language"])
def test_no_other_page_changes_anything(application: ASGIApp, visit: Visit, path: str, headers: dict[str, str]) -> None:
    assert ask(application, path, b"language=nl", headers=headers).status == 403
    assert 'lang="en"' in ask(application).text
    assert visit.table is None
    assert list(visit.folder.iterdir()) == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_other_page_looks(application: ASGIApp, site: str) -> None:
    assert ask(application, headers={"sec-fetch-site": site}).status == 403


def test_our_own_forms_change_something(application: ASGIApp) -> None:
    answer = ask(application, "/language", b"language=nl")
    assert (answer.status, answer.headers["location"]) == (303, "./")
    assert 'lang="nl"' in ask(application).text
    assert ask(application, "/language", b"language=nl", headers={"sec-fetch-site": ""}).status == 303  # older browsers
    ask(application, "/language", b"language=xx")
    assert '<html lang="en">' in ask(application).text


def test_what_changes_something_is_no_link(application: ASGIApp) -> None:
    for path in ("/table", "/example", "/read", "/answers", "/stop", "/back", "/forget", "/language"):
        assert ask(application, path).status in (404, 405)


def test_what_a_browser_is_begun_with_works_once(application: ASGIApp) -> None:
    first = ask(application, "/once", token=None)
    assert (first.status, first.headers["location"]) == (303, f"/{TOKEN}/")
    assert ask(application, "/once", token=None).status == 403
    assert ask(application, "/once/", token=None).status == 403


def test_every_answer_carries_the_rules(application: ASGIApp) -> None:
    for path in ("/", "/page.css", "/page.js", "/report.css", "/icon.svg", "/progress", "/nothing", "/report.html"):
        headers = ask(application, path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert ask(application, token="x").headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'")


# --- files ------------------------------------------------------------------------------------------------------------


def take(pieces: list[bytes], folder: Path, most: int, kind: str) -> str:
    """The name of a file that comes in pieces."""

    async def came() -> AsyncIterator[bytes]:
        for one in pieces:
            yield one

    async def taken() -> str:
        return await received(kind, came(), folder, most)

    return asyncio.run(taken())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.data())
def test_a_file_is_the_same_in_whatever_pieces_it_comes(tmp_path: Path, data: st.DataObject) -> None:
    odd = st.sampled_from([b"\r\n--Xb", b"\r\n", b"--XbX", b"-", b"\r", b"a,b\n1,2\n", b"\x00\xff"])
    content = b"".join(data.draw(st.lists(odd, max_size=12)))
    assume(b"\r\n--XbX" not in content)
    body, headers = sent_file("a.csv", content)
    cuts = sorted({0, len(body), *data.draw(st.lists(st.integers(0, len(body)), max_size=8))})
    pieces = [body[a:b] for a, b in itertools.pairwise(cuts)]
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        assert take(pieces, Path(folder), 10_000, headers["content-type"]) == "a.csv"
        assert (Path(folder) / "a.csv").read_bytes() == content


@pytest.mark.parametrize(("size", "most"), [(1001, 1000), (5000, 1000)])
def test_too_large_a_file_leaves_nothing(tmp_path: Path, size: int, most: int) -> None:
    body, headers = sent_file("a.csv", b"x" * size)
    pieces = [body[at : at + 100] for at in range(0, len(body), 100)]
    with pytest.raises(TooLargeError, match="larger than"):
        take(pieces, tmp_path, most, headers["content-type"])
    assert list(tmp_path.iterdir()) == []
    assert take(pieces, tmp_path, size, headers["content-type"]) == "a.csv"  # as much as is allowed


def test_no_more_than_is_allowed_is_ever_on_the_disk(tmp_path: Path) -> None:
    body, headers = sent_file("a.csv", b"x" * 100_000)
    largest = 0

    async def came() -> AsyncIterator[bytes]:
        nonlocal largest
        for at in range(0, len(body), 1000):
            yield body[at : at + 1000]
            largest = max([largest, *(one.stat().st_size for one in tmp_path.iterdir())])

    async def taken() -> None:
        await received(headers["content-type"], came(), tmp_path, 20_000)

    with pytest.raises(TooLargeError):
        asyncio.run(taken())
    assert largest <= 20_000


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "multipart/form-data; boundary=XbX"),
        (b"a=b", "application/x-www-form-urlencoded"),
        (sent_file("", b"")[0], "multipart/form-data; boundary=XbX"),
        (sent_file("a.csv", b"1,2")[0][:-9], "multipart/form-data; boundary=XbX"),
        (b"--XbX\r\n" + b"x" * 100_000, "multipart/form-data; boundary=XbX"),
    ],
)
def test_what_is_no_file_is_said(tmp_path: Path, body: bytes, kind: str) -> None:
    with pytest.raises(UploadError, match=r"Choose one|Send it again"):
        take([body], tmp_path, 1000, kind)
    assert list(tmp_path.iterdir()) == []


def test_the_page_says_what_is_wrong_with_a_file(application: ASGIApp, visit: Visit) -> None:
    body, headers = sent_file("a.csv", b"x" * 2_000_000)
    pieces = [body[at : at + 300_000] for at in range(0, len(body), 300_000)]
    answer = ask(application, "/table", pieces, headers=headers)  # which looks that all of them were taken
    assert answer.status == 413
    assert "The file is larger than the 1 MB that this page takes." in answer.text
    answer = ask(application, "/table", b"", headers={**headers, "accept-language": "nl"})
    assert answer.status == 400
    assert "Er is geen bestand aangekomen. Kies er een" in answer.text
    assert list(visit.folder.iterdir()) == []


def test_what_nobody_expected_is_a_sentence_too(
    application: ASGIApp, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def odd(self: Visit) -> None:
        raise KeyError("salary of <b>Jo</b>")

    monkeypatch.setattr(Visit, "back", odd)
    answer = ask(application, "/back", b"")
    assert answer.status == 500
    assert "Unexpected error: KeyError" in answer.text
    assert "<b>" not in answer.text
    assert "Traceback" not in answer.text
    assert capfd.readouterr() == ("", "")  # nothing is logged


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("loans.csv", "loans.csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\x.parquet", "x.parquet"),
        ("s3://bucket/x.csv", "x.csv"),
        ("demo:compas", "demo_compas"),
        ("${HOME}.csv", "__HOME_.csv"),
        ("a*[b]{partition}.csv", "a__b__partition_.csv"),
        ("~root", "_root"),
        ("a\nb\u202e\x00.csv", "a b__.csv"),
        ("é" * 200 + ".csv.gz", "é" * 86 + ".csv.gz"),
        ("", "table"),
        ("..", "table"),
    ],
)
def test_names_of_files_lead_nowhere(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_a_form_that_is_too_large_is_refused(application: ASGIApp) -> None:
    answer = ask(application, "/answers", [b"a=" + b"x" * 3_000_000] * 2, headers=SEND)
    assert answer.status == 400
    assert "too large" in answer.text
    assert ask(application, "/answers", b"&".join([b"a=1"] * 30_000)).status == 400
    assert ask(application, "/answers", b"a=%ff\xff").status == 400
