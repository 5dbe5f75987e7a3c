"""What Dagster shows of clusters and intersections is what the report says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from bdt_core import words
from bdt_core.groups.slices import find_slices
from bdt_pipeline.assets import views, views_depth
from bdt_pipeline.resources.run_log import MarkdownTable
from benchmarks import simulated


def rows_of(table: MarkdownTable) -> list[dict[str, str]]:
    """A Markdown table, by the heads of its columns."""
    heads, _, *rows = (
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.markdown().splitlines()
    )
    return [dict(zip(heads, row, strict=True)) for row in rows]


def test_clusters_are_better_off_only_if_they_are_so_without_the_bad_one() -> None:
    frame, _ = simulated.planted(np.random.default_rng(1), 6000, 0.1, 0.5)
    tested = simulated.run(frame, 1).significance
    findings = [row["finding"] for row in rows_of(views.significance(tested)["clusters tested"])]
    assert findings[:2] == ["worse off"] * 2
    alone = replace(tested.clusters[0], significant=False, without=None)
    only_main = replace(tested, clusters=(alone, *tested.clusters[1:]))
    first = rows_of(views.significance(only_main)["clusters tested"])[0]
    assert first["finding"] == "worse off in the main test, not certain among all"
    beside = [i for i, one in enumerate(tested.clusters) if one.without is not None and not one.without.stands_out]
    assert beside
    for i in beside:
        if tested.clusters[i].without.comparison is not None:
            assert tested.clusters[i].comparison.difference < -0.09
            assert findings[i].startswith(
                "better off only than clusters 0 and 1; without clusters 0 and 1: +2.1 points"
            )


def test_the_difference_to_expect_comes_first_with_the_interval_that_allows_for_the_choice() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.choice(list("abc"), 4000) for name in ("u", "v", "w")})
    frame["wrong"] = (rng.random(4000) < np.where((frame.u == "a") & (frame.v == "b"), 0.4, 0.2)).astype(int)
    found = find_slices(frame, outcome="wrong", better="lower")
    worst = found.worst
    assert worst is not None
    shown = views_depth.slices(found, "rate")
    first = rows_of(shown["slices"])[0]
    low, high = words.signed(worst.low, "rate"), words.signed(worst.high, "rate")
    assert first["difference to expect"] == rf"{words.signed(worst.shrunken_difference, 'rate')} \[{low} to {high}]"
    assert first["measured"] == words.signed(worst.comparison.difference, "rate")
    plotted = (shown["difference in points"].value, shown["low in points"].value)
    assert plotted == (round(100 * worst.shrunken_difference, 1), round(100 * worst.low, 1))
    assert worst.low < worst.comparison.low
