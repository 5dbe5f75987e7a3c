"""The compiled loops of the scan, serial and free of the interpreter lock.

Every value of every column has a *cell*; the cells of a column follow one another. A *state* is a byte per cell: 1
where the value is in the group. A column that has all its cells in it has no condition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float64, int64, njit, uint8, uint16, uint64

Array = np.ndarray[Any, Any]

compiled = njit(nogil=True, cache=True, no_cfunc_wrapper=True)
inner = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
once = njit(inline="always")  # called in one place, of which it becomes a part: quicker to compile

RATE, MEAN, RATE_BOUND, MEAN_BOUND = 0, 1, 2, 3
"""What is maximised: how strongly a higher rate or mean is indicated, or an upper bound of either's difference."""
GAP_BOUND = 4
"""An upper bound of how much higher a rate is than what was expected of these people, whatever the others have."""
_LEAST_GAIN = 1e-9
_REMEMBERED = 1 << 10
"""States that climbs have been at, which no other need climb from again."""
_BLOCK = 1 << 10
"""Rows that are sorted by which conditions they meet before they are added up: so no processor has to guess."""


@compiled  # type: ignore[untyped-decorator]
def climb(
    cells: Array,
    harm: Array,
    expected: Array,
    people: Array,
    offsets: Array,
    ordered: Array,
    prices: Array,
    starts: Array,
    objective: int,
    reach: Array,
    fewest: Array,
    max_conditions: int,
    most_singles: int,
    keys: Array,
    known: Array,
    remembered: Array,
    marks: Array,
    slots: Array,
    firsts: Array,
    rates: Array,
    best_state: Array,
) -> Any:
    """The group of the best score that is reached from several starts.

    In each step the condition of one column gives way to the best one among the rows that meet all others: of the
    column with which the score rises most. A climb ends where no column raises it, or where an earlier climb has been.

    Parameters
    ----------
    cells : uint16 array of shape (n, columns)
    harm : float64 array of shape (n,)
        1 or 0 for a rate; else how much worse than expected.
    expected : float64 array of shape (n,)
        For a rate the chance of harm; for a mean the square of `harm`.
    people : float64 array of shape (n,)
        Of a person with several rows the share that each has; empty where each row is a person.
    offsets : int64 array of shape (columns + 1,)
        First cell of each column. The last cell of an ordered column is "missing".
    ordered : bool array of shape (columns,)
    prices : float64 array of shape (columns, most)
        Of an ordered column by form (see `bdt_core.groups.scan.language.FORMS`), of others by the number of values.
    starts : uint8 array of shape (starts, cells)
        States; the best single conditions are tried before them.
    objective : int
    reach : float64 array of shape (3, k)
        Of bounds, by the logarithm of the people to the base 2: how many standard errors they reach above the mean
        inside, and below the one outside; and a value that is counted once more where others may not tell the spread.
    fewest : float64 array of shape (2,)
        People inside, and outside.
    max_conditions : int
    most_singles : int
        How many single conditions, each the best of its column, are tried.
    keys, known, remembered : uint64 array of shape (m,), float64 of (m, cells, 4), int64 of (1,)
        Sums of states that climbs over the same rows came by, and how many there are; written to while there is room.
    marks, slots, firsts : uint64 array of shape (m, words), int64 of (n,), int64 of (strata + 1,)
        See `bdt_core.groups.scan.rows.Marks`; empty where each row is added up.
    rates : float64 array of shape (strata,)
        What is expected of each row of a stratum.
    best_state : uint8 array of shape (cells,)
        Written to.

    Returns
    -------
    float
        The best score, minus infinity where no group has one.
    """
    columns = ordered.size
    sums = np.empty((offsets[columns], 4))
    state = np.empty(offsets[columns], np.uint8)
    harmed, foretold = _harmed(harm, slots, firsts), _foretold(firsts, rates)
    _fill(state, 1)
    _recall_or_add_up(
        _key(state), cells, harm, expected, people, state, offsets, max_conditions, keys, known, remembered,
        marks, firsts, harmed, foretold, sums,
    )  # fmt: skip
    total = _total(cells, expected, offsets, rates, sums)
    singles = _single_conditions(offsets, ordered, prices, objective, reach, fewest, most_singles, total, sums)
    best = -np.inf
    before, best_before = np.empty(offsets[columns], np.uint8), np.empty(offsets[columns], np.uint8)
    last_column = best_column = -1
    last_paid = best_paid = 0.0
    _fill(best_state, 1)
    condition = np.empty(offsets[columns], np.uint8)
    replacement = np.empty(offsets[columns], np.uint8)
    price = np.empty(columns)
    visited = np.empty(_REMEMBERED, np.uint64)
    seen = 0
    for start in range(len(singles) + len(starts)):
        if start < len(singles):
            _copy(singles[start], state)
        else:
            _copy(starts[start - len(singles)], state)
        for j in range(columns):
            price[j] = _price(state[offsets[j] : offsets[j + 1]], ordered[j], prices[j])
        score = -np.inf
        while True:
            key = _key(state)
            if _is_among(key, visited[:seen]):
                break
            if seen < _REMEMBERED:
                visited[seen] = key
                seen += 1
            constrained = _constrained(state, offsets)
            _recall_or_add_up(
                key, cells, harm, expected, people, state, offsets, max_conditions, keys, known, remembered,
                marks, firsts, harmed, foretold, sums,
            )  # fmt: skip
            paid = 0.0
            for j in range(columns):
                paid += price[j]
            changed, changed_price = -1, 0.0
            for j in range(columns):
                first, last = offsets[j], offsets[j + 1]
                if constrained.size >= max_conditions and not _is_constrained(state, first, last):
                    continue
                reached, cost = _best_condition(
                    sums[first:last], ordered[j], prices[j], total, objective, reach, fewest, paid - price[j],
                    score, condition[first:last],
                )  # fmt: skip
                if reached > score + _LEAST_GAIN:
                    score, changed, changed_price = reached, j, cost
                    _copy(condition[first:last], replacement[first:last])
            if changed < 0:
                break
            first, last = offsets[changed], offsets[changed + 1]
            _copy(state, before)
            last_column, last_paid = changed, paid - price[changed]
            _copy(replacement[first:last], state[first:last])
            price[changed] = changed_price
        if score > best + _LEAST_GAIN:
            best, best_column, best_paid = score, last_column, last_paid
            _copy(state, best_state)
            _copy(before, best_before)
    if rates.size > 1 and best_column >= 0:
        first, last = offsets[best_column], offsets[best_column + 1]
        _add_up(
            cells, harm, expected, people, best_before, _constrained(best_before, offsets),
            np.arange(best_column, best_column + 1), sums,
        )  # fmt: skip
        best, _ = _best_condition(
            sums[first:last], ordered[best_column], prices[best_column], total, objective, reach, fewest, best_paid,
            -np.inf, best_state[first:last],
        )  # fmt: skip
    return best


