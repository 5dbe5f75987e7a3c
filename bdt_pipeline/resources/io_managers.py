"""Values pass from asset to asset: tables as Parquet, results as JSON, never pickled.

A file says itself what it holds, and only the forms listed here are ever read.
"""

from __future__ import annotations

import importlib
import json
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import dagster as dg
from pydantic import Field
from upath import UPath

from bdt_core.errors import OutputError
from bdt_core.harmless import harmless
from bdt_core.sentences import restored, sentences_of
from bdt_core.spec.source import no_part
from bdt_core.stages import STAGES
from bdt_core.table.reading_notes import READING
from bdt_pipeline.resources.history_store import HistoryStore
from bdt_pipeline.resources.storage import make_folder, replacing, storage_root

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_FRAME = b"bdt.frame"
_HISTORY = "History"
_HOMES = (*(one.kind.split(":") for one in STAGES), ("bdt_core.history", _HISTORY))
_RESULTS = {name: module for module, name in _HOMES}
"""Where the class of each kind of result is."""
_DOCUMENT = "document"
_FOLLOWED_UNDER = "history under the specification"


class _WholeFiles(dg.UPathIOManager):
    """Says in words for people why a value could not be stored, such as a full disk, or that it was never made."""

    def load_input(self, context: dg.InputContext) -> Any:
        """Load a value."""
        try:
            return super().load_input(context)
        except FileNotFoundError:
            raise dg.Failure(description=_never_made(context), allow_retries=False) from None

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Store a value."""
        try:
            super().handle_output(context, obj)
        except OutputError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from None

    def get_path_for_partition(
        self, context: dg.InputContext | dg.OutputContext, path: UPath, partition: str
    ) -> UPath:  # fmt: skip
        """The file of a part, which no name leads out of the asset's folder."""
        reason = no_part(partition)
        if reason is not None:
            raise dg.Failure(description=f"The part of this run has no file: {reason}.", allow_retries=False)
        return super().get_path_for_partition(context, path, partition)

    def make_directory(self, path: UPath) -> None:
        """Make the folder of a value."""
        make_folder(path)


class TableIOManager(_WholeFiles):
    """DataFrame and AuditTable as Parquet."""

    extension = ".parquet"

    def dump_to_path(self, context: dg.OutputContext, obj: Any, path: UPath) -> None:  # noqa: ARG002 - Dagster passes it
        """Write a table."""
        import pyarrow.parquet as pq

        with replacing(path) as file:
            pq.write_table(_to_arrow(obj), file)

    def load_from_path(self, context: dg.InputContext, path: UPath) -> Any:  # noqa: ARG002 - Dagster passes it
        """Read what :meth:`dump_to_path` wrote."""
        import pyarrow.parquet as pq

        with path.open("rb") as file:
            return _from_arrow(pq.read_table(file))


class ResultIOManager(_WholeFiles):
    """Results of stages, and the report's document, as JSON; of a history only the settings.

    Each part of the data has its own value of ``bias_history``. Were it stored whole, with the counts of all batches
    before it, the values would grow with the square of the number of parts. So the counts of a part are stored once,
    as its batch, and a history is put together when it is read, from all batches that are there by then. The run that
    made a history reads it back as it made it.
    """

    extension = ".json"

    def __init__(self, root: UPath) -> None:
        super().__init__(root)
        self._root = root
        self._made: dict[str, Any] = {}

    def dump_to_path(self, context: dg.OutputContext, obj: Any, path: UPath) -> None:  # noqa: ARG002 - Dagster passes it
        """Write a result."""
        form = _DOCUMENT if isinstance(obj, dict) else type(obj).__name__  # by name: the method is not imported for it
        sentences: list[dict[str, Any]] = []  # a document has its own among its members
        if form == _HISTORY:
            self._made = {str(path): obj}
            form, value = _DOCUMENT, {_FOLLOWED_UNDER: obj.spec.to_dict()}
        elif form == _DOCUMENT:
            value = obj
        elif form in _RESULTS:
            value, sentences = obj.to_dict(), sentences_of(obj)
        else:
            raise TypeError(f"{form} is none of the results that are stored: {', '.join(_RESULTS)}.")
        with replacing(path) as file:
            stored = {"form": form, "value": value, "sentences": sentences}
            file.write(json.dumps(stored, ensure_ascii=False, allow_nan=False).encode())

    def load_from_path(self, context: dg.InputContext, path: UPath) -> Any:  # noqa: ARG002 - Dagster passes it
        """Read what :meth:`dump_to_path` wrote."""
        if str(path) in self._made:
            return self._made[str(path)]
        stored = json.loads(path.read_text(encoding="utf-8"))
        form, value = stored["form"], stored["value"]
        if form != _DOCUMENT:
            known = restored(value, stored.get("sentences", ()))  # a file of an earlier version has none
            return getattr(importlib.import_module(_RESULTS[form]), form).from_dict(known)
        return self._followed(value[_FOLLOWED_UNDER]) if set(value) == {_FOLLOWED_UNDER} else value

    def _followed(self, settings: dict[str, Any]) -> Any:
        from bdt_core.history import follow
        from bdt_core.spec import parse_spec

        spec = parse_spec(settings, "The specification of the stored history")
        return follow(HistoryStore(self._root, spec.name).read()[0], spec)


