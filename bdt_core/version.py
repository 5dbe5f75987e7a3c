"""Version of the product, and its distribution."""

from __future__ import annotations

from importlib import metadata

WHOLE = "bdt-pipeline"
GATE = "bdt-gate"
"""The same sources with fewer dependencies, for CI."""


def installed_version() -> str:
    """The version of the distribution that brought this package.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        The sources are imported without having been installed.
    """
    try:
        return metadata.version(WHOLE)
    except metadata.PackageNotFoundError:
        return metadata.version(GATE)
