"""What the search for the worst group costs, by rows and columns; its page is docs/cost-of-large-audits.md.

``python -m benchmarks scanning`` takes a minute or two. Tables are those of `benchmarks.planted`: three conditions.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bdt_core.groups.scan import find_worst_groups
from benchmarks import planted
from benchmarks.measuring import within
from benchmarks.tables import record, table

SIZES = ((5_000, 0), (62_500, 2), (250_000, 2), (1_000_000, 2), (400, 190))
"""Rows, and columns besides the ten of people."""
WANTED = {(5_000, 0): 2.0, (1_000_000, 2): 30.0, (400, 190): 10.0}
"""CPU seconds."""
WANTED_MEGABYTES, WANTED_EXPONENT = 200, 1.05


def run() -> None:
    """Measure each size in a process of its own, and write down what came of it."""
    found = {size: _measured(*size) for size in SIZES}
    lines = [[rows, further + 10, *found[rows, further]] for rows, further in SIZES]
    fewest, most = (found[one][0] for one in (SIZES[1], SIZES[3]))
    exponent = float(np.log(most / fewest) / np.log(SIZES[3][0] / SIZES[1][0]))
    wanted = [within(found[size][0], seconds) for size, seconds in WANTED.items()]
    figures = {
        "cost": table({"rows": ",", "columns": "", "CPU s": ".2g", "MB above the table": ".0f"}, lines),
        "exponent": exponent,
        "exponent_wanted": within(exponent, WANTED_EXPONENT),
        "megabytes_wanted": within(found[SIZES[3]][1], WANTED_MEGABYTES),
    }
    record("scanning", figures | dict(zip(("small_wanted", "large_wanted", "wide_wanted"), wanted, strict=True)))


def _measured(rows: int, further: int) -> tuple[float, float]:
    call = f"from benchmarks.scanning import measure; measure({rows}, {further})"
    told = subprocess.run([sys.executable, "-c", call], cwd=Path(__file__).parents[1], capture_output=True, check=True)
    seconds, megabytes = json.loads(told.stdout)
    print(f"{rows:,} x {further + 10}: {seconds:.1f} CPU s, {megabytes:.0f} MB", flush=True)
    return seconds, megabytes


def measure(rows: int, further: int) -> None:
    """Print CPU seconds, and by how many megabytes a search raises the peak of this process, once all is compiled."""
    frame, _ = planted.table("three", 1_000, 0)
    find_worst_groups(frame, outcome="y", better="lower", permutations=19)
    frame, _ = planted.table("three", rows, 1)
    frame = planted.among(np.random.default_rng(1), frame, further)
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far is forgotten
    before, begun = _peak(), time.process_time()
    find_worst_groups(frame, outcome="y", better="lower")
    print(json.dumps([time.process_time() - begun, (_peak() - before) / 1e6]))


def _peak() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status).group(1))  # type: ignore[union-attr]
