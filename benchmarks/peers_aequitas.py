"""aequitas in an environment of its own: its figures and its seconds (``pip install aequitas==1.1.0 "pandas<3"``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
from aequitas.bias import Bias
from aequitas.group import Group

from benchmarks import peers_tables as tables

RATES = ("accuracy", "tpr", "tnr", "for", "fdr", "fpr", "fnr", "npv", "precision", "pprev", "prev")


def crosstab(frame: pd.DataFrame, references: dict[str, str] | None = None, significance: bool = False) -> pd.DataFrame:
    """Counts, rates and disparities of every attribute; the largest group is the reference unless one is named."""
    counts, attributes = Group().get_crosstabs(frame)
    found: pd.DataFrame
    if references is None:
        found = Bias().get_disparity_major_group(counts, original_df=frame.copy())
    else:
        found = Bias().get_disparity_predefined_groups(
            counts,
            original_df=frame[[*attributes, "score", "label_value"]].copy(),
            ref_groups_dict=references,
            check_significance=significance,
            mask_significance=False,
        )
    return found


def figures(frame: pd.DataFrame, reference: str, significance: bool = True) -> dict[str, Any]:
    """Rates, disparities and p-values per group of the attribute g."""
    found = crosstab(frame, {"g": reference}, significance).set_index("attribute_value")
    kept = [*RATES, *(f"{name}_disparity" for name in RATES if f"{name}_disparity" in found)]
    if significance:
        kept += [name for name in found.columns if name.endswith("_significance")]
    return {group: {name: found[name][group] for name in kept} for group in found.index}


def named(frame: pd.DataFrame, group: str, label: str, prediction: str) -> pd.DataFrame:
    """The columns under the names that it asks for."""
    text = frame[group].astype(object)
    return pd.DataFrame({"g": text, "label_value": frame[label].to_numpy(), "score": frame[prediction].to_numpy()})


def compas() -> Any:
    """Two races: the example in which its p-value of the false positive rate is that of the false discovery rate."""
    frame = tables.compas()
    frame = frame[frame.race.isin(["African-American", "Caucasian"])].reset_index(drop=True)
    return figures(named(frame, "race", "two_year_recid", "high_risk"), "Caucasian")


def adult() -> Any:
    """The published example."""
    return figures(named(tables.from_counts(tables.ADULT), "g", "y", "p"), "men")


def simulated() -> Any:
    """Five groups."""
    return figures(named(tables.simulated(), "g", "y", "p"), "a")


def over_zero() -> Any:
    """A disparity over a rate of 0."""
    return figures(named(tables.from_counts(tables.NO_FALSE_POSITIVES_IN_A), "g", "y", "p"), "a", significance=False)


def shared_values() -> Any:
    """Two attributes with the values yes and no: the p-values of either, alone and together."""
    both = tables.shared_values().rename(columns={"y": "label_value", "p": "score"}).astype({"u": object, "v": object})
    found = {}
    for name, attributes in (("u alone", ["u"]), ("v alone", ["v"]), ("together", ["u", "v"])):
        given = both[[*attributes, "label_value", "score"]].copy()
        result = crosstab(given, dict.fromkeys(attributes, "no"), significance=True)
        result = result[result.attribute_value == "yes"].set_index("attribute_name")
        found[name] = {one: result["score_significance"][one] for one in attributes}
    return found


def whole_report(significance: bool) -> tables.Task:
    """Rates and disparities of 40 groups, with or without p-values."""

    def prepare(rows: int) -> Callable[[], object]:
        frame = named(tables.as_text(tables.many_cells(rows)), "g", "y", "p")
        return lambda: crosstab(frame, {"g": "group 0"} if significance else None, significance)

    return prepare


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    tables.main(
        ["aequitas", "numpy", "pandas", "scipy"],
        {one.__name__: one for one in (compas, adult, simulated, over_zero, shared_values)},
        {"report": whole_report(False), "report_with_p_values": whole_report(True)},
    )
