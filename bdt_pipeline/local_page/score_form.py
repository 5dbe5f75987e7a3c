"""The composite score of rates that somebody types in: what the form asks, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bdt_core.errors import SpecError
from bdt_core.said import say

if TYPE_CHECKING:
    from bdt_core.fairness.score_parts import BiasScore

RATES = ("positive_rate", "tpr", "fpr", "score")
WEIGHTS = ("parity", "odds", "calibration")
_UNREAD = "Each rate is a number between 0 and 1, such as 0.85, and is needed for both groups."
_ROWS = "How many people there are is a whole number from 1 up, for both groups or for neither."


def score_of_form(form: Mapping[str, str]) -> BiasScore | None:
    """The score of a form that was filled in; None of an empty one.

    Parameters
    ----------
    form : mapping
        ``tpr_a``, ``tpr_b`` and so on of `RATES`, `WEIGHTS`, and ``n_a`` and ``n_b`` or neither.

    Raises
    ------
    SpecError
        Something is missing, no number or out of range.

    Examples
    --------
    >>> alike = {f"{name}_{group}": "0.5" for name in RATES for group in "ab"}
    >>> score_of_form(alike | dict(zip(WEIGHTS, ("0.3", "0.3", "0.4")))).severity
    'minimal'
    >>> score_of_form({}) is None
    True
    """
    if not any(form.get(f"{name}_{group}") for name in RATES for group in "ab"):
        return None
    from bdt_core.fairness.score_calculator import bias_score_from_rates

    rates = {name: [_number(form.get(f"{name}_{group}", "")) for group in "ab"] for name in RATES}
    if not all(0.0 <= one <= 1.0 for several in rates.values() for one in several):
        raise SpecError(say(_UNREAD))
    return bias_score_from_rates(
        true_positive_rates=rates["tpr"],
        false_positive_rates=rates["fpr"],
        selection_rates=rates["positive_rate"],
        mean_scores=rates["score"],
        weights=[_number(form.get(name, "")) for name in WEIGHTS],
        groups=["A", "B"],
        rows=_rows([form.get(f"n_{group}", "").strip() for group in "ab"]),
    )


def _number(text: str) -> float:
    """As it is typed, with a point or a comma."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise SpecError(say(_UNREAD)) from None


def _rows(texts: list[str]) -> list[int] | None:
    if not any(texts):
        return None
    if not all(one.isascii() and one.isdigit() and int(one) for one in texts):
        raise SpecError(say(_ROWS))
    return [int(one) for one in texts]
