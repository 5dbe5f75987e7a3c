"""What happens when something dies: nothing is read in part, nothing is counted twice, and the audit can go on."""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import sqlalchemy as sa
from upath import UPath

from bdt_core.errors import OutputError
from bdt_core.report import write_reports
from bdt_core.sealed.ledger import Ledger
from bdt_core.spec import AuditSpec
from bdt_pipeline.resources.history_store import HistoryStore
from bdt_pipeline.resources.storage import write_folder
from tests.pipeline.fault_daemon import PATIENCE, Daemon, an_hour_goes_by, process_of, started
from tests.pipeline.fault_runs import DAYS, HALF, NAMED, WHOLE, Place, ended, write_days
from tests.postgres import postgresql_server

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Processes are found as Linux shows them.")

Make = Callable[..., AuditSpec]

FILES = {
    "raw_data", "validated_data", "train_data", "test_data", "hbac_clusters", "cluster_significance", "worst_groups",
    "findings", "feature_differences", "declared_outcomes",
    "group_counts", "group_metrics", "bias_score", "class_outcomes", "pooled_groups", "history", "bias_history",
    "bias_slices", "profiling_characteristics", "blanks",
    "local_bias", "mitigation", "reports/report.html", "reports/report.pdf", "reports/report.md",
    "reports/report.json", "bias_report",
}  # fmt: skip
OF_EACH_KIND = {"raw_data", "hbac_clusters", "history", "reports/report.pdf"}
"""A table, a result, the history, a file of the report: files of a kind are written by the same lines."""
LAST = {"reports", "bias_history", "bias_report"}
"""What stands at the end of a run: the folder of the report, and results that are made beside another file."""
OTHERS = random.Random(1).sample(sorted(FILES - OF_EACH_KIND - LAST), 2)
"""A run is killed after the naming of these too, not only of each kind and of the last; `--full`: of all."""


@pytest.fixture(scope="module")
def first_day(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The first day, audited."""
    folder = tmp_path_factory.mktemp("faults")
    write_days(folder / "data")
    place = Place(folder / "data", folder / "home", folder / "values")
    assert place.run(DAYS[0]) == 0
    return place


@pytest.fixture(scope="module")
def undisturbed(first_day: Place, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Two days that nothing happened to."""
    place = after(first_day, tmp_path_factory.mktemp("undisturbed"))
    assert place.run(DAYS[1]) == 0
    return place


def after(first: Place, folder: Path) -> Place:
    """Another place in which the first day was audited."""
    shutil.copytree(first.values, folder / "values")
    return Place(first.data, folder / "home", folder / "values")


def batches(place: Place) -> list[str]:
    found, unreadable = HistoryStore(UPath(place.values), "loans").read()
    assert unreadable == []
    return sorted(one.id for one in found)


def test_a_run_that_is_killed_at_every_file_of_every_asset(
    first_day: Place, undisturbed: Place, tmp_path: Path, full: bool
) -> None:
    """Each run is killed, and the next one takes up where it broke off, until nothing is left to be struck."""
    place, failed = after(first_day, tmp_path), None
    named = FILES | {"reports"}
    some = OF_EACH_KIND | LAST | set(OTHERS)
    moments = {HALF: FILES, WHOLE: named, NAMED: named} if full else {HALF: OF_EACH_KIND, NAMED: some}
    kill = {(name, moment) for moment, names in moments.items() for name in names}
    expected = undisturbed.files()
    while (code := place.run(DAYS[1], failed=failed, kill=kill)) == -signal.SIGKILL:
        assert place.files() <= expected
        assert set(batches(place)) <= set(DAYS)
        failed = place.broken()
    assert code == 0
    assert place.files() == expected
    assert Ledger(place.values).read().problems == ()
    assert batches(place) == list(DAYS)
    struck = {tuple(json.loads(line)) for line in place.hits.read_text().splitlines()}
    assert struck == kill


# --- the daemon and its runs ------------------------------------------------------------------------------------------


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    one = Daemon(tmp_path / "project")
    yield one
    one.kill_everything()


def test_a_daemon_and_runs_that_are_killed(daemon: Daemon, first_day: Place) -> None:
    """Killed in the middle of a look into the inbox; then a run; then everything, with runs under way and queued."""
    people = pd.read_csv(first_day.data / f"{DAYS[0]}.csv")
    names = [f"{number}.csv" for number in range(5)]
    for number, name in enumerate(names):
        people.iloc[number * 100 : number * 100 + 700].to_csv(daemon.inbox / name, index=False)
    with daemon.instance() as instance:

        def runs(*statuses: dg.DagsterRunStatus) -> list[dg.DagsterRun]:
            return list(instance.get_runs(dg.RunsFilter(statuses=statuses or None)))

        daemon.hold.touch()
        assert daemon.start(killed=True).wait(PATIENCE) == -signal.SIGKILL
        assert 0 < len(runs()) < len(names), "the look was over already"

        second = daemon.start()
        daemon.wait_for(lambda: len(runs()) == len(names), "all files have a run")
        victim = daemon.wait_for(lambda: runs(dg.DagsterRunStatus.STARTED), "a run has started")[0]
        daemon.wait_for(
            lambda: "loans__hbac_clusters" in started(instance, victim.run_id), "it looks for clusters", every=0.1
        )
        process = process_of(instance, victim.run_id)
        assert process is not None
        os.kill(process, signal.SIGKILL)
        patience = time.monotonic() + 60

        def second_try() -> list[dg.DagsterRun]:
            nonlocal patience
            if time.monotonic() > patience:  # the code server that watched over it has given way to another one
                an_hour_goes_by(daemon.home, victim.run_id)
                patience = math.inf
            return [one for one in runs() if one.parent_run_id == victim.run_id]

        again = daemon.wait_for(second_try, "a second try")
        assert again[0].tags["dagster/retry_number"] == "1"

        under_way, queued = dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.QUEUED
        daemon.wait_for(lambda: len(runs(under_way)) == 2 and runs(queued), "two are under way, others wait")
        daemon.kill_everything()
        second.wait()
        daemon.hold.unlink()
        for one in runs(under_way):
            an_hour_goes_by(daemon.home, one.run_id)

        daemon.start()
        daemon.wait_for(
            lambda: (
                Counter(one.tags["dagster/partition"] for one in runs(dg.DagsterRunStatus.SUCCESS)).keys() == set(names)
            ),
            "every file is audited",
        )
        daemon.wait_for(lambda: not any(not one.is_finished for one in runs()), "nothing is under way")
        assert Counter(one.tags["dagster/partition"] for one in runs(dg.DagsterRunStatus.SUCCESS)) == Counter(names)
        assert len([one for one in runs() if one.parent_run_id is None]) == len(names)
        history, unreadable = HistoryStore(UPath(instance.storage_directory()), "loans").read()
        assert unreadable == []
        assert sorted(one.id for one in history) == names
    assert not (daemon.inbox / "quarantine").exists()


# --- a full disk ------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 24 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("Only root can mount a small disk.")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def fill(disk: Path, leave: int) -> Path:
    """Take all space but so many bytes, in blocks of 4 kB."""
    ballast = disk / ".ballast"
    status = os.statvfs(disk)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_frsize - leave)
    return ballast


