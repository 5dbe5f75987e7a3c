"""What sets the most deviating cluster apart, on the test rows.

On the train rows the comparison would be circular: clusters are made of the features, so they always differ.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.clustering.clusters import Clusters
from bdt_core.inference import (
    AUC,
    CategoricalComparison,
    Comparison,
    adjust_p_values,
    area_under_curve,
    compare_category_counts,
    compare_counts,
    compare_samples,
)
from bdt_core.result import Result
from bdt_core.spec import AuditSpec, Significance
from bdt_core.table.audit_table import AuditTable

MIN_LEVEL_ROWS = 10
MISSING = "(missing)"
RARE = "(rare levels)"


@dataclass(frozen=True)
class LevelDifference:
    """Share of one level in the cluster against its share among everybody else.

    ``rows`` counts both sides. Levels with fewer than 10 rows are shown together, so that nobody is singled out.
    ``auc`` (protected columns only) says how well being in the cluster tells the level: .5 not at all, 1 surely.
    """

    level: str
    rows: int
    comparison: Comparison
    auc: AUC | None = None
    p_adjusted: float | None = None
    significant: bool | None = None


@dataclass(frozen=True)
class ColumnDifference:
    """One column, cluster against everybody else.

    Attributes
    ----------
    column : str
    role : {"feature", "protected"}
        A protected column was kept out of the clustering: if it differs, the clusters stand in for it.
    kind : {"numeric", "categorical"}
    effect : float or None
        Hedges' g (Cohen's h for a two-valued number) or Cramer's V; sorts the columns.
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
    kind: Literal["numeric", "categorical"]
    status: Literal["tested", "not_testable"]
    reason: str | None
    effect: float | None
    effect_name: str | None
    numeric: Comparison | None = None
    table: CategoricalComparison | None = None
    levels: tuple[LevelDifference, ...] = ()
    auc: AUC | None = None
    p_adjusted: float | None = None
    significant: bool | None = None


@dataclass(frozen=True)
class FeatureDifferences(Result):
    """All columns, strongest difference first.

    ``tests`` is the number of tests that the correction counts: one per number and one per level; of two levels
    only one, for both are the same test.
    """

    spec: AuditSpec
    cluster: int
    rows_cluster: int
    rows_rest: int
    tests: int
    columns: tuple[ColumnDifference, ...]


def compare_features(clusters: Clusters, test: AuditTable, settings: Significance) -> FeatureDifferences:
    """Compare the most deviating cluster with everybody else, column by column.

    Parameters
    ----------
    clusters : Clusters
    test : AuditTable
        Features and protected columns are compared.
    settings : Significance

    Returns
    -------
    FeatureDifferences
        Without columns when the search made no split.
    """
    inside = clusters.predict(test) == 0
    rows = test.audited
    found: list[ColumnDifference] = []
    if len(clusters.train) > 1:
        for column in test.columns:
            if column.role not in ("feature", "protected"):
                continue
            series = rows[column.name]
            if column.kind == "numeric":
                found.append(_numeric(series, inside, column.role, settings, clusters.spec))
                if series.isna().any():
                    missing = series.isna().map({True: "yes", False: "no"}).rename(f"{column.name} is missing")
                    found.append(_categorical(missing, inside, column.role, settings, clusters.spec))
            else:
                found.append(_categorical(series, inside, column.role, settings, clusters.spec))
    corrected, tests = _corrected(found, settings)
    return FeatureDifferences(
        spec=clusters.spec.model_copy(update={"significance": settings}),
        cluster=0,
        rows_cluster=int(inside.sum()),
        rows_rest=int((~inside).sum()),
        tests=tests,
        columns=tuple(sorted(corrected, key=lambda one: (-abs(one.effect or 0.0), one.column))),
    )


def _numeric(
    series: pd.Series,
    inside: NDArray[np.bool_],
    role: Literal["feature", "protected"],
    settings: Significance,
    spec: AuditSpec,
) -> ColumnDifference:
    x = series.to_numpy(dtype=np.float64)
    known = ~np.isnan(x)
    comparison = compare_samples(
        x[known & inside],
        x[known & ~inside],
        alpha=settings.alpha,
        min_rows=settings.min_rows,
        random_state=spec.split.random_state,
    )
    return ColumnDifference(
        column=str(series.name),
        role=role,
        kind="numeric",
        status=comparison.status,
        reason=comparison.reason,
        effect=comparison.effect_size,
        effect_name=comparison.effect_name,
        numeric=comparison,
        auc=_auc(x[known & inside], x[known & ~inside], role, comparison, settings),
    )


