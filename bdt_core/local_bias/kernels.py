"""The compiled loops of LOGAN, serial and free of the interpreter lock, each with a plain twin in the tests.

Numbers are one contiguous array per column and lie on a grid (see `bdt_core.local_bias.search`), so that sums of
them in float64 are exact: adding a row to a cluster and taking it out again leaves no trace. A squared distance is
added up column after column for every row alike, so it does not depend on the rows around it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bdt_core.clustering.kernels import compiled, inner

CHUNK = 256
"""Rows per chunk: 32 float32 columns of it are 32 kB."""

COLUMNS = 32
"""Columns whose squares are added up in the precision of the data before they go to float64."""

Array = np.ndarray[Any, Any]


class SearchRows(NamedTuple):
    """What does not change during a search.

    Attributes
    ----------
    numeric : float32 or float64 array of shape (p, n)
    group : int32 array of shape (n,)
    value : int8 array of shape (n,)
        1 an event, 0 none, -1 outside the metric's denominator. For the area under the curve: the label.
    rank : int32 array of shape (n,)
        Class of the score, 0 the lowest. Read only for the area under the curve.
    """

    numeric: Array
    group: Array
    value: Array
    rank: Array


class Tally(NamedTuple):
    """Running counts of k clusters and G groups; every move of a row updates them.

    Attributes
    ----------
    rows : int64 array of shape (k,)
    sums : float64 array of shape (p, k)
    counts : int64 array of shape (k, G, 2)
        SearchRows with value 0 and 1.
    wins : int64 array of shape (k, G)
        Twice the number of (positive, negative) pairs in which the positive scores higher, ties counted half.
    below : int64 array of shape (k, G, 2, B + 1)
        SearchRows of either value with a rank below b; B = 0 for rates, whose metric needs no ranks.
    lowest, highest : float64 arrays of shape (k, G)
        Least and greatest metric of the other groups; infinite (and the wrong way round) where there are none.
    squared_gap : float64 array of shape (k,)
    change : float64 array of shape (k, G, 2, 2)
        Change of a cluster's squared gap if a row with this group and value leaves it, and if one joins it. Not
        kept for the area under the curve, where it depends on the row's rank.
    """

    rows: Array
    sums: Array
    counts: Array
    wins: Array
    below: Array
    lowest: Array
    highest: Array
    squared_gap: Array
    change: Array


@compiled  # type: ignore[untyped-decorator]
def squared_distances(numeric: Array, centres: Array, distances: Array) -> None:
    """Write the squared distance of each row from each of k points: (p, n) and (k, p), of one type, make float64 (k,
    n).
    """
    part = np.empty(CHUNK, numeric.dtype)
    for first in range(0, numeric.shape[1], CHUNK):
        last = min(first + CHUNK, numeric.shape[1])
        _distances(numeric, first, last, centres, part, distances[:, first:last])


@compiled  # type: ignore[untyped-decorator]
def assign_nearest(numeric: Array, centres: Array, labels: Array) -> None:
    """Write, int32 (n,), the nearest of k points (k, p) for each row of (p, n), of equally near ones the first."""
    part = np.empty(CHUNK, numeric.dtype)
    distances = np.empty((centres.shape[0], CHUNK))
    for first in range(0, numeric.shape[1], CHUNK):
        last = min(first + CHUNK, numeric.shape[1])
        _distances(numeric, first, last, centres, part, distances)
        for i in range(last - first):
            best = 0
            for j in range(1, centres.shape[0]):
                if distances[j, i] < distances[best, i]:
                    best = j
            labels[first + i] = best


@inner  # type: ignore[untyped-decorator]
def _distances(numeric: Array, first: int, last: int, centres: Array, part: Array, distances: Array) -> None:
    size = last - first
    part = part[:size]
    for j in range(centres.shape[0]):
        distance = distances[j][:size]
        for i in range(size):
            distance[i] = 0.0
        for left in range(0, numeric.shape[0], COLUMNS):
            for i in range(size):
                part[i] = 0
            for q in range(left, min(left + COLUMNS, numeric.shape[0])):
                column = numeric[q][first:last]
                centre = centres[j, q]
                for i in range(size):
                    difference = column[i] - centre
                    part[i] += difference * difference
            for i in range(size):
                distance[i] += np.float64(part[i])


@compiled  # type: ignore[untyped-decorator]
def count_all(data: SearchRows, labels: Array, smallest: int, tally: Tally) -> None:
    """Fill a tally, all zeros so far, from the labels.

    Parameters
    ----------
    data : SearchRows
    labels : int32 array of shape (n,)
    smallest : int
        A group counts for a cluster's gap when its metric rests on at least so many rows: those of the rate's
        denominator, or the scarcer label's for the area under the curve.
    tally : Tally
    """
    for i in range(labels.size):
        label = np.int64(labels[i])
        tally.rows[label] += 1
        _count(data, i, label, 1, tally)
    for q in range(data.numeric.shape[0]):
        column = data.numeric[q]
        sums = tally.sums[q]
        for i in range(labels.size):
            sums[labels[i]] += np.float64(column[i])
    metrics = np.empty(tally.counts.shape[1])
    for j in range(tally.rows.size):
        _compare(j, smallest, tally, metrics)


@compiled  # type: ignore[untyped-decorator]
def search(
    data: SearchRows,
    labels: Array,
    centres: Array,
    total: float,
    weight: float,
    smallest: int,
    most_off_centre: float,
    tolerance: float,
    max_passes: int,
    tally: Tally,
    history: Array,
) -> Any:
    """Move centres to the means of their rows and rows to the cluster where they cost least, until both rest.

    A pass after which too many rows are not in the cluster of their nearest centre is undone, and is the last.

    Parameters
    ----------
    data : SearchRows
    labels : int32 array of shape (n,)
        Changed in place.
    centres : array of shape (k, p), in the type of the data
        Changed in place.
    total : float
        Sum of squares of all numbers.
    weight : float
        Of the squared gaps, in squared distances. 0 is k-means.
    smallest : int
        As in `count_all`.
    most_off_centre : float
        Most rows that may lie in another cluster than that of their nearest centre for the sake of the gaps.
    tolerance : float
        Rest when the centres together have moved by no more than this squared distance; rows have the last word.
    max_passes : int
        At least 1.
    tally : Tally
        Of the labels; changed in place.
    history : float64 array of shape (max_passes + 1,)
        Objective before the first pass, and after each.

    Returns
    -------
    entries : int
        Number of entries in history.
    undone : bool
        Whether too many rows were off their centres.
    """
    history[0] = _objective(centres, total, weight, tally)
    labels_before, centres_before = labels.copy(), centres.copy()
    for done in range(max_passes):
        if weight > 0.0:
            labels_before[:] = labels
            centres_before[:] = centres
        shift = _move_centres(centres, tally)
        moved, off_centre = _pass(data, labels, centres, weight, smallest, tally)
        if weight > 0.0 and off_centre > most_off_centre:
            labels[:] = labels_before
            centres[:] = centres_before
            tally.rows[:] = 0
            tally.sums[:] = 0.0
            tally.counts[:] = 0
            tally.wins[:] = 0
            tally.below[:] = 0
            count_all(data, labels, smallest, tally)
            return done + 1, True
        history[done + 1] = _objective(centres, total, weight, tally)
        if not moved or (done and shift <= tolerance):
            break
    return done + 2, False


@inner  # type: ignore[untyped-decorator]
def _objective(centres: Array, total: float, weight: float, tally: Tally) -> Any:
    """Sum of squared distances from the own centre, minus the weighted squared gaps."""
    objective = total
    for j in range(centres.shape[0]):
        for q in range(centres.shape[1]):
            centre = np.float64(centres[j, q])
            objective -= centre * (2.0 * tally.sums[q, j] - centre * tally.rows[j])
        objective -= weight * tally.squared_gap[j]
    return objective


@inner  # type: ignore[untyped-decorator]
def _move_centres(centres: Array, tally: Tally) -> Any:
    """Centres become means; returns the sum of squared distances they moved."""
    shift = 0.0
    for j in range(centres.shape[0]):
        if tally.rows[j]:
            for q in range(centres.shape[1]):
                before = centres[j, q]
                centres[j, q] = tally.sums[q, j] / tally.rows[j]
                shift += np.float64(centres[j, q] - before) ** 2
    return shift


@inner  # type: ignore[untyped-decorator]
def _pass(data: SearchRows, labels: Array, centres: Array, weight: float, smallest: int, tally: Tally) -> Any:
    """Offer every row every cluster, once; returns how many moved, and how many now are off the nearest centre."""
    part = np.empty(CHUNK, data.numeric.dtype)
    distances = np.empty((centres.shape[0], CHUNK))
    metrics = np.empty(tally.counts.shape[1])
    moved = np.empty(CHUNK, np.int64)
    origin = np.empty(CHUNK, np.int64)
    costs = np.empty(centres.shape[0])
    changes = np.empty(centres.shape[0])
    change = tally.change
    ranked = tally.below.shape[3] > 1
    # Gains within the rounding of distances are none: rows could wander for ever.
    least_gain = 32.0 * np.finfo(data.numeric.dtype).eps
    moves = 0
    off_centre = 0
    for first in range(0, labels.size, CHUNK):
        last = min(first + CHUNK, labels.size)
        _distances(data.numeric, first, last, centres, part, distances)
        size = 0
        for i in range(last - first):
            row = first + i
            a = np.int64(labels[row])  # one type of label: each further one is compiled anew
            if tally.rows[a] == 1:
                continue  # a cluster keeps its last row
            own = distances[a, i]
            for j in range(centres.shape[0]):
                costs[j] = distances[j, i] - own
            group, value = data.group[row], data.value[row]
            if weight > 0.0 and value >= 0:
                if ranked:
                    _changes(data, row, a, smallest, tally, changes)
                else:
                    for j in range(centres.shape[0]):
                        changes[j] = change[j, group, value, 1]
                    changes[a] = change[a, group, value, 0]
                for j in range(centres.shape[0]):
                    costs[j] -= weight * (changes[a] + changes[j])
            best: Any = a
            least = -least_gain * own
            for j in range(centres.shape[0]):
                if costs[j] < least and j != a:
                    least = costs[j]
                    best = j
            if weight > 0.0:
                near = distances[best, i] - least_gain * own
                for j in range(centres.shape[0]):
                    if distances[j, i] < near:
                        off_centre += 1
                        break
            if best != a:
                labels[row] = best
                origin[size] = a
                moved[size] = row
                size += 1
                tally.rows[a] -= 1
                tally.rows[best] += 1
                if value >= 0:
                    _count(data, row, a, -1, tally)
                    _count(data, row, best, 1, tally)
                    _compare(a, smallest, tally, metrics)
                    _compare(best, smallest, tally, metrics)
        if size:
            for q in range(data.numeric.shape[0]):
                column = data.numeric[q]
                sums = tally.sums[q]
                for m in range(size):
                    number = np.float64(column[moved[m]])
                    sums[origin[m]] -= number
                    sums[labels[moved[m]]] += number
        moves += size
    return moves, off_centre


@inner  # type: ignore[untyped-decorator]
def _changes(data: SearchRows, row: int, a: int, smallest: int, tally: Tally, changes: Array) -> None:
    """Write the change of each squared gap if a row leaves its cluster a, or joins another, by its rank."""
    group, value, rank = data.group[row], data.value[row], data.rank[row]
    for j in range(changes.size):
        step = -1 if j == a else 1
        wins = tally.wins[j, group] + step * _wins(rank, value, tally.below[j, group])
        negatives, positives = tally.counts[j, group, 0], tally.counts[j, group, 1]
        metric = _metric(negatives + step * (1 - value), positives + step * value, wins, smallest, True)
        changes[j] = _squared_gap(metric, tally.lowest[j, group], tally.highest[j, group]) - tally.squared_gap[j]


@inner  # type: ignore[untyped-decorator]
def _squared_gap(metric: float, low: float, high: float) -> Any:
    """Of a group's metric, NaN when it does not count, and the least and greatest of the other groups."""
    if metric < low:
        low = metric
    if metric > high:
        high = metric
    return (high - low) ** 2 if high > low else 0.0


