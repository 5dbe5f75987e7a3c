"""Small audits on real Dagster instances."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest

from bdt_core.spec import AuditSpec, parse_spec
from bdt_pipeline import bias_audit_definitions
from tests.pipeline.watched_audit import WebHook

for call in ("GRPC", "REPOSITORY_GRPC", "SCHEDULE_GRPC", "SENSOR_GRPC"):
    # On a loaded machine code servers may take their time to answer daemons and web servers, which begin with this.
    os.environ.setdefault(f"DAGSTER_{call}_TIMEOUT_SECONDS", "900")

QUIET = {"console": {"config": {"log_level": "CRITICAL"}}}


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance of its own, with storage on disk."""
    with dg.DagsterInstance.ephemeral(str(tmp_path / "home"), settings={"telemetry": {"enabled": False}}) as one:
        yield one


@pytest.fixture(scope="session")
def loans() -> pd.DataFrame:
    """1,500 people; the algorithm errs 40 points more often for the young in the north and south."""
    rng = np.random.default_rng(7)
    n = 1500
    age = rng.integers(18, 80, n).astype(float)
    region = rng.choice(["north", "south", "east", "west"], n)
    harmed = (age < 40) & np.isin(region, ["north", "south"])
    error = (rng.random(n) < np.where(harmed, 0.6, 0.2)).astype(int)
    approved = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "person_id": [f"id-{i:05d}" for i in range(n)],
            "age": age,
            "region": region,
            "income": rng.normal(50, 10, n).round(2),
            "sex": rng.choice(["f", "m"], n),
            "repaid": np.where(error == 1, 1 - approved, approved),
            "approved": approved,
            "error": error,
        }
    )


@pytest.fixture
def loans_file(loans: pd.DataFrame, tmp_path: Path) -> Path:
    """The same, as a file."""
    path = tmp_path / "loans.csv"
    loans.to_csv(path, index=False)
    return path


SEARCHES: dict[str, Any] = {"slices": {}, "worst_groups": {"permutations": 39}}
"""What an audit searches beside clusters, for tests of all that an audit makes."""


def loans_spec(path: Path | str, **changes: Any) -> AuditSpec:
    """An audit of the loans, without `SEARCHES` where they are not asked for."""
    return parse_spec(
        {
            "name": "loans",
            "source": {"path": str(path)},
            "bias_variable": {"column": "error"},
            "features": {"include": ["age", "region", "income"]},
            "protected": ["sex"],
            **dict.fromkeys(SEARCHES),
            **changes,
            "clustering": {"stability": 0, **changes.get("clustering", {})},
            "split": {"repeats": 1, **changes.get("split", {})},
        }
    )


@pytest.fixture
def make_spec() -> Callable[..., AuditSpec]:
    """The specification of an audit of the loans."""
    return loans_spec


def run(
    spec: AuditSpec,
    instance: dg.DagsterInstance,
    config: dict[str, Any] | None = None,
    only: Sequence[str] | None = None,
    **more: Any,
) -> dg.ExecuteInProcessResult:
    """Run an audit's job with some settings; ``only`` leaves the other assets and their checks out."""
    job = bias_audit_definitions(spec, **more).resolve_job_def(f"{spec.name}_audit")
    return job.execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config={"loggers": QUIET, **settings(spec, config)},
        asset_selection=None if only is None else [dg.AssetKey([spec.name, one]) for one in only],
    )


def settings(spec: AuditSpec, config: dict[str, Any] | None) -> dict[str, Any]:
    """The run configuration of settings, and of the report's ``output``."""
    given = dict(config or {})
    output = {"output": given.pop("output")} if "output" in given else {}
    return {
        "resources": {f"{spec.name}_settings": {"config": given}},
        "ops": {f"{spec.name}__bias_report": {"config": output}} if output else {},
    }


@pytest.fixture
def run_audit() -> Callable[..., dg.ExecuteInProcessResult]:
    """Runs an audit's job in this process."""
    return run


@pytest.fixture(scope="session")
def values_of_loans(loans: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an audit of the loans whose report is not made yet, as `loans_spec` has it but for the limits."""
    folder = tmp_path_factory.mktemp("values_of_loans")
    loans.to_csv(folder / "loans.csv", index=False)
    spec = loans_spec(folder / "loans.csv")
    keys = bias_audit_definitions(spec).resolve_asset_graph().get_all_asset_keys()
    with dg.DagsterInstance.ephemeral(str(folder / "home"), settings={"telemetry": {"enabled": False}}) as one:
        run(spec, one, only=[key.path[-1] for key in keys if key.path[-1] != "bias_report"])
        return Path(one.storage_directory()) / "loans"


@pytest.fixture
def up_to_report(instance: dg.DagsterInstance, values_of_loans: Path) -> None:
    """The instance has everything but the report, which tests of what comes after it make anew (``only=REPORT``)."""
    shutil.copytree(values_of_loans, Path(instance.storage_directory()) / "loans")


@pytest.fixture(scope="session")
def compas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dg.ExecuteInProcessResult, dg.DagsterInstance]]:
    """The demonstration, run once, and the instance that holds it."""
    from bdt_core.spec import load_spec

    home = tmp_path_factory.mktemp("compas")
    spec = load_spec(Path(__file__).parents[2] / "bdt_pipeline" / "defs" / "compas" / "defs.yaml")
    with dg.DagsterInstance.ephemeral(str(home), settings={"telemetry": {"enabled": False}}) as one:
        yield run(spec, one), one


@pytest.fixture
def hook() -> Iterator[WebHook]:
    """A web server that is told."""
    one = WebHook()
    yield one
    one.server.shutdown()
    one.server.server_close()