def failures(place: Place) -> list[str]:
    """What the failed steps of the last run say."""
    with place.instance() as instance:
        run = instance.get_runs(limit=1)[0]
        records = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
        told = []
        for one in records:
            assert one.dagster_event is not None
            data = one.dagster_event.step_failure_data
            assert data.user_failure_data is not None, data.error
            told.append(str(data.user_failure_data.description))
        return told


@pytest.mark.parametrize("leave", [0, 200 * 1024])
def test_a_full_disk(first_day: Place, undisturbed: Place, small_disk: Path, tmp_path: Path, leave: int) -> None:
    shutil.copytree(first_day.values, small_disk / "values")
    place = Place(first_day.data, tmp_path / "home", small_disk / "values")
    ballast = fill(small_disk, leave)
    assert place.run(DAYS[1]) == 1
    told = failures(place)
    assert told
    for one in told:
        assert f"cannot be written to {small_disk}" in one
        assert "No space left on device. Free space" in one
    assert place.files() < undisturbed.files()
    assert list(place.values.rglob(".*")) == []
    ballast.unlink()
    assert place.run(DAYS[1], failed=place.broken()) == 0
    assert place.files() == undisturbed.files()
    assert batches(place) == list(DAYS)


def test_a_full_disk_under_dagster_itself(first_day: Place, undisturbed: Place, small_disk: Path) -> None:
    """Dagster cannot even note the failure; after the disk was freed the run is taken up like one that was killed."""
    shutil.copytree(first_day.values, small_disk / "values")
    place = Place(first_day.data, small_disk / "home", small_disk / "values")
    with place.instance() as instance:  # its databases exist
        instance.get_runs()
    ballast = fill(small_disk, 500 * 1024)
    assert place.run(DAYS[1]) == 1
    assert place.files() < undisturbed.files()
    ballast.unlink()
    with place.instance() as instance:
        noted = instance.get_runs()
    assert place.run(DAYS[1], failed=place.broken() if noted else None) == 0
    assert place.files() == undisturbed.files()
    assert batches(place) == list(DAYS)


