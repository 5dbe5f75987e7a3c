"""A table of any library is the same table at every entrance: the same report, to the byte."""

from __future__ import annotations

import datetime as dt
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bdt_core
from bdt_core import HBAC, LOGAN, GroupThresholds, audit, bias_metrics, compare, find_slices, find_worst_groups, reweigh
from bdt_core.calibration import find_miscalibrated_groups
from bdt_core.clarify import clarify_analysis, read_analysis_config
from bdt_core.errors import BDTError, DataError, SourceError
from bdt_core.fairness import Threshold, count_rows, flip_test
from bdt_core.local_bias import LocalBiasSettings, LocalRows, find_local_bias
from bdt_core.mitigation import MitigationSettings, mitigate, proxy_table
from bdt_core.proposal import look_at, propose, with_proposed_roles
from bdt_core.report import canonical_json
from bdt_core.spec import spec_of_keywords

ROWS = 400


@cache
def columns() -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    days = [dt.date(2020, 1, 1) + dt.timedelta(int(one)) for one in rng.integers(0, 900, ROWS)]
    age = rng.integers(18, 80, ROWS)

    def with_gaps(values: Any) -> list[Any]:
        return [None if gap < 0.1 else one for gap, one in zip(rng.random(ROWS), values, strict=True)]

    return {
        "age": age.tolist(),
        "score": rng.random(ROWS).tolist(),
        "children": with_gaps(rng.integers(0, 4, ROWS).tolist()),
        "income": with_gaps(rng.normal(3000, 500, ROWS).tolist()),
        "member": (rng.random(ROWS) < 0.5).tolist(),
        "insured": with_gaps((rng.random(ROWS) < 0.5).tolist()),
        "paid": [Decimal(int(one)) / 100 for one in rng.integers(100, 9999, ROWS)],
        "since": days,
        "until": with_gaps(days),
        "seen": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(one)) for one in rng.integers(0, 900, ROWS)],
        "town": rng.choice(["Delft", "Gouda"], ROWS).tolist(),
        "sex": rng.choice(["f", "m"], ROWS).tolist(),
        "job": with_gaps(rng.choice(["cook", "poet"], ROWS).tolist()),
        "y": (rng.random(ROWS) < np.where(age < 30, 0.7, 0.2)).astype(int).tolist(),
    }


JOBS = ["poet", "cook", "smith"]
"""Levels that the column's type names; nobody is a smith."""


def of_numpy() -> pd.DataFrame:
    frame = pd.DataFrame(columns())
    dates = {name: pd.to_datetime(frame[name]) for name in ("since", "until")}
    return frame.assign(**dates, sex=frame["sex"].astype("category"), job=pd.Categorical(frame["job"], JOBS))


def of_polars() -> pl.DataFrame:
    pl.Series(["z", "m"], dtype=pl.Categorical)  # which its levels have in common with those of any other column
    return pl.DataFrame(columns()).with_columns(pl.col("sex").cast(pl.Categorical), pl.col("job").cast(pl.Enum(JOBS)))


