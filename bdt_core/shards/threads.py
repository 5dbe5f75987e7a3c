"""Threads of this process, as many as processors that it may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Results in the order of the items, of which no more than one for each processor and one more are held at a time.

    Parameters
    ----------
    function : callable
        Of one item; it should release the interpreter lock.
    items : iterable
        The next one is made while the ones before are worked on.

    Examples
    --------
    >>> list(in_parallel(lambda number: number**2, range(5)))
    [0, 1, 4, 9, 16]
    """
    threads = processors()
    with ThreadPoolExecutor(threads) as pool:
        waiting: list[Future[R]] = []
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                del item
                if len(waiting) > threads:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for one in waiting:
                one.cancel()
