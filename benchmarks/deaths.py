"""Processes that are killed at random moments: what is left of them, lost or doubled, counted.

``python -m benchmarks deaths [--page=100] [--inbox=100] [--audit=40] [--gate=40] [--database=40]
[--cluster=40] [--seed=0]``: so many deaths of the process that works for ``bdt open``, of runs of files of an inbox
under a real daemon, of ``bdt audit``, of ``bdt gate``, of a PostgreSQL that Dagster keeps its records in, and of
workers and schedulers of Dask, each at a moment of a run that nothing happens to. Moments are seconds of the processor,
which are the same on a machine that others use, too. Prints a table, and what went wrong.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing.util
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import dagster as dg
import psutil
import yaml
from upath import UPath

from bdt_core.sealed.ledger import Ledger
from benchmarks.measuring import markdown_table

_KILLED = "The work was ended from outside"
_SPEC: dict[str, Any] = {
    "name": "refusals",
    "source": {"path": "refusals.csv"},
    "bias_variable": {"column": "refused", "better": "lower"},
    "features": {"exclude": ["person_id"]},
    "protected": ["sex"],
    "clustering": {"stability": 0, "n_init": 1},
    "split": {"repeats": 1},
    "worst_groups": None,
    "slices": None,
    "gate": [{"check": "worst_cluster"}],
}
_WHOLE = {
    "audit": {"report.json", "report.html", "report.pdf", "report.md"},
    "gate": {"report.json", "report.html", "report.pdf", "report.md"}
    | {"gate.json", "gate.xml", "gate.md", "gate-codequality.json"},
}
_EVERY_BAD = 8
"""Of so many files of an inbox one cannot be audited."""

_EVERY_WHOLE = 10
"""After so many deaths of the page's work a table goes all the way to its report."""


@dataclass
class Deaths:
    """What became of processes of a kind.

    Attributes
    ----------
    seconds : float
        Of the processor that an undisturbed one takes: moments are spread over them.
    at : Counter of str
        Deaths by what the process was at, and how many had ended before their moment came.
    problems : list of str
        What was left, lost, doubled or not said.
    """

    seconds: float = 0.0
    at: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def expect(self, holds: object, otherwise: str) -> None:
        """Note a problem where something does not hold."""
        if not holds:
            self.problems.append(otherwise)
            print(otherwise, flush=True)


def run(
    page: str = "100", inbox: str = "100", audit: str = "40", gate: str = "40", database: str = "40",
    cluster: str = "40", seed: str = "0",
) -> None:  # fmt: skip
    """Kill, look, count, print."""
    counts = {"page": page, "inbox": inbox, "audit": audit, "gate": gate, "database": database, "cluster": cluster}
    others = {"page": _of_page, "inbox": _of_inbox, "database": _of_database, "cluster": _of_cluster}
    rows, wrong = [], 0
    multiprocessing.util.get_temp_dir()  # that of this process stays until it ends
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as temporary:
        os.environ["TMPDIR"] = tempfile.tempdir = temporary  # of all processes that are begun from here on
        for name, deaths in ((name, int(count)) for name, count in counts.items()):
            folder = Path(scratch, name)
            folder.mkdir()
            random_ = random.Random(f"{name}-{seed}")
            with contextlib.chdir(folder):
                if not deaths:
                    continue
                work = others.get(name) or partial(_of_command, name)
                found = work(deaths, random_, folder)
            wrong += len(found.problems)
            at = ", ".join(f"{number} {what}" for what, number in sorted(found.at.items()))
            rows.append([name, f"{deaths:,}", f"{found.seconds:.1f}", at, f"{len(found.problems)}"])
            print(" | ".join(rows[-1]), flush=True)
    print(markdown_table(["killed", "times", "processor seconds undisturbed", "at", "problems"], rows))
    sys.exit(bool(wrong))


