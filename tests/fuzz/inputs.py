"""A small valid input of every kind that the product reads, and what is asked of it."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import functools
import gzip
import io
import json
import pickle
import sqlite3
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import yaml

from tests.core.table.test_sheets_and_packed_files import open_document, workbook

SECRET = "secret"
"""Begins a value of each row: no output may hold it."""
ROWS = 90
SPEC: dict[str, Any] = {
    "name": "people",
    "source": {"path": "t.csv"},
    "bias_variable": {"derive": "error", "label": "y", "prediction": "p"},
    "features": {"exclude": ["note"]},
    "protected": ["sex"],
    "clustering": {"stability": 0, "n_init": 1, "max_iter": 2},
    "significance": {"min_rows": 5},
    "slices": None,
    "worst_groups": None,
    "gate": [{"check": "worst_cluster"}, {"metric": "selection_rate_difference", "facet": "sex", "max": 0.3}],
}
MANY_KEYS: dict[str, Any] = SPEC | {
    "source": {"path": "t.csv", "separator": ",", "encoding": "utf-8", "bad_rows": "leave_out", "missing_values": [""]},
    "bias_variable": {"derive": "error", "label": "y", "prediction": "p", "positive": 1, "better": "lower"},
    "features": {"include": ["age", "income", "region"], "kinds": {"age": "numeric"}},
    "missing": "keep",
    "split": {"test_size": 0.3, "method": "auto", "stratify": True, "random_state": 1, "repeats": 1},
    "clustering": {"method": "auto", "max_iter": 2, "n_init": 1, "stability": 1, "min_cluster_size": 0.1},
    "significance": {"alpha": 0.05, "test": "auto", "permutations": 19, "correction": "holm", "min_rows": 5},
    "groups": {"facets": ["sex", ["sex", "region"]], "score": "score", "stratum": "region", "similar_by": ["age"]},
    "legitimate": ["region"],
    "worst_groups": {"columns": ["region", "age"], "min_share": 0.1, "max_groups": 1, "permutations": 39},
    "slices": {"max_conditions": 1, "min_support": 0.1, "bins": 2, "fdr": 0.1, "max_difference": 0.5},
    "local_bias": {"group": "sex", "metric": "accuracy", "n_clusters": 2, "min_group_size": 2, "max_gap": 0.5},
    "mitigation": {"group": "sex", "score": "score", "tolerance": 0.1},
    "require": "all",
    "partition_by": None,
    "inbox": None,
    "schedule": "0 6 * * *",
    "keep": 3,
    "freshness_hours": 24.0,
    "history": {"drift": 0.05, "look_back": 3, "min_rows": 5},
    "large_rows": 1000000,
}  # fmt: skip
CLARIFY: dict[str, Any] = {
    "dataset_type": "text/csv",
    "headers": ["age", "income", "sex", "region", "y", "p", "score", "note"],
    "label": "y",
    "label_values_or_threshold": [1],
    "facet": [{"name_or_index": "sex", "value_or_threshold": ["f"]}],
    "group_variable": "region",
    "predicted_label": "p",
    "excluded_columns": ["note"],
    "segment_config": [{"name_or_index": "region", "segments": [["north"]]}],
    "methods": {"pre_training_bias": {"methods": "all"}, "post_training_bias": {"methods": "all"}},
}

Files = dict[str, bytes]
Form = Literal["text", "lines of JSON", "document", "frame", "bytes", "types", "in memory", "encoding", "names", "url"]


@dataclass(frozen=True)
class Kind:
    """An input of one kind.

    Attributes
    ----------
    name : str
    mutated : str
        The file that is mutated; others are as they should be.
    form : str
        What can be mutated in it beside bytes: separated text, a document of JSON or YAML, or a frame; or what alone
        is mutated: types of a frame's columns, a frame that is in memory, the encoding of a text, names, an address.
    files : callable
        Makes all files.
    commands : tuple of list of str
        What `bdt` is asked, each a whole run; ``{folder}`` is where the files are.
    of_frame : callable or None
        Makes the file of a frame, for the form ``frame``.
    read : callable or None
        Reads the table in a folder; None where it has no rows to be counted.
    """

    name: str
    mutated: str
    form: Form
    files: Callable[[], Files]
    commands: tuple[list[str], ...] = ()
    of_frame: Callable[[pd.DataFrame], bytes] | None = None
    read: Callable[[Path], pd.DataFrame] | None = None


def people(rows: int = ROWS) -> pd.DataFrame:
    """A table whose every column is used."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "income": np.round(rng.normal(2000, 300, rows), 2),
            "sex": rng.choice(["f", "m"], rows),
            "region": rng.choice(["north", "south", "west"], rows),
            "y": rng.integers(0, 2, rows),
            "p": rng.integers(0, 2, rows),
            "score": np.round(rng.random(rows), 3),
            "note": [f"{SECRET}-{row:03}x" for row in range(rows)],
        }
    )


