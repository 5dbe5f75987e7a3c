"""Persons with several rows: what rows of one person have in common is not counted twice.

Rows of one person are alike, so that n rows of G persons say less than n rows of n persons. Every estimate here is a
difference of means, which is a sum of what single rows add to it. Its variance is the sum, over persons, of the squared
sums of their rows (Liang & Zeger 1986). Divided by the variance of as many rows of different persons that is the design
effect, and counts divided by it are effective counts: as many rows of different persons would say as much (Rao & Scott
1992). Intervals and tests of counts take these in place of the rows.

With few persons the variance itself is uncertain: t with degrees of freedom by persons takes the place of the normal
distribution, and effective counts shrink by the square of the ratio of their quantiles. Rows and persons are the same
where each person has one row; then the design effect is 1 up to chance.

References
----------
Liang, K.-Y., Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models. Biometrika 73, 13-22.
Rao, J. N. K., Scott, A. J. (1992). A simple method for the analysis of clustered binary data. Biometrics 48, 577-585.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bdt_core.inference._checks import number_or_none
from bdt_core.inference.auc import AUC, AreaSpread, area_under_curve_of_counts, placements
from bdt_core.inference.categories import CategoricalComparison, compare_category_counts
from bdt_core.inference.comparison import (
    DETECTION_POWER,
    EXACT,
    FEWEST_ROWS_OF_MEANS,
    Comparison,
    PersonsCompared,
    not_testable,
    too_few,
)
from bdt_core.inference.exact import SMALLEST_P, mid_p_value
from bdt_core.inference.means import mean_interval
from bdt_core.inference.power import detectable_mean_difference, detectable_rate_difference
from bdt_core.inference.proportions import koopman_interval, newcombe_interval, wilson_interval
from bdt_core.inference.summaries import Scale, Summary, ValueCounts
from bdt_core.said import of_ours, say

Floats = NDArray[np.float64]
Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int64]

MOST_NUMBERED = 1 << 16
"""So many persons are told apart. More are put into as many pots by their hash: the variance between pots is that
between persons, with so many degrees of freedom that nobody sees the difference."""

_STEPS = 2.0**30
EXACT_BY_PERSONS = "exact mid-p of effective counts"
T_BY_PERSONS = "t with errors by person"


@dataclass(frozen=True)
class Persons:
    """Who is in some rows; blocks of rows add up.

    `hashes` are the lowest hashes of persons, rising: of all of them, or of one more than are told apart.
    """

    hashes: Hashes

    @classmethod
    def of(cls, hashes: Hashes) -> Persons:
        """The persons of a block, from the hash of each row's."""
        return cls(np.unique(hashes)[: MOST_NUMBERED + 1])

    def __add__(self, other: Persons) -> Persons:
        return Persons.of(np.concatenate([self.hashes, other.hashes]))

    @property
    def are_numbered(self) -> bool:
        """Whether each person has a number of his own."""
        return self.hashes.size <= MOST_NUMBERED

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return min(self.hashes.size, MOST_NUMBERED)

    @property
    def number(self) -> int:
        """How many persons there are; of more than are told apart, estimated from their lowest hashes (within 1 %).

        Bar-Yossef, Z., et al. (2002). Counting distinct elements in a data stream. RANDOM, 1-10.
        """
        if self.are_numbered:
            return int(self.hashes.size)
        return round((self.hashes.size - 1) / (float(self.hashes[-1]) / 2.0**64))

    def numbers(self, hashes: Hashes) -> Numbers:
        """The number of each row's person, 0 to size - 1."""
        if self.are_numbered:
            return np.searchsorted(self.hashes, hashes).astype(np.int64)
        return (hashes >> np.uint64(48)).astype(np.int64)


