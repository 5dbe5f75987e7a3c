"""DivExplorer in an environment of its own: its figures and its seconds (``pip install divexplorer==0.2.6``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from divexplorer import DivergenceExplorer

from benchmarks import peers_tables as tables
from benchmarks.slices import CONDITIONS, SUPPORT, compas_table, slice_table


def divergences(frame: pd.DataFrame, support: float, **outcomes: list[str]) -> list[dict[str, Any]]:
    """Itemsets of up to three conditions with their support counts, mean outcome and t."""
    (name,) = next(iter(outcomes.values()))
    found = DivergenceExplorer(frame).get_pattern_divergence(min_support=support, **outcomes, show_coincise=False)
    found = found[found.length <= CONDITIONS]
    return [
        {"items": sorted(items), "rows": int(rows), "mean": mean, "t": t}
        for items, rows, mean, t in zip(found.itemset, found.support_count, found[name], found[f"{name}_t"])  # noqa: B905
    ]


def compas() -> Any:
    """Error rate on COMPAS."""
    return divergences(compas_table().drop(columns="score"), SUPPORT, boolean_outcomes=["error"])


def compas_score() -> Any:
    """Mean score on COMPAS."""
    frame = compas_table().drop(columns="error")
    return divergences(frame, 0.05, quantitative_outcomes=["score"])


def divergence(rows: int) -> Callable[[], object]:
    """All itemsets with the error rate."""
    frame = slice_table(rows).drop(columns=["y", "p"])
    return lambda: DivergenceExplorer(frame).get_pattern_divergence(min_support=SUPPORT, boolean_outcomes=["error"])


if __name__ == "__main__":
    tables.main(
        ["divexplorer", "numpy", "pandas"],
        {one.__name__: one for one in (compas, compas_score)},
        {"divergence": divergence},
    )
