"""Where values and reports are kept: a local folder or any path that fsspec understands."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import dagster as dg
from upath import UPath

STORAGE_VARIABLE = "BDT_STORAGE"


def storage_root(instance: dg.DagsterInstance, base_path: str | None = None) -> UPath:
    """Folder under which everything is kept.

    Parameters
    ----------
    instance : DagsterInstance
    base_path : str, optional
        A folder or a URL such as ``s3://bucket/audits``. Default: the environment variable ``BDT_STORAGE``, else the
        storage directory of the instance.
    """
    return UPath(base_path or os.environ.get(STORAGE_VARIABLE) or instance.storage_directory())


@contextmanager
def replacing(path: UPath) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name only when it is whole.

    A reader sees the old content or the new one, never a part.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
        _rename(temporary, path)
    except BaseException:
        if temporary.exists():
            temporary.unlink()
        raise


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
        The files by name, where they ended up.
    """
    if isinstance(target, Path):
        return {name: UPath(file) for name, file in write(Path(target)).items()}
    with tempfile.TemporaryDirectory() as scratch:
        written = write(Path(scratch) / "reports")
        result = {}
        for name, file in written.items():
            result[name] = target / file.name
            with file.open("rb") as source, replacing(result[name]) as copy:
                shutil.copyfileobj(source, copy)
        return result


def _rename(temporary: UPath, path: UPath) -> None:
    if isinstance(path, Path):
        Path(temporary).replace(Path(path))
    else:
        filesystem: Any = temporary.fs
        filesystem.mv(temporary.path, path.path)
