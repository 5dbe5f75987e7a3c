"""One shard: some rows of a table, as files of columns."""

from __future__ import annotations

import atexit
import errno
import functools
import hashlib
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import OutputError, SourceError, UnreachableError
from bdt_core.table.locations import is_remote

if TYPE_CHECKING:
    from upath import UPath


_PAIR = 16
"""Bytes of a row of two whole numbers."""
_HEADERS = threading.Lock()
"""NumPy reads headers with Python's parser, which fails now and then in threads of 3.11 and 3.12 (cpython 106905)."""


@dataclass(frozen=True)
class Shard:
    """Some rows of a table.

    Attributes
    ----------
    folder : str
        Where its files are: a folder that everybody who works on the table sees, or the URL of one in an object
        store, from which each process takes a copy when it first needs a file.
    number : int
        Its place among the shards.
    rows : int
    """

    folder: str
    number: int
    rows: int

    def remove(self, *names: str) -> None:
        """Remove files that are of no use any more."""
        for what in names:
            self._file(what).unlink(missing_ok=True)
            self.forget(what)

    def forget(self, what: str) -> None:
        """Remove this process's copy of a file that is elsewhere."""
        if is_remote(self.folder):
            _copy_of(self._file(what)).unlink(missing_ok=True)

    def write_frame(self, what: str, frame: pd.DataFrame) -> None:
        """Write columns that `read_frame` maps into memory."""
        import pyarrow as pa

        try:
            table = pa.Table.from_pandas(frame, preserve_index=False)
        except pa.ArrowException as error:
            raise SourceError(f"A column holds values of several kinds: {str(error).splitlines()[0]}") from None

        def write(file: Path) -> None:
            with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)

        self._write(what, write)

    def read_frame(self, what: str, columns: Iterable[str] | None = None) -> pd.DataFrame:
        """Columns, or those that are named."""
        import pyarrow as pa

        file = self._readable(what)
        try:
            with pa.memory_map(str(file)) as source:
                table = pa.ipc.open_file(source).read_all()
                if columns is not None:
                    table = table.select(list(columns))
                frame: pd.DataFrame = table.to_pandas(split_blocks=True)
                return frame
        except (OSError, pa.ArrowException):
            raise lost(file) from None

    def write_array(self, what: str, values: NDArray[Any]) -> None:
        """Write an array that `read_array` maps into memory."""

        def write(file: Path) -> None:
            with file.open("wb") as sink:
                np.save(sink, values, allow_pickle=False)

        self._write(what, write)

    def read_array(self, what: str) -> NDArray[Any]:
        """An array, mapped into memory."""
        file = self._readable(what)
        try:
            with _HEADERS:
                array: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            raise lost(file) from None
        return array

    def write_pairs(self, what: str, first: NDArray[Any], second: NDArray[Any]) -> None:
        """Write two columns of whole numbers, of which `read_pairs` reads some rows."""
        pairs = np.column_stack([first.astype(np.uint64), second.astype(np.uint64)])  # together they would be floats
        self._write(what, lambda file: pairs.tofile(file))

    def read_pairs(self, what: str, start: int, stop: int) -> NDArray[np.uint64]:
        """Some rows of two columns, of shape (stop - start, 2); no more than these are read, also from elsewhere."""
        if start == stop:
            return np.empty((0, 2), dtype=np.uint64)
        file = self._file(what)
        first, last = start * _PAIR, stop * _PAIR
        if is_remote(self.folder):
            with _from_elsewhere(file):
                content = file.fs.cat_file(file.path, start=first, end=last)  # type: ignore[union-attr]
        else:
            try:
                with self._readable(what).open("rb") as opened:
                    opened.seek(first)
                    content = opened.read(last - first)
            except OSError:
                raise lost(file) from None
        if len(content) != last - first:
            raise lost(file)
        return np.frombuffer(content, dtype=np.uint64).reshape(-1, 2)

    def _file(self, what: str) -> Path | UPath:
        name = f"{self.number:06d}.{what}"
        if not is_remote(self.folder):
            return Path(self.folder) / name
        from upath import UPath

        return UPath(self.folder) / name

    def _write(self, what: str, write: Callable[[Path], None]) -> None:
        file = self._file(what)
        if isinstance(file, Path) and not is_remote(self.folder):
            write_whole(file, write)
            return
        copy = _copy_of(file)
        write_whole(copy, write)
        try:
            file.fs.put_file(str(copy), file.path)  # type: ignore[union-attr]
        except Exception as error:  # whatever the object store's library raises
            raise OutputError(f"{file} cannot be written: {type(error).__name__}: {str(error)[:200]}.") from None
        finally:
            copy.unlink(missing_ok=True)  # who reads it takes a copy, which may be somebody else

    def _readable(self, what: str) -> Path:
        """The file, or this process's copy of it."""
        file = self._file(what)
        if isinstance(file, Path) and not is_remote(self.folder):
            return file
        copy = _copy_of(file)
        if not copy.exists():
            write_whole(copy, lambda part: _fetch(file, part))
        return copy


def _fetch(file: Path | UPath, copy: Path) -> None:
    """Copy a file from elsewhere."""
    with _from_elsewhere(file):
        file.fs.get_file(file.path, str(copy))  # type: ignore[union-attr]


@contextmanager
def _from_elsewhere(file: Path | UPath) -> Iterator[None]:
    """Say what is wrong with a file, or with the way to it."""
    try:
        yield
    except FileNotFoundError:
        raise lost(file) from None
    except Exception as error:  # whatever the object store's library raises
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise  # of the disk here
        raise UnreachableError(
            f"{file} cannot be read: {type(error).__name__}: {str(error)[:200]}. Nothing is reported from the rest; "
            "see that the object store answers, also to the workers of a cluster, and run the audit again."
        ) from None


def _copy_of(file: Path | UPath) -> Path:
    """Where this process keeps its copy of a file that is elsewhere."""
    name = hashlib.sha256(str(file).encode()).hexdigest()[:24]
    return process_folder() / f"{name}-{file.name}"


def process_folder() -> Path:
    """A folder of this process for copies, removed when it ends."""
    with _one_folder:
        return _process_folder()


@functools.cache
def _process_folder() -> Path:
    from bdt_core.shards.scratch import scratch_folder

    return _at_exit.enter_context(scratch_folder())


_one_folder = threading.Lock()
_at_exit = ExitStack()
atexit.register(_at_exit.close)


def write_whole(file: Path, write: Callable[[Path], None]) -> None:
    """Let a file have its name only when it is whole.

    Raises
    ------
    OutputError
        It cannot be written, as on a full disk.
    """
    unfinished = file.with_name(f"{file.name}.{uuid.uuid4().hex}.part")  # two threads may want the same copy
    try:
        write(unfinished)
        unfinished.replace(file)
    except OSError as error:
        reason = error.strerror or "is it full?"  # NumPy gives no reason
        raise OutputError(
            f"{file.parent} cannot take the temporary columns of the table: {reason}. Free space there, or name a "
            "folder on another disk in the environment variable TMPDIR, and run the audit again."
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)


def lost(file: Path | UPath) -> UnreachableError:
    """What to say of a file that was there."""
    return UnreachableError(
        f"{file} is gone or damaged: a temporary file of this audit was deleted or changed while it ran, or lies in a "
        "folder that this machine does not see (all workers of a cluster must see TMPDIR, or BDT_STORAGE in Dagster). "
        "Nothing is reported from the rest; run the audit again."
    )