@dataclass(frozen=True)
class PersonSums:
    """What each person has in a group; adds up over blocks, and a group's rest is all less the group.

    `rows` and `steps` have shape (persons,); steps are the sum of a value in whole steps, or rows with an event.
    """

    rows: Numbers
    steps: Numbers

    def __add__(self, other: PersonSums) -> PersonSums:
        return PersonSums(self.rows + other.rows, self.steps + other.steps)

    def __sub__(self, other: PersonSums) -> PersonSums:
        return PersonSums(self.rows - other.rows, self.steps - other.steps)

    @property
    def rows_worth(self) -> float:
        """Rows of different persons that are worth as much if all rows of a person are alike (Kish 1965)."""
        # Counts as floats: their squares may be above 2**63.
        rows = self.rows.astype(np.float64)
        return float(rows.sum() ** 2 / np.square(rows).sum()) if rows.any() else 0.0

    @property
    def persons(self) -> int:
        """Who has any row; of more than are told apart, estimated from the empty pots (Whang et al. 1990)."""
        present = int(np.count_nonzero(self.rows))
        if self.rows.size < MOST_NUMBERED:
            return present
        empty = max(self.rows.size - present, 1)
        return min(round(self.rows.size * math.log(self.rows.size / empty)), int(self.rows.sum()))


def person_sums(steps: NDArray[np.float64], numbers: Numbers, size: int) -> PersonSums:
    """Sum the steps of some rows by their persons' numbers, 0 to size - 1."""
    # Whole numbers below 2**53 are exact in float64, so that the order of the rows does not matter.
    return PersonSums(np.bincount(numbers, minlength=size), np.bincount(numbers, steps, size).astype(np.int64))


@dataclass(frozen=True, eq=False)
class PlacedSums:
    """What persons have in many groups at once, where most have nothing in most; blocks of rows add up.

    `places` is a number for each group and person that have rows, rising; `sums`, shape (k, places), are rows and what
    else was summed.
    """

    places: Numbers
    sums: Numbers

    @classmethod
    def of(cls, places: Numbers, *values: Numbers) -> Self:
        """Sum what has one place."""
        distinct, where = np.unique(places, return_inverse=True)
        sums = np.zeros((len(values), distinct.size), dtype=np.int64)
        for total, value in zip(sums, values, strict=True):
            np.add.at(total, where, value)
        return cls(distinct, sums)

    def __add__(self, other: Self) -> Self:
        return self.of(np.concatenate([self.places, other.places]), *np.hstack([self.sums, other.sums]))


@dataclass(frozen=True)
class Steps:
    """How values become whole steps, whose sums do not depend on the order of the rows."""

    low: float
    length: float

    @classmethod
    def of(cls, how: NDArray[np.float64] | Scale) -> Steps:
        """Steps that are as fine as values in this range need; of two values they are 0 and 1."""
        if isinstance(how, Scale):
            return cls(math.ldexp(how.centre, how.power), math.ldexp(1.0, how.unit) / _STEPS)
        if how.size <= 2:
            return cls(float(how[0]) if how.size else 0.0, float(how[-1] - how[0]) or 1.0 if how.size else 1.0)
        return cls(float(how[0]), float(how[-1] - how[0]) / _STEPS)

    def count(self, values: Floats) -> Floats:
        """The steps of values."""
        return np.rint((values - self.low) / self.length)


@dataclass(frozen=True)
class Spread:
    """How far a difference of two means may be off by chance, as persons tell.

    The `variance` of the difference is in squared steps; `df` are its degrees of freedom; `alike` is the design effect
    if all rows of a person were alike.
    """

    variance: float
    df: float
    persons_a: int
    persons_b: int
    alike: float


