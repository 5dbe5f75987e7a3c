"""Local bias from a specification: the same rows and numbers as by hand, embeddings beside the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import DataError, SourceError
from bdt_core.local_bias import LocalBias, LocalBiasSettings, LocalRows, find_local_bias
from bdt_core.local_bias.gaps import find_audited_local_bias
from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate

ROWS = 1500


def people(seed: int = 0, drop: float = 0.45) -> pd.DataFrame:
    """Beyond x = 2 the predictions for women are wrong more often."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=ROWS) + 4 * rng.integers(0, 2, ROWS), rng.normal(size=ROWS)
    sex = rng.choice(["f", "m"], ROWS)
    right = rng.random(ROWS) < np.where((x > 2) & (sex == "f"), 0.9 - drop, 0.9)
    repaid = rng.integers(0, 2, ROWS)
    noise = rng.normal(size=ROWS)
    return pd.DataFrame(
        {"x": x, "z": z, "noise": noise, "sex": sex, "repaid": repaid, "said": np.where(right, repaid, 1 - repaid)}
    )


def specified(local_bias: dict[str, Any], **changes: Any) -> AuditSpec:
    base = {
        "name": "loans",
        "source": {"path": "loans.csv"},
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "said"},
        "protected": ["sex"],
        "local_bias": {"group": "sex", "n_clusters": 4} | local_bias,
        "split": {"test_size": 0.4, "random_state": 7},
    }
    return parse_spec(base | changes)


def parts(frame: pd.DataFrame, spec: AuditSpec) -> tuple[AuditTable, AuditTable]:
    return split_rows(validate(frame, spec), spec.split)


def found_in(frame: pd.DataFrame, spec: AuditSpec) -> LocalBias:
    assert spec.local_bias is not None
    return find_audited_local_bias(*parts(frame, spec), spec.local_bias)


def by_hand(frame: pd.DataFrame, spec: AuditSpec, columns: list[str], *, as_array: bool = False) -> LocalBias:
    """The stage on arrays taken out of the split by name."""
    sides = []
    for part in parts(frame, spec):
        X = part.frame[columns].to_numpy() if as_array else part.frame[columns]
        label, prediction = part.frame["repaid"].to_numpy(), part.frame["said"].to_numpy()
        features = part.frame[["noise"]] if as_array else None  # a file says nothing of what rows are
        sides.append(LocalRows(X, part.frame["sex"].to_numpy(), y_true=label, y_pred=prediction, features=features))
    settings = LocalBiasSettings(group="sex", n_clusters=4, random_state=7)
    return find_local_bias(sides[0], sides[1], settings)


BESIDE: dict[str, Any] = {"features": {"include": ["noise"]}, "protected": ["sex", "x", "z"]}
"""x and z are in the table, to compare with, and are no features: clusters can follow them by the file alone."""


def same_but_settings(one: LocalBias, other: LocalBias) -> bool:
    return replace(one, settings=other.settings).to_dict() == other.to_dict()


def test_features_are_clustered_and_judged_as_by_hand() -> None:
    spec = specified({})
    found = found_in(people(), spec)
    assert same_but_settings(found, by_hand(people(), spec, ["x", "z", "noise"]))
    assert (found.train_rows, found.test_rows) == tuple(len(part.frame) for part in parts(people(), spec))
    assert found.train_rows + found.test_rows == ROWS
    assert found.logan.confirmed >= 1


def test_every_setting_arrives() -> None:
    spec = specified(
        {"n_clusters": 3, "weight": 0.02, "metric": "fpr", "min_group_size": 33, "max_gap": 0.12}
        | {"texts": "sex", "words_by": "lda", "describe_by": ["z"]},
        significance={"alpha": 0.01},
    )
    assert found_in(people(), spec).settings == LocalBiasSettings(
        group="sex", n_clusters=3, weight=0.02, metric="fpr", min_group_size=33, threshold=0.12, alpha=0.01,
        min_test_rows=30, texts="sex", words_by="lda", describe_by=("z",),
        random_state=7,
    )  # fmt: skip


def test_the_order_of_the_source_does_not_matter() -> None:
    spec = specified({})
    shuffled = people().sample(frac=1, random_state=1)
    assert found_in(shuffled, spec).to_dict() == found_in(people(), spec).to_dict()


def test_embedding_columns_are_clustered_on_and_nothing_else() -> None:
    spec = specified({"embeddings": ["x", "z"]}, features={"include": ["noise"]})
    found = found_in(people(), spec)
    assert found.settings.embeddings == ("x", "z")
    assert same_but_settings(found, by_hand(people(), spec, ["x", "z"]))
    features = {one.column for cluster in found.logan.clusters for one in cluster.about.features}
    assert features == {"x", "z"}


@pytest.fixture
def npy(tmp_path: Path) -> Path:
    path = tmp_path / "embeddings.npy"
    np.save(path, people()[["x", "z"]].to_numpy())
    return path


def test_rows_of_a_file_stay_with_their_people(npy: Path) -> None:
    spec = specified({"embeddings": str(npy)}, **BESIDE)
    found = found_in(people(), spec)
    assert same_but_settings(found, by_hand(people(), spec, ["x", "z"], as_array=True))
    # The same people in another order, with their embeddings in that order.
    order = np.random.default_rng(3).permutation(ROWS)
    np.save(npy, people()[["x", "z"]].to_numpy()[order])
    assert found_in(people().iloc[order], spec).to_dict() == found.to_dict()
    # An order that is not theirs gives other clusters: the comparison above could have failed.
    assert found_in(people(), spec).to_dict() != found.to_dict()


