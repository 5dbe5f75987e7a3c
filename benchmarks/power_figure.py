"""The picture of what the study of power found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd


def draw_power(shares: Mapping[str, Any], file: Path) -> None:
    """Draw its table of shares, one panel per size of group."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    power = pd.DataFrame(shares["rows"], columns=list(shares["columns"]))
    sizes = power["group"].unique()
    figure = Figure(figsize=(9, 3))
    figure.subplots_adjust(left=0.06, right=0.99, bottom=0.17, top=0.9, wspace=0.05)  # for any font
    for axes, size in zip(figure.subplots(1, len(sizes), sharey=True), sizes, strict=True):
        part = power[power["group"] == size]
        for name, marker, colour in (("oracle", "^", "0.5"), ("ours", "o", "#0072b2"), ("original", "s", "#d55e00")):
            axes.plot(100 * part["gap"], part[name], marker=marker, color=colour, label=name)
        axes.set(title=f"group of {size:.0%} of the rows", xlabel="gap in points", ylim=(-0.03, 1.03))
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("chance of proving it")
    figure.axes[0].legend()
    with rc_context({"svg.hashsalt": "power"}):  # the same figures give the same bytes
        figure.savefig(file, metadata={"Date": None})
