"""Tables as Parquet, results as JSON: whole or not at all, on any file system, and never a pickle."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from upath import UPath

from bdt_core.audit import audit
from bdt_core.said import Column, say
from bdt_core.spec import AuditSpec
from bdt_core.table.reading_notes import ReadingNotes
from bdt_pipeline.resources.io_managers import ResultIOManager, TableIOManager
from bdt_pipeline.resources.storage import STORAGE_VARIABLE, replacing, storage_root, write_folder
from tests.pipeline.conftest import SEARCHES


@pytest.fixture
def out() -> Iterator[dg.OutputContext]:
    """What Dagster passes when a value is stored."""
    with dg.build_output_context() as context:
        yield context


@pytest.fixture
def into() -> Iterator[dg.InputContext]:
    """What Dagster passes when a value is loaded."""
    with dg.build_input_context() as context:
        yield context


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> UPath:
    """A local folder, and one of a file system that is none."""
    path = UPath(tmp_path) if request.param == "local" else UPath(f"memory://{tmp_path.name}")
    path.mkdir(parents=True, exist_ok=True)
    return path


def test_results_come_back_the_same(
    loans: pd.DataFrame,
    make_spec: Callable[..., AuditSpec],
    folder: UPath,
    out: dg.OutputContext,
    into: dg.InputContext,
) -> None:
    result = audit(loans, make_spec("x.csv"))
    for value in (result.clusters, result.significance, result.differences):
        ResultIOManager(folder).dump_to_path(out, value, folder / "a.json")
        back = ResultIOManager(folder).load_from_path(into, folder / "a.json")
        assert type(back) is type(value)
        assert back.to_dict() == value.to_dict()
    ResultIOManager(folder).dump_to_path(out, result.document, folder / "a.json")
    assert ResultIOManager(folder).load_from_path(into, folder / "a.json") == result.document


def test_tables_come_back_the_same(
    loans: pd.DataFrame,
    make_spec: Callable[..., AuditSpec],
    folder: UPath,
    out: dg.OutputContext,
    into: dg.InputContext,
) -> None:
    manager = TableIOManager(folder)
    table = audit(loans, make_spec("x.csv")).table
    manager.dump_to_path(out, table, folder / "a.parquet")
    back = manager.load_from_path(into, folder / "a.parquet")
    pd.testing.assert_frame_equal(back.frame, table.frame)
    assert (back.spec, back.columns, back.fingerprint) == (table.spec, table.columns, table.fingerprint)

    frame = loans.assign(seen=pd.Timestamp("2024-05-01").as_unit("us"), gone=None)  # Parquet has no seconds
    notes = ReadingNotes(remarks=(say('Column "{column}" holds {what}.', column=Column("seen"), what=say("dates")),))
    frame.attrs = notes.beside({"bdt_source": {"path": "x.csv"}})
    manager.dump_to_path(out, frame, folder / "b.parquet")
    back = manager.load_from_path(into, folder / "b.parquet")
    pd.testing.assert_frame_equal(back, frame)
    assert back.attrs["bdt_source"] == frame.attrs["bdt_source"]
    assert ReadingNotes.of(back.attrs) == notes
    assert ReadingNotes.of(back.attrs).remarks[0].values["what"].id == "dates"


def test_values_of_several_sorts_come_back_the_same(
    folder: UPath, out: dg.OutputContext, into: dg.InputContext
) -> None:
    """As SQLite and JSON have them in one column."""
    values: dict[str, list[Any]] = {
        "age": [31, "unknown", None, 7.5],
        "paid": [True, 1, "ja", None],
        "tags": [{"a": 1}, [1, "b"], None, "c"],
        "large": [2**70, 1, -(2**80), None],
    }
    frame = pd.DataFrame({name: pd.Series(one, dtype=object) for name, one in values.items()})
    TableIOManager(folder).dump_to_path(out, frame, folder / "a.parquet")
    back = TableIOManager(folder).load_from_path(into, folder / "a.parquet")
    assert {
        name: [None if one is None else one for one in back[name].where(back[name].notna(), None)] for name in back
    } == values
    assert type(back["paid"][0]) is bool
    assert all(map(pd.api.types.is_object_dtype, back.dtypes))


def test_a_broken_write_leaves_the_old_value(folder: UPath) -> None:
    path = folder / "value.json"
    with replacing(path) as file:
        file.write(b"old")

    def break_off() -> None:
        with replacing(path) as file:
            file.write(b"ne")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        break_off()
    assert path.read_bytes() == b"old"
    assert [one.name for one in folder.iterdir()] == ["value.json"]


def test_a_value_is_not_there_before_it_is_whole(folder: UPath) -> None:
    path = folder / "value.json"
    with replacing(path) as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"


def test_a_pickle_is_never_loaded(folder: UPath, into: dg.InputContext) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (pytest.fail, ("a pickle was loaded",))

    for manager, path in ((ResultIOManager(folder), folder / "x.json"), (TableIOManager(folder), folder / "x.parquet")):
        path.write_bytes(pickle.dumps(Trap()))
        with pytest.raises((ValueError, OSError)):
            manager.load_from_path(into, path)


def test_only_known_forms_are_read_and_written(folder: UPath, out: dg.OutputContext, into: dg.InputContext) -> None:
    (folder / "x.json").write_text(json.dumps({"form": "os.system", "value": {}}))
    with pytest.raises(KeyError):
        ResultIOManager(folder).load_from_path(into, folder / "x.json")
    with pytest.raises(TypeError, match="set is none of the results"):
        ResultIOManager(folder).dump_to_path(out, {1, 2}, folder / "y.json")


def test_the_storage_is_configured_set_or_the_instance_own(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert str(storage_root(instance)) == instance.storage_directory()
    monkeypatch.setenv(STORAGE_VARIABLE, "memory://shared")
    assert str(storage_root(instance)).startswith("memory://")
    assert str(storage_root(instance, "/somewhere")) == "/somewhere"


def test_report_files_reach_a_remote_folder(folder: UPath) -> None:
    def write(local: Path) -> dict[str, Path]:
        local.mkdir(parents=True)
        (local / "report.md").write_text("text")
        return {"md": local / "report.md"}

    files = write_folder(folder / "reports" / "run-1", write)
    assert files["md"].read_text() == "text"
    assert str(files["md"]).startswith(str(folder))


def test_a_whole_audit_on_a_remote_storage(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance, run_audit: Any, tmp_path: Path
) -> None:
    root = UPath(f"memory://{tmp_path.name}/audits")
    result = run_audit(make_spec(loans_file, gate=[], **SEARCHES), instance, storage=str(root))
    assert result.success
    stored = {path.name for path in (root / "loans").iterdir()}
    assert {"raw_data.parquet", "bias_report.json"} <= stored
    (run,) = (root / "loans" / "reports").iterdir()
    assert (run / "report.html").exists()
