"""Shared by all tests."""

import gc
import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.object_store import object_store
from tests.postgres import postgresql_server

for library in ("OMP", "OPENBLAS"):
    # Several processes share the cores: threads of libraries would wait for one another, and waiting takes processors.
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A loaded machine is no defect; and the same examples each time: who looks for others takes the profile "others".
settings.register_profile("others", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("bdt", settings.get_profile("others"), derandomize=True)
settings.load_profile("bdt")
gc.set_threshold(500_000)  # most of what is there stays until the end; to look through it often is a twentieth of all


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="Run the calibration studies at their full size.")


LONG = (
    "test_faults", "test_ci_templates", "test_large_tables_in_dagster", "test_goldens", "test_docs_site",
    "test_printed", "test_in_a_browser", "test_cli", "test_alerts", "test_no_connection", "test_report_forms",
    "test_findings_calibration", "test_fairness_coverage", "test_audit_calibration", "test_run_queue",
    "test_alerts_of_runs", "test_remote_results", "test_bad_input_at_scale", "test_audit", "test_history_calibration",
    "test_depth_assets", "test_assets", "test_docs_blocks", "test_security", "test_inference_calibration",
    "test_daemon", "test_settings_of_a_run", "test_report_depth", "test_one_report", "test_history",
    "test_scan_calibration", "test_slices_calibration", "test_dask_cluster", "test_bias_gate", "test_cli_gate",
    "test_kubernetes_manifests", "test_group_assets", "test_report_groups", "test_stage_override",
    "test_characteristics_calibration", "test_dg_project", "test_broken_off", "test_program",
    "test_findings", "test_several_splits_calibration", "test_blanks_calibration",
)  # fmt: skip
"""Files that take longest; those that mostly wait, for daemons and queues, are not begun at the same time."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest is begun first, so that no process is left alone with it at the end."""
    begun = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda one: begun.get(one.path.stem, len(begun)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported stays until the end: no collection of garbage looks through it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def texts_measured_once() -> Iterator[None]:
    """Figures say the same again and again: what a text measures in a font is asked once, else a third of a drawing."""
    from matplotlib import rcParams
    from matplotlib.textpath import TextToPath

    measure, known = TextToPath.get_text_width_height_descent, {}

    def measured(self: TextToPath, s: str, prop: Any, ismath: Any) -> tuple[float, float, float]:
        key = (s, prop.copy(), ismath, *rcParams["font.sans-serif"])
        if key not in known:
            known[key] = measure(self, s, prop, ismath)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextToPath, "get_text_width_height_descent", measured)
        yield


@pytest.fixture(scope="session", autouse=True)
def publication_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Forms for publication have the same noise each time, and no key of the user's is made or read."""
    path = tmp_path_factory.mktemp("keys") / "publication.key"
    path.write_text(32 * "60")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BDT_PUBLICATION_KEY", str(path))
        yield


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the calibration studies run at full size."""
    return bool(request.config.getoption("--full"))


@pytest.fixture
def postgresql() -> Iterator[str]:
    """A PostgreSQL server of the test's own, as a SQLAlchemy URL."""
    with postgresql_server() as server:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)


@pytest.fixture
def bucket() -> Iterator[str]:
    """A URL in an object store of the test's own, whose keys are in the environment."""
    with object_store() as url:
        yield url
