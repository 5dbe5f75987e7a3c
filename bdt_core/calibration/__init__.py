"""Whether a score is right for everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.on_demand import loader

if TYPE_CHECKING:
    from bdt_core.calibration.results import CalibratedFacet, CalibratedGroup, Calibration, CalibrationBin
    from bdt_core.calibration.search import find_miscalibrated_groups

__all__ = ["CalibratedFacet", "CalibratedGroup", "Calibration", "CalibrationBin", "find_miscalibrated_groups"]

_HOMES = {
    "CalibratedFacet": ".results",
    "CalibratedGroup": ".results",
    "Calibration": ".results",
    "CalibrationBin": ".results",
    "find_miscalibrated_groups": ".search",
}
__getattr__ = loader(__name__, _HOMES)
