"""What takes seconds to compile is compiled early, while an audit waits for others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread


@contextmanager
def compiled_beforehand() -> Iterator[None]:
    """Meanwhile a thread compiles the loops of an audit that are not in the compiler's cache yet.

    Half of compiling is done without Python's lock. Who needs a loop that is being compiled waits for it. Modules are
    imported before the thread begins: two threads that import at once may see halves of them. At the end nothing more
    is begun.
    """
    from bdt_core.clustering import kernels as of_clusters
    from bdt_core.scan import kernels as of_scan

    over = Event()

    def compile_all() -> None:
        for loops in (of_scan, of_clusters):  # in the order in which a run in Dagster comes to them
            if over.is_set():
                return
            with suppress(Exception):  # who needs it says what is wrong
                loops.compile_beforehand()

    thread = Thread(target=compile_all, name="compiler")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
