"""``bdt dossier``: a form of a regulator or a register, filled in from an audit."""

from __future__ import annotations

import datetime
import json
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from bdt_core.errors import SourceError, SpecError, did_you_mean
from bdt_core.report.catalogue import sayings
from bdt_core.report.dossier import (
    EXPIRES,
    FORMS,
    Dossier,
    build_dossier,
    card,
    dossier_html,
    dossier_markdown,
    dossier_pdf,
)
from bdt_core.report.write import Draw, canonical_json, write_forms
from bdt_core.result import READABLE_VERSIONS
from bdt_core.spec import LANGUAGES
from bdt_core.verdict.comparable import json_of
from bdt_pipeline.commands.asked import spec_of
from bdt_pipeline.commands.console import console, report_folder, show_files, tell
from bdt_pipeline.commands.run_audit import audit_watched


def run_dossier(
    target: str,
    form: str,
    language: str | None,
    out: Path | None,
    partition: str | None = None,
    on: datetime.date | None = None,
) -> bool:
    """Fill in a form, write it, and say whether all its files could be drawn.

    Parameters
    ----------
    target : str
        A report.json, or a specification (.yaml) that is audited first.
    form : str
    language : str, optional
    out : Path, optional
        Folder for the files.
    partition : str, optional
        The part of the specification's data that is audited.
    on : date, optional
        The day on which a form that expires is read.

    Raises
    ------
    SpecError
        There is no such form or language.
    SourceError
        The file is no report.
    OutputError
        The folder cannot be written, or holds another form of that name.
    """
    _check(form, language)
    if on is not None and form != EXPIRES:
        raise SpecError(f"--on goes with --form {EXPIRES}: no other form expires.")
    if target.endswith(".json"):
        if partition is not None:
            raise SpecError("--partition goes with a specification: a report is of the part that was audited.")
        document = read_report(Path(target))
    else:
        document = audit_watched(spec_of(target, {}, partition)).document
    dossier = build_dossier(document, form, language, on=on)
    drawn = drawn_of(dossier)
    place = report_folder(None, f"{document['name']}-{form}") if out is None else nullcontext(out)
    with place as folder:
        files = write_forms(folder, drawn, data_of(document, dossier), "form", sayings(dossier.language), tell)
    states = [one.state for one in dossier.fields.values()]
    to = console()
    to.print(dossier.words["given"].format(given=states.count("given"), all=len(states), partly=states.count("partly")))
    show_files(to, dossier.title, files.values())
    if document.get("publication") is None:
        tell(
            "Filled in from the owner's report, which names small groups and counts everybody. For a public register "
            "or card, name the report.json that bdt audit --for publication wrote."
        )
    return files.keys() >= {"html", "md", "pdf"}


def drawn_of(dossier: Dossier) -> dict[str, Draw]:
    """What draws the form's files for people, by name."""
    return {
        f"{dossier.form}.html": lambda _: dossier_html(dossier).encode(),
        f"{dossier.form}.md": lambda _: dossier_markdown(dossier).encode(),
        f"{dossier.form}.pdf": partial(dossier_pdf, dossier),
    }


def data_of(document: dict[str, Any], dossier: Dossier) -> dict[str, bytes]:
    """The form as data, by name of the file, where machines read it."""
    import yaml

    data = card(document, dossier)
    if data is None:
        return {}
    plain = json.loads(json.dumps(data))  # in which no part stands twice, for YAML to point at
    return {
        f"{dossier.form}.json": canonical_json(data).encode(),
        f"{dossier.form}.yaml": yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100).encode(),
    }


def read_report(path: Path) -> dict[str, Any]:
    """Read a report.json.

    Raises
    ------
    SourceError
        It is missing, no JSON, or no report of this version.
    """
    mend = "Name a report.json that bdt audit wrote, or a specification."
    report = json_of(path, str(path), mend)
    if not isinstance(report, dict) or report.get("schema_version") not in READABLE_VERSIONS:
        raise SourceError(f"{path} is no report of version {' or '.join(map(str, READABLE_VERSIONS))}. {mend}")
    from bdt_core.report.printed import printed

    try:
        printed(report)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise SourceError(f"{path} is damaged: it is not what a report is. {mend}") from None
    return report


def _check(form: str, language: str | None) -> None:
    if form not in FORMS:
        raise SpecError(f'There is no form "{form}". {did_you_mean(form, FORMS)}')
    if language is not None and language not in LANGUAGES:
        raise SpecError(f'There are no forms in "{language}"; there are in {", ".join(LANGUAGES)}.')
