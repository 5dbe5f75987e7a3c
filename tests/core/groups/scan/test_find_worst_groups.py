"""What `find_worst_groups` hands on, and what it does not depend on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bdt_core import audit
from bdt_core.errors import DataError, SpecError
from bdt_core.groups.conditions import GroupCondition
from bdt_core.groups.scan import WorstGroups, find_worst_groups
from bdt_core.groups.scan.alike import fit_strata
from bdt_core.groups.scan.measuring import design_effect, measure, measured, way_to_summarise
from bdt_core.groups.scan.rows import ScanRows
from bdt_core.groups.scan.settings import SHARES, ScanSettings
from bdt_core.groups.scan.stages import Question, scan
from bdt_core.groups.scan.units import Units
from bdt_core.table.blocks import OUTCOME, OneBlock


def table(seed: int = 0, n: int = 1200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income = rng.lognormal(size=n)
    income[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": income,
            "sex": rng.choice(["f", "m"], n),
            "city": rng.choice(list("abcde"), n),
        }
    )
    frame["wrong"] = (rng.random(n) < 0.15 + 0.35 * harmed(frame)).astype(float)
    return frame


def harmed(frame: pd.DataFrame) -> np.ndarray:
    return ((frame["age"] < 45) & (frame["sex"] == "f")).to_numpy()


def find(frame: pd.DataFrame, **how: object) -> WorstGroups:
    return find_worst_groups(frame, **({"outcome": "wrong", "better": "lower", "permutations": 19} | how))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def usual() -> WorstGroups:
    """What is found as it comes."""
    return find(table())


def test_the_planted_group_is_named_and_measured(usual: WorstGroups) -> None:
    frame, worst = table(), usual.worst
    inside, y = worst.members(frame), frame["wrong"].to_numpy()
    assert [one.column for one in worst.conditions] == ["age", "sex"]
    assert (inside & harmed(frame)).sum() / (inside | harmed(frame)).sum() > 0.9
    assert worst.words == f"age up to {worst.conditions[0].high:.0f} and sex is f"
    assert (worst.rows, worst.share) == (inside.sum(), inside.mean())
    assert (worst.mean_inside, worst.mean_outside) == pytest.approx((y[inside].mean(), y[~inside].mean()))
    assert worst.difference == pytest.approx(y[inside].mean() - y[~inside].mean())
    assert worst.people_harmed == pytest.approx(worst.rows * worst.difference)
    assert worst.p_value == 1 / 20
    assert 0 < worst.low < worst.difference < worst.high
    assert worst.low < 0.35 * 0.95 < worst.high
    assert usual.certificate.largest_difference > worst.difference
    assert usual.certificate.min_share == 30 / 1200
    assert find(frame, min_share=0.1).certificate.min_share == 0.1


def test_the_result_becomes_json_and_comes_back(usual: WorstGroups) -> None:
    assert WorstGroups.from_dict(json.loads(json.dumps(usual.to_dict()))) == usual


def test_where_higher_is_better_signs_turn(usual: WorstGroups) -> None:
    frame = table()
    other = find(frame.assign(wrong=1.0 - frame["wrong"]), better="higher")
    one, turned = usual.worst, other.worst
    assert turned.conditions == one.conditions
    assert (turned.difference, turned.low, turned.high) == pytest.approx((-one.difference, -one.high, -one.low))
    assert turned.people_harmed == pytest.approx(one.people_harmed)
    assert other.certificate.largest_difference == pytest.approx(usual.certificate.largest_difference)
    assert other.certificate.confirmed_difference == pytest.approx(-turned.high) == pytest.approx(one.low)


def test_two_values_may_be_any_two(usual: WorstGroups) -> None:
    frame = table()
    other = find(frame.assign(wrong=5.0 + 2.0 * frame["wrong"]))
    assert (usual.is_rate, other.is_rate) == (True, False)  # 0 and 1 alone are told in points
    assert other.worst.difference == pytest.approx(2.0 * usual.worst.difference)
    assert other.worst.people_harmed == pytest.approx(usual.worst.people_harmed)
    assert other.certificate.largest_difference == pytest.approx(2.0 * usual.certificate.largest_difference)


@settings(max_examples=5, deadline=None)
@given(st.permutations(range(1200)), st.permutations(list("vwxyz")))
def test_neither_the_order_of_rows_nor_names_nor_units_matter(
    usual: WorstGroups, order: list[int], names: list[str]
) -> None:
    frame = table()
    renamed = dict(zip("abcde", names, strict=True))
    changed = frame.assign(city=frame["city"].map(renamed), income=np.log(frame["income"])).iloc[order]
    found = find(changed)
    np.testing.assert_array_equal(found.worst.members(frame.assign(city=changed["city"])), usual.worst.members(frame))
    for name in ("rows", "p_value", "score", "difference", "low", "high"):
        assert getattr(found.worst, name) == pytest.approx(getattr(usual.worst, name), rel=1e-9)
    assert found.certificate.largest_difference == pytest.approx(usual.certificate.largest_difference, rel=1e-9)


def test_no_outlier_names_anybody() -> None:
    frame = table()
    y = np.random.default_rng(1).normal(size=len(frame))
    assert find(frame.assign(wrong=y + harmed(frame))).worst is not None
    y[np.flatnonzero(harmed(frame))[:3]] = 1e6  # what is said is the mean, of which three people tell nothing
    assert find(frame.assign(wrong=y)).groups == ()


SHAPES = {
    "normal": (lambda rng, n: rng.normal(size=n), lambda rng, n: 3 * rng.normal(size=n)),
    "skewed": (lambda rng, n: 1 + rng.normal(size=n), lambda rng, n: rng.exponential(size=n)),
    "zeros": (lambda rng, n: rng.exponential(size=n), lambda rng, n: (rng.random(n) < 0.5) * rng.exponential(2, n)),
}


def amounts(run: int, shape: str, more: float = 0.0) -> pd.DataFrame:
    """Amounts of another shape, and of as many more, in the group."""
    frame, rng = table(run), np.random.default_rng([4, run])
    usual, other = (draw(rng, len(frame)) for draw in SHAPES[shape])
    return frame.assign(wrong=np.where(harmed(frame), other + more, usual))


def test_groups_of_equal_means_and_unlike_shapes_are_not_confirmed() -> None:
    """At most 1 in 20, of 36 tables; by ranks nearly all of one shape were."""
    alarms = sum(bool(find(amounts(run, shape), max_groups=1).groups) for run in range(12) for shape in SHAPES)
    assert alarms <= stats.binom.ppf(0.99, 12 * len(SHAPES), 0.05)


def test_groups_of_another_mean_are_found_whatever_their_shape() -> None:
    for shape, more in (("normal", 2.0), ("skewed", 0.8), ("zeros", 1.5)):
        for run in range(2):
            frame = amounts(run, shape, more)
            inside = find(frame, max_groups=1).worst.members(frame)
            assert (inside & harmed(frame)).sum() / (inside | harmed(frame)).sum() > 0.6, (shape, run)


def test_a_wider_spread_is_told_by_itself() -> None:
    frame = amounts(0, "normal")
    found = find(frame)
    (group, inside), y = (found.spread, found.spread.members(frame)), frame["wrong"].to_numpy()
    assert found.groups == ()
    assert (inside & harmed(frame)).sum() / (inside | harmed(frame)).sum() > 0.8
    apart = np.abs(y - np.median(y))
    assert (group.rows, group.share) == (inside.sum(), inside.mean())
    assert (group.spread_inside, group.spread_outside) == pytest.approx((apart[inside].mean(), apart[~inside].mean()))
    assert group.difference == pytest.approx(y[inside].mean() - y[~inside].mean())
    assert group.low < 0 < group.high
    assert (group.high - group.low) / 2 == pytest.approx(
        1.959964 * np.sqrt(sum(y[side].var(ddof=1) / side.sum() for side in (inside, ~inside))), rel=1e-3
    )
    assert WorstGroups.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_the_spread_of_those_who_fare_worse_is_no_news() -> None:
    """Amounts that are doubled lie farther apart; and whose spread is the same is in no such group."""
    frame, rng = table(), np.random.default_rng(3)
    found = find(frame.assign(wrong=rng.lognormal(size=1200) * (1 + 2 * harmed(frame))))
    assert len(found.groups) == 1
    assert found.spread is None
    assert find(frame).spread is None  # a rate has the spread that its mean says


@settings(max_examples=3, deadline=None)
@given(st.floats(1e-3, 1e5), st.floats(-1e3, 1e3), st.permutations(range(1200)))
def test_the_unit_of_amounts_does_not_matter(times: float, more: float, order: list[int]) -> None:
    frame = amounts(1, "skewed", 0.8)
    found, other = (
        find(one, max_groups=1)
        for one in (frame, frame.assign(wrong=times * frame["wrong"] + times * more).iloc[order])
    )
    assert other.worst.conditions == found.worst.conditions
    assert other.worst.p_value == found.worst.p_value
    for name in ("difference", "low", "high"):
        assert getattr(other.worst, name) == pytest.approx(times * getattr(found.worst, name), rel=1e-6)


def test_what_is_legitimate_is_no_finding_and_the_rest_is() -> None:
    rng = np.random.default_rng(2)
    frame = table().assign(priors=rng.integers(0, 10, 1200))
    frame["wrong"] = (rng.random(1200) < 0.05 * frame["priors"] + 0.3 * harmed(frame)).astype(float)
    assert [one.column for one in find(frame).worst.conditions] == ["priors"]
    found = find(frame, legitimate=["priors"])
    assert [one.column for one in found.worst.conditions] == ["age", "sex"]
    assert found.strata == 11
    assert [one.name for one in found.searched.left_out] == []
    assert found.worst.low < 0.29 < found.worst.high


def test_the_difference_within_strata_is_that_of_mantel_and_haenszel() -> None:
    frame = table().assign(**{OUTCOME: table()["wrong"]})
    alike = fit_strata(frame, ["city"])
    condition = GroupCondition("sex", "values", values=("f",))
    of_group = measure(OneBlock(frame), [condition], alike, way_to_summarise(OneBlock(frame)))
    parts = [part for _, part in frame.groupby("city")]
    n1, n0 = (np.array([(part["sex"] == sex).sum() for part in parts]) for sex in "fm")
    f, m = (np.array([part["wrong"][part["sex"] == sex].mean() for part in parts]) for sex in "fm")
    assert of_group.difference == pytest.approx(np.average(f - m, weights=n1 * n0 / (n1 + n0)))
    strata = alike.of(frame)
    at_hand = measured(frame["wrong"].to_numpy(), condition.holds(frame), strata)
    assert at_hand.difference == pytest.approx(of_group.difference)
    rng = np.random.default_rng(0)
    drawn = [measured(rng.permutation(frame["wrong"]), condition.holds(frame), strata).difference for _ in range(400)]
    assert of_group.error == pytest.approx(np.std(drawn), rel=0.12)


def test_groups_are_taken_out_one_after_the_other() -> None:
    rng = np.random.default_rng(3)
    frame = table()
    corners = (frame["age"] < 35) & (frame["sex"] == "f"), (frame["age"] > 60) & (frame["sex"] == "m")
    frame["wrong"] = (rng.random(1200) < 0.1 + 0.5 * (corners[0] | corners[1])).astype(float)
    found = find(frame, permutations=39)
    assert len(found.groups) == 2
    for group in found.groups:
        assert max((group.members(frame) & one).sum() / (group.members(frame) | one).sum() for one in corners) > 0.8
    first, second = (group.members(frame) for group in found.groups)
    assert not (first & second).any()
    y = frame["wrong"]
    assert found.groups[0].difference == pytest.approx(y[first].mean() - y[~first].mean())
    assert found.groups[1].difference == pytest.approx(y[second].mean() - y[~first & ~second].mean())
    assert len(find(frame, max_groups=1).groups) == 1
    assert find(frame, max_groups=1).unconfirmed is None
    assert found.unconfirmed.p_value > 0.05
    assert found.unconfirmed.low is None


@pytest.mark.parametrize("columns", [["sex"], ["sex", "name"]])
def test_what_is_confirmed_is_no_second_time_what_chance_explains(columns: list[str]) -> None:
    """Also under other words for the same people."""
    rng = np.random.default_rng(4)
    sex = rng.choice(["f", "m"], 600)
    frame = pd.DataFrame({"sex": sex, "name": np.where(sex == "f", "Anna", "Piet")})[columns]
    frame["wrong"] = (rng.random(600) < np.where(sex == "f", 0.7, 0.2)).astype(float)
    found = find(frame, permutations=39)
    assert [group.words for group in found.groups] in (["sex is f"], ["name is Anna"])
    assert found.unconfirmed is None


def test_persons_are_permuted_whole_among_those_of_as_many_rows() -> None:
    rng = np.random.default_rng(4)
    persons = np.repeat(np.arange(100), np.repeat([1, 3], 50))
    rows = ScanRows(
        np.zeros((200, 1), np.uint16), np.arange(200.0), np.zeros(200, np.int64), persons, False, np.arange(200)
    )
    source = Units.of(rows).permuted(rng)
    assert sorted(source) == list(range(200))
    givers = persons[source]
    for person in range(100):
        assert len(set(givers[persons == person])) == 1
    assert (givers != persons).mean() > 0.9
    alone = replace(rows, persons=None)
    np.testing.assert_array_equal(np.sort(Units.of(alone).permuted(rng)), np.arange(200))


def test_outcomes_change_places_within_their_list_and_stratum() -> None:
    lists, strata = np.repeat(np.arange(40), 5), np.tile([0, 0, 0, 1, 1], 40)
    rows = ScanRows(np.zeros((200, 1), np.uint16), np.arange(200.0), strata, None, False, np.arange(200), lists)
    source = Units.of(rows).permuted(np.random.default_rng(4))
    np.testing.assert_array_equal(np.sort(source), np.arange(200))
    np.testing.assert_array_equal(lists[source], lists)
    np.testing.assert_array_equal(strata[source], strata)
    assert (source != np.arange(200)).mean() > 0.3
    drawn = rows.drawn(100, 0)
    assert 0 < drawn.rows < 200
    assert set(np.bincount(drawn.lists)) == {5}


def test_rows_of_one_person_count_as_one(usual: WorstGroups) -> None:
    frame = table()
    thrice = frame.assign(who=np.arange(1200)).loc[np.repeat(np.arange(1200), 3)]
    one, three = usual.worst, find(thrice, key="who").worst
    assert three.conditions == one.conditions
    assert three.difference == pytest.approx(one.difference)
    assert three.high - three.difference == pytest.approx(one.high - one.difference, rel=0.01)
    who, y = np.array([0, 0, 1, 1, 2, 2]), np.array([1.0, 1, 0, 0, 1, 1])
    rows = ScanRows(np.zeros((6, 1), np.uint16), y, np.zeros(6, np.int64), who, True, np.arange(6))
    assert design_effect(rows, np.array([True] * 4 + [False] * 2)) == pytest.approx(2.0)


def test_a_group_has_so_many_persons_and_not_only_rows() -> None:
    rng = np.random.default_rng(7)
    persons = pd.DataFrame({"city": np.repeat(list("abcdefgh"), [8, 32, *[40] * 6]), "age": rng.integers(18, 80, 280)})
    frame = persons.loc[np.repeat(np.arange(280), 6)].assign(who=np.repeat(np.arange(280), 6)).reset_index(drop=True)
    frame["wrong"] = (rng.random(len(frame)) < np.where(frame["city"].isin(["a", "b"]), 0.95, 0.3)).astype(float)
    few = find(frame, columns=["city", "age"], key="who", min_rows=8).worst
    assert few.words == "city is a or b"
    frame["wrong"] = (rng.random(len(frame)) < np.where(frame["city"] == "a", 0.95, 0.3)).astype(float)
    assert find(frame, columns=["city", "age"], key="who", min_rows=8).worst.words == "city is a"
    found = find(frame, columns=["city", "age"], key="who", min_rows=30)
    named = found.worst or found.unconfirmed
    assert frame["who"][named.members(frame)].nunique() >= 30
    assert found.certificate.min_share == pytest.approx(30 / 280)
    half = frame.assign(side=np.arange(len(frame)) % 2)  # whose every other row: half of everybody
    shown = find(half.assign(wrong=half["side"] * 1.0), columns=["side"], key="who", min_rows=141)
    assert (shown.worst, shown.unconfirmed, shown.certificate) == (None, None, None)
    assert shown.reason == "a group needs 141 persons, and as many outside of it; there are 280"


@pytest.mark.parametrize("kind", ["rate", "mean"])
def test_blocks_give_what_one_table_gives(kind: str) -> None:
    frame = table()
    if kind == "mean":
        frame["wrong"] = 1e6 + np.random.default_rng(6).lognormal(size=1200) * (1 + harmed(frame))
    frame = frame.rename(columns={"wrong": OUTCOME})

    class Blocks:
        def map_blocks(self, function, columns=None):
            return [function(OneBlock(part)) for part in (frame[:500], frame[500:])]

        def sample(self, rows):
            return OneBlock(frame)

    question = Question(("age", "income", "sex", "city"), "wrong", "lower")
    found = scan(Blocks(), question, ScanSettings(permutations=19, larger_shares=SHARES), sample_rows=2000)
    assert found == find(frame.rename(columns={OUTCOME: "wrong"}))


@pytest.mark.parametrize("legitimate", [[], ["region"]])
def test_the_seed_of_an_audit_decides_nothing_about_groups(legitimate: list[str]) -> None:
    """A limit between two lower bounds would fail with one seed, and not with another."""
    frame = table(n=1500).assign(region=np.arange(1500) % 3)
    asked = {
        "name": "seeds",
        "bias_variable": {"column": "wrong", "better": "lower"},
        "legitimate": legitimate,
        "gate": [],
    }
    asked |= {"worst_groups": {"permutations": 39}, "clustering": {"min_cluster_size": 0.2}, "slices": None}
    found = [audit(frame, asked | {"split": {"repeats": 1, "random_state": seed}}).worst_groups for seed in range(3)]
    assert found[0].worst is not None
    assert found[0] == found[1] == found[2]


def test_of_a_sample_what_is_named_is_measured_on_all_rows() -> None:
    frame = table(n=4000).rename(columns={"wrong": OUTCOME})

    class Sampled(OneBlock):
        def sample(self, rows):
            return OneBlock(self.frame[:rows])

    question = Question(("age", "income", "sex", "city"), "wrong", "lower")
    found = scan(Sampled(frame), question, ScanSettings(permutations=19), sample_rows=1500)
    assert (found.searched_on.rows, found.searched_on.of, found.rows) == (1500, 4000, 4000)
    inside = found.worst.members(frame)
    assert found.worst.rows == inside.sum()
    assert found.worst.mean_inside == pytest.approx(frame[OUTCOME][inside].mean())


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch, usual: WorstGroups) -> None:
    monkeypatch.setattr("bdt_core.table.pool.processors", lambda: 1)
    assert find(table()) == usual
    monkeypatch.setattr("bdt_core.table.pool.processors", lambda: 5)
    assert find(table()) == usual


def test_what_cannot_be_searched_is_said() -> None:
    frame = table().assign(number=range(1200), same=1, day=pd.Timestamp("2026-01-01"), lists=[[1]] * 1200)
    found = find(frame, columns=["number", "same", "day", "lists", "age"], legitimate=["age"])
    assert found.reason == "no column is left to search"
    assert found.certificate is None
    reasons = {one.name: one.reason for one in found.searched.left_out}
    assert reasons.keys() == {"number", "same", "day", "lists", "age"}
    assert find(frame.assign(wrong=1.0)).reason == "every row has the same outcome"
    assert find(frame[:50]).reason.startswith("a group needs 30 rows")


def test_rare_values_are_not_told_apart_and_may_be_all_others() -> None:
    rng = np.random.default_rng(5)
    frame = table(n=3000).assign(place=["big" if rng.random() < 0.3 else f"p{i % 200}" for i in range(3000)])
    frame["wrong"] = (rng.random(3000) < np.where(frame["place"] == "big", 0.1, 0.4)).astype(float)
    worst = find(frame).worst
    assert worst.words == "place is not big"
    np.testing.assert_array_equal(worst.members(frame), frame["place"] != "big")


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"outcome": "worng"}, DataError, 'no column "worng"'),
        ({"outcome": "sex"}, DataError, "must be numeric"),
        ({"better": "less"}, SpecError, 'better must be "lower" or "higher"'),
        ({"columns": "age"}, SpecError, "columns must be a list"),
        ({"legitimate": ["prior"]}, DataError, 'no column "prior"'),
        ({"legitimate": ["same"]}, DataError, "cannot be a legitimate factor"),
        ({"min_share": 0.7}, SpecError, "min_share must lie between 0 and 0.5"),
        ({"permutations": 19, "alpha": 0.01}, SpecError, "Ask for more permutations"),
        ({"max_groups": 0}, SpecError, "max_groups must be a whole number"),
        ({"key": "person"}, DataError, 'key names the column "person", which is missing in 3 of'),
    ],
)
def test_errors_say_what_was_expected(how: dict, error: type[Exception], message: str) -> None:
    frame = table()
    person = np.where(np.arange(len(frame)) < 3, np.nan, np.arange(len(frame)) // 2)
    with pytest.raises(error, match=message):
        find(frame.assign(same=1, person=person), **how)


def test_rows_that_settle_a_limit(usual: WorstGroups) -> None:
    certificate = replace(
        usual.certificate, largest_difference=0.20, confirmed_difference=0.05, found_difference=0.10, rows=1000
    )
    assert certificate.rows_to_settle(0.20) == 1000
    assert certificate.rows_to_settle(0.04) == 1000
    assert certificate.rows_to_settle(0.15) == 4000
    assert certificate.rows_to_settle(0.075) == 4000
    assert certificate.rows_to_settle(0.10) is None
    assert certificate.rows_to_settle(0.16) == 2_800  # 2,778 is no more certain than that
    assert certificate.rows_to_settle(0.102) is None  # 2,500 times as many rows


@pytest.mark.parametrize(
    ("condition", "words", "members"),
    [
        (GroupCondition("a", "interval", high=2.0, whole=True), "a up to 2", [1, 1, 0, 0]),
        (
            GroupCondition("a", "interval", 1.0, 2.0, whole=True, missing=True),
            "a is 2 or missing",
            [0, 1, 0, 1],
        ),
        (GroupCondition("a", "interval", low=1.5), "a above 1.5", [0, 1, 1, 0]),
        (GroupCondition("a", "missing", missing=True), "a is missing", [0, 0, 0, 1]),
        (GroupCondition("a", "missing"), "a is not missing", [1, 1, 1, 0]),
        (GroupCondition("c", "values", values=("x", "y")), "c is x or y", [1, 1, 0, 0]),
        (GroupCondition("c", "values", values=("x",), missing=True), "c is x or missing", [1, 0, 0, 1]),
        (GroupCondition("c", "values", values=("x",), excluded=True, missing=True), "c is not x", [0, 1, 1, 1]),
        (GroupCondition("c", "values", values=("x",), excluded=True), "c is neither x nor missing", [0, 1, 1, 0]),
    ],
)
def test_conditions_hold_for_those_whom_they_name(condition: GroupCondition, words: str, members: list[int]) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3, np.nan], "c": ["x", "y", "z", None]})
    assert condition.words == words
    assert condition.holds(frame).astype(int).tolist() == members
