"""Which engine works on the shards of a specification."""

from __future__ import annotations

import atexit

from bdt_core.shards.engine import LocalEngine, ShardEngine
from bdt_core.shards.memory import MemoryPlan, plan_memory
from bdt_core.spec import AuditSpec


def engine_of(spec: AuditSpec, plan: MemoryPlan) -> ShardEngine:
    """The engine that works on shards."""
    if spec.engine.dask is None:
        return LocalEngine(room=plan.limit // 2)
    from bdt_core.shards.dask_engine import DaskShards

    return DaskShards(spec.engine.dask)


def engine_of_process(spec: AuditSpec) -> ShardEngine:
    """The engine of a specification, opened once in this process and closed when that ends."""
    key = (spec.engine.model_dump_json(), spec.clustering.memory_limit)
    if key not in _engines or _engines[key].is_lost:
        plan = plan_memory("out_of_core", spec.clustering.memory_limit, None)
        _engines[key] = engine_of(spec, plan)
        atexit.register(_engines[key].__exit__, None, None, None)
    return _engines[key]


_engines: dict[tuple[str, str | None], ShardEngine] = {}
