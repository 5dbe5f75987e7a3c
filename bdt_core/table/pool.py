"""The threads of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")
_SHARES = 4
"""Of many items a thread takes several at once, and comes so often for more: to hand each over takes as long as it."""
BLOCK_ROWS = 1 << 18
"""More rows in memory are several blocks, each for a thread."""


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def mapped(function: Callable[[S], T], items: Sequence[S], width: int | None = None) -> list[T]:
    """Apply a function to each item, in threads; results in the order of the items.

    Parameters
    ----------
    function : callable
        Spends its time outside the interpreter's lock.
    items : sequence
    width : int, optional
        Most threads; as many as processors by default.

    Examples
    --------
    >>> mapped(abs, [-1, 2])
    [1, 2]
    """
    threads = min(width or processors(), len(items))
    if threads < 2:
        return [function(one) for one in items]
    share = max(1, len(items) // (_SHARES * threads))
    shares = [items[rows] for rows in stretches(len(items), share)]
    with ThreadPoolExecutor(threads) as pool:
        return list(chain.from_iterable(pool.map(lambda share: [function(one) for one in share], shares)))


def width_for(rows: int) -> int:
    """Threads that work on so many rows is worth: one for those of a block."""
    return 1 if rows <= BLOCK_ROWS else processors()


def blocks_of(rows: int) -> list[slice]:
    """The blocks that so many rows in memory are."""
    return stretches(rows, BLOCK_ROWS)


def stretches(rows: int, at_a_time: int) -> list[slice]:
    """Rows in stretches that follow one another.

    Examples
    --------
    >>> stretches(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + at_a_time, rows)) for start in range(0, rows, at_a_time)]


def in_parallel(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
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
        waiting: list[Future[T]] = []
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                del item
                if len(waiting) > threads:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for task in waiting:
                task.cancel()


@contextmanager
def threads(work: int = 1, least: int = 0) -> Iterator[Callable[..., Iterable[Any]]]:
    """What does the same as ``map``, in threads that stay for many calls.

    Parameters
    ----------
    work, least : int
        Less work than ``least`` is not worth a second thread: ``map`` itself.

    Examples
    --------
    >>> with threads() as in_threads:
    ...     list(in_threads(abs, [-1, 2]))
    [1, 2]
    """
    width = processors()
    if width == 1 or work < least:
        yield map
        return
    with ThreadPoolExecutor(width) as pool:
        yield pool.map