def _spec(**keys: Any) -> bytes:
    return yaml.safe_dump(SPEC | keys, sort_keys=False).encode()


def _csv(frame: pd.DataFrame, **options: Any) -> bytes:
    return frame.to_csv(index=False, **options).encode()


def _json_list(frame: pd.DataFrame) -> bytes:
    return frame.to_json(orient="records").encode()


def _json_lines(frame: pd.DataFrame) -> bytes:
    return frame.to_json(orient="records", lines=True).encode()


def _parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()


def _cells(frame: pd.DataFrame) -> list[list[object]]:
    return [list(frame.columns), *frame.astype(object).to_numpy().tolist()]


def _xlsx(frame: pd.DataFrame) -> bytes:
    return workbook(people=_cells(frame))


def _ods(frame: pd.DataFrame) -> bytes:
    return open_document(_cells(frame))


def _zip(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content)
    return file.getvalue()


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _pickle(frame: pd.DataFrame) -> bytes:
    """A frame as it is: types and index are part of it."""
    return pickle.dumps(frame)


def _accents() -> bytes:
    """A text of which each encoding makes other bytes."""
    names = {"north": "nørd", "south": "süd", "west": "Łódź"}
    return _csv(people().replace({"region": names}))


def _sqlite(frame: pd.DataFrame) -> bytes:
    with sqlite3.connect(":memory:") as base:
        base.execute(f"create table people ({', '.join(map(_identifier, frame.columns))})")
        marks = ", ".join("?" * len(frame.columns))
        base.executemany(f"insert into people values ({marks})", frame.astype(object).to_numpy().tolist())
        base.commit()
        return base.serialize()


def _identifier(name: object) -> str:
    return '"' + str(name).replace('"', '""').replace("\0", "") + '"'


def _dates() -> bytes:
    days = [str(dt.date(1950, 1, 1) + dt.timedelta(days=200 * row)) for row in range(ROWS)]
    return _csv(people().assign(born=days))


def _quoted() -> bytes:
    frame = people()
    frame["note"] += "\nsays, often"
    return _csv(frame, quoting=1)


def _embeddings() -> bytes:
    return _npy(np.random.default_rng(4).normal(size=(ROWS, 3)))


@functools.cache
def _report() -> bytes:
    """Of the valid table."""
    from bdt_core.audit import audit

    keys = copy.deepcopy(SPEC) | {"source": {"path": "t.csv"}}
    from bdt_core.report.write import canonical_json

    return canonical_json(audit(people(), keys).document).encode()


@functools.cache
def _batches() -> Files:
    """Three batches of an audit, as they are stored."""
    from bdt_core.fairness.declared_groups import count_groups
    from bdt_core.history import batch_of
    from bdt_core.spec import parse_spec
    from bdt_pipeline.resources.history_store import file_name

    spec = parse_spec(SPEC)
    files = {}
    for day in (1, 2, 3):
        name = f"2026-01-0{day}"
        time = dt.datetime(2026, 1, day, tzinfo=dt.UTC)
        batch = batch_of(count_groups(people(60 + day), spec), id=name, time=time)
        files[f"people/history/{file_name(name)}"] = json.dumps(batch.to_dict()).encode()
    return files


