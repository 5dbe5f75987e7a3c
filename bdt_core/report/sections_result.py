"""The sections on the result: every cluster against everybody else, and the limits."""

from __future__ import annotations

from typing import Any

from bdt_core.report import text
from bdt_core.report.blocks import Bullets, Cell, Figure, Paragraph, Section, Table, cells, columns
from bdt_core.report.wording import interval_note

Document = dict[str, Any]
_CHECKS = {"worst_cluster": "Most deviating cluster", "any_cluster": "Any cluster"}


def clusters_section(document: Document) -> Section:
    """Every cluster against everybody else, on the test rows."""
    variable = document["bias_variable"]
    table = Table(
        "Every cluster against everybody else, on the test rows",
        columns("Cluster", "Who is in it, nearly", "#Test rows", f"#{variable['short']}", "#Everybody else",
                "#Difference", "#p, corrected", "Finding"),
        tuple(_cluster_row(one, variable) for one in document["clusters"]),
    )  # fmt: skip
    mean = text.value(variable["test_mean"], variable["unit"])
    figure = Figure(
        "clusters",
        f"Difference of each cluster from everybody else, with its confidence interval, on "
        f"{text.count(document['split']['test_rows'])} test rows ({variable['short']} over all of them: {mean}). "
        "The larger the mark, the more rows. Intervals hold for each cluster alone.",
        _clusters_alt(document),
    )
    return Section("clusters", "Clusters", (figure, table))


def _cluster_row(one: dict[str, Any], variable: dict[str, Any]) -> tuple[Cell, ...]:
    comparison, unit = one["comparison"], variable["unit"]
    if comparison["difference"] is None:
        difference = Cell(text.NOTHING)
    else:
        difference = Cell(
            text.signed(comparison["difference"], unit) + (" points" if unit == "rate" else ""),
            note=interval_note(comparison, unit),
        )
    return cells(
        Cell(str(one["cluster"]), tone="harm" if one["significant"] and one["worse"] else ""),
        Cell(one["description"], note=_stability(one)),
        Cell(text.count(one["test_rows"]), note=f"{text.count(one['train_rows'])} train"),
        text.value(one["test_mean"], unit),
        text.value(comparison["mean_b"], unit),
        difference,
        text.p_number(one["p_adjusted"]),
        finding(one["comparison"], significant=one["significant"], worse=one["worse"], unit=unit),
    )


def _stability(one: dict[str, Any]) -> str:
    stability = one.get("stability")
    return f"stability {text.number(stability['jaccard'])}: {stability['word']}" if stability else ""


def finding(comparison: dict[str, Any], *, significant: bool | None, worse: bool | None, unit: text.Unit) -> Cell:
    """A cluster's result in words; where nothing was seen, what would have been seen."""
    if comparison["status"] != "tested":
        return Cell("not testable", note=comparison["reason"] or "", tone="muted")
    if significant:
        return Cell("worse off", tone="harm") if worse else Cell("better off", tone="good")
    visible = comparison["minimum_detectable_difference"]
    note = "" if visible is None else f"{text.size(visible, unit)} would have shown with 80 % power"
    return Cell("no significant difference", note=note, tone="muted")


def _clusters_alt(document: Document) -> str:
    unit = document["bias_variable"]["unit"]
    told = []
    for one in document["clusters"]:
        comparison = one["comparison"]
        if comparison["status"] != "tested":
            told.append(f"cluster {one['cluster']} not testable")
            continue
        size = text.difference(
            comparison["difference"], comparison["low"], comparison["high"],
            confidence=comparison["confidence"], unit=unit,
        )  # fmt: skip
        told.append(f"cluster {one['cluster']} {size}")
    return f"Chart of the difference of each cluster from everybody else: {'; '.join(told)}."


def gate_section(document: Document) -> Section:
    """The limits and what they say."""
    unit = document["bias_variable"]["unit"]
    if not document["gate"]:
        return Section("gate", "Limits", (Paragraph("No limit is set, so nothing can fail."),))
    rows = tuple(_limit_row(one, unit) for one in document["gate"])
    table = Table(
        "Limits, and the harm found (counted as positive, whichever way the bias variable points)",
        columns("Limit on", "#Allowed", "#Found", "Verdict", "What follows"),
        rows,
    )
    sentences = tuple(dict.fromkeys(one["sentence"] for one in document["gate"]))
    known = sentences == (document["verdict"]["sentence"],)  # it stands at the top already
    return Section("gate", "Limits", (table,) if known else (table, Bullets(sentences)))


def _limit_row(one: dict[str, Any], unit: text.Unit) -> tuple[Cell, ...]:
    check = _CHECKS.get(one["check"], one["check"])
    confidence = one.get("confidence")
    found = Cell(text.NOTHING)
    if one["difference"] is not None:
        low, high = text.signed(one["low"], unit), text.signed(one["high"], unit)
        level = f"{confidence * 100:.4g} % CI " if confidence else ""
        points = " points" if unit == "rate" else ""
        found = Cell(text.signed(one["difference"], unit) + points, note=f"[{level}{low} to {high}]")
    word = text.VERDICT_WORDS[one["verdict"]]
    if one["blocks"]:
        consequence = "stops what stands behind the gate"
    else:
        consequence = "lets pass" if one["verdict"] == "pass" else "lets pass with a warning"
    return cells(
        Cell(check, note="" if one["cluster"] is None else f"judged by cluster {one['cluster']}"),
        text.size(one["limit"], unit),
        found,
        Cell(word, tone={"fail": "harm", "pass": "good"}.get(one["verdict"], "")),  # type: ignore[arg-type]
        consequence,
    )
