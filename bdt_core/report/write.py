"""Write the report's four files: whole ones or none, and never over another report."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from bdt_core.errors import OutputError

Document = dict[str, Any]


def write_reports(document: Document, folder: str | Path) -> dict[str, Path]:
    """Write report.json, report.html, report.pdf and report.md into a folder.

    Parameters
    ----------
    document : dict
        The report as data.
    folder : str or Path
        Made when it does not exist.

    Returns
    -------
    dict of str to Path
        Files by form: ``json``, ``html``, ``pdf``, ``md``.

    Raises
    ------
    OutputError
        When the folder holds a report already, or cannot be written.
    """
    from bdt_core.report.figures import figure_names, figure_svg
    from bdt_core.report.html import render_html
    from bdt_core.report.markdown import render_markdown
    from bdt_core.report.pdf import render_pdf
    from bdt_core.report.printed import printed

    folder = Path(folder)
    files = {form: folder / f"report.{form}" for form in ("json", "html", "pdf", "md")}
    try:
        taken = [one.name for one in files.values() if one.exists()]
        if taken:
            raise OutputError(
                f"{folder} holds a report already ({', '.join(taken)}). Name a new folder, or remove that report first."
            )
        folder.mkdir(parents=True, exist_ok=True)
        safe = printed(document)
        figures = {name: figure_svg(safe, name) for name in figure_names(safe)}
        forms = {
            "html": render_html(document, figures).encode(),
            "pdf": render_pdf(document, figures),
            "md": render_markdown(document).encode(),
            # Halves of surrogate pairs, which UTF-8 cannot hold, become JSON's own escapes.
            "json": canonical_json(document).encode(errors="backslashreplace"),
        }
        for form, content in forms.items():
            _write(files[form], content)
    except OSError as error:
        raise OutputError(
            f"The report cannot be written to {folder}: {error.strerror or error}. Name a folder that can be written."
        ) from None
    return files


def canonical_json(document: Document) -> str:
    """The document as text: the same document gives the same bytes.

    Examples
    --------
    >>> print(canonical_json({"b": 1, "a": "é"}), end="")
    {
      "a": "é",
      "b": 1
    }
    """
    return json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _write(file: Path, content: bytes) -> None:
    """Write under another name and rename, so that no reader ever sees half a file."""
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
