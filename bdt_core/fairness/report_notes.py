"""Notes that a reader needs to use the numbers of a report."""

from __future__ import annotations

from collections.abc import Iterator

from bdt_core.errors import did_you_mean
from bdt_core.fairness.coding import Level, Threshold, values_of
from bdt_core.fairness.conditional_disparity import Outcome, outcomes_by_stratum
from bdt_core.fairness.confusion import Cells
from bdt_core.fairness.counts import OUTSIDE, CountTable
from bdt_core.fairness.facet_contrasts import FacetContrasts
from bdt_core.fairness.favourable import Positive, favourable
from bdt_core.fairness.metric_results import group_name
from bdt_core.said import Column, Numeral, joined, say
from bdt_core.words import count


def notes(
    table: CountTable,
    known: CountTable,
    cells: Cells,
    contrasts: FacetContrasts,
    positive: Positive,
    positive_prediction: Positive | None,
    min_rows: int,
) -> Iterator[str]:
    """Say what was left out, what cannot be compared, and what is probably a slip.

    Parameters
    ----------
    table, known : CountTable
        With and without the rows that lack a value.
    cells : Cells
        Confusion counts of `known`.
    contrasts : FacetContrasts
    positive, positive_prediction, min_rows
        See `metrics_from_counts`.

    Yields
    ------
    str
        One sentence or two.
    """
    left_out = table.rows - known.rows
    if left_out:
        yield say(
            "{N} of {Nall} rows lack a facet, a label or a prediction and are in no metric.",
            N=count(left_out),
            Nall=count(table.rows),
        )
    if without := known.rows - known.known(in_strata=True).rows:
        yield say(
            '{N} of the other rows lack a value of "{as_is}": CDDL and CDDPL alone are without them.',
            N=count(without),
            as_is=Column(table.stratum),
        )
    yield from _strata_left_out(known, positive, positive if positive_prediction is None else positive_prediction)
    if table.label in table.facets or table.prediction in table.facets:
        yield say("The facet is also the label or the prediction: metrics compare a column with itself.")
    if len(known.groups) == 1:
        yield say(
            "{list} has the single value {as_is}: there is nobody to compare with.",
            list=joined([Column(one) for one in table.facets], ", "),
            as_is=group_name(known.groups[0]),
        )
    of_prediction = positive if positive_prediction is None else positive_prediction
    yield from _favourable_values(table.label, known.labels, positive)
    yield from _favourable_values(table.prediction, known.predictions, of_prediction)
    if table.score is not None and (outside := int(table.counts[..., OUTSIDE].sum())):
        yield say(
            '{N} rows of "{as_is}" lie outside 0 to 1: the groups that hold them have no score metrics.',
            N=Numeral(outside),
            as_is=Column(table.score),
        )
    small = [group for group, n in zip(known.groups, cells.size.tolist(), strict=True) if n < min_rows]
    if small:
        yield say(
            "{N} group has fewer than {Nleast} {counted} and counts in no range: {list}."
            if len(small) == 1
            else "{N} groups have fewer than {Nleast} {counted} and count in no range: {list}.",
            N=Numeral(len(small)),
            Nleast=Numeral(min_rows),
            counted=say("rows" if cells.persons is None else "persons"),
            list=joined([*map(group_name, small[:20]), *(["..."] if len(small) > 20 else [])], ", "),
        )
    if cells.persons is not None:
        yield say("Intervals and minimum sizes count persons, who may have several rows.")
        if shared := cells.persons.shared:
            shared_by = say("{N} of the persons have rows in several of these groups.", N=Numeral(shared))
            in_common = say(
                "What such groups have in common is not allowed for, so that differences between them are less certain "
                "than they could be."
            )
            yield joined([shared_by, in_common], " ")
    unknown = [one for one in contrasts.values if contrasts.members is not None and not contrasts.members.any()]
    if unknown:
        asked = group_name(unknown[0])
        absent = say("No row has the facet value {value}.", value=asked)
        yield joined([absent, did_you_mean(asked, [group_name(group) for group in known.groups])], " ")


_SAME_LABEL = (
    '{metric} leaves out {N} of {Nall} strata of "{column}" with {Nrows} rows: everybody there has the same kind of '
    "label."
)
_SAME_PREDICTION = (
    '{metric} leaves out {N} of {Nall} strata of "{column}" with {Nrows} rows: everybody there has the same kind of '
    "prediction."
)


def _strata_left_out(known: CountTable, positive: Positive, of_prediction: Positive) -> Iterator[str]:
    """Strata in which nobody could have been treated otherwise."""
    if known.stratum is None:
        return
    table = known.known(in_strata=True)
    outcomes: tuple[tuple[str, Outcome, str | None, tuple[Level, ...], Positive], ...] = (
        ("CDDL", "label", table.label, table.labels, positive),
        ("CDDPL", "prediction", table.prediction, table.predictions, of_prediction),
    )
    for metric, outcome, name, levels, good in outcomes:
        if name is None:
            continue
        rows = outcomes_by_stratum(table, favourable(levels, good), outcome).sum(axis=0)
        held = rows.sum(axis=1) > 0
        one_sided = held & ~(rows > 0).all(axis=1)
        if one_sided.any():
            yield say(
                _SAME_LABEL if outcome == "label" else _SAME_PREDICTION,
                metric=metric,
                N=count(int(one_sided.sum())),
                Nall=count(int(held.sum())),
                column=Column(str(table.stratum)),
                Nrows=count(int(rows[one_sided].sum())),
            )


def _favourable_values(name: str | None, levels: tuple[Level, ...], positive: Positive) -> Iterator[str]:
    """Of a label or a prediction: nobody has the favourable value, or there are more than two values."""
    if name is None:
        return
    good = favourable(levels, positive)
    if levels and not good.any():
        asked = positive.above if isinstance(positive, Threshold) else ", ".join(map(str, values_of(positive)))
        absent = say('No row of "{as_is}" has the favourable value {value}.', as_is=Column(name), value=asked)
        yield joined([absent, did_you_mean(asked, map(str, levels))], " ")
    if int((~good).sum()) > 1:
        yield say(
            '"{as_is}" has {N} values; all but the favourable ones count as unfavourable here. An audit compares each '
            "of 3 to 20 classes with the rest.",
            as_is=Column(name),
            N=Numeral(len(levels)),
        )
