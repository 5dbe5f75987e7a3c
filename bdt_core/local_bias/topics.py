"""Topics of clusters: their words, the rows at their centre, the features that set them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, SpecError
from bdt_core.inference import adjust_p_values, compare_category_counts, compare_samples
from bdt_core.inference.persons import Steps, compare_categories_of_persons, compare_persons, person_sums
from bdt_core.table.facts import holds_numbers

MIN_WORD_ROWS = 5
"""A word in fewer rows is not shown: it could tell who wrote them."""

MIN_LEVEL_ROWS = 10
"""The same for a level of a categorical column."""

MIN_ROWS = 30
"""A cluster with fewer rows, or persons, on either side is not told apart by its features."""


@dataclass(frozen=True)
class Word:
    """A word of a cluster, and how many of the cluster's rows have it.

    `weight` is class-based tf-idf, or the topic's share of the word; higher is more typical.
    """

    word: str
    weight: float
    rows: int


@dataclass(frozen=True)
class FeatureDifference:
    """A column inside a cluster against all other rows: mean of a number, share of a level.

    `level` is that of a categorical column whose share differs most, among those of at least 10 rows. `effect` is
    Hedges' g or Cohen's h, positive when higher inside; Cramér's V over all levels of a categorical column.
    `p_adjusted` is Benjamini-Hochberg's over all columns of all clusters.
    """

    column: str
    kind: Literal["numeric", "categorical"]
    level: str | None
    inside: float
    outside: float
    effect: float
    effect_name: str
    p_value: float
    p_adjusted: float


@dataclass(frozen=True)
class ClusterTopic:
    """What a cluster is about; what was not asked for is empty."""

    words: tuple[Word, ...] = ()
    nearest_rows: tuple[int, ...] = ()
    features: tuple[FeatureDifference, ...] = ()


def top_words(
    texts: Sequence[str],
    labels: NDArray[np.integer[Any]],
    *,
    n_words: int = 20,
    method: Literal["ctfidf", "lda"] = "ctfidf",
    exclude: Sequence[str] = (),
) -> tuple[tuple[Word, ...], ...]:
    """The words that tell each cluster (0, 1, ...) from the others, at most `n_words`, most typical first.

    "ctfidf", class-based tf-idf (M. Grootendorst, "BERTopic: neural topic modeling with a class-based TF-IDF
    procedure", 2022): the share of a word in a cluster times ln(1 + A / f), with A the mean number of words per cluster
    and f how often the word occurs in all. "lda", as in the paper on LOGAN (D. Blei, A. Ng, M. Jordan, "Latent
    Dirichlet Allocation", JMLR 3, 2003): a topic model with as many topics as clusters, and for each cluster the words
    of the topic that its texts are mostly about; two clusters can share one.

    English stop words do not count, nor those to `exclude`, such as names of groups, which would head every list.
    Ties are in the order of the alphabet. Words in fewer than 5 rows are not shown, nor those that no larger share of
    a cluster's rows has than of all others: what every row says sets none apart. DataError unless there is one text
    per label; SpecError for an unknown method.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    if method not in ("ctfidf", "lda"):
        raise SpecError(f'method must be "ctfidf" or "lda", not {method!r}.')
    labels = np.asarray(labels)
    if len(texts) != len(labels):
        raise DataError(f"There are {len(texts):,} texts and {len(labels):,} labels: one text per row is needed.")
    clusters = int(labels.max(initial=-1)) + 1
    order = np.lexsort((labels, np.array([str(text) for text in texts], dtype=object)))
    labels = labels[order]
    vectorizer = CountVectorizer(stop_words="english")
    try:
        counts = vectorizer.fit_transform([str(texts[i]) for i in order]).tocsr()
    except ValueError:  # nothing but stop words
        return ((),) * clusters
    words = vectorizer.get_feature_names_out()
    unwanted = {one.lower() for one in exclude}
    enough = np.asarray((counts > 0).sum(axis=0)).ravel() >= MIN_WORD_ROWS
    enough &= np.array([word not in unwanted for word in words])
    counts, words = counts[:, np.flatnonzero(enough)], words[enough]
    if not len(words):
        return ((),) * clusters
    weights = _lda(counts, labels, clusters) if method == "lda" else _ctfidf(counts, labels, clusters)
    rows = _per_cluster((counts > 0).astype(np.int64), labels, clusters)
    inside = np.bincount(labels, minlength=clusters)[:, None]
    more_often = rows * (len(labels) - inside) > (rows.sum(axis=0) - rows) * inside
    typical: list[tuple[Word, ...]] = []
    for label in range(clusters):
        ranked = [i for i in np.lexsort((words, -weights[label])).tolist() if more_often[label, i]]
        shown = (Word(str(words[i]), float(weights[label, i]), int(rows[label, i])) for i in ranked[:n_words])
        typical.append(tuple(shown))
    return tuple(typical)


def nearest_rows(
    X: NDArray[np.floating[Any]], labels: NDArray[np.integer[Any]], *, n_rows: int = 5
) -> tuple[tuple[int, ...], ...]:
    """Positions of the rows nearest to the mean of their cluster (0, 1, ...), nearest first, at most `n_rows`."""
    nearest: list[tuple[int, ...]] = []
    for label in range(int(labels.max(initial=-1)) + 1):
        rows = np.flatnonzero(labels == label)
        inside = np.asarray(X)[rows].astype(np.float64)
        if not len(rows):
            nearest.append(())
            continue
        distances = np.square(inside - inside.mean(axis=0)).sum(axis=1)
        nearest.append(tuple(int(rows[i]) for i in np.argsort(distances, kind="stable")[:n_rows]))
    return tuple(nearest)


def feature_differences(
    frame: pd.DataFrame,
    labels: NDArray[np.integer[Any]],
    clusters: int,
    *,
    alpha: float = 0.05,
    n_features: int = 10,
    persons: NDArray[np.uint64] | None = None,
) -> tuple[tuple[FeatureDifference, ...], ...]:
    """Columns that differ most between each cluster and all other rows, the strongest effect first.

    Use rows that the clusters were not made of: on those every feature differs, by construction. `clusters` counts
    empty ones, too; one with fewer than `MIN_ROWS` rows, on either side, is left out. Numbers are tested by Welch's
    test (the exact one for two values), categories by chi-squared over all levels. Given `persons`, the hash of whom
    each row belongs to, tests and `MIN_ROWS` count persons.
    """
    who = None if persons is None else np.unique(persons, return_inverse=True)[1]
    differences = [
        [
            difference
            for name in frame.columns
            if (difference := _compare(frame[name], labels == label, alpha, who)) is not None
        ]
        for label in range(clusters)
    ]
    adjusted = iter(adjust_p_values([one.p_value for columns in differences for one in columns], "bh"))
    corrected = [[replace(one, p_adjusted=float(next(adjusted))) for one in columns] for columns in differences]
    return tuple(
        tuple(sorted(columns, key=lambda one: (-abs(one.effect), one.column))[:n_features]) for columns in corrected
    )


def _compare(
    column: pd.Series[Any], inside: NDArray[np.bool_], alpha: float, who: NDArray[np.intp] | None
) -> FeatureDifference | None:
    return (_compare_numbers if holds_numbers(column) else _compare_levels)(column, inside, alpha, who)


def _compare_numbers(
    column: pd.Series[Any], inside: NDArray[np.bool_], alpha: float, who: NDArray[np.intp] | None
) -> FeatureDifference | None:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    known = np.isfinite(values)
    a, b = values[known & inside], values[known & ~inside]
    two_values = len(np.unique(values[known])) <= 2
    result = compare_samples(a, b, test="auto" if two_values else "welch", alpha=alpha, min_rows=MIN_ROWS)
    if who is not None:
        steps = Steps.of(np.unique(values[known]))
        x, size = steps.count(values), int(who.max()) + 1
        in_a, in_b = known & inside, known & ~inside
        sums = person_sums(x[in_a], who[in_a], size), person_sums(x[in_b], who[in_b], size)
        result = compare_persons(result, sums[0], sums[1], steps, min_rows=MIN_ROWS)
    if result.effect_size is None or result.p_value is None or result.mean_a is None or result.mean_b is None:
        return None
    return FeatureDifference(
        str(column.name), "numeric", None, result.mean_a, result.mean_b, result.effect_size, result.effect_name or "",
        result.p_value, np.nan,
    )  # fmt: skip


def _compare_levels(
    column: pd.Series[Any], inside: NDArray[np.bool_], alpha: float, who: NDArray[np.intp] | None
) -> FeatureDifference | None:
    texts = column.astype("object").where(column.notna(), "(missing)").to_numpy(dtype=str)
    levels, codes = np.unique(texts, return_inverse=True)
    a = np.bincount(codes[inside], minlength=len(levels))
    b = np.bincount(codes[~inside], minlength=len(levels))
    result = compare_category_counts(a, b, alpha=alpha, min_rows=MIN_ROWS)
    if who is not None:
        size = int(who.max()) + 1
        has = [(codes == level).astype(np.float64) for level in range(len(levels))]
        sums = [
            (person_sums(one[inside], who[inside], size), person_sums(one[~inside], who[~inside], size)) for one in has
        ]
        result = compare_categories_of_persons(result, a, b, sums, min_rows=MIN_ROWS)
    enough = a + b >= MIN_LEVEL_ROWS
    if result.effect_size is None or result.p_value is None or not enough.any():
        return None
    share_a, share_b = a / a.sum(), b / b.sum()
    level = int(np.where(enough, np.abs(share_a - share_b), -1.0).argmax())
    return FeatureDifference(
        str(column.name), "categorical", str(levels[level]), float(share_a[level]), float(share_b[level]),
        result.effect_size, result.effect_name or "", result.p_value, np.nan,
    )  # fmt: skip


def _ctfidf(counts: Any, labels: NDArray[Any], clusters: int) -> NDArray[np.float64]:
    per_cluster = _per_cluster(counts, labels, clusters).astype(np.float64)
    in_cluster = np.maximum(per_cluster.sum(axis=1, keepdims=True), 1.0)
    mean_words = per_cluster.sum() / clusters
    weights: NDArray[np.float64] = per_cluster / in_cluster * np.log1p(mean_words / per_cluster.sum(axis=0))
    return weights


def _lda(counts: Any, labels: NDArray[Any], clusters: int) -> NDArray[np.float64]:
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_components=max(clusters, 1), random_state=0)
    shares = model.fit_transform(counts)
    topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
    main = [int(shares[labels == label].sum(axis=0).argmax()) for label in range(clusters)]
    weights: NDArray[np.float64] = topics[main]
    return weights


def _per_cluster(counts: Any, labels: NDArray[Any], clusters: int) -> NDArray[np.int64]:
    """Sums of a sparse matrix's rows per cluster, dense: (clusters, words)."""
    sums = [counts[np.flatnonzero(labels == label)].sum(axis=0) for label in range(clusters)]
    return np.concatenate([np.asarray(one, dtype=np.int64).reshape(1, -1) for one in sums])
