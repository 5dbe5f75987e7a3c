"""The audit specification: one file says what is audited, how, and what fails it.

The same model is read from YAML, built by the command line and by Python callers, and offered in Dagster's
launchpad, so there is one set of names and one set of defaults.
"""

from __future__ import annotations

import math
import re
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, field_serializer, field_validator, model_validator

from bdt_core.derivations import DERIVATIONS, QUANTILE, TOP_K, Derivation, Ranked, are_numbers
from bdt_core.metrics import Favourable
from bdt_core.spec.about import About, Counts, Label
from bdt_core.spec.depth import LocalBiasSection, MitigationSection, SliceSearch, WorstGroupSearch
from bdt_core.spec.direction import favourable_by, implied_better
from bdt_core.spec.engine import Engine
from bdt_core.spec.factor import Factor
from bdt_core.spec.gate import (
    AnyLimit,
    Counted,
    Limit,
    LocalBiasLimit,
    MetricLimit,
    SliceLimit,
    WorstGroupLimit,
)
from bdt_core.spec.language import LANGUAGES
from bdt_core.spec.names_file import names_in_file
from bdt_core.spec.production import AlertSeverity, HistorySection, Inbox, PartitionBy
from bdt_core.spec.section import SpecSection, Value
from bdt_core.spec.source import Source, name_in_reports, usable_address

Kind = Literal["numeric", "categorical"]
Better = Literal["lower", "higher"]
BetterBy = Literal["said", "implied", "guessed"]
"""Who says which way is better: the specification, the derivation or clear words of a name, or nobody."""
UNANSWERED = "ANSWER_THIS"
"""What `bdt init` writes as ``better`` where nothing in the table says it."""
SelectionRule = Literal["ll144", "four_fifths"]
"""Rules of selecting people, whose tables a report can have."""
FoundBy = Literal["worst_groups", "groups", "clusters", "slices", "local_bias"]
"""What finds people who fare worse."""
_WEIGHTS: dict[FoundBy, float] = {
    "worst_groups": 0.5, "groups": 0.2, "clusters": 0.1, "slices": 0.1, "local_bias": 0.1
}  # fmt: skip
NEEDS_WHOLE_LISTS = (
    'works through rows in blocks, and places in a list ("bias_variable.derive: top_k", "exposure", "position") need '
    'all of its rows at once: make a column of them beforehand and name it in "bias_variable.column"'
)
"""Why places are not made of a table that is worked through in blocks, and what to do."""
SAID = ("title", "language", "pdf", "labels", "units", "about", "reference")
"""Keys that say how results are told, and not how they are made."""
_SERVED = re.compile(r"https?://[^\s/]+|\$\{\w+\}")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|\$\{\w+\}")
_ALL_FROM_ENVIRONMENT = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)?(\$\{\w+\}|[/:@?&=])*")
_LONGEST_NAME = 100


