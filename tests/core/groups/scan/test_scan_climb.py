"""The climb finds the best of all groups; its score is the one of the books; who is in a group is what is said."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bdt_core.groups.scan import bounds
from bdt_core.groups.scan.bounds import highest_bounds
from bdt_core.groups.scan.climbing import Climb
from bdt_core.groups.scan.columns import fit_columns
from bdt_core.groups.scan.language import FORMS, Language
from bdt_core.groups.scan.rows import ScanRows, Scored, coded_rows, scored


def climb_of(frame: pd.DataFrame, harm: np.ndarray, *, strata: np.ndarray | None = None, min_people: int = 20) -> Climb:
    columns, _ = fit_columns(frame, list(frame.columns), 1.0)
    language = Language.of(columns, frame)
    is_rate = set(np.unique(harm)) <= {0.0, 1.0}
    strata = np.zeros(len(frame), dtype=np.int64) if strata is None else strata
    return Climb(
        ScanRows(coded_rows(frame, language), harm, strata, None, is_rate, np.arange(len(frame))),
        language,
        (min_people, min_people),
    )


def every_condition(one, has_missing: bool):
    """All sets of values of a column that a condition can say."""
    cells = one.cells
    everything = np.ones(cells, dtype=np.uint8)
    if not one.is_ordered:
        chosen = [set(some) for m in range(1, cells) for some in combinations(range(cells), m)]
    else:
        runs = [set(range(a, b)) for a in range(cells - 1) for b in range(a + 1, cells)]
        chosen = [run | more for run in [*runs, set()] for more in ([set(), {cells - 1}] if has_missing else [set()])]
        chosen = [some for some in chosen if some and len(some) < cells - (not has_missing)]
    return [everything, *(np.isin(np.arange(cells), list(some)).astype(np.uint8) for some in chosen)]


def penalised_score(climb: Climb, scores: Scored, state: np.ndarray) -> float:
    inside = climb.rows.inside(state)
    n, rest = inside.sum(), (~inside).sum()
    if min(n, rest) < climb.fewest[0]:
        return -np.inf
    harm, expected = (np.array([one[inside].sum(), one[~inside].sum()]) for one in (scores.harm, scores.expected))
    if climb.rows.is_rate:
        if harm[0] <= expected[0]:
            return -np.inf
        size = np.array([n, rest])
        table = np.stack([harm, size - harm]), np.stack([expected, size - expected])
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.nansum(table[0] * np.log(table[0] / table[1]))
    else:
        score = max(welch(scores.harm, inside), 0.0) ** 2 / 2 or -np.inf
    return score - climb.language.price(state)


def welch(y: np.ndarray, inside: np.ndarray) -> float:
    """Welch's statistic, with variances of no less than everybody's."""
    (a, b), whole = (y[inside], y[~inside]), y.std()
    sides = (a.mean(), max(a.std(), whole), a.size, b.mean(), max(b.std(), whole), b.size)
    return float(stats.ttest_ind_from_stats(*sides, equal_var=False).statistic)


def table(rng: np.random.Generator, n: int = 300) -> pd.DataFrame:
    number = rng.integers(0, 6, n).astype(float)
    number[rng.random(n) < 0.15] = np.nan
    return pd.DataFrame(
        {
            "number": number,
            "letter": rng.choice(["a", "b", "c", None], n, p=[0.4, 0.3, 0.2, 0.1]),
            "size": rng.integers(0, 5, n),
        }
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["rate", "mean", "mean of skewed amounts", "rate in strata"])
def test_the_climb_finds_the_best_of_all_groups(seed: int, kind: str) -> None:
    rng = np.random.default_rng([seed, len(kind)])
    frame = table(rng)
    harmed = ((frame["number"] > 2) & (frame["letter"] != "a")).to_numpy()
    harm = {
        "mean": lambda: rng.normal(size=300) + harmed,
        "mean of skewed amounts": lambda: rng.lognormal(size=300) * (1 + 2 * harmed),
    }.get(kind, lambda: (rng.random(300) < 0.2 + 0.4 * harmed).astype(float))()
    climb = climb_of(frame, harm, strata=rng.integers(0, 2, 300) if kind == "rate in strata" else None)
    conditions = [
        every_condition(one, name == "number") for one, name in zip(climb.language.columns, frame.columns, strict=True)
    ]
    scores = scored(climb.rows)
    best = max(penalised_score(climb, scores, np.concatenate(state)) for state in product(*conditions))
    found = climb.best(scores)
    assert found.score == pytest.approx(penalised_score(climb, scores, found.state), abs=1e-9)
    assert found.score == pytest.approx(best, abs=1e-9)


def test_the_score_of_a_rate_is_half_the_likelihood_ratio_of_its_table() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(["a", "b"], 500)})
    harm = (rng.random(500) < np.where((frame["c"] == "a").to_numpy(), 0.5, 0.2)).astype(float)
    climb = climb_of(frame, harm)
    found = climb.best(scored(climb.rows))
    expected = stats.chi2_contingency(pd.crosstab(frame["c"], harm), correction=False, lambda_="log-likelihood")
    assert found.score + climb.language.price(found.state) == pytest.approx(expected.statistic / 2, abs=1e-9)


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_the_score_of_a_mean_is_half_the_square_of_the_statistic_of_welch(spread: float) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"c": rng.choice(["a", "b"], 500)})
    inside = (frame["c"] == "a").to_numpy()
    y = 1e4 + rng.normal(size=500) * np.where(inside, spread, 1.0) + inside
    climb = climb_of(frame, y)
    found = climb.best(scored(climb.rows))
    statistic = np.sqrt(2 * (found.score + climb.language.price(found.state)))
    assert statistic == pytest.approx(welch(y, inside), rel=1e-9)


def test_variances_that_are_known_take_the_place_of_those_that_are_seen() -> None:
    """As of labels with given chances: what a group has more of does not make it less sure, in permutations neither."""
    rng = np.random.default_rng(13)
    chance = rng.uniform(0.05, 0.6, 600)
    frame = pd.DataFrame({"letter": np.where(rng.random(600) < 0.2, "a", "b")})
    inside = (frame["letter"] == "a").to_numpy()
    gap = (rng.random(600) < chance + 0.3 * inside) - chance
    climb = climb_of(frame, gap)
    known = replace(climb, rows=replace(climb.rows, variances=chance * (1.0 - chance)))
    score = known.best(known.scored())
    assert np.array_equal(known.rows.inside(score.state), inside)
    apart = gap - gap.mean()
    sides = [(apart[of].mean(), (chance * (1.0 - chance))[of].mean(), of.sum()) for of in (inside, ~inside)]
    whole = (chance * (1.0 - chance)).mean()
    error = sum(max(variance - mean**2, whole) / n for mean, variance, n in sides)
    expected = (sides[0][0] - sides[1][0]) ** 2 / error / 2.0
    assert score.score == pytest.approx(expected - climb.language.price(score.state))
    assert score.score > climb.best(climb.scored()).score
    permuted = known.scored().permuted(rng.permutation(600))
    assert np.array_equal(permuted.expected, known.scored().expected)


@pytest.mark.parametrize("worse", ["a", "b"])
def test_of_amounts_a_group_keeps_the_score_with_one_person_more_on_the_smaller_side(worse: str) -> None:
    """The group gets one of the best where it is the smaller; else everybody else get one of the worst."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"c": rng.choice(["a", "b"], 400, p=[0.1, 0.9])})
    harm = (1.0 if worse == "b" else -1.0) * rng.lognormal(size=400) + 1.5 * (frame["c"] == worse).to_numpy()
    climb = climb_of(frame, harm)
    scores = climb.scored()
    group = climb.best(scores)
    inside = climb.rows.inside(group.state)
    assert np.array_equal(inside, (frame["c"] == worse).to_numpy())
    sides = {"a": harm[frame["c"] == "a"], "b": harm[frame["c"] == "b"]}
    apart = sides[worse].mean() - sides["ab".replace(worse, "")].mean()
    few = round(400 / sides["a"].size)  # of as many as so few people have one of on average
    sides["a"] = np.append(sides["a"], (np.sort(harm)[:few] if worse == "a" else np.sort(harm)[-few:]).mean())
    with_one = sides[worse].mean() - sides["ab".replace(worse, "")].mean()
    price = climb.language.price(group.state)
    assert climb.assured(group, scores) == pytest.approx((group.score + price) * (with_one / apart) ** 2 - price)
    assert climb.assured(group, scores) < group.score - 1.0
    known = replace(scores, expected=np.ones(400), is_known=True)
    assert climb.assured(group, known) == group.score
    of_rates = climb_of(frame, (harm > -1.5).astype(float))
    group = of_rates.best(of_rates.scored())
    assert of_rates.assured(group, of_rates.scored()) == group.score


