"""What all assets of an audit share."""

from __future__ import annotations

from dataclasses import dataclass, field

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_pipeline.assets.config import config_schema
from bdt_pipeline.assets.stages import Stages


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
    def tables(self) -> str:
        """Key of the resource that stores tables."""
        return f"{self.spec.name}_tables"

    @property
    def results(self) -> str:
        """Key of the resource that stores results."""
        return f"{self.spec.name}_results"

    @property
    def tags(self) -> dict[str, str]:
        """Tags of every asset."""
        return {"bdt/audit": self.spec.name}

    @property
    def has_groups(self) -> bool:
        """Whether groups are declared, and there is a label or a prediction to compare them by."""
        return bool(self.spec.facets)

    def key(self, asset: str) -> dg.AssetKey:
        """Key of one of the audit's assets."""
        return dg.AssetKey([self.spec.name, asset])

    def inputs(self, *assets: str) -> dict[str, dg.AssetIn]:
        """The named assets of this audit as inputs."""
        return {one: dg.AssetIn(key=self.key(one)) for one in assets}

    def config(self, *keys: str) -> dict[str, dg.Field]:
        """Config schema for some keys of the specification."""
        return config_schema(self.spec, keys)
