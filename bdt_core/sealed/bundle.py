"""One file with a report and all that it rests on: byte for byte the same for the same report.

The file is a zip without compression, whose bytes follow from its members; so whoever reads one makes it anew, and a
byte that differs was changed. ``manifest.json`` has the digest of every member, and is what is signed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import zipfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from bdt_core.errors import SourceError
from bdt_core.said import say
from bdt_core.sealed.attestation import FORMS, SEAL, AuditFiles, audit_files
from bdt_core.sealed.canonical import canonical_bytes
from bdt_core.sealed.ledger import FILE as LEDGER
from bdt_core.sealed.ledger import HEAD
from bdt_core.sealed.looking import VARIABLE
from bdt_core.sealed.signing import public_name, sign, ssh_sign

FORMAT = "bdt-bundle/1"
MANIFEST, ENVELOPE, SIGNATURE = "manifest.json", "manifest.dsse.json", "manifest.json.sig"
MANIFEST_TYPE = "application/vnd.bdt.manifest+json"
PLAN, COUNTS, ENVIRONMENT, CRATE = "plan.json", "counts.json", "environment.json", "ro-crate-metadata.json"
_MADE: Mapping[str, tuple[str, str]] = {
    PLAN: ("application/json", "What the specification decides"),
    COUNTS: ("application/json", "Rows and events per declared group"),
    ENVIRONMENT: ("application/json", "Versions of the software"),
    LEDGER: ("application/jsonl", "Looks, up to this one"),
    HEAD: ("application/json", "Where the looks end"),
}
_NOT_IN_MANIFEST = {MANIFEST, ENVELOPE, SIGNATURE}
_LARGEST = 1 << 30
"""Bytes; a file that is larger is no bundle."""
_TERMS = (
    "The working file of whoever owns the table: from its counts those of single groups can be worked out. "
    "bdt audit --for publication writes a report for others."
)
_CONTEXT = "https://w3id.org/ro/crate/1.2/context"
_PROFILE = "https://w3id.org/ro/crate/1.2"
_PROV = "http://www.w3.org/ns/prov#"
_PROV_TERMS = ("Activity", "SoftwareAgent", "used", "generated", "wasAssociatedWith")


def bundle(report: AuditFiles, ledger: bytes | None, key: Path | None) -> bytes:
    """Pack a report.

    Parameters
    ----------
    report : AuditFiles
    ledger : bytes, optional
        The ledger in which its look stands; later looks are left out.
    key : Path, optional
        A private key, as `bdt_core.sealed.signing.sign` takes it.

    Returns
    -------
    bytes
        A zip. Its signature, where there is a key, is in an envelope and as ``ssh-keygen -Y`` has it.

    Raises
    ------
    BDTError
        The key cannot be used.
    """
    looks = None if ledger is None else ledger_until(ledger, report.digest)
    files = {
        **report.files,
        PLAN: canonical_bytes(report.plan),
        COUNTS: canonical_bytes(counts_of(report.document)),
        ENVIRONMENT: canonical_bytes(_environment(report.document)),
    }
    if looks is not None:
        lines = looks.removesuffix(b"\n").split(b"\n")
        end = {"lines": len(lines), "head": hashlib.sha256(lines[-1]).hexdigest()}
        files |= {LEDGER: looks, HEAD: canonical_bytes(end)}
    signer = None if key is None else public_name(key)
    files[CRATE] = canonical_bytes(crate_of(report, files, looks, signer))
    files[MANIFEST] = canonical_bytes({"format": FORMAT, "name": report.document["name"], "files": digests_of(files)})
    if key is not None:
        files[ENVELOPE] = canonical_bytes(sign(files[MANIFEST], MANIFEST_TYPE, key))
        files[SIGNATURE] = ssh_sign(files[MANIFEST], key).encode()
    return _packed(files)


def read_bundle(content: bytes, called: str) -> dict[str, bytes]:
    """The members of a bundle by name.

    Raises
    ------
    SourceError
        It is no bundle, or a byte of it was changed: outside its members, or in one of which the manifest has the
        digest.
    """
    wrong = SourceError(say("{file} is no bundle, or bytes of it were changed.", file=called))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            if any(x.compress_type != zipfile.ZIP_STORED or x.file_size > _LARGEST for x in opened.infolist()):
                raise wrong
            files = {x.filename: opened.read(x) for x in opened.infolist()}
        manifest = json.loads(files[MANIFEST])
        is_whole = manifest["format"] == FORMAT and manifest["files"] == digests_of(files)
    except (zipfile.BadZipFile, ValueError, LookupError, TypeError, NotImplementedError, RuntimeError, OSError):
        raise wrong from None
    if not is_whole or _packed(files) != content:
        raise wrong
    return files


def report_in(files: Mapping[str, bytes], called: str) -> AuditFiles:
    """The report in a bundle.

    Raises
    ------
    SourceError
        It is no report that this version reads.
    """
    own = {name: content for name, content in files.items() if name in FORMS or name.endswith(SEAL)}
    return audit_files(own, "", called)


def digests_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of each member but the manifest and its signatures."""
    return {name: hashlib.sha256(x).hexdigest() for name, x in files.items() if name not in _NOT_IN_MANIFEST}


def ledger_beside(folder: Path | None) -> bytes | None:
    """The ledger of a folder in which report folders stand, or of that in BDT_LOOKS; None where there is none.

    Raises
    ------
    SourceError
        It is there and cannot be read.
    """
    place = os.environ.get(VARIABLE) or folder
    path = None if place is None else Path(place) / LEDGER
    if path is None or not path.is_file():
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}.") from None


