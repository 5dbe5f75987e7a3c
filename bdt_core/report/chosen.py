"""Choices that templates can ask for: how numbers and names are written, and what is chosen to be shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from bdt_core import metrics, words
from bdt_core.report import (
    apart,
    calibration,
    characteristics,
    class_outcomes,
    clusters,
    declared,
    figures_of_depth,
    findings,
    groups,
    local_bias,
    main_test,
    mitigation,
    pooled_groups,
    ruled_out,
    selection_rules,
    slices,
    tree,
    verdict,
    wording,
    worst_groups,
)
from bdt_core.said import AsItIs
from bdt_core.spec import SAID
from bdt_core.verdict.words import check_in_words

FILTERS: Mapping[str, Callable[..., Any]] = {
    **{
        name: getattr(words, name)
        for name in (
            "capital",
            "count",
            "number",
            "p_number",
            "p_value",
            "percent",
            "signed",
            "size",
            "size_at_most",
            "uncapital",
            "value",
        )
    },
    "as_is": AsItIs,
    "level": wording.level,
    "first_few": lambda several, most: several[:most],
    "listed": wording.listed,
    "raw": lambda x: AsItIs(wording.raw(x)),
    "sentence": wording.sentence,
    "whole": wording.whole,
}
_SPEC_ORDER = (
    "name", "source", "bias_variable", "features", "protected", "missing", "split", "clustering",
    "significance", "groups", "legitimate", "characteristics", "worst_groups", "slices", "local_bias", "mitigation",
    "gate", "require", *SAID,
)  # fmt: skip


def specification(spec: Mapping[str, Any]) -> str:
    """The specification as YAML, in its usual order; what is null has its default, and what nobody said is left out."""
    import yaml

    known = sorted(spec, key=lambda key: (_SPEC_ORDER.index(key) if key in _SPEC_ORDER else len(_SPEC_ORDER), key))
    ordered = {key: _said(spec[key]) if key in SAID else _without_nulls(spec[key]) for key in known}
    ordered = {key: one for key, one in ordered.items() if key not in SAID or one}
    dumped: str = yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=100)
    return dumped.rstrip()


def _without_nulls(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _without_nulls(x[key]) for key in sorted(x) if x[key] is not None}
    if isinstance(x, list):
        return [_without_nulls(one) for one in x]
    return x


def _said(x: Any) -> Any:
    """Words for readers, without the keys for which there are none."""
    if not isinstance(x, dict):
        return x
    return {key: kept for key in sorted(x) if (kept := _said(x[key])) not in (None, [], {})}


TESTS: Mapping[str, Callable[..., bool]] = {"ratio": lambda metric: metric.endswith("_ratio")}
GLOBALS: Mapping[str, Any] = {
    "infinity": math.inf,
    "interval_note": wording.interval_note,
    "events_of": wording.events_of,
    "rows_told": wording.rows_told,
    "persons_told": wording.persons_told,
    "train_and_test": wording.train_and_test,
    "more_than_counted": wording.more_than_counted,
    "correction_words": wording.correction_words,
    "rule_fits": words.rule_fits,
    "specification": specification,
    "features_of": tree.features_of,
    "features_shown": tree.FEATURES_SHOWN,
    "difference": words.difference,
    "words": words,
    "figures_of_depth": figures_of_depth.figures_of_depth,
    "check_in_words": check_in_words,
    "of_apart": apart,
    "of_calibration": calibration,
    "of_characteristics": characteristics,
    "of_classes": class_outcomes,
    "of_clusters": clusters,
    "of_declared": declared,
    "of_findings": findings,
    "of_groups": groups,
    "of_local_bias": local_bias,
    "of_main_test": main_test,
    "of_mitigation": mitigation,
    "of_pooled_groups": pooled_groups,
    "of_ruled_out": ruled_out,
    "of_selection_rules": selection_rules,
    "of_slices": slices,
    "of_tree": tree,
    "of_verdict": verdict,
    "of_worst_groups": worst_groups,
    "metrics": metrics,
}
