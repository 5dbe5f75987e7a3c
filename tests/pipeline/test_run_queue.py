"""Backfills through a real queue: no part lost, none audited twice, never more at a time than allowed.

With ``--full`` the backfill has 50 parts.
"""

from __future__ import annotations

import collections
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest
import yaml

from bdt_pipeline.resources.history_store import HistoryStore
from bdt_pipeline.resources.storage import storage_root
from tests.pipeline.ports import free_port

FIRST = date(2024, 1, 1)
AT_ONCE = 2
ROWS = 400
LONGEST_WAIT = 1800.0
BIN, ROOT = Path(sys.executable).parent, Path(__file__).parents[2]

INSTANCE = {
    "telemetry": {"enabled": False},
    "nux": {"enabled": False},
    "python_logs": {"python_log_level": "INFO"},
    "concurrency": {"runs": {"max_concurrent_runs": AT_ONCE}},
    "run_monitoring": {"enabled": True, "free_slots_after_run_end_seconds": 60, "start_timeout_seconds": 3600},
}
AUDIT = {
    "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
    "features": {"include": ["age", "income"]},
    "protected": ["sex"],
    "clustering": {"stability": 0},
    "worst_groups": {"permutations": 39},
    "split": {"repeats": 1},
    "slices": None,
    "pool": "search",
}
BY_DAY = {"source": {"path": "days/{partition}.csv"}, "partition_by": {"time": "daily", "start": str(FIRST)}}
BY_NAME = {"source": {"path": "models/{partition}.csv"}, "partition_by": {"dynamic": "model_version"}}

LAUNCH = """mutation ($given: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $given) { __typename ... on LaunchBackfillSuccess { backfillId } }
}"""
ADD = """mutation ($here: RepositorySelector!, $name: String!) {
  addDynamicPartition(repositorySelector: $here, partitionsDefName: "model_version", partitionKey: $name) { __typename }
}"""
ASSETS = (
    "raw_data", "validated_data", "train_data", "test_data", "hbac_clusters", "cluster_significance", "worst_groups",
    "feature_differences", "findings", "group_counts", "group_metrics", "bias_score", "class_outcomes", "pooled_groups",
    "declared_outcomes", "profiling_characteristics", "blanks", "bias_history", "bias_report",
)  # fmt: skip
HERE = {"repositoryLocationName": "audits.py", "repositoryName": "__repository__"}

# A search that takes a while, and for which the first run waits until as many have begun as may: so that these run at
# the same time and want the pool.
MODULE = """
import os
import time
from pathlib import Path

import dagster as dg
from dagster._core.execution.plan.active import ActiveExecution

from bdt_core.spec import load_spec
from bdt_pipeline import Stages, bias_audit_definitions
from tests.forked import fork_runs

fork_runs()
# A run in one process asks for its place in a pool again and again without a pause; here others want to calculate.
ActiveExecution.sleep_til_ready = lambda _: time.sleep(0.2)

BEGUN = Path("begun")
BEGUN.mkdir(exist_ok=True)

class Slow(Stages):
    def read_table(self, *given):
        (BEGUN / str(os.getpid())).touch()
        return super().read_table(*given)

    def find_clusters(self, *given):
        while len(list(BEGUN.iterdir())) < AT_ONCE:
            time.sleep(0.1)
        time.sleep(4)
        return super().find_clusters(*given)

defs = dg.Definitions.merge(
    *(bias_audit_definitions(load_spec(one), stages=Slow()) for one in ("loans.yaml", "models.yaml")),
    dg.Definitions(executor=dg.in_process_executor),
)
"""


