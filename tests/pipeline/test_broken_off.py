"""Commands that are killed, or whose disk is full: what is begun is finished, or begun again."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from bdt_core.spec import AuditSpec

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
    from bdt_pipeline.commands import run_gate as command

    found = command.audit(None, load_spec("loans.yaml"))
    command.audit = lambda *_: found  # what is written is in question here; pages and figures are made once, too
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

    for files in (0, 2, 4, 6, 7, 8):  # as many as are there before it is killed
        folder = Path("out") / str(files)
        for attempt, most in enumerate((files, 99)):
            child = os.fork()
            if child == 0:
                os.environ["FILES"], Path.replace, code = str(most), killed, 2
                try:
                    code, _ = command.run_gate(command.Request(Path("loans.yaml"), report=folder))
                except Exception as error:
                    print(files, error, flush=True)
                os._exit(code)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            print(files, attempt, code, len(list(folder.iterdir())), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_gate_that_was_killed_is_finished_by_the_same_command(
    loans_file: Path, make_spec: Callable[..., AuditSpec], tmp_path: Path
) -> None:
    """After every number of files that it may have written."""
    spec = make_spec(loans_file.name, gate=[{"max_difference": 0.02}], slices=None, worst_groups=None)
    (tmp_path / "loans.yaml").write_text(yaml.safe_dump(spec.to_dict()))
    run = [sys.executable, "-c", textwrap.dedent(KILLED)]
    done = subprocess.run(run, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    for files in (0, 2, 4, 6, 7, 8):
        assert f"{files} 0 {9 if files < 8 else 1} " in done.stdout, done.stdout + done.stderr
        # Whoever has a report already has one that is whole, and keeps it.
        assert f"{files} 1 {1 if files < 8 else 2} 8" in done.stdout, done.stdout + done.stderr
        written = {one.name: one.read_bytes() for one in (tmp_path / "out" / str(files)).iterdir()}
        assert written == {one.name: one.read_bytes() for one in (tmp_path / "out" / "8").iterdir()}
        assert written.keys() == FILES | {"gate-codequality.json"}


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
