"""Memory that an audit may take, and whether its table fits."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from bdt_core.errors import OutputError

_UNITS = {"M": 10**6, "G": 10**9, "T": 10**12, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_TIMES = 6
"""A table in memory takes about so many times its own size: as read, typed, in two parts, encoded, and while a stage
works on it."""

_BESIDE = 50
"""Bytes per row beside the columns: bias variable, rank, hash, and what is there while ranks are made."""


@dataclass(frozen=True)
class MemoryPlan:
    """Where the table goes.

    Attributes
    ----------
    out_of_core : bool
    reason : str
        In words.
    limit : int
        Bytes that the table may take.
    disk : int or None
        Bytes of temporary files; None when it is not known beforehand.
    """

    out_of_core: bool
    reason: str
    limit: int
    disk: int | None


def plan_memory(room: str, memory_limit: str | None, estimated: int | None, rows: int | None = None) -> MemoryPlan:
    """Decide whether a table is held in memory.

    Parameters
    ----------
    room : {"auto", "in_memory", "out_of_core"}
        ``clustering.memory``.
    memory_limit : str or None
        ``clustering.memory_limit``; by default half of the memory that is available.
    estimated : int or None
        Bytes of the table as a DataFrame, if they are known.
    rows : int, optional
        Rows of the table, if they are known.

    Examples
    --------
    >>> plan = plan_memory("auto", "4 GB", 10**9)
    >>> plan.out_of_core, plan.reason
    (True, 'the table would take about 6.0 GB in memory, and may take 4.0 GB')
    """
    limit = in_bytes(memory_limit) if memory_limit is not None else available_memory() // 2
    needed = None if estimated is None else _TIMES * estimated
    disk = None if estimated is None else 2 * estimated + _BESIDE * (rows or 0)
    if room == "in_memory":
        return MemoryPlan(False, '"clustering.memory" is in_memory', limit, disk)
    if room == "out_of_core":
        return MemoryPlan(True, '"clustering.memory" is out_of_core', limit, disk)
    if needed is None or needed <= limit:
        return MemoryPlan(False, "the table fits into memory", limit, disk)
    reason = f"the table would take about {in_words(needed)} in memory, and may take {in_words(limit)}"
    return MemoryPlan(True, reason, limit, disk)


def refuse_full_disk(folder: Path, needed: int | None) -> None:
    """Raise OutputError when temporary files would not find room."""
    free = shutil.disk_usage(folder).free
    if needed is not None and needed > free:
        raise OutputError(
            f"{folder} has {in_words(free)} free, and the temporary columns of the table need about "
            f"{in_words(needed)}. Free space there, or name a folder on another disk in the environment variable "
            "TMPDIR."
        )


def available_memory() -> int:
    """Bytes that this process may still take: of the machine, or of the container that it runs in."""
    figures = [_of_machine()]
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            figures.append(int(Path(limit).read_text("ascii")) - int(Path(used).read_text("ascii")))
        except (OSError, ValueError):
            continue  # no container, or one without a limit
    return max(min(figures), 2**28)


def in_bytes(written: str) -> int:
    """Bytes of what is written like "4 GiB".

    Examples
    --------
    >>> in_bytes("4 GiB"), in_bytes("1.5 GB")
    (4294967296, 1500000000)
    """
    match = re.fullmatch(r"([0-9.]+)\s*([MGT]i?)B", written.strip())
    if match is None:
        raise ValueError(f'"{written}" is no size such as "4 GiB"')
    return int(float(match[1]) * _UNITS[match[2]])


def in_words(size: int) -> str:
    """A size for people.

    Examples
    --------
    >>> in_words(1_500_000_000), in_words(20_000_000)
    ('1.5 GB', '20 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{size / 1e6:.0f} MB"


def _of_machine() -> int:
    if sys.platform == "win32":
        import psutil  # Dagster brings it there

        return int(psutil.virtual_memory().available)
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) // 2  # no Linux: half of what there is
