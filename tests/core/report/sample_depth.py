"""The parts of a sample document on intersections, local bias and mitigation, and documents that have them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

from bdt_core.groups.slices.search import IN_SAMPLE
from tests.core.report.sample_document import HOSTILE, comparison, continuous, fail, untested

Document = dict[str, Any]
CONDITIONS = (
    "age up to 25",
    "race is African-American",
    "priors_count from 5",
    "sex is f",
    "c_charge_degree is missing",
)
SMALL_GROUP = "Native American"


def condition(words: str) -> dict[str, Any]:
    """A condition of a value."""
    return {
        "column": words.split(" ")[0],
        "text": words,
        "kind": "value",
        "value": words.split(" ")[-1],
        "low": None,
        "high": None,
    }


def a_slice(conditions: tuple[str, ...], compared: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A slice with its comparison."""
    tested = compared["status"] == "tested"
    rows = compared["n_a"]
    return {
        "name": " and ".join(conditions),
        "conditions": list(map(condition, conditions)),
        "train_rows": 4 * rows + 1,
        "train_support": 0.0911,
        "train_value": 0.5123,
        "train_difference": 0.2456,
        "test_rows": rows,
        "test_support": rows / 793,
        "comparison": compared,
        "ratio_to_overall": 1.4321 if tested else None,
        "shrunken_difference": 0.87 * compared["difference"] if tested else None,
        "worse": True if tested else None,
        "weight": 1.25 if tested else None,
        "p_adjusted": compared["p_value"],
        "significant": compared["p_value"] < 0.1 if tested else None,
        "parent": None,
        "low": compared["low"] - 0.0123 if tested and compared["p_value"] < 0.1 else compared["low"],
        "high": compared["high"],
        **changes,
    }


def slices_part(conditions: int = 2) -> dict[str, Any]:
    """Reported ones, one within another, one that is not significant, one that could not be tested."""
    age, race, priors = CONDITIONS[:3]
    worst = CONDITIONS[:conditions]
    listed = [
        a_slice(worst, comparison((71, 90), (150, 703), 1e-7)),
        a_slice((race,), comparison((120, 300), (101, 493), 2e-5)),
        a_slice((race, priors), comparison((40, 97), (181, 696), 0.0042), parent=race),
        a_slice((priors,), comparison((35, 111), (186, 682), 0.31)),
        a_slice((age, priors), untested(7)),
    ]
    return {
        "metric": "mean",
        "metric_name": "mean of false positive rate",
        "better": "lower",
        "label": None,
        "prediction": None,
        "outcome": "false positive rate",
        "in_sample": False,
        "train_rows": 3170,
        "test_rows": 793,
        "left_out": 12,
        "train_value": 0.32,
        "test_value": 0.2787,
        "columns": [{"name": "age", "kind": "intervals", "conditions": [condition(age)], "other_rows": 17}],
        "excluded": [{"name": "person_id", "reason": "its values are nearly all different"}],
        "bins": 5,
        "max_conditions": 3,
        "min_rows": 30,
        "min_support": 0.01,
        "min_train_rows": 32,
        "max_tests": 100,
        "searched": 481,
        "tests": 95,
        "correction": "bh",
        "fdr": 0.1,
        "alpha": 0.05,
        "prior_mean": 0.0711,
        "prior_sd": 0.1655,
        "slices": listed,
        "lattice": lattice(worst, listed[0]["comparison"]),
        "reason": None,
        "warnings": [],
    }


def lattice(worst: tuple[str, ...], compared: dict[str, Any]) -> list[dict[str, Any]]:
    """All parts of the worst slice."""
    parts = [part for size in range(1, len(worst) + 1) for part in combinations(worst, size)]
    return [
        {
            "name": " and ".join(part),
            "conditions": list(map(condition, part)),
            "rows": 700 - 20 * number,
            "support": 0.5,
            "comparison": compared if part == worst else comparison((200 - 3 * number, 700 - 20 * number), (21, 93)),
        }
        for number, part in enumerate(parts)
    ]


def group_values(counts: dict[str, tuple[int, int]]) -> list[dict[str, Any]]:
    """The metric of groups by events and rows."""
    return [
        {"group": group, "rows": n, "counted": n, "events": events, "value": events / n if n else None}
        for group, (events, n) in counts.items()
    ]


