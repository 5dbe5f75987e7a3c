"""Places in lists, from the specification to the verdict and to what readers are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bdt_core.shards.opening as opening
from bdt_core import audit, compare
from bdt_core.errors import DataError, SourceError, SpecError
from bdt_core.report import render_html, render_markdown
from bdt_core.shards.memory import MemoryPlan
from bdt_core.spec import parse_spec
from bdt_core.verdict.comparable import read_baseline
from tests.core.joined.made_tables import QUICK

LISTS, PLACES = 200, 12
EXPOSURE = 1.0 / np.log2(1.0 + np.arange(1, PLACES + 1))
GAP = (EXPOSURE[6:].mean() - EXPOSURE[:6].mean()).item()


def searches(**columns: Any) -> pd.DataFrame:
    """Lists of twelve: in those of the south six women stand last, in all others women and men by turns.

    Scores of lists are far apart, so that only places within a list are comparable.
    """
    rng = np.random.default_rng(3)
    number = np.repeat(np.arange(LISTS), PLACES)
    place = np.tile(np.arange(PLACES), LISTS)
    south = number % 4 == 0
    alternating = np.where((place + number) % 2 == 0, "f", "m")
    return pd.DataFrame(
        {
            "search": number,
            "sex": np.where(south, np.where(place < 6, "m", "f"), alternating),
            "region": np.where(south, "south", "north"),
            "age": rng.integers(20, 60, number.size),
            "score": 100.0 * rng.normal(size=LISTS)[number] - place,
            **columns,
        }
    ).sample(frac=1.0, random_state=1, ignore_index=True)


def spec(derive: str = "exposure", **changes: Any) -> dict[str, Any]:
    """A specification of places."""
    bias = {"derive": derive, "prediction": "score", "query": "search"}
    return {**QUICK, "clustering": None, "bias_variable": bias, "protected": ["sex"], **changes}


def test_the_group_that_stands_last_is_named_with_its_exposure() -> None:
    result = audit(searches(), spec(gate=[{"check": "worst_group", "max_difference": 0.1}]))
    worst = result.worst_groups.groups[0]
    assert {each.column: each.values for each in worst.conditions} == {"sex": ("f",), "region": ("south",)}
    # Six women of the south in each of 50 lists are below the mean of their lists by half of what sexes differ there.
    assert worst.mean_inside == pytest.approx(GAP / 2, abs=1e-9)
    assert worst.mean_outside == pytest.approx(-GAP / 2 * 300 / (LISTS * PLACES - 300), abs=1e-9)
    frame = searches()
    place = frame.groupby("search")["score"].rank(ascending=False)
    exposure = 1.0 / np.log2(1.0 + place)
    beside = exposure - exposure.groupby(frame["search"]).transform("mean")
    women = result.declared.facet("sex").groups[0]
    assert women.mean == pytest.approx(beside[frame["sex"] == "f"].mean(), abs=1e-9)
    assert women.mean_others == pytest.approx(beside[frame["sex"] == "m"].mean(), abs=1e-9)
    assert result.declared.mean == 0.0
    assert result.verdict == "fail"


@pytest.mark.parametrize(
    ("language", "derive", "sentences"),
    [
        ("en", "exposure", ["the exposure by “score” (1 in the first place), on average, less that of everybody in the "
         "same list (“search”)?", "Here less of this counts as worse: that follows from the question",
         "exposure beside the list"]),
        ("nl", "exposure", ["de zichtbaarheid op ‘score’ (1 op de eerste plaats), gemiddeld, min die van iedereen in "
         "dezelfde lijst (‘search’)?", "zichtbaarheid naast de lijst"]),
        ("en", "top_k", ["the share of people who are among the first 5 by “score”, less the share of everybody in the "
         "same list (“search”)?", "share among the first 5 beside the list"]),
        ("nl", "top_k", ["het aandeel mensen dat bij de eerste 5 staat op ‘score’, min het aandeel van iedereen in "
         "dezelfde lijst (‘search’)?", "aandeel bij de eerste 5 naast de lijst"]),
        ("en", "position", ["the position by “score” (1 is the first), on average, less that of everybody",
         "Here more of this counts as worse"]),
        ("nl", "position", ["de positie op ‘score’ (1 is de eerste), gemiddeld, min die van iedereen"]),
    ],
)  # fmt: skip
def test_readers_are_told_what_is_measured(language: str, derive: str, sentences: list[str]) -> None:
    settings = spec(derive, language=language)
    if derive == "top_k":
        settings["bias_variable"]["k"] = 5
    drawn = render_markdown(audit(searches(), settings).document).replace("Share among", "share among")
    for sentence in sentences:
        assert sentence in drawn or sentence.capitalize() in drawn, sentence
    assert language == "en" or "beside the list" not in drawn


def test_one_list_has_shares_of_people() -> None:
    frame = searches().assign(score=np.arange(LISTS * PLACES), age=30)
    frame["sex"] = np.where(np.arange(len(frame)) < 1200, "f", "m")
    bias = {"derive": "top_k", "prediction": "score", "k": 600}
    result = audit(frame, spec(bias_variable=bias))
    drawn = render_markdown(result.document)
    assert "0 of 100 such people are among the first 600 by “score”, among everybody else 50 of 100" in drawn
    assert "Who is among the first 600 by “score”?" in drawn
    dutch = render_markdown(audit(frame, spec(bias_variable=bias, language="nl")).document)
    assert "staan bij de eerste 600 op ‘score’" in dutch


def test_the_data_section_says_what_is_measured() -> None:
    document = audit(searches(), spec(clustering=QUICK["clustering"])).document
    assert document["bias_variable"]["description"] == (
        "mean exposure by score, which is 1 in the first place, less the mean of all in the same list by search"
    )
    drawn = render_html(document | {"spec": document["spec"] | {"language": "nl"}})
    assert (
        "de gemiddelde zichtbaarheid op score, die op de eerste plaats 1 is, min het gemiddelde van iedereen" in drawn
    )


def test_a_list_is_no_group_and_no_feature() -> None:
    result = audit(searches(), spec())
    assert {one["name"]: one["role"] for one in result.document["data"]["columns"]}["search"] == "unused"
    for changes in ({"protected": ["search"]}, {"features": {"include": ["search", "age"]}}):
        with pytest.raises(DataError, match='"search" names the lists within which people are compared'):
            audit(searches(), spec(**changes))
    with pytest.raises(DataError, match=r'"serch".*bias_variable\.query|bias_variable\.query.*"serch"'):
        audit(searches(), spec(bias_variable={"derive": "exposure", "prediction": "score", "query": "serch"}))


def test_keywords_say_the_same_as_a_file() -> None:
    result = audit(
        searches(), derive="top_k", prediction="score", query="search", k=5, ranked="highest_first", protected=["sex"],
        clustering=None, slices=None, worst_groups=None,
    )  # fmt: skip
    written = parse_spec({
        "name": "lists", "source": {"path": "lists.csv"},
        "bias_variable": {"derive": "top_k", "prediction": "score", "query": "search", "k": 5},
    })  # fmt: skip
    assert parse_spec(result.document["spec"]).bias_variable == written.bias_variable


def test_a_table_in_blocks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not fit, of which nobody has said that it is worked through in blocks."""
    searches().to_csv(tmp_path / "lists.csv", index=False)
    monkeypatch.setattr(opening, "plan_memory", lambda *_: MemoryPlan(True, "it is too large", 1, None))
    with pytest.raises(DataError, match='need all of its rows at once: make a column .* "bias_variable.column"'):
        audit(None, parse_spec({**spec(), "source": {"path": str(tmp_path / "lists.csv")}}))


def test_persons_in_several_lists_change_places_whole() -> None:
    frame = searches(person=np.arange(LISTS * PLACES) % 800)
    result = audit(frame, spec(split={"key": "person", "repeats": 1}))
    assert {each.column for each in result.worst_groups.groups[0].conditions} == {"sex", "region"}


def test_other_lists_are_not_compared(tmp_path: Path) -> None:
    of_lists = audit(searches(), spec("top_k"))
    (tmp_path / "report.json").write_text(json.dumps(of_lists.document))
    same = parse_spec(of_lists.document["spec"])
    assert read_baseline(tmp_path / "report.json", same)
    for key, value in (("k", 5), ("query", None)):
        other = parse_spec({**same.to_dict(), "bias_variable": {**same.bias_variable.model_dump(), key: value}})
        with pytest.raises(SourceError, match=rf"its bias_variable\.{key} is"):
            read_baseline(tmp_path / "report.json", other)
        with pytest.raises(SpecError, match=rf"bias_variable\.{key} is"):
            compare(same, other)