def _history(kind: str) -> Kind:
    first = next(iter(_batches()))
    return Kind(kind, first, "document", _batches, (["history", "people", "--storage", "{folder}"],))


GATE = ["gate", "{folder}/a.yaml", "--report", "{folder}/out"]
CLARIFY_RUN = ["clarify", "{folder}/c.json", "--data", "{folder}/t.csv", "--out", "{folder}/out"]
BASELINE_RUN = ["gate", "{folder}/a.yaml", "--baseline", "{folder}/b.json", "--format", "markdown"]


def _read(source: dict[str, Any]) -> Callable[[Path], pd.DataFrame]:
    """Reads the table of a source."""

    def read(folder: Path) -> pd.DataFrame:
        from bdt_core.spec import Source
        from bdt_core.table.sources import read_table

        return read_table(Source.model_validate(source))

    return read


def _read_encoded(folder: Path) -> pd.DataFrame:
    """Read a text in any encoding: numbers are what they were, whatever became of letters."""
    frame = _read({"path": "t.csv"})(folder)
    if len(frame) == ROWS and "age" in frame:
        assert frame["age"].tolist() == people()["age"].tolist(), "other numbers"
    return frame


def _read_named(folder: Path) -> pd.DataFrame:
    """Read the table of a specification, and find every value where it was, under whatever name."""
    from bdt_core.spec import load_spec
    from bdt_core.table.sources import read_table

    frame = read_table(load_spec(folder / "a.yaml").source)
    assert frame.shape == people().shape, f"{frame.shape}"
    assert frame.iloc[:, 0].tolist() == people()["age"].tolist(), "other numbers"
    return frame


def _read_address(folder: Path) -> pd.DataFrame:
    """Read what a specification names; a server that it names is not there."""
    from unittest.mock import patch

    from bdt_core.spec import load_spec
    from bdt_core.table.sources import read_table

    nowhere = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1", "AWS_ACCESS_KEY_ID": "x"}
    with patch.dict("os.environ", {**nowhere, "AWS_SECRET_ACCESS_KEY": "x", "AWS_EC2_METADATA_DISABLED": "true"}):
        return read_table(load_spec(folder / "a.yaml").source)


def _audit_in_memory(folder: Path) -> pd.DataFrame:
    """Audit a frame; every row of it is counted, in all and by group."""
    from bdt_core.audit import audit

    frame = pickle.loads((folder / "t.pickle").read_bytes())
    before = frame.copy(deep=True)
    document = audit(frame, SPEC).document
    assert document["data"]["rows"] == len(frame), f"{document['data']['rows']} of {len(frame)} rows"
    pd.testing.assert_frame_equal(frame, before)
    return frame


def _read_as_clarify(folder: Path) -> pd.DataFrame:
    from bdt_core.clarify.config import read_analysis_config
    from bdt_core.clarify.data import read_clarify_data

    return read_clarify_data(read_analysis_config(folder / "c.json"), str(folder / "t.csv"))[0]


def _table(kind: str, file: str, form: Form, of: Callable[[pd.DataFrame], bytes], **keys: Any) -> Kind:
    source = {"path": file, **keys}
    return Kind(
        kind,
        file,
        form,
        lambda: {file: of(people()), "a.yaml": _spec(source=source)},
        (GATE, [*GATE, "--format", "github"], ["audit", "{folder}/a.yaml", "--out", "{folder}/out"]),
        of if form in ("frame", "types") else None,
        _read(source),
    )


