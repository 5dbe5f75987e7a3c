"""smclarify, the open half of SageMaker Clarify, in an environment of its own: its figures and its seconds.

It needs pandas below 3 (``pip install smclarify==0.5 "pandas<2"``, Python 3.9). ``record text_facet`` in one with
pandas 3 shows why.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
from smclarify.bias import report
from smclarify.bias.metrics import common, posttraining, pretraining

from benchmarks import peers_tables as tables

TIMED_VALUES = 10
PRE_TRAINING = ("CDDL", "CI", "DPL", "JS", "KL", "KS", "LP", "TVD")
POST_TRAINING = ("AD", "CDDPL", "DAR", "DCA", "DCR", "DI", "DPPL", "DRR", "FT", "GE", "RD", "SD", "TE")


def metrics(
    frame: pd.DataFrame,
    facet: str = "g",
    label: str = "y",
    prediction: str | None = "p",
    values: list[Any] | None = None,
    positive: list[Any] | None = None,
    group: str | None = None,
    only: list[str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Its report as {facet value: {metric: value}}; an error stands in the place of its metric."""
    stages = [(report.StageType.PRE_TRAINING, None)]
    if prediction is not None:
        stages.append((report.StageType.POST_TRAINING, report.LabelColumn(prediction, frame[prediction])))
    found: dict[str, dict[str, Any]] = {}
    for stage, predicted in stages:
        known = PRE_TRAINING if predicted is None else POST_TRAINING
        wanted = [name for name in known if only is None or name in only]
        if not wanted:
            continue
        features = frame.drop(columns=[name for name in (label, prediction, group) if name is not None])
        entries = report.bias_report(
            features,
            report.FacetColumn(facet, values),
            report.LabelColumn(label, frame[label], positive or [1]),
            stage,
            predicted,
            wanted,
            None if group is None else frame[group],
        )
        for entry in entries:
            of_value = found.setdefault(entry["value_or_threshold"], {})
            for one in entry["metrics"]:
                of_value[one["name"]] = {"error": one["error"]} if "error" in one else one["value"]
    return found


def adult() -> Any:
    """The published example, women against men."""
    return metrics(tables.from_counts(tables.ADULT), values=["women"])


def compas() -> Any:
    """Every race against the rest, sex as the group of CDDL."""
    frame = tables.compas().drop(columns="score")
    return metrics(frame, "race", "two_year_recid", "high_risk", group="sex", only=_all_but("FT"))


def simulated() -> Any:
    """Every group against the rest, strata as the group of CDDL, flip test on the standardised features."""
    return metrics(tables.simulated().drop(columns="score"), group="s")


def text_facet() -> Any:
    """A facet of text."""
    return tables.or_error(lambda: metrics(tables.from_counts(tables.ADULT), values=["women"], only=["DPL"]))


def zero_over_zero() -> Any:
    """Rates with nobody in the denominator."""
    no_label = tables.from_counts(tables.NO_POSITIVE_LABEL)
    no_prediction = tables.from_counts(tables.NO_POSITIVE_PREDICTION)
    nobody = tables.from_counts(tables.NO_PREDICTION_AT_ALL)
    return {
        "nobody with a positive label in d": metrics(no_label, values=["d"], only=_all_but("CDDL", "CDDPL", "FT"))["d"],
        "nobody predicted positive in d": metrics(no_prediction, values=["d"], only=["DCA", "DAR"])["d"],
        "no errors in d": metrics(tables.from_counts(tables.NO_ERRORS), values=["d"], only=["TE"])["d"],
        "nobody predicted positive": tables.or_error(lambda: metrics(nobody, values=["d"], only=["DPPL", "AD"])),
        "nobody predicted positive, DI alone": posttraining.DI(nobody, nobody.g == "d", nobody.p == 1),
    }


def absent_label() -> Any:
    """Distributions over four labels, two of which d never has."""
    frame = tables.absent_label()
    return {name: getattr(pretraining, name)(frame.y, frame.g == "d") for name in ("KL", "JS", "LP", "TVD", "KS")}


def missing_facets() -> Any:
    """A facet that is missing in 4 of 10 rows."""
    return metrics(tables.missing_facets(), prediction=None, values=["d"], only=["CI", "DPL"])["d"]


