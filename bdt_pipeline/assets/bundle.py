"""The asset behind the report: a bundle of it, for whoever has to keep or to check it.

The step of the report writes it: an asset of its own would be skipped where the gate stops a run, and what was refused
has to be kept, too. So Dagster is told of it as of an asset that is made elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import BaseModel, ConfigDict, Field
from upath import UPath

from bdt_pipeline.resources.run_log import harmless_metadata
from bdt_pipeline.resources.storage import local_folder, make_folder, replacing

if TYPE_CHECKING:
    from bdt_pipeline.assets.common import AuditAssets

AUDIT_BUNDLE = "audit_bundle"


class AuditBundle(BaseModel):
    """How the reports of an audit are bundled.

    Attributes
    ----------
    key : Path, optional
        File of the private Ed25519 key that signs bundles; its passphrase is read from ``BDT_KEY_PASSPHRASE``. Without
        one they say that nobody signed them.

    Examples
    --------
    >>> AuditBundle(key="/run/secrets/auditor").key.name
    'auditor'
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Path | None = Field(None, description="File of the private Ed25519 key that signs bundles. Default: nobody.")


def bundle_spec(audit: AuditAssets) -> dg.AssetSpec:
    """What Dagster shows of the bundle."""
    description = (
        "The report and all that it rests on as one file, also where the gate is shut: plan, looks, counts, versions. "
        "bdt verify says what of it holds."
    )
    shown = audit.described(AUDIT_BUNDLE, description, {"zip"}, audit.code_version())
    tags = {**shown["tags"], **dict.fromkeys((f"dagster/kind/{kind}" for kind in shown.pop("kinds")), "")}
    key, deps = audit.key(AUDIT_BUNDLE), [audit.key("bias_report")]
    return dg.AssetSpec(key, deps=deps, partitions_def=audit.partitions, **{**shown, "tags": tags})


def write_bundle(
    context: dg.AssetExecutionContext, audit: AuditAssets, key: Path | None, files: Mapping[str, UPath], root: UPath
) -> None:
    """Bundle the files of a report in the storage, and tell Dagster.

    Raises
    ------
    BDTError
        The key cannot be used, or the storage cannot be written to.
    """
    from bdt_core.sealed.attestation import audit_files  # not when definitions load
    from bdt_core.sealed.bundle import bundle, ledger_beside
    from bdt_core.sealed.signing import public_name

    folder = files["json"].parent
    contents = {path.name: path.read_bytes() for path in files.values()}
    report = audit_files(contents, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), str(folder))
    packed = bundle(report, ledger_beside(local_folder(root)), key)
    path = root / audit.spec.name / "bundles" / f"{folder.name}.zip"
    make_folder(path.parent)
    with replacing(path) as file:
        file.write(packed)
    shown: dict[str, Any] = {
        "verdict": report.document["verdict"]["verdict"],
        "bundle": dg.MetadataValue.path(str(path)),
        "sha256": hashlib.sha256(packed).hexdigest(),
        "signed by": "nobody" if key is None else public_name(key),
    }
    context.log_event(
        dg.AssetMaterialization(
            audit.key(AUDIT_BUNDLE),
            metadata=harmless_metadata(shown, audit.say),
            partition=context.partition_key if context.has_partition_key else None,
        )
    )
