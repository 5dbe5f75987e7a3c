"""Batches put together: whatever the order of arrival, once each, the corrected one in place of the first."""

from __future__ import annotations

import datetime
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bdt_core.errors import DataError
from bdt_core.fairness.counts import merge
from bdt_core.fairness.declared_groups import GroupCounts
from bdt_core.history import Batch, History, batch_of, follow
from bdt_core.inference.sequential import compare_rates_over_time, discoveries
from tests.core.history.made_batches import FIRST, counted, day, days, history_spec

SPEC = history_spec()
cells = st.tuples(*[st.integers(0, 40)] * 4)
batches_of_days = st.lists(
    st.dictionaries(st.sampled_from("fmx"), cells, min_size=1, max_size=3), min_size=1, max_size=8
)
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@few
@given(batches_of_days, st.randoms(use_true_random=False))
def test_the_order_of_arrival_and_repeats_change_nothing(several: Any, random: Any) -> None:
    batches = days(SPEC, several)
    shuffled = [*batches, random.choice(batches)]
    random.shuffle(shuffled)
    assert follow(shuffled, SPEC) == follow(batches, SPEC)


@few
@given(batches_of_days, st.dictionaries(st.sampled_from("fm"), cells, min_size=1), st.data())
def test_a_corrected_batch_replaces_its_first_form(several: Any, corrected: Any, data: Any) -> None:
    batches = days(SPEC, several)
    number = data.draw(st.integers(0, len(batches) - 1))
    right = day(SPEC, number, corrected)
    from_the_start = [*batches[:number], right, *batches[number + 1 :]]
    assert follow([*batches, right], SPEC) == follow(from_the_start, SPEC)


@few
@given(batches_of_days)
def test_the_totals_are_those_of_all_rows_counted_at_once(several: Any) -> None:
    batches = days(SPEC, several)
    found = follow(batches, SPEC)
    table = merge(one.counts.tables[0] for one in batches)
    rows = {group[0]: int(n) for group, n in zip(table.groups, table.counts.sum(axis=(1, 2, 3, 4)), strict=True)}
    (grouping,) = found.groupings
    assert {group: sum(n) for group, n in zip(grouping.groups, grouping.rows, strict=True)} == rows
    selected = {
        group[0]: int(n) for group, n in zip(table.groups, table.counts[:, 0, :, 1, 0].sum(axis=1), strict=True)
    }
    for one in found.streams:
        if one.metric == "selection_rate":
            assert (sum(one.events), sum(one.reference_events)) == (selected[one.group], selected[one.reference])


@few
@given(batches_of_days)
def test_a_history_and_its_batches_come_back_from_json(several: Any) -> None:
    batches = days(SPEC, several)
    found = follow(batches, SPEC)
    assert History.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))) == found
    back = [Batch.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False))) for one in batches]
    assert [one.to_dict() for one in back] == [one.to_dict() for one in batches]
    assert follow(back, SPEC) == found


def test_every_rate_by_hand() -> None:
    (grouping,) = follow([day(SPEC, 0, {"f": (30, 10, 20, 40), "m": (60, 30, 20, 90)})], SPEC).groupings
    assert grouping.reference == "m"
    found = {one.metric: one.difference for one in grouping.streams}
    assert found == {
        "selection_rate": pytest.approx(40 / 100 - 90 / 200),
        "true_positive_rate": pytest.approx(30 / 50 - 60 / 80),
        "false_positive_rate": pytest.approx(10 / 50 - 30 / 120),
        "positive_predictive_value": pytest.approx(30 / 40 - 60 / 90),
        "accuracy": pytest.approx(70 / 100 - 150 / 200),
    }


@pytest.mark.parametrize(
    ("bias", "metrics"),
    [
        ({"derive": "positive_prediction", "prediction": "granted"}, {"selection_rate"}),
        ({"column": "delay"}, {"prevalence"}),
    ],
)
def test_only_rates_that_the_columns_allow(bias: dict[str, str], metrics: set[str]) -> None:
    groups = {"label": "repaid"} if bias.get("column") else {}
    spec = history_spec(bias_variable=bias, groups={**groups, "facets": ["sex"]})
    found = follow([day(spec, 0, {"f": (30, 10, 20, 40), "m": (60, 30, 20, 90)})], spec)
    assert {one.metric for one in found.streams} == metrics


