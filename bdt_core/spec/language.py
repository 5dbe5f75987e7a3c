"""Languages of reports: English, and each that has a catalogue."""

from __future__ import annotations

from importlib import resources

_CATALOGUES = resources.files("bdt_core").joinpath("report", "languages")

LANGUAGES = ("en", *sorted(one.name.removesuffix(".po") for one in _CATALOGUES.iterdir() if one.name.endswith(".po")))
"""Adding one is adding its catalogue."""
