"""Nothing leaves the machine: in a place without any network all works, and nobody even tries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WATCH = """
import os, sys

def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        told = [str(one) for one in arguments]
        if not (event == "socket.connect" and isinstance(arguments[1], (str, bytes))):  # a socket that is a file
            with open(os.environ["TRIED"], "a") as file:
                file.write(f"{sys.argv[:2]} {event} {told}" + chr(10))

sys.addaudithook(watch)
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
