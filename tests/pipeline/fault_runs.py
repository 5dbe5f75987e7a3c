"""Runs of an audit with every asset, each in a process of its own that is killed or meets a full disk."""

from __future__ import annotations

import builtins
import io
import json
import os
import re
import signal
import time
import warnings
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd

from bdt_core.spec import AuditSpec, parse_spec
from bdt_pipeline import bias_audit_definitions
from tests.forked import forking

# What a run's events say is kept, not what is told besides.
CONFIG = "telemetry: {enabled: false}\nnux: {enabled: false}\npython_logs: {python_log_level: INFO}\n"
# Events of all runs in one database: a run that is taken up again reads those of every run before it.
EVENTS = """\
event_log_storage:
  module: dagster._core.storage.event_log
  class: ConsolidatedSqliteEventLogStorage
  config: {{base_dir: "{}"}}
"""
DAYS = ("2026-01-01", "2026-01-02")
HALF, WHOLE, NAMED = "half of it is written", "it is whole but has no name", "it has its name but is not recorded"
Hits = Collection[tuple[str, str]]
PATIENCE = 1800.0
"""Seconds after which a run counts as stuck, on a machine as slow as can be."""
RUN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Place:
    """Data, Dagster's home and results of one audit, each in a folder of its own.

    Parameters
    ----------
    data, home, values : Path
    database : str, optional
        PostgreSQL for Dagster's records, as a URL.
    """

    def __init__(self, data: Path, home: Path, values: Path, database: str | None = None) -> None:
        self.data, self.home, self.values = data, home, values
        postgres = f'storage: {{postgres: {{postgres_url: "{database}"}}}}\n'
        storage = EVENTS.format(home / "history") if database is None else postgres
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "dagster.yaml").exists():
            (home / "dagster.yaml").write_text(CONFIG + storage)

    @property
    def holds(self) -> Path:
        """There while a run waits, which goes on when this is away."""
        return self.home / "holds"

    @property
    def hits(self) -> Path:
        """What was struck so far, a line each."""
        return self.home / "hits.txt"

    def instance(self) -> dg.DagsterInstance:
        """Dagster's records."""
        return dg.DagsterInstance.from_config(str(self.home))

    def spec(self) -> AuditSpec:
        """An audit with every asset there is."""
        return parse_spec(
            {
                "name": "loans",
                "source": {"path": str(self.data / "{partition}.csv")},
                "partition_by": {"time": "daily", "start": DAYS[0]},
                "bias_variable": {"derive": "error", "label": "repaid", "prediction": "approved"},
                "features": {"include": ["age", "region", "income"]},
                "protected": ["sex"],
                "clustering": {"stability": 0},
                "worst_groups": {"permutations": 39},
                "split": {"repeats": 1},
                "local_bias": {"group": "sex", "n_clusters": 3},
                "mitigation": {"group": "sex", "score": "score", "constraint": "demographic_parity"},
                "gate": [{"metric": "demographic_parity_difference", "facet": "sex", "max": 0.9}],
            }
        )

    def run(self, day: str, *, failed: str | None = None, kill: Hits = frozenset()) -> int:
        """Run a day's audit to its end; the exit code of its process, which is negative when that was killed.

        Parameters
        ----------
        day : str
        failed : str, optional
            A failed run that is taken up again where it broke off.
        kill : collection of pairs of str
            Files, and moments of each, at which the process is killed; see `strike`.
        """
        return ended(self.start(day, failed=failed, kill=kill))

    def start(self, day: str, *, failed: str | None = None, kill: Hits = frozenset(), held: str | None = None) -> Any:
        """Begin a day's audit in a process of its own; it waits when the file ``held`` has its name."""
        process = forking("tests.pipeline.fault_runs").Process(target=audit, args=(self, day, failed, kill, held))
        process.start()
        return process

    def broken(self) -> str:
        """The run that was killed, recorded as failed, as the code server does when a run's process is gone."""
        with self.instance() as instance:
            run = instance.get_runs(limit=1)[0]
            if not run.is_finished:
                instance.report_run_failed(run)
            return run.run_id

    def files(self) -> set[tuple[str, bytes]]:
        """Everything that a reader could take for a value, a batch or a report; runs have names of their own."""
        found = set()
        for path in self.values.rglob("*"):
            parts = ["RUN" if RUN.fullmatch(one) else one for one in path.relative_to(self.values).parts]
            is_of_looks = path.parent == self.values  # times and ids stand in there; its chain is looked at by itself
            if path.is_file() and not is_of_looks and not any(one.startswith(".") for one in parts):
                found.add(("/".join(parts), path.read_bytes()))
        return found


