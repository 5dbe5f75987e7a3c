"""Embeddings in a file beside the table."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import DataError, SourceError
from bdt_core.table.environment import expanded
from bdt_core.table.files import located, read_bytes


def read_embeddings(path: str | Path, rows: int) -> NDArray[Any]:
    """Open a ``.npy`` file with one row per row of a table; a local one stays on disk until it is used.

    The path is local, or a URL such as ``s3://bucket/${RUN}.npy``; variables of the environment are filled in.
    SourceError for no such file, a variable that is not set, or a place that cannot be reached; DataError for what is
    no table of numbers, or has another number of rows. Pickled objects are never read.
    """
    file = located(expanded(str(path), "local_bias.embeddings"))
    try:
        array = _mapped(file) if isinstance(file, Path) and not hasattr(file, "fs") else _loaded(read_bytes(file))
    except (ValueError, tokenize.TokenError):  # the latter of a header that has no end
        raise DataError(
            f'Cannot read the embeddings in "{file}": not a .npy file of numbers, or a part of it is missing. Expected '
            "a 2-d array of numbers written by numpy.save."
        ) from None
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error.strerror or error}.") from None
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "fiu":
        raise DataError(
            f'The embeddings in "{file}" are an array of {array.dtype} in the shape {array.shape}. Expected numbers in '
            "two dimensions: one row per row of the table, one column per component."
        )
    if len(array) != rows:
        raise DataError(
            f'The embeddings in "{file}" have {len(array):,} rows and the table has {rows:,}. They must match row by '
            "row: compute them from the same table, in its order, before any row is left out."
        )
    return np.asanyarray(array)


def embeddings_of_rows(embeddings: NDArray[Any], rows: NDArray[np.int64], path: str) -> NDArray[Any]:
    """Those of some rows of the table; DataError where one of them is no number."""
    of_rows: NDArray[Any] = embeddings[rows]
    broken = rows[~np.isfinite(of_rows).all(axis=1)]
    if broken.size:
        raise DataError(
            f'The embeddings in "{path}" have values that are missing or infinite in {broken.size:,} of {rows.size:,} '
            f"rows, first in row {broken.min() + 1:,} of the table. Compute them anew for these rows, or leave the "
            "rows out of the table and of the file."
        )
    return of_rows


def _mapped(file: Path) -> NDArray[Any]:
    return np.lib.format.open_memmap(file, mode="r")  # refuses objects


def _loaded(content: bytes) -> NDArray[Any]:
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array
