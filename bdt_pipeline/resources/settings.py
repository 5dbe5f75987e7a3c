"""The settings of a run as a resource: said once, for every asset and check of an audit."""

from __future__ import annotations

from typing import Any

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_core.stages import STAGES
from bdt_pipeline.resources.config import config_schema
from bdt_pipeline.resources.step_process import spare_process_of_step

_DESCRIPTION = "The settings of the audit, for every asset and check of the run; each is kept with what was made by it."
_OF_THE_DEFINITIONS = frozenset(
    {
        "name",
        "partition_by",
        "inbox",
        "schedule",
        "automation",
        "freshness_hours",
        "pool",
        "keep",
        "notify",
        "notify_from",
        "report_url",
    }
)
"""Keys that say when and on which part of the data a run starts, and who is told: no run can change them."""


def keys_of_run(spec: AuditSpec) -> tuple[str, ...]:
    """The keys of the specification that a run may change.

    A section that the specification leaves out has no asset, and is not offered.

    Examples
    --------
    >>> spec = AuditSpec(name="a", source={"path": "a.csv"}, bias_variable={"column": "y"})
    >>> "significance" in keys_of_run(spec), "local_bias" in keys_of_run(spec), "schedule" in keys_of_run(spec)
    (True, False, False)
    """
    absent = {one.section for one in STAGES if getattr(spec, one.section) is None}
    return tuple(key for key in AuditSpec.model_fields if key not in _OF_THE_DEFINITIONS | absent)


def settings_resource(spec: AuditSpec) -> dg.ResourceDefinition:
    """The specification as a form of the launchpad, whose values a run may replace.

    Parameters
    ----------
    spec : AuditSpec
        Its values are the defaults.

    Returns
    -------
    ResourceDefinition
        Gives the keys as a mapping; `AuditAssets.spec_of_run` makes a specification of them, and checks it.

    Examples
    --------
    >>> spec = AuditSpec(name="a", source={"path": "a.csv"}, bias_variable={"column": "y"})
    >>> with dg.build_resources({"settings": settings_resource(spec)}) as resources:
    ...     resources.settings["significance"]["alpha"]
    0.05
    """

    @dg.resource(config_schema=config_schema(spec, keys_of_run(spec)), description=_DESCRIPTION)
    def settings(context: dg.InitResourceContext) -> dict[str, Any]:
        spare_process_of_step()  # before a step imports anything for its inputs
        given = context.resource_config
        # An asset that the specification asks for is there: a run cannot switch it off.
        return {key: one for key, one in given.items() if one is not None or getattr(spec, key) is None}

    return settings
