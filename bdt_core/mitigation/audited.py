"""Mitigation on the audit's own train and test rows."""

from __future__ import annotations

from dataclasses import replace

from bdt_core.errors import SpecError
from bdt_core.fairness.coding import Value
from bdt_core.fairness.confusion import Positive
from bdt_core.fairness.declared_groups import favourable_values
from bdt_core.mitigation.results import Mitigation, MitigationSettings
from bdt_core.mitigation.stage import mitigate
from bdt_core.spec import GATE_METRICS, AuditSpec, MetricLimit
from bdt_core.spec import Mitigation as Wanted
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import rows_at_hand


def mitigate_audited(train: Rows, test: Rows, wanted: Wanted) -> Mitigation:
    """Choose thresholds per group on the train rows and measure on the test rows what they change.

    Parameters
    ----------
    train, test : Rows
        Of a large table ``large_rows`` drawn rows of each are used.
    wanted : Mitigation
        The section of the specification.

    Returns
    -------
    Mitigation
    """
    settings = settings_of(train.spec, wanted, train.names("feature"))
    train_rows, test_rows = (rows_at_hand(one).frame for one in (train, test))
    usable = tuple(name for name in settings.protected if name in train_rows) or wanted.facets
    return mitigate(train_rows, test_rows, replace(settings, protected=usable))


def settings_of(spec: AuditSpec, wanted: Wanted, features: list[str]) -> MitigationSettings:
    """The stage's settings from the specification."""
    label, prediction = spec.group_columns()
    assert label is not None  # the specification refuses mitigation without it
    positive, positive_prediction = (_values(one) for one in favourable_values(spec))
    gated = [limit.metric for limit in spec.gate if isinstance(limit, MetricLimit) and limit.metric != "bias_score"]
    return MitigationSettings(
        group=wanted.facets,
        score=wanted.score,
        label=label,
        prediction=prediction,
        positive=positive,
        positive_prediction=positive_prediction,
        constraint=wanted.constraint,
        tolerance=wanted.tolerance,
        objective=wanted.objective,
        randomized=wanted.randomized,
        features=tuple(features),
        protected=tuple(spec.protected) or wanted.facets,
        metrics=tuple(dict.fromkeys(GATE_METRICS[one] for one in gated)),
        alpha=spec.significance.alpha,
        min_rows=spec.significance.min_rows,
        random_state=spec.split.random_state,
    )


def _values(positive: Positive) -> tuple[Value, ...]:
    if isinstance(positive, tuple | list):
        return tuple(positive)
    if isinstance(positive, bool | int | float | str):
        return (positive,)
    raise SpecError("mitigation needs a label and a prediction of two values; groups.thresholds cuts one of them.")