def local_cluster(label: int | None, train: dict[str, Any], test: dict[str, Any], **held_out: Any) -> dict[str, Any]:
    """A cluster with the test of its gap."""
    return {
        "label": label,
        "train_rows": sum(n for _, n in train.values()),
        "test_rows": sum(n for _, n in test.values()),
        "train": group_values(train),
        "test": group_values(test),
        "train_gap": 0.2345,
        "test_gap": 0.1123,
        "held_out": {
            "status": "tested",
            "reason": None,
            "test": "exact mid-p",
            "higher": "Caucasian",
            "lower": "African-American",
            "train_gap": 0.2345,
            "counted_higher": 60,
            "counted_lower": 50,
            "gap": 0.1321,
            "low": -0.0432,
            "high": 0.2765,
            "p_value": 0.11,
            "p_adjusted": 0.22,
            "significant": False,
            "confirmed": False,
            "minimum_detectable_gap": 0.3141,
            **held_out,
        },
        "about": {
            "words": [],
            "nearest_rows": [12, 1345],
            "features": [
                feature("age", None, 24.1, 36.2, -1.1, 1e-9),
                feature("c_charge_degree", "F", 0.7123, 0.4567, 0.21, 0.002),
                feature("priors_count", None, 2.51, 2.44, 0.02, 0.8),
            ],
        },
    }


def feature(column: str, level: str | None, inside: float, outside: float, effect: float, p: float) -> dict[str, Any]:
    """What sets a cluster apart, or does not."""
    return {
        "column": column,
        "kind": "numeric" if level is None else "categorical",
        "level": level,
        "inside": inside,
        "outside": outside,
        "effect": effect,
        "effect_name": "Hedges' g" if level is None else "Cramér's V",
        "p_value": p,
        "p_adjusted": p,
    }


def gap_summary(bcr: float, p: float, **changes: Any) -> dict[str, Any]:
    """The published figures beside what chance gives."""
    return {
        "clusters": 3,
        "biased": round(3 * bcr),
        "bcr": bcr,
        "bir": 0.9 * bcr,
        "mean_gap": 0.1469,
        "largest_gap": 0.2467,
        "within_clusters": {
            "permutations": 999,
            "bcr": 0.6472,
            "bir": 0.6071,
            "mean_gap": 0.1056,
            "largest_gap": 0.1613,
            "p_bcr": p,
            "p_bir": p,
            "p_largest_gap": 0.0312,
        },
        "whole_search": None,
        **changes,
    }


def local_bias_part() -> dict[str, Any]:
    """A gap that is confirmed, one that is not, one turned round, one that cannot be tested; a small group."""
    train = {"African-American": (300, 500), "Caucasian": (330, 400), SMALL_GROUP: (3, 7)}
    test = {"African-American": (31, 50), "Caucasian": (46, 60), SMALL_GROUP: (1, 2)}
    clusters = [
        local_cluster(0, train, test, confirmed=True, significant=True, low=0.0123, p_adjusted=0.0031),
        local_cluster(1, train, test),
        local_cluster(2, train, test, significant=True, gap=-0.2111, low=-0.3222, high=-0.1001, p_adjusted=0.012),
        local_cluster(
            3, train, {**test, "Caucasian": (3, 4)}, status="not_testable", reason="4 test rows against 50",
            gap=None, low=None, high=None, p_value=None, p_adjusted=None, significant=None,
        ),
    ]  # fmt: skip
    shared = {"inertia": 8460.9, "merged": 2, "off_centre": 0.0169}
    return {
        "settings": {
            "group": "race",
            "embeddings": None,
            "n_clusters": 10,
            "weight": 0.05,
            "metric": "accuracy",
            "min_group_size": 20,
            "min_clusters": 5,
            "n_init": 10,
            "threshold": 0.05,
            "alpha": 0.05,
            "min_test_rows": 10,
            "permutations": 999,
            "refits": 0,
            "random_state": 42,
        },
        "groups": list(train),
        "train_rows": 5772,
        "test_rows": 1442,
        "left_out": {"without a group": 3},
        "everywhere": local_cluster(None, train, test),
        "logan": {
            "method": "LOGAN",
            "clusters": clusters,
            "train": gap_summary(1.0, 0.062),
            "test": gap_summary(0.8333, 0.646),
            "inertia_ratio": 1.0063,
            "confirmed": 1,
            **shared,
        },
        "kmeans": {
            "method": "k-means",
            "clusters": clusters[1:],
            "train": gap_summary(1.0, 0.055),
            "test": gap_summary(0.7222, 0.615),
            "inertia_ratio": 1.0,
            "confirmed": 0,
            **shared,
        },
        "notes": [f'Groups with fewer than 20 train rows count in no cluster: "{SMALL_GROUP}" (7).'],
    }


def estimate(x: float | str | None, half: float = 0.0612, reason: str | None = None) -> dict[str, Any]:
    """A metric with limits."""
    number = isinstance(x, float)
    return {
        "estimate": x,
        "low": max(x - half, 0.0) if number else x,
        "high": x + half if number else x,
        "n": 1433.0,
        "events": 646.0,
        "undefined_reason": reason,
    }


def change(metric: str, before: Any, after: Any, group: str | None = None, **both: Any) -> dict[str, Any]:
    """A metric before and after."""
    return {"metric": metric, "group": group, "before": estimate(before, **both), "after": estimate(after, **both)}


