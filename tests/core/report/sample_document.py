"""Documents written by hand, one for each shape that a report can take."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tests.core.report.sample_groups import groups_part, many_groups, metric_limit

Document = dict[str, Any]

HOSTILE = "<script>alert(\"x\")</script> & '$x_1$' #let @team *b* | `c` [l](http://e.vil) \\ ]]> --> \u202e"


def comparison(
    a: tuple[int, int] = (81, 203), b: tuple[int, int] = (140, 590), p: float = 1.2e-5, **changes: Any
) -> dict[str, Any]:
    """Events and rows of both sides."""
    rate_a, rate_b = a[0] / a[1], b[0] / b[1]
    gap = rate_a - rate_b
    return {
        "status": "tested",
        "reason": None,
        "kind": "binary",
        "test": "exact mid-p",
        "n_a": a[1],
        "n_b": b[1],
        "events_a": a[0],
        "events_b": b[0],
        "mean_a": rate_a,
        "mean_b": rate_b,
        "difference": gap,
        "low": gap - 0.07,
        "high": gap + 0.08,
        "confidence": 0.95,
        "ratio": rate_a / rate_b if rate_b else "Infinity",
        "ratio_low": 1.3,
        "ratio_high": 2.1 if rate_b else "Infinity",
        "effect_size": 2 * gap,
        "effect_name": "Cohen's h",
        "p_value": p,
        "minimum_detectable_difference": 0.11,
        "pooled_t": 20 * gap,
        "pooled_t_p_value": p,
        "welch_t": 19 * gap,
        "welch_t_p_value": p,
        **changes,
    }


def untested(rows: int, reason: str = "a side has fewer than 30 rows") -> dict[str, Any]:
    """A comparison that was not made."""
    numbers = (
        "events_a events_b mean_a mean_b difference low high ratio ratio_low ratio_high effect_size effect_name "
        "p_value minimum_detectable_difference pooled_t pooled_t_p_value welch_t welch_t_p_value test"
    )
    nothing = dict.fromkeys(numbers.split())
    return comparison(status="not_testable", reason=reason, n_a=rows, n_b=793 - rows, **nothing)


def continuous(mean_a: float, mean_b: float, half: float, **changes: Any) -> dict[str, Any]:
    """Means of a number."""
    gap = mean_a - mean_b
    return comparison(
        **{
            "kind": "continuous",
            "test": "Welch's t",
            "events_a": None,
            "events_b": None,
            "mean_a": mean_a,
            "mean_b": mean_b,
            "difference": gap,
            "low": gap - half,
            "high": gap + half,
            "ratio": None,
            "ratio_low": None,
            "ratio_high": None,
            "effect_size": gap / 12.0,
            "effect_name": "Hedges' g",
            "minimum_detectable_difference": 2.5 * half,
            **changes,
        }
    )


def cluster(label: int, compared: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A cluster with its comparison."""
    gap = compared["difference"]
    significant = None if gap is None else compared["p_value"] < 0.05
    return {
        "cluster": label,
        "train_rows": 4 * compared["n_a"],
        "train_mean": 0.41 - 0.05 * label,
        "train_gap": 0.17 - 0.08 * label,
        "test_rows": compared["n_a"],
        "test_mean": compared["mean_a"],
        "description": f"age up to {27 + label} and priors_count from {label}",
        "rule": {"text": f"age up to {27 + label} and priors_count from {label}", "precision": 0.9, "recall": 0.8},
        "stability": {"jaccard": 0.9 - 0.2 * label, "word": ("stable", "moderately stable")[min(label, 1)]},
        "path": ["age lower: mean 24 against 36", "priors_count higher: mean 4.1 against 0.9"],
        "profile": {"age": 24.1, "priors_count": 2.5, "c_charge_degree": "F"},
        "comparison": compared,
        "p_adjusted": compared["p_value"],
        "significant": significant,
        "worse": None if gap is None else gap > 0,
        "smallest_visible": None if gap is None else 1.2 * compared["minimum_detectable_difference"],
        **changes,
    }


def node(number: int, parent: int | None, children: list[int], label: int | None, gap: float) -> dict[str, Any]:
    """A node of the tree."""
    return {
        "id": number,
        "parent": parent,
        "children": children,
        "label": label,
        "rows": 3170 // (number + 1),
        "mean": 0.32 + gap / 2,
        "std": 0.46,
        "gap": gap,
        "step": None
        if parent is None
        else "age lower: mean 24 against 36; c_charge_degree is mostly 'F' rather than 'M'",
    }


