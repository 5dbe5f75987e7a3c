"""The JSON Schema of the document, for whoever reads report.json by machine."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def document_schema(version: int = 1) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a version of the document.

    A version never loses or changes a member; members may be added to it, so readers must pass over what they do
    not know.

    Examples
    --------
    >>> document_schema()["properties"]["schema_version"]
    {'const': 1}
    """
    file = resources.files("bdt_core.report").joinpath(f"schema_v{version}.json")
    schema: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema
