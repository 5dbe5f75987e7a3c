"""Local bias: the published tables, what is left out, and gaps tested on rows that were not searched."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from bdt_core.errors import DataError, SourceError, SpecError
from bdt_core.inference import adjust_p_values, compare_counts, mid_p_value
from bdt_core.local_bias import LocalBias, LocalBiasSettings, LocalRows, find_local_bias
from bdt_core.local_bias.embeddings import read_embeddings
from bdt_core.local_bias.gap_null import summarise_gaps

# Zhao & Chang (2020), tables 8 and 9, race: white rows, black rows, white accuracy, black accuracy in percent. The
# last three lines of table 9 are filled in from the printed output of the authors' published notebook.
K_MEANS = [
    (112, 26, 75.9, 53.8), (116, 41, 81.0, 70.7), (96, 53, 84.4, 67.9), (128, 59, 72.7, 72.9),
    (128, 81, 85.2, 85.2), (192, 75, 88.0, 80.0), (122, 66, 80.3, 81.8), (63, 40, 69.8, 75.0),
]  # fmt: skip
PUBLISHED_LOGAN = [
    (103, 29, 76.7, 55.2), (130, 43, 83.1, 67.4), (109, 56, 85.3, 71.4), (62, 42, 64.5, 71.4),
    (142, 77, 83.8, 84.4), (246, 92, 85.772, 80.435), (111, 64, 79.279, 82.812), (54, 38, 64.815, 73.684),
]  # fmt: skip


def counts(table):
    rows = np.array([line[:2] for line in table])
    return np.rint(rows * np.array([line[2:] for line in table]) / 100).astype(int), rows


@pytest.mark.parametrize(
    ("table", "bcr", "bir", "mean_gap", "expected_by_chance", "p"),
    [(K_MEANS, 62.5, 58.2, 12.4, 0.46, 0.28), (PUBLISHED_LOGAN, 75.0, 71.8, 12.0, 0.47, 0.11)],
    ids=["k-means", "LOGAN"],
)
def test_the_published_tables(table, bcr, bir, mean_gap, expected_by_chance, p):
    events, rows = counts(table)
    assert events.sum(axis=0).tolist() == [773, 335]  # all 957 and 441 rows are there, with the global accuracies
    summary = summarise_gaps(events, rows, permutations=9999)
    assert round(100 * summary.bcr, 1) == bcr
    assert round(100 * summary.bir, 1) == bir
    assert round(100 * summary.mean_gap, 1) == mean_gap
    null = summary.within_clusters
    assert null.bcr == pytest.approx(expected_by_chance, abs=0.015)
    assert null.p_bcr == pytest.approx(p, abs=0.015)
    tests = [mid_p_value(*map(int, (e[0], n[0], e[1], n[1]))) for e, n in zip(events, rows, strict=True)]
    assert (adjust_p_values(tests, "bh") > 0.05).all()  # not one of the eight gaps is significant


def test_the_null_is_what_permuting_groups_gives():
    events, rows = np.array([[30, 12], [44, 21]]), np.array([[50, 30], [60, 25]])
    null = summarise_gaps(events, rows, permutations=4000, smallest=10).within_clusters
    rng = np.random.default_rng(3)
    drawn = []
    for _ in range(4000):
        biased = 0
        for e, n in zip(events.sum(axis=1), rows, strict=True):
            hits = rng.permutation(np.repeat([1, 0], [e, n.sum() - e]))
            biased += abs(hits[: n[0]].mean() - hits[n[0] :].mean()) >= 0.05
        drawn.append(biased / 2)
    assert null.bcr == pytest.approx(np.mean(drawn), abs=0.03)


def test_a_gap_of_exactly_the_threshold_is_biased():
    summary = summarise_gaps(np.array([[17, 16], [80, 80]]), np.array([[20, 20], [100, 101]]), permutations=0)
    assert 17 / 20 - 16 / 20 < 0.05  # in floats
    assert (summary.bcr, summary.biased, summary.within_clusters) == (0.5, 1, None)


def test_clusters_in_which_only_one_group_counts_are_not_summarised():
    summary = summarise_gaps(np.array([[15, 0], [80, 50]]), np.array([[30, 5], [100, 100]]))
    assert (summary.clusters, summary.bcr, summary.bir) == (1, 1.0, 1.0)
    nothing = summarise_gaps(np.array([[15, 0]]), np.array([[30, 5]]))
    assert (nothing.clusters, nothing.bcr, nothing.largest_gap, nothing.within_clusters) == (0, None, None, None)
    with pytest.raises(DataError, match="events <= rows"):
        summarise_gaps(np.array([[31, 0]]), np.array([[30, 5]]))


def draw(n, seed, drop=0.45):
    """Two features; in the upper half of the first, group b is right less often."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) + np.array([4.0, 0.0]) * rng.integers(0, 2, (n, 1))
    group = np.where(rng.random(n) < 0.5, "b", "a").astype(object)
    correct = rng.random(n) < np.where((x[:, 0] > 2) & (group == "b"), 0.9 - drop, 0.9)
    return LocalRows(x, group, correct=correct)


