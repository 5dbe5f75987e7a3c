"""A real daemon: files and ticks are audited once, bad files put aside, somebody told once; storage on PostgreSQL."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteInstigatorOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    ScheduleInstigatorData,
    TickData,
    TickStatus,
)

from bdt_core.spec import AuditSpec
from benchmarks import production

Make = Callable[..., AuditSpec]
FORKED = "from tests.forked import fork_runs\nfork_runs()\n"
CONFIG = Path(__file__).parents[2] / "dagster.postgres.yaml"


def test_files_ticks_messages_and_batches_are_counted_once(full: bool) -> None:
    """The short form of ``python -m benchmarks production``."""
    found = production.watch(60, 6) if full else production.watch(2, 1, at_first=FORKED)
    assert found.problems() == []


def one_that_went_well() -> production.Outcome:
    """Two good files, one bad one, two ticks, and a table that was mended between them."""
    ran = [("good000.csv", None), ("good001.csv", None), ("bad000.csv", None), (None, "s"), (None, "s")]
    runs = [
        {"id": f"{i}", "part": part, "schedule": schedule, "start": 60.0 * i, "end": 60.0 * i + 5,
         "state": "FAILURE" if i in (2, 3) else "SUCCESS"}
        for i, (part, schedule) in enumerate(ran)
    ]  # fmt: skip
    ticks = [{"time": 60.0 * i, "state": "SUCCESS", "runs": [f"{i}"]} for i in (3, 4)]
    return production.Outcome(
        files=3,
        bad=1,
        mended=True,
        seconds=130.0,
        ledger=production.Ledger(["good000.csv", "good001.csv"], runs, ticks, [], [180.0, 240.0]),
        reasons={"bad000.csv": "bad000.csv is empty"},
        told=["loans HIGH: Run of loans_audit (bad000.csv)", *(f"portfolio {word}: {GATE}" for word in STATES)],
        batches={"loans": {"good000.csv": 400, "good001.csv": 400}, "portfolio": {"a": 6000, "b": 6000}},
        memory={"daemon": [100.0] * 1000},
    )


GATE, STATES = "bias_report: bias_gate", ("CRITICAL", "OVER")
WRONG: dict[str, Callable[[production.Outcome], object]] = {
    "audited: 1, expected 2": lambda one: one.ledger.made.pop(),
    "with more than one: good000.csv": lambda one: one.ledger.runs.append({**one.ledger.runs[0], "id": "again"}),
    "without a run": lambda one: one.ledger.runs.pop(1),
    "the run of good000.csv ended as FAILURE": lambda one: one.ledger.runs[0].update(state="FAILURE"),
    "in quarantine: 0, expected 1": lambda one: one.reasons.clear(),
    "bad000.csv lies there with the reason: ''": lambda one: one.reasons.update({"bad000.csv": ""}),
    "told 2 times: loans HIGH": lambda one: one.told.append(one.told[0]),
    "told of bad000.csv": lambda one: one.told.pop(0),
    "told of a good file": lambda one: one.told.append("loans HIGH: Run of loans_audit (good001.csv)"),
    "told of the gate, and that it is over: [False]": lambda one: one.told.pop(),
    "1 ticks, 1 missing": lambda one: one.ledger.ticks.pop(),
    "seconds from one to the next: [120]": lambda one: one.ledger.ticks[1].update(time=300.0),
    "tick with 2 runs": lambda one: one.ledger.ticks[0]["runs"].append("x"),
    "runs by schedule, but others": lambda one: one.ledger.runs.append({**one.ledger.runs[3], "id": "x"}),
    "never ended: 4": lambda one: one.ledger.runs[4].update(state="STARTED"),
    "never ended: tick at 240.0": lambda one: one.ledger.ticks[1].update(state="STARTED"),
    "sensor or schedule: boom": lambda one: one.ledger.errors.append("boom"),
    "not once with 400 rows: ['good001.csv']": lambda one: one.batches["loans"].update({"good001.csv": 800}),
    "in the history of portfolio": lambda one: one.batches["portfolio"].popitem(),
    "memory of the daemon grows: 100 MB": lambda one: one.memory.update(daemon=[100.0] * 600 + [120.0] * 600),
}


@pytest.mark.parametrize("problem", WRONG)
def test_the_count_sees_what_went_wrong(problem: str) -> None:
    outcome = one_that_went_well()
    assert outcome.problems() == []
    WRONG[problem](outcome)
    assert any(problem in one for one in outcome.problems()), outcome.problems()


def test_a_tick_under_way_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The schedule is stopped while the daemon is at a tick; the tick's run is counted."""
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    repository = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("theirs"), "__repository__")
    origin = RemoteInstigatorOrigin(repository, "minutely")
    with dg.DagsterInstance.get() as instance:
        state = InstigatorState(
            origin, InstigatorType.SCHEDULE, InstigatorStatus.RUNNING, ScheduleInstigatorData("* * * * *")
        )
        instance.add_instigator_state(state)
        data = TickData(
            state.instigator_origin_id, "minutely", InstigatorType.SCHEDULE, TickStatus.STARTED,
            timestamp=60.0, selector_id=state.selector_id,
        )  # fmt: skip
        tick = instance.create_tick(data)
        done = tick.with_status(TickStatus.SUCCESS).with_run_info(run_id="its run")
        ends = threading.Timer(2.0, instance.update_tick, [done])
        ends.start()
        production.print_last_ledger()
        ends.join()
    assert json.loads(capsys.readouterr().out)["ticks"] == [{"time": 60.0, "state": "SUCCESS", "runs": ["its run"]}]


def test_an_audit_on_postgresql(
    postgresql: str, loans_file: Path, make_spec: Make, run_audit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration that ships, on a real server."""
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", postgresql.replace("postgresql+psycopg://", "postgresql+psycopg2://"))
    monkeypatch.setenv("BDT_STORAGE", str(tmp_path / "storage"))
    (tmp_path / "dagster.yaml").write_text(CONFIG.read_text())
    assert yaml.safe_load(CONFIG.read_text())["run_retries"]["retry_on_asset_or_op_failure"] is False
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert "Postgres" in type(instance.run_storage).__name__
        result = run_audit(make_spec(loans_file, gate=[]), instance)
        assert result.success
    with dg.DagsterInstance.from_config(str(tmp_path)) as again:
        assert again.get_latest_materialization_event(dg.AssetKey(["loans", "bias_report"])) is not None
        (run,) = again.get_runs()
        assert run.status is dg.DagsterRunStatus.SUCCESS