_NUMBERS, _CELLS = float64[::1], int64[::1]
CALLED_WITH = {
    climb: (
        uint16[:, ::1], _NUMBERS, _NUMBERS, _NUMBERS, _CELLS, boolean[::1], float64[:, ::1], uint8[:, ::1],
        int64, float64[:, ::1], _NUMBERS, int64, int64, uint64[::1], float64[:, :, ::1], _CELLS,
        uint64[:, ::1], _CELLS, _CELLS, _NUMBERS, uint8[::1],
    )
}  # fmt: skip
"""What takes longest to compile, and the types that `bdt_core.groups.scan.climbing` calls it with."""


@compiled  # type: ignore[untyped-decorator]
def price(state: Array, offsets: Array, ordered: Array, prices: Array) -> Any:
    """What the conditions of a state cost; see `climb`."""
    paid = 0.0
    for j in range(ordered.size):
        paid += _price(state[offsets[j] : offsets[j + 1]], ordered[j], prices[j])
    return paid


@once  # type: ignore[untyped-decorator]
def _single_conditions(
    offsets: Array, ordered: Array, prices: Array, objective: int, reach: Array, fewest: Array, most_singles: int,
    total: Array, sums: Array,
) -> Any:  # fmt: skip
    """The best condition of each column alone, the best columns first; of sums per cell over all rows."""
    columns = ordered.size
    alone = np.empty((columns, len(sums)), np.uint8)
    reached = np.empty(columns)
    for j in range(columns):
        first, last = offsets[j], offsets[j + 1]
        _fill(alone[j], 1)
        reached[j], _ = _best_condition(
            sums[first:last], ordered[j], prices[j], total, objective, reach, fewest, 0.0, -np.inf,
            alone[j, first:last],
        )  # fmt: skip
    order = _descending(reached)
    best = np.empty((min(most_singles, columns), len(sums)), np.uint8)
    singles = 0
    for j in range(len(best)):
        if reached[order[j]] > -np.inf:
            _copy(alone[order[j]], best[singles])
            singles += 1
    return best[:singles]