def test_a_batch_that_comes_late_stands_where_it_belongs() -> None:
    batches = days(SPEC, [{"f": (n, 10, 20, 40), "m": (60, 30, 20, 90)} for n in (30, 31, 32)])
    found = follow([batches[0], batches[2], batches[1]], SPEC)
    assert [one.id for one in found.batches] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert found.streams[0].events == (40, 41, 42)


def test_a_group_that_is_missing_for_a_while_has_empty_batches() -> None:
    batches = days(SPEC, [{"m": (60, 30, 20, 90)}, {"m": (60, 30, 20, 90), "f": (30, 10, 20, 40)}, {"m": (1, 1, 1, 1)}])
    stream = follow(batches, SPEC).streams[0]
    assert (stream.group, stream.rows, stream.events) == ("f", (0, 100, 0), (0, 40, 0))


def test_the_reference_stays_however_groups_grow() -> None:
    first, later = {"m": (60, 30, 20, 90), "f": (30, 10, 20, 40)}, {"m": (1, 1, 1, 1), "f": (300, 100, 200, 400)}
    assert follow(days(SPEC, [first, later, later]), SPEC).groupings[0].reference == "m"
    named = history_spec(groups={"reference": "f"})
    assert follow(days(named, [first]), named).groupings[0].reference == "f"
    others = history_spec(groups={"reference": "everybody else"})
    found = follow(days(others, [{**first, "x": (10, 10, 10, 10)}]), others)
    (one,) = [one for one in found.streams if one.group == "f" and one.metric == "selection_rate"]
    assert (one.reference, one.reference_rows, one.reference_events) == ("everybody else", (240,), (110,))


def test_groups_too_small_to_be_printed_are_named_and_not_followed() -> None:
    batch = day(SPEC, 0, {"m": (60, 30, 20, 90), "f": (30, 10, 20, 40), "x": (5, 5, 5, 5)})
    (grouping,) = follow([batch], SPEC).groupings
    assert grouping.too_small == ("x",)
    assert {one.group for one in grouping.streams} == {"f"}
    several = [day(SPEC, number, {"m": (60, 30, 20, 90), "x": (5, 5, 5, 5)}) for number in range(3)]
    found = follow(several, SPEC)
    assert {one.group for one in found.streams} == {"x"}  # 60 rows by now, though 20 a batch
    assert found.values(found.streams[0]) == [None] * 3  # a batch alone does not print its rate


def test_several_groupings_are_one_family() -> None:
    spec = history_spec(protected=["sex", "race"], groups={"facets": ["sex", ["sex", "race"]]})
    batch = day(spec, 0, {"m": (60, 30, 20, 90), "f": (30, 10, 20, 40)})
    both = {("f", "a"): (15, 5, 10, 20), ("m", "a"): (60, 30, 20, 90), ("f", "b"): (15, 5, 10, 20)}
    more = counted(spec, both, facets=("sex", "race")).tables
    joined = batch_of(GroupCounts(spec, (*batch.counts.tables, *more), ()), id="one", time=FIRST)
    found = follow([joined], spec)
    assert [one.facet for one in found.groupings] == ["sex", "sex & race"]
    assert [one.group for one in found.streams if one.metric == "accuracy"] == ["f", "f & a", "f & b"]


def test_batches_counted_otherwise_say_nothing_and_are_named() -> None:
    other = history_spec(bias_variable={"derive": "error", "label": "repaid", "prediction": "scored"})
    groups = {"f": (30, 10, 20, 40), "m": (60, 30, 20, 90)}
    found = follow([day(other, 0, groups), day(SPEC, 1, groups)], SPEC)
    assert found.streams[0].rows == (0, 100)
    assert "1 of 2 batches do not count sex" in found.notes[0]


def test_without_batches_or_groups() -> None:
    assert follow([], SPEC).streams == ()
    nobody = follow(days(SPEC, [{"f": (30, 10, 20, 40), "m": (60, 30, 20, 90)}]), history_spec(protected=[]))
    assert (nobody.streams, len(nobody.batches)) == ((), 1)
    assert "declares no groups" in nobody.notes[0]


