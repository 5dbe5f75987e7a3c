"""Rows become the curves of their groups, or the reason why no thresholds can be chosen on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bdt_core.errors import DataError
from bdt_core.inference._checks import finite_vector
from bdt_core.mitigation.checks import coded, quoted, same_length, zero_or_one
from bdt_core.mitigation.curves import RATES_OF, Curve, group_curves


def checked_curves(
    scores: ArrayLike, labels: ArrayLike, group: ArrayLike, sample_weight: ArrayLike | None
) -> list[Curve]:
    """The curve of every group, of rows that can be used.

    Parameters
    ----------
    scores, labels, group, sample_weight : arrays of shape (n,)

    Raises
    ------
    DataError
        Missing or infinite scores, labels other than 0 and 1, missing groups, different lengths, negative weights,
        constant scores, or fewer than two groups.
    """
    values = finite_vector(scores, "Scores").astype(np.float64)
    positive, groups = zero_or_one(labels), coded(group, "groups")
    same_length(scores=values.size, labels=positive.size, groups=groups.codes.size)
    weights = None
    if sample_weight is not None:
        weights = finite_vector(sample_weight, "Weights").astype(np.float64)
        same_length(scores=values.size, weights=weights.size)
        if (weights < 0.0).any() or not weights.any():
            raise DataError("Weights must be 0 or more, and not all 0.")
    if values.min() == values.max():
        raise DataError(f"Every row has the same score ({values[0]:.6g}): there is no threshold to choose.")
    curves = group_curves(values, positive, groups.codes, groups.levels, weights)
    if len(curves) < 2:
        raise DataError(f'All rows are of one group, "{curves[0].group}". Thresholds per group need two or more.')
    return curves


def checked_rates(curves: list[Curve], constraint: str) -> None:
    """Refuse groups in which a constrained rate is undefined at every threshold.

    Raises
    ------
    DataError
    """
    needs = {"true_positive_rate": "positive", "false_positive_rate": "negative"}
    for rate in RATES_OF[constraint]:
        if rate not in needs:
            continue
        lacking = [str(one.group) for one in curves if not (one.positives if rate[0] == "t" else one.negatives)]
        if lacking:
            raise DataError(
                f"Nobody in {quoted(lacking)} has a {needs[rate]} label, so that the {rate.replace('_', ' ')} is "
                f"undefined there. Leave the group out or join it with another, or choose demographic_parity."
            )
