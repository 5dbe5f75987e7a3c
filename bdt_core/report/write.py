"""Write the report's four files: whole ones, each by itself, and never over another report."""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from bdt_core.errors import OutputError
from bdt_core.harmless import escaped_in_json
from bdt_core.said import say

Document = dict[str, Any]
_UNFINISHED = ".bdt-unfinished"
_FULL = (errno.ENOSPC, errno.EDQUOT)
Draw: TypeAlias = Callable[[Callable[[str], None]], bytes]
"""Draws a form, and calls what it is given with a sentence on what the form lacks."""
NOT_DRAWN = "It could not be drawn ({reason}), and is not there; the other files are."


def write_reports(
    document: Document, folder: str | Path, notice: Callable[[str], None] | None = None
) -> dict[str, Path]:
    """Write report.json, report.html, report.pdf and report.md into a folder.

    A folder that is new takes its name when all are in it. In one that is there already report.json comes last:
    where it is, the others are. The same report again changes nothing. A form that cannot be drawn leaves the others.

    Parameters
    ----------
    document : dict
        The report as data.
    folder : str or Path
        Made when it does not exist.
    notice : callable, optional
        Called with a sentence, in the report's language, where a form lacks characters of names or cannot be drawn.
        Default: a `UserWarning` says it.

    Returns
    -------
    dict of str to Path
        Files by form: ``json``, ``html``, ``pdf``, ``md``; without those that cannot be drawn.

    Raises
    ------
    OutputError
        When the folder holds another report already, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> result = audit(frame, outcome="error", slices=None, worst_groups=None, clustering={"stability": 0})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in write_reports(result.document, folder).values())
    ['report.html', 'report.json', 'report.md', 'report.pdf']
    """
    from bdt_core.report.catalogue import say_in
    from bdt_core.report.figures import figure_names, figure_svg
    from bdt_core.report.html import render_html
    from bdt_core.report.markdown import render_markdown
    from bdt_core.report.page import build_page
    from bdt_core.report.pdf import render_pdf
    from bdt_core.report.printed import printed

    safe = printed(document)
    with suppress(Exception):  # each form that needs them says why they cannot be made
        build_page(safe)  # once, for all forms
        for name in figure_names(safe):
            figure_svg(safe, name)
    forms: dict[str, Draw] = {
        "report.html": lambda _: render_html(safe).encode(),
        "report.pdf": lambda lacks: render_pdf(safe, notice=lacks),
        "report.md": lambda _: render_markdown(safe).encode(),
    }
    return write_forms(Path(folder), forms, {"report.json": report_bytes(document)}, "report", say_in(safe), notice)


def write_forms(
    folder: Path,
    forms: Mapping[str, Draw],
    data: Mapping[str, bytes],
    called: str,
    said: Callable[[str], str],
    notice: Callable[[str], None] | None,
) -> dict[str, Path]:
    """Draw each form by itself, and write those that can be drawn; the data comes last.

    Parameters
    ----------
    folder : Path
    forms : mapping of str to callable
        By name of the file, what draws it; it is given what to call with a sentence on what it lacks.
    data : mapping of str to bytes
        By name of the file.
    called : str
        What the files are.
    said : callable
        Says a sentence in the readers' language.
    notice : callable, optional
        See `write_reports`.

    Returns
    -------
    dict of str to Path
        Files by the ends of their names, the data first.
    """
    notice = notice or _warn
    lacks: dict[str, list[str]] = {name: [] for name in forms}
    with ThreadPoolExecutor(2) as beside:  # typst works without Python's lock
        begun = {name: beside.submit(draw, lacks[name].append) for name, draw in forms.items()}
    contents: dict[str, bytes] = {}
    for name, form in begun.items():
        error = form.exception()  # typst's own faults are no exceptions for Python, but reach here
        if error is None:
            contents[name] = form.result()
        else:
            lacks[name].append(said(say(NOT_DRAWN, reason=type(error).__name__)))
        for sentence in lacks[name]:
            notice(f"{name}: {sentence}")
    contents |= data
    write_together(folder, contents, called)
    return {name.rpartition(".")[2]: folder / name for name in (*data, *forms) if name in contents}


def _warn(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=4)


def report_bytes(document: Document) -> bytes:
    """What stands in report.json; halves of surrogate pairs, which UTF-8 cannot hold, become JSON's own escapes."""
    return canonical_json(document).encode(errors="backslashreplace")


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
    written = json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    return escaped_in_json(written) + "\n"


def missing_files(folder: Any, contents: Mapping[str, bytes]) -> list[str]:
    """Which files of a report a folder lacks; those of a writing that was broken off may be there already.

    Parameters
    ----------
    folder : Path or UPath
    contents : mapping of str to bytes
        By name of the file.

    Raises
    ------
    OutputError
        A file is there with other content.
    """
    there = [name for name in contents if (folder / name).exists()]
    taken = [name for name in there if (folder / name).read_bytes() != contents[name]]
    if taken:
        raise OutputError(
            f"{folder} holds a report already ({', '.join(taken)}). Name a new folder, or remove that report first."
        )
    return [name for name in contents if name not in there]


def not_written(place: object, error: OSError, *, free: str = "space") -> str:
    """Why something cannot be written to a folder, and what to do about it.

    Parameters
    ----------
    place : object
        The folder.
    error : OSError
    free : str
        What to free when the disk is full.

    Examples
    --------
    >>> not_written("/reports", PermissionError(13, "Permission denied"))
    'cannot be written to /reports: Permission denied. Name a folder that can be written.'
    """
    remedy = "Name a folder that can be written."
    if error.errno in _FULL:
        remedy = f"Free {free} there, or name another folder; then run it again."
    return f"cannot be written to {place}: {error.strerror or error}. {remedy}"


def write_together(folder: Path, contents: Mapping[str, bytes], called: str) -> None:
    """Write all files or none: a new folder is filled under another name.

    Parameters
    ----------
    folder : Path
    contents : mapping of str to bytes
        By name of the file.

    Raises
    ------
    OutputError
        A file is there with other content.
    OSError
        The folder cannot be written.
    """
    new = not folder.exists()
    place = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp") if new else folder
    written: list[Path] = []
    try:
        for name in missing_files(folder, contents):
            place.mkdir(parents=True, exist_ok=True)
            _write(place / name, contents[name])
            written.append(place / name)
        if new:
            place.replace(folder)
    except BaseException as error:
        for file in written:
            file.unlink(missing_ok=True)
        if new:
            shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, OSError):
            raise OutputError(f"The {called} {not_written(folder, error)}") from None
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove files that a writing left behind when it was killed, before they had their names."""
    for file in folder.glob(f".*{_UNFINISHED}"):
        file.unlink(missing_ok=True)


def _write(file: Path, content: bytes) -> None:
    """Write under another name and rename, so that no reader ever sees half a file."""
    temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex}{_UNFINISHED}")
    try:
        with temporary.open("xb") as stream:  # who may read it is the user's umask to say
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())  # else a power cut could leave the name with nothing behind it
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
