"""Places that nobody has to look for: a column names them. And the rows of both parts, divided among places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.local_bias.metrics import Integers
from bdt_core.local_bias.partition import Partition
from bdt_core.local_bias.rows import LocalSides
from bdt_core.table.encoding import level_name
from bdt_core.table.frames import handed_over

Method = Literal["LOGAN", "k-means", "named places"]


@dataclass(frozen=True)
class Divided:
    """In which place the rows of both parts are; `names` are those of places that a column names.

    `nearest` is where the train rows would be if they were test rows. `inertia` is the train rows' sum of squared
    distances from the centre of their place; `merged` places were too small, and became part of others.
    """

    method: Method
    clusters: int
    train: Integers
    nearest: Integers
    test: Integers
    inertia: float
    merged: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class NamedPlaces:
    """Places by the values of a column.

    Attributes
    ----------
    column : str
    names : tuple of str
        In the order of their codes.
    """

    column: str
    names: tuple[str, ...]

    def codes(self, values: NDArray[Any]) -> Integers:
        """The place of each value, -1 where it is none of them."""
        position = {name: code for code, name in enumerate(self.names)}
        return np.array([position.get(level_name(one), -1) for one in values], dtype=np.int64)

    def predict(self, X: Any) -> Integers:
        """The place of each row of a table with the column, -1 where it is none of them."""
        frame = handed_over(X)
        if self.column not in frame.columns:
            raise DataError(f'The table has no column "{self.column}", which names the places.')
        return self.codes(frame[self.column].to_numpy(dtype=object))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able data."""
        return {"column": self.column, "names": list(self.names)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NamedPlaces:
        """Undo `to_dict`."""
        return cls(str(data["column"]), tuple(data["names"]))


def divided_by(partition: Partition, method: Method, train_X: NDArray[Any], test_X: NDArray[Any]) -> Divided:
    """Rows in the clusters that a search came to."""
    return Divided(
        method,
        partition.n_clusters,
        partition.labels,
        partition.predict(train_X),
        partition.predict(test_X),
        partition.inertia,
        len(partition.merged_into) - partition.n_clusters,
    )


def named_places(sides: LocalSides, train_X: NDArray[Any]) -> tuple[NamedPlaces, Divided]:
    """The places that the column of the settings names, and the rows in them."""
    of_train, of_test = sides.train.rows.places, sides.test.rows.places
    if sides.settings.places is None or of_train is None or of_test is None:
        raise DataError("The settings name a column of places, and the rows do not say in which place they are.")
    names = sorted({level_name(one) for part in (of_train, of_test) for one in part})
    places = NamedPlaces(sides.settings.places, tuple(names))
    train, test = places.codes(of_train), places.codes(of_test)
    inertia = 0.0
    for code in range(len(names)):
        inside = train_X[train == code].astype(np.float64)
        inertia += float(np.square(inside - inside.mean(axis=0)).sum()) if len(inside) else 0.0
    return places, Divided("named places", len(names), train, train, test, inertia, 0, places.names)