@functools.cache
def kinds() -> dict[str, Kind]:
    """All of them, by name."""
    sql = {"sql": "select * from people", "database": "sqlite:///t.db"}
    arrays = {"arrays": {"p": "t.npy"}}
    embedded = {"local_bias": {"group": "sex", "embeddings": "t.npy", "n_clusters": 2, "min_group_size": 2}}

    def specified() -> Files:
        return {"a.yaml": _spec(), "t.csv": _csv(people())}

    every = [
        _table("csv", "t.csv", "text", _csv),
        _table("csv_semicolon", "t.csv", "text", lambda one: _csv(one, sep=";", decimal=",")),
        _table("csv_tab", "t.tsv", "text", lambda one: _csv(one, sep="\t")),
        _table("csv_quoted", "t.csv", "text", lambda _: _quoted()),
        _table("csv_dates", "t.csv", "text", lambda _: _dates()),
        _table("csv_leave_out", "t.csv", "text", _csv, bad_rows="leave_out", clean=True),
        _table("json_lines", "t.jsonl", "lines of JSON", _json_lines),
        _table("json_list", "t.json", "document", _json_list),
        _table("parquet", "t.parquet", "frame", _parquet),
        _table("parquet_types", "t.parquet", "types", _parquet),
        Kind("frame", "t.pickle", "in memory", lambda: {"t.pickle": _pickle(people())}, (), _pickle, _audit_in_memory),
        dataclasses.replace(_table("encoding", "t.csv", "encoding", lambda _: _accents()), read=_read_encoded),
        Kind("names", "a.yaml", "names", specified, (GATE,), None, _read_named),
        Kind("url", "a.yaml", "url", specified, (), None, _read_address),
        _table("xlsx", "t.xlsx", "frame", _xlsx),
        _table("ods", "t.ods", "frame", _ods),
        _table("gz", "t.csv.gz", "frame", lambda one: gzip.compress(_csv(one), mtime=0)),
        _table("zip", "t.zip", "frame", lambda one: _zip("t.csv", _csv(one))),
        Kind(
            "sqlite", "t.db", "frame", lambda: {"t.db": _sqlite(people()), "a.yaml": _spec(source=sql)}, (GATE,),
            _sqlite, _read(sql),
        ),
        Kind(
            "npy_column", "t.npy", "bytes",
            lambda: {"t.npy": _npy(people()["p"].to_numpy()), "t.csv": _csv(people().drop(columns="p")),
                     "a.yaml": _spec(source={"path": "t.csv", **arrays})},
            (GATE,), read=_read({"path": "t.csv", **arrays}),
        ),
        Kind(
            "npy_embeddings", "t.npy", "bytes",
            lambda: {"t.npy": _embeddings(), "t.csv": _csv(people()), "a.yaml": _spec(**embedded)}, (GATE,),
        ),
        Kind("spec", "a.yaml", "document", lambda: {"a.yaml": _spec(), "t.csv": _csv(people())}, (GATE,)),
        Kind(
            "spec_many_keys", "a.yaml", "document",
            lambda: {"a.yaml": _spec(**MANY_KEYS), "t.csv": _csv(people())}, (GATE,),
        ),
        Kind(
            "clarify_config", "c.json", "document",
            lambda: {"c.json": json.dumps(CLARIFY).encode(), "t.csv": _csv(people())}, (CLARIFY_RUN,),
        ),
        Kind(
            "clarify_data", "t.csv", "text",
            lambda: {"c.json": json.dumps(CLARIFY).encode(), "t.csv": _csv(people())}, (CLARIFY_RUN,),
            read=_read_as_clarify,
        ),
        Kind(
            "clarify_without_header", "t.csv", "text",
            lambda: {"c.json": json.dumps(CLARIFY).encode(), "t.csv": _csv(people(), header=False)}, (CLARIFY_RUN,),
            read=_read_as_clarify,
        ),
        Kind(
            "baseline", "b.json", "document",
            lambda: {"b.json": _report(), "a.yaml": _spec(), "t.csv": _csv(people())}, (BASELINE_RUN,),
        ),
        _history("history"),
    ]  # fmt: skip
    return {one.name: one for one in every}


def write(files: Files, folder: Path) -> None:
    """Put files into a folder."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
