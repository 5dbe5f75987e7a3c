"""Places in lists: false alarms where chance orders each list, and a group that stands lower."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bdt_core import audit
from bdt_core.audit import AuditResult


def lists(seed: int, gap: float = 0.0) -> pd.DataFrame:
    """Lists differ in length, in their people and in how high all scores are; by `gap` women of the south are lower."""
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 3, 120)
    length = np.where(region == 0, rng.integers(10, 20, 120), rng.integers(10, 51, 120))
    number = np.repeat(np.arange(120), length)
    rows = number.size
    frame = pd.DataFrame(
        {
            "list": number,
            "sex": np.where(rng.random(rows) < rng.beta(2, 2, 120)[number], "f", "m"),
            "region": np.array(["north", "south", "east"])[region[number]],
            "age": (rng.normal(40, 8, rows) + 10 * rng.normal(size=120)[number]).round(),
            "skill": rng.choice(list("abcd"), rows),
        }
    )
    harmed = (frame["sex"] == "f") & (frame["region"] == "south")
    frame["score"] = rng.normal(size=rows) + 3.0 * rng.normal(size=120)[number] - gap * harmed
    return frame


def audited(frame: pd.DataFrame, derive: str) -> AuditResult:
    more: dict[str, Any] = {"k": 5} if derive == "top_k" else {}
    return audit(
        frame, derive=derive, prediction="score", query="list", protected=["sex", "region"], clustering=None,
        slices=None, gate=[], **more,
    )  # fmt: skip


@pytest.mark.parametrize("derive", ["top_k", "exposure", "position"])
def test_lists_in_the_order_of_chance_alarm_rarely(derive: str, full: bool) -> None:
    runs = 300 if full else 16
    alarms = sum(len(audited(lists(run), derive).findings) > 0 for run in range(runs))
    assert stats.binom.sf(alarms - 1, runs, 0.05) > 0.001


@pytest.mark.parametrize("derive", ["top_k", "exposure", "position"])
def test_a_group_that_stands_lower_in_its_lists_is_found(derive: str, full: bool) -> None:
    runs = 40 if full else 4
    hits = 0
    for run in range(runs):
        frame = lists(run, gap=1.0)
        harmed = ((frame["sex"] == "f") & (frame["region"] == "south")).to_numpy()
        worst = audited(frame, derive).worst_groups.groups
        inside = worst[0].members(frame) if worst else np.zeros(len(frame), dtype=bool)
        hits += (inside & harmed).sum() / (inside | harmed).sum() >= 0.5
    assert hits >= 0.7 * runs
