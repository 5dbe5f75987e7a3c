"""Names and addresses: none leads out of its folder, and none takes a password along."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest
from upath import UPath

from bdt_core.errors import SourceError, SpecError
from bdt_core.spec import AuditSpec, Clustering, Inbox, Source, Split, parse_spec
from bdt_core.table.sources import read_table
from bdt_pipeline import Stages, bias_audit_definitions
from bdt_pipeline.resources.inbox import put_aside
from bdt_pipeline.resources.storage import storage_root, write_folder

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
SECRET = "VerySecret77"
FRAME = pd.DataFrame({"id": range(6), "age": [20.5, 30, 40, 50, 60, 70]})
Make = Callable[..., AuditSpec]


# --- passwords --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        {"path": f"https://me:{SECRET}@127.0.0.1/x.csv"},
        {"path": "a.csv", "join": {"path": f"ftp://me:{SECRET}@127.0.0.1/x.csv", "key": "id"}},
        {"path": "a.csv", "arrays": {"p": f"sftp://me:{SECRET}@127.0.0.1/p.npy"}},
        {"sql": "select 1", "database": f"postgresql+psycopg://127.0.0.1/x?user=me&password={SECRET}"},
    ],
)
def test_a_source_that_holds_a_password_is_refused(source: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="holds a password") as caught:
        parse_spec({"name": "a", "source": source, "bias_variable": {"column": "y"}})
    assert SECRET not in str(caught.value)


def test_an_inbox_and_a_storage_that_hold_a_password_are_refused(
    make_spec: Make, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SpecError, match="holds a password") as caught:
        make_spec("{partition}", inbox={"folder": f"ftp://me:{SECRET}@127.0.0.1/inbox"})
    assert SECRET not in str(caught.value)
    monkeypatch.setenv("BDT_STORAGE", f"ftp://me:{SECRET}@127.0.0.1/results")
    with pytest.raises(SpecError, match="holds a password") as caught:
        storage_root(instance)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        "ftp://me:${FILE_PASSWORD}@127.0.0.1:9/x.csv",
        "https://me:${FILE_PASSWORD}@127.0.0.1:9/x.csv",
        "https://127.0.0.1:9/x.csv?sig=${FILE_PASSWORD}",
        "${WHOLE_ADDRESS}",
    ],
)
def test_what_came_from_the_environment_stays_out_of_messages(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FILE_PASSWORD", SECRET)
    monkeypatch.setenv("WHOLE_ADDRESS", f"ftp://me:{SECRET}@127.0.0.1:9/x.csv")
    for source in (Source(path=path), Source(path="demo:compas", arrays={"p": path})):
        with pytest.raises(SourceError) as caught:
            read_table(source)
        assert SECRET not in str(caught.value)
        assert path in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg://me:{}@127.0.0.1:1/loans?connect_timeout=1",
        "postgresql+psycopg://me:x@{}@127.0.0.1:1/loans?connect_timeout=1",
        "postgresql+psycopg://me:x/y@{}:z@127.0.0.1:1/loans?connect_timeout=1",
        "postgresql+psycopg://127.0.0.1:1/loans?connect_timeout=1&password={}",
        "postgresql+psycopg://me:{}@[::1/loans",
        "sqlite:////no/folder/x.db?password={}",
    ],
)
def test_no_form_of_a_databases_password_is_told(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is not escaped as a URL wants it, so that it is taken for the host or the port."""
    monkeypatch.setenv("DATABASE", address.format(SECRET))
    with pytest.raises(SourceError) as caught:
        read_table(Source(sql="select 1 as a, 2 as b", database="${DATABASE}"))
    assert SECRET not in str(caught.value)


def test_tokens_of_those_who_are_told_are_not_stored(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    """A report goes to many hands, and shows its specification."""
    notify = [f"slack://{SECRET}/channel", "${HOOK}", "mailtos://${SMTP}", f"json://me:{SECRET}@${{HOST}}/x"]
    derived = {"derive": "error", "label": "repaid", "prediction": "approved"}
    spec = make_spec(loans_file, notify=notify, bias_variable=derived, slices=None, gate=[])
    assert spec.to_dict()["notify"] == ["slack://...", "${HOOK}", "mailtos://${SMTP}", "json://..."]
    assert spec.notify == notify  # the sensor has them
    job = bias_audit_definitions(spec).resolve_job_def("loans_audit")
    run = job.execute_in_process(instance=instance, raise_on_error=False, run_config=QUIET)
    assert run.success
    files = [one for one in Path(instance.storage_directory()).rglob("*") if one.is_file()]
    assert len(files) > 12
    assert [one.name for one in files if SECRET.encode() in one.read_bytes()] == []
    assert SECRET not in "".join(str(one) for one in instance.all_logs(run.run_id))


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("a\0b", "control characters"),
        ("a\nb", "control characters"),
        ("x" * 300, "at most 180 bytes"),
        ("人" * 100, "at most 180 bytes"),
        ("\udcff", "UTF-8"),
        ("..\\x", "never leads out"),
    ],
)
def test_a_name_that_makes_no_file_is_no_part(name: str, advice: str) -> None:
    with pytest.raises(SpecError, match=advice):
        parse_spec(
            {"name": "a", "source": {"path": "{partition}", "partition": name}, "bias_variable": {"column": "y"}}
        )


