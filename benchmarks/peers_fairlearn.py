"""fairlearn in an environment of its own: its figures and its seconds (``pip install fairlearn==0.15.0``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from fairlearn import metrics as fl
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    mean_absolute_error,
    mean_squared_error,
    precision_score,
    root_mean_squared_error,
)

from benchmarks import peers_tables as tables

RUNS, DRAWS = 100, 100
EQUAL = ((100, 2), (1000, 2), (200, 3))
"""Rows per group and number of groups in which no rate differs."""


TIMED = {
    "selection_rate": fl.selection_rate,
    "true_positive_rate": fl.true_positive_rate,
    "false_positive_rate": fl.false_positive_rate,
    "positive_predictive_value": precision_score,
    "accuracy": accuracy_score,
}


NUMERIC = {
    "mean_outcome": lambda y, p: np.mean(y),  # noqa: ARG005 - fairlearn hands over both
    "median_outcome": lambda y, p: np.median(y),  # noqa: ARG005
    "mean_prediction": fl.mean_prediction,
    "median_prediction": lambda y, p: np.median(p),  # noqa: ARG005
    "mean_absolute_error": mean_absolute_error,
    "mean_squared_error": mean_squared_error,
    "root_mean_squared_error": root_mean_squared_error,
}


def rates(metrics: dict[str, Any], y: Any, p: Any, groups: Any) -> fl.MetricFrame:
    """Rates per group."""
    return fl.MetricFrame(metrics=metrics, y_true=y, y_pred=p, sensitive_features=groups)


def figures(y: Any, p: Any, groups: Any) -> dict[str, Any]:
    """Rates, their ranges, and the fairness criteria as single numbers."""
    frame = rates({**TIMED, "f1_score": f1_score}, y, p, groups)
    criteria = ("demographic_parity", "equalized_odds", "equal_opportunity")
    return {
        "rates": frame.by_group.to_dict(),
        "difference": frame.difference().to_dict(),
        "ratio": frame.ratio().to_dict(),
        "criteria": {
            f"{name}_{kind}": getattr(fl, f"{name}_{kind}")(y, p, sensitive_features=groups)
            for name in criteria
            for kind in ("difference", "ratio")
        },
    }


def compas() -> Any:
    """The four largest races."""
    frame = tables.compas()
    frame = frame[frame.race.isin(["African-American", "Caucasian", "Hispanic", "Other"])]
    return figures(frame.two_year_recid, frame.high_risk, frame.race)


def adult() -> Any:
    """The published example."""
    frame = tables.from_counts(tables.ADULT)
    return figures(frame.y, frame.p, frame.g)


def simulated() -> Any:
    """Five groups."""
    frame = tables.simulated()
    return figures(frame.y, frame.p, frame.g)


def nobody_positive() -> Any:
    """Two groups, in one of which nobody has a positive label."""
    frame = tables.from_counts(tables.NOBODY_POSITIVE_IN_B)
    found = rates(TIMED, frame.y, frame.p, frame.g)
    return {
        "true_positive_rate": found.by_group["true_positive_rate"].to_dict(),
        "difference": found.difference()["true_positive_rate"],
        "equal_opportunity_difference": fl.equal_opportunity_difference(frame.y, frame.p, sensitive_features=frame.g),
    }


def coverage_at_equality() -> Any:
    """In how many tables, of those in which no rate differs, the bootstrap interval of the largest gap holds 0."""
    found = {}
    for rows, groups in EQUAL:
        covered = 0
        for seed in range(RUNS):
            frame = tables.same_rate(rows, groups, seed)
            low, _ = fl.MetricFrame(
                metrics={"selection_rate": fl.selection_rate},
                y_true=frame.p,
                y_pred=frame.p,
                sensitive_features=frame.g,
                n_boot=DRAWS,
                ci_quantiles=[0.025, 0.975],
                random_state=seed,
            ).difference_ci()
            covered += bool(low["selection_rate"] <= 0)
        found[f"{groups} groups of {rows}"] = {"runs": RUNS, "covered": covered}
    return found


def _means(metrics: dict[str, Any], frame: Any) -> fl.MetricFrame:
    return fl.MetricFrame(metrics=metrics, y_true=frame.y, y_pred=frame.p, sensitive_features=frame.g)


def numbers() -> Any:
    """Means, medians and errors of numbers per group."""
    frame = _means(NUMERIC, tables.amounts())
    return {"by_group": frame.by_group.to_dict(), "overall": frame.overall.to_dict()}


def numeric_report(rows: int) -> Callable[[], object]:
    """The same seven figures per group, with differences and ratios, without intervals."""
    frame = tables.amounts(rows)

    def work() -> object:
        found = _means(NUMERIC, frame)
        return found.by_group, found.difference(), found.ratio()

    return work


def whole_report(rows: int) -> Callable[[], object]:
    """Five rates, differences and ratios, without intervals."""
    frame = tables.many_cells(rows)
    y, p, g = (frame[name].to_numpy() for name in "ypg")

    def work() -> object:
        found = rates(TIMED, y, p, g)
        return found.by_group, found.difference(), found.ratio()

    return work


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    tables.main(
        ["fairlearn", "numpy", "pandas", "scikit-learn"],
        {one.__name__: one for one in (compas, adult, simulated, nobody_positive, coverage_at_equality, numbers)},
        {"report": whole_report, "numbers": numeric_report},
    )
