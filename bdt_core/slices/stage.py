"""The audit's stage: intersections in which the bias variable is worse, on the audit's own train and test rows."""

from __future__ import annotations

import numpy as np

from bdt_core import words
from bdt_core.inference.summaries import ValueCounts
from bdt_core.slices.measure import MEAN, resolve
from bdt_core.slices.results import Slice, Slices
from bdt_core.slices.settings import Settings
from bdt_core.slices.stages import search
from bdt_core.spec import SliceSearch
from bdt_core.table.audit_table import BIAS_VARIABLE
from bdt_core.table.bias_variable import wording
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import mean_and_sd, summarise_bias_variable
from bdt_core.verdict.harm import Judged, default_limit, judged


def find_bias_slices(train: Rows, test: Rows, settings: SliceSearch) -> Slices:
    """Find the intersections of features and protected attributes in which people fare worse.

    Parameters
    ----------
    train, test : Rows
        Slices are found on the one and tested on the other.
    settings : SliceSearch

    Returns
    -------
    Slices
        Of the mean of the bias variable: a rate, where it has two values.

    Raises
    ------
    DataError
        A column that does not exist.
    """
    spec = train.spec
    name = wording(spec.bias_variable).name
    columns = settings.columns or [*train.names("feature"), *train.names("protected")]
    outcome = name if name not in columns else BIAS_VARIABLE
    asked = Settings(
        max_conditions=settings.max_conditions,
        min_support=settings.min_support,
        min_rows=spec.significance.min_rows,
        fdr=settings.fdr,
        alpha=spec.significance.alpha,
        bins=settings.bins,
        random_state=spec.split.random_state,
    )
    measure = resolve(MEAN, better=spec.bias_variable.better, outcome=outcome)
    return search(train, test, list(dict.fromkeys(columns)), measure, asked, sample_rows=spec.large_rows)


def judge_slices(found: Slices, test: Rows, max_difference: float | None = None) -> Judged:
    """Hold the worst intersection against a limit.

    Parameters
    ----------
    found : Slices
    test : Rows
        The rows that they were tested on.
    max_difference : float, optional
        Largest tolerated difference from everybody else, in units of the bias variable; by default that of clusters.

    Returns
    -------
    Judged
        fail: an intersection that is significantly worse, whose whole interval is beyond the limit. inconclusive: one
        that is significantly worse, whose interval holds the limit. Intervals hold for each intersection alone.
    """
    limit = _limit_of_clusters(test) if max_difference is None else max_difference
    if not found.tests:
        return judged("not_testable", f"No intersection was tested: {found.reason}.", limit)
    sign = 1.0 if found.better == "lower" else -1.0
    significant = [one for one in found.slices if one.significant and one.comparison.difference is not None]
    harms = [(one, _harm(one, sign)) for one in significant]
    beyond = [(one, harm) for one, harm in harms if harm[0] > limit]
    if not beyond:
        return judged("pass", f"None of {found.tests} intersections is worse by more than {limit:g}.", limit)
    proven = [(one, harm) for one, harm in beyond if harm[1] > limit]
    worst, harm = max(proven or beyond, key=lambda pair: pair[1][0])
    side = "and its whole interval is above" if proven else "and its interval lies on both sides of"
    sentence = (
        f"{worst.name}: {words.number(harm[0])} worse than everybody else "
        f"[{100 * (1 - found.alpha):.4g} % CI {words.number(harm[1])} to {words.number(harm[2])}]; at most {limit:g} "
        f"is allowed, {side} it."
    )
    return judged("fail" if proven else "inconclusive", sentence, limit, harm)


def _limit_of_clusters(test: Rows) -> float:
    """The default limit of clusters; of a large table from sums over its blocks."""
    if test.is_large:
        y = summarise_bias_variable(test)
        two_valued = isinstance(y, ValueCounts) and y.present.size <= 2
        return default_limit(two_valued, mean_and_sd(y)[1])
    values = test.in_memory().y
    return default_limit(len(np.unique(values)) <= 2, float(values.std(ddof=1)))


def _harm(one: Slice, sign: float) -> tuple[float, float, float]:
    """Difference and interval with harm counted as positive."""
    found = one.comparison
    three = (found.difference, found.low, found.high)
    difference, low, high = (sign * (x if x is not None else float("nan")) for x in three)
    return difference, min(low, high), max(low, high)
