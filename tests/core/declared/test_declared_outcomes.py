"""The bias variable by declared group: beside pandas, scipy and statsmodels, from the specification to the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from bdt_core import audit
from bdt_core.declared.comparing import compare_declared_groups
from bdt_core.fairness import group_summaries
from bdt_core.report import render_markdown
from bdt_core.report.page import build_page
from bdt_core.report.publication import for_publication
from bdt_core.spec import parse_spec
from bdt_core.table.validate import validate
from tests.core.tables_in_blocks import TableInBlocks

QUIET: dict[str, Any] = {
    "worst_groups": None, "slices": None, "clustering": {"stability": 0, "n_init": 1, "max_iter": 1},
}  # fmt: skip


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 3000
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "origin": rng.choice(["north", "south", "isles"], n, p=[0.6, 0.395, 0.005]),
            "age": rng.integers(18, 80, n),
            "income": rng.normal(30.0, 5.0, n).round(1),
        }
    )
    frame["fined"] = (rng.random(n) < 0.1 + 0.15 * (frame["sex"] == "f")).astype(int)
    frame["fee"] = rng.gamma(2.0, 50.0, n).round(2) + 40.0 * (frame["origin"] == "south")
    frame["missed"] = (rng.random(n) < 0.3).astype(int)
    frame.loc[::50, "sex"] = None
    return frame


def outcomes(frame: pd.DataFrame, outcome: str = "fined", **keys: Any) -> Any:
    spec = parse_spec(
        {"name": "people", "source": {"path": "people.csv"}, "bias_variable": {"column": outcome}, **keys}
    )
    return compare_declared_groups(validate(frame, spec), spec)


def test_rates_are_those_of_pandas_and_intervals_those_of_statsmodels(people: pd.DataFrame) -> None:
    found = outcomes(people, protected=["sex", "origin"])
    tested, p_values = [], []
    for column in ("sex", "origin"):
        by = people.groupby(column)["fined"].agg(["size", "sum"])
        assert [one.group for one in found.facet(column).groups] == list(by.index)
        for one in found.facet(column).groups:
            rows, events = (int(x) for x in by.loc[one.group])
            assert (one.rows, one.share) == (rows, pytest.approx(rows / len(people)))
            if rows < 30:
                assert (one.mean, one.low, one.difference, one.significant) == (None, None, None, None)
                continue
            others = len(people) - rows, int(people["fined"].sum()) - events
            assert one.mean == pytest.approx(events / rows)
            assert (one.low, one.high) == pytest.approx(proportion_confint(events, rows, method="wilson"))
            assert one.mean_others == pytest.approx(others[1] / others[0])
            assert one.difference == pytest.approx(events / rows - others[1] / others[0])
            limits = confint_proportions_2indep(
                events, rows, others[1], others[0], method="newcomb", alpha=0.05 / found.comparisons
            )
            assert (one.difference_low, one.difference_high) == pytest.approx(limits, abs=1e-9)
            below, at = stats.hypergeom(len(people), people["fined"].sum(), rows), events
            tails = (below.cdf(at) - below.pmf(at) / 2, below.sf(at - 1) - below.pmf(at) / 2)
            p_values.append(2 * min(*tails, 0.5))
            tested.append(one)
    assert found.comparisons == len(tested) == 4  # the isles have too few
    assert [one.group for one in found.facet("origin").small] == ["isles"]
    assert found.facet("sex").unknown == people["sex"].isna().sum()
    adjusted = multipletests(p_values, method="holm")[1]
    # Two-sided mid-p values add the other tail up by its probabilities, here they are doubled: nearly the same.
    assert [one.p_adjusted for one in tested] == pytest.approx(list(adjusted), rel=0.2, abs=1e-12)
    assert [one.significant for one in tested] == [True, True, False, False]


def test_amounts_are_compared_by_welch(people: pd.DataFrame) -> None:
    found = outcomes(people, "fee", protected=["sex", "origin"])
    assert not found.is_rate
    for column in ("sex", "origin"):
        for one in found.facet(column).groups:
            inside = people["fee"][people[column] == one.group]
            if len(inside) < 30:
                continue
            others = people["fee"].drop(inside.index)
            assert one.mean == pytest.approx(inside.mean())
            t = stats.ttest_1samp(inside, 0.0).confidence_interval(0.95)
            assert (one.low, one.high) == pytest.approx((t.low, t.high), abs=1e-6)
            assert one.difference == pytest.approx(inside.mean() - others.mean())
            alone = stats.ttest_ind(inside, others, equal_var=False).confidence_interval(1 - 0.05 / found.comparisons)
            # Stretched by the fewest degrees of freedom that there may be: a little wider, never narrower.
            assert one.difference_low <= alone.low + 1e-9
            assert one.difference_high >= alone.high - 1e-9
            assert one.difference_high - one.difference_low == pytest.approx(alone.high - alone.low, rel=0.01)
    south = next(one for one in found.facet("origin").groups if one.group == "south")
    assert south.significant
    assert found.worst is not None
    assert found.worst[1] == south


def test_blocks_of_rows_give_the_same_as_all_of_them(people: pd.DataFrame) -> None:
    frame = people.assign(person=np.arange(len(people)) % 900)
    for outcome in ("fined", "fee"):
        spec = parse_spec(
            {
                "name": "people", "source": {"path": "people.csv"}, "bias_variable": {"column": outcome},
                "protected": ["sex", "origin"], "groups": {"facets": [["sex", "origin"]]}, "split": {"key": "person"},
            }
        )  # fmt: skip
        table = validate(frame, spec)
        assert compare_declared_groups(TableInBlocks(table, (5, 800, 801, 2900)), spec) == compare_declared_groups(
            table, spec
        )


def test_rows_of_a_person_are_not_counted_twice(people: pd.DataFrame) -> None:
    once = outcomes(people.assign(person=np.arange(len(people))), protected=["origin"])
    five = pd.concat([people.assign(person=np.arange(len(people)))] * 5, ignore_index=True)
    by_person = outcomes(five, protected=["origin"], split={"key": "person"})
    for one, other in zip(once.facet("origin").groups, by_person.facet("origin").groups, strict=True):
        assert (other.rows, other.persons) == (5 * one.rows, one.rows)
        assert (one.mean is None) == (other.mean is None)
        if one.mean is not None:
            assert other.mean == pytest.approx(one.mean)
            assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=0.002)
            assert other.difference_low == pytest.approx(one.difference_low, abs=0.002)
    amounts = outcomes(five, "fee", protected=["origin"], split={"key": "person"})
    alone = outcomes(people, "fee", protected=["origin"])
    for one, other in zip(alone.facet("origin").groups, amounts.facet("origin").groups, strict=True):
        if one.mean is not None:
            assert (other.low, other.high) == pytest.approx((one.low, one.high), rel=0.01)


def test_numbers_make_groups_where_they_are_cut_in_two(people: pd.DataFrame) -> None:
    assert outcomes(people, protected=["age"]).facet("age").groups == ()
    assert "groups.thresholds" in (outcomes(people, protected=["age"]).facet("age").reason or "")
    found = outcomes(people, protected=["age"], groups={"thresholds": {"age": 40}}).facet("age")
    assert [(one.group, one.rows) for one in found.groups] == [
        ("<= 40", (people["age"] <= 40).sum()), ("> 40", (people["age"] > 40).sum())
    ]  # fmt: skip
    for one, inside in zip(found.groups, (people["age"] <= 40, people["age"] > 40), strict=True):
        assert one.mean == pytest.approx(people["fined"][inside].mean())
        assert one.conditions[0].holds(people).tolist() == inside.tolist()


def test_intersections_stand_there_where_they_are_asked_for(people: pd.DataFrame) -> None:
    alone = outcomes(people, protected=["sex", "origin"])
    assert [one.columns for one in alone.facets] == [("sex",), ("origin",)]
    found = outcomes(people, protected=["sex", "origin"], groups={"facets": [["sex", "origin"]]})
    assert [one.columns for one in found.facets] == [("sex",), ("origin",), ("sex", "origin")]
    group = next(one for one in found.facet("origin", "sex").groups if one.values == ("f", "south"))
    inside = (people["sex"] == "f") & (people["origin"] == "south")
    assert group.rows == inside.sum()
    assert group.mean == pytest.approx(people["fined"][inside].mean())


def test_limits_are_those_of_the_specification(people: pd.DataFrame) -> None:
    found = outcomes(people, protected=["origin"], significance={"alpha": 0.2, "min_rows": 10})
    assert (found.alpha, found.min_rows, found.comparisons) == (0.2, 10, 3)
    isles = found.facet("origin").groups[0]
    assert (isles.group, isles.mean) == ("isles", pytest.approx(people["fined"][people["origin"] == "isles"].mean()))
    narrow, wide = (
        outcomes(people, protected=["sex"], significance={"alpha": alpha}).facet("sex").groups[0]
        for alpha in (0.2, 0.01)
    )
    assert wide.difference_low < narrow.difference_low < narrow.difference_high < wide.difference_high
    assert wide.low < narrow.low


@pytest.mark.parametrize("language", ["en", "nl"])
def test_the_report_has_the_table_in_both_languages(people: pd.DataFrame, language: str) -> None:
    result = audit(people, outcome="fined", protected=["sex", "origin"], language=language, **QUIET)
    assert result.declared is not None
    assert result.document["declared_outcomes"] == result.declared.to_dict() | {
        "facets": [
            one | {"groups": [{k: v for k, v in group.items() if k != "persons"} for group in one["groups"]]}
            for one in result.declared.to_dict()["facets"]
        ]
    }
    assert ".declared (5)" in repr(result)
    told = render_markdown(result.document)
    by = people.groupby("sex")["fined"].mean()
    percent = f"{100 * by['f']:.1f} %".replace(".", "," if language == "nl" else ".")
    section = next(one for one in build_page(result.document).body if one.name == "declared")
    assert section.title == {"en": "Declared groups: fined", "nl": "Opgegeven groepen: fined"}[language]
    assert percent in told
    few = {"en": "By origin, 1 group with fewer than 30", "nl": "Naar origin heeft 1 groep met minder dan 30"}
    assert few[language] in told
    assert "isles" not in repr(section)
    assert [one.found_by for one in result.findings] == ["groups"]  # the candidates come from this table
    finding, group = result.findings[0], result.declared.facet("sex").groups[0]
    assert (finding.difference, finding.low, finding.mean_inside) == (
        group.difference, group.difference_low, group.mean
    )  # fmt: skip


def test_the_form_for_publication_rounds_and_leaves_small_groups_out(people: pd.DataFrame) -> None:
    document = audit(people, outcome="fined", protected=["sex", "origin"], **QUIET).document
    form = for_publication(document)
    published = form["declared_outcomes"]
    named = [group["group"] for facet in published["facets"] for group in facet["groups"]]
    assert named == ["f", "m", "north", "south"]
    assert "isles" not in render_markdown(form)
    for facet in published["facets"]:
        for group in facet["groups"]:
            assert group["rows"] % 10 == 0
            assert round(100 * group["mean"]) == pytest.approx(100 * group["mean"])
            assert (group["p_adjusted"], group["difference"], group["mean_others"]) == (None, None, None)
    true = people["fined"][people["sex"] == "f"].mean()
    assert published["facets"][0]["groups"][0]["mean"] == pytest.approx(true, abs=0.01)


def test_of_several_columns_and_of_labels_nothing_is_rounded_twice(people: pd.DataFrame) -> None:
    spec = {
        "name": "people", "source": {"path": "people.csv"}, "protected": ["sex"], **QUIET,
        "bias_variable": {"derive": "error", "label": "missed", "prediction": "fined"},
    }  # fmt: skip
    document = audit(people, spec).document
    assert document["declared_outcomes"]["facets"][0]["groups"][0]["mean"] == pytest.approx(
        (people["missed"] != people["fined"])[people["sex"] == "f"].mean()
    )
    assert for_publication(document)["declared_outcomes"] is None
    several = audit(people, outcome="fined", protected=["sex"], groups={"facets": [["sex", "origin"]]}, **QUIET)
    assert [one["columns"] for one in for_publication(several.document)["declared_outcomes"]["facets"]] == [["sex"]]


def test_nothing_is_counted_where_nothing_is_declared(people: pd.DataFrame) -> None:
    result = audit(people.drop(columns=["sex", "origin"]), outcome="fined", **QUIET)
    assert (result.declared, result.document["declared_outcomes"]) == (None, None)
    assert ".declared (not asked for)" in repr(result)


def test_sums_of_persons_are_those_of_their_rows(people: pd.DataFrame) -> None:
    frame = people.assign(person=np.arange(len(people)) % 700)
    spec = parse_spec(
        {
            "name": "people", "source": {"path": "people.csv"}, "bias_variable": {"column": "fined"},
            "protected": ["origin"], "split": {"key": "person"},
        }
    )  # fmt: skip
    found = group_summaries.persons_by_group(
        validate(frame, spec), [("origin",)], {}, np.array([0.0, 1.0]), [[("isles",), ("north",), ("south",)]]
    )
    assert found is not None
    for place, level in enumerate(("isles", "north", "south")):
        by = frame[frame["origin"] == level].groupby("person")["fined"].agg(["size", "sum"])
        sums = found.group(0, place)
        assert sorted(sums.rows[sums.rows > 0].tolist()) == sorted(by["size"])
        assert sums.steps.sum() == by["sum"].sum()
    assert found.everybody.rows.sum() == len(frame)
