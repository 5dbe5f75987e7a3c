"""Persons with several rows over time: differences count persons, and persons in several batches are named."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.fairness.declared_groups import GroupCounts, count_groups
from bdt_core.history import History, batch_of, follow
from bdt_core.spec import parse_spec

EACH, PERSONS = 5, 300
FIRST = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def spec(**split: Any) -> Any:
    return parse_spec(
        {
            "name": "loans",
            "source": {"path": "{partition}.csv"},
            "protected": ["sex"],
            "bias_variable": {"derive": "positive_prediction", "prediction": "granted", "better": "higher"},
            "split": split,
        }
    )


def day(number: int, harm: float = 0.12, first_person: int | None = None) -> pd.DataFrame:
    rng = np.random.default_rng([51, number])
    sex = rng.choice(["f", "m"], PERSONS)
    granted = (rng.random(PERSONS) < 0.5 - harm * (sex == "f")).astype(int)
    first = number * PERSONS if first_person is None else first_person
    people = pd.DataFrame({"sex": sex, "granted": granted, "person": first + np.arange(PERSONS)})
    return people.loc[people.index.repeat(EACH)].reset_index(drop=True)


def history(frames: list[pd.DataFrame], **split: Any) -> History:
    """Batches that went through storage."""
    wanted, batches = spec(**split), []
    for number, frame in enumerate(frames):
        counts = GroupCounts.from_dict(count_groups(frame, wanted).to_dict())
        batches.append(batch_of(counts, id=str(number), time=FIRST + datetime.timedelta(days=number)))
    return follow(batches, wanted)


def test_what_is_certain_over_time_counts_persons() -> None:
    frames = [day(number) for number in range(6)]
    by_rows, by_persons = history(frames), history(frames, key="person")
    rows, persons = by_rows.streams[0], by_persons.streams[0]
    assert persons.effects == pytest.approx((EACH, EACH), rel=0.05)
    assert rows.effects == (1.0, 1.0)
    assert persons.rows == rows.rows
    assert persons.difference == pytest.approx(rows.difference, abs=0.01)
    assert by_persons.over_time(persons).e_value[-1] == persons.e_value
    one_row_each = history([frame.drop_duplicates("person") for frame in frames]).streams[0]
    assert (persons.low, persons.high) == pytest.approx((one_row_each.low, one_row_each.high), abs=0.005)
    assert np.log(persons.e_value) == pytest.approx(np.log(one_row_each.e_value), rel=0.05)
    assert rows.e_value > 1000 * persons.e_value


def test_persons_who_are_in_several_batches_are_named() -> None:
    apart = history([day(number) for number in range(3)], key="person")
    assert not any("in several batches" in one for one in apart.notes)
    half = history([day(0, first_person=0), day(1, first_person=PERSONS // 2)], key="person")
    assert any(
        re.match(r"About 3\d(\.\d)? % of the persons .* come back in several", one) for one in half.notes
    )  # of 33 %, by a sample


def test_groups_of_few_persons_are_too_small_however_many_rows_they_have() -> None:
    frame = day(0)
    frame.loc[frame["person"] < 20, "sex"] = "x"
    assert history([frame], key="person").groupings[0].too_small == ("x",)
    assert history([frame]).groupings[0].too_small == ()
