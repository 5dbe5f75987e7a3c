"""Nothing leaves the machine: in a place without any network all works, and nobody even tries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WATCH = """
import os, sys

def is_here(event, arguments):
    place = arguments[0 if event.startswith("socket.get") else 1]
    if isinstance(place, (str, bytes)) and not event.startswith("socket.get"):  # a socket that is a file
        return True
    host = place[0] if isinstance(place, tuple) else place
    return host in (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::")

def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        if not is_here(event, arguments):
            told = [str(one) for one in arguments]
            with open(os.environ["TRIED"], "a") as file:
                file.write(f"{sys.argv[:2]} {event} {told}" + chr(10))

sys.addaudithook(watch)
"""
DEV = """
import fcntl, json, os, signal, socket, struct, subprocess, sys, time, urllib.request

fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # so that its processes hear each other
here = "http://127.0.0.1:3999/graphql"
query = "{workspaceOrError {... on Workspace {locationEntries {loadStatus locationOrLoadError {__typename}}}}}"
command = [sys.executable, "-m", "dagster", "dev", "-m", "bdt_pipeline.definitions", "-h", "127.0.0.1", "-p", "3999"]
dev = subprocess.Popen(command, start_new_session=True)

def is_loaded():
    try:
        body = json.dumps({"query": query}).encode()
        asked = urllib.request.Request(here, body, {"Content-Type": "application/json"})
        answer = urllib.request.urlopen(asked, timeout=30).read().decode()
    except OSError:
        return False
    return "RepositoryLocation" in answer and "LOADED" in answer

try:
    until = time.monotonic() + 240
    while not is_loaded():
        assert dev.poll() is None and time.monotonic() < until
        time.sleep(0.5)
    time.sleep(float(sys.argv[1]))
    assert dev.poll() is None
    (names, values), without = [
        line.split() for line in open("/proc/net/snmp") if line.startswith("Ip:")
    ], [line.split() for line in open("/proc/net/snmp6") if line.startswith("Ip6OutNoRoutes")]
    print("nowhere to go:", dict(zip(names, values))["OutNoRoutes"], without[0][1])
finally:
    os.killpg(dev.pid, signal.SIGKILL)  # how it ends by itself is not asked here
    dev.wait()
"""


def without_network(script: str) -> list[str]:
    """A command in a network of its own, in which there is nothing; skips the test where none can be made."""
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no network namespace can be made here")
    return ["unshare", "-rn", "sh", "-ec", script]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Every Python process writes down whom it would reach; Dagster's home is new, and says nothing of telemetry."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    (tmp_path / "home").mkdir()
    (tmp_path / "user").mkdir()
    return {
        **os.environ,
        "PYTHONPATH": f"{tmp_path / 'watch'}{os.pathsep}{ROOT}",
        "TRIED": str(tmp_path / "tried"),
        "DAGSTER_HOME": str(tmp_path / "home"),
        "HOME": str(tmp_path / "user"),  # Dagster notes its users there
        "BDT": f"{sys.executable} -m bdt_pipeline.cli",
    }


def test_the_watch_sees_what_is_tried(environment: dict[str, str], tmp_path: Path) -> None:
    """Else the test below could not fail."""
    script = f"{sys.executable} -c 'import urllib.request as r; r.urlopen(\"http://example.org\")' || true"
    subprocess.run(without_network(script), env=environment, capture_output=True, check=True)
    assert "example.org" in (tmp_path / "tried").read_text()


def test_all_works_without_a_network_and_nobody_is_called(
    environment: dict[str, str], tmp_path: Path, loans_file: Path, make_spec: Callable[..., Any]
) -> None:
    spec = make_spec(loans_file.name, gate=[{"max_difference": 0.9}], slices=None, worst_groups=None)
    (tmp_path / "loans.yaml").write_text(yaml.safe_dump(spec.to_dict()))
    script = """
        $BDT demo --out demo
        $BDT audit loans.yaml --out audit
        $BDT gate loans.yaml --format github
    """
    done = subprocess.run(
        without_network(script), cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "demo" / "report.json").exists()
    assert not (tmp_path / "tried").exists(), (tmp_path / "tried").read_text()
    written = {str(one.relative_to(tmp_path)) for one in (tmp_path / "home").rglob("*")}
    assert any(one.endswith(".db") for one in written)
    assert not [one for one in written if "telemetry" in one or "logs" in Path(one).parts]
    assert not list((tmp_path / "user").rglob("*telemetry*"))


INSTALLED = "bdt_pipeline_no_telemetry.pth"


def test_what_is_installed_beside_the_packages() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"][f"bdt_pipeline/{INSTALLED}"] == INSTALLED


@pytest.mark.parametrize("home", ["ours", "one's own"])
def test_dagster_dev_calls_nobody(home: str, environment: dict[str, str], tmp_path: Path, full: bool) -> None:
    """The webserver, the daemon and the code server: with ``--full`` for a minute.

    A home of one's own says nothing of telemetry; what is installed beside the packages does.
    """
    if home == "ours":
        shutil.copy(ROOT / "dagster.yaml", tmp_path / "home")
    else:
        (tmp_path / "installed").mkdir()
        shutil.copy(ROOT / "bdt_pipeline" / INSTALLED, tmp_path / "installed")
        with (tmp_path / "watch" / "sitecustomize.py").open("a") as file:
            file.write(f"import site\nsite.addsitedir({str(tmp_path / 'installed')!r})\n")
        environment.pop("DAGSTER_DISABLE_TELEMETRY", None)
    (tmp_path / "dev.py").write_text(DEV)
    done = subprocess.run(
        without_network(f"exec {sys.executable} dev.py {60 if full else 2}"),
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "nowhere to go: 0 0" in done.stdout  # of no process, whatever it is written in
    assert not (tmp_path / "tried").exists(), (tmp_path / "tried").read_text()
    if home == "ours":
        assert not list((tmp_path / "user").rglob("*telemetry*"))
