"""What columns tell beyond the groups that conditions describe: alarms by chance, and what no few conditions say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from bdt_core import audit, find_worst_groups
from bdt_core.groups.scan import structure
from bdt_core.groups.scan.columns import fit_columns
from bdt_core.groups.scan.language import Language
from bdt_core.groups.scan.rows import ScanRows, coded_rows
from bdt_core.groups.scan.structure import structure_beyond
from bdt_core.report.markdown import render_markdown


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"x": rng.random(n), "y": rng.random(n), "c": rng.choice(list("abcd"), n), "sex": rng.choice(["f", "m"], n)}
    )


def little_by_little(rng: np.random.Generator, n: int, step: float = 0.02) -> pd.DataFrame:
    """Thirty habits, each of which harms a little: no few of them say much."""
    habits = rng.integers(0, 2, (n, 30))
    frame = pd.DataFrame(habits, columns=[f"habit {number}" for number in range(30)])
    return frame.assign(refused=(rng.random(n) < 0.05 + step * habits.sum(axis=1)).astype(int))


def coded(
    frame: pd.DataFrame, harm: np.ndarray, strata: np.ndarray | None = None, persons: np.ndarray | None = None
) -> tuple[ScanRows, Language]:
    columns, _ = fit_columns(frame, list(frame.columns), 1.0)
    language = Language.of(columns, frame)
    n = len(frame)
    strata = np.zeros(n, dtype=np.int64) if strata is None else strata
    return ScanRows(coded_rows(frame, language), harm, strata, persons, False, np.arange(n)), language


NULLS = {
    "rate": lambda rng, frame: (rng.random(len(frame)) < 0.1).astype(float),
    "lognormal": lambda rng, frame: rng.lognormal(0.0, 2.0, len(frame)),
    "unlike spreads": lambda rng, frame: rng.normal(size=len(frame)) * np.where(frame["x"] < 0.4, 3.0, 1.0),
}


@pytest.mark.parametrize("kind", NULLS)
def test_p_values_are_not_too_small_where_columns_tell_nothing(kind: str) -> None:
    """Also where outcomes are spread otherwise in some places: that says nothing of who fares worse."""
    p_values = []
    for run in range(40):
        rng = np.random.default_rng([31, run])
        frame = people(rng, 800)
        tested = structure_beyond(*coded(frame, NULLS[kind](rng, frame)), 0.05, 0.05)
        assert tested is not None
        p_values.append(tested.p_value)
    assert stats.binom.sf(np.sum(np.array(p_values) <= 0.05) - 1, 40, 0.05) > 0.001
    assert stats.kstest(p_values, "uniform", alternative="greater").pvalue > 0.001  # none of too many small ones


def test_rows_of_persons_are_no_evidence_of_their_own() -> None:
    """Ten rows each, all alike: taken for rows, chance looks like structure; taken for persons, it does not."""
    as_rows, as_persons = [], []
    for run in range(12):
        rng = np.random.default_rng([32, run])
        frame = people(rng, 500).loc[lambda one: one.index.repeat(10)].reset_index(drop=True)
        harm, persons = np.repeat(rng.normal(size=500), 10), np.repeat(np.arange(500), 10)
        for p_values, whose in ((as_rows, None), (as_persons, persons)):
            tested = structure_beyond(*coded(frame, harm, persons=whose), 0.05, 0.05)
            assert tested is not None
            p_values.append(tested.p_value)
    assert np.sum(np.array(as_rows) <= 0.05) > 9
    assert np.sum(np.array(as_persons) <= 0.05) < 4


def test_people_alike_are_compared() -> None:
    """Harm that a factor explains is none; without the factor it is seen."""
    rng = np.random.default_rng(33)
    frame = people(rng, 3_000)
    strata = (frame["x"] * 10).astype(int).to_numpy()
    harm = rng.normal(size=3_000) + strata / 5.0
    seen, explained = (structure_beyond(*coded(frame, harm, of), 0.05, 0.05) for of in (None, strata))
    assert seen is not None
    assert explained is not None
    assert seen.p_value < 1e-6
    assert seen.confirmed
    assert explained.p_value > 0.05
    assert not explained.confirmed


def test_the_score_is_that_of_the_covariance_of_what_was_expected() -> None:
    rng = np.random.default_rng(34)
    expected, harm, strata = rng.normal(size=200), rng.normal(size=200), rng.integers(0, 3, 200)
    apart = pd.DataFrame({"e": expected, "h": harm}).groupby(strata).transform(lambda one: one - one.mean())
    product = apart["e"] * apart["h"]
    score = structure._studentised(expected, harm, strata, np.arange(200))
    assert score == pytest.approx(product.sum() / np.sqrt((product**2).sum()))
    whole = structure._studentised(expected, harm, strata, np.arange(200) // 2)
    assert whole == pytest.approx(product.sum() / np.sqrt((product.groupby(np.arange(200) // 2).sum() ** 2).sum()))


def test_too_few_people_are_not_tested() -> None:
    rng = np.random.default_rng(35)
    frame = people(rng, 399)
    assert structure_beyond(*coded(frame, rng.normal(size=399)), 0.05, 0.05) is None
    many = people(rng, 4_000)
    of_few = coded(many, rng.normal(size=4_000), persons=np.arange(4_000) // 20)
    assert structure_beyond(*of_few, 0.05, 0.05) is None


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(36)
    rows, language = coded(people(rng, 3_000), rng.normal(size=3_000))
    with threadpool_limits(1, user_api="openmp"):
        alone = structure_beyond(rows, language, 0.05, 0.05)
    assert structure_beyond(rows, language, 0.05, 0.05) == alone


def test_the_order_of_rows_and_the_unit_do_not_matter() -> None:
    frame = little_by_little(np.random.default_rng(37), 1_500)
    told = {"outcome": "refused", "better": "lower", "permutations": 19, "max_groups": 1}
    found = find_worst_groups(frame, **told).structure
    assert found == find_worst_groups(frame.sample(frac=1.0, random_state=1), **told).structure
    assert found is not None
    times = find_worst_groups(frame.assign(refused=frame["refused"] * 8.0), **told).structure
    other_way = find_worst_groups(frame.assign(refused=1 - frame["refused"]), **told | {"better": "higher"}).structure
    assert times == replace(found, difference=8.0 * found.difference, at_least=8.0 * found.at_least)
    assert other_way == found


@pytest.fixture(scope="module")
def audited() -> dict[str, object]:
    frame = little_by_little(np.random.default_rng(38), 6_000)
    settings = {"better": "lower", "clustering": None, "slices": None}
    return {language: audit(frame, outcome="refused", language=language, **settings) for language in ("en", "nl")}


def test_a_report_says_that_no_few_words_describe_who_fares_worse(audited: dict[str, object]) -> None:
    said = audited["en"].worst_groups.structure
    assert said is not None
    assert said.confirmed
    assert said.at_least > 0.0
    texts = {language: " ".join(render_markdown(one.document).split()) for language, one in audited.items()}
    assert "the columns show who fares worse, in a way that a few conditions do not describe" in texts["en"]
    assert (
        "voorspellen de kolommen wie slechter af is, op een manier die niet in enkele voorwaarden is te vatten"
        in texts["nl"]
    )
    assert not audited["en"].ranked.findings  # so page 1 says it, too
    assert "the columns show that somebody is, and no short description fits these people" in texts["en"]
    assert "op een manier die niet in een paar woorden te beschrijven is" in texts["nl"]


def test_of_harmless_people_nothing_is_said() -> None:
    frame = little_by_little(np.random.default_rng(39), 1_500, step=0.0)
    harmless = audit(frame, outcome="refused", better="lower", clustering=None, slices=None)
    assert harmless.worst_groups.structure is not None
    assert not harmless.worst_groups.structure.confirmed
    assert "no few" not in render_markdown(harmless.document)
