"""Everything that is made of label and prediction, once: how it is called and computed, and which way is worse.

`DERIVATIONS` is the registry. The specification, the bias variable of a table, the directions, the words of reports and
the checks of a table look a derivation up there when they need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from bdt_core.metrics import Better, Favourable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Derivation = Literal[
    "error",
    "false_positive",
    "false_negative",
    "false_positive_rate",
    "false_negative_rate",
    "positive_prediction",
    "absolute_error",
    "squared_error",
    "signed_error",
    "pinball_loss",
    "top_k",
    "exposure",
    "position",
]
Direction = Literal["lower", "higher", "named", "said"]
"""Which way is better for people: lower, higher; as names say it, if they do; or as somebody has to say it."""
Ranked = Literal["highest_first", "lowest_first"]
"""Whose prediction stands first in a list: the highest, as of a score, or the lowest, as of ranks."""
QUANTILE = 0.5
"""Of a pinball loss of which nothing is said: half the absolute error."""
TOP_K = 10
"""Places of a list that count as its top where nothing is said."""


@dataclass(frozen=True)
class Derived:
    """What is made of label and prediction.

    Attributes
    ----------
    name, short : str
        In English, as in a sentence and as in a figure: messages with a place for ``k``.
    description : str
        What its mean is: a message with places for ``prediction``, ``label``, ``quantile`` and ``k``.
    direction : {"lower", "higher", "named", "said"}
    amount : callable or None
        Of numbers: the amount, from prediction less label and the quantile, if one is asked for.
    of_rank : callable or None
        Of a place in a list: what it is worth, from ranks (1 is the first) and the number of places that are its top.
    event : callable or None
        Of decisions: whether it happens, from prediction and label as 1 where they are positive and 0 where not. None
        where the label says nothing: it is the prediction.
    among : {"positive", "negative"} or None
        The label of those of whom it is asked; None: of all.
    harms : {"positive", "negative"} or None
        The prediction that harms people where less of this is better; None where it does not say it.
    keeps_unit : bool
        Whether it has the unit of the prediction.
    """

    name: str
    short: str
    description: str
    direction: Direction = "lower"
    amount: Callable[[Floats, Any], Floats] | None = None
    of_rank: Callable[[Floats, Any], Floats] | None = None
    event: Callable[[Floats, Floats], NDArray[np.bool_]] | None = None
    among: Favourable | None = None
    harms: Favourable | None = None
    keeps_unit: bool = True

    @property
    def of_numbers(self) -> bool:
        """Whether it says how much, and not whether."""
        return self.amount is not None or self.of_rank is not None

    @property
    def of_places(self) -> bool:
        """Whether it is made of people's places in a list."""
        return self.of_rank is not None

    @property
    def needs_label(self) -> bool:
        """Whether it takes what happened."""
        return self.amount is not None or self.event is not None

    @property
    def is_good_for_nobody(self) -> bool:
        """Whether it counts errors of any kind, of which more is good for nobody."""
        return self.direction == "lower" and self.harms is None and not self.of_places

    def favourable(self, better: Better) -> Favourable | None:
        """Which prediction people want, where this says it."""
        if self.harms is None:
            return None
        return _OTHER[self.harms] if better == "lower" else self.harms


def derived(derive: str | None) -> Derived | None:
    """What is made of label and prediction; None where a column is the bias variable as it stands."""
    return None if derive is None else DERIVATIONS[derive]


def are_numbers(derive: str | None) -> bool:
    """Whether columns are taken as numbers: of a derivation that computes with them, and of a column as it stands."""
    made = derived(derive)
    return made is None or made.of_numbers


def _exposure(rank: Floats, _: Any) -> Floats:
    """The attention that a place gets (Singh & Joachims, Fairness of Exposure in Rankings, KDD 2018)."""
    import numpy as np

    return 1.0 / np.log2(1.0 + rank)


def _pinball(error: Any, quantile: float) -> Any:
    """Too low counts `quantile` times, too high 1 less that."""
    return quantile * (-error).clip(min=0.0) + (1.0 - quantile) * error.clip(min=0.0)


def _falsely_positive(predicted: Floats, observed: Floats) -> NDArray[np.bool_]:
    positive: NDArray[np.bool_] = (predicted == 1) & (observed == 0)
    return positive


def _falsely_negative(predicted: Floats, observed: Floats) -> NDArray[np.bool_]:
    negative: NDArray[np.bool_] = (predicted == 0) & (observed == 1)
    return negative


_OTHER: Mapping[Favourable, Favourable] = {"positive": "negative", "negative": "positive"}

DERIVATIONS: Mapping[str, Derived] = MappingProxyType(
    {
        "error": Derived(
            "error rate",
            "error rate",
            "share of people for whom {prediction} differs from {label}",
            event=lambda predicted, observed: predicted != observed,
        ),
        "false_positive": Derived(
            "false positives",
            "false positives",
            "share of all people for whom {prediction} is positive and {label} negative",
            event=_falsely_positive,
            harms="positive",
        ),
        "false_negative": Derived(
            "false negatives",
            "false negatives",
            "share of all people for whom {prediction} is negative and {label} positive",
            event=_falsely_negative,
            harms="negative",
        ),
        "false_positive_rate": Derived(
            "false positive rate",
            "FPR",
            "share of people with a negative {label} for whom {prediction} is positive",
            event=_falsely_positive,
            among="negative",
            harms="positive",
        ),
        "false_negative_rate": Derived(
            "false negative rate",
            "FNR",
            "share of people with a positive {label} for whom {prediction} is negative",
            event=_falsely_negative,
            among="positive",
            harms="negative",
        ),
        "positive_prediction": Derived(
            "selection rate",
            "selection rate",
            "share of people for whom {prediction} is positive",
            direction="named",
            harms="positive",
        ),
        "absolute_error": Derived(
            "absolute error",
            "abs. error",
            "mean absolute difference of {prediction} and {label}",
            amount=lambda error, _: abs(error),
        ),
        "squared_error": Derived(
            "squared error",
            "sq. error",
            "mean squared difference of {prediction} and {label}",
            amount=lambda error, _: error**2,
            keeps_unit=False,
        ),
        "signed_error": Derived(
            "signed error",
            "signed error",
            "mean of {prediction} less {label}",
            direction="said",
            amount=lambda error, _: error,
        ),
        "pinball_loss": Derived(
            "pinball loss",
            "pinball loss",
            "mean pinball loss of {prediction} and {label} at the quantile {quantile}",
            amount=_pinball,
        ),
        "top_k": Derived(
            "share among the first {k}",
            "first {k}",
            "share of people who are among the first {k} by {prediction}",
            direction="higher",
            of_rank=lambda rank, k: (rank <= k).astype(float),
            keeps_unit=False,
        ),
        "exposure": Derived(
            "exposure",
            "exposure",
            "mean exposure by {prediction}, which is 1 in the first place",
            direction="higher",
            of_rank=_exposure,
            keeps_unit=False,
        ),
        "position": Derived(
            "position",
            "position",
            "mean position by {prediction}, where 1 is the first",
            of_rank=lambda rank, _: rank,
            keeps_unit=False,
        ),
    }
)