class Capsule:
    """Nothing but the interface, as other libraries have it."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self._table.__arrow_c_stream__(schema)


def of_arrow() -> pa.Table:
    return of_polars().to_arrow()


LIBRARIES: dict[str, Callable[[], Any]] = {
    "pandas, Arrow": lambda: of_arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "Polars": of_polars,
    "Arrow": of_arrow,
    "dict of lists": columns,
}
"""Beside pandas with NumPy, which the others are held against."""
WAYS: dict[str, Callable[[], Any]] = {
    "pandas, its own": lambda: pd.DataFrame(columns()).convert_dtypes(),
    "Polars, lazy": lambda: of_polars().lazy(),
    "capsule": lambda: Capsule(of_arrow()),
    "reader": lambda: of_arrow().to_reader(),
    "dict of pandas": lambda: {name: one.sample(frac=1).sort_index() for name, one in of_numpy().items()},
    "dict of Polars": lambda: of_polars().to_dict(),
    "dict of Arrow": lambda: dict(zip(columns(), of_arrow().columns, strict=True)),
}
"""Others in which these libraries, and those that know Arrow, hand over a table."""
SEARCH = {"outcome": "y", "better": "lower", "columns": ["age", "children", "town", "job"]}


def some(table: Any, *names: str) -> Any:
    """Some columns of a table, in the way of its library."""
    if isinstance(table, dict):
        return {name: table[name] for name in names}
    return table[list(names)] if isinstance(table, pd.DataFrame) else table.select(list(names))


@cache
def audited() -> bdt_core.AuditResult:
    declared = {"facets": ["sex"], "prediction": "y"}
    few = {"worst_groups": {"permutations": 39}, "clustering": {"stability": 0, "n_init": 1, "max_iter": 2}}
    return audit(of_numpy(), **SEARCH, groups=declared, **few)


def reported(table: Any) -> Any:
    """A whole audit: the columns that it looks at are of every type, and the roles of others are proposed."""
    few: dict[str, Any] = {"worst_groups": {"permutations": 39}, "clustering": {"max_iter": 1, "stability": 0}}
    return canonical_json(audit(table, outcome="y", better="lower", **few).document)


def clustered(table: Any) -> Any:
    model = HBAC(max_iter=2).fit(some(table, "age", "job"), columns()["y"])
    return model.labels_.tolist(), model.transform(some(table, "age", "job")).tolist(), list(model.feature_names_in_)


def biased_locally(table: Any) -> Any:
    rows = LocalRows(some(table, "age", "town"), columns()["sex"], correct=columns()["y"])
    numbers = LOGAN(n_clusters=2).fit(some(table, "age", "score"), columns()["y"], columns()["sex"])
    found = find_local_bias(rows, rows, LocalBiasSettings("sex", n_clusters=2))
    return found.to_dict(), numbers.predict(some(table, "age", "score")).tolist(), list(numbers.feature_names_in_)


def compared(table: Any) -> Any:
    spec = {**audited().document["spec"], "clustering": None, "slices": None, "worst_groups": None}
    return compare(spec, spec, data_a=table).to_dict()


def of_clarify(table: Any) -> Any:
    facet = {"name_or_index": "sex", "value_or_threshold": ["f"]}
    methods = {"pre_training_bias": {"methods": ["DPL", "CI"]}}
    config = {"label": "y", "label_values_or_threshold": [1], "facet": [facet], "methods": methods}
    return clarify_analysis(read_analysis_config(config), table).analysis


def members(table: Any) -> Any:
    result, worst = audited(), audited().worst_groups
    assert worst is not None
    parts: list[Any] = [result, result.findings, result.clusters, result.groups, result.slices, worst]
    told = [one.members(table).to_dict() for one in parts]
    each = [result.findings[0].members(table), worst.groups[0].members(table)]
    assert all(one.sum() == worst.groups[0].rows for one in each)
    return told


def flipped(table: Any) -> Any:
    in_d = np.array(columns()["sex"]) == "f"
    return flip_test(some(table, "age", "job"), in_d, np.array(columns()["y"]) == 1).to_dict()


def mitigated(table: Any) -> Any:
    settings = MitigationSettings(("sex",), "score", "y", threshold=0.5, features=("age", "job"))
    return mitigate(table, table, settings).to_dict()


def with_roles(table: Any) -> Any:
    return with_proposed_roles(spec_of_keywords({"outcome": "y"}), table)[0].model_dump()


ENTRANCES: dict[str, Callable[[Any], Any]] = {
    "audit": reported,
    "compare": compared,
    "find_worst_groups": lambda table: find_worst_groups(table, **SEARCH, permutations=39).to_dict(),
    "find_slices": lambda table: find_slices(table, **SEARCH).to_dict(),
    "find_miscalibrated_groups": lambda table: find_miscalibrated_groups(
        table, label="y", score="score", columns=["age", "job"], permutations=39
    ).to_dict(),
    "bias_metrics": lambda table: (
        bias_metrics(table, facet="sex", label="y", prediction="member", positive=[1, True]).to_dict(),
        bias_metrics(columns()["y"], columns()["y"], groups=some(table, "sex", "job")).to_dict(),
    ),
    "count_rows": lambda table: count_rows(table, "age", label="y", thresholds={"age": Threshold(40)}).to_frame().values
    .tolist(),
    "flip_test": flipped,
    "clarify_analysis": of_clarify,
    "mitigate": mitigated,
    "proxy_table": lambda table: proxy_table(table, ["age", "job"], ["sex"]).to_dict(),
    "propose": lambda table: propose(table),
    "look_at": lambda table: {name: one.look for name, one in look_at(table).columns.items()},
    "with_proposed_roles": with_roles,
    "members": members,
    "HBAC": clustered,
    "LocalRows": biased_locally,
}  # fmt: skip


@cache
def of_pandas(entrance: str) -> Any:
    return ENTRANCES[entrance](of_numpy())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_table_of_any_library_is_the_same_at_every_entrance(entrance: str, library: str) -> None:
    assert ENTRANCES[entrance](LIBRARIES[library]()) == of_pandas(entrance)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("entrance", ["find_slices", "with_proposed_roles", "clarify_analysis"])
def test_a_table_is_the_same_in_whichever_way_it_is_handed_over(entrance: str, way: str) -> None:
    assert ENTRANCES[entrance](WAYS[way]()) == of_pandas(entrance)


@pytest.mark.parametrize("way", ["Polars, lazy", "capsule", "reader"])
def test_names_of_a_table_that_is_a_stream_are_known(way: str) -> None:
    numbers = ["age", "score"]
    table = of_polars().select(numbers)
    stream = {
        "Polars, lazy": table.lazy,
        "capsule": lambda: Capsule(table.to_arrow()),
        "reader": table.to_arrow().to_reader,
    }
    assert list(HBAC(max_iter=1).fit(stream[way](), columns()["y"]).feature_names_in_) == numbers
    model = LOGAN(n_clusters=2).fit(stream[way](), columns()["y"], columns()["sex"])
    assert list(model.feature_names_in_) == numbers


ARRAYS: dict[str, Callable[[str], Any]] = {
    "NumPy": lambda name: np.array(columns()[name]),
    "pandas": lambda name: of_numpy()[name],
    "pandas, Arrow": lambda name: pd.Series(columns()[name]).convert_dtypes(dtype_backend="pyarrow"),
    "Polars": lambda name: of_polars()[name],
    "Arrow": lambda name: of_polars().to_arrow()[name],
    "Arrow, one piece": lambda name: pa.array(columns()[name]),
}


@pytest.mark.parametrize("form", ARRAYS)
def test_a_column_is_the_same_wherever_one_is_taken(form: str) -> None:
    def measured(column: Callable[[str], Any]) -> list[Any]:
        y, sex, score = column("y"), column("sex"), column("score")
        weights = reweigh(y, sex)
        thresholds = GroupThresholds().fit(score, y, sex)
        return [
            bias_metrics(y, column("member"), groups={"sex": sex}, positive=[1, True], score=score).to_dict(),
            weights.weights(y, sex).tolist(),
            (thresholds.thresholds_, thresholds.predict(score, sex).tolist()),
            HBAC(max_iter=1).fit(of_numpy()[["age"]], y).labels_.tolist(),
            LOGAN(n_clusters=2).fit(of_numpy()[["age"]], y, sex).labels_.tolist(),
        ]

    assert measured(ARRAYS[form]) == measured(lambda name: columns()[name])


def takes_tables() -> Iterator[tuple[str, str]]:
    """Public functions and methods, and the annotation of each parameter that is a table."""
    packages = [one.name for one in pkgutil.iter_modules(bdt_core.__path__) if one.ispkg]
    for home in (bdt_core, *(importlib.import_module(f"bdt_core.{name}") for name in packages)):
        for name in getattr(home, "__all__", ()):
            found = getattr(home, name)
            if name == "Stages":  # whose methods an audit calls, with what it has read
                continue
            methods = vars(found).items() if inspect.isclass(found) else [(name, found)]
            for key, function in methods:
                if inspect.isfunction(function) and not key.startswith("_"):
                    for one in inspect.signature(function).parameters.values():
                        yield key, str(one.annotation)


def test_every_entrance_is_known_here() -> None:
    told = list(takes_tables())
    assert [name for name, kind in told if "DataFrame" in kind] == []  # pandas alone
    assert {name for name, kind in told if "AnyTable" in kind} <= set(ENTRANCES)
    assert len({name for name, kind in told if "AnyTable" in kind}) > 10


@pytest.mark.parametrize(
    ("given", "what"),
    [([1, 2], "A list"), (np.ones((2, 2)), "A ndarray"), (pl.Series([1]), "A Series"), (pa.array([1]), "A Int64Array")],
)
def test_what_is_no_table_is_named_with_what_is_expected(given: Any, what: str) -> None:
    expected = rf"^{what} is not a table. Expected a DataFrame \(pandas or Polars\), an Arrow table, a dict of columns"
    for door in (
        lambda: audit(given, outcome="y"),
        lambda: find_worst_groups(given, outcome="y", better="lower"),
        lambda: bias_metrics(given, facet="sex", label="y"),
        lambda: propose(given),
    ):
        with pytest.raises(SourceError, match=expected):
            door()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": [0, 1], "sex": ["f"]}, "Columns must have one value per row, and these differ in length: y 2, sex 1"),
        ({"y": 1, "sex": [1]}, r'Column "y" must have one value per row; its shape is \(\)'),
        ({"y": [[1, 2]]}, r'Column "y" must have one value per row; its shape is \(1, 2\)'),
    ],
)
def test_columns_that_are_none_are_named(given: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        audit(given, outcome="y")


@dataclass
class Missing:
    estimator: Any
    says: str


@pytest.mark.parametrize(
    "one",
    [
        Missing(HBAC(), "HBAC requires y to be passed, but the target y is None. y is the bias variable: one number"),
        Missing(LOGAN(), 'Metric "accuracy" needs correct, or y_true and y_pred'),
        Missing(GroupThresholds(), "GroupThresholds.fit takes scores, labels and group"),
    ],
    ids=lambda one: type(one.estimator).__name__,
)
def test_an_estimator_says_what_it_misses(one: Missing) -> None:
    with pytest.raises(BDTError, match=one.says):
        one.estimator.fit([[1.0], [2.0]])
