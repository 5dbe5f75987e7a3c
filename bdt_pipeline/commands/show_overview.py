"""``bdt overview``: all audits of a storage, or of a folder of reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bdt_core.errors import SourceError, SpecError
from bdt_core.report.openmetrics import openmetrics
from bdt_pipeline.commands.console import REPORTS, console, show_files, show_notes, shown, verdict_word, write_file
from bdt_pipeline.resources.known_audits import known_audits
from bdt_pipeline.resources.storage import STORAGE_VARIABLE, storage_named

_METRICS = ".prom"


def show_overview(storage: str | None, out: Sequence[Path]) -> None:
    """Print all audits, and write the files.

    Parameters
    ----------
    storage : str, optional
        Folder or URL; by default ``BDT_STORAGE``, else the storage of the Dagster instance at ``DAGSTER_HOME``, else
        ``bdt-reports``.
    out : sequence of Path
        Files, each in the form that its ending says; what is there already is replaced.

    Raises
    ------
    SourceError
        No audit is known there.
    SpecError
        An ending is unknown.
    OutputError
        A file cannot be written.
    """
    for path in out:
        if path.suffix.lower() != _METRICS:
            raise SpecError(f"The overview is written as {_METRICS}; found {path.name}.")
    root = storage_named(storage or (None if storage_named(None) else str(REPORTS)))
    assert root is not None  # it was given
    audits, remarks = known_audits(root)
    if not audits:
        raise SourceError(
            f"No audit is known in {root}. Name the audits' storage, or a folder of reports, or set {STORAGE_VARIABLE}."
        )
    to = console()
    for audit in audits:
        word = verdict_word(audit.verdict) if audit.verdict else "-"
        looked, due = (f"{time:%Y-%m-%d %H:%M}" if time else "-" for time in (audit.looked, audit.due))
        to.print(f"{shown(audit.name)}: {word}, {looked}, due {due}", soft_wrap=True)
    show_notes(to, remarks)
    for path in out:
        write_file(path, openmetrics(audits).encode())
    if out:
        show_files(to, "Overview", out)
