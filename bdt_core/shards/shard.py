"""One shard: some rows of a table, as files of columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import OutputError, SourceError


@dataclass(frozen=True)
class Shard:
    """Some rows of a table.

    Attributes
    ----------
    folder : str
        Where its files are: a folder that everybody who works on the table sees.
    number : int
        Its place among the shards.
    rows : int
    """

    folder: str
    number: int
    rows: int

    def file(self, what: str) -> Path:
        """One of its files, such as ``table.arrow`` or ``ranks.npy``."""
        return Path(self.folder) / f"{self.number:06d}.{what}"

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

        write_whole(self.file(what), write)

    def read_frame(self, what: str, columns: Iterable[str] | None = None) -> pd.DataFrame:
        """Columns, or those that are named."""
        import pyarrow as pa

        file = self.file(what)
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

        write_whole(self.file(what), write)

    def read_array(self, what: str) -> NDArray[Any]:
        """An array, mapped into memory."""
        file = self.file(what)
        try:
            array: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError):
            raise lost(file) from None
        return array


def write_whole(file: Path, write: Callable[[Path], None]) -> None:
    """Let a file have its name only when it is whole.

    Raises
    ------
    OutputError
        It cannot be written, as on a full disk.
    """
    unfinished = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        write(unfinished)
        unfinished.replace(file)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OutputError(
            f"{file.parent} cannot take the temporary columns of the table: {error.strerror or error}. Free space "
            "there, or name a folder on another disk in the environment variable TMPDIR, and run the audit again."
        ) from None


def lost(file: Path) -> SourceError:
    """What to say of a file that was there."""
    return SourceError(
        f"{file} is gone or damaged: a temporary file of this audit was deleted or changed while it ran. Nothing is "
        "reported from the rest; run the audit again."
    )
