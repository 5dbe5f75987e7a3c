"""One specification becomes the assets, checks and job of one audit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import dagster as dg
from dagster_shared.yaml_utils.source_position import SourcePositionTree
from pydantic import BaseModel, Field

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec, load_spec, parse_spec, resolve_paths
from bdt_core.stages import Stages
from bdt_pipeline.assets import AuditAssets, build_assets
from bdt_pipeline.assets.bundle import AuditBundle, bundle_spec
from bdt_pipeline.assets.common import Layout, Translation
from bdt_pipeline.automation.alert_sensor import build_alert_sensor
from bdt_pipeline.automation.eager import build_automation_sensor
from bdt_pipeline.automation.inbox_sensor import build_inbox_sensor
from bdt_pipeline.automation.retraining import build_retraining_sensor
from bdt_pipeline.automation.schedules import build_schedule
from bdt_pipeline.automation.waiting_files import build_waiting_files_job
from bdt_pipeline.checks import build_alerts_check, build_checks
from bdt_pipeline.components.one_step import report_in_one_step
from bdt_pipeline.components.scaffolder import BiasAuditScaffolder
from bdt_pipeline.components.telemetry import say_that_telemetry_is_on
from bdt_pipeline.components.translation import AssetAttributes, translation_of
from bdt_pipeline.components.yaml_model import yaml_model
from bdt_pipeline.resources.io_managers import stores
from bdt_pipeline.resources.settings import settings_resource

_SENSORS = (build_inbox_sensor, build_automation_sensor, build_alert_sensor, build_retraining_sensor)


def bias_audit_definitions(
    spec: AuditSpec | str | Path,
    *,
    stages: Stages | None = None,
    storage: str | None = None,
    translation: Translation | None = None,
    bundle: AuditBundle | None = None,
    assets: Layout = "chain",
) -> dg.Definitions:
    """Dagster definitions of one audit.

    Parameters
    ----------
    spec : AuditSpec or path of a YAML file
        Its values are the defaults in the launchpad; its name prefixes the assets.
    stages : Stages, optional
        Replaces stages of the method.
    storage : str, optional
        Folder or URL for values and reports; by default the storage directory of the Dagster instance.
    translation : callable, optional
        Takes the AssetSpec of each asset and gives the one that Dagster shows: its group, owners, tags, kinds,
        description, metadata, or a prefix of all keys.
    bundle : AuditBundle, optional
        Asks for a bundle of each report, the asset ``audit_bundle``, and says whose key signs it.
    assets : {"chain", "report"}
        ``report``: one asset instead of one per stage, which one step makes, with the same checks; for small audits.

    Returns
    -------
    Definitions
        The assets from ``raw_data`` to ``bias_report``, data-quality checks, the gate, and the job ``<name>_audit``.

    Examples
    --------
    >>> spec = AuditSpec(
    ...     name="loans", source={"path": "loans.csv"}, bias_variable={"column": "error"}
    ... )
    >>> bias_audit_definitions(spec).resolve_job_def("loans_audit").name
    'loans_audit'
    """
    asked = spec if isinstance(spec, AuditSpec) else load_spec(spec)
    audit = AuditAssets(asked, stages or Stages(), storage, translation, bundle, assets)
    return _definitions(audit, _assets(audit), _checks(audit))


def _assets(audit: AuditAssets) -> Sequence[dg.AssetsDefinition]:
    return [report_in_one_step(audit)] if audit.assets == "report" else build_assets(audit)


def _checks(audit: AuditAssets) -> Sequence[dg.AssetChecksDefinition]:
    """The checks that have a step of their own."""
    return build_alerts_check(audit) if audit.assets == "report" else build_checks(audit)


def _definitions(
    audit: AuditAssets, assets: Sequence[dg.AssetsDefinition], checks: Sequence[dg.AssetChecksDefinition]
) -> dg.Definitions:
    say_that_telemetry_is_on()
    schedule, waiting = build_schedule(audit), build_waiting_files_job(audit)
    sensors = [build(audit) for build in _SENSORS]
    return dg.Definitions(
        assets=[*assets, *([] if audit.bundle is None else [bundle_spec(audit)])],
        asset_checks=checks,
        jobs=[build_job(audit, assets), *([] if waiting is None else [waiting])],
        schedules=[] if schedule is None else [schedule],
        sensors=[one for one in sensors if one is not None],
        resources=build_resources(audit),
    )


def build_job(audit: AuditAssets, assets: Sequence[dg.AssetsDefinition] | None = None) -> Any:
    """The job that runs the whole audit in one process: a process per asset costs more than the audit.

    Parameters
    ----------
    audit : AuditAssets
    assets : sequence of AssetsDefinition, optional
        What it runs; by default the assets as they ship.
    """
    made = _assets(audit) if assets is None else assets
    return dg.define_asset_job(
        audit.job,
        selection=dg.AssetSelection.assets(*(key for one in made for key in one.keys)),
        description=f"The bias audit {audit.spec.name}, from the table to the gated report.",
        executor_def=dg.in_process_executor,
    )


def build_resources(audit: AuditAssets) -> dict[str, Any]:
    """Where values are stored, which all audits of a project share, and the settings of this one, by its name."""
    tables, results = stores(audit.storage)
    return {audit.tables: tables, audit.results: results, audit.settings: settings_resource(audit.spec)}


@dg.scaffold_with(BiasAuditScaffolder)
class BiasAudit(dg.Component, AuditSpec, dg.Resolvable):
    """A bias audit: finds the groups an algorithm treats worse, proves it on held-out rows, and gates deployments.

    The attributes are the keys of the audit specification, and `translation`, which says what Dagster shows of the
    assets: their group, owners, tags, kinds and key prefix. A relative path of the source is looked up beside the YAML
    file. `bundle` asks for one more asset, `NAME/audit_bundle`: each report packed for whoever has to keep it.
    `assets: report` makes a small audit one asset, in one step, with the same checks.

    `dg scaffold defs bdt_pipeline.BiasAudit loans --file loans.csv` looks at a table and writes what it seems to need.

    The last asset is `NAME/bias_report`. Its blocking check `bias_gate` holds the limits: what must not happen when it
    fails goes downstream of it.

    To change a part, subclass it and override a method: `build_stages` for what is computed, `get_asset_spec` for
    what is shown, `build_assets` and `build_checks` for what there is.
    """

    translation: Translation | None = Field(
        None,
        exclude=True,
        description="What Dagster shows of the audit's assets: group_name, owners, tags, kinds, key_prefix and so on.",
    )

    bundle: AuditBundle | None = Field(
        None,
        exclude=True,
        description="Asks for an asset audit_bundle: each report and all that it rests on as one file in the storage.",
    )

    assets: Layout = Field(
        "chain",
        exclude=True,
        description="chain: an asset per stage. report: one asset and one step with the same checks, for small audits.",
    )

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """What the list of components shows beside the description."""
        return dg.ComponentTypeSpec(
            tags=["fairness", "bias", "audit", "data-quality"],
            produces=["asset", "asset_check", "job", "schedule", "sensor", "resource"],
        )

    @classmethod
    def model(cls) -> type[BaseModel]:
        """The shape of the YAML attributes."""
        return yaml_model(cls, (("translation", AssetAttributes | str | None),))

    @classmethod
    def resolve_from_model(cls, context: dg.ResolutionContext, model: BaseModel) -> Self:
        """The component with its templates filled in and its values checked."""
        written = model.model_dump(exclude_unset=True)
        tree = context.source_position_tree
        file = "The YAML file" if tree is None else tree.position.filename
        lines = {} if tree is None else dict(_lines(tree.children.get("attributes", tree)))
        translation = written.pop("translation", None)
        _refuse_unset_variables(written, file, lines)
        values = {key: context.resolve_value(one) if _holds_template(one) else one for key, one in written.items()}
        own = cls.model_fields.keys() - AuditSpec.model_fields.keys()
        asked = {key: one for key, one in values.items() if key not in own}
        spec = parse_spec(asked, file, lines, known=own, folder=None if tree is None else Path(file).parent)
        return cls.model_validate(
            {
                **{key: one for key, one in values.items() if key in own},
                **spec.model_dump(exclude_unset=True),
                "translation": None if translation is None else translation_of(translation, context, file),
            }
        )

    def build_spec(self, context: dg.ComponentLoadContext) -> AuditSpec:
        """The specification."""
        spec = AuditSpec.model_validate({key: getattr(self, key) for key in AuditSpec.model_fields})
        folder = context.path if context.path.is_dir() else context.path.parent
        return resolve_paths(spec, Path(folder))

    def build_stages(self) -> Stages:
        """The stages that the assets call."""
        return Stages()

    def get_asset_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """What Dagster shows of an asset, of which ``spec`` is the audit's own idea."""
        return spec if self.translation is None else self.translation(spec)

    def build_assets(self, audit: AuditAssets) -> Sequence[dg.AssetsDefinition]:
        """The assets."""
        return _assets(audit)

    def build_checks(self, audit: AuditAssets) -> Sequence[dg.AssetChecksDefinition]:
        """Data quality and the gate; none where the step of the report makes them."""
        return _checks(audit)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Everything together."""
        spec, stages = self.build_spec(context), self.build_stages()
        audit = AuditAssets(spec, stages, None, self.get_asset_spec, self.bundle, self.assets)
        return _definitions(audit, self.build_assets(audit), self.build_checks(audit))


def _holds_template(written: Any) -> bool:
    """Whether there is anything to fill in: Dagster would compile each text to find out."""
    if isinstance(written, dict | list):
        return any(map(_holds_template, written.values() if isinstance(written, dict) else written))
    return isinstance(written, str) and "{" in written


_VARIABLE = re.compile(r"\{\{\s*env\.(\w+)\s*\}\}")
_Place = tuple[int | str, ...]


def _lines(tree: SourcePositionTree, place: _Place = ()) -> Iterator[tuple[_Place, int]]:
    """The line of each attribute in the file."""
    for key, child in tree.children.items():
        yield (*place, key), child.position.start.line
        yield from _lines(child, (*place, key))


def _refuse_unset_variables(written: Any, file: str, lines: Mapping[_Place, int], place: _Place = ()) -> None:
    """Say which key waits for a variable: Dagster would fill in "None".

    Raises
    ------
    SpecError
        A variable is not set.
    """
    if isinstance(written, dict | list):
        for key, value in written.items() if isinstance(written, dict) else enumerate(written):
            _refuse_unset_variables(value, file, lines, (*place, key))
    elif isinstance(written, str):
        unset = [name for name in _VARIABLE.findall(written) if name not in os.environ]
        if unset:
            line = f" (line {lines[place]})" if place in lines else ""
            raise SpecError(
                f"{file}: {'.'.join(map(str, place))}{line}: the environment variable {unset[0]} is not set. Set it "
                f"where Dagster runs, or give a default: {{{{ env('{unset[0]}', 'DEFAULT') }}}}."
            )
