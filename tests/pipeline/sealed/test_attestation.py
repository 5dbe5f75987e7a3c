"""``bdt attest``, and a deployment that asks for what it writes."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import in_toto_attestation.predicates.test_result.v0.test_result_pb2 as test_result_pb2
import pytest
import yaml
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from jsonschema import Draft202012Validator
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from bdt_core.sealed.attestation import BIAS_AUDIT, TEST_RESULT, read_attestations, read_folder, result_of
from bdt_core.sealed.canonical import digest_of_file
from bdt_core.sealed.signing import public_name
from tests.pipeline.sealed.conftest import Office, bdt

DOCS = Path(__file__).parents[3] / "docs"
RECIPE = DOCS / "recipes" / "deploy-attested.sh"


def attested(office: Office, report: Path, *options: object, key: str = "auditor") -> Path:
    done = bdt("attest", report, "--subject", office.model, "--key", office.key(key), *options)
    assert done.exit_code == 0, done.output
    return report / "attestation.intoto.jsonl"


def statements_in(path: Path) -> dict[str, dict[str, Any]]:
    return {x["predicateType"]: x for x in read_attestations(path.read_bytes(), str(path))[1]}


def test_in_toto_reads_both_statements_and_their_predicate(office: Office) -> None:
    statements = statements_in(attested(office, office.failed))
    assert set(statements) == {TEST_RESULT, BIAS_AUDIT}
    for statement in statements.values():
        read = json_format.ParseDict(statement, statement_pb2.Statement())
        Statement.copy_from_pb(read).validate()
        assert read.subject[0].name == "model.bin"
        assert read.subject[0].digest["sha256"] == digest_of_file(office.model)
    result = json_format.ParseDict(statements[TEST_RESULT]["predicate"], test_result_pb2.TestResult())
    assert result.result == "FAILED"
    assert list(result.failed_tests) == ["accuracy_equality_difference by sex"]
    assert list(result.passed_tests) == ["equal_opportunity_ratio by sex"]
    assert [x.name for x in result.configuration] == ["plan"]


def test_securesystemslib_verifies_both_envelopes(office: Office) -> None:
    name = public_name(office.public())
    key = SSlibKey(name, "ed25519", "ed25519", {"public": raw_key(office.public()).hex()})
    for line in attested(office, office.passed).read_text().splitlines():
        assert list(Envelope.from_dict(json.loads(line)).verify([key], 1)) == [name]


def raw_key(public: Path) -> bytes:
    return base64.b64decode(public.read_text().split()[1])[-32:]


def test_our_predicate_is_what_its_schema_says(office: Office) -> None:
    schema = json.loads((DOCS / "bias-audit.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for report in (office.passed, office.failed):
        predicate = statements_in(attested(office, report))[BIAS_AUDIT]["predicate"]
        assert [error.message for error in validator.iter_errors(predicate)] == []
        assert set(predicate) == set(schema["properties"])
        assert predicate["report"]["digest"]["sha256"] == digest_of_file(report / "report.json")
        assert list(validator.iter_errors(predicate | {"rows": [["f", 1]]})) != []


@pytest.mark.parametrize(
    ("verdict", "blocks", "result"),
    [
        ("pass", False, "PASSED"),
        ("fail", True, "FAILED"),
        ("fail", False, "FAILED"),
        ("inconclusive", False, "WARNED"),
        ("inconclusive", True, "FAILED"),
        ("not_testable", False, "WARNED"),
        ("no_limit", False, "WARNED"),
    ],
)
def test_only_a_pass_is_passed(office: Office, verdict: str, blocks: bool, result: str) -> None:
    report = read_folder(office.passed)
    judged = {"verdict": verdict, "blocks": blocks}
    report.document["verdict"] |= judged
    report.document["gate"][0] |= judged
    predicate = result_of(report)
    member = {"PASSED": "passedTests", "WARNED": "warnedTests", "FAILED": "failedTests"}[result]
    assert predicate["result"] == result
    assert "accuracy_equality_difference by sex" in predicate[member]


def test_the_subject_is_a_file_or_a_digest_and_is_called_as_asked(office: Office) -> None:
    by_digest = f"sha256:{digest_of_file(office.model)}"
    out = office.folder / "x" / "signed.jsonl"
    options = ("--key", office.key(), "--name", "model-7", "--out", out)
    assert bdt("attest", office.passed, "--subject", by_digest, *options).exit_code == 0
    subjects = [x["subject"] for x in statements_in(out).values()]
    assert subjects == [[{"name": "model-7", "digest": {"sha256": digest_of_file(office.model)}}]] * 2


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"folder": "nowhere"}, "There is no nowhere/report.json. Name the folder of a report"),
        ({"--subject": "sha256:12"}, "after sha256: there are 64 hexadecimal digits"),
        ({"--subject": "no.bin"}, "no.bin cannot be read: No such file"),
        ({"--key": "no"}, "The key no cannot be read"),
        ({"--key": "loans.csv"}, "loans.csv is no private key that can be read. Make one with: ssh-keygen -t ed25519"),
        ({"--out": "loans.csv/x"}, "loans.csv/x cannot be written"),
    ],
)
def test_whatever_cannot_be_used_is_said_by_name(
    office: Office, changes: Mapping[str, str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(office.folder)
    options = {"--subject": "model.bin", "--key": "auditor"} | {k: x for k, x in changes.items() if k != "folder"}
    done = bdt("attest", changes.get("folder", "passed"), *(y for x in options.items() for y in x))
    assert done.exit_code == 2
    assert says in done.stderr
    assert not Path("passed/attestation.intoto.jsonl").exists()


def test_a_report_that_was_damaged_is_not_signed(office: Office) -> None:
    (office.passed / "report.json").write_text("{}")
    done = bdt("attest", office.passed, "--subject", office.model, "--key", office.key())
    assert done.exit_code == 2
    assert "report.json is no report that this version reads" in done.stderr


def deploy(office: Office, attestation: Path, *, model: Path | None = None, key: str = "auditor") -> bool:
    """Whether the recipe lets a deployment happen."""
    place = office.folder / "deployed"
    place.unlink(missing_ok=True)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [RECIPE, model or office.model, attestation, office.public(key), "touch", place]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == place.exists(), done.stderr
    return place.exists()


def test_only_a_subject_with_a_signed_passing_attestation_is_deployed(office: Office) -> None:
    signed = attested(office, office.passed)
    assert deploy(office, signed)

    retrained = office.folder / "retrained.bin"
    retrained.write_bytes(b"other weights")
    assert not deploy(office, signed, model=retrained)
    assert not deploy(office, signed, key="somebody")

    tampered = office.folder / "tampered.jsonl"
    lines = [json.loads(line) for line in signed.read_text().splitlines()]
    failed = [json.loads(line) for line in attested(office, office.failed).read_text().splitlines()]
    assert not deploy(office, office.failed / "attestation.intoto.jsonl")
    tampered.write_text(json.dumps(failed[0] | {"payload": lines[0]["payload"]}))  # a pass under another signature
    assert not deploy(office, tampered)
    assert not deploy(office, attested(office, office.passed, key="somebody"))
    tampered.write_text("")
    assert not deploy(office, tampered)
    assert not deploy(office, office.folder / "nowhere.jsonl")


def test_the_workflow_runs_the_recipe_in_a_job_that_has_no_key() -> None:
    jobs = yaml.safe_load((DOCS / "recipes" / "attested-deployment.yml").read_text())["jobs"]
    deployment = json.dumps(jobs["deploy"])
    assert (
        "docs/recipes/deploy-attested.sh model.onnx bias-report/attestation.intoto.jsonl bias/auditor.pub" in deployment
    )
    assert "secrets" not in deployment
    assert "secrets.BDT_KEY" in json.dumps(jobs["audit"])
