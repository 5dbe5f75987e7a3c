"""The audit's stage: the people whose bias variable is worst, searched for and proven on all rows."""

from __future__ import annotations

from bdt_core.scan.results import WorstGroups
from bdt_core.scan.settings import Settings
from bdt_core.scan.stages import Question, scan
from bdt_core.spec import AuditSpec, WorstGroupSearch
from bdt_core.table.audit_table import KEY
from bdt_core.table.bias_variable import wording
from bdt_core.table.rows import Rows


def find_audited_worst_groups(table: Rows, spec: AuditSpec) -> WorstGroups:
    """Find the people who fare worst by the bias variable, among people alike in the legitimate factors.

    Parameters
    ----------
    table : Rows
        All rows, train and test: permutations correct for the search, so that no row need be kept from it.
    spec : AuditSpec
        ``worst_groups``, ``legitimate``, ``significance`` and the seed.

    Returns
    -------
    WorstGroups

    Raises
    ------
    DataError
        A column that does not exist.
    """
    asked = spec.worst_groups or WorstGroupSearch()
    columns = asked.columns or [*table.names("feature"), *table.names("protected")]
    question = Question(
        tuple(dict.fromkeys(columns)),
        wording(spec.bias_variable).name,
        spec.bias_variable.better,
        tuple(spec.legitimate),
        KEY if spec.split.key else None,
    )
    settings = Settings(
        min_share=asked.min_share,
        min_rows=spec.significance.min_rows,
        max_groups=asked.max_groups,
        permutations=asked.permutations,
        alpha=spec.significance.alpha,
        random_state=spec.split.random_state,
    )
    return scan(table, question, settings, sample_rows=spec.large_rows)
