"""The audit's stage: thresholds are chosen on its train rows and measured on its test rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.errors import BDTError, DataError, SpecError
from bdt_core.fairness import BiasMetrics
from bdt_core.fairness.coding import Value
from bdt_core.fairness.comparisons import FEWEST_IN_DENOMINATOR
from bdt_core.fairness.declared_groups import favourable_values
from bdt_core.fairness.favourable import Positive
from bdt_core.fairness.metric_results import Estimate, group_name
from bdt_core.inference import area_under_curve
from bdt_core.inference.persons import area_by_persons
from bdt_core.metrics import shown_rates
from bdt_core.mitigation.checks import quoted
from bdt_core.mitigation.curves import RATES_OF
from bdt_core.mitigation.decisions import Decisions, present_thresholds, read_decisions
from bdt_core.mitigation.group_thresholds import GroupThresholds
from bdt_core.mitigation.measuring import accuracy, group_metrics, paired_change
from bdt_core.mitigation.proxies import proxy_table
from bdt_core.mitigation.results import (
    NOT_OF_DECISIONS,
    FrontierRow,
    GroupChange,
    LeftOutGroup,
    MetricChange,
    Mitigation,
    MitigationSettings,
    Thresholds,
    of_more_than_decisions,
)
from bdt_core.mitigation.reweighing import reweigh
from bdt_core.said import Column, Numeral, of_ours, say
from bdt_core.spec import GATE_METRICS, AuditSpec, MitigationSection
from bdt_core.table.audit_table import KEY
from bdt_core.table.frames import AnyTable, handed_over
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import rows_at_hand


def mitigate_audited(train: Rows, test: Rows, section: MitigationSection) -> Mitigation:
    """Choose thresholds per group on the train rows and measure on the test rows what they change.

    Parameters
    ----------
    train, test : Rows
        Of a large table ``large_rows`` drawn rows of each are used.
    section : Mitigation
        The section of the specification.
    """
    settings = settings_of(train.spec, section, train.names("feature"))
    train_rows, test_rows = (rows_at_hand(one).frame for one in (train, test))
    if settings.person is not None:
        train_rows, test_rows = (one.assign(**{settings.person: one[KEY]}) for one in (train_rows, test_rows))
    usable = tuple(name for name in settings.protected if name in train_rows) or section.facets
    return mitigate(train_rows, test_rows, replace(settings, protected=usable))


def settings_of(spec: AuditSpec, section: MitigationSection, features: list[str]) -> MitigationSettings:
    """The stage's settings from the specification."""
    label, prediction = spec.group_columns()
    assert label is not None  # the specification refuses mitigation without it
    positive, positive_prediction = (_values(one) for one in favourable_values(spec))
    gated = [limit.metric for limit in spec.metric_limits if limit.counts == "metrics" and limit.metric != "bias_score"]
    return MitigationSettings(
        group=section.facets,
        score=section.score,
        label=label,
        prediction=prediction,
        positive=positive,
        positive_prediction=positive_prediction,
        constraint=section.constraint,
        tolerance=section.tolerance,
        objective=section.objective,
        randomized=section.randomized,
        features=tuple(features),
        protected=tuple(spec.protected) or section.facets,
        metrics=tuple(dict.fromkeys(GATE_METRICS[one] for one in gated)),
        favourable=spec.favourable_outcome,
        alpha=spec.significance.alpha,
        min_rows=spec.significance.min_rows,
        random_state=spec.split.random_state,
        person=spec.split.key,
    )