@dataclass
class Project:
    """Two audits, by day and by name, in a folder with a Dagster instance of its own."""

    folder: Path
    environment: dict[str, str]

    def table(self, file: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        repaid, wrong = rng.integers(0, 2, ROWS), rng.random(ROWS) < 0.2
        columns = {"age": rng.integers(18, 80, ROWS), "income": rng.normal(50, 10, ROWS).round(2)}
        people = {"sex": rng.choice(["f", "m"], ROWS), "repaid": repaid, "granted": np.where(wrong, 1 - repaid, repaid)}
        (self.folder / file).parent.mkdir(exist_ok=True)
        pd.DataFrame({**columns, **people}).to_csv(self.folder / file, index=False)

    def dagster(self, *words: str) -> str:
        command = [str(BIN / "dagster"), *words]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def backfill(self, *which: str) -> str:
        """Launch a backfill of days by the command; its id."""
        said = self.dagster("job", "backfill", "-f", "audits.py", "-j", "loans_audit", *which, "--noprompt")
        return said.split("`")[-2]

    def instance(self) -> dg.DagsterInstance:
        return dg.DagsterInstance.from_config(str(self.folder / "home"))

    def batches(self, audit: str) -> dict[str, Any]:
        with self.instance() as instance:
            batches, unreadable = HistoryStore(storage_root(instance), audit).read()
        assert unreadable == []
        return {one.id: one for one in batches}


@dataclass
class Webserver:
    address: str

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.address}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=LONGEST_WAIT) as answer:
            found: dict[str, Any] = json.load(answer)
        assert "errors" not in found, found
        return found["data"]  # type: ignore[no-any-return]

    def backfill(self, **given: Any) -> str:
        """Launch a backfill as Dagster's pages do; its id."""
        launched = self.ask(LAUNCH, given=given)["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        return str(launched["backfillId"])


def new_project(folder: Path) -> Project:
    (folder / "home").mkdir()
    (folder / "home" / "dagster.yaml").write_text(yaml.safe_dump(INSTANCE))
    for name, parts in (("loans", BY_DAY), ("models", BY_NAME)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({"name": name, **AUDIT, **parts}))
    (folder / "audits.py").write_text(MODULE.replace("AT_ONCE", str(AT_ONCE)))
    given = {"DAGSTER_HOME": folder / "home", "PYTHONPATH": ROOT, "OMP_NUM_THREADS": 1}
    return Project(folder, os.environ | {name: str(value) for name, value in given.items()})


@contextmanager
def dagster_dev(project: Project) -> Iterator[Webserver]:
    """Webserver, daemon and code server, as users start them."""
    port = free_port()
    command = [str(BIN / "dagster"), "dev", "-f", "audits.py", "-h", "127.0.0.1", "-p", str(port)]
    log = project.folder / "dev.log"
    with log.open("wb") as out:
        dev = subprocess.Popen(
            command, cwd=project.folder, env=project.environment, stdout=out, stderr=out, start_new_session=True
        )
        try:
            server = Webserver(f"http://127.0.0.1:{port}")
            wait(lambda: dev.poll() is not None or answers(server))
            assert dev.poll() is None, log.read_text()[-3000:]
            yield server
        finally:
            os.killpg(dev.pid, signal.SIGKILL)  # nothing is under way
            dev.wait()


def answers(server: Webserver) -> bool:
    try:
        return bool(server.ask("{ version }"))
    except OSError:
        return False


def wait(over: Callable[[], bool], progress: Callable[[], object] = lambda: None) -> None:
    """Until it is over, as long as something goes on."""
    last, end = progress(), time.monotonic() + LONGEST_WAIT
    while not over():
        if progress() != last:
            last, end = progress(), time.monotonic() + LONGEST_WAIT
        assert time.monotonic() < end, f"nothing for {LONGEST_WAIT:.0f} s"
        time.sleep(0.5)


def runs_of(backfill: str, project: Project, expected: int) -> list[dg.DagsterRun]:
    """The runs of a backfill, once as many as expected are there and all have ended."""
    found: list[dg.DagsterRun] = []
    with project.instance() as instance:

        def over() -> bool:
            found[:] = instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": backfill}))
            return len(found) >= expected and all(one.is_finished for one in found)

        wait(over, lambda: sum(one.is_finished for one in found))
    return found


def succeeded(runs: list[dg.DagsterRun]) -> collections.Counter[str]:
    """Runs that succeeded, by part; no other is expected."""
    assert {one.status for one in runs} == {dg.DagsterRunStatus.SUCCESS}
    return collections.Counter(one.tags["dagster/partition"] for one in runs)


def times_made(instance: dg.DagsterInstance, asset: dg.AssetKey) -> collections.Counter[str | None]:
    """How often an asset was made, by part."""
    return collections.Counter(one.partition_key for one in instance.fetch_materializations(asset, limit=1000).records)


def assets_of(audit: str, instance: dg.DagsterInstance) -> list[dg.AssetKey]:
    return [one for one in instance.all_asset_keys() if one.path[0] == audit]


def most_at_once(spans: list[tuple[float, float]]) -> int:
    """How many of these spans of time have a moment in common."""
    changes = sorted([(end, -1) for _, end in spans] + [(start, 1) for start, _ in spans])
    return int(np.cumsum([change for _, change in changes]).max())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = new_project(tmp_path_factory.mktemp("queue"))
    with made.instance() as instance:  # as `dagster instance concurrency set search 1`
        instance.event_log_storage.set_concurrency_slots("search", 1)
    return made


@pytest.fixture(scope="module")
def server(project: Project) -> Iterator[Webserver]:
    with dagster_dev(project) as one:
        yield one


def test_a_backfill_of_days_loses_and_doubles_nothing(project: Project, server: Webserver, full: bool) -> None:
    days = [str(FIRST + timedelta(days=i)) for i in range(50 if full else 3)]
    for seed, one in enumerate(days):
        project.table(f"days/{one}.csv", seed)
    begun = time.monotonic()
    runs = runs_of(project.backfill("--from", days[0], "--to", days[-1]), project, len(days))
    seconds = time.monotonic() - begun

    once = dict.fromkeys(days, 1)
    assert succeeded(runs) == once
    with project.instance() as instance:
        assets = assets_of("loans", instance)
        assert {one.path[1] for one in assets} == set(ASSETS)
        assert [one for one in assets if times_made(instance, one) != once] == []
        stats = [instance.get_run_stats(one.run_id) for one in runs]
        steps = [instance.get_run_step_stats(one.run_id, ["loans__hbac_clusters"])[0] for one in runs]
        told = [event.message for one in runs for event in instance.all_logs(one.run_id)]
    assert most_at_once([(one.launch_time, one.end_time) for one in stats]) == AT_ONCE
    assert most_at_once([(one.start_time, one.end_time) for one in steps]) == 1
    before = project.batches("loans")
    assert sorted(before) == days
    assert {int(one.counts.tables[0].counts.sum()) for one in before.values()} == {ROWS}
    waits = sum("blocked by limit for pool search" in one for one in told)
    print(f"{len(days)} parts in {seconds:.0f} s; {waits} waits for the pool.")

    project.table(f"days/{days[2]}.csv", 1000)  # a day is corrected
    again = {"partitionSetName": "loans_audit_partition_set", "repositorySelector": HERE}
    assert succeeded(runs_of(server.backfill(selector=again, partitionNames=[days[2]]), project, 1)) == {days[2]: 1}
    after = project.batches("loans")
    assert [day for day in days if after[day] != before[day]] == [days[2]]
    assert sorted(after) == days
    with project.instance() as instance:
        assert [one for one in assets if times_made(instance, one) != once | {days[2]: 2}] == []


def test_parts_by_name_are_backfilled_from_the_asset_graph(project: Project, server: Webserver) -> None:
    names = ["model-7", "model-8"]
    for seed, one in enumerate(names):
        project.table(f"models/{one}.csv", seed)
        assert server.ask(ADD, here=HERE, name=one)["addDynamicPartition"]["__typename"] == "AddDynamicPartitionSuccess"
    assets = [{"path": ["models", one]} for one in ASSETS]
    runs = runs_of(server.backfill(assetSelection=assets, partitionNames=names), project, len(names))

    once = dict.fromkeys(names, 1)
    assert succeeded(runs) == once
    with project.instance() as instance:
        made = assets_of("models", instance)
        assert {one.path[1] for one in made} == set(ASSETS)
        assert [one for one in made if times_made(instance, one) != once] == []
    assert sorted(project.batches("models")) == names