def test_rows_that_are_left_out_do_not_shift_the_others(npy: Path) -> None:
    frame = people()
    frame.loc[::7, "noise"] = np.nan
    spec = specified({"embeddings": str(npy)}, missing="drop", **BESIDE)
    found = found_in(frame, spec)
    assert found.train_rows + found.test_rows == ROWS - len(frame.loc[::7])
    assert same_but_settings(found, by_hand(frame, spec, ["x", "z"], as_array=True))


def test_a_split_that_went_through_a_file_keeps_its_rows(npy: Path) -> None:
    spec = specified({"embeddings": str(npy)}, features={"include": ["noise"]})
    train, test = (AuditTable.from_arrow(part.to_arrow()) for part in parts(people(), spec))
    assert spec.local_bias is not None
    assert find_audited_local_bias(train, test, spec.local_bias).to_dict() == found_in(people(), spec).to_dict()


def test_a_file_is_found_by_url_and_by_variable(npy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = {"include": ["noise"]}
    local = found_in(people(), specified({"embeddings": str(npy)}, features=features))
    monkeypatch.setenv("BDT_TEST_RUN", npy.stem)
    with fsspec.open("memory://audited/embeddings.npy", "wb") as file:
        file.write(npy.read_bytes())
    for address in (f"{npy.parent}/${{BDT_TEST_RUN}}.npy", "memory://audited/${BDT_TEST_RUN}.npy", npy.as_uri()):
        found = found_in(people(), specified({"embeddings": address}, features=features))
        assert same_but_settings(found, local)
        assert found.settings.embeddings == address  # with the name of the variable, not what it holds


def refused(path: Path, kind: str) -> None:
    if kind == "rows":
        np.save(path, np.zeros((ROWS - 1, 2)))
    elif kind == "vector":
        np.save(path, np.zeros(ROWS))
    elif kind == "objects":
        np.save(path, np.array([[{}]] * ROWS, dtype=object), allow_pickle=True)
    elif kind == "texts":
        np.save(path, np.full((ROWS, 2), "a"))
    elif kind == "no columns":
        np.save(path, np.zeros((ROWS, 0)))
    elif kind == "gap":
        numbers = np.zeros((ROWS, 2))
        numbers[:, 1] = np.arange(ROWS)
        numbers[41] = np.nan
        np.save(path, numbers)
    elif kind == "several":
        with path.open("wb") as file:
            np.savez(file, a=np.zeros((ROWS, 2)))
    elif kind == "cut off":
        np.save(path, np.zeros((ROWS, 2)))
        path.write_bytes(path.read_bytes()[:-9])
    elif kind == "table":
        people().to_csv(path)


@pytest.mark.parametrize("address", [str, Path.as_uri], ids=["path", "url"])
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("rows", "have 1,499 rows and the table has 1,500. They must match row by row"),
        ("vector", "two dimensions"),
        ("objects", "not a .npy file of numbers"),
        ("texts", "an array of <U1"),
        ("no columns", "in the shape (1500, 0)"),
        ("gap", "values that are missing or infinite in 1 of "),
        ("gap", "first in row 42 of the table"),
        ("several", "not a .npy file of numbers"),
        ("cut off", "a part of it is missing"),
        ("table", "not a .npy file of numbers"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path: Path, kind: str, told: str, address: Any) -> None:
    path = tmp_path / "embeddings.npy"
    refused(path, kind)
    with pytest.raises(DataError) as error:
        found_in(people(), specified({"embeddings": address(path)}))
    assert told in str(error.value)
    assert "embeddings.npy" in str(error.value)


def test_a_file_that_is_not_there_is_named(npy: Path) -> None:
    with pytest.raises(SourceError, match='Did you mean "embeddings.npy"'):
        found_in(people(), specified({"embeddings": str(npy.with_name("embedding.npy"))}))
    with pytest.raises(SourceError, match=r"local_bias.embeddings names the environment variable BDT_NOT_SET"):
        found_in(people(), specified({"embeddings": "${BDT_NOT_SET}.npy"}))


def right(found: LocalBias) -> list[int]:
    """Correct predictions per group over both parts, which other types of columns divide in another way."""
    both = zip(found.everywhere.train, found.everywhere.test, strict=True)
    return [(one.events or 0) + (other.events or 0) for one, other in both]


def test_outcomes_in_words_cut_or_missing_count_the_same() -> None:
    plain = found_in(people(), specified({}))
    said_so = {1: "yes", 0: "no"}
    words = people().assign(repaid=lambda f: f.repaid.map(said_so), said=lambda f: f.said.map(said_so))
    declared = {"derive": "error", "label": "repaid", "prediction": "said", "positive": "yes"}
    in_words = found_in(words, specified({}, bias_variable=declared))
    scored = people().assign(said=lambda f: np.where(f.said == 1, 0.8, 0.3))
    amounts = {"derive": "absolute_error", "label": "repaid", "prediction": "said"}
    groups = {"label": "repaid", "prediction": "said", "thresholds": {"said": 0.5}}
    cut = found_in(scored, specified({}, bias_variable=amounts, groups=groups))
    assert right(in_words) == right(cut) == right(plain)
    with_gaps = people().astype({"said": float})
    with_gaps.loc[:29, "said"] = np.nan
    lacking = found_in(with_gaps, specified({}))
    assert lacking.train_rows + lacking.test_rows == ROWS - 30
    assert lacking.left_out == {"without y_pred": 30}


def test_a_value_that_never_is_favourable_is_refused() -> None:
    """Else everybody's prediction would agree with everybody's label."""
    with pytest.raises(DataError, match='No train row has a favourable label in column "repaid"'):
        found_in(people(), specified({}, groups={"positive": "yes"}))
