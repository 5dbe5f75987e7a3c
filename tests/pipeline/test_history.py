"""The history in Dagster: each part counted once, checks that tell, a store that no name escapes, and the command."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner
from upath import UPath

from bdt_core.history import batch_of
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions
from bdt_pipeline.cli import app
from bdt_pipeline.resources.history_store import HistoryStore, file_name
from tests.core.history.made_batches import FIRST, counted, day, history_spec

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
DERIVED = {"derive": "error", "label": "repaid", "prediction": "approved"}
GATE = [{"metric": "accuracy_difference", "facet": "sex", "min": -0.1, "max": 0.1}]
CHECKS = ("no_drift", "enough_volume", "no_difference_over_time")
ASSETS = ("raw_data", "validated_data", "group_counts", "bias_history")
Make = Callable[..., AuditSpec]


def people(seed: int, women_err: float, rows: int = 600) -> pd.DataFrame:
    """Loans of a day; the algorithm errs on a fifth of the men."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    repaid = rng.integers(0, 2, rows)
    wrong = rng.random(rows) < np.where(sex == "f", women_err, 0.2)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "region": rng.choice(["north", "south"], rows),
            "income": rng.normal(50, 10, rows).round(2),
            "sex": sex,
            "repaid": repaid,
            "approved": np.where(wrong, 1 - repaid, repaid),
        }
    )


@pytest.fixture
def by_day(tmp_path: Path, make_spec: Make) -> AuditSpec:
    """Five days; from the fourth on the algorithm errs far more often on women."""
    folder = tmp_path / "days"
    folder.mkdir()
    for number in range(5):
        frame = people(number, 0.2 if number < 3 else 0.6)
        frame.to_csv(folder / f"2026-01-0{number + 1}.csv", index=False)
    return make_spec(
        folder / "{partition}.csv",
        bias_variable=DERIVED,
        groups={"reference": "m"},
        partition_by={"time": "daily", "start": "2026-01-01"},
        gate=GATE,
    )


def run_part(spec: AuditSpec, instance: dg.DagsterInstance, part: str | None = None, **more: Any) -> Any:
    job = bias_audit_definitions(spec).resolve_job_def(f"{spec.name}_audit")
    only = [dg.AssetKey([spec.name, one]) for one in ASSETS]
    checks = [dg.AssetCheckKey(dg.AssetKey([spec.name, "bias_history"]), one) for one in CHECKS]
    job = job.get_subset(asset_selection=set(only), asset_check_selection=set(checks))
    return job.execute_in_process(
        instance=instance, partition_key=part, raise_on_error=False, run_config={**QUIET, **more}
    )


def checks_of(result: Any) -> dict[str, dg.AssetCheckEvaluation]:
    return {one.check_name: one for one in result.get_asset_check_evaluations()}


def history_of(result: Any) -> Any:
    return result.output_for_node("loans__bias_history")


def files_in(instance: dg.DagsterInstance) -> dict[str, bytes]:
    folder = Path(instance.storage_directory()) / "loans" / "history"
    return {one.name: one.read_bytes() for one in folder.iterdir()}


