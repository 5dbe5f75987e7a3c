"""MCGrad's segments, in an environment of its own: ``pip install mcgrad``.

``python -m benchmarks.peers_calibration DESIGN RUNS ROWS`` writes a line of JSON per table.
"""

from __future__ import annotations

import json
import logging
import sys

import numpy as np
from mcgrad._segmentation import get_segment_masks
from mcgrad.metrics import MulticalibrationError

from benchmarks.scored_people import alike, made

_NUMBERS, _CATEGORIES = ["age", "income"], ["sex", "contract", "race", "region"]
_ALPHA = 0.05
_SETTINGS = {"max_depth": 3, "max_values_per_segment_feature": 5, "min_samples_per_segment": 200}
"""Of 3 (its own), 5 and 8 values a column, 5 came nearest to the planted group."""


def named(design: str, run: int, rows: int) -> dict[str, object]:
    """The segment with the largest standardised error, if Bonferroni leaves it a p-value of 5 %."""
    drawn = made(design, run, rows)
    frame = drawn.frame.assign(score=drawn.scores, y=drawn.happened, inside=drawn.inside)
    columns = {"categorical_segment_columns": _CATEGORIES, "numerical_segment_columns": _NUMBERS}
    error = MulticalibrationError(frame, "y", "score", max_n_segments=None, **columns, **_SETTINGS)
    sigma, p = np.asarray(error.segments_ecce_sigma), np.asarray(error.segments_ecce_pvalue)
    worst = int(np.argmax(sigma))
    names = bool(p[worst] * p.size <= _ALPHA)
    in_order = error.df  # it has put the rows into another one
    masks = np.concatenate([mask[:size] for mask, size, _ in get_segment_masks(in_order, **columns, **_SETTINGS)])
    inside = in_order["inside"].to_numpy()
    return {"names": names, "first": alike(masks[worst].astype(bool), inside) if names else 0.0}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    design, runs, rows = sys.argv[1:]
    for number in range(int(runs)):
        print(json.dumps(named(design, number, int(rows))), flush=True)