class _Store(dg.ConfigurableIOManagerFactory[dg.UPathIOManager]):
    manager: ClassVar[type[dg.UPathIOManager]]
    base_path: str | None = Field(
        default=None,
        description=(
            "A folder, or a URL such as s3://bucket/audits. Default: the environment variable BDT_STORAGE, else the "
            "storage directory of the Dagster instance."
        ),
    )

    def create_io_manager(self, context: dg.InitResourceContext) -> dg.UPathIOManager:
        assert context.instance is not None  # only a resource outside any run has none
        return self.manager(storage_root(context.instance, self.base_path))


class TableStore(_Store):
    """Tables as Parquet, under a local folder or any fsspec path."""

    manager = TableIOManager


class ResultStore(_Store):
    """Results and histories as JSON, under a local folder or any fsspec path."""

    manager = ResultIOManager


def _never_made(context: dg.InputContext) -> str:
    """Why an asset cannot be made, or checked, by itself, and what to select instead."""
    key = context.asset_key
    of_part = f" for {', '.join(context.asset_partition_keys)}" if context.has_asset_partitions else ""
    report = dg.AssetKey([*key.path[:-1], "bias_report"]).to_user_string()
    return harmless(
        f"{key.to_user_string()} is not stored{of_part}, and this selection takes it without making it: put a + before "
        f'what you select, as in +key:"{report}", which adds all that comes before, or launch the job '
        f"{key.path[-2]}_audit."
    )


@cache
def stores(base_path: str | None) -> tuple[TableStore, ResultStore]:
    """Where tables and results of all audits with this place are stored.

    Each is one object, because Dagster joins definitions that name the same resource only if it is the same.

    Parameters
    ----------
    base_path : str or None
        A folder or a URL; see `storage_root`.
    """
    return TableStore(base_path=base_path), ResultStore(base_path=base_path)


def _to_arrow(table: Any) -> pa.Table:
    import pyarrow as pa

    if hasattr(table, "to_arrow"):
        return table.to_arrow()
    written = [name for name in table.columns if table[name].dtype == object and not _is_of_one_sort(table[name])]
    as_json = {name: table[name].map(_as_json, na_action="ignore") for name in written}
    arrow = pa.Table.from_pandas(table.assign(**as_json), preserve_index=False)
    sentences = sentences_of({READING: table.attrs.get(READING)})
    note = json.dumps({"attrs": table.attrs, "as_json": written, "sentences": sentences}).encode()
    return arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), _FRAME: note})


def _from_arrow(table: pa.Table) -> Any:
    import pandas as pd

    note = (table.schema.metadata or {}).get(_FRAME)
    if note is None:
        from bdt_core.shards.large_source import LargeSource
        from bdt_core.shards.table import ShardedTable
        from bdt_core.table.audit_table import AuditTable

        elsewhere = LargeSource.from_arrow(table) or ShardedTable.from_arrow(table)
        return elsewhere or AuditTable.from_arrow(table)
    frame, facts = table.to_pandas(), json.loads(note)
    for name in facts.get("as_json", ()):
        frame[name] = pd.Series(frame[name].map(json.loads, na_action="ignore"), dtype=object)
    frame.attrs.update(restored(facts["attrs"], facts.get("sentences", ())))
    return frame


def _is_of_one_sort(column: pd.Series[Any]) -> bool:
    """Whether a column of Python's values fits one of Parquet's types; values of several sorts are stored as JSON."""
    import pyarrow as pa

    try:
        pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _as_json(value: Any) -> str:
    return json.dumps(value, default=lambda one: one.tolist() if hasattr(one, "tolist") else str(one))
