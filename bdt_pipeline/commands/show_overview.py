"""``bdt overview``: all audits of a storage, or of a folder of reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bdt_core.errors import SourceError, SpecError, did_you_mean
from bdt_core.report.known_audit import KnownAudit
from bdt_core.report.openmetrics import openmetrics
from bdt_core.report.overview import overview_as_page
from bdt_core.spec.language import LANGUAGES
from bdt_core.words import verdict_word
from bdt_pipeline.commands.console import REPORTS, console, show_files, show_notes, shown, write_file
from bdt_pipeline.resources.known_audits import known_audits
from bdt_pipeline.resources.served_reports import address_of_reports, served_file
from bdt_pipeline.resources.storage import STORAGE_VARIABLE, storage_named

_FORMS: dict[str, Callable[[Sequence[KnownAudit], str, str | None], str]] = {
    ".html": lambda audits, language, reports: overview_as_page(audits, datetime.now(UTC), language, reports).html(),
    ".prom": lambda audits, _, __: openmetrics(audits),
}
_SERVED = {
    "/": (".html", "text/html; charset=utf-8"),
    "/metrics": (".prom", "application/openmetrics-text; version=1.0.0; charset=utf-8"),
}


def show_overview(storage: str | None, out: Sequence[Path], language: str) -> Callable[[str], tuple[bytes, str] | None]:
    """Print all audits, and write the files.

    Parameters
    ----------
    storage : str, optional
        Folder or URL; by default ``BDT_STORAGE``, else the storage of the Dagster instance at ``DAGSTER_HOME``, else
        ``bdt-reports``.
    out : sequence of Path
        Files, each in the form that its ending says; what is there already is replaced.
    language : str
        Of the page.

    Returns
    -------
    callable
        What a server answers to a path, as it is when somebody asks, and its kind: the page, the metrics, and the files
        of reports; None for a path that there is not.

    Raises
    ------
    SourceError
        No audit is known there.
    SpecError
        An ending or the language is unknown, or ``BDT_REPORTS`` is no address.
    OutputError
        A file cannot be written.
    """
    if language not in LANGUAGES:
        raise SpecError(f'--language: there is no "{language}". {did_you_mean(language, LANGUAGES)}')
    for path in out:
        if path.suffix.lower() not in _FORMS:
            raise SpecError(f"The overview is written as {' or '.join(_FORMS)}; found {path.name}.")
    reports = address_of_reports()
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
        write_file(path, _FORMS[path.suffix.lower()](audits, language, reports).encode())
    if out:
        show_files(to, "Overview", out)

    def answer(path: str) -> tuple[bytes, str] | None:
        if path not in _SERVED:
            return served_file(root, path)
        form, kind = _SERVED[path]
        return _FORMS[form](known_audits(root)[0], language, reports or "").encode(), kind

    return answer
