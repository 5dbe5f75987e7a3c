"""Interval and noise floor of a composite score whose rates were given by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bdt_core.errors import SpecError
from bdt_core.fairness.composite_score import _noise
from bdt_core.fairness.confusion import Cells, Confusion, Floats
from bdt_core.fairness.score_calculator import PARTS, ROUNDING, BiasScore, factors, part_of
from bdt_core.fairness.simultaneous import pairs_critical_value, wilson_limits

_MIN_LABELS = 10


def with_interval(
    plain: BiasScore, given: Mapping[str, Floats], rows: Floats, *, alpha: float, random_state: int
) -> BiasScore:
    """Give a score of rates by hand an interval and a noise floor, from the counts that rates and rows imply.

    Parameters
    ----------
    plain : BiasScore
        Of these rates, without interval.
    given : mapping of str to ndarray of shape (groups,)
        The four rates.
    rows : ndarray of shape (groups,)
        Rows per group.
    alpha : float
        The interval has confidence 1 - alpha.
    random_state : int
        Seed of the noise floor.

    Returns
    -------
    BiasScore
        Unchanged but for a warning where a group's rates do not tell its share of positive labels, or it has fewer
        than 10 positive or negative ones.

    Raises
    ------
    SpecError
        alpha is no level.
    """
    if not 0.0 < alpha < 1.0:
        raise SpecError(f"alpha must lie between 0 and 1; found {alpha}.")
    positives = rows * _positive_share(given)
    negatives = rows - positives
    unknown, few = np.isnan(positives), np.minimum(positives, negatives) < _MIN_LABELS
    if (unknown | few).any():
        why = "; ".join(
            f"of group {name}, "
            + ("rates do not tell the labels" if one else "fewer than 10 labels are positive or negative")
            for name, one, out in zip(plain.groups, unknown, unknown | few, strict=True)
            if out
        )
        return replace(plain, warnings=(*plain.warnings, f"No interval and no noise floor: {why}."))
    among = dict(zip(PARTS, (rows, positives, negatives, rows), strict=True))
    critical = pairs_critical_value(rows.size, 1.0 - alpha / len(PARTS))
    limits = {name: wilson_limits(given[name] * n, n, critical) for name, n in among.items()}
    parts = tuple(part_of(name, given[name], plain.groups, limits[name]) for name in PARTS)
    ends = [[0.0 if end is None else end for end in (part.low, part.high)] for part in parts]
    low, high = factors(plain.weights) @ np.array(ends)
    true, false, mean = (given[name] for name in ("true_positive_rate", "false_positive_rate", "mean_score"))
    counts = Confusion(true * positives, false * negatives, (1.0 - true) * positives, (1.0 - false) * negatives)
    error = np.sqrt(mean * (1.0 - mean) / rows)
    noise = _noise(Cells(counts, counts, counts), (mean, error), plain.weights, random_state)
    assert plain.score is not None
    return replace(
        plain,
        parts=parts,
        low=min(float(low), plain.score),
        high=max(min(float(high), 1.0), plain.score),
        confidence=1.0 - alpha,
        noise_mean=float(noise.mean()),
        noise_high=float(np.quantile(noise, 0.95)),
        p_value=(1 + int((noise >= plain.score - 1e-12).sum())) / (1 + noise.size),
    )


def _positive_share(given: Mapping[str, Floats]) -> Floats:
    """Share of positive labels, from selection rate = share TPR + (1 - share) FPR; NaN where that does not tell it."""
    true, false, selected = (given[name] for name in ("true_positive_rate", "false_positive_rate", "selection_rate"))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (selected - false) / (true - false)
    low, high = np.minimum(true, false) - ROUNDING, np.maximum(true, false) + ROUNDING
    known = (np.abs(true - false) > ROUNDING) & (low <= selected) & (selected <= high)
    return np.where(known, np.clip(share, 0.0, 1.0), np.nan)
