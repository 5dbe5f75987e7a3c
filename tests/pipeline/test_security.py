"""Security, on the real thing: who can reach the webserver, what is executed, where files land, who sees secrets."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing.utils import create_defs_folder_sandbox
from typer.testing import CliRunner

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec, load_spec
from bdt_core.table.sources import read_table
from bdt_pipeline import BiasAudit, bias_audit_definitions
from bdt_pipeline.cli import app
from tests import forked
from tests.pipeline.conftest import SEARCHES

ROOT = Path(__file__).parents[2]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
DERIVED = {"derive": "error", "label": "repaid", "prediction": "approved"}
Make = Callable[..., AuditSpec]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """That of a process with Dagster's home in ``folder``."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text((ROOT / "dagster.yaml").read_text())
    return {**os.environ, "DAGSTER_HOME": str(home), "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", **more}


# --- who can reach it -------------------------------------------------------------------------------------------------


def test_no_configuration_that_ships_opens_a_port_or_reports_home() -> None:
    for name in ("dagster.yaml", "dagster.postgres.yaml"):
        assert yaml.safe_load((ROOT / name).read_text())["telemetry"] == {"enabled": False}
    for name in ("dagster.yaml", "dagster.postgres.yaml", "workspace.yaml", "pyproject.toml"):
        assert "0.0.0.0" not in (ROOT / name).read_text()


# --- what is executed -------------------------------------------------------------------------------------------------


class Trap:
    """Whoever unpickles it leaves a file."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return (Path.touch, (self.trace,))


def with_traps(frame: pd.DataFrame, trap: bytes, path: Path) -> None:
    """A Parquet file that calls every column a pickled extension type, and brings a pickle in all metadata."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    extension = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": trap}
    schema = pa.schema([one.with_metadata(extension) for one in table.schema], metadata={b"pickle": trap})
    pq.write_table(table.cast(schema), path)


def test_the_trap_works(tmp_path: Path) -> None:
    """Else the tests below could not fail."""
    pickle.loads(pickle.dumps(Trap(tmp_path / "trace")))
    assert (tmp_path / "trace").exists()


def test_pickles_in_the_source_are_never_loaded(loans: pd.DataFrame, tmp_path: Path) -> None:
    trap = pickle.dumps(Trap(tmp_path / "trace"))
    with_traps(loans, trap, tmp_path / "loans.parquet")
    assert len(read_table(tmp_path / "loans.parquet")) == len(loans)
    for name in ("loans.csv", "loans.pkl", "loans.pickle", "broken.parquet", "loans.jsonl"):
        (tmp_path / name).write_bytes(trap * 3)
        with pytest.raises(ValueError, match=name):
            read_table(tmp_path / name)
    assert not (tmp_path / "trace").exists()


