"""No cell value reaches Dagster's event log, beyond the level names that the report shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd

from bdt_core.spec import AuditSpec
from tests.pipeline.conftest import SEARCHES

SECRET = "Zyx-Secret-41"


def test_a_text_among_numbers_is_audited_and_stays_out_of_the_event_log(
    loans: pd.DataFrame,
    tmp_path: Path,
    make_spec: Callable[..., AuditSpec],
    instance: dg.DagsterInstance,
    run_audit: Any,
) -> None:
    rows = loans.to_dict("records")
    rows[7]["age"] = SECRET
    path = tmp_path / "loans.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    result = run_audit(make_spec(path), instance, only=["raw_data", "validated_data"])
    assert instance.get_latest_materialization_event(dg.AssetKey(["loans", "validated_data"])) is not None
    assert SECRET not in "\n".join(str(one) for one in instance.all_logs(result.run_id))


def test_no_cell_value_in_the_event_log(
    loans: pd.DataFrame,
    tmp_path: Path,
    make_spec: Callable[..., AuditSpec],
    instance: dg.DagsterInstance,
    run_audit: Any,
) -> None:
    table = loans.assign(note="nothing")
    table.loc[3, "note"] = SECRET  # a column that is not audited
    table.loc[5, "person_id"] = SECRET  # an identifier
    table.loc[7, "region"] = SECRET  # a rare level of a feature
    table.loc[9, "sex"] = SECRET  # a rare level of a protected column
    table = pd.concat([table, table.iloc[[3, 3, 3]]])  # and a row that the duplicate check finds
    path = tmp_path / "loans.csv"
    table.to_csv(path, index=False)
    result = run_audit(make_spec(path, **SEARCHES), instance)
    assert instance.get_latest_materialization_event(dg.AssetKey(["loans", "bias_report"])) is not None
    log = "\n".join(str(one) for one in instance.all_logs(result.run_id))
    assert "north" in log  # level names that the report shows are there
    assert SECRET not in log
