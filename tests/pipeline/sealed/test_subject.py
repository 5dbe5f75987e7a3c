"""``about.model_file``: from the specification to the report, the forms, the attestation and what verify says."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bdt_core.sealed.attestation import read_attestations
from bdt_core.sealed.canonical import digest_of_file
from tests.pipeline.sealed.conftest import Office, bdt


def audited(office: Office, model: str | None) -> Path:
    """The folder of a report whose specification names a model."""
    path = office.folder / "passed.yaml"
    about = {} if model is None else {"about": {"model_file": model}}
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | about))
    done = bdt("gate", path, "--data", office.folder / "loans.csv", "--report", office.folder / "named")
    assert done.exit_code == 0, done.output
    return office.folder / "named"


def subjects(report: Path) -> list[dict[str, Any]]:
    statements = read_attestations((report / "attestation.intoto.jsonl").read_bytes(), "")[1]
    return [one for statement in statements for one in statement["subject"]]


def test_the_report_holds_the_hash_of_the_model_that_was_audited(office: Office) -> None:
    report = audited(office, "model.bin")
    known = {"name": "model.bin", "sha256": digest_of_file(office.model)}
    assert json.loads((report / "report.json").read_text())["subject"] == known
    assert bdt("dossier", report / "report.json", "--form", "annex-iv", "--out", office.folder / "form").exit_code == 0
    (form,) = (office.folder / "form").glob("*.md")
    assert f"SHA-256: {known['sha256']}" in form.read_text()

    done = bdt("attest", report, "--key", office.key())
    assert done.exit_code == 0, done.output
    assert subjects(report) == [{"name": "model.bin", "digest": {"sha256": known["sha256"]}}] * 2
    verified = bdt("verify", report, "--key", office.public(), "--subject", office.model)
    assert "Holds: The audit is of this model or these predictions." in verified.stdout


def test_a_model_that_was_changed_since_is_not_the_one_that_was_audited(office: Office) -> None:
    report = audited(office, "model.bin")
    before = digest_of_file(office.model)
    office.model.write_bytes(b"other weights")
    refused = bdt("attest", report, "--key", office.key(), "--subject", office.model)
    assert refused.exit_code == 2
    assert "is not the file that was audited: model.bin (about.model_file) had the SHA-256" in refused.stderr
    assert bdt("attest", report, "--key", office.key()).exit_code == 0
    assert subjects(report)[0]["digest"]["sha256"] == before
    verified = bdt("verify", report, "--subject", office.model, "--key", office.public())
    assert verified.exit_code == 1
    assert "Does not hold: The audit is of another model or other predictions." in verified.stdout


@pytest.mark.parametrize(
    ("model", "why"),
    [("gone.bin", "gone.bin (about.model_file) could not be read"), (None, "No about.model_file was named")],
)
def test_a_model_that_nobody_could_read_is_asked_for(office: Office, model: str | None, why: str) -> None:
    report = audited(office, model)
    document = json.loads((report / "report.json").read_text())
    assert document.get("subject") == (None if model is None else {"name": model, "sha256": None})
    refused = bdt("attest", report, "--key", office.key())
    assert refused.exit_code == 2
    assert why in refused.stderr
    assert "--subject" in refused.stderr
    assert bdt("attest", report, "--key", office.key(), "--subject", office.model).exit_code == 0
