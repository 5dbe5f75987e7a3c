"""Many small files that wait in an inbox, and what each of them costs.

``python -m benchmarks inbox [--files=50] [--seed=0]``: a first file of 400 rows lies in the inbox, and then so many
more. The sensor asks for them, and this process audits them as that of a run does, with Dagster's records on SQLite.
CPU seconds are those of the process; the first file pays for what is imported and compiled. Fewer files are a trial.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from bdt_core.spec import AuditSpec, parse_spec
from bdt_pipeline import bias_audit_definitions
from benchmarks.tables import record

_ROWS, _FULL, _AT_ONCE = 400, 50, 25


class _InRepository(InMemoryJob):
    """A job as it is in the process of a run, which has all definitions at hand."""

    def __init__(self, job: dg.JobDefinition, defs: dg.Definitions) -> None:
        super().__init__(job)
        self._defs = defs

    def get_repository_definition(self) -> dg.RepositoryDefinition:
        return self._defs.get_repository_def()


def run(files: str = str(_FULL), seed: str = "0") -> None:
    """Drop, audit, count, print."""
    count, random = int(files), np.random.default_rng(int(seed))
    with tempfile.TemporaryDirectory() as scratch:
        home, inbox = Path(scratch) / "home", Path(scratch) / "inbox"
        for folder in (home, inbox):
            folder.mkdir()
        quiet = {"telemetry": {"enabled": False}, "python_logs": {"python_log_level": "ERROR"}}
        defs = bias_audit_definitions(_spec(inbox), assets="report")
        with dg.instance_for_test(temp_dir=str(home), overrides=quiet) as instance:
            _drop(inbox, range(1), random)
            cursor, _ = _audited(defs, instance, None)
            first = time.process_time()
            _drop(inbox, range(1, 1 + count), random)
            begun = time.monotonic()
            cursor, processes = _audited(defs, instance, cursor)
            seconds, later = time.monotonic() - begun, time.process_time() - first
            runs = instance.get_runs(dg.RunsFilter(job_name="waiting_audit", statuses=[dg.DagsterRunStatus.SUCCESS]))
            parts = [one.tags["dagster/partition"] for one in runs]
            reports = len(list((Path(instance.storage_directory()) / "waiting" / "reports").glob("*/report.pdf")))
    found = {
        "rows": _ROWS,
        "files": count,
        "processes": processes,
        "lost": 1 + count - len(set(parts)),
        "doubled": len(parts) - len(set(parts)),
        "reports": reports,
        "first_cpu": first,
        "cpu_a_file": later / count,
        "seconds_a_file": seconds / count,
    }
    record("inbox", found, keep=count >= _FULL)


def _audited(defs: dg.Definitions, instance: dg.DagsterInstance, cursor: str | None) -> tuple[str | None, int]:
    """Audit what the sensor asks for: its cursor afterwards, and how many processes it asked for."""
    repository = defs.get_repository_def()
    context = dg.build_sensor_context(instance=instance, cursor=cursor, repository_def=repository)
    asked: Any = defs.resolve_sensor_def("waiting_inbox")(context)
    for request in asked.dynamic_partitions_requests:
        instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
    for request in asked.run_requests:
        job = repository.get_job(request.job_name)
        begun = instance.create_run_for_job(job, run_config=request.run_config, tags=request.tags)
        execute_run(_InRepository(job, defs), begun, instance, raise_on_error=True)
    return asked.cursor, len(asked.run_requests)


def _spec(inbox: Path) -> AuditSpec:
    return parse_spec(
        {
            "name": "waiting",
            "source": {"path": f"{inbox}/{{partition}}"},
            "inbox": {"folder": str(inbox), "pattern": "*.csv", "settle": 0, "at_once": _AT_ONCE},
            "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
            "features": {"include": ["age", "region", "income"]},
            "protected": ["sex"],
        }
    )


def _drop(inbox: Path, numbers: range, random: np.random.Generator) -> None:
    for number in numbers:
        repaid = random.random(_ROWS) < 0.7
        rows = {
            "age": random.integers(18, 80, _ROWS),
            "region": random.choice(["north", "south", "east", "west"], _ROWS),
            "income": random.normal(50, 12, _ROWS).round(1),
            "sex": random.choice(["f", "m"], _ROWS),
            "repaid": repaid.astype(int),
            "granted": np.where(random.random(_ROWS) < 0.2, ~repaid, repaid).astype(int),
        }
        pd.DataFrame(rows).to_csv(inbox / f"{number:04d}.csv", index=False)
