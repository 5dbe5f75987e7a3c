"""``bdt open`` as a program: what it prints, what it leaves behind, and that it needs no network."""

from __future__ import annotations

import http.client
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from bdt_pipeline import cli
from bdt_pipeline.local_page import serving
from tests.pipeline.local_page.served import PATIENCE, alive, opened, processes, refusals, sent_file, until
from tests.pipeline.local_page.walk import SEEN
from tests.pipeline.ports import listening
from tests.pipeline.test_no_connection import WATCH, without_network

ROOT = Path(__file__).parents[3]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    refusals().to_csv(tmp_path / "refusals.csv", index=False)
    return tmp_path / "refusals.csv"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_all_goes_with_the_program(how: signal.Signals, table: Path) -> None:
    with opened(table.parent, str(table), held_at=table.name) as program:
        (folder,) = program.temporary.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert any(one.is_symlink() for one in folder.rglob("refusals.csv"))  # nothing is copied
        its = processes(program.process.pid)
        assert its  # the table is being looked at
        program.process.send_signal(how)
        assert program.process.wait(PATIENCE) == 0
        assert list(program.temporary.iterdir()) == []
        until(lambda: not alive(its))
        assert table.exists()
        assert program.process.stdout is not None
        assert "refus" not in program.process.stdout.read()  # neither columns nor the file


def test_a_program_that_is_killed_leaves_no_process(table: Path) -> None:
    with opened(table.parent, str(table), held_at=table.name) as program:
        its = processes(program.process.pid)
        assert its
        program.process.kill()
        until(lambda: not alive(its))


def test_what_an_audit_needs_is_compiled_before_anybody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "compiled"))
    with opened(tmp_path) as program:
        until(lambda: any((tmp_path / "compiled").rglob("*.nbi")))
        its = processes(program.process.pid)
        program.process.terminate()
        assert program.process.wait(PATIENCE) == 0
        until(lambda: not alive(its))


def test_only_this_machine_reaches_it(table: Path) -> None:
    with opened(table.parent) as program:
        assert listening({program.process.pid}) == {urlsplit(program.address).port: "127.0.0.1"}


def test_a_table_that_is_not_there_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_serve", lambda *args, **how: pytest.fail("it was served"))
    done = CliRunner().invoke(cli.app, ["open", str(tmp_path / "none.csv"), "--no-browser"])
    assert done.exit_code == 2
    assert "none.csv does not exist" in done.stderr


def test_options_reach_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, bool]] = []
    monkeypatch.setattr(serving, "_serve", lambda visit, to, most, *, browser: seen.append((most, browser)))
    assert CliRunner().invoke(cli.app, ["open", "--max-size", "7", "--no-browser"]).exit_code == 0
    assert CliRunner().invoke(cli.app, ["open"]).exit_code == 0
    assert seen == [(7_000_000, False), (500_000_000, True)]
    assert CliRunner().invoke(cli.app, ["open", "--max-size", "0"]).exit_code == 2


def test_the_browser_gets_an_address_that_works_once(tmp_path: Path) -> None:
    browser, told = tmp_path / "browser", tmp_path / "asked"
    browser.write_text(f'#!{sys.executable}\nimport sys\nopen({str(told)!r}, "a").write(sys.argv[1] + "\\n")\n')
    browser.chmod(0o700)
    environment = {**os.environ, "BROWSER": f"{browser} %s", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "bdt_pipeline.cli", "open"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        printed = process.stdout.readline().split()[-1]
        until(lambda: told.exists() and told.read_text().endswith("\n"))
        (asked,) = told.read_text().split()
        assert urlsplit(asked).netloc == urlsplit(printed).netloc
        assert urlsplit(asked).path != urlsplit(printed).path
        for status, leads_to in ((303, urlsplit(printed).path), (403, None)):
            connection = http.client.HTTPConnection(urlsplit(asked).netloc)
            connection.request("GET", urlsplit(asked).path)
            answer = connection.getresponse()
            assert (answer.status, answer.headers["location"]) == (status, leads_to)
            connection.close()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


WALK = """
import fcntl, json, socket, struct, sys
from pathlib import Path
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # so that its processes hear each other
from tests.pipeline.local_page.walk import walk
walk(Path(sys.argv[1]))
"""


def test_all_works_without_a_network_and_nobody_is_called(table: Path) -> None:
    watch = table.parent / "watch"
    watch.mkdir()
    (watch / "sitecustomize.py").write_text(WATCH + SEEN)
    tried = table.parent / "tried"
    environment = {
        **os.environ,
        "PYTHONPATH": f"{watch}{os.pathsep}{ROOT}",
        "TRIED": str(tried),
        "SEEN": str(table.parent / "seen"),
    }
    command = without_network('exec "$@"')
    done = subprocess.run(
        [*command, "sh", sys.executable, "-c", WALK, str(table)],
        cwd=table.parent, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert not tried.exists(), tried.read_text()


def test_what_a_killed_program_left_goes_with_the_next_command(table: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(table.parent / "temporary")}
    next_command = [sys.executable, "-m", "bdt_pipeline.cli", "--version"]
    before = os.umask(0)
    try:
        with opened(table.parent, held_at=table.name) as program:
            (folder,) = program.temporary.iterdir()
            address = urlsplit(program.address)
            body, headers = sent_file(table.name, table.read_bytes())
            connection = http.client.HTTPConnection(address.netloc)
            connection.request("POST", f"{address.path}table", body, {**headers, "Origin": f"http://{address.netloc}"})
            assert connection.getresponse().status == 303
            its = processes(program.process.pid)
            subprocess.run(next_command, env=environment, check=True, capture_output=True)
            (rows,) = folder.rglob(table.name)  # the program lives
            assert stat.S_IMODE(rows.stat().st_mode) == 0o600
            program.process.kill()
            until(lambda: not alive(its))
        assert rows.exists()
        subprocess.run(next_command, env=environment, check=True, capture_output=True)
        assert not folder.exists()
    finally:
        os.umask(before)
