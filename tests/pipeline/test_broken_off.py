"""Commands that are killed, or whose disk is full: what is begun is finished, or begun again."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

from bdt_core.audit import audit
from bdt_core.errors import OutputError
from bdt_core.sealed.ledger import Ledger
from bdt_core.sealed.looking import looking
from bdt_core.spec import AuditSpec
from bdt_pipeline.commands.console import report_folder

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
FILES = {"report.json", "report.html", "report.pdf", "report.md", "gate.json", "gate.xml", "gate.md"}
KILLED = """
    import contextlib
    import gc
    import os

    gc.set_threshold(50_000)  # as in the command line
    from pathlib import Path
    from bdt_core.report import figures, page
    from bdt_core.report.printed import printed, printed_once
    from bdt_core.spec import load_spec
    from bdt_pipeline.commands import run_audit
    from bdt_pipeline.commands import run_gate as command

    spec = load_spec("loans.yaml")
    found = command.audit(None, spec)
    # What is written is in question here; pages and figures are made once, too.
    command.audit = run_audit.audit_watched = lambda *_: found
    once = contextlib.ExitStack()
    once.enter_context(printed_once(found.document))
    safe = printed(found.document)
    page.build_page(safe)
    for name in figures.figure_names(safe):
        figures.figure_svg(safe, name)

    gc.freeze()  # else each child would look through it
    rename, renamed = Path.replace, [0]

    def killed(self, target):  # by a power cut, before the file has its name
        if Path(target).parent == Path("out"):  # the ledger's, which holds however it is struck
            return rename(self, target)
        renamed[0] += 1
        if renamed[0] > int(os.environ["FILES"]):
            os._exit(9)
        return rename(self, target)

    def gate(folder):
        return command.run_gate(command.Request(Path("loans.yaml"), report=folder))[0]

    def audit(folder):
        return 1 - run_audit.run_audit(spec, folder)

    # As many files as are there before it is killed.
    for asked, files in [(gate, files) for files in (0, 2, 4, 6, 7, 8)] + [(audit, files) for files in (0, 2, 3, 4)]:
        folder = Path("out") / f"{asked.__name__}-{files}"
        for attempt, most in enumerate((files, 99)):
            child = os.fork()
            if child == 0:
                os.environ["FILES"], Path.replace, code = str(most), killed, 2
                try:
                    code = asked(folder)
                except Exception as error:
                    print(folder.name, error, flush=True)
                os._exit(code)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            print(folder.name, attempt, code, len(list(folder.iterdir())), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_command_that_was_killed_is_finished_by_the_same_command(
    loans_file: Path, make_spec: Callable[..., AuditSpec], tmp_path: Path
) -> None:
    """After every number of files that it may have written."""
    spec = make_spec(loans_file.name, gate=[{"max_difference": 0.02}], slices=None, worst_groups=None)
    (tmp_path / "loans.yaml").write_text(yaml.safe_dump(spec.to_dict()))
    run = [sys.executable, "-c", textwrap.dedent(KILLED)]
    done = subprocess.run(run, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    reports = {one for one in FILES if one.startswith("report")}
    for command, code, named in (("gate", 1, FILES | {"gate-codequality.json"}), ("audit", 0, reports)):
        whole = {one.name: one.read_bytes() for one in (tmp_path / "out" / f"{command}-{len(named)}").iterdir()}
        assert whole.keys() == named
        for files in (0, 2, 4, 6, 7, 8) if command == "gate" else (0, 2, 3, 4):
            killed = files < len(named)
            assert f"{command}-{files} 0 {9 if killed else code} " in done.stdout, done.stdout + done.stderr
            # Whoever has a report already has one that is whole, and keeps it.
            assert f"{command}-{files} 1 {code if killed else 2} {len(named)}" in done.stdout, done.stdout + done.stderr
            there = (tmp_path / "out" / f"{command}-{files}").iterdir()
            assert {one.name: one.read_bytes() for one in there} == whole


def test_two_commands_at_once_never_write_into_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with report_folder(Path("out"), "loans") as folder:
        half = folder / ".report.md.0.bdt-unfinished"  # which the first one is about to name
        half.touch()
        with pytest.raises(OutputError, match="Another command is writing a report to out"):
            report_folder(Path("out"), "loans").__enter__()
        assert half.exists()
    with report_folder(Path("out"), "loans"):
        assert not half.exists()
    with report_folder(None, "loans") as first, report_folder(None, "loans") as second:
        assert first != second


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own that nobody can write to, with a ledger."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], capture_output=True, check=False).returncode:
        pytest.skip("Only root can mount a disk.")
    Ledger(disk).append(lambda _: {"event": "begun", "look": "1", "time": "2026-01-01T00:00:00Z"})
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_disk_that_cannot_be_written_is_named(
    read_only: Path, loans: pd.DataFrame, make_spec: Callable[..., AuditSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report has no place there and says so at once; a look that cannot be counted is told by the report."""
    with pytest.raises(OutputError, match=r"disk/out cannot be written: Read-only file system\. Name another one\."):
        report_folder(read_only / "out", "loans").__enter__()
    monkeypatch.setenv("BDT_LOOKS", str(read_only))
    spec = make_spec("x.csv")
    with looking(None, spec, "audit") as look:
        document = audit(loans, spec).recorded(look).document
    (told,) = document["looks"]["problems"]
    assert "this look cannot be recorded" in str(told)
    assert "Read-only file system" in str(told)


def test_init_on_a_full_disk_leaves_nothing(loans_file: Path, tmp_path: Path) -> None:
    limited = """
        import resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
        from bdt_pipeline.cli import app
        app(sys.argv[1:])
    """
    before = set(tmp_path.rglob("*"))
    for out in ("loans.yaml", "new/folder/loans.yaml"):
        run = [sys.executable, "-c", textwrap.dedent(limited), "init", loans_file.name, "--out", out]
        env = ENVIRONMENT | {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}  # nothing else is written
        done = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 2, done.stderr
        assert done.stderr == f"Error: {out} cannot be written: File too large.\n"
        assert set(tmp_path.rglob("*")) == before