def spread_of(a: PersonSums, b: PersonSums) -> Spread:
    """The spread of the difference of two groups' means; a person may have rows in both.

    A person adds the sum of his rows' distances from their group's mean, divided by the rows of the group, less the
    same in the other group. Degrees of freedom are Satterthwaite's for sums whose variance is the square of the rows.
    """
    total, weights, alike, rows = np.zeros(a.rows.size), np.zeros(a.rows.size), 0.0, 0.0
    for sums, sign in ((a, 1.0), (b, -1.0)):
        n, persons = int(sums.rows.sum()), int(np.count_nonzero(sums.rows))
        if not n:
            continue
        correction = math.sqrt(persons / max(persons - 1, 1))  # the group's mean is its persons' own
        total += sign * correction * (sums.steps - sums.steps.sum() / n * sums.rows) / n
        squares = np.square(sums.rows / n)
        weights += squares
        alike += float(squares.sum())
        rows += 1.0 / n
    df = float(weights.sum() ** 2 / np.square(weights).sum()) - 1.0 if weights.any() else 1.0
    return Spread(float(np.square(total).sum()), max(df, 1.0), a.persons, b.persons, alike / rows if rows else 1.0)


def shrink_of_mean(sums: PersonSums, squares: float, alpha: float) -> float:
    """What rows are divided by to be effective counts of the mean of a value over them, at level alpha; at least 1.

    `sums` are of the value, in steps: 1 for an event, or also -1 for its opposite; `squares` is the sum of the squared
    steps of all rows. Where all rows have the same value, a person's rows count as all alike.
    """
    nobody = PersonSums(np.zeros_like(sums.rows), np.zeros_like(sums.steps))
    spread, n = spread_of(sums, nobody), int(sums.rows.sum())
    variance = squares / n - (int(sums.steps.sum()) / n) ** 2
    effect = max(1.0, spread.variance * n / variance) if variance > 0.0 else spread.alike
    return PersonsCompared(spread.persons_a, 0, effect, spread.df).shrink(alpha)


def interval_of_mean(
    summary: Summary, sums: PersonSums | None, steps: Steps | None, alpha: float
) -> tuple[float, float]:
    """Limits of a group's mean: Wilson's of two-valued variables, Student's of others; by persons where there are.

    Parameters
    ----------
    summary : ValueCounts or Moments
    sums : PersonSums, optional
        What persons have in the group, where they may have several rows; of a two-valued variable 1 step is the
        distance of its values.
    steps : Steps, optional
        What they have it in.
    alpha : float
        The limits have confidence 1 - alpha.

    Returns
    -------
    low, high : float
        In the variable's units.
    """
    values = set(summary.values.tolist()) if isinstance(summary, ValueCounts) else set()
    if isinstance(summary, ValueCounts) and (len(values) == 2 or values <= {0.0, 1.0}):
        lower, upper = (0.0, 1.0) if values <= {0.0, 1.0} else (min(values), max(values))
        n, events = float(summary.rows), float(summary.rows_with(upper))
        shrink = 1.0 if sums is None else shrink_of_mean(sums, float(sums.steps.sum()), alpha)
        low, high = wilson_interval(events / shrink, n / shrink, 1.0 - alpha)
        return lower + (upper - lower) * low, lower + (upper - lower) * high
    sd = math.sqrt(summary.mean_and_variance()[1]) * summary.unit
    low, high = (float(one) for one in mean_interval(summary.mean, sd**2, summary.rows, 1.0 - alpha))
    if sums is None or steps is None:
        return low, high
    spread = spread_of(sums, PersonSums(*np.zeros((2, sums.rows.size), dtype=np.int64)))
    # As many rows of different persons would not be surer.
    error = max(math.sqrt(spread.variance) * steps.length, sd / math.sqrt(summary.rows))
    reach = float(special.stdtrit(spread.df, 1.0 - 0.5 * alpha)) * error
    return summary.mean - reach, summary.mean + reach


def placement_steps(counts: Numbers) -> NDArray[np.float64]:
    """Share of a group below each score, in steps; see `bdt_core.inference.auc.placements`."""
    return np.rint(placements(counts) * _STEPS)


