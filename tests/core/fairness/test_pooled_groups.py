"""Small groups by partial pooling, from the specification to the report: who is estimated, and from what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.fairness.pooled_groups import PooledGroups, pool_groups
from bdt_core.report import render_html
from bdt_core.report.markdown import render_markdown
from bdt_core.spec import parse_spec
from bdt_core.spec.reading import SpecError
from bdt_core.table.validate import validate
from tests.core.joined.made_tables import quick_audit
from tests.core.tables_in_blocks import TableInBlocks

SPEC: dict[str, Any] = {
    "name": "towns", "source": {"path": "towns.csv"}, "bias_variable": {"column": "y"}, "protected": ["sex", "town"],
    "features": {"include": ["x"], "kinds": {"sex": "categorical"}},
}  # fmt: skip


def people(seed: int = 1, rows: int = 3000) -> pd.DataFrame:
    """Five towns, the fourth with about 40 people and the fifth with about 12."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice(list("abcde"), rows, p=[0.5, 0.3, 0.183, 0.013, 0.004]),
            "age": rng.integers(18, 80, rows).astype(float),
            "x": rng.normal(size=rows),
            "y": (rng.random(rows) < 0.3).astype(float),
        }
    )


def pooled(frame: pd.DataFrame, **changes: Any) -> PooledGroups:
    spec = parse_spec(SPEC | changes)
    return pool_groups(validate(frame, spec), spec)


def by_name(found: PooledGroups, *columns: str) -> dict[str, Any]:
    return {one.group: one for one in found.grouping(*columns).groups}


def test_every_intersection_has_a_number() -> None:
    frame = people()
    found = pooled(frame)
    assert [one.columns for one in found.groupings] == [("sex",), ("town",), ("sex", "town")]
    groups = by_name(found, "sex", "town")
    assert list(groups) == [f"{sex} & {town}" for sex in "fm" for town in "abcde"]
    sizes = frame.groupby(["sex", "town"]).size()
    for name, one in groups.items():
        size = int(sizes[tuple(name.split(" & "))])
        assert one.low < one.estimate < one.high
        assert one.has_own_rows == (size >= 10)
        assert one.size == (size if size >= 10 else None)
        assert one.has_few_rows == (size < 30)
    rates = frame.groupby(["sex", "town"]).y.mean()
    assert groups["f & a"].estimate == pytest.approx(rates["f", "a"], abs=0.02)
    assert {one.has_own_rows for one in groups.values()} == {True, False}


def test_nothing_that_is_told_depends_on_people_who_are_too_few() -> None:
    """Whatever those of a group below the minimum have, all estimates of all groupings with it as a group stay."""
    frame = people()
    sizes = frame.groupby(["sex", "town"])["y"].transform("size")
    few = (sizes < 10).to_numpy()
    assert 5 < few.sum() < 20
    first, again = (pooled(frame.assign(y=np.where(few, value, frame.y))) for value in (0.0, 1.0))
    assert first.grouping("sex", "town") == again.grouping("sex", "town")
    assert first.grouping("town") != again.grouping("town")  # where the twelve are one group of more than ten
    strict = pooled(frame, groups={"pooled_from": 30})
    assert {one.has_own_rows for one in strict.grouping("town").small} == {False}


def test_numbers_are_too_coarse_to_count_people() -> None:
    rates = [x for one in pooled(people()).groupings for g in one.groups for x in (g.estimate, g.low, g.high)]
    assert rates == [round(x, 2) for x in rates]
    frame = people().assign(y=lambda frame: 1000.0 + 40.0 * frame.x + 200.0 * (frame.town == "d"))
    found = pooled(frame, features={"include": ["age"]})
    assert not found.is_rate
    numbers = [x for one in found.groupings for g in one.groups for x in (g.estimate, g.low, g.high)]
    assert numbers == [round(x) for x in numbers]
    town = by_name(found, "town")["d"]
    assert town.low < 1200 < town.high
    assert town.estimate == pytest.approx(1200, abs=15)


