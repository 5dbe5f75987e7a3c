"""Each class against the rest: against scikit-learn, statsmodels, and counting by hand; from audit to readers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from statsmodels.stats.multitest import multipletests

from bdt_core import audit, bias_metrics
from bdt_core.fairness.class_outcomes import ClassFigure, ClassOutcomes, compare_classes
from bdt_core.fairness.declared_groups import GroupCounts, count_groups
from bdt_core.inference import compare_counts
from bdt_core.report import for_publication, render_html, render_markdown
from bdt_core.spec import AuditSpec, parse_spec

CLASSES = ["high", "low", "mid"]


def grades(rows: int = 3000, seed: int = 1) -> pd.DataFrame:
    """Of women a quarter of those who are high are said to be mid; nobody else is treated differently."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "race": rng.choice(list("abc"), rows)})
    frame["grade"] = rng.choice(["low", "mid", "high"], rows, p=[0.3, 0.5, 0.2])
    frame["said"] = np.where(rng.random(rows) < 0.2, rng.choice(["low", "mid", "high"], rows), frame["grade"])
    missed = (frame["sex"] == "f") & (frame["grade"] == "high") & (rng.random(rows) < 0.25)
    frame.loc[missed, "said"] = "mid"
    return frame


def spec(**changes: Any) -> AuditSpec:
    return parse_spec(
        {
            "name": "grades",
            "source": {"path": "grades.csv"},
            "bias_variable": {"derive": "error", "label": "grade", "prediction": "said", "positive": "high"},
            "protected": ["sex", "race"],
            "clustering": None,
            "worst_groups": None,
            "slices": None,
            "characteristics": [],
            **changes,
        }
    )


def compared(frame: pd.DataFrame, **changes: Any) -> ClassOutcomes:
    asked = spec(**changes)
    return compare_classes(count_groups(frame, asked), asked.significance)


def figures(outcomes: ClassOutcomes, facet: str, group: str) -> dict[tuple[Any, str], ClassFigure]:
    (groups,) = (one.groups for one in outcomes.facets if one.facet == facet)
    (of_group,) = (one for one in groups if one.group == group)
    return {(one.level, one.measure): one for one in of_group.figures}


@pytest.mark.parametrize(("facet", "group"), [("sex", "f"), ("sex", "m"), ("race", "b")])
def test_figures_are_those_of_scikit_learn(facet: str, group: str) -> None:
    frame = grades()
    outcomes = compared(frame)
    inside = frame[facet] == group
    named = figures(outcomes, facet, group)
    for side, value in ((inside, "value"), (~inside, "value_others")):
        rows = frame[side]
        precision, recall, _, observed = precision_recall_fscore_support(rows["grade"], rows["said"], labels=CLASSES)
        predicted = [(rows["said"] == one).mean() for one in CLASSES]
        for measure, expected in (
            ("precision", precision), ("recall", recall), ("observed", observed / len(rows)), ("predicted", predicted),
        ):  # fmt: skip
            assert [getattr(named[one, measure], value) for one in CLASSES] == pytest.approx(list(expected)), measure
    (of_group,) = (one for each in outcomes.facets for one in each.groups if one.group == group)
    assert outcomes.labels == outcomes.predictions == tuple(CLASSES)
    of_frame = confusion_matrix(frame[inside]["grade"], frame[inside]["said"], labels=CLASSES)
    assert of_group.confusion == tuple(map(tuple, of_frame.tolist()))


def test_there_is_one_correction_for_all_figures() -> None:
    outcomes = compared(grades())
    every = [one for facet in outcomes.facets for group in facet.groups for one in group.figures]
    assert outcomes.comparisons == len(every) == (2 + 3) * 3 * 4
    p_values = [compare_counts(one.events, one.rows, one.events_others, one.rows_others).p_value for one in every]
    significant, adjusted, _, _ = multipletests(p_values, 0.05, "holm")
    assert [one.p_adjusted for one in every] == pytest.approx(adjusted.tolist())
    assert [one.significant for one in every] == significant.tolist()
    for one in every:
        assert one.difference == pytest.approx(one.value - one.value_others)
        alone = compare_counts(one.events, one.rows, one.events_others, one.rows_others, alpha=0.05 / len(every))
        assert (one.low, one.high) == pytest.approx((alone.low, alone.high), abs=1e-12)


def test_the_class_that_is_recognised_least_well_is_named() -> None:
    outcomes = compared(grades())
    by_sex, by_race = outcomes.facets
    assert by_sex.worst is not None
    assert (by_sex.worst.group, by_sex.worst.worst) == ("f", "high")
    assert by_sex.worst.worst_figure.deficit == -figures(outcomes, "sex", "f")["high", "recall"].high > 0.05
    assert [one.worst for one in by_sex.groups] == ["high", None]
    assert by_race.worst is None
    # Women are said to be high less often, too, and of that nobody can say whether it is worse.
    assert all(one.deficit is None for one in by_sex.worst.figures if one.measure in ("predicted", "observed"))


@settings(max_examples=15, deadline=None)
@given(st.permutations(["low", "mid", "high"]), st.randoms())
def test_neither_the_order_of_rows_nor_names_of_classes_matter(names: list[str], random: Any) -> None:
    frame = grades(400)
    renamed = dict(zip(["low", "mid", "high"], names, strict=True))
    order = random.sample(range(len(frame)), len(frame))
    other = frame.iloc[order].replace({"grade": renamed, "said": renamed})
    before, after = compared(frame), compared(other)
    for facet in before.facets:
        for group in facet.groups:
            of_after = figures(after, facet.facet, group.group)
            for one in group.figures:
                expected = replace(one, level=renamed[one.level])
                assert of_after[expected.level, one.measure] == expected


