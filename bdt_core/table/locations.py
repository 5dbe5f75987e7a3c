"""Find files, local or on any file system that fsspec knows, and notice when they change under the reader."""

from __future__ import annotations

import gzip
import itertools
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import unquote, urlsplit

from bdt_core.errors import SourceError, UnreachableError, did_you_mean
from bdt_core.said import Numeral, of_ours, say

if TYPE_CHECKING:
    from upath import UPath

DEMO_FILES = {"compas": "compas.csv", "adult": "adult.parquet", "grants": "grants.csv"}
PARQUET = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson")
JSON_LIST = ".json"
PACKED = (".gz", ".zip")
_PACKED_TEXT = 5
"""Times that packed texts are shorter, at least."""
_WILD = set("*?[")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|b'[^']*'")


@dataclass(frozen=True)
class SourceFile:
    """One of the files that are read together.

    Attributes
    ----------
    path : Path or UPath
    number, of : int
        Its place among them, from 1.
    keys : dict
        What the names of its folders say: ``year=2026`` is the value ``"2026"`` of the column ``year`` in each row.
    in_folder : bool
        Whether it was found in a folder of Parquet files, where all are such, whatever their names.
    """

    path: Path | UPath
    number: int = 1
    of: int = 1
    keys: dict[str, str] = field(default_factory=dict)
    in_folder: bool = False

    @property
    def where(self) -> str:
        """The file, and its place when it is one of several, as messages name it."""
        return str(self.path) if self.of == 1 else f"File {self.number} of {self.of}: {self.path}"

    @property
    def suffix(self) -> str:
        """The end of its name, in small letters: ``.csv``; of a packed file, that of what is in it."""
        name = PurePosixPath(self.path.name)
        if self._packing == ".zip":
            name = PurePosixPath(self._member)
        elif self._packing == ".gz":
            name = PurePosixPath(name.stem)
        return name.suffix.lower()

    @property
    def is_packed(self) -> bool:
        """Whether it is a .gz or .zip file."""
        return self._packing is not None

    @property
    def _packing(self) -> str | None:
        packing = PurePosixPath(self.path.name).suffix.lower()
        return packing if packing in PACKED and not self.in_folder else None

    @cached_property
    def _member(self) -> str:
        """The one file in a .zip."""
        with reading(self, "a .zip file"), self.path.open("rb") as raw, zipfile.ZipFile(raw) as packed:  # type: ignore[arg-type,unused-ignore]
            members = [one for one in packed.infolist() if not one.is_dir() and "__MACOSX/" not in one.filename]
        if len(members) != 1:
            raise SourceError(
                say(
                    "{table} holds {N} files. Expected one; unpack it, or pack one table.",
                    table=self.where,
                    N=Numeral(len(members)),
                )
            )
        if members[0].flag_bits & 1:
            raise SourceError(f"{self.where} is locked by a password. Unpack it, and name what is in it.")
        return members[0].filename

    @property
    def is_remote(self) -> bool:
        """Whether it is reached by a URL."""
        return hasattr(self.path, "fs")

    def size(self) -> int:
        """Bytes."""
        with reading(self, "a file"):
            return int(self.path.stat().st_size)

    def content_size(self) -> int:
        """Bytes of what is in it, about."""
        if self._packing == ".zip":
            with reading(self, "a .zip file"), self.path.open("rb") as raw, zipfile.ZipFile(raw) as packed:  # type: ignore[arg-type,unused-ignore]
                return packed.getinfo(self._member).file_size
        if self._packing != ".gz":
            return self.size()
        size = self.size()
        with reading(self, "a file"), self.path.open("rb") as raw:
            raw.seek(max(size - 4, 0))
            counted = int.from_bytes(raw.read(4), "little")  # modulo 4 GiB, of the last of several packed one by one
        return max(counted, _PACKED_TEXT * size)

    def open(self) -> BinaryIO:
        """The file, open for reading; what is packed is unpacked."""
        member = self._member if self._packing == ".zip" else ""
        with reading(self, "a file"):
            raw: Any = self.path.open("rb")
            if member:
                with zipfile.ZipFile(raw) as packed:
                    return packed.open(member)  # type: ignore[return-value,unused-ignore]
            return gzip.GzipFile(fileobj=raw) if self._packing == ".gz" else raw  # type: ignore[return-value,unused-ignore]

    def version(self) -> object:
        """Something that differs when the file is written again; None when it is gone."""
        path: Any = self.path
        try:
            if self.is_remote:
                path.fs.invalidate_cache()  # what a file system remembers is not what is there now
                return path.fs.ukey(path.path)
            seen = path.stat()
        except Exception:  # each file system has errors of its own
            return None
        return seen.st_size, seen.st_mtime_ns, seen.st_ino