def number_column(name: str, a: float, b: float, g: float, **changes: Any) -> dict[str, Any]:
    """A numeric column's difference."""
    return {
        "column": name,
        "role": "feature",
        "kind": "numeric",
        "status": "tested",
        "reason": None,
        "mean_cluster": a,
        "mean_rest": b,
        "comparison": continuous(a, b, 1.0, effect_size=g),
        "p_adjusted": 1e-9 if abs(g) > 0.3 else 0.4,
        "significant": abs(g) > 0.3,
        "effect": g,
        "effect_name": "Hedges' g",
        **changes,
    }


def category_column(name: str, levels: dict[str, tuple[int, int]], v: float, **changes: Any) -> dict[str, Any]:
    """A categorical column's difference; levels with their rows of 203 and of 590."""
    compared = {level: comparison((a, 203), (b, 590), p=0.001 if v > 0.1 else 0.6) for level, (a, b) in levels.items()}
    return {
        "column": name,
        "role": "feature",
        "kind": "categorical",
        "status": "tested",
        "reason": None,
        "effect": v,
        "effect_name": "Cramér's V",
        "p_adjusted": 0.004 if v > 0.1 else 1.0,
        "significant": v > 0.1,
        "table": {
            "method": "chi-squared",
            "chi2": 793 * v * v,
            "dof": len(levels) - 1,
            "p_value": 0.001,
            "cramers_v": v,
            "pearson_chi2": 793 * v * v,
            "pearson_p_value": 0.001,
        },
        "levels": [
            {
                "level": level,
                "rows": sum(levels[level]),
                "share_cluster": one["mean_a"],
                "share_rest": one["mean_b"],
                "comparison": one,
                "p_adjusted": one["p_value"],
                "significant": one["p_value"] < 0.05,
            }
            for level, one in compared.items()
        ],
        **changes,
    }


