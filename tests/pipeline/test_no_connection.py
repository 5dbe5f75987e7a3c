"""Nothing leaves the machine: in a place without any network all works, and nobody even tries."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
import yaml

from bdt_pipeline.components.telemetry import TELEMETRY_IS_ON
from tests.pipeline.conftest import loans_spec

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
import fcntl, json, os, re, signal, socket, struct, subprocess, sys, time, urllib.request
from tests.pipeline.ports import descendants, free_port, listening

offline, seconds, sends, *more = sys.argv[1:]
if offline == "offline":
    fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # so that its processes hear each other
port = free_port()
query = "{workspaceOrError {... on Workspace {locationEntries {loadStatus locationOrLoadError {__typename}}}}}"
dev = subprocess.Popen([sys.executable, "-m", "dagster", "dev", "-p", str(port), *more], start_new_session=True)

def is_loaded():
    try:
        body = json.dumps({"query": query}).encode()
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/graphql", body, {"Content-Type": "application/json"})
        answer = urllib.request.urlopen(asked, timeout=300).read().decode()
    except OSError:
        return False
    return "RepositoryLocation" in answer and "LOADED" in answer

try:
    until = time.monotonic() + 1200
    while not is_loaded():
        assert dev.poll() is None and time.monotonic() < until
        time.sleep(0.5)
    time.sleep(float(seconds))
    while sends == "sends" and not os.path.exists(os.environ["TRIED"]):
        assert dev.poll() is None and time.monotonic() < until
        time.sleep(0.5)
    assert dev.poll() is None
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=300).read().decode()
    print("the page has", re.search('"telemetryEnabled": [a-z]+', page)[0])
    if sys.platform == "linux":
        found = listening(descendants(dev.pid))
        print("listening:", json.dumps({"web": found.pop(port), "others": list(found.values())}))
    if offline == "offline":
        (names, values), without = [
            line.split() for line in open("/proc/net/snmp") if line.startswith("Ip:")
        ], [line.split() for line in open("/proc/net/snmp6") if line.startswith("Ip6OutNoRoutes")]
        print("nowhere to go:", dict(zip(names, values))["OutNoRoutes"], without[0][1])
finally:
    os.killpg(dev.pid, signal.SIGKILL)  # how it ends by itself is not asked here
    dev.wait()
"""


OFFLINE = ("unshare", "-rn")
"""Before a command: in a network of its own, in which there is nothing."""


@cache
def network_can_be_left() -> bool:
    """Whether a network of its own can be made here."""
    return subprocess.run([*OFFLINE, "true"], capture_output=True, check=False).returncode == 0


def without_network(script: str) -> list[str]:
    """A command in a network of its own; skips the test where none can be made."""
    if not network_can_be_left():
        pytest.skip("no network namespace can be made here")
    return [*OFFLINE, "sh", "-ec", script]


def watched(folder: Path) -> dict[str, str]:
    """Every Python process writes down whom it would reach; Dagster's home is new, and says nothing of telemetry."""
    (folder / "watch").mkdir()
    (folder / "watch" / "sitecustomize.py").write_text(WATCH)
    (folder / "home").mkdir()
    (folder / "user").mkdir()
    return {
        **os.environ,
        "PYTHONPATH": f"{folder / 'watch'}{os.pathsep}{ROOT}",
        "TRIED": str(folder / "tried"),
        "DAGSTER_HOME": str(folder / "home"),
        "HOME": str(folder / "user"),  # Dagster notes its users there
        "BDT": f"{sys.executable} -m bdt_pipeline.cli",
    }


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return watched(tmp_path)


def test_the_watch_sees_what_is_tried(environment: dict[str, str], tmp_path: Path) -> None:
    """Else the test below could not fail."""
    script = f"{sys.executable} -c 'import urllib.request as r; r.urlopen(\"http://example.org\")' || true"
    subprocess.run(without_network(script), env=environment, capture_output=True, check=True)
    assert "example.org" in (tmp_path / "tried").read_text()


@dataclass(frozen=True)
class Worked:
    """What the commands below have left."""

    folder: Path
    offline: bool
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory, loans: pd.DataFrame) -> Worked:
    """A demonstration, an audit and a gate: without a network where that can be made, and watched everywhere."""
    folder = tmp_path_factory.mktemp("worked")
    loans.to_csv(folder / "loans.csv", index=False)
    spec = loans_spec("loans.csv", gate=[{"max_difference": 0.9}], slices=None, worst_groups=None)
    (folder / "loans.yaml").write_text(yaml.safe_dump(spec.to_dict()))
    script = """
        $BDT demo --case grants --language en --out demo
        $BDT audit loans.yaml --out audit
        $BDT gate loans.yaml --format github
    """
    offline = network_can_be_left()
    command = [*(OFFLINE if offline else []), "sh", "-ec", script]
    done = subprocess.run(command, cwd=folder, env=watched(folder), capture_output=True, text=True, check=False)
    return Worked(folder, offline, done)


