"""The inbox: every whole file is audited once, a bad one is put aside with its reason, and the sensor never sticks."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from upath import UPath

from bdt_core.spec import AuditSpec, Inbox
from bdt_pipeline.assets.partitions import inbox_partitions
from bdt_pipeline.automation import inbox_sensor
from bdt_pipeline.automation.inbox_sensor import settled
from bdt_pipeline.resources.inbox import Arrived, look_into, put_aside
from tests.deadly import deadly
from tests.pipeline.asked_sensors import AskedSensor

Make = Callable[..., AuditSpec]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


@pytest.fixture
def spec(folder: Path, make_spec: Make) -> AuditSpec:
    inbox = {"folder": str(folder), "pattern": "*.csv", "settle": 0, "every": 1}
    return make_spec(folder / "{partition}", inbox=inbox)


class Watched(AskedSensor):
    """A sensor whose runs are carried out."""

    def audit(self, key: str, **tags: str) -> dg.ExecuteInProcessResult:
        job = self.defs.resolve_job_def(f"{self.spec.name}_audit")
        return job.execute_in_process(
            instance=self.instance, partition_key=key, raise_on_error=False, run_config=QUIET, tags=tags
        )


def test_a_file_is_audited_once(
    loans: pd.DataFrame, folder: Path, spec: AuditSpec, instance: dg.DagsterInstance
) -> None:
    watched = Watched(spec, instance)
    assert watched.look() == []
    loans.to_csv(folder / "march.csv", index=False)
    (request,) = watched.look()
    assert request.partition_key == "march.csv"
    assert watched.look() == []
    report = watched.audit("march.csv").output_for_node("loans__bias_report")
    assert report["data"]["rows"] == len(loans)
    assert instance.get_materialized_partitions(dg.AssetKey(["loans", "bias_report"])) == {"march.csv"}


def test_a_corrected_file_is_audited_again(loans: pd.DataFrame, folder: Path, spec: AuditSpec,
                                           instance: dg.DagsterInstance) -> None:  # fmt: skip
    watched = Watched(spec, instance)
    loans.to_csv(folder / "march.csv", index=False)
    assert len(watched.look()) == 1
    loans[:1400].to_csv(folder / "march.csv", index=False)
    assert [one.partition_key for one in watched.look()] == ["march.csv"]


def test_a_file_that_ends_the_run_is_put_aside_by_the_next_one(
    loans: pd.DataFrame, folder: Path, spec: AuditSpec, instance: dg.DagsterInstance
) -> None:
    watched, again = Watched(spec, instance), {"dagster/parent_run_id": str(uuid.uuid4())}
    instance.add_dynamic_partitions(inbox_partitions(spec), ["deadly.csv", "march.csv"])
    loans.to_csv(folder / "march.csv", index=False)
    assert watched.audit("march.csv", **again).success
    with deadly(folder / "deadly.csv") as died:
        assert not watched.audit("deadly.csv", **again).success
    assert len(died) == 1
    assert {one.name for one in folder.iterdir()} == {"march.csv", "quarantine"}
    assert "ends the program that reads it" in (folder / "quarantine" / "deadly.csv.reason.txt").read_text()


def test_other_and_unfinished_files_are_passed_over(folder: Path, spec: AuditSpec) -> None:
    for name in (".hidden.csv", "_half.csv", "x.csv.part", "x.csv.tmp", "notes.txt", "good.csv"):
        (folder / name).write_text("a,b\n1,2\n")
    (folder / "folder.csv").mkdir()
    assert spec.inbox is not None
    assert [one.name for one in look_into(spec.inbox)] == ["good.csv"]


def test_a_file_that_still_grows_is_waited_for() -> None:
    growing = [Arrived("a.csv", "1 bytes")]
    known, whole = settled(growing, {}, 0.0, 5.0)
    assert whole == []
    known, whole = settled([Arrived("a.csv", "2 bytes")], known, 6.0, 5.0)
    assert whole == []
    known, whole = settled([Arrived("a.csv", "2 bytes")], known, 10.0, 5.0)
    assert whole == []
    known, whole = settled([Arrived("a.csv", "2 bytes")], known, 11.0, 5.0)
    assert [one.name for one in whole] == ["a.csv"]
    assert settled([Arrived("a.csv", "2 bytes")], known, 99.0, 5.0)[1] == []
    known, _ = settled([], known, 100.0, 5.0)
    assert known == {}


def test_very_many_files_come_in_portions() -> None:
    files = [Arrived(f"{i:04d}.csv", "1") for i in range(250)]
    known: dict[str, object] = {}
    taken = []
    for look in range(4):
        known, whole = settled(files, known, float(look), 0.0)
        assert len(whole) <= inbox_sensor.MOST_OF_A_LOOK
        taken += whole
    assert taken == files


BAD = {
    "empty.csv": ("", "is empty"),
    "ragged.csv": ("a,b\n1,2\n1,2,3\n", "line 3"),
    "columns.csv": ("age,region\n" + "30,north\n" * 400, "income"),
    "few.csv": ("age,region,income,sex,error\n" + "30,north,1,f,0\n31,south,2,m,1\n" * 5, "row"),
    "text.csv": (
        "age,region,income,sex,error\n" + "30,north,1,f,no\n31,south,2,m,maybe\n" * 200,
        "error",
    ),
}


def invalid_texts() -> bytes:
    """A Parquet file with a column of texts that are no UTF-8."""
    raw = pa.array([b"x", b"\xff"] * 200)
    texts = pa.Array.from_buffers(pa.string(), 400, raw.buffers())
    file = io.BytesIO()
    pq.write_table(pa.table({"region": texts, "error": [0, 1] * 200}), file)
    return file.getvalue()


def outcomes_in_lists() -> bytes:
    """A Parquet file whose outcome is a list in each row."""
    file = io.BytesIO()
    pq.write_table(pa.table({"region": ["north", "south"] * 200, "error": [[1], [0, 1]] * 200}), file)
    return file.getvalue()


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "half.jsonl": (b'{"age": 1, "region": "\\ud800", "error": 1}\n', "half a letter"),
    "deep.jsonl": (b"[" * 100_000, "nested too deep"),
    "twice.jsonl": (b'{"age": 1, "age": 2, "error": 1}\n', "stands there twice"),
    "texts.parquet": (invalid_texts(), "not valid UTF-8"),
    "lists.parquet": (outcomes_in_lists(), "400 values are not numbers"),
    "damaged.xlsx": (b"PK\3\4damaged", "cannot be read as a table"),
    "damaged.csv.gz": (b"\x1f\x8bdamaged", "cannot be read as a table"),
}


@pytest.mark.parametrize("name", [*BAD, *UNREADABLE])
def test_a_bad_file_is_put_aside_with_its_reason(
    name: str, folder: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    inbox = {"folder": str(folder), "pattern": "*.*", "settle": 0, "every": 1}
    spec = make_spec(folder / "{partition}", inbox=inbox)
    content, reason = (BAD[name][0].encode(), BAD[name][1]) if name in BAD else UNREADABLE[name]
    (folder / name).write_bytes(content)
    watched = Watched(spec, instance)
    assert len(watched.look()) == 1
    assert not watched.audit(name).success
    aside = folder / "quarantine" / name
    assert aside.read_bytes() == content
    assert reason in (folder / "quarantine" / f"{name}.reason.txt").read_text()
    assert not (folder / name).exists()
    assert watched.look() == []


def test_labels_that_are_late_put_no_file_aside(
    loans: pd.DataFrame, folder: Path, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    """They are not the file's fault: it stays, and its run is right once they are there."""
    inbox = {"folder": str(folder), "settle": 0}
    labels = tmp_path / "labels.csv"
    source = {"path": str(folder / "{partition}"), "join": {"path": str(labels), "key": "person_id"}}
    spec = make_spec("x.csv", inbox=inbox, source=source)
    loans.drop(columns="error").to_csv(folder / "march.csv", index=False)
    watched = Watched(spec, instance)
    assert len(watched.look()) == 1
    assert not watched.audit("march.csv").success
    assert (folder / "march.csv").exists()
    assert not (folder / "quarantine").exists()
    loans[["person_id", "error"]].to_csv(labels, index=False)
    assert watched.audit("march.csv").output_for_node("loans__bias_report")["data"]["rows"] == len(loans)


