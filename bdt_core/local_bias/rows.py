"""The rows of both parts that can be used, coded and encoded alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.local_bias.inputs import group_codes, outcome_of
from bdt_core.local_bias.metrics import Integers, LocalMetrics, LocalOutcome, metric_by_group
from bdt_core.local_bias.settings import LocalBiasSettings
from bdt_core.table.encoding import Encoder, level_name
from bdt_core.table.frames import AnyTable, handed_over, is_table

_OUTCOMES = ("correct", "y_true", "y_pred", "y_score")


@dataclass(frozen=True)
class LocalRows:
    """One part of the rows, array by array.

    Attributes
    ----------
    X : DataFrame, Arrow table or dict of columns, or 2-d array of shape (n, p)
        Features, which are encoded and standardised on the train rows, or embeddings, which are taken as they are.
    group : array of shape (n,)
        Rows without a group are left out, and counted.
    correct, y_true, y_pred, y_score : arrays of shape (n,), optional
        As `LOGAN.fit` takes them; rows without a value are left out, and counted.
    places : array of shape (n,), optional
        Where each row is, if places are not looked for; rows without one are left out, and counted.
    persons : uint64 array of shape (n,), optional
        Hash of whom rows belong to, where persons may have several: gaps are then tested by persons, groups change
        hands between persons where chance is asked, and columns are compared by persons.
    texts : sequence of str, optional
        What the rows say: clusters are then described by their words.
    features : DataFrame, Arrow table or dict of columns, shape (n, q), optional
        Columns by which clusters are described; by default X, where it is a table.
    """

    X: Any
    group: Any
    correct: Any = None
    persons: Any = None
    y_true: Any = None
    y_pred: Any = None
    y_score: Any = None
    texts: Sequence[str] | None = None
    features: AnyTable | None = None
    places: Any = None


@dataclass(frozen=True)
class UsedRows:
    """The rows of a part that can be used.

    `outcomes` has what was given of correct, y_true, y_pred and y_score, `outcome` what the metric counts of them.
    Clusters are described by `features`. `positions` are those of these rows among those given; `left_out` is rows by
    reason. `persons` says whom rows belong to, where persons may have several.
    """

    name: str
    X: Any
    group: NDArray[Any]
    outcomes: dict[str, Any]
    outcome: LocalOutcome
    texts: list[str] | None
    features: pd.DataFrame | None
    positions: Integers
    left_out: dict[str, int]
    persons: NDArray[np.uint64] | None = None
    places: NDArray[Any] | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.positions)

    def where(self, kept: NDArray[np.bool_], reason: str) -> UsedRows:
        """Some of these rows; the others are left out for a reason."""
        return replace(
            self,
            X=self.X[kept],
            group=self.group[kept],
            outcomes={name: values[kept] for name, values in self.outcomes.items()},
            outcome=self.outcome[kept],
            texts=None if self.texts is None else [self.texts[i] for i in np.flatnonzero(kept).tolist()],
            features=None if self.features is None else self.features[kept],
            positions=self.positions[kept],
            left_out=self.left_out | {reason: int((~kept).sum())},
            persons=None if self.persons is None else self.persons[kept],
            places=None if self.places is None else self.places[kept],
        )

    def check_not_empty(self) -> None:
        """Refuse a part without a row, with a DataError."""
        if not self.rows:
            reasons = ", ".join(f"{rows:,} {reason}" for reason, rows in self.left_out.items())
            raise DataError(f"No {self.name} row can be used for local bias: {reasons or 'there are none'}.")


@dataclass(frozen=True)
class Side:
    """The rows of a part and the codes of their groups: positions among `groups`."""

    rows: UsedRows
    group: NDArray[np.integer[Any]]
    groups: tuple[str, ...]

    def metrics(self, labels: Integers, k: int) -> LocalMetrics:
        """The metric of every group in each of k clusters."""
        return metric_by_group(labels, k, self.group, len(self.groups), self.rows.outcome)


@dataclass(frozen=True)
class LocalSides:
    """Both parts, with the same groups."""

    settings: LocalBiasSettings
    train: Side
    test: Side

    @property
    def groups(self) -> tuple[str, ...]:
        """Names in the order of their codes."""
        return self.train.groups

    @property
    def left_out(self) -> dict[str, int]:
        """Rows by reason, train and test together."""
        train, test = self.train.rows.left_out, self.test.rows.left_out
        return {reason: train.get(reason, 0) + test.get(reason, 0) for reason in (*train, *test)}


def read_sides(train: LocalRows, test: LocalRows, settings: LocalBiasSettings) -> LocalSides:
    """Leave out rows with anything missing, and test rows of groups that no train row has.

    DataError for arrays of different lengths, a part without rows, or train rows of one group only.
    """
    train_rows, test_rows = _read(train, settings, "train"), _read(test, settings, "test")
    groups, train_codes = group_codes(train_rows.group, train_rows.rows)
    position = {name: code for code, name in enumerate(groups)}
    test_codes = np.array([position.get(level_name(one), -1) for one in test_rows.group], dtype=np.int64)
    if (test_codes < 0).any():
        test_rows = test_rows.where(test_codes >= 0, "of a group that no train row has")
        test_codes = test_codes[test_codes >= 0]
        test_rows.check_not_empty()
    return LocalSides(settings, Side(train_rows, train_codes, groups), Side(test_rows, test_codes, groups))


def _read(part: LocalRows, settings: LocalBiasSettings, name: str) -> UsedRows:
    """Check the arrays' lengths and leave out rows with anything missing."""
    X = handed_over(part.X) if is_table(part.X) else np.asarray(part.X)
    rows = len(X)
    arrays = {"group": part.group} | {
        key: getattr(part, key) for key in (*_OUTCOMES, "places") if getattr(part, key) is not None
    }
    columns: dict[str, NDArray[Any]] = {}
    for key, values in arrays.items():
        columns[key] = np.asarray(values)
        if columns[key].ndim != 1 or len(columns[key]) != rows:
            raise DataError(
                f"In the {name} part X has {rows:,} rows and {key} has {len(columns[key]):,}: the same rows are needed "
                "in both, in the same order."
            )
    if part.texts is not None and len(part.texts) != rows:
        raise DataError(f"In the {name} part X has {rows:,} rows and there are {len(part.texts):,} texts.")
    features = part.features if isinstance(X, np.ndarray) or part.features is not None else X
    features = None if features is None else handed_over(features)
    if features is not None and len(features) != rows:
        raise DataError(f"In the {name} part X has {rows:,} rows and features has {len(features):,}.")
    kept = np.ones(rows, dtype=bool)
    left_out, of_columns = {}, {"group": settings.group, "places": settings.places}
    for key, values in columns.items():
        missing = pd.isna(values) & kept
        if missing.any():
            left_out[f"without {of_columns.get(key, key)}"] = int(missing.sum())
            kept &= ~missing
    positions = np.flatnonzero(kept)
    group = columns.pop("group").astype(object)[kept]
    outcomes = {key: columns[key][kept] for key in _OUTCOMES if key in columns}
    places = columns["places"].astype(object)[kept] if "places" in columns else None
    texts = None if part.texts is None else [part.texts[i] for i in positions.tolist()]
    outcome = outcome_of(settings.metric, len(positions), **outcomes)
    described = None if features is None else features[kept]
    persons = None if part.persons is None else np.asarray(part.persons)[kept]
    used = UsedRows(name, X[kept], group, outcomes, outcome, texts, described, positions, left_out, persons, places)
    used.check_not_empty()
    return used


def matrices(train: Any, test: Any) -> tuple[Encoder | None, Any, Any]:
    """Embeddings as they are; tables standardised on the train rows, with categories as columns of their own."""
    if not isinstance(train, pd.DataFrame):
        return None, train, test
    encoder = Encoder.fit(train)
    return encoder, encoded(encoder, train), encoded(encoder, test)


def encoded(encoder: Encoder, table: Any) -> NDArray[np.floating[Any]]:
    """A table as numbers, shape (n, columns and levels).

    Rows of two levels are sqrt(gamma) apart, where a standard deviation is 1; gamma as in k-prototypes.
    """
    columns = encoder.transform(table)
    gamma = 0.5 if any(column.std > 0.0 for column, flag in encoder.fields if not flag) else 1.0
    size = np.sqrt(0.5 * gamma)
    parts = [columns.numeric]
    for column, codes in zip(encoder.categorical, columns.codes, strict=True):
        levels = np.arange(len(column.levels))[:, None]
        parts.append(np.where(codes == levels, size, 0.0).astype(columns.numeric.dtype))
    matrix: NDArray[np.floating[Any]] = np.ascontiguousarray(np.concatenate(parts).T)
    return matrix