def test_pickles_in_the_inbox_and_in_the_store_are_never_loaded(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    trap, inbox = pickle.dumps(Trap(tmp_path / "trace")), tmp_path / "inbox"
    inbox.mkdir()
    with_traps(loans, trap, inbox / "good.parquet")
    (inbox / "bad.csv").write_bytes(trap)
    with (inbox / "array.csv").open("wb") as file:
        np.save(file, np.array([Trap(tmp_path / "trace")], dtype=object), allow_pickle=True)
    spec = make_spec(
        inbox / "{partition}", bias_variable=DERIVED, inbox={"folder": str(inbox), "settle": 0}, slices=None, gate=[]
    )
    job = bias_audit_definitions(spec).resolve_job_def("loans_audit")
    instance.add_dynamic_partitions("loans_files", ["good.parquet", "bad.csv", "array.csv"])

    def audit(part: str, **more: Any) -> dg.ExecuteInProcessResult:
        return job.execute_in_process(
            instance=instance, partition_key=part, raise_on_error=False, run_config=QUIET, **more
        )

    assert audit("good.parquet").success
    assert not audit("bad.csv").success
    assert not audit("array.csv").success
    assert {one.name for one in (inbox / "quarantine").iterdir()} >= {"bad.csv", "array.csv"}

    store = Path(instance.storage_directory()) / "loans"
    values = [one for one in store.rglob("*") if one.suffix in (".json", ".parquet") and "reports" not in one.parts]
    assert len(values) > 10
    for one in values:
        one.write_bytes(trap)
    for downstream in ("group_metrics", "hbac_clusters", "bias_history", "bias_report"):
        selection = [dg.AssetKey(["loans", downstream])]
        assert not audit("good.parquet", asset_selection=selection).success, downstream
    assert not (tmp_path / "trace").exists()


WATCHED = """
    import gc, json, sys
    gc.set_threshold(50_000)  # as in the command line
    found = {"unpickled": [], "connected": []}

    def callers():
        frame = sys._getframe()
        while frame := frame.f_back:
            yield frame.f_code.co_filename

    def hook(event, arguments):
        if event == "pickle.find_class":
            # numba keeps compiled code, and Babel how languages write, beside the code of their packages
            if not any("/numba/" in one or "/babel/" in one for one in callers()):
                found["unpickled"].append(str(arguments))
        elif event in ("socket.connect", "socket.getaddrinfo"):
            found["connected"].append(str(arguments[1:] if event == "socket.connect" else arguments[:2]))

    sys.addaudithook(hook)
    import dagster as dg
    from bdt_core.spec import load_spec
    from bdt_pipeline import bias_audit_definitions

    job = bias_audit_definitions(load_spec("loans.yaml")).resolve_job_def("loans_audit")
    with dg.DagsterInstance.get() as instance:
        run = job.execute_in_process(instance=instance, raise_on_error=False)
    print("FOUND", json.dumps({**found, "verdict": run.output_for_node("loans__bias_report")["verdict"]["verdict"]}))
    gc.freeze()
"""


def test_a_whole_audit_unpickles_nothing_and_calls_nobody(loans_file: Path, make_spec: Make, tmp_path: Path) -> None:
    """Python itself reports what is unpickled and who is called: every asset and check, values read and written."""
    spec = make_spec(
        loans_file,
        bias_variable=DERIVED,
        features={"include": ["age", "region"]},
        local_bias={"group": "sex"},
        gate=[{"metric": "accuracy_difference", "facet": "sex", "min": -0.5, "max": 0.5}],
        **SEARCHES,
    )
    (tmp_path / "loans.yaml").write_text(yaml.safe_dump(spec.to_dict()))
    command = [sys.executable, "-c", textwrap.dedent(WATCHED)]  # of its own, as it watches imports, too
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=1800, check=False
    )
    line = next((one for one in done.stdout.splitlines() if one.startswith("FOUND")), None)
    assert line is not None, done.stderr[-3000:]
    assert json.loads(line.removeprefix("FOUND")) == {"unpickled": [], "connected": [], "verdict": "pass"}


def test_no_asset_is_kept_by_the_default_io_manager_which_pickles(make_spec: Make) -> None:
    spec = make_spec(
        "{partition}.csv",
        bias_variable=DERIVED,
        local_bias={"group": "sex"},
        mitigation={"group": "sex", "score": "income"},
        partition_by={"time": "daily", "start": "2026-01-01"},
        **SEARCHES,
    )
    defs = bias_audit_definitions(spec)
    graph = defs.resolve_asset_graph()
    keys = list(graph.materializable_asset_keys)
    assert len(keys) >= 15  # those that are asked for by a section among them
    for key in keys:
        node = graph.get(key).assets_def
        assert node.get_io_manager_key_for_asset_key(key) in ("bdt_tables", "bdt_results"), key


HARMFUL = "!!python/object/apply:os.mkdir [{}]"


def test_the_harmful_yaml_works(tmp_path: Path) -> None:
    """Else the tests below could not fail."""
    yaml.unsafe_load(HARMFUL.format(tmp_path / "trace"))
    assert (tmp_path / "trace").exists()


