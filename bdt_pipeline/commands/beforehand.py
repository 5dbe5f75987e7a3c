"""Early compilation of slow kernels, by a process of its own, while an audit waits for other things."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import Any

_KERNELS = ("bdt_core.groups.scan.kernels", "bdt_core.clustering.kernels")
"""In the order in which a run in Dagster comes to them."""
MODULES = ("sklearn.ensemble", "matplotlib.figure", "bdt_core.verdict", "bdt_core.ranking.ranking",
           "bdt_core.report.from_findings", "bdt_core.report.figures", "bdt_core.report.pdf")  # fmt: skip
"""What stages and the report import when they begin, and everything else with it."""


def _loops() -> dict[Any, tuple[Any, ...]]:
    """Those loops that take longest to compile, and the types for which they are needed."""
    return {loop: types for one in _KERNELS for loop, types in import_module(one).CALLED_WITH.items()}


@contextmanager
def compiled_beforehand() -> Iterator[None]:
    """Meanwhile another process compiles the loops of an audit that are not in the compiler's cache yet.

    A thread fetches them from there. Who needs the first loop, which takes longest, waits for it; while the others are
    waited for, the compiler is free for what is not compiled beforehand. Modules are imported before the thread
    begins: two threads that import at once may see halves of them. At the end nothing more is begun.
    """
    from numba.core.compiler_lock import global_compiler_lock

    loops = _loops()
    compiler = None if all(map(_is_in_the_cache, loops)) else _compiler()
    first_is_held, over = Event(), Event()

    def fetch_all() -> None:
        for number, (loop, types) in enumerate(loops.items()):
            with nullcontext() if number else global_compiler_lock:
                first_is_held.set()
                if compiler is not None and compiler.stdout is not None:
                    compiler.stdout.readline()
                if over.is_set():
                    return
                with suppress(Exception):  # who needs it says what is wrong
                    loop.compile(types)

    thread = Thread(target=fetch_all, name="compiler")
    thread.start()
    first_is_held.wait()
    try:
        yield
    finally:
        over.set()
        if compiler is not None:
            compiler.kill()
        thread.join()
        if compiler is not None:
            compiler.communicate()


@contextmanager
def compiler_beside() -> Iterator[None]:
    """Meanwhile another process compiles the loops of an audit into the compiler's cache; at the end it ends, too.

    Whoever waits for a person has the time for it: the audit comes after the answers, in a process of its own, which
    finds them there.
    """
    with _compiler() as compiler:
        try:
            yield
        finally:
            compiler.kill()


def _is_in_the_cache(loop: Any) -> bool:
    """Whether it was ever compiled here; one of an earlier version is compiled by who fetches it."""
    return any(Path(loop.stats.cache_path).glob(f"*.{loop.__name__}-*.nbi"))


def _compiler() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", __file__],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


if __name__ == "__main__":
    if sys.platform != "win32":
        os.nice(10)  # what somebody waits for comes first
    for loop, types in _loops().items():
        loop.compile(types)
        print(flush=True)
