"""How a history passes from asset to asset: as the batches that lie in the store, not as a copy of all of them."""

from __future__ import annotations

from typing import Any

import dagster as dg
from upath import UPath

from bdt_pipeline.resources.history_store import HistoryStore
from bdt_pipeline.resources.io_managers import ResultIOManager, ResultStore

_FOLLOWED_UNDER = "history under the specification"


class AuditResultIOManager(ResultIOManager):
    """Results of an audit as JSON; of its history only the settings, for the batches are in the store already.

    Each part of the data has its own value of ``bias_history``. Were it stored whole, with the counts of all batches
    before it, the values would grow with the square of the number of parts. So the counts of a part are stored once,
    as its batch, and a history is put together when it is read, from all batches that are there by then. The run that
    made a history reads it back as it made it.
    """

    def __init__(self, root: UPath) -> None:
        super().__init__(root)
        self._root = root
        self._made: dict[str, Any] = {}

    def dump_to_path(self, context: dg.OutputContext, obj: Any, path: UPath) -> None:
        """Write a result."""
        if type(obj).__name__ != "History":  # by name, as all results: the method is not imported for it
            super().dump_to_path(context, obj, path)
            return
        super().dump_to_path(context, {_FOLLOWED_UNDER: obj.spec.to_dict()}, path)
        self._made = {str(path): obj}

    def load_from_path(self, context: dg.InputContext, path: UPath) -> Any:
        """Read what :meth:`dump_to_path` wrote."""
        if str(path) in self._made:
            return self._made[str(path)]
        value = super().load_from_path(context, path)
        if isinstance(value, dict) and set(value) == {_FOLLOWED_UNDER}:
            return self._followed(value[_FOLLOWED_UNDER])
        return value

    def _followed(self, settings: dict[str, Any]) -> Any:
        from bdt_core.history import follow
        from bdt_core.spec import parse_spec

        spec = parse_spec(settings, "The specification of the stored history")
        return follow(HistoryStore(self._root, spec.name).read()[0], spec)


class AuditResultStore(ResultStore):
    """Results and histories as JSON, under a local folder or any fsspec path."""

    def manager(self, root: UPath) -> dg.UPathIOManager:
        """The manager of a folder."""
        return AuditResultIOManager(root)
