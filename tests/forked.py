"""Processes of tests that are forked from one that has loaded what an audit needs, which takes most of a short run."""

from __future__ import annotations

import atexit
import multiprocessing
import multiprocessing.context
import multiprocessing.popen_forkserver
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

# Loaded once, in the process that the others are forked from.
MODULES = [
    "babel.dates",
    "babel.lists",
    "babel.messages.pofile",
    "bdt_core.clustering.clusters",
    "bdt_core.history.look_back",
    "bdt_core.inference.sum_kernels",
    "bdt_core.local_bias.gaps",
    "bdt_core.mitigation.mitigating",
    "bdt_core.ranking.ranking",
    "bdt_core.report.apart",
    "bdt_core.report.compiled",
    "bdt_core.report.figure_history",
    "bdt_core.report.from_findings",
    "bdt_core.report.html",
    "bdt_core.report.markdown",
    "bdt_core.report.page",
    "bdt_core.report.pdf",
    "bdt_core.report.write",
    "bdt_core.groups.scan.kernels",
    "bdt_core.groups.scan.audited",
    "bdt_core.shards.large_source",
    "bdt_core.shards.opening",
    "bdt_core.significance.repeats",
    "bdt_core.groups.slices.kernels",
    "bdt_core.groups.slices.audited",
    "bdt_core.table.sources",
    "bdt_core.verdict.gate",
    "bdt_pipeline",
    "bdt_pipeline.checks.quality",
    "bdt_pipeline.checks.rules",
    "bdt_pipeline.resources.expectations",
    "dagster._cli",
    "dagster._core.execution.asset_backfill",
    "dagster._core.executor.in_process",
    "dagster._core.storage.local_compute_log_manager",
    "dagster._core.storage.sqlite_storage",
    "dagster._grpc.server",
    "dagster_dg_cli.cli",
    "great_expectations",
    "markdown_it.main",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "pyarrow.csv",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "sklearn.cluster",
    "tests.engines",
    "tests.kernel_target",
    "typst",
    "upath.implementations.local",
]
ROOT = str(Path(__file__).parents[1])


_SERVER = forkserver.ForkServer()
"""Not the one that Python has: where a test has had workers of Dask, that has loaded what these want, and no more."""


class _Popen(multiprocessing.popen_forkserver.Popen):
    def _launch(self, process_obj: BaseProcess) -> None:
        theirs = forkserver.connect_to_new_process
        forkserver.connect_to_new_process = _SERVER.connect_to_new_process
        try:
            super()._launch(process_obj)
        finally:
            forkserver.connect_to_new_process = theirs


class _Process(multiprocessing.context.ForkServerProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> _Popen:
        return _Popen(process_obj)


class _Context(ForkServerContext):
    Process = _Process


def forking(*more: str) -> ForkServerContext:
    """Makes processes with these modules, and some more."""
    context = _Context()
    _SERVER.set_forkserver_preload(["tests.uncollected", *MODULES, *more, "tests.frozen"])
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = ROOT if path is None else f"{ROOT}{os.pathsep}{path}"
    try:
        _SERVER.ensure_running()
    finally:
        if path is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = path
    return context


def fork_runs() -> None:
    """For the definitions of a project: each run is a process of its own still, but the code server forks it."""
    server = sys.modules.get("dagster._grpc.server")
    if server is None or multiprocessing.parent_process() is not None:  # no code server; a run
        return
    import tests.engines  # noqa: F401

    server.DagsterApiServer._mp_ctx = property(lambda _: forking(), lambda *_: None)  # type: ignore[attr-defined]


def run(command: Sequence[str], *, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` does: a script of this Python in a process of its own, and what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        written = [Path(folder, name) for name in ("out", "err")]
        process = forking().Process(target=_become, args=(list(command), cwd, env, written))
        process.start()
        process.join()
        code = process.exitcode
        assert code is not None
        return subprocess.CompletedProcess(command, code, *(one.read_text(encoding="utf-8") for one in written))


def _become(command: list[str], cwd: Path, env: dict[str, str], written: list[Path]) -> None:
    """What the process does; it ends with the script's code."""
    for stream, file in zip((sys.stdout, sys.stderr), written, strict=True):
        with file.open("wb") as target:
            os.dup2(target.fileno(), stream.fileno())
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv[:] = command
    sys.path[:0] = [str(Path(command[0]).parent), *env.get("PYTHONPATH", "").split(os.pathsep)]
    try:
        runpy.run_path(command[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()
