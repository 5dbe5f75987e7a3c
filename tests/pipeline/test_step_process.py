"""What a process that Dagster starts for a step is spared."""

import atexit
import gc
import multiprocessing
from pathlib import Path

import dagster as dg
import pytest

from bdt_core.spec import AuditSpec
from bdt_pipeline.definitions import defs
from bdt_pipeline.resources.settings import settings_resource

THRESHOLD = 50_000
SPEC = AuditSpec(name="a", source={"path": "a.csv"}, bias_variable={"column": "y"})


def begin_step(is_ours: bool) -> None:
    defs()
    if is_ours:
        with dg.build_resources({"settings": settings_resource(SPEC)}):
            pass


def run_and_write(path: Path, is_ours: bool) -> None:
    """What is written when everything else has ended: what the collector would look at, and when."""
    atexit.register(lambda: path.write_text(f"{gc.get_threshold()[0]} {gc.get_freeze_count()}"))
    begin_step(is_ours)


@pytest.mark.parametrize("is_ours", [True, False])
def test_the_process_of_a_step_of_ours_is_spared_and_no_other(tmp_path: Path, is_ours: bool) -> None:
    before = gc.get_threshold()
    begin_step(is_ours)
    assert gc.get_threshold() == before
    end = tmp_path / "end.txt"
    process = multiprocessing.get_context("spawn").Process(target=run_and_write, args=[end, is_ours])
    process.start()
    process.join()
    threshold, frozen = map(int, end.read_text().split())
    assert (threshold == THRESHOLD, frozen > THRESHOLD) == (is_ours, is_ours)
