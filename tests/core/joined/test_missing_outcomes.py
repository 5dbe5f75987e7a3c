"""Rows without an outcome: whether that is a matter of group, what it could hide, and how it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.groups.scan.blanks import Blanks, find_blanks
from bdt_core.report.noise import DEVIATION
from bdt_core.report.publication import for_publication
from bdt_core.spec import parse_spec
from bdt_core.table.summaries import Drawn
from bdt_core.table.validate import validate
from tests.core.joined.made_tables import QUICK, quick_audit
from tests.core.tables_in_blocks import TableInBlocks

WHO = "region is south and sex is f"


def refused(rows: int = 4000, *, blank: float = 0.8, seed: int = 0) -> pd.DataFrame:
    """Women in the south are refused more often, and of most who are, the refusal is left blank."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": np.where(rng.random(rows) < 0.5, "f", "m"),
            "region": rng.choice(["south", "north", "east", "west", "mid"], rows),
            "age": rng.integers(18, 80, rows),
        }
    )
    harmed = (frame["sex"] == "f") & (frame["region"] == "south")
    y = (rng.random(rows) < np.where(harmed, 0.4, 0.15)).astype(float)
    return frame.assign(y=np.where(harmed & (y == 1) & (rng.random(rows) < blank), np.nan, y))


def blanks_of(frame: pd.DataFrame, **changes: Any) -> Blanks:
    spec = parse_spec({**QUICK, "source": {"path": "a.csv"}, "protected": ["sex"], **changes})
    return find_blanks(validate(frame, spec), spec)


def filled(frame: pd.DataFrame, inside: pd.Series, bad: float, good: float) -> float:
    """How much worse a group fares if its blanks are bad, and good those of others."""
    y = frame["y"].mask(frame["y"].isna() & inside, bad).fillna(good)
    sign = 1.0 if bad > good else -1.0
    return float(sign * (y[inside].mean() - y[~inside].mean()))


def test_outcomes_that_were_left_blank_for_a_group_are_told_with_their_worst_case() -> None:
    frame = refused()
    inside = (frame["sex"] == "f") & (frame["region"] == "south")
    found = quick_audit(frame, protected=["sex"])
    blanks = found.blanks
    assert blanks is not None
    assert (blanks.rows, blanks.of) == (int(frame["y"].isna().sum()), len(frame))
    assert blanks.who == blanks.confirmed[0].words == WHO
    assert blanks.worst_case == pytest.approx(filled(frame, inside, 1.0, 0.0))
    assert blanks.groups[0].worst_case > 0.2 > blanks.groups[0].difference
    assert blanks.groups[0].share_inside == pytest.approx(frame.loc[inside, "y"].isna().mean())
    women = next(one for one in blanks.groups if one.words == "sex is f")
    assert women.declared
    assert women.confirmed
    assert women.p_value == pytest.approx(0.0, abs=1e-9)
    assert women.low is not None
    assert women.high is not None
    assert women.low < women.share_inside - women.share_outside < women.high
    document = found.document
    assert document["blanks"]["worst_case"] == blanks.worst_case
    assert Blanks.from_dict(document["blanks"]) == blanks
    told = next(one for one in found.warnings if "have no outcome" in one)
    assert f"{blanks.rows:,} of {len(frame):,} rows have no outcome, and that is a matter of group" in told
    assert f"where {WHO}" in told


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "where region is south and sex is f, it is missing for {} of 100, among everybody else for 0 of 100"),
        ("nl", "waar region is south en sex is f, ontbreekt zij bij {} op de 100, bij anderen bij 0 op de 100"),
    ],
)
def test_page_1_says_of_whom_outcomes_are_missing_and_what_that_could_hide(
    language: str, told: str, tmp_path: Path
) -> None:
    found = quick_audit(refused(8000), protected=["sex"], language=language)
    found.write(tmp_path / "own")
    page = (tmp_path / "own" / "report.md").read_text(encoding="utf-8")
    assert found.blanks is not None
    assert told.format(round(100 * found.blanks.confirmed[0].share_inside)) in page
    points = round(100 * found.blanks.groups[0].worst_case)
    worse = {"en": f"would fare worse by {points} of 100", "nl": f"{points} op de 100 slechter vergaan"}
    assert worse[language] in page
    assert {"en": "that is a matter of group", "nl": "dat hangt van de groep af"}[language] in page


def test_the_form_for_publication_says_how_many_to_tens_and_not_whose() -> None:
    document = quick_audit(refused(4003), protected=["sex"]).document
    published = for_publication(document)["blanks"]
    for name in ("rows", "of"):
        assert published[name] % 10 == 0
        assert abs(published[name] - document["blanks"][name]) < 5 + 4 * DEVIATION
    assert published["groups"] == []
    assert published["who"] is None
    assert published["worst_case"] is None


