"""Processes of tests that are forked from one that has loaded what an audit needs, which takes most of a short run."""

from __future__ import annotations

import multiprocessing
import sys
from multiprocessing.context import ForkServerContext

# Loaded once, in the process that the others are forked from.
MODULES = [
    "bdt_core.clustering.clusters",
    "bdt_core.history.look_back",
    "bdt_core.local_bias.stage",
    "bdt_core.mitigation.stage",
    "bdt_core.ranking.stage",
    "bdt_core.report.apart",
    "bdt_core.report.figure_history",
    "bdt_core.report.from_findings",
    "bdt_core.report.page",
    "bdt_core.report.pdf",
    "bdt_core.report.write",
    "bdt_core.scan.stage",
    "bdt_core.shards.opening",
    "bdt_core.significance.repeats",
    "bdt_core.slices.stage",
    "bdt_core.table.sources",
    "bdt_core.verdict.gate",
    "bdt_pipeline",
    "bdt_pipeline.checks.quality",
    "bdt_pipeline.checks.rules",
    "bdt_pipeline.resources.expectations",
    "dagster._cli",
    "dagster._core.execution.asset_backfill",
    "dagster._core.storage.sqlite_storage",
    "dagster._grpc.server",
    "great_expectations",
    "matplotlib.backends.backend_agg",
    "pyarrow.parquet",
    "sklearn.cluster",
    "typst",
    "upath.implementations.local",
]


def forking(*more: str) -> ForkServerContext:
    """Makes processes with these modules, and some more."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*MODULES, *more])
    return context


def fork_runs() -> None:
    """For the definitions of a project: each run is a process of its own still, but the code server forks it."""
    server = sys.modules.get("dagster._grpc.server")
    if server is None or multiprocessing.parent_process() is not None:  # no code server; a run
        return
    context = forking()
    server.DagsterApiServer._mp_ctx = property(lambda _: context, lambda *_: None)  # type: ignore[attr-defined]
