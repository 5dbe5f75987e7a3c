"""The whole audit: the stages of the list in order, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from bdt_core.errors import SpecError
from bdt_core.findings import AuditFindings, Warnings
from bdt_core.harmless import harmless
from bdt_core.ranking import FindingList
from bdt_core.result import AuditPart, InAudit
from bdt_core.sealed.looking import RecordedLook
from bdt_core.shards.opening import Opened
from bdt_core.spec import AuditSpec, load_spec, parse_spec, spec_of_keywords
from bdt_core.spec.keywords import KEYWORDS, NOT_GIVEN, with_place
from bdt_core.spec.wording import guess_in_words
from bdt_core.stages import READING, SPLITTING, WRITING, Stage, Stages, StepProgress, stages_of
from bdt_core.table.audit_table import BIAS_VARIABLE
from bdt_core.table.frames import AnyTable, handed_over
from bdt_core.table.typed import typed_as_audited
from bdt_core.verdict import GateResult, Verdict
from bdt_core.words import printable

if TYPE_CHECKING:
    from bdt_core.fairness.declared_groups import GroupMetrics

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class AuditResult(AuditFindings):
    """What an audit found, and its report.

    `findings`, `clusters`, `groups`, `slices`, `declared`, `gate` and `warnings` can each be looked at, and become a
    table with ``.to_frame()``; the first four become a picture with ``.plot()``, and say with ``.members(frame)`` which
    rows of a table belong to them. The others are as the stages handed them over.

    Attributes
    ----------
    document : dict
        The report as data.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> result = audit(
    ...     frame, outcome="error", slices=None, clustering={"stability": 0}, worst_groups={"permutations": 39}
    ... )
    >>> result.findings.to_frame()[["who", "rows"]].values.tolist()
    [['age up to 29', 100]]
    >>> result.gate.to_frame()["verdict"].tolist()
    ['fail']

    Who they are, and the report:

    >>> result.members(frame).columns.tolist()
    ['audited', 'cluster', 'finding 1: age up to 29']
    >>> result.to_dict()["data"]["rows"]
    400
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(result.write(folder))
    ['html', 'json', 'md', 'pdf']
    """

    document: dict[str, Any]

    @property
    def findings(self) -> FindingList:
        """Who fares worse, those first that harm most people at least."""
        return FindingList.of(super().findings, self._in_audit)

    @property
    def groups(self) -> GroupMetrics | None:
        """Declared groups, with every metric; None when none were declared."""
        return self.group_metrics

    @property
    def numbers(self) -> GroupMetrics | None:
        """Declared groups, with means, medians and errors; None when label and prediction are no numbers."""
        return self.numeric_metrics

    @property
    def gate(self) -> GateResult:
        """The verdict on each limit, and on all together."""
        return GateResult.from_dict({**self.document["verdict"], "limits": self.document["gate"]})

    @property
    def warnings(self) -> Warnings:
        """What a person should know of the table and of what was tested."""
        return Warnings(self.document["warnings"])

    def members(self, frame: AnyTable, *, as_read: bool = False) -> pd.DataFrame:
        """Say of each row of the audited table in which cluster and in which findings it is.

        It names people: it is not for publication.

        Parameters
        ----------
        frame : DataFrame, Arrow table or dict of columns
            The table that was audited, or one of other people with all of its columns.
        as_read : bool
            Whether it was read from the source of the audit, as all of it or a batch.

        Returns
        -------
        DataFrame
            With the index of `frame`: ``audited`` (whether the row has a bias variable; only those were counted),
            ``cluster``, where clusters were searched, and a column of truth values per finding. What a finding says of
            people holds for rows that were not audited, too. Where ``source.stacked`` makes several rows of each: these
            and, first, the column that says which label a row is of.

        Raises
        ------
        DataError
            A column is missing, or holds something else than in the audit.
        """
        frame, spec = handed_over(frame), self.test.spec
        typed = typed_as_audited(frame, spec, self.test.columns, with_outcome=True, as_read=as_read)
        audited = typed[BIAS_VARIABLE].notna()
        if spec.missing == "drop":
            audited &= typed[self.test.names("feature")].notna().all(axis="columns")
        stacked = spec.source.stacked
        own = pd.DataFrame({} if stacked is None else {stacked.by: typed[stacked.by]}, index=typed.index)
        own["audited"] = audited.to_numpy()
        if self.clusters is not None:
            own["cluster"] = self.clusters.labels(typed)
        members = FindingList(super().findings).members(typed)
        return pd.concat([own, members], axis="columns")

    def joined(self) -> AuditResult:
        """The same with parts that know of the audit.

        :meta private:
        """
        parts: dict[str, Any] = {name: one for name, one in vars(self).items() if isinstance(one, AuditPart)}
        return replace(self, **{name: replace(one, audit=self._in_audit) for name, one in parts.items()})

    @property
    def _in_audit(self) -> InAudit:
        typed = partial(typed_as_audited, spec=self.test.spec, columns=self.test.columns)
        return InAudit(self.document, typed)

    @property
    def verdict(self) -> Verdict:
        """pass, fail, inconclusive or not_testable."""
        return cast("Verdict", self.document["verdict"]["verdict"])

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-able data."""
        return self.document

    def recorded(self, look: RecordedLook, *, publication: bool = False) -> AuditResult:
        """The same with what the ledger tells of earlier looks at these people; its answer stands in the ledger then.

        Parameters
        ----------
        look : RecordedLook
            Which has begun.
        publication : bool
            Whether the form for others is going to be written.

        :meta private:
        """
        from bdt_core.report.write import report_bytes

        def encode(document: dict[str, Any]) -> bytes:
            return report_bytes(_in_form(document, publication))

        return replace(self, document=look.end(self.document, self.test, encode)).joined()

    def write(
        self, folder: str | Path, *, publication: bool = False, notice: Callable[[str], None] | None = None
    ) -> dict[str, Path]:
        """Write report.json, report.html, report.pdf and report.md.

        Parameters
        ----------
        folder : str or Path
        publication : bool
            Write the form for others (`bdt_core.report.for_publication`), not the owner's working file.
        notice : callable, optional
            Called with a sentence where a form lacks characters of names, or cannot be drawn and is not written.
            Default: a `UserWarning` says it.

        Returns
        -------
        dict of str to Path
            The files by the ends of their names.

        Raises
        ------
        OutputError
            When the folder cannot be written or holds a report already.
        """
        from bdt_core.report.write import write_reports

        return write_reports(_in_form(self.document, publication), folder, notice)

    def _repr_html_(self) -> str:
        from bdt_core.report.html import render_notebook

        return render_notebook(self.document, first_page=True)

    def __repr__(self) -> str:
        counted = {
            "findings": len(self.findings),
            "clusters": None if self.clusters is None else len(self.clusters.train),
            "declared": None if self.declared is None else len(self.declared.to_frame()),
            "groups": None if self.groups is None else len(self.groups.to_frame()),
            "slices": None if self.slices is None else len(self.slices.reported),
            "gate": len(self.gate.limits),
            "warnings": len(self.warnings),
        }
        listed = ", ".join(f".{name} ({'not asked for' if n is None else n})" for name, n in counted.items())
        headline = self.document["summary"]["headline"]
        bias = self.document["bias_variable"]
        guess = f"{guess_in_words(bias['name'])}\n" if bias["better_by"] == "guessed" else ""
        return harmless(
            f"AuditResult({self.document['name']!r}): {self.verdict}. {self.gate.sentence}\n{guess}{headline}\n"
            f"{listed}\n.write(folder) writes the report; .members(frame) says which rows belong to whom"
        )


