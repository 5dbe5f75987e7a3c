"""One list of findings: who stands in it, in which order, under which error control, and what it says of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult, audit
from bdt_core.errors import DataError
from bdt_core.groups.conditions import GroupCondition
from bdt_core.inference import interval_at_once
from bdt_core.ranking import Finding, Findings
from bdt_core.ranking.candidates import from_clusters, from_worst_groups
from bdt_core.ranking.ranking import folded, ranked_by_harm
from bdt_core.report import for_publication
from bdt_core.report.markdown import render_markdown
from bdt_core.spec import parse_spec
from benchmarks import nobody

QUICK: dict[str, Any] = {
    "name": "people",
    "source": {"path": "(DataFrame)"},
    "bias_variable": {"column": "wrong"},
    "protected": ["sex"],
    "clustering": {"stability": 0, "n_init": 2, "max_iter": 3},
    "worst_groups": {"permutations": 79},
}

ENDS = ("low", "high", "explained_low", "explained_high", "remaining_low", "remaining_high")


def people(n: int = 3000, harm: float = 0.35, seed: int = 3, better: str = "lower") -> pd.DataFrame:
    """Women up to 35 are wronged more often; income goes with age and nothing else."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(18, 80, n), rng.choice(["f", "m"], n)
    wrong = rng.random(n) < 0.15 + harm * ((age <= 35) & (sex == "f"))
    return pd.DataFrame(
        {
            "age": age,
            "income": age * 0.5 + rng.normal(size=n),
            "town": rng.choice(["north", "south", "west"], n),
            "sex": sex,
            "wrong": (wrong if better == "lower" else ~wrong).astype(int),
        }
    )


def found_in(frame: pd.DataFrame, **changes: Any) -> AuditResult:
    return audit(frame, QUICK | changes)


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return found_in(people())


def test_the_first_finding_names_the_planted_people(result):
    first, frame = result.findings[0], people()
    planted = ((frame["age"] <= 35) & (frame["sex"] == "f")).to_numpy()
    inside = first.members(frame)
    assert (inside & planted).sum() / (inside | planted).sum() > 0.8
    assert "sex is f" in first.who
    assert inside.sum() == first.rows
    assert first.share == pytest.approx(inside.mean())
    assert first.low < 0.35 < first.high
    assert first.people_harmed == pytest.approx(first.rows * first.difference)
    assert first.difference == pytest.approx(first.mean_inside - first.mean_outside)
    assert first.remaining is None


def test_findings_are_ranked_by_how_many_are_harmed_at_least(result):
    harmed = [one.at_least * one.rows for one in result.findings]
    assert harmed == sorted(harmed, reverse=True)
    assert all(one.low > 0 and one.p_value <= 0.05 for one in result.findings)


def test_which_rows_are_test_rows_does_not_decide_the_order(result):
    """What was measured on them alone goes first only where it harms more at least than the other was found to."""

    def order(harm_on_test: float) -> list[str]:
        on_all = [(100.0, 120.0, "a"), (60.0, 70.0, "b"), (20.0, 30.0, "c")]
        found = [(low, high, who, False) for low, high, who in on_all] + [(harm_on_test, 200.0, "on test rows", True)]
        first = result.findings[0]
        pairs = [
            (replace(first, who=who, rows=1000, low=low / 1000, difference=high / 1000, on_test_rows=on_test), None)
            for low, high, who, on_test in found
        ]
        return [one.who for one, _ in ranked_by_harm(pairs)]

    assert order(121) == ["on test rows", "a", "b", "c"]
    assert order(119) == order(71) == ["a", "on test rows", "b", "c"]
    assert order(69) == order(31) == ["a", "b", "on test rows", "c"]
    assert order(1) == ["a", "b", "c", "on test rows"]


def test_what_is_mostly_the_same_people_is_folded(result):
    frame = people()
    masks = [one.members(frame) for one in result.findings]
    for i, one in enumerate(masks):
        for other in masks[i + 1 :]:
            assert (one & other).sum() < 0.5 * min(one.sum(), other.sum())
    assert result.findings[0].also  # intersections and clusters found them too


