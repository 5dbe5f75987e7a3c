"""A real daemon: files are audited once, bad ones put aside, somebody is told once; and storage on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from bdt_core.spec import AuditSpec
from benchmarks import production

Make = Callable[..., AuditSpec]
CONFIG = Path(__file__).parents[2] / "dagster.postgres.yaml"


def test_files_in_the_inbox_are_dealt_with_once(full: bool) -> None:
    found = production.watch(*((60, 6) if full else (3, 1)))
    assert found.problems() == []


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
