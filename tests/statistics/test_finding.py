"""The study of who finds planted groups: its tables, and that it can be done in pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import finding, planted
from benchmarks.tables import shown


@pytest.mark.parametrize("shape", planted.SHAPES)
def test_planted_people_fare_worse_and_the_table_is_the_same_each_time(shape: str) -> None:
    frame, groups = planted.table(shape, 5000, 0)
    again, _ = planted.table(shape, 5000, 0)
    other, _ = planted.table(shape, 5000, 1)
    pd.testing.assert_frame_equal(frame, again)
    assert not frame["y"].equals(other["y"])
    assert planted.p_worse(frame["y"].to_numpy(), groups[0]) < 1e-3
    assert all(0.005 < group.mean() < 0.15 for group in groups)


def test_a_trial_tells_whether_the_planted_are_named_first_and_whether_they_are_in_the_list() -> None:
    def second(task: planted.Task) -> list[planted.Bools]:
        return [~np.logical_or.reduce(task.planted), task.planted[0]]

    found = planted.trial(second, "second", "several", 1000, 0)
    assert (found["named"], found["jaccard"], found["listed"]) == (2, 0.0, 0.5)
    both = planted.trial(lambda task: [np.logical_or.reduce(task.planted)], "both", "several", 1000, 0)
    assert (both["jaccard"], both["listed"]) == (1.0, 1.0)


def test_a_study_in_pieces_finds_what_a_study_in_one_finds(tmp_path: Path) -> None:
    asked = ["two", "harmless"], ["tree", "oracle"], [1000]
    kept = tmp_path / "kept.jsonl"
    list(finding.tried(*asked, 1, kept))
    in_pieces = pd.DataFrame(finding.tried(*asked, 2, kept))
    assert len(kept.read_text(encoding="utf-8").splitlines()) == len(in_pieces) == 6
    in_one = pd.DataFrame(finding.tried(*asked, 2, None))
    found = finding.studied(in_one.assign(seconds=0.0))
    assert found == finding.studied(in_pieces.assign(seconds=0.0))
    assert shown(found["found_1000"]).replace("**", "").splitlines()[2].startswith("| two | 0 |")
