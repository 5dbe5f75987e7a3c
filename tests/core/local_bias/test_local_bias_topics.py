"""What clusters are about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import DataError, SpecError
from bdt_core.inference import compare_samples
from bdt_core.local_bias.topics import feature_differences, nearest_rows, top_words

TEXTS = ["dogs bark at night", "dogs chase cats", "cats sleep all night"] * 6 + ["stocks fell", "bonds rose fast"] * 9
LABELS = np.repeat([0, 1], 18)


def test_class_based_tf_idf_by_hand():
    (first, second) = top_words(TEXTS, LABELS)
    by_word = {word.word: word for word in first}
    assert set(by_word) == {"dogs", "cats", "bark", "chase", "sleep", "night"}
    # 42 words in cluster 0, 45 in cluster 1, stop words and short words left out; dogs occur 12 times.
    in_first = 6 * (3 + 3 + 3)
    in_second = 9 * (2 + 3)
    assert by_word["dogs"].weight == pytest.approx(12 / in_first * np.log1p((in_first + in_second) / 2 / 12))
    assert by_word["dogs"].rows == 12
    weights = [word.weight for word in first]
    assert weights == sorted(weights, reverse=True)
    assert {word.word for word in second} == {"stocks", "fell", "bonds", "rose", "fast"}


def test_topics_of_latent_dirichlet_allocation():
    first, second = top_words(TEXTS, LABELS, method="lda", n_words=2)
    assert {word.word for word in first} <= {"dogs", "cats", "night", "bark", "sleep", "chase"}
    assert {word.word for word in second} <= {"stocks", "fell", "bonds", "rose", "fast"}


@pytest.mark.parametrize("method", ["ctfidf", "lda"])
def test_the_order_of_rows_does_not_matter(method):
    order = np.random.default_rng(0).permutation(len(TEXTS))
    again = top_words([TEXTS[i] for i in order], LABELS[order], method=method)
    assert again == top_words(TEXTS, LABELS, method=method)


def test_words_that_are_not_shown():
    shown = {
        word.word for words in top_words([*TEXTS, "secret"], np.append(LABELS, 1), exclude=["Dogs"]) for word in words
    }
    assert not shown & {"secret", "dogs", "at", "all"}
    assert top_words(["the", "a"], np.array([0, 1])) == ((), ())
    assert top_words(["one word"] * 3, np.array([0, 0, 1])) == ((), ())  # in fewer than five rows


@pytest.mark.parametrize("method", ["ctfidf", "lda"])
def test_a_word_of_every_row_sets_no_cluster_apart(method):
    """It is in all clusters alike, and would head every list for being said so often."""
    texts = [f"comment comment comment {text}" for text in TEXTS]
    some = [f"{text} weekly" if i % 3 == 0 else text for i, text in enumerate(texts)]  # a third of either cluster
    for words, others in zip(top_words(some, LABELS, method=method), top_words(TEXTS, LABELS), strict=True):
        assert {one.word for one in words} == {one.word for one in others}
    more = [f"{text} weekly" if i % 3 == 0 or i == 1 else text for i, text in enumerate(texts)]
    assert "weekly" in {one.word for one in top_words(more, LABELS, method=method)[0]}
    assert "weekly" not in {one.word for one in top_words(more, LABELS, method=method)[1]}


def test_what_is_refused():
    with pytest.raises(DataError, match="36 texts and 2 labels"):
        top_words(TEXTS, np.array([0, 1]))
    with pytest.raises(SpecError, match="method"):
        top_words(TEXTS, LABELS, method="bert")  # type: ignore[arg-type]


def test_rows_nearest_to_the_centre():
    X = np.random.default_rng(1).normal(size=(60, 3))
    labels = np.arange(60) % 2 * 2  # cluster 1 is empty
    found = nearest_rows(X, labels, n_rows=4)
    assert found[1] == ()
    inside = np.flatnonzero(labels == 0)
    distances = np.linalg.norm(X[inside] - X[inside].mean(axis=0), axis=1)
    assert found[0] == tuple(inside[np.argsort(distances)[:4]])


def test_features_against_all_other_rows():
    rng = np.random.default_rng(2)
    labels = np.arange(300) % 3
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=300),
            "size": rng.normal(size=300) + 2 * (labels == 1),
            "paid": (rng.random(300) < np.where(labels == 2, 0.9, 0.3)).astype(float),
            "town": np.where(labels == 0, "x", rng.choice(["y", "z"], 300)),
        }
    )
    frame.loc[3, "size"] = np.nan
    frame.loc[4, "town"] = None
    first, second, third = feature_differences(frame, labels, 3)
    assert (first[0].column, first[0].level, first[0].inside) == ("town", "x", 1.0)
    assert second[0].column == "size"
    assert third[0].column == "paid"
    inside = labels == 1
    known = frame["size"].notna()
    expected = compare_samples(frame["size"][known & inside], frame["size"][known & ~inside], test="welch")
    assert second[0].effect == expected.effect_size
    assert second[0].p_value == expected.p_value <= second[0].p_adjusted
    assert len(feature_differences(frame, labels, 3, n_features=1)[0]) == 1


def test_small_and_empty_clusters_are_not_described():
    frame = pd.DataFrame({"a": np.arange(100.0)})
    labels = np.repeat([0, 1], [95, 5])
    assert feature_differences(frame, labels, 3) == ((), (), ())
