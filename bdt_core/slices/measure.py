"""What is measured in a slice: a rate of the confusion matrix, or the mean of an outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.fairness.coding import code_column, column, level_order, numbers
from bdt_core.fairness.confusion import Confusion, Positive, favourable
from bdt_core.metrics import RATES, Proportion, RateMetric, full_names

Better = Literal["lower", "higher"]
MEAN = "mean"

_ERROR_RATE = RateMetric(
    name="error_rate",
    words="Error rate",
    events=lambda c: c.fp + c.fn,
    among=lambda c: c.n,
    nobody="no rows",
    better="lower",
)
_EVENTS = Proportion(MEAN, lambda c: c.fp, lambda c: c.n, "no rows", needs_label=False)
"""Rows with the higher of an outcome's two values; they are coded like positive predictions."""


def slice_metrics() -> dict[str, RateMetric]:
    """The rates that slices can be searched for, by name."""
    return {**RATES, _ERROR_RATE.name: _ERROR_RATE}


@dataclass(frozen=True)
class Measure:
    """What is measured, of which columns, and which way is worse.

    Attributes
    ----------
    metric : str
        A name in `slice_metrics`, or "mean".
    better : {"lower", "higher"}
    label, prediction, outcome : str or None
    positive, positive_prediction
        Values of label and prediction that count as positive; None stands for 1 among 0 and 1.
    """

    metric: str
    better: Better
    label: str | None
    prediction: str | None
    outcome: str | None
    positive: Positive | None
    positive_prediction: Positive | None

    @property
    def columns(self) -> list[str]:
        """Columns that it needs."""
        return [one for one in (self.label, self.prediction, self.outcome) if one is not None]

    @property
    def name(self) -> str:
        """Readable name.

        Examples
        --------
        >>> resolve("fpr", label="y", prediction="p").name
        'false positive rate'
        """
        return f"mean of {self.outcome}" if self.metric == MEAN else self.metric.replace("_", " ")

    @property
    def harm_sign(self) -> float:
        """1 when higher is worse, -1 when lower is."""
        return 1.0 if self.better == "lower" else -1.0


@dataclass(frozen=True)
class Payload:
    """The outcome of the rows where it is known.

    Attributes
    ----------
    known : ndarray of bool, shape (n,)
    codes : ndarray of uint8 or None
        2 x positive label + positive prediction, for rates.
    values : ndarray of float64 or None
        For means of more than two values.
    lower, step : float
        The lower of an outcome's two values and the distance to the higher one; 0 and 1 for rates.
    centre : float
        What is taken off the values before they are added up.
    """

    known: NDArray[np.bool_]
    codes: NDArray[np.uint8] | None
    values: NDArray[np.float64] | None
    lower: float = 0.0
    step: float = 1.0
    centre: float = 0.0

    @property
    def zero(self) -> float:
        """The value that stands for 0 in sums."""
        return self.lower if self.codes is not None else self.centre


@dataclass(frozen=True)
class TwoValues:
    """The lower of an outcome's two values, and the distance to the higher one."""

    lower: float
    step: float

    @classmethod
    def of(cls, low: float, high: float) -> TwoValues:
        """Of the smallest and the largest value; a lone 0 or 1 is one of two."""
        return cls(0.0, 1.0) if low == high and low in (0, 1) else cls(low, high - low)

    def codes(self, values: NDArray[np.float64]) -> NDArray[np.uint8]:
        """1 for the higher value."""
        return (values > self.lower).astype(np.uint8)


def resolve(
    metric: str = "error_rate",
    *,
    better: Better | None = None,
    label: str | None = None,
    prediction: str | None = None,
    outcome: str | None = None,
    positive: Positive | None = None,
    positive_prediction: Positive | None = None,
) -> Measure:
    """Check that metric and columns go together, and settle which way is worse.

    Raises
    ------
    SpecError
        An unknown metric, a missing column for it, or a direction that only the caller can know.
    """
    if better not in (None, "lower", "higher"):
        raise SpecError(f'better must be "lower" or "higher"; found {better!r}.')
    if outcome is not None:
        if label is not None or prediction is not None:
            raise SpecError("Name either an outcome, or a label and a prediction, and not both.")
        if metric not in ("error_rate", MEAN):
            raise SpecError(f'"{metric}" is measured of a label and a prediction; of an outcome it is the mean.')
        name = MEAN
    else:
        short_names, metrics = full_names(), slice_metrics()
        name = short_names.get(metric.lower(), metric)
        if name not in metrics:
            raise SpecError(f'Unknown metric "{metric}". {did_you_mean(metric, [*metrics, *short_names])}')
        for needed, given, what in (
            (metrics[name].needs_label, label, "label"),
            (metrics[name].needs_prediction, prediction, "prediction"),
        ):
            if needed and given is None:
                raise SpecError(f'The metric "{name}" needs a {what}: name its column, or give a numeric outcome.')
        better = better or metrics[name].better
    if better is None:
        raise SpecError(
            f"Whether people are better off with a lower or a higher {'mean' if name == MEAN else name} depends on "
            'what it means to them: give better="lower" or better="higher".'
        )
    of_prediction = positive if positive_prediction is None else positive_prediction
    return Measure(name, better, label, prediction, outcome, positive, of_prediction)


