"""The model, or its predictions, that an audit is about."""

from __future__ import annotations

from bdt_core.errors import SourceError
from bdt_core.result import Part
from bdt_core.sealed.canonical import digest_of_file
from bdt_core.spec import AuditSpec
from bdt_core.spec.source import name_in_reports


class AuditedFile(Part):
    """The file that ``about.model_file`` names, as it was when the audit was made.

    Attributes
    ----------
    name : str
    sha256 : str or None
        None where the file was not there, or is not on this machine.
    """

    name: str
    sha256: str | None


def audited_file(spec: AuditSpec) -> AuditedFile | None:
    """The file of the model; None where the specification names none."""
    path = spec.about.model_file
    if path is None:
        return None
    try:
        made = digest_of_file(path)
    except SourceError:
        made = None
    return AuditedFile(name=name_in_reports(path), sha256=made)
