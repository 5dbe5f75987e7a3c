"""Four ways to search on some rows and test on others: how often each calls the group that it found worse off.

``python -m benchmarks splits [--runs=2000]`` takes a minute or two; its page is docs/validity.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from benchmarks.tables import record, table

ALPHA, BASE, TEST_SIZE, SPLITS = 0.05, 0.15, 0.2, 5
TABLES = {
    "no difference, 2 groups": (1_000, 2, 0.0),
    "no difference, 5 groups": (1_000, 5, 0.0),
    "no difference, 12 groups": (1_000, 12, 0.0),
    "one of 12 groups of 3,000 people, 10 points worse": (3_000, 12, 0.10),
    "one of 12 groups of 4,000 people, 8 points worse": (4_000, 12, 0.08),
    "one of 12 groups of 4,000 people, 12 points worse": (4_000, 12, 0.12),
}
"""Rows, groups, and by how much the first one is worse off."""

Counts = NDArray[np.float64]
"""Events and rows by group, shape (2, groups)."""


def run(runs: str = "2000") -> None:
    """Simulate, and write down what came of it."""
    record("splits", studied(int(runs)))


def studied(runs: int) -> dict[str, Any]:
    """Of so many tables of each kind."""
    lines = []
    for number, (name, (rows, groups, gap)) in enumerate(TABLES.items()):
        found = np.zeros(len(WAYS))
        for seed in range(runs):
            rng = np.random.default_rng([61, number, seed])
            group = rng.integers(0, groups, rows)
            y = rng.random(rows) < BASE + gap * (group == 0)
            count = partial(_counts, group, y, groups)
            found += [way(rng, count, rows) for way in WAYS.values()]
        lines.append([name, *found / runs])
    return {"runs": runs, "found": table({"": ""} | dict.fromkeys(WAYS, ".1%"), lines)}


def _counts(group: NDArray[np.int64], y: NDArray[np.bool_], groups: int, part: NDArray[np.int64]) -> Counts:
    return np.stack([np.bincount(group[part], one, groups) for one in (y[part], np.ones(part.size))])


def _score(counts: Counts) -> NDArray[np.float64]:
    """How much worse each group is than all others, in standard errors."""
    events, rows = counts
    others, rest = events.sum() - events, rows.sum() - rows
    rate = events.sum() / rows.sum()
    error = np.sqrt(rate * (1 - rate) * (1 / np.maximum(rows, 1) + 1 / np.maximum(rest, 1)))
    return np.where((rows > 0) & (rest > 0), (events / np.maximum(rows, 1) - others / np.maximum(rest, 1)) / error, 0.0)


def _tested(searched: Counts, tested: Counts) -> Counts:
    """The group that was found worst, and all others, among the test rows."""
    worst = int(np.argmax(_score(searched)))
    return np.stack([tested[:, worst], tested.sum(axis=1) - tested[:, worst]], axis=1)


def _p(two: Counts) -> float:
    return float(2 * stats.norm.sf(abs(_score(two)[0])))


def _rejects(two: Counts) -> bool:
    return _p(two) <= ALPHA


Count = Callable[[NDArray[np.int64]], Counts]
Way = Callable[[Generator, Count, int], bool]


def _one(rng: Generator, count: Count, rows: int) -> bool:
    return _rejects(next(_independent(rng, count, rows)))


def _independent(rng: Generator, count: Count, rows: int) -> Iterator[Counts]:
    while True:
        test, rest = np.split(rng.permutation(rows), [round(TEST_SIZE * rows)])
        yield _tested(count(rest), count(test))


def _median(rng: Generator, count: Count, rows: int) -> bool:
    splits = _independent(rng, count, rows)
    return 2 * float(np.median([_p(next(splits)) for _ in range(SPLITS)])) <= ALPHA


def _folds(rng: Generator, count: Count, rows: int) -> bool:
    folds = [count(part) for part in np.array_split(rng.permutation(rows), SPLITS)]
    return _rejects(np.sum([_tested(np.sum(folds, axis=0) - one, one) for one in folds], axis=0))


def _nested(rng: Generator, count: Count, rows: int) -> bool:
    rest, together = rng.permutation(rows), np.zeros((2, 2))
    for _ in range(SPLITS):
        test, rest = np.split(rest, [round(TEST_SIZE * rest.size)])
        together += _tested(count(rest), count(test))
    return _rejects(together)


WAYS: dict[str, Way] = {
    "one split": _one,
    "twice the median of five": _median,
    "five folds, pooled": _folds,
    "five splits as above": _nested,
}