def missing_labels() -> Any:
    """A label that is missing in 4 of 10 rows of d."""
    frame = tables.missing_labels()
    return metrics(frame, prediction=None, values=["d"], positive=["yes"], only=["CI", "DPL"])["d"]


def types_by_counting() -> Any:
    """Labels 0 and 1 as whole numbers, as floats, and as whole numbers in 30 rows."""
    many, few = tables.from_counts(tables.MANY_ROWS), tables.from_counts(tables.FEW_ROWS)
    given = {"whole numbers": many, "floats": many.astype({"y": float}), "30 rows": few}
    return {
        name: metrics(frame, prediction=None, values=["d"], only=["DPL", "KL"])["d"] for name, frame in given.items()
    }


def one_sided_stratum() -> Any:
    """Two strata without any gap, and one in which nobody has a positive label."""
    return metrics(tables.one_sided_stratum(), prediction=None, values=["d"], group="s", only=["CDDL"])["d"]


def missing_strata() -> Any:
    """A group variable with gaps, for CDDL and CDDPL and all metrics that do not need it."""
    return metrics(tables.missing_strata(), group="s", only=_all_but("FT"))


def facet_thresholds() -> Any:
    """One number for facets of numbers: what it takes for a threshold, and how it writes that down."""
    asked: dict[str, tuple[pd.DataFrame, str, list[Any]]] = {
        "whole numbers, many of them": (tables.ages(), "age", [40]),
        "whole numbers, few of them": (tables.ages(5), "age", [40]),
        "floats": (tables.ages(), "as_float", [40]),
        "halves": (tables.ages(), "halves", [40.25]),
        "0 of 0 and 1": (tables.ages(), "above_50", [0]),
        "1 of 0 and 1": (tables.ages(), "above_50", [1]),
        "a threshold for floats of 0 and 1": (tables.ages().astype({"above_50": float}), "above_50", [0.5]),
    }
    facets = ["age", "as_float", "halves", "above_50"]
    return {
        name: metrics(frame.drop(columns=[one for one in facets if one != facet]), facet, values=values)
        for name, (frame, facet, values) in asked.items()
    }


def flip_test() -> Any:
    """Its sign, its units, the order of its rows, and a feature of text."""
    frame = tables.simulated().drop(columns=["score", "s"])

    def ft(given: pd.DataFrame, value: str) -> Any:
        return metrics(given, values=[value], only=["FT"])[value]["FT"]

    return {
        "d denied what all its neighbours get": ft(tables.worse_than_its_neighbours(), "d"),
        "standardised": ft(frame, "b"),
        "x3 in other units": ft(frame.assign(x3=1000 * frame.x3), "b"),
        "rows in some orders": [ft(tables.on_a_grid(order=order), "d") for order in range(6)],
        "a feature of text": ft(tables.on_a_grid().assign(c="text"), "d"),
    }


def whole_report(rows: int) -> Callable[[], object]:
    """All metrics but the flip test, for TIMED_VALUES of the 40 values of a text facet."""
    frame = tables.as_text(tables.many_cells(rows))
    values = sorted(frame.g.unique())[:TIMED_VALUES]
    wanted = _all_but("FT", "CDDL", "CDDPL")
    return lambda: [metrics(frame, values=[value], only=wanted) for value in values]


def flip_test_alone(rows: int) -> Callable[[], object]:
    """The flip test on 12 numeric features."""
    features, in_d, predicted = tables.many_features(rows)
    return lambda: posttraining.FT(features, pd.Series(in_d), pd.Series(predicted))


def _all_but(*names: str) -> list[str]:
    return [name for name in (*PRE_TRAINING, *POST_TRAINING) if name not in names]


RECORDS = (
    adult, compas, simulated, text_facet, zero_over_zero, absent_label, missing_facets, missing_labels,
    types_by_counting, one_sided_stratum, missing_strata, facet_thresholds, flip_test,
)  # fmt: skip

if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    assert common.divide(0, 0) == 0.0  # the cause of most of what zero_over_zero records
    tables.main(
        ["smclarify", "numpy", "pandas", "scikit-learn"],
        {one.__name__: one for one in RECORDS},
        {"report": whole_report, "flip_test": flip_test_alone},
    )
