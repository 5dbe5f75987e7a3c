"""The same table and specification give the same bytes: from every folder, in every order, from every kind of file.

That threads change nothing is in tests/core/test_audit.py.
"""

from __future__ import annotations

import builtins
import functools
import json
import math
import operator
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from bdt_core.audit import audit
from bdt_core.report.html import render_html
from bdt_core.report.write import canonical_json
from bdt_core.spec import load_spec, parse_spec
from bdt_core.spec.source import name_in_reports


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = 1200
    sex = rng.choice(["f", "m"], rows)
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "age": rng.integers(18, 80, rows),
            "region": rng.choice(["north", "south", "east"], rows),
            "income": rng.normal(50, 10, rows).round(2),
            "sex": sex,
            "repaid": rng.integers(0, 2, rows),
            "approved": (rng.random(rows) < np.where(sex == "f", 0.4, 0.6)).astype(int),
        }
    )


def spec_of(path: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": "loans",
        "source": {"path": path},
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "approved"},
        "features": {"exclude": ["id"]},
        "protected": ["sex"],
        "clustering": {"stability": 5},
        "split": {"method": "hash", "key": "id"},
        **changes,
    }


def test_the_folder_changes_nothing(table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The specification named from its own folder, from the one above, and in full; the table named in full."""
    (tmp_path / "audits" / "data").mkdir(parents=True)
    table.to_csv(tmp_path / "audits" / "data" / "loans.csv", index=False)
    file = tmp_path / "audits" / "loans.yaml"
    file.write_text(yaml.safe_dump(spec_of("data/loans.csv")))
    in_full = tmp_path / "in_full.yaml"
    in_full.write_text(yaml.safe_dump(spec_of(str(tmp_path / "audits" / "data" / "loans.csv"))))
    texts = set()
    for folder, name in (
        (file.parent, "loans.yaml"),
        (tmp_path, "audits/loans.yaml"),
        (tmp_path, "./audits/../audits/loans.yaml"),
        (Path("/"), str(file)),
        (Path("/"), str(in_full)),
    ):
        monkeypatch.chdir(folder)
        texts.add(canonical_json(audit(None, load_spec(name)).document))
    assert len(texts) == 1
    assert str(tmp_path) not in texts.pop()


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/a/b/loans.csv", "loans.csv"),
        ("loans", "loans"),
        ("days/*.csv", "*.csv"),
        ("/x/{partition}/loans.csv", "{partition}/loans.csv"),
        ("s3://bucket/a/b.csv", "s3://bucket/a/b.csv"),
        ("${DATA}/x.csv", "${DATA}/x.csv"),
        ("sqlite:///a/b.db?mode=ro", "sqlite:///b.db?mode=ro"),
        ("postgresql://host/loans", "postgresql://host/loans"),
    ],
)
def test_what_a_report_says_of_a_path(path: str, told: str) -> None:
    assert name_in_reports(path) == told


def test_every_place_of_the_specification_is_named_so() -> None:
    from bdt_core.spec import reported_specification

    changes = {
        "groups": {"label": "repaid", "prediction": "approved"},
        "local_bias": {"group": "sex", "embeddings": "/secret/e.npy"},
        "inbox": {"folder": "/secret/inbox"},
    }
    source = {
        "path": "/secret/{partition}",
        "arrays": {"p": "/secret/p.npy"},
        "join": {"sql": "select 1", "database": "sqlite:////secret/l.db", "key": "id"},
    }
    assert "secret" not in json.dumps(reported_specification(parse_spec(spec_of("", **changes) | {"source": source})))


def without_source(document: dict[str, Any]) -> str:
    told = json.loads(canonical_json(document))
    told["data"].pop("source")
    told["spec"].pop("source")
    return json.dumps(told, sort_keys=True)


def test_neither_the_order_of_rows_nor_the_kind_of_file_changes_anything(table: pd.DataFrame, tmp_path: Path) -> None:
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet", index=False)
    shuffled = table.sample(frac=1.0, random_state=3)
    shuffled.to_csv(tmp_path / "b.csv", index=False, sep=";")
    shuffled.to_parquet(tmp_path / "b.parquet", index=False)
    texts = [
        without_source(audit(None, parse_spec(spec_of(str(tmp_path / name)))).document)
        for name in ("a.csv", "a.parquet", "b.csv", "b.parquet")
    ]
    assert texts[0] == texts[1]
    assert texts[0] == texts[2]
    assert texts[0] == texts[3]


def in_order(values: Iterable[Any], start: Any = 0) -> Any:
    """`sum` until Python 3.11."""
    return functools.reduce(operator.add, values, start)


def compensated(values: Iterable[Any], start: Any = 0) -> Any:
    """`sum` since Python 3.12: of floats, what rounding loses is kept apart."""
    several = list(values)
    kinds = {type(one) for one in (start, *several)}
    return math.fsum((start, *several)) if float in kinds and kinds <= {int, float} else in_order(several, start)


def test_no_version_of_python_changes_anything(table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Floats are added by `math.fsum`, which is exact on all of them."""
    assert in_order([0.1] * 10) != compensated([0.1] * 10) == 1.0
    changes = {"local_bias": {"group": "sex"}, "favourable": "positive", "groups": {"facets": [["sex", "region"]]}}
    spec = parse_spec(spec_of("loans.csv", **changes))
    texts = set()
    for one in (in_order, compensated):
        monkeypatch.setattr(builtins, "sum", one)
        found = audit(table, spec)
        texts.add(canonical_json(found.document) + render_html(found.document))
    monkeypatch.undo()
    assert len(texts) == 1