@pytest.mark.parametrize("key", [None, "person"])
@pytest.mark.parametrize("numeric", [False, True])
def test_any_blocks_give_the_same(key: str | None, numeric: bool) -> None:
    frame = people().assign(person=lambda frame: np.arange(len(frame)) // 2)
    if numeric:
        frame["y"] = frame.x * 3.7 + frame.y
    spec = parse_spec(SPEC | {"split": {"key": key}, "features": {"include": ["age"]}})
    whole = validate(frame, spec)
    assert pool_groups(TableInBlocks(whole, (1, 700, 701, 2500)), spec) == pool_groups(whole, spec)


def test_rows_of_one_person_count_as_one() -> None:
    """Five equal rows each tell what one row tells: intervals stay, and sizes count persons."""
    frame = people(3).assign(person=[f"p{i}" for i in range(3000)])
    five = frame.loc[frame.index.repeat(5)].reset_index(drop=True)
    alone, of_persons, of_rows = pooled(frame), pooled(five, split={"key": "person"}), pooled(five)
    for one, same, narrow in zip(
        alone.groupings[2].groups, of_persons.groupings[2].groups, of_rows.groupings[2].groups, strict=True
    ):
        assert (same.size, same.low, same.high) == pytest.approx((one.size, one.low, one.high), abs=0.011, nan_ok=True)
        if one.has_own_rows:
            assert narrow.high - narrow.low < 0.75 * (one.high - one.low) + 0.02
    assert of_persons.key == "person"


def test_which_columns_make_groups() -> None:
    """Numbers do where they are cut in two or named; rows without a value are in no group."""
    frame = people()
    frame.loc[:99, "town"] = None
    protected = ["sex", "town", "age"]
    plain = pooled(frame, protected=protected)
    assert {name for one in plain.groupings for name in one.columns} == {"sex", "town"}
    assert sum(one.size or 0 for one in plain.grouping("town").groups) == 2900
    cut = pooled(frame, protected=protected, groups={"thresholds": {"age": 40}})
    assert list(by_name(cut, "age")) == ["<= 40", "> 40"]
    assert cut.grouping("sex", "town", "age").groups
    with_label = {"derive": "error", "label": "y", "prediction": "y2"}
    four = ["sex", "town", "x", "y3"]
    named = pooled(
        frame.assign(y2=frame.y.to_numpy()[::-1], y3=frame.y, x=frame.x.round() % 2),
        bias_variable=with_label, groups={"facets": ["sex", four]}, features={"include": ["age"]},
    )  # fmt: skip
    assert named.grouping(*four).groups
    many = pooled(frame.assign(town=[f"t{i % 1400}" for i in range(3000)], sex=np.arange(3000) // 1400))
    assert many.grouping("sex", "town").reason == "there are more than 2,000 groups"
    few = pooled(frame.assign(town=[f"t{i // 6}" for i in range(3000)]), protected=["town"])
    assert few.grouping("town").reason == "no group has 10 people or more"


def test_the_key_of_the_specification() -> None:
    assert parse_spec(SPEC).groups.pooled_from == 10
    assert parse_spec(SPEC | {"groups": {"pooled_from": None}}).pooled_groupings == ()
    with pytest.raises(SpecError, match="pooled_from"):
        parse_spec(SPEC | {"groups": {"pooled_from": 4}})
    three = parse_spec(SPEC | {"protected": list("abcd")}).pooled_groupings
    assert [len(one) for one in three] == [1] * 4 + [2] * 6 + [3] * 4


def test_the_report_marks_them_and_no_limit_sees_them() -> None:
    frame = people()
    worse = (frame.sex == "f") & (frame.town == "d")
    frame = frame.assign(y=np.where(worse, 1.0, frame.y))
    changes = {"protected": SPEC["protected"], "features": SPEC["features"], "worst_groups": None}
    result = quick_audit(frame, **changes, gate=[{"check": "any_cluster", "max_difference": 0.5}])
    document = result.document
    assert document["pooled_groups"] == result.pooled_groups.to_dict()
    without = quick_audit(
        frame, **changes, gate=[{"check": "any_cluster", "max_difference": 0.5}], groups={"pooled_from": None}
    ).document
    assert without["pooled_groups"] is None
    assert (without["gate"], without["verdict"], without["findings"]) == (
        document["gate"], document["verdict"], document["findings"],
    )  # fmt: skip
    told = render_markdown(document)
    assert "estimated with help of the other groups" in told
    assert "Sex is f and town is d" in told
    assert told.index("Sex is f and town is d") < told.index("Town is e")  # worst first
    assert "fewer than 10" in told
    assert "other groups alone" in told
    assert "No limit looks at these numbers" in told
    assert "Small groups are estimated by partial pooling" in render_html(document)
    assert "Small groups" not in render_markdown(without)
    twelve = quick_audit(frame, **changes, groups={"pooled_from": 12}).document
    assert "fewer than 12" in render_markdown(twelve)
