"""Declared groups of large tables: any division into blocks gives the same bytes, where it can that of all rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.errors import DataError
from bdt_core.fairness import declared_groups, drawn_rows
from bdt_core.fairness.declared_groups import GroupMetrics, compare_groups, count_groups
from bdt_core.fairness.drawn_rows import draw_rows
from bdt_core.spec import parse_spec
from bdt_core.table.source_blocks import in_blocks
from tests.core.tables_in_blocks import SourceInBlocks, cut

N = 4_000


def people(n: int = N, seed: int = 0, decimals: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "race": rng.choice(["a", "b", "c", None], n, p=[0.6, 0.3, 0.05, 0.05]),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
            "region": rng.choice(["city", "land"], n),
            "hired": rng.choice([1.0, 0.0, np.nan], n, p=[0.4, 0.5, 0.1]),
        }
    )
    score = np.clip(0.4 + 0.2 * (frame.hired == 1) + rng.normal(0, 0.2, n) - 0.1 * (frame.sex == "f"), 0, 1)
    return frame.assign(score=score.round(decimals), advice=(score > 0.5).astype(int))


def spec(large_rows: int, **groups: Any) -> Any:
    return parse_spec(
        {
            "name": "hiring",
            "source": {"path": "hiring.csv"},
            "protected": ["race", "sex", "age"],
            "bias_variable": {"derive": "error", "label": "hired", "prediction": "advice"},
            "groups": {"score": "score", "stratum": "region", **groups},
            "large_rows": large_rows,
        }
    )


def metrics(source: Any, settled: Any) -> GroupMetrics:
    return compare_groups(count_groups(source, settled), settled.significance, source)


def as_bytes(found: Any) -> bytes:
    return json.dumps(found.to_dict(), sort_keys=True).encode()


LARGE = spec(1_000, facets=["race", ["race", "sex"]], similar_by=["region", "age"])


@pytest.fixture(scope="module")
def in_one_block() -> tuple[bytes, bytes]:
    frame = people()
    return as_bytes(count_groups(frame, LARGE)), as_bytes(metrics(frame, LARGE))


@given(cuts=st.lists(st.integers(0, N), min_size=1, max_size=5), order=st.integers(0, 3))
@settings(max_examples=8)
def test_any_division_into_blocks_gives_the_same_bytes(in_one_block, cuts, order):
    frame = people().sample(frac=1, random_state=order)
    source = SourceInBlocks(frame, tuple(cuts))
    assert as_bytes(count_groups(source, LARGE)) == in_one_block[0]
    assert as_bytes(metrics(source, LARGE)) == in_one_block[1]


def test_blocks_of_a_small_table_are_put_together():
    frame, small = people(), spec(1_000_000, facets=["race", "sex"], similar_by=["region"])
    found = metrics(SourceInBlocks(frame, (100, 2_000)), small)
    assert as_bytes(found) == as_bytes(metrics(frame, small))
    assert found.drawn is None


def test_a_large_table_gives_what_its_rows_give_where_nothing_is_rounded_or_drawn():
    frame = people()
    large, small = (spec(n, facets=["race", ["race", "sex"]]) for n in (1_000, 1_000_000))
    first, second = metrics(frame, large).to_dict(), metrics(frame, small).to_dict()
    first.pop("spec"), second.pop("spec")
    assert first == second
    assert any(one["name"] == "auc" and None not in one["estimate"] for one in first["facets"][0]["metrics"]["metrics"])


@pytest.mark.parametrize("scale", [1.0, 10.0, -3.0])
def test_scores_of_any_range_are_rounded_finely(scale):
    frame = people(decimals=12)
    frame["score"] *= scale
    large, small = (metrics(frame, spec(n, facets=["sex"])).facets[0].metrics["auc"] for n in (1_000, 1_000_000))
    for group in ("f", "m"):
        assert large[group].estimate == pytest.approx(small[group].estimate, abs=1e-5)
        assert large[group].low == pytest.approx(small[group].low, abs=1e-5)


def test_rows_of_one_person_count_as_one_in_an_area_under_the_curve():
    """Five equal rows of each person make the interval of one, wherever the rows stand."""
    frame = people(800).assign(person=np.arange(800))
    of_rows = spec(1_000_000, facets=["sex"])
    of_persons = parse_spec({**of_rows.to_dict(), "split": {"key": "person"}})
    five = frame.loc[frame.index.repeat(5)].sample(frac=1, random_state=0)
    once, more = metrics(frame, of_persons), metrics(five, of_persons)
    divided = metrics(SourceInBlocks(five, (7, 2_500)), of_persons)
    assert as_bytes(divided) == as_bytes(more)
    for group in ("f", "m"):
        area, of_five, too_sure = (one.facets[0].metrics["auc"][group] for one in (once, more, metrics(five, of_rows)))
        limits = (area.estimate, area.low, area.high)
        assert (of_five.estimate, of_five.low, of_five.high) == pytest.approx(limits, abs=1e-6)
        assert too_sure.high - too_sure.low < 0.6 * (area.high - area.low)


def test_numbers_that_make_no_groups_are_named_once():
    frame = people()
    of_blocks, whole = (count_groups(one, spec(1_000)) for one in (SourceInBlocks(frame, (5, 10)), frame))
    assert of_blocks.notes == whole.notes
    assert whole.notes[0].startswith('"age" is numeric')
    assert [one.facets for one in of_blocks.tables] == [("race",), ("sex",)]


def test_too_many_cells_are_refused_together_as_alone(monkeypatch):
    monkeypatch.setattr(declared_groups, "MAX_CELLS", 100)
    with pytest.raises(DataError, match="more than 100 combinations of age"):
        count_groups(SourceInBlocks(people(), (2_000,)), spec(1_000, facets=["age"]))


def test_an_unknown_facet_is_named_in_blocks():
    with pytest.raises(DataError, match='no column "rice" for groups.*race'):
        count_groups(SourceInBlocks(people(), (10,)), spec(1_000, facets=["rice"]))


@given(
    multiplicities=st.lists(st.integers(1, 400), min_size=1, max_size=60),
    wanted=st.integers(1, 300),
    cuts=st.lists(st.integers(0, 3_000), max_size=5),
    held=st.sampled_from([50, 1 << 23]),
)
@settings(max_examples=40)
def test_drawn_rows_do_not_depend_on_blocks_and_keep_shares(multiplicities, wanted, cuts, held):
    values = np.repeat(np.arange(len(multiplicities)), multiplicities)
    frame = pd.DataFrame({"x": values, "text": [f"level {value}" for value in values]})
    whole, total = draw_rows(in_blocks(frame), ["x", "text"], wanted)
    shuffled = frame.sample(frac=1, random_state=wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawn_rows, "MOST_HELD", held)
        again, _ = draw_rows(SourceInBlocks(shuffled, tuple(cuts)), ["x", "text"], wanted)
    pd.testing.assert_frame_equal(again, whole)
    assert total == len(frame)
    share = min(1.0, wanted / total)
    drawn = np.bincount(whole.x, minlength=len(multiplicities))
    assert (np.abs(drawn - share * np.array(multiplicities)) <= 1.0).all()
    if share == 1.0:
        assert len(whole) == total


def test_rows_of_distinct_values_have_the_same_chance():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=20_000), "g": rng.choice(["a", "b"], 20_000, p=[0.8, 0.2])})
    drawn, _ = draw_rows(SourceInBlocks(frame, (3_000, 9_000)), ["x", "g"], 4_000)
    assert abs(len(drawn) - 4_000) < 5 * np.sqrt(4_000 * 0.8)
    assert abs((drawn.g == "a").mean() - 0.8) < 0.03
    assert abs(drawn.x.mean()) < 0.06
    assert drawn.x.is_unique


def test_the_same_values_in_other_types_are_drawn_alike():
    frame = people(2_000)
    other = frame.assign(race=frame.race.astype("category"), age=frame.age.astype(float), sex=frame.sex.astype(object))
    names = ["race", "sex", "age", "hired"]
    first, second = (draw_rows(in_blocks(one), names, 300)[0] for one in (frame, other))
    assert (
        first.astype(str)
        .replace("None", "nan")
        .equals(second.astype({"age": int, "race": object}).astype(str).replace("None", "nan"))
    )


def test_the_flip_test_of_a_large_table_says_on_how_many_rows(monkeypatch):
    monkeypatch.setattr(declared_groups, "FLIP_ROWS", 900)
    found = metrics(people(), LARGE)
    assert found.drawn is not None
    assert abs(found.drawn.rows - 900) < 90
    assert found.drawn.of == N
    assert GroupMetrics.from_dict(found.to_dict()) == found
    flips = next(one for one in found.facets[0].metrics.metrics if one.name == "FT")
    assert 0 < sum(flips.n) <= found.drawn.rows


def test_blocks_keep_their_rows():
    frames = cut(people(10), (3, 3, 20))
    assert [len(one) for one in frames] == [3, 0, 7, 0]
