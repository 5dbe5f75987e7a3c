"""``bdt audit``: the method itself, without Dagster."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from bdt_core.audit import AuditResult, audit
from bdt_core.errors import SpecError
from bdt_core.proposal import propose
from bdt_core.report import for_publication
from bdt_core.spec import AuditSpec, load_spec, parse_spec, with_derivation
from bdt_core.stages import READING, titles_of
from bdt_pipeline.commands.console import progress_bar, report_folder, say, show_result, tell
from bdt_pipeline.commands.members_file import members_file, write_members
from bdt_pipeline.proposed.named_table import name_of, source_of
from bdt_pipeline.proposed.proposal_in_words import proposal_in_words

_SPEC_FILES = {".yaml", ".yml"}


def run_audit(
    target: str,
    changes: dict[str, Any],
    out: Path | None,
    *,
    publication: bool = False,
    members: Path | None = None,
) -> None:
    """Audit a specification or a table and write the report.

    Parameters
    ----------
    target : str
        A YAML file, a table, or ``demo:<name>``.
    changes : dict
        Sections of the specification from the command line.
    out : Path, optional
    publication : bool
        Whether the form for others is written and shown, in which nobody can be recognised.
    members : Path, optional
        A new file for who is in which cluster and finding.

    Raises
    ------
    SpecError
        A file of people goes with no form for publication.
    """
    if publication and members is not None:
        raise SpecError(
            "--members names people, and --for publication writes a report in which nobody can be recognised. Leave "
            "one of them out."
        )
    spec = spec_of(target, changes)
    with nullcontext() if members is None else members_file(members) as stream, report_folder(out, spec.name) as folder:
        result = audit_watched(spec)
        if stream is not None and members is not None:
            write_members(result, stream, members)
        files = [*result.write(folder, publication=publication).values(), *([] if members is None else [members])]
    show_result(for_publication(result.document) if publication else result.document, files)


def spec_of(target: str, changes: dict[str, Any]) -> AuditSpec:
    """The specification of a YAML file, or one made from the command line and the table, with the changes in it.

    Raises
    ------
    SpecError
        When it cannot be read, or only half of what is to be measured is said.
    """
    if Path(target).suffix.lower() in _SPEC_FILES:
        base = load_spec(target).to_dict()
    else:
        base = {"name": name_of(target), "source": {"path": target}}
        if {"column", "prediction"}.isdisjoint(changes.get("bias_variable", {})):
            if {"label", "derive"} & set(changes.get("bias_variable", {})):
                raise SpecError(
                    "What shall be measured? Name a numeric column with --bias-variable, or the columns with what "
                    "happened and what the algorithm said with --label and --prediction. Or write a specification "
                    f"with: bdt init {target}"
                )
            base, changes = _proposed(target, changes)
    bias = changes.get("bias_variable", {})
    replaces = {"column", "derive", "label", "prediction"} & set(bias)
    for key, value in changes.items():
        kept = {} if key == "bias_variable" and replaces else base.get(key, {})
        base[key] = {**kept, **value} if isinstance(value, dict) else value
    if replaces:
        base["bias_variable"] = with_derivation(base["bias_variable"])
    return parse_spec(base, "The command line" if changes else target)


def _proposed(target: str, changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a table seems to be about, told on standard error; and the changes, which leave out more and not less."""
    proposal = propose(source_of(target))
    tell(
        "\n".join(
            [
                f"No specification was given. {target} was taken for this; to change it: bdt init {target}",
                *proposal_in_words(proposal),
                "",
            ]
        )
    )
    base = proposal.specification(name_of(target), {"path": target})
    left_out = changes.get("features", {}).get("exclude", [])
    base["protected"] = [name for name in base["protected"] if name not in left_out]
    if left_out:
        both = list(dict.fromkeys([*base["features"]["exclude"], *left_out]))
        changes = changes | {"features": changes["features"] | {"exclude": both}}
    return base, changes


def audit_watched(spec: AuditSpec) -> AuditResult:
    """Audit a specification, with a bar for who watches."""
    titles = titles_of(spec)
    with progress_bar(len(titles)) as progress:

        def announce(title: str, done: int, total: int) -> None:
            of_rows = f": {done:,} of {total:,} rows" if done and title == READING else ""
            if done == 0 or of_rows:
                say(progress, title + of_rows, titles.index(title))

        return audit(None, spec, progress=announce, notice=tell)
