"""``bdt bundle``: one file, without rows of persons, the same for the same report, and read by RO-Crate's own code."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import zipfile
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from rocrate.rocrate import ROCrate

from bdt_core.sealed.attestation import FORMS, read_folder
from bdt_core.sealed.bundle import bundle, ledger_until
from bdt_core.sealed.ledger import Chain
from tests.pipeline.sealed.conftest import Office, bdt

NAMES = {*FORMS, "manifest.json", "plan.json", "counts.json", "environment.json", "ro-crate-metadata.json"}
OF_LEDGER = {"looks.jsonl", "looks.head"}
SIGNATURES = {"manifest.dsse.json", "manifest.json.sig"}
CONTEXT = "https://w3id.org/ro/crate/1.2/context"
SSH_KEYGEN = shutil.which("ssh-keygen")


def bundled(office: Office, *options: object) -> dict[str, bytes]:
    out = office.folder / "out.zip"
    done = bdt("bundle", office.failed, "--out", out, *options)
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(out) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def test_it_holds_what_a_reader_needs_and_what_that_rests_on(office: Office) -> None:
    assert bdt("attest", office.failed, "--subject", office.model, "--key", office.key()).exit_code == 0
    files = bundled(office, "--key", office.key())
    assert set(files) == NAMES | OF_LEDGER | SIGNATURES
    assert set(bundled(office)) == NAMES | OF_LEDGER
    for name in FORMS:
        assert files[name] == (office.failed / name).read_bytes()
    counts = json.loads(files["counts.json"])
    table = [line.split(",") for line in (office.folder / "loans.csv").read_text().splitlines()[1:]]
    assert counts["rows"] == len(table)
    for group in counts["groups"]:
        of_group = [row for row in table if row[1] == group["group"]]
        right = sum(row[2] == row[3] for row in of_group)
        assert group["rates"]["accuracy"] == {"events": right, "n": len(of_group)}
    environment = json.loads(files["environment.json"])
    assert environment["audited_with"] == json.loads(files["report.json"])["software"]
    assert environment["bundled_with"]["packages"]["numpy"]


def test_it_is_named_after_the_folder_and_says_who_signed(office: Office) -> None:
    done = bdt("bundle", office.passed, "--key", office.key())
    assert "passed.zip\n  signed by SHA256:" in done.stdout
    assert (office.folder / "passed.zip").exists()
    assert "not signed" in bdt("bundle", office.passed).stdout


def test_the_manifest_has_the_digest_of_every_member(office: Office) -> None:
    files = bundled(office, "--key", office.key())
    manifest = json.loads(files["manifest.json"])
    others = {
        name: hashlib.sha256(x).hexdigest() for name, x in files.items() if name not in {"manifest.json", *SIGNATURES}
    }
    assert manifest == {"format": "bdt-bundle/1", "name": "loans", "files": others}


def test_no_file_with_rows_of_persons_is_taken(office: Office) -> None:
    for name in ("members.csv", "loans.csv", "notes.txt"):
        (office.failed / name).write_text("age,sex\n34,f\n")
    done = bdt("bundle", office.failed, "--out", office.folder / "out.zip")
    assert "Not taken, as it may hold rows of persons: loans.csv, members.csv, notes.txt" in done.stderr
    assert set(bundled(office)) <= NAMES | OF_LEDGER


def test_the_same_report_gives_the_same_bytes(office: Office) -> None:
    out = [office.folder / name for name in ("first.zip", "second.zip")]
    assert bdt("bundle", office.failed, "--key", office.key(), "--out", out[0]).exit_code == 0
    copy = office.folder / "copy"
    shutil.copytree(office.failed, copy)
    for path in sorted(copy.iterdir(), reverse=True):
        if path.name != "report.json":
            os.utime(path, (1, 1))
    assert bdt("bundle", copy, "--key", office.key(), "--out", out[1]).exit_code == 0
    assert out[0].read_bytes() == out[1].read_bytes()


def test_later_looks_are_left_out(office: Office) -> None:
    report = read_folder(office.passed)
    ledger = (office.folder / "looks.jsonl").read_bytes()
    assert len(ledger.splitlines()) == 4  # begun and ended, passed and then failed
    with zipfile.ZipFile(io.BytesIO(bundle(report, ledger, None))) as opened:
        looks, end = opened.read("looks.jsonl"), json.loads(opened.read("looks.head"))
    assert looks == b"".join(ledger.splitlines(keepends=True)[:2])
    assert Chain.of(looks, end).problems == ()
    assert json.loads(looks.splitlines()[-1])["report"] == report.digest
    assert ledger_until(ledger, "0" * 64) is None


def test_a_report_that_no_ledger_knows_says_so(office: Office) -> None:
    (office.folder / "looks.jsonl").unlink()
    done = bdt("bundle", office.failed, "--out", office.folder / "out.zip")
    assert done.exit_code == 0
    assert "No ledger of looks knows this report, so that the bundle holds none." in done.stderr


def test_rocrate_reads_who_audited_what_and_when(office: Office, tmp_path: Path) -> None:
    files = bundled(office, "--key", office.key())
    with zipfile.ZipFile(office.folder / "out.zip") as opened:
        opened.extractall(tmp_path / "crate")
    crate = ROCrate(tmp_path / "crate")
    described = {x.id: x for x in crate.data_entities}
    assert set(described) == set(files) - {"manifest.json", "ro-crate-metadata.json", *SIGNATURES}
    for name, x in described.items():
        assert x["sha256"] == hashlib.sha256(files[name]).hexdigest()
        assert int(x["contentSize"]) == len(files[name])
    action = crate.get("#audit")
    events = [json.loads(line) for line in files["looks.jsonl"].splitlines()]
    assert (action["startTime"], action["endTime"]) == (events[-2]["time"], events[-1]["time"])
    assert action["identifier"] == events[-1]["look"]
    assert action["object"][0]["name"] == "The audited table, which is not in the crate"
    assert crate.get("#table")["identifier"] == json.loads(files["report.json"])["data"]["fingerprint"]
    assert action["instrument"]["version"] == json.loads(files["report.json"])["software"]["bdt"]
    assert action["agent"]["identifier"].startswith("SHA256:")
    assert {x.id for x in action["result"]} == set(FORMS) & set(files)


def test_the_validator_of_ro_crate_accepts_it(office: Office, tmp_path: Path) -> None:
    """Profile 1.2, required and recommended. Terms of the context come from the package rocrate: nothing is fetched."""
    services = pytest.importorskip("rocrate_validator.services", reason="bdt-pipeline[test-crate] is not installed")
    models = pytest.importorskip("rocrate_validator.models")
    fill_cache(tmp_path / "cache")
    bundled(office, "--key", office.key())
    with zipfile.ZipFile(office.folder / "out.zip") as opened:
        opened.extractall(tmp_path / "crate")
    settings = services.ValidationSettings(
        rocrate_uri=str(tmp_path / "crate"),
        profile_identifier="ro-crate-1.2",
        requirement_severity=models.Severity.RECOMMENDED,
        offline=True,
        cache_path=str(tmp_path / "cache"),
    )
    result = services.validate(settings)
    advice = [x.message or "" for x in result.get_issues() if x.severity is models.Severity.RECOMMENDED]
    assert [x.message for x in result.get_issues() if x.severity is not models.Severity.RECOMMENDED] == []
    # What an audit does not know of whoever made it: an address, a registry's number, a licence's page.
    assert [x for x in advice if not re.search("organization|License entity|contactPoint", x, re.IGNORECASE)] == []


def fill_cache(path: Path) -> None:
    """Put into the validator's cache what it would fetch."""
    from requests.adapters import HTTPAdapter
    from requests_cache import CachedSession
    from urllib3 import HTTPResponse

    class FromPackage(HTTPAdapter):
        def send(self, request: Any, *arguments: Any, **options: Any) -> Any:
            body = resources.files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
            headers = {"Content-Type": "application/ld+json"}
            response = HTTPResponse(io.BytesIO(body), headers, 200, request_url=request.url, preload_content=False)
            return self.build_response(request, response)

    session = CachedSession(str(path), backend="sqlite")
    session.mount("https://", FromPackage())
    assert session.get(CONTEXT).json()["@context"]["sha256"] == "http://schema.org/sha256"


@pytest.mark.skipif(SSH_KEYGEN is None, reason="ssh-keygen is not installed")
def test_ssh_keygen_verifies_what_signs_the_bundle(office: Office) -> None:
    files = bundled(office, "--key", office.key())
    signature, signers = office.folder / "manifest.json.sig", office.folder / "signers"
    signature.write_bytes(files["manifest.json.sig"])
    signers.write_bytes(b"auditor@example.org " + office.public().read_bytes())
    command = [
        SSH_KEYGEN or "",
        "-Y",
        "verify",
        "-f",
        signers,
        "-I",
        "auditor@example.org",
        "-n",
        "bdt",
        "-s",
        signature,
    ]
    for manifest, code in ((files["manifest.json"], 0), (files["manifest.json"] + b" ", 255)):
        assert subprocess.run(command, input=manifest, capture_output=True, check=False).returncode == code