@once  # type: ignore[untyped-decorator]
def _total(cells: Array, expected: Array, offsets: Array, rates: Array, sums: Array) -> Any:
    """Sums over all rows, of sums per cell over all rows; what is expected is added up as it always is, row by row."""
    total = np.empty(4)
    _fill(total, 0.0)
    if rates.size > 1:
        for cell in range(offsets[1]):
            sums[cell, 2] = 0.0
        for i in range(expected.size):
            sums[cells[i, 0], 2] += expected[i]
    for cell in range(offsets[1]):
        for k in range(4):
            total[k] += sums[cell, k]
    return total


@once  # type: ignore[untyped-decorator]
def _recall_or_add_up(
    key: int, cells: Array, harm: Array, expected: Array, people: Array, state: Array, offsets: Array,
    max_conditions: int, keys: Array, known: Array, remembered: Array, marks: Array, firsts: Array, harmed: Array,
    foretold: Array, sums: Array,
) -> None:  # fmt: skip
    """The sums of a state, of the columns whose condition may change: as they were, counted, or over the rows."""
    for place in range(remembered[0]):
        if keys[place] == key:
            for cell in range(len(sums)):
                _copy(known[place, cell], sums[cell])
            return
    constrained = _constrained(state, offsets)
    columns = constrained if constrained.size >= max_conditions else np.arange(offsets.size - 1)
    if marks.size > 0:
        _count(marks, firsts, harmed, foretold, state, constrained, columns, offsets, sums)
    else:
        _add_up(cells, harm, expected, people, state, constrained, columns, sums)
    if remembered[0] < keys.size:
        keys[remembered[0]] = key
        for cell in range(len(sums)):
            _copy(sums[cell], known[remembered[0], cell])
        remembered[0] += 1


@compiled  # type: ignore[untyped-decorator]
def mark(cells: Array, slots: Array, marks: Array) -> None:
    """Set the bit of each row in the marks of its cells.

    Parameters
    ----------
    cells, slots
        See `climb`.
    marks : uint64 array of shape (m, words)
        Written to.
    """
    for i in range(slots.size):
        word, bit = slots[i] >> 6, np.uint64(1) << np.uint64(slots[i] & 63)
        for j in range(cells.shape[1]):
            marks[cells[i, j], word] |= bit


@once  # type: ignore[untyped-decorator]
def _harmed(harm: Array, slots: Array, firsts: Array) -> Any:
    """Marks of the rows that are harmed."""
    harmed = np.empty(firsts[-1], np.uint64)
    _fill(harmed, 0)
    for i in range(slots.size):
        harmed[slots[i] >> 6] |= np.uint64(harm[i] != 0.0) << np.uint64(slots[i] & 63)
    return harmed


@once  # type: ignore[untyped-decorator]
def _foretold(firsts: Array, rates: Array) -> Any:
    """What is expected of so many rows of each stratum, added up row by row."""
    foretold = np.empty(64 * firsts[-1] + rates.size)
    for stratum in range(rates.size):
        first = 64 * firsts[stratum] + stratum
        foretold[first] = 0.0
        for rows in range(64 * (firsts[stratum + 1] - firsts[stratum])):
            foretold[first + rows + 1] = foretold[first + rows] + rates[stratum]
    return foretold


