"""An audit's result as in-toto statements about a model or its predictions, signed in DSSE envelopes.

Two statements are made of each report: ``test-result``, which policy engines read, and one of our own with the plan,
the looks, the limits and the findings. A file holds both, an envelope per line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bdt_core.errors import BDTError, SourceError, SpecError
from bdt_core.result import FORMS as OF_REPORT
from bdt_core.result import READABLE_VERSIONS
from bdt_core.said import say
from bdt_core.sealed.canonical import canonical_bytes, digest, digest_of_file
from bdt_core.sealed.plan import plan_of
from bdt_core.sealed.signing import payload_of, sign
from bdt_core.spec import AuditSpec
from bdt_core.version import installed_version

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
BIAS_AUDIT = "urn:bdt:attestation:bias-audit:v0.1"
ATTESTATION = "attestation.intoto.jsonl"
"""The file's name, where none is asked for."""
Statement = dict[str, Any]
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_RESULTS: Mapping[str, str] = {"pass": "PASSED", "fail": "FAILED"}
_OF_LIMIT = ("check", "verdict", "sentence", "value", "low", "high", "minimum", "maximum")
REPORT, SEAL = "report.json", ".seal.json"
FORMS: Mapping[str, str] = {
    **{f"report.{form}": kind for form, kind in OF_REPORT.items()},
    "gate.json": "application/json",
    "gate.xml": "application/xml",
    "gate.md": "text/markdown",
    "gate-codequality.json": "application/json",
    ATTESTATION: "application/jsonl",
}
"""Files of a report, and what they are. Nothing else of its folder is taken anywhere: it may hold rows of persons."""
_MEMBERS = {"name", "verdict", "gate", "data", "bias_variable", "summary", "warnings", "spec"}
_FOR_OTHERS = "report.json is the form for publication, which lacks what a check needs. Name the owner's own report."
_MEND = "Name the folder of a report that bdt audit or bdt gate wrote."


@dataclass(frozen=True)
class AuditFiles:
    """The files of a report, from its folder or from a bundle.

    Attributes
    ----------
    files : mapping of str to bytes
        By name: those that hold results only (`FORMS`), and the seal. Nobody's rows are in them.
    document : dict
        The report as data.
    plan : dict
        What its specification decides.
    written : str
        When report.json was, in UTC.
    """

    files: Mapping[str, bytes]
    document: dict[str, Any]
    plan: dict[str, Any]
    written: str

    @property
    def digest(self) -> str:
        """SHA-256 of report.json."""
        return hashlib.sha256(self.files[REPORT]).hexdigest()

    @property
    def seal(self) -> str | None:
        """The name of the seal's file."""
        return next((name for name in self.files if name.endswith(SEAL)), None)


def read_folder(folder: Path, seal: Path | None = None) -> AuditFiles:
    """Read a report from its folder.

    Parameters
    ----------
    folder : Path
    seal : Path, optional
        The seal of its specification; by default the one that lies in the folder.

    Raises
    ------
    SourceError
        A file cannot be read; there is no report, or it is of another version.
    """
    report = folder / REPORT
    seals = sorted(folder.glob(f"*{SEAL}"))[:1] if seal is None else [seal]
    try:
        written = datetime.fromtimestamp(int(report.stat().st_mtime), UTC)
        paths = [*(folder / name for name in FORMS if (folder / name).is_file()), *seals]
        files = {path.name: path.read_bytes() for path in paths}
    except FileNotFoundError as error:
        raise SourceError(f"There is no {error.filename}. {_MEND}") from None
    except OSError as error:
        raise SourceError(f"{error.filename} cannot be read: {error.strerror or error}.") from None
    return audit_files(files, written.strftime("%Y-%m-%dT%H:%M:%SZ"), str(folder))