SETTINGS = LocalBiasSettings(n_clusters=6, weight=0.05, n_init=3, permutations=199)


@pytest.fixture(scope="module")
def found():
    return find_local_bias(draw(1500, 1), draw(900, 2), SETTINGS)


def test_every_table_and_test_is_that_of_the_counts(found):
    train, test = draw(1500, 1), draw(900, 2)
    for name in ("logan", "kmeans"):
        clustering = getattr(found, name)
        labels = found.predict(test.X, name)
        p_values = []
        for one in clustering.clusters:
            inside = labels == one.label
            assert one.test_rows == inside.sum()
            for value in one.test:
                mine = inside & (test.group == value.group)
                assert (value.rows, value.events) == (mine.sum(), test.correct[mine].sum())
            by_name = {value.group: value for value in one.test}
            higher, lower = by_name[one.held_out.higher], by_name[one.held_out.lower]
            expected = compare_counts(higher.events, higher.counted, lower.events, lower.counted, min_rows=10)
            assert one.held_out.gap == expected.difference
            assert (one.held_out.low, one.held_out.high) == (expected.low, expected.high)
            assert one.held_out.p_value == expected.p_value
            p_values.append(expected.p_value)
            trained = {value.group: value.value for value in one.train}
            assert one.train_gap == pytest.approx(abs(trained["a"] - trained["b"]), abs=1e-12)
            assert trained[one.held_out.higher] >= trained[one.held_out.lower]
        assert [one.held_out.p_adjusted for one in clustering.clusters] == adjust_p_values(p_values, "bh").tolist()
        gaps = [one.train_gap for one in clustering.clusters]
        assert gaps == sorted(gaps, reverse=True)
        assert clustering.train.bcr == np.mean([gap >= 0.05 for gap in gaps])
        assert sum(one.train_rows for one in clustering.clusters) == 1500
    assert [one.events for one in found.everywhere.train] == [train.correct[train.group == g].sum() for g in "ab"]
    assert found.everywhere.label is None


def test_what_is_there_is_confirmed_and_where(found):
    for clustering in (found.logan, found.kmeans):
        for one in clustering.clusters:
            centre = draw(900, 2).X[found.predict(draw(900, 2).X, "logan") == one.label, 0].mean()
            if clustering is found.logan:
                assert one.held_out.confirmed == (centre > 2)
            if one.held_out.confirmed:
                assert (one.held_out.higher, one.held_out.lower) == ("a", "b")
        assert clustering.confirmed == sum(one.held_out.confirmed for one in clustering.clusters) >= 2
        assert clustering.test.within_clusters.p_bcr <= 0.05
    assert found.kmeans.off_centre == 0 < found.logan.off_centre
    assert found.kmeans.inertia_ratio == 1
    assert 1 <= found.logan.inertia_ratio + 1e-3 < 1.05