def test_many_people_do_not_hide_others_who_happen_to_be_among_them():
    frame, rng = people(6000, harm=0.0), np.random.default_rng(8)
    many, few = rng.random(6000) < 0.7, rng.random(6000) < 0.06
    frame["wrong"] = (rng.random(6000) < 0.1 + 0.1 * many + 0.4 * few).astype(int)
    frame["customer"], frame["flag"] = np.where(many, "long", "new"), np.where(few, "yes", "no")
    found = {one.who for one in found_in(frame, features={"include": ["customer", "flag", "town"]}).findings}
    assert {"customer is long", "flag is yes"} <= found


def test_those_who_fare_much_worse_than_all_of_a_group_are_told_beside_it():
    frame, rng = people(6000, harm=0.0), np.random.default_rng(9)
    many = rng.random(6000) < 0.4
    few = many & (rng.random(6000) < 0.1)
    frame["wrong"] = (rng.random(6000) < 0.1 + 0.12 * many + 0.6 * few).astype(int)
    frame["customer"], frame["flag"] = np.where(many, "long", "new"), np.where(few, "yes", "no")
    findings = found_in(frame, features={"include": ["customer", "flag", "town"]}).findings
    assert {"customer is long", "flag is yes"} <= {one.who for one in findings}


def test_of_people_who_have_nobody_like_them_nothing_is_claimed():
    frame, rng = people(4000, harm=0.0), np.random.default_rng(10)
    old = frame["age"] >= 60
    frame["pension"] = np.where(old, "yes", "no")
    frame["wrong"] = (rng.random(4000) < np.where(old, 0.5, 0.1)).astype(int)
    settings = {"features": {"include": ["pension", "town"]}}
    assert found_in(frame, **settings).findings[0].who == "pension is yes"
    alike = found_in(frame, legitimate=["age"], gate=[{"check": "worst_group", "max_difference": 0.05}], **settings)
    assert alike.findings == ()
    assert alike.verdict != "fail"


def test_each_search_has_its_share_of_the_errors():
    shares = parse_spec(QUICK).search_shares
    assert sum(shares.values()) == pytest.approx(1.0)
    assert set(shares) == {"worst_groups", "groups", "clusters", "slices"}
    alone = parse_spec(QUICK | {"protected": [], "slices": None}).search_shares
    assert alone["worst_groups"] == pytest.approx(5 * alone["clusters"])


def test_p_values_are_corrected_for_the_other_searches(result):
    share = result.ranked.searches["worst_groups"]
    own = result.worst_groups.groups[0].p_value
    (mine,) = (one for one in result.findings if one.who == result.worst_groups.groups[0].words)
    assert mine.found_by == "worst_groups"
    assert mine.p_value == pytest.approx(own / share)


def test_what_the_search_confirms_is_what_the_list_may_hold(result):
    share = result.ranked.searches["worst_groups"]
    assert all(one.p_value <= 0.05 * share for one in result.worst_groups.groups)


def test_harm_counts_as_positive_whichever_way_is_better(result):
    turned = found_in(people(better="higher"), bias_variable={"column": "wrong", "better": "higher"})
    one, other = result.findings[0], turned.findings[0]
    assert other.who == one.who
    assert other.difference == pytest.approx(one.difference)
    assert other.low == pytest.approx(one.low, abs=0.02)
    assert other.mean_inside == pytest.approx(1 - one.mean_inside)


def test_without_harm_nobody_is_found_and_the_headline_says_what_is_ruled_out():
    calm = found_in(people(harm=0.0, seed=8))
    assert calm.findings == ()
    headline = calm.document["summary"]["headline"]
    assert headline.startswith("Nobody is confirmed to fare worse than everybody else. Ruled out")
    assert (
        "of the people that up to 4 conditions describe and that fares worse in wrong than everybody else" in headline
    )


def test_it_comes_back_from_data_but_for_who_is_in_a_cluster(result):
    plain = result.ranked.to_dict()
    back = Findings.from_dict(plain)
    assert [one.who for one in back.findings] == [one.who for one in result.findings]
    assert (back.findings[0].members(people()) == result.findings[0].members(people())).all()
    cluster = Findings.from_dict({**plain, "findings": [{**plain["findings"][0], "conditions": []}]})
    with pytest.raises(DataError, match="audit again"):
        cluster.findings[0].members(people())


