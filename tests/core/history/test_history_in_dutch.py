"""What is said of a history, to Dutch readers: every sentence, and no column, level or batch of the table."""

from __future__ import annotations

from typing import Any

import pytest

from bdt_core.history import difference_finding, drift_finding, follow, volume_finding
from bdt_core.history.results import History
from bdt_core.report.catalogue import say_for
from bdt_core.report.figure_history import history_svg
from bdt_core.report.sheet import Sheet
from tests.core.history.made_batches import Confusion, day, history_spec

FAIR: dict[str, Confusion] = {"none": (300, 30, 30, 240), "1.10": (300, 30, 30, 240), "stable": (3, 1, 1, 3)}
UNFAIR: dict[str, Confusion] = {**FAIR, "1.10": (150, 180, 180, 90)}


@pytest.fixture(scope="module")
def history() -> History:
    """Batches of a column and of levels that are words of ours, or numbers."""
    spec = history_spec(
        language="nl", protected=["kind"], groups={"reference": "none"}, history={"look_back": 3, "drift": 0.06}
    )
    several = [*[FAIR] * 6, UNFAIR]
    return follow([day(spec, i, groups, facets=("kind",)) for i, groups in enumerate(several)], spec)


def test_findings_are_dutch_and_names_stay(history: History) -> None:
    say = say_for(history.spec)
    drift, volume, difference = drift_finding(history), volume_finding(history), difference_finding(history)
    assert say(drift.sentence).startswith(
        "In partij 2026-01-07, tegenover de 3 daarvoor, zijn 4 van 5 verschillen meer dan 6,0 procentpunt verschoven: "
    )
    assert "; positief voorspellende waarde naar kind, 1.10 min none: −45,5 procentpunt [−53,8" in say(drift.sentence)
    assert "te beginnen met aandeel vals-positieven naar kind, 1.10 min none: zijn de" in say(drift.recommendation)
    assert "? Daarna: bekijk de mensen met een negatieve uitkomst" in say(drift.recommendation)
    assert say(volume.sentence) == "1 groep met minder dan 100 rijen in partij 2026-01-07: stable (kind): 8."
    assert say(difference.sentence).startswith("Zonder grens, maar zeker (aandeel valse vondsten 5 %, hoe vaak")
    assert ", 1.10 min none: " in say(difference.sentence)
    assert "sinds partij 2026-01-07" in say(difference.sentence)
    assert say(history.notes[0]).startswith("Partijen 2026-01-01, 2026-01-02, 2026-01-03, 2026-01-04, 2026-01-05, ...")
    assert say(history.streams[-1].drift.reason or "") == "minder dan 100 rijen in deze partij"


def test_readers_names_stand_in_their_place(history: History) -> None:
    labels = {"kind": {"name": "soort woning", "levels": {"none": "geen woning", "1.10": "1,10 meter"}}}
    spec = history_spec(language="nl", protected=["kind"], labels=labels)
    sentence = say_for(spec)(drift_finding(history).sentence)
    assert "naar soort woning, 1,10 meter min geen woning: " in sentence
    assert "kind" not in sentence


def test_the_figure_is_dutch_and_names_stay(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, text = [], Sheet.text

    def kept(sheet: Sheet, x: float, y: float, words: str, **more: Any) -> None:
        drawn.append(str(sheet.said(words)))
        text(sheet, x, y, words, **more)

    monkeypatch.setattr(Sheet, "text", kept)
    history_svg(history)
    assert "Aandeel vals-positieven: 1.10 min none" in drawn
    assert any(one.startswith("naar kind, procentpunt tot nu toe: ") and "; alarm bij 2026" in one for one in drawn)