def _used(pid: int | None) -> float:
    """Seconds of the processor that a process has used; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields[0] != "Z" else 0.0


# --- commands ---------------------------------------------------------------------------------------------------------


def _of_command(name: str, deaths: int, random_: random.Random, folder: Path) -> Deaths:
    from tests.forked import _become, forking
    from tests.pipeline.local_page.served import processes, refusals

    refusals().to_csv(folder / "refusals.csv", index=False)
    (folder / "refusals.yaml").write_text(yaml.safe_dump(_SPEC))
    into, found = {"audit": "--out", "gate": "--report"}[name], Deaths()

    def begin(number: int) -> BaseProcess:
        command = [str(Path(sys.executable).parent / "bdt"), name, "refusals.yaml", into, f"{number}/report"]
        written = [folder / "told", folder / "said"]
        process = forking().Process(target=_become, args=(command, folder, dict(os.environ), written))
        process.start()
        return process

    def work(process: BaseProcess, most: float) -> float:
        """Wait until so many seconds are used, or it has ended; how many were."""
        used = 0.0
        while process.is_alive() and used <= most:
            used = max(used, _used(process.pid))
            time.sleep(0.01)
        return used

    codes = set()
    for number in (-2, -1):  # the first one may compile
        process = begin(number)
        found.seconds = work(process, float("inf"))
        codes.add(_code(process))
    temporary = set(Path(tempfile.gettempdir()).iterdir())
    for number in range(deaths):
        process = begin(number)
        work(process, random_.uniform(0.0, found.seconds))
        assert process.pid is not None
        its = processes(process.pid)
        process.kill()
        died = _code(process) == -signal.SIGKILL
        _gone(its)
        place = folder / f"{number}"
        left = {one.name: one.read_bytes() for one in place.glob("report/*")}
        events = Counter(one["event"] for one in Ledger(place).read().events)
        found.at["ended before" if not died else _stage(events, left)] += 1
        told = f"{name} {number}"
        was_whole = "report.json" in left
        found.expect(not was_whole or left.keys() >= _WHOLE[name], f"{told}: half a report: {sorted(left)}")
        code = _code(begin(number))
        found.expect(code in codes or (was_whole and code == 2), f"{told}: the same command ends with {code}")
        now = {one.name: one.read_bytes() for one in place.glob("report/*")}
        found.expect(now.keys() == _WHOLE[name], f"{told}: the report is {sorted(now)}")
        found.expect(left.items() <= now.items(), f"{told}: another report than that which was begun")
        chain = Ledger(place).read()
        looks = json.loads(now.get("report.json", b"{}")).get("looks")
        begun = sum(one["event"] == "begun" for one in chain.events)
        found.expect(not chain.problems and looks is None, f"{told}: {chain.problems}, {looks}")  # the same look again
        found.expect(begun == events["begun"] + (not was_whole), f"{told}: {begun} looks have begun")
        odd = [one.name for one in place.iterdir() if one.name != "report" and not one.name.startswith("looks.")]
        odd += [one.name for one in set(Path(tempfile.gettempdir()).iterdir()) - temporary]
        found.expect(not odd, f"{told}: left: {odd}")
    return found


def _gone(its: set[int]) -> None:
    from tests.pipeline.local_page.served import alive, until

    until(lambda: not alive(its))


def _code(process: BaseProcess) -> int:
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _stage(events: Counter[str], left: dict[str, bytes]) -> str:
    if not events["begun"]:
        return "before its look"
    return "while it looked" if not events["ended"] else "writing" if "report.json" not in left else "at its end"


# --- the page ---------------------------------------------------------------------------------------------------------


def _of_page(deaths: int, random_: random.Random, folder: Path) -> Deaths:
    from bdt_pipeline.local_page.guard import Guard
    from bdt_pipeline.local_page.pages import Pages
    from bdt_pipeline.local_page.visit import Visit
    from tests.pipeline.local_page.served import HOST, TOKEN, alive, ask, processes, refusals, sent_file, until

    kept = folder / "page"
    kept.mkdir()
    visit, found, reports = Visit(kept), Deaths(), 0
    application = Guard(Pages(visit, 1_000_000).application(), TOKEN, [HOST])
    body, headers = sent_file("refusals.csv", refusals().to_csv(index=False).encode())

    def steps() -> Iterator[str]:
        """Drop the table and answer what is asked; where the visit stands, again and again, until nothing is done."""
        assert ask(application, "/table", body, headers=headers).status == 303
        while (place := visit.place) == "reading":
            yield place
        if place == "questions":
            page = ask(application).text
            outcome = page.partition('name="outcome" value="')[2].partition('"')[0].replace("&#34;", '"')
            answers = urlencode({"outcome": outcome, "better": "lower", "do": "start"}).encode()
            assert ask(application, "/answers", answers).status == 303
            while (place := visit.place) == "auditing":
                yield place
        yield place

    def go(most: float = float("inf")) -> tuple[str, float]:
        """Until so many seconds are used, or nothing is done any more; where it stands, and how many were."""
        used: dict[int, float] = {}
        stands = ""
        for stands in steps():  # noqa: B007 - where it stands in the end is what is asked for
            if (work := visit.work) is not None:
                used[work.process] = max(used.get(work.process, 0.0), _used(work.process))
            if sum(used.values()) > most:
                break
            time.sleep(0.01)
        return stands, sum(used.values())

    go()
    place, found.seconds = go()
    found.expect(place == "report", f"undisturbed it ends at {place}")
    reports += 2
    for number in range(deaths):
        (stood, _), work = go(random_.uniform(0.0, found.seconds)), visit.work
        if work is None:
            found.at["ended before"] += 1
            reports += stood == "report"
            continue
        its = processes(work.process) | {work.process}
        with contextlib.suppress(ProcessLookupError):
            os.kill(work.process, signal.SIGKILL)
        until(lambda: visit.place not in ("reading", "auditing"))
        after = visit.place
        if after in ({"reading": "questions", "auditing": "report"}[stood],) and not visit.problem:
            found.at["ended before"] += 1
            reports += after == "report"
            continue
        found.at[stood] += 1
        told = f"page {number}, {stood}"
        found.expect(after == {"reading": "unread", "auditing": "questions"}[stood], f"{told}: it stands at {after}")
        found.expect(_KILLED in ask(application).text, f"{told}: it is not said")
        found.expect(not alive(its), f"{told}: processes are left: {alive(its)}")
        left = [one.name for one in kept.iterdir() if not one.name.startswith("table-")]
        found.expect(not left and len(list(kept.iterdir())) == 1, f"{told}: left: {left}")
        if number % _EVERY_WHOLE == 0:  # of others the next death shows how far the next table has come
            found.expect((place := go()[0]) == "report", f"{told}: the next one ends at {place}: {visit.problem}")
            reports += place == "report"
    ask(application, "/forget", b"")
    found.expect(not list(kept.iterdir()), f"left in the end: {list(kept.iterdir())}")
    found.expect(not processes(os.getpid()), "processes are left in the end")
    chain = Ledger(folder / "bdt-reports").read()
    events = Counter(one["event"] for one in chain.events)
    found.expect(not chain.problems, f"ledger: {chain.problems}")
    found.expect(reports <= events["ended"] <= events["begun"], f"{reports} reports, {events}")
    print(f"page: {reports} reports, looks: {dict(events)}", flush=True)
    return found


# --- the inbox --------------------------------------------------------------------------------------------------------


def _of_inbox(deaths: int, random_: random.Random, folder: Path) -> Deaths:
    from bdt_pipeline.resources.history_store import HistoryStore
    from tests.pipeline.fault_daemon import Daemon, process_of
    from tests.pipeline.fault_runs import DAYS, write_days

    write_days(folder / "data")
    good = (folder / "data" / f"{DAYS[0]}.csv").read_text().splitlines(keepends=True)
    names = [f"{'bad' if number % _EVERY_BAD == 0 else 'good'}{number:03d}.csv" for number in range(1, deaths + 1)]
    os.environ["DAGSTER_GRPC_TIMEOUT_SECONDS"] = "600"  # on a machine that others use, a run may take long to begin
    daemon, found = Daemon(folder / "project"), Deaths()
    moments: dict[str, float] = {}
    pids: dict[str, int] = {}
    lasted: dict[str, float] = {}

    def ended(instance: dg.DagsterInstance) -> bool:
        """Kill each first run when its moment comes; whether all files are dealt with."""
        runs = list(instance.get_runs())
        for one in runs:
            name = one.tags["dagster/partition"]
            if one.status is dg.DagsterRunStatus.SUCCESS and one.parent_run_id is None and name in lasted:
                # The first run reads what later ones find in memory.
                found.seconds = min(found.seconds, lasted.pop(name))
            if one.parent_run_id is not None or one.is_finished or name == "first.csv" or name in found_at:
                continue
            if name not in pids and (pid := process_of(instance, one.run_id)) is not None:
                pids[name], moments[name] = pid, random_.uniform(0.0, found.seconds)
            used = _used(pids[name]) if name in pids else 0.0
            if used:
                lasted[name] = used
            is_due = name in pids and used >= moments[name]
            if is_due and pids[name] in set(daemon._processes()):  # numbers of processes are given again
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pids[name], signal.SIGKILL)
                    found_at.add(name)
        return {one.tags["dagster/partition"] for one in runs} >= set(names) and _is_quiet(runs, found_at)

    found_at: set[str] = set()
    try:
        with daemon.instance() as instance:
            (daemon.inbox / "first.csv").write_text("".join(good))
            daemon.start()
            (first,) = daemon.wait_for(instance.get_runs, "a first run", every=0.1)
            pid = daemon.wait_for(lambda: process_of(instance, first.run_id), "its process", every=0.1)
            while used := _used(pid):
                found.seconds = used
                time.sleep(0.05)
            for number, name in enumerate(names):
                lines = ["age,region\n", "30,north\n"] if name.startswith("bad") else [*good[: -number - 1]]
                (daemon.inbox / name).write_text("".join(lines))
            daemon.wait_for(lambda: ended(instance), "all files are dealt with", every=0.1)
            runs = list(instance.get_runs())
            history, unreadable = HistoryStore(UPath(instance.storage_directory()), "loans").read()
            storage = Path(instance.storage_directory())
    finally:
        daemon.kill_everything()
    retried = {one.tags["dagster/partition"] for one in runs if one.parent_run_id is not None}
    found.at.update({"killed": len(found_at), "ended before": len(names) - len(found_at), "retried": len(retried)})
    fine = [name for name in ("first.csv", *names) if not name.startswith("bad")]
    done = Counter(one.tags["dagster/partition"] for one in runs if one.status is dg.DagsterRunStatus.SUCCESS)
    found.expect(done == Counter(fine), f"audited other than once: {done - Counter(fine)}, {Counter(fine) - done}")
    found.expect(sorted(one.id for one in history) == sorted(fine) and not unreadable, "the history has other batches")
    shelf = daemon.inbox / "quarantine"
    aside = {one.name for one in shelf.iterdir()} if shelf.exists() else set()
    bad = {name for name in names if name.startswith("bad")}
    found.expect(aside == bad | {f"{name}.reason.txt" for name in bad}, f"in quarantine: {sorted(aside)}")
    found.expect({one.name for one in daemon.inbox.glob("*.csv")} == set(fine), "files are gone from the inbox")
    found.expect(not Ledger(storage).read().problems, f"ledger: {Ledger(storage).read().problems}")
    left = [str(one.relative_to(storage)) for one in storage.rglob(".*")]
    found.expect(not left, f"left: {left}")
    return found


def _is_quiet(runs: list[dg.DagsterRun], killed: set[str]) -> bool:
    """Whether nothing is under way, and whoever was killed had a second try."""
    again = {one.parent_run_id for one in runs}
    waited = [
        one
        for one in runs
        if one.tags["dagster/partition"] in killed and one.parent_run_id is None and one.run_id not in again
        and one.status is not dg.DagsterRunStatus.SUCCESS
    ]  # fmt: skip
    return not waited and all(one.is_finished for one in runs)


# --- a database, and a cluster ----------------------------------------------------------------------------------------


def _of_database(deaths: int, random_: random.Random, folder: Path) -> Deaths:
    """PostgreSQL, which Dagster keeps its records in, goes away while an audit runs, and comes back when that ended."""
    from bdt_pipeline.resources.history_store import HistoryStore
    from tests.pipeline.fault_runs import DAYS, Place, ended, write_days
    from tests.postgres import postgresql_server

    write_days(folder / "data")
    found = Deaths()
    with postgresql_server() as server:
        url = server.get_uri().replace("://", "+psycopg2://", 1)

        def place_of(name: str, begun: Path | None) -> Place:
            if begun is not None:
                shutil.copytree(begun, folder / name / "values")
            return Place(folder / "data", folder / name / "home", folder / name / "values", url)

        first = place_of("first", None)
        assert first.run(DAYS[0]) == 0
        expected = None
        for number in range(-2, deaths):
            place = place_of(f"{number}", first.values)
            with place.instance() as instance:
                instance.get_runs()
            process, used = place.start(DAYS[1]), 0.0
            moment = random_.uniform(0.0, found.seconds) if number >= 0 else float("inf")
            while process.is_alive() and used <= moment:
                used = max(used, _used(process.pid))
                time.sleep(0.01)
            if number < 0:  # the first one may compile
                assert ended(process) == 0
                found.seconds, expected = used, place.files()
                continue
            server.stop()
            code = ended(process)
            server.start()
            found.at["ended before" if code == 0 else "failed"] += 1
            if code:
                again = place.run(DAYS[1], failed=place.broken())
                found.expect(again == 0, f"database {number}: taken up again, the run ends with {again}")
            found.expect(place.files() == expected, f"database {number}: other results")
            history, unreadable = HistoryStore(UPath(place.values), "loans").read()
            kept = sorted(one.id for one in history) == list(DAYS) and not unreadable
            found.expect(kept, f"database {number}: the history has other batches")
            found.expect(not Ledger(place.values).read().problems, f"database {number}: ledger")
            shutil.rmtree(folder / f"{number}")
    return found


def _of_cluster(deaths: int, random_: random.Random, folder: Path) -> Deaths:
    """A worker of Dask, or every third time its scheduler, dies while an audit runs: the same report, or a sentence."""
    from distributed import Client

    from bdt_core.audit import audit
    from bdt_core.errors import BDTError
    from bdt_core.report import canonical_json
    from tests.core.shards.test_dask_cluster import _cluster_of_its_own
    from tests.pipeline.local_page.served import refusals

    refusals().to_csv(folder / "refusals.csv", index=False)
    found = Deaths()

    def report(address: str) -> str:
        held = {"memory": "out_of_core"}
        engine = {"dask": {"address": address}}
        spec = {**_SPEC, "clustering": {**_SPEC["clustering"], **held}, "engine": engine}
        document = audit(None, spec).document
        return canonical_json({**document, "spec": {**document["spec"], "engine": None}})

    expected = None
    for number in range(-2, deaths):
        place = folder / f"{number}"
        place.mkdir()
        address, (scheduler, nanny) = _cluster_of_its_own(place)  # type: ignore[no-untyped-call]
        with Client(address) as client:
            client.wait_for_workers(2)  # one that dies before ends its nanny, and so the other one
        its = _workers_of(nanny.pid)
        victim = "scheduler" if number % 3 == 2 else "worker"
        pid = scheduler.pid if victim == "scheduler" else random_.choice(its)
        begun = time.monotonic()
        after = random_.uniform(0.0, found.seconds)
        killer = threading.Timer(after, os.kill, (pid, signal.SIGKILL))
        try:
            if number >= 0:
                killer.start()
            made, is_told = report(address), False
        except BDTError as error:
            made, is_told = str(error), True
        finally:
            killer.cancel()
            for one in (nanny, scheduler):
                one.kill()
                one.wait()
            for one in map(psutil.Process, filter(psutil.pid_exists, its)):
                one.kill()
        if number < 0:
            assert not is_told, made
            found.seconds, expected = time.monotonic() - begun, made
            continue
        found.at[f"{victim}: " + ("told" if is_told else "the same report")] += 1
        fits = victim == "scheduler" and "scheduler" in made if is_told else made == expected
        found.expect(fits, f"{victim} {number} after {after:.1f} s: {made[:300]}")
    return found


def _workers_of(nanny: int) -> list[int]:
    """Processes that a nanny has begun for its two workers."""
    while True:
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(nanny).children()
            workers = [one.pid for one in children if "spawn_main" in " ".join(one.cmdline())]
            if len(workers) == 2:
                return workers
        time.sleep(0.1)