def fail() -> Document:
    """A rate, four clusters: one worse, one that says nothing, one too small to test, one better."""
    first = comparison()
    sentence = (
        "The false positive rate of cluster 0 is 16.2 points higher (worse) than everybody else's "
        "[95 % CI +9.2 to +24.2]; at most 5.0 points is allowed, and the whole interval is beyond it."
    )
    features = [
        number_column("age", 24.1, 36.0, -1.1),
        category_column(
            "race",
            {
                "African-American": (122, 236),
                "Caucasian": (50, 230),
                "(missing)": (25, 80),
                "(rare levels)": (6, 44),
            },
            0.21,
            role="protected",
        ),
        category_column("c_charge_degree", {"F": (120, 360), "M": (83, 230)}, 0.02),
        number_column("priors_count", 2.5, 2.4, 0.03),
        category_column(
            "language",
            {"English": (203, 590)},
            0.0,
            status="not_testable",
            reason="every row holds the same value",
            effect=None,
            effect_name=None,
            p_adjusted=None,
            significant=None,
            table=None,
        ),
    ]
    return {
        "schema_version": 2,
        "sentences": [],
        "name": "compas",
        "software": {"bdt": "0.1.0", "python": "3.11.7", "numpy": "2.4.0", "pandas": "3.1.1"},
        "spec": {
            "name": "compas",
            "source": {"path": "demo:compas", "separator": None, "encoding": None},
            "bias_variable": {
                "column": None,
                "derive": "false_positive_rate",
                "label": "two_year_recid",
                "prediction": "high_risk",
                "positive": None,
                "better": "lower",
            },
            "features": {"include": ["age", "priors_count", "c_charge_degree", "language"], "exclude": [], "kinds": {}},
            "protected": ["race"],
            "missing": "keep",
            "split": {"test_size": 0.2, "stratify": True, "random_state": 42, "repeats": 1},
            "clustering": {"method": "auto", "max_iter": 10, "min_cluster_size": None, "n_init": 10, "engine": "bdt"},
            "significance": {"alpha": 0.05, "test": "auto", "correction": "holm", "min_rows": 30},
            "groups": {"facets": None, "positive": None, "thresholds": {}, "reference": "largest group"},
            "gate": [{"check": "worst_cluster", "max_difference": 0.05, "inconclusive": "warn"}],
            "require": "all",
        },
        "data": {
            "source": "demo:compas",
            "fingerprint": "sha256:" + "9df37eff" * 8,
            "rows": 7214,
            "rows_audited": 3963,
            "rows_left_out": [{"reason": "two_year_recid is positive: outside the false positive rate", "rows": 3251}],
            "columns": [
                {"name": name, "role": role, "kind": kind, "missing": 0, "distinct": 65}
                for name, role, kind in (
                    ("age", "feature", "numeric"),
                    ("priors_count", "feature", "numeric"),
                    ("c_charge_degree", "feature", "categorical"),
                    ("race", "protected", "categorical"),
                    ("language", "feature", "categorical"),
                    ("two_year_recid", "label", None),
                    ("high_risk", "prediction", None),
                    ("person_id", "unused", None),
                )
            ],
        },
        "bias_variable": {
            "name": "false positive rate",
            "short": "FPR",
            "description": "share of people with a negative two_year_recid for whom high_risk is positive",
            "kind": "binary",
            "better": "lower",
            "train_mean": 0.32,
            "test_mean": 0.28,
            "unit": "rate",
        },
        "split": {
            "train_rows": 3170,
            "test_rows": 793,
            "test_size": 0.2,
            "stratified": True,
            "random_state": 42,
        },
        "verdict": {"verdict": "fail", "blocks": True, "sentence": sentence},
        "summary": {
            "headline": "Cluster 0: age up to 27 and priors_count from 0 (90.0 % of these people are in it; "
            "covers 80.0 %). On its 203 test rows FPR is 39.9 % against 23.7 % for everybody else, "
            "difference +16.2 points [95 % CI +9.2 to +24.2], p < 0.001.",
            "what_sets_apart": ["age: mean 24.1 against 36 (Hedges' g −1.1)"],
        },
        "gate": [
            {
                "kind": "cluster",
                "check": "worst_cluster",
                "cluster": 0,
                "limit": 0.05,
                "verdict": "fail",
                "blocks": True,
                "inconclusive": "warn",
                "sentence": sentence,
                "difference": first["difference"],
                "low": first["low"],
                "high": first["high"],
                "p_value": first["p_value"],
                "smallest_visible": 0.11,
            },
            metric_limit(),
            metric_limit(
                check="false_positive_rate_difference by race & sex",
                metric="false_positive_rate_difference",
                facet="race & sex",
                group="Caucasian & Female",
                minimum=-0.1,
                maximum=0.1,
                rule="point",
                verdict="pass",
                blocks=False,
                sentence="The value is within it.",
                value=-0.0562,
                low="-Infinity",
                high=0.0232,
                severity=None,
                left_out=[],
            ),
            metric_limit(
                check="auc by sex",
                metric="auc",
                facet="sex",
                group=None,
                verdict="not_testable",
                blocks=False,
                sentence="AUC by sex is not testable: no score column was named.",
                value=None,
                low=None,
                high=None,
                smallest_visible=None,
                severity=None,
                groups_judged=0,
                left_out=[],
            ),
        ],
        "search": {"method": "kprototypes", "engine": "bdt", "min_cluster_rows": 164},
        "stability": {"bootstraps": 50, "seeds": 5, "rows": 3170, "rand_bootstraps": 0.81, "rand_seeds": 0.9},
        "clusters": [
            cluster(0, first),
            cluster(1, comparison((90, 300), (131, 493), p=0.31)),
            cluster(2, untested(18)),
            cluster(3, comparison((22, 272), (199, 521), p=3e-9)),
        ],
        "tree": {
            "nodes": [
                node(0, None, [1, 2], None, 0.0),
                node(1, 0, [3, 4], None, 0.08),
                node(2, 0, [5, 6], None, -0.08),
                node(3, 1, [], 0, 0.17),
                node(4, 1, [], 1, 0.02),
                node(5, 2, [], 2, -0.01),
                node(6, 2, [], 3, -0.2),
            ]
        },
        "primary_test": {
            "what": "cluster 0, the most deviating on the train rows, against everybody else, on the test rows",
            "comparison": first,
            "reason": None,
            "repeated_splits": {
                "p_values": [1.2e-5, 0.03, None],
                "differences": [0.16, 0.09, None],
                "test_rows": [400, 320, 256],
                "together": first | {"difference": 0.11, "low": -0.01, "high": 0.23, "p_value": 0.06},
            },
            "permuted_procedure": {"permutations": 199, "statistic": 4.1, "p_value": 0.005},
            "shrinkage": {"train_gap": 0.21, "test_gap": 0.16},
        },
        "differences": {
            "cluster": 0,
            "rows_cluster": 203,
            "rows_rest": 590,
            "correction": "holm",
            "tests": 8,
            "bias_difference_significant": True,
            "features": features,
        },
        "proxies": [
            {
                "column": "race",
                "level": "African-American",
                "cluster": 0.6,
                "rest": 0.4,
                "difference": 0.2,
                "low": 0.12,
                "high": 0.28,
                "auc": 0.58,
                "auc_low": 0.55,
                "auc_high": 0.61,
                "p_adjusted": 0.001,
                "significant": True,
            }
        ],
        "groups": groups_part(),
        "warnings": ["Not tested, for too few test rows: cluster 2."],
    }


