"""Local group bias: places where an algorithm treats groups differently.

Clusters are found on the train rows and judged on the test rows, because a search for gaps finds gaps in noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Threshold
from bdt_core.fairness.declared_groups import favourable_values
from bdt_core.fairness.favourable import favourable
from bdt_core.local_bias.embeddings import embeddings_of_rows, read_embeddings
from bdt_core.local_bias.gap_null import summary_of, whole_search_null
from bdt_core.local_bias.held_out import judged_clusters, values_together
from bdt_core.local_bias.logan import LOGAN
from bdt_core.local_bias.metrics import Integers, gaps
from bdt_core.local_bias.partition import Partition
from bdt_core.local_bias.places import Divided, NamedPlaces, divided_by, named_places
from bdt_core.local_bias.results import LocalBias, LocalCluster, LocalClustering
from bdt_core.local_bias.rows import LocalRows, LocalSides, matrices, read_sides
from bdt_core.local_bias.settings import LocalBiasSettings, check_settings
from bdt_core.local_bias.topics import ClusterTopic, feature_differences, nearest_rows, top_words
from bdt_core.said import Numeral, joined, say
from bdt_core.spec import LocalBiasSection
from bdt_core.table.audit_table import KEY, ROW, AuditTable
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import rows_at_hand
from bdt_core.words import count

PUBLISHED_THRESHOLD = 0.05  # a gap from which the published summaries call a cluster biased


def find_local_bias(train: LocalRows, test: LocalRows, settings: LocalBiasSettings) -> LocalBias:
    """Cluster the train rows by LOGAN and by k-means, and test the gaps that were found on the test rows.

    Parameters
    ----------
    train, test : LocalRows
        With the same columns.
    settings : LocalBiasSettings

    Returns
    -------
    LocalBias

    Raises
    ------
    DataError
        X and the other arrays differ in length, X holds what no distance can be computed with, a part has no rows
        left, or the train rows are all of one group.
    SpecError
        A setting out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def draw(n):
    ...     x = rng.normal(size=(n, 2)) + 6 * rng.integers(0, 2, (n, 1))
    ...     group = rng.choice(["f", "m"], n)
    ...     wrong = rng.random(n) < np.where((x[:, 0] > 3) & (group == "f"), 0.4, 0.1)
    ...     return LocalRows(x, group, correct=~wrong)
    >>> result = find_local_bias(draw(2000), draw(1000), LocalBiasSettings(n_clusters=2))
    >>> [one.held_out.confirmed for one in result.logan.clusters]
    [True, False]
    >>> result.logan.clusters[0].held_out.lower
    'f'
    """
    check_settings(settings)
    sides = read_sides(train, test, settings)
    encoder, train_X, test_X = matrices(sides.train.rows.X, sides.test.rows.X)
    named = settings.places is not None
    model = LOGAN(
        settings.n_clusters,
        weight=0.0 if named else settings.weight,
        metric=settings.metric,
        min_group_size=settings.min_group_size,
        min_clusters=settings.min_clusters,
        max_off_centre=settings.max_off_centre,
        n_init=settings.n_init,
        random_state=settings.random_state,
    ).fit(train_X, group=sides.train.rows.group, **sides.train.rows.outcomes)
    places: Partition | NamedPlaces = model.partition_
    if named:
        places, divided = named_places(sides, train_X)
    else:
        divided = divided_by(model.partition_, "LOGAN", train_X, test_X)
    by_distance = divided_by(model.kmeans_, "k-means", train_X, test_X)
    orders = {"logan": _by_gap(divided, sides), "kmeans": _by_gap(by_distance, sides)}
    logan = _clustering(sides, divided, orders["logan"], model, train_X)
    if settings.refits and not named:
        null = whole_search_null(sides, train_X, model, logan.train)
        logan = replace(logan, train=replace(logan.train, whole_search=null))
    everything = np.zeros(sides.train.rows.rows, np.int64), np.zeros(sides.test.rows.rows, np.int64)
    return LocalBias(
        settings=settings,
        groups=sides.groups,
        train_rows=sides.train.rows.rows,
        test_rows=sides.test.rows.rows,
        left_out=sides.left_out,
        everywhere=replace(judged_clusters(sides, *everything, 1)[0], label=None),
        logan=logan,
        kmeans=_clustering(sides, by_distance, orders["kmeans"], model, train_X),
        notes=_notes(model, logan, sides),
        model_state={
            "encoder": None if encoder is None else encoder.to_dict(),
            "logan": places.to_dict(),
            "logan_labels": np.argsort(orders["logan"]).tolist(),
            "kmeans": model.kmeans_.to_dict(),
            "kmeans_labels": np.argsort(orders["kmeans"]).tolist(),
        },
    )


def find_audited_local_bias(train: Rows, test: Rows, section: LocalBiasSection) -> LocalBias:
    """Look for places in the data where groups are treated differently.

    Clusters are found on the train rows and judged on the test rows; of a large table on ``large_rows`` drawn rows of
    each. SourceError or DataError for embeddings that cannot be read or do not fit the rows (see `read_embeddings`), or
    no train row with a favourable label; see also `find_local_bias`.
    """
    embeddings = None
    if isinstance(section.embeddings, str):
        embeddings = read_embeddings(section.embeddings, train.rows // train.spec.source.times)
    settings = LocalBiasSettings(
        group=section.group,
        embeddings=tuple(section.embeddings) if isinstance(section.embeddings, list) else section.embeddings,
        texts=section.texts,
        words_by=section.words_by,
        places=section.places,
        describe_by=None if section.describe_by is None else tuple(section.describe_by),
        n_clusters=section.n_clusters,
        weight=section.weight,
        metric=section.metric,
        min_group_size=section.min_group_size,
        threshold=PUBLISHED_THRESHOLD if section.max_gap is None else section.max_gap,
        alpha=train.spec.significance.alpha,
        min_test_rows=train.spec.significance.min_rows,  # what is not tested is not printed either
        random_state=train.spec.split.random_state,
    )
    on_train, on_test = rows_at_hand(train), rows_at_hand(test)
    train_rows, test_rows = (_rows(one, section, embeddings) for one in (on_train, on_test))
    if train.spec.split.key is not None:
        train_rows = replace(train_rows, persons=on_train.frame[KEY].to_numpy())
        test_rows = replace(test_rows, persons=on_test.frame[KEY].to_numpy())
    if not (train_rows.y_true == 1.0).any():
        raise DataError(
            f'No train row has a favourable label in column "{train.spec.group_columns()[0]}". Say which value is '
            'favourable in "groups.positive", or in "bias_variable.positive".'
        )
    return find_local_bias(train_rows, test_rows, settings)


def _rows(part: AuditTable, section: LocalBiasSection, embeddings: Any) -> LocalRows:
    frame = part.frame
    label, prediction = part.spec.group_columns()
    positive, positive_prediction = favourable_values(part.spec)
    assert label is not None  # the specification refuses local bias without it
    outcomes = {"y_true": _favourable(frame[label], positive)}
    if section.metric == "auc":
        outcomes["y_score"] = _score(frame, part.spec.groups.score)
    else:
        assert prediction is not None
        outcomes["y_pred"] = _favourable(frame[prediction], positive_prediction)
    describe_by = section.describe_by
    if embeddings is not None:
        X: Any = embeddings_of_rows(embeddings, frame[ROW].to_numpy(dtype=np.int64), str(section.embeddings))
        describe_by = describe_by or part.names("feature")
    else:
        X = frame[section.embeddings if isinstance(section.embeddings, list) else part.names("feature")]
    texts = None
    if section.texts is not None:
        said = frame[section.texts]
        texts = said.astype(object).where(said.notna(), "").astype(str).tolist()
    places = None if section.places is None else frame[section.places].to_numpy(dtype=object)
    features = None if describe_by is None else frame[describe_by]
    return LocalRows(X, frame[section.group].to_numpy(), **outcomes, texts=texts, features=features, places=places)


def _score(frame: pd.DataFrame, name: str | None) -> NDArray[np.float64]:
    """The column with the score, NaN where it is missing."""
    assert name is not None  # the specification refuses areas under the curve without it
    if not pd.api.types.is_numeric_dtype(frame[name].dtype):
        raise DataError(
            f'Column "{name}", which "groups.score" names, does not hold numbers: "local_bias.metric: auc" ranks '
            "people by it. Name the column with the score, or another metric."
        )
    scores: NDArray[np.float64] = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    return scores


def _favourable(column: Any, positive: Any) -> Any:
    """1 where a value is favourable, 0 where it is not, NaN where it is missing."""
    if isinstance(positive, Threshold):
        is_favourable = column.to_numpy(dtype=np.float64) > positive.value
    else:
        levels = tuple(column.dropna().unique().tolist())
        good = [one for one, ok in zip(levels, favourable(levels, positive), strict=True) if ok]
        is_favourable = column.isin(good).to_numpy()
    return np.where(column.isna().to_numpy(), np.nan, is_favourable.astype(np.float64))


def _by_gap(divided: Divided, sides: LocalSides) -> Integers:
    """Clusters by falling gap among the train rows, those without one last, larger ones first."""
    table = sides.train.metrics(divided.train, divided.clusters)
    gap = gaps(table.value, table.counted, sides.settings.min_group_size)
    order: Integers = np.lexsort((-table.rows.sum(axis=1), -np.nan_to_num(gap, nan=-1.0)))
    return order


def _clustering(
    sides: LocalSides, divided: Divided, order: Integers, model: LOGAN, train_X: NDArray[Any]
) -> LocalClustering:
    settings, k = sides.settings, len(order)
    number = np.argsort(order)
    train_labels, test_labels, nearest = (number[one] for one in (divided.train, divided.test, divided.nearest))
    clusters = tuple(
        replace(one, together=together, name=divided.names[place] if divided.names else None)
        for one, together, place in zip(
            judged_clusters(sides, train_labels, test_labels, k),
            values_together(sides, nearest, test_labels, k),
            order,
            strict=True,
        )
    )
    baseline = model.kmeans_.inertia
    return LocalClustering(
        method=divided.method,
        clusters=_described(sides, clusters, train_labels, test_labels, train_X),
        train=summary_of(sides.train, train_labels, k, settings.min_group_size, settings),
        test=summary_of(sides.test, test_labels, k, settings.min_test_rows, settings),
        inertia=divided.inertia,
        inertia_ratio=divided.inertia / baseline if baseline > 0.0 else None,
        merged=divided.merged,
        off_centre=float((nearest != train_labels).mean()),
        confirmed=sum(one.held_out.confirmed for one in clusters),
    )


def _described(
    sides: LocalSides,
    clusters: tuple[LocalCluster, ...],
    train_labels: Integers,
    test_labels: Integers,
    train_X: NDArray[Any],
) -> tuple[LocalCluster, ...]:
    """Say what each cluster is about, by what the rows are made of."""
    k, train, test = len(clusters), sides.train.rows, sides.test.rows
    words: Sequence[Any] = [()] * k
    nearest: Sequence[Any] = [()] * k
    features: Sequence[Any] = [()] * k
    if train.texts is not None:
        names = [word for name in sides.groups for word in name.lower().split()]
        typical = top_words(train.texts, train_labels, method=sides.settings.words_by, exclude=names)
        words = [*typical, *words[len(typical) :]]
    if test.features is not None:
        features = feature_differences(test.features, test_labels, k, alpha=sides.settings.alpha, persons=test.persons)
    if not isinstance(train.X, pd.DataFrame):
        nearest = [tuple(int(train.positions[i]) for i in rows) for rows in nearest_rows(train_X, train_labels)]
    return tuple(
        replace(one, about=ClusterTopic(tuple(words[i]), tuple(nearest[i]), tuple(features[i])))
        for i, one in enumerate(clusters)
    )


def _notes(model: LOGAN, logan: LocalClustering, sides: LocalSides) -> tuple[str, ...]:
    settings, notes = sides.settings, list(model.notes_)
    train_rows = np.bincount(sides.train.group, minlength=len(sides.groups))
    few = [
        say('"{as_is}" ({N})', as_is=name, N=count(int(rows)))
        for name, rows in zip(sides.groups, train_rows, strict=True)
        if rows < settings.min_group_size
    ]
    if few:
        notes.append(
            say(
                "Groups with fewer than {N} train rows count in no cluster: {list}.",
                N=Numeral(settings.min_group_size),
                list=joined(few, ", "),
            )
        )
    if sides.test.rows.persons is not None:
        notes.append(
            "The gaps on test rows, what chance alone would give, and the columns that describe a cluster are tested "
            "by persons, who may have several rows."
        )
    if not logan.train.clusters:
        notes.append(
            joined(
                [
                    say(
                        "No cluster has two groups with {N} train rows that the metric can be computed from: nothing "
                        "can be said about local bias.",
                        N=Numeral(settings.min_group_size),
                    ),
                    say("Lower min_group_size or n_clusters, or bring more rows."),
                ],
                " ",
            )
        )
    return tuple(notes)