def area_spread(above: PersonSums, below: PersonSums) -> AreaSpread:
    """How far an area under the curve may be off by chance, as persons tell.

    `above` is of the group that is to score higher: share of the other group below each row, in steps. `below` is of
    the other group: share of the first group below each row. A person may have rows in both.

    DeLong's variance with the rows of a person taken together, as the difference of the two means is twice the area
    less 1, in which what each row adds is what it adds to the area (Obuchowski, N. A. (1997). Nonparametric analysis of
    clustered ROC curve data. Biometrics 53, 567-578).
    """
    spread = spread_of(above, below)
    return AreaSpread(spread.variance / _STEPS**2, spread.df, min(above.rows_worth, below.rows_worth))


def area_by_persons(
    scores_a: ArrayLike, persons_a: Numbers, scores_b: ArrayLike, persons_b: Numbers, *, alpha: float = 0.05
) -> AUC:
    """`area_under_curve` where persons have several rows; persons are numbered from 0, one number for each row."""
    a, b = (np.asarray(one, dtype=np.float64) for one in (scores_a, scores_b))
    values, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    of_a, of_b = place[: a.size], place[a.size :]
    counts_a, counts_b = (np.bincount(one, minlength=values.size).astype(np.int64) for one in (of_a, of_b))
    size = int(max(persons_a.max(initial=-1), persons_b.max(initial=-1))) + 1
    spread = None
    if a.size and b.size:
        above = person_sums(placement_steps(counts_b)[of_a], persons_a, size)
        spread = area_spread(above, person_sums(placement_steps(counts_a)[of_b], persons_b, size))
    return area_under_curve_of_counts(counts_a, counts_b, alpha=alpha, by_persons=spread)


def rows_alike(everybody: PersonSums, variance: float) -> float:
    """The design effect of a mean over whole persons: squared sums of their distances from it, over those of the rows.

    `variance` is of the values of all rows, in squared steps. At least 1.
    """
    n = int(everybody.rows.sum())
    distances = everybody.steps - everybody.steps.sum() / max(n, 1) * everybody.rows
    return max(1.0, float(np.square(distances).sum() / (n * variance))) if n and variance > 0.0 else 1.0


def compare_persons(
    comparison: Comparison, a: PersonSums, b: PersonSums, steps: Steps | None = None, *, min_rows: int = 30
) -> Comparison:
    """A comparison of rows as one of persons: means stay, and all that says how sure they are counts persons.

    `a` and `b` are of the same rows; sums of means are in `steps`, counts of events need none. With fewer than
    `min_rows` persons on a side nothing is tested and no mean is shown. Student's and Welch's t, which are reported
    beside, are divided by the root of the design effect, with the degrees of freedom by persons.
    """
    alpha = 1.0 - comparison.confidence
    spread = spread_of(a, b)
    fewest, persons = min(spread.persons_a, spread.persons_b), (spread.persons_a, spread.persons_b)
    is_counted = comparison.test == EXACT
    needed = max(min_rows, 1 if is_counted or comparison.kind == "binary" else FEWEST_ROWS_OF_MEANS)
    if comparison.status != "tested" or fewest < needed:
        few = too_few("persons", *persons, needed)
        reason = comparison.reason if comparison.status != "tested" and fewest >= needed else few
        undefined = not_testable(comparison.kind, comparison.n_a, comparison.n_b, alpha, reason or few)
        return dataclasses.replace(undefined, persons=PersonsCompared(*persons, None, None))
    if is_counted:
        return _of_counts(comparison, spread, alpha)
    return _of_means(comparison, spread, (steps or Steps(0.0, 1.0)).length, alpha)