@inner  # type: ignore[untyped-decorator]
def _count(
    marks: Array, firsts: Array, harmed: Array, foretold: Array, state: Array, constrained: Array, columns: Array,
    offsets: Array, sums: Array,
) -> None:  # fmt: skip
    """As `_add_up`, of rates: 64 rows at once."""
    words = harmed.size
    meets, others = np.empty((constrained.size, words), np.uint64), np.empty(words, np.uint64)
    for t in range(constrained.size):
        _fill(meets[t], 0)
        j = constrained[t]
        for cell in range(offsets[j], min(offsets[j + 1], len(marks))):
            if state[cell]:
                for word in range(words):
                    meets[t, word] |= marks[cell, word]
    for cell in range(len(sums)):
        _fill(sums[cell], 0.0)
    for j in columns:
        _fill(others, 0xFFFFFFFFFFFFFFFF)
        for t in range(constrained.size):
            if constrained[t] != j:
                for word in range(words):
                    others[word] &= meets[t, word]
        for cell in range(offsets[j], min(offsets[j + 1], len(marks))):
            for stratum in range(firsts.size - 1):
                first, last = firsts[stratum], firsts[stratum + 1]
                of_cell, of_others, of_harmed = marks[cell, first:last], others[first:last], harmed[first:last]
                rows = harms = 0
                for word in range(of_cell.size):
                    inside = of_cell[word] & of_others[word]
                    rows += _ones(inside)
                    harms += _ones(inside & of_harmed[word])
                sums[cell, 0] += rows
                sums[cell, 1] += harms
                sums[cell, 2] += foretold[64 * first + stratum + rows]
            sums[cell, 3] = sums[cell, 0]


