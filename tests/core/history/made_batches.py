"""Batches made of chosen counts."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bdt_core.fairness.counts import CountTable
from bdt_core.fairness.declared_groups import GroupCounts
from bdt_core.history import Batch, batch_of
from bdt_core.spec import AuditSpec, parse_spec

FIRST = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
Confusion = tuple[int, int, int, int]  # true positives, false positives, false negatives, true negatives


def history_spec(**changes: Any) -> AuditSpec:
    """Loans by sex, with label and prediction."""
    return parse_spec(
        {
            "name": "loans",
            "source": {"path": "{partition}.csv"},
            "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
            "protected": ["sex"],
            **changes,
        }
    )


def counted(spec: AuditSpec, groups: Mapping[Any, Confusion], facets: tuple[str, ...] = ("sex",)) -> GroupCounts:
    """Counts of one grouping, groups by value (a tuple for several facets)."""
    label, prediction = spec.group_columns()
    named = {one if isinstance(one, tuple) else (one,): cells for one, cells in groups.items()}
    order = sorted(named, key=str)
    counts = np.zeros((len(order), 1, 2, 2, 1), dtype=np.int64)
    for i, group in enumerate(order):
        tp, fp, fn, tn = named[group]
        counts[i, 0, :, :, 0] = [[tn, fp], [fn, tp]]
    table = CountTable(
        facets=facets, groups=tuple(order), stratum=None, strata=(None,), label=label, labels=(0, 1),
        prediction=prediction, predictions=(0, 1), score=None, weight=None, counts=counts,
    )  # fmt: skip
    return GroupCounts(spec, (table,), ())


def day(spec: AuditSpec, number: int, groups: Mapping[Any, Confusion], **more: Any) -> Batch:
    """The batch of a day, counted from 2026-01-01."""
    time = FIRST + datetime.timedelta(days=number)
    return batch_of(counted(spec, groups, **more), id=str(time.date()), time=time)


def days(spec: AuditSpec, several: Iterable[Mapping[Any, Confusion]]) -> list[Batch]:
    """One batch per day."""
    return [day(spec, number, groups) for number, groups in enumerate(several)]