@contextmanager
def reading(file: SourceFile, form: str, version: object = None) -> Iterator[None]:
    """Whatever goes wrong while a file is read is a SourceError that names it.

    Parameters
    ----------
    file : SourceFile
    form : str
        What it is read as: ``"Parquet"``.
    version : optional
        As `SourceFile.version` gave it before; the file must still be the same one before and after.
    """
    _refuse_changed(file, version)
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # the libraries behind a form or a URL fail in ways of their own
        _refuse_changed(file, version)
        if isinstance(error, SourceError):
            raise
        message = say(
            "{table} cannot be read: {why}."
            if form == "a file"
            else "{table} cannot be read as {form}: {why}. It is cut off or no {what}: write it again, or leave it "
            "out.",
            table=file.where,
            form=of_ours(form),
            what=of_ours(form.removeprefix("a ")),
            why=of_ours(_without_values(error)),
        )
        kind = UnreachableError if _is_of_the_way(error, file) else SourceError
        raise kind(message) from None
    _refuse_changed(file, version)


def _without_values(error: Exception) -> str:
    """The reason, without what another library quotes, which may be a value of the table."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if not isinstance(error, OSError | ValueError) and not type(error).__module__.startswith("pyarrow"):
        return type(error).__name__
    return _QUOTED.sub("...", reason(error))


def _is_of_the_way(error: Exception, file: SourceFile) -> bool:
    """Whether it is the way to the file that failed: a disk, a right, a network."""
    if isinstance(error, OSError) and error.errno is not None:
        return True
    return file.is_remote and not isinstance(error, OSError | ValueError) and "pyarrow" not in type(error).__module__


def _refuse_changed(file: SourceFile, version: object) -> None:
    if version is None:
        return
    now = file.version()
    if now != version:
        what = "was deleted" if now is None else "was written again"
        raise SourceError(
            f"{file.where} {what} while the table was being read. Expected files that stay as they are: read a copy "
            "of them, or start again when they are complete."
        )


def files_at(path: str) -> list[SourceFile]:
    """The file of a path, the Parquet files of a folder, or all that fits a pattern, in the order of their names.

    Raises
    ------
    SourceError
        Nothing is there, or a folder holds no Parquet file.

    Examples
    --------
    >>> [file.path.name for file in files_at("demo:compas")]
    ['compas.csv']
    """
    if path.startswith("demo:"):
        return [SourceFile(_demo(path))]
    matching = _matching(path)
    places = [(located(path), None)] if matching is None else matching
    files: list[tuple[Path | UPath, dict[str, str], bool]] = []
    for place, known in places:
        is_folder = place.is_dir() if known is None else known
        files += [(*file, True) for file in _inside(place)] if is_folder else [(place, {}, False)]
    return [
        SourceFile(one, number, len(files), keys, in_folder)
        for number, (one, keys, in_folder) in enumerate(files, start=1)
    ]


def read_bytes(file: Path | UPath) -> bytes:
    """What a file holds, local or not.

    Raises
    ------
    SourceError
        It cannot be read.
    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise UnreachableError(f"{file} cannot be read: {reason(error)}.") from None


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return "://" in path


def located(path: str) -> Path | UPath:
    """The file of a path or URL.

    Raises
    ------
    SourceError
        It does not exist or is empty.
    """
    if is_remote(path):
        remote = _remote(path)
        if not _remotely(path, remote.exists):
            raise SourceError(f"{path} does not exist, or the credentials in the environment do not allow to see it.")
        return remote
    file = Path(path).expanduser()
    if not file.exists():
        if "{{" in path:
            raise SourceError(
                f"{path} does not exist: only Dagster fills in {{{{ env.NAME }}}}, in a defs.yaml. Write ${{NAME}}, "
                "which works everywhere."
            )
        if not file.parent.is_dir():
            raise SourceError(f"{path} does not exist. The folder {file.parent} does not exist either.")
        siblings = [one.name for one in file.parent.iterdir()]
        hint = did_you_mean(file.name, siblings) if siblings else f"The folder {file.parent} is empty."
        raise SourceError(f"{path} does not exist. {hint}")
    if file.is_file() and file.stat().st_size == 0:
        raise SourceError(
            say("{table} is empty (0 bytes). Expected a table with a header line, or an array.", table=path)
        )
    return file