def with_verdict(verdict: str) -> Document:
    """The same clusters with another verdict, without declared groups."""
    document = {**fail(), "groups": None}
    document["verdict"] = {"verdict": verdict, "blocks": False, "sentence": f"This sentence says {verdict}."}
    document["gate"][0] |= {"verdict": verdict, "blocks": False, "sentence": document["verdict"]["sentence"]}
    document["gate"] = [document["gate"][0], {**document["gate"][0], "check": "any_cluster", "limit": 0.1}]
    return document


def not_testable() -> Document:
    """Cluster 0 is too small to test, and so is nothing else there to show."""
    document = with_verdict("not_testable")
    nothing = untested(12)
    document["clusters"] = [cluster(0, nothing), cluster(1, nothing)]
    document["primary_test"] |= {"comparison": nothing, "reason": nothing["reason"], "shrinkage": None}
    document["primary_test"] |= {"repeated_splits": None, "permuted_procedure": None}
    document["gate"] = [one | dict.fromkeys(("difference", "low", "high", "p_value")) for one in document["gate"]]
    document["summary"] = {"headline": "Cluster 0: not testable, too few rows.", "what_sets_apart": []}
    for one in document["differences"]["features"]:
        one |= {"status": "not_testable", "reason": "too few rows", "effect": None, "significant": None}
    document["differences"]["bias_difference_significant"] = None
    document["proxies"] = []
    return document


def one_cluster() -> Document:
    """The search found no split; stability was not measured; no limit is set."""
    document = not_testable()
    document["clusters"] = [cluster(0, untested(793, "there is nobody else"), stability=None, path=[])]
    document["tree"]["nodes"] = [node(0, None, [], 0, 0.0)]
    document["primary_test"] |= {"comparison": None, "reason": "the search found no way to divide the train rows"}
    document["differences"] |= {"features": [], "tests": 0}
    document["stability"] = None
    document["gate"], document["warnings"] = [], []
    document["spec"]["gate"] = []
    document["data"]["rows_left_out"] = []
    return document


def higher_is_better() -> Document:
    """A number of which more is better."""
    document = with_verdict("inconclusive")
    first = continuous(1834.0, 2410.5, 390.0, p_value=0.004)
    document["bias_variable"] = {
        "name": "income",
        "short": "income",
        "description": "mean of income",
        "kind": "continuous",
        "better": "higher",
        "train_mean": 2351.2,
        "test_mean": 2290.9,
        "unit": "value",
    }
    document["clusters"] = [
        cluster(0, first, worse=True),
        cluster(1, continuous(2300.0, 2290.0, 120.0, p_value=0.8), worse=False),
        cluster(2, continuous(2800.0, 2200.0, 200.0, p_value=1e-7), worse=False),
    ]
    document["primary_test"] |= {"comparison": first, "shrinkage": {"train_gap": 710.0, "test_gap": 576.5}}
    document["gate"] = [
        one | {"limit": limit, "difference": 576.5, "low": 186.5, "high": 966.5}
        for one, limit in zip(document["gate"], (250.0, 900.0), strict=True)
    ]
    return document


def infinite() -> Document:
    """Nobody else has an event: an infinite ratio; a constant column: an infinite effect; no grouping to compare."""
    document = fail()
    document["groups"]["facets"] = []
    first = comparison((30, 203), (0, 590), pooled_t="Infinity", welch_t="-Infinity")
    document["clusters"][0] = cluster(0, first)
    document["primary_test"]["comparison"] = first
    constant = number_column("constant", 3.0, 1.0, 2.0, effect="-Infinity")
    document["differences"]["features"].append(constant)
    return document


