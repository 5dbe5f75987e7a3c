"""Would another split, or a bias variable without any pattern, give the same? The procedure repeated as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bdt_core.clustering.clusters import Clusters, find_clusters
from bdt_core.inference import Comparison, combine_repeated_splits, compare_samples
from bdt_core.inference.persons import Steps, compare_persons, permuted_persons, person_sums
from bdt_core.spec import Clustering, Significance, Split
from bdt_core.table.audit_table import BIAS_VARIABLE, KEY, AuditTable
from bdt_core.table.persons import numbers_of, persons_of
from bdt_core.table.split import split_rows
from bdt_core.table.summaries import audited, ways

SplitRows = Callable[[AuditTable, Split], tuple[AuditTable, AuditTable]]
FindClusters = Callable[[AuditTable, Clustering], Clusters]


@dataclass(frozen=True)
class RepeatedSplits:
    """The primary test on several independent splits.

    Attributes
    ----------
    p_values : tuple of float or None
        Of the most deviating cluster against everybody else, first the audit's own split; None where it could not
        be tested, which counts as 1.
    differences : tuple of float or None
        In the bias variable's own units.
    p_combined : float
        Twice the median p-value (Meinshausen, Meier & Bühlmann 2009): one lucky split decides nothing.
    difference : float or None
        The median difference of the splits that could be tested.
    low, high : float or None
        Its interval: between them lie all differences that the combined test does not reject. They are the medians of
        the splits' own limits with half of alpha each; None when too few splits could be tested.
    """

    p_values: tuple[float | None, ...]
    differences: tuple[float | None, ...]
    p_combined: float
    difference: float | None = None
    low: float | None = None
    high: float | None = None


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


def repeat_splits(
    clusters: Clusters,
    train: AuditTable,
    test: AuditTable,
    primary: Comparison | None,
    settings: Significance,
    *,
    split: SplitRows = split_rows,
    find: FindClusters = find_clusters,
) -> RepeatedSplits:
    """Find and test clusters on ``split.repeats`` splits in all.

    Of a large table, train and test are the rows drawn from both parts. ``split`` and ``find`` are the two stages that
    are repeated. ``primary`` is the comparison of the audit's own split, with the interval that `alpha_of_each` asks
    for.
    """
    spec = clusters.spec
    table = train.joined(test)
    each = settings.model_copy(update={"alpha": alpha_of_each(settings)})
    compared = [primary]
    for repeat in range(1, spec.split.repeats):
        seed = int(np.random.SeedSequence([spec.split.random_state, repeat]).generate_state(1)[0])
        train, test = split(table, spec.split.model_copy(update={"random_state": seed}))
        found = find(train, spec.clustering.model_copy(update={"stability": 0}))
        compared.append(compare_first(found.predict(test), test, each) if len(found.train) > 1 else None)
    p_values = tuple(one.p_value if one else None for one in compared)
    differences = tuple(one.difference if one else None for one in compared)
    known = [one for one in differences if one is not None]
    return RepeatedSplits(
        p_values,
        differences,
        combine_repeated_splits(p_values),
        difference=float(np.median(known)) if known else None,
        low=_middle([one.low if one else None for one in compared], -np.inf, "lower"),
        high=_middle([one.high if one else None for one in compared], np.inf, "higher"),
    )


def alpha_of_each(settings: Significance) -> float:
    """Alpha of the intervals of the single splits, whose medians are an interval of 1 - alpha.

    Twice the median p-value exceeds alpha for a difference when at least half of the splits do not reject it at half
    of alpha, that is, when it lies in at least half of their intervals.
    """
    return settings.alpha / 2.0


def _middle(limits: Sequence[float | None], absent: float, of_two: Literal["lower", "higher"]) -> float | None:
    """The median of the splits' limits, of two the wider one; a split that could not be tested rules nothing out."""
    middle = np.quantile([absent if one is None else one for one in limits], 0.5, method=of_two)
    return float(middle) if np.isfinite(middle) else None


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
    sign = 1.0 if clusters.spec.bias_variable.better == "lower" else -1.0
    observed = _harm(clusters.predict(test), test.y, sign)
    if observed is None:
        return PermutedProcedure(settings.permutations, None, None)
    rng = np.random.default_rng([clusters.spec.split.random_state, 2])
    model = clusters.model
    train_rows, test_rows = model.encoder_.transform(train.X), model.encoder_.transform(test.X)
    again = clone(model)
    if train.audited_rows < clusters.train_rows:
        again.set_params(min_cluster_size=min(clusters.min_cluster_rows / clusters.train_rows, 0.999))
    pooled = np.concatenate([train.y, test.y])
    by_person = clusters.spec.split.key is not None
    owners = np.concatenate([audited(one, KEY).to_numpy() for one in (train, test)]) if by_person else None
    as_large = 1
    for _ in range(settings.permutations):
        shuffled = rng.permutation(pooled) if owners is None else permuted_persons(pooled, owners, rng)
        one, other = shuffled[: len(train.y)], shuffled[len(train.y) :]
        refit = clone(again).fit_encoded(train_rows.copy(), one, model.encoder_, model.method_)
        harm = _harm(refit.tree_.route(test_rows), other, sign) if refit.n_clusters_ > 1 else None
        as_large += harm is not None and harm >= observed
    return PermutedProcedure(settings.permutations, observed, as_large / (settings.permutations + 1))


def compare_first(labels: NDArray[np.int64], test: AuditTable, settings: Significance) -> Comparison:
    """Cluster 0 against everybody else."""
    y, inside = test.y, labels == 0
    comparison = compare_samples(
        y[inside], y[~inside], test=settings.test, alpha=settings.alpha, min_rows=settings.min_rows
    )
    persons = persons_of(test)
    if persons is None:
        return comparison
    steps = Steps.of(ways(test, [BIAS_VARIABLE])[BIAS_VARIABLE])
    values, who = steps.count(y), numbers_of(persons[0], test)
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
