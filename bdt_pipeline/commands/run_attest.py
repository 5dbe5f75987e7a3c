"""``bdt attest``: a report's result as a signed statement about a model or its predictions."""

from __future__ import annotations

from pathlib import Path

from bdt_core.sealed.attestation import ATTESTATION, attest, read_folder, result_of, subject_of_report
from bdt_core.sealed.signing import public_name
from bdt_pipeline.commands.console import write_file
from bdt_pipeline.commands.printing import put


def run_attest(folder: Path, subject: str | None, name: str | None, key: Path, out: Path | None) -> None:
    """Sign, write the file and say what it says.

    Raises
    ------
    BDTError
        The report, the subject or the key cannot be used, or the file cannot be written.
    """
    report = read_folder(folder)
    about = subject_of_report(report, subject, name)
    path = folder / ATTESTATION if out is None else out
    write_file(path, attest(report, about, key))
    result, digest = result_of(report)["result"], about["digest"]["sha256"]
    put(f"{result}: {report.document['name']}, of {about['name']} (sha256:{digest})")
    put(f"  signed by {public_name(key)}\n  {path}")
