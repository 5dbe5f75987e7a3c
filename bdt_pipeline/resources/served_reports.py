"""Reports of a storage as a web server has them: the page of each, and its files by their paths."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from bdt_core.errors import SpecError
from bdt_core.result import FORMS
from bdt_pipeline.resources.storage import local_folder

if TYPE_CHECKING:
    from upath import UPath

REPORTS_VARIABLE = "BDT_REPORTS"
_ADDRESS = re.compile(r"https?://[^\s/]+")
_NO_NAME = re.compile(r"\.*|.*[/\\:\0].*", re.DOTALL)
"""What is no name of a folder but a way to elsewhere."""


def address_of_reports() -> str | None:
    """Where the storage of an instance is served, by the environment variable ``BDT_REPORTS``; None without it.

    There is no slash at its end.

    Raises
    ------
    SpecError
        It is no address.
    """
    address = os.environ.get(REPORTS_VARIABLE)
    if address and not _ADDRESS.match(address):
        raise SpecError(f"{REPORTS_VARIABLE} is no address such as https://reports.example/bias.")
    return address.rstrip("/") if address else None


def page_in(root: UPath, folder: UPath) -> str:
    """The page in a folder of a storage, within the address at which that is served.

    Examples
    --------
    >>> from upath import UPath
    >>> page_in(UPath("/srv"), UPath("/srv/loans/reports/a b"))
    'loans/reports/a%20b/report.html'
    """
    return f"{quote(folder.path.removeprefix(root.path).strip('/'))}/report.html"


def served_file(root: UPath, path: str) -> tuple[bytes, str] | None:
    """A file of a report in the storage by the path of its address, and its kind; None for everything else.

    Only ``/AUDIT/reports/RUN/report.html`` and its siblings in other forms are served: no other file of the storage,
    and nothing to which a link leads.

    Parameters
    ----------
    root : UPath
        The storage.
    path : str
        Decoded, with the slash at its beginning.
    """
    empty, *names = path.split("/")
    if empty or len(names) != 4 or any(_NO_NAME.fullmatch(name) for name in names):
        return None
    audit, reports, run, name = names
    kind = FORMS.get(name.removeprefix("report."))
    if reports != "reports" or not name.startswith("report.") or kind is None:
        return None
    file = root / audit / reports / run / name
    local = local_folder(root)
    try:
        if local is not None and Path(file.path).resolve() != local.resolve() / audit / reports / run / name:
            return None
        if not file.is_file():
            return None
        return file.read_bytes(), f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
    except (OSError, ValueError):  # as of a name that is too long, or of bytes that are no text
        return None
