"""holisticai in an environment of its own: its figures and its seconds (``pip install holisticai==1.0.14``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from holisticai.bias import metrics as hai

from benchmarks import peers_tables as tables

COMPARED = {"mean_absolute_error": hai.mae_ratio, "root_mean_squared_error": hai.rmse_ratio}


def _ratios(frame: Any) -> Iterator[tuple[str, dict[str, float]]]:
    """The error of each group over that of the largest one, which holisticai takes as two columns of 0 and 1."""
    largest = frame.g.mode()[0]
    members = {str(group): (frame.g == group).to_numpy() for group in sorted(frame.g.unique()) if group != largest}
    reference = (frame.g == largest).to_numpy()
    y, p = frame.y.to_numpy(), frame.p.to_numpy()
    for name, ratio in COMPARED.items():
        yield name, {group: float(ratio(inside, reference, p, y)) for group, inside in members.items()}


def numbers() -> Any:
    """Ratios of two errors per group."""
    return dict(_ratios(tables.amounts()))


def numeric_report(rows: int) -> Callable[[], object]:
    """The same, without intervals."""
    frame = tables.amounts(rows)
    return lambda: dict(_ratios(frame))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    tables.main(["holisticai", "numpy", "pandas"], {"numbers": numbers}, {"numbers": numeric_report})
