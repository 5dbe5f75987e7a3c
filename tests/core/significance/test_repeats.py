"""Repeated splits and the permuted procedure."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bdt_core import words
from bdt_core.audit import audit
from bdt_core.clustering.clusters import find_clusters
from bdt_core.inference import compare_samples
from bdt_core.report.main_test import key_numbers
from bdt_core.report.page import build_page
from bdt_core.report.printed import printed
from bdt_core.significance.clusters import ClusterSignificance, compare_clusters
from bdt_core.significance.repeats import RepeatedSplits
from bdt_core.spec import Limit, parse_spec
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate
from bdt_core.verdict import judge_clusters
from benchmarks import simulated


def planted(seed: int, effect: float, n: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = simulated.features(rng, n, "numeric")
    group = rng.random(n) < 0.25
    frame.loc[group, "x0"] += 6
    return frame.assign(y=(rng.random(n) < 0.2 + effect * group).astype(float))


def splits(seed: int, effect: float, n: int = 1500, **change: object) -> ClusterSignificance:
    return simulated.run(planted(seed, effect, n), 3, split={"random_state": 3, **change}).significance


def test_several_splits_keep_the_first_and_test_every_row_once():
    once, many = splits(1, 0.25, repeats=1), splits(1, 0.25)
    assert once.repeats is None
    assert once.deciding == once.primary.comparison
    assert many.clusters == once.clusters
    assert many.repeats.p_values[0] == once.primary.comparison.p_value
    assert len(set(many.repeats.differences[:3])) == 3
    assert many.repeats.p_values[3:] == (None, None)  # too few rows of their own, which count all the same
    assert many.repeats.test_rows == (300, 240, 192, 154, 123)  # a fifth of what is left
    together = many.deciding
    assert together == many.repeats.together
    assert together.n_a + together.n_b == sum(many.repeats.test_rows)
    assert together.low > 0.0
    assert together.p_value < once.primary.comparison.p_value


def test_each_split_divides_the_train_rows_of_the_one_before():
    """Seen from the last search to the first: rows are tested, and only then used to search."""
    seen: list[tuple[set, set]] = []

    def split(table, settings):
        train, test = split_rows(table, settings)
        seen.append((set(train.X["x0"]), set(test.X["x0"])))
        return train, test

    searched: list[set] = []

    def find(train, settings):
        searched.append(set(train.X["x0"]))
        return find_clusters(train, settings)

    frame = planted(1, 0.25)
    spec = parse_spec({**simulated.SPEC, "split": {"random_state": 3}})
    train, test = split_rows(validate(frame, spec), spec.split)
    own = find_clusters(train, spec.clustering)
    compare_clusters(own, train, test, spec.significance, split=split, find=find)
    left, tested = set(train.X["x0"]), set(test.X["x0"])
    for (now_left, now_tested), rows in zip(seen, searched, strict=True):
        assert now_left | now_tested == left
        assert not now_tested & (now_left | tested)
        assert rows == now_left
        left, tested = now_left, tested | now_tested
    assert len(searched) == 4


def test_clusters_of_all_splits_are_as_large_a_share():
    """Else no group of less than a tenth could be found on the rows that are left."""
    sizes = []

    def find(train, settings):
        found = find_clusters(train, settings)
        sizes.append(found.min_cluster_rows / train.audited_rows)
        return found

    spec = parse_spec(simulated.SPEC)
    train, test = split_rows(validate(planted(1, 0.25), spec), spec.split)
    own = find_clusters(train, spec.clustering)
    compare_clusters(own, train, test, spec.significance, find=find)
    assert sizes == pytest.approx([own.min_cluster_rows / 1200] * 4, abs=0.003)


@pytest.mark.parametrize(
    ("rows", "split", "more", "number"),
    [
        (1500, {}, {}, 5),
        (1500, {"test_size": 0.3}, {}, 3),
        (1500, {"test_size": 0.1}, {}, 5),
        (1500, {"test_size": 0.5}, {}, 1),
        (1500, {"test_size": 0.5, "repeats": 3}, {}, 3),
        (300, {}, {}, 4),  # of five splits the last search would have 98 rows
        (300, {}, {"significance": {"min_rows": 10}}, 5),
        (1500, {}, {"large_rows": 1000}, 1),
        (1500, {"repeats": 2}, {"large_rows": 1000}, 2),
        (1500, {}, {"clustering": {"engine": "reference", "stability": 0, "max_iter": 2}}, 1),
    ],
)
def test_there_are_as_many_splits_as_the_rows_allow(rows, split, more, number):
    found = simulated.run(planted(1, 0.4, rows), 3, **{"split": split, **more}).significance
    assert (len(found.repeats.p_values) if found.repeats else 1) == number


def test_persons_and_not_rows_are_what_the_splits_have():
    """Five rows a person: 300 persons allow four splits, as 300 rows do; and who is tested once is not tested again."""
    frame = planted(1, 0.4, 300).assign(person=np.arange(300))
    frame = frame.loc[frame.index.repeat(5)].reset_index(drop=True)
    frame["x1"] = np.random.default_rng(1).normal(size=len(frame))
    features = {"include": ["x0", "x1"]}
    found = simulated.run(frame, 3, split={"key": "person"}, features=features).significance
    assert len(found.repeats.p_values) == 4
    together = found.repeats.together
    assert together.persons.a + together.persons.b >= found.repeats.persons > 150
    assert together.n_a + together.n_b == 5 * found.repeats.persons


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(-0.1, 0.12, "inconclusive"), (0.1, 0.3, "fail"), (-0.04, 0.04, "pass")]
)
def test_no_lucky_split_decides(low, high, verdict):
    """The audit's own split fails, whatever the others say; with several, all decide together."""
    own = splits(1, 0.3, repeats=1)
    limit = Limit(max_difference=0.05)
    assert judge_clusters(limit, own).verdict == "fail"
    together = replace(own.primary.comparison, difference=(low + high) / 2, low=low, high=high, p_value=0.04)
    repeats = RepeatedSplits((0.001, 0.4, None), (0.3, 0.1, None), (300, 240, 192), together)
    found = judge_clusters(limit, replace(own, repeats=repeats))
    assert (found.verdict, found.p_value, found.low, found.high) == (verdict, 0.04, low, high)
    assert "of cluster 0, found anew on each of 3 splits, is" in found.sentence
    assert "on 300 rows that their searches never saw" in found.sentence
    each = Limit(check="any_cluster", max_difference=0.05)
    assert judge_clusters(each, replace(own, repeats=repeats)) == judge_clusters(each, own)


