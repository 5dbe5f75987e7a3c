"""Whatever a table holds, the audit takes what ``bdt init`` writes of it."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from bdt_core.audit import audit
from bdt_core.errors import DataError, SourceError
from bdt_core.spec import AuditSpec, load_spec
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.sources import read_table
from bdt_core.table.validate import validate
from bdt_pipeline.proposed.init_spec import write_spec

_TABLES = Path("shared") / "data" / "tables"
TABLES = next((one / _TABLES for one in Path(__file__).parents if (one / _TABLES).is_dir()), None)


def written(data: Path) -> AuditSpec:
    """The specification that is written beside a table, and its one question answered."""
    target = data.with_suffix(".yaml")
    target.unlink(missing_ok=True)
    write_spec(str(data), target)
    target.write_text(target.read_text(encoding="utf-8").replace("better: ANSWER_THIS", "better: lower"), "utf-8")
    return load_spec(target)


def taken(spec: AuditSpec) -> AuditTable:
    """The stages of reading and validation."""
    return validate(read_table(spec.source), spec)


NAMES = st.sampled_from(
    ["y", "no", "x", "Unnamed: 0", "id", "race", "SEX", "male", "Geslacht", "error", "label", "predicted label",
     "score", "default", "granted", "repaid", "age", "zip_code", "a: b", "# c", "date", "État civil", "{d}",
     "'e\"", "null", "1e5", "naïve\ttab", "-", "résultat", "\u2028", "income", "target", "code"]
)  # fmt: skip
SPEAKING = st.sampled_from(
    [(0, 1), (1, 2), (-1, 1), ("no", "yes"), ("m", "f"), ("White", "Black"), (0.5, 1.5), ("a: b", "#c"), ('"', "'")]
)
ODD = st.sampled_from(
    [None, "", 0, 1, 0.1, 1e-9, 1e300, 1e-300, 2**53, 2**53 + 1, "inf", "nan", "x", "1,5", "1.234,50", "2024-05-01",
     "05/06/2024", "true", "False", "~", "null", "- a", "é\u2028", "unknown", "a long text of several words", "£ 3"]
)  # fmt: skip


@st.composite
def odd_columns(draw: st.DrawFn, rows: int) -> list[Any]:
    kind = draw(st.sampled_from(["few", "many", "constant", "counting", "differ", "speaking with gaps"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    values = draw(st.lists(ODD, min_size=1, max_size=4))
    match kind:
        case "few":
            return [values[i] for i in rng.integers(0, len(values), rows)]
        case "many":
            return rng.normal(0, 10.0 ** draw(st.integers(-3, 9)), rows).round(draw(st.integers(0, 3))).tolist()
        case "constant":
            return [values[0]] * rows
        case "counting":
            return list(range(rows))
        case "differ":
            return [f"{values[0]}{i}" for i in range(rows)]
        case _:
            two = draw(SPEAKING)
            return [None if rng.random() < 0.7 else two[int(rng.integers(0, 2))] for _ in range(rows)]


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, bool]:
    """A table of two to six columns, and whether two of them certainly say something."""
    rows = draw(st.sampled_from([20, 25, 60, 130, 400]))
    speaking = draw(st.booleans())
    columns: list[list[Any]] = []
    if speaking:
        for seed in (1, 2):
            two = draw(SPEAKING)
            codes = np.random.default_rng(seed).permutation(np.arange(rows) % 2)
            columns.append([two[i] for i in codes])
    columns += draw(st.lists(odd_columns(rows), min_size=0 if speaking else 2, max_size=6 - len(columns)))
    names = draw(st.lists(NAMES, min_size=len(columns), max_size=len(columns), unique=True))
    order = draw(st.permutations(range(len(columns))))
    return pd.DataFrame({names[i]: pd.Series(columns[i], dtype=object) for i in order}), speaking


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(tables())
def test_whatever_columns_a_table_has_its_file_is_taken(made: tuple[pd.DataFrame, bool]) -> None:
    frame, speaking = made
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "odd.csv"
        frame.to_csv(data, index=False)
        try:
            read_table(str(data))
        except SourceError:
            reject()
        try:
            spec = written(data)
        except DataError as error:
            if speaking or "Nothing in this table" not in str(error):
                raise
            return
        assert taken(spec).names("feature")


OUTCOMES: dict[str, tuple[str, dict[str, str], set[str]]] = {
    "bank-full": ("y", {"positive": "yes"}, {"marital"}),
    "credit-card-clients": ("default payment", {"better": "lower"}, {"SEX", "MARRIAGE"}),
    "law_school_clean": ("pass_bar", {"better": "higher"}, {"male", "race"}),
    "oulad_clean": ("final_result", {"better": "higher", "positive": "Pass"}, {"gender", "disability", "age_band"}),
    "german_data_credit": ("class-label", {}, {"sex", "marital-status", "foreign-worker"}),
    "ricci_race": ("Promoted", {"better": "higher"}, {"Race"}),
    "SocialDiagnosis2011": ("smoke", {"positive": "YES"}, {"sex", "marital"}),
    "Table1_SD_20k": ("Risk category", {"better": "lower"}, {"Age"}),
    "Bar-Pass-Prediction": ("pass_bar", {"better": "higher"}, {"race", "gender"}),
    "FP-test-set": ("FP", {"better": "lower"}, set()),
    "nta_simulated": ("y", {}, {"Nationaliteiten", "Geslacht", "Leeftijd"}),
}


@pytest.mark.skipif(TABLES is None, reason="the tables are not here")
@pytest.mark.parametrize("name", OUTCOMES)
def test_real_tables_run_without_an_edit(name: str, tmp_path: Path) -> None:
    assert TABLES is not None
    outcome, said, protected = OUTCOMES[name]
    data = tmp_path / f"{name}.csv"
    with gzip.open(TABLES / f"{name}.csv.gz") as packed, data.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    spec = written(data)
    bias = spec.bias_variable
    assert outcome in (bias.column, bias.prediction)
    assert {key: getattr(bias, key) for key in said} == said
    assert set(spec.protected) == protected
    table = taken(spec)
    assert not [one for one in table.warnings if "numbers the rows" in one or "determines" in one]
    if name == "ricci_race":  # the smallest, as a whole
        assert audit(None, spec).document["verdict"]
