"""The audit's stage: intersections in which the bias variable is worse, on the audit's own train and test rows."""

from __future__ import annotations

from bdt_core.slices.measure import MEAN, resolve
from bdt_core.slices.results import Slices
from bdt_core.slices.settings import Settings
from bdt_core.slices.stages import search
from bdt_core.spec import SliceSearch
from bdt_core.table.audit_table import BIAS_VARIABLE
from bdt_core.table.bias_variable import wording
from bdt_core.table.persons import persons_of
from bdt_core.table.rows import Rows


def find_bias_slices(train: Rows, test: Rows, settings: SliceSearch) -> Slices:
    """Find the intersections of features and protected attributes in which people fare worse.

    Parameters
    ----------
    train, test : Rows
        Slices are found on the one and tested on the other.
    settings : SliceSearch

    Returns
    -------
    Slices
        Of the mean of the bias variable: a rate, where it has two values.

    Raises
    ------
    DataError
        A column that does not exist.
    """
    spec = train.spec
    name = wording(spec.bias_variable).name
    columns = settings.columns or [*train.names("feature"), *train.names("protected")]
    outcome = name if name not in columns else BIAS_VARIABLE
    asked = Settings(
        max_conditions=settings.max_conditions,
        min_support=settings.min_support,
        min_rows=spec.significance.min_rows,
        fdr=settings.fdr,
        alpha=spec.significance.alpha,
        bins=settings.bins,
        random_state=spec.split.random_state,
    )
    measure = resolve(MEAN, better=spec.bias_variable.better, outcome=outcome)
    found = [persons_of(one) for one in (train, test)]
    return search(
        train,
        test,
        list(dict.fromkeys(columns)),
        measure,
        asked,
        sample_rows=spec.large_rows,
        persons=[one and one[0] for one in found],
    )