def test_it_becomes_json_and_comes_back(found):
    data = json.loads(json.dumps(found.to_dict()))
    again = LocalBias.from_dict(data)
    assert again.to_dict() == found.to_dict()
    X = draw(300, 3).X
    for name in ("logan", "kmeans"):
        assert (again.predict(X, name) == found.predict(X, name)).all()


def test_the_order_of_rows_does_not_matter(found):
    train = draw(1500, 1)
    order = np.random.default_rng(0).permutation(1500)
    shuffled = LocalRows(train.X[order], train.group[order], correct=train.correct[order])
    again = find_local_bias(shuffled, draw(900, 2), SETTINGS).to_dict()
    for clustering in ("logan", "kmeans"):
        for one in again[clustering]["clusters"]:
            one["about"]["nearest_rows"] = [int(order[i]) for i in one["about"]["nearest_rows"]]
    assert again == found.to_dict()


def test_rows_without_a_group_or_an_outcome_are_counted():
    train, test = draw(600, 4), draw(400, 5)
    train.group[:7] = None
    correct = train.correct.astype(object)
    correct[5:20] = np.nan
    test.group[:3] = "c"
    result = find_local_bias(replace(train, correct=correct), test, SETTINGS)
    assert result.left_out == {"without group": 7, "without correct": 13, "of a group that no train row has": 3}
    assert (result.train_rows, result.test_rows) == (580, 397)


def test_small_groups_are_named_and_small_test_sides_are_not_tested():
    train, test = draw(600, 6), draw(60, 7)
    train.group[:8] = "few"
    result = find_local_bias(train, test, replace(SETTINGS, n_clusters=8))
    assert result.notes == ('Groups with fewer than 20 train rows count in no cluster: "few" (8).',)
    reasons = [one.held_out.reason for one in result.logan.clusters if one.held_out.status == "not_testable"]
    assert reasons
    assert all("each group needs at least 10" in one for one in reasons)
    nothing = find_local_bias(train, test, replace(SETTINGS, min_group_size=500))
    assert nothing.logan.train.bcr is None
    assert "nothing can be said" in nothing.notes[-1]
    assert {one.held_out.status for one in nothing.logan.clusters} == {"not_testable"}
    json.dumps(nothing.to_dict())


def test_groups_with_enough_test_rows_are_compared_though_a_small_one_is_further_off():
    """A third group, right least often, has train rows enough and three test rows: the other two are still compared."""
    train, test = draw(1500, 6), draw(900, 7)
    third, seen = np.arange(1500) % 10 == 0, np.arange(900) < 3
    train.group[third], test.group[seen] = "c", "c"
    train.correct[third] = np.arange(third.sum()) % 3 == 0
    result = find_local_bias(train, test, replace(SETTINGS, n_clusters=2, weight=0.0))
    for one in (result.everywhere, *result.logan.clusters):
        assert one.held_out.status == "tested"
        assert {one.held_out.higher, one.held_out.lower} == {"a", "b"}
        by_group = {each.group: each.value for each in one.train}
        assert one.held_out.train_gap == by_group[one.held_out.higher] - by_group[one.held_out.lower] > 0
        assert one.train_gap == max(by_group.values()) - by_group["c"] > one.held_out.train_gap
    found = find_local_bias(train, replace(test, group=np.where(test.group == "b", "c", test.group)), SETTINGS)
    assert {found.everywhere.held_out.higher, found.everywhere.held_out.lower} == {"a", "c"}  # whoever has them


