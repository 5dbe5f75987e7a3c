"""The section on local bias: places in the data where groups are treated differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.blocks import (
    Block,
    Bullets,
    Cell,
    Figure,
    Folded,
    Paragraph,
    Section,
    Table,
    cells,
    columns,
)
from bdt_core.report.wording import asked, whole
from bdt_core.report.wording_depth import LOCAL_METRICS, PARTS, figures_of_depth, listed, local_unit, local_value, pair

if TYPE_CHECKING:
    from bdt_core.local_bias.results import GroupValue, HeldOutGap, LocalBias, LocalCluster
    from bdt_core.local_bias.topics import ClusterTopic, FeatureDifference
    from bdt_core.report.document import Document

CLUSTERS_SHOWN = 30
ROWS_IN_DEPTH = 120
_FEATURES_IN_TABLE, _FEATURES_IN_DEPTH, _WORDS = 2, 6, 12
_SUMMARY = {
    "bcr": "Biased cluster ratio (BCR)",
    "bir": "Biased instance ratio (BIR)",
    "mean_gap": "Mean gap of biased clusters (|Bias|)",
    "largest_gap": "Largest gap",
}


def local_bias_section(document: Document) -> Section | None:
    """Clusters made by LOGAN, and whether their gaps are there on rows that it never saw; None when not asked for."""
    local = document.local_bias
    if local is None:
        return None
    blocks: list[Block] = [Paragraph(_introduction(local)), Paragraph(_found_again(local))]
    if local.logan.train.clusters:
        blocks.append(Paragraph(" ".join(_summary_told(local))))
    if local.notes:
        blocks.append(Bullets(tuple(local.notes)))
    if "local_bias" in figures_of_depth(document):
        blocks.append(_figure(local))
    blocks.append(_clusters_table(local))
    if local.logan.train.clusters:
        blocks.append(_summary_table(local))
    return Section("local_bias", "Local bias", (*blocks, *_depth(local)))


def _introduction(local: LocalBias) -> str:
    settings = local.settings
    return (
        "An algorithm can treat groups alike over all rows and differently in some places. LOGAN (Zhao and Chang, "
        f"2020) looks for such places: it puts similar rows into clusters so that within them the "
        f"{LOCAL_METRICS[settings.metric]} of the groups of {settings.group} is far apart. Whoever looks for "
        f"gaps finds some, even in noise; so clusters were made of {words.count(local.train_rows)} train rows, and "
        "in each of them the two groups that are furthest apart there are compared once more on the "
        f"{words.count(local.test_rows)} test rows. A gap is confirmed when it is significant after Benjamini and "
        "Hochberg's correction over the clusters, and the same group is ahead."
    )


def _found_again(local: LocalBias) -> str:
    clusters, unit = local.logan.clusters, local_unit(local)
    tested = [one for one in clusters if one.held_out.status == "tested"]
    untested = len(clusters) - len(tested)
    rest = f" {words.count(untested)} could not be tested, for too few rows." if untested else ""
    if not tested:
        return "No cluster could be tested, for too few rows of two groups; nothing is said about local bias here."
    confirmed = [one for one in tested if one.held_out.confirmed]
    if not confirmed:
        return (
            f"In none of the {words.count(len(tested))} clusters tested is the gap of the train rows confirmed on the "
            f"test rows. That is not proof of its absence: see what would have shown.{rest}"
        )
    told = [
        f"cluster {one.label}, where {one.held_out.higher} is ahead of {one.held_out.lower} by "
        f"{words.size(one.held_out.gap, unit)}"
        for one in confirmed
    ]
    return f"In {len(confirmed)} of {len(tested)} clusters tested the gap is confirmed: {listed(told)}.{rest}"


def _summary_told(local: LocalBias) -> Iterator[str]:
    """Whether the published figures mean anything here."""
    logan, kmeans, alpha = local.logan, local.kmeans, local.settings.alpha
    train, plain, test = logan.train, kmeans.train, logan.test
    threshold = words.size(local.settings.threshold, local_unit(local))
    yield (
        f"By the published summary {words.percent(train.bcr)} of the clusters are biased, with a gap of "
        f"{threshold} or more on the train rows, and {words.percent(train.bir)} of the rows are in them (BCR, BIR)."
    )
    if plain.bcr is not None and asked(plain.bcr) >= asked(train.bcr) and asked(plain.bir) >= asked(train.bir):
        yield (
            "K-means without any regard to groups gives as much "
            f"({words.percent(plain.bcr)} and {words.percent(plain.bir)}): these two "
            "figures say nothing about what the search found."
        )
    elif plain.bcr is not None:
        yield (f"K-means without any regard to groups gives {words.percent(plain.bcr)} and {words.percent(plain.bir)}.")
    null = test.within_clusters
    if null is not None and test.bcr is not None:
        by_chance = (
            f"On the test rows BCR is {words.percent(test.bcr)}; with the groups shuffled within clusters, so that "
            f"nothing differs, it is {words.percent(null.bcr)} on average ({words.p_value(null.p_bcr)})."
        )
        if null.p_bcr > alpha:
            yield f"{by_chance} Chance alone gives such a figure, so it is no sign of local bias."
        else:
            yield f"{by_chance} That is more than chance gives."


def _figure(local: LocalBias) -> Figure:
    unit = local_unit(local)
    told = []
    for one in (local.everywhere, *local.logan.clusters):
        names = pair(one)
        if names is None:
            continue
        values = [
            f"{name} {_value(local_value(local, one, part, name), unit)} ({part} rows)"
            for part in ("train", "test")
            for name in names
        ]
        told.append(f"{_label(one)}: {', '.join(values)}")
    return Figure(
        "local_bias",
        f"The {LOCAL_METRICS[local.settings.metric]} of the two groups that are furthest apart in each cluster "
        "of train rows, there and on the test rows; boxed, all rows together. A gap that is real stays on the right.",
        f"Chart of gaps within clusters: {'; '.join(told[:10])}.",
    )


def _label(cluster: LocalCluster) -> str:
    return "All rows" if cluster.label is None else f"Cluster {cluster.label}"


def _value(one: GroupValue | None, unit: words.Unit) -> str:
    return "too few rows" if one is None else words.value(one.value, unit)


def _clusters_table(local: LocalBias) -> Table:
    shown = local.logan.clusters[:CLUSTERS_SHOWN]
    rows = [_cluster_row(local, one) for one in (local.everywhere, *shown)]
    points = ", points" if local_unit(local) == "rate" else ""
    more = len(local.logan.clusters) - len(shown)
    return Table(
        f"Clusters by the gap in {LOCAL_METRICS[local.settings.metric]} on the train rows, and that gap on the "
        "test rows; below each cluster its train + test rows" + (f"; {more} more stand in report.json" if more else ""),
        columns(
            "Cluster", "What sets it apart", "Ahead on the train rows, and behind", f"#Train gap{points}",
            f"#Test gap{points}", "#p, corrected", "Finding",
        ),
        tuple(rows),
    )  # fmt: skip


def _cluster_row(local: LocalBias, one: LocalCluster) -> tuple[Cell, ...]:
    held_out, unit = one.held_out, local_unit(local)
    gap = Cell(words.NOTHING)
    if held_out.gap is not None:
        confidence = f"{(1 - local.settings.alpha) * 100:.4g} %"
        ends_told = f"[{confidence} CI {words.signed(held_out.low, unit)} to {words.signed(held_out.high, unit)}]"
        gap = Cell(words.signed(held_out.gap, unit), note=whole(ends_told) if held_out.low is not None else "")
    return cells(
        Cell(_label(one), note=whole(f"{words.count(one.train_rows)} + {words.count(one.test_rows)}")),
        _about(local, one.about, _FEATURES_IN_TABLE) or words.NOTHING,
        _pair_cell(local, one),
        words.signed(one.train_gap, unit),
        gap,
        words.p_number(held_out.p_adjusted),
        _finding(held_out, unit),
    )


def _pair_cell(local: LocalBias, cluster: LocalCluster) -> Cell:
    names, unit = pair(cluster), local_unit(local)
    if names is None:
        return Cell(words.NOTHING)
    told = []
    for part in ("train", "test"):
        found = [local_value(local, cluster, part, name) for name in names]
        sides = [
            "too few" if one is None else f"{words.value(one.value, unit)} of {words.count(one.counted)}"
            for one in found
        ]
        told.append(f"{part}: {sides[0]} against {sides[1]}")
    return Cell(f"{names[0]}, {names[1]}", note="; ".join(told))


def _finding(held_out: HeldOutGap, unit: words.Unit) -> Cell:
    if held_out.status != "tested":
        return Cell("not testable", note=held_out.reason or "", tone="muted")
    if held_out.confirmed:
        return Cell("confirmed", tone="harm")
    if held_out.significant:
        return Cell("turned round", note="on the test rows the other group is ahead", tone="muted")
    least = held_out.minimum_detectable_gap
    return Cell(
        "not confirmed",
        note=f"{words.size(least, unit)} would have shown with 80 % power" if least is not None else "",
        tone="muted",
    )


def _about(local: LocalBias, about: ClusterTopic, most: int) -> str:
    """What sets a cluster apart: words, or the features that differ most."""
    if about.words:
        return listed([one.word for one in about.words][:_WORDS], _WORDS)
    clear = [one for one in about.features if one.p_adjusted <= local.settings.alpha]
    return "; ".join(_feature(one) for one in clear[:most])


def _feature(one: FeatureDifference) -> str:
    if one.kind == "numeric":
        return (
            f"{one.column} {'higher' if one.effect > 0 else 'lower'} "
            f"({words.number(one.inside)} against {words.number(one.outside)})"
        )
    return f"{one.column} = {one.level} ({words.percent(one.inside)} against {words.percent(one.outside)})"


def _summary_table(local: LocalBias) -> Table:
    unit = local_unit(local)
    searched = local.logan.train.whole_search is not None
    rows = [
        cells(
            Cell(f"{name}, {part} rows"),
            *(cell for method in ("logan", "kmeans") for cell in _summary_cells(local, method, part, key, unit)),
        )
        for part in ("train", "test")
        for key, name in _SUMMARY.items()
    ]
    how = "the groups shuffled within clusters"
    if searched:
        how += "; on the train rows of LOGAN, by the whole search repeated on shuffled groups"
    else:
        how += "; on the train rows of LOGAN no p-value holds, for its clusters were chosen for their gaps"
    return Table(
        f"The published summary beside what chance gives ({how})",
        columns("Figure", "#LOGAN", "#By chance", "#K-means", "#K-means, by chance"),
        tuple(rows),
    )


def _summary_cells(local: LocalBias, method: str, part: str, key: str, unit: words.Unit) -> tuple[Cell, Cell]:
    found = getattr(getattr(local, method), part)
    chosen = method == "logan" and part == "train"
    null = (found.whole_search or found.within_clusters) if chosen else found.within_clusters

    def told(x: words.Number) -> str:
        return words.percent(x) if key in ("bcr", "bir") else words.size(x, unit)

    if null is None or found.clusters == 0:
        return Cell(told(getattr(found, key))), Cell(words.NOTHING)
    p = None if chosen and found.whole_search is None else getattr(null, f"p_{key}", None)
    return Cell(told(getattr(found, key))), Cell(
        told(getattr(null, key)), note=whole(words.p_value(p)) if p is not None else ""
    )


def _depth(local: LocalBias) -> Iterator[Folded]:
    clusters = [local.everywhere, *local.logan.clusters]
    every = [row for one in clusters for row in _group_rows(local, one)]
    cut: list[Block] = []
    if len(every) > ROWS_IN_DEPTH:
        cut.append(
            Paragraph(f"The first {ROWS_IN_DEPTH} of {words.count(len(every))} lines; all stand in report.json.")
        )
    name = words.capital(LOCAL_METRICS[local.settings.metric])
    yield Folded(
        "Every group in every cluster",
        (
            *cut,
            Table(
                f"{name} of each group; not printed for fewer than {local.settings.min_group_size} train rows or "
                f"{local.settings.min_test_rows} test rows",
                columns("Cluster", "Group", "#Train rows", "#On train rows", "#Test rows", "#On test rows"),
                tuple(every[:ROWS_IN_DEPTH]),
            ),
        ),
    )
    told = [f"{_label(one)}: {_about(local, one.about, _FEATURES_IN_DEPTH) or 'nothing clear'}" for one in clusters[1:]]
    nearest = [
        f"{_label(one)}: rows {listed(list(map(words.count, one.about.nearest_rows)))} lie nearest to its centre"
        for one in clusters[1:]
        if one.about.nearest_rows
    ]
    found: list[Block] = [Bullets((*told, *nearest)), *_remarks(local)]
    yield Folded("What the clusters are about, and how they were made", tuple(found))


def _group_rows(local: LocalBias, cluster: LocalCluster) -> Iterator[tuple[Cell, ...]]:
    unit = local_unit(local)
    for train, test in zip(cluster.train, cluster.test, strict=True):
        if not train.rows and not test.rows:
            continue
        values = []
        for part, one in zip(PARTS, (train, test), strict=True):
            found = local_value(local, cluster, part, one.group)
            counted = "" if found is None or found.counted == one.rows else f"of {words.count(found.counted)}"
            shown = Cell(words.value(found.value, unit), note=counted) if found else Cell("too few", tone="muted")
            values += [Cell(words.count(one.rows)), shown]
        yield cells(_label(cluster), train.group, *values)


def _remarks(local: LocalBias) -> Iterator[Block]:
    logan = local.logan
    told = [
        f"Clusters cost {words.number(logan.inertia_ratio)} times the inertia of k-means."
        if logan.inertia_ratio is not None
        else "",
        f"{words.percent(logan.off_centre)} of the train rows are not in the cluster of their nearest centre.",
        f"{logan.merged} of {local.settings.n_clusters} clusters were too small and were merged."
        if logan.merged
        else "",
        _kmeans_told(local.kmeans.clusters),
        *(f"Left out: {words.count(rows)} rows {reason}." for reason, rows in local.left_out.items() if rows),
    ]
    yield Paragraph(" ".join(one for one in told if one))


def _kmeans_told(clusters: Sequence[LocalCluster]) -> str:
    tested = [one for one in clusters if one.held_out.status == "tested"]
    confirmed = sum(one.held_out.confirmed for one in tested)
    return f"Of the clusters of plain k-means {len(tested)} could be tested, and in {confirmed} the gap is confirmed."
