"""The seal: what is in it, what was read for it, and what of an audit does not fit it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from bdt_core.errors import DataError, OutputError, SourceError
from bdt_core.sealed.canonical import digest
from bdt_core.sealed.plan import plan_digest, plan_of
from bdt_core.sealed.seal import PAYLOAD, Seal, seal_fits, seal_of, sealed_plan
from bdt_core.sealed.signing import verify
from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.table.people import PeopleFingerprint
from bdt_core.table.sources import read_table
from bdt_core.table.validate import validate
from bdt_pipeline.commands.run_seal import run_seal

KEYS = {"name": "loans", "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"}}


def people(rows: int = 400, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "person": [f"p{one:05d}" for one in rng.permutation(rows)],
            "age": rng.integers(18, 90, rows).astype(float),
            "income": rng.normal(30_000, 9_000, rows).round(2),
            "town": rng.choice(["Ede", "Goor", "Ulft", "Zürich"], rows),
            "sex": rng.choice(["f", "m"], rows),
        }
    )


def with_outcomes(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return frame.assign(repaid=rng.integers(0, 2, len(frame)), granted=rng.integers(0, 2, len(frame)))


def spec_for(path: Path, **more: Any) -> AuditSpec:
    source = {"path": str(path), **more.pop("source", {})}
    shared = {"protected": ["sex"], "features": {"exclude": ["person"]}}
    return parse_spec({**KEYS, **shared, "source": source, **more})


def without_outcomes(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False)
    return path


def test_a_seal_holds_the_plan_the_people_and_what_was_read(tmp_path: Path) -> None:
    spec = spec_for(without_outcomes(people(), tmp_path / "people.csv"), looks=5)
    seal = seal_of(spec)
    assert seal.plan == plan_of(spec)
    assert seal.plan_digest == plan_digest(spec)
    assert (seal.name, seal.rows, seal.looks, seal.signature) == ("loans", 400, 5, None)
    assert sorted(seal.columns or ()) == ["age", "income", "sex", "town"]
    seal.write(tmp_path / "loans.seal.json")
    written = json.loads((tmp_path / "loans.seal.json").read_text(encoding="utf-8"))
    assert set(written) == {
        "format", "name", "time", "plan", "plan_digest", "people", "rows", "columns", "looks", "version", "signature"
    }  # fmt: skip
    assert written["format"] == "bdt-seal/1"
    assert digest(written["plan"]) == written["plan_digest"]
    assert Seal.read(tmp_path / "loans.seal.json") == seal


def corrupted(path: Path, columns: list[str]) -> None:
    """Overwrite the bytes of some columns, so that reading them raises."""
    groups = pq.ParquetFile(path).metadata
    raw = bytearray(path.read_bytes())
    for column in range(groups.num_columns):
        chunk = groups.row_group(0).column(column)
        if chunk.path_in_schema in columns:
            start = chunk.data_page_offset
            raw[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(raw)


def test_of_parquet_neither_label_nor_prediction_is_read(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.parquet", tmp_path / "broken.parquet"
    table = pa.Table.from_pandas(with_outcomes(people()), preserve_index=False)
    for path in (whole, broken):
        pq.write_table(table, path, compression="NONE", use_dictionary=False)
    corrupted(broken, ["repaid", "granted"])
    with pytest.raises(SourceError):
        read_table(str(broken))
    assert seal_of(spec_for(broken)).people == seal_of(spec_for(whole)).people is not None


@pytest.mark.parametrize("outcome", ["absent", "garbled", "of another kind"])
def test_of_a_text_neither_label_nor_prediction_is_looked_at(tmp_path: Path, outcome: str) -> None:
    frame = with_outcomes(people())
    expected = seal_of(spec_for(without_outcomes(frame, tmp_path / "whole.csv"))).people
    if outcome == "absent":
        frame = frame.drop(columns=["repaid", "granted"])
    elif outcome == "garbled":
        frame = frame.assign(repaid='1,2"x \x07', granted=["7,5", "1.000.000"] * 200)
    else:
        frame = frame.assign(repaid="1,5", granted="2026-13-45")
    path = without_outcomes(frame, tmp_path / "other.csv")
    assert seal_of(spec_for(path)).people == expected is not None


def test_a_bias_variable_is_not_read_either(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    table = pa.Table.from_pandas(people().assign(fined=1.5), preserve_index=False)
    pq.write_table(table, path, compression="NONE", use_dictionary=False)
    whole = seal_of(spec_for(path, bias_variable={"column": "fined"}))
    corrupted(path, ["fined"])
    assert seal_of(spec_for(path, bias_variable={"column": "fined"})).people == whole.people is not None


def gaps(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(age=frame["age"].where(frame.index % 7 > 0))


CASES: dict[str, tuple[dict[str, Any], Callable[[pd.DataFrame], pd.DataFrame]]] = {
    "as it is": ({}, lambda frame: frame),
    "persons": ({"split": {"key": "person"}}, lambda frame: pd.concat([frame, frame.iloc[:50]])),
    "gaps": ({"missing": "drop"}, gaps),
    "spellings": ({"source": {"clean": True}}, lambda frame: frame.assign(town=["EDE", *frame["town"][1:]])),
    "dates": ({"source": {"ages": {"born": "2026-01-31"}}}, lambda frame: frame.assign(
        born=[f"{1930 + int(age)}-02-03" for age in frame["age"]])),
    "named features": ({"features": {"include": ["age"], "kinds": {"age": "categorical"}}}, lambda frame: frame),
    "a declared group": ({"protected": [], "groups": {"facets": ["town"]}}, lambda frame: frame),
    "a constant": ({}, lambda frame: frame.assign(year=2026)),
    "odd lines": ({}, lambda frame: frame.assign(town=[f'{one}, "x"\nNL' for one in frame["town"]])),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("case", CASES)
def test_the_people_of_a_seal_are_those_of_the_audit(tmp_path: Path, case: str, kind: str) -> None:
    keys, change = CASES[case]
    frame = with_outcomes(change(people()))
    path = tmp_path / f"people.{kind}"
    (frame.to_csv if kind == "csv" else frame.to_parquet)(path, index=False)
    spec = spec_for(path, **json.loads(json.dumps(keys)))
    seal = seal_of(spec)
    audited = validate(read_table(spec.source), spec)
    assert seal.people == audited.people.to_dict()
    assert seal_fits(spec, seal, audited.people) == ()


@pytest.mark.parametrize(
    ("source", "more"),
    [
        ({"sql": "select 1", "database": "sqlite://"}, {}),
        ({"asset": "warehouse/loans"}, {}),
        ({"path": "{partition}.csv"}, {}),
        ({"path": "people.json"}, {}),
        ({"path": "people.csv", "join": {"path": "labels.csv", "key": "person"}}, {}),
        ({"path": "people.csv", "arrays": {"town": "town.npy"}}, {}),
        ({"path": "people.csv"}, {"groups": {"score": "income"}, "features": {"include": ["age", "income"]}}),
    ],
)
def test_where_features_cannot_be_read_alone_the_plan_alone_is_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: dict[str, Any], more: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    people().to_json("people.json", orient="records")
    seal = seal_of(parse_spec({**KEYS, "source": source, **more}))
    assert (seal.people, seal.rows, seal.columns) == (None, None, None)
    assert seal.plan_digest


def test_a_table_that_does_not_fit_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = without_outcomes(people(), tmp_path / "people.csv")
    with pytest.raises(DataError, match="colour"):
        seal_of(spec_for(path, protected=["colour"]))


def test_what_does_not_fit_is_said_neutrally(tmp_path: Path) -> None:
    path = without_outcomes(people(), tmp_path / "people.csv")
    spec = spec_for(path, gate=[{"check": "worst_group", "max_difference": 0.05}])
    seal = seal_of(spec)
    fingerprint = PeopleFingerprint.from_dict(seal.people or {})
    moved = spec_for(path, gate=[{"check": "worst_group", "max_difference": 0.2}])
    assert seal_fits(spec, seal, fingerprint) == seal_fits(spec, seal, None) == ()
    assert seal_fits(moved, seal, fingerprint) == ("The limit on the worst group was moved from 5 to 20 of 100.",)
    fewer = seal_of(spec_for(without_outcomes(people(400)[:300], tmp_path / "fewer.csv")))
    (told,) = seal_fits(spec, seal, PeopleFingerprint.from_dict(fewer.people or {}))
    assert "of the people of this audit are those of the seal" in told
    others = seal_of(spec_for(without_outcomes(people(seed=9), tmp_path / "others.csv")))
    (told,) = seal_fits(spec, seal, PeopleFingerprint.from_dict(others.people or {}))
    assert told.startswith("0.0 % of the people of this audit are those of the seal")


@pytest.mark.parametrize("member", ["plan", "plan_digest"])
def test_a_seal_that_was_changed_does_not_fit(tmp_path: Path, member: str) -> None:
    spec = spec_for(without_outcomes(people(), tmp_path / "people.csv"))
    written = seal_of(spec).to_dict()
    written[member] = {**written["plan"], "require": "majority"} if member == "plan" else "0" * 64
    (tmp_path / "seal.json").write_text(json.dumps(written), encoding="utf-8")
    assert seal_fits(spec, Seal.read(tmp_path / "seal.json"), None) == ("The seal was changed after it was written.",)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    private = Ed25519PrivateKey.generate()
    path = tmp_path / "key.pem"
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public)
    return path


def test_a_signed_seal_is_of_its_key_and_of_all_that_it_says(tmp_path: Path, key: Path) -> None:
    spec = spec_for(without_outcomes(people(), tmp_path / "people.csv"))
    seal = seal_of(spec).with_signature(key)
    assert seal.signature is not None
    assert seal.signature["payloadType"] == PAYLOAD
    assert verify(seal.signature, key.with_suffix(".pub")) == seal.signed
    seal.write(tmp_path / "s.json")
    found = sealed_plan(spec.model_copy(update={"seal": str(tmp_path / "s.json")}), None)
    assert found is not None
    assert found.differs == ()
    assert str(found.signed_by).startswith("SHA256:")
    backdated = {**seal.to_dict(), "time": "2020-01-01T00:00:00Z"}
    (tmp_path / "s.json").write_text(json.dumps(backdated), encoding="utf-8")
    assert seal_fits(spec, Seal.read(tmp_path / "s.json"), None) == ("The seal was changed after it was written.",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file"),
        ("{", "is no seal. Expected a file"),
        ('{"format": "bdt-seal/2"}', "is no seal"),
        ('{"format": "bdt-seal/1", "columns": null}', "is no whole seal"),
        ("[]", "is no seal"),
    ],
)
def test_what_is_no_seal_is_named(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "x.seal.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(SourceError, match=message):
        Seal.read(path)


SPEC = """
name: loans
source: {path: people.csv}
bias_variable: {derive: error, label: repaid, prediction: granted}
protected: [sex]
features: {exclude: [person]}
"""


def test_the_command_writes_a_seal_beside_the_specification_and_never_over_one(tmp_path: Path, key: Path) -> None:
    without_outcomes(people(), tmp_path / "people.csv")
    spec = tmp_path / "audit.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    told = run_seal(spec, None, None, None)
    assert "For 400 rows, of which nothing was read but age, income, town and sex" in told
    assert "Nobody has signed it" in told
    before = (tmp_path / "loans.seal.json").read_bytes()
    with pytest.raises(OutputError, match=r"is there already: a plan that was fixed stays as it is"):
        run_seal(spec, None, None, None)
    assert (tmp_path / "loans.seal.json").read_bytes() == before
    with pytest.raises(OutputError, match="is there already"):
        Seal.read(tmp_path / "loans.seal.json").write(tmp_path / "loans.seal.json")
    told = run_seal(spec, None, key, tmp_path / "signed.json")
    assert "Signed by SHA256:" in told
    with pytest.raises(SourceError, match=r"--data: .*none\.csv does not exist"):
        run_seal(spec, str(tmp_path / "none.csv"), None, tmp_path / "y.json")
    assert not (tmp_path / "y.json").exists()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (None, "does not exist. Write one with: bdt init"),
        (
            SPEC.replace("prediction: granted", "prediction: granted, better: ANSWER_THIS"),
            "this is to be answered first",
        ),
        (SPEC.replace("people.csv", "none.csv"), "none.csv does not exist"),
    ],
)
def test_what_cannot_be_sealed_is_said_in_a_sentence(tmp_path: Path, spec: str | None, expected: str) -> None:
    without_outcomes(people(), tmp_path / "people.csv")
    file = tmp_path / "loans.yaml"
    if spec is not None:
        file.write_text(spec, encoding="utf-8")
    with pytest.raises(ValueError, match=expected.replace(".", r"\.")):
        run_seal(file, None, None, None)
    assert not (tmp_path / "loans.seal.json").exists()
