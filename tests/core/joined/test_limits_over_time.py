"""Limits over time and drift hold for all groups and streams at once."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bdt_core.fairness.declared_groups import count_groups
from bdt_core.history import Batch, Drift, LimitOverTime, batch_of, follow, volume_finding
from bdt_core.inference import newcombe_interval
from bdt_core.inference.sequential import SequentialComparison, compare_rates_over_time
from bdt_core.spec import AuditSpec
from tests.core.history.made_batches import FIRST, Confusion, days, history_spec

EQUAL: Confusion = (150, 50, 100, 200)  # true positives, false positives, false negatives, true negatives
LARGEST: Confusion = (300, 100, 200, 400)
WORSE: Confusion = (150, 86, 100, 164)
METRICS = ("selection_rate", "true_positive_rate", "false_positive_rate", "positive_predictive_value", "accuracy")


def groups(number: int, first: Confusion) -> dict[str, Confusion]:
    """A reference, a first group, and others like the reference."""
    return {"m": LARGEST, "f": first, **{f"g{i}": EQUAL for i in range(number - 1)}}


def over_time(one: Confusion, batches: int, rate: str, alpha: float) -> SequentialComparison:
    """A group against the reference, at its own share of alpha."""

    def counts(cells: Confusion) -> tuple[list[int], list[int]]:
        tp, fp, fn, tn = cells
        events, rows = (fp, fp + tn) if rate == "false_positive_rate" else (tp, tp + fn)
        return [events] * batches, [rows] * batches

    return compare_rates_over_time(*counts(one), *counts(LARGEST), alpha=alpha, effect=0.02)


def limit_of(metric: str, number: int, batches: int, most: float, alpha: float = 0.05) -> LimitOverTime:
    limit = {"metric": metric, "facet": "sex", "max": most, "min": -1.0}
    spec = history_spec(gate=[limit], significance={"alpha": alpha})
    (found,) = follow(days(spec, [groups(number, WORSE)] * batches), spec).limits
    return found


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("number", [1, 4])
def test_each_group_has_its_share_of_alpha(number: int, alpha: float) -> None:
    found = limit_of("false_positive_rate_difference", number, 10, 0.1, alpha)
    expected = over_time(WORSE, 10, "false_positive_rate", alpha / number)
    assert found.group == "f against m"
    assert (found.low, found.high) == pytest.approx((expected.low[-1], expected.high[-1]))
    assert found.confidence == 1 - alpha


@pytest.mark.parametrize("number", [1, 4])
def test_equalized_odds_has_twice_as_many_comparisons(number: int) -> None:
    found = limit_of("equalized_odds_difference", number, 10, 0.1)
    rates = ("true_positive_rate", "false_positive_rate")
    each = [
        over_time(cells, 10, rate, 0.05 / (2 * number)) for rate in rates for cells in (WORSE, *[EQUAL] * (number - 1))
    ]
    assert found.low == pytest.approx(max(0.0, *(max(one.low[-1], -one.high[-1]) for one in each)))
    # Of each rate: the highest upper less the lowest lower limit, the reference's own 0 among them.
    ends = [
        max(0.0, *(one.high[-1] for one in several)) - min(0.0, *(one.low[-1] for one in several))
        for several in (each[:number], each[number:])
    ]
    assert found.high == pytest.approx(max(ends))


def test_a_limit_that_one_group_breaks_for_certain_may_hold_among_many() -> None:
    alone, among = (over_time(WORSE, 10, "false_positive_rate", 0.05 / number).low[-1] for number in (1, 4))
    most = float(alone + among) / 2
    assert limit_of("false_positive_rate_difference", 1, 10, most).verdict == "fail"
    assert limit_of("false_positive_rate_difference", 4, 10, most).verdict == "inconclusive"


def drifts(spec: AuditSpec, batches: Sequence[Batch]) -> dict[tuple[str, str], Drift]:
    return {(one.group, one.metric): one.drift for one in follow(batches, spec).streams}


def change(now: Confusion, past: Confusion, batches: int, alpha: float) -> tuple[float, float]:
    """Interval of the change of a group's false positive rate against that of the reference, which stands still."""

    def difference(cells: Confusion, times: int) -> tuple[float, float, float]:
        (_, fp, _, tn), (_, x, _, y) = cells, LARGEST
        counts = [times * one for one in (fp, fp + tn, x, x + y)]
        low, high = newcombe_interval(*counts, 1 - alpha)
        return counts[0] / counts[1] - counts[2] / counts[3], float(low), float(high)

    (d, low, high), (d0, low0, high0) = difference(now, 1), difference(past, batches)
    return d - d0 - float(np.hypot(d - low, high0 - d0)), d - d0 + float(np.hypot(high - d, d0 - low0))