@pytest.mark.parametrize("form", ["md", "html", "terminal"])
def test_the_first_finding_is_told_first_in_every_form(result, form, capsys):
    from bdt_core.report.first_page import first_page
    from bdt_core.report.html import render_html
    from bdt_core.report.printed import printed
    from bdt_pipeline.commands.console import show_result

    if form == "terminal":
        show_result(result.document, [])
        told = capsys.readouterr().out
    else:
        told = render_markdown(result.document) if form == "md" else render_html(result.document)
    told = " ".join(told.replace("**", "").split()).lower()
    first = first_page(printed(result.document)).groups[0]
    assert f"{first.people:,} people, {first.share.number} of 100" in told
    assert told.index(first.conditions[0].column) < told.index("what to do now?")


def test_an_unstable_cluster_is_no_finding():
    frame = people(harm=0.0, seed=2)
    frame["wrong"] = (np.random.default_rng(1).random(len(frame)) < 0.1 + 0.2 * (frame["age"] > 60)).astype(int)
    stable = found_in(
        frame, worst_groups=None, slices=None, protected=[], clustering={"stability": 5, "n_init": 2, "max_iter": 3}
    )
    assert {one.found_by for one in stable.findings} == {"clusters"}
    known = stable.clusters.stability
    drawn_anew = tuple(replace(one, jaccard=0.74) for one in known.clusters)
    shaky = replace(stable.clusters, stability=replace(known, clusters=drawn_anew))
    assert list(from_clusters(stable.clusters, stable.significance, "errors"))
    assert not list(from_clusters(shaky, stable.significance, "errors"))


def test_the_most_deviating_cluster_is_a_finding_by_all_its_splits():
    """Its p-value is corrected for how many clusters there are, and so is its interval."""
    found = found_in(people(harm=0.0, seed=2), worst_groups=None, slices=None, protected=[])
    significance = found.significance
    together = replace(significance.repeats.together, p_value=1e-6)
    tested = replace(significance, repeats=replace(significance.repeats, together=together))
    first = next(from_clusters(found.clusters, tested, "errors"))
    clusters = len(significance.clusters)
    assert first.p_value == pytest.approx(1e-6 * clusters)
    assert (first.low, first.high) == interval_at_once(together, clusters)
    assert first.difference == together.difference
    own = from_clusters(found.clusters, replace(significance, repeats=None), "errors")
    assert next(own).difference == significance.primary.comparison.difference != together.difference


def by_age(n: int = 4000) -> pd.DataFrame:
    """The young are wronged more often, and most women are young."""
    frame, rng = people(n, harm=0.0, seed=4), np.random.default_rng(5)
    young = frame["age"] < 40
    frame["sex"] = np.where(rng.random(n) < np.where(young, 0.8, 0.2), "f", "m")
    frame["wrong"] = (rng.random(n) < np.where(young, 0.45, 0.1)).astype(int)
    return frame


def test_legitimate_factors_explain_what_goes_with_them():
    settings = {"features": {"include": ["town"]}}
    without = found_in(by_age(), **settings)
    assert without.findings[0].who == "sex is f"
    alike = found_in(by_age(), legitimate=["age"], **settings)
    assert alike.findings == ()
    assert alike.ranked.legitimate == ("age",)


def test_what_remains_among_people_alike_stands_beside_the_whole():
    frame, rng = by_age(), np.random.default_rng(6)
    frame["wrong"] |= (rng.random(len(frame)) < 0.2 * (frame["sex"] == "f")).astype(int)
    result = found_in(frame, legitimate=["age"], features={"include": ["town"]})
    first = result.findings[0]
    assert first.who == "sex is f"
    assert first.remaining is not None
    assert first.remaining.difference == first.difference > first.remaining.remaining + 0.1
    assert 0.08 < first.remaining.remaining < 0.25
    assert first.at_least == first.remaining.remaining_low > 0
    assert first.remaining.overlap > 0.95
    assert first.people_harmed == pytest.approx(first.rows * first.remaining.overlap * first.remaining.remaining)
    told = "95 % intervals: {} to {} in all, {} to {} with the factors, {} to {} among people alike.".format(
        *(f"{100 * getattr(first.remaining, end):+.1f}".replace("-", "−") for end in ENDS)
    )
    assert told in render_markdown(result.document)
    assert "% intervals" not in render_markdown(for_publication(result.document))


