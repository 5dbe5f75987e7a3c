"""Tables of the forms, made of parts of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bdt_core import words
from bdt_core.metrics import spoken_name
from bdt_core.report.blocks import Cell, Table, cells, columns
from bdt_core.report.document import Document as TypedDocument
from bdt_core.report.dossier.writing import Writer
from bdt_core.report.wording import short_hash
from bdt_core.table.summaries import MISSING
from bdt_core.verdict import LimitOutcome
from bdt_core.verdict.kinds import kind_of, read

Document = Mapping[str, Any]
_MOST = 60


def tables_of(name: str, part: Any, document: Document, write: Writer) -> list[Table]:
    """The tables of a name that a part of the report makes; none where there is nothing in it.

    Parameters
    ----------
    name : str
    part : object
        What stands where the field's pointer shows.
    document : mapping
        The whole report.
    write : Writer
    """
    return [one for one in _TABLES[name](part, document, write) if one.rows]


def _table(
    write: Writer, caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], first: str = "", **fill: str
) -> Table:
    """A table; heads of numbers begin with #. The first column may be called by a name of the data."""
    labels = [
        f"{'#' * one.startswith('#')}{first if first and i == 0 else write.words['heads'][one.removeprefix('#')]}"
        for i, one in enumerate(heads)
    ]
    title = write.words["captions"][caption].format(**fill)
    if len(rows) > _MOST:
        title += f". {write.words['rows_more'].format(n=write.count(len(rows) - _MOST))}"
    return Table(title, columns(*labels), tuple(cells(*map(Cell, row)) for row in rows[:_MOST]))