@pytest.mark.parametrize("number", [1, 4])
def test_drift_is_corrected_over_all_streams(number: int) -> None:
    spec = history_spec()
    found = drifts(spec, days(spec, [*[groups(number, EQUAL)] * 5, groups(number, WORSE)]))
    assert {metric for _, metric in found} == set(METRICS)
    assert len(found) == 5 * number
    moved = found["f", "false_positive_rate"]
    assert (moved.low, moved.high) == pytest.approx(change(WORSE, EQUAL, 5, 0.05 / (5 * number)))


def test_drift_that_is_certain_in_few_streams_may_only_have_moved_among_many() -> None:
    few, many = (change(WORSE, EQUAL, 5, 0.05 / (5 * number))[0] for number in (1, 6))
    spec = history_spec(history={"drift": (few + many) / 2})
    for number, state in ((1, "drift"), (6, "moved")):
        found = drifts(spec, days(spec, [*[groups(number, EQUAL)] * 5, groups(number, WORSE)]))
        assert found["f", "false_positive_rate"].state == state


def test_streams_that_cannot_be_tested_take_no_share() -> None:
    spec = history_spec()
    small = {"g9": (20, 10, 10, 10)}  # too few in a batch to be watched
    found = drifts(spec, days(spec, [*[groups(1, EQUAL) | small] * 5, groups(1, WORSE) | small]))
    assert found["g9", "false_positive_rate"].state == "not_testable"
    moved = found["f", "false_positive_rate"]
    assert (moved.low, moved.high) == pytest.approx(change(WORSE, EQUAL, 5, 0.05 / 5))


def test_a_day_says_nothing_before_its_labels_are_there() -> None:
    """The latest days were counted at once; they break the limit, until somebody sets how long labels take."""
    spec = history_spec(gate=[{"metric": "true_positive_rate_difference", "facet": "sex", "max": 0.1}])
    late = {"f": (50, 50, 200, 200), "m": LARGEST}  # good outcomes of one group are known later than bad ones
    several = days(spec, [groups(1, EQUAL)] * 20 + [late] * 4)
    counted = [replace(one, counted=one.time + datetime.timedelta(days=15 if i < 20 else 1))
               for i, one in enumerate(several)]  # fmt: skip
    assert follow(counted, spec).limits[0].verdict == "fail"
    guarded = history_spec(gate=spec.to_dict()["gate"], history={"labels_after": "14d"})
    found = follow(counted, guarded)
    assert found.limits[0].verdict == "pass"
    assert (len(found.batches), found.waiting) == (20, ("2026-01-21", "2026-01-22", "2026-01-23", "2026-01-24"))
    assert found.notes[0].startswith("Left out: 4 batches that were counted before history.labels_after (14d)")
    assert volume_finding(found, "2026-01-24").passed
    assert Batch.from_dict(counted[0].to_dict()).counted == counted[0].counted
    again = [replace(one, counted=one.time + datetime.timedelta(days=14)) for one in counted]
    assert follow(again, guarded).limits[0].verdict == "fail"
    assert follow(several, guarded).batches == ()  # counted when nobody asked how long labels take


def test_the_same_counts_under_two_names_are_named() -> None:
    spec = history_spec()
    several = days(spec, [groups(1, EQUAL), groups(1, WORSE), groups(1, EQUAL)])
    (note,) = follow(several, spec).notes
    assert note.startswith("Batches 2026-01-01, 2026-01-03 have the same counts in every group.")
    assert follow(several[:2], spec).notes == ()
    few = days(spec, [{"f": (2, 1, 1, 2), "m": (2, 1, 1, 2)}] * 2)
    assert follow(few, spec).notes == ()  # chance alone does that