@pytest.fixture
def harmful(tmp_path: Path) -> Iterator[str]:
    """YAML that leaves a file when it is loaded carelessly."""
    yield HARMFUL.format(tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("command", [[], ["audit"], ["gate"]])
def test_a_specification_executes_nothing(command: list[str], harmful: str, tmp_path: Path) -> None:
    file = tmp_path / "loans.yaml"
    file.write_text(f"name: loans\nsource: {{path: loans.csv}}\nbias_variable: {harmful}\n")
    if not command:
        with pytest.raises(SpecError, match=r"line 3: could not determine a constructor for the tag .*python/object"):
            load_spec(file)
        return
    done = CliRunner().invoke(app, [*command, str(file)])
    assert done.exit_code == 2
    assert "could not determine a constructor for the tag" in " ".join(done.output.split())


def test_clarifys_configuration_executes_nothing(harmful: str, tmp_path: Path, loans_file: Path) -> None:
    file = tmp_path / "analysis_config.json"
    file.write_text(f"label: repaid\nfacet: {harmful}\n")
    done = CliRunner().invoke(app, ["clarify", str(file), "--data", str(loans_file)])
    assert done.exit_code == 2
    assert "JSON" in done.output


def test_a_baseline_executes_nothing(harmful: str, tmp_path: Path, make_spec: Make, loans_file: Path) -> None:
    spec, baseline = tmp_path / "loans.yaml", tmp_path / "baseline.json"
    spec.write_text(yaml.safe_dump(make_spec(loans_file).to_dict()))
    baseline.write_text(f"verdict: {harmful}\n")
    assert CliRunner().invoke(app, ["gate", str(spec), "--baseline", str(baseline)]).exit_code == 2


def test_a_components_file_executes_nothing(harmful: str) -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=BiasAudit, defs_path="audit")
        (path / "defs.yaml").write_text(
            f"type: bdt_pipeline.BiasAudit\nattributes:\n  name: loans\n  source: {{path: a.csv}}\n"
            f"  bias_variable: {harmful}\n"
        )
        with pytest.raises((ComponentTreeException, yaml.YAMLError)), sandbox.load_component_and_build_defs(path):
            pass