def test_bounds_are_those_of_newcombe_and_welch() -> None:
    from bdt_core.inference import newcombe_interval

    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"c": rng.choice(["a", "b"], 400)})
    harm = (rng.random(400) < np.where((frame["c"] == "a").to_numpy(), 0.5, 0.2)).astype(float)
    inside = (frame["c"] == "a").to_numpy()
    reach = np.array([[1.6448536269514722], [1.6448536269514722], [0.0]])
    climb = climb_of(frame, harm)
    found = climb.best_bound(climb.scored(), reach)
    _, high = newcombe_interval(harm[inside].sum(), inside.sum(), harm[~inside].sum(), (~inside).sum(), confidence=0.9)
    assert found.score == pytest.approx(high, abs=1e-9)
    y = rng.exponential(size=400) + inside
    climb = climb_of(frame, y)
    found = climb.best_bound(climb.scored(), reach)
    spread = np.sqrt(sum(y[side].var(ddof=1) / side.sum() for side in (inside, ~inside)))
    assert found.score == pytest.approx(y[inside].mean() - y[~inside].mean() + 1.6448536 * spread, rel=1e-4)


@pytest.mark.parametrize("kind", ["rate", "mean"])
def test_the_highest_bound_is_that_of_all_groups_with_every_value_as_a_cut(kind: str) -> None:
    """A number is cut into 12 intervals for the search; its group lies between the cuts, and its bound is found."""
    rng = np.random.default_rng([7, len(kind)])
    frame = pd.DataFrame({"number": rng.permutation(300) / 7.0, "letter": rng.choice(list("abc"), 300)})
    worse = frame["number"].between(13.3, 21.9).to_numpy() & (frame["letter"] != "b").to_numpy()
    harm = (rng.random(300) < 0.2 + 0.7 * worse).astype(float) if kind == "rate" else rng.normal(size=300) + 2 * worse
    climb, reach = climb_of(frame, harm, min_people=40), np.array([[1.7], [1.6], [0.0]])
    (highest,) = highest_bounds(climb, frame, reach, [40])
    best = max(highest_by_hand(frame, harm, set(some)) for m in (1, 2, 3) for some in combinations("abc", m))
    assert best / 1.1 <= highest.group.score <= best + 1e-9
    assert highest.group.score > climb.best_bound(climb.scored(), reach).score
    assert highest.group.score == pytest.approx(best)