@pytest.mark.parametrize(("seed", "is_sure"), [(0, False), (6, True)])
def test_what_remains_has_to_be_as_sure_as_what_is_found(seed, is_sure):
    """By age women are worse off for certain; the error control is that of what is claimed, among people alike."""
    frame, rng = by_age(), np.random.default_rng([4, seed])
    frame["wrong"] |= (rng.random(len(frame)) < 0.05 * (frame["sex"] == "f")).astype(int)
    asked = {"worst_groups": None, "slices": None, "features": {"include": ["town"]}}
    (raw,) = found_in(frame, **asked).findings
    assert raw.p_value < 1e-6
    found = found_in(frame, legitimate=["age"], **asked)
    assert bool(found.findings) is is_sure
    for one in found.findings:
        groups = 2
        assert one.p_value == pytest.approx(one.remaining.p_value * groups / found.ranked.searches["groups"])


def test_of_few_rows_nobody_tells_who_is_alike():
    """Of 60 test rows trees learn too little: a cluster by age was said to be worse off among people alike in age."""
    kind = ("rate by age", nobody.searched.NULLS["rate by age"])
    assert not any(nobody.shows_any(*nobody.asked(*kind, run)) for run in (53, 93, 141, 208, 284))


QUICKER = QUICK | {"slices": None, "features": {"include": ["age", "town"]}}


def with_columns(frame: pd.DataFrame, chance: Any, seed: int, **columns: Any) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return frame.assign(**columns, wrong=(rng.random(len(frame)) < chance).astype(int))


def two_columns(explained: bool, n: int = 6000) -> pd.DataFrame:
    """Women of one race are wronged more often; other women no more than men, or a little."""
    frame = people(n, harm=0.0)
    woman, race = frame["sex"] == "f", np.where(np.random.default_rng(7).random(n) < 0.2, "r", "q")
    chance = 0.1 + 0.4 * (woman & (race == "r")) + (0.0 if explained else 0.08) * woman
    return with_columns(frame, chance, 5, race=race)


@pytest.mark.parametrize("explained", [True, False])
def test_who_is_worse_off_only_by_a_part_of_them_is_told_under_that_part(explained):
    found = found_in(two_columns(explained), **QUICKER | {"protected": ["sex", "race"]})
    told = {one.who: one for one in found.findings}
    part = told["sex is f and race is r"]
    assert ("sex is f" in part.also) is explained
    assert ("sex is f" in told) is not explained
    assert "sex is f" in {one.who for one in found.ranked.confirmed}


def mask(n: int, first: int, last: int) -> Any:
    return (np.arange(n) >= first) & (np.arange(n) < last)


def finding(who: str, inside: Any, harm: Any, **changes: Any) -> tuple[Finding, Any]:
    difference = float(harm[inside].mean() - harm[~inside].mean())
    columns = tuple(GroupCondition(one.split(" ")[0], "values", values=("x",)) for one in who.split(" and "))
    one = Finding(
        who=who, found_by="slices", rows=int(inside.sum()), share=float(inside.mean()), measured="wrong",
        mean_inside=float(harm[inside].mean()), mean_outside=float(harm[~inside].mean()), difference=difference,
        low=difference - 0.05, high=difference + 0.05, p_value=0.001, people_harmed=None, conditions=columns,
    )  # fmt: skip
    return replace(one, **changes), inside


def test_the_same_people_but_for_few_are_told_once():
    """However much worse the second is: few of its people, and little of its harm, are not those of the first."""
    n, harm = 1000, np.zeros(1000)
    harm[:200] = 1.0
    most, all_of_them = mask(n, 0, 180), mask(n, 0, 200)
    weaker = finding("bar is F", most, harm, difference=0.4, low=0.35)
    same = finding("bar is F and year is 7", all_of_them, harm)
    assert same[0].at_least > weaker[0].as_found
    (one,) = folded([weaker, same], harm)
    assert one.also == ("bar is F and year is 7",)
    others = finding("town is x", mask(n, 100, 300), harm)
    assert [one.who for one in folded([weaker, others], harm)] == ["bar is F", "town is x"]


def test_few_others_with_much_of_the_harm_are_told_beside_it():
    n, harm = 4000, np.zeros(4000)
    harm[:900:5] = 1.0
    harm[900:1000] = 1.0
    most, every = mask(n, 0, 900), mask(n, 0, 1000)
    first = finding("customer is long and flag is no", most, harm, difference=0.15, low=0.12)
    assert [one.who for one in folded([first, finding("customer is long", every, harm)], harm)] == [
        "customer is long and flag is no",
        "customer is long",
    ]


