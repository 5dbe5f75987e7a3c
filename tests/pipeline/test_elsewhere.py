"""The product where the system is not POSIX: see `tests.elsewhere`. It has not been tried on Windows itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import yaml

from bdt_core.spec import AuditSpec
from tests.pipeline.local_page.served import refusals
from tests.pipeline.local_page.walk import SEEN, walk

ROOT = Path(__file__).parents[2]
BEGIN = "from tests.elsewhere import begin\nbegin()\n"
TASKKILL = """
import sys

import psutil

first = psutil.Process(int(sys.argv[sys.argv.index("/pid") + 1]))
for process in [*first.children(recursive=True), first]:
    process.kill()
"""
Elsewhere = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    """Runs Python in a process as on Windows, as all processes that are begun from here on are."""
    modules, programs = tmp_path / "modules", tmp_path / "programs"
    modules.mkdir()
    programs.mkdir()
    (modules / "sitecustomize.py").write_text(BEGIN + SEEN)
    (programs / "taskkill").write_text(f"#!{sys.executable}{TASKKILL}")
    (programs / "taskkill").chmod(0o700)
    monkeypatch.syspath_prepend(str(modules))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(modules), str(ROOT))))
    monkeypatch.setenv("PATH", os.pathsep.join((str(programs), os.environ["PATH"])))
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    settings = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "cp1252"}
    for name, value in {**settings, "PYTHONWARNDEFAULTENCODING": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], capture_output=True, encoding="cp1252", check=False)

    return run


BDT = ("-m", "bdt_pipeline.cli")
LACKING = [
    ("import bdt_core.shards.scratch as ours; ours.os.fork", "no attribute 'fork'"),
    ("import bdt_pipeline.local_page.serving as ours; ours.signal.SIGHUP", "no attribute 'SIGHUP'"),
    ("open('a:b.txt', 'w')", "Invalid argument"),
    ("open('con.txt', 'w')", "Invalid argument"),
    ("import os; os.symlink('a', 'b')", "os.symlink is not there"),
    ("import os; held = open('a', 'w'); os.replace('a', 'b')", "it is open"),
    ("import os; held = open('a', 'w'); os.remove('a')", "it is open"),
]


def test_what_windows_lacks_is_lacking(elsewhere: Elsewhere) -> None:
    """Else the tests below would say nothing."""
    code = "\n".join(
        f"try:\n    {line}\nexcept Exception as error:\n    print(error)\nelse:\n    print('is there')"
        for line in ("import sys", *(line for line, _ in LACKING))
    ).replace("; ", "\n    ")
    told = elsewhere("-c", code)
    lines = told.stdout.splitlines()
    assert len(lines) == len(LACKING) + 1, told.stderr
    assert [said for (_, said), line in zip(LACKING, lines[1:], strict=True) if said not in line] == []


def test_an_audit_and_a_gate(
    elsewhere: Elsewhere, loans: pd.DataFrame, make_spec: Callable[..., AuditSpec], tmp_path: Path
) -> None:
    """Names beyond the letters of the console; the report is the one that this system makes."""
    renamed = loans.rename(columns={"region": "wijk \u0431"}).replace({"wijk \u0431": {"north": "no\u00f6rd \u4e2d"}})
    renamed.to_csv(tmp_path / "loans.csv", index=False, encoding="utf-8")
    spec = make_spec("loans.csv", gate=[{"max_difference": 0.02}], slices=None)
    data = {**spec.to_dict(), "features": {"exclude": ["person_id"]}}
    (tmp_path / "loans.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    told = elsewhere(*BDT, "gate", "loans.yaml", "--report", "there")
    assert told.returncode == 1, told.stderr
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_"))}
    here = subprocess.run(
        [sys.executable, *BDT, "gate", "loans.yaml", "--report", "here"],
        env={**kept, "PYTHONPATH": str(ROOT), "BDT_LOOKS": str(tmp_path / "looks")},
        capture_output=True, check=False,
    )  # fmt: skip
    assert here.returncode == 1
    assert {one.name for one in Path("there").iterdir()} == {one.name for one in Path("here").iterdir()}
    for name in ("report.json", "report.html", "report.md"):
        assert Path("there", name).read_bytes() == Path("here", name).read_bytes()
    again = elsewhere(*BDT, "audit", "loans.yaml", "--out", "there")
    assert again.returncode == 2
    assert "there holds a report already" in again.stderr


def test_the_demonstration(elsewhere: Elsewhere) -> None:
    told = elsewhere(*BDT, "demo", "--out", "out")
    assert told.returncode == 0, told.stderr
    assert {one.suffix for one in Path("out").iterdir()} == {".html", ".json", ".md", ".pdf"}


def test_the_page(elsewhere: Elsewhere, tmp_path: Path) -> None:
    """From a table that cannot be linked to its report, and nothing stays."""
    folder = tmp_path / "page"
    folder.mkdir()
    refusals().to_csv(folder / "refusals.csv", index=False)
    walk(folder / "refusals.csv")


def test_the_workflow_for_other_systems_does_what_is_done_here(elsewhere: Elsewhere) -> None:
    """Its commands on this machine's other system, but for the demonstration, which has its own test."""
    steps = yaml.safe_load((ROOT / "docs" / "recipes" / "three-systems.yml").read_text())["jobs"]["try"]["steps"]
    install, demo, audit = (one["run"] for one in steps if "run" in one)
    assert (install, demo) == ("pip install .", "bdt demo --out demo")
    told = elsewhere(*BDT, *audit.split()[1:])
    assert told.returncode == 0, told.stderr
    (kept,) = (one["with"]["path"].split() for one in steps if "upload" in one.get("uses", ""))
    assert kept == ["demo", "audit"]
    assert {one.suffix for one in Path("audit").iterdir()} == {".html", ".json", ".md", ".pdf"}
