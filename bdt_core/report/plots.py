"""Figures of the report on a person's own axes: of parts of an audit, and of results that are no part of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from bdt_core import words
from bdt_core.clustering.clusters import Clusters
from bdt_core.errors import DataError
from bdt_core.fairness.metric_results import BiasMetrics
from bdt_core.fairness.reported_groups import Groups
from bdt_core.groups.scan.results import WorstGroups
from bdt_core.groups.slices.results import Slices
from bdt_core.history import History
from bdt_core.local_bias.results import LocalBias
from bdt_core.ranking import FindingList
from bdt_core.report import document as parts
from bdt_core.report.figure_history import history_onto
from bdt_core.report.figures import draw_onto, figure_names, figure_svg
from bdt_core.report.figures_of_depth import figures_of_depth
from bdt_core.report.from_findings import facet_alone, nodes_of
from bdt_core.report.groups import figures_of_groups
from bdt_core.report.printed import printed
from bdt_core.spec import BiasVariable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bdt_core.clustering.tree import ClusterTree

NOTHING = "There is nothing to draw: {}."


def plot(result: Any, ax: Axes | None = None) -> Axes:
    """Draw a result as the report does; see `bdt_core.result.Plotted.plot`."""
    if isinstance(result, History):
        return _drawn(lambda axes: history_onto(result, axes), ax)
    audit = getattr(result, "audit", None)
    if audit is None:
        document, name = _alone(result)
        known: tuple[str, ...] = (*figures_of_groups(document), *figures_of_depth(document))
    else:
        document = printed(audit.document)
        name, known = _name(result, document), figure_names(document)
    if name not in known:
        raise DataError(NOTHING.format(_why(result)))
    return _on(document, name, ax)


def plot_tree(tree: ClusterTree, ax: Axes | None = None, *, outcome: str = "mean") -> Axes:
    """Draw a tree of clusters as the report does.

    Parameters
    ----------
    tree : ClusterTree
    ax : matplotlib Axes, optional
    outcome : str
        What the bias variable is called.

    Returns
    -------
    matplotlib Axes
    """
    tree_only = {"tree": parts.Tree(nodes=nodes_of(tree)), "clusters": range(tree.n_leaves)}
    return _on(_document(outcome, "value", **tree_only), "tree", ax)


def _on(document: parts.Printed, name: str, ax: Axes | None) -> Axes:
    return _drawn(lambda axes: draw_onto(document, name, axes), ax)


def _drawn(draw: Callable[[Callable[[float, float], Axes]], None], ax: Axes | None) -> Axes:
    """The axes that something was drawn on; in a new figure of its size where there are none."""
    drawn: list[Axes] = []

    def axes(width: float, height: float) -> Axes:
        drawn.append(_own(width, height) if ax is None else ax)
        return drawn[-1]

    draw(axes)
    return drawn[-1]


def _own(width: float, height: float) -> Axes:
    import matplotlib.pyplot as plt

    axes: Axes = plt.figure(figsize=(width / 72, height / 72), facecolor="white").add_axes((0.0, 0.0, 1.0, 1.0))
    return axes


@singledispatch
def _alone(result: Any) -> tuple[parts.Printed, str]:
    """A document that has this result alone, and the name of its figure."""
    raise DataError(NOTHING.format(f"{type(result).__name__} that was read back from a file has no words"))


@_alone.register
def _(result: Slices) -> tuple[parts.Printed, str]:
    safe = Slices.from_dict(words.printable(result.to_dict()))
    name = safe.outcome or safe.metric_name
    return _document(name, "value", slices=safe), "slices"


@_alone.register
def _(result: WorstGroups) -> tuple[parts.Printed, str]:
    safe = WorstGroups.from_dict(words.printable(result.to_dict()))
    return _document(safe.outcome, "rate" if safe.is_rate else "value", worst_groups=safe), "worst_groups"


@_alone.register
def _(result: LocalBias) -> tuple[parts.Printed, str]:
    safe = LocalBias.from_dict(words.printable(result.to_dict()))
    return _document(safe.settings.metric, "rate", local_bias=safe), "local_bias"


@_alone.register
def _(result: BiasMetrics) -> tuple[parts.Printed, str]:
    return _of_groups(result), "groups_1"


def _of_groups(metrics: BiasMetrics, min_rows: int = 0) -> parts.Printed:
    groups = Groups.model_validate(words.printable(facet_alone(metrics, min_rows).model_dump()))
    return _document(metrics.facet, "rate", groups=groups)


def groups_svg(metrics: BiasMetrics, min_rows: int) -> str | None:
    """The rates of groups as SVG, as the report draws them.

    Parameters
    ----------
    metrics : BiasMetrics
    min_rows : int
        Rates of groups with fewer rows are not drawn.

    Returns
    -------
    str or None
        None where the report draws none.
    """
    document = _of_groups(metrics, min_rows)
    return figure_svg(document, "groups_1") if "groups_1" in figures_of_groups(document) else None


@singledispatch
def _name(result: Any, document: parts.Printed) -> str:  # noqa: ARG001
    """The name of its figure in the report."""
    raise DataError(NOTHING.format(f"the report has no figure of {type(result).__name__}"))


_name.register(FindingList, lambda *_: "first_page")
_name.register(Clusters, lambda *_: "clusters")
_name.register(Slices, lambda *_: "slices")
_name.register(WorstGroups, lambda *_: "worst_groups")
_name.register(LocalBias, lambda *_: "local_bias")


@_name.register
def _(result: BiasMetrics, document: parts.Printed) -> str:
    facet = words.printable(result.facet)
    return next((name for name, (one, _) in figures_of_groups(document).items() if one.facet == facet), "")


_WHYS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (FindingList, lambda one: "nobody is confirmed to fare worse" if not one else "no finding is told by its mean"),
    (WorstGroups, lambda one: one.reason or "no group is confirmed"),
    (Slices, lambda one: one.reason or "no intersection was tested"),
    (LocalBias, lambda _: "no cluster has two groups to compare"),
    (BiasMetrics, lambda _: "the report draws the first four groupings that have rates"),
)


def _why(result: Any) -> str:
    """Why there is no figure."""
    return next((why(result) for kind, why in _WHYS if isinstance(result, kind)), "no group was declared")


def _document(outcome: str, unit: words.Unit, **results: Any) -> parts.Printed:
    """A document of one result, as far as its figure looks at it."""
    named = words.printable(outcome)
    spec = {"bias_variable": BiasVariable(column=outcome).model_dump()}
    empty = dict.fromkeys(("publication", "groups", "worst_groups", "slices", "local_bias", "mitigation", "findings"))
    variable = {"name": named, "short": named, "unit": unit}
    unnamed: dict[str, Any] = {"columns": ()}  # nobody has named columns for readers
    whole = {
        **empty,
        "clusters": (),
        "gate": (),
        "spec": words.printable(spec),
        "bias_variable": parts.ReportedVariable.model_construct(None, **variable),
        "data": parts.Data.model_construct(None, **unnamed),
    }
    return parts.Printed.model_construct(**(whole | results))