def test_another_cut_of_the_same_column_is_told_once():
    n, harm = 1000, np.zeros(1000)
    harm[:300:2] = 1.0
    harm[:60] = 1.0
    wide, narrow = mask(n, 0, 110), mask(n, 0, 60)
    first = finding("age up to 40", wide, harm, difference=0.4, low=0.35)
    again, other = finding("age up to 30", narrow, harm), finding("job is x", narrow, harm)
    assert [one.who for one in folded([first, again], harm)] == ["age up to 40"]
    assert [one.who for one in folded([first, other], harm)] == ["age up to 40", "job is x"]


def test_places_of_local_bias_are_folded_into_nobody_and_nobody_into_them():
    harm = np.zeros(1000)
    harm[:200] = 1.0
    first, _ = finding("sex is f", mask(1000, 0, 200), harm)
    place = (replace(first, who="sex is f, in place 0 of local bias", found_by="local_bias"), None)
    assert len(list(folded([(first, mask(1000, 0, 200)), place], harm))) == 2


def test_all_that_is_confirmed_survives_storage_and_is_not_in_the_report(result):
    kept = result.ranked.confirmed
    assert len(kept) > len(result.findings)
    assert {one.who for one in result.findings} < {one.who for one in kept}
    assert all(one.harm_at_least > 0 and one.p_value <= 0.05 for one in kept)
    back = Findings.from_dict(json.loads(json.dumps(result.ranked.to_dict())))
    assert back == result.ranked
    assert [one.on_test_rows for one in back.confirmed] == [one.on_test_rows for one in kept]
    assert {one.on_test_rows for one in kept} == {False, True}
    assert "confirmed" not in result.document["findings"]


@pytest.mark.parametrize(
    ("frame", "searches"),
    [(people(), {"clusters", "slices", "worst_groups"}), (two_columns(explained=False), {"slices", "worst_groups"})],
    ids=["tested on test rows", "a second group"],
)
def test_rates_are_those_of_the_people_counted(frame, searches):
    found = found_in(frame, protected=["sex"])
    assert {one.found_by for one in found.ranked.confirmed} >= searches
    assert any(one.groups_before for one in found.ranked.confirmed) is ("race" in frame)
    for one in found.ranked.confirmed:
        inside, wrong = one.members(frame), frame["wrong"].to_numpy()
        assert one.rows == inside.sum()
        assert one.mean_inside == pytest.approx(wrong[inside].mean())
        assert one.mean_outside == pytest.approx(wrong[~inside].mean())
        assert one.people_harmed == pytest.approx(one.rows * one.difference)
        if one.groups_before:
            assert one.mean_alike == pytest.approx(one.mean_inside - one.difference)
            assert abs(one.mean_alike - one.mean_outside) > 0.02
        else:
            assert one.mean_alike is None


def test_the_smallest_p_value_that_a_search_can_give_is_marked():
    found = found_in(people(), slices=None)
    by_permutation = [one for one in found.ranked.confirmed if one.found_by == "worst_groups"]
    settled = found.worst_groups.groups[0].p_value
    assert settled == pytest.approx(1 / (found.worst_groups.permutations + 1))
    assert [one.at_floor for one in by_permutation] == [True] * len(by_permutation)
    exact = [one for one in found.ranked.confirmed if one.found_by != "worst_groups"]
    assert exact
    assert not any(one.at_floor for one in exact)
    larger = replace(found.worst_groups, groups=(replace(found.worst_groups.groups[0], p_value=2 * settled),))
    assert not any(one.at_floor for one in from_worst_groups(larger, "wrong"))


def refused(seed: int, n: int = 12_000) -> pd.DataFrame:
    """Women in the south are refused more often: 40 of 100, all others 15."""
    rng = np.random.default_rng(seed)
    sex, region = rng.choice(["f", "m"], n), np.where(rng.random(n) < 0.2, "south", rng.choice(["north", "west"], n))
    chance = np.where((sex == "f") & (region == "south"), 0.4, 0.15)
    return pd.DataFrame(
        {"sex": sex, "region": region, "age": rng.integers(18, 80, n), "wrong": (rng.random(n) < chance).astype(int)}
    )


