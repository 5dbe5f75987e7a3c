"""The stored history: the counts of a part once, however many parts there are, and put together when it is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest
from upath import UPath

from bdt_core.history import Batch, follow
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions
from bdt_pipeline.resources.history_store import HistoryStore
from bdt_pipeline.resources.io_managers import ResultIOManager
from tests.core.history.made_batches import day, history_spec

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
ASSETS = ("raw_data", "validated_data", "group_counts", "bias_history")
SPEC = history_spec()


@pytest.fixture
def out() -> Iterator[dg.OutputContext]:
    """What Dagster passes when a value is stored."""
    with dg.build_output_context() as context:
        yield context


@pytest.fixture
def into() -> Iterator[dg.InputContext]:
    """What Dagster passes when a value is loaded."""
    with dg.build_input_context() as context:
        yield context


@pytest.fixture(params=["local", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> UPath:
    """A local folder, and one of a file system that is none."""
    path = UPath(tmp_path) if request.param == "local" else UPath(f"memory://{tmp_path.name}")
    (path / "values").mkdir(parents=True, exist_ok=True)
    return path


def some_day(number: int, women: int = 30) -> Batch:
    return day(SPEC, number, {"f": (women, 10, 20, 40), "m": (60, 30, 20, 90)})


def add(root: UPath, batch: Batch, out: dg.OutputContext) -> Any:
    """What a run does: record its batch, follow all of them, store the history of its part."""
    store = HistoryStore(root, "loans")
    store.record(batch)
    history = follow(store.read()[0], SPEC)
    ResultIOManager(root).dump_to_path(out, history, root / "values" / f"{batch.id}.json")
    return history


def sizes(folder: UPath) -> list[int]:
    return [one.stat().st_size for one in folder.iterdir()]


def test_what_is_stored_grows_with_the_number_of_parts_and_not_with_its_square(
    root: UPath, out: dg.OutputContext, into: dg.InputContext
) -> None:
    for number in range(40):
        history = add(root, some_day(number), out)
    values, batches = sizes(root / "values"), sizes(root / "loans" / "history")
    assert len(values) == len(batches) == 40
    assert len(set(values)) == 1  # the last part's value is no larger than the first one's
    assert max(batches) < min(batches) + 20
    assert len(json.dumps(history.to_dict())) > 2 * values[0]  # the history itself does hold all batches
    assert ResultIOManager(root).load_from_path(into, root / "values" / "2026-01-01.json") == history


def test_a_history_that_is_read_has_late_and_corrected_batches_in_their_places(
    root: UPath, out: dg.OutputContext, into: dg.InputContext
) -> None:
    for number in (0, 3, 1):
        add(root, some_day(number), out)
    add(root, some_day(3, women=90), out)
    read = ResultIOManager(root).load_from_path(into, root / "values" / "2026-01-01.json")
    assert [one.id for one in read.batches] == ["2026-01-01", "2026-01-02", "2026-01-04"]
    selected = next(one for one in read.streams if one.metric == "selection_rate")
    assert selected.events == (40, 40, 100)
    assert read == follow([some_day(0), some_day(1), some_day(3, women=90)], SPEC)


def test_a_run_reads_its_own_history_as_it_made_it(root: UPath, out: dg.OutputContext, into: dg.InputContext) -> None:
    manager, path = ResultIOManager(root), root / "values" / "2026-01-01.json"
    store = HistoryStore(root, "loans")
    store.record(some_day(0))
    made = follow(store.read()[0], SPEC)
    manager.dump_to_path(out, made, path)
    store.record(some_day(1))  # another run, before the checks of this one
    assert manager.load_from_path(into, path) == made
    assert len(ResultIOManager(root).load_from_path(into, path).batches) == 2


def test_a_history_that_was_stored_whole_is_still_read(
    root: UPath, out: dg.OutputContext, into: dg.InputContext
) -> None:
    history = follow([some_day(0), some_day(1)], SPEC)
    (root / "old.json").write_text(json.dumps({"form": "History", "value": history.to_dict()}))
    assert ResultIOManager(root).load_from_path(into, root / "old.json") == history
    ResultIOManager(root).dump_to_path(out, {"verdict": {}}, root / "document.json")
    assert ResultIOManager(root).load_from_path(into, root / "document.json") == {"verdict": {}}


def test_somebody_elses_asset_gets_the_history_of_all_parts(
    tmp_path: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance
) -> None:
    rng = np.random.default_rng(0)
    for number in (1, 2, 3):
        rows = 300
        frame = {"sex": rng.choice(["f", "m"], rows), "age": rng.integers(18, 80, rows), "region": "north",
                 "income": rng.normal(50, 10, rows), "repaid": rng.integers(0, 2, rows)}  # fmt: skip
        pd.DataFrame(frame | {"approved": rng.integers(0, 2, rows)}).to_csv(
            tmp_path / f"2026-01-0{number}.csv", index=False
        )
    spec = make_spec(
        tmp_path / "{partition}.csv",
        bias_variable={"derive": "error", "label": "repaid", "prediction": "approved"},
        partition_by={"time": "daily", "start": "2026-01-01"},
    )
    seen = []

    @dg.asset(
        ins={"history": dg.AssetIn(key=["loans", "bias_history"])},
        partitions_def=dg.DailyPartitionsDefinition("2026-01-01"),
    )
    def theirs(history: Any) -> None:
        seen.append(history)

    defs = dg.Definitions.merge(
        bias_audit_definitions(spec),
        dg.Definitions(
            assets=[theirs],
            jobs=[dg.define_asset_job("mine", selection=[theirs], executor_def=dg.in_process_executor)],
        ),
    )
    job = defs.resolve_job_def("loans_audit").get_subset(
        asset_selection={dg.AssetKey(["loans", one]) for one in ASSETS}, asset_check_selection=set()
    )
    for part in ("2026-01-01", "2026-01-02", "2026-01-03"):
        made = job.execute_in_process(instance=instance, partition_key=part, run_config=QUIET)
    stored = Path(instance.storage_directory()) / "loans" / "bias_history"
    contents = [json.loads(one.read_text()) for one in stored.iterdir()]
    assert len(contents) == 3
    assert all("events" not in json.dumps(one) for one in contents)
    defs.resolve_job_def("mine").execute_in_process(instance=instance, partition_key="2026-01-01", run_config=QUIET)
    assert seen == [made.output_for_node("loans__bias_history")]
    assert len(seen[0].batches) == 3