@pytest.mark.parametrize("remote", [False, True])
def test_a_part_is_a_name_and_no_pattern(remote: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a file named "*" would be audited with the rows of all others."""
    folder = UPath(f"memory://{tmp_path.name}") if remote else UPath(tmp_path)
    for name in ("a.csv", "b.csv", "[ab].csv"):
        (folder / name).write_text(FRAME.assign(name=name).to_csv(index=False))
    source = Source(path=f"{folder}/{{partition}}.csv")
    for part in ("*", "?", "**"):
        with pytest.raises(SourceError):
            read_table(source.model_copy(update={"partition": part}))
    assert set(read_table(source.model_copy(update={"partition": "[ab]"}))["name"]) == {"[ab].csv"}
    assert len(read_table(Source(path=f"{folder}/?.csv"))) == 12  # a pattern of the specification still is one


def test_a_part_is_nobodys_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    FRAME.to_csv(tmp_path / "home" / "x.csv", index=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match="would name a home"):
        read_table(Source(path="{partition}/x.csv", partition="~"))


def test_values_of_a_part_stay_in_the_folder_of_their_asset(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    """Also when the run begins behind the source."""
    spec = make_spec(tmp_path / "{partition}.csv", partition_by={"dynamic": "parts"})
    instance.add_dynamic_partitions("parts", ["good", "../outside"])
    loans.to_csv(tmp_path / "good.csv", index=False)
    job = bias_audit_definitions(spec).resolve_job_def("loans_audit")

    def run(part: str, *assets: str) -> dg.ExecuteInProcessResult:
        selection = [dg.AssetKey(["loans", one]) for one in assets]
        return job.execute_in_process(
            instance=instance, partition_key=part, run_config=QUIET, raise_on_error=False, asset_selection=selection
        )

    assert run("good", "raw_data", "validated_data").success
    store = Path(instance.storage_directory()) / "loans"
    (store / "outside.parquet").write_bytes((store / "raw_data" / "good.parquet").read_bytes())
    before = set(store.rglob("*"))
    refused = run("../outside", "validated_data")
    assert not refused.success
    (failure,) = [one.step_failure_data.error for one in refused.all_events if one.is_step_failure]
    assert "never leads out of its folder" in str(failure)
    assert set(store.rglob("*")) == before


def test_files_whose_names_make_no_part_are_put_aside_and_the_sensor_goes_on(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    hostile = [b"a\\..\\b.csv", b"x" * 251 + b".csv", "人".encode() * 83 + b".csv", b"\xff\xfe.csv"]
    for name in hostile:
        (Path(os.fsdecode(bytes(inbox) + b"/" + name))).write_text("a,b\n1,2\n")
    loans.to_csv(inbox / "good.csv", index=False)
    spec = make_spec(inbox / "{partition}", inbox={"folder": str(inbox), "settle": 0})
    defs, cursor, wanted = bias_audit_definitions(spec), None, []
    for _ in range(3):
        context = dg.build_sensor_context(instance=instance, cursor=cursor, repository_def=defs.get_repository_def())
        found = defs.resolve_sensor_def("loans_inbox")(context)
        cursor = found.cursor
        wanted += [one.partition_key for one in found.run_requests]
    assert wanted == ["good.csv"]
    aside = {os.fsencode(one.name) for one in (inbox / "quarantine").iterdir()}
    assert set(hostile) <= aside
    assert sum(one.endswith(b".reason.txt") for one in aside) == len(hostile)
    assert [one.name for one in inbox.iterdir() if one.is_file()] == ["good.csv"]


def test_the_longest_name_comes_into_quarantine_twice(tmp_path: Path) -> None:
    name = "x" * 251 + ".csv"
    for content in ("first", "second"):
        (tmp_path / name).write_text(content)
        assert put_aside(Inbox(folder=str(tmp_path)), name, "bad") is not None
    contents = {one.read_text() for one in (tmp_path / "quarantine").iterdir()}
    assert contents == {"first", "second", "bad\n"}


def test_a_report_reaches_a_folder_that_is_named_by_a_url(tmp_path: Path) -> None:
    def write(local: Path) -> dict[str, Path]:
        local.mkdir(parents=True)
        (local / "report.md").write_text("text")
        return {"md": local / "report.md"}

    write_folder(UPath(f"file://{tmp_path}/new/folder"), write)
    assert (tmp_path / "new" / "folder" / "report.md").read_text() == "text"


# --- overridden stages ------------------------------------------------------------------------------------------------


class Counting(Stages):
    """Counts the calls of two stages."""

    def __init__(self) -> None:
        self.splits: list[int] = []
        self.searches: list[int] = []

    def split_rows(self, table: Any, settings: Split) -> Any:
        self.splits.append(settings.random_state)
        return super().split_rows(table, settings)

    def find_clusters(self, train: Any, settings: Clustering, progress: Any = None) -> Any:
        self.searches.append(len(train.y))
        return super().find_clusters(train, settings.model_copy(update={"max_iter": 1}), progress)


def test_repeated_splits_are_made_by_the_overridden_stages(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    """Else p-values of two different methods would be combined into one."""
    spec = make_spec(loans_file, slices=None, gate=[], split={"repeats": 3})
    stages = Counting()
    job = bias_audit_definitions(spec, stages=stages).resolve_job_def("loans_audit")
    run = job.execute_in_process(instance=instance, raise_on_error=False, run_config=QUIET)
    assert run.success
    assert len(np.unique(stages.splits)) == 3
    assert len(stages.searches) == 3