def payloads(measure: Measure, frames: list[pd.DataFrame]) -> list[Payload]:
    """Code the outcome of the rows of several tables alike.

    Raises
    ------
    DataError
        A column does not exist, is not numeric or two-valued where it must be, or nothing is known.
    """
    if measure.outcome is not None:
        return _of_outcome(measure.outcome, frames)
    codes = [np.zeros(len(frame), dtype=np.uint8) for frame in frames]
    known = [np.ones(len(frame), dtype=bool) for frame in frames]
    for name, weight, positive, role in (
        (measure.label, 2, measure.positive, "label"),
        (measure.prediction, 1, measure.positive_prediction, "prediction"),
    ):
        if name is None:
            continue
        for i, (is_positive, is_known) in enumerate(_positives(frames, name, positive, role)):
            codes[i] += np.uint8(weight) * is_positive
            known[i] &= is_known
    return [Payload(there, one[there], None) for one, there in zip(codes, known, strict=True)]


def rate_counts(measure: Measure, totals: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Events and rows of the metric from counts per outcome code, shape (slices, codes)."""
    counts = np.zeros((len(totals), 4))
    counts[:, : totals.shape[1]] = totals
    tn, fp, fn, tp = counts.T
    confusion = Confusion(tp=tp, fp=fp, fn=fn, tn=tn)
    definition = _EVENTS if measure.metric == MEAN else slice_metrics()[measure.metric]
    return definition.events(confusion), definition.among(confusion)


def _positives(
    frames: list[pd.DataFrame], name: str, positive: Positive | None, role: str
) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Which rows are positive and which are known, per table."""
    coded = [code_column(frame, name) for frame in frames]
    occurring = {
        one.levels[i] for one in coded for i in np.flatnonzero(np.bincount(one.codes, minlength=len(one.levels)))
    }
    values = sorted(occurring - {None}, key=level_order)
    if positive is None and not all(value in (0, 1) for value in values):
        shown = ", ".join(repr(one) for one in values[:4]) + (", ..." if len(values) > 4 else "")
        raise DataError(
            f'Column "{name}" ({role}) has {len(values):,} values ({shown}) where two are needed, 0 and 1. Say with '
            '"positive" which of them count as positive, or give a numeric "outcome", such as whether the prediction '
            "was wrong."
        )
    wanted: Positive = 1 if positive is None else positive
    if positive is not None and values and not favourable(tuple(values), wanted).any():
        shown = repr(positive) if isinstance(positive, str | int | float) else "that was named"
        raise DataError(
            f'Column "{name}" ({role}) never has the positive value {shown}. Correct the value, or give '
            '"positive_prediction" where predictions are written differently.'
        )
    found = []
    for one in coded:
        is_known = np.array([level is not None for level in one.levels], dtype=bool)
        found.append((favourable(one.levels, wanted)[one.codes], is_known[one.codes]))
    return found


def _of_outcome(name: str, frames: list[pd.DataFrame]) -> list[Payload]:
    every = [numbers(column(frame, name), name) for frame in frames]
    known = [~np.isnan(one) for one in every]
    several = [values[there] for values, there in zip(every, known, strict=True)]
    infinite = sum(int(np.isinf(values).sum()) for values in several)
    if infinite:
        raise DataError(f'Column "{name}" (outcome) holds {infinite:,} infinite values. Replace or remove them.')
    filled = [values for values in several if values.size]
    if not filled:
        raise DataError(f'Column "{name}" (outcome) is missing in every row. There is nothing to search.')
    low, high = min(values.min() for values in filled), max(values.max() for values in filled)
    if all(((values == low) | (values == high)).all() for values in filled):
        two = TwoValues.of(float(low), float(high))
        return [
            Payload(there, two.codes(values), None, two.lower, two.step)
            for there, values in zip(known, several, strict=True)
        ]
    return [Payload(there, None, values) for there, values in zip(known, several, strict=True)]
