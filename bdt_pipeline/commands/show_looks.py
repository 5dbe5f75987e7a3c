"""``bdt looks``: all looks that are recorded beside some reports."""

from __future__ import annotations

import os
from pathlib import Path

from bdt_core.errors import SourceError, SpecError, did_you_mean
from bdt_core.report.blocks import Folded
from bdt_core.report.catalogue import sayings
from bdt_core.report.looks_page import looks_as_page
from bdt_core.sealed.ledger import Ledger
from bdt_core.sealed.looking import VARIABLE
from bdt_core.sealed.looks import history_of_looks
from bdt_core.spec.language import LANGUAGES
from bdt_pipeline.commands.console import REPORTS, console, show_files, show_parts, shown, verdict_word


def show_looks(folder: Path | None, name: str | None, out: Path | None, language: str) -> int:
    """Print all looks, write the page where that is asked for, and give the exit code: 1 where the record is not whole.

    Parameters
    ----------
    folder : Path, optional
        Where the ledger stands; by default ``BDT_LOOKS``, else ``bdt-reports``.
    name : str, optional
        Of one audit.
    out : Path, optional
        Folder for looks.json, looks.html, looks.pdf and looks.md.
    language : str

    Raises
    ------
    SpecError
        There is no such language.
    SourceError
        There is no ledger, or no look of that audit.
    """
    if language not in LANGUAGES:
        raise SpecError(f'--language: there is no "{language}". {did_you_mean(language, LANGUAGES)}')
    ledger = Ledger(folder or Path(os.environ.get(VARIABLE) or REPORTS))
    chain = ledger.read()
    if not chain.lines and not chain.problems:
        raise SourceError(f"There is no {ledger.path}: no look is recorded there. Name the folder of the reports.")
    history = history_of_looks(chain, name)
    if name is not None and not history.looks:
        known = sorted({str(event["name"]) for event in chain.events if "name" in event})
        raise SourceError(f'{ledger.path} has no look of an audit "{name}". {did_you_mean(name, known)}')
    page = looks_as_page(history, language)
    to, said = console(), sayings(language)
    show_parts(to, [part for part in page.section.blocks if isinstance(part, Folded)])
    for number, look in enumerate(history.looks, 1):
        word = verdict_word(look.verdict, said) if look.verdict else "-"
        to.print(f"  {number}. {look.began}  {shown(look.name)}: {word}", soft_wrap=True)
        for change in look.changes:
            to.print(f"     {shown(said(change))}", soft_wrap=True)
    if out is not None:
        show_files(to, "Looks", page.write(out, "looks").values())
    return 1 if history.problems else 0
