"""Measures of a slice: a rate of the confusion matrix, or the mean of an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.fairness.coding import code_column, column, level_order, numbers
from bdt_core.fairness.confusion import Confusion
from bdt_core.fairness.favourable import Positive, favourable
from bdt_core.metrics import RATES, Better, Directed, RateMetric, full_names
from bdt_core.table.blocks import refuse_outcomes
from bdt_core.words import values_in_words

MEAN = "mean"

_ERROR_RATE = RateMetric(
    name="error_rate",
    words="Error rate",
    events=lambda c: c.fp + c.fn,
    among=lambda c: c.n,
    nobody="no rows",
    better="lower",
)


def slice_metrics() -> dict[str, RateMetric]:
    """The rates that slices can be searched for, by name."""
    return {**RATES, _ERROR_RATE.name: _ERROR_RATE}


@dataclass(frozen=True)
class Measure(Directed):
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


def outcomes(measure: Measure, frames: Sequence[pd.DataFrame]) -> list[NDArray[np.float64]]:
    """The outcome of the rows of several tables, NaN where it is not known.

    Returns
    -------
    list of ndarray of float64, shape (n,)
        Of a mean, the column's values. Of a rate, 1 for an event, 0 for none, and 2 outside of the denominator.

    Raises
    ------
    DataError
        A column does not exist, is not numeric or two-valued where it must be, or nothing is known.
    """
    if measure.outcome is not None:
        return _values(measure.outcome, frames)
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
    tn, fp, fn, tp = np.eye(4)
    cells = Confusion(tp=tp, fp=fp, fn=fn, tn=tn)
    definition = slice_metrics()[measure.metric]
    of_code = np.where(definition.among(cells) > 0, definition.events(cells), 2.0)
    return [np.where(there, of_code[one], np.nan) for one, there in zip(codes, known, strict=True)]


def _positives(
    frames: Sequence[pd.DataFrame], name: str, positive: Positive | None, role: str
) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Which rows are positive and which are known, per table."""
    coded = [code_column(frame, name) for frame in frames]
    occurring = {level for one in coded for level in one.counted()}
    values = sorted(occurring - {None}, key=level_order)
    if positive is None and not all(value in (0, 1) for value in values):
        raise DataError(
            f'Column "{name}" ({role}) has {values_in_words(values)} where two are needed, 0 and 1. Say with '
            '"positive" which of them count as positive, or give a numeric "outcome", such as whether the prediction '
            "was wrong."
        )
    counted: Positive = 1 if positive is None else positive
    if positive is not None and values and not favourable(tuple(values), counted).any():
        shown = repr(positive) if isinstance(positive, str | int | float) else "that was named"
        raise DataError(
            f'Column "{name}" ({role}) never has the positive value {shown}. Correct the value, or give '
            '"positive_prediction" where predictions are written differently.'
        )
    return [
        (favourable(one.levels, counted)[one.codes], one.rows_with(lambda level: level is not None)) for one in coded
    ]


def _values(name: str, frames: Sequence[pd.DataFrame]) -> list[NDArray[np.float64]]:
    every = [numbers(column(frame, name), name) for frame in frames]
    refuse_outcomes(every, name)
    return every
