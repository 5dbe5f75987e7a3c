"""Changes that a project makes to the assets of an audit, in YAML as for Dagster's own components."""

from __future__ import annotations

from typing import Any

import dagster as dg
from dagster.components.utils import TranslatorResolvingInfo
from pydantic import Field, ValidationError

from bdt_core.errors import SpecError
from bdt_pipeline.assets.common import Translation

_KEY = "translation"


class AssetAttributes(dg.Model):
    """What can be said of the assets of an audit; texts may be templates with ``spec``, the asset as it would be."""

    group_name: str | None = Field(None, description="The group of the assets. Default: the audit's name.")
    owners: list[str] | str | None = Field(
        None, description='Who answers for the assets: addresses of mail, or teams such as "team:risk".'
    )
    tags: dict[str, Any] | str | None = Field(None, description="Tags beside bdt/audit, which has the audit's name.")
    kinds: list[str] | str | None = Field(None, description="Symbols on the assets, in place of ours.")
    key_prefix: str | list[str] | None = Field(
        None, description="Comes before the keys: with [risk, models] the report is risk/models/NAME/bias_report."
    )
    description: str | None = Field(None, description='In place of ours, as in "{{ spec.description }} For the board."')
    metadata: dict[str, Any] | str | None = Field(None, description="Further metadata of each asset's definition.")


def translation_of(written: Any, context: dg.ResolutionContext, file: str) -> Translation:
    """The translation that a YAML file asks for.

    Parameters
    ----------
    written : mapping or str
        Attributes of the assets; or a template whose function takes ``spec`` and gives them, or an AssetSpec.
    context : ResolutionContext
        That of the component's attributes.
    file : str
        Named in messages.

    Raises
    ------
    SpecError
        A key is none of `AssetAttributes`, or its value is not of its kind.
    """
    try:
        attributes = written if isinstance(written, str) else AssetAttributes.model_validate(written)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, (_KEY, *first["loc"])))
        known = f" Known keys here: {', '.join(AssetAttributes.model_fields)}."
        raise SpecError(f"{file}: {place}: {first['msg']}.{known}") from None
    info = TranslatorResolvingInfo(attributes, context, model_key=_KEY)
    return lambda spec: info.get_asset_spec(spec, {"spec": spec})