def _of_counts(comparison: Comparison, spread: Spread, alpha: float) -> Comparison:
    events_a, events_b, n_a, n_b = comparison.events_a, comparison.events_b, comparison.n_a, comparison.n_b
    assert events_a is not None
    assert events_b is not None
    persons = PersonsCompared(
        spread.persons_a, spread.persons_b, _design_effect(events_a, n_a, events_b, n_b, spread), spread.df
    )
    counts = persons.effective(comparison, alpha)
    x, n, y, m = counts
    whole_n, whole_m = round(n), round(m)
    step = _step(comparison)
    low, high = newcombe_interval(*counts, confidence=1.0 - alpha)
    ratio_low, ratio_high = koopman_interval(*counts, confidence=1.0 - alpha)
    detectable = detectable_rate_difference(n, m, (x + y) / (n + m), alpha, DETECTION_POWER)
    has_ratio = comparison.ratio is not None
    return dataclasses.replace(
        comparison,
        test=EXACT_BY_PERSONS,
        low=step * low,
        high=step * high,
        ratio_low=ratio_low if has_ratio else None,
        ratio_high=ratio_high if has_ratio else None,
        p_value=mid_p_value(min(round(x), whole_n), whole_n, min(round(y), whole_m), whole_m),
        minimum_detectable_difference=float(detectable) * step,
        persons=persons,
        **_classical(comparison, persons),
    )


def _design_effect(events_a: float, n_a: float, events_b: float, n_b: float, spread: Spread) -> float:
    """Variance by persons over that of as many rows of different persons; never below 1.

    A side without events, or with nothing else, says nothing of how alike a person's rows are: there they count as
    all alike.
    """
    rates = (events_a / n_a, n_a), (events_b / n_b, n_b)
    parts = [rate * (1.0 - rate) / n for rate, n in rates]
    at_most = spread.alike if 0.0 in parts else 1.0
    return max(1.0, at_most, spread.variance / sum(parts) if sum(parts) > 0.0 else 1.0)


def _step(comparison: Comparison) -> float:
    """The distance between a two-valued variable's values."""
    assert comparison.difference is not None
    assert comparison.events_a is not None
    assert comparison.events_b is not None
    gap = comparison.events_a / comparison.n_a - comparison.events_b / comparison.n_b
    if gap:
        return comparison.difference / gap
    assert comparison.low is not None
    assert comparison.high is not None
    counts = (comparison.events_a, comparison.n_a, comparison.events_b, comparison.n_b)
    low, high = newcombe_interval(*counts, confidence=comparison.confidence)
    return (comparison.high - comparison.low) / (high - low)


def _of_means(comparison: Comparison, spread: Spread, length: float, alpha: float) -> Comparison:
    difference, t = comparison.difference, comparison.welch_t
    assert difference is not None
    of_rows = abs(difference / t) if t else math.nan  # as many rows of different persons would not be less sure
    error = math.sqrt(spread.variance) * length
    if of_rows > error:
        error = of_rows
    reach = float(special.stdtrit(spread.df, 1.0 - 0.5 * alpha)) * error
    p_value = 2.0 * float(special.stdtr(spread.df, -abs(difference) / error)) if error > 0.0 else float(difference == 0)
    ratio = (error / of_rows) ** 2 if of_rows > 0.0 else 1.0
    persons = PersonsCompared(spread.persons_a, spread.persons_b, ratio, spread.df)
    return dataclasses.replace(
        comparison,
        test=T_BY_PERSONS,
        low=difference - reach,
        high=difference + reach,
        p_value=max(p_value, SMALLEST_P),
        minimum_detectable_difference=number_or_none(
            float(detectable_mean_difference(error, spread.df, alpha, DETECTION_POWER))
        ),
        persons=persons,
        **_classical(comparison, persons),
    )


def _classical(comparison: Comparison, persons: PersonsCompared) -> dict[str, Any]:
    """Student's and Welch's t of persons."""
    assert persons.design_effect is not None
    tests: dict[str, Any] = {}
    for name in ("pooled_t", "welch_t"):
        of_rows = getattr(comparison, name)
        if of_rows is not None:
            tests[name] = of_rows / math.sqrt(persons.design_effect)
            tests[f"{name}_p_value"] = number_or_none(2.0 * float(special.stdtr(persons.df, -abs(tests[name]))))
    return tests