@inner  # type: ignore[untyped-decorator]
def _ones(word: int) -> Any:
    """How many bits are set, in a form that compilers know: they make one instruction for several words of it."""
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + ((pairs >> np.uint64(2)) & np.uint64(0x3333333333333333))
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((eights * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner  # type: ignore[untyped-decorator]
def _add_up(
    cells: Array, harm: Array, expected: Array, people: Array, state: Array, constrained: Array, columns: Array,
    sums: Array,
) -> None:  # fmt: skip
    """Rows, harm, expectation and people per cell of some columns, over the rows that meet all others' conditions."""
    for cell in range(len(sums)):
        _fill(sums[cell], 0.0)
    alone = people.size == 0
    met = np.empty(_BLOCK, np.int64)
    missed, column = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    for first in range(0, harm.size, _BLOCK):
        all_met = missed_once = 0
        for i in range(first, min(first + _BLOCK, harm.size)):
            fails = failed = 0
            for t in range(constrained.size):
                is_outside = state[cells[i, constrained[t]]] == 0
                fails += is_outside
                failed += is_outside * constrained[t]
            met[all_met] = i
            all_met += fails == 0
            missed[missed_once] = i
            column[missed_once] = failed
            missed_once += fails == 1
        for k in range(all_met):
            i = met[k]
            harmed, foretold = harm[i], expected[i]
            for j in columns:
                cell = cells[i, j]
                sums[cell, 0] += 1.0
                sums[cell, 1] += harmed
                sums[cell, 2] += foretold
                if not alone:
                    sums[cell, 3] += people[i]
        for k in range(missed_once):
            i = missed[k]
            cell = cells[i, column[k]]
            sums[cell, 0] += 1.0
            sums[cell, 1] += harm[i]
            sums[cell, 2] += expected[i]
            if not alone:
                sums[cell, 3] += people[i]
    if alone:
        for cell in range(len(sums)):
            sums[cell, 3] = sums[cell, 0]


@inner  # type: ignore[untyped-decorator]
def _best_condition(
    sums: Array, ordered: Any, prices: Array, total: Array, objective: int, reach: Array, fewest: Array,
    paid: float, at_least: float, condition: Array,
) -> Any:  # fmt: skip
    """Score and price of a column's best condition, or of none; the condition is written only where it is better."""
    rows = harm = expected = people = 0.0
    for k in range(len(sums)):
        rows += sums[k, 0]
        harm += sums[k, 1]
        expected += sums[k, 2]
        people += sums[k, 3]
    best = -np.inf
    if _may_reach(rows, harm, expected, people, total, objective, fewest, at_least + paid):
        best = _score(rows, harm, expected, people, total, objective, reach) - paid
    if best > at_least:
        _fill(condition, 1)
    at_least = max(at_least, best)
    if ordered:
        return _best_interval(sums, prices, total, objective, reach, fewest, paid, at_least, best, condition)
    return _best_set(sums, prices, total, objective, reach, fewest, paid, at_least, best, condition)


@once  # type: ignore[untyped-decorator]
def _best_interval(
    sums: Array, prices: Array, total: Array, objective: int, reach: Array, fewest: Array, paid: float,
    at_least: float, best: float, condition: Array,
) -> Any:  # fmt: skip
    """All intervals, with "or missing" and without it, and "missing" alone."""
    bins = len(sums) - 1
    has_missing = sums[bins, 0] > 0.0
    price = 0.0
    low = high = -1
    with_missing = False
    for missing in range(1 + has_missing):
        for a in range(bins):
            rows = harm = expected = people = 0.0
            if missing:
                rows, harm, expected, people = sums[bins, 0], sums[bins, 1], sums[bins, 2], sums[bins, 3]
            for b in range(a, bins):
                rows += sums[b, 0]
                harm += sums[b, 1]
                expected += sums[b, 2]
                people += sums[b, 3]
                is_whole = a == 0 and b == bins - 1
                if is_whole and (missing or not has_missing):
                    continue
                cost = prices[_form(a, b, bins, missing)]
                if not _may_reach(rows, harm, expected, people, total, objective, fewest, at_least + paid + cost):
                    continue
                score = _score(rows, harm, expected, people, total, objective, reach) - paid - cost
                if score > at_least + _LEAST_GAIN:
                    best = at_least = score
                    price, low, high, with_missing = cost, a, b, missing == 1
    if has_missing:
        rows, harm, expected, people = sums[bins, 0], sums[bins, 1], sums[bins, 2], sums[bins, 3]
        cost = prices[2]  # of "missing"
        if _may_reach(rows, harm, expected, people, total, objective, fewest, at_least + paid + cost):
            score = _score(rows, harm, expected, people, total, objective, reach) - paid - cost
            if score > at_least + _LEAST_GAIN:
                best = score
                price, low, high, with_missing = cost, 0, -1, True
    if low >= 0:
        _fill(condition, 0)
        _fill(condition[low : high + 1], 1)
        condition[bins] = with_missing
    return best, price


@inner  # type: ignore[untyped-decorator]
def _form(low: int, high: int, bins: int, missing: int) -> Any:
    """The form of an interval; see `bdt_core.groups.scan.language.FORMS`."""
    if low == 0 and high == bins - 1:
        return 2
    return (0 if low == 0 or high == bins - 1 else 1) + 3 * missing


@once  # type: ignore[untyped-decorator]
def _best_set(
    sums: Array, prices: Array, total: Array, objective: int, reach: Array, fewest: Array, paid: float,
    at_least: float, best: float, condition: Array,
) -> Any:  # fmt: skip
    """The best of the sets that take values by their rate, the highest first, and by their excess.

    Of all sets of values the best is one of the first kind (linear-time subset scanning, Neill 2012); where sets have
    a price by their size, one of the second kind can be better.
    """
    present = _positions_of_rows(sums)
    absent = len(sums) - present.size
    price = 0.0
    excess = np.empty(present.size)
    by_rate = np.empty(present.size)
    mean = total[1] / total[0]
    for i in range(present.size):
        rows, harm, expected = sums[present[i], 0], sums[present[i], 1], sums[present[i], 2]
        is_expected = objective in (RATE, GAP_BOUND)
        excess[i] = harm - expected if is_expected else harm - mean * rows
        by_rate[i] = excess[i] / (max(expected, 1e-300) if objective == RATE else rows)
    for by_excess in range(2):
        order = _descending(excess if by_excess else by_rate)
        rows = harm = expected = people = 0.0
        for m in range(1, present.size):
            of_cell = sums[present[order[m - 1]]]
            rows += of_cell[0]
            harm += of_cell[1]
            expected += of_cell[2]
            people += of_cell[3]
            takes_absent = prices[m + absent] < prices[m]
            cost = prices[m + absent] if takes_absent else prices[m]
            if not _may_reach(rows, harm, expected, people, total, objective, fewest, at_least + paid + cost):
                continue
            score = _score(rows, harm, expected, people, total, objective, reach) - paid - cost
            if score > at_least + _LEAST_GAIN:
                best = at_least = score
                price = cost
                _fill(condition, takes_absent)
                for i in range(present.size):
                    condition[present[order[i]]] = i < m
    return best, price


@once  # type: ignore[untyped-decorator]
def _may_reach(
    rows: float, harm: float, expected: float, people: float, total: Array, objective: int, fewest: Array,
    at_least: float,
) -> Any:  # fmt: skip
    """Whether some rows are enough people, and may fare worse than the others by `at_least`.

    Without a branch that a processor would have to guess: of most rows the score is never worked out.
    """
    rest, expected_outside = total[0] - rows, total[2] - expected
    apart = harm - expected
    inside, outside = expected * (rows - expected), expected_outside * (rest - expected_outside)
    chi_square = apart * apart * (rows * outside + rest * inside)  # times both, as divisions take long
    return (
        (people >= fewest[0])
        & (total[3] - people >= fewest[1])
        & (
            (objective != RATE)
            | (
                (harm > expected)
                & (expected > 0.0)
                & (expected_outside > 0.0)
                & (expected < rows)
                & (expected_outside < rest)
                & (chi_square > at_least * inside * outside)  # else the divergence is no larger
            )
        )
    )


@inner  # type: ignore[untyped-decorator]
def _score(rows: float, harm: float, expected: float, people: float, total: Array, objective: int, reach: Array) -> Any:
    """How strongly some rows fare worse than the others; minus infinity where they do not."""
    rest, harm_outside, expected_outside = total[0] - rows, total[1] - harm, total[2] - expected
    if objective == RATE:  # log likelihood ratio of "a higher rate than expected inside, and a lower one outside"
        return _divergence(harm, rows, expected) + _divergence(harm_outside, rest, expected_outside)  # Kulldorff 1997
    if objective == MEAN:
        return _mean_score(harm, rows, expected, harm_outside, rest, expected_outside, total[2] / total[0])
    inside, outside = _place(people, reach), _place(total[3] - people, reach)
    if objective == GAP_BOUND:
        return _wilson(harm / rows, rows, reach[0, inside]) - expected / rows
    up, down = reach[0, inside], reach[1, outside]
    if objective == RATE_BOUND:
        return _rate_bound(harm, rows, expected, harm_outside, rest, up, down)
    return _mean_bound(harm, rows, expected, harm_outside, rest, expected_outside, up, down, reach[2, inside])


@inner  # type: ignore[untyped-decorator]
def _place(people: float, reach: Array) -> Any:
    return max(0, min(int(np.log2(people)), reach.shape[1] - 1))


@once  # type: ignore[untyped-decorator]
def _mean_score(
    harm: float, n: float, squares: float, harm_outside: float, rest: float, squares_outside: float, everybody: float
) -> Any:
    """Half the square of Welch's statistic, which is a log likelihood ratio in large samples.

    With a group's own variance no group is named that only has a wider spread. Where that is less than everybody's, as
    it is by chance in many a small group of skewed amounts, everybody's counts.
    """
    mean, other = harm / n, harm_outside / rest
    if mean <= other:
        return -np.inf
    inside = max(squares / n - mean * mean, everybody)
    outside = max(squares_outside / rest - other * other, everybody)
    return 0.5 * (mean - other) * (mean - other) / (inside / n + outside / rest)


@inner  # type: ignore[untyped-decorator]
def _divergence(events: float, n: float, expected: float) -> Any:
    """n times the Kullback-Leibler divergence of the rate from the expected one."""
    divergence = 0.0
    if events > 0.0:
        divergence += events * np.log(events / expected)
    if events < n:
        divergence += (n - events) * np.log((n - events) / (n - expected))
    return divergence


@once  # type: ignore[untyped-decorator]
def _rate_bound(
    harm: float, n: float, expected: float, harm_outside: float, rest: float, up: float, down: float
) -> Any:
    """Upper bound of how much higher the rate is inside, from Wilson's intervals (Newcombe 1998)."""
    rate, other = harm / n, harm_outside / rest
    above = _wilson(rate, n, up) - rate
    below = other - _wilson(other, rest, -down)
    difference = (harm - expected) / n * (n + rest) / rest
    return difference + np.sqrt(above * above + below * below)


@inner  # type: ignore[untyped-decorator]
def _wilson(rate: float, n: float, z: float) -> Any:
    square = z * z / n
    reach = z * np.sqrt((rate * (1.0 - rate) + 0.25 * square) / n)
    return (rate + 0.5 * square + reach) / (1.0 + square)


@once  # type: ignore[untyped-decorator]
def _mean_bound(
    harm: float, n: float, squares: float, harm_outside: float, rest: float, squares_outside: float, up: float,
    down: float, once_more: float,
) -> Any:  # fmt: skip
    """The same of a mean: Welch's, with a reach of its own for either side."""
    if once_more > 0.0:
        n, harm, squares = n + 1.0, harm + once_more, squares + once_more * once_more
    mean, other = harm / n, harm_outside / rest
    above = up * up * max(squares / n - mean * mean, 0.0) / (n - 1.0)
    below = down * down * max(squares_outside / rest - other * other, 0.0) / (rest - 1.0)
    return mean - other + np.sqrt(above + below)


@inner  # type: ignore[untyped-decorator]
def _price(condition: Array, ordered: Any, prices: Array) -> Any:
    """What a condition costs."""
    size = condition.size
    count = 0
    for k in range(size):
        count += condition[k]
    if count == size:
        return 0.0
    if not ordered:
        return prices[count]
    bins = size - 1
    low, high = bins, -1
    for k in range(bins):
        if condition[k]:
            low, high = min(low, k), k
    return prices[2] if high < 0 else prices[_form(low, high, bins, condition[bins])]


@inner  # type: ignore[untyped-decorator]
def _is_constrained(state: Array, first: int, last: int) -> Any:
    for cell in range(first, last):  # noqa: SIM110 - the compiler knows no any()
        if not state[cell]:
            return True
    return False


@once  # type: ignore[untyped-decorator]
def _constrained(state: Array, offsets: Array) -> Any:
    """Columns with a condition."""
    columns = np.empty(offsets.size - 1, np.int64)
    size = 0
    for j in range(columns.size):
        if _is_constrained(state, offsets[j], offsets[j + 1]):
            columns[size] = j
            size += 1
    return columns[:size]


@inner  # type: ignore[untyped-decorator]
def _copy(source: Array, target: Array) -> None:
    """As ``target[:] = source``, of which the compiler makes seconds of code for messages on shapes."""
    for i in range(source.size):
        target[i] = source[i]


@inner  # type: ignore[untyped-decorator]
def _fill(target: Array, value: Any) -> None:
    """As ``target[:] = value``, which is slower to compile, too."""
    for i in range(target.size):
        target[i] = value


@once  # type: ignore[untyped-decorator]
def _positions_of_rows(sums: Array) -> Any:
    """Cells that have any rows."""
    positions = np.empty(len(sums), np.int64)
    size = 0
    for cell in range(len(sums)):
        if sums[cell, 0] > 0.0:
            positions[size] = cell
            size += 1
    return positions[:size]


@inner  # type: ignore[untyped-decorator]
def _descending(values: Array) -> Any:
    """The order of values, the largest first, equal ones as they come; short, so that insertion is as fast as any."""
    order = np.empty(values.size, np.int64)
    for i in range(values.size):
        place = i
        while place > 0 and values[order[place - 1]] < values[i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
    return order


@once  # type: ignore[untyped-decorator]
def _is_among(key: int, keys: Array) -> Any:
    for other in keys:  # noqa: SIM110
        if other == key:
            return True
    return False


@once  # type: ignore[untyped-decorator]
def _key(state: Array) -> Any:
    # FNV-1a (Fowler, Noll & Vo).
    key = np.uint64(0xCBF29CE484222325)
    for cell in range(state.size):
        key = (key ^ np.uint64(state[cell])) * np.uint64(0x100000001B3)
    return key