def reason(error: Exception) -> str:
    """The first line of what an error says, without the full stop."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _demo(path: str) -> Path:
    name = path.removeprefix("demo:")
    if name not in DEMO_FILES:
        raise SourceError(f'There is no demonstration data named "{name}". {did_you_mean(name, DEMO_FILES)}')
    return Path(str(resources.files("bdt_core"))) / "data" / DEMO_FILES[name]


def _matching(path: str) -> Sequence[tuple[Path | UPath, bool | None]] | None:
    """What fits a pattern, by name, and whether it is a folder; None for a path that is no pattern."""
    if not _WILD & set(path) or (not is_remote(path) and Path(path).exists()):
        return None
    matching: list[tuple[Path | UPath, bool | None]]
    if is_remote(path):
        root = _remote(path)
        listed = _remotely(path, lambda: root.fs.glob(root.path, detail=True))
        matching = [
            (_remote(str(root.fs.unstrip_protocol(name))), listed[name]["type"] == "directory")
            for name in sorted(listed)
        ]
    else:
        whole = Path(path).expanduser()
        fixed = Path(*itertools.takewhile(lambda part: not _WILD & set(part), whole.parts))
        matching = [(one, None) for one in sorted(fixed.glob(str(whole.relative_to(fixed))))]
    if not matching:
        raise SourceError(f"No file fits the pattern {path}.")
    return matching


def _inside(folder: Any) -> list[tuple[Path | UPath, dict[str, str]]]:
    """All files under a folder of Parquet files, but hidden ones and marks such as _SUCCESS."""
    if hasattr(folder, "fs"):
        base = folder.path.rstrip("/")
        listed = [name for name in _remotely(str(folder), lambda: folder.fs.find(base)) if not name.endswith("/")]
        parts = {name: PurePosixPath(name[len(base) :].lstrip("/")).parts for name in listed}
    else:
        parts = {str(one): one.relative_to(folder).parts for one in folder.rglob("*") if one.is_file()}
    shown = sorted(name for name, its in parts.items() if not any(part.startswith((".", "_")) for part in its))
    if not any(name.endswith(".parquet") for name in shown):
        raise SourceError(
            f"The folder {folder} holds no .parquet file. Name a .csv, .tsv or .parquet file, or a pattern such as "
            f"{folder}/*.csv."
        )
    keys = (_keys(parts[name][:-1]) for name in shown)
    if hasattr(folder, "fs"):
        return [(_remote(str(folder.fs.unstrip_protocol(name))), its) for name, its in zip(shown, keys, strict=True)]
    return [(Path(name), its) for name, its in zip(shown, keys, strict=True)]


def _keys(folders: Sequence[str]) -> dict[str, str]:
    """Columns that stand in the names of folders, as Hive writes them."""
    named = (part.partition("=") for part in folders if "=" in part)
    return {unquote(name): unquote(value) for name, _, value in named}


_OF_SERVERS = frozenset({"ftp", "http", "https", "sftp", "smb", "ssh"})
"""Where a path alone leads nowhere: some file systems come to be half without a server, and complain when they go."""


def _remote(path: str) -> UPath:
    from upath import UPath

    address = urlsplit(path)
    if address.scheme in _OF_SERVERS and not address.netloc:
        raise SourceError(f"{path} names no server. Write {address.scheme}://SERVER/PATH.")
    try:
        return UPath(path)
    except (ImportError, ValueError) as error:
        raise SourceError(f"{path} cannot be opened: {reason(error)}.") from None


def _remotely(path: str, ask: Callable[[], Any]) -> Any:
    """Ask a file system far away; it fails in the words of its own library."""
    try:
        return ask()
    except Exception as error:
        raise UnreachableError(f"{path} cannot be reached: {type(error).__name__}: {reason(error)}.") from None