def audit_files(files: Mapping[str, bytes], written: str, called: str) -> AuditFiles:
    """The files of a report, of their bytes.

    Raises
    ------
    SourceError
        report.json is missing, or no report of this version.
    """
    try:
        document = json.loads(files[REPORT])
        if document.get("publication"):
            raise SourceError(f"{called}: {_FOR_OTHERS}")
        if document["schema_version"] not in READABLE_VERSIONS or not set(document) >= _MEMBERS:
            raise ValueError
        spec = AuditSpec.model_validate(document["spec"])
    except BDTError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SourceError(f"{called}: report.json is no report that this version reads. {_MEND}") from None
    return AuditFiles(files, document, plan_of(spec), written)


def subject_of(subject: str, name: str | None = None) -> dict[str, Any]:
    """The model or the predictions that a statement is about.

    Parameters
    ----------
    subject : str
        A file, of which SHA-256 is taken, or ``sha256:`` and 64 digits.
    name : str, optional
        What it is called; by default the file's name.

    Raises
    ------
    SpecError
        The digest is none.
    SourceError
        The file cannot be read.

    Examples
    --------
    >>> subject_of("sha256:" + "0" * 64, "model-7")["name"]
    'model-7'
    """
    if subject.startswith("sha256:"):
        known = _DIGEST.fullmatch(subject.lower())
        if known is None:
            raise SpecError("--subject: after sha256: there are 64 hexadecimal digits. Or name the file itself.")
        return {"name": name or "subject", "digest": {"sha256": known[1]}}
    return {"name": name or Path(subject).name, "digest": {"sha256": digest_of_file(subject)}}


def subject_of_report(report: AuditFiles, subject: str | None, name: str | None = None) -> dict[str, Any]:
    """The model or the predictions that a statement of a report is about.

    Parameters
    ----------
    report : AuditFiles
    subject : str or None
        As `subject_of` takes it; None for the file that the audit was made of (``about.model_file``).
    name : str, optional
        What it is called; by default the file's name.

    Raises
    ------
    SpecError
        The audit names no file and no subject is given, or another one is given.
    SourceError
        The file cannot be read.
    """
    known = report.document.get("subject") or {"name": None, "sha256": None}
    given = None if subject is None else subject_of(subject, name)
    if known["sha256"] is None and given is None:
        why = (
            f"{known['name']} (about.model_file) could not be read"
            if known["name"]
            else "No about.model_file was named"
        )
        raise SpecError(f"{why} when the audit was made. Name the file of the model or its predictions: --subject.")
    if given is None:
        return {"name": name or known["name"], "digest": {"sha256": known["sha256"]}}
    if known["sha256"] not in (None, given["digest"]["sha256"]):
        raise SpecError(
            f"--subject: {subject} is not the file that was audited: {known['name']} (about.model_file) had the "
            f"SHA-256 {known['sha256']}. Audit the new one, or leave --subject out."
        )
    return given


def attest(report: AuditFiles, subject: Mapping[str, Any], key: Path) -> bytes:
    """Sign what a report says of a model or its predictions.

    Parameters
    ----------
    report : AuditFiles
    subject : mapping
        As `subject_of` gives it.
    key : Path
        A private key, as `bdt_core.sealed.signing.sign` takes it.

    Returns
    -------
    bytes
        JSON lines: an envelope with the predicate test-result, and one with our own.

    Raises
    ------
    BDTError
        The key or the seal cannot be used.
    """
    predicates = {TEST_RESULT: result_of(report), BIAS_AUDIT: audit_of(report)}
    statements = (statement(subject, kind, predicate) for kind, predicate in predicates.items())
    return b"".join(canonical_bytes(sign(canonical_bytes(x), PAYLOAD_TYPE, key)) + b"\n" for x in statements)


def statement(subject: Mapping[str, Any], kind: str, predicate: Mapping[str, Any]) -> Statement:
    """An in-toto statement, version 1."""
    return {"_type": STATEMENT, "subject": [dict(subject)], "predicateType": kind, "predicate": dict(predicate)}


