"""Local bias (LOGAN): places in the data where an algorithm treats declared groups differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bdt_core.local_bias.logan import LOGAN
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.local_bias.rows import LocalRows
    from bdt_core.local_bias.settings import LocalBiasSettings
    from bdt_core.local_bias.stage import find_local_bias

__all__ = ["LOGAN", "LocalBias", "LocalBiasSettings", "LocalRows", "find_local_bias"]

_HOMES = {
    "LOGAN": "bdt_core.local_bias.logan",
    "LocalBias": "bdt_core.local_bias.results",
    "LocalBiasSettings": "bdt_core.local_bias.settings",
    "LocalRows": "bdt_core.local_bias.rows",
    "find_local_bias": "bdt_core.local_bias.stage",
}


def __getattr__(name: str) -> Any:
    # The compiler behind the kernels takes a third of a second to import: only when it is needed.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