def test_days_in_any_order_again_and_corrected(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    for part in ("2026-01-05", "2026-01-02", "2026-01-01", "2026-01-04"):
        assert run_part(by_day, instance, part).success
    late = run_part(by_day, instance, "2026-01-03")
    history = history_of(late)
    assert [one.id for one in history.batches] == [f"2026-01-0{number}" for number in range(1, 6)]
    assert history.batches[0].time == datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    before = files_in(instance)
    assert history_of(run_part(by_day, instance, "2026-01-02")) == history
    assert files_in(instance) == before  # the same part again changes nothing

    source = Path(str(by_day.source.path).replace("{partition}", "2026-01-04"))
    people(99, 0.2).to_csv(source, index=False)
    corrected = history_of(run_part(by_day, instance, "2026-01-04"))
    changed = [name for name, content in files_in(instance).items() if content != before[name]]
    assert [name[:10] for name in changed] == ["2026-01-04"]
    assert len(corrected.batches) == 5
    assert sum(corrected.groupings[0].rows[0]) + sum(corrected.groupings[0].rows[1]) == 3000


def test_checks_warn_of_drift_and_fail_on_a_broken_limit(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    results = [run_part(by_day, instance, f"2026-01-0{number}") for number in range(1, 6)]
    calm, drifting, broken = (checks_of(results[at]) for at in (2, 3, 4))
    assert all(one.passed for one in calm.values())
    assert {one.metadata["severity"].value for one in calm.values()} == {"none"}

    drift = drifting["no_drift"]
    assert (drift.passed, drift.severity, drift.blocking) == (False, dg.AssetCheckSeverity.WARN, False)
    assert drift.partition == "2026-01-04"
    assert drift.metadata["severity"].value == "critical"
    assert "accuracy by sex, f less m" in str(drift.description)
    assert "2026-01-04" in str(drift.metadata["recommendation"].value)

    limit = broken["no_difference_over_time"]
    assert (limit.passed, limit.severity, limit.blocking) == (False, dg.AssetCheckSeverity.ERROR, False)
    assert limit.metadata["severity"].value in ("medium", "high", "critical")
    assert "Accuracy difference by sex" in str(limit.description)
    assert broken["enough_volume"].passed
    assert results[4].success  # they tell; they stop nothing


def test_few_rows_are_named_in_their_own_part(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    source = Path(str(by_day.source.path).replace("{partition}", "2026-01-02"))
    frame = people(5, 0.2)
    pd.concat([frame[frame["sex"] == "m"], frame[frame["sex"] == "f"][:60]]).to_csv(source, index=False)
    run_part(by_day, instance, "2026-01-03")
    volume = checks_of(run_part(by_day, instance, "2026-01-02"))["enough_volume"]
    assert (volume.passed, volume.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "in batch 2026-01-02" in str(volume.description)
    assert "f (sex): 60" in str(volume.description)
    assert volume.metadata["severity"].value == "high"


def test_the_asset_shows_numbers_a_figure_and_every_stream(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    for part in ("2026-01-01", "2026-01-02"):
        run_part(by_day, instance, part)
    event = instance.get_latest_materialization_event(dg.AssetKey(["loans", "bias_history"]))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    assert metadata["batches"].value == 2.0
    assert isinstance(metadata["difference so far: accuracy by sex: f less m in points"].value, float)
    assert "data:image/png;base64," in str(metadata["trend"].value)
    assert str(metadata["differences over time"].value).count("\n") == 6
    assert "accuracy_difference by sex" in str(metadata["limits over time"].value)


def test_the_launchpad_changes_the_settings(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    resources = {"loans_settings": {"config": {"history": {"min_rows": 100_000}}}}
    result = run_part(by_day, instance, "2026-01-01", resources=resources)
    assert not checks_of(result)["enough_volume"].passed
    assert history_of(result).spec.history.min_rows == 100_000


def test_a_part_waits_for_its_labels(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    """Years after its day a part is settled at once; by a guard that is longer it waits, and says so."""
    settled = by_day.model_copy(update={"history": by_day.history.model_copy(update={"labels_after": "14d"})})
    assert len(history_of(run_part(settled, instance, "2026-01-01")).batches) == 1
    longer = {"loans_settings": {"config": {"history": {"labels_after": "99999d"}}}}
    result = run_part(by_day, instance, "2026-01-02", resources=longer)
    assert history_of(result).waiting == ("2026-01-01", "2026-01-02")
    assert checks_of(result)["enough_volume"].passed
    assert result.success


def test_without_parts_every_content_is_a_batch(tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance) -> None:
    spec = make_spec(tmp_path / "loans.csv", bias_variable=DERIVED)
    people(1, 0.2).to_csv(tmp_path / "loans.csv", index=False)
    first, again = run_part(spec, instance), run_part(spec, instance)
    assert history_of(again) == history_of(first)
    people(2, 0.2).to_csv(tmp_path / "loans.csv", index=False)
    assert len(history_of(run_part(spec, instance)).batches) == 2
    event = instance.get_latest_materialization_event(dg.AssetKey(["loans", "bias_history"]))
    assert event is not None
    assert event.asset_materialization is not None
    assert "The data has no parts" in str(event.asset_materialization.metadata["notes"].value)


def test_parts_by_name_stand_where_they_were_first_seen(
    tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    spec = make_spec(tmp_path / "{partition}.csv", bias_variable=DERIVED, partition_by={"dynamic": "model"})
    instance.add_dynamic_partitions("model", ["b", "a"])
    for seed, part in enumerate(("b", "a")):
        people(seed, 0.2).to_csv(tmp_path / f"{part}.csv", index=False)
        run_part(spec, instance, part)
    people(9, 0.2).to_csv(tmp_path / "b.csv", index=False)
    assert [one.id for one in history_of(run_part(spec, instance, "b")).batches] == ["b", "a"]


# --- the store --------------------------------------------------------------------------------------------------------

SPEC = history_spec()
CELLS = {"f": (30, 10, 20, 40), "m": (60, 30, 20, 90)}
HOSTILE = [
    "../../etc/passwd", "..", ".", "/absolute", "C:\\windows", "a/b", "a\\b", "nul\0byte", "x" * 5000, "ümlaut 人",
    "CON", "a", "A", " ", ".hidden", "%2e%2e%2f", "a\nb", "a.json", "\ud800",
]  # fmt: skip


@pytest.fixture(params=["local", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> UPath:
    """A local folder, and one of a file system that is none."""
    return UPath(tmp_path / "store") if request.param == "local" else UPath(f"memory://{tmp_path.name}")


def test_no_name_escapes_the_store_or_meets_another(root: UPath) -> None:
    store = HistoryStore(root, "loans")
    for name in HOSTILE:
        assert store.record(batch_of(counted(SPEC, CELLS), id=name, time=FIRST))
    batches, unreadable = store.read()
    assert sorted(one.id for one in batches) == sorted(HOSTILE)
    assert unreadable == []
    inside = [one.name for one in (root / "loans" / "history").iterdir()]
    assert len(inside) == len(HOSTILE)
    assert len({name.lower() for name in inside}) == len(HOSTILE)  # also where case does not count
    assert [one.name for one in root.iterdir()] == ["loans"]


@given(st.text(min_size=1))
def test_file_names_are_plain_and_short(name: str) -> None:
    made = file_name(name)
    assert len(made) < 100
    assert made.isascii()
    assert not set(made) & set("/\\:\0 %~")
    assert not made.startswith(".")


def test_a_batch_is_kept_once_and_replaced_by_its_correction(root: UPath) -> None:
    store = HistoryStore(root, "loans")
    first = day(SPEC, 0, CELLS)
    assert store.record(first)
    assert not store.record(first)
    right = day(SPEC, 0, {**CELLS, "f": (31, 10, 20, 40)})
    assert store.record(right)
    ((found,), _) = store.read()
    assert found.to_dict() == right.to_dict()
    later = batch_of(right.counts, id=right.id, time=FIRST + datetime.timedelta(days=9))
    assert not store.record(later, keep_time=True)
    assert store.record(later)


def test_files_that_hold_no_batch_are_named_and_left_out(root: UPath) -> None:
    store = HistoryStore(root, "loans")
    store.record(day(SPEC, 0, CELLS))
    whole = next(iter(store.folder.iterdir())).read_bytes()
    (store.folder / file_name("2026-01-02")).write_bytes(whole[:200])
    (store.folder / "stray.json").write_bytes(whole)  # a copy under a wrong name would count twice
    (store.folder / "list.json").write_text("[]")
    (store.folder / "future.json").write_text(json.dumps({"schema": 2}))
    (store.folder / f".{file_name('2026-01-03')}.0.tmp").write_bytes(whole)
    (store.folder / "notes.txt").write_text("hello")
    batches, remarks = store.read()
    assert [one.id for one in batches] == ["2026-01-01"]
    bad = sorted([file_name("2026-01-02"), "stray.json", "list.json", "future.json"])
    assert remarks == [f"{name} holds no batch and is left out; audit its part again." for name in bad]
    assert store.record(day(SPEC, 1, CELLS))  # audited again, it is whole again
    assert len(store.read()[0]) == 2


def test_batches_of_another_audit_are_named_and_left_out(root: UPath) -> None:
    """Two histories in one folder, as after a restore into the wrong place."""
    store, other = HistoryStore(root, "loans"), HistoryStore(root, "grants")
    store.record(day(SPEC, 0, CELLS))
    strange = day(SPEC.model_copy(update={"name": "grants"}), 1, CELLS)
    other.record(strange)
    name = file_name(strange.id)
    (store.folder / name).write_bytes((other.folder / name).read_bytes())
    batches, remarks = store.read()
    assert [one.id for one in batches] == ["2026-01-01"]
    assert remarks == [
        f"{name} holds a batch of the audit grants and is left out; move it to the history of that audit."
    ]
    assert other.read() == ([strange], [])
    store.record(day(SPEC, 1, CELLS))  # the part's own batch takes the place
    assert [len(one) for one in store.read()] == [2, 0]


def test_a_batch_from_the_future_is_named_and_kept(root: UPath) -> None:
    """The clock of the machine that recorded it was ahead: no count is lost, and nobody takes it for today's."""
    store, now = HistoryStore(root, "loans"), datetime.datetime.now(datetime.UTC)
    store.record(batch_of(counted(SPEC, CELLS), id="minutes", time=now + datetime.timedelta(minutes=30)))
    assert store.read()[1] == []
    store.record(
        batch_of(counted(SPEC, CELLS), id="years", time=now.replace(year=now.year + 6, day=1, hour=14, minute=5))
    )
    batches, (remark,) = store.read()
    assert {one.id for one in batches} == {"minutes", "years"}
    assert remark.startswith(f"Batch years stands in the future, at {now.year + 6}-{now.month:02}-01 14:05 UTC, ")


def test_many_writers_and_readers_at_once(tmp_path: Path) -> None:
    store = HistoryStore(UPath(tmp_path), "loans")
    several = [day(SPEC, number % 20, {**CELLS, "f": (number, 10, 20, 40)}) for number in range(60)]
    store.record(several[0])

    def write_and_read(batch: Any) -> list[str]:
        store.record(batch)
        batches, unreadable = store.read()
        assert any(one.id == batch.id for one in batches)
        return unreadable

    with ThreadPoolExecutor(8) as writers:
        assert [one for found in writers.map(write_and_read, several) for one in found] == []
    assert len(store.read()[0]) == 20
    assert len(list(store.folder.iterdir())) == 20


def test_a_writer_that_is_killed_leaves_no_part_of_a_batch(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from upath import UPath\n"
        "from bdt_pipeline.resources.history_store import HistoryStore\n"
        "from tests.core.history.made_batches import day, history_spec\n"
        "spec, store = history_spec(), HistoryStore(UPath(sys.argv[1]), 'loans')\n"
        "print('ready', flush=True)\n"
        "number = 0\n"
        "while True:\n"
        "    number += 1\n"
        "    store.record(day(spec, number % 5, {'f': (number, 1, 2, 3), 'm': (4, 5, 6, 7)}))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parents[2])],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.1)
    process.kill()
    process.wait()
    process.stdout.close()
    batches, unreadable = HistoryStore(UPath(tmp_path), "loans").read()
    assert unreadable == []
    assert len({one.id for one in batches}) == len(batches) <= 5


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """The history of an audit, six days long."""
    spec = history_spec(gate=[{"metric": "accuracy_difference", "facet": "sex", "min": -0.1, "max": 0.1}])
    store = HistoryStore(UPath(tmp_path / "store"), "loans")
    for number in range(6):
        store.record(day(spec, number, {"f": (150, 100, 100, 50), "m": (600, 100, 100, 600)}))
    return tmp_path / "store"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No storage is set outside the test."""
    monkeypatch.delenv("BDT_STORAGE", raising=False)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)


def test_the_command_prints_the_streams_and_draws(stored: Path, tmp_path: Path) -> None:
    for ending in ("png", "svg"):
        out = tmp_path / "figures" / f"loans.{ending}"
        arguments = ["history", "loans", "--storage", str(stored), "--out", str(out)]
        result = CliRunner().invoke(app, arguments, env={"COLUMNS": "160"})
        assert result.exit_code == 0, result.output
        assert out.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")
    assert "loans: 6 batches, 2026-01-01 to 2026-01-06" in result.output
    assert "FAIL" in result.output
    for word in ("selection rate", "accuracy", "−35.7", "steady", "< 0.001", "differs since 2026-01-0"):
        assert word in result.output


def test_the_command_prints_a_limited_ratio_day_by_day(tmp_path: Path) -> None:
    gate = [{"metric": "disparate_impact", "facet": "sex", "min": 0.8}]
    spec = history_spec(gate=gate, favourable="positive", history={"look_back": "30d"})
    store = HistoryStore(UPath(tmp_path), "loans")
    for number in range(40):
        store.record(day(spec, number, {"f": (60, 40, 190, 210), "m": (300, 100, 200, 400)}))
    result = CliRunner().invoke(app, ["history", "loans", "--storage", str(tmp_path)], env={"COLUMNS": "180"})
    assert result.exit_code == 0, result.output
    (line,) = [one for one in result.output.splitlines() if one.startswith("disparate impact by sex")]
    for word in (
        "f against everybody else",
        " 0.5 ",
        "0.5 [0.4",
        "0.000 [",
        "at least 0.8",
        "fail, broken since 2026-",
    ):
        assert word in line
    assert "Trend: the last 30 batches" in " ".join(result.output.split())
    assert "not followed" not in result.output.lower()


def test_the_command_finds_the_storage_in_the_environment(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BDT_STORAGE", str(stored))
    assert CliRunner().invoke(app, ["history", "loans"]).exit_code == 0


def test_the_command_finds_the_storage_of_the_instance(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    stored.rename(home / "storage")
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    result = CliRunner().invoke(app, ["history", "loans"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["loan"], 'Did you mean "loans"?'),
        (["loans", "--out", "trend.gif"], ".png or .svg"),
    ],
)
def test_the_command_says_what_is_wrong(stored: Path, arguments: list[str], advice: str) -> None:
    result = CliRunner().invoke(app, ["history", *arguments, "--storage", str(stored)])
    assert result.exit_code == 2
    assert advice in result.output


def test_the_command_asks_for_the_storage() -> None:
    result = CliRunner().invoke(app, ["history", "loans"])
    assert result.exit_code == 2
    assert "--storage" in result.output
    empty = CliRunner().invoke(app, ["history", "loans", "--storage", "memory://nothing-here"])
    assert empty.exit_code == 2
    assert "No audit has a history there" in empty.output


def test_a_figure_that_cannot_be_written_is_an_error(stored: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    arguments = ["history", "loans", "--storage", str(stored), "--out", str(tmp_path / "file" / "a.png")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "Name another file" in result.output