def _in_form(document: dict[str, Any], publication: bool) -> dict[str, Any]:
    """The owner's working file, or the form for others."""
    from bdt_core.report.publication import for_publication

    return for_publication(document) if publication else document


def audit(
    data: AnyTable | str | Path | None,
    spec: AuditSpec | dict[str, Any] | str | Path | None = None,
    *,
    stages: Stages | None = None,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
    outcome: Any = NOT_GIVEN,
    derive: Any = NOT_GIVEN,
    label: Any = NOT_GIVEN,
    prediction: Any = NOT_GIVEN,
    quantile: Any = NOT_GIVEN,
    k: Any = NOT_GIVEN,
    query: Any = NOT_GIVEN,
    ranked: Any = NOT_GIVEN,
    positive: Any = NOT_GIVEN,
    better: Any = NOT_GIVEN,
    columns: Any = NOT_GIVEN,
    key: Any = NOT_GIVEN,
    test_size: Any = NOT_GIVEN,
    random_state: Any = NOT_GIVEN,
    alpha: Any = NOT_GIVEN,
    min_rows: Any = NOT_GIVEN,
    name: Any = NOT_GIVEN,
    source: Any = NOT_GIVEN,
    bias_variable: Any = NOT_GIVEN,
    favourable: Any = NOT_GIVEN,
    features: Any = NOT_GIVEN,
    protected: Any = NOT_GIVEN,
    missing: Any = NOT_GIVEN,
    split: Any = NOT_GIVEN,
    clustering: Any = NOT_GIVEN,
    significance: Any = NOT_GIVEN,
    groups: Any = NOT_GIVEN,
    legitimate: Any = NOT_GIVEN,
    characteristics: Any = NOT_GIVEN,
    worst_groups: Any = NOT_GIVEN,
    slices: Any = NOT_GIVEN,
    local_bias: Any = NOT_GIVEN,
    mitigation: Any = NOT_GIVEN,
    gate: Any = NOT_GIVEN,
    require: Any = NOT_GIVEN,
    sealed: Any = NOT_GIVEN,
    seal: Any = NOT_GIVEN,
    looks: Any = NOT_GIVEN,
    title: Any = NOT_GIVEN,
    language: Any = NOT_GIVEN,
    pdf: Any = NOT_GIVEN,
    labels: Any = NOT_GIVEN,
    units: Any = NOT_GIVEN,
    about: Any = NOT_GIVEN,
    reference: Any = NOT_GIVEN,
    partition_by: Any = NOT_GIVEN,
    inbox: Any = NOT_GIVEN,
    schedule: Any = NOT_GIVEN,
    automation: Any = NOT_GIVEN,
    freshness_hours: Any = NOT_GIVEN,
    pool: Any = NOT_GIVEN,
    keep: Any = NOT_GIVEN,
    history: Any = NOT_GIVEN,
    notify: Any = NOT_GIVEN,
    notify_from: Any = NOT_GIVEN,
    report_url: Any = NOT_GIVEN,
    large_rows: Any = NOT_GIVEN,
    engine: Any = NOT_GIVEN,
    **unknown: Any,
) -> AuditResult:
    """Audit a table.

    What is audited, and how, is said by a specification or by keywords: each key of the specification is one, and some
    are short for a key inside of one. What is not given is as in every specification; None leaves a search out.

    Parameters
    ----------
    data : DataFrame, Arrow table or dict of columns, path or None
        The table, of pandas, Polars or any other library that knows Arrow; None reads the specification's own source.
    spec : AuditSpec, dict or path of a YAML file, optional
        What is audited, and how. Without one, the keywords below say it; with one, none of these may be given.
    stages : Stages, optional
        Replaces stages of the method: a subclass of `bdt_core.stages.Stages`.
    progress : callable, optional
        Called with (stage, steps done, steps of the stage).
    notice : callable, optional
        Called with a sentence: where the rows go, when the table is too large for memory, and what a search of a wide
        table is going to count and to leave out.
    outcome : str, optional
        Numeric column with the bias variable; short for ``bias_variable: {column: ...}``.
    derive : str, optional
        What is made of `label` and `prediction`, such as error, false_positive_rate or signed_error.
    label : str, optional
        Column with what happened.
    prediction : str, optional
        Column with what the algorithm said.
    quantile : float, optional
        The quantile that is predicted, of a pinball_loss.
    k : int, optional
        Places that are the top of a list, of top_k.
    query : str, optional
        Column that names the list in which each row stands, of top_k, exposure and position.
    ranked : {'highest_first', 'lowest_first'}, optional
        Whose `prediction` stands first in a list.
    positive : value, optional
        Value of `label` and `prediction` that counts as positive.
    better : {'lower', 'higher'}, optional
        Which way of the bias variable is good for people.
    columns : list of str, optional
        Features; short for ``features: {include: [...]}``.
    key : str, optional
        Column that names the persons, where these may have several rows; short for ``split: {key: ...}``.
    test_size : float, optional
        Share of the rows that are kept from the search, between 0 and 1.
    random_state : int, optional
        Seed of the split and of everything that is drawn.
    alpha : float, optional
        Level of the tests.
    min_rows : int, optional
        Fewest rows of a group that is tested.
    name : str, optional
        Short name: letters, digits and _ ; it prefixes the Dagster assets.
    source : dict, optional
        Where the table is.
    bias_variable : dict, optional
        What is measured per person, and which way is worse.
    favourable : {'positive', 'negative'}, optional
        Which prediction (and label) people want: positive, as for granted, or negative, as for refused.
        disparate_impact, four_fifths_ratio and Clarify's other metrics count that one, so that a ratio below
        1 is harm.
    features : dict, optional
        Columns that may tell people apart.
    protected : list of str, optional
        Kept out of the clustering, compared with the clusters afterwards, e.g. [race, sex].
    missing : {'keep', 'drop', 'error'}, optional
        Missing feature values: own category or mean + flag, drop the row, or stop.
    split : dict, optional
        Train and test rows.
    clustering : dict or None, optional
        How clusters are searched; None leaves the search out.
    significance : dict, optional
        How differences are tested.
    groups : dict, optional
        Groups that are declared, and compared by every group metric.
    legitimate : list of str or dict, optional
        Factors that a decision may depend on, e.g. [priors_count, age].
    characteristics : list of str, optional
        Profiling characteristics: columns by which the algorithm selects people, e.g. [priors_count, debts].
    worst_groups : dict or None, optional
        The people who fare worst; None leaves the search out.
    slices : dict or None, optional
        Intersections in which people fare worse; None leaves the search out.
    local_bias : dict or None, optional
        Where in the data groups are treated differently.
    mitigation : dict or None, optional
        Thresholds per group, and what they would change.
    gate : list of dict, optional
        Limits that a model must keep to be let through.
    require : {'all', 'majority'}, optional
        How many of the limits must hold: all of them, or more than half.
    sealed : {'optional', 'required'}, optional
        required: nothing passes unless the plan was fixed beforehand (bdt seal), and is the same now.
    seal : str, optional
        File of the seal.
    looks : int, optional
        How often these people may be looked at: every look is judged at its share of alpha.
    title : str, optional
        Title of the report, for people who do not know its name.
    language : {'en', 'nl'}, optional
        Language of the report: en or nl.
    pdf : {'short', 'whole'}, optional
        What of the annex is printed. short: what stands open on the web page; what it folds away stands there
        and in report.json, and the PDF names it. whole: this, too.
    labels : dict or str, optional
        What people call columns and their levels: {race: {name: origin, levels: {AA: African-American}}}; or the path
        of a CSV file with the columns column, level and name.
    units : dict of str to str, optional
        Units of numeric columns, as they stand behind a number: {age: years, income: euros}.
    about : dict, optional
        What a person knows of the system and its audit, and no table says.
    reference : dict, optional
        The people that it is used on, counted by level of declared columns: {sex: {f: 5200, m: 4800}}.
    partition_by : dict, optional
        Audit the data part by part.
    inbox : dict, optional
        Audit every file that appears in a folder or bucket.
    schedule : str, optional
        When to audit, as cron: ``"0 6 * * *"`` is every day at six (UTC).
    automation : {'off', 'eager'}, optional
        eager: audit whenever the upstream asset or a part of the data is new, and its blocking checks passed.
    freshness_hours : float, optional
        The report is overdue when it is older than this.
    pool : str, optional
        Dagster pool that limits how many audits search at the same time.
    keep : int, optional
        Parts whose rows stay as stored columns, where a table is larger than memory: the last that were
        audited, e.g. 30.
    history : dict, optional
        What is watched over all batches.
    notify : list of str, optional
        Who is told of a problem: apprise addresses, secrets as ${NAME}: [mailtos://${SMTP},
        slack://${SLACK}].
    notify_from : {'low', 'medium', 'high', 'critical'}, optional
        The least severity that is told. medium: whatever stops a run, and what is clearly off; low: also
        warnings that stop nothing, as of a limit of which a batch is too small to say anything.
    report_url : str, optional
        Where the storage folder of Dagster's runs is served, so that the UI links to each report:
        https://reports.example/bias, or ${NAME}.
    large_rows : int, optional
        A table of more rows is divided by hash and worked through in blocks.
    engine : dict, optional
        What works on a table that is worked through in blocks.
    **unknown
        Refused, with the keyword that may be meant.

    Returns
    -------
    AuditResult

    Raises
    ------
    SpecError, SourceError, DataError
        What is wrong and how to mend it.

    Examples
    --------
    >>> result = audit(
    ...     "demo:compas",
    ...     {
    ...         "name": "compas",
    ...         "source": {"path": "demo:compas"},
    ...         "bias_variable": {
    ...             "derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk"
    ...         },
    ...         "features": {"include": ["age", "priors_count", "c_charge_degree"]},
    ...         "protected": ["race", "sex"],
    ...     },
    ... )
    >>> result.verdict
    'fail'

    The same by keywords:

    >>> audit(
    ...     "demo:compas", derive="false_positive_rate", label="two_year_recid", prediction="high_risk",
    ...     columns=["age", "priors_count", "c_charge_degree"], protected=["race", "sex"],
    ... ).verdict
    'fail'
    """
    arguments = locals()
    given = {name: arguments[name] for name in KEYWORDS if arguments[name] is not NOT_GIVEN}
    frame = None if data is None or isinstance(data, str | Path) else handed_over(data)
    settled = _asked(spec, given | unknown, data if frame is None else frame, notice or unheard)
    stages = stages or Stages()
    announce = Announcer(progress)
    announce(READING)
    with stages.open_table(frame, settled, announce.rows, notice) as opened:
        return _audit(opened, settled, stages, announce, notice or unheard)