def ledger_until(ledger: bytes, report: str) -> bytes | None:
    """The lines of a ledger up to the look that wrote a report; None where there is none.

    Parameters
    ----------
    ledger : bytes
    report : str
        SHA-256 of report.json.

    Examples
    --------
    >>> ledger_until(b'{"report":"a"}\\n{"report":"b"}\\n{"report":"c"}\\n', "b")
    b'{"report":"a"}\\n{"report":"b"}\\n'
    """
    lines = ledger.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        if _event(line).get("report") == report:
            return b"".join(lines[:number])
    return None


def counts_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Rows, and per declared group the events and rows of each rate.

    Examples
    --------
    >>> counts_of({"data": {"rows": 5, "rows_audited": 4}, "groups": None})
    {'rows': 5, 'rows_audited': 4, 'groups': []}
    """
    facets = (document.get("groups") or {}).get("facets", [])
    return {
        "rows": document["data"]["rows"],
        "rows_audited": document["data"]["rows_audited"],
        "groups": [
            {
                "columns": facet["columns"],
                "group": group["group"],
                "rates": {name: {key: rate[key] for key in ("events", "n")} for name, rate in group["rates"].items()},
            }
            for facet in facets
            for group in facet["groups"]
        ],
    }


def crate_of(report: AuditFiles, files: Mapping[str, bytes], looks: bytes | None, signer: str | None) -> dict[str, Any]:
    """The bundle described as an RO-Crate 1.2: who audited what, when, with which software.

    Parameters
    ----------
    report : AuditFiles
    files : mapping of str to bytes
        All members that are described.
    looks : bytes or None
        The ledger up to this look.
    signer : str or None
        The name of the key.

    References
    ----------
    RO-Crate 1.2, https://w3id.org/ro/crate/1.2; PROV-O, https://www.w3.org/TR/prov-o/.
    """
    document, about = report.document, report.document["spec"].get("about") or {}
    events = [_event(line) for line in (looks or b"").splitlines()]
    times = {x["event"]: x["time"] for x in events if x.get("look") == events[-1].get("look")}
    ended = times.get("ended", report.written)
    auditor = about.get("tester") or about.get("owner") or signer or "not given"
    table, bdt, agent = ({"@id": name} for name in ("#table", "#bdt", "#auditor"))
    used, made = [table, {"@id": PLAN}], [{"@id": name} for name in sorted(files) if name in FORMS]
    graph = [
        _entity(CRATE, "CreativeWork", about={"@id": "./"}, conformsTo={"@id": _PROFILE}),
        _entity(
            "./", "Dataset", name=f"Bias audit {document['name']}", description=document["verdict"]["sentence"],
            datePublished=ended, license={"@id": "#terms"}, publisher=agent, mentions={"@id": "#audit"},
            hasPart=[{"@id": name} for name in sorted(files)],
        ),
        *(_described(name, content) for name, content in sorted(files.items())),
        _entity(
            "#audit", "CreateAction", "Activity", name=f"Audit of {document['name']}",
            identifier=str(events[-1]["look"]) if events else report.digest,
            startTime=times.get("begun", ended), endTime=ended, instrument=bdt, agent=agent, object=used, result=made,
            used=used, generated=made, wasAssociatedWith=agent,
        ),
        _entity(
            "#table", "CreativeWork", name="The audited table, which is not in the crate",
            identifier=document["data"]["fingerprint"], size=f"{document['data']['rows']} rows",
        ),
        _entity("#bdt", "CreativeWork", "SoftwareAgent", name="bdt", version=document["software"]["bdt"]),
        _entity("#auditor", "Organization", name=auditor, identifier=signer or "not signed"),
        _entity("#terms", "CreativeWork", name="Not for publication", description=_TERMS),
    ]  # fmt: skip
    return {"@context": [_CONTEXT, {x: f"{_PROV}{x}" for x in _PROV_TERMS}], "@graph": graph}


def _entity(place: str, *kinds: str, **members: Any) -> dict[str, Any]:
    return {"@id": place, "@type": kinds[0] if len(kinds) == 1 else list(kinds), **members}


def _described(name: str, content: bytes) -> dict[str, Any]:
    kind, says = _MADE.get(name, (FORMS.get(name, "application/json"), f"The report as {name}"))
    if name.endswith(SEAL):
        says = "The seal: what was fixed before labels and predictions were read"
    made = hashlib.sha256(content).hexdigest()
    members = {"encodingFormat": kind, "contentSize": str(len(content)), "sha256": made}
    return _entity(name, "File", name=name, description=says, **members)


def _environment(document: Mapping[str, Any]) -> dict[str, Any]:
    """Versions that the report names, and all packages of the Python that packs it."""
    packages = {x.metadata["Name"]: x.version for x in metadata.distributions() if x.metadata["Name"]}
    packed = {"python": platform.python_version(), "packages": dict(sorted(packages.items()))}
    return {"audited_with": document["software"], "bundled_with": packed}


def _packed(files: Mapping[str, bytes]) -> bytes:
    """A zip whose bytes follow from its members alone."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as opened:
        for name, content in sorted(files.items()):
            member = zipfile.ZipInfo(name)
            member.create_system, member.external_attr = 3, 0o644 << 16
            opened.writestr(member, content)
    return written.getvalue()


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