def mitigate(train: AnyTable, test: AnyTable, settings: MitigationSettings) -> Mitigation:
    """Choose thresholds per group on the train rows and measure on the test rows what they change.

    Parameters
    ----------
    train, test : DataFrame, Arrow table or dict of columns
        With the columns that the settings name.
    settings : MitigationSettings

    Returns
    -------
    Mitigation
        Where no thresholds can be chosen (one group only, constant scores, a tolerance that cannot be met) the
        status is "not_possible", with the reason; reweighing and proxies are there all the same.

    Raises
    ------
    DataError
        A column that does not exist or is of the wrong type.
    SpecError
        `settings.metrics` names an unknown metric.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"sex": np.tile(["f", "m"], 500), "skill": rng.integers(1, 11, 1000)})
    >>> frame["score"] = frame["skill"] - 2 * (frame["sex"] == "f")
    >>> frame["repaid"] = (rng.random(1000) < frame["skill"] / 12).astype(int)
    >>> settings = MitigationSettings(("sex",), "score", "repaid", threshold=6.0, tolerance=0.05)
    >>> found = mitigate(frame[:500], frame[500:], settings)
    >>> [(one.group, one.threshold_before, one.threshold_after) for one in found.thresholds.groups]
    [('f', 6.0, 4.0), ('m', 6.0, 6.0)]
    >>> found.thresholds.gap.before.estimate > found.thresholds.gap.after.estimate
    True
    """
    train, test = handed_over(train), handed_over(test)
    fit_rows, judge_rows = read_decisions(train, settings), read_decisions(test, settings)
    taking_part, left_out = _taking_part(fit_rows, judge_rows, settings)
    fit_part, judge_part = fit_rows.of(taking_part), judge_rows.of(taking_part)
    present, measured, notes, reason = "not determined", None, [], None
    if fit_part.score.size:
        one_threshold, present = present_thresholds(fit_part, settings)
    try:
        model = _fitted(taking_part, fit_part, settings)
    except BDTError as problem:
        reason = str(problem)
    else:
        measured = _measured(model, fit_part, judge_part, one_threshold, settings)
        notes = _notes(model, fit_part, measured, settings)
    proxies = None
    if settings.features:
        protected, person = settings.protected or settings.group, settings.person
        columns = list(dict.fromkeys([*settings.features, *protected, *([person] if person else [])]))
        everybody = pd.concat([train[columns], test[columns]], ignore_index=True)
        proxies = proxy_table(everybody, settings.features, protected, alpha=settings.alpha, person=person)
    return Mitigation(
        settings=settings,
        status="measured" if measured else "not_possible",
        reason=reason,
        present=present,
        train_rows=fit_part.score.size,
        test_rows=judge_part.score.size,
        missing=dict(Counter(fit_rows.missing) + Counter(judge_rows.missing)),
        left_out=left_out,
        thresholds=measured,
        reweighing=reweigh(fit_part.label.astype(np.int64), fit_part.group) if fit_part.score.size else None,
        proxies=proxies,
        notes=tuple(notes),
    )


_NEEDED = {
    ("rows", ""): "{N} train rows; {Nleast} are needed",
    ("rows", "positive"): "{N} train rows with a positive label; {Nleast} are needed",
    ("rows", "negative"): "{N} train rows with a negative label; {Nleast} are needed",
    ("persons", ""): "{N} train persons; {Nleast} are needed",
    ("persons", "positive"): "{N} train persons with a positive label; {Nleast} are needed",
    ("persons", "negative"): "{N} train persons with a negative label; {Nleast} are needed",
}


def _taking_part(
    train: Decisions, test: Decisions, settings: MitigationSettings
) -> tuple[list[str], tuple[LeftOutGroup, ...]]:
    """Groups with enough rows to choose a threshold on, and the others."""
    rows, tested = Counter(train.group.tolist()), Counter(test.group.tolist())
    sizes, positives, negatives = train.sizes(), train.sizes(train.label), train.sizes(~train.label)
    kept, left_out = [], []
    for name in sorted(rows.keys() | tested.keys()):
        have = {"": (sizes[name], settings.min_rows)}
        if settings.constraint != "demographic_parity":
            have["positive"] = (positives[name], FEWEST_IN_DENOMINATOR)
        if settings.constraint == "equalized_odds":
            have["negative"] = (negatives[name], FEWEST_IN_DENOMINATOR)
        lacks = next(
            (
                say(_NEEDED[train.unit, label], N=Numeral(n), Nleast=Numeral(least))
                for label, (n, least) in have.items()
                if n < least
            ),
            None,
        )
        if lacks is None and not tested[name]:
            lacks = say("no test rows")
        if lacks is None:
            kept.append(name)
        else:
            left_out.append(LeftOutGroup(name, rows[name], tested[name], lacks))
    return kept, tuple(left_out)


def _fitted(taking_part: list[str], train: Decisions, settings: MitigationSettings) -> GroupThresholds:
    if len(taking_part) < 2:
        classes = f"only {quoted(taking_part)} has" if taking_part else "none has"
        raise DataError(
            f"Thresholds by {settings.facet} need two groups with enough rows; {classes}. Bring more rows or join "
            "groups."
        )
    model = GroupThresholds(
        settings.constraint,
        tolerance=settings.tolerance,
        objective=settings.objective,
        randomized=settings.randomized,
    )
    return model.fit(train.score, train.label, train.group)


def _measured(
    model: GroupThresholds,
    train: Decisions,
    test: Decisions,
    one_threshold: float | None,
    settings: MitigationSettings,
) -> Thresholds:
    before = _present(test, one_threshold)
    after = model.predict(test.score, test.group, settings.random_state).astype(np.bool_)
    was, now = group_metrics(test, before, settings), group_metrics(test, after, settings)
    changes = _changes(was, now, settings)
    rows = Counter(train.group.tolist())
    return Thresholds(
        train_gap=model.gap_,
        groups=tuple(
            _group_change(name, rows[name], test, before, after, one_threshold, model, (was, now), settings)
            for name in sorted(rows)
        ),
        gap=next(one for one in changes if one.metric == settings.metric),
        accuracy=MetricChange("accuracy", None, accuracy(test, before, settings), accuracy(test, after, settings)),
        accuracy_change=_accuracy_change(test, before == test.label, after == test.label, settings.alpha),
        metrics=changes,
        frontier=_frontier(model, test, settings),
    )