def test_where_every_outcome_is_known_nothing_is_searched_or_told(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = refused(blank=0.0)
    monkeypatch.setattr("bdt_core.groups.scan.blanks.rows_at_hand", lambda _: pytest.fail("nothing is missing"))
    found = quick_audit(frame, protected=["sex"])
    assert found.blanks is not None
    assert (found.blanks.rows, found.blanks.groups, found.blanks.worst_case) == (0, (), None)
    assert "blanks" not in found.document
    assert not any("have no outcome" in one for one in found.warnings)


def test_rows_of_the_other_population_are_no_blanks() -> None:
    """Positive labels are outside the false positive rate, whether their prediction is known or not."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 3000), "age": rng.integers(18, 80, 3000)})
    frame["label"] = pd.Series((rng.random(3000) < 0.4).astype(float))
    frame["advice"] = pd.Series((rng.random(3000) < 0.3).astype(float))
    frame.loc[:199, "label"] = None
    frame.loc[100:399, "advice"] = None
    bias = {"derive": "false_positive_rate", "label": "label", "prediction": "advice"}
    rate = blanks_of(frame, bias_variable=bias)
    is_blank = frame["label"].isna() | ((frame["label"] == 0) & frame["advice"].isna())
    assert (rate.rows, rate.of) == (int(is_blank.sum()), int((frame["label"] != 1).sum()))
    texts = frame.assign(
        label=frame["label"].map({1.0: "yes", 0.0: "no"}), advice=frame["advice"].map({1.0: "yes", 0.0: "no"})
    )
    assert blanks_of(texts, bias_variable={**bias, "positive": "yes"}) == rate
    missing = int(frame[["label", "advice"]].isna().any(axis=1).sum())
    assert blanks_of(frame, bias_variable={**bias, "derive": "error"}).rows == missing


def test_the_worst_case_counts_the_way_that_is_worse_and_amounts_by_their_quantiles() -> None:
    frame = refused().assign(sex="f")
    rng = np.random.default_rng(2)
    frame["sex"] = rng.choice(["f", "m"], len(frame))
    frame["y"] = rng.gamma(2.0, 100.0, len(frame))
    frame.loc[(frame["sex"] == "f") & (rng.random(len(frame)) < 0.2), "y"] = None
    inside = frame["sex"] == "f"
    low, high = np.quantile(frame["y"].dropna(), [0.01, 0.99])
    for better, bad, good in (("lower", high, low), ("higher", low, high)):
        found = blanks_of(frame, bias_variable={"column": "y", "better": better})
        assert (found.harmful, found.harmless, found.two_valued) == (bad, good, False)
        women, men = (next(one for one in found.groups if one.words == f"sex is {sex}") for sex in "fm")
        assert women.worst_case == pytest.approx(filled(frame, inside, bad, good))
        assert men.worst_case == pytest.approx(filled(frame, ~inside, bad, good))  # what women lack may be good
        assert found.worst_case == max(women.worst_case, men.worst_case)


def test_declared_groups_are_cut_and_crossed_as_the_specification_says() -> None:
    frame = refused()
    changes = {"protected": ["sex", "age"], "groups": {"facets": ["age", ["sex", "region"]], "thresholds": {"age": 40}}}
    words = {one.words for one in blanks_of(frame, **changes).groups if one.declared}
    assert {"age up to 40", "age above 40", "sex is f", "sex is m and region is mid"} <= words


def test_blanks_of_a_few_persons_with_many_rows_are_not_a_matter_of_group() -> None:
    rng = np.random.default_rng(5)
    persons, each = 120, 20
    sex, absent = rng.choice(["f", "m"], persons), rng.random(persons) < 0.1
    absent[:6], sex[:6] = True, "f"
    frame = pd.DataFrame({"person": np.repeat(np.arange(persons), each), "sex": np.repeat(sex, each)})
    frame["age"] = rng.integers(18, 80, len(frame))
    frame["y"] = np.where(np.repeat(absent, each), np.nan, (rng.random(len(frame)) < 0.3).astype(float))
    assert blanks_of(frame, features={"exclude": ["person"]}).confirmed
    assert not blanks_of(frame, split={"repeats": 1, "key": "person"}).confirmed


def test_a_table_in_blocks_gives_the_same() -> None:
    frame = refused()
    spec = parse_spec({**QUICK, "source": {"path": "a.csv"}, "protected": ["sex"], "large_rows": 1000})
    whole = validate(frame, spec)
    found = find_blanks(whole, spec)
    assert find_blanks(TableInBlocks(whole, (500, 501, 2600)), spec) == found
    assert found.drawn == Drawn(1000, len(frame))
    assert (found.rows, found.of) == (int(frame["y"].isna().sum()), len(frame))
    assert found.confirmed
