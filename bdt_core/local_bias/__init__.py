"""Local bias (LOGAN): places in the data where an algorithm treats declared groups differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.on_demand import loader

if TYPE_CHECKING:
    from bdt_core.local_bias.gaps import find_local_bias
    from bdt_core.local_bias.logan import LOGAN
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.local_bias.rows import LocalRows
    from bdt_core.local_bias.settings import LocalBiasSettings

__all__ = ["LOGAN", "LocalBias", "LocalBiasSettings", "LocalRows", "find_local_bias"]

# The compiler behind the kernels takes a third of a second to import: only when it is needed.
_HOMES = {
    "LOGAN": "bdt_core.local_bias.logan",
    "LocalBias": "bdt_core.local_bias.results",
    "LocalBiasSettings": "bdt_core.local_bias.settings",
    "LocalRows": "bdt_core.local_bias.rows",
    "find_local_bias": "bdt_core.local_bias.gaps",
}
__getattr__ = loader(__name__, _HOMES)