@inner  # type: ignore[untyped-decorator]
def _metric(negatives: int, positives: int, wins: int, smallest: int, ranked: bool) -> Any:
    if ranked:
        enough = min(negatives, positives) >= smallest
        return wins / (2.0 * negatives * positives) if enough else np.nan
    return positives / (negatives + positives) if negatives + positives >= smallest else np.nan


@inner  # type: ignore[untyped-decorator]
def _wins(rank: int, value: int, below: Array) -> Any:
    """What a row adds to the wins: rows of the other value on the right side of it, twice, and those level with it."""
    if value == 1:
        return below[0, rank] + below[0, rank + 1]
    return 2 * below[1, below.shape[1] - 1] - below[1, rank] - below[1, rank + 1]


@inner  # type: ignore[untyped-decorator]
def _count(data: SearchRows, row: int, j: int, step: int, tally: Tally) -> None:
    group = data.group[row]
    value = data.value[row]
    if value < 0:
        return
    tally.counts[j, group, value] += step
    if tally.below.shape[3] > 1:
        rank = data.rank[row]
        tally.wins[j, group] += step * _wins(rank, value, tally.below[j, group])
        below = tally.below[j, group, value]
        for b in range(rank + 1, below.size):
            below[b] += step


@inner  # type: ignore[untyped-decorator]
def _compare(j: int, smallest: int, tally: Tally, metrics: Array) -> None:
    """Work out a cluster's gap, and each group's rivals, anew."""
    low, second_low, high, second_high = np.inf, np.inf, -np.inf, -np.inf
    for group in range(metrics.size):
        metric = _metric(
            tally.counts[j, group, 0], tally.counts[j, group, 1], tally.wins[j, group], smallest,
            tally.below.shape[3] > 1,
        )  # fmt: skip
        metrics[group] = metric
        if not np.isnan(metric):
            if metric < low:
                low, second_low = metric, low
            else:
                second_low = min(second_low, metric)
            if metric > high:
                high, second_high = metric, high
            else:
                second_high = max(second_high, metric)
    gap = high - low if high > low else 0.0
    tally.squared_gap[j] = gap * gap
    for group in range(metrics.size):
        tally.lowest[j, group] = second_low if metrics[group] == low else low
        tally.highest[j, group] = second_high if metrics[group] == high else high
        if tally.below.shape[3] == 1:
            for value in range(2):
                for joins in range(2):
                    step = 2 * joins - 1
                    negatives, positives = tally.counts[j, group, 0], tally.counts[j, group, 1]
                    metric = _metric(negatives + step * (1 - value), positives + step * value, 0, smallest, False)
                    gap = _squared_gap(metric, tally.lowest[j, group], tally.highest[j, group])
                    tally.change[j, group, value, joins] = gap - tally.squared_gap[j]


@compiled  # type: ignore[untyped-decorator]
def wins_by_group(values: Array, groups: Array, starts: Array, wins: Array) -> None:
    """Add to wins, shape (G,), twice the pairs of a positive above a negative row in each group, ties half.

    Parameters
    ----------
    values : int8 array of shape (n,)
        Labels, 0 or 1, of rows in the order of their score.
    groups : integer array of shape (n,)
    starts : int64 array of shape (m + 1,)
        Where each run of equal scores begins, and the end.
    wins : int64 array of shape (G,)
    """
    negatives = np.zeros(wins.size, np.int64)
    for run in range(starts.size - 1):
        # A positive counts the negatives below its run twice, and those in its run once.
        for i in range(starts[run], starts[run + 1]):
            if values[i] == 1:
                wins[groups[i]] += negatives[groups[i]]
        for i in range(starts[run], starts[run + 1]):
            if values[i] != 1:
                negatives[groups[i]] += 1
        for i in range(starts[run], starts[run + 1]):
            if values[i] == 1:
                wins[groups[i]] += negatives[groups[i]]
