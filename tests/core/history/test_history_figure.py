"""The figure: the same bytes for the same history, whatever the names, however many batches."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from bdt_core.history import follow
from bdt_core.report.figure_history import PANELS, drawn_panels, history_png, history_svg
from tests.core.history.made_batches import days, history_spec
from tests.core.history.test_trend_drift_and_limits import EQUAL, RATES, WORSE

PEOPLE = {"favourable": "positive"}


def test_same_history_same_bytes() -> None:
    spec = history_spec(gate=RATES)
    history = follow(days(spec, [EQUAL] * 3 + [WORSE] * 4), spec)
    assert history_svg(history) == history_svg(history)
    png = history_png(history)
    assert png == history_png(history)
    assert png.startswith(b"\x89PNG")


@pytest.mark.parametrize("batches", [[], [EQUAL], [EQUAL, {"m": (10, 10, 10, 10)}], [{"m": (1, 1, 1, 1)}]])
def test_few_batches_and_groups_draw(batches: list) -> None:
    spec = history_spec()
    ET.fromstring(history_svg(follow(days(spec, batches), spec)))


def test_hostile_names_draw() -> None:
    spec = history_spec()
    groups = {"<script>&$x^2$\n\u202e": EQUAL["f"], "人" * 80: EQUAL["m"]}
    svg = history_svg(follow(days(spec, [groups] * 3), spec))
    ET.fromstring(svg)
    assert "<script>" not in svg


def test_the_worst_is_drawn_first() -> None:
    spec = history_spec(gate=RATES)
    three = {**WORSE, "x": (150, 50, 100, 200)}
    history = follow(days(spec, [three] * 40), spec)
    drawn = drawn_panels(history)
    assert len(drawn) == PANELS < len(history.streams)
    assert drawn[0].head == "False positive rate: f less m"


def test_a_limited_ratio_is_drawn_with_its_days_and_limit() -> None:
    spec = history_spec(gate=[{"metric": "selection_rate_ratio", "facet": "sex", "min": 0.8, "max": 1.1}], **PEOPLE)
    history = follow(days(spec, [EQUAL] * 3 + [WORSE] * 60), spec)
    first = drawn_panels(history)[0]
    assert first.head == "Selection rate ratio: f against m"
    assert (first.limits, first.is_broken, first.alarm is not None) == ((0.8, 1.1), True, True)
    assert [one and round(one, 4) for one in first.daily] == [1.0] * 3 + [1.25] * 60
    svg = history_svg(history)
    ET.fromstring(svg)
    assert svg != history_svg(follow(days(spec, [EQUAL] * 63), spec))
