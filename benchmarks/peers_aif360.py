"""AIF360's classic metrics in an environment of their own (``pip install aif360==0.6.1 "pandas<3"``)."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
from aif360.datasets import BinaryLabelDataset
from aif360.metrics import ClassificationMetric

from benchmarks import peers_tables as tables


def datasets(frame: pd.DataFrame) -> tuple[BinaryLabelDataset, BinaryLabelDataset]:
    """Labels and predictions of a table g, y, p whose groups are numbers."""
    columns = {"label_names": ["y"], "protected_attribute_names": ["g"]}
    data = BinaryLabelDataset(df=frame[["g", "y"]].astype(float), **columns)
    predicted = data.copy()
    predicted.labels = frame[["p"]].to_numpy(dtype=float)
    return data, predicted


def against_the_rest(data: BinaryLabelDataset, predicted: BinaryLabelDataset, groups: int) -> list[dict[str, float]]:
    """Every group as unprivileged, all others as privileged."""
    found = []
    for group in range(groups):
        others = [{"g": other} for other in range(groups) if other != group]
        metric = ClassificationMetric(data, predicted, [{"g": group}], others)
        rates = metric.performance_measures(privileged=False)
        found.append(
            {
                **{name: rates[name] for name in ("TPR", "TNR", "FPR", "FNR", "PPV", "NPV", "FDR", "FOR", "ACC")},
                "selection_rate": metric.selection_rate(privileged=False),
                "disparate_impact": metric.disparate_impact(),
                "statistical_parity_difference": metric.statistical_parity_difference(),
                "equal_opportunity_difference": metric.equal_opportunity_difference(),
                "false_positive_rate_difference": metric.false_positive_rate_difference(),
                "false_positive_rate_ratio": metric.false_positive_rate_ratio(),
                "false_omission_rate_difference": metric.false_omission_rate_difference(),
                "average_abs_odds_difference": metric.average_abs_odds_difference(),
                "average_predictive_value_difference": metric.average_predictive_value_difference(),
                "generalized_entropy_index": metric.generalized_entropy_index(),
            }
        )
    return found


def figures(frame: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Figures by the names of the groups."""
    codes, names = pd.factorize(frame.g, sort=True)
    data, predicted = datasets(frame.assign(g=codes))
    return dict(zip(map(str, names), against_the_rest(data, predicted, len(names))))  # noqa: B905 - as in Python 3.9


def compas() -> Any:
    """All six races."""
    return figures(tables.compas().rename(columns={"race": "g", "two_year_recid": "y", "high_risk": "p"}))


def adult() -> Any:
    """The published example."""
    return figures(tables.from_counts(tables.ADULT))


def simulated() -> Any:
    """Five groups."""
    return figures(tables.simulated())


def zero_over_zero() -> Any:
    """Precision with nobody predicted positive in d."""
    return figures(tables.from_counts(tables.NO_POSITIVE_PREDICTION))["d"]


def whole_report(rows: int) -> Callable[[], object]:
    """All of it for 40 groups, the data set made beforehand."""
    data, predicted = datasets(tables.many_cells(rows))
    return lambda: against_the_rest(data, predicted, tables.CELLS)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    tables.main(
        ["aif360", "numpy", "pandas", "scikit-learn"],
        {one.__name__: one for one in (compas, adult, simulated, zero_over_zero)},
        {"report": whole_report},
    )
