"""The composite Bias Detection Score of a count table, with an interval and a noise floor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from bdt_core.errors import SpecError
from bdt_core.fairness.confusion import Floats, confusion_cells
from bdt_core.fairness.counts import CountTable
from bdt_core.fairness.favourable import Positive
from bdt_core.fairness.metric_results import group_name
from bdt_core.fairness.persons import PersonMoments, as_persons
from bdt_core.fairness.rates import evaluate, evaluate_all
from bdt_core.fairness.score_metrics import score_moments
from bdt_core.fairness.score_parts import (
    DEFAULT_WEIGHTS,
    PARTS,
    BiasScore,
    check_weights,
    composed,
    factors,
    noise_of,
    part_of,
    with_interval,
    worse_than_chance,
)
from bdt_core.fairness.simultaneous import pairs_critical_value
from bdt_core.inference import wilson_limits
from bdt_core.metrics import RATES
from bdt_core.said import Numeral, say


def bias_score(
    table: CountTable,
    *,
    positive: Positive = 1,
    positive_prediction: Positive | None = None,
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    alpha: float = 0.05,
    min_rows: int = 30,
    random_state: int = 0,
    persons: PersonMoments | None = None,
) -> BiasScore:
    """Compute the score of all groups of a count table, with its interval and its noise floor.

    Parameters
    ----------
    table : CountTable
        With label and prediction. Without a score CD is left out, and the other two weights are scaled to 1.
    positive, positive_prediction
        Favourable values; see `bias_metrics`.
    weights : sequence of three floats
        Of DPD, EOD and CD.
    alpha : float
        The interval has confidence 1 - alpha.
    min_rows : int
        Groups with fewer rows, or fewer than 10 positive or negative labels, are left out and named.
    random_state : int
        Seed of the noise floor.
    persons : PersonMoments, optional
        Of the known rows, where persons have several: interval, noise floor and minimum sizes count persons.

    Returns
    -------
    BiasScore
        Undefined with fewer than two groups that have enough rows.

    Raises
    ------
    SpecError
        Weights that do not fit, or a table without label or prediction.

    Notes
    -----
    The interval adds up the parts' lower and upper limits, each from simultaneous intervals of all pairs at a
    quarter of alpha: it covers at least as often as it says, also when nothing differs, where a bootstrap of the
    score would never cover 0. The noise floor draws 2,000 tables in which every group has the pooled distribution.

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core.fairness import count_rows
    >>> frame = pd.DataFrame({"sex": list("fm") * 100, "y": [0, 0, 1, 1] * 50, "p": [0, 0, 0, 1] * 50})
    >>> result = bias_score(count_rows(frame, "sex", label="y", prediction="p"))
    >>> round(result.score, 3), result.severity, result.low > 0
    (0.5, 'severe', True)
    """
    used = check_weights(weights)
    if table.label is None or table.prediction is None:
        raise SpecError("The score needs counts of a label and of a prediction.")
    known = table.known()
    if persons is not None:
        known = as_persons(known, persons)
    cells = replace(confusion_cells(known, positive, positive_prediction), persons=persons)
    of_labels = evaluate_all([RATES["true_positive_rate"], RATES["false_positive_rate"]], cells).size
    enough = (cells.size >= min_rows) & (of_labels.min(axis=0) >= 10)
    excluded = tuple(
        group_name(group) for group, n, ok in zip(known.groups, cells.rows.n, enough, strict=True) if n and not ok
    )
    names = tuple(group_name(group) for group, ok in zip(known.groups, enough, strict=True) if ok)
    moments = score_moments(known)
    notes = []
    if moments is None:
        total = used[0] + used[1]
        if not total:
            raise SpecError("All weight lies on the calibration difference, which needs a score column.")
        used = (used[0] / total, used[1] / total, 0.0)
        notes.append("No score column: the calibration difference is left out, and the other weights add up to 1.")
    else:
        moments = tuple(one[enough] for one in moments)
        assert moments is not None
        if np.isnan(moments[0]).any():
            return _undefined("a group has no score, or scores outside 0 to 1", used, names, excluded)
    if len(names) < 2:
        return _undefined(
            say("{N} groups with enough rows; two are needed", N=Numeral(len(names))), used, names, excluded
        )
    cells = cells[enough]
    critical = pairs_critical_value(len(names), 1.0 - alpha / (3.0 if moments is None else 4.0))
    rates: dict[str, Floats] = {}
    limits = {}
    for name in PARTS[:3]:
        rate = evaluate(RATES[name], cells)
        rates[name] = rate.estimate
        limits[name] = wilson_limits(rate.effective_events, rate.effective_n, critical)
    if moments is not None:
        mean, error = moments
        rates["mean_score"], limits["mean_score"] = mean, (mean - critical * error, mean + critical * error)
    parts = tuple(part_of(name, rates[name], names, limits[name]) for name in PARTS if name in rates)
    result = composed(parts, used, rates["selection_rate"], names, [*notes, *worse_than_chance(rates, names)])
    low, high = (
        math.fsum(factor * (getattr(part, end) or 0.0) for factor, part in zip(factors(used), parts, strict=False))
        for end in ("low", "high")
    )
    noise = noise_of(cells, moments, used, random_state)
    return with_interval(replace(result, excluded=excluded), (low, high), noise, alpha)


def _undefined(
    reason: str, weights: tuple[float, float, float], names: tuple[str, ...], excluded: tuple[str, ...]
) -> BiasScore:
    empty = dict.fromkeys([one.name for one in fields(BiasScore)])
    return BiasScore(
        **{  # type: ignore[arg-type]
            **empty,
            "undefined_reason": reason,
            "weights": weights,
            "parts": (),
            "groups": names,
            "excluded": excluded,
            "warnings": (),
        }
    )
