"""What is installed: the wheel is built, and looked into."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    (file,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    return zipfile.ZipFile(file)


def test_dagsters_storage_on_postgresql_can_be_copied_from_where_the_package_is(wheel: zipfile.ZipFile) -> None:
    config = yaml.safe_load(wheel.read("bdt_pipeline/dagster.postgres.yaml"))
    assert config["storage"]["postgres"]["postgres_url"] == {"env": "DAGSTER_POSTGRES_URL"}


@pytest.mark.parametrize(
    "name",
    ["bdt_pipeline/dg.toml", "bdt_pipeline/proposed/spec.yaml.jinja", "bdt_pipeline_no_telemetry.pth"],
)
def test_what_is_read_at_run_time_is_there(name: str, wheel: zipfile.ZipFile) -> None:
    assert name in wheel.namelist()


def test_other_projects_find_the_component(wheel: zipfile.ZipFile) -> None:
    (points,) = [name for name in wheel.namelist() if name.endswith("dist-info/entry_points.txt")]
    assert "[dagster_dg_cli.registry_modules]\nbdt_pipeline = bdt_pipeline" in wheel.read(points).decode()