@pytest.mark.parametrize("remote", [False, True])
def test_a_report_that_was_broken_off_is_finished(undisturbed: Place, tmp_path: Path, remote: bool) -> None:
    """In a folder that was there before the files come one by one; the same report again fills up what is missing."""
    stored = json.loads((undisturbed.values / "loans" / "bias_report" / f"{DAYS[1]}.json").read_text())["value"]
    target = UPath(f"memory://{tmp_path.name}") if remote else UPath(tmp_path / "mine")
    target.mkdir(parents=True, exist_ok=True)

    def write(document: dict[str, Any]) -> dict[str, Any]:
        return write_folder(target, lambda local: write_reports(document, local))

    files = write(stored)
    whole = {name: path.read_bytes() for name, path in files.items()}
    files["json"].unlink()
    files["md"].unlink()
    with pytest.raises(OutputError, match=r"holds a report already \(report.html, report.pdf\)"):
        write({**stored, "warnings": ["another report"]})
    assert not files["json"].exists()
    assert {name: path.read_bytes() for name, path in write(stored).items()} == whole
    with pytest.raises(OutputError, match="holds a report already"):
        write({**stored, "warnings": ["another report"]})
    assert {name: path.read_bytes() for name, path in files.items()} == whole


# --- a dropped database connection ------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Any]:
    """A PostgreSQL server that can be stopped and started."""
    with postgresql_server() as one:
        yield one


def queries(server: Any, like: str, do: str = "pid") -> int:
    """How many other connections ask a query like this; something may be done with each."""
    engine = sa.create_engine(server.get_uri().replace("://", "+psycopg://", 1))
    with engine.connect() as connection:
        found = connection.execute(
            sa.text(
                f"select {do} from pg_stat_activity "
                "where backend_type = 'client backend' and pid <> pg_backend_pid() and query like :like"
            ),
            {"like": like},
        ).all()
    engine.dispose()
    return len(found)


def drop(server: Any, like: str = "%") -> int:
    """End such connections; how many."""
    return queries(server, like, "pg_terminate_backend(pid)")


@pytest.mark.parametrize("fault", ["the connection", "the server"])
def test_a_database_that_goes_away_while_a_table_is_read(
    fault: str, server: Any, loans: pd.DataFrame, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any
) -> None:
    url = server.get_uri().replace("://", "+psycopg://", 1)
    engine = sa.create_engine(url)
    loans.to_sql("people", engine, index=False)
    pd.DataFrame({"seconds": [600.0]}).to_sql("pause", engine, index=False)
    engine.dispose()
    query = "with wait as materialized (select pg_sleep(seconds) from pause) select people.* from people, wait"
    spec = make_spec("x", source={"sql": query, "database": url}, gate=[])

    def cut() -> None:
        while not over.is_set() and not queries(server, "FETCH %"):
            time.sleep(0.2)
        if fault == "the connection":
            drop(server, "FETCH %")
        else:
            server.stop()
            server.start()

    over = threading.Event()
    cutter = threading.Thread(target=cut)
    cutter.start()
    result = run_audit(spec, instance)
    over.set()
    cutter.join()
    assert not result.success
    failed = [one for one in result.all_events if one.is_step_failure]
    assert [one.step_key for one in failed] == ["loans__raw_data"]
    told = failed[0].step_failure_data.user_failure_data
    assert told is not None
    assert str(told.description).startswith("The query of source.sql failed on postgresql+psycopg://")
    assert re.search("terminating connection|server closed the connection", str(told.description))

    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("update pause set seconds = 0"))
    engine.dispose()
    assert run_audit(spec, instance).success


def waits(run: Any, true: Callable[[], object]) -> None:
    """Wait for something while a run is there."""
    while not true():
        assert run.is_alive()
        time.sleep(0.01)


@pytest.mark.parametrize("fault", ["connections", "the server"])
def test_a_database_that_goes_away_under_dagster(
    fault: str, server: Any, first_day: Place, undisturbed: Place, tmp_path: Path
) -> None:
    """The run ends, with success or not; it can be taken up, and its results are the same."""
    shutil.copytree(first_day.values, tmp_path / "values")
    url = server.get_uri().replace("://", "+psycopg2://", 1)
    place = Place(first_day.data, tmp_path / "home", tmp_path / "values", url)
    with place.instance() as instance:
        instance.get_runs()
    run = place.start(DAYS[1], held="group_counts")
    waits(run, place.holds.exists)
    if fault == "connections":
        events = sa.create_engine(url.replace("psycopg2", "psycopg"))
        with events.begin() as connection:  # so that one of its questions is there until it is dropped
            connection.execute(sa.text("lock table event_logs"))
            place.holds.unlink()
            waits(run, lambda: drop(server, "INSERT INTO event_logs%"))
        events.dispose()
        dropped = 1
        while run.is_alive() and dropped < 20:
            dropped += drop(server)
        code = ended(run)
    else:
        server.stop()
        place.holds.unlink()
        code = ended(run)
        server.start()
        assert code == 1
    if code:
        assert place.run(DAYS[1], failed=place.broken()) == 0
    assert place.files() == undisturbed.files()
    assert batches(place) == list(DAYS)
