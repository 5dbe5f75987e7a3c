"""``bdt looks``: all looks that are recorded beside some reports."""

from __future__ import annotations

import os
from pathlib import Path

from bdt_core.errors import SourceError, SpecError, did_you_mean
from bdt_core.report.blocks import Folded
from bdt_core.report.catalogue import sayings
from bdt_core.report.looks_page import looks_as_page
from bdt_core.said import AsItIs, Text, say
from bdt_core.sealed.ledger import Ledger
from bdt_core.sealed.looking import VARIABLE
from bdt_core.sealed.looks import history_of_looks
from bdt_core.spec.language import LANGUAGES
from bdt_core.words import verdict_word
from bdt_pipeline.commands.console import (
    REPORTS,
    console,
    show_files,
    show_parts,
    shown,
    tell,
    write_file,
)

_WHY = {"--storage": "batches are those of one audit.", "--key": "what is signed are the files of the page."}


def show_looks(
    folder: Path | None, name: str | None, storage: str | None, out: Path | None, key: Path | None, language: str
) -> int:
    """Print all looks, write the page where that is asked for, and give the exit code: 1 where the record is not whole.

    Parameters
    ----------
    folder : Path, optional
        Where the ledger stands; by default ``BDT_LOOKS``, else ``bdt-reports``.
    name : str, optional
        Of one audit.
    storage : str, optional
        Folder or URL of the audit's batches.
    out : Path, optional
        Folder for looks.json, looks.html, looks.pdf and looks.md.
    key : Path, optional
        Signs each of these files.
    language : str

    Raises
    ------
    SpecError
        There is no such language, or an option needs another one.
    SourceError
        There is no ledger, or no look of that audit.
    """
    if language not in LANGUAGES:
        raise SpecError(f'--language: there is no "{language}". {did_you_mean(language, LANGUAGES)}')
    for option, given, needs, other in (("--storage", storage, "--name", name), ("--key", key, "--out", out)):
        if given is not None and other is None:
            raise SpecError(f"{option} needs {needs}: " + _WHY[option])
    ledger = Ledger(folder or Path(os.environ.get(VARIABLE) or REPORTS))
    chain = ledger.read()
    if not chain.lines and not chain.problems:
        raise SourceError(f"There is no {ledger.path}: no look is recorded there. Name the folder of the reports.")
    history = history_of_looks(chain, name)
    if name is not None and not history.looks:
        known = sorted({str(event["name"]) for event in chain.events if "name" in event})
        raise SourceError(f'{ledger.path} has no look of an audit "{name}". {did_you_mean(name, known)}')
    if name is not None and storage is not None:
        history = history.model_copy(update={"batches": _of_batches(name, storage)})
    page = looks_as_page(history, language)
    to, said = console(), sayings(language)
    whole, looked, *batches = (part for part in page.section.blocks if isinstance(part, Folded))
    show_parts(to, [whole, looked])
    for number, look in enumerate(history.looks, 1):
        word = verdict_word(look.verdict, said) if look.verdict else "-"
        to.print(f"  {number}. {look.began}  {shown(look.name)}: {word}", soft_wrap=True)
        for change in look.changes:
            to.print(f"     {shown(said(change))}", soft_wrap=True)
    show_parts(to, batches)
    if out is not None:
        files = list(page.write(out, "looks", tell).values())
        signed = [_signed(file, key) for file in files] if key is not None else []
        show_files(to, "Looks", [*files, *signed])
    return 1 if history.problems else 0


def _of_batches(name: str, storage: str) -> tuple[Text, ...]:
    """What the batches of an audit show together: its limits, and what was noticed."""
    from bdt_core.history import difference_finding, drift_finding, volume_finding
    from bdt_core.history.limits import number_of_batches
    from bdt_pipeline.commands.show_history import history_of
    from bdt_pipeline.resources.storage import storage_named

    root = storage_named(storage)
    assert root is not None  # it was given
    history, _ = history_of(name, root)
    batches, last = number_of_batches(len(history.batches)), AsItIs(history.batches[-1].id)
    counted = say("{batches}; the latest is {last}.", batches=batches, last=last)
    noticed = (find(history).sentence for find in (difference_finding, drift_finding, volume_finding))
    kept = (limit.sentence for limit in history.limits if limit.verdict != "fail")  # the others are noticed
    return (counted, *kept, *noticed)


def _signed(file: Path, key: Path) -> Path:
    """The signature of a file, beside it, as ``ssh-keygen -Y sign`` writes it."""
    from bdt_core.sealed.signing import ssh_sign

    beside = file.with_name(f"{file.name}.sig")
    write_file(beside, ssh_sign(file.read_bytes(), key).encode())
    return beside