def result_of(report: AuditFiles) -> dict[str, Any]:
    """The predicate test-result 0.1: what passed, what failed, and what neither did.

    The result is PASSED where the report's verdict is, FAILED where it fails or its gate is shut, and WARNED where the
    data cannot tell or nothing was agreed. A baseline changes nothing: it forgives a pipeline, not a model.
    """
    verdict = report.document["verdict"]
    limits: dict[str, list[str]] = {"PASSED": [], "WARNED": [], "FAILED": []}
    for limit in report.document["gate"]:
        limits[_result(limit)].append(limit["check"])
    names = {"passedTests": "PASSED", "warnedTests": "WARNED", "failedTests": "FAILED"}
    configuration = [{"name": "plan", "digest": {"sha256": digest(report.plan)}, "mediaType": "application/json"}]
    if (seal := _seal(report)) is not None:
        configuration.append(seal)
    tests = {member: limits[result] for member, result in names.items()}
    return {"result": _result(verdict), "configuration": configuration, **tests}


def audit_of(report: AuditFiles) -> dict[str, Any]:
    """The predicate of our own: everything that a reader of page 1 is told, with digests of what it rests on.

    ``docs/bias-audit.schema.json`` says what each member is.
    """
    document = report.document
    data, verdict = document["data"], document["verdict"]
    return {
        "tool": {"name": "bdt", "version": installed_version()},
        "name": document["name"],
        "report": {"name": REPORT, "digest": {"sha256": report.digest}},
        "plan": {"digest": {"sha256": digest(report.plan)}},
        "seal": _seal(report),
        "looks": document.get("looks"),
        "data": {
            "fingerprint": data["fingerprint"],
            "rows": data["rows"],
            "rowsAudited": data["rows_audited"],
        },
        "measured": {key: document["bias_variable"].get(key) for key in ("name", "better")},
        "verdict": {
            "verdict": verdict["verdict"],
            "blocks": verdict["blocks"],
            "sentence": verdict["sentence"],
        },
        "limits": [{key: limit.get(key) for key in _OF_LIMIT} for limit in document["gate"]],
        "findings": document["summary"]["findings"],
        "warnings": document["warnings"],
    }


def read_attestations(content: bytes, called: str) -> tuple[list[dict[str, Any]], list[Statement]]:
    """Envelopes, a line each, and the statements in them; nobody's signature is checked by that.

    Raises
    ------
    SourceError
        A line is no envelope, or what it holds is no in-toto statement.
    """
    try:
        if content[-1:] not in (b"\n", b"}"):
            raise ValueError
        envelopes = [json.loads(line) for line in content.removesuffix(b"\n").split(b"\n")]
        statements = [json.loads(payload_of(envelope)) for envelope in envelopes]
        if not all(map(_is_statement, statements)) or {x["payloadType"] for x in envelopes} != {PAYLOAD_TYPE}:
            raise ValueError
    except (ValueError, RecursionError):
        raise SourceError(
            say("{file} is no bundle, report, ledger or signed attestation, or was changed.", file=called)
        ) from None
    return envelopes, statements


def digests_of(statements: Sequence[Statement]) -> set[str]:
    """SHA-256 of all that the statements are about."""
    return {str(x["digest"].get("sha256")) for statement in statements for x in statement["subject"]}


def _is_statement(x: Any) -> bool:
    if not isinstance(x, dict) or x.get("_type") != STATEMENT or not isinstance(x.get("predicate"), dict):
        return False
    subjects = x.get("subject")
    return isinstance(subjects, list) and all(
        isinstance(y, dict) and isinstance(y.get("digest"), dict) for y in subjects
    )


def _result(judged: Mapping[str, Any]) -> str:
    """Of a limit, or of all together."""
    return "FAILED" if judged["blocks"] else _RESULTS.get(judged["verdict"], "WARNED")


def _seal(report: AuditFiles) -> dict[str, Any] | None:
    """The seal that the audit found, by SHA-256 of what its signature is of."""
    made = (report.document.get("seal") or {}).get("digest")
    return None if made is None else {"name": "seal", "digest": {"sha256": made}, "mediaType": "application/json"}