def test_the_area_under_the_curve():
    rng = np.random.default_rng(8)

    def part(n):
        x = rng.normal(size=(n, 2)) + np.array([5.0, 0.0]) * rng.integers(0, 2, (n, 1))
        group, label = rng.integers(0, 2, n), rng.integers(0, 2, n)
        told = np.where((x[:, 0] > 2.5) & (group == 1), 0.0, 1.5)
        return LocalRows(x, group, y_true=label, y_score=np.round(rng.normal(size=n) + told * label, 1))

    train, test = part(1500), part(1200)
    result = find_local_bias(train, test, replace(SETTINGS, n_clusters=2, metric="auc", permutations=99))
    first, second = result.logan.clusters
    assert first.held_out.confirmed
    assert not second.held_out.confirmed
    inside = result.predict(test.X) == 0
    areas = [
        roc_auc_score(test.y_true[inside & (test.group == one)], test.y_score[inside & (test.group == one)])
        for one in (0, 1)
    ]
    assert first.held_out.gap == pytest.approx(areas[0] - areas[1], abs=1e-12)
    assert first.held_out.low < areas[0] - areas[1] < first.held_out.high
    assert result.logan.test.within_clusters.p_largest_gap <= 0.01 < result.logan.test.largest_gap
    # Where groups are told apart alike the permuted gaps are as large as the one found.
    without = replace(test, y_score=rng.random(1200))
    null = find_local_bias(train, without, replace(SETTINGS, n_clusters=2, metric="auc", permutations=99))
    assert null.logan.test.within_clusters.p_largest_gap > 0.01


@pytest.mark.parametrize("metric", ["tpr", "fpr"])
def test_rates_have_their_own_denominator(metric):
    rng = np.random.default_rng(9)

    def part(n):
        x, group, label = rng.normal(size=(n, 2)), rng.integers(0, 2, n), rng.integers(0, 2, n)
        return LocalRows(x, group, y_true=label, y_pred=rng.integers(0, 2, n))

    train, test = part(800), part(500)
    result = find_local_bias(train, test, replace(SETTINGS, n_clusters=3, metric=metric))
    known = train.y_true == (metric == "tpr")
    for value in result.everywhere.train:
        mine = known & (train.group == int(value.group))
        assert (value.counted, value.events) == (mine.sum(), train.y_pred[mine].sum())
        assert value.rows == (train.group == int(value.group)).sum()


def test_the_whole_search_is_repeated_when_asked():
    result = find_local_bias(draw(500, 10, drop=0.0), draw(200, 11), replace(SETTINGS, refits=19, weight=0.1))
    null = result.logan.train.whole_search
    assert null.permutations == 19
    assert null.p_bcr >= 0.05
    # The search makes gaps where there are none: more than permuted groups have in clusters that stay.
    assert null.largest_gap > result.logan.train.within_clusters.largest_gap
    assert result.kmeans.train.whole_search is None


def test_tables_are_encoded_and_their_clusters_described():
    rng = np.random.default_rng(12)

    def part(n):
        old = rng.random(n) < 0.5
        frame = pd.DataFrame(
            {
                "age": np.where(old, 60.0, 30.0) + rng.normal(size=n) * 5,
                "job": np.where(rng.random(n) < np.where(old, 0.9, 0.1), "retired", "nurse"),
            }
        )
        frame.loc[rng.random(n) < 0.05, "age"] = np.nan
        group = np.where(rng.random(n) < 0.5, "f", "m")
        return LocalRows(frame, group, correct=rng.random(n) < np.where(old & (group == "f"), 0.5, 0.9))

    result = find_local_bias(part(900), part(600), replace(SETTINGS, n_clusters=3, min_group_size=30))
    first = result.logan.clusters[0]
    assert first.held_out.confirmed
    age = next(one for one in first.about.features if one.column == "age")
    assert age.inside > age.outside + 10
    assert age.p_adjusted < 1e-6
    job = next(one for one in first.about.features if one.column == "job")
    assert job.kind == "categorical"
    assert job.level is not None
    one_more = pd.DataFrame({"job": ["retired", "pilot"], "age": [64.0, np.nan]})
    assert result.predict(one_more)[0] == first.label
    assert not first.about.nearest_rows


