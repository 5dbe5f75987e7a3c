"""Timings, what was wanted of them, and the machine in a few words."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Medians in seconds over a number of repeats."""

    wall: float
    cpu: float
    repeats: int


def timed(work: Callable[[], object], repeats: int = 5) -> Timing:
    """Run once to warm up, then measure; CPU seconds are those of all threads."""
    work()
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return Timing(statistics.median(walls), statistics.median(cpus), repeats)


def machine() -> str:
    """Cores and memory."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cores} cores, {memory:.0f} GiB of memory"


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    """A table with its first column left and the others right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def reached(is_so: bool) -> str:
    """What is said beside a wish."""
    return "reached" if is_so else "missed"


def within(value: float, most: float) -> str:
    """A wish that a value is not above."""
    return f"at most {most:,g}, {reached(value <= most)}"