def threshold_group(group: str, before: Any, after: Any, newly: int | None, lost: int | None) -> dict[str, Any]:
    """What changes for a group; nothing that could be printed for a small one."""
    rates = () if newly is None else ("selection_rate", "true_positive_rate", "accuracy")
    return {
        "group": group,
        "train_rows": 1964,
        "test_rows": 490,
        "threshold_before": before,
        "threshold_after": after,
        "mixture": [[after, 1.0]] if after is not None else [[4.0, 0.25], [6.0, 0.75]],
        "selected_now": newly,
        "selected_no_longer": lost,
        "rates": [change(rate, 0.5123, 0.4321, group) for rate in rates],
    }


def mitigation_part() -> dict[str, Any]:
    """Thresholds that were measured: lots, nobody, a small group; undefined, infinite and named metrics."""
    gap = change("equal_opportunity_difference", 0.4362, 0.0817)
    return {
        "settings": {
            "group": ["race"],
            "score": "decile_score",
            "label": "two_year_recid",
            "prediction": "high_risk",
            "threshold": None,
            "positive": [1],
            "positive_prediction": [1],
            "constraint": "equal_opportunity",
            "tolerance": 0.05,
            "objective": "accuracy",
            "randomized": False,
            "favourable": None,
            "features": ["age"],
            "protected": ["race"],
            "metrics": ["DI"],
            "alpha": 0.05,
            "min_rows": 30,
            "random_state": 42,
        },
        "status": "measured",
        "reason": None,
        "present": 'the column "high_risk" (decile_score at or above 5, for everybody)',
        "train_rows": 5731,
        "test_rows": 1433,
        "missing": {"decile_score": 11},
        "left_out": [{"group": "Asian", "train_rows": 28, "test_rows": 4, "reason": "28 train rows; 30 are needed"}],
        "thresholds": {
            "train_gap": 0.0111,
            "groups": [
                threshold_group("African-American", 5.0, 7.0, 0, 155),
                threshold_group("Caucasian", 5.0, "Infinity", 0, 165),
                threshold_group("Hispanic", None, None, 9, 3),
                threshold_group(SMALL_GROUP, 5.0, "-Infinity", None, None),
            ],
            "gap": gap,
            "accuracy": change("accuracy", 0.6546, 0.6511, half=0.0251),
            "accuracy_change": estimate(-0.0035) | {"low": -0.0217, "high": 0.0146},
            "metrics": [
                change("demographic_parity_difference", 0.3512, 0.1087),
                gap,
                change("equal_opportunity_ratio", 0.3812, 0.8592),
                change("treatment_equality_difference", "Infinity", 0.7654),
                change("DI", 0.5432, None, "Hispanic", reason="nobody was selected"),
            ],
            "frontier": [
                {
                    "tolerance": tolerance,
                    "train_gap": gap_then,
                    "train_objective": 0.6588,
                    "thresholds": {"African-American": 6.0, "Caucasian": "Infinity"},
                    "gap": estimate(gap_then, 0.1012),
                    "accuracy": estimate(accuracy, 0.0262),
                }
                for tolerance, gap_then, accuracy in (
                    (1.0, 0.4918, 0.6546), (0.3, 0.2912, 0.6553), (0.1, 0.0813, 0.6518), (0.01, 0.0, 0.5492),
                )
            ],
        },
        "reweighing": {
            "rows": 5731,
            "cells": [
                {"group": "African-American", "label": 0, "rows": 1436, "expected": 1618.87, "weight": 1.1273},
                {"group": "African-American", "label": 1, "rows": 0, "expected": 12.3456, "weight": None},
            ],
            "empty": ["African-American, 1"],
        },
        "proxies": {
            "confidence": 0.95,
            "proxies": [
                proxy("priors_count", "AUC", 0.6153, 0.2305),
                proxy("age", "Cramér's V, bias-corrected", 0.0897, 0.0897),
                proxy("constant", None, None, None),
            ],
        },
        "notes": ["The rule needs the race of every person at the time of decision."],
        "recommendations": [
            {
                "check": "predictive_equality_difference by race",
                "verdict": "fail",
                "measured": True,
                "keeps_limit": "cannot tell",
                "text": "Thresholds by race on decile_score were measured to do this.",
            }
        ],
    }  # fmt: skip


def proxy(name: str, measure: str | None, value: float | None, strength: float | None) -> dict[str, Any]:
    """How well a feature tells race."""
    curve = measure == "AUC"
    return {
        "feature": name,
        "protected": "race",
        "measure": measure,
        "level": "African-American" if curve else None,
        "estimate": value,
        "low": 0.6026 if curve else None,
        "high": 0.6278 if curve else None,
        "strength": strength,
        "rows": 7214,
        "reason": None if measure else "it has one value",
    }


