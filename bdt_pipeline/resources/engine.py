"""The engine as a resource: what works on rows is said once for all assets of a run."""

from __future__ import annotations

from typing import Any

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_pipeline.resources.config import config_schema

_DESCRIPTION = "What works on a table that is larger than memory: this process, or a Dask cluster."


def engine_resource(spec: AuditSpec) -> dg.ResourceDefinition:
    """The section ``engine`` of a specification, whose values a run may replace.

    Parameters
    ----------
    spec : AuditSpec
        Its values are the defaults.

    Returns
    -------
    ResourceDefinition
        Gives the section as a mapping; who uses it checks it, and opens the engine when there are rows for it.

    Examples
    --------
    >>> spec = AuditSpec(name="a", source={"path": "a.csv"}, bias_variable={"column": "y"})
    >>> with dg.build_resources({"engine": engine_resource(spec)}) as resources:
    ...     resources.engine
    {'dask': None}
    """
    schema = config_schema(spec, ["engine"])["engine"]

    @dg.resource(config_schema=schema, description=_DESCRIPTION)
    def engine(context: dg.InitResourceContext) -> dict[str, Any]:
        return dict(context.resource_config)

    return engine
