"""The part of a sample document on declared groups, made from confusion counts."""

from __future__ import annotations

from typing import Any

Counts = tuple[int, int, int, int]  # true and false positives, false and true negatives

RACE = {
    ("African-American",): (900, 540, 360, 660),
    ("Asian",): (0, 0, 9, 23),  # nobody with a positive prediction
    ("Caucasian",): (330, 230, 300, 780),
    ("Native American",): (7, 3, 3, 5),
}
SEX = {("Female",): (190, 140, 110, 330), ("Male",): (1047, 633, 562, 1138)}
BOTH = {
    ("African-American", "Female"): (140, 90, 60, 170),
    ("African-American", "Male"): (760, 450, 300, 490),
    ("Asian", "Male"): (0, 0, 9, 23),
    ("Caucasian", "Female"): (47, 49, 49, 159),
    ("Caucasian", "Male"): (283, 181, 251, 621),
    ("Native American", "Female"): (3, 1, 1, 1),
    ("Native American", "Male"): (4, 2, 2, 4),
}
MIN_ROWS = 30
CONFIDENCE = 0.95
REASONS = {
    "positive_predictive_value": "nobody with a positive prediction",
    "false_discovery_rate": "nobody with a positive prediction",
}
CLARIFY = (
    "CDDL", "CI", "DPL", "JS", "KL", "KS", "LP", "TVD", "AD", "CDDPL", "DAR", "DCA", "DCR", "DI", "DPPL", "DRR", "FT",
    "RD", "SD", "TE",
)  # fmt: skip
CRITERIA = {
    "demographic_parity": "selection_rate",
    "equal_opportunity": "true_positive_rate",
    "predictive_equality": "false_positive_rate",
    "predictive_parity": "positive_predictive_value",
    "accuracy_equality": "accuracy",
    "equalized_odds": None,
    "treatment_equality": None,
}


def groups_part() -> dict[str, Any]:
    """Two facets and their intersection: a small group, undefined metrics, an infinite one."""
    return {
        "label": "two_year_recid",
        "prediction": "high_risk",
        "positive": [1],
        "score": None,
        "favourable": "negative",
        "stratum": None,
        "confidence": CONFIDENCE,
        "min_rows": MIN_ROWS,
        "notes": ['"age" is numeric and makes no groups by itself.'],
        "facets": [facet(("race",), RACE), facet(("sex",), SEX), facet(("race", "sex"), BOTH)],
    }


def facet(columns: tuple[str, ...], counts: dict[tuple[Any, ...], Counts]) -> dict[str, Any]:
    """One grouping with all its metrics."""
    groups = [group(values, one) for values, one in counts.items()]
    largest = max(groups, key=lambda one: one["rows"])
    small = [one["group"] for one in groups if one["rates"] is None]
    return {
        "facet": " & ".join(columns),
        "columns": list(columns),
        "rows": sum(map(sum, counts.values())) + 5,
        "missing": {**dict.fromkeys(columns, 0), "high_risk": 5},
        "reference": largest["group"],
        "notes": [f"{len(small)} small."] if small else [],
        "overall": rates(tuple(map(sum, zip(*counts.values(), strict=True))), only_estimates=True),
        "groups": groups,
        "against_reference": [
            metric(f"{rate}_{kind}", groups, largest, kind)
            for rate in rates((1, 1, 1, 1))
            if rate != "f1_score"
            for kind in ("difference", "ratio")
        ],
        "ranges": [
            span(f"{name}_{kind}", groups, rate, small, number)
            for number, (name, rate) in enumerate(CRITERIA.items())
            for kind in ("difference", "ratio")
        ],
        "clarify": [*(metric(name, groups, None, name) for name in CLARIFY), entropy()],
        "bias_score": bias_score(groups, small),
    }


def group(values: tuple[Any, ...], counts: Counts) -> dict[str, Any]:
    """A group with its rates; without, when it is small."""
    rows = sum(counts)
    return {
        "group": " & ".join(map(str, values)),
        "values": list(values),
        "rows": rows,
        "rates": None if rows < MIN_ROWS else rates(counts),
    }


def rates(counts: Counts, *, only_estimates: bool = False) -> dict[str, Any]:
    """Rates as the document has them."""
    tp, fp, fn, tn = counts
    n = tp + fp + fn + tn
    shares = {
        "selection_rate": (tp + fp, n),
        "true_positive_rate": (tp, tp + fn),
        "false_positive_rate": (fp, fp + tn),
        "positive_predictive_value": (tp, tp + fp),
        "false_discovery_rate": (fp, tp + fp),
        "accuracy": (tp + tn, n),
        "prevalence": (tp + fn, n),
    }
    found = {name: rate(name, events, among) for name, (events, among) in shares.items()}
    found["f1_score"] = rate("f1_score", 2 * tp, 2 * tp + fp + fn) | {"events": None}
    return {name: one["estimate"] for name, one in found.items()} if only_estimates else found


def rate(name: str, events: int, n: int) -> dict[str, Any]:
    """One rate with limits; undefined without anybody to count among."""
    if not n:
        nothing = dict.fromkeys(("estimate", "low", "high"))
        return {**nothing, "n": 0.0, "events": 0.0, "undefined_reason": REASONS[name]}
    x = events / n
    half = 1.1 / n**0.5
    return {
        "estimate": x,
        "low": max(x - half, 0.0),
        "high": min(x + half, 1.0),
        "n": float(n),
        "events": float(events),
        "undefined_reason": None,
    }