class BiasVariable(SpecSection):
    """What is measured per person, and which way is worse."""

    column: str | None = Field(None, description="A numeric column that is the bias variable as it stands.")
    derive: Derivation | None = Field(
        None,
        description=(
            "Made from label and prediction instead. error, false_positive, false_negative and "
            "positive_prediction: 0/1 on all rows. false_positive_rate: rows with a negative label only. "
            "false_negative_rate: rows with a positive label only. absolute_error, squared_error, pinball_loss: how "
            "far a predicted number is off. signed_error: prediction less label, below 0 where it is too low; say with "
            "better whom that harms. top_k, exposure, position: of people's places in a list by prediction, 1 where "
            "it is among the first k, 1 / log2(1 + place), or the place itself."
        ),
    )
    label: str | None = Field(None, description="Column with what really happened.")
    prediction: str | None = Field(None, description="Column with what the algorithm said.")
    positive: Value | list[Value] | None = Field(
        None,
        description="The value (or values) of label and prediction that count as positive; 1 or true by default.",
    )
    quantile: float | None = Field(
        None,
        gt=0,
        lt=1,
        description=(
            "Of pinball_loss: the quantile that is predicted. Each unit that the prediction is too low counts so much, "
            "each that it is too high 1 less that; 0.5 where nothing is said, which is half the absolute error."
        ),
        examples=[0.5, 0.9],
    )
    k: int | None = Field(
        None,
        ge=1,
        description="Of top_k: how many places are the top of a list; 10 where nothing is said.",
        examples=[10],
    )
    query: str | None = Field(
        None,
        description=(
            "Of top_k, exposure and position: column that names the list in which a row stands, such as one search. "
            "Then each row is measured less the mean of its list, so that people are compared within lists alone. "
            "Without it the whole table is one list."
        ),
    )
    ranked: Ranked | None = Field(
        None,
        description=(
            "Of top_k, exposure and position: highest_first where the prediction is a score, which is so where nothing "
            "is said; lowest_first where it holds ranks."
        ),
    )
    better: Better = Field(
        "lower",
        description=(
            "Whether people are better off with a lower or a higher value. Left out, it is what the derivation or "
            "clear words of the column's name or of the positive value say (error, refused: lower; granted, passed: "
            "higher); where nothing says it, lower, and the report calls that a guess. A signed_error needs it: higher "
            "where a prediction that is too low harms people, lower where one that is too high does."
        ),
    )
    better_by: BetterBy | None = Field(
        None,
        description=(
            "Who says which way is better: said (by better), implied (by the derivation or a name) or guessed. It is "
            "filled in by itself."
        ),
    )

    @field_validator("label", "prediction", mode="before")
    @classmethod
    def _is_one_column(cls, column: Any) -> Any:
        if isinstance(column, list):
            raise ValueError(
                "name one column; where each row has several labels, each with its own prediction, "
                '"source.stacked" makes a row of each, as in stacked: {by: object, rows: {chair: {there: chair, said: '
                "chair_said}, dog: {there: dog, said: dog_said}}}, and one column of all labels"
            )
        return column

    @field_validator("better", mode="before")
    @classmethod
    def _is_answered(cls, better: Any) -> Any:
        if better == UNANSWERED:
            raise ValueError(
                'this is to be answered first, as nothing in the table says it. Write "better: lower" where more of '
                'it is worse for people (refusals, fines, errors), or "better: higher" where less of it is worse '
                "(grants, jobs, passed exams)"
            )
        return better

    @model_validator(mode="after")
    def _column_or_derived(self) -> BiasVariable:
        if (self.column is None) == (self.derive is None):
            raise ValueError('give either "column" (a numeric column) or "derive" (made from label and prediction)')
        if self.column is not None and (self.label is not None or self.prediction is not None):
            raise ValueError('"label" and "prediction" go with "derive", not with "column"')
        if self.quantile is not None and self.derive != "pinball_loss":
            raise ValueError('"quantile" goes with "derive: pinball_loss" alone')
        if self.k is not None and self.derive != "top_k":
            raise ValueError('"k" goes with "derive: top_k" alone')
        for key in ("query", "ranked"):
            if getattr(self, key) is not None and not self.is_of_places:
                raise ValueError(f'"{key}" goes with "derive: top_k", "exposure" or "position" alone')
        if self.derive is not None:
            if self.prediction is None:
                raise ValueError(f'"derive: {self.derive}" needs "prediction"')
            if self.label is None and DERIVATIONS[self.derive].needs_label:
                raise ValueError(f'"derive: {self.derive}" needs "label"')
            if self.is_of_places and (self.label is not None or self.positive is not None):
                raise ValueError(
                    f'"derive: {self.derive}" takes places by "prediction" alone: leave "label" and "positive" out, or '
                    'set "groups.label", "groups.prediction" and "groups.positive" for group metrics'
                )
        for key, derives, value in (
            ("quantile", self.derive == "pinball_loss", QUANTILE),
            ("k", self.derive == "top_k", TOP_K),
            ("ranked", self.is_of_places, "highest_first"),
        ):
            if derives and getattr(self, key) is None:
                object.__setattr__(self, key, value)
        return self

    @property
    def is_of_places(self) -> bool:
        """Whether it is made of people's places in lists, so that all rows of a list are needed at once."""
        return self.derive is not None and DERIVATIONS[self.derive].of_places

    @property
    def is_of_numbers(self) -> bool:
        """Whether columns are taken as numbers, and not as what is positive or negative."""
        return are_numbers(self.derive)

    @model_validator(mode="after")
    def _somebody_says_what_is_better(self) -> BiasVariable:
        implied = implied_better(self.derive, self.column or self.prediction or "", self.positive)
        # What was stored has all keys: there better_by tells whether better was ever said. Who changes it, says it.
        is_said = "better" in self.model_fields_set and (
            self.better_by in (None, "said") or self.better != (implied or "lower")
        )
        if self.derive is not None and DERIVATIONS[self.derive].direction == "said" and not is_said:
            raise ValueError(
                f'"derive: {self.derive}" needs "better", as nothing else says whom it harms that a prediction is too '
                'low (a value below 0) or too high (above 0). Write "better: higher" where too low is worse for people '
                '(a loan that is offered, a predicted grade), or "better: lower" where too high is worse (an estimated '
                "debt, a predicted risk; or pay by a model, beside less pay that is really got)"
            )
        if not is_said:
            object.__setattr__(self, "better", implied or "lower")
        object.__setattr__(self, "better_by", "said" if is_said else "implied" if implied else "guessed")
        return self


MOST_FEATURES = 250


class Features(SpecSection):
    """Which columns the search may use to tell people apart."""

    include: list[str] | None = Field(
        None, description="Only these columns; by default every column that is not used elsewhere."
    )
    exclude: list[str] = Field([], description="Not these columns.")
    leaks: list[str] = Field(
        [],
        description=(
            "Not these either, unless include names them: they seem to say what is measured, or to be known only "
            "afterwards. Filled in by `bdt init`, and where nobody has said what columns are for; the report names "
            "them, so that somebody decides."
        ),
    )
    at_most: int = Field(
        MOST_FEATURES,
        ge=1,
        description=(
            "Of more columns only the first so many, unless include names them: each costs time, and makes what is "
            "found less certain. The report says how many are left out."
        ),
    )
    kinds: dict[str, Kind] = Field(
        {}, description="numeric or categorical, where the column's type does not say it, e.g. zip_code."
    )


class Split(SpecSection):
    """How rows are divided: clusters are found on the train rows and tested on the test rows."""

    test_size: float = Field(0.2, gt=0, lt=1, description="Share of the rows kept for testing.")
    method: Literal["auto", "stratified", "hash"] = Field(
        "auto",
        description=(
            "hash: every row by its own random number, made of its content, which needs no second look at the table. "
            "stratified: as stratify says. auto: hash for tables of more than large_rows rows and out of core."
        ),
    )
    key: str | None = Field(
        None,
        description=(
            "Column that names the person where one may have several rows: all rows of a person stay on one side, and "
            "tests, intervals and minimum sizes count persons. It implies hash."
        ),
    )
    stratify: bool = Field(
        True, description="Keep the distribution of the bias variable equal in both parts; not with hash."
    )
    random_state: int = Field(42, ge=0, description="Seed of everything random in the audit.")
    repeats: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None,
        description=(
            "Splits that test the most deviating cluster together, so that no lucky one decides: each after the first "
            "divides the train rows of the one before, and searches anew. Default: as many as leave 30 % of the rows "
            "to the last search, five at most; 1 for more than large_rows rows and with engine: reference."
        ),
    )


