"""What would be released: built from the sources as a release is, and looked at by the tool that uploads it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both forms of the whole, and the gate's wheel."""
    folder = tmp_path_factory.mktemp("dist")
    for options in (["."], ["--wheel", "gate"]):
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith("/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def test_twine_finds_nothing(built: Path) -> None:
    files = sorted(map(str, built.iterdir()))
    assert len(files) == 3
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_packages_say_of_themselves(built: Path) -> None:
    whole, gate = (metadata_of(next(built.glob(f"{name}-*.whl"))) for name in ("bdt_pipeline", "bdt_gate"))
    for one in (whole, gate):
        assert one["Version"] == PROJECT["version"]
        assert one["Requires-Python"] is not None
        assert "Private :: Do Not Upload" in one.get_all("Classifier", [])  # until there is a licence
        assert one["License-Expression"] is None
        assert not [url for url in one.get_all("Project-URL", []) if "example" in url]


def test_the_sources_hold_what_the_tests_and_the_site_need(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {one.partition("/")[2] for one in archive.getnames()}
    wanted = ("README.md", "CHANGELOG.md", "action.yml", "gate/pyproject.toml", "docs/site/conf.py", "docs/ci.md")
    assert set(wanted) <= names
    assert "tests/pipeline/test_packages.py" in names


@pytest.fixture(scope="module")
def wheel(built: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(next(built.glob("bdt_pipeline-*.whl"))) as archive:
        yield archive


def test_dagsters_storage_on_postgresql_can_be_copied_from_where_the_package_is(wheel: zipfile.ZipFile) -> None:
    config = yaml.safe_load(wheel.read("bdt_pipeline/dagster.postgres.yaml"))
    assert config["storage"]["postgres"]["postgres_url"] == {"env": "DAGSTER_POSTGRES_URL"}


@pytest.mark.parametrize(
    "name",
    [
        "bdt_pipeline/dg.toml",
        "bdt_pipeline/proposed/spec.yaml.jinja",
        "bdt_core/report/fonts/NotoSansDevanagari.ttf",
        "bdt_core/report/fonts/OFL.txt",
    ],
)
def test_what_is_read_at_run_time_is_there(name: str, wheel: zipfile.ZipFile) -> None:
    assert name in wheel.namelist()


def test_nothing_is_installed_that_every_python_of_the_environment_would_run(wheel: zipfile.ZipFile) -> None:
    tops = {one.partition("/")[0] for one in wheel.namelist()}
    assert tops == {"bdt_core", "bdt_pipeline", f"bdt_pipeline-{PROJECT['version']}.dist-info"}


def test_other_projects_find_the_component(wheel: zipfile.ZipFile) -> None:
    (points,) = [name for name in wheel.namelist() if name.endswith("dist-info/entry_points.txt")]
    assert "[dagster_dg_cli.registry_modules]\nbdt_pipeline = bdt_pipeline" in wheel.read(points).decode()


def test_a_tag_names_the_version() -> None:
    """A release is a tag; it must not say another version than the packages do."""
    told = subprocess.run(
        ["git", "tag", "--points-at", "HEAD", "--list", "v*"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    for tag in told.stdout.split():
        assert tag == f"v{PROJECT['version']}"


def test_the_changelog_begins_with_this_version() -> None:
    (first, *_) = re.findall(r"^## (\S+?),", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert first == PROJECT["version"]


PINNED = ("lowest.txt", "tested.txt")


def pinned(name: str) -> dict[str, str]:
    """Version of each package in a file of requirements."""
    lines = re.findall(
        r"^([\w.-]+)(?:\[[\w,-]+\])?==([\w.+!]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE
    )
    return {canonicalize_name(package): version for package, version in lines}


@pytest.mark.parametrize("name", PINNED)
def test_pinned_versions_are_in_the_ranges(name: str) -> None:
    extras = PROJECT["optional-dependencies"]
    versions = pinned(name)
    for one in map(Requirement, [*PROJECT["dependencies"], *extras["sealed"], *extras["notify"]]):
        version = versions[canonicalize_name(one.name)]
        assert one.specifier.contains(version), f"{one} and {version}"
        (lowest,) = [least.version for least in one.specifier if least.operator == ">="]
        if name == "lowest.txt":
            assert Version(version).release[: len(Version(lowest).release)] == Version(lowest).release


def test_each_file_that_was_tested_has_its_hash(tmp_path: Path) -> None:
    text = (ROOT / "requirements" / "tested.txt").read_text()
    assert "//" not in text  # no index of anybody's
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) >= len(pinned("tested.txt")) > 100  # of some, each system has its own version
    assert [one for one in entries if "--hash=sha256:" not in one] == []
    file = tmp_path / "sbom.json"
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", "requirements/tested.txt", "-o", str(file)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    parts = {canonicalize_name(one["name"]) for one in json.loads(file.read_text())["components"]}
    assert parts == pinned("tested.txt").keys()