def wide() -> Document:
    """Forty features with long names, 30 clusters, a tree as deep as it can be, many levels, 70 long-named groups."""
    document = fail()
    long = "a_column_name_that_goes_on_" * 4
    names = [f"{long}{number:02}" for number in range(40)]
    levels = {f"level_{'w' * 60}_{number}": (5, 15) for number in range(50)}
    document["differences"]["features"] = [
        *(number_column(name, 1.0, 2.0, 1.0) for name in names[:20]),
        *(category_column(name, levels, 0.3) for name in names[20:]),
    ]
    document["data"]["columns"] = [
        {"name": name, "role": "feature", "kind": "numeric", "missing": 0, "distinct": 9} for name in names
    ]
    rule = " and ".join(f"{name} up to {place}" for place, name in enumerate(names[:3]))
    one = cluster(0, comparison(), description=rule, profile=dict.fromkeys(names, 1.0), path=[rule] * 12)
    document["clusters"] = [{**copy.deepcopy(one), "cluster": label} for label in range(30)]
    nodes = [node(0, None, [1, 2], None, 0.0)]
    for label in range(29):
        last = label == 28
        parent, leaf, inner = 2 * label, 2 * label + 1, 2 * label + 2
        nodes.append(node(leaf, parent, [], label, 0.1))
        nodes.append(node(inner, parent, [] if last else [inner + 1, inner + 2], 29 if last else None, -0.1))
    document["tree"]["nodes"] = nodes
    document["groups"] = many_groups(70)
    renamed(document["groups"], lambda name: f"{long}{name}")
    return document


def many() -> Document:
    """A facet of 5,000 groups."""
    return {**fail(), "groups": many_groups(5000)}


def renamed(part: Any, new: Callable[[str], str]) -> None:
    """Give every group, and every column of groups, another name in place."""
    for facet in part["facets"]:
        facet["facet"], facet["columns"] = new(facet["facet"]), list(map(new, facet["columns"]))
        facet["reference"], facet["notes"] = new(facet["reference"]), list(map(new, facet["notes"]))
        for one in facet["groups"]:
            one |= {"group": new(one["group"]), "values": list(map(new, one["values"]))}
        for metric in (*facet["against_reference"], *facet["clarify"]):
            for value in metric["values"]:
                value["group"] = value["group"] and new(value["group"])
        for one in facet["ranges"]:
            one["left_out"] = list(map(new, one["left_out"]))
        score = facet["bias_score"]
        score |= {"groups": list(map(new, score["groups"])), "excluded": list(map(new, score["excluded"]))}
        for one in score["parts"]:
            one |= {"lowest": new(one["lowest"]), "highest": new(one["highest"])}


def hostile() -> Document:
    """Every text that comes from the data or its user is an attack on some printed form."""
    document = fail()
    document["name"] = HOSTILE
    document["data"]["source"] = HOSTILE
    document["spec"]["source"]["path"] = HOSTILE
    document["bias_variable"] |= {"name": HOSTILE, "short": HOSTILE, "description": HOSTILE}
    document["warnings"] = [HOSTILE, "a line\nand another"]
    document["verdict"]["sentence"] = f"Verdict on {HOSTILE}"
    document["summary"] = {"headline": f"Headline of {HOSTILE}", "what_sets_apart": [HOSTILE]}
    for one in document["clusters"]:
        one |= {"description": HOSTILE, "path": [HOSTILE], "profile": {HOSTILE: HOSTILE}}
        one["rule"]["text"] = HOSTILE
    for one in document["tree"]["nodes"]:
        one["step"] = one["step"] and HOSTILE
    for one in document["differences"]["features"]:
        one["column"] = HOSTILE
        for level in one.get("levels", ()):
            level["level"] = HOSTILE
    for one in document["data"]["columns"]:
        one["name"] = HOSTILE
    document["proxies"][0] |= {"column": HOSTILE, "level": HOSTILE}
    renamed(document["groups"], lambda name: f"{HOSTILE} {name}")
    document["groups"] |= {"label": HOSTILE, "prediction": HOSTILE, "positive": [HOSTILE], "notes": [HOSTILE]}
    for one in document["gate"][1:]:
        one |= {"facet": HOSTILE, "group": HOSTILE, "sentence": HOSTILE, "left_out": [HOSTILE], "check": HOSTILE}
    return document


def unicode() -> Document:
    """Names in several alphabets; not all of them are in the fonts that come along."""
    document = {**fail(), "groups": None}
    for one, name in zip(
        document["differences"]["features"], ("возраст", "ηλικία", "العمر", "年齢", "größe √ 😀"), strict=True
    ):
        one["column"] = name
    return document


DOCUMENTS = {
    "fail": fail,
    "pass": lambda: with_verdict("pass"),
    "inconclusive": lambda: with_verdict("inconclusive"),
    "not_testable": not_testable,
    "one_cluster": one_cluster,
    "higher_is_better": higher_is_better,
    "infinite": infinite,
    "wide": wide,
    "hostile": hostile,
    "unicode": unicode,
}