class Clustering(SpecSection):
    """Hierarchical bias-aware clustering (HBAC)."""

    method: Literal["auto", "kmeans", "kmodes", "kprototypes"] = Field(
        "auto", description="kmeans for numbers, kmodes for categories, kprototypes for both; auto looks."
    )
    max_iter: int = Field(10, ge=1, le=10_000, description="Number of splits tried.")
    min_cluster_size: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description=(
            "Smallest cluster: a share of the train rows below 1, else a number of rows. Default: 1 % of the train "
            "rows, and enough that the test part will hold significance.min_rows of the cluster."
        ),
    )
    n_init: int = Field(10, ge=1, le=1_000, description="Starts per split; the best one counts.")
    margin: float = Field(0.0, ge=0, description="A split must worsen a child's gap by this many standard deviations.")
    scale: bool = Field(True, description="Standardise numeric columns, so that units do not matter.")
    stability: int = Field(
        50, ge=0, le=10_000, description="Bootstrap refits that measure how stable the clusters are; 0 leaves it out."
    )
    engine: Literal["bdt", "reference"] = Field(
        "bdt", description="reference runs scikit-learn and kmodes as the original tool did."
    )
    memory: Literal["auto", "in_memory", "out_of_core"] = Field(
        "auto",
        description=(
            "out_of_core: the source is read once in batches and written as columns to temporary files, which are "
            "mapped into memory; any number of rows in little memory. auto: only if the table does not fit."
        ),
    )
    memory_limit: str | None = Field(
        None,
        pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?\s*[MGT]i?B$",
        description='What the table may take, such as "4 GiB"; by default half of the memory that is free.',
    )


class Significance(SpecSection):
    """How differences are tested on the test rows."""

    alpha: float = Field(
        0.05,
        gt=0,
        lt=1,
        description="Error rate; intervals are at 1 - alpha. Where looks are allowed, that of all of them together.",
    )
    alpha_of_all_looks: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None,
        description=(
            "What alpha was before it was divided by the looks that are allowed: each is judged at alpha. It is filled "
            "in by itself."
        ),
    )
    test: Literal["auto", "exact", "welch", "permutation"] = Field(
        "auto",
        description=(
            "auto: exact mid-p for two-valued bias variables, Welch or permutation of the test rows for the others. "
            "permutation: the same, and the whole procedure is repeated on permuted bias variables as well."
        ),
    )
    permutations: int = Field(
        199, ge=19, le=100_000, description="Repetitions of the whole procedure, with test: permutation."
    )
    correction: Literal["holm", "bonferroni", "bh", "none"] = Field(
        "holm", description="Correction over the scan of all clusters, and over the features."
    )
    min_rows: int = Field(
        30, ge=5, description="A cluster with fewer test rows is not tested and its rates are not printed."
    )


class GroupsSection(SpecSection):
    """Declared groups: compared by the 21 metrics, rates and the composite score, on all rows."""

    facets: list[str | list[str]] | None = Field(
        None,
        description=(
            "Columns with groups; a list inside makes intersections: [race, sex, [race, sex]]. Default: the protected "
            "columns that are not numeric, and those that the gate names. []: no group metrics."
        ),
    )
    label: str | None = Field(None, description="What really happened; by default that of bias_variable.")
    prediction: str | None = Field(None, description="What the algorithm said; by default that of bias_variable.")
    positive: Value | list[Value] | None = Field(
        None, description="Value or values of both that count as positive; by default those of bias_variable, else 1."
    )
    numbers: bool = Field(
        False,
        description=(
            "Whether label and prediction of the groups are numbers, such as amounts or grades: their metrics are then "
            "means, medians and errors, not rates. A bias_variable that is made of numbers, such as an absolute_error, "
            "has these metrics of its own label and prediction without this key."
        ),
    )
    tolerance: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description=(
            "How far a predicted number may be off and be near enough, in its own unit: within_tolerance is the share "
            "of people for whom it is. Of label and prediction that are numbers."
        ),
        examples=[0.5],
    )
    score: str | None = Field(None, description="Column with the predicted probability of a positive label.")
    stratum: str | None = Field(
        None,
        description="Column within whose values CDDL and CDDPL compare; a row without one is left out of these two.",
    )
    thresholds: dict[str, float] = Field(
        {}, description="Numeric columns that are cut in two, strictly above and the rest: {age: 40}."
    )
    similar_by: list[str] = Field([], description="Columns by which the flip test finds similar people.")
    reference: Value | list[Value] = Field(
        "largest group", description='A group, "largest group" or "everybody else": what rates are compared with.'
    )
    pooled_from: Annotated[int, Field(ge=5)] | None = Field(
        10,
        description=(
            "Every intersection of up to three declared columns is estimated with help of the others, however small. "
            "Of a group with fewer people than this, what its own people have is not looked at: nothing can be "
            "computed back. null: no such estimates."
        ),
    )
    report: list[SelectionRule] = Field(
        [],
        description=(
            "Tables that rules of selection ask for, e.g. [ll144, four_fifths]. ll144: New York City's Local Law 144, "
            "selection rates (with groups.score also scoring rates) and impact ratios of the declared columns and of "
            "their pairs, for every category, however small. four_fifths: the rule of the Uniform Guidelines, by "
            'declared grouping. Both need "favourable".'
        ),
    )