def ended(process: Any) -> int:
    """Wait for the end of a process; its exit code."""
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        raise AssertionError(f"The run was still there after {PATIENCE:.0f} seconds.")
    return int(process.exitcode)


def write_days(folder: Path) -> None:
    """Loans of two days, with a score that is fairer to men."""
    folder.mkdir()
    for seed, day in enumerate(DAYS):
        rng = np.random.default_rng(seed)
        n = 800
        sex, repaid = rng.choice(["f", "m"], n), rng.integers(0, 2, n)
        score = (repaid + rng.normal(0, 1, n) + 0.7 * (sex == "m")).round(3)
        columns = {
            "age": rng.integers(18, 80, n),
            "region": rng.choice(["north", "south", "east"], n),
            "income": rng.normal(50, 10, n).round(2),
            "sex": sex,
            "repaid": repaid,
            "score": score,
            "approved": (score > 0.8).astype(int),
        }
        pd.DataFrame(columns).to_csv(folder / f"{day}.csv", index=False)


@cache
def job(data: str, home: str, values: str) -> dg.JobDefinition:
    """The audit's job, made again in the process that runs it."""
    spec = Place(Path(data), Path(home), Path(values)).spec()
    return bias_audit_definitions(spec, storage=values).resolve_job_def("loans_audit")


def audit(place: Place, day: str, failed: str | None, kill: Hits, held: str | None) -> None:
    """What the process does: it exits with 0 when the audit succeeds, else with 1."""
    warnings.simplefilter("ignore")
    if kill:
        strike(place, kill)
    if held is not None:
        hold(place, held)
    where = {"data": str(place.data), "home": str(place.home), "values": str(place.values)}
    made = dg.build_reconstructable_job("tests.pipeline.fault_runs", "job", reconstructable_kwargs=where)
    with place.instance() as instance, dg.execute_job(
        made,
        instance,
        tags={"dagster/partition": day},
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        reexecution_options=None if failed is None else dg.ReexecutionOptions.from_failure(failed, instance),
    ) as result:  # fmt: skip
        success = result.success
    os._exit(0 if success else 1)


def hold(place: Place, file: str) -> None:
    """Let this process wait when a file has taken its name, until somebody says that it may go on."""
    replacing = os.replace

    def replace_(source: Any, target: Any) -> None:
        replacing(source, target)
        if name_of(place, target) == file:
            place.holds.touch()
            while place.holds.exists():
                time.sleep(0.01)

    os.replace = replace_  # type: ignore[assignment]


def name_of(place: Place, path: Any) -> str | None:
    """A file's name without what makes it temporary; None for files of others."""
    path = Path(f"/proc/self/fd/{path}").readlink() if isinstance(path, int) else Path(path)
    if not path.is_relative_to(place.values):
        return None
    name, folder = (
        re.sub(r"^\.(.+?)\.[^.]+(\.tmp|\.bdt-unfinished)?$", r"\1", one) for one in (path.name, path.parent.name)
    )
    return f"reports/{name}" if RUN.fullmatch(folder) else "reports" if RUN.fullmatch(name) else folder


def strike(place: Place, hits: Hits) -> None:
    """Kill this process at the first of these moments of a file that no run before was killed at."""
    lines = place.hits.read_text().splitlines() if place.hits.exists() else []
    before = {tuple(json.loads(line)) for line in lines}
    opening, replacing = io.open, os.replace

    def strike_at(path: Any, moment: str) -> None:
        hit = (name_of(place, path), moment)
        if hit in hits and hit not in before:
            with opening(place.hits, "a") as file:
                file.write(json.dumps(hit) + "\n")
            os.kill(os.getpid(), signal.SIGKILL)

    class Struck(io.FileIO):
        def write(self, content: Any) -> int:
            half = memoryview(content).cast("B")[: max(1, len(content) // 2)]
            written = super().write(half)
            strike_at(self.fileno(), HALF)
            return written

    def open_(file: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        if mode in ("wb", "xb") and name_of(place, file) is not None:
            return io.BufferedWriter(Struck(file, mode))
        return opening(file, mode, *args, **more)

    def replace_(source: Any, target: Any) -> None:
        strike_at(target, WHOLE)
        replacing(source, target)
        strike_at(target, NAMED)

    io.open = builtins.open = open_  # type: ignore[assignment]
    os.replace = replace_  # type: ignore[assignment]
