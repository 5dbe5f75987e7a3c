"""``bdt compare``: what has become better or worse from A to B, and for whom. No Dagster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from bdt_core import words
from bdt_core.changes import Changes
from bdt_core.comparing import compare, compare_reports
from bdt_core.errors import SpecError
from bdt_core.report.blocks import Folded
from bdt_core.report.catalogue import sayings
from bdt_core.report.changes import changes_section, write_changes
from bdt_core.report.names import Names
from bdt_core.said import joined, of_ours, say
from bdt_core.spec import AuditSpec
from bdt_core.stages import READING, SPLITTING, stages_for
from bdt_pipeline.commands.console import (
    console,
    progress_bar,
    report_folder,
    show_files,
    show_parts,
    show_stage,
    show_verdict,
    tell,
)
from bdt_pipeline.commands.run_dossier import read_report
from bdt_pipeline.commands.run_gate import EXIT_CODES

_ENOUGH = 4
"""Parts of the page that are printed: the answer, who is worse off, who is better off, and the differences."""


def run_compare(
    a: Path,
    b: Path | None,
    specs: tuple[AuditSpec, AuditSpec] | None,
    *,
    of_specs: tuple[str | None, ...],
    key: str | None,
    max_worse: float | None,
    out: Path | None,
) -> int:
    """Compare, write the page, print its beginning, and give the exit code.

    Parameters
    ----------
    a : Path
        A specification, or a report.json.
    b : Path, optional
        Another one of its kind; without it B is A with another prediction or another table.
    specs : (AuditSpec, AuditSpec) or None
        What they specify; None where they are reports.
    of_specs : tuple of str or None
        Options that reports cannot follow.
    key : str, optional
    max_worse : float, optional
        Without a limit the exit code is 0.
    out : Path, optional
        Folder for the files.

    Raises
    ------
    BDTError
        A specification or a table is at fault, the two do not fit together, or something cannot be written.
    """
    if specs is None:
        name, comparison = _of_reports(a, b, max_worse, given=of_specs)
    else:
        name, comparison = specs[1].name, partial(_watched, *specs, key, max_worse)
    with report_folder(out, f"{name}-compared") as folder:
        changes = comparison()
        files = write_changes(changes, folder, tell)
    names = Names(changes.spec_b, () if changes.is_rate else (changes.measured,))
    said = sayings(str(changes.spec_b.get("language", "en")), names)
    _show(changes, said)
    show_files(console(), said("Comparison"), files.values())
    return 0 if changes.limit is None else EXIT_CODES[changes.limit.verdict]


def _of_reports(
    a: Path, b: Path | None, max_worse: float | None, *, given: tuple[str | None, ...]
) -> tuple[str, Callable[[], Changes]]:
    """The name of B's audit, and what compares two reports."""
    if b is None or a.suffix != b.suffix:
        raise SpecError("Two report.json can be compared, or two specifications: name two of a kind.")
    if any(given):
        raise SpecError(
            "A report says no more than what is in it: --prediction-b, --data-b, --partition, --partition-b and "
            "--key go with specifications."
        )
    documents = read_report(a), read_report(b)
    return documents[1]["name"], partial(compare_reports, *documents, max_worse=max_worse)


def _watched(a: AuditSpec, b: AuditSpec, key: str | None, max_worse: float | None) -> Changes:
    """Compare two specifications, with a bar for who watches."""
    steps = (READING, SPLITTING, *(one.title for one in stages_for("ranked", a)))
    with progress_bar(len(steps)) as progress:

        def announce(title: str, done: int, total: int) -> None:  # noqa: ARG001 - only beginnings are shown
            if done == 0 and title in steps:
                show_stage(progress, title, steps.index(title))

        return compare(a, b, key=key, max_worse=max_worse, progress=announce, notice=tell)


def _show(changes: Changes, said: Callable[[str], str]) -> None:
    """The beginning of the page."""
    to = console()
    parts = [one for one in changes_section(changes).blocks if isinstance(one, Folded)]
    show_parts(to, parts[:_ENOUGH])
    if changes.limit is not None:
        judged = changes.limit
        unit: words.Unit = "rate" if changes.is_rate else "value"
        low, high = (words.signed(one, unit) for one in (judged.low, judged.high))
        harm = say(
            "{who}: worse in {measure} by {low} to {high} points"
            if changes.is_rate
            else "{who}: worse in {measure} by {low} to {high}",
            who=judged.who or say("everybody"),
            measure=of_ours(changes.measured),
            low=low,
            high=high,
        )
        allowed = say("at most {size} is allowed.", size=words.size(judged.max_worse, unit))
        show_verdict(to, judged.verdict, said(joined([harm, allowed], "; ")), said)
