"""What a source says of its table holds in a run of Dagster: from the component, and from the launchpad."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.spec import AuditSpec
from bdt_pipeline import BiasAudit, bias_audit_definitions
from tests.pipeline.conftest import QUIET, settings
from tests.pipeline.test_bias_audit_component import loaded

SPELT = ("north", "North ")


@pytest.fixture
def spelt(loans: pd.DataFrame) -> pd.DataFrame:
    """The loans, where a region has two spellings, and people are born on days."""
    born = pd.Timestamp("2026-01-31") - pd.to_timedelta((loans["age"] * 365.25 + 100).astype(int), "D")
    north = loans["region"] == SPELT[0]
    region = loans["region"].where(~(north & (np.arange(len(loans)) % 3 == 0)), SPELT[1])
    return loans.drop(columns="age").assign(region=region, born=born.dt.strftime("%d-%m-%Y"))


def attributes(source: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "loans",
        "source": source,
        "bias_variable": {"column": "error"},
        "features": {"include": ["born", "region"]},
        "clustering": {"stability": 0},
        "split": {"repeats": 1},
        "slices": None,
        "worst_groups": None,
        "gate": [{"max_difference": 0.99}],
    }


def report(
    defs: dg.Definitions, instance: dg.DagsterInstance, folder: Path, given: dict[str, Any] | None = None
) -> dict[str, Any]:
    spec = AuditSpec.model_validate(attributes({"path": "loans.csv"}))
    chosen = settings(spec, {**(given or {}), "output": str(folder)})
    done = defs.resolve_job_def("loans_audit").execute_in_process(
        instance=instance, raise_on_error=False, run_config={"loggers": QUIET, **chosen}
    )
    assert done.success, [one.step_failure_data.error for one in done.all_events if one.is_step_failure]
    (written,) = folder.rglob("report.json")
    found: dict[str, Any] = json.loads(written.read_text())
    return found


def facts(found: dict[str, Any]) -> tuple[int, bool, bool]:
    """Levels of the region, whether they are told to be merged, and whether years are ages."""
    (region,) = (one["distinct"] for one in found["data"]["columns"] if one["name"] == "region")
    notes = " ".join(found["data"]["notes"])
    return region, '("source.clean")' in notes, 'the age in whole years on 2026-01-31 ("source.ages")' in notes


def test_clean_and_ages_of_a_component_and_of_the_launchpad(
    spelt: pd.DataFrame, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    spelt.to_csv(tmp_path / "loans.csv", index=False)
    spelt.to_parquet(tmp_path / "loans.parquet")
    keys = {"clean": True, "ages": {"born": "2026-01-31"}}
    _, defs = loaded(attributes({"path": str(tmp_path / "loans.csv"), **keys}), BiasAudit)
    assert facts(report(defs, instance, tmp_path / "component")) == (4, True, True)
    _, defs = loaded(attributes({"path": str(tmp_path / "loans.parquet")}), BiasAudit)
    assert facts(report(defs, instance, tmp_path / "launchpad", {"source": keys})) == (4, True, True)


def test_clean_and_ages_of_a_table_that_an_asset_is(
    spelt: pd.DataFrame, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    @dg.asset
    def people() -> pd.DataFrame:
        return spelt

    keys = {"clean": True, "ages": {"born": "2026-01-31"}}
    audit = bias_audit_definitions(AuditSpec.model_validate(attributes({"asset": "people", **keys})))
    dg.materialize([people], instance=instance, run_config={"loggers": QUIET})
    defs = dg.Definitions.merge(audit, dg.Definitions(assets=[people]))
    assert facts(report(defs, instance, tmp_path / "out")) == (4, True, True)


@pytest.mark.parametrize("memory", ["in_memory", "out_of_core"])
def test_several_labels_of_each_row(
    memory: str, loans: pd.DataFrame, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    """The report is the one that is made without Dagster: groups are counted on stacked rows, too."""
    some = loans.reset_index(drop=True).rename_axis("nr").reset_index()
    some.assign(then=some["error"].sample(frac=1.0, random_state=1).to_numpy()).to_csv(tmp_path / "l.csv", index=False)
    rows = {"now": {"wrong": "error"}, "then": {"wrong": "then"}}
    asked = attributes({"path": str(tmp_path / "l.csv"), "stacked": {"by": "when", "rows": rows}}) | {
        "bias_variable": {"derive": "positive_prediction", "prediction": "wrong", "better": "lower"},
        "features": {"include": ["when", "region"]},
        "protected": ["sex"],
        "split": {"key": "nr", "repeats": 1, "method": "hash"},
        "clustering": {"stability": 0, "memory": memory},
    }
    _, defs = loaded(asked, BiasAudit)
    (tmp_path / "out").mkdir()
    done = defs.resolve_job_def("loans_audit").execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config={"loggers": QUIET, **settings(AuditSpec.model_validate(asked), {"output": str(tmp_path / "out")})},
    )
    assert done.success, [one.step_failure_data.error for one in done.all_events if one.is_step_failure]
    (written,) = (tmp_path / "out").rglob("report.json")
    found, alone = json.loads(written.read_text()), audit(None, asked).document
    assert found["data"]["rows"] == 2 * len(loans)
    for part in ("data", "groups", "clusters", "verdict", "declared_outcomes"):
        assert found[part] == alone[part], part


def test_a_broken_age_fails_the_run_with_its_key(
    spelt: pd.DataFrame, tmp_path: Path, run_audit: Callable[..., Any], instance: dg.DagsterInstance
) -> None:
    spelt.to_csv(tmp_path / "loans.csv", index=False)
    source = {"path": str(tmp_path / "loans.csv"), "ages": {"born": "1950-01-31"}}
    done = run_audit(AuditSpec.model_validate(attributes(source)), instance)
    assert not done.success
    (failed,) = (one for one in done.all_events if one.is_step_failure)
    assert "source.ages: some rows have" in str(failed.step_failure_data.user_failure_data or failed)
