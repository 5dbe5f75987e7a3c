"""The look at people that a run is: it begins with the run's first table, and ends with its report."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_pipeline.resources.storage import local_folder, storage_root

if TYPE_CHECKING:
    from bdt_core.sealed.looking import RecordedLook
    from bdt_pipeline.assets.common import AuditAssets


def begin_look(context: dg.AssetExecutionContext, audit: AuditAssets, spec: AuditSpec) -> None:
    """Record that a look begins, where the run is to end with a report: it is one even if the run fails on its way."""
    from bdt_core.sealed.looking import begun_look  # not when definitions load

    if audit.key("bias_report") in context.job_def.asset_layer.selected_asset_keys:
        begun_look(*_look(context, audit, spec))


def look_of_run(
    context: dg.AssetExecutionContext, audit: AuditAssets, spec: AuditSpec
) -> AbstractContextManager[RecordedLook]:
    """The look that the run is, begun or not."""
    from bdt_core.sealed.looking import looking  # not when definitions load

    return looking(*_look(context, audit, spec))


def _look(context: dg.AssetExecutionContext, audit: AuditAssets, spec: AuditSpec) -> tuple[Path, AuditSpec, Any, str]:
    place = local_folder(storage_root(context.instance, audit.storage)) or Path(context.instance.storage_directory())
    return place, spec, "dagster", f"{context.run.run_id}.{spec.name}"