@pytest.mark.parametrize("kind", ["rate", "mean"])
def test_a_part_of_the_rows_says_where_to_start_from_and_the_bound_is_that_of_all(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group that is worse off and lies between cuts is found from a tenth of the rows, and measured on all."""
    rng = np.random.default_rng([8, len(kind)])
    n = 6_000
    frame = pd.DataFrame({"u": rng.random(n), "v": rng.random(n), "letter": rng.choice(list("abcdef"), n)})
    worse = (frame["u"].between(0.42, 0.58) & frame["letter"].isin(["b", "e"])).to_numpy()
    harm = (rng.random(n) < 0.2 + 0.3 * worse).astype(float) if kind == "rate" else rng.normal(size=n) + worse
    climb, reach = climb_of(frame, harm, min_people=100), np.array([[1.7] * 14, [1.6] * 14, [0.0] * 14])
    starts = starts_on_rows(monkeypatch)
    of_all = highest_bounds(climb, frame, reach, [100, 1_000])
    without = starts.pop(n)
    monkeypatch.setattr(bounds, "STARTED_ON", 600)
    of_part = highest_bounds(climb, frame, reach, [100, 1_000])
    for part, whole in zip(of_part, of_all, strict=True):
        assert part.group.score == pytest.approx(whole.group.score, rel=0.05)
        assert part.climb.rows.rows == n
    assert starts[600] > 0
    assert starts[n] < 0.8 * without


def starts_on_rows(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How many states climbs start from, by how many rows they are over."""
    starts: Counter[int] = Counter()
    climbed = Climb._climb

    def counting(self: Climb, *arguments, **named):
        starts[self.rows.rows] += len(self.language.starts) + self.singles
        return climbed(self, *arguments, **named)

    monkeypatch.setattr(Climb, "_climb", counting)
    return starts


def highest_by_hand(frame: pd.DataFrame, harm: np.ndarray, letters: set[str]) -> float:
    """The highest bound of all intervals of the number, from any value to any value, among rows with some letters."""
    order = np.argsort(frame["number"].to_numpy())
    rows = frame["letter"].isin(letters).to_numpy()[order].astype(float)
    apart = harm[order] - (0.0 if set(harm) == {0.0, 1.0} else harm.mean())
    sums = [np.concatenate([[0.0], np.cumsum(rows * one)]) for one in (np.ones(300), apart, apart**2)]
    n, total, squares = (one[None] - one[:, None] for one in sums)
    enough = (n >= 40) & (n <= 260)
    sides = [[x[enough] for x in (n, total, squares)]]
    sides.append([one - x for one, x in zip((300.0, apart.sum(), (apart**2).sum()), sides[0], strict=True)])
    means = [total / n for n, total, _ in sides]
    if set(harm) == {0.0, 1.0}:
        reach = [
            (m + z * z / n / 2 + z * np.sqrt((m * (1 - m) + z * z / n / 4) / n)) / (1 + z * z / n) - m
            if z > 0
            else m - (m + z * z / n / 2 + z * np.sqrt((m * (1 - m) + z * z / n / 4) / n)) / (1 + z * z / n)
            for (n, _, _), m, z in zip(sides, means, (1.7, -1.6), strict=True)
        ]
    else:
        reach = [
            z * np.sqrt((squares / n - m * m) / (n - 1))
            for (n, _, squares), m, z in zip(sides, means, (1.7, 1.6), strict=True)
        ]
    return float((means[0] - means[1] + np.hypot(*reach)).max())


def test_rows_of_a_state_are_those_that_its_conditions_say() -> None:
    rng = np.random.default_rng(2)
    frame = table(rng)
    climb = climb_of(frame, (rng.random(300) < 0.3).astype(float))
    for state in climb.language.starts:
        inside = np.ones(300, dtype=bool)
        for one in climb.language.conditions(state):
            inside &= one.holds(frame)
        np.testing.assert_array_equal(inside, climb.rows.inside(state))


def test_a_state_costs_what_its_conditions_cost() -> None:
    rng = np.random.default_rng(3)
    climb = climb_of(table(rng), (rng.random(300) < 0.3).astype(float))
    language = climb.language
    state = np.ones(int(language.offsets[-1]), dtype=np.uint8)
    assert language.price(state) == 0.0
    forms = language.prices[0]
    for cells, form in (([0, 1], 0), ([1, 2], 1), ([6], 2), (range(6), 2), ([0, 6], 3), ([2, 6], 4)):
        state[:7] = 0
        state[list(cells)] = 1
        assert language.price(state) == forms[form]
    assert len(forms) >= FORMS
    assert np.all(np.diff(forms[:2]) >= 0)


@pytest.mark.parametrize("strata", [1, 3, 7])
def test_counted_rows_give_the_same_score_to_the_bit_as_rows_that_are_added_up(strata: int) -> None:
    """Where each row is a person of its own by a number, rows are added up one by one."""
    rng = np.random.default_rng(strata)
    frame = table(rng, 3000)
    of_rows = rng.integers(0, strata, len(frame))
    harm = (rng.random(len(frame)) < 0.1 + 0.07 * of_rows + 0.1 * (frame.iloc[:, 0] > 3).to_numpy()).astype(np.float64)
    counted = climb_of(frame, harm, strata=of_rows)
    added = replace(counted, rows=replace(counted.rows, persons=np.arange(len(frame))))
    assert counted.rows.marks is not None
    assert added.rows.marks is None
    reach = np.full((3, 16), 1.64)
    for first, second in (
        (counted.best(counted.scored()), added.best(added.scored())),
        (counted.best_bound(counted.scored(), reach), added.best_bound(added.scored(), reach)),
    ):
        assert np.isfinite(first.score)
        assert first.score == second.score
        assert first.state.tolist() == second.state.tolist()
