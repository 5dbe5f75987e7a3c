"""Storage of values and reports: a local folder or any path that fsspec understands."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from upath import UPath

from bdt_core.errors import OutputError, SpecError
from bdt_core.spec.source import holds_password

if TYPE_CHECKING:
    import dagster as dg

STORAGE_VARIABLE = "BDT_STORAGE"
_LONGEST = 200


def storage_root(instance: dg.DagsterInstance, base_path: str | None = None) -> UPath:
    """Folder under which everything is kept.

    Parameters
    ----------
    instance : DagsterInstance
    base_path : str, optional
        A folder or a URL such as ``s3://bucket/audits``. Default: the environment variable ``BDT_STORAGE``, else the
        storage directory of the instance.

    Raises
    ------
    SpecError
        The URL holds a password, which would stand beside every report.
    """
    return _usable(base_path or os.environ.get(STORAGE_VARIABLE) or instance.storage_directory())


def local_folder(root: UPath) -> Path | None:
    """The folder on this machine that a storage is; None where it is elsewhere."""
    return Path(root.path) if root.protocol in ("", "file", "local") else None


def storage_named(storage: str | None) -> UPath | None:
    """Folder under which everything is kept, as a command line finds it; None where nobody says which.

    Parameters
    ----------
    storage : str, optional
        A folder or a URL. Default: the environment variable ``BDT_STORAGE``, else the storage of the Dagster instance
        at ``DAGSTER_HOME``.

    Raises
    ------
    SpecError
        The URL holds a password.
    """
    if storage or os.environ.get(STORAGE_VARIABLE):
        return _usable(storage or os.environ[STORAGE_VARIABLE])
    if not os.environ.get("DAGSTER_HOME"):
        return None
    import dagster as dg

    with dg.DagsterInstance.get() as instance:
        return storage_root(instance)


def _usable(place: str) -> UPath:
    if holds_password(place):
        raise SpecError(
            f"The storage ({STORAGE_VARIABLE}) holds a password. Leave it out of the URL, and give it as the file "
            "system takes it from the environment, e.g. AWS_SECRET_ACCESS_KEY, or FSSPEC_FTP_PASSWORD."
        )
    return UPath(place)


def name_of_its_own(text: str) -> str:
    """A name for a file or folder that stands for a text: readable, no other text's, and never a way out of a folder.

    Examples
    --------
    >>> name_of_its_own("2026-01-31")
    '2026-01-31.36dcad9e65708c8c'
    >>> name_of_its_own("../../etc/passwd").startswith("______etc_passwd.")
    True
    """
    readable = re.sub(r"[^A-Za-z0-9-]", "_", text)[:60]
    return f"{readable}.{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


@contextmanager
def replacing(path: UPath) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name only when it is whole.

    A reader sees the old content or the new one, never a part. A process that is killed leaves at most a file whose
    name begins with a dot and ends in ``.tmp``, which nothing reads.

    Raises
    ------
    OutputError
        The disk is full, or the folder cannot be written to.
    """
    name = path.name.encode()[:_LONGEST].decode(errors="ignore")  # which may be as long as a file system allows
    temporary = path.with_name(f".{name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
            if isinstance(path, Path):
                file.flush()
                os.fsync(file.fileno())  # else a power cut could leave the name with nothing behind it
        _rename(temporary, path)
    except BaseException as error:
        with suppress(Exception):  # what went wrong first is what matters
            temporary.unlink()
        if isinstance(error, OSError) and error.errno is not None:  # the system's own, and no library's
            raise _not_written(path, error) from None
        raise


def make_folder(path: UPath) -> None:
    """Make a folder where there is none.

    Raises
    ------
    OutputError
        It cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_written(path, error) from None


def write_folder(target: UPath, write: Callable[[Path], dict[str, Path]]) -> dict[str, UPath]:
    """Let ``write`` fill a new folder, which may be remote.

    Parameters
    ----------
    target : UPath
    write : callable
        Gets a local folder and returns its files by name.

    Returns
    -------
    dict of UPath
        The files by name, where they ended up. On a remote place the data, ``.json``, comes last: where it is, the
        others are.

    Raises
    ------
    OutputError
        Another report is there, or the files cannot be written.
    """
    if isinstance(target, Path):
        return {name: UPath(file) for name, file in write(Path(target)).items()}
    from bdt_core.report.write import missing_files

    with tempfile.TemporaryDirectory() as scratch:
        written = write(Path(scratch) / "reports")
        contents = {file.name: file.read_bytes() for file in written.values()}
        make_folder(target)
        for name in sorted(missing_files(target, contents), key=lambda one: one.endswith(".json")):
            with replacing(target / name) as file:
                file.write(contents[name])
        return {form: target / file.name for form, file in written.items()}


def _rename(temporary: UPath, path: UPath) -> None:
    if isinstance(path, Path):
        Path(temporary).replace(Path(path))
    else:
        filesystem: Any = temporary.fs
        filesystem.mv(temporary.path, path.path)


def _not_written(path: UPath, error: OSError) -> OutputError:
    from bdt_core.report.write import not_written

    free = "space (folders of old runs under reports/ can go, history/ cannot be made again)"
    return OutputError(f"{path.name} {not_written(path.parent, error, free=free)}")
