"""Columns that set the most deviating cluster apart, on the test rows.

On the train rows the comparison would be circular: clusters are made of the features, so they always differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bdt_core.clustering.clusters import Clusters
from bdt_core.inference import (
    AUC,
    CategoricalComparison,
    Comparison,
    adjust_p_values,
    area_under_curve_of_counts,
    compare_category_counts,
    compare_counts,
    corrected_interval,
)
from bdt_core.inference.persons import (
    PersonSums,
    area_of_persons,
    compare_categories_of_persons,
    compare_persons,
)
from bdt_core.result import Result
from bdt_core.said import Numeral, Text, say
from bdt_core.significance.tested_rows import TestedRows
from bdt_core.spec import AuditSpec, Significance
from bdt_core.table.audit_table import TableColumn
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import MISSING, Drawn

MIN_LEVEL_ROWS = 10
RARE = "(rare levels)"


@dataclass(frozen=True)
class LevelDifference:
    """Share of one level in the cluster against its share among everybody else.

    ``rows`` counts both sides. Levels with fewer than 10 rows are shown together, so that nobody is singled out.
    ``auc`` (protected columns only) says how well being in the cluster tells the level: .5 not at all, 1 surely.
    ``corrected`` is the interval of the difference that goes with ``p_adjusted``.
    """

    level: str
    rows: int
    comparison: Comparison
    auc: AUC | None = None
    p_adjusted: float | None = None
    significant: bool | None = None
    corrected: tuple[float, float] | None = None


@dataclass(frozen=True)
class ColumnDifference:
    """One column, cluster against everybody else.

    Attributes
    ----------
    column : str
    role : {"feature", "protected"}
        A protected column was kept out of the clustering: if it differs, the clusters stand in for it.
    declared : bool
        Whether the specification names it as protected or as a group: these are a family of tests of their own.
    kind : {"numeric", "categorical"}
    effect : float or None
        Hedges' g (Cohen's h for a two-valued number) or Cramer's V; sorts the columns of its kind.
    numeric : Comparison or None
    table : CategoricalComparison or None
        The test over all levels.
    levels : tuple of LevelDifference
        Most frequent first.
    auc : AUC or None
        Of a protected number: how well it tells the cluster from everybody else.
    """

    column: str
    role: Literal["feature", "protected"]
    declared: bool
    kind: Literal["numeric", "categorical"]
    status: Literal["tested", "not_testable"]
    reason: Text | None
    effect: float | None
    effect_name: str | None
    numeric: Comparison | None = None
    table: CategoricalComparison | None = None
    levels: tuple[LevelDifference, ...] = ()
    auc: AUC | None = None
    p_adjusted: float | None = None
    significant: bool | None = None
    corrected: tuple[float, float] | None = None


@dataclass(frozen=True)
class FeatureDifferences(Result):
    """All columns: declared ones first, then by the kind of their effect size, the strongest of each kind first.

    Effect sizes of different kinds are not compared with each other. ``tests`` is the number of tests that were made:
    one per number and one per level; of two levels only one, for both are the same test. ``tests_declared`` of them are
    of protected and other declared columns; these and the others are corrected as two families. ``drawn`` says on how
    many of a large table's test rows the areas under the curve of protected numbers with more than 2,000 distinct
    values were worked out; None: on all. Everything else is worked out on all rows.
    """

    spec: AuditSpec
    cluster: int
    rows_cluster: int
    rows_rest: int
    tests: int
    columns: tuple[ColumnDifference, ...]
    tests_declared: int = 0
    drawn: Drawn | None = None


def compare_features(clusters: Clusters, test: Rows, settings: Significance) -> FeatureDifferences:
    """Compare the most deviating cluster with everybody else, column by column.

    Parameters
    ----------
    clusters : Clusters
    test : Rows
        Features and protected columns are compared.
    settings : Significance

    Returns
    -------
    FeatureDifferences
        Without columns when the search made no split.
    """
    rows = TestedRows(clusters, test)
    differences = list(_compared(rows, settings, clusters.spec))
    declared, declared_tests = _corrected([one for one in differences if one.declared], settings)
    others, other_tests = _corrected([one for one in differences if not one.declared], settings)
    return FeatureDifferences(
        spec=clusters.spec.model_copy(update={"significance": settings}),
        cluster=0,
        rows_cluster=rows.sizes[0],
        rows_rest=rows.sizes[1],
        tests=declared_tests + other_tests,
        columns=tuple(sorted(declared + others, key=_in_order)),
        tests_declared=declared_tests,
        drawn=rows.drawn if any(map(_is_of_fewer_rows, differences)) else None,
    )


def _in_order(difference: ColumnDifference) -> tuple[bool, bool, str, float, str]:
    """Declared ones first; numbers before categories, and of each kind of effect the largest first."""
    effect_name = difference.effect_name or ""
    return (
        not difference.declared,
        difference.kind == "categorical",
        effect_name,
        -abs(difference.effect or 0.0),
        difference.column,
    )


def _is_of_fewer_rows(difference: ColumnDifference) -> bool:
    """Whether an area under the curve is not of all rows that were compared."""
    if difference.auc is None or difference.numeric is None:
        return False
    return difference.auc.n_a + difference.auc.n_b < difference.numeric.n_a + difference.numeric.n_b


def _compared(rows: TestedRows, settings: Significance, spec: AuditSpec) -> Iterator[ColumnDifference]:
    declared = spec.declared_columns
    options = {"alpha": settings.alpha, "min_rows": settings.min_rows, "random_state": spec.split.random_state}
    for column in rows.columns:
        if column.kind == "numeric":
            comparison, auc = rows.compare_column(column.name, column.role == "protected", **options)
            yield ColumnDifference(
                column=column.name,
                role=_role(column),
                declared=column.name in declared,
                kind="numeric",
                status=comparison.status,
                reason=comparison.reason,
                effect=comparison.effect_size,
                effect_name=comparison.effect_name,
                numeric=comparison,
                auc=auc,
            )
            missing = rows.missing(column.name)
            if sum(missing):
                present = rows.sizes[0] - missing[0], rows.sizes[1] - missing[1]
                levels = {"no": present, "yes": missing} if sum(present) else {"yes": missing}
                yield _categorical(rows, column, f"{column.name} is missing", levels, settings, spec)
        else:
            yield _categorical(rows, column, column.name, rows.levels(column.name), settings, spec)


def _role(column: TableColumn) -> Literal["feature", "protected"]:
    return "protected" if column.role == "protected" else "feature"


def _categorical(
    rows: TestedRows,
    column: TableColumn,
    name: str,
    counts: dict[str, tuple[int, int]],
    settings: Significance,
    spec: AuditSpec,
) -> ColumnDifference:
    levels = sorted(counts)
    in_cluster, in_rest = (np.array([counts[one][side] for one in levels], dtype=np.int64) for side in (0, 1))
    whole = compare_category_counts(
        in_cluster,
        in_rest,
        alpha=settings.alpha,
        min_rows=settings.min_rows,
        random_state=spec.split.random_state,
    )
    role = _role(column)
    # Of a number only this is a category: its value is missing, or there.
    written = [{"yes": MISSING, "no": ""}[one] for one in levels] if column.kind == "numeric" else levels
    of_levels = rows.persons_with(column.name, [(one,) for one in written])
    if of_levels is not None:
        whole = compare_categories_of_persons(
            whole, in_cluster, in_rest, of_levels, min_rows=settings.min_rows, random_state=spec.split.random_state
        )
    names, a, b = _rare_together(np.array(levels, dtype=str), in_cluster, in_rest)
    n_cluster, n_rest = int(in_cluster.sum()), int(in_rest.sum())

    def level(name: str, x: int, z: int) -> LevelDifference:
        comparison = compare_counts(x, n_cluster, z, n_rest, alpha=settings.alpha, min_rows=settings.min_rows)
        if of_levels is not None:
            of_level = [of_levels[i] for i, one in enumerate(levels) if (one if one in names else RARE) == name]
            inside, rest = (_any_of([sides[i] for sides in of_level]) for i in (0, 1))
            comparison = compare_persons(comparison, inside, rest, min_rows=settings.min_rows)
        if x + z < MIN_LEVEL_ROWS:
            return LevelDifference(name, x + z, _not_shown(comparison))
        auc = None
        if role == "protected" and comparison.status == "tested":
            with_level, without = [z, x], [n_rest - z, n_cluster - x]
            auc = area_under_curve_of_counts(with_level, without, alpha=settings.alpha)
            auc = area_of_persons(auc, comparison.persons)
        return LevelDifference(name, x + z, comparison, auc)

    shown = tuple(level(name, int(x), int(z)) for name, x, z in zip(names, a, b, strict=True))
    return ColumnDifference(
        column=name,
        role=role,
        declared=column.name in spec.declared_columns,
        kind="categorical",
        status=whole.status,
        reason=whole.reason,
        effect=whole.effect_size,
        effect_name=whole.effect_name,
        table=replace(whole, levels=(), comparisons=()),
        levels=shown,
    )


def _any_of(levels: list[PersonSums]) -> PersonSums:
    """What persons have of several levels together; all rows are counted with each of them."""
    return replace(levels[0], steps=np.sum([one.steps for one in levels], axis=0))


def _not_shown(comparison: Comparison) -> Comparison:
    """A comparison without its shares: so few people must not be described."""
    counts = {"n_a", "n_b", "kind", "confidence", "persons"}
    nothing: dict[str, Any] = {field.name: None for field in fields(comparison) if field.name not in counts}
    shown = replace(comparison, **nothing)
    return replace(shown, status="not_testable", reason=say("fewer than {N} rows", N=Numeral(MIN_LEVEL_ROWS)))


def _rare_together(
    levels: NDArray[np.str_], a: NDArray[np.int64], b: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Most frequent level first; levels under the minimum size as one."""
    total = a + b
    order = np.lexsort((levels, -total))
    kept = [i for i in order if total[i] >= MIN_LEVEL_ROWS]
    rare = [i for i in order if total[i] < MIN_LEVEL_ROWS]
    names = [str(levels[i]) for i in kept] + ([RARE] if rare else [])
    joined = [(a[i], b[i]) for i in kept] + ([(a[rare].sum(), b[rare].sum())] if rare else [])
    counts = np.array(joined, dtype=np.int64).reshape(-1, 2)
    return names, counts[:, 0], counts[:, 1]


