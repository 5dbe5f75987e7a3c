"""Conditions: one class for every search, and the members that report.json has of those of slices."""

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from bdt_core.fairness.coding import Threshold
from bdt_core.groups.conditions import GroupCondition, members
from bdt_core.groups.written import WrittenCondition


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        (GroupCondition.of_level("sex", "f"), {"kind": "value", "text": "sex is f", "value": "f"}),
        (GroupCondition.of_level("young", True), {"kind": "value", "text": "young is True", "value": True}),
        (GroupCondition.of_level("age", None), {"kind": "missing", "text": "age is missing", "value": None}),
        (
            GroupCondition("age", "interval", 20.0, 30.0, whole=True),
            {"kind": "interval", "text": "age 21 to 30", "low": 20.0, "high": 30.0, "whole": True},
        ),
    ],
)
def test_conditions_of_slices_have_the_members_of_the_first_reports(condition, written):
    adapter = TypeAdapter(WrittenCondition)
    data = adapter.dump_python(condition, mode="json")
    rest = {"column": condition.column, "value": None, "low": None, "high": None, "whole": False}
    assert data == rest | written
    assert adapter.validate_python(data) == condition
    assert adapter.validate_python(condition) is condition


def test_sides_of_a_cut_are_intervals():
    cut = Threshold(40)
    frame = pd.DataFrame({"age": [30.0, 40.0, 41.0, np.nan]})
    told = {one: GroupCondition.of_level("age", one, cut) for one in (cut.up_to, cut.above, None)}
    assert [one.words for one in told.values()] == ["age up to 40", "age above 40", "age is missing"]
    held = [np.flatnonzero(one.holds(frame)).tolist() for one in told.values()]
    assert held == [[0, 1], [2], [3]]


def test_all_conditions_of_a_group_hold_for_its_members():
    frame = pd.DataFrame({"age": [30, 40, 41], "sex": ["f", "m", "m"]})
    group = (GroupCondition("age", "interval", low=30.0), GroupCondition.of_level("sex", "m"))
    assert members(frame, group).tolist() == [False, True, True]
    assert members(frame, ()).all()