def _categorical(
    series: pd.Series,
    inside: NDArray[np.bool_],
    role: Literal["feature", "protected"],
    settings: Significance,
    spec: AuditSpec,
) -> ColumnDifference:
    texts = series.astype("object").where(series.notna(), MISSING)
    levels, codes = np.unique(texts.to_numpy(dtype=str), return_inverse=True)
    in_cluster = np.bincount(codes[inside], minlength=len(levels))
    in_rest = np.bincount(codes[~inside], minlength=len(levels))
    whole = compare_category_counts(
        in_cluster,
        in_rest,
        alpha=settings.alpha,
        min_rows=settings.min_rows,
        random_state=spec.split.random_state,
    )
    names, a, b = _rare_together(levels, in_cluster, in_rest)
    n_cluster, n_rest = int(in_cluster.sum()), int(in_rest.sum())

    def level(name: str, x: int, z: int) -> LevelDifference:
        comparison = compare_counts(x, n_cluster, z, n_rest, alpha=settings.alpha, min_rows=settings.min_rows)
        if x + z < MIN_LEVEL_ROWS:
            return LevelDifference(name, x + z, _not_shown(comparison))
        with_level = np.repeat([1.0, 0.0], [x, z])
        without = np.repeat([1.0, 0.0], [n_cluster - x, n_rest - z])
        return LevelDifference(name, x + z, comparison, _auc(with_level, without, role, comparison, settings))

    shown = tuple(level(name, int(x), int(z)) for name, x, z in zip(names, a, b, strict=True))
    return ColumnDifference(
        column=str(series.name),
        role=role,
        kind="categorical",
        status=whole.status,
        reason=whole.reason,
        effect=whole.effect_size,
        effect_name=whole.effect_name,
        table=replace(whole, levels=(), comparisons=()),
        levels=shown,
    )


def _auc(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    role: Literal["feature", "protected"],
    comparison: Comparison,
    settings: Significance,
) -> AUC | None:
    """How well a score tells a from b, for protected columns that could be compared."""
    if role != "protected" or comparison.status != "tested":
        return None
    return area_under_curve(a, b, alpha=settings.alpha)


def _not_shown(comparison: Comparison) -> Comparison:
    """A comparison without its shares: so few people must not be described."""
    counts = {"n_a", "n_b", "kind", "confidence"}
    nothing: dict[str, Any] = {field.name: None for field in fields(comparison) if field.name not in counts}
    shown = replace(comparison, **nothing)
    return replace(shown, status="not_testable", reason=f"fewer than {MIN_LEVEL_ROWS} rows")


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
    """Correct over all tests made."""
    p_values = [p for one in columns for p in _p_values(one)]
    adjusted = iter(adjust_p_values(p_values, settings.correction))

    def verdict() -> tuple[float | None, bool | None]:
        p = float(next(adjusted))
        return (None, None) if np.isnan(p) else (p, p <= settings.alpha)

    result = []
    for one in columns:
        if one.kind == "numeric":
            p, significant = verdict()
            result.append(replace(one, p_adjusted=p, significant=significant))
            continue
        verdicts = [verdict() for _ in _p_values(one)]
        levels = [
            replace(level, p_adjusted=p, significant=significant)
            for level, (p, significant) in zip(one.levels, verdicts * (2 if len(verdicts) == 1 else 1), strict=False)
        ]
        result.append(
            replace(
                one,
                levels=tuple(levels),
                p_adjusted=min((level.p_adjusted for level in levels if level.p_adjusted is not None), default=None),
                significant=any(level.significant for level in levels) if one.status == "tested" else None,
            )
        )
    return result, sum(p is not None for p in p_values)


def _p_values(column: ColumnDifference) -> list[float | None]:
    if column.kind == "numeric":
        return [column.numeric.p_value if column.numeric else None]
    levels = column.levels[:1] if len(column.levels) == 2 else column.levels
    return [level.comparison.p_value for level in levels]
