"""What all assets of an audit share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import dagster as dg

from bdt_core.errors import BDTError
from bdt_core.spec import AuditSpec
from bdt_core.stages import Stage, Stages, stages_of
from bdt_pipeline.assets.partitions import partitions_of
from bdt_pipeline.resources.config import config_schema, effective_spec


@dataclass(frozen=True)
class AuditAssets:
    """What an asset needs to know of its audit.

    Attributes
    ----------
    spec : AuditSpec
        Defaults of every run.
    stages : Stages
    storage : str, optional
        Folder or URL of values and reports; by default the storage directory of the Dagster instance.
    """

    spec: AuditSpec
    stages: Stages = field(default_factory=Stages)
    storage: str | None = None

    @property
    def job(self) -> str:
        """Name of the job that runs the whole audit."""
        return f"{self.spec.name}_audit"

    @property
    def tables(self) -> str:
        """Key of the resource that stores tables."""
        return f"{self.spec.name}_tables"

    @property
    def results(self) -> str:
        """Key of the resource that stores results."""
        return f"{self.spec.name}_results"

    @property
    def engine(self) -> str:
        """Key of the resource that says what works on large tables."""
        return f"{self.spec.name}_engine"

    @property
    def tags(self) -> dict[str, str]:
        """Tags of every asset."""
        return {"bdt/audit": self.spec.name}

    @property
    def has_groups(self) -> bool:
        """Whether groups are declared, and there is a label or a prediction to compare them by."""
        return bool(self.spec.facets)

    @property
    def asked(self) -> tuple[Stage, ...]:
        """The stages between the split and the report that the specification asks for, in order."""
        return tuple(stages_of(self.spec))

    def key(self, asset: str) -> dg.AssetKey:
        """Key of one of the audit's assets."""
        return dg.AssetKey([self.spec.name, asset])

    def inputs(self, *assets: str) -> dict[str, dg.AssetIn]:
        """The named assets of this audit as inputs."""
        return {one: dg.AssetIn(key=self.key(one)) for one in assets}

    def config(self, *keys: str) -> dict[str, dg.Field]:
        """Config schema for some keys of the specification."""
        return config_schema(self.spec, keys)

    def spec_with_engine(self, context: dg.AssetExecutionContext) -> AuditSpec:
        """The specification with the values that a run was given for an asset and for the engine.

        Raises
        ------
        SpecError
            When the values do not make a valid specification.
        """
        engine = getattr(context.resources, self.engine)
        return effective_spec(self.spec, {**context.op_execution_context.op_config, "engine": engine})

    def spec_of_run(self, run: dg.DagsterRun) -> AuditSpec:
        """The specification with what a run's configuration changes, whichever asset it was given to.

        Raises
        ------
        SpecError
            When the values do not make a valid specification.
        """
        spec = self.spec.to_dict()
        changed: dict[str, Any] = {}
        run_config: dict[str, Any] = dict(run.run_config)
        ops: dict[str, Any] = run_config.get("ops", {})
        for op, settings in ops.items():
            if not op.startswith(f"{self.spec.name}__"):
                continue
            for key, value in settings.get("config", {}).items():
                if key in spec and not isinstance(spec[key], dict):
                    changed[key] = value
                elif key in spec and value is not None:  # an asset exists for its section: it cannot be switched off
                    changed[key] = {**spec[key], **value}
        return effective_spec(self.spec, changed)

    @property
    def partitions(self) -> dg.PartitionsDefinition[Any] | None:
        """The parts of the data that are audited one by one."""
        return partitions_of(self.spec)

    @property
    def automation(self) -> dg.AutomationCondition[Any] | None:
        """When an asset is made again by itself. Dagster's eager condition alone would ignore failed checks."""
        if self.spec.automation == "off":
            return None
        return dg.AutomationCondition.eager() & dg.AutomationCondition.all_deps_blocking_checks_passed()

    def quarantine(self, context: Any) -> Callable[[str], None] | None:
        """Puts the file of a run aside when it cannot be audited; None when there is no inbox."""
        inbox = self.spec.inbox
        if inbox is None or not context.has_partition_key:
            return None

        def put_file_aside(reason: str) -> None:
            from bdt_pipeline.resources.inbox import QUARANTINE, put_aside

            try:
                target = put_aside(inbox, context.partition_key, reason)
            except (OSError, BDTError) as error:  # what is wrong with the file matters more
                context.log.error(f"{context.partition_key} cannot be moved to {inbox.folder}/{QUARANTINE}: {error}")
                return
            if target is not None:
                context.log.warning(
                    f"{context.partition_key} lies in {inbox.folder}/{QUARANTINE} now, with the reason beside it."
                )

        return put_file_aside

    def asset(
        self,
        name: str,
        *,
        description: str,
        kinds: set[str],
        takes: Sequence[str] | Mapping[str, dg.AssetIn] = (),
        config: Sequence[str] = (),
        more_config: Mapping[str, dg.Field] | None = None,
        stored_as: Literal["table", "result"] = "result",
        **more: Any,
    ) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
        """Decorator of one of the audit's assets, with everything that they share.

        Parameters
        ----------
        name, description, kinds
            As Dagster shows them.
        takes : sequence of str, or mapping
            Assets of this audit that it takes, or any inputs.
        config : sequence of str
            Keys of the specification that its launchpad form offers.
        more_config : mapping, optional
            Further fields of the form.
        stored_as : {"table", "result"}
        **more
            Handed on to `dagster.asset`.
        """
        decorator: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
            name=name,
            key_prefix=self.spec.name,
            ins=takes if isinstance(takes, Mapping) else self.inputs(*takes),
            io_manager_key=self.tables if stored_as == "table" else self.results,
            config_schema={**self.config(*config), **(more_config or {})} or None,
            group_name=self.spec.name,
            kinds=kinds,
            tags=self.tags,
            description=description,
            partitions_def=self.partitions,
            automation_condition=self.automation,
            **more,
        )
        return decorator
