"""``bdt verify``: what of a bundle, a report, an attestation or a ledger holds."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bdt_core
from bdt_core.errors import BDTError, SpecError
from bdt_core.report.catalogue import sayings
from bdt_core.said import Text, say
from bdt_core.sealed.answer import after_looks
from bdt_core.sealed.attestation import REPORT, AuditFiles, subject_of
from bdt_core.sealed.looks import Looks
from bdt_core.sealed.subject import AuditedFile
from bdt_core.sealed.verify import Asked, checks_of, exit_code
from bdt_core.sentences import with_part, with_sentences
from bdt_core.spec import LANGUAGES, AuditSpec, parse_spec
from bdt_core.version import installed_version
from bdt_pipeline.commands.printing import put

_CORE = Path(bdt_core.__file__).parent
_VERIFIER = (_CORE / "sealed" / "recompute.py", _CORE.parent / "verifier" / "recompute.py")
"""Where it is installed, and where it is in the repository."""
_MARKS = {True: "Holds: {what}", False: "Does not hold: {what}", None: "Not checked: {what}"}


def run_verify(
    path: Path,
    key: Path | None,
    subject: str | None,
    passed: bool,
    data: str | None,
    again: bool,
    ledger: Path | None,
    language: str | None,
) -> int:
    """Check, print a line for each answer, and give the exit code.

    Raises
    ------
    BDTError
        Something cannot be read, or is asked that needs a key.
    """
    if (passed or subject is not None) and key is None:
        raise SpecError("--subject and --passed need --key: without a key anybody can have written what is checked.")
    if language is not None and language not in LANGUAGES:
        raise SpecError(f"--language: one of {', '.join(LANGUAGES)}.")
    if again and data is None:
        raise SpecError("--again needs --data: the table that is to be audited again.")
    about = None if subject is None else subject_of(subject)["digest"]["sha256"]
    asked = Asked(key, about, passed, ledger, redraw=redrawn)
    if data is not None:
        asked = replace(asked, fingerprint=partial(fingerprint_of, data=data), recompute=partial(recomputed, data=data))
    if data is not None and again:
        asked = replace(asked, audit=partial(audited_again, data=data))
    checks, own = checks_of(path, asked)
    said = sayings(language or own)
    for check in checks:
        put(said(say(_MARKS[check.holds], what=check.sentence)))
    return exit_code(checks)


def fingerprint_of(report: AuditFiles, data: str) -> str:
    """The fingerprint of a table, read as the report's specification reads it.

    Raises
    ------
    BDTError
        The table cannot be read, or is not one that the specification can audit.
    """
    from bdt_core.shards.opening import open_table

    with open_table(None, _spec_of(report, data)) as opened:
        return opened.table.fingerprint


def audited_again(report: AuditFiles, data: str) -> dict[str, Any] | Text:
    """report.json of a table, by the report's specification, or why there is none.

    What is of one look alone is taken from the report: what the ledger told before it, the model's file, where the
    table was, and the versions of the libraries.

    Raises
    ------
    BDTError
        The table cannot be read, or is not one that the specification can audit.
    """
    from bdt_core.auditing import audit
    from bdt_core.report import canonical_json

    document = report.document
    if document["software"].get("bdt") != installed_version():
        return say("The table was not audited again: another version wrote the report.")
    if document.get("seal") and report.seal is None:
        return say("The table was not audited again: the seal by which it was audited is not here.")
    with TemporaryDirectory() as folder:
        seal = None if report.seal is None else Path(folder) / report.seal
        if seal is not None:
            seal.write_bytes(report.files[seal.name])
        about = document["spec"]["about"] | {"model_file": None}
        spec = _spec_of(report, data, seal=seal and str(seal), about=about)
        made: dict[str, Any] = json.loads(canonical_json(audit(None, spec, notice=lambda _: None).document))
    known = with_sentences(document)
    if document.get("subject"):
        made = with_part(made, "subject", AuditedFile.model_validate(known["subject"]))
    if document.get("looks"):
        looks = Looks.model_validate(known["looks"])
        made = with_part(after_looks(made, looks.number), "looks", looks)
    return made | {name: document[name] for name in ("spec", "software")} | {
        "data": made["data"] | {"source": document["data"]["source"]}
    }  # fmt: skip


def _spec_of(report: AuditFiles, data: str, **changed: object) -> AuditSpec:
    """The report's specification, of a table that lies elsewhere now."""
    source = {"path": data, "sql": None, "database": None, "asset": None, "partition": None}
    spec = report.document["spec"]
    elsewhere = {"source": spec["source"] | source, "partition_by": None, "inbox": None, **changed}
    return parse_spec(spec | elsewhere, "The report's specification")


def redrawn(report: AuditFiles) -> dict[str, bytes] | None:
    """The forms for people, as this version draws them of report.json: None where another version wrote it, none where
    nothing can be drawn of it, and an empty one where that cannot be drawn and the others can."""
    from bdt_core.report.write import write_reports
    from bdt_core.result import FORMS

    def unsaid(_: str) -> None:
        """What a form lacks stands in it."""

    if report.document["software"].get("bdt") != installed_version():
        return None
    with TemporaryDirectory() as folder:
        try:
            files = write_reports(report.document, Path(folder) / "report", unsaid)
        except (BDTError, ValueError, LookupError, TypeError, AttributeError):  # of a report.json that was changed
            return {}
        drawn = {form: path.read_bytes() for form, path in files.items() if form != "json"}
    return {f"report.{form}": drawn.get(form, b"") for form in FORMS if form != "json"} if drawn else {}


def recomputed(report: AuditFiles, data: str) -> str:
    """What the independent verifier prints of a report and its table; nothing where it cannot read them."""
    verifier = next(path for path in _VERIFIER if path.is_file())
    with TemporaryDirectory() as folder:
        path = Path(folder) / REPORT
        path.write_bytes(report.files[REPORT])
        command = [sys.executable, "-I", str(verifier), str(path), data]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