def _missing(all_columns: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    rows = [[write.name(one["name"]), write.count(one["missing"])] for one in all_columns if one["missing"]]
    yield _table(write, "missing", ["column", "#missing"], rows)


def _unknown(facets: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    missing = {name: n for facet in facets for name, n in facet["missing"].items() if name in facet["columns"]}
    yield _table(
        write, "unknown", ["column", "#missing"], [[write.name(name), write.count(n)] for name, n in missing.items()]
    )


def _sizes(facets: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    for facet in facets:
        rows = [[write.name(one["group"]), write.count(one["rows"])] for one in facet["groups"]]
        yield _table(write, "sizes", ["group", "#rows"], rows, by=write.name(facet["facet"]))


def _represented(reference: Mapping[str, Mapping[str, int]], document: Document, write: Writer) -> Iterator[Table]:
    """Shares of those audited beside shares of those it is used on."""
    facets = {one["facet"]: one for one in (document["groups"] or {}).get("facets", ())}
    for column, counts in reference.items():
        audited = {one["group"]: one["rows"] for one in facets[column]["groups"]} if column in facets else {}
        all_audited, all_used_on = sum(audited.values()), sum(counts.values())
        rows = []
        for level in [*counts, *(one for one in audited if one not in counts)]:
            here = audited.get(level, 0) / all_audited if all_audited else 0.0
            there = counts.get(level, 0) / all_used_on
            difference = f"{words.signed(here - there, 'rate')} {write.words['points']}"
            rows.append([write.name(level), write.percent(here), write.percent(there), _decimal(difference, write)])
        heads = ["group", "#share", "#share_used_on", "#difference"]
        yield _table(write, "represented", heads, rows, by=write.name(column))


def _decimal(number: str, write: Writer) -> str:
    """A number with one decimal, as the language writes it."""
    return number.replace(".", write.number(0.5)[1])


def _limits(outcomes: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    rows = [[_check(one, write), *_allowed_and_found(one, write), write.word(one["verdict"])] for one in outcomes]
    yield _table(write, "limits", ["limit", "#allowed", "#found", "verdict"], rows)


def _allowed_and_found(outcome: Document, write: Writer) -> tuple[str, str]:
    """What a limit tolerates, and what was found, with its interval."""
    limit = read(outcome)
    unit = kind_of(limit).unit_of(limit, write.unit)
    ends = (("≥", limit.tolerated.minimum), ("≤", limit.tolerated.maximum))
    allowed = "; ".join(f"{sign} {write.amount(x, unit)}" for sign, x in ends if x is not None)
    return allowed, write.amount_span(limit.estimate, limit.low, limit.high, unit)


def _check(outcome: Document, write: Writer) -> str:
    """What a limit is on; one of another package says so itself."""
    limit = read(outcome)
    own = outcome["check"] in kind_of(limit).limit.checks() and outcome["check"] not in write.words["checks"]
    return write.said(kind_of(limit).title(limit)) if own else write.check(outcome["check"])


def _software(packages: Mapping[str, str], _: Document, write: Writer) -> Iterator[Table]:
    yield _table(
        write, "software", ["package", "version"], [[name, one or words.NOTHING] for name, one in packages.items()]
    )


def _rates(facets: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    for facet in facets:
        known = [one for one in write.words["rates"] if any(one in (x["rates"] or {}) for x in facet["groups"])]
        if not known:
            continue
        heads = columns(write.words["heads"]["group"], f"#{write.words['heads']['rows']}",
                        *(f"#{write.words['rates'][one]}" for one in known))  # fmt: skip
        rows = tuple(
            cells(
                write.name(one["group"]),
                write.count(one["rows"]),
                *(_rate(one["rates"], name, write) for name in known),
            )
            for one in facet["groups"][:_MOST]
        )
        yield Table(write.words["captions"]["rates"].format(by=write.name(facet["facet"])), heads, rows)


def _rate(rates: Mapping[str, Document] | None, name: str, write: Writer) -> str:
    rate = (rates or {}).get(name)
    if rate is None or rate["estimate"] is None:
        return words.NOTHING
    return write.span(*(write.percent(rate[end]).removesuffix(" %") for end in ("estimate", "low", "high"))) + " %"


def _findings(findings: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    """Whoever fares worse among people alike only is no worse off at first sight, so that both differences are told."""
    alike = any(one["remaining"] for one in findings)
    rows = [
        [
            write.who(one),
            write.count(one["rows"]),
            _level(one["mean_inside"], write),
            _level(one["mean_outside"], write),
            write.size_span(one, "difference", "low", "high"),
            *([_remaining_of(one, write)] if alike else []),
            write.p(one["p_value"]),
        ]
        for one in findings
    ]
    heads = ["group", "#people", "#share_inside", "#share_outside", "#difference", *["#remaining"] * alike, "#p"]
    yield _table(write, "findings", heads, rows)


def _level(x: Any, write: Writer) -> str:
    return write.percent(x) if write.unit == "rate" else write.number(x)


def _remaining(findings: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    rows = [
        [write.who(one), write.size(one["difference"]), _remaining_of(one, write)]
        for one in findings
        if one["remaining"] is not None
    ]
    yield _table(write, "remaining", ["group", "#difference", "#found"], rows)


def _remaining_of(finding: Document, write: Writer) -> str:
    """What remains of a finding's difference among people alike."""
    if finding["remaining"] is None:
        return words.NOTHING
    return write.size_span(finding["remaining"], "remaining", "remaining_low", "remaining_high")


def _ll144(tables: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    for table in tables:
        by = " & ".join(map(write.name, table["columns"]))
        rows = [
            [
                " & ".join(map(write.name, one["category"])),
                write.count(one["n"]),
                write.count(one["selected"]),
                write.percent(one["rate"]),
                str(write.words["left_out"]) if one["excluded"] else write.number(one["impact_ratio"]),
            ]
            for one in table["categories"]
        ]
        kind, unknown = write.word(table["rate_kind"]), write.count(table["unknown"])
        heads = ["group", "#people", "#selected", "#rate", "#ratio"]
        yield _table(write, "ll144", heads, rows, first=by, by=by, kind=kind, unknown=unknown)


def _four_fifths(tables: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    for table in tables:
        by = " & ".join(map(write.name, table["columns"]))
        rows = [
            [
                write.name(one["group"]),
                write.count(one["applicants"]),
                write.count(one["selected"]),
                write.percent(one["rate"]),
                write.span(*(write.number(one[end]) for end in ("ratio", "low", "high"))),
                write.p(one["p_value"]),
                write.yes(None if one["small_share"] else one["below_four_fifths"]),
            ]
            for one in table["rule"]["groups"]
        ]
        heads = ["group", "#people", "#selected", "#rate", "#ratio", "#p", "below"]
        yield _table(write, "four_fifths", heads, rows, first=by, by=by, unknown=write.count(table["unknown"]))


def _proxies(proxies: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    rows = [
        [
            write.name(one["column"]),
            _level_of_column(one["level"], write),
            write.span(*(write.number(one[end]) for end in ("auc", "auc_low", "auc_high"))),
            write.p(one["p_adjusted"]),
            write.yes(one["significant"]),
        ]
        for one in proxies
    ]
    yield _table(write, "proxies", ["column", "level", "#auc", "#p", "significant"], rows)


def _level_of_column(level: str | None, write: Writer) -> str:
    """A level's name; nothing of a number, which has none."""
    return (
        words.NOTHING if level is None else str(write.words["missing_value"]) if level == MISSING else write.name(level)
    )


def _characteristics(characteristics: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    """Of each characteristic the value that most raises selection, which is the first."""
    rows = []
    for characteristic in characteristics:
        level = characteristic["levels"][0]
        finds = level["found"]
        burdens = [x for x in level["burdens"] if x["relation"]["significant"] and x["relation"]["difference"] > 0]
        rows.append(
            [
                write.name(characteristic["column"]),
                write.yes(None if finds is None else finds["significant"] and finds["difference"] > 0),
                write.count(len(burdens)),
            ]
        )
    yield _table(write, "characteristics", ["column", "finds", "#burdens"], rows)


def _mitigation(mitigation: Document, _: Document, write: Writer) -> Iterator[Table]:
    rows = [
        [": ".join((write.said(spoken_name(one["metric"])), *map(write.name, filter(None, [one["group"]])))),
         *(write.number(one[when]["estimate"]) for when in ("before", "after"))]
        for one in (mitigation["gap"], mitigation["accuracy"])
    ]  # fmt: skip
    yield _table(write, "mitigation", ["metric", "#before", "#after"], rows)


def _gaps(outcomes: Sequence[Document], _: Document, write: Writer) -> Iterator[Table]:
    """Limits that cannot be decided, with what would have shown and how many rows would tell."""
    rows = []
    for outcome in outcomes:
        if outcome["verdict"] in ("pass", "fail"):
            continue
        visible, settle = outcome.get("smallest_visible"), outcome.get("rows_to_settle")
        limit = read(outcome)
        shown = write.amount(visible, kind_of(limit).unit_of(limit, write.unit))
        rows.append([_check(outcome, write), shown, words.NOTHING if settle is None else write.count(settle)])
    yield _table(write, "gaps", ["limit", "#visible", "#rows_to_settle"], rows)


def _profile(outcomes: Sequence[Document], document: Document, write: Writer) -> Iterator[Table]:
    """A scenario per declared group and metric of the gate, and per finding; then how each of them stands."""
    about = document["spec"].get("about") or {}
    not_given = str(write.words["not_given"])
    mitigation = "; ".join(about.get("measures") or ()) or not_given
    trigger = about.get("review_trigger") or not_given

    hazards = about.get("hazards") or {}

    def hazard(group: str) -> str:
        return str(hazards.get(group) or hazards.get(write.name(group)) or not_given)

    report = TypedDocument.model_validate(document)
    run = about.get("tested_on")
    last_run = write.day(run) if run else not_given
    owner = about.get("owner") or not_given
    scenarios: list[list[str]] = []
    states: list[list[str]] = []

    def scenario(kind: str, named: str, said: Sequence[str], state: str) -> None:
        name = f"{kind}-{short_hash(named)}"
        if again := sum(one[0].startswith(name) for one in scenarios):  # several limits on the same
            name += f"-{again + 1}"
        scenarios.append([name, *said])
        states.append([name, owner, state, last_run, mitigation, trigger])

    for outcome, limit in zip(outcomes, report.gate, strict=True):
        for group, value in _of_groups(limit, report):
            allowed, decided = _allowed_and_found(outcome, write)
            is_decisive = group == outcome["group"]
            result = f"{decided} ({write.word(outcome['verdict'])})" if is_decisive else write.number(value)
            who = outcome["facet"] if group is None else group
            said = [write.name(who), hazard(who), _check(outcome, write), allowed, result]
            state = write.word(outcome["verdict"] if is_decisive else "not_decisive")
            scenario("gate", f"{outcome['check']} {group}", said, state)
    measured = _outcome(document, write)
    for finding in (document["findings"] or {}).get("findings", ()):
        result = write.size_span(finding, "difference", "low", "high")
        who = write.who(finding)
        said = [who, hazard(finding["who"]), measured, words.NOTHING, result]
        scenario("finding", f"{finding['found_by']} {finding['who']}", said, write.word("confirmed"))
    yield _table(write, "profile", ["id", "group", "hazard", "measure", "allowed", "found"], scenarios)
    yield _table(write, "states", ["id", "owner", "state", "last_run", "mitigation", "trigger"], states)


def _of_groups(limit: LimitOutcome, report: TypedDocument) -> Sequence[tuple[str | None, float | None]]:
    """Each group that a limit on declared groups is on, with its value; None stands for all groups together."""
    kind = kind_of(limit)
    if not kind.names_groups:
        return ()
    each = kind.groups_in(limit, report).each
    return [(one.of, one.value) for one in each] or [(limit.who, limit.estimate)]


def _outcome(document: Document, write: Writer) -> str:
    """What is measured: what is made of label and prediction, or a column."""
    bias = document["spec"]["bias_variable"]
    return write.word(bias["derive"]) if bias["derive"] else write.name(bias["column"])


_TABLES: Mapping[str, Callable[[Any, Document, Writer], Iterator[Table]]] = {
    "missing": _missing,
    "unknown": _unknown,
    "sizes": _sizes,
    "represented": _represented,
    "limits": _limits,
    "software": _software,
    "rates": _rates,
    "findings": _findings,
    "remaining": _remaining,
    "ll144": _ll144,
    "four_fifths": _four_fifths,
    "proxies": _proxies,
    "characteristics": _characteristics,
    "mitigation": _mitigation,
    "gaps": _gaps,
    "profile": _profile,
}