def test_the_configuration_of_a_run_executes_nothing(harmful: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(f"ops: {{loans__raw_data: {harmful}}}\n")
    from dagster_shared.yaml_utils import load_yaml_from_globs

    with pytest.raises(yaml.YAMLError, match="could not determine a constructor"):
        load_yaml_from_globs(str(tmp_path / "run.yaml"))


# --- SQL --------------------------------------------------------------------------------------------------------------

INJECTED = ["x'; drop table people; --", "x' or '1'='1", ":other", "%(a)s", "?"]


def test_partition_keys_and_cells_never_become_sql(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    """Values reach the database as bound parameters, also when they are SQL."""
    table = loans.assign(part=[INJECTED[i % len(INJECTED)] for i in range(len(loans))], region="'; drop table people")
    with sqlite3.connect(tmp_path / "loans.db") as db:
        table.to_sql("people", db, index=False)
    spec = make_spec(
        "",
        source={"sql": "select * from people where part = :partition", "database": f"sqlite:///{tmp_path}/loans.db"},
        partition_by={"dynamic": "parts"},
    )
    instance.add_dynamic_partitions("parts", INJECTED)
    job = bias_audit_definitions(spec).resolve_job_def("loans_audit")
    only = [dg.AssetKey(["loans", "raw_data"])]
    for part in INJECTED:
        run = job.execute_in_process(instance=instance, partition_key=part, run_config=QUIET, asset_selection=only)
        frame = run.output_for_node("loans__raw_data")
        assert set(frame["part"]) == {part}
        assert set(frame["region"]) == {"'; drop table people"}
    with sqlite3.connect(tmp_path / "loans.db") as db:
        assert db.execute("select count(*) from people").fetchone() == (len(loans),)


# --- where files land -------------------------------------------------------------------------------------------------

ESCAPES = ["../../x", "../x", "/tmp/x", "/etc/passwd", "..", ".", "a/b", "..\\..\\x", "C:\\x", "\\\\host\\share"]


def test_no_partition_leads_out_of_the_store(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    (tmp_path / "data").mkdir()
    loans.to_csv(tmp_path / "x.csv", index=False)  # what "../x" would read
    spec = make_spec(tmp_path / "data" / "{partition}.csv", partition_by={"dynamic": "parts"})
    instance.add_dynamic_partitions("parts", ESCAPES)
    job = bias_audit_definitions(spec).resolve_job_def("loans_audit")
    store = Path(instance.storage_directory())
    before = {one for one in tmp_path.rglob("*") if not one.is_relative_to(store)}
    for part in ESCAPES:
        run = job.execute_in_process(
            instance=instance, partition_key=part, run_config=QUIET, raise_on_error=False,
            asset_selection=[dg.AssetKey(["loans", "raw_data"])],
        )  # fmt: skip
        assert not run.success, part
    new = {one for one in tmp_path.rglob("*") if not one.is_relative_to(store)} - before
    assert not [one for one in new if one.suffix in (".parquet", ".json")]
    assert not list(store.rglob("*.parquet"))
    assert not Path("/tmp/x.parquet").exists()


# --- who sees secrets -------------------------------------------------------------------------------------------------

SECRETS = ("DatabaseSecret77", "HookSecret77", "MailSecret77", "CloudSecret77")
WITH_SECRETS = """
    import dagster as dg
    from bdt_core.spec import parse_spec
    from bdt_pipeline import bias_audit_definitions

    def spec(name, sql, database):
        return parse_spec({
            "name": name, "source": {"sql": sql, "database": database}, "protected": ["sex"], "slices": None,
            "bias_variable": {"derive": "error", "label": "repaid", "prediction": "approved"},
            "features": {"include": ["age", "region"]}, "clustering": {"stability": 0},
            "worst_groups": {"permutations": 39}, "split": {"repeats": 1},
            "notify": ["${HOOK}", "mailtos://me:${MAIL_PASSWORD}@127.0.0.1:9?to=you@example.org"],
            "gate": [{"max_difference": 0.02}],
        })

    all_specs = [
        spec("loans", "select * from people", "${LOANS}"),
        spec("nobody", "select * from nobody", "${LOANS}"),
        spec("away", "select * from people", "postgresql+psycopg://me:${PASSWORD}@127.0.0.1:1/x?connect_timeout=2"),
    ]
    with dg.DagsterInstance.get() as instance:
        for one in all_specs:
            defs = bias_audit_definitions(one)
            sensor, cursor = defs.resolve_sensor_def(f"{one.name}_alerts"), None
            for look in range(2):
                context = dg.build_sensor_context(
                    instance=instance, cursor=cursor, repository_def=defs.get_repository_def()
                )
                cursor = sensor(context).cursor
                print("CURSOR", cursor)
                if look == 0:
                    run = defs.resolve_job_def(f"{one.name}_audit").execute_in_process(
                        instance=instance, raise_on_error=False
                    )
                    print("ENDED", one.name, run.success, flush=True)
                    for event in run.all_events:
                        print(event)
            print("RUN CONFIG", instance.get_run_by_id(run.run_id).run_config)
"""


def test_secrets_stand_nowhere(postgresql: str, loans: pd.DataFrame, tmp_path: Path) -> None:
    """Runs that succeed and runs that fail, for real; then everything is searched that they wrote or printed."""
    import sqlalchemy as sa

    engine = sa.create_engine(postgresql)
    loans.to_sql("people", engine, index=False, if_exists="replace")
    engine.dispose()
    url = sa.make_url(postgresql).set(password=SECRETS[0]).render_as_string(hide_password=False)
    given = environment(
        tmp_path, LOANS=url, PASSWORD=SECRETS[0], HOOK=f"json://me:{SECRETS[1]}@127.0.0.1:9/hook",
        MAIL_PASSWORD=SECRETS[2], AWS_SECRET_ACCESS_KEY=SECRETS[3], AWS_ACCESS_KEY_ID="key",
    )  # fmt: skip
    (tmp_path / "with_secrets.py").write_text(textwrap.dedent(WITH_SECRETS))
    done = forked.run([str(tmp_path / "with_secrets.py")], cwd=tmp_path, env=given)
    printed = done.stdout + done.stderr
    assert printed.count("ENDED") == 3, printed[-3000:]
    assert 'relation "nobody" does not exist' in printed
    assert "Connection refused" in printed or "connection failed" in printed
    assert "Could not tell ${HOOK}" in printed
    files = [one for one in (tmp_path / "home").rglob("*") if one.is_file()]
    assert any(one.name == "report.html" for one in files)
    assert any(one.suffix == ".db" for one in files)
    for secret in SECRETS:
        assert secret not in printed
        for one in files:
            assert secret.encode() not in one.read_bytes(), one
