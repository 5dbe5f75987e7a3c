"""Languages of reports: each is a folder of templates."""

from __future__ import annotations

from importlib import resources


def _languages() -> tuple[str, ...]:
    folders = resources.files("bdt_core").joinpath("report", "templates").iterdir()
    return tuple(sorted(one.name for one in folders if one.joinpath("first_page.md.j2").is_file()))


LANGUAGES = _languages()
"""Those with a first page; adding one is adding a folder."""