@pytest.mark.parametrize(
    ("seed", "searches"), [(1, {"protected": ["sex", "region"]}), (2, {"protected": [], "slices": None})]
)
def test_a_certain_difference_at_first_sight_stands_beside_factors_that_explain_it(seed, searches):
    frame = refused(seed)
    factors = [{"column": one, "because": "The law names it."} for one in ("sex", "region")]
    settings = {"legitimate": factors, **searches}
    found = found_in(frame, **settings)
    assert found.findings == ()
    first, *_ = found.ranked.at_first_sight
    women = ((frame["sex"] == "f") & (frame["region"] == "south")).to_numpy()
    assert first.who == "sex is f and region is south"
    assert first.mean_inside == pytest.approx(frame["wrong"][women].mean())
    assert first.mean_outside == pytest.approx(frame["wrong"][~women].mean())
    assert 0.15 < first.low < 0.25 < first.high
    assert first.people_harmed == pytest.approx(first.rows * first.difference)
    assert first.remaining is not None
    assert not first.remaining.remaining_low > 0
    raw = found.worst_groups.raw
    alone = found_in(frame, **settings | {"legitimate": []}).worst_groups
    assert raw.to_dict() == alone.to_dict()
    assert raw.certificate.largest_difference > found.worst_groups.certificate.largest_difference
    assert raw.members(frame).iloc[:, 0].sum() == first.rows
    assert alone.raw is None
    assert Findings.from_dict(found.ranked.to_dict()) == found.ranked
    assert found.document["findings"]["at_first_sight"][0]["who"] == first.who
    assert found.document["worst_groups"]["raw"]["groups"]


def test_without_factors_there_is_no_first_sight_apart(result):
    assert result.ranked.at_first_sight == ()
    assert result.worst_groups.raw is None


def test_a_later_group_is_seen_at_first_sight_only_by_its_own_raw_difference():
    """The second group of a search is compared with people alike in the first; at first sight nobody is adjusted."""
    frame, rng = people(6000, harm=0.0), np.random.default_rng(3)
    old, town = frame["age"] >= 60, frame["town"] == "north"
    frame["wrong"] = (rng.random(6000) < 0.1 + 0.4 * old + 0.25 * town).astype(int)
    found = found_in(frame, **QUICKER | {"protected": [], "legitimate": ["income"]})
    assert len(found.worst_groups.raw.groups) > 1
    for one in found.ranked.at_first_sight:
        inside = one.members(frame)
        raw = frame["wrong"][inside].mean() - frame["wrong"][~inside].mean()
        assert one.groups_before == 0
        if not one.on_test_rows:
            assert one.difference == pytest.approx(raw)
        assert one.low > 0
    told = {one.who for one in found.ranked.at_first_sight}
    assert "town is north" in told
    sure, unsure = (found.worst_groups.raw.groups[number] for number in (1, 2))
    assert sure.words in told
    assert abs(sure.difference - (sure.mean_inside - sure.mean_outside)) > 0.005
    assert unsure.mean_inside - unsure.mean_outside < 0.05 < unsure.low
    assert unsure.words not in told


def test_what_is_worse_only_among_people_alike_is_marked():
    """A factor that the outcome has caused makes a difference where there is none at first sight."""
    frame, rng = people(6000, harm=0.0, seed=7), np.random.default_rng(0)
    woman, wrong = frame["sex"] == "f", frame["wrong"]
    chance = 0.05 + 0.45 * wrong + 0.4 * woman - 0.4 * wrong * woman
    caused = frame.assign(appeal=np.where(rng.random(6000) < chance, "yes", "no"))
    first, *_ = found_in(caused, **QUICKER | {"legitimate": ["appeal"]}).findings
    assert first.who == "sex is m"
    assert first.only_among_alike
    assert first.at_least > 0 >= first.remaining.low
    frame["wrong"] = (rng.random(6000) < 0.1 + 0.2 * woman).astype(int)
    before, *_ = found_in(frame, **QUICKER | {"legitimate": ["income"]}).findings
    assert before.who == "sex is f"
    assert not before.only_among_alike
    assert before.mean_alike == pytest.approx(before.mean_inside - before.remaining.remaining)