def compare_categories_of_persons(
    comparison: CategoricalComparison,
    counts_a: Numbers,
    counts_b: Numbers,
    levels: list[tuple[PersonSums, PersonSums]],
    *,
    min_rows: int = 30,
    random_state: int = 0,
) -> CategoricalComparison:
    """The test of all levels of a category as one of persons (Rao & Scott's first-order correction).

    `counts_a` and `counts_b` are rows of both groups with each level; `levels` has all rows of both groups for each,
    those with the level being the events. The test is that of effective counts: rows divided by the mean design effect
    of the levels, each weighted by the share of rows with another level. Pearson's chi-squared, which is reported
    beside, is divided by it. The effect size stays that of the rows.

    Rao, J. N. K., Scott, A. J. (1984). On chi-squared tests for multiway contingency tables with cell proportions
    estimated from survey data. Annals of Statistics 12, 46-60.
    """
    spreads = [spread_of(a, b) for a, b in levels]
    persons = (spreads[0].persons_a, spreads[0].persons_b) if spreads else (0, 0)
    needed = max(min_rows, 1)
    if comparison.status != "tested" or min(persons) < needed:
        few = too_few("persons", *persons, needed)
        nothing = dict.fromkeys(
            ("test", "statistic", "dof", "p_value", "chi_squared_p_value", "effect_size", "effect_name")
        )
        return dataclasses.replace(comparison, status="not_testable", reason=few, smallest_expected=None, **nothing)  # type: ignore[arg-type]
    effects = [
        _design_effect(int(x), comparison.n_a, int(y), comparison.n_b, one)
        for x, y, one in zip(counts_a, counts_b, spreads, strict=True)
    ]
    rows = comparison.n_a + comparison.n_b
    weights = [1.0 - (int(x) + int(y)) / rows for x, y in zip(counts_a, counts_b, strict=True)]
    mean = float(np.average(effects, weights=weights)) if sum(weights) > 0.0 else 1.0
    tested = compare_category_counts(
        np.rint(counts_a / mean).astype(np.int64),
        np.rint(counts_b / mean).astype(np.int64),
        alpha=1.0 - comparison.confidence,
        min_rows=1,
        random_state=random_state,
    )
    return dataclasses.replace(
        comparison,
        test=say("{test} of effective counts", test=of_ours(str(tested.test))),
        p_value=tested.p_value,
        **_classical_chi_squared(comparison, mean),
        smallest_expected=tested.smallest_expected,
    )


def _classical_chi_squared(comparison: CategoricalComparison, design_effect: float) -> dict[str, Any]:
    """Pearson's test of persons."""
    if comparison.statistic is None or comparison.dof is None:
        return {}
    statistic = comparison.statistic / design_effect
    return {"statistic": statistic, "chi_squared_p_value": float(special.chdtrc(comparison.dof, statistic))}


def area_of_persons(auc: AUC, persons: PersonsCompared | None) -> AUC:
    """An area of rows whose interval counts persons, by the design effect of both groups' mean scores."""
    if persons is None or persons.design_effect is None or auc.auc is None:
        return auc
    assert auc.low is not None
    assert auc.high is not None
    stretch = math.sqrt(persons.shrink(1.0 - auc.confidence))
    if 0.0 < auc.auc < 1.0 and auc.low > 0.0 and auc.high < 1.0:
        at, low, high = (float(special.logit(one)) for one in (auc.auc, auc.low, auc.high))
        limits = float(special.expit(at - stretch * (at - low))), float(special.expit(at + stretch * (high - at)))
    else:
        rows = min(auc.n_a, auc.n_b) / stretch**2
        limits = wilson_interval(auc.auc * rows, rows, auc.confidence)
    return dataclasses.replace(auc, low=limits[0], high=limits[1])