def _accuracy_change(test: Decisions, before: NDArray[np.bool_], after: NDArray[np.bool_], alpha: float) -> Estimate:
    """Of which decisions are right."""
    shrink = test.shrink(after.astype(np.int64) - before.astype(np.int64), alpha)
    return paired_change(before, after, alpha, shrink)


def _present(test: Decisions, one_threshold: float | None) -> NDArray[np.bool_]:
    if test.selected is not None:
        return test.selected
    assert one_threshold is not None
    return np.asarray(test.score >= one_threshold)


def _changes(was: BiasMetrics, now: BiasMetrics, settings: MitigationSettings) -> tuple[MetricChange, ...]:
    """Ranges, and the metrics that were asked for, as far as labels and decisions tell them."""
    there = {one.name for one in was.metrics} - of_more_than_decisions()
    elsewhere = {one for one in GATE_METRICS.values() if one not in there}
    asked = [was[name].name for name in settings.metrics if name not in elsewhere]  # refuses unknown ones
    return tuple(
        MetricChange(before.name, group_name(group) or None, before[group], after[group])
        for before, after in zip(was.metrics, now.metrics, strict=True)
        if before.kind == "range" or before.name in asked
        for group in before.values
    )


def _group_change(
    name: str,
    train_rows: int,
    test: Decisions,
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    one_threshold: float | None,
    model: GroupThresholds,
    metrics: tuple[BiasMetrics, BiasMetrics],
    settings: MitigationSettings,
) -> GroupChange:
    inside = test.group == name
    test_rows = int(inside.sum())
    is_shown = test.sizes(inside)[name] >= settings.min_rows
    was, now = metrics
    rates = tuple(MetricChange(rate, name, was[rate][name], now[rate][name]) for rate in shown_rates())
    mixture = model.mixtures_[name]
    return GroupChange(
        group=name,
        train_rows=train_rows,
        test_rows=test_rows,
        threshold_before=one_threshold,
        threshold_after=mixture[0][0] if len(mixture) == 1 else None,
        mixture=mixture,
        selected_now=int((inside & after & ~before).sum()) if is_shown else None,
        selected_no_longer=int((inside & before & ~after).sum()) if is_shown else None,
        rates=rates if is_shown else (),
    )


def _frontier(model: GroupThresholds, test: Decisions, settings: MitigationSettings) -> tuple[FrontierRow, ...]:
    rows = []
    for point in model.frontier():
        thresholds = {str(group): value for group, value in point.thresholds.items()}
        at = np.zeros(test.score.size)
        for group, value in thresholds.items():
            at[test.group == group] = value
        selected = test.score >= at
        gap = group_metrics(test, selected, settings)[settings.metric].only
        right = accuracy(test, selected, settings)
        rows.append(FrontierRow(point.tolerance, point.gap, point.objective, thresholds, gap, right))
    return tuple(rows)


def _notes(model: GroupThresholds, train: Decisions, thresholds: Thresholds, settings: MitigationSettings) -> list[str]:
    notes = [
        say("The rule needs the {as_is} of every person at the time of decision.", as_is=settings.columns),
        *model.notes_,
    ]
    high, low = train.score[train.label], train.score[~train.label]
    if train.person is None:
        area = area_under_curve(high, low, alpha=settings.alpha)
    else:
        area = area_by_persons(high, train.person[train.label], low, train.person[~train.label], alpha=settings.alpha)
    if area.high is not None and area.high < 0.5:
        notes.append(
            say(
                "{as_is} is lower for rows with a positive label (AUC {N}): turn its sign, or name the other value as "
                "positive.",
                as_is=Column(settings.score),
                N=words.number(area.auc),
            )
        )
    if len(RATES_OF[settings.constraint]) == 1:
        notes.append(
            say(
                "Only the {rate} is held equal; see what other metrics do.",
                rate=of_ours(RATES_OF[settings.constraint][0].replace("_", " ")),
            )
        )
    measured = {one.metric for one in thresholds.metrics}
    notes += [
        say(
            "The {metric} was not measured under other thresholds: {why}.",
            metric=of_ours(name.replace("_", " ")),
            why=say(NOT_OF_DECISIONS),
        )
        for name in settings.metrics
        if name in GATE_METRICS.values() and name not in measured
    ]
    return notes


def _values(positive: Positive) -> tuple[Value, ...]:
    if isinstance(positive, tuple | list):
        return tuple(positive)
    if isinstance(positive, bool | int | float | str):
        return (positive,)
    raise SpecError("mitigation needs a label and a prediction of two values; groups.thresholds cuts one of them.")
