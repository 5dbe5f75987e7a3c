"""``bdt serve`` as an organisation uses it: a program behind a proxy with https and a log-in, in real browsers."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.core.report.browser import chromium
from tests.pipeline.local_page.proxy import proxied
from tests.pipeline.local_page.served import PATIENCE, alive, processes, refusals, until
from tests.pipeline.ports import listening

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@contextmanager
def program(folder: Path, url: str, behind: str) -> Iterator[subprocess.Popen[str]]:
    """``bdt serve``, once it can be asked."""
    (folder / "temporary").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "bdt_pipeline.cli", "serve", url, "--listen", behind],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(folder / "temporary")},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert url in process.stdout.readline()
        assert behind in process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def free() -> str:
    """HOST:PORT where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return f"127.0.0.1:{found.getsockname()[1]}"


@contextmanager
def logged_in(browser: Browser, name: str, url: str) -> Iterator[Page]:
    """A browser of somebody's own, at the page."""
    context = browser.new_context(
        ignore_https_errors=True, http_credentials={"username": name, "password": "x"}, locale="en-GB"
    )
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.goto(url)
    try:
        yield page
    finally:
        context.close()


def test_two_people_audit_each_their_own_table(browser: Browser, tmp_path: Path) -> None:
    behind = free()
    for name in ("of-jo", "of-an"):
        refusals().to_csv(tmp_path / f"{name}.csv", index=False)
    with proxied(tmp_path, behind) as proxy:
        url = f"https://localhost:{proxy.server_address[1]}/audits/"
        with (
            program(tmp_path, url, behind) as process,
            logged_in(browser, "jo", url) as jo,
            logged_in(browser, "an", url) as an,
        ):
            assert listening({process.pid}) == {int(behind.rpartition(":")[2]): "127.0.0.1"}
            jo.set_input_files("#file", tmp_path / "of-jo.csv")
            jo.wait_for_selector("[data-place=questions]")
            assert "logged in as jo" in str(jo.text_content("header"))
            an.reload()
            assert an.get_attribute("body", "data-place") == "start"
            an.set_input_files("#file", tmp_path / "of-an.csv")
            an.wait_for_selector("[data-place=questions]")
            # A link of another page leads back to the visit, whose cookie the browser does not send with it.
            jo.goto("about:blank")
            jo.set_content(f'<a href="{url}">There</a>')
            jo.click("a")
            jo.wait_for_selector("[data-place=questions]")
            assert jo.title().startswith("of-jo.csv")
            cookies = {one["name"]: one for one in jo.context.cookies()}
            assert {(one["secure"], one["httpOnly"], one["sameSite"]) for one in cookies.values()} == {
                (True, True, "Strict")
            }  # fmt: skip
            jo.click("text=Start the audit")
            jo.wait_for_selector("[data-place=report]")
            jo.frame_locator("iframe").locator("text=May it be used? No, not as it is").first.wait_for()
            with jo.expect_download() as saved:
                jo.locator("nav >> text=report.json").press("Enter")
            assert saved.value.suggested_filename == "of_jo-report.json"
            # With jo's cookie, an sees nothing of jo's.
            taken = an.context.request.get(url, headers={"Cookie": "; ".join(
                f"{name}={one['value']}" for name, one in cookies.items()
            )})  # fmt: skip
            assert "of-jo" not in taken.text()
            assert "Drop a file here" in taken.text()
            (folder,) = (tmp_path / "temporary").iterdir()
            assert any(folder.rglob("of-jo.csv"))
            jo.click("text=Leave, and delete my files")
            jo.wait_for_selector("text=Your file and its report are deleted.")
            assert not any(folder.rglob("of?jo*"))
            assert any(folder.rglob("of-an.csv"))
            its = processes(process.pid)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            assert list((tmp_path / "temporary").iterdir()) == []
            until(lambda: not alive(its))
            assert process.stdout is not None
            assert not re.search("jo|refus|of-", process.stdout.read())