def test_a_batch_needs_a_name_and_a_time_zone() -> None:
    counts = counted(SPEC, {"f": (1, 1, 1, 1)})
    with pytest.raises(DataError, match="needs a name"):
        batch_of(counts, id="", time=FIRST)
    with pytest.raises(DataError, match="no time zone"):
        batch_of(counts, id="a", time=datetime.datetime(2026, 1, 1))
    with pytest.raises(DataError, match="schema 1"):
        Batch.from_dict({"schema": 99})
    with pytest.raises(DataError, match='no batch "b"'):
        follow([batch_of(counts, id="a", time=FIRST)], SPEC).small_groups("b")


def test_thousands_of_batches_are_followed_in_linear_time() -> None:
    rng = np.random.default_rng(0)
    draws = rng.multinomial(300, [0.3, 0.1, 0.2, 0.4], size=(3000, 2))
    batches = days(SPEC, [dict(zip("fm", map(tuple, one.tolist()), strict=True)) for one in draws])
    found = follow(batches, SPEC)
    assert len(found.batches) == 3000
    assert sum(found.streams[0].rows) == 900_000


def test_evidence_is_that_of_the_inference_where_counts_are_large() -> None:
    groups = [{"f": (300, 100, 200, 400), "m": (300, 150, 200, 350)}] * 10
    found = follow(days(SPEC, groups), SPEC)
    stream = next(one for one in found.streams if one.metric == "false_positive_rate")
    plain = compare_rates_over_time([150] * 10, [500] * 10, [100] * 10, [500] * 10)
    mine = found.over_time(stream)
    np.testing.assert_allclose(mine.e_value, plain.e_value)
    np.testing.assert_allclose(mine.low, plain.low)
    np.testing.assert_allclose(mine.high, plain.high)
    assert (stream.e_value, stream.p_value) == (mine.e_value[-1], mine.p_value[-1])


def test_one_rare_event_in_a_small_group_is_no_alarm() -> None:
    groups = [{"f": (0, 1, 0, 9), "m": (0, 10, 0, 9990)}] + [{"f": (0, 0, 0, 10), "m": (0, 10, 0, 9990)}] * 2
    stream = next(one for one in follow(days(SPEC, groups), SPEC).streams if one.metric == "selection_rate")
    assert 1.0 < stream.e_value < 20.0
    assert stream.alarm is None


def test_the_difference_is_that_within_the_batches() -> None:
    """Both groups are treated alike on every day; the first one grows while positive predictions become common."""
    alike = [{"f": (n, n, 3 * n, 3 * n), "m": (200, 200, 600, 600)} for n in (100, 50, 25)]
    alike += [{"f": (3 * n, 3 * n, n, n), "m": (600, 600, 200, 200)} for n in (200, 400, 800)]
    found = follow(days(SPEC, alike * 10), SPEC)
    (stream,) = [one for one in found.streams if one.metric == "selection_rate"]
    assert sum(stream.events) / sum(stream.rows) - sum(stream.reference_events) / sum(stream.reference_rows) > 0.15
    assert stream.difference == pytest.approx(0.0, abs=1e-12)
    assert (stream.alarm, stream.discovered) == (None, False)


def test_e_bh_over_all_streams_at_every_look() -> None:
    rng = np.random.default_rng(3)
    draws = [
        {"f": tuple(rng.multinomial(300, [0.3, 0.18, 0.2, 0.32]).tolist()),
         "m": tuple(rng.multinomial(300, [0.3, 0.1, 0.2, 0.4]).tolist())}
        for _ in range(15)
    ]  # fmt: skip
    found = follow(days(SPEC, draws), SPEC)
    looks = np.stack([found.over_time(one).e_value for one in found.streams], axis=1)
    seen = np.array([discoveries(look.tolist(), 0.05) for look in looks])
    assert [one.discovered for one in found.streams] == seen[-1].tolist()
    first = [int(column.argmax()) if column.any() else None for column in seen.T]
    assert [one.alarm for one in found.streams] == first
    assert any(one is not None for one in first)
    assert any(one is None for one in first)
