"""How values pass from asset to asset: tables as Parquet, results as JSON, never pickled.

A file says itself what it holds, and only the forms listed here are ever read.
"""

from __future__ import annotations

import importlib
import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field
from upath import UPath

from bdt_core.errors import OutputError
from bdt_core.spec.source import no_part
from bdt_core.stages import STAGES
from bdt_pipeline.resources.storage import make_folder, replacing, storage_root

if TYPE_CHECKING:
    import pyarrow as pa

_FRAME = b"bdt.frame"
_HOMES = (*(one.kind.split(":") for one in STAGES), ("bdt_core.history", "History"))
_RESULTS = {name: module for module, name in _HOMES}
"""Where the class of each kind of result is."""
_DOCUMENT = "document"


class _WholeFiles(dg.UPathIOManager):
    """Says in words for people why a value could not be stored, such as a full disk."""

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
    """Results of stages, and the report's document, as JSON."""

    extension = ".json"

    def dump_to_path(self, context: dg.OutputContext, obj: Any, path: UPath) -> None:  # noqa: ARG002 - Dagster passes it
        """Write a result."""
        form = _DOCUMENT if isinstance(obj, dict) else type(obj).__name__
        if form != _DOCUMENT and form not in _RESULTS:
            raise TypeError(f"{form} is none of the results that are stored: {', '.join(_RESULTS)}.")
        value = obj if form == _DOCUMENT else obj.to_dict()
        with replacing(path) as file:
            file.write(json.dumps({"form": form, "value": value}, ensure_ascii=False, allow_nan=False).encode())

    def load_from_path(self, context: dg.InputContext, path: UPath) -> Any:  # noqa: ARG002 - Dagster passes it
        """Read what :meth:`dump_to_path` wrote."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        form = stored["form"]
        if form == _DOCUMENT:
            return stored["value"]
        return getattr(importlib.import_module(_RESULTS[form]), form).from_dict(stored["value"])


class _Store(dg.ConfigurableIOManagerFactory[dg.UPathIOManager]):
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

    @abstractmethod
    def manager(self, root: UPath) -> dg.UPathIOManager:
        """The manager of a folder."""


class TableStore(_Store):
    """Tables as Parquet, under a local folder or any fsspec path."""

    def manager(self, root: UPath) -> dg.UPathIOManager:
        """The manager of a folder."""
        return TableIOManager(root)


class ResultStore(_Store):
    """Results as JSON, under a local folder or any fsspec path."""

    def manager(self, root: UPath) -> dg.UPathIOManager:
        """The manager of a folder."""
        return ResultIOManager(root)


def _to_arrow(table: Any) -> pa.Table:
    import pyarrow as pa

    if hasattr(table, "to_arrow"):
        return table.to_arrow()
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    note = json.dumps({"attrs": table.attrs}).encode()
    return arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), _FRAME: note})


def _from_arrow(table: pa.Table) -> Any:
    note = (table.schema.metadata or {}).get(_FRAME)
    if note is None:
        from bdt_core.shards.large_source import LargeSource
        from bdt_core.shards.table import ShardedTable
        from bdt_core.table.audit_table import AuditTable

        elsewhere = LargeSource.from_arrow(table) or ShardedTable.from_arrow(table)
        return elsewhere or AuditTable.from_arrow(table)
    frame = table.to_pandas()
    frame.attrs.update(json.loads(note)["attrs"])
    return frame