def test_an_inbox_in_a_bucket(loans: pd.DataFrame, bucket: str, make_spec: Make, instance: dg.DagsterInstance) -> None:
    inbox = UPath(bucket) / "inbox"
    spec = make_spec(f"{inbox}/{{partition}}", inbox={"folder": str(inbox), "pattern": "*.csv", "settle": 0})
    watched = Watched(spec, instance)
    assert watched.look() == []
    content, reason = BAD["ragged.csv"]
    (inbox / "bad.csv").write_text(content)
    (inbox / "march.csv").write_text(loans.to_csv(index=False))
    assert [one.partition_key for one in watched.look()] == ["bad.csv", "march.csv"]
    assert watched.look() == []
    assert watched.audit("march.csv").output_for_node("loans__bias_report")["data"]["rows"] == len(loans)
    assert not watched.audit("bad.csv").success
    inbox.fs.invalidate_cache()
    assert reason in (inbox / "quarantine" / "bad.csv.reason.txt").read_text()
    assert {one.name for one in inbox.iterdir()} == {"march.csv", "quarantine"}

    text = loans.to_csv(index=False)
    (inbox / "march.csv").write_text(text[:-2] + "x\n")  # as long as before, within the same second perhaps
    assert [one.partition_key for one in watched.look()] == ["march.csv"]


def test_a_name_that_cannot_be_a_part_is_put_aside_at_once(
    folder: Path, spec: AuditSpec, instance: dg.DagsterInstance
) -> None:
    (folder / "line\nbreak.csv").write_text("a,b\n1,2\n")
    (folder / "dots...csv").write_text("a,b\n1,2\n")
    assert Watched(spec, instance).look() == []
    assert len(list((folder / "quarantine").glob("*.reason.txt"))) == 2


def test_nothing_in_quarantine_is_overwritten(folder: Path) -> None:
    inbox = Inbox(folder=str(folder))
    for content in ("first", "second"):
        (folder / "a.csv").write_text(content)
        assert put_aside(inbox, "a.csv", "bad") is not None
    kept = {one.read_text() for one in (folder / "quarantine").glob("*a.csv")}
    assert kept == {"first", "second"}
    assert put_aside(inbox, "a.csv", "bad") is None


def test_an_inbox_that_cannot_be_listed_is_no_error_but_says_so(
    make_spec: Make, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    (tmp_path / "file").write_text("not a folder")
    spec = make_spec("{partition}", inbox={"folder": str(tmp_path / "file" / "inbox"), "settle": 0})
    watched = Watched(spec, instance)
    assert watched.look() == []
    spec = make_spec("{partition}", inbox={"folder": "${NO_SUCH_VARIABLE}/inbox", "settle": 0})
    watched = Watched(spec, instance)
    assert watched.look() == []
    assert "NO_SUCH_VARIABLE, which is not set" in str(watched.skipped)
