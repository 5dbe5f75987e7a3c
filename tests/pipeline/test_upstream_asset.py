"""The table may be somebody's own Dagster asset, in whatever form they have it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bdt_core.audit import audit
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions

FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
}


@pytest.mark.parametrize("form", [*FORMS, "path"])
def test_the_table_is_an_asset_of_somebody_elses(
    form: str,
    loans: pd.DataFrame,
    loans_file: Path,
    make_spec: Callable[..., AuditSpec],
    instance: dg.DagsterInstance,
) -> None:
    value = str(loans_file) if form == "path" else FORMS[form](pd.read_csv(loans_file))

    @dg.asset(key=["warehouse", "loans"])
    def scored_loans() -> Any:
        return value

    spec = make_spec(loans_file, source={"asset": "warehouse/loans"})
    job = dg.define_asset_job("everything", selection="*", executor_def=dg.in_process_executor)
    defs = dg.Definitions.merge(bias_audit_definitions(spec), dg.Definitions(assets=[scored_loans], jobs=[job]))
    result = defs.resolve_job_def("everything").execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )
    report = result.output_for_node("loans__bias_report")
    expected = audit(loans, make_spec(loans_file)).document
    assert report["clusters"] == expected["clusters"]
    assert report["data"]["source"] == "asset warehouse/loans"
