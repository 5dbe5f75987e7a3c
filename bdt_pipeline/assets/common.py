"""Common ground of all assets of an audit."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import dagster as dg

from bdt_core.errors import BDTError, SpecError
from bdt_core.spec import SAID, AuditSpec, printed_specification
from bdt_core.stages import Stage, Stages, stages_of
from bdt_pipeline.assets.bundle import AuditBundle
from bdt_pipeline.assets.partitions import partitions_of
from bdt_pipeline.resources.config import effective_spec
from bdt_pipeline.resources.run_log import harmless_metadata, log
from bdt_pipeline.resources.settings import keys_of_run

Translation = Callable[[dg.AssetSpec], dg.AssetSpec]
"""What a project makes of the assets of an audit: group, owners, tags, kinds, a prefix of their keys."""
Layout = Literal["chain", "report"]
"""Whether an audit is an asset per stage, or one asset, the report, which one step makes."""
Context = dg.AssetExecutionContext | dg.AssetCheckExecutionContext
_KIND = "dagster/kind/"
_SETTINGS = "settings"
"""Metadata of each value: the settings that it was made with."""
_JUDGES = frozenset({"gate", "require", "sealed", "seal", "history", *SAID})
"""Keys that say what is thought of results, and not how they are made: a report can be judged, or worded, anew."""


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
    translation : callable, optional
        Takes and gives the specification of each asset.
    bundle : AuditBundle, optional
        Asks for a bundle of each report.
    assets : {"chain", "report"}
    """

    spec: AuditSpec
    stages: Stages = field(default_factory=Stages)
    storage: str | None = None
    translation: Translation | None = None
    bundle: AuditBundle | None = None
    assets: Layout = "chain"

    @property
    def job(self) -> str:
        """Name of the job that runs the whole audit."""
        return f"{self.spec.name}_audit"

    @property
    def tables(self) -> str:
        """Key of the resource that stores tables: one for all audits, unless this one has a storage of its own."""
        return f"{'bdt' if self.storage is None else self.spec.name}_tables"

    @property
    def results(self) -> str:
        """Key of the resource that stores results, shared like that of the tables."""
        return f"{'bdt' if self.storage is None else self.spec.name}_results"

    @property
    def settings(self) -> str:
        """Key of the resource that holds the settings of a run."""
        return f"{self.spec.name}_settings"

    @cached_property
    def say(self) -> Callable[[str], str]:
        """What a text of ours is to the audit's readers."""
        return say_of(self.spec)

    @property
    def has_groups(self) -> bool:
        """Whether groups are declared, and there is a label or a prediction to compare them by."""
        return bool(self.spec.facets)

    @cached_property
    def asked(self) -> tuple[Stage, ...]:
        """The stages between the split and the report that the specification asks for, in order."""
        return tuple(stages_of(self.spec))

    @cached_property
    def under(self) -> tuple[str, ...]:
        """What the keys of all assets begin with: the audit's name, behind what the project puts before it."""
        return tuple(self._translated(dg.AssetSpec([self.spec.name, "bias_report"])).key.path[:-1])

    def key(self, asset: str) -> dg.AssetKey:
        """Key of one of the audit's assets."""
        return dg.AssetKey([*self.under, asset])

    def key_of_checks(self, asset: str) -> dg.AssetKey:
        """Key of the asset on which checks of an asset stand: of the report, where this is the only one."""
        return self.key("bias_report" if self.assets == "report" else asset)

    def op(self, what: str) -> str:
        """Name of a step: of an asset, or of what makes or checks several."""
        return f"{dg.AssetKey(self.under).to_python_identifier()}__{what}"

    def described(self, asset: str, description: str, kinds: set[str], code_version: str) -> dict[str, Any]:
        """What Dagster shows of an asset: as the audit has it, and then as the project wants it.

        Raises
        ------
        SpecError
            The project's translation changes more of a key than its beginning, or does so for some assets only.
        """
        ours = dg.AssetSpec(
            [self.spec.name, asset],
            description=self.say(description),
            kinds=kinds,
            group_name=self.spec.name,
            tags={"bdt/audit": self.spec.name},
            code_version=code_version,
        )
        shown = self._translated(ours)
        if shown.key != self.key(asset):
            raise SpecError(
                f"translation: the key of {asset} is {shown.key.to_user_string()}. Assets, checks and alerts of an "
                "audit find each other by their keys: give all of them the same key_prefix, and leave the rest."
            )
        return {
            "description": shown.description,
            "kinds": shown.kinds,
            "group_name": shown.group_name,
            "tags": {name: tag for name, tag in shown.tags.items() if not name.startswith(_KIND)},
            "owners": shown.owners,
            "metadata": shown.metadata,
            "code_version": shown.code_version,
        }

    def _translated(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        return spec if self.translation is None else self.translation(spec)

    @cached_property
    def _printed(self) -> dict[str, Any]:
        return printed_specification(self.spec)

    def code_version(self, *keys: str) -> str:
        """What an asset is made by: a hash of some keys of the specification, or of all that say how results are made.

        Where another class has the stages, of its name, too. What is before an asset counts there, for Dagster sees
        by itself that it was made anew.
        """
        parts = {key: one for key, one in self._printed.items() if (key in keys if keys else key not in _JUDGES)}
        made_by = [type(self.stages).__qualname__, parts]
        return hashlib.sha256(json.dumps(made_by, sort_keys=True).encode()).hexdigest()[:12]

    def inputs(self, *assets: str) -> dict[str, dg.AssetIn]:
        """The named assets of this audit as inputs."""
        return {one: dg.AssetIn(key=self.key(one)) for one in assets}

    def spec_of_run(self, context: Context, *taken: str) -> AuditSpec:
        """The specification with the settings of a run, which are those that the taken assets were made with.

        Parameters
        ----------
        context : AssetExecutionContext or AssetCheckExecutionContext
        *taken : str
            Assets of this audit whose values are used.

        Raises
        ------
        SpecError
            The values do not make a valid specification, stand where they stood in earlier versions, or are not those
            that an asset was made with.
        """
        self._refuse_settings_of_assets(context.run)
        spec = effective_spec(self.spec, getattr(context.resources, self.settings))
        others = {asset: changes for asset in taken if (changes := self._changes(context, asset, spec))}
        if others:
            changed = "; ".join(dict.fromkeys(one for changes in others.values() for one in changes))
            was = "was" if len(others) == 1 else "were"
            raise SpecError(
                f"{' and '.join(others)} {was} made with other settings than this run has: {changed}. A report never "
                f"mixes settings: give the run those of before (resources > {self.settings} > config), or select these "
                "assets and those before them as well, so that they are made anew."
            )
        return spec

    def made(self, value: Any, metadata: Mapping[str, Any], spec: AuditSpec, **more: Any) -> dg.MaterializeResult[Any]:
        """A value with its metadata, and the settings that it was made with."""
        settings = dg.MetadataValue.json(printed_specification(spec))
        return dg.MaterializeResult(
            value=value, metadata={**harmless_metadata(metadata, say_of(spec)), _SETTINGS: settings}, **more
        )

    def _refuse_settings_of_assets(self, run: dg.DagsterRun) -> None:
        run_config: dict[str, Any] = dict(run.run_config)
        ops: dict[str, Any] = run_config.get("ops", {})
        for op, given in ops.items():
            keys = [key for key in given.get("config") or () if key in AuditSpec.model_fields]
            if op.startswith(self.op("")) and keys:
                places = " and ".join(f"resources > {self.settings} > config > {key}" for key in keys)
                raise SpecError(
                    f"The run's configuration gives {' and '.join(keys)} to {op}. Settings stand once, for all assets "
                    f"of the audit: write them under {places}."
                )

    def _changes(self, context: Context, asset: str, spec: AuditSpec) -> list[str]:
        """What was otherwise when an asset was made."""
        parts = [context.partition_key] if context.has_partition_key else None
        records = context.instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=self.key(asset), asset_partitions=parts), limit=1
        ).records
        made = records[0].asset_materialization if records else None
        before: Any = None if made is None else made.metadata.get(_SETTINGS)
        if before is None:  # made by an earlier version, or put there by somebody else
            return []
        now = printed_specification(spec)
        keys = ["source"] if asset == "raw_data" else [one for one in keys_of_run(self.spec) if one in now]
        return [
            _change(key, before.value.get(key), now[key])
            for key in keys
            if key not in _JUDGES and before.value.get(key) != now[key]
        ]

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
                log(
                    context, f"{context.partition_key} cannot be moved to {inbox.folder}/{QUARANTINE}: {error}", "error"
                )
                return
            if target is not None:
                log(
                    context,
                    f"{context.partition_key} lies in {inbox.folder}/{QUARANTINE} now, with the reason beside it.",
                    level="warning",
                )

        return put_file_aside

    def asset(
        self,
        name: str,
        *,
        description: str,
        kinds: set[str],
        made_by: Sequence[str] = (),
        takes: Sequence[str] | Mapping[str, dg.AssetIn] = (),
        stored_as: Literal["table", "result"] = "result",
        **more: Any,
    ) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
        """Decorator of one of the audit's assets, with everything that they share.

        Parameters
        ----------
        name, description, kinds
            As Dagster shows them.
        made_by : sequence of str
            Keys of the specification that it depends on; by default all that say how results are made.
        takes : sequence of str, or mapping
            Assets of this audit that it takes, or any inputs.
        stored_as : {"table", "result"}
        **more
            Handed on to `dagster.asset`.
        """
        decorator: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
            key=self.key(name),
            ins=takes if isinstance(takes, Mapping) else self.inputs(*takes),
            io_manager_key=self.tables if stored_as == "table" else self.results,
            required_resource_keys={self.settings},
            partitions_def=self.partitions,
            automation_condition=self.automation,
            **self.described(name, description, kinds, self.code_version(*made_by)),
            **more,
        )
        return lambda function: decorator(signed(function))


def signed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that has its signature at hand: while Dagster makes a step of it, it asks for it sixteen times."""
    vars(function)["__signature__"] = inspect.signature(function)
    return function


def say_of(spec: AuditSpec) -> Callable[[str], str]:
    """What a text of ours is to the readers of a specification."""
    if spec.language == "en" and not (spec.labels or spec.units):
        return str
    from bdt_core.report.catalogue import say_for  # not when definitions load, where nothing is to be changed

    return say_for(spec)


def _change(key: str, before: Any, now: Any) -> str:
    """What differs within a key of the specification, as deep as it has names."""
    if isinstance(before, dict) and isinstance(now, dict):
        inner = [one for one in {**before, **now} if before.get(one) != now.get(one)]
        return "; ".join(_change(f"{key}.{one}", before.get(one), now.get(one)) for one in inner)
    return f"{key} was {json.dumps(before)} and is {json.dumps(now)}"
