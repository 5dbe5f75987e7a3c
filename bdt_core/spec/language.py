"""Languages of reports: each is a folder of templates."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable


def _languages() -> tuple[str, ...]:
    folders = resources.files("bdt_core").joinpath("report", "templates").iterdir()
    held = {one.name: set(_templates(one)) for one in folders if one.is_dir()}
    return tuple(sorted(name for name, its in held.items() if its >= held["en"]))


def _templates(folder: Traversable) -> Iterator[str]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from (f"{one.name}/{inner}" for inner in _templates(one))
        elif one.name.endswith(".j2"):
            yield one.name


LANGUAGES = _languages()
"""Those with every template that English has; adding one is adding a folder."""
