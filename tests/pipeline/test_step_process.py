"""What a process that Dagster starts for a step is spared."""

import atexit
import gc
import multiprocessing
from pathlib import Path

from bdt_pipeline.definitions import defs

THRESHOLD = 50_000


def load_and_write(path: Path) -> None:
    """As a step begins; at its end, after everything else that ends there, it writes what the collector would do."""
    atexit.register(lambda: path.write_text(f"{gc.get_threshold()[0]} {gc.get_freeze_count()}"))
    defs()


def test_a_process_of_a_step_is_not_looked_through_at_its_end_and_others_are_as_before(tmp_path: Path) -> None:
    before = gc.get_threshold()
    defs()
    assert gc.get_threshold() == before
    process = multiprocessing.get_context("spawn").Process(target=load_and_write, args=[tmp_path / "end.txt"])
    process.start()
    process.join()
    threshold, frozen = map(int, (tmp_path / "end.txt").read_text().split())
    assert threshold == THRESHOLD
    assert frozen > THRESHOLD
