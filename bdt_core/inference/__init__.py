"""Two-sample tests, intervals, corrections and power: arrays and numbers in, plain results out."""

from bdt_core.inference.at_once import (
    corrected_interval,
    difference_found_beyond,
    interval_at_once,
    interval_of_selected,
)
from bdt_core.inference.auc import AUC, area_under_curve, area_under_curve_of_counts
from bdt_core.inference.categories import CategoricalComparison, compare_category_counts
from bdt_core.inference.comparison import (
    Comparison,
    compare_count_arrays,
    compare_counts,
    compare_samples,
    compare_summaries,
    drawing_needs_rows,
)
from bdt_core.inference.exact import mid_p_value
from bdt_core.inference.means import mean_interval, welch_interval
from bdt_core.inference.multiplicity import adjust_p_values
from bdt_core.inference.power import minimum_detectable_difference, rate_difference_beyond, required_rows
from bdt_core.inference.proportions import (
    difference_limits,
    koopman_interval,
    newcombe_interval,
    rate_interval,
    wilson_interval,
    wilson_limits,
)

__all__ = [
    "AUC",
    "CategoricalComparison",
    "Comparison",
    "adjust_p_values",
    "area_under_curve",
    "area_under_curve_of_counts",
    "compare_category_counts",
    "compare_count_arrays",
    "compare_counts",
    "compare_samples",
    "compare_summaries",
    "corrected_interval",
    "difference_found_beyond",
    "difference_limits",
    "drawing_needs_rows",
    "interval_at_once",
    "interval_of_selected",
    "koopman_interval",
    "mean_interval",
    "mid_p_value",
    "minimum_detectable_difference",
    "newcombe_interval",
    "rate_difference_beyond",
    "rate_interval",
    "required_rows",
    "welch_interval",
    "wilson_interval",
    "wilson_limits",
]
