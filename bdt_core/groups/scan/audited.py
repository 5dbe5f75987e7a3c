"""The search in an audit: the people whose bias variable is worst, searched for and proven on all rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from bdt_core.groups.scan.language import random_starts
from bdt_core.groups.scan.results import WorstGroup, WorstGroups
from bdt_core.groups.scan.settings import SHARES, ScanSettings
from bdt_core.groups.scan.stages import Question, scan
from bdt_core.groups.settings import searched_columns
from bdt_core.spec import AnyLimit, AuditSpec, WorstGroupSearch
from bdt_core.spec.wording import wording
from bdt_core.table.audit_table import KEY, LIST
from bdt_core.table.factors import factors_of, rows_for_factors
from bdt_core.table.rows import Rows


def find_audited_worst_groups(table: Rows, spec: AuditSpec) -> WorstGroups:
    """Find the people who fare worst by the bias variable, among people alike in the legitimate factors.

    Parameters
    ----------
    table : Rows
        All rows, train and test: permutations correct for the search, so that no row need be kept from it.
    spec : AuditSpec
        ``worst_groups``, ``legitimate`` and ``significance``.

    Raises
    ------
    DataError
        A column that does not exist.
    """
    asked = spec.worst_groups or WorstGroupSearch()
    question = Question(
        searched_columns(table, asked.columns),
        wording(spec.bias_variable).name,
        spec.bias_variable.better,
        tuple(spec.legitimate),
        KEY if spec.split.key else None,
        LIST if spec.bias_variable.query else None,
    )
    settings = audited_settings(spec, spec.search_shares["worst_groups"])
    worst = _scanned(table, question, settings, spec)
    if not spec.legitimate:
        return worst
    raw = _scanned(table, replace(question, legitimate=()), settings, spec)
    return replace(_among_people_alike(worst, table) if worst.groups else worst, raw=raw)


def audited_settings(spec: AuditSpec, share: float) -> ScanSettings:
    """How an audit searches groups, with a share of alpha: as many permutations as can be significant by it."""
    asked, alpha = spec.worst_groups or WorstGroupSearch(), spec.significance.alpha
    return ScanSettings(
        min_share=asked.min_share,
        min_rows=spec.significance.min_rows,
        max_groups=asked.max_groups,
        permutations=max(asked.permutations, math.ceil(1.0 / (alpha * share) - 1e-9) - 1),
        alpha=alpha,
        share=share,
        larger_shares=_larger_shares(spec.gate),
    )


def _scanned(table: Rows, question: Question, settings: ScanSettings, spec: AuditSpec) -> WorstGroups:
    return replace(scan(table, question, settings, sample_rows=spec.large_rows), key=spec.split.key)


def said_before(table: Rows, spec: AuditSpec) -> str | None:
    """What a search of a wide table is going to do, and what it may miss; None of any other table."""
    columns = len(searched_columns(table, (spec.worst_groups or WorstGroupSearch()).columns))
    starts, usual = random_starts(columns), random_starts(1)
    if starts == usual:
        return None
    return (
        f"Worst-treated groups of {columns:,} columns: each search of {min(table.audited_rows, spec.large_rows):,} "
        f"rows starts from every column and from {starts} pairs of random conditions, where a narrower table has "
        f"{usual}. A group whose conditions show nothing one by one may be missed. worst_groups.columns in the "
        "specification narrows the search."
    )


def _larger_shares(limits: Iterable[AnyLimit]) -> tuple[float, ...]:
    """Those of every search, and those that limits on the worst group name."""
    return tuple(sorted({*SHARES, *(limit.ruled_out_share for limit in limits if limit.ruled_out_share is not None)}))


def _among_people_alike(worst: WorstGroups, table: Rows) -> WorstGroups:
    """The same groups, with differences that do not depend on the classes that factors were cut into for the search.

    As in the search, a later group is compared with people alike in the groups before it, too. Of a group outside of
    which nobody like its people is left, no difference is claimed.
    """
    rows, sign = rows_for_factors(table), worst.harm_sign
    factors, frame = factors_of(rows), rows.audited
    groups: list[WorstGroup] = []
    for group in worst.groups:
        inside = group.members(frame)
        if group.reach is not None and 0 < inside.sum() < inside.size:
            alike = factors.compare(inside, alpha=worst.alpha, reach=group.reach)
            group = replace(group, low=None, high=None, people_harmed=None, among_alike=alike)
            if alike.has_people_alike:
                low, high = sorted((sign * alike.remaining_low, sign * alike.remaining_high))
                harmed = alike.people_harmed(group.rows) if worst.is_rate else None
                group = replace(group, difference=sign * alike.remaining, low=low, high=high, people_harmed=harmed)
        groups.append(group)
        factors = factors.with_factor(inside)
    return worst.beside(groups)
