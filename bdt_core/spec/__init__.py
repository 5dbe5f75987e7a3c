"""The audit specification: one file says what is audited, how, and what fails it."""

from bdt_core.metrics import GATE_METRICS
from bdt_core.spec.about import About, Label
from bdt_core.spec.audit_spec import (
    NEEDS_WHOLE_LISTS,
    SAID,
    UNANSWERED,
    AuditSpec,
    Better,
    BetterBy,
    BiasVariable,
    Clustering,
    Features,
    FoundBy,
    GroupsSection,
    Kind,
    SelectionRule,
    Significance,
    Split,
    printed_specification,
    reported_specification,
)
from bdt_core.spec.depth import LocalBiasSection, MitigationSection, SliceSearch, WorstGroupSearch
from bdt_core.spec.engine import DaskEngine, Engine
from bdt_core.spec.gate import (
    AnyLimit,
    FourFifthsLimit,
    GateLimit,
    Limit,
    LocalBiasLimit,
    MetricLimit,
    NumericLimit,
    SliceLimit,
    WorstGroupLimit,
)
from bdt_core.spec.keywords import SHORT, spec_of_keywords, with_derivation
from bdt_core.spec.language import LANGUAGES
from bdt_core.spec.production import AlertSeverity, HistorySection, Inbox, PartitionBy
from bdt_core.spec.reading import json_schema, load_spec, parse_spec, resolve_paths
from bdt_core.spec.section import Value
from bdt_core.spec.source import Join, Source, Stacked, TableSource

__all__ = [
    "GATE_METRICS",
    "LANGUAGES",
    "NEEDS_WHOLE_LISTS",
    "SAID",
    "SHORT",
    "UNANSWERED",
    "About",
    "AlertSeverity",
    "AnyLimit",
    "AuditSpec",
    "Better",
    "BetterBy",
    "BiasVariable",
    "Clustering",
    "DaskEngine",
    "Engine",
    "Features",
    "FoundBy",
    "FourFifthsLimit",
    "GateLimit",
    "GroupsSection",
    "HistorySection",
    "Inbox",
    "Join",
    "Kind",
    "Label",
    "Limit",
    "LocalBiasLimit",
    "LocalBiasSection",
    "MetricLimit",
    "MitigationSection",
    "NumericLimit",
    "PartitionBy",
    "SelectionRule",
    "Significance",
    "SliceLimit",
    "SliceSearch",
    "Source",
    "Split",
    "Stacked",
    "TableSource",
    "Value",
    "WorstGroupLimit",
    "WorstGroupSearch",
    "json_schema",
    "load_spec",
    "parse_spec",
    "printed_specification",
    "reported_specification",
    "resolve_paths",
    "spec_of_keywords",
    "with_derivation",
]