def test_what_one_split_cannot_test_several_can():
    """The cluster has too few test rows for the audit's own test."""
    own = splits(1, 0.3, repeats=1)
    untested = replace(own.primary, comparison=compare_samples(np.ones(3), np.zeros(9)))
    several = replace(splits(1, 0.3), clusters=(untested, *own.clusters[1:]))
    assert several.main_significant
    assert judge_clusters(Limit(max_difference=0.01), several).verdict == "fail"
    assert judge_clusters(Limit(max_difference=0.01), replace(several, repeats=None)).verdict == "not_testable"


def test_gate_and_report_follow_the_splits_together():
    spec = {**simulated.SPEC, "gate": [{"check": "worst_cluster", "max_difference": 0.01}]}
    document = audit(planted(1, 0.25), spec | {"split": {"random_state": 3}}).document
    once = audit(planted(1, 0.25), spec | {"split": {"random_state": 3, "repeats": 1}}).document
    found, limit = document["primary_test"]["repeated_splits"]["together"], document["gate"][0]
    assert (limit["p_value"], limit["low"], limit["high"]) == (found["p_value"], found["low"], found["high"])
    assert limit["low"] != document["primary_test"]["comparison"]["low"] == once["gate"][0]["low"]
    size = words.difference(found["difference"], found["low"], found["high"], confidence=0.95, unit="rate")
    assert document["summary"]["cluster"].endswith(
        f" for everybody else. Found anew on each of 5 splits, on 1,009 rows in all: difference {size}, p < 0.001."
    )
    assert document["clusters"] == once["clusters"]
    page = build_page(document)
    numbers = key_numbers(printed(document))
    assert numbers[0][0].endswith("in cluster 0, 5 splits together")
    assert numbers[4][1].startswith(f"{words.p_number(found['p_value'])} (")
    trust = next(one for one in page.sections if one.title == "How far to trust this")
    assert "5 in all, this report's own first" in str(trust)


@pytest.mark.parametrize(("effect", "low", "high"), [(0.3, 0.0, 0.03), (0.0, 0.03, 1.0)])
def test_the_permuted_procedure_tells_a_planted_group_from_none(effect, low, high):
    change = {"significance": {"test": "permutation", "permutations": 39}}
    found = simulated.run(planted(2, effect), 1, **change).significance.procedure
    assert found.permutations == 39
    assert low <= found.p_value <= high


def test_the_permuted_procedure_keeps_its_error_rate():
    change = {"significance": {"test": "permutation", "permutations": 19}}
    p_values = [simulated.run(planted(s, 0.0, 600), s, **change).significance.procedure.p_value for s in range(60)]
    assert sum(p <= 0.1 for p in p_values) <= 13  # binomial(60, .1): p < .01 above


def test_the_shape_of_the_settings_says_when_nothing_is_repeated():
    assert simulated.run(planted(4, 0.2), 1).significance.procedure is None
