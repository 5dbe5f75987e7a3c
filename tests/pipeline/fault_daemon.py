"""A real Dagster daemon on a project with an inbox, of which any process can be killed."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import dagster as dg
import yaml

ROOT = Path(__file__).parents[2]
HOUR = 3600
"""How long a run may take; one whose process, and all that watched over it, is gone counts as failed after that."""
PATIENCE = 1800.0
"""Seconds after which nothing is expected any more, on a machine as slow as can be."""

_DEFINITIONS = """
    import time
    from pathlib import Path

    from bdt_core.spec import parse_spec
    from bdt_pipeline import Stages, bias_audit_definitions
    from tests.forked import fork_runs

    fork_runs()

    class Held(Stages):
        def find_clusters(self, *given):
            while Path("HOLD").exists():
                time.sleep(0.1)
            return super().find_clusters(*given)

    defs = bias_audit_definitions(parse_spec({
        "name": "loans",
        "source": {"path": "INBOX/{partition}"},
        "inbox": {"folder": "INBOX", "pattern": "*.csv", "settle": 0, "every": 1},
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "approved"},
        "features": {"include": ["age", "region", "income"]},
        "protected": ["sex"],
        "clustering": {"stability": 0},
        "worst_groups": {"permutations": 39},
        "split": {"repeats": 1},
        "slices": None,
        "gate": [],
    }), stages=Held())
"""
_KILLED = """
    import os, signal

    from dagster import DagsterInstance
    from dagster._daemon.cli import main

    submit, submitted = DagsterInstance.submit_run, []

    def submit_one(*given):
        if submitted:
            os.kill(os.getpid(), signal.SIGKILL)
        submitted.append(submit(*given))
        return submitted[0]

    DagsterInstance.submit_run = submit_one
    main()
"""


class Daemon:
    """The project, and the daemon's processes on it.

    Parameters
    ----------
    folder : Path
        A new one.

    Attributes
    ----------
    hold : Path
        While this file is there, no run goes on to its search for clusters.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.inbox, self.home, self.hold = folder, folder / "inbox", folder / "home", folder / "hold"
        for one in (self.inbox, self.home):
            one.mkdir(parents=True)
        config = yaml.safe_load((ROOT / "dagster.postgres.yaml").read_text())  # what ships, but on SQLite
        del config["storage"]
        config["run_monitoring"] |= {
            "poll_interval_seconds": 2, "max_runtime_seconds": HOUR, "start_timeout_seconds": HOUR,
        }  # fmt: skip
        config["python_logs"] = {"python_log_level": "INFO"}  # events are kept, not what is told besides
        (self.home / "dagster.yaml").write_text(yaml.safe_dump(config))
        text = textwrap.dedent(_DEFINITIONS).replace("INBOX", str(self.inbox)).replace("HOLD", str(self.hold))
        (folder / "their_audits.py").write_text(text)
        self._starts = 0

    def instance(self) -> dg.DagsterInstance:
        """Dagster's records."""
        return dg.DagsterInstance.from_config(str(self.home))

    def start(self, *, killed: bool = False) -> subprocess.Popen[bytes]:
        """Start the daemon; its code server and its runs are processes below it.

        Parameters
        ----------
        killed : bool
            It is killed when it has submitted one run, and is about to submit another.
        """
        self._starts += 1
        program = ["-c", textwrap.dedent(_KILLED)] if killed else [str(Path(sys.executable).parent / "dagster-daemon")]
        paths = os.pathsep.join([str(self.folder), str(ROOT)])
        with (self.folder / f"daemon-{self._starts}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, *program, "run", "-m", "their_audits"],
                cwd=self.folder,
                env={**os.environ, "DAGSTER_HOME": str(self.home), "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def kill_everything(self) -> None:
        """As in a power cut: every process that works for this home, with no time to say a word."""
        quiet = 0
        while quiet < 5:  # a process that becomes another program has no environment for a moment
            found = list(self._processes())
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            quiet = 0 if found else quiet + 1
            time.sleep(0.1)

    def wait_for(self, what: Callable[[], Any], why: str, every: float = 0.5) -> Any:
        """The first true answer."""
        end = time.monotonic() + PATIENCE
        while not (found := what()):
            if time.monotonic() > end:
                logs = "\n".join(one.read_text()[-3000:] for one in sorted(self.folder.glob("daemon-*.log")))
                raise AssertionError(f"{why}: not within {PATIENCE:.0f} seconds.\n{logs}")
            time.sleep(every)
        return found

    def _processes(self) -> Iterable[int]:
        mark = f"DAGSTER_HOME={self.home}".encode()
        for one in Path("/proc").iterdir():
            if not one.name.isdigit() or int(one.name) == os.getpid():
                continue
            try:
                dead = (one / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
                if not dead and mark in (one / "environ").read_bytes().split(b"\0"):
                    yield int(one.name)
            except (OSError, IndexError):
                continue


def an_hour_goes_by(home: Path, run_id: str) -> None:
    """As if the run had started an hour earlier."""
    with contextlib.closing(sqlite3.connect(home / "history" / "runs.db", timeout=PATIENCE)) as runs, runs:
        runs.execute("update runs set start_time = start_time - ? where run_id = ?", (HOUR, run_id))


def process_of(instance: dg.DagsterInstance, run_id: str) -> int | None:
    """The process that a run's steps are executed in; None before it has said so."""
    for record in instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        event = record.dagster_event
        if event is not None and "pid" in (found := event.engine_event_data.metadata):
            return int(str(found["pid"].value))
    return None


def started(instance: dg.DagsterInstance, run_id: str) -> set[str]:
    """The steps of a run that have begun."""
    records = instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_START)
    return {str(one.dagster_event.step_key) for one in records if one.dagster_event is not None}