def deep() -> Document:
    """All three parts, without declared groups, which are long."""
    return {
        **fail(),
        "groups": None,
        "slices": slices_part(),
        "local_bias": local_bias_part(),
        "mitigation": mitigation_part(),
    }


def nothing_found() -> Document:
    """Nothing was tested, no cluster has two groups, no thresholds could be chosen."""
    document = deep()
    document["slices"] |= {"slices": [], "lattice": [], "tests": 0, "searched": 0, "reason": "no column is left"}
    local = document["local_bias"]
    train = {"African-American": (300, 500), "Caucasian": (3, 9)}
    few = local_cluster(
        0, train, train, status="not_testable", reason="fewer than two groups", higher=None, lower=None,
        gap=None, low=None, high=None, p_value=None, p_adjusted=None, significant=None, minimum_detectable_gap=None,
    )  # fmt: skip
    none = {"clusters": 0, "biased": 0, **dict.fromkeys(("bcr", "bir", "mean_gap", "largest_gap", "within_clusters"))}
    for method in ("logan", "kmeans"):
        local[method] |= {"clusters": [few | {"train_gap": None, "test_gap": None}], "confirmed": 0}
        local[method] |= {part: {**none, "whole_search": None} for part in ("train", "test")}
    local["everywhere"] = {**few, "label": None}
    document["mitigation"] |= {
        "status": "not_possible",
        "reason": "Thresholds by race need two groups with enough rows; none has.",
        "thresholds": None,
        "reweighing": None,
        "proxies": None,
        "recommendations": [],
        "notes": [],
    }
    return document


def in_sample() -> Document:
    """Slices that were tested on the rows they were found on."""
    document = deep()
    document["slices"] |= {"in_sample": True, "warnings": [IN_SAMPLE], "test_rows": 3170, "correction": "max-t"}
    return document


def many_slices(n: int = 200) -> Document:
    """So many reported slices, as many within the first of them, and long names."""
    document = deep()
    long = "a_column_name_that_goes_on_" * 3
    names = [(f"{long}{number:03} = {'x' * 40}", f"{long}other = 1") for number in range(n)]
    found = comparison((71, 90), (150, 703), 1e-7)
    document["slices"] |= {
        "slices": [
            *(a_slice(one, found) for one in names),
            *(a_slice((*one, "sex is f"), found, parent=" and ".join(names[0])) for one in names),
            *(a_slice((*one, "sex is m"), comparison((30, 90), (190, 703), 0.4)) for one in names),
        ],
        "lattice": lattice(names[0], found),
    }
    return document


def five_conditions() -> Document:
    """The largest lattice, of a slice of five conditions."""
    return {**deep(), "slices": slices_part(5)}


def of_values() -> Document:
    """A number of which more is better."""
    document = deep()
    document["bias_variable"] |= {"name": "income", "short": "income", "better": "higher", "unit": "value"}
    document["bias_variable"] |= {"kind": "continuous", "train_mean": 2351.2, "test_mean": 2290.9}
    found = continuous(1834.0, 2410.5, 390.0, p_value=0.004, n_a=90, n_b=703)
    worst = CONDITIONS[:2]
    document["slices"] |= {
        "better": "higher",
        "outcome": "income",
        "metric_name": "mean of income",
        "train_value": 2351.2,
        "test_value": 2290.9,
        "prior_mean": 88.8,
        "prior_sd": 312.7,
        "slices": [a_slice(worst, found)],
        "lattice": [{**one, "comparison": found} for one in lattice(worst, found)],
    }
    return document


def hostile_depth() -> Document:
    """Every name is an attack on some printed form."""
    return {**deep(), **{part: _attacked(one) for part, one in deep().items() if part in PARTS}}


PARTS = ("slices", "local_bias", "mitigation")
_KEPT = {
    "status", "metric", "kind", "correction", "better", "method", "constraint", "objective", "verdict", "keeps_limit",
    "measure",
}  # fmt: skip


def _attacked(x: Any, key: str = "") -> Any:
    if isinstance(x, dict):
        names = key in ("left_out", "thresholds", "missing") and all(
            isinstance(one, int | float) or one == "Infinity" for one in x.values()
        )
        return {f"{HOSTILE} {name}" if names else name: _attacked(one, name) for name, one in x.items()}
    if isinstance(x, list):
        return [_attacked(one, key) for one in x]
    return x if not isinstance(x, str) or key in _KEPT or x.endswith("Infinity") else f"{HOSTILE} {x}"


DEEP: dict[str, Callable[[], Document]] = {
    "deep": deep,
    "nothing_found": nothing_found,
    "in_sample": in_sample,
    "many_slices": many_slices,
    "five_conditions": five_conditions,
    "of_values": of_values,
    "hostile_depth": hostile_depth,
}