def _names_of_file(labels: Any, info: ValidationInfo) -> Any:
    """What a file names, where its path stands in place of the names."""
    if not isinstance(labels, str):
        return labels
    folder = Path((info.context or {}).get("folder", ""))
    beside = folder / Path(labels).expanduser()
    return names_in_file(beside if beside.exists() or not Path(labels).exists() else Path(labels))


class AuditSpec(SpecSection):
    """A whole audit.

    ``name``, ``source`` and ``bias_variable`` are enough; everything else has a default.

    Examples
    --------
    >>> spec = AuditSpec.model_validate(
    ...     {
    ...         "name": "loans",
    ...         "source": {"path": "loans.csv"},
    ...         "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
    ...     }
    ... )
    >>> spec.clustering.max_iter
    10
    """

    name: str = Field(description="Short name: letters, digits and _ ; it prefixes the Dagster assets.")
    source: Source = Field(description="Where the table is.")
    bias_variable: BiasVariable = Field(description="What is measured per person, and which way is worse.")
    favourable: Favourable | None = Field(
        None,
        description=(
            "Which prediction (and label) people want: positive, as for granted, or negative, as for refused. "
            "disparate_impact, four_fifths_ratio and Clarify's other metrics count that one, so that a ratio below 1 "
            "is harm. Limits that depend on it need it. Some bias variables say it by themselves: false positives "
            "negative, false negatives positive, positive_prediction as better says."
        ),
    )
    features: Features = Field(Features(), description="Columns that may tell people apart.")
    protected: list[str] = Field(
        [], description="Kept out of the clustering, compared with the clusters afterwards, e.g. [race, sex]."
    )
    missing: Literal["keep", "drop", "error"] = Field(
        "keep", description="Missing feature values: own category or mean + flag, drop the row, or stop."
    )
    split: Split = Field(Split(), description="Train and test rows.")
    clustering: Clustering | None = Field(
        Clustering(), description="How clusters are searched; null leaves the search out."
    )
    significance: Significance = Field(Significance(), description="How differences are tested.")
    groups: GroupsSection = Field(
        GroupsSection(), description="Groups that are declared, and compared by every group metric."
    )
    legitimate: list[Factor] = Field(
        [],
        description=(
            "Factors that a decision may depend on, e.g. [priors_count, age]: what remains of a difference among "
            "people alike in them is said beside it, and worst_groups looks for people treated worse than people like "
            'them. A protected column is one only with a reason, which page 1 prints: {column: age, because: "..."}.'
        ),
    )
    characteristics: list[str] | None = Field(
        None,
        description=(
            "Profiling characteristics: columns by which the algorithm selects people, e.g. [priors_count, debts]. Of "
            "each is said whether it finds what it should (its relation to the label) and whom it burdens (how much "
            "more often people of a protected group have it). Default: the features, where a label and a prediction "
            "are declared and there are at most 30. []: none."
        ),
    )
    worst_groups: WorstGroupSearch | None = Field(
        WorstGroupSearch(), description="The people who fare worst; null leaves the search out."
    )
    slices: SliceSearch | None = Field(
        SliceSearch(), description="Intersections in which people fare worse; null leaves the search out."
    )
    local_bias: LocalBiasSection | None = Field(None, description="Where in the data groups are treated differently.")
    mitigation: MitigationSection | None = Field(None, description="Thresholds per group, and what they would change.")
    gate: list[AnyLimit] = Field(
        [WorstGroupLimit()],
        description=(
            "Limits that a model must keep to be let through. Default: worst_group, or declared_group where "
            "worst_groups is null and groups are declared. []: no limit."
        ),
    )
    require: Literal["all", "majority"] = Field(
        "all", description="How many of the limits must hold: all of them, or more than half."
    )
    sealed: Literal["optional", "required"] = Field(
        "optional",
        description=(
            "required: nothing passes unless the plan was fixed beforehand (bdt seal), and is the same now. optional: "
            "a seal that is there is compared and told."
        ),
    )
    seal: str | None = Field(
        None,
        min_length=1,
        description="File of the seal. Default: NAME.seal.json beside the specification, where there is one.",
    )
    looks: int | None = Field(
        None,
        ge=1,
        le=100,
        description=(
            "How often these people may be looked at, e.g. 5: every look is judged at significance.alpha / 5, and "
            "after five nothing passes any more. null: as often as one likes, which the report tells."
        ),
    )

    title: str | None = Field(
        None, min_length=1, max_length=200, description="Title of the report, for people who do not know its name."
    )
    language: str = Field(
        "en",
        description=f"Language of the report: {' or '.join(LANGUAGES)}.",
        json_schema_extra={"enum": list(LANGUAGES)},
    )
    pdf: Literal["short", "whole"] = Field(
        "short",
        description=(
            "What of the annex is printed. short: what stands open on the web page; what it folds away stands there "
            "and in report.json, and the PDF names it. whole: this, too."
        ),
    )
    labels: Annotated[
        dict[str, Label], BeforeValidator(_names_of_file, json_schema_input_type=dict[str, Label] | str)
    ] = Field(
        {},
        description=(
            "What people call columns and their levels: {race: {name: origin, levels: {AA: African-American}}}; or the "
            "path of a CSV file with the columns column, level (empty where the column itself is named) and name. The "
            "first page says them; without, it writes names with spaces."
        ),
    )
    units: dict[str, str] = Field(
        {}, description="Units of numeric columns, as they stand behind a number: {age: years, income: euros}."
    )
    about: About = Field(About(), description="What a person knows of the system and its audit, and no table says.")
    reference: dict[str, Counts] = Field(
        {},
        description=(
            "The people that it is used on, counted by level of declared columns: {sex: {f: 5200, m: 4800}}. The "
            "report says who is missing among the people who were audited."
        ),
    )

    partition_by: PartitionBy | None = Field(None, description="Audit the data part by part.")
    inbox: Inbox | None = Field(None, description="Audit every file that appears in a folder or bucket.")
    schedule: str | None = Field(None, description='When to audit, as cron: "0 6 * * *" is every day at six (UTC).')
    automation: Literal["off", "eager"] = Field(
        "off",
        description=(
            "eager: audit whenever the upstream asset or a part of the data is new, and its blocking checks passed."
        ),
    )
    freshness_hours: float | None = Field(
        None, gt=0, le=100_000, description="The report is overdue when it is older than this."
    )
    pool: str | None = Field(None, description="Dagster pool that limits how many audits search at the same time.")
    keep: int | None = Field(
        None,
        ge=1,
        description=(
            "Parts whose rows stay as stored columns, where a table is larger than memory: the last that were audited, "
            "e.g. 30. Reports, history and baselines need none of them; by default all stay."
        ),
    )
    history: HistorySection = Field(HistorySection(), description="What is watched over all batches.")
    notify: list[str] = Field(
        [],
        description=(
            "Who is told of a problem: apprise addresses, secrets as ${NAME}: [mailtos://${SMTP}, slack://${SLACK}]."
        ),
    )
    notify_from: AlertSeverity = Field(
        "medium",
        description=(
            "The least severity that is told. medium: whatever stops a run, and what is clearly off; low: also "
            "warnings that stop nothing, as of a limit of which a batch is too small to say anything."
        ),
    )

    report_url: str | None = Field(
        None,
        description=(
            "Where the storage folder of Dagster's runs is served, so that the UI links to each report: "
            "https://reports.example/bias, or ${NAME}."
        ),
    )
    large_rows: int = Field(
        1_000_000,
        ge=1_000,
        description=(
            "A table of more rows is divided by hash and worked through in blocks. What needs single rows (stability, "
            "rules, AUC, local bias, mitigation) then uses a sample of this many, drawn by hash."
        ),
    )
    engine: Engine = Field(Engine(), description="What works on a table that is worked through in blocks.")

    @field_validator("name")
    @classmethod
    def _name_is_an_identifier(cls, name: str) -> str:
        if not name.isascii() or not name.replace("_", "a").isalnum():
            raise ValueError("use letters, digits and _ only, as in credit_model_2")
        if len(name) > _LONGEST_NAME:
            raise ValueError(f"use at most {_LONGEST_NAME} characters: files and folders are called after it")
        return name

    @field_validator("seal")
    @classmethod
    def _usable_seal(cls, seal: str | None) -> str | None:
        return usable_address(seal)

    @field_validator("language")
    @classmethod
    def _has_a_catalogue(cls, language: str) -> str:
        if language not in LANGUAGES:
            raise ValueError(f'there is no catalogue for "{language}"; there are for {", ".join(LANGUAGES)}')
        return language

    @property
    def limits(self) -> tuple[AnyLimit, ...]:
        """What the gate holds: ``gate`` in its order, then what ``slices`` and ``local_bias`` set themselves."""
        limits = list(self.gate)
        most = self.slices.max_difference if self.slices else None
        if most is not None and most not in [one.max_difference for one in limits if isinstance(one, SliceLimit)]:
            limits.append(SliceLimit(max_difference=most))
        gap = self.local_bias.max_gap if self.local_bias else None
        if gap is not None and gap not in [one.max_gap for one in limits if isinstance(one, LocalBiasLimit)]:
            limits.append(LocalBiasLimit(max_gap=gap))
        return tuple(limits)

    @property
    def metric_limits(self) -> tuple[MetricLimit, ...]:
        """The limits of the gate that are on metrics of declared groups."""
        return tuple(one for one in self.gate if isinstance(one, MetricLimit))

    @property
    def facets(self) -> tuple[tuple[str, ...], ...]:
        """The declared groupings, those of the gate included; none without a label or a prediction."""
        return self._with_limited("metrics") if self.group_columns() != (None, None) else ()

    @property
    def numeric_facets(self) -> tuple[tuple[str, ...], ...]:
        """The same of metrics of numbers; none without a label or a prediction that holds numbers."""
        return self._with_limited("numbers") if self.numeric_columns() != (None, None) else ()

    def _with_limited(self, counts: Counted) -> tuple[tuple[str, ...], ...]:
        """The declared groupings, and those that limits on so many things are on."""
        limited = [one.facets for one in self.gate if one.counts == counts]
        return tuple(dict.fromkeys(one for one in (*self.declared_facets, *limited) if one))

    @property
    def declared_facets(self) -> tuple[tuple[str, ...], ...]:
        """The declared groupings; the bias variable can be compared by them without a label and a prediction, too."""
        declared = self.protected if self.groups.facets is None else self.groups.facets
        return tuple((one,) if isinstance(one, str) else tuple(one) for one in declared)

    @property
    def room(self) -> Clustering:
        """Where rows are held, which ``clustering`` says; by default also where no cluster is searched."""
        return self.clustering or Clustering()

    @property
    def uses_test_rows(self) -> bool:
        """Whether anything is found on the train rows and tested on the test rows."""
        return any(one is not None for one in (self.clustering, self.slices, self.local_bias, self.mitigation))

    @property
    def declared_groupings(self) -> tuple[tuple[str, ...], ...]:
        """Groupings by which the bias variable is compared: the declared ones, else each protected column."""
        of_columns = self.facets or tuple((one,) for one in self.protected)
        limited = [one.facets for one in self.gate if one.counts in ("outcomes", "numbers")]
        return tuple(dict.fromkeys(one for one in (*of_columns, *self.declared_facets, *limited) if one))

    @property
    def selection_rules(self) -> tuple[SelectionRule, ...]:
        """Rules of selection that are applied: those to be reported, and what the gate limits."""
        limited = [one.applies for one in self.gate]
        return tuple(rule for rule in get_args(SelectionRule) if rule in (*self.groups.report, *limited))

    @property
    def pooled_groupings(self) -> tuple[tuple[str, ...], ...]:
        """Declared columns, their pairs and their triples, and the declared intersections of more."""
        if self.groups.pooled_from is None:
            return ()
        columns = dict.fromkeys([*self.protected, *(name for facets in self.facets for name in facets)])
        groupings = [one for size in (1, 2, 3) for one in combinations(columns, size)]
        return (*groupings, *(facets for facets in self.facets if len(facets) > 3))

    @property
    def asks_characteristics(self) -> bool:
        """Whether profiling characteristics are looked at: those that are named, or the features."""
        if self.characteristics is None:
            return None not in self.group_columns()
        return bool(self.characteristics)

    @property
    def asks_calibration(self) -> bool:
        """Whether it is looked at for whom a score is off: wherever groups are searched and a score has a label."""
        return self.worst_groups is not None and self.groups.score is not None and self.group_columns()[0] is not None

    @property
    def favourable_outcome(self) -> Favourable | None:
        """Which prediction and label people want: as declared, else as the bias variable says, if it does."""
        return self.favourable or favourable_by(self.bias_variable.derive, self.bias_variable.better)

    @property
    def search_shares(self) -> dict[FoundBy, float]:
        """The searches that are asked for, and the share of ``significance.alpha`` that each has; 1 together."""
        asked: dict[FoundBy, bool] = {
            "worst_groups": self.worst_groups is not None,
            "groups": bool(self.declared_groupings),
            "clusters": self.clustering is not None,
            "slices": self.slices is not None,
            "local_bias": self.local_bias is not None,
        }
        weights = {search: _WEIGHTS[search] for search, is_asked in asked.items() if is_asked}
        return {search: weight / math.fsum(weights.values()) for search, weight in weights.items()}

    def group_columns(self) -> tuple[str | None, str | None]:
        """Label and prediction of the group metrics.

        Those of a bias variable made of numbers, such as an absolute error, are not taken over: they say how much,
        not whether. There are none where ``groups.numbers`` says that they are numbers.
        """
        if self.groups.numbers:
            return None, None
        bias = self.bias_variable
        taken = None if bias.is_of_numbers else bias
        return (
            self.groups.label or (taken.label if taken else None),
            self.groups.prediction or (taken.prediction if taken else None),
        )

    def numeric_columns(self) -> tuple[str | None, str | None]:
        """Label and prediction of the metrics of numbers: those of a bias variable that is made of numbers, or such as
        ``groups.numbers`` says."""
        bias = self.bias_variable
        if self.groups.numbers:
            return self.groups.label or bias.label, self.groups.prediction or bias.prediction
        return (bias.label, bias.prediction) if bias.derive is not None and bias.is_of_numbers else (None, None)

    @property
    def declared_columns(self) -> frozenset[str]:
        """Columns that say which groups people belong to: protected ones, and those that some section groups by."""
        named = [*self.protected, *(one for columns in self.declared_groupings for one in columns)]
        if self.local_bias is not None:
            named.append(self.local_bias.group)
        if self.mitigation is not None:
            named += self.mitigation.facets
        return frozenset(named)

    @property
    def scores(self) -> tuple[str, ...]:
        """Columns with scores of the algorithm, which are no features of people."""
        named = (self.groups.score, self.mitigation.score if self.mitigation else None)
        return tuple(dict.fromkeys(one for one in named if one is not None))

    @property
    def searched_columns(self) -> tuple[str, ...]:
        """Columns that a search names itself, features or not."""
        searches = (self.slices, self.worst_groups)
        return tuple(dict.fromkeys(name for one in searches if one is not None for name in one.columns or ()))

    @property
    def carried(self) -> tuple[str, ...]:
        """Columns that are no features but that some stage reads row by row."""
        names = [
            *self.legitimate,
            *(self.characteristics or ()),
            *self.searched_columns,
        ]
        if self.local_bias is not None:
            local, embeddings = self.local_bias, self.local_bias.embeddings
            names += [local.group, *(embeddings if isinstance(embeddings, list) else ()), *(local.describe_by or ())]
            names += [one for one in (local.texts, local.places) if one is not None]
            names += [self.groups.score] if local.metric == "auc" and self.groups.score else []
        if self.mitigation is not None:
            names += [*self.mitigation.facets, self.mitigation.score]
        if self.asks_calibration and self.groups.score is not None:
            names += [self.groups.score]
        if (
            self.local_bias is not None
            or self.mitigation is not None
            or self.asks_characteristics
            or self.asks_calibration
        ):
            names += [one for one in self.group_columns() if one is not None]
        return tuple(dict.fromkeys(names))

    @model_validator(mode="after")
    def _looks_share_the_level(self) -> AuditSpec:
        """Each look is judged at its share of alpha; what was stored, or is read again, is divided already."""
        written = self.significance
        if self.looks is None and written.alpha_of_all_looks is None:
            return self
        of_all = written.alpha if written.alpha_of_all_looks is None else written.alpha_of_all_looks
        alpha = of_all / (self.looks or 1)
        if written.alpha_of_all_looks is not None and not math.isclose(written.alpha, alpha):
            raise ValueError(
                f'"significance.alpha" is {written.alpha:g}, and {of_all:g} over {self.looks or 1} looks is {alpha:g}: '
                'leave "alpha_of_all_looks" out, and write the level of all looks together as "alpha"'
            )
        kept = None if self.looks is None else of_all
        shared = written.model_copy(update={"alpha": alpha, "alpha_of_all_looks": kept})
        object.__setattr__(self, "significance", shared)
        return self

    @model_validator(mode="after")
    def _drift_is_of_declared_groups(self) -> AuditSpec:
        if self.history.retrain is not None and not self.facets:
            raise ValueError(
                '"history.retrain" sees the drift of declared groups: name columns in "protected", and the label or '
                'the prediction in "bias_variable" or "groups"'
            )
        return self

    @model_validator(mode="after")
    def _automation_sees_what_is_new(self) -> AuditSpec:
        if self.automation == "eager" and self.inbox is not None:
            raise ValueError('"inbox" audits what is new already: leave "automation" out')
        if self.automation == "eager" and self.source.asset is None and self.partition_by is None:
            raise ValueError(
                '"automation" sees a new asset or a new part of the data, and no file that changes: set "source.asset" '
                'or "partition_by", or use "inbox" or "schedule"'
            )
        return self

    @model_validator(mode="after")
    def _groups_have_outcomes(self) -> AuditSpec:
        lacks = None in self.group_columns()
        by_score = self.local_bias is not None and self.local_bias.metric == "auc"
        if by_score and (self.group_columns()[0] is None or self.groups.score is None):
            raise ValueError(
                '"local_bias.metric: auc" needs a label and a score: set "groups.label" (or derive the bias_variable '
                'from a label) and "groups.score"'
            )
        local_bias = None if by_score else self.local_bias
        for key, section in (("local_bias", local_bias), ("mitigation", self.mitigation)):
            if section is not None and lacks:
                raise ValueError(
                    f'"{key}" needs a label and a prediction: set "groups.label" and "groups.prediction", or derive '
                    "the bias_variable from them"
                )
        return self

    @model_validator(mode="after")
    def _numbers_have_columns(self) -> AuditSpec:
        groups = self.groups
        if groups.numbers and self.numeric_columns() == (None, None):
            raise ValueError(
                '"groups.numbers" needs numbers: name their columns in "groups.label", "groups.prediction" or both'
            )
        counted = [key for key in ("positive", "score", "stratum", "similar_by") if getattr(groups, key)]
        if groups.numbers and counted:
            raise ValueError(
                f'"groups.{counted[0]}" goes with label and prediction that are counted, and "groups.numbers" says '
                "that they are numbers: leave one of both out"
            )
        if groups.tolerance is not None and None in self.numeric_columns():
            raise ValueError(
                '"groups.tolerance" needs a label and a prediction that are numbers: derive the bias_variable from '
                'them, such as "derive: absolute_error", or set "groups.numbers: true" with "groups.label" and '
                '"groups.prediction"'
            )
        return self

    @model_validator(mode="after")
    def _characteristics_have_outcomes(self) -> AuditSpec:
        if self.characteristics and self.group_columns() == (None, None):
            raise ValueError(
                '"characteristics" needs a label or a prediction: set "groups.label" or "groups.prediction", or derive '
                "the bias_variable from them"
            )
        return self

    @model_validator(mode="after")
    def _reference_is_of_declared_groups(self) -> AuditSpec:
        for column, counts in self.reference.items():
            if (column,) not in self.facets:
                raise ValueError(
                    f'"reference" counts people by "{column}", which is no declared group: add it to "protected" or '
                    '"groups.facets", with a label or a prediction'
                )
            if not sum(counts.values()):
                raise ValueError(f'"reference.{column}" counts nobody')
        return self

    @model_validator(mode="after")
    def _default_limits_are_on_what_is_searched(self) -> AuditSpec:
        if "gate" not in self.model_fields_set and self.worst_groups is None:
            declared: list[AnyLimit] = [WorstGroupLimit(check="declared_group")]
            of_clusters: list[AnyLimit] = [] if self.clustering is None else [Limit()]
            object.__setattr__(self, "gate", declared if self.declared_groupings else of_clusters)
        return self

    @model_validator(mode="after")
    def _limits_have_what_they_judge(self) -> AuditSpec:
        for limit in self.gate:
            problem = limit.problem_in(self)
            if problem is not None:
                raise ValueError(problem)
            for name, section in limit.searches().items():
                if getattr(self, name) is None:
                    object.__setattr__(self, name, section)  # what is limited is searched
        return self

    @model_validator(mode="after")
    def _protected_factors_have_reasons(self) -> AuditSpec:
        unsaid = [one for one in self.legitimate if one in self.protected and one.because is None]
        if unsaid:
            raise ValueError(
                f'"legitimate" names the protected column "{unsaid[0]}", so that a difference by it is explained away: '
                f'say why the decision may depend on it, as in legitimate: [{{column: {unsaid[0]}, because: "..."}}], '
                "or take it out; the reason is printed on page 1"
            )
        return self

    @model_validator(mode="after")
    def _rules_have_decisions(self) -> AuditSpec:
        for rule in self.selection_rules:
            key = "groups.report" if rule in self.groups.report else "gate"
            if self.group_columns()[1] is None and (rule == "four_fifths" or self.groups.score is None):
                score = "" if rule == "four_fifths" else ', or "groups.score" beside "groups.label"'
                raise ValueError(
                    f'"{rule}" in {key} needs to know who is selected: set "groups.prediction" (or derive the '
                    f"bias_variable from a prediction){score}"
                )
            if not self.facets:
                raise ValueError(
                    f'"{rule}" in {key} needs groups: name their columns in "protected" or "groups.facets"'
                )
            if self.favourable_said() is None:
                raise ValueError(
                    f'"{rule}" in {key} depends on the prediction that people want: write "favourable: positive" (as '
                    'for granted, hired) or "favourable: negative" (as for refused, flagged)'
                )
        return self

    def favourable_said(self) -> Favourable | None:
        """Which prediction people want, where somebody has said it and no default."""
        bias = self.bias_variable
        unsaid = bias.derive == "positive_prediction" and bias.better_by != "said"
        return self.favourable if unsaid else self.favourable_outcome

    @field_validator("notify")
    @classmethod
    def _addresses(cls, notify: list[str]) -> list[str]:
        for address in notify:
            if not _ADDRESS.match(address):
                raise ValueError("an address is not a URL such as json://host/path or ${NAME}; apprise knows the kinds")
        return notify

    @field_validator("report_url")
    @classmethod
    def _served(cls, report_url: str | None) -> str | None:
        if report_url is not None and not _SERVED.match(report_url):
            raise ValueError("it is no address such as https://reports.example/bias, or ${NAME}")
        return report_url

    @field_serializer("notify", when_used="json")
    def _no_tokens(self, notify: list[str]) -> list[str]:
        """Addresses as they are stored and reported: a token that stands in one stays out."""
        return [one if _ALL_FROM_ENVIRONMENT.fullmatch(one) else f"{one.split('://')[0]}://..." for one in notify]

    @model_validator(mode="after")
    def _parts_come_from_one_place(self) -> AuditSpec:
        if self.inbox is not None and self.partition_by is not None:
            raise ValueError('an "inbox" makes its files the parts; leave "partition_by" out')
        if (self.inbox or self.partition_by) and not self.source.names_a_part:
            raise ValueError(
                "the data is audited part by part, but the source is the same for all parts; put {partition} into "
                "source.path, or :partition into source.sql"
            )
        if self.schedule is not None and (self.inbox or (self.partition_by and self.partition_by.dynamic)):
            raise ValueError('a "schedule" needs all data at once, or parts by time; other parts come when they come')
        return self

    @model_validator(mode="after")
    def _labels_of_a_row_stay_together(self) -> AuditSpec:
        stacked = self.source.stacked
        if stacked is None:
            return self
        if self.split.key is None:
            raise ValueError(
                '"source.stacked" makes several rows of each row of the table, and these belong together: name the '
                'column that says whose they are in "split.key", such as the number of the image'
            )
        if self.split.key in {stacked.by, *stacked.columns, *stacked.parts}:
            raise ValueError(
                f'"split.key" names "{self.split.key}", by which rows that "source.stacked" makes of one would part: '
                "name a column that is the same for all labels of a row"
            )
        return self

    @model_validator(mode="after")
    def _rows_in_files_fit_the_rest(self) -> AuditSpec:
        where = None
        if self.engine.dask is not None:
            where = '"engine.dask"'
        elif self.room.memory == "out_of_core":
            where = '"clustering.memory: out_of_core"'
        if where is not None and self.bias_variable.is_of_places:
            raise ValueError(f"{where} {NEEDS_WHOLE_LISTS}")
        if where is not None and self.room.engine == "reference":
            raise ValueError(f'{where} goes with "clustering.engine: bdt"; reference needs all rows in memory')
        if where is not None and self.split.method == "stratified":
            raise ValueError(f'{where} goes with "split.method: hash" (or auto); stratified needs all rows in memory')
        return self

    def to_dict(self) -> dict[str, Any]:
        """The specification as plain JSON-able data, defaults written out."""
        return self.model_dump(mode="json")


def printed_specification(spec: AuditSpec) -> dict[str, Any]:
    """The specification without what says where and in how much room to work, and where reports are served."""
    plain = spec.to_dict()
    plain.pop("engine")
    plain.pop("keep")
    plain.pop("report_url")
    for key in ("memory", "memory_limit"):
        (plain["clustering"] or {}).pop(key, None)
    return plain


def reported_specification(spec: AuditSpec) -> dict[str, Any]:
    """The printed specification, with files named wherever on this machine they lie."""
    plain = printed_specification(spec)
    _name_places(plain["source"])
    _name_places(plain["source"]["join"] or {})
    _name_places(plain["inbox"] or {})
    _name_places(plain["about"])
    plain["seal"] = None if plain["seal"] is None else name_in_reports(plain["seal"])
    if isinstance((plain["local_bias"] or {}).get("embeddings"), str):
        _name_places(plain["local_bias"])
    return plain


def _name_places(section: dict[str, Any]) -> None:
    for key in ("path", "database", "folder", "embeddings", "model_file"):
        if section.get(key) is not None:
            section[key] = name_in_reports(section[key])
    if "arrays" in section:
        section["arrays"] = {column: name_in_reports(path) for column, path in section["arrays"].items()}
