"""What the gate's distribution takes from that of the folder above, so that nothing stands twice."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ORCHESTRATION = {"dagster", "dagster-webserver", "great-expectations", "starlette", "uvicorn"}
"""What no command of the gate imports."""


class SameButLighter(MetadataHookInterface):
    """Version, Python and dependencies of the whole, without the orchestration."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what pyproject.toml calls dynamic."""
        whole = tomllib.loads((Path(self.root).parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        metadata |= {key: whole[key] for key in ("version", "requires-python", "classifiers", "keywords")}
        metadata["optional-dependencies"] = {"sealed": whole["optional-dependencies"]["sealed"]}
        metadata["dependencies"] = [one for one in whole["dependencies"] if name_of(one) not in ORCHESTRATION]


def name_of(requirement: str) -> str:
    """The distribution that a requirement names."""
    return re.split(r"[\s\[<>=!~;@]", requirement, maxsplit=1)[0]
