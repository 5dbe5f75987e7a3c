"""Places for work that runs at once, and the line of what waits for one."""

from __future__ import annotations

from threading import RLock
from typing import Protocol


class Waiting(Protocol):
    """What begins when its turn has come."""

    def begin(self) -> None:
        """Begin, without waiting for the end."""


class Line:
    """First come, first served.

    Parameters
    ----------
    places : int
        How much may run at once.

    Examples
    --------
    >>> class Said:
    ...     def __init__(self, name): self.name = name
    ...     def begin(self): print(self.name, "begins")
    >>> first, second, third = Said("first"), Said("second"), Said("third")
    >>> line = Line(1)
    >>> for each in (first, second, third):
    ...     line.enter(each)
    first begins
    >>> line.place_of(first), line.place_of(third)
    (0, 2)
    >>> line.leave(second)
    >>> line.leave(first)
    third begins
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: list[Waiting] = []
        self._lock = RLock()

    def enter(self, work: Waiting) -> None:
        """Begin some work, or put it at the end of the line."""
        with self._lock:
            if self._free == 0:
                self._waiting.append(work)
                return
            self._free -= 1
        work.begin()

    def leave(self, work: Waiting) -> None:
        """Take away, once, what has ended, or no longer waits; who is next begins."""
        with self._lock:
            if work in self._waiting:
                self._waiting.remove(work)
                return
            if not self._waiting:
                self._free += 1
                return
            following = self._waiting.pop(0)
        following.begin()

    def place_of(self, work: Waiting) -> int:
        """Its place in the line, the first being 1; 0 for what does not wait."""
        with self._lock:
            return self._waiting.index(work) + 1 if work in self._waiting else 0
