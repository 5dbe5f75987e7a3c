"""Shards on a real Dask cluster of processes: the same model, and what happens when a part of the cluster dies."""

from __future__ import annotations

import itertools
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bdt_core.clustering import HBAC
from bdt_core.clustering.sharded import fit_sharded
from bdt_core.errors import SourceError, UnreachableError
from bdt_core.shards import dask_engine
from bdt_core.shards.dask_engine import DaskShards
from bdt_core.shards.engine import LocalEngine
from bdt_core.shards.ingest import ingest
from bdt_core.shards.scratch import scratch_folder
from bdt_core.shards.shard import Shard
from bdt_core.spec import DaskEngine, parse_spec

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
SPEC = parse_spec({"name": "t", "source": {"path": "t.csv"}, "large_rows": 1000, "bias_variable": {"column": "wrong"}})


@pytest.fixture(scope="module")
def cluster():
    with DaskShards(DaskEngine(local_workers=2)) as engine:
        yield engine


@pytest.fixture(scope="module")
def cluster_of_mortals():
    """One for the tests that kill a worker of two."""
    with DaskShards(DaskEngine(local_workers=2)) as engine:
        yield engine


@pytest.fixture
def mortals(cluster_of_mortals):
    """Both workers are there, as in a cluster that is new."""
    awaited(lambda: len(cluster_of_mortals._workers()) == 2)  # each look has one started that Dask has given up
    return cluster_of_mortals


@pytest.fixture(autouse=True)
def _workers_may_take_their_time(monkeypatch):
    monkeypatch.setattr(dask_engine, "_NO_WORKERS_FOR", 600.0)


def awaited(is_there):
    """Until it is there; ten minutes of looks are enough for any machine."""
    for _ in range(6000):
        if is_there():
            return
        time.sleep(0.1)
    pytest.fail("waited for ten minutes")


@pytest.fixture(scope="module")
def train():
    rng = np.random.default_rng(2)
    rows = 24_000
    frame = pd.DataFrame({**{name: rng.normal(size=rows) for name in "abc"}, "town": rng.choice(list("xyz"), rows)})
    frame["wrong"] = rng.normal(size=rows) + (frame["a"] > 1)
    with scratch_folder() as folder, LocalEngine(1) as engine:
        parts = [frame.iloc[:5000], frame.iloc[5000:9000], frame.iloc[9000:20_000], frame.iloc[20_000:]]
        yield ingest(parts, SPEC, folder, engine).divided(SPEC.split)[0]


@pytest.fixture(scope="module")
def expected(train):
    return fit_sharded(model(), train).to_dict()


def model():
    return HBAC(max_iter=5, min_cluster_size=0.01, n_init=3)


def on(engine, train):
    return train.__class__(**{**vars(train), "engine": engine})


def test_the_model_is_that_of_one_process(cluster, train, expected):
    assert fit_sharded(model(), on(cluster, train)).to_dict() == expected
    assert cluster.dashboard.startswith("http://127.0.0.1:")


def test_each_shard_stays_with_its_worker(cluster, train):
    pids = [cluster.map(_process, train.shards) for _ in range(3)]
    assert pids[0] == pids[1] == pids[2]
    assert len(set(pids[0])) == 2
    assert os.getpid() not in pids[0]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other systems keep memory in their own ways")
def test_workers_use_their_memory_again(cluster, tmp_path):
    (faults,) = cluster.map(_page_faults, [Shard(str(tmp_path), 0, 1)])
    assert faults < 25_000  # of 100,000 if each block were made of new pages


def test_workers_know_what_the_environment_says_today(monkeypatch, tmp_path):
    """Keys of an object store, say, that a notebook sets after its first audit."""
    for key in ("first", "second"):
        monkeypatch.setenv("BDT_TEST_KEY", key)
        with DaskShards(DaskEngine(local_workers=1)) as engine:
            assert engine.map(_key, [Shard(str(tmp_path), 0, 1)]) == [key]


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(mortals, train, expected):
    killed = []

    def kill_one(done, total):
        if done == 2 and not killed:
            killed.append(mortals.map(_process, train.shards)[0])
            os.kill(killed[0], signal.SIGKILL)

    assert fit_sharded(model(), on(mortals, train), progress=kill_one).to_dict() == expected
    assert killed
    assert killed[0] not in mortals.map(_process, train.shards)


