"""``bdt audit``: the method itself, without Dagster."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from bdt_core.audit import AuditResult, audit
from bdt_core.report import for_publication
from bdt_core.report.noise import key_file, owners_key
from bdt_core.result import FORMS
from bdt_core.sealed.looking import looking
from bdt_core.spec import AuditSpec
from bdt_core.stages import READING, titles_of
from bdt_pipeline.commands.console import progress_bar, report_folder, show_result, show_stage, tell
from bdt_pipeline.commands.members_file import members_file, write_members


def run_audit(spec: AuditSpec, out: Path | None, *, publication: bool = False, members: Path | None = None) -> bool:
    """Audit a table, write the report, and say whether all its forms could be drawn.

    Parameters
    ----------
    spec : AuditSpec
    out : Path, optional
    publication : bool
        Whether the form for others is written and shown, in which nobody can be recognised.
    members : Path, optional
        A new file for who is in which cluster and finding.
    """
    if publication:
        _have_key()
    with nullcontext() if members is None else members_file(members) as stream, report_folder(out, spec.name) as folder:
        with looking(folder.parent, spec, "audit") as look:
            result = audit_watched(spec).recorded(look, publication=publication)
        if stream is not None and members is not None:
            write_members(result, stream, members)
        files = result.write(folder, publication=publication, notice=tell)
    shown = [*files.values(), *([] if members is None else [members])]
    show_result(for_publication(result.document) if publication else result.document, shown)
    return len(files) == len(FORMS)


def _have_key() -> None:
    """Make sure of the key before rows are read, and say where it is if it is new."""
    path, is_new = key_file(), not key_file().exists()
    owners_key()
    if is_new:
        tell(
            f"{path} is new: the key of the noise in forms for publication. Keep it, and give it to nobody: with "
            "another key the same table has other noise, and both together tell more."
        )


def audit_watched(spec: AuditSpec) -> AuditResult:
    """Audit a specification, with a bar for who watches."""
    titles = titles_of(spec)
    with progress_bar(len(titles)) as progress:

        def announce(title: str, done: int, total: int) -> None:
            of_rows = f": {done:,} of {total:,} rows" if done and title == READING else ""
            if done == 0 or of_rows:
                show_stage(progress, title + of_rows, titles.index(title))

        return audit(None, spec, progress=announce, notice=tell)