def _corrected(columns: list[ColumnDifference], settings: Significance) -> tuple[list[ColumnDifference], int]:
    """Correct over all tests made of some columns."""
    p_values = [p for one in columns for p in _p_values(one)]
    corrected = adjust_p_values(p_values, settings.correction)
    adjusted, tests = iter(corrected), sum(p is not None for p in p_values)
    rejected = int((corrected <= settings.alpha).sum())
    interval_of = partial(corrected_interval, correction=settings.correction, tests=tests, rejected=rejected)

    def verdict() -> tuple[float | None, bool | None]:
        p = float(next(adjusted))
        return (None, None) if np.isnan(p) else (p, p <= settings.alpha)

    result = []
    for column in columns:
        if column.kind == "numeric":
            p, significant = verdict()
            interval = None if column.numeric is None else interval_of(column.numeric, p)
            result.append(replace(column, p_adjusted=p, significant=significant, corrected=interval))
            continue
        verdicts = [verdict() for _ in _p_values(column)]
        levels = [
            replace(
                level,
                p_adjusted=p,
                significant=significant,
                corrected=interval_of(level.comparison, p),
            )
            for level, (p, significant) in zip(column.levels, verdicts * (2 if len(verdicts) == 1 else 1), strict=False)
        ]
        result.append(
            replace(
                column,
                levels=tuple(levels),
                p_adjusted=min((level.p_adjusted for level in levels if level.p_adjusted is not None), default=None),
                significant=any(level.significant for level in levels) if column.status == "tested" else None,
            )
        )
    return result, tests


def _p_values(column: ColumnDifference) -> list[float | None]:
    if column.kind == "numeric":
        return [column.numeric.p_value if column.numeric else None]
    levels = column.levels[:1] if len(column.levels) == 2 else column.levels
    return [level.comparison.p_value for level in levels]
