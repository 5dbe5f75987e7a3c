"""Each class against the rest: which figures of groups are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bdt_core.fairness.class_outcomes import ClassFacet, ClassFigure, ClassGroup, ClassOutcomes


def columns(outcomes: ClassOutcomes) -> list[str]:
    """Label and prediction, as far as there are both."""
    return [one for one in (outcomes.label, outcomes.prediction) if one is not None]


def column_of(outcomes: ClassOutcomes, figure: ClassFigure) -> str:
    """The column that has a class: the label, unless the prediction alone has it."""
    of_label = outcomes.label is not None and figure.level in outcomes.labels
    return str(outcomes.label if of_label else outcomes.prediction)


def differing(facet: ClassFacet) -> list[tuple[ClassGroup, ClassFigure]]:
    """Figures in which a group differs from everybody else: deficits first, and by what is certain of them."""
    pairs = [(group, one) for group in facet.groups for one in group.figures if one.significant]
    return sorted(pairs, key=lambda pair: (-(pair[1].deficit or 0.0), -_certain(pair[1])))


def compared(facet: ClassFacet) -> int:
    """How many figures were compared."""
    return sum(one.significant is not None for group in facet.groups for one in group.figures)


def _certain(figure: ClassFigure) -> float:
    """The end of a difference's interval that is nearer to none."""
    if figure.low is None or figure.high is None:
        return 0.0
    return max(figure.low, -figure.high, 0.0)