def test_nobody_is_called(worked: Worked) -> None:
    folder = worked.folder
    assert worked.done.returncode == 0, worked.done.stdout + worked.done.stderr
    assert (folder / "demo" / "report.json").exists()
    assert not (folder / "tried").exists(), (folder / "tried").read_text()
    written = {str(one.relative_to(folder)) for one in (folder / "home").rglob("*")}
    assert any(one.endswith(".db") for one in written)
    assert not [one for one in written if "telemetry" in one or "logs" in Path(one).parts]
    assert not list((folder / "user").rglob("*telemetry*"))


def test_all_works_without_a_network(worked: Worked) -> None:
    if not worked.offline:
        pytest.skip("no network namespace can be made here")
    assert worked.done.returncode == 0, worked.done.stdout + worked.done.stderr


def test_a_demonstration_of_another_case_and_language_is_recorded_where_dagster_home_says(worked: Worked) -> None:
    assert "Education is vocational and home is with relatives" in " ".join(worked.done.stdout.split())
    assert {one.name for one in (worked.folder / "demo").iterdir()} == {
        "report.json", "report.html", "report.pdf", "report.md",
    }  # fmt: skip
    (worked.folder / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")  # for those who look now
    with dg.DagsterInstance.from_config(str(worked.folder / "home")) as instance:
        assert [run.job_name for run in instance.get_runs()] == ["grants_audit"]
        assert instance.get_latest_materialization_event(dg.AssetKey(["grants", "bias_report"])) is not None


@dataclass(frozen=True)
class Dev:
    """What ``dagster dev`` has left."""

    folder: Path
    offline: bool
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Callable[[str], Dev]:
    """The webserver, the daemon and the code server, until all is loaded: with ``--full`` for a minute longer.

    The README's home is in the folder of the project. One's own has the line that the warning asks for. Where nothing
    is decided there is no dagster.yaml; if the network cannot be left, nothing is sent from there.
    """
    seconds = "60" if request.config.getoption("--full") else "2"

    @cache
    def run(home: str) -> Dev:
        folder = tmp_path_factory.mktemp("dev")
        environment = {
            name: one
            for name, one in watched(folder).items()
            if not name.startswith("DAGSTER_") or name == "DAGSTER_HOME" or name.endswith("_TIMEOUT_SECONDS")
        }
        offline = network_can_be_left()
        more = [] if home == "README's" else ["-m", "bdt_pipeline.definitions", "-h", "127.0.0.1"]
        if home == "README's":
            shutil.copy(ROOT / "dagster.yaml", folder / "home")
        elif home == "one's own":
            (folder / "home" / "dagster.yaml").write_text(re.findall('"(telemetry: .+?)"', TELEMETRY_IS_ON)[0])
        if home == "undecided" and not offline:
            environment["DAGSTER_DISABLE_TELEMETRY"] = "yes"
        else:  # whoever runs the tests may have set it, even for all of Python
            with (folder / "watch" / "sitecustomize.py").open("a") as file:
                file.write('os.environ.pop("DAGSTER_DISABLE_TELEMETRY", None)\n')
        (folder / "dev.py").write_text(DEV)
        told = ["offline" if offline else "", seconds, "sends" if offline and home == "undecided" else ""]
        command = [sys.executable, str(folder / "dev.py"), *told, *more]
        done = subprocess.run(
            [*(OFFLINE if offline else []), *command],
            cwd=ROOT if home == "README's" else folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return Dev(folder, offline, done)

    return run


@pytest.mark.parametrize("home", ["README's", "one's own"])
def test_dagster_dev_calls_nobody(home: str, dev: Callable[[str], Dev]) -> None:
    found = dev(home)
    if found.offline:
        assert "nowhere to go: 0 0" in found.done.stdout  # of no process, whatever it is written in
    assert not (found.folder / "tried").exists(), (found.folder / "tried").read_text()
    assert not list((found.folder / "user").rglob("*telemetry*"))
    assert 'the page has "telemetryEnabled": false' in found.done.stdout  # else it loads a script from dagster.io
    assert TELEMETRY_IS_ON not in found.done.stdout


def test_who_decided_nothing_about_telemetry_is_told_at_the_start(dev: Callable[[str], Dev]) -> None:
    """Dagster's processes are left alone, and so are other projects of the environment: they send, and we say it."""
    found = dev("undecided")
    assert found.done.stdout.count(TELEMETRY_IS_ON) == 1
    assert 'the page has "telemetryEnabled": true' in found.done.stdout
    if found.offline:
        assert "telemetry.dagster.io" in (found.folder / "tried").read_text()  # so that the test above could fail


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")
def test_dagster_dev_is_reached_from_this_machine_only(dev: Callable[[str], Dev]) -> None:
    """As the README starts it, in the folder of the project."""
    told = next(one for one in dev("README's").done.stdout.splitlines() if one.startswith("listening:"))
    found = json.loads(told.removeprefix("listening:"))
    assert all(ipaddress.ip_address(one).is_loopback for one in (found["web"], *found["others"])), found