def _asked(
    spec: AuditSpec | dict[str, Any] | str | Path | None,
    keys: dict[str, Any],
    data: pd.DataFrame | str | Path | None,
    notice: Callable[[str], None],
) -> AuditSpec:
    """The specification that was given, or the one that keywords make and, where they leave it open, the table."""
    if spec is None:
        from bdt_core.proposal import with_proposed_roles

        asked = settled_spec(spec_of_keywords(keys), data)
        filled_in, proposal = with_proposed_roles(asked, data if isinstance(data, pd.DataFrame) else asked.source)
        if proposal is not None:
            for sentence in proposal.roles_in_words():
                notice(printable(sentence))
        return filled_in
    if keys:
        raise SpecError(
            f"audit() has a specification and the keywords {', '.join(keys)}: write these into the specification, or "
            "leave it out."
        )
    return settled_spec(spec, data)


def _audit(
    opened: Opened, spec: AuditSpec, stages: Stages, announce: Announcer, notice: Callable[[str], None]
) -> AuditResult:
    """The stages after the table is there."""
    findings = AuditFindings.of(run_stages(stages_of(spec), opened, spec, stages, announce, notice))
    announce(WRITING)
    return AuditResult(**vars(findings), document=stages.build_document(findings, spec)).joined()


def run_stages(
    asked: Iterable[Stage],
    opened: Opened,
    spec: AuditSpec,
    stages: Stages,
    announce: Announcer,
    notice: Callable[[str], None],
) -> dict[str, Any]:
    """Split the rows of a table and carry some stages out, in order: all results by name."""
    announce(SPLITTING)
    train, test = stages.split_rows(opened.table, spec.split)
    results: dict[str, Any] = {"table": opened.table, "source": opened.source, "train": train, "test": test}
    for stage in asked:
        announce(stage.title)
        if said := stage.said_before(stages, results, spec):
            notice(said)
        results[stage.result] = stage.run(stages, results, spec, announce.steps(stage.title))
    return results


def unheard(sentence: str) -> None:
    """Nobody listens."""


def settled_spec(spec: AuditSpec | dict[str, Any] | str | Path, data: pd.DataFrame | str | Path | None) -> AuditSpec:
    """The specification as a model; a path in ``data`` takes the place of its source."""
    if isinstance(spec, str | Path):
        spec = load_spec(spec)
    if not isinstance(data, str | Path):
        return (
            spec
            if isinstance(spec, AuditSpec)
            else parse_spec(spec if data is None and "source" in spec else with_place(spec))
        )
    if isinstance(spec, AuditSpec):
        return spec.model_copy(update={"source": spec.source.model_copy(update={"path": str(data)})})
    return parse_spec({**spec, "source": {**spec.get("source", {}), "path": str(data)}})


class Announcer:
    """Tells the caller which stage runs and how far it is."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def __call__(self, title: str) -> None:
        if self._progress is not None:
            self._progress(title, 0, 1)

    def rows(self, what: str, done: int, total: int | None) -> None:
        """Of a source that is read in batches."""
        if self._progress is not None:
            self._progress(what, done, total or done)

    def steps(self, title: str) -> StepProgress | None:
        progress = self._progress
        return None if progress is None else lambda done, total: progress(title, done, total)