def test_counts_that_are_added_are_those_of_all_rows() -> None:
    frame, asked = grades(), spec()
    parts = [count_groups(frame.iloc[start : start + 700], asked) for start in range(0, len(frame), 700)]
    tables = tuple(sum(of[1:], of[0]) for of in zip(*(one.tables for one in parts), strict=True))
    assert compare_classes(GroupCounts(asked, tables, ()), asked.significance) == compared(frame)


def test_rows_without_a_group_are_among_everybody_else_and_those_without_a_class_nowhere() -> None:
    frame = grades()
    frame.loc[:99, "sex"] = None
    frame.loc[100:149, "said"] = None
    known = frame.dropna(subset=["said"])
    named = figures(compared(frame), "sex", "f")["high", "recall"]
    is_high = known[known["grade"] == "high"]
    assert named.rows_others == (is_high["sex"] != "f").sum()
    assert named.rows == (is_high["sex"] == "f").sum()


def test_a_group_or_class_with_few_rows_has_no_figures() -> None:
    frame = pd.concat([grades(), grades(40, seed=2).assign(race="d"), grades(20, seed=3).assign(race="e")])
    outcomes = compared(frame)
    groups = {one.group: one for facet in outcomes.facets for one in facet.groups}
    assert (groups["e"].figures, groups["e"].confusion, groups["e"].rows) == ((), None, 20)
    rare = figures(outcomes, "race", "d")["high", "recall"]
    assert rare.rows < 30
    assert (rare.value, rare.difference, rare.significant) == (None, None, None)
    assert groups["d"].confusion[0] is None
    for one in (figure for facet in outcomes.facets for group in facet.groups for figure in group.figures):
        assert (one.events is None) == (one.value is None)  # or the value could be computed from them
        assert (one.events_others is None) == (one.value_others is None)


def test_two_classes_and_too_many_are_not_compared() -> None:
    frame = grades()
    two = frame.assign(grade=frame["grade"].eq("high").map({True: "high", False: "no"}))
    two["said"] = frame["said"].eq("high").map({True: "high", False: "no"})
    assert compared(two).is_empty
    other_words = two.assign(said=two["said"].map({"high": 1, "no": 0}))
    bias = {"derive": "error", "label": "grade", "prediction": "said", "positive": ["high", 1]}
    assert compared(other_words, bias_variable=bias).is_empty
    many = frame.assign(said=np.where(np.arange(len(frame)) % 2, "high", np.arange(len(frame)) % 60))
    outcomes = compared(many)
    assert (outcomes.facets, str(outcomes.reason)) == (
        (), "said has more than 20 values, which are not compared one by one",
    )  # fmt: skip


def test_classes_that_label_and_prediction_do_not_share_have_shares_alone() -> None:
    frame = grades()
    frame["grade"] = frame["grade"].eq("high").astype(int)
    bias = {"derive": "error", "label": "grade", "prediction": "said", "positive": ["high", 1]}
    named = figures(compared(frame, bias_variable=bias), "sex", "f")
    assert {measure for _, measure in named} == {"predicted", "observed"}
    bias = {"derive": "positive_prediction", "prediction": "said", "positive": "high"}
    alone = compared(frame, bias_variable=bias)
    assert {measure for _, measure in figures(alone, "sex", "f")} == {"predicted"}
    assert all(one.confusion is None for facet in alone.facets for one in facet.groups)


def test_rows_of_persons_are_counted_and_not_tested() -> None:
    frame = grades().assign(who=np.arange(3000) // 3)
    outcomes = compared(frame, split={"key": "who"})
    named = figures(outcomes, "sex", "f")["high", "recall"]
    assert named.value is not None
    assert (named.p_adjusted, outcomes.comparisons) == (None, 0)
    drawn = render_markdown(audit(frame.assign(age=30), spec(split={"key": "who"})).document)
    assert "Persons may have several rows, so nothing is tested here" in drawn


def test_metrics_of_arrays_say_where_each_class_is_compared() -> None:
    frame = grades()
    found = bias_metrics(frame["grade"], frame["said"], groups=frame["sex"], positive="high")
    assert any("An audit compares each of 3 to 20 classes with the rest" in one for one in found.notes)


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        (
            "en",
            [
                "Each class of grade and said is counted against all others together",
                "Of the group f, class high is recognised least well beside everybody else: ",
                "What is predicted of the group f, by what is so",
                "36 comparisons by race show no significant difference.",
            ],
        ),
        (
            "nl",
            [
                "Elke klasse van grade en said is geteld tegenover alle andere samen",
                "Bij de groep f wordt klasse high het minst goed herkend, vergeleken met alle anderen: ",
                "Wat van de groep f wordt voorspeld, naar wat zo is",
                "36 vergelijkingen per race laten geen significant verschil zien.",
            ],
        ),
    ],
)
def test_readers_are_told(language: str, sentences: list[str]) -> None:
    result = audit(grades(), spec(language=language))
    assert ClassOutcomes.from_dict(result.class_outcomes.to_dict()) == result.class_outcomes
    assert result.document["class_outcomes"]["facets"][0]["groups"][0]["worst"] == "high"
    drawn = render_markdown(result.document)
    for sentence in sentences:
        assert sentence in drawn, sentence
    assert "high" in render_html(result.document)
    assert for_publication(result.document).get("class_outcomes") is None


def test_nothing_is_said_of_two_classes() -> None:
    frame = grades().assign(grade=lambda of: of["grade"].eq("high"), said=lambda of: of["said"].eq("high"))
    bias = {"derive": "error", "label": "grade", "prediction": "said"}
    result = audit(frame, spec(bias_variable=bias))
    assert result.class_outcomes.is_empty
    assert "class_outcomes" not in result.document
    assert "Each class against the rest" not in render_markdown(result.document)
