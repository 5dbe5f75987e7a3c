"""The process that Dagster starts for a step: a small audit's steps take less time than what is around them."""

import atexit
import gc
from multiprocessing import parent_process


def spare_process_of_step() -> None:
    """Let nothing look through all that was imported, neither time and again, nor when the process ends.

    That is a sixth of its time. Steps of this package ask for it, and only a process that was started for one step is
    spared: in others, and in the steps of other assets, somebody may rely on what is cleared away at the end.
    """
    if parent_process() is not None:
        gc.set_threshold(50_000)
        atexit.register(gc.freeze)
