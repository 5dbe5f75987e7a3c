"""Changes from A to B: intervals hold as often as they say, pairing pays, and chosen groups are not called better."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri

from bdt_core import compare
from bdt_core.changes import Changes
from bdt_core.changes.comparing import change_of
from bdt_core.inference.estimates import Difference, MeanOfPersons, critical_value
from bdt_core.inference.persons import Steps, person_sums
from bdt_core.table.sources import read_table

Z = float(ndtri(0.975))
TABLES = 2000


def rates(events: NDArray[np.bool_], persons: NDArray[np.int64], size: int) -> MeanOfPersons:
    return MeanOfPersons(person_sums(events.astype(float), persons, size), Steps(0.0, 1.0), True)


def two_models(
    rng: np.random.Generator, persons: int, rate: float, alike: float, rows: int = 1
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
    """What two models with the same rate do to people, whom the second treats as the first does mostly."""
    who = np.repeat(np.arange(persons), rows)
    own = rng.random(persons)[who] if rows > 1 else rng.random(persons)
    kept = rng.random(who.size) < 0.5 if rows > 1 else np.ones(who.size, dtype=bool)
    first = np.where(kept, own, rng.random(who.size)) < rate
    second = np.where(rng.random(who.size) < alike, first, rng.random(who.size) < rate)
    return first, second, who


@pytest.mark.parametrize(
    ("persons", "rate", "alike", "rows"), [(60, 0.1, 0.8, 1), (60, 0.5, 0.9, 1), (400, 0.2, 0.7, 1), (80, 0.3, 0.7, 4)]
)
def test_the_paired_interval_covers_as_often_as_it_says_and_is_much_shorter(
    persons: int, rate: float, alike: float, rows: int
) -> None:
    rng = np.random.default_rng(persons + rows)
    covered, ratio = 0, []
    for _ in range(TABLES):
        first, second, who = two_models(rng, persons, rate, alike, rows)
        found = Difference(rates(second, who, persons), rates(first, who, persons))
        low, high = found.interval(Z)
        covered += low <= 0.0 <= high
        apart = Difference(found.first, found.other, paired=False).interval(Z)
        ratio.append((apart[1] - apart[0]) / (high - low))
    # Newcombe's half a person makes the interval of few people who are treated differently longer than need be.
    assert 0.94 <= covered / TABLES <= (0.96 if persons >= 80 else 1.0)
    assert np.median(ratio) > 1.5


def test_a_gap_between_groups_is_covered_too() -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(TABLES):
        first, second, who = two_models(rng, 300, 0.3, 0.7)
        group = rng.random(300) < 0.3

        gaps = [
            Difference(*(rates(events[rows], who[rows], 300) for rows in (group, ~group))) for events in (second, first)
        ]
        low, high = Difference(*gaps).interval(Z)
        covered += low <= 0.0 <= high
    assert covered / TABLES == pytest.approx(0.96, abs=0.025)


def two_versions(threshold: int) -> tuple[Changes, Changes]:
    """COMPAS against the same score with a higher threshold: on the same people, and as if they were others."""
    table = read_table("demo:compas")
    table["version_2"] = (table.decile_score >= threshold).astype(int)
    before = {
        "name": "compas",
        "source": {"path": "demo:compas"},
        "bias_variable": {"derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk"},
        "features": {"include": ["priors_count", "age"]},
        "protected": ["race", "sex"],
        "worst_groups": None,
        "slices": None,
        "clustering": {"max_iter": 1, "n_init": 1, "stability": 0},
        "split": {"repeats": 1},
    }
    after = {**before, "bias_variable": {**before["bias_variable"], "prediction": "version_2"}}
    others = table.drop(columns="high_risk").assign(other=1.0)
    return compare(before, after, data_a=table), compare(before, after, data_a=table, data_b=others)


@pytest.mark.parametrize(("threshold", "overall", "of_groups"), [(6, 2.0, 1.8), (7, 1.5, 1.25)])
def test_two_versions_of_a_real_score_are_told_apart_with_half_the_width(
    threshold: int, overall: float, of_groups: float
) -> None:
    """COMPAS as it is used, and the same score with a higher threshold: the design of a new version."""
    paired, apart = two_versions(threshold)
    assert (paired.people.paired_by, apart.people.paired_by) == ("row", None)
    assert paired.narrower is not None
    assert paired.narrower > overall
    declared = [one for one in paired.groups if one.found_by == "groups"]
    widths = {one.who: one.change.high - one.change.low for one in apart.groups}
    assert len(declared) == 6
    for one in declared:
        assert widths[one.who] > of_groups * (one.change.high - one.change.low), one.who


@pytest.mark.parametrize("threshold", [6, 7])
def test_no_interval_from_the_same_people_is_much_shorter(threshold: int) -> None:
    """Pairing gives at most the standard error of strangers over that of what each person adds."""
    table = read_table("demo:compas")
    table = table[table.two_year_recid == 0]
    for race in ("African-American", "Caucasian", "Hispanic", "Other"):
        score = table.decile_score[table.race == race].to_numpy()
        before, after = score >= 5, score >= threshold
        who = np.arange(score.size)
        paired = Difference(rates(after, who, score.size), rates(before, who, score.size))
        apart = Difference(paired.first, paired.other, paired=False)
        (low, high), (low_apart, high_apart) = paired.interval(Z), apart.interval(Z)
        possible = np.sqrt((before.var() + after.var()) / (after.astype(float) - before).var())
        assert 0.9 * possible < (high_apart - low_apart) / (high - low) <= 1.02 * possible


def test_groups_that_were_chosen_for_being_bad_are_not_called_better_by_chance() -> None:
    """Two models that treat nobody differently: the group that fares worst under A, of a hundred, is followed to B."""
    rng = np.random.default_rng(11)
    groups, people, tables = 100, 150, 400
    own = rng.random((tables, groups, people)) < 0.2
    harmed = [np.where(rng.random(own.shape) < 0.5, own, rng.random(own.shape) < 0.2) for _ in range(2)]
    worst = harmed[0].mean(axis=2).argmax(axis=1)
    who, alone = np.arange(people), critical_value(0.05, 1)
    says: dict[str, list[str]] = {"plain": [], "allowed for": []}
    for table, group in enumerate(worst):
        before, after = (rates(one[table, group], who, people) for one in harmed)
        for how, reach in (("plain", alone), ("allowed for", critical_value(0.05, groups))):
            says[how].append(change_of(Difference(after, before), (alone, reach), 1.0).says)
    assert says["plain"].count("better") > 0.25 * tables  # chance alone
    assert says["allowed for"].count("better") < 0.05 * tables
    assert says["allowed for"].count("worse") < 0.025 * tables