def test_labels_that_one_group_lacks_are_named() -> None:
    frame = pd.DataFrame({"sex": ["f", "m"] * 200, "granted": [0, 1, 1, 1] * 100, "repaid": [1, 0, 1, 1] * 100})
    frame["repaid"] = frame["repaid"].where((frame["sex"] == "m") | (frame.index % 4 == 0))
    spec = history_spec()
    (note,) = follow([batch_of(count_groups(frame, spec), id="a", time=FIRST)], spec).notes
    assert note.startswith("In batch a, 50.0 % of f have no label (yet), and 0.0 % of m.")
    assert "history.labels_after" in note


def persons(number: int, rows: int, seed: int) -> pd.DataFrame:
    """Persons of two groups, each with so many equal rows."""
    rng = np.random.default_rng(seed)
    one = pd.DataFrame({"name": rng.permutation(10**6)[:number], "sex": rng.choice(["f", "m"], number)})
    one["granted"] = rng.integers(0, 2, number)
    return pd.concat([one] * rows, ignore_index=True)


def of_persons(frames: Sequence[pd.DataFrame], **changes: object) -> tuple[AuditSpec, list[Batch]]:
    bias = {"derive": "positive_prediction", "prediction": "granted"}
    spec = history_spec(bias_variable=bias, groups={"facets": ["sex"], "reference": "m"}, **changes)
    several = [batch_of(count_groups(one, spec), id=str(i), time=FIRST + datetime.timedelta(days=i))
               for i, one in enumerate(frames)]  # fmt: skip
    return spec, several


def test_with_a_key_rows_of_a_person_say_what_the_person_says() -> None:
    """Copies of every row change nothing but the counts: intervals, evidence, drift and limits are those of persons."""
    gate = [{"metric": "selection_rate_difference", "facet": "sex", "max": 0.3},
            {"metric": "selection_rate_ratio", "facet": "sex", "min": 0.5}]  # fmt: skip
    keyed = {"split": {"key": "name"}, "gate": gate, "favourable": "positive"}
    once = follow(*reversed(of_persons([persons(400, 1, i) for i in range(6)], **keyed)))
    five = follow(*reversed(of_persons([persons(400, 5, i) for i in range(6)], **keyed)))
    assert five.streams[0].effects == pytest.approx([5.0, 5.0], rel=0.05)
    rows = follow(*reversed(of_persons([persons(400, 5, i) for i in range(6)], gate=gate, favourable="positive")))
    x, y, z = (one.streams[0] for one in (once, five, rows))
    assert z.difference == pytest.approx(x.difference, abs=0.001)
    assert y.difference == pytest.approx(x.difference, abs=0.001)
    assert (y.low, y.high) == pytest.approx((x.low, x.high), abs=0.004)
    assert z.high - z.low < 0.6 * (y.high - y.low)
    assert (y.drift.low, y.drift.high) == pytest.approx((x.drift.low, x.drift.high), abs=0.02)
    assert (y.trend.low, y.trend.high) == pytest.approx((x.trend.low, x.trend.high), abs=0.02)
    for x, y, z in zip(once.limits, five.limits, rows.limits, strict=True):
        assert (y.low, y.high) == pytest.approx((x.low, x.high), abs=0.01)
        assert z.high - z.low < 0.6 * (y.high - y.low)


def test_persons_who_come_back_in_other_batches_are_told() -> None:
    keyed = {"split": {"key": "name"}}
    spec, several = of_persons(
        [persons(1000, 2, 1), persons(1000, 2, 1).assign(granted=1), persons(1000, 2, 2)], **keyed
    )
    back = [Batch.from_dict(json.loads(json.dumps(one.to_dict()))) for one in several]
    (note,) = follow(back, spec).notes
    share = re.match(r"About (\S+) % of the persons \(split.key\) come back in several batches\.", note)
    assert share is not None
    assert float(share[1]) == pytest.approx(50, abs=10)
    assert follow([several[0], several[2]], spec).notes == ()
    assert len(several[0].counts.some_persons) == 256