def metric(name: str, groups: list[dict[str, Any]], reference: dict[str, Any] | None, kind: str) -> dict[str, Any]:
    """A metric of every group; its numbers only need to differ from one another."""
    values = []
    for place, one in enumerate(groups):
        nothing = dict.fromkeys(("estimate", "low", "high", "together_low", "together_high"))
        shown = {"group": one["group"], "undefined_reason": None, **nothing}
        if one["rates"] is None:
            shown["undefined_reason"] = f"fewer than {MIN_ROWS} rows: not printed"
        elif one is reference:
            shown["undefined_reason"] = "the reference itself"
        elif name in ("CDDL", "CDDPL"):
            shown["undefined_reason"] = "no group column was named to compare within"
        elif one["rates"]["positive_predictive_value"]["estimate"] is None and name in ("DAR", "DCA"):
            shown["undefined_reason"] = "nobody with a positive prediction in d"
        else:
            x = round(0.01 * (sum(map(ord, name)) % 41) + 0.013 * place - 0.1, 4)
            x = abs(x) + 0.5 if kind in ("ratio", "DI") else x
            low, high = x - 0.0312, x + 0.0287
            shown |= {"estimate": x, "low": low, "high": high}
            shown |= {"together_low": low - 0.01, "together_high": high + 0.01}
            if name == "KL" and one["group"].startswith("Asian"):
                shown |= {"estimate": "Infinity", "high": "Infinity", "together_high": "Infinity"}
        values.append(shown)
    return {"metric": name, "values": values}


def span(name: str, groups: list[dict[str, Any]], rate: str | None, small: list[str], number: int) -> dict[str, Any]:
    """The range of a rate: found, not found, not found after correction, undefined, infinite."""
    shared = {"metric": name, "left_out": small, "p_value": 0.001, "p_adjusted": None, "significant": None}
    ratio = name.endswith("_ratio")
    known = [one["rates"][rate]["estimate"] for one in groups if rate and one["rates"]]
    if any(one is None for one in known):
        nothing = dict.fromkeys(("estimate", "low", "high", "p_value"))
        return {**shared, **nothing, "undefined_reason": "1 group with enough rows; two are needed"}
    if name.startswith("treatment"):
        x, low, high = (0.0, 0.0, 1.0) if ratio else ("Infinity", 0.0, "Infinity")
    elif ratio:
        x = min(known) / max(known) if known and max(known) else 0.4321
        low, high = 0.9 * x, 1.0
    else:
        x = max(known) - min(known) if known else 0.3987
        low, high = (max(x - 0.05, 0.0) if number != 1 else 0.0), x + 0.0611
    shared |= {"estimate": x, "low": low, "high": high, "undefined_reason": None}
    if ratio or name.startswith("equalized"):
        return shared
    return shared | {"p_adjusted": 0.002 * (1 + 20 * number), "significant": number < 2}


def entropy() -> dict[str, Any]:
    """Generalised entropy has one value, of no group."""
    one = {"group": None, "undefined_reason": None, "estimate": 0.1703, "low": 0.1631, "high": 0.1774}
    return {"metric": "GE", "values": [one | {"together_low": None, "together_high": None}]}


def bias_score(groups: list[dict[str, Any]], small: list[str]) -> dict[str, Any]:
    """A score above its noise floor."""
    known = [one for one in groups if one["rates"]]
    parts = []
    for name in ("selection_rate", "true_positive_rate", "false_positive_rate"):
        low, high = (find(known, key=lambda one, name=name: one["rates"][name]["estimate"]) for find in (min, max))
        value = high["rates"][name]["estimate"] - low["rates"][name]["estimate"]
        parts.append(
            {"name": name, "value": value, "signed": None, "low": 0.0, "high": 1.0,
             "lowest": low["group"], "highest": high["group"]}
        )  # fmt: skip
    return {
        "score": 0.3638,
        "severity": "severe",
        "undefined_reason": None,
        "low": 0.2733,
        "high": 0.4373,
        "confidence": CONFIDENCE,
        "noise_mean": 0.0415,
        "noise_high": 0.0687,
        "p_value": 0.0005,
        "demographic_parity_difference": 0.3787,
        "equalized_odds_difference": 0.3489,
        "calibration_difference": None,
        "disparate_impact_ratio": 0.3563,
        "adverse_impact": True,
        "weights": [0.5, 0.5, 0.0],
        "parts": parts,
        "groups": [one["group"] for one in known],
        "excluded": small,
        "warnings": ["No score column: the calibration difference is left out."],
    }


def metric_limit(**changes: Any) -> dict[str, Any]:
    """A limit on a metric of declared groups, as the gate judged it."""
    return {
        "kind": "metric",
        "check": "disparate_impact by race",
        "metric": "disparate_impact",
        "facet": "race",
        "group": "Caucasian",
        "minimum": 0.8,
        "maximum": None,
        "rule": "interval",
        "verdict": "fail",
        "blocks": True,
        "inconclusive": "warn",
        "sentence": "Disparate impact by race is 0.442 [95 % CI 0.339 to 0.568] for Caucasian; at least 0.8 is "
        "required, and the whole interval is beyond it. Not judged, for too few rows: Native American.",
        "value": 0.4424,
        "low": 0.3389,
        "high": 0.5678,
        "confidence": CONFIDENCE,
        "p_value": None,
        "smallest_visible": 0.6914,
        "severity": "high",
        "groups_judged": 3,
        "rows_seen": 7214,
        "rows_unseen": 0,
        "left_out": ["Native American"],
        **changes,
    }


def many_groups(n: int) -> dict[str, Any]:
    """A facet with very many groups, the last of them small."""
    counts = {(f"post code {i:05}",): (n - i, 7, 9, 5 + i % 3) for i in range(n)}
    return {**groups_part(), "facets": [facet(("post_code",), counts)]}
