"""``bdt bundle``: a report and all that it rests on as one file."""

from __future__ import annotations

from pathlib import Path

from bdt_core.sealed.attestation import FORMS, SEAL, read_folder
from bdt_core.sealed.bundle import bundle, ledger_beside, ledger_until
from bdt_core.sealed.signing import public_name
from bdt_pipeline.commands.console import tell, write_file
from bdt_pipeline.commands.printing import put


def run_bundle(folder: Path, key: Path | None, seal: Path | None, out: Path | None) -> None:
    """Pack, write the file and say what is in it.

    Raises
    ------
    BDTError
        The report or the key cannot be used, or the file cannot be written.
    """
    report, ledger = read_folder(folder, seal), ledger_beside(folder.resolve().parent)
    packed = bundle(report, ledger, key)
    path = folder.resolve().with_suffix(".zip") if out is None else out
    write_file(path, packed)
    put(f"{path}\n  {'not signed' if key is None else f'signed by {public_name(key)}'}")
    if ledger is None or ledger_until(ledger, report.digest) is None:
        tell("No ledger of looks knows this report, so that the bundle holds none.")
    left = sorted(x.name for x in folder.iterdir() if x.name not in FORMS and not x.name.endswith(SEAL))
    if left:
        tell(f"Not taken, as it may hold rows of persons: {', '.join(left)}")
