"""Comparisons inside strata: conditional demographic disparity, Cochran-Mantel-Haenszel, Breslow-Day.

They show Simpson's paradox: a gap in the whole that is absent, or points the other way, in every stratum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from bdt_core.errors import SpecError, did_you_mean
from bdt_core.fairness.coding import Level, Value, canonical, values_of
from bdt_core.fairness.conditional_disparity import Outcome, conditional_disparity, outcomes_by_stratum
from bdt_core.fairness.confusion import Floats, Positive, favourable
from bdt_core.fairness.counts import CountTable
from bdt_core.result import Result


@dataclass(frozen=True)
class Stratum:
    """One stratum: d against a.

    Attributes
    ----------
    value : str, int, float, bool or None
    n_d, n_a, events_d, events_a : int
        Rows, and those with the favourable outcome.
    rate_d, rate_a : float or None
    odds_ratio : float or None
        Odds of the favourable outcome of d over those of a; below 1 is against d. Infinite when only d has it.
    disparity : float or None
        Share of d among unfavourable outcomes less its share among favourable ones; positive is against d.
    """

    value: Level
    n_d: int
    n_a: int
    events_d: int
    events_a: int
    rate_d: float | None
    rate_a: float | None
    odds_ratio: float | None
    disparity: float | None


@dataclass(frozen=True)
class ConditionalComparison(Result):
    """d against a, in the whole and inside strata. None stands for undefined.

    Attributes
    ----------
    strata : tuple of Stratum
    crude_odds_ratio : float or None
        Over all strata together.
    odds_ratio, low, high : float or None
        Mantel and Haenszel's common odds ratio, d over a, with the interval of Robins, Breslow and Greenland.
    statistic, p_value : float or None
        Cochran-Mantel-Haenszel test of no association inside strata, without continuity correction.
    p_value_corrected : float or None
        With the correction of one half, as R's ``mantelhaen.test`` prints it.
    breslow_day, breslow_day_p_value : float or None
        Test of one odds ratio for all strata, with Tarone's correction.
    disparity, disparity_low, disparity_high : float or None
        Conditional demographic disparity (CDDL or CDDPL), positive against d.
    one_sided_strata : tuple
        Strata with only favourable or only unfavourable outcomes, left out of the disparity.
    confidence : float
    """

    strata: tuple[Stratum, ...]
    crude_odds_ratio: float | None
    odds_ratio: float | None
    low: float | None
    high: float | None
    statistic: float | None
    p_value: float | None
    p_value_corrected: float | None
    breslow_day: float | None
    breslow_day_p_value: float | None
    disparity: float | None
    disparity_low: float | None
    disparity_high: float | None
    one_sided_strata: tuple[Level, ...]
    confidence: float


def compare_within_strata(
    table: CountTable,
    value: Value | tuple[Value, ...],
    *,
    positive: Positive = 1,
    outcome: Outcome = "label",
    alpha: float = 0.05,
) -> ConditionalComparison:
    """Compare a group with everybody else inside strata.

    Parameters
    ----------
    table : CountTable
        Counted with a stratum.
    value : value or tuple of values
        The group d: the facet's value, or one value per facet.
    positive : value, values or Threshold
        Favourable values of the outcome.
    outcome : {"label", "prediction"}
    alpha : float
        Intervals have confidence 1 - alpha.

    Returns
    -------
    ConditionalComparison

    Raises
    ------
    SpecError
        The table has no strata, no such outcome, or no such group.

    References
    ----------
    Mantel, N., Haenszel, W. (1959). JNCI 22, 719-748. Robins, J., Breslow, N., Greenland, S. (1986). Biometrics
    42, 311-323. Breslow, N. E., Day, N. E. (1980). Statistical Methods in Cancer Research I, section 4.4.
    Tarone, R. E. (1985). Biometrika 72, 91-95.

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core.fairness import count_rows
    >>> frame = pd.DataFrame({"sex": list("ffmmffmm"), "dept": list("AAAABBBB"), "hired": [1, 0, 1, 0, 1, 1, 0, 1]})
    >>> table = count_rows(frame, "sex", label="hired", stratum="dept")
    >>> round(compare_within_strata(table, "f").disparity, 4)
    -0.3333
    """
    if table.stratum is None:
        raise SpecError("The table was counted without a stratum: name the column within whose values to compare.")
    if (table.label if outcome == "label" else table.prediction) is None:
        raise SpecError(f"The table was counted without a {outcome}.")
    table = table.known(in_strata=True)
    group = values_of(value) if isinstance(value, tuple) else (canonical(value),)
    if group not in table.groups:
        names = [" & ".join(map(str, one)) for one in table.groups]
        raise SpecError(f"There is no group {' & '.join(map(str, group))}. {did_you_mean(str(group[0]), names)}")
    counts = outcomes_by_stratum(table, favourable(table.labels if outcome == "label" else table.predictions, positive),
                                 outcome)  # fmt: skip
    d = counts[table.groups.index(group)]
    a = counts.sum(axis=0) - d
    cdd = conditional_disparity(d[None], a[None], alpha)
    strata = tuple(
        _stratum(name, *map(int, (*one_d, *one_a))) for name, one_d, one_a in zip(table.strata, d, a, strict=True)
    )
    common, low, high = _mantel_haenszel(d, a, alpha)
    statistic, p_value, corrected = _cochran_mantel_haenszel(d, a)
    homogeneity, homogeneity_p = _breslow_day(d, a, common)
    return ConditionalComparison(
        strata=strata,
        crude_odds_ratio=_ratio(*(float(x) for x in (d.sum(0)[1] * a.sum(0)[0], d.sum(0)[0] * a.sum(0)[1]))),
        odds_ratio=common,
        low=low,
        high=high,
        statistic=statistic,
        p_value=p_value,
        p_value_corrected=corrected,
        breslow_day=homogeneity,
        breslow_day_p_value=homogeneity_p,
        disparity=_number(cdd.estimate[0]),
        disparity_low=_number(cdd.low[0]),
        disparity_high=_number(cdd.high[0]),
        one_sided_strata=tuple(
            name for name, total in zip(table.strata, d + a, strict=True) if total.sum() and not total.all()
        ),
        confidence=1.0 - alpha,
    )


def _stratum(value: Level, bad_d: int, good_d: int, bad_a: int, good_a: int) -> Stratum:
    n_d, n_a, good, bad = bad_d + good_d, bad_a + good_a, good_d + good_a, bad_d + bad_a
    return Stratum(
        value=value,
        n_d=n_d,
        n_a=n_a,
        events_d=good_d,
        events_a=good_a,
        rate_d=good_d / n_d if n_d else None,
        rate_a=good_a / n_a if n_a else None,
        odds_ratio=_ratio(good_d * bad_a, bad_d * good_a),
        disparity=bad_d / bad - good_d / good if good and bad else None,
    )


def _mantel_haenszel(d: Floats, a: Floats, alpha: float) -> tuple[float | None, float | None, float | None]:
    n = np.maximum((d + a).sum(1), 1.0)
    for_d, against_d = d[:, 1] * a[:, 0] / n, d[:, 0] * a[:, 1] / n
    ratio = _ratio(float(for_d.sum()), float(against_d.sum()))
    if ratio is None or not 0.0 < ratio < math.inf:
        return ratio, None, None
    p, q = (d[:, 1] + a[:, 0]) / n, (d[:, 0] + a[:, 1]) / n
    r, s = for_d.sum(), against_d.sum()
    variance = (p * for_d).sum() / (2 * r * r) + (p * against_d + q * for_d).sum() / (2 * r * s)
    variance += (q * against_d).sum() / (2 * s * s)
    reach = float(special.ndtri(1.0 - 0.5 * alpha)) * math.sqrt(float(variance))
    return ratio, ratio * math.exp(-reach), ratio * math.exp(reach)


def _cochran_mantel_haenszel(d: Floats, a: Floats) -> tuple[float | None, float | None, float | None]:
    n_d, n_a, good, bad = d.sum(1), a.sum(1), d[:, 1] + a[:, 1], d[:, 0] + a[:, 0]
    n = n_d + n_a
    usable = n > 1
    n_d, n_a, good, bad, n, observed = (one[usable] for one in (n_d, n_a, good, bad, n, d[:, 1]))
    variance = float((n_d * n_a * good * bad / (n * n * (n - 1))).sum())
    if variance == 0.0:
        return None, None, None
    gap = abs(float((observed - n_d * good / n).sum()))
    statistic, corrected = gap**2 / variance, max(gap - 0.5, 0.0) ** 2 / variance
    return statistic, float(special.chdtrc(1, statistic)), float(special.chdtrc(1, corrected))


def _breslow_day(d: Floats, a: Floats, ratio: float | None) -> tuple[float | None, float | None]:
    """Breslow and Day's statistic with Tarone's correction."""
    usable = np.asarray((d.sum(1) > 0) & (a.sum(1) > 0) & ((d + a) > 0).all(1))
    if ratio is None or not 0.0 < ratio < math.inf or usable.sum() < 2:
        return None, None
    d, a = d[usable], a[usable]
    n_d, n_a, good = d.sum(1), a.sum(1), d[:, 1] + a[:, 1]
    # Expected favourable outcomes of d under the common odds ratio: a root of a quadratic.
    if math.isclose(ratio, 1.0, abs_tol=1e-12):
        expected = n_d * good / (n_d + n_a)
    else:
        second, minus_first = ratio - 1.0, (n_d + good) * ratio + n_a - good
        root = np.sqrt(np.maximum(minus_first**2 - 4 * second * ratio * n_d * good, 0.0))
        expected = 2 * ratio * n_d * good / (minus_first + root)
    cells = np.stack([expected, n_d - expected, good - expected, n_a - good + expected])
    variance = 1.0 / (1.0 / cells).sum(0)
    gap = d[:, 1] - expected
    statistic = float((gap**2 / variance).sum() - gap.sum() ** 2 / variance.sum())
    return statistic, float(special.chdtrc(len(d) - 1, max(statistic, 0.0)))


def _ratio(numerator: float, denominator: float) -> float | None:
    if denominator:
        return numerator / denominator
    return math.inf if numerator else None


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