def test_a_worker_that_is_killed_while_it_answers_is_asked_elsewhere(mortals, tmp_path):
    shards = [Shard(str(tmp_path), number, 1) for number in range(4)]
    answers = mortals.map(partial(_die_once, mark=str(tmp_path / "died")), shards)
    assert answers == [0, 1, 2, 3]
    assert (tmp_path / "died").exists()


def test_a_worker_that_runs_out_of_memory_each_time_is_told(tmp_path):
    # A new worker takes 400 MiB to begin with.
    with DaskShards(DaskEngine(local_workers=1, memory_limit="700 MiB")) as engine:
        with pytest.raises(SourceError, match="workers of the Dask cluster were lost one after the other on part 0"):
            engine.map(_too_large, [Shard(str(tmp_path), 0, 1)])
        assert engine.map(_number, [Shard(str(tmp_path), 7, 1)]) == [7]  # and it can be used again


def test_a_worker_that_dask_has_given_up_is_started_again(tmp_path):
    """It does so with one that is lost again within seconds: it looks at the first loss while none is there."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}),
        DaskShards(DaskEngine(local_workers=1)) as engine,
    ):
        (worker,) = engine.map(_process, [Shard(str(tmp_path), 0, 1)])
        os.kill(worker, signal.SIGKILL)
        assert engine.map(_process, [Shard(str(tmp_path), 0, 1)]) != [worker]


def test_a_clock_that_jumps_while_a_worker_starts_ends_nothing(tmp_path, monkeypatch):
    jumping = itertools.count(time.monotonic(), 1000.0)
    with DaskShards(DaskEngine(local_workers=1)) as engine:
        (worker,) = engine.map(_process, [Shard(str(tmp_path), 0, 1)])
        before = engine._workers().keys()
        monkeypatch.setattr(dask_engine, "time", SimpleNamespace(monotonic=jumping.__next__, sleep=time.sleep))
        os.kill(worker, signal.SIGKILL)
        awaited(lambda: engine._workers().keys() != before)  # the scheduler has seen it
        assert engine.map(_process, [Shard(str(tmp_path), 0, 1)]) != [worker]


def test_a_worker_that_is_still_starting_at_the_end_ends_no_audit(tmp_path):
    """Dask waits for it before it ends it. It loads twice what workers load first."""
    (tmp_path / "late.py").write_text(
        f"import time\nfrom pathlib import Path\nif Path({str(tmp_path / 'killed')!r}).exists():\n    time.sleep(6)\n"
    )
    with (
        dask.config.set({"distributed.worker.preload": [str(tmp_path / "late.py")]}),
        DaskShards(DaskEngine(local_workers=1)) as engine,
    ):
        (worker,) = engine.map(_process, [Shard(str(tmp_path), 0, 1)])
        (tmp_path / "killed").touch()
        os.kill(worker, signal.SIGKILL)
        awaited(lambda: not engine._workers())


def test_what_is_wrong_with_the_data_comes_in_its_own_words(cluster, train, tmp_path):
    cluster.map(partial(_speaks_into, folder=str(tmp_path)), train.shards)
    lost = [*train.shards, Shard(train.shards[0].folder, 99, 5)]
    with pytest.raises(SourceError, match=r"000099\.table\.arrow is gone or damaged"):
        cluster.map(_read, lost)
    said = [one.read_text() for one in tmp_path.iterdir()]  # by a worker before it answers
    assert len(said) == 2
    assert "Traceback" not in "".join(said)


def test_what_a_worker_lacks_is_said_after_one_try(cluster, tmp_path):
    tries = tmp_path / "tries"
    named = "part 0 of the table: ModuleNotFoundError: No module named 'absent'. The workers need the same packages"
    with pytest.raises(UnreachableError, match=re.escape(named)):
        cluster.map(partial(_lack, tries=tries), [Shard(str(tmp_path), 0, 1)])
    assert tries.read_text() == "once\n"


def test_a_lost_scheduler_is_told_at_once(train, tmp_path, caplog):
    address, processes = _cluster_of_its_own(tmp_path)
    try:
        with DaskShards(DaskEngine(address=address)) as engine:
            assert engine.map(_number, train.shards) == [0, 1, 2, 3]
            killer = threading.Thread(target=_kill_when, args=(tmp_path / "begun", processes[0]), daemon=True)
            killer.start()
            with pytest.raises(SourceError, match="The scheduler of the Dask cluster is gone"):
                engine.map(partial(_sleep, mark=str(tmp_path)), train.shards)
            assert not (tmp_path / "done").exists()  # nothing was waited for
            killer.join()
        assert not [one for one in caplog.records if one.exc_info]  # Dask's own traceback says no more
    finally:
        for one in processes:
            one.kill()
            one.wait()


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr("bdt_core.shards.dask_engine._CONNECT_WITHIN", 2.0)
    with pytest.raises(SourceError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        DaskShards(DaskEngine(address="tcp://127.0.0.1:9"))


def _kill_when(mark, process):
    awaited(mark.exists)
    process.kill()


def _cluster_of_its_own(folder):
    told = folder / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*dask, "--no-dashboard", "--scheduler-file", told], **quiet)
    awaited(lambda: told.exists() and told.read_text().endswith("}"))
    address = json.loads(told.read_text())["address"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
    workers = subprocess.Popen([*worker, "--no-dashboard", "--nworkers", "2"], **quiet)
    return address, [scheduler, workers]


def _process(shard):
    return os.getpid()


def _speaks_into(shard, folder):
    with Path(folder, str(os.getpid())).open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def _page_faults(shard):
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(500):
        np.ones(100_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def _key(shard):
    return os.environ["BDT_TEST_KEY"]


def _number(shard):
    return shard.number


def _read(shard):
    return len(shard.read_frame("table.arrow"))


def _sleep(shard, mark):
    Path(mark, "begun").touch()
    time.sleep(600)
    Path(mark, "done").touch()
    return shard.number


def _die_once(shard, mark):
    if shard.number == 2 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return shard.number


def _lack(shard, tries):
    with tries.open("a") as file:
        file.write("once\n")
    raise ModuleNotFoundError("No module named 'absent'")


def _too_large(shard):
    held = [np.ones(70_000_000)]  # more than it may have
    time.sleep(600)  # until its nanny looks
    return len(held)


def test_local_workers_end_without_a_word(tmp_path):
    ending = (
        "from bdt_core.shards.dask_engine import DaskShards\n"
        "from bdt_core.spec import DaskEngine\n"
        "if __name__ == '__main__':\n"
        "    with DaskShards(DaskEngine(local_workers=1)):\n"
        "        pass\n"
    )
    (tmp_path / "ending.py").write_text(ending)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        given = {**os.environ, "TMPDIR": folder}
        ended = subprocess.run(
            [sys.executable, tmp_path / "ending.py"], env=given, capture_output=True, text=True, check=True
        )
        assert "Traceback" not in ended.stderr, ended.stderr
        assert not [one for one in Path(folder).iterdir() if "bdt" in one.name or "pymp" in one.name]


def test_a_killed_audit_leaves_no_folder_of_its_local_workers(tmp_path, monkeypatch):
    """The process that forks them listens in a folder, which the next audit removes."""
    crashing = (
        "import os\n"
        "from bdt_core.shards.dask_engine import DaskShards\n"
        "from bdt_core.spec import DaskEngine\n"
        "if __name__ == '__main__':\n"
        "    with DaskShards(DaskEngine(local_workers=1)):\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    (tmp_path / "crashing.py").write_text(crashing)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # whose name is short enough for a socket
        given = {**os.environ, "TMPDIR": folder}
        ended = subprocess.run([sys.executable, tmp_path / "crashing.py"], env=given, check=False)
        assert ended.returncode == -signal.SIGKILL
        assert list(Path(folder).glob("*/pymp-*"))
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with scratch_folder():
            assert not [one for one in Path(folder).rglob("*") if "pymp" in one.name]
