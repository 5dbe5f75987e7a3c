"""Audits of tables larger than memory, through the assets: the report is that of the table in memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from upath import UPath

from bdt_core.audit import audit
from bdt_core.shards import engine as engine_module
from bdt_core.shards import opening
from bdt_core.spec import AuditSpec, parse_spec
from bdt_pipeline import bias_audit_definitions
from bdt_pipeline.assets import large_tables
from tests.object_store import object_store
from tests.pipeline.conftest import SEARCHES

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
ROWS, LARGE_ROWS, SHARD_ROWS = 4_000, 1_500, 1_000
OUT_OF_CORE = {"memory": "out_of_core"}
DASK = {"dask": {"local_workers": 2}}
DAYS = ("2026-01-01", "2026-01-02")
UP_TO_VALIDATED = [dg.AssetKey(["loans", one]) for one in ("raw_data", "validated_data")]
PARTS = [dg.AssetKey(["loans", one]) for one in ("train_data", "test_data")]
EVERYTHING: dict[str, Any] = {
    "groups": {"score": "score", "similar_by": ["income"]},
    "local_bias": {"group": "sex", "n_clusters": 3},
    "mitigation": {"group": "sex", "score": "score"},
    **SEARCHES,
}


def people(seed: int) -> pd.DataFrame:
    """Loans; the algorithm errs far more often for young women."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], ROWS), rng.integers(18, 80, ROWS)
    repaid = rng.integers(0, 2, ROWS)
    wrong = rng.random(ROWS) < np.where((sex == "f") & (age < 40), 0.6, 0.2)
    return pd.DataFrame(
        {
            "age": age,
            "income": rng.normal(50, 10, ROWS).round(2),
            "region": rng.choice(["north", "south", None], ROWS),
            "sex": sex,
            "score": rng.random(ROWS).round(3),
            "repaid": repaid,
            "approved": np.where(wrong, 1 - repaid, repaid),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three Parquet files that are one table."""
    folder = tmp_path_factory.mktemp("loans") / "files"
    folder.mkdir()
    frame = people(0)
    for number, start in enumerate((0, 700, 2_900)):
        stop = (700, 2_900, ROWS)[number]
        frame.iloc[start:stop].to_parquet(folder / f"{number}.parquet", index=False)
    return folder


def spec_of(path: Path | str, **changes: Any) -> AuditSpec:
    """An audit of the loans, without `SEARCHES` where they are not asked for."""
    return parse_spec(
        {
            "name": "loans",
            "source": {"path": str(path)},
            "bias_variable": {"derive": "error", "label": "repaid", "prediction": "approved"},
            "features": {"include": ["age", "income", "region"]},
            "protected": ["sex"],
            "gate": [{"max_difference": 0.05}],
            "large_rows": LARGE_ROWS,
            **dict.fromkeys(SEARCHES),
            **changes,
            "clustering": {"stability": 0, "max_iter": 3, **changes.get("clustering", {})},
        }
    )


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """One object store for all tests of this module."""
    with object_store() as url:
        yield url


@pytest.fixture(scope="module")
def engines(bucket: str) -> Iterator[dict[Any, Any]]:
    """The engines of this module, whose workers know the bucket's keys."""
    engines: dict[Any, Any] = {}
    yield engines
    for engine in engines.values():
        engine.__exit__(None, None, None)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch, engines: dict[Any, Any]) -> None:
    monkeypatch.setattr(opening, "_SHARD_ROWS", SHARD_ROWS)
    monkeypatch.setattr(engine_module, "_engines", engines)


@pytest.fixture(scope="module")
def in_memory(folder: Path) -> str:
    """The document of the plain method, all rows in memory."""
    return written(audit(None, spec_of(folder, clustering={"memory": "in_memory"})).document)


def written(document: Any) -> str:
    return json.dumps(document, sort_keys=True)


def run(
    spec: AuditSpec, instance: dg.DagsterInstance, engine: dict[str, Any] | None = None, **more: Any
) -> dg.ExecuteInProcessResult:
    """Run the audit's job; ``engine`` is what the launchpad says of it."""
    config = QUIET if engine is None else {**QUIET, "resources": {"loans_settings": {"config": {"engine": engine}}}}
    job = bias_audit_definitions(spec).resolve_job_def("loans_audit")
    return job.execute_in_process(instance=instance, raise_on_error=False, run_config=config, **more)


def failures(result: dg.ExecuteInProcessResult) -> list[str]:
    """What went wrong, but for the gate, whose verdict is meant to be a failure."""
    failed = [one for one in result.all_events if one.is_step_failure]
    return [str(one.step_failure_data.error_display_string) for one in failed if "bias_gate" not in str(one.step_key)]


def document_of(result: dg.ExecuteInProcessResult) -> str:
    assert failures(result) == []
    return written(result.output_for_node("loans__bias_report"))


def metadata_of(instance: dg.DagsterInstance, asset: str) -> dict[str, Any]:
    event = instance.get_latest_materialization_event(dg.AssetKey(["loans", asset]))
    assert event is not None
    assert event.asset_materialization is not None
    return {name: one.value for name, one in event.asset_materialization.metadata.items()}


def columns_of(root: Any) -> list[Any]:
    """Folders with the columns of a run."""
    return [run for part in (root / "loans" / "columns").iterdir() for run in part.iterdir()]


def shards_in(folder: Any) -> set[str]:
    return {one.name for one in folder.iterdir() if one.name.endswith(".table.arrow")}


def test_an_audit_out_of_core_with_every_stage(folder: Path, instance: dg.DagsterInstance) -> None:
    spec = spec_of(folder, clustering={**OUT_OF_CORE, "stability": 3}, **EVERYTHING)
    in_memory = spec_of(folder, clustering={"memory": "in_memory", "stability": 3}, **EVERYTHING)
    first = run(spec, instance)
    assert document_of(first) == written(audit(None, in_memory).document)

    root = Path(instance.storage_directory())
    raw = metadata_of(instance, "raw_data")
    assert raw["dagster/row_count"] == ROWS
    assert raw["left at its source"] == '"clustering.memory" is out_of_core'
    assert pq.read_table(root / "loans" / "raw_data.parquet").num_rows == 0
    assert pq.read_table(root / "loans" / "train_data.parquet").num_rows == 0
    parts = [metadata_of(instance, one)["dagster/row_count"] for one in ("train_data", "test_data")]
    assert sum(parts) == metadata_of(instance, "validated_data")["dagster/row_count"] == ROWS

    for asset in ("validated_data", "hbac_clusters"):
        found = metadata_of(instance, asset)
        assert (found["shards"], found["worked on by"]) == (ROWS // SHARD_ROWS, "threads of this process")
        assert "Dask dashboard" not in found

    checks = {one.check_name: one for one in first.get_asset_check_evaluations()}
    assert {"columns_exist", "few_duplicate_rows", "no_leaks", "few_categories"} <= set(checks)
    assert [name for name, one in checks.items() if not one.passed and one.blocking] == ["bias_gate"]

    said = " ".join(str(one.user_message) for one in instance.all_logs(first.run_id))
    assert f"Temporary columns go to {root / 'loans' / 'columns'}" in said
    assert "find clusters: step 3 of " in said
    (before,) = columns_of(root)
    assert before.name == first.run_id
    assert shards_in(before) == {f"{number:06d}.table.arrow" for number in range(ROWS // SHARD_ROWS)}
    again = run(spec, instance, asset_selection=UP_TO_VALIDATED)
    assert failures(again) == []
    assert [one.name for one in columns_of(root)] == [again.run_id]


def test_a_dask_cluster_of_this_machine(folder: Path, instance: dg.DagsterInstance, engines: dict[Any, Any]) -> None:
    pytest.importorskip("distributed")
    result = run(spec_of(folder, engine=DASK, **SEARCHES), instance)
    in_memory = spec_of(folder, clustering={"memory": "in_memory"}, **SEARCHES)
    assert document_of(result) == written(audit(None, in_memory).document)

    for asset in ("validated_data", "hbac_clusters"):
        found = metadata_of(instance, asset)
        assert (found["shards"], found["worked on by"]) == (ROWS // SHARD_ROWS, "a Dask cluster")
        assert found["Dask dashboard"].startswith("http://127.0.0.1:")
    assert metadata_of(instance, "raw_data")["left at its source"] == "the audit runs on a Dask cluster"
    said = [str(one.user_message) for one in instance.all_logs(result.run_id)]
    dashboard = metadata_of(instance, "validated_data")["Dask dashboard"]
    assert f"The Dask dashboard is at {dashboard}." in said
    assert f"{folder} is left where it is: the audit runs on a Dask cluster." in said
    assert {one.dashboard for one in engines.values() if hasattr(one, "dashboard")} == {dashboard}  # one for all assets


def test_a_source_that_changes_afterwards_is_not_mixed_into_the_report(
    folder: Path, in_memory: str, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """Groups are counted from what was read, and not from what the source holds by then."""
    files = shutil.copytree(folder, tmp_path / "files")
    spec = spec_of(files, clustering=OUT_OF_CORE)
    assert failures(run(spec, instance, asset_selection=UP_TO_VALIDATED)) == []
    for file in files.iterdir():
        people(1)[:100].to_parquet(file, index=False)
    graph = bias_audit_definitions(spec).resolve_asset_graph()
    others = [one for one in graph.get_all_asset_keys() if one not in UP_TO_VALIDATED]
    result = run(spec, instance, asset_selection=others)
    assert document_of(result).replace(str(files), str(folder)) == in_memory


def test_groups_that_were_not_kept_are_named(folder: Path, instance: dg.DagsterInstance) -> None:
    spec = spec_of(folder, clustering=OUT_OF_CORE)
    assert failures(run(spec, instance, asset_selection=UP_TO_VALIDATED)) == []
    gate = [{"metric": "accuracy", "facet": "region", "min": 0.1}]
    config = {**QUIET, "resources": {"loans_settings": {"config": {"gate": gate}}}}
    job = bias_audit_definitions(spec).resolve_job_def("loans_audit")
    only = [dg.AssetKey(["loans", "group_counts"])]
    result = job.execute_in_process(instance=instance, raise_on_error=False, run_config=config, asset_selection=only)
    (failure,) = failures(result)
    assert "compares groups by region, which was not kept" in failure


def test_the_launchpad_chooses_the_engine(folder: Path, in_memory: str, instance: dg.DagsterInstance) -> None:
    pytest.importorskip("distributed")
    result = run(spec_of(folder), instance, DASK)
    assert document_of(result) == in_memory
    assert metadata_of(instance, "hbac_clusters")["worked on by"] == "a Dask cluster"


def test_the_launchpad_keeps_a_large_table_in_this_process(
    folder: Path, in_memory: str, instance: dg.DagsterInstance
) -> None:
    """The specification names a cluster, and the run does without."""
    spec = spec_of(folder, engine={"dask": {"address": "tcp://127.0.0.1:9"}}, clustering=OUT_OF_CORE)
    result = run(spec, instance, {"dask": None})
    assert document_of(result) == in_memory
    assert metadata_of(instance, "hbac_clusters")["worked on by"] == "threads of this process"


def test_the_launchpad_refuses_half_an_engine(folder: Path, instance: dg.DagsterInstance) -> None:
    result = run(spec_of(folder), instance, {"dask": {"memory_limit": "1 GiB"}})
    (failure,) = failures(result)
    assert 'give either "address"' in failure


def test_a_scheduler_that_is_not_there_is_named(
    folder: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("bdt_core.shards.dask_engine._CONNECT_WITHIN", 2.0)
    monkeypatch.setenv("DASK_ADDRESS", "tcp://127.0.0.1:9")
    result = run(spec_of(folder, engine={"dask": {"address": "${DASK_ADDRESS}"}}), instance)
    (failure,) = failures(result)
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in failure
    assert columns_of(Path(instance.storage_directory())) == []


def test_a_disk_that_is_too_small_is_told_before_anything_is_written(
    folder: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=10)
    monkeypatch.setattr(large_tables.shutil, "disk_usage", lambda _: usage)
    result = run(spec_of(folder, clustering=OUT_OF_CORE), instance)
    (failure,) = failures(result)
    assert "has 0 MB free, and the temporary files of the table need about" in failure
    assert "BDT_STORAGE" in failure
    assert columns_of(Path(instance.storage_directory())) == []


def test_columns_of_a_run_that_still_works_stay(folder: Path, instance: dg.DagsterInstance) -> None:
    """Two runs of the same audit at once: the one that is first leaves the columns of the other."""
    spec = spec_of(folder, clustering=OUT_OF_CORE)
    job = bias_audit_definitions(spec).resolve_job_def("loans_audit")
    works = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED).run_id
    first = run(spec, instance, asset_selection=UP_TO_VALIDATED)
    (own,) = columns_of(Path(instance.storage_directory()))
    (own.parent / works).mkdir()
    second = run(spec, instance, asset_selection=UP_TO_VALIDATED)
    assert {one.name for one in columns_of(Path(instance.storage_directory()))} == {works, second.run_id}
    assert first.run_id != second.run_id


def test_columns_of_the_last_parts_are_kept(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    """Those of other parts go, but of one that a run works on; what stands in the history and in reports stays."""
    days = [f"2026-01-0{n}" for n in range(1, 5)]
    for seed, day in enumerate(days):
        people(seed).to_parquet(tmp_path / f"{day}.parquet", index=False)
    by_day = {"partition_by": {"time": "daily", "start": days[0]}, "keep": 2, "gate": []}
    spec = spec_of(tmp_path / "{partition}.parquet", clustering=OUT_OF_CORE, **by_day)
    root = Path(instance.storage_directory())
    run(spec, instance, partition_key=days[0])
    kept = [one for one in (root / "loans").rglob("*") if {"history", "reports"} & set(one.parts) and one.is_file()]
    before = {one: one.read_bytes() for one in kept}
    assert any("history" in one.parts for one in before)
    assert any(one.name == "report.json" for one in before)
    for day in (days[1], days[2], days[1]):  # the first goes with the third; the second is audited again
        run(spec, instance, partition_key=day, asset_selection=UP_TO_VALIDATED)
    assert {one.parent.name[:10] for one in columns_of(root)} == {days[1], days[2]}
    assert {one: one.read_bytes() for one in before} == before
    (works,) = (one for one in columns_of(root) if one.parent.name.startswith(days[2]))
    job = bias_audit_definitions(spec).resolve_job_def("loans_audit")
    running = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED).run_id
    (works.parent / running).mkdir()
    run(spec, instance, partition_key=days[3], asset_selection=UP_TO_VALIDATED)
    assert {one.parent.name[:10] for one in columns_of(root)} == {days[1], days[2], days[3]}


def test_each_part_has_columns_of_its_own(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    for seed, day in enumerate(DAYS):
        people(seed).to_parquet(tmp_path / f"{day}.parquet", index=False)
    path = tmp_path / "{partition}.parquet"
    by_day = {"partition_by": {"time": "daily", "start": DAYS[0]}}
    spec = spec_of(path, clustering=OUT_OF_CORE, **by_day)
    results = {day: run(spec, instance, partition_key=day) for day in DAYS}
    assert len(columns_of(Path(instance.storage_directory()))) == 2
    again = run(spec, instance, partition_key=DAYS[0], asset_selection=UP_TO_VALIDATED)
    kept = {one.name for one in columns_of(Path(instance.storage_directory()))}
    assert kept == {again.run_id, results[DAYS[1]].run_id}

    in_memory = spec_of(path, clustering={"memory": "in_memory"}, **by_day)
    for day in DAYS:
        source = in_memory.source.model_copy(update={"partition": day})
        expected = json.loads(written(audit(None, in_memory.model_copy(update={"source": source})).document))
        found = json.loads(document_of(results[day]))
        for document in (expected, found):
            document["spec"]["source"].pop("parameters")  # the ends of the day, which only Dagster knows
        assert found == expected


@pytest.mark.parametrize("engine", [{}, DASK], ids=["threads", "dask"])
def test_columns_in_an_object_store(
    bucket: str,
    engine: dict[str, Any],
    folder: Path,
    in_memory: str,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setenv("BDT_STORAGE", bucket)
    spec = spec_of(folder, clustering=OUT_OF_CORE, engine=engine)
    root = UPath(bucket)
    before = {one.name for one in columns_of(root)} if (root / "loans" / "columns").exists() else set()
    result = run(spec, instance)
    assert document_of(result) == in_memory
    root.fs.invalidate_cache()
    (columns,) = columns_of(root)  # those of the test before are gone
    assert before | {columns.name} >= {result.run_id} != before
    assert shards_in(columns) == {f"{number:06d}.table.arrow" for number in range(ROWS // SHARD_ROWS)}
    assert not list(Path(instance.storage_directory()).rglob("*.arrow"))


def test_a_deleted_shard_fails_the_run_once_and_the_next_run_mends_it(
    folder: Path, in_memory: str, instance: dg.DagsterInstance
) -> None:
    """Clusters are made again from train_data of an earlier run, of which a file was deleted."""
    spec = spec_of(folder, clustering=OUT_OF_CORE)
    assert failures(run(spec, instance, asset_selection=[*UP_TO_VALIDATED, *PARTS])) == []
    (columns,) = columns_of(Path(instance.storage_directory()))
    (columns / "000002.table.arrow").unlink()

    clusters = run(spec, instance, asset_selection=[dg.AssetKey(["loans", "hbac_clusters"])])
    (failure,) = failures(clusters)
    assert f"{columns / '000002.table.arrow'} is gone or damaged" in failure
    assert "run the audit again" in failure
    assert "Traceback" not in failure

    assert document_of(run(spec, instance)) == in_memory


def test_a_source_that_is_broken_leaves_the_columns_of_the_last_run(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    for number in range(2):
        people(number).to_parquet(tmp_path / f"{number}.parquet", index=False)
    spec = spec_of(tmp_path / "*.parquet", clustering=OUT_OF_CORE)
    first = run(spec, instance, asset_selection=UP_TO_VALIDATED)
    assert failures(first) == []
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(whole[:100] + bytes(len(whole) // 2) + whole[100 + len(whole) // 2 :])
    assert [one for one in failures(run(spec, instance)) if "1.parquet" in one]
    assert [one.name for one in columns_of(Path(instance.storage_directory()))] == [first.run_id]
