"""The whole procedure repeated, on other splits and on bias variables without any pattern."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from bdt_core.clustering.clusters import Clusters, find_clusters
from bdt_core.inference import Comparison, compare_samples
from bdt_core.inference.exchange import exchanged_by_persons, permutation_p_value
from bdt_core.inference.persons import Steps, compare_persons, person_sums
from bdt_core.metrics import harm_sign
from bdt_core.said import say
from bdt_core.spec import Clustering, Significance, Split
from bdt_core.table.audit_table import BIAS_VARIABLE, KEY, AuditTable
from bdt_core.table.persons import count_persons, numbers_of, persons_of
from bdt_core.table.split import split_rows
from bdt_core.table.summaries import audited, ways
from bdt_core.words import count

SplitRows = Callable[[AuditTable, Split], tuple[AuditTable, AuditTable]]
FindClusters = Callable[[AuditTable, Clustering], Clusters]
InCluster = NDArray[np.bool_]

MOST_SPLITS = 5
LEAST_SEARCHED = 0.3
"""Share of the rows that the last search has left, unless the specification says how many splits there are."""


@dataclass(frozen=True)
class RepeatedSplits:
    """The primary test on several splits, each of which divides the train rows of the one before.

    Attributes
    ----------
    p_values : tuple of float or None
        Of the most deviating cluster of each split against everybody else, first the audit's own; None where it could
        not be tested.
    differences : tuple of float or None
        In the bias variable's own units.
    test_rows : tuple of int
        Of each split; none of them is in two.
    together : Comparison
        The test rows of all splits: those in the most deviating cluster of their split against all others.
    persons : int or None
        Who these rows belong to, where persons may have several.
    """

    p_values: tuple[float | None, ...]
    differences: tuple[float | None, ...]
    test_rows: tuple[int, ...]
    together: Comparison
    persons: int | None = None

    @property
    def rows_in_words(self) -> str:
        """The rows that are compared, and whose they are."""
        rows = count(self.together.n_a + self.together.n_b)
        if self.persons is None:
            return say("{N} rows", N=rows)
        return say("{N} rows of {Npersons} persons", N=rows, Npersons=count(self.persons))


@dataclass(frozen=True)
class PermutedProcedure:
    """The whole procedure on permuted bias variables.

    Attributes
    ----------
    permutations : int
    statistic : float or None
        Harm of cluster 0 on the test rows in standard errors; None when it could not be tested.
    p_value : float or None
        Share of permutations with as large a statistic, the data themselves counted as one (one-sided: only harm
        counts). A permutation whose cluster could not be tested counts as no harm.
    """

    permutations: int
    statistic: float | None
    p_value: float | None


def number_of_splits(clusters: Clusters, *, is_large: bool) -> int:
    """How many splits test the most deviating cluster.

    Unless ``split.repeats`` says it: as many as leave `LEAST_SEARCHED` of the rows to the last search, and enough of
    them that a quarter has ``significance.min_rows`` (persons, where these may have several rows), but at most
    `MOST_SPLITS`. One for a large table, whose one test part is large too, and for the engine that repeats the original
    tool.
    """
    spec = clusters.spec
    if spec.split.repeats is not None:
        return spec.split.repeats
    if is_large or spec.room.engine == "reference":
        return 1
    kept = 1.0 - spec.split.test_size
    train = clusters.train_rows if clusters.train_persons is None else clusters.train_persons
    least = max(LEAST_SEARCHED, 4 * spec.significance.min_rows * kept / train)
    return int(np.clip(math.floor(math.log(least) / math.log(kept)), 1, MOST_SPLITS))


def repeat_splits(
    clusters: Clusters,
    train: AuditTable,
    test: AuditTable,
    own: Comparison,
    settings: Significance,
    splits: int,
    *,
    split: SplitRows = split_rows,
    find: FindClusters = find_clusters,
) -> RepeatedSplits:
    """Find and test clusters on several splits, and test those that deviate most together.

    Clusters and parts are of the audit's own split; of a large table, train and test are the rows drawn from both
    parts. `own` is the primary test on that split, which counts among the `splits`. `split` and `find` are the two
    stages that are repeated.

    Each split divides the train rows of the one before. So no row is tested twice, and the clusters that a test row is
    tested with were found without it and without the test rows of the splits before. Taken from the last split to the
    first, each test is made on rows that none of the searches and tests before it has seen: under the hypothesis that
    nobody differs, the tests together have the error rate of one. Folds that change places do not have this: what
    deviates by chance in one makes the search choose it for all others.
    """
    spec = clusters.spec
    share = min(clusters.min_cluster_rows / clusters.train_rows, 0.999)
    assert spec.clustering is not None  # there are clusters
    search = spec.clustering.model_copy(update={"stability": 0, "min_cluster_size": share})
    sides: list[tuple[InCluster, AuditTable]] = [(clusters.predict(test) == 0, test)]
    compared: list[Comparison | None] = [own]
    test_rows = [test.audited_rows]
    for repeat in range(1, splits):
        seed = int(np.random.SeedSequence([spec.split.random_state, repeat]).generate_state(1)[0])
        train, test = split(train, spec.split.model_copy(update={"random_state": seed}))
        repeated = find(train, search)
        test_rows.append(test.audited_rows)
        compared.append(None)
        if len(repeated.train) > 1:
            side = repeated.predict(test) == 0, test
            sides.append(side)
            compared[-1] = compare_first([side], settings)
    return RepeatedSplits(
        p_values=tuple(one.p_value if one else None for one in compared),
        differences=tuple(one.difference if one else None for one in compared),
        test_rows=tuple(test_rows),
        together=compare_first(sides, settings),
        persons=None if spec.split.key is None else sum(count_persons(part) or 0 for _, part in sides),
    )


def permute_procedure(
    clusters: Clusters, train: AuditTable, test: AuditTable, settings: Significance
) -> PermutedProcedure | None:
    """Permute the bias variable, cluster and test again; None unless ``significance.test`` is permutation.

    Where persons have several rows, their values change hands as a whole, between persons with equally many rows. Of a
    large table, train and test are the rows drawn from both parts; the smallest cluster is then as large a share
    of the drawn train rows as it was of all.
    """
    if settings.test != "permutation":
        return None
    sign = harm_sign(clusters.spec.bias_variable.better)
    observed = _harm(clusters.predict(test), test.y, sign)
    if observed is None:
        return PermutedProcedure(settings.permutations, None, None)
    rng = np.random.default_rng([clusters.spec.split.random_state, 2])
    model = clusters.model
    train_rows, test_rows = model.encoder_.transform(train.X), model.encoder_.transform(test.X)
    from sklearn.base import clone  # a second, for who only reads what was tested

    again = clone(model)
    if train.audited_rows < clusters.train_rows:
        again.set_params(min_cluster_size=min(clusters.min_cluster_rows / clusters.train_rows, 0.999))
    pooled = np.concatenate([train.y, test.y])
    by_person = clusters.spec.split.key is not None
    owners = np.concatenate([audited(one, KEY).to_numpy() for one in (train, test)]) if by_person else None
    as_large = 0
    for _ in range(settings.permutations):
        shuffled = rng.permutation(pooled) if owners is None else exchanged_by_persons(pooled, owners, rng)
        train_y, other = shuffled[: len(train.y)], shuffled[len(train.y) :]
        refit = clone(again).fit_encoded(train_rows.copy(), train_y, model.encoder_, model.method_)
        harm = _harm(refit.tree_.route(test_rows), other, sign) if refit.n_clusters_ > 1 else None
        as_large += harm is not None and harm >= observed
    return PermutedProcedure(settings.permutations, observed, permutation_p_value(as_large, settings.permutations))


def compare_first(sides: Sequence[tuple[InCluster, AuditTable]], settings: Significance) -> Comparison:
    """The most deviating clusters of some test parts, taken together, against everybody else in these."""
    inside, y = np.concatenate([one for one, _ in sides]), np.concatenate([part.y for _, part in sides])
    spec = sides[0][1].spec
    comparison = compare_samples(
        y[inside], y[~inside], test=settings.test, alpha=settings.alpha, min_rows=settings.min_rows,
        random_state=spec.split.random_state,
    )  # fmt: skip
    if spec.split.key is None:
        return comparison
    needed = [replace(part, frame=part.frame[[BIAS_VARIABLE, KEY]]) for _, part in sides]
    rows = reduce(AuditTable.joined, needed)
    persons = persons_of(rows)
    assert persons is not None
    steps = Steps.of(ways(rows, [BIAS_VARIABLE])[BIAS_VARIABLE])
    values, who = steps.count(y), numbers_of(persons[0], rows)
    of_first, of_rest = (person_sums(values[side], who[side], persons[0].size) for side in (inside, ~inside))
    return compare_persons(comparison, of_first, of_rest, steps, min_rows=settings.min_rows)


def _harm(labels: NDArray[np.int64], y: NDArray[np.float64], sign: float) -> float | None:
    """Difference of means in pooled standard errors; positive is harm."""
    inside = labels == 0
    n_in, n_out = int(inside.sum()), int((~inside).sum())
    if min(n_in, n_out) < 1 or y.std() == 0.0:
        return None
    error = y.std() * np.sqrt(1.0 / n_in + 1.0 / n_out)
    return sign * float((y[inside].mean() - y[~inside].mean()) / error)