@pytest.mark.parametrize("words_by", ["ctfidf", "lda"])
def test_texts_are_told_by_their_words(words_by):
    rng = np.random.default_rng(13)
    topic = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 8)).astype(np.float32) + 8 * topic[:, None].astype(np.float32)
    texts = [("football goal women" if one else "election vote women") + f" unique{i}" for i, one in enumerate(topic)]
    rows = LocalRows(X, np.where(rng.random(400) < 0.5, "women", "men"), correct=rng.random(400) < 0.8, texts=texts)
    result = find_local_bias(rows, rows, replace(SETTINGS, n_clusters=2, words_by=words_by))
    for one in result.logan.clusters:
        words = {word.word for word in one.about.words}
        assert words in ({"football", "goal"}, {"election", "vote"})  # neither the group's name nor rare words
        # A topic of a topic model is a distribution over the words; class-based tf-idf has no such bound.
        assert (sum(word.weight for word in one.about.words) == pytest.approx(1.0, abs=0.01)) == (words_by == "lda")
        assert len({topic[i] for i in one.about.nearest_rows}) == 1
        assert one.about.nearest_rows


def test_embeddings_from_a_file(tmp_path):
    path = tmp_path / "embeddings.npy"
    np.save(path, np.arange(12.0, dtype=np.float32).reshape(4, 3))
    assert read_embeddings(path, 4).sum() == 66
    with pytest.raises(DataError, match="have 4 rows and the table has 5"):
        read_embeddings(path, 5)
    with pytest.raises(SourceError, match="none.npy does not exist"):
        read_embeddings(tmp_path / "none.npy", 4)
    np.save(path, np.arange(4.0))
    with pytest.raises(DataError, match="two dimensions"):
        read_embeddings(path, 4)
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="Cannot read the embeddings"):
        read_embeddings(path, 1)


REFUSED = [
    (lambda rows: replace(rows, group=np.full(300, "a")), 'of one group ("a")'),
    (lambda rows: replace(rows, group=np.full(300, None)), "No train row can be used for local bias: 300 without race"),
    (lambda rows: replace(rows, X=rows.X[:299]), "In the train part X has 299 rows and group has 300"),
    (lambda rows: replace(rows, texts=["a"]), "there are 1 texts"),
    (lambda rows: replace(rows, X=np.full((300, 2), np.inf)), "missing, infinite"),
    (lambda rows: replace(rows, correct=None), "needs correct, or y_true and y_pred"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_unusable_rows_are_refused(change, message):
    with pytest.raises(DataError) as error:
        find_local_bias(change(draw(300, 14)), draw(300, 15), replace(SETTINGS, group="race"))
    assert message in str(error.value)


def test_a_test_part_of_other_groups_is_refused():
    test = replace(draw(300, 15), group=np.full(300, "c"))
    with pytest.raises(DataError, match="No test row can be used for local bias: 300 of a group that no train row has"):
        find_local_bias(draw(300, 14), test, SETTINGS)


@pytest.mark.parametrize("setting", [{"threshold": 0.0}, {"alpha": 1.0}, {"permutations": -1}, {"metric": "f1"}])
def test_wrong_settings_are_named(setting):
    with pytest.raises(SpecError, match=next(iter(setting))):
        find_local_bias(draw(300, 14), draw(300, 15), replace(SETTINGS, **setting))


def test_constant_features_make_one_cluster():
    rows = draw(300, 16)
    result = find_local_bias(replace(rows, X=np.ones((300, 3))), replace(rows, X=np.ones((300, 3))), SETTINGS)
    assert len(result.logan.clusters) == 1
    assert result.logan.inertia_ratio is None
    assert "only 1 different row" in result.notes[0]
    assert result.logan.clusters[0].held_out.gap == result.everywhere.held_out.gap
