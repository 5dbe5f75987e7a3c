#!/usr/bin/env -S python3 -I
"""Recompute the numbers of a bias audit from its table: python recompute.py report.json TABLE.csv [TABLE2.csv ...]

This file is no part of the audit tool. It needs NumPy and SciPy, imports nothing of the tool, and is written from the
tool's method pages and from the papers named beside the formulas; docs/for-others.md says what it recomputes.
Exit code: 0 if all that was recomputed agrees, 1 if something differs, 2 if a file cannot be read.
"""

import csv
import hashlib
import json
import math
import re
import sys
from collections import Counter
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, pairwise, permutations, product
from operator import mul
from pathlib import Path

import numpy as np
from scipy import optimize, spatial, special, stats

TOLERANCE = 1e-9  # of the larger of two numbers
WHOLE = re.compile(r"\s*[+-]?\d+\s*")
MISSING = re.compile(r"|#N/A( N/A)?|#NA|-?1\.#(IND|QNAN)|-?(NaN|nan)|<NA>|N/A|n/a|NA|NULL|null|None")
NUMBER, PADDED = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*"), re.compile(r"\s*[+-]?0\d")
SPAN = re.compile(  # an interval of numbers in words, of which thousands have commas
    r"(?P<least>N) to (?P<most>N)|from (?P<at_least>N)|(above (?P<above>N))?( and )?(up to (?P<up_to>N))?".replace(
        "N", r"-?[\d.]+(e[+-]?\d+)?"
    )
)
RATES = """selection_rate TP FP of TP FP FN TN; prevalence TP FN of TP FP FN TN; accuracy TP TN of TP FP FN TN;
    true_positive_rate TP of TP FN; false_negative_rate FN of TP FN; false_positive_rate FP of FP TN;
    true_negative_rate TN of FP TN; positive_predictive_value TP of TP FP; false_discovery_rate FP of TP FP;
    negative_predictive_value TN of FN TN; false_omission_rate FN of FN TN"""  # TP: true positives, and so on
RATES = {name: "".join(rest).split(" of ") for name, *rest in (one.split(maxsplit=1) for one in RATES.split(";"))}
CRITERIA = """demographic_parity selection_rate, four_fifths selection_rate, equal_opportunity true_positive_rate,
    predictive_equality false_positive_rate, equalized_odds true_positive_rate false_positive_rate,
    predictive_parity positive_predictive_value, accuracy_equality accuracy"""  # the rates that are to be equal
CRITERIA = {name: rates for name, *rates in map(str.split, CRITERIA.split(","))}
CRITERIA |= {"treatment_equality": ["false_negative_share"], "calibration": ["prevalence"]}
SHARES = {"false_negative_share": ["FN", "FN FP"], "f1_share": ["TP", "TP FP FN"]}  # with which something else rises
CLARIFY = """DPL prevalence, DPPL selection_rate, RD true_positive_rate, AD accuracy, SD true_negative_rate,
    DAR positive_predictive_value, DRR negative_predictive_value"""  # others less group; SD and DRR: group less others
CLARIFY = dict(map(str.split, CLARIFY.split(",")))
LONG_NAMES = """impact_ratio four_fifths_ratio, class_imbalance CI, difference_in_proportions_of_labels DPL, lp_norm LP,
    kullback_leibler_divergence KL, jensen_shannon_divergence JS, total_variation_distance TVD, kolmogorov_smirnov KS,
    conditional_demographic_disparity_in_labels CDDL, difference_in_positive_proportions_in_predicted_labels DPPL,
    conditional_demographic_disparity_in_predicted_labels CDDPL, difference_in_conditional_acceptance DCA,
    difference_in_conditional_rejection DCR, recall_difference RD, specificity_difference SD, flip_test FT,
    difference_in_acceptance_rates DAR, difference_in_rejection_rates DRR, accuracy_difference_clarify AD,
    treatment_equality_clarify TE, generalized_entropy GE, disparate_impact DI"""
LONG_NAMES = dict(map(str.split, LONG_NAMES.split(",")))
SIGNED = {*CLARIFY, "CI", "DCA", "DCR", "TE", "CDDL", "CDDPL", "FT", "calibration_gap"}  # either way from 0
SIGNED |= {f"{rate}_difference" for rate in RATES}
SCORES = "f1_score auc mean_score brier_score calibration_error calibration_gap observed_to_expected"
TOLERANCES = [0, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5]
COUNTED = {"exact mid-p", "exact mid-p of effective counts"}
WIDENED = {"any_cluster", "worst_slice", "local_bias", "four_fifths", "numeric_metric"}


# 1. Formulas; z is a quantile of the normal distribution ------------------------------------------------------------
def facet_name(facet):
    return " & ".join(facet["columns"])


def odds_of(share):
    return ratio(share, 1 - share)


def z_of(alpha, statements=1):
    """For two-sided intervals, of which so many are to hold at once (Bonferroni)."""
    return -float(special.ndtri(alpha / statements / 2))


def ratio(a, b):
    return a / b if b else math.inf if a > 0 else math.nan


def ends(values, names=("estimate", "low", "high")):
    return dict(zip(names, values, strict=True))


def wilson(x, n, z, jeffreys_below=0):
    """Rate x of n with score limits (Wilson 1927); of few rows Jeffreys' (Brown, Cai and DasGupta 2001)."""
    if n == 0:
        return math.nan, math.nan, math.nan
    centre, half = (x + z * z / 2) / (n + z * z), z / (n + z * z) * math.sqrt(x * (n - x) / n + z * z / 4)
    low, high = centre - half, centre + half
    if n < jeffreys_below:
        low, high = (float(special.betaincinv(x + 0.5, n - x + 0.5, special.ndtr(end))) for end in (-z, z))
    return x / n, 0.0 if x == 0 else low, 1.0 if x == n else high


@cache
def newcombe(x, n, y, m, z):
    """Rate x of n less rate y of m with its limits (Newcombe 1998, method 10)."""
    (p, p_low, p_high), (q, q_low, q_high) = wilson(x, n, z), wilson(y, m, z)
    return p - q, max(p - q - math.hypot(p - p_low, q_high - q), -1), min(p - q + math.hypot(p_high - p, q - q_low), 1)


def without_sign(gap, low, high):
    """The size of a difference, and its limits."""
    return abs(gap), max(low, -high, 0.0), max(abs(low), abs(high))


@cache
def koopman(x, n, y, m, z):
    """Limits of the ratio of two rates, x of n over y of m: where its score statistic is z squared (Koopman 1984)."""

    def off(k, of, rate):  # a square of the score; where all k of k have it, without 0 / 0 at a rate of 1
        return of * (1 - rate) / rate if k == of else (k - of * rate) ** 2 / (of * rate * max(1 - rate, 1e-300))

    def beyond(log_ratio):  # with both rates as likely as they can be under that ratio
        r = math.exp(log_ratio)
        a, b = r * (n + m), -(r * (n + y) + m + x)
        q = 2 * (x + y) / (-b + math.sqrt(b * b - 4 * a * (x + y)))
        p = r * q
        return off(x, n, p) + off(y, m, q) - z * z

    centre = math.log(ratio(x or 0.5, n) / ratio(y or 0.5, m))
    low = math.exp(optimize.brentq(beyond, centre - 40, centre, xtol=1e-13)) if x else 0.0
    return low, math.exp(optimize.brentq(beyond, centre, centre + 40, xtol=1e-13)) if y else math.inf


@cache
def mover(x, n, y, m, z):
    """Limits of a ratio of two rates from Wilson's of each."""
    return over(*wilson(x, n, z), *wilson(y, m, z))


def over(a, a_low, a_high, b, b_low, b_high):
    """Limits of a ratio from those of each side, joined by MOVER-R (Donner and Zou 2012)."""

    def parts(p, q):  # p of the numerator, q of the denominator
        return p * (2 * a - p), q * (2 * b - q)

    product, (up, down), (top, bottom) = a * b, parts(a_low, b_high), parts(a_high, b_low)
    low = up / (product + math.sqrt(max(product**2 - up * down, 0))) if a_low > 0 else 0.0
    return low, (product + math.sqrt(max(product**2 - top * bottom, 0))) / bottom if b_low > 0 else math.inf


@cache
def for_all(counts, reference, alpha):
    """The quantile for all comparisons of groups: with one of them Dunnett's (1955), with the rest Šidák's (1967)."""
    variances = [(x + 1) * (n - x + 1) / (n + 2) ** 3 if n else math.nan for x, n in counts]
    usable = [v for i, v in enumerate(variances) if i != reference and v > 0]
    if reference is None or not usable or math.isnan(variances[reference]):
        return -float(special.ndtri((1 - (1 - alpha) ** (1 / (len(usable) if len(usable) > 2 else 1))) / 2))
    shared = np.minimum(np.sqrt(variances[reference] / np.array(usable)), 0.98 / math.sqrt(1 - 0.98**2))
    z = np.linspace(-8, 8, 321)[:, None]  # of the reference's error, given which the differences are independent

    def missed(c):
        reach, centre = c * np.sqrt(1 + shared**2), z * shared
        inside = np.prod(special.ndtr(reach - centre) - special.ndtr(-reach - centre), axis=1)
        return inside @ np.exp(-(z[:, 0] ** 2) / 2) * 0.05 / math.sqrt(2 * math.pi) - (1 - alpha)

    return optimize.brentq(missed, 1.0, 10.0, xtol=1e-13)


@cache
def for_pairs(groups, alpha):
    """The quantile for all pairs of groups (Tukey's; Hayter 1984), from the range of as many normal errors."""
    z = np.linspace(-9, 9, 181)

    def missed(c):
        within = special.ndtr(z) - special.ndtr(z - c * math.sqrt(2))
        return groups * within ** (groups - 1) @ np.exp(-(z**2) / 2) * 0.1 / math.sqrt(2 * math.pi) - (1 - alpha)

    return optimize.brentq(missed, 1.0, 10.0, xtol=1e-13)


def span_of(counts, what, alpha, changes=None):
    """The largest difference or the smallest ratio of rates, each x of n, or of what rises with them."""
    z = for_pairs(len(counts), alpha)
    changes = changes or [float] * len(counts)
    return spread_of([tuple(map(change, wilson(*one, z))) for one, change in zip(counts, changes, strict=True)], what)


def spread_of(groups, what):
    """The largest difference or the smallest ratio of groups' values, with limits from those of all pairs."""
    (least, most), of_pair = (f(one[0] for one in groups) for f in (min, max)), joined if what == "difference" else over
    if math.isinf(most):
        return (math.inf, 0.0, math.inf) if what == "difference" else (0.0, 0.0, 1.0)
    limits = [of_pair(*one, *other) for one, other in permutations(groups, 2)]
    low, high = (max(one) for one in zip(*limits, strict=True))
    if what == "difference":
        return most - least, max(low, 0.0), high
    return (least / most, 1 / high, 1 / max(low, 1.0)) if most else (math.nan,) * 3


@cache
def t_tests(x, n, y, m):
    """Welch's t of two rates, and Student's with one variance, with two-sided p-values; {} where nothing varies."""
    (p, v), (q, w) = ((k / of, k / of * (1 - k / of) / (of - 1) if of > 1 else math.nan) for k, of in ((x, n), (y, m)))
    if not v + w > 0:
        return {}
    pooled = (n * (n - 1) * v + m * (m - 1) * w) / (n + m - 2) * (1 / n + 1 / m)
    degrees = (v + w) ** 2 / (v * v / (n - 1) + w * w / (m - 1))
    out = {}
    for name, variance, df in (("welch_t", v + w, degrees), ("pooled_t", pooled, n + m - 2)):
        out[name] = (p - q) / math.sqrt(variance)
        out[f"{name}_p_value"] = 2 * float(special.stdtr(df, -abs(out[name])))
    return out


def variances(n, m, gap, welch_t, pooled_t):
    """The variances of two samples from Welch's t and Student's, which weigh them differently."""
    whole, pooled = ((gap / t) ** 2 if t else math.nan for t in (welch_t, pooled_t))
    parts, together = ((n - 1) * n, (m - 1) * m), pooled * (n + m - 2) / (1 / n + 1 / m)
    if not whole > 0 or abs(parts[0] - parts[1]) < 0.01 * sum(parts):
        raise Skip("means without t statistics, or of as many people")
    v = n * (together - parts[1] * whole) / (parts[0] - parts[1])
    return v, m * (whole - v / n)


def of_means(part):
    """A difference of two means by Welch (1947): g with its small-sample factor (Hedges 1981), t, p, limits.

    The report holds no variances; they follow from its two t statistics, so that what else it says has to fit them.
    """
    n, m, gap = part["n_a"], part["n_b"], part["mean_a"] - part["mean_b"]
    by = part.get("persons") or {"design_effect": 1, "df": None}  # the variances of t statistics are then by person
    if by["df"] is None:
        v, w = variances(n, m, gap, part["welch_t"], part["pooled_t"])
        whole, spread = v / n + w / m, ((n - 1) * v + (m - 1) * w) / (n + m - 2)
        degrees = whole**2 / ((v / n) ** 2 / (n - 1) + (w / m) ** 2 / (m - 1)) if n > 1 and m > 1 else math.nan
    elif part["welch_t"] and part["pooled_t"]:
        whole, degrees = (gap / part["welch_t"]) ** 2, by["df"]
        spread = (gap / part["pooled_t"]) ** 2 / by["design_effect"] / (1 / n + 1 / m)
    else:
        raise Skip("means without t statistics, or of as many people")
    half = (n + m - 2) / 2
    small = math.exp(special.gammaln(half) - special.gammaln(half - 0.5)) / math.sqrt(half)

    reach = float(special.stdtrit(degrees, (1 + part["confidence"]) / 2))
    seen = reach + float(special.stdtrit(degrees, 0.8))
    mine = {"effect_size": gap / math.sqrt(spread) * small, "minimum_detectable_difference": math.sqrt(whole) * seen}
    mine |= {
        f"{name}_p_value": 2 * float(special.stdtr(df, -abs(part[name])))
        for name, df in (("welch_t", degrees), ("pooled_t", by["df"] or n + m - 2))
    }
    mine["pooled_t"] = part["effect_size"] / small / math.sqrt((1 / n + 1 / m) * by["design_effect"])
    mine["welch_t"] = gap / part["minimum_detectable_difference"] * seen
    reach *= math.sqrt(whole)
    return mine | {"difference": gap, "low": gap - reach, "high": gap + reach}


def effective(test, alpha):
    """Events and rows of either side: as many rows of different persons as say as much (Rao and Scott 1992).

    Where persons have several rows, intervals are by t with the degrees of freedom of persons.
    """
    by, shrink = test.get("persons"), 1
    if by and by["design_effect"] is not None:
        shrink = by["design_effect"] * float(special.stdtrit(by["df"], 1 - alpha / 2) / z_of(alpha)) ** 2
    return [test[name] / shrink for name in ("events_a", "n_a", "events_b", "n_b")]


def t_of_means(n, mean, v, m, other, w):
    """Welch's t of two means, and Student's, from rows, means and variances."""
    pooled = ((n - 1) * v + (m - 1) * w) / (n + m - 2) * (1 / n + 1 / m)
    return {
        name: (mean - other) / math.sqrt(x) if x else math.nan
        for name, x in (("welch_t", v / n + w / m), ("pooled_t", pooled))
    }


def moments(x):
    """Rows, mean and variance."""
    return len(x), x.mean(), np.var(x, ddof=1) if len(x) > 1 else math.nan


def classical(tests, effect, df):
    """Student's and Welch's t of persons with several rows, from those of the rows."""
    out = {name: t / math.sqrt(effect) for name, t in tests.items() if name in ("welch_t", "pooled_t")}
    return out | {f"{name}_p_value": 2 * float(special.stdtr(df, -abs(t))) for name, t in out.items()}


def roundest(low, high):
    """The number with the fewest digits from low to high; of several the one nearest to their middle."""
    middle, power = low + 0.5 * (high - low), math.floor(math.log10(max(abs(low), abs(high), 1e-300))) + 1
    steps = [x * 10.0**k for k in range(power, power - 17, -1) for x in ((5, 2.5, 1) if k < 0 else (5, 1))]
    tried = (float(f"{round(middle / step) * step:.15g}") for step in steps)
    return low if low == high else next((x for x in tried if low <= x <= high), middle)


@cache
def detectable(rate, n, m, alpha, power=0.8):
    """The difference from a rate, towards one half, that is found with this power (Cohen 1988, chapter 6)."""
    start = math.asin(math.sqrt(min(rate, 1 - rate)))
    end = start + (z_of(alpha) + float(special.ndtri(power))) * math.sqrt(1 / n + 1 / m) / 2
    return math.inf if end > math.pi / 2 else math.sin(end) ** 2 - math.sin(start) ** 2


@cache
def mid_p(x, n, y, m):
    """Two-sided mid-p of equal rates: twice the smaller side of the hypergeometric distribution (Lancaster 1961)."""
    k = np.arange(max(0, x + y - m), min(n, x + y) + 1)
    steps = np.log((x + y - k[:-1]) * (n - k[:-1])) - np.log(k[1:] * (m - x - y + k[1:]))
    log_p = np.concatenate([[0.0], np.cumsum(steps)])
    half = log_p[k == x] - math.log(2)
    side = min(special.logsumexp([*half, *log_p[one]]) for one in (k < x, k > x))
    return min(1.0, 2 * math.exp(side - special.logsumexp(log_p)))


@cache
def nearest_gap(gap, rows, events):
    """The difference of two rates that is nearest to one, where so many rows with so many events fall in two groups.

    With it the counts, x of n less y of m, that have it.
    """
    n, x = np.arange(1, rows)[:, None], np.arange(events + 1)[None]
    apart = np.where((x <= n) & (events - x <= rows - n), x / n - (events - x) / (rows - n), np.inf)
    nearest = apart.flat[np.argmin(abs(apart - gap))]
    return float(nearest), [
        (int(k), int(of) + 1, events - int(k), rows - int(of) - 1)
        for of, k in np.argwhere(abs(apart - nearest) < 1e-12)
    ]


def equal_rates(counts):
    """p-value of one rate for all groups, by chi-squared (Pearson 1900), of drawn tables where events are few."""
    x, n = np.array(counts, dtype=float).reshape(-1, 2).T
    rate = ratio(x.sum(), n.sum())
    if len(n) < 2 or rate in (0, 1):
        return None if len(n) < 2 else 1.0
    chi2 = ((x - n * rate) ** 2 / n).sum() / rate / (1 - rate)
    if min(n) * min(rate, 1 - rate) >= 5 or any(n % 1 + x % 1):  # or rows that are worth less than whole ones
        return float(stats.chi2.sf(chi2, len(n) - 1))
    if len(n) > 200:
        return None
    n = n[np.lexsort((x, n))]
    drawn = np.random.default_rng(0).multivariate_hypergeometric(n.astype(int), int(x.sum()), 9999, method="marginals")
    by_chance = ((drawn - n * rate) ** 2 / n).sum(axis=1) / rate / (1 - rate)
    return (1 + int((by_chance >= chi2 * (1 - 1e-9)).sum())) / 10_000


def chi_squared(x, y, seed):
    """p-value of a table of two columns (Pearson 1900); drawn with its margins where fewer than 5 are expected."""
    n, m, totals = x.sum(), y.sum(), (x + y)[x + y > 0].astype(int)
    expected = (x + y)[x + y > 0] * n / (n + m)
    statistic = ((x[x + y > 0] - expected) ** 2 / expected).sum() * (n + m) / m
    if len(totals) < 2 or min(totals) * min(n, m) / (n + m) >= 5:
        return float(special.chdtrc(len(totals) - 1, statistic)) if len(totals) > 1 else 1.0
    draws, size = min(9_999, max(999, 10_000_000 // len(totals))), int(min(n, m))
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(totals, size, size=draws, method="marginals")
    expected = totals * size / (n + m)
    as_large = ((drawn - expected) ** 2 / expected).sum(axis=1) * (n + m) / (n + m - size) >= statistic * (1 - 1e-9)
    return (1 + int(as_large.sum())) / (1 + draws)


def holm(p_values):
    """Adjusted for their number (Holm 1979)."""
    out, worst = list(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(out)), key=out.__getitem__)):
        worst = out[i] = min(1.0, max(worst, (len(out) - rank) * out[i]))
    return out


def adjusted(p_values, correction):
    """Adjusted by Holm's method, by Benjamini and Hochberg's, by Bonferroni's, or not at all."""
    if correction in ("holm", "bh"):
        return (holm if correction == "holm" else benjamini_hochberg)(p_values)
    return [min(1.0, p * (len(p_values) if correction == "bonferroni" else 1)) for p in p_values]


def benjamini_hochberg(p_values):
    """Adjusted for the false discovery rate (Benjamini and Hochberg 1995)."""
    out, least, n = list(p_values), 1.0, len(p_values)
    for rank, i in enumerate(sorted(range(n), key=out.__getitem__, reverse=True)):
        least = out[i] = min(least, n * out[i] / (n - rank))
    return out


def student(x, alpha):
    """A mean with Student's limits."""
    return x.mean(), *around(x.mean(), np.var(x, ddof=1), len(x), alpha)


def around(mean, variance, n, alpha):
    """Student's limits of a mean of as much as n rows."""
    reach = float(special.stdtrit(n - 1, 1 - alpha / 2)) * math.sqrt(max(variance, 0.0) / n)
    return mean - reach, mean + reach


def fewer_by_person(people, rows, events=None):
    """What counts of rows are divided by to be those of different persons, where persons have several rows.

    The variance between persons over that of as many different ones (Liang and Zeger 1986; Rao and Scott 1992), and
    what Student's t is wider than the normal where they are few. Without events, or where all rows are events or none
    is, a person's rows count as all alike.
    """
    if people is None or not rows.any():
        return 1.0
    there, whose, of_each = np.unique(people[rows], return_inverse=True, return_counts=True)
    n = rows.sum()
    effect = alike = (of_each**2).sum() / n
    had = 0 if events is None else np.bincount(whose, events[rows])
    rate = np.sum(had) / n
    if 0 < rate < 1 and len(there) > 1:
        between = ((had - rate * of_each) ** 2).sum() * len(of_each) / (len(of_each) - 1)
        effect = between / (n * rate * (1 - rate))
    wider = special.stdtrit(max(n / alike - 1, 1), 0.975) / special.ndtri(0.975)
    return max(float(effect), 1.0) * float(wider) ** 2


def gap_limits(share, mean, variance, n, alpha):
    """Limits of a share less a mean score: the wider of Student's and of Wilson's (Hoeffding 1956)."""
    _, low, high = wilson(share * n, n, z_of(alpha))
    of_mean = around(share - mean, variance, n, alpha)
    return min(of_mean[0], low - mean), max(of_mean[1], high - mean)


def score_limits(y, s, alpha, occupied, per_row=1.0):
    """Limits of metrics of scores (docs/worst-groups.md): Student's of means, Wilson's of shares of positives.

    `occupied` is the largest number of tenths that any group has rows in (Šidák 1967); each row is worth `per_row`.
    """
    n, z, worth = len(y), z_of(alpha), len(y) * per_row
    grow, bins = worth / (worth - 1), (s * 10).clip(max=9).astype(int)
    brier, gap, mean = ((y - s) ** 2).mean(), y.mean() - s.mean(), s.mean()
    fourth = low = high = 0.0
    each = -float(special.ndtri((1 - (1 - alpha) ** (1 / occupied)) / 2))
    for tenth in np.unique(bins):
        here = bins == tenth
        for label in (0, 1):  # the spread of squared errors, from mean and variance of the scores of a tenth and label
            part = s[here & (y == label)]
            apart, inner = (part.mean() - label, part.var()) if len(part) else (0.0, 0.0)
            fourth += len(part) * (apart**4 + 6 * apart**2 * inner + 3 * inner**2) / n
        _, *limits = wilson(y[here].sum() * per_row, here.sum() * per_row, each)
        lower, upper = (end - s[here].mean() for end in limits)
        low += here.sum() / n * max(0.0, lower, -upper)
        high += here.sum() / n * max(abs(lower), abs(upper))
    _, *limits = wilson(y.mean() * worth, worth, z)
    out = {"calibration_error": (low, min(high, 1.0)), "observed_to_expected": [ratio(x, mean) for x in limits]}
    out["mean_score"] = around(mean, s.var() * grow, worth, alpha)
    out["brier_score"] = around(brier, (fourth - brier**2) * grow, worth, alpha)
    for name in ("mean_score", "brier_score"):
        out[name] = max(out[name][0], 0.0), min(out[name][1], 1.0)
    return out | {"calibration_gap": gap_limits(y.mean(), mean, (brier - gap**2) * grow, worth, alpha)}


def area_limits(y, s, alpha, people=None):
    """Limits of the area under the curve: Wilson's for as many rows as its variance is worth (Mee 1990).

    The variance is DeLong's (1988), of persons Obuchowski's (1997); near 0 and 1 the rows of the smaller group count
    more, which bound it (Birnbaum and Klose 1957).
    """
    sides = s[y == 1], s[y == 0]
    placed = []
    for one, other in (sides, sides[::-1]):
        ordered = np.sort(other)
        placed.append(sum(np.searchsorted(ordered, one, side) for side in ("left", "right")) / 2 / len(other))
    area, fewest = placed[0].mean(), min(map(len, placed))

    def worth(variance, fewest):
        if not (variance > 0 and 0 < area < 1):
            return fewest
        weight = fewest * min(area, 1 - area)
        weight /= weight + 0.5
        return max(area * (1 - area) / variance, fewest) ** weight * fewest ** (1 - weight)

    rows = worth(sum(one.var(ddof=1) / len(one) for one in placed) if fewest > 1 else math.nan, fewest)
    if people is not None:
        whose = people[y == 1], people[y == 0]
        variance, df, each = spread_by_person(*zip(whose, placed, strict=True))
        rows = min(rows, worth(variance, min(each))) / few_people(df, alpha)
    return wilson(area * rows, rows, z_of(alpha))[1:]


def spread_by_person(*sides):
    """Variance of a difference of means of (people, values), its degrees of freedom, and what rows of each side are.

    A person adds his rows' distances from the mean of their side (Liang and Zeger 1986); Satterthwaite's degrees of
    freedom; each side is worth so many rows of different persons if all rows of a person are alike (Kish 1965).
    """
    size = max(people.max() for people, _ in sides) + 1
    total, weights, worth = np.zeros(size), np.zeros(size), []
    for sign, (people, x) in zip((1, -1), sides, strict=False):
        of_each, n = np.bincount(people, minlength=size), len(x)
        there = (of_each > 0).sum()
        own = np.bincount(people, x - x.mean(), size) / n
        total += sign * math.sqrt(there / max(there - 1, 1)) * own
        weights += (of_each / n) ** 2
        worth.append(n**2 / (of_each**2).sum())
    return (total**2).sum(), max(weights.sum() ** 2 / (weights**2).sum() - 1, 1.0), worth


def few_people(df, alpha):
    """What rows are divided by where their variance has few degrees of freedom: squared t over normal."""
    return (float(special.stdtrit(df, 1 - alpha / 2)) / z_of(alpha)) ** 2


def counts_of_people(people, has, a, b, alpha, level=None):
    """Events and rows of two groups, as of so many different persons (Rao and Scott 1992)."""
    counts = [int(f(has[rows])) for rows in (a, b) for f in (np.sum, len)]
    if people is None:
        return counts
    variance, df, worth = spread_by_person(*((people[rows], has[rows].astype(float)) for rows in (a, b)))
    x, n, y, m = counts
    alone = [k / of_k * (1 - k / of_k) / of_k for k, of_k in ((x, n), (y, m))]
    all_alike = sum(1 / one for one in worth) / (1 / n + 1 / m)  # where nothing varies, nobody knows how alike rows are
    effect = max(1.0, all_alike if 0 in alone else 1.0, variance / sum(alone) if sum(alone) else 1.0)
    return [one / (effect * few_people(df, level or alpha)) for one in counts]


def mean_of_people(people, x, alpha, is_rate):
    """A mean with its limits, Wilson's of a rate and else Student's, by person where persons have several rows."""
    if people is None:
        return wilson(int(x.sum()), len(x), z_of(alpha)) if is_rate else student(x, alpha)
    variance, df, worth = spread_by_person((people, x))
    if is_rate:
        rate, n = x.mean(), len(x)
        effect = max(1.0, variance * n / (rate * (1 - rate))) if 0 < rate < 1 else n / worth[0]
        return wilson(*(k / effect / few_people(df, alpha) for k in (x.sum(), n)), z_of(alpha))
    reach = float(special.stdtrit(df, 1 - alpha / 2)) * math.sqrt(max(variance, x.var(ddof=1) / len(x)))
    return x.mean(), x.mean() - reach, x.mean() + reach


def rates_apart(people, y, a, b, alpha, statements):
    """p-value of a difference of two rates, and its limits among so many that hold at once."""
    of_all = newcombe(*counts_of_people(people, y, a, b, alpha, alpha / statements), z_of(alpha, statements))
    return mid_p_of(*counts_of_people(people, y, a, b, alpha)), *of_all[1:]


def means_apart(people, y, a, b, alpha, statements):
    """The same of two means, by Welch (1947) or by person; no p-value where skewed ones are permuted."""
    gap, rows = y[a].mean() - y[b].mean(), (a.sum(), b.sum())
    v, w = y[a].var(ddof=1) / rows[0], y[b].var(ddof=1) / rows[1]
    error, df = math.sqrt(v + w), (v + w) ** 2 / (v**2 / (rows[0] - 1) + w**2 / (rows[1] - 1))
    apart, n = np.concatenate([y[one] - y[one].mean() for one in (a, b)]), np.array(rows, dtype=float)
    skewed = abs((apart**3).mean()) / (apart**2).mean() ** 1.5 * abs(np.diff(n**-2.0)[0]) / (1 / n).sum() ** 1.5
    if people is None and (skewed > 0.05 or min(rows) < 30):  # of one side's errors, by Edgeworth's expansion
        return None, math.nan, math.nan
    fewest = min(rows) - 1
    if people is not None:
        variance, df, _ = spread_by_person((people[a], y[a]), (people[b], y[b]))
        error, fewest = max(error, math.sqrt(variance)), df
    near, far = (float(special.stdtrit(fewest, 1 - alpha / k / 2)) for k in (1, statements))
    reach = float(special.stdtrit(df, 1 - alpha / 2)) * error * far / near
    return 2 * float(special.stdtr(df, -abs(gap) / error)), gap - reach, gap + reach


def mid_p_of(x, n, y, m):
    """The same of counts that are no whole ones."""
    return mid_p(min(round(x), round(n)), round(n), min(round(y), round(m)), round(m))


def binomials(uniform, n, chance):
    """Binomial numbers from uniform ones, by inversion from the mode outwards: one more, one less (Kemp 1986)."""
    most = np.minimum(np.floor((n + 1) * chance), n)
    here = np.exp(special.gammaln(n + 1) - special.gammaln(most + 1) - special.gammaln(n - most + 1)
                  + special.xlogy(most, chance) + special.xlog1py(n - most, -chance))  # fmt: skip
    drawn, left, up, down = most.copy(), uniform - here, here.copy(), here.copy()
    odds = chance / (1 - chance) if 0 < chance < 1 else 0.0
    for step in range(int(n.max(initial=0)) + 1 if odds else 0):
        if not (left > 0).any():
            break
        for sign in (1, -1):
            at = most + sign * step
            if sign > 0:
                up *= np.maximum(n - at, 0) / (at + 1) * odds
            else:
                down *= np.maximum(at, 0) / (n - at + 1) / odds
            left, before = left - (up if sign > 0 else down), left
            drawn = np.where((before > 0) & (left <= 0), at + sign, drawn)
    return drawn


@cache
def noise_of(sizes, shares, weights, errors, seed, draws=2000):
    """Scores of tables in which the outcome has nothing to do with the groups: mean, 95 % quantile, and all of them."""
    rng, left, out = np.random.default_rng(seed), np.broadcast_to(sizes, (draws, len(sizes))).astype(float), {}
    rest = np.cumsum(shares[::-1])[::-1]
    for name, share, among in zip(("TP", "FP", "FN"), shares, rest, strict=False):
        out[name] = binomials(rng.random(left.shape), left, min(share / among, 1.0) if among > 0 else 0.0)
        left = left - out[name]
    out["TN"] = left
    values = []
    for rate in ("selection_rate", "true_positive_rate", "false_positive_rate"):
        x, n = of(rate, out)
        values.append(np.divide(x, n, out=np.full(x.shape, math.nan), where=n > 0))
    if errors:
        values.append(rng.standard_normal((draws, len(errors))) * np.sort(errors))
    spans = [np.fmax.reduce(one, axis=1) - np.fmin.reduce(one, axis=1) for one in values]
    return sum(weight * np.nan_to_num(span) for weight, span in zip(weights, spans, strict=False))


def cut_near(values, end):
    """The cut between the two neighbours of a number: the one below it, where all are whole, else the roundest."""
    at = np.searchsorted(values, end, "right")
    if not 0 < at < len(values) or (values == np.floor(values)).all():
        return values[max(at - 1, 0)]
    low, high = values[at - 1 : at + 1]
    power = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for step in (k * 10.0**one for one in range(power, power - 17, -1) for k in ((5, 2.5, 1) if one < 0 else (5, 1))):
        edge = float(f"{round((low + high) / 2 / step) * step:.15g}")
        if low <= edge <= high:
            return edge if edge < high else low
    return low


def area(y, s, alpha):
    """The area under the curve of scores of who has y and who has not (Mann and Whitney 1947), with its limits."""
    n, m = (y == 1).sum(), (y != 1).sum()
    wins = stats.rankdata(s)[y == 1].sum() - n * (n + 1) / 2
    return wins / n / m, *area_limits(y, s, alpha)


def permuted(a, b, alpha, seed):
    """p-value of equal means by permutations of rows, studentised (Janssen 1997), and the t's that bound the interval.

    From counts of values, or from rows where these are fewer; the same draws, from the same seed.
    """
    values, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    in_a, counts = np.bincount(codes[: len(a)], minlength=len(values)), np.bincount(codes)
    x = values - (values * counts).sum() / counts.sum()
    x /= abs(x).max()
    (n, m), rows, draw = sorted((len(a), len(b))), len(a) + len(b), np.random.default_rng(seed)
    of_smaller = in_a if len(a) <= len(b) else counts - in_a
    sums, squares = [[(of_smaller * x).sum()]], [[(of_smaller * x**2).sum()]]
    every, width = np.repeat(x, counts), max(1, 2_000_000 // (rows if rows <= 1_000 else len(x)))
    counting = 7 * len(x) <= (rows if rows <= 1_000 else 1_500 + 1.5 * n)
    width = max(1, 2_000_000 // len(x)) if counting else width
    for done in range(0, 9_999, width):
        size = min(width, 9_999 - done)
        if counting:
            drawn = draw.multivariate_hypergeometric(counts, n, size=size, method="marginals")
            sums.append((drawn * x).sum(axis=1))
            squares.append((drawn * x**2).sum(axis=1))
            continue
        if rows > 1_000:
            drawn = np.array([every[draw.choice(rows, n, replace=False, shuffle=False)] for _ in range(size)])
        else:
            drawn = draw.permuted(np.tile(every, (size, 1)), axis=1)[:, :n]
        sums.append(drawn.sum(axis=1))
        squares.append((drawn**2).sum(axis=1))
    sums, squares = np.concatenate(sums), np.concatenate(squares)
    rest, rest_squares = (counts * x).sum() - sums, (counts * x**2).sum() - squares
    variance = (squares - sums**2 / n) / (n - 1) / n + (rest_squares - rest**2 / m) / (m - 1) / m
    gap, error = sums / n - rest / m, np.sqrt(np.where(variance * n < 1e-13, 0, variance))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(np.where(abs(gap) <= 1e-9 * error, 0, gap / error), nan=0, posinf=np.inf, neginf=-np.inf)
    t = -t if len(a) > len(b) else np.concatenate([t, -t]) if n == m else t
    tie = 1e-9 * abs(t[0]) if np.isfinite(t[0]) else 0
    tail, allowed = min((t >= t[0] - tie).sum(), (t <= t[0] + tie).sum()), math.floor(alpha * len(t) / 2 + 1e-9)
    ordered = np.sort(t)
    ends_of_t = min(0, ordered[allowed]), max(0, ordered[-1 - allowed])
    return min(1, 2 * tail / len(t)), *((x * (1 + 1e-9) for x in ends_of_t) if allowed else (-math.inf, math.inf))


def numbers_apart(x, inside):
    """Means inside and outside, by Welch's test (of two values by the exact one), with Hedges' g or Cohen's h."""
    known = np.array([one is not None for one in x])
    a, b = (x[known & side].astype(float) for side in (inside, ~inside))
    values = {*a.tolist(), *b.tolist()}
    if min(len(a), len(b)) < 30 or len(values) < 2:
        return {}
    out = {"inside": a.mean(), "outside": b.mean()}
    if len(values) == 2:
        high, (n, m) = max(values), (len(a), len(b))
        rates = (a == high).mean(), (b == high).mean()
        h = 2 * math.asin(math.sqrt(rates[0])) - 2 * math.asin(math.sqrt(rates[1]))
        return out | {"effect": h, "p_value": mid_p(int((a == high).sum()), n, int((b == high).sum()), m)}
    half = (len(a) + len(b) - 2) / 2
    spread = math.sqrt((a.var() * len(a) + b.var() * len(b)) / half / 2)
    small = math.exp(special.gammaln(half) - special.gammaln(half - 0.5)) / math.sqrt(half)
    p_value = float(stats.ttest_ind(a, b, equal_var=False).pvalue)
    return out | {"effect": (a.mean() - b.mean()) / spread * small, "p_value": p_value}


def levels_apart(x, inside):
    """The level whose shares inside and outside differ most, of ten rows or more; chi-squared and V of all levels."""
    texts = np.array(["(missing)" if one is None else str(one) for one in x])
    levels, codes = np.unique(texts, return_inverse=True)
    a, b = (np.bincount(codes[side], minlength=len(levels)).astype(float) for side in (inside, ~inside))
    if min(a.sum(), b.sum()) < 30 or not (a + b >= 10).any():
        return {}
    expected = (a + b) * a.sum() / len(x)
    statistic = ((a - expected) ** 2 / expected).sum() * len(x) / b.sum()
    shares = a / a.sum(), b / b.sum()
    at = int(np.where(a + b >= 10, abs(shares[0] - shares[1]), -1).argmax())
    out = {"level": str(levels[at]), "inside": shares[0][at], "outside": shares[1][at]}
    return out | {"effect": math.sqrt(min(1, statistic / len(x))), "p_value": chi_squared(a, b, 0)}


def association(x, y, *_):
    """Cramér's V of two categories, less what chance gives (Bergsma 2013); a missing value is a category."""
    codes = [np.unique([str((one is None, one)) for one in column], return_inverse=True)[1] for column in (x, y)]
    r, c, n = *(code.max() + 1 for code in codes), len(x)
    if n < 30 or max(r, c) > n / 2 or min(r, c) < 2:
        return {"estimate": math.nan, "strength": math.nan, "rows": n}
    counts = np.bincount(codes[0] * c + codes[1], minlength=r * c).reshape(r, c)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    phi = max(0, ((counts - expected) ** 2 / expected).sum() / n - (r - 1) * (c - 1) / (n - 1))
    v = min(1, math.sqrt(phi / (min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1)))
    return {"estimate": v, "low": math.nan, "high": math.nan, "strength": v, "rows": n}


def told_by_number(x, y, alpha, stated):
    """The category that a number tells best, by the end of the area's interval that is nearest to one half.

    Of two categories one is told as well as the other: then it is the one that is stated.
    """
    known = np.array([one is not None for one in x])
    x, y = x[known].astype(float), np.array(["(missing)" if one is None else str(one) for one in y[known]])
    areas = {level: area(y == level, x, alpha) for level in {*y.tolist()} if 30 <= (y == level).sum() <= len(y) - 30}
    mine = {"estimate": math.nan, "strength": math.nan, "rows": len(x)}
    if areas:
        apart = {
            level: (round(max(one[1] - 0.5, 0.5 - one[2], 0), 12), round(abs(one[0] - 0.5), 12))
            for level, one in areas.items()
        }
        best = stated if apart.get(stated) == max(apart.values()) else max(areas, key=apart.__getitem__)
        mine |= ends(areas[best]) | {"strength": 2 * abs(areas[best][0] - 0.5), "level": best}
    return mine


def rank_correlation(x, y, alpha, _):
    """Spearman's, with limits by Fisher's transformation (Bonett and Wright 2000)."""
    known = np.array([one is not None and other is not None for one, other in zip(x, y, strict=True)])
    x, y, n = x[known].astype(float), y[known].astype(float), int(known.sum())
    if n < 30 or min(len({*x}), len({*y})) < 2:
        return {"estimate": math.nan, "strength": math.nan, "rows": n}
    r = float(np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1])
    reach = z_of(alpha) * math.sqrt((1 + r * r / 2) / max(n - 3, 1))
    limits = (math.tanh(math.atanh(r) + x) for x in (-reach, reach)) if abs(r) < 1 else (r, r)
    return ends((r, *limits)) | {"strength": abs(r), "rows": n}


def gap_of(groups, smallest):
    """The largest less the least rate of the groups that count in a cluster; not a number where fewer than two do."""
    values = [one["value"] for one in groups if one["counted"] >= max(smallest, 1)]
    return max(values) - min(values) if len(values) > 1 else math.nan


def bias_ratios(gaps, rows, threshold):
    """Of draws by clusters: share of biased clusters, and of rows in them, their mean gap, and the largest of all."""
    known, biased = ~np.isnan(gaps), gaps >= threshold - 1e-12
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(biased, gaps, 0).sum(axis=1) / biased.sum(axis=1)
        share = biased.sum(axis=1) / known.sum(axis=1), (biased * rows).sum(axis=1) / (known * rows).sum(axis=1)
    largest = np.where(known, gaps, -np.inf).max(axis=1)
    return *share, mean, np.where(np.isinf(largest), np.nan, largest)


def tango(gained, lost, n, z):
    """A difference of two shares of the same rows, with score limits (Tango 1998)."""
    estimate = (gained - lost) / n

    def beyond(gap):
        b = -gained - lost + (2 * n - gained + lost) * gap
        share = (math.sqrt(max(b * b + 8 * n * lost * gap * (1 - gap), 0)) - b) / (4 * n)
        variance = n * (2 * share + gap * (1 - gap))
        return (gained - lost - n * gap) ** 2 - z * z * variance

    low, high = (
        end if beyond(end) <= 0 else optimize.brentq(beyond, *sorted((end, estimate)), xtol=1e-14) for end in (-1, 1)
    )
    return estimate, low, high


def near(value, values):
    """That of some values which is the nearest."""
    return value if value in values else min(values, key=lambda one: abs(one - value))


def median(x, alpha):
    """A median, and between which ranks it lies: as many are below it as heads of so many coins (Conover 1999)."""
    if not len(x):
        return (math.nan,) * 3
    x, outside = np.sort(x), int(stats.binom.ppf(alpha / 2, len(x), 0.5))
    return np.median(x), *((x[outside - 1], x[len(x) - outside]) if outside else (math.nan, math.nan))


def how_far(value, least, most):
    """How far a value lies beyond a limit; negative within."""
    return max(-math.inf if least is None else least - value, -math.inf if most is None else value - most)


def visible_beyond(value, low, high, least, most, alpha, name):
    """The value whose interval lies beyond a limit with 80 % power, from the length of the one that was found."""
    below = most is None or (least is not None and value - least < most - value)
    is_ratio = name.endswith("_ratio") or name in ("DI", "observed_to_expected")
    numbers = [low, value, high, least if below else most]
    if any(x is None or not math.isfinite(x) or (is_ratio and x <= 0) for x in map(number_of, numbers)):
        return math.nan
    low, value, high, limit = map(math.log if is_ratio else float, numbers)
    stretch = 1 + float(special.ndtri(0.8)) / z_of(alpha)
    end = limit - stretch * (high - value) if below else limit + stretch * (value - low)
    return math.exp(end) if is_ratio else end


def number_of(told):
    return math.inf if told == "Infinity" else -math.inf if told == "-Infinity" else told


class ByPerson:
    """A difference of two means whose rows belong to persons, each of whom may have several, in both groups.

    Its variance sums what the rows of each person add, squared (Liang and Zeger 1986), with Satterthwaite's degrees of
    freedom (1946). Counts are divided by the design effect (Rao and Scott 1992), and once more where persons are few.
    """

    def __init__(self, a, of_a, b, of_b):
        size, total, weights, self.alike, self.persons = 1 + max(of_a.max(), of_b.max()), 0, 0, 0, []
        for sign, x, who in ((1, a, of_a), (-1, b, of_b)):
            rows, sums = np.bincount(who, minlength=size), np.bincount(who, x, size)
            self.persons.append(int(np.count_nonzero(rows)))
            few = math.sqrt(self.persons[-1] / max(self.persons[-1] - 1, 1))
            total = total + sign * few * (sums - x.mean() * rows) / len(x)
            weights = weights + (rows / len(x)) ** 2
            self.alike += ((rows / len(x)) ** 2).sum() / (1 / len(a) + 1 / len(b))
        self.a, self.b, self.variance = a, b, (total**2).sum()
        self.df = max(weights.sum() ** 2 / (weights**2).sum() - 1, 1)

    def effect(self, counted):
        """How many times the variance of as many rows of different persons the variance is."""
        if counted:
            parts = [x.mean() * (1 - x.mean()) / len(x) for x in (self.a, self.b)]
            return max(1.0, self.alike if 0 in parts else 1.0, self.variance / sum(parts) if sum(parts) else 1.0)
        return max(1.0, self.variance / sum(moments(x)[2] / len(x) for x in (self.a, self.b)))


# 2. The table, as docs/reading.md has it ----------------------------------------------------------------------------
class Skip(Exception):  # noqa: N818 - it is no error
    """Something that is not recomputed, and why."""


def one_row_of_each_label(header, rows, labels):
    """The columns that several labels have of their own, and all others, of each row once for each label in order."""
    made, parts = sorted(next(iter(labels.values()))), {x for each in labels.values() for x in each.values()}
    kept = [place for place, name in enumerate(header) if name not in parts]
    of_labels = [[header.index(labels[label][name]) for name in made] for label in sorted(labels)]
    long = [[row[place] for place in (*of_label, *kept)] for row in rows for of_label in of_labels]
    return [*made, *(header[place] for place in kept)], long


class Table:
    """The columns of a CSV file, or of several whose rows follow each other: numbers, truth values or texts."""

    def __init__(self, files, source):
        rows, given = [], source["missing_values"]
        for name in files:
            with Path(name).open(encoding=source["encoding"] or "utf-8-sig", newline="") as file:
                separator = source["separator"] or max(",;\t|", key=file.readline().count)
                file.seek(0)
                header, *more = (row for row in csv.reader(file, delimiter=separator) if row)
            rows += more
        stacked = source.get("stacked")
        if stacked is not None:
            header, rows = one_row_of_each_label(header, rows, stacked["rows"])
        self.rows, self.columns, self.looked_up, self.whole = len(rows), {}, {}, set()
        for name, texts in zip(header, zip(*rows, strict=True), strict=True):
            known = {x for x in texts if not MISSING.fullmatch(x)} if given is None else {*texts} - {"", *given}
            levels = {x: x for x in known}
            if all(NUMBER.fullmatch(x) for x in known) and not any(PADDED.match(x) for x in known):
                levels = {x: int(float(x)) if float(x).is_integer() else float(x) for x in known}
            elif {x.lower() for x in known} <= {"true", "false"}:
                levels = {x: x.lower() == "true" for x in known}
            self.columns[name] = np.array([levels.get(x) for x in texts], dtype=object)
            self.whole |= {name} if len(known) == len({*texts}) and all(map(WHOLE.fullmatch, known)) else set()
        if stacked is not None:
            self.columns[stacked["by"]] = np.array(
                sorted(stacked["rows"]) * (self.rows // len(stacked["rows"])), object
            )

    def known(self, *names):
        return np.all(
            [self.once(name, "known", lambda column: np.array([x is not None for x in column])) for name in names],
            axis=0,
        )

    def once(self, name, what, make):
        """What follows from a column, made once; of another column of this name anew."""
        column = self.columns[name]
        if self.looked_up.get((name, what), [None])[0] is not column:
            self.looked_up[name, what] = column, make(column)
        return self.looked_up[name, what][1]

    def again(self, make, *given):
        """What a function makes of arrays and settings, made once."""

        def content(x):
            if isinstance(x, np.ndarray):
                return x.shape, hash(tuple(x.tolist()) if x.dtype == object else x.tobytes())
            return x if isinstance(x, (int, float, str)) or x is None else repr(x)

        key = make.__name__, *map(content, given)
        if key not in self.looked_up:
            self.looked_up[key] = make(*given)
        return self.looked_up[key]

    def numbers(self, name):
        if self.once(name, "texts", lambda column: any(isinstance(x, str) for x in column)):
            raise Skip(f"what takes the column {name}: it holds texts, dates or numbers in a notation of their own")
        return self.once(name, "numbers", lambda column: column.astype(float))

    def numeric(self, name):
        """Whether a column holds numbers."""
        return self.once(name, "holds numbers", lambda column: not any(isinstance(x, (str, bool)) for x in column))

    def among(self, name, wanted):
        """Rows with one of some values; a number is also the text that writes it."""
        values = self.once(name, "values", lambda column: {*column} - {None})
        levels = {x for x in values if x in wanted or str(x) in map(str, wanted)}
        return self.once(name, frozenset(levels), lambda column: np.array([x in levels for x in column], dtype=bool))

    def positive(self, name, wanted):
        """1 where a value counts as positive, 0 where not, not a number where it is missing."""
        wanted = [1] if wanted is None else wanted if isinstance(wanted, list) else [wanted]
        return np.where(self.known(name), self.among(name, wanted), math.nan)

    def holding(self, conditions):
        """The rows for which all conditions hold (docs/worst-groups.md, "What is searched")."""
        inside = np.ones(self.rows, dtype=bool)
        for c in conditions:
            name, blank, missing = c["column"], ~self.known(c["column"]), c.get("missing", False)
            if c["kind"] == "interval":  # strictly above low, up to and with high
                low, high = -math.inf if c["low"] is None else c["low"], math.inf if c["high"] is None else c["high"]
                met = np.where(blank, missing, (self.numbers(name) > low) & (self.numbers(name) <= high))
            elif c["kind"] == "values":
                met = np.where(blank, missing, self.among(name, c["values"]) != c["excluded"])
            else:
                met = self.among(name, [c["value"]]) if c.get("value") is not None else blank == c.get("missing", True)
            inside &= met.astype(bool)
        return inside

    def hashes(self, name, kind):
        """A hash of each value: of numbers their bits, of what is a category its text; as pandas has them."""
        column = self.columns[name]
        if kind == "categorical" or self.once(name, "texts", lambda x: any(isinstance(one, str) for one in x)):
            of_text = {x: siphash(str(x)) for x in self.once(name, "values", lambda x: {*x} - {None})}
            hashes = scattered(np.array([of_text.get(x, 0) for x in column], dtype=np.uint64))
            return np.where(self.known(name), hashes, np.uint64(2**64 - 1))
        if kind != "numeric" and name in self.whole:
            return scattered(column.astype(np.int64).view(np.uint64))
        if kind != "numeric" and all(isinstance(x, bool) for x in column):
            return scattered(column.astype(np.uint64))
        return scattered((column.astype(float) + 0.0).view(np.uint64))  # + 0.0: there is one zero

    def hashes_alike(self, name):
        """A hash of each value, for what is alike: of numbers their bits, of others how Python writes them."""
        column, missing = self.columns[name], np.uint64(0x5851F42D4C957F2D)
        if any(isinstance(x, (str, bool)) for x in column):
            of_value = {x: siphash(repr(x)) for x in {*column} - {None}}
            hashes = scattered(np.array([of_value.get(x, 0) for x in column], dtype=np.uint64))
        else:
            hashes = mixed((column.astype(float) + 0.0).view(np.uint64))
        return np.where(self.known(name), hashes, missing)

    def row_hashes(self, kinds, **more):
        """A hash of the content of each row, of columns of these kinds and of more numbers that each row has.

        It decides which rows are drawn: the same ones, whatever order they come in.
        """
        columns = {}
        for name, kind in kinds.items():
            columns[name] = self.once(name, kind, lambda _, name=name, kind=kind: self.hashes(name, kind))
        columns |= {name: scattered((values + 0).view(np.uint64)) for name, values in more.items()}
        return together([columns[name] for name in sorted(columns)], self.rows)


# 3. Which rows are drawn: by hashes of their content (docs/methods.md) ----------------------------------------------
def siphash(text):
    """SipHash-2-4 (Aumasson and Bernstein 2012) of a text in UTF-8, with the key that pandas has."""
    data, all_bits = text.encode(), 2**64 - 1
    keys = [int.from_bytes(b"0123456789123456"[i : i + 8], "little") for i in (0, 8, 0, 8)]
    names = (b"somepseu", b"dorandom", b"lygenera", b"tedbytes")
    v = [key ^ int.from_bytes(name, "big") for key, name in zip(keys, names, strict=True)]

    def rounds(times):
        a, b, c, d = v
        for _ in range(times):
            a, c = (a + b) & all_bits, (c + d) & all_bits
            b, d = (b << 13 | b >> 51) & all_bits ^ a, (d << 16 | d >> 48) & all_bits ^ c
            a, c = (a << 32 | a >> 32) & all_bits, (c + b) & all_bits
            a = (a + d) & all_bits
            b, d = (b << 17 | b >> 47) & all_bits ^ c, (d << 21 | d >> 43) & all_bits ^ a
            c = (c << 32 | c >> 32) & all_bits
        v[:] = a, b, c, d

    data += bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for i in range(0, len(data), 8):
        word = int.from_bytes(data[i : i + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def scattered(x):
    """The last steps of SplitMix64 (Steele, Lea and Flood 2014): of each number another one that looks random."""
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def mixed(x):
    """SplitMix64, all of it."""
    return scattered(x + np.uint64(0x9E3779B97F4A7C15))


def together(hashes, rows):
    """Of the hashes of each row one, as Python hashed tuples until version 3.8."""
    out, factor, left = np.full(rows, 0x345678, dtype=np.uint64), 1000003, len(hashes)
    for one in hashes:
        out = (out ^ one) * np.uint64(factor)
        factor += 82520 + 2 * left
        left -= 1
    return out + np.uint64(97531)


def occurrences(hashes):
    """How many of the same stand before each."""
    order = np.argsort(hashes, kind="stable")
    begins = np.flatnonzero(np.diff(hashes[order], prepend=hashes[order][:1] + np.uint64(1)))
    out = np.empty(len(hashes), dtype=np.uint64)
    out[order] = np.arange(len(hashes)) - np.repeat(begins, np.diff(begins, append=len(hashes)))
    return out


def by_hash(numbers, share, seed):
    """The rows whose random numbers, other ones for each seed, are among the least: about such a share of them."""
    drawn = mixed(numbers ^ mixed(np.array([seed], dtype=np.uint64)))
    return (drawn >> np.uint64(11)) < math.ceil(share * 2.0**53)


def stratified(y, share, seed, apart):
    """A share of the rows with each value of y, or from each tenth of many values; of those without one, too."""
    values = np.unique(y[~np.isnan(y)])
    values = np.unique(np.quantile(y[~np.isnan(y)], np.arange(1, 10) / 10)) if len(values) > 10 else values
    strata = np.where(np.isnan(y), -1 if apart else 1, np.searchsorted(values, y, side="right") if apart else 0)
    draw, test = np.random.default_rng(seed), np.zeros(len(y), dtype=bool)
    for rows in (np.flatnonzero(strata == one) for one in np.unique(strata)):
        test[draw.permutation(rows)[: round(share * len(rows))]] = True
    return test


# 4. What is measured of each person (docs/methods.md, "What is measured") -------------------------------------------
def bias_variable(table, b):
    """The bias variable of each row, not a number where it has none; and how many have none for which reason."""
    derive, out = b["derive"], []
    if derive is None:
        y = table.numbers(b["column"])
    elif derive in ("top_k", "exposure", "position"):
        y, out = places(table, b, derive)
    elif derive in ("absolute_error", "squared_error", "signed_error", "pinball_loss"):
        e, q = table.numbers(b["prediction"]) - table.numbers(b["label"]), b["quantile"] or 0.5
        y = {"ab": np.abs(e), "sq": e * e, "si": e, "pi": np.where(e < 0, -q * e, (1 - q) * e)}[derive[:2]]
    else:
        y = said = table.positive(b["prediction"], b["positive"])
        if derive != "positive_prediction":
            happened = table.positive(b["label"], b["positive"])
            event = said != happened if derive == "error" else said > happened if "pos" in derive else said < happened
            known = ~np.isnan(said + happened)
            outside = known & (happened == ("pos" in derive)) & derive.endswith("_rate")
            y, out = np.where(known & ~outside, event, math.nan), [outside.sum()]
    return y, [*out, np.isnan(y).sum() - sum(out)]


def places(table, b, derive):
    """What the place of each row in its list is worth; equal predictions share the mean of their places."""
    score = table.numbers(b["prediction"]) * (1 if b["ranked"] == "lowest_first" else -1)
    y, lists, query = np.full(table.rows, math.nan), {}, b["query"]
    for i in np.flatnonzero(~np.isnan(score)):
        lists.setdefault(table.columns[query][i] if query else "", []).append(i)
    nowhere = lists.pop(None, [])
    for rows in lists.values():
        rows = np.array(rows)[np.argsort(score[rows], kind="stable")]
        place, begins = np.arange(1, len(rows) + 1), np.flatnonzero(np.diff(score[rows], prepend=-math.inf))
        worth = {"top_k": place <= (b["k"] or 10), "exposure": 1 / np.log2(1 + place), "position": place}[derive]
        ties = np.diff(begins, append=len(rows))
        worth = np.repeat(np.add.reduceat(worth.astype(float), begins) / ties, ties)
        y[rows] = math.nan if query and len(rows) == 1 else np.round(worth - worth.mean(), 12) if query else worth
    return y, [len(nowhere), sum(len(rows) == 1 for rows in lists.values())] if query else []


# 5. Metrics of declared groups, from counts and, of scores, from rows -----------------------------------------------
def counted(label, said, inside):
    """True and false positives and negatives; of a column that there is not, nothing is positive."""
    return Counter(cells_of(label, said, inside)[inside].tolist())


def cells_of(label, said, known):
    """Which of them each known row is."""
    label, said = (np.zeros(len(known)) if x is None else np.where(known, x, 0) for x in (label, said))
    return np.array(["TN", "FP", "FN", "TP"])[(2 * label + said).astype(int)]


def of(rate, cells):
    """Events, and among whom."""
    return [sum(cells[name] for name in part.split()) for part in (RATES | SHARES)[rate]]


def of_scores(label, score):
    """Metrics of a score (docs/worst-groups.md); the area under the curve by Mann and Whitney (1947)."""
    known = ~np.isnan(score)
    y, s, n, positives = label[known], score[known], known.sum(), label[known].sum()
    wins = stats.rankdata(s)[y == 1].sum() - positives * (positives + 1) / 2
    tenths = [abs((y - s)[(s * 10).clip(max=9).astype(int) == tenth].sum()) for tenth in range(10)]
    out = {"mean_score": s.mean(), "brier_score": ((y - s) ** 2).mean(), "calibration_gap": (y - s).mean()}
    out |= {"observed_to_expected": ratio(y.mean(), s.mean()), "auc": ratio(wins, positives * (n - positives))}
    return out | {"calibration_error": sum(tenths) / n}


def clarify(d, a, p, q):
    """Amazon SageMaker Clarify's metrics of a group, d, against all others, a, whose shares of labels are p and q."""
    n, m, middle = d.total(), a.total(), (p + q) / 2
    out = {name: ratio(*of(rate, a)) - ratio(*of(rate, d)) for name, rate in CLARIFY.items()}
    out |= {"SD": -out["SD"], "DRR": -out["DRR"], "CI": (m - n) / (m + n)}
    out["DI"] = ratio(ratio(*of("selection_rate", d)), ratio(*of("selection_rate", a)))
    dca = [ratio(one["TP"] + one["FN"], one["TP"] + one["FP"]) for one in (a, d)]
    dcr = [ratio(one["TN"] + one["FP"], one["TN"] + one["FN"]) for one in (d, a)]
    out |= {"DCA": dca[0] - dca[1], "DCR": dcr[0] - dcr[1], "TE": ratio(d["FN"], d["FP"]) - ratio(a["FN"], a["FP"])}
    out |= {"LP": math.sqrt(((p - q) ** 2).sum()), "TVD": abs(p - q).sum() / 2, "KS": abs(p - q).max()}
    out["JS"] = (special.rel_entr(q, middle) + special.rel_entr(p, middle)).sum() / 2
    whole = a + d
    mean, square = (whole["TP"] + whole["TN"] + k * whole["FP"] for k in (2, 4))  # of benefits: 0, 1 or 2
    return out | {"KL": special.rel_entr(q, p).sum(), "GE": (ratio(square * whole.total(), mean * mean) - 1) / 2}


def clarify_limits(d, a, p, q, alpha, spread, worth):
    """Limits of Clarify's metrics that are no difference of two rates (docs/declared-groups.md).

    `spread` has the counts of both sides, times what persons with several rows make them vary more than rows; `worth`
    gives a rate of either side in as many different persons.
    """
    z, (n, m) = z_of(alpha), (one.total() ** 2 / of_one.total() for one, of_one in zip((d, a), spread, strict=True))
    rows, share = (a + d).total(), d.total() / (a + d).total()
    # The share's variance by linearisation: a row of d adds 1 - share to it, one of the others -share.
    variance = ((1 - share) ** 2 * spread[0].total() + share**2 * spread[1].total()) / rows**2
    _, low, high = wilson(share**2 * (1 - share) / variance, share * (1 - share) / variance, z)
    out = {"CI": (1 - 2 * high, 1 - 2 * low)}
    (x, k), (y, j) = (worth("selection_rate", rest) for rest in (False, True))
    out |= {"DI": koopman(x, k, y, j, z)} if k and j and x + y else {}
    # Ratios of counts that overlap, by the logarithm, with half a row more per cell; then joined.
    for name, both, label, prediction in (("DCA", "TP", "FN", "FP"), ("DCR", "TN", "FP", "FN")):
        sides = []
        for one, vary in zip((d, a), spread, strict=True):
            up, down = one[both] + one[label] + 1, one[both] + one[prediction] + 1
            variance = (vary[both] + 0.5) * (1 / up - 1 / down) ** 2
            variance += (vary[label] + 0.5) / up**2 + (vary[prediction] + 0.5) / down**2
            reach, value = math.exp(z * math.sqrt(variance)), ratio(up - 1, down - 1)
            sides.append([value, min(value, up / down / reach), max(value, up / down * reach)])
        out[name] = joined(*sides[name == "DCA"], *sides[name != "DCA"])
    odds = [ratio(x, 1 - x) for rest in (False, True) for x in wilson(*worth("false_negative_share", rest), z, 40)]
    out["TE"] = joined(*odds) if all(map(math.isfinite, odds)) else (odds[1] - odds[5], odds[2] - odds[4])
    # Divergences by the delta method on their roots; they start at 0 unless chi-squared rejects equal shares.
    there = p + q > 0
    labels, pooled = there.sum(), (p * n + q * m)[there] / (n + m)
    different = ((p - q)[there] ** 2 / pooled).sum() / (1 / n + 1 / m) > special.chdtri(max(labels - 1, 1), alpha)
    s, t = ((x[there] * k + 0.5) / (k + 0.5 * labels) for x, k in ((p, n), (q, m)))
    middle = (s + t) / 2
    for name, slope_t, slope_s, smooth, factor in (
        ("KL", np.log(t / s), -t / s, special.rel_entr(t, s).sum(), 0.5),
        ("JS", np.log(t / middle) / 2, np.log(s / middle) / 2,
         (special.rel_entr(t, middle) + special.rel_entr(s, middle)).sum() / 2, 0.125),
    ):  # fmt: skip
        variance = sum(
            max((x * slope**2).sum() - (x * slope).sum() ** 2, 0) / k
            for x, slope, k in ((t, slope_t, m), (s, slope_s, n))
        )
        noise, root = factor * (1 / m + 1 / n), math.sqrt(smooth)
        error = math.sqrt(variance) / (2 * root) if smooth > 1e-9 else math.sqrt(noise)
        lower = max(math.sqrt(max(smooth - (labels - 2) * noise, 0)) - z * error, 0) ** 2
        out[name] = (
            lower if different else 0.0,
            math.inf if name == "KL" and (p[q > 0] == 0).any() else (root + z * error) ** 2,
        )
    # Distances of more than two labels, from intervals of all of them at once.
    k = len(p) if len(p) > 2 else 1
    one_of = -float(special.ndtri((1 - (1 - alpha) ** (1 / k)) / 2))
    gaps = [without_sign(*newcombe(y * m, m, x * n, n, one_of))[1:] for x, y in zip(p, q, strict=True)]
    for i, name in product((0, 1), ("LP", "TVD", "KS")):
        each = np.array([one[i] for one in gaps])
        value = {"LP": math.sqrt((each**2).sum()), "TVD": min(each.sum() / 2, 1), "KS": each.max()}[name]
        out[name] = (*out.get(name, ()), value)
    whole, vary = a + d, spread[0] + spread[1]
    first, second = ((whole["TP"] + whole["TN"] + k * whole["FP"]) / whole.total() for k in (2, 4))
    slope = (
        {b: b * b / 2 / first**2 - second * b / first**3 + second / 2 / first**2 for b in (0, 1, 2)} if first else {}
    )
    rows = {0: vary["FN"] + 0.5, 1: vary["TP"] + vary["TN"], 2: vary["FP"] + 0.5}
    reach = z * math.sqrt(sum(rows[b] * slope[b] ** 2 for b in slope)) / whole.total()
    index = (ratio(second, first**2) - 1) / 2
    return out | {"GE": (max(index - reach, 0), index + reach)}


def joined(a, a_low, a_high, b, b_low, b_high):
    """Limits of a - b from those of each, by MOVER (Zou and Donner 2008)."""
    return a - b - math.hypot(a - a_low, b_high - b), a - b + math.hypot(a_high - a, b - b_low)


def disparity(inside, known, strata, bad, z=1.96):
    """Conditional demographic disparity: in each stratum d's share of bad outcomes less its share of good ones.

    Its limits join Newcombe's of the strata, whose sizes are taken as they are.
    """
    parts = [(here & bad, here & ~bad) for here in (known & (strata == one) for one in {*strata[known]} - {None})]
    parts = [(b.sum(), inside[b].sum(), g.sum(), inside[g].sum()) for b, g in parts if b.any() and g.any()]
    whole, gap, below, above = sum(n + m for n, _, m, _ in parts), 0.0, 0.0, 0.0
    for n, x, m, y in parts:
        of_stratum, low, high = newcombe(int(x), int(n), int(y), int(m), z)
        share = (n + m) / whole
        gap += share * of_stratum
        below, above = math.hypot(below, share * (of_stratum - low)), math.hypot(above, share * (high - of_stratum))
    return (gap, gap - below, gap + above) if parts else (math.nan,) * 3


def places_of(table, columns, rows):
    """Rows as points, of which those of like people are near: numbers in standard deviations, categories 1 apart."""
    points = [np.zeros(len(table.known(*columns)[rows]))]
    for name in columns:
        x, known = table.columns[name][rows], table.known(name)[rows]
        if any(isinstance(one, (str, bool)) for one in x):
            levels, codes = np.unique([repr(one) for one in x], return_inverse=True)
            apart = 1.0 if len(levels) == 2 else math.sqrt(2)
            points += [(codes == one) / apart for one in range(len(levels))[len(levels) == 2 :] if len(levels) > 1]
            continue
        x = x.astype(float)
        mean, sd = x[known].mean(), x[known].std()
        points += [np.where(known, (x - mean) / sd, 0.0)] if sd > 1e-12 * max(1.0, abs(mean)) else []
        points += [(~known).astype(float)] if not known.all() else []
    return np.stack(points, axis=1)


def flip_test(points, inside, chosen, k=5):
    """How many more of a group would be chosen than not if they were as the k most like them (Das et al. 2021).

    Those equally far away for the last of the places share them.
    """
    share = np.empty(inside.sum())
    for start in range(0, len(share), 500):
        far = spatial.distance.cdist(points[inside][start : start + 500], points[~inside])
        last = np.partition(far, k - 1, axis=1)[:, [k - 1]]
        nearer = far < last * (1 - 1e-9) - 1e-12
        tied = ~nearer & (far <= last * (1 + 1e-9) + 1e-12)
        left = (k - nearer.sum(axis=1)) * (tied @ chosen[~inside]) / tied.sum(axis=1)
        share[start : start + 500] = (nearer @ chosen[~inside] + left) / k
    own = chosen[inside] == 1
    return int((~own & (share > 0.5 + 1e-9)).sum()), int((own & (share < 0.5 - 1e-9)).sum()), len(share)


def flip_limits(plus, minus, n, z):
    """Wald's limits of a difference of paired rates, with half a row more of each kind (Agresti and Min 2005)."""
    p, q = (plus + 0.5) / (n + 2), (minus + 0.5) / (n + 2)
    reach, gap = z * math.sqrt((p + q - (p - q) ** 2) / (n + 2)), (plus - minus) / n
    return min(max(p - q - reach, -1.0), gap), max(min(p - q + reach, 1.0), gap)


# Small groups, estimated with help of the others ------------------------------------------------------------------
TAU = np.concatenate([[0.0], np.geomspace(0.02, 3.0, 15)])  # how much groups may differ beyond their levels
PRIOR_OF_TAU = np.gradient(TAU) / (1 + (TAU / 0.5) ** 2)  # half of Cauchy's distribution (Gelman 2006)


def by_tau(log_likelihood):
    """How probable each tau is, which is along the first axis."""
    weights = PRIOR_OF_TAU.reshape(-1, *[1] * (log_likelihood.ndim - 1))
    weights = weights * np.exp(log_likelihood - log_likelihood.max(axis=0))
    return weights / weights.sum(axis=0)


def in_common(z, v, design):
    """Values z with variances v as a mean, effects of levels, and what is their own, with each tau.

    Log likelihoods, effects and their covariance, and of each group what the others predict, its variance, and the log
    likelihood of the others (Morris 1983).
    """
    d = TAU[:, None] ** 2 + v
    within = np.eye(design.shape[1]) + np.einsum("tg,gi,gj->tij", 1 / d, design, design)
    covariance = np.linalg.inv(within)
    effects = np.einsum("tij,gj,tg->ti", covariance, design, z / d)
    solved = (z - effects @ design.T) / d
    diagonal = 1 / d - np.einsum("gi,tij,gj->tg", design, covariance, design) / d**2
    likelihood = -(np.log(d).sum(axis=1) + np.linalg.slogdet(within)[1] + (z * solved).sum(axis=1)) / 2
    mean, variance = z - solved / diagonal, 1 / diagonal
    others = likelihood[:, None] + (np.log(variance) + (z - mean) ** 2 / variance) / 2
    return likelihood, effects, covariance, mean, np.maximum(variance - v, 1e-12), others


def mixture(at, weights, mean, variance):
    """The density of normal distributions, one for each tau, at points of each group."""
    apart = (at - mean[..., None]) ** 2 / variance[..., None]
    return (np.exp(-apart / 2) * (weights / np.sqrt(2 * math.pi * variance))[..., None]).sum(axis=0)


def quantiles(at, density, alpha):
    """Median and limits of each group by the trapezoidal rule."""
    below = np.cumsum((density[:, 1:] + density[:, :-1]) / 2 * np.diff(at, axis=1), axis=1)
    below = np.pad(below, ((0, 0), (1, 0))) / below[:, -1:]
    return np.array([np.interp([0.5, alpha / 2, 1 - alpha / 2], *one) for one in zip(below, at, strict=True)])


def posterior(model, design, own, guess, width, log_likelihood, alpha):
    """Each group by its own rows and what others predict for it, which three tenths of the prior do not trust.

    Robust as of Schmidli et al. (2014); a group without rows of its own is what others predict.
    """
    likelihood, effects, covariance, mean, variance, others = model
    everywhere, close, out = np.linspace(-12, 12, 241), np.linspace(-8, 8, 33), np.empty((len(own), 3))

    def points(mean, variance, *more):
        near = (mean[..., None] + np.sqrt(variance)[..., None] * close).transpose(1, 0, 2).reshape(mean.shape[1], -1)
        return np.sort(np.concatenate([np.tile(everywhere, (mean.shape[1], 1)), near, *more], axis=1), axis=1)

    at = points(mean, variance, guess[:, None] + width[:, None] * close)
    prior = 0.7 * mixture(at, by_tau(others), mean, variance) + 0.3 * special.expit(at) * special.expit(-at)
    density = np.log(np.maximum(prior, 1e-300)) + log_likelihood(at)
    out[own] = quantiles(at, np.exp(density - density.max(axis=1, keepdims=True)), alpha)
    if not own.all():
        mean = effects @ design[~own].T
        variance = np.einsum("gi,tij,gj->tg", design[~own], covariance, design[~own]) + TAU[:, None] ** 2
        at, weights = points(mean, variance), np.repeat(by_tau(likelihood)[:, None], (~own).sum(), axis=1)
        out[~own] = quantiles(at, mixture(at, weights, mean, variance), alpha)
    return out


def pooled_rates(x, n, design, own, alpha):
    """Rates of groups by partial pooling on the log odds, with working responses (Breslow and Clayton 1993)."""
    y, size = x[own], n[own]
    theta = np.full(len(y), special.logit((y.sum() + 0.5) / (size.sum() + 1)))
    for _ in range(25):
        p = special.expit(theta.clip(-12, 12))
        z, v = theta + (y - size * p) / (size * p * (1 - p)), 1 / (size * p * (1 - p))
        model = in_common(z, v, design[own])
        likelihood, *_, mean, variance, _ = model
        joint = (z / v + mean / variance) / (1 / v + 1 / variance)
        moved = (by_tau(likelihood)[:, None] * joint).sum(axis=0) - theta
        theta = theta + moved.clip(-2, 2)
        if abs(moved).max() < 1e-8:
            break
    width = np.sqrt(1 / (y + 0.5) + 1 / (size - y + 0.5))

    def log_likelihood(at):
        return y[:, None] * at - size[:, None] * np.logaddexp(0, at)

    guess = special.logit((y + 0.5) / (size + 1))
    return special.expit(posterior(model, design, own, guess, width, log_likelihood, alpha))


def pooled_means(mean, variance, n, design, own, alpha):
    """Means of groups by partial pooling; a group's variance counts with ten rows of that of all (Smyth 2004)."""
    df = np.maximum(n[own] - 1, 0)
    pooled, centre = (variance[own] * df).sum() / max(df.sum(), 1), (mean[own] * n[own]).sum() / n[own].sum()
    pooled = pooled if pooled > 0 else ((mean[own] - centre) ** 2).mean() or 1.0
    z, v = (mean[own] - centre) / math.sqrt(pooled), (variance[own] * df / pooled + 10) / (df + 10) / n[own]

    def log_likelihood(at):
        return -(df[:, None] + 11) / 2 * np.log1p((at - z[:, None]) ** 2 / v[:, None] / (df[:, None] + 10))

    model = in_common(z, v, design[own])
    return centre + math.sqrt(pooled) * posterior(model, design, own, z, np.sqrt(v), log_likelihood, alpha)


# Clusters of local bias -----------------------------------------------------------------------------------------------
def on_grid(x, exponent):
    """Numbers as multiples of a power of two, so coarse that their sums are exact; None: all are 0."""
    return (x * 0 if exponent is None else np.ldexp(np.rint(np.ldexp(x, -exponent)), exponent)) + 0.0


def encoded(table, names, train, categories_only=False):
    """Columns by name: float32 numbers, standardised on the train rows, and whether they are missing; codes of levels.

    Levels are numbered by how many train rows have them; who has another one has the number after the last.
    """
    rows, numbers, codes, levels = int(train.sum()), [], [], []
    step = math.frexp(1.0)[1] + math.frexp(rows)[1] - 50

    def standardised(x):
        known = x[train & ~np.isnan(x)]
        mean = math.fsum(known) / len(known)
        spread = math.sqrt(math.fsum((known - mean) ** 2) / len(known))
        x = on_grid((x - mean) / spread, step) if spread else x * 0
        return np.nan_to_num(x).astype(np.float32)

    for name in sorted(names):
        if table.numeric(name) and not categories_only:
            x = table.numbers(name)
            numbers += [standardised(x)] + ([standardised(np.isnan(x) * 1.0)] if np.isnan(x[train]).any() else [])
            continue
        x = [None if one is None else str(one) for one in table.columns[name]]
        rows_of = Counter(one for one, is_train in zip(x, train, strict=True) if is_train)
        ranked = sorted(rows_of, key=lambda one: (-rows_of[one], one is None, one or ""))
        number = {level: i for i, level in enumerate(ranked)}
        codes.append([number.get(one, len(ranked)) for one in x])
        levels.append(len(ranked))
    shape = (-1, len(train))
    return np.array(numbers, np.float32).reshape(shape), np.array(codes, np.int64).reshape(shape), levels


def as_points(numbers, codes, levels, train):
    """Numbers, and a column for each level: two levels are as far apart as in k-prototypes (Huang 1998)."""
    size = np.float32(0.5 if any(np.ptp(x[train]) > 0 for x in numbers) else math.sqrt(0.5))
    flags = [
        np.where(code == level, size, np.float32(0))
        for code, count in zip(codes, levels, strict=True) for level in range(count)
    ]  # fmt: skip
    return np.array([*numbers, *flags], dtype=np.float32)


def squared_distances(x, points):
    """Of rows from points, both with their coordinates first, added up in float32 like the numbers themselves."""
    out = np.zeros((points.shape[1], x.shape[1]))
    for first in range(0, len(x), 32):
        part = np.zeros(out.shape, dtype=np.float32)
        for column, centre in zip(x[first : first + 32], points[first : first + 32], strict=True):
            part += (column - centre[:, None]) ** 2
        out += part
    return out


class LocalClusters:
    """Train rows in clusters: by k-means (Lloyd 1982), and by LOGAN (Zhao and Chang 2020), which goes on from there.

    `value` is 1 for an event of the rate, 0 for none, -1 for who is outside its denominator.
    """

    def __init__(self, x, group, value, groups, asked):
        hashes = np.zeros(x.shape[1], dtype=np.uint64)
        for bits in x.view(np.uint32):
            hashes = mixed(hashes + bits)
        self.order = np.lexsort((value, group, hashes))  # of content, whichever order the rows came in
        self.group, self.value, self.groups, self.asked = group[self.order], value[self.order], groups, asked
        self.smallest, self.scale = max(asked["min_group_size"], 1), []
        for column in x[:, self.order].astype(float):
            spread = math.sqrt(((column - column.mean()) ** 2).mean())
            power = math.frexp(spread)[1] + math.frexp(len(column))[1] - 50
            self.scale.append((column.mean(), power if spread > 1e-12 * abs(column.mean()) else None))
        self.x = self.placed(x[:, self.order])
        self.total, k = float(sum((column.astype(float) ** 2).sum() for column in self.x)), asked["n_clusters"]
        seeds = np.random.SeedSequence(asked["random_state"]).spawn(asked["n_init"])
        plain = [self.rest(self.start(seed, k), 0.0) for seed in seeds]
        weight = asked["weight"] * self.total / k
        gapped = [self.rest(centres, weight, labels) for labels, centres, _ in plain] if weight else plain
        self.found = {"kmeans": self.merged(min(plain, key=lambda one: one[2]), 0.0)}
        self.found["logan"] = self.merged(min(gapped, key=lambda one: one[2]), weight)

    def placed(self, x):
        """Numbers around the train rows' mean, on the grid of their column."""
        columns = [on_grid(one.astype(float) - mean, power) for one, (mean, power) in zip(x, self.scale, strict=True)]
        return np.array(columns, dtype=np.float32)

    def start(self, seed, k):
        """k-means++ (Arthur and Vassilvitskii 2007): the best of some candidates each time, far from all before."""
        draw, last = np.random.Generator(np.random.PCG64(seed)), self.x.shape[1] - 1
        chosen = [int(draw.integers(last + 1))]
        near = squared_distances(self.x, self.x[:, chosen])[0]
        for uniform in draw.random((k - 1, 2 + int(math.log(k)))):
            total = np.cumsum(near)
            if total[-1] <= 0:
                raise Skip("local bias of fewer different rows than clusters")
            drawn = np.minimum(np.searchsorted(total, uniform * total[-1], side="right"), last)
            closer = np.minimum(squared_distances(self.x, self.x[:, drawn]), near)
            best = int(closer.sum(axis=1).argmin())
            chosen.append(int(drawn[best]))
            near = closer[best]
        return self.x[:, chosen].copy()

    def rest(self, centres, weight, labels=None):
        """Centres become means, and rows go where they cost least, until both rest: labels, centres, objective."""
        x, k = self.x, centres.shape[1]
        labels = squared_distances(x, centres).argmin(axis=0) if labels is None else labels.copy()
        objective = self.objective(labels, centres, weight)
        for passes in range(300):
            before, sizes = (labels.copy(), centres), np.bincount(labels, minlength=k)
            sums = np.array([np.bincount(labels, column.astype(float), k) for column in x])
            centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), centres).astype(np.float32)
            moves, off_centre = self.offer(squared_distances(x, centres), labels, sizes, weight)
            if weight and off_centre > self.asked["max_off_centre"] * len(labels):
                labels, centres = before
                break
            objective = self.objective(labels, centres, weight)
            shift = ((centres - before[1]).astype(float) ** 2).sum()
            if not moves or (passes and shift <= 1e-4 * self.total / x.size):
                break
        return labels, centres, objective

    def offer(self, distances, labels, sizes, weight):
        """Offer each row every cluster, one row after another: how many moved, and how many lie off their centre."""
        rows, least = len(labels), 32 * float(np.finfo(np.float32).eps)
        events, counted = self.counts(labels, len(sizes))
        changes = [self.changes(*one) for one in zip(events, counted, strict=True)] if weight else ()
        first = moves = off_centre = 0
        while first < rows:  # until the next row that moves, all cost what they cost now
            some = np.arange(first, min(first + 256, rows) if weight else rows)
            a, i, d = labels[some], np.arange(len(some)), distances[:, some]
            own, told = d[a, i], self.value[some] >= 0
            cost = d - own
            if weight:
                of_each, cell = np.array(changes), (self.group[some], np.maximum(self.value[some], 0))
                gain = of_each[(slice(None), *cell, 1)] + of_each[(a, *cell, 0)]
                cost -= np.where(told, weight * gain, 0.0)
            cost[a, i] = np.inf
            free = sizes[a] > 1  # a cluster keeps its last row
            moving = (cost.min(axis=0) < -least * own) & free
            best = np.where(moving, cost.argmin(axis=0), a)
            if not weight:
                labels[:] = best
                return int(moving.sum()), 0
            end = int(moving.argmax()) + 1 if moving.any() else len(some)
            off_centre += int(((d < d[best, i] - least * own).any(axis=0) & free)[:end].sum())
            if moving.any():
                row, was, now = some[end - 1], a[end - 1], best[end - 1]
                labels[row], moves = now, moves + 1
                for cluster, step in ((was, -1), (now, 1)):
                    sizes[cluster] += step
                    if self.value[row] >= 0:
                        counted[cluster, self.group[row]] += step
                        events[cluster, self.group[row]] += step * self.value[row]
                        changes[cluster] = self.changes(events[cluster], counted[cluster])
            first += end
        return moves, off_centre

    def counts(self, labels, k):
        """Events and rows that the rate rests on, of each group in each cluster."""
        cells = labels * self.groups + self.group
        return [
            np.bincount(cells[x], minlength=k * self.groups).reshape(k, -1) for x in (self.value > 0, self.value >= 0)
        ]

    def squared_gap(self, events, counted):
        """Of the groups that have enough rows, which are along the last axis."""
        enough = counted >= self.smallest
        rate = events / np.maximum(counted, 1)
        high = np.where(enough, rate, -np.inf).max(axis=-1)
        low = np.where(enough, rate, np.inf).min(axis=-1)
        return np.where(high > low, high - low, 0.0) ** 2

    def changes(self, events, counted):
        """Of a cluster's squared gap if a row of a group, with a value, leaves (0) or joins (1) it."""
        one, now = np.eye(self.groups, dtype=int), self.squared_gap(events, counted)
        of_value = [[self.squared_gap(events + s * v * one, counted + s * one) - now for s in (-1, 1)] for v in (0, 1)]
        return np.moveaxis(np.array(of_value), 2, 0)

    def objective(self, labels, centres, weight):
        """Squared distances from the own centre, less the weighted squared gaps."""
        k, c = centres.shape[1], centres.astype(float)
        sums = np.array([np.bincount(labels, column.astype(float), k) for column in self.x])
        inertia = self.total - (c * (2 * sums - c * np.bincount(labels, minlength=k))).sum()
        return inertia - weight * self.squared_gap(*self.counts(labels, k)).sum()

    def merged(self, rest, weight):
        """Small clusters become part of the nearest one: labels of the rows, centres, into which, inertia."""
        labels, centres, objective = rest
        counted, k = self.counts(labels, centres.shape[1])[1], centres.shape[1]
        rows, at, into, left = np.bincount(labels, minlength=k), centres.T.astype(float), np.arange(k), np.ones(k, bool)
        inertia = objective + weight * self.squared_gap(*self.counts(labels, k)).sum()
        while left.sum() > self.asked["min_clusters"]:
            support = np.sort(counted, axis=1)[:, -2]
            small = [i for i in range(k) if left[i] and support[i] < self.asked["min_group_size"]]
            if not small:
                break
            least = min(small, key=lambda i: (support[i], rows[i], i))
            apart = ((at - at[least]) ** 2).sum(axis=1)
            apart[~left | (np.arange(k) == least)] = np.inf
            other = int(apart.argmin())
            both = rows[least] + rows[other]
            at[other] = (rows[least] * at[least] + rows[other] * at[other]) / both if both else at[other]
            rows[other], left[least] = both, False
            counted[other] += counted[least]
            into[into == least] = other
        into = np.searchsorted(np.flatnonzero(left), into)
        in_order = np.empty(len(labels), dtype=int)
        in_order[self.order] = into[labels]
        return in_order, centres, into, inertia

    def nearest(self, x, method):
        """The cluster of the centre that is nearest to each of some rows."""
        _, centres, into, _ = self.found[method]
        return into[squared_distances(self.placed(x), centres).argmin(axis=0)]


# Clusters of the bias variable -------------------------------------------------------------------------------------
class Halves:
    """A split of rows by two prototypes, of which each row goes to the nearer one: k-prototypes (Huang 1998)."""

    def __init__(self, mean_a, mode_a, mean_b, mode_b, gamma):
        self.linear = (2.0 * (mean_b - mean_a)).astype(np.float32)
        self.least, self.gamma = np.float32(squared_norm(mean_b) - squared_norm(mean_a)), np.float32(gamma)
        self.mode_a, self.mode_b = mode_a, mode_b

    def sides(self, numbers, codes):
        """Which rows go to b."""
        score, shape = np.zeros(numbers.shape[1], np.float32), (-1, 1)
        for weight, column in zip(self.linear, numbers, strict=True):
            score += weight * column
        if len(codes):
            matches = (codes == self.mode_b.reshape(shape)).sum(axis=0) - (codes == self.mode_a.reshape(shape)).sum(
                axis=0
            )
            score += self.gamma * matches.astype(np.float32)
        return score > self.least


def squared_norm(point):
    return float(np.cumsum(point * point)[-1]) if len(point) else 0.0


class ClusterTree:
    """Hierarchical bias-aware clustering (Misztal-Radecka and Indurkhya 2021) of the train rows.

    `y` are whole numbers, of which higher is worse.
    """

    def __init__(self, numbers, codes, levels, y, asked, min_rows, seed):
        self.numbers, self.codes, self.levels, self.y, self.min_rows, self.seed = (
            numbers,
            codes,
            levels,
            y,
            min_rows,
            seed,
        )
        self.gamma, self.starts = 0.5 if any(np.ptp(x) > 0 for x in numbers) else 1.0, asked["n_init"]
        self.hashes = np.zeros(len(y), np.uint64)
        for column in (*(x.view(np.uint32) for x in numbers), *codes):
            if (column != column[0]).any():
                self.hashes = mixed(self.hashes + column.astype(np.uint64))
        root = {"id": 0, "parent": None, "at": 1, "rows": np.arange(len(y)), "gap": Fraction(0), "label": 0}
        self.nodes, labels = [root | self.moments(root["rows"])], 1
        step = Fraction(asked["margin"] * self.nodes[0]["spread"])
        for _ in range(asked["max_iter"]):
            waiting = [
                one for one in self.nodes
                if "tried" not in one and one["spread"] > 0 and len(one["rows"]) >= max(2 * min_rows, 2)
            ]  # fmt: skip
            if not waiting:
                break
            node = max(waiting, key=lambda one: (one["spread"], -one["label"]))
            node["tried"] = True
            split = self.best_split(node)
            if split is None:
                continue
            rows = node["rows"]
            sides = split.sides(numbers[:, rows], codes[:, rows])
            parts = [rows[~sides], rows[sides]]
            gaps = [self.gap(one) for one in parts]
            if min(map(len, parts)) >= max(min_rows, 1) and max(gaps) >= node["gap"] + step:
                node |= {"split": split, "children": [len(self.nodes), len(self.nodes) + 1]}
                for part, gap, at, label in zip(parts, gaps, (0, 1), (node["label"], labels), strict=True):
                    child = {"id": len(self.nodes), "parent": node["id"], "at": 2 * node["at"] + at, "rows": part}
                    self.nodes.append(child | {"gap": gap, "label": label} | self.moments(part))
                labels += 1
        leaves = sorted((one for one in self.nodes if "split" not in one), key=lambda one: (-one["gap"], one["id"]))
        self.clusters = {one["id"]: i for i, one in enumerate(leaves)}  # by falling gap

    def moments(self, rows):
        """The standard deviation of whole numbers."""
        n, total, squares = (
            len(rows),
            int(self.y[rows].sum()),
            sum(int(x) ** 2 * int(k) for x, k in zip(*np.unique(self.y[rows], return_counts=True), strict=True)),
        )
        return {"spread": math.sqrt((n * squares - total**2) / n**2)}

    def gap(self, rows):
        """The mean of rows less that of all others."""
        n, k, total, part = len(self.y), len(rows), int(self.y.sum()), int(self.y[rows].sum())
        return Fraction(n * part - k * total, k * (n - k)) if n > k else Fraction(0)

    def labels(self, numbers, codes):
        """The cluster of each of some rows, which go down the tree."""
        at = np.zeros(numbers.shape[1] if len(numbers) else codes.shape[1], int)
        for node in self.nodes:
            if "split" in node:
                here = np.flatnonzero(at == node["id"])
                at[here] = np.where(node["split"].sides(numbers[:, here], codes[:, here]), *node["children"][::-1])
        return np.array([self.clusters.get(one["id"], -1) for one in self.nodes])[at]

    def best_split(self, node):
        """The cheapest split in two with enough rows on either side, from several pairs of rows; or the cheapest."""
        rows = node["rows"]
        draw = np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, node["at"]])))
        seeded = mixed(self.hashes[rows] ^ np.uint64(draw.integers(0, 2**64, dtype=np.uint64)))
        _, first, copies = np.unique(seeded, return_index=True, return_counts=True)
        chosen, weights, complete = rows[first[:4096]], copies[:4096].astype(float), len(first) <= 4096
        if len(rows) > 131_072 or (not complete and not len(self.numbers)):
            raise Skip("clusters of so many rows that the search looks at some of them")
        if len(chosen) < 2:
            return None
        sample = self.numbers[:, chosen], self.codes[:, chosen], weights
        found = self.rested(sample, self.pairs(sample, draw), 0.0 if complete else 1e-4)
        if complete and not len(self.numbers) and 2 * len(self.codes) ** 2 * len(chosen) <= 4_000_000:
            found = self.polished(sample, found)
        found = self.large_enough_first(found, weights.sum(), len(rows))
        if not complete and found:
            everybody = self.numbers[:, rows], self.codes[:, rows], np.ones(len(rows))
            found = self.rested(everybody, [one[2] for one in found[:2]], 1e-4)
            found = self.large_enough_first(found, len(rows), len(rows))
        return found[0][1] if found else None

    def large_enough_first(self, found, total, rows):
        """Splits with enough rows on either side, then the others, each by rising cost."""
        needed = self.min_rows / rows * total * (1 - 1e-12)
        return sorted(found, key=lambda one: min(one[3], total - one[3]) < needed)

    def pairs(self, sample, draw):
        """Pairs of rows to start from: the second is drawn by its squared distance from the first (k-means++).

        Of categories alone one pair is by density instead (Cao, Liang and Bai 2009).
        """
        numbers, codes, weights = sample
        draws, x, out = draw.random((self.starts, 2)), numbers.astype(float), []
        for first, second in draws:
            i = min(
                int(np.searchsorted(np.cumsum(weights), first * np.cumsum(weights)[-1], side="right")), len(weights) - 1
            )
            apart = np.zeros(len(weights))
            for column in x:
                apart += (column - column[i]) ** 2
            apart += self.gamma * (codes != codes[:, [i]]).sum(axis=0)
            total = np.cumsum(weights * apart)
            j = (
                min(int(np.searchsorted(total, second * total[-1], side="right")), len(weights) - 1)
                if total[-1] > 0
                else i
            )
            out.append((i, j))
        if not len(numbers):
            density = sum(np.bincount(one, weights)[one] for one in codes)
            i = int(density.argmax())
            out[0] = i, int((density * (codes != codes[:, [i]]).sum(axis=0)).argmax())
        return [(x[:, i], codes[:, i], x[:, j], codes[:, j]) for i, j in out]

    def centre(self, sample, sides):
        """Rows, means and modes on some side, and what the rows cost around them."""
        numbers, codes, weights = sample
        w = weights[sides]
        n, modes, mismatches = w.sum(), [], w.sum() * len(codes)
        mean = np.array([(w * column[sides]).sum() for column in numbers.astype(float)]) / n
        for code, levels in zip(codes, self.levels, strict=True):
            counts = np.bincount(code[sides], w, levels + 1)
            modes.append(int(counts.argmax()))
            mismatches -= counts.max()
        return n, mean, np.array(modes, dtype=int), self.gamma * mismatches - n * squared_norm(mean)

    def rested(self, sample, starts, tolerance):
        """Move pairs of prototypes to the centres of their rows until they rest: cost, split, prototypes, rows of b."""
        found = []
        for start in starts:
            at, cost = start, math.inf
            for passes in range(1, 101):
                split = Halves(*at, self.gamma)
                sides = split.sides(*sample[:2])
                if sides.all() or not sides.any():
                    cost = math.inf
                    break
                a, b = self.centre(sample, ~sides), self.centre(sample, sides)
                before, cost = cost, a[3] + b[3]
                shift = squared_norm(a[1] - at[0]) + squared_norm(b[1] - at[2])
                moved = shift > tolerance or (a[2] != at[1]).any() or (b[2] != at[3]).any()
                if not (cost < before and moved) or passes == 100:
                    break
                at = a[1], a[2], b[1], b[2]
            if cost < math.inf:
                found.append((cost, split, (a[1], a[2], b[1], b[2]), b[0], sides))
        found.sort(key=lambda one: one[0])
        return [one for i, one in enumerate(found) if not i or one[0] > found[i - 1][0]]

    def polished(self, sample, found):
        """Leave the local optima of k-modes: move one mode to its runner-up, while that is cheaper."""
        out, nothing = [], np.empty(0)
        for best in found[:3]:
            while True:
                starts, (_, mode_a, _, mode_b) = [], best[2]
                for modes, is_b in ((mode_a, False), (mode_b, True)):
                    for k, code in enumerate(sample[1]):
                        side = best[4] == is_b
                        counts = np.bincount(code[side], sample[2][side], self.levels[k] + 1)
                        counts[modes[k]] = -1
                        moved = modes.copy()
                        moved[k] = counts.argmax()
                        starts.append((nothing, mode_a, nothing, moved) if is_b else (nothing, moved, nothing, mode_b))
                tried = self.rested(sample, starts, 0.0)
                if not tried or tried[0][0] >= best[0]:
                    break
                best = tried[0]
            out.append(best)
        return sorted([*out, *found[3:]], key=lambda one: one[0])


# 6. What is held against the report ---------------------------------------------------------------------------------
class Recomputed:
    """What was recomputed, by kind; what differs; and what was not recomputed."""

    def __init__(self, report, table):
        self.report, self.spec, self.table = report, report["spec"], table
        self.made, self.differing, self.left_out, self.at_once = Counter(), [], Counter(), {}
        self.y, self.out = bias_variable(table, self.spec["bias_variable"])
        features = [one["name"] for one in report["data"]["columns"] if one["role"] == "feature"]
        self.complete = table.known(*features) if self.spec["missing"] == "drop" else np.ones(table.rows, dtype=bool)
        self.audited = ~np.isnan(self.y) & self.complete
        self.drawn = table.rows > self.spec["large_rows"]
        self.by_person, self.name = self.spec["split"]["key"] is not None, report["bias_variable"]["name"]
        self.whose = self.numbered()
        searched = report.get("worst_groups") or {}
        self.divided = self.ranks = None
        self.attempt(self.rows)
        self.attempt(self.divide)
        for at, part in (("worst_groups", searched), ("worst_groups.raw", searched.get("raw") or {})):
            groups = [*part.get("groups", []), *([part["unconfirmed"]] if part.get("unconfirmed") else [])]
            for i, group in enumerate(groups):
                self.attempt(self.people, f"{at}.groups[{i}]", group, None if part["legitimate"] else groups[:i])
            self.attempt(self.ruled_out, at, part)
            self.attempt(self.searched, at, part)
        before = searched.get("groups", [])
        for i, one in enumerate((report.get("findings") or {}).get("findings", [])):
            self.attempt(self.people, f"findings.findings[{i}]", one, before[: one["groups_before"]])
        self.attempt(self.findings, report.get("findings") or {})
        self.attempt(self.profiles, report.get("findings") or {})
        for i, one in enumerate((report.get("findings") or {}).get("at_first_sight", [])):
            self.attempt(self.people, f"findings.at_first_sight[{i}]", one, [], first_sight=True)
        self.attempt(self.repeated_ranges)
        self.attempt(self.intersections, report.get("slices") or {"slices": [], "columns": []})
        self.attempt(self.of_intersections, report.get("slices") or {})
        self.attempt(self.columns)
        self.attempt(self.characteristics, report.get("characteristics"))
        self.attempt(self.tree)
        self.attempt(self.clusters_together)
        self.attempt(self.without_others)
        self.placed = None  # the cluster of each row
        if self.spec["clustering"] and report.get("tree"):
            self.attempt(self.clusters_of_tree)
        self.attempt(self.primary)
        self.attempt(self.of_proxies)
        if (report.get("mitigation") or {}).get("thresholds"):
            self.attempt(self.tried, report["mitigation"])
            self.attempt(self.thresholds_of_rows, report["mitigation"])
            self.attempt(self.told_by_features, report["mitigation"])
        if report.get("local_bias"):
            self.attempt(self.gaps_within, report["local_bias"])
            self.attempt(self.local_clusters, report["local_bias"])
            self.attempt(self.clusters_of_rows, report["local_bias"])
        if report.get("pooled_groups"):
            self.attempt(self.pooled, report["pooled_groups"])
        self.attempt(self.repeated)
        self.attempt(self.families)
        self.attempt(self.declared, report.get("declared_outcomes") or {"facets": []})
        self.tests(report, values=sorted({*self.y[self.audited].tolist()}))
        for i, facet in enumerate((report.get("groups") or {}).get("facets", [])):
            self.attempt(self.metrics, f"groups.facets[{i}]", facet, report["groups"])
        if report.get("numeric_groups"):
            self.attempt(self.numeric_groups, report["numeric_groups"])
        if report.get("calibration"):
            self.attempt(self.calibration, report["calibration"])
        self.attempt(self.parts_of_rows)
        for at, part in (("worst_groups", searched), ("worst_groups.raw", searched.get("raw") or {})):
            if part.get("certificate"):
                self.attempt(self.not_worse, at, part)
        self.limits()

    def attempt(self, check, *given, **named):
        try:
            check(*given, **named)
        except Skip as skip:
            self.left_out[str(skip)] += 1
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # such as more events than people
            self.made["contradictions"] += 1
            self.differing.append(("contradictions", check.__name__, "contradicting itself", repr(error)))

    def each(self, kind, where, stated, within=TOLERANCE, **mine):
        """Hold members of an object of the report against what was recomputed; what is no number is null."""
        if stated.get("undefined_reason") is not None:
            raise Skip("metrics that the report calls undefined, or does not print as a group has too few rows")
        pairs = [(name, stated[name], value) for name, value in mine.items()]
        for name, told, value in list(pairs):
            if isinstance(told, list) and isinstance(value, list) and len(told) == len(value):
                pairs.remove((name, told, value))
                pairs += [(f"{name}[{i}]", *both) for i, both in enumerate(zip(told, value, strict=True))]
        for name, *pair in pairs:
            told, value = (None if isinstance(x, float) and math.isnan(x) else x for x in pair)
            rounded = 2.0**-26 if ".rates.calib" in where else 1e-12  # scores are counted in whole multiples of it
            of_rows = kind in ("Clarify's metrics", "metrics of groups", "calibration")
            rounded = 2.0**-20 if of_rows and self.by_person else rounded  # and so are weights of persons' rows
            self.made[kind] += 1
            told = float(told) if told in ("Infinity", "-Infinity") else told  # JSON has no word for it
            numbers = not any(x is None or isinstance(x, (str, bool, list)) for x in (told, value))
            near = numbers and abs(told - value) <= within * max(abs(told), abs(value)) + rounded
            if told != value and not near:
                self.differing.append((kind, f"{where}.{name}", told, value))

    def sides(self, conditions, rows=True):
        """The bias variable of the people, of some rows, for whom conditions hold, and of everybody else."""
        inside, rows = self.table.holding(conditions), self.audited & rows
        return self.y[inside & rows], self.y[~inside & rows]

    def rows(self):
        """What was read, what was left out, and the means of both parts together, whichever rows are in which."""
        data, parts, means, y = self.report["data"], self.report["split"], self.report["bias_variable"], self.y
        stated = data | {"rows_left_out": [one["rows"] for one in data["rows_left_out"]]}
        stated["rows of both parts"] = parts["train_rows"] + parts["test_rows"]
        stated["mean of both parts"] = sum(parts[f"{x}_rows"] * means[f"{x}_mean"] for x in ("train", "test"))
        stated["mean of both parts"] /= self.audited.sum()
        mine = {"rows of both parts": self.audited.sum(), "mean of both parts": y[self.audited].mean()}
        out = [int(n) for n in (*self.out, (~np.isnan(y) & ~self.audited).sum()) if n]
        self.each("rows", "data", stated, rows_left_out=out, **mine)
        self.each("rows", "data", data, rows=len(y), rows_audited=int(self.audited.sum()))
        for i, (one, n) in enumerate(zip(data["rows_left_out"], out, strict=False)):
            self.each("rows", f"data.rows_left_out[{i}]", one, rows=n)

    def divide(self):
        """Which rows are train rows and which are test rows; and the content hash of all of them."""
        split, query = self.spec["split"], self.spec["bias_variable"]["query"]
        data, split_told, bias = (self.report[name] for name in ("data", "split", "bias_variable"))
        used = {one["name"]: one["kind"] for one in data["columns"] if one["role"] not in ("unused", "bias_variable")}
        unused = {one["name"]: None for one in data["columns"] if one["role"] == "unused"}
        carried = {name: None for name in self.carried() if name in unused}
        persons, lists = (
            {f"({what})": self.table.row_hashes({name: "categorical"})} if name else {}
            for what, name in (("key", split["key"]), ("list", query))
        )
        at = (self.spec["local_bias"] or {}).get("embeddings")
        numbers = {"(row)": np.arange(self.table.rows, dtype=float)} if isinstance(at, str) else {}
        y = {"(bias variable)": self.y}
        content = self.table.row_hashes(used, **y)
        words, sums = content[self.complete], [str(self.complete.sum())]
        for _ in range(4):
            words = mixed(words)
            sums.append(str(words.sum()))
        mine = {"fingerprint": "sha256:" + hashlib.sha256(",".join(sums).encode()).hexdigest()}
        ranks = self.table.row_hashes({**used, **carried}, **y, **persons, **lists)
        drawn, test = np.zeros(self.table.rows, dtype=np.uint64), np.zeros(self.table.rows, dtype=bool)
        drawn[self.complete] = mixed(mixed(ranks[self.complete]) + occurrences(ranks[self.complete]))
        rest = self.table.row_hashes(carried, **persons, **lists, **numbers)
        self.drawn_by = persons["(key)"] if split["key"] else drawn, rest, content
        test = self.divided_again(self.complete, split["random_state"])
        for part, rows in (("train", ~test), ("test", test)):
            y = self.y[self.audited & rows]
            mine |= {f"{part}_rows": len(y), f"{part}_mean": y.mean() if len(y) else math.nan}
        is_alike = data["fingerprint"] == mine["fingerprint"] or math.isclose(bias["test_mean"], mine["test_mean"])
        if not is_alike and not str(data["source"]).endswith((".csv", ".tsv", ".txt")):
            raise Skip("which rows are tested: the values of the table were of another type than in a text")
        self.each("rows", "data", data, fingerprint=mine["fingerprint"])
        self.each("rows", "split", split_told, **{name: mine[name] for name in ("train_rows", "test_rows")})
        means = {name: mine[name] for name in ("train_mean", "test_mean")}
        self.each("rows", "bias_variable", bias, **means)
        self.ranks, self.divided = drawn, test

    def divided_again(self, rows, seed):
        """Which of some rows are test rows, by this seed."""
        split, (numbers, rest, content) = self.spec["split"], self.drawn_by
        if split["method"] == "hash" or split["key"] or (split["method"] == "auto" and self.drawn):
            return by_hash(numbers, split["test_size"], seed) & rows
        test, order = np.zeros(self.table.rows, dtype=bool), np.flatnonzero(rows)
        order = order[np.lexsort((rest[rows], content[rows]))]
        test[order] = stratified(self.y[order], split["test_size"], seed, split["stratify"])
        return test

    def carried(self):
        """Columns that make part of a row's content, though people are not told apart by them."""
        spec, names = self.spec, [*self.spec["legitimate"], *(self.spec["characteristics"] or ())]
        groups, bias, local = spec["groups"], spec["bias_variable"], spec["local_bias"] or {}
        places_in = [(spec["slices"], "columns"), (spec["worst_groups"], "columns"), (spec["mitigation"], "group")]
        places_in += [(spec["mitigation"], "score"), *((local, x) for x in ("group", "describe_by", "texts"))]
        places_in += [(local, "embeddings")] if isinstance(local.get("embeddings"), list) else []
        for one in (part[key] for part, key in places_in if part and part[key]):
            names += [one] if isinstance(one, str) else one
        of_numbers = bias["derive"] in ("absolute_error", "squared_error", "signed_error", "pinball_loss")
        of_numbers |= bias["derive"] in ("top_k", "exposure", "position")
        outcomes = [
            None if groups["numbers"] else groups[x] or (None if of_numbers else bias[x])
            for x in ("label", "prediction")
        ]
        calibrated = spec["worst_groups"] and groups["score"] and outcomes[0]
        if calibrated or local.get("metric") == "auc":
            names.append(groups["score"])
        listed = None not in outcomes if spec["characteristics"] is None else spec["characteristics"]
        return names + (outcomes if calibrated or local or spec["mitigation"] or listed else [])

    @property
    def test(self):
        """For each row of the table whether it is a test row."""
        if self.divided is None:
            raise Skip("what is of the test rows, as it is not known which these are")
        return self.divided

    @property
    def train(self):
        """For each row of the table whether it is a train row; neither is one that is left out."""
        return self.complete & ~self.test

    def sample(self, rows):
        """Of some rows of the table those that are drawn where it is large: so many with the lowest ranks."""
        among = np.flatnonzero(rows & (self.train | self.test))
        drawn = np.zeros(self.table.rows, dtype=bool)
        drawn[among[np.argsort(self.ranks[among], kind="stable")[: self.spec["large_rows"]]]] = True
        return drawn

    def people(self, where, group, before, first_sight=False):
        """People whom a search found, against everybody else: what the search found, not how it searched."""
        if not group["conditions"]:
            raise Skip("people whom no conditions describe: clusters, and places of the data")
        of, others = self.sides(group["conditions"])
        drawn = group.get("on_test_rows") and self.report["findings"]["drawn"]
        if drawn or group.get("measured", self.name) != self.name:
            raise Skip("findings on drawn rows, and on something else than the bias variable")
        self.each("people found", where, group, rows=len(of), share=len(of) / self.audited.sum())
        gap, alike = of.mean() - others.mean(), group.get("remaining") or group.get("among_alike")
        if alike:
            sides = self.sides(group["conditions"], self.test) if group.get("on_test_rows") else (of, others)
            self.attempt(self.left_among_alike, f"{where} among people alike", group, alike, *sides)
        alike = None if first_sight else alike
        self.each("people found", where, group, mean_inside=of.mean(), mean_outside=others.mean())
        if group.get("on_test_rows") and not (before or alike):
            a, b = self.sides(group["conditions"], self.test)
            sign = -1 if self.spec["bias_variable"]["better"] == "higher" else 1
            self.each("people found", where, group, difference=sign * (a.mean() - b.mean()))
        if group.get("on_test_rows") or (before is None and not alike):
            raise Skip("differences on the test rows alone, or among people alike without a name")
        sign = -1 if ("measured" in group or alike) and self.spec["bias_variable"]["better"] == "higher" else 1
        if alike:
            self.each("people found", f"{where} among people alike", alike, difference=sign * gap, rows_inside=len(of))
        elif before:  # compared with people alike in the groups found before, by overlap weights (Li et al. 2018)
            inside, parts = self.table.holding(group["conditions"]), []
            strata = sum(self.table.holding(one["conditions"]) * 2**i for i, one in enumerate(before))
            for here in (self.audited & (strata == one) for one in np.unique(strata)):
                a, b = self.y[here & inside], self.y[here & ~inside]
                parts += [(len(a) * len(b) / (len(a) + len(b)), a.mean() - b.mean())] if len(a) and len(b) else []
            gap = sum(w * x for w, x in parts) / sum(w for w, _ in parts) if parts else 0.0
        if not alike or "measured" in group:
            self.each("people found", where, group, difference=sign * gap)
        if group["people_harmed"] is not None:
            harm = alike["remaining"] * alike["overlap"] if alike else abs(gap)
            self.each("people found", where, group, people_harmed=len(of) * harm)

    def findings(self, told):
        """What findings say beside what a search says of the same people: its p-value over its share of alpha."""
        worst, sign = self.report.get("worst_groups") or {"groups": []}, 1
        raw = (worst.get("raw") or {"groups": []})["groups"]
        sign = -1 if self.spec["bias_variable"]["better"] == "higher" else 1
        for kind, listed in (("findings", worst["groups"]), ("at_first_sight", raw)):
            for i, one in enumerate(told.get(kind, [])):
                at, same = f"findings.{kind}[{i}]", [x for x in listed if x["conditions"] == one["conditions"]]
                same = same if one["found_by"] == "worst_groups" and one["measured"] == self.name else []
                mine = {"groups_before": listed.index(same[0]) if same and kind == "findings" else 0}
                if same:
                    mine["p_value"] = min(1.0, same[0]["p_value"] / told["searches"]["worst_groups"])
                if same and kind == "at_first_sight":
                    names = ("low", "high") if sign > 0 or listed.index(same[0]) else ("high", "low")
                    limits = one["remaining"] if listed.index(same[0]) else {x: sign * same[0][x] for x in names}
                    mine |= {name: limits[x] for name, x in zip(("low", "high"), names, strict=True)}
                if one["found_by"] in ("worst_groups", "groups", "slices"):
                    self.each("people found", at, one, **mine)
                if one["mean_alike"] is not None and one["mean_inside"] is not None:
                    left = one["remaining"]["remaining"] if one["remaining"] else one["difference"]
                    self.each("people found", at, one, mean_alike=one["mean_inside"] - sign * left)
                if one["remaining"] and kind == "findings":
                    mine = {x: one["remaining"][x] for x in ("low", "high")}
                    self.each("people found", at, one, **mine)
                for c in one["conditions"]:
                    self.ends_of(at, c) if not one["on_test_rows"] else None

    def profiles(self, told):
        """Each feature of a finding's people beside everybody else's: means, or shares of the level that is named."""
        rows = self.audited & (self.sample(self.train | self.test) if self.drawn else self.train | self.test)
        for i, one in enumerate(told.get("findings", [])):
            for j, feature in enumerate(one["profile"] if one["conditions"] else []):
                inside, name = self.table.holding(one["conditions"]), feature["column"]
                kept, level = rows & self.table.known(name), feature["level"]
                if level is not None:  # what is missing is a level, too
                    kept, x = rows, self.table.among(name, [level])
                    x = x if level in map(str, self.table.columns[name]) else ~self.table.known(name)
                else:
                    x = self.table.numbers(name)
                mine = {side: x[kept & part].mean() for side, part in (("inside", inside), ("outside", ~inside))}
                self.each("people found", f"findings.findings[{i}].profile[{j}]", feature, **mine)

    def left_among_alike(self, where, group, part, of, others):
        """What people alike leave of a difference: learnt by trees, so that what it says has to fit together."""
        sign = -1 if self.spec["bias_variable"]["better"] == "higher" else 1
        gap, left, z = sign * (of.mean() - others.mean()), part["remaining"], z_of(1 - part["confidence"])
        up = left >= 0
        error = abs(part["remaining_high" if up else "remaining_low"] - left) / z
        near = ratio(abs(part["remaining_low" if up else "remaining_high"] - left), error)
        t = ratio(abs(left), error)
        mine = {"rows": len(of) + len(others), "rows_inside": len(of), "difference": gap}
        mine |= {"explained": gap - left, "remaining": gap - part["explained"]}
        mine |= {"explained_low": 2 * (gap - left) - part["explained_high"]}
        mine |= {"explained_high": 2 * (gap - left) - part["explained_low"], "p_value": 2 * float(special.ndtr(-t))}
        # How strong an unseen factor would have to be (Cinelli and Hazlett 2020, equation 19).
        for name, f in (("robustness", t), ("robustness_low", max(t - near, 0))):
            f /= math.sqrt(mine["rows"])
            mine[name] = (math.sqrt(f**4 + 4 * f * f) - f * f) / 2
        if part["p_value"] > 1e-300:
            error = abs(left / float(special.ndtri(part["p_value"] / 2)))
            ends_of_left = (left - (near if up else z) * error, left + (z if up else near) * error)
            mine |= dict(zip(("remaining_low", "remaining_high"), ends_of_left, strict=True))
        if not self.by_person:
            raw = math.sqrt(of.var() / len(of) + others.var() / len(others))
            mine["low"], mine["high"] = gap - (near if gap >= 0 else z) * raw, gap + (z if gap >= 0 else near) * raw
        self.each("people found", where, part, 1e-6, **mine)
        first_sight = group.get("people_harmed") is None or "at_first_sight" in where
        if not first_sight and left:
            overlap = group["people_harmed"] / len(of) / left
            self.each("people found", where, part, 1e-6, overlap=overlap)

    def searched(self, at, part):
        """Settings of the search for the worst group, which are the same for everybody, and its p-values and reach."""
        if not part:
            return
        spec, alpha, rows = self.spec["worst_groups"], self.spec["significance"]["alpha"], int(self.audited.sum())
        shares = (self.report.get("findings") or {}).get("searches") or {"worst_groups": 1}
        mine = {"level": alpha * shares["worst_groups"], "random_state": 42, "rows": rows, "alpha": alpha}
        mine |= {"left_out": (self.complete & np.isnan(self.y)).sum(), "permutations": spec["permutations"]}
        mine |= {"min_share": spec["min_share"]} | ({} if part["legitimate"] else {"strata": 1})
        self.each("people found", at, part, **mine)
        few = {"starts": 16} if len(part["searched"]["columns"]) <= 12 else {}
        self.each("people found", f"{at}.searched", part["searched"], max_conditions=3, **few)
        bins = {one["name"]: one["bins"] for one in self.report["worst_groups"]["searched"]["columns"]}
        for one in part["searched"]["columns"] if at.endswith("raw") else []:
            if one["name"] in bins:
                self.each("people found", f"{at}.searched.{one['name']}", one, bins=bins[one["name"]])
        drawn = self.audited & self.sample(self.train | self.test) if self.drawn else self.audited
        people = len({*self.person[drawn]}) if self.by_person else int(drawn.sum())
        for name in ("searched_on", "permuted_on"):
            if part[name] is not None:
                most = 20_000 if name == "permuted_on" else rows
                self.each("people found", f"{at}.{name}", part[name], of=rows, rows=min(int(drawn.sum()), most))
        least = max(spec["min_share"], self.spec["significance"]["min_rows"] / people)
        if part["certificate"]:
            self.each("people found", f"{at}.certificate", part["certificate"], min_share=least)
        larger = [share for share in (0.02, 0.05, 0.1, 0.2, 0.5) if share > least]
        for one, share in zip(part["limited"], larger[-len(part["limited"]) :], strict=False):
            self.each("people found", f"{at}.limited", one, min_share=share)
        if part["structure"] and not self.by_person:  # tested on four parts of five
            n = min(people, 20_000)
            self.each("people found", f"{at}.structure", part["structure"], rows=n - math.ceil(n / 5))
        for i, group in enumerate([*part["groups"], *([part["unconfirmed"]] if part["unconfirmed"] else [])]):
            chance = Fraction(group["p_value"]).limit_denominator(part["permutations"] + 1)
            self.each("people found", f"{at}.groups[{i}]", group, p_value=float(chance))
            self.attempt(self.reach, f"{at}.groups[{i}]", group, i == 0 and not part["legitimate"])
            for c in group["conditions"]:
                self.ends_of(f"{at}.groups[{i}]", c)

    def ends_of(self, where, condition):
        """An interval ends at a whole number that somebody has, or at the roundest one between two people's."""
        if condition["kind"] != "interval" or self.drawn:
            return
        x = self.table.numbers(condition["column"])[self.audited]
        for name in ("low", "high"):
            if condition[name] is not None:
                low, high = (
                    f(x[side], initial=-i)
                    for f, side, i in (
                        (np.max, x <= condition[name], math.inf),
                        (np.min, x > condition[name], -math.inf),
                    )
                )
                is_whole = (x[~np.isnan(x)] % 1 == 0).all() or not math.isfinite(low + high)
                edge = low if is_whole else roundest(low, high)
                self.each("people found", where, condition, **{name: float(edge if edge < high else low)})

    def reach(self, where, group, is_first):
        """How many standard errors the limits of a group's difference are off: the far one as of one group alone."""
        sign, alike = 1 if self.spec["bias_variable"]["better"] == "lower" else -1, group["among_alike"]
        if group["reach"] is None or self.by_person:
            return
        if alike:
            names = {"difference": "remaining", "low": "remaining_low", "high": "remaining_high"}
            mine = {name: sign * alike[other] for name, other in names.items()}
            low, high = sorted((mine["low"], mine["high"]))
            self.each("people found", where, group, difference=mine["difference"], low=low, high=high)
        elif is_first:
            of, others = self.sides(group["conditions"])
            gap, error = of.mean() - others.mean(), math.sqrt(sum(x.var(ddof=1) / len(x) for x in (of, others)))
            near, far = ("low", "high") if sign > 0 else ("high", "low")
            z = z_of(self.spec["significance"]["alpha"])
            mine = {near: gap - sign * group["reach"] * error, far: gap + sign * z * error}
            self.each("people found", where, group, 1e-6, reach=abs(gap - group[near]) / error, **mine)

    def ruled_out(self, where, part):
        """What was found and confirmed of groups from a share of the people on; what is ruled out is drawn."""
        sign = -1 if self.spec["bias_variable"]["better"] == "higher" else 1
        for one in [*([part["certificate"]] if part.get("certificate") else []), *(part.get("limited") or [])]:
            groups = [group for group in part["groups"] if group["share"] >= one["min_share"]]
            mine = {
                "rows": part["rows"],
                "found_difference": max((sign * group["difference"] for group in groups), default=0),
            }
            least = (group["low"] if sign > 0 else -group["high"] for group in groups)
            mine["confirmed_difference"] = max(least, default=0)
            mine |= {name: part["certificate"][name] for name in ("max_conditions", "max_share")}
            self.each("people found", where, one, **mine)

    def compared(self, kind, where, part, inside, among):
        """A group with all others among some rows: rows, events, means, t statistics; the rest follows from these."""
        (a, b), test = (self.y[among & side] for side in (inside, ~inside)), part["test"]
        mine = {"n_a": len(a), "n_b": len(b)}
        whose = [[self.person[among & side]] for side in (inside, ~inside)] if part.get("persons") else []
        persons = ByPerson(a, *whose[0], b, *whose[1]) if whose else None
        if persons:
            self.each(kind, f"{where}.persons", part["persons"], **dict(zip("ab", persons.persons, strict=True)))
        if test is not None and len(a) and len(b):
            mine |= {"mean_a": a.mean(), "mean_b": b.mean(), "difference": a.mean() - b.mean()}
            high, two = max(a.max(), b.max()), part["events_a"] is not None
            mine |= {"events_a": (a == high).sum(), "events_b": (b == high).sum()} if two else {}
            mine |= t_of_means(*moments(a), *moments(b)) if "exact" not in test and not persons else {}
        self.each(kind, where, part, **mine)
        if persons and test is not None and len(a) and len(b):
            persons = ByPerson((a == high) * 1.0, *whose[0], (b == high) * 1.0, *whose[1]) if two else persons
            effect = persons.effect(two)
            self.each(kind, f"{where}.persons", part["persons"], 1e-6, design_effect=effect, df=persons.df)
            tests = t_of_means(*moments(a), *moments(b))
            self.each(kind, where, part, 1e-6, **classical(tests, effect, persons.df))

    @property
    def person(self):
        """A number for the person of each row."""
        name = self.spec["split"]["key"]
        return self.table.once(name, "persons", lambda x: np.unique([str(one) for one in x], return_inverse=True)[1])

    def intersections(self, told):
        """Each intersection against everybody else: on the train rows, which it was found on, and on the test rows."""
        if not told["slices"] and not told["columns"]:
            return
        train, test, y = self.audited & self.train, self.audited & self.test, self.y
        rows = {"train_rows": train.sum(), "test_rows": test.sum()}
        persons = rows["train_rows"] / len({*self.person[train]}) if self.by_person else 1
        least = max(math.ceil(told["min_support"] * rows["train_rows"] - 1e-9), math.ceil(told["min_rows"] * persons))
        tested = sum(one["comparison"]["test"] is not None for one in told["slices"])
        mine = {"train_value": y[train].mean(), "test_value": y[test].mean(), "min_train_rows": least, "left_out": 0}
        self.each("intersections", "slices", told, tests=tested, max_tests=100, **rows, **mine)
        self.cuts(told, train, least)
        for i, one in enumerate(told["slices"]):
            inside = self.table.holding(one["conditions"])
            found, checked = y[train & inside], (test & inside).sum()
            mine = {"train_rows": len(found), "train_support": len(found) / train.sum(), "train_value": found.mean()}
            mine["train_difference"] = found.mean() - y[train & ~inside].mean()
            mine |= {"test_rows": checked, "test_support": checked / test.sum()}
            if one["ratio_to_overall"] is not None and checked:
                mine["ratio_to_overall"] = y[test & inside].mean() / y[test].mean()
            self.each("intersections", f"slices.slices[{i}]", one, **mine)
            self.compared("intersections", f"slices.slices[{i}].comparison", one["comparison"], inside, test)
        for i, node in enumerate(told["lattice"]):
            at, inside = f"slices.lattice[{i}]", self.table.holding(node["conditions"])
            mine = {"rows": (test & inside).sum(), "support": (test & inside).sum() / test.sum()}
            self.each("intersections", at, node, **mine)
            self.compared("intersections", f"{at}.comparison", node["comparison"], inside, test)

    def cuts(self, told, train, least):
        """Values and intervals of each column that have enough train rows, within and without; edges are round."""
        kinds = {one["name"]: one["kind"] for one in self.report["data"]["columns"]}
        for c, column in enumerate(told["columns"]):
            name, among = column["name"], self.sample(self.train) & self.audited if self.drawn else train
            x, known = self.table.columns[name], self.table.known(name)
            is_number = kinds[name] != "categorical" and not any(isinstance(one, (str, bool)) for one in x)
            if is_number and len({*x[among & known]}) > max(told["bins"], 10):
                x, edges = x.astype(float), set()
                ordered = np.sort(x[among & known])
                for i in range(1, told["bins"]):
                    shares = [(i + slack) / told["bins"] for slack in (-0.1, 0.1)]
                    edge = roundest(*np.quantile(ordered, shares, method="inverted_cdf"))
                    edges |= {edge} if ordered[0] <= edge < ordered[-1] else set()
                limits = [None, *sorted(edges or ordered[ordered < ordered[-1]][-1:].tolist()), None]
                cells = [(low, high, None) for low, high in pairwise(limits)]
            else:
                values = sorted(
                    {*x[train & known]},
                    key=str if kinds[name] == "categorical" else lambda one: (isinstance(one, str), one),
                )
                cells = [(None, None, str(one) if kinds[name] == "categorical" else one) for one in values]
            cells = [*cells, (None, None, None)]
            sizes = [
                (train & self.table.holding([{"column": name, "kind": "interval", "low": low, "high": high}])).sum()
                if (low, high) != (None, None)
                else (train & (self.table.among(name, [value]) if value is not None else ~known)).sum()
                for low, high, value in cells
            ]
            kept = [cell for cell, size in zip(cells, sizes, strict=True) if least <= size <= train.sum() - least]
            rows = sum(size for size in sizes if least <= size <= train.sum() - least)
            self.each("intersections", f"slices.columns[{c}]", column, other_rows=train.sum() - rows)
            number = {"conditions": len(column["conditions"])}
            self.each("intersections", f"slices.columns[{c}]", number, conditions=len(kept))
            for i, (one, cell) in enumerate(zip(column["conditions"], kept, strict=False)):
                mine = dict(zip(("low", "high", "value"), cell, strict=True))
                self.each("intersections", f"slices.columns[{c}].conditions[{i}]", one, **mine)
        same = {(x["column"], x["text"]): x for column in told["columns"] for x in column["conditions"]}
        for one in (*told["slices"], *told["lattice"]):
            for c in one["conditions"]:
                of_column = same.get((c["column"], c["text"]), {})
                self.each(
                    "intersections", one["name"], c, **{x: of_column.get(x, -1) for x in ("low", "high", "value")}
                )

    def widened(self, test, alpha, comparisons):
        """The limits of a difference that hold for so many comparisons at once (Bonferroni)."""
        alone = [test["low"], test["high"]]
        if comparisons <= 1 or test["difference"] is None:
            return alone
        persons = test.get("persons")
        if "exact" not in test["test"]:  # with the fewest degrees of freedom that there can be
            df = persons["df"] if persons else min(test["n_a"], test["n_b"]) - 1
            wider = special.stdtrit(df, 1 - alpha / comparisons / 2) / special.stdtrit(df, 1 - alpha / 2)
            return [test["difference"] + wider * (end - test["difference"]) for end in alone]
        low_and_high = [newcombe(*effective(test, x), z_of(x))[1:] for x in (alpha, alpha / comparisons)]
        step = (alone[1] - alone[0]) / (low_and_high[0][1] - low_and_high[0][0])
        return [step * end for end in low_and_high[1]]

    def visible(self, where, one, level):
        """The difference that a comparison would have found at this level with 80 % power."""
        test, persons, step = one["comparison"], one["comparison"].get("persons"), 1
        if "exact" in test["test"]:
            x, n, y, m = effective(test, level)
            gap = x / n - y / m
            step = test["difference"] / gap if gap else 1
            mine = step * detectable((x + y) / (n + m), n, m, level)
        else:
            of = [test[name] for name in ("n_a", "n_b")]
            v, w = (1, 1) if persons else variances(*of, *(test[x] for x in ("difference", "welch_t", "pooled_t")))
            error = abs(ratio(test["difference"], test["welch_t"])) if persons else math.sqrt(v / of[0] + w / of[1])
            df = (
                persons["df"]
                if persons
                else error**4 / sum((x / n) ** 2 / (n - 1) for x, n in zip((v, w), of, strict=True))
            )
            mine = error * sum(float(special.stdtrit(df, x)) for x in (1 - level / 2, 0.8))
        self.each("families of tests", where, one, 1e-6, smallest_visible=mine)

    def of_intersections(self, told):
        """Weights by the evidence on the train rows, p-values over the family, limits of what was chosen, shrinkage."""
        listed = [one for one in told.get("slices") or [] if one["comparison"]["status"] == "tested"]
        if not listed or told.get("metric") != "mean" or told["in_sample"] or told["correction"] != "bh":
            raise Skip("intersections of other measures")
        sign, whole, alpha = 1 if told["better"] == "lower" else -1, told["train_rows"], told["alpha"]

        def evidence(one):
            n = one["train_rows"]
            return round(sign * one["train_difference"] / math.sqrt(1 / n + 1 / (whole - n)), 9)

        listed.sort(key=lambda one: (-evidence(one), -one["weight"]))
        tests, ranks = [one["comparison"] for one in listed], range(1, len(listed) + 1)
        weights = [len(listed) / rank / sum(1 / x for x in ranks) for rank in ranks]
        harm = [one["p_value"] / 2 if sign * one["difference"] > 0 and one["p_value"] <= alpha else 1 for one in tests]
        adjusted = benjamini_hochberg([min(1, p / w) for p, w in zip(harm, weights, strict=True)])
        chosen = sum(p <= told["fdr"] and one["parent"] is None for p, one in zip(adjusted, listed, strict=True))
        # Shrunk towards the mean of all, by how much true differences vary (Hedges and Olkin 1985, chapter 9).
        of_test, gaps = self.y[self.audited & self.test], np.array([one["difference"] for one in tests])
        spread = of_test.var(ddof=0 if len({*self.y[self.audited]}) <= 2 else 1)
        effects = [one["persons"]["design_effect"] if one.get("persons") else 1 for one in tests]
        errors = [x * spread * (1 / t["n_a"] + 1 / t["n_b"]) for x, t in zip(effects, tests, strict=True)]
        mean, variance = gaps.mean(), max(0, np.mean((gaps - gaps.mean()) ** 2 - errors))
        self.each("intersections", "slices", told, prior_mean=mean, prior_sd=math.sqrt(variance))
        for one, test, w, p, error in zip(listed, tests, weights, adjusted, errors, strict=True):
            alike = told["tests"] / (w * max(1, chosen)) if p <= told["fdr"] else 1
            alone, wide = (test["low"], test["high"]), self.widened(test, alpha, alike)
            low, high = (wide[0], alone[1]) if sign > 0 else (alone[0], wide[1])
            shrunk = mean + (test["difference"] - mean) * (variance / (variance + error) if variance else 0)
            reach = (low, test["difference"]) if sign > 0 else (test["difference"], high)
            mine = {"weight": w, "p_adjusted": p, "significant": p <= told["fdr"], "low": low, "high": high}
            mine["shrunken_difference"] = float(np.clip(shrunk, *reach))
            self.each("intersections", one["name"], one, **mine)

    def columns(self):
        """Levels of each column, bins of what was searched, and cuts: where one interval ends the next begins."""
        for i, column in enumerate(self.report["data"]["columns"]):
            if column["distinct"] is not None:  # of others only the name was read
                missing = int((~self.table.known(column["name"])).sum())
                levels = len({*self.table.columns[column["name"]]} - {None})
                self.each("rows", f"data.columns[{i}]", column, missing=missing, distinct=levels)
        searched = (self.report.get("worst_groups") or {}).get("searched") or {"columns": []}
        for i, column in enumerate(searched["columns"]):
            known = self.table.columns[column["name"]][self.table.known(column["name"]) & self.audited]
            bins, most = len({*known}), min(20, max(len(known) // 25, 2))
            if column["kind"] == "ordered" and bins > most:
                ends_of_bins = np.quantile(known.astype(float), np.arange(1, most) / most, method="inverted_cdf")
                bins = len({*ends_of_bins.tolist()} - {max(known)}) + 1
            self.each("people found", f"worst_groups.searched.columns[{i}]", column, bins=bins)

    def parts_of_rows(self):
        """Persons of both parts, the fewest rows of a cluster, and how many rows are drawn of a large table."""
        report, spec, sides = self.report, self.spec, {"train": self.train, "test": self.test}
        rows = {name: int((self.audited & side).sum()) for name, side in sides.items()}
        persons = (
            {name: len({*self.whose[self.audited & side]}) for name, side in sides.items()} if self.by_person else rows
        )
        if self.by_person:
            self.each("rows", "split", report["split"], **{f"{name}_persons": n for name, n in persons.items()})
        asked, needed, size = spec["clustering"], spec["significance"]["min_rows"], spec["split"]["test_size"]
        if asked and report.get("search"):
            testable = rows["train"] / persons["train"] * (needed + 2 * math.sqrt(needed)) * (1 - size) / size
            fewest = max(math.ceil(0.01 * rows["train"]), min(math.ceil(testable), rows["train"] // 4))
            least = asked["min_cluster_size"]
            fewest = fewest if least is None else math.ceil(least * rows["train"]) if least < 1 else int(least)
            self.each("rows", "search", report["search"], min_cluster_rows=fewest)
        seen = {
            name: int((self.audited & self.sample(side)).sum()) if self.drawn else rows[name]
            for name, side in sides.items()
        }
        if report.get("stability"):
            mine = {"bootstraps": asked["stability"], "seeds": 5, "rows": min(seen["train"], 100_000)}
            self.each("rows", "stability", report["stability"], **mine)
        if not self.drawn:
            return
        told, of_train = report["drawn"]["parts"], {"rows": seen["train"], "of": rows["train"]}
        self.each("rows", "drawn", report["drawn"], large_rows=spec["large_rows"])
        mine = {"repeats": {"rows": sum(seen.values()), "of": sum(rows.values())}}
        mine |= dict.fromkeys(("rules", "slice_edges", "stability"), of_train)
        if "flip_test" in told:
            rows, whole = self.drawn_alike(report["groups"])
            mine["flip_test"] = {"rows": len(rows), "of": whole}
        for name in mine.keys() & told.keys():
            self.each("rows", f"drawn.parts.{name}", told[name], **mine[name])
        for part in ("characteristics", "calibration"):
            if (report.get(part) or {}).get("drawn"):
                mine = {"rows": int(self.drawn_rows().sum()), "of": self.table.rows}
                self.each("rows", f"{part}.drawn", report[part]["drawn"], **mine)

    def calibration(self, told):
        """How right the score is for declared groups, all of it and by tenths; then for those that a search found."""
        score = self.table.numbers(told["score"])
        label = self.outcome(told["label"])
        known, z = ~np.isnan(score + label), z_of(told["alpha"])
        for f, facet in enumerate(told["facets"]):
            of_facet = known & self.table.known(*facet["columns"])
            for g, group in enumerate(facet["groups"]):
                at, inside = f"calibration.facets[{f}].groups[{g}]", known & self.table.holding(group["conditions"])
                self.cuts_of(at, group["conditions"])
                self.scored(at, group, inside, of_facet, score, label)
                if group["gap"] is not None:
                    who = self.report["groups"]["facets"][f]["groups"][g]["group"]
                    self.each(
                        "calibration",
                        at,
                        group,
                        1e-6,
                        **self.at_once.get((facet_name(facet), who, "calibration_gap"), {}),
                    )
                for i, one in enumerate(group.get("bins") or []):
                    here = inside & ((score * 10).clip(max=9).astype(int) == int(min(one["mean_score"] * 10, 9)))
                    limits = wilson(int(label[here].sum()), int(here.sum()), z)
                    mine = ends(limits, ("share_positive", "low", "high"))
                    mine |= {"rows": here.sum(), "mean_score": score[here].mean() if here.any() else math.nan}
                    self.each("calibration", f"{at}.bins[{i}]", one, 1e-6, **mine)
        if told.get("everybody"):
            self.attempt(self.miscalibrated, told, score, label, known)

    def scored(self, at, group, inside, among, score, label):
        """Rows of a group, its mean score, and the share of them that is positive."""
        mine = {"rows": inside.sum(), "share": inside.sum() / among.sum()}
        if inside.any() and group["gap"] is not None:
            mine |= {"mean_score": score[inside].mean(), "share_positive": label[inside].mean()}
            mine["gap"] = mine["share_positive"] - mine["mean_score"]
        self.each("calibration", at, group, 1e-6, **mine)

    def miscalibrated(self, told, score, label, known):
        """Everybody, and people for whom the score is off for sure; what is ruled out for all others.

        The end of an interval that is farther from 0 is that of the group alone; the other one, and the p-value, are
        drawn, so that only the nearest of them is known: it is what is said to be confirmed.
        """
        drawn, people = self.drawn_rows(), self.whose
        known, rows, settings = known & drawn, int((known & drawn).sum()), self.spec["worst_groups"] or {}
        mine = {"rows": rows, "left_out": int((drawn & ~known).sum()), "min_share": settings.get("min_share", 0.01)}
        self.each("calibration", "calibration", told, **mine)
        listed = [("calibration.everybody", told["everybody"])]
        listed += [(f"calibration.groups[{g}]", x) for g, x in enumerate(told["groups"])]
        sure, gaps, chance = [], [], told["alpha"] / 2
        draws = max(settings.get("permutations", 199), math.ceil(1 / chance - 1e-9) - 1) + 1
        for at, group in listed:
            inside = known & self.table.holding(group["conditions"])
            self.scored(at, group, inside, known, score, label)
            self.cut_between(at, group["conditions"], known)
            apart, n = label[inside] - score[inside], inside.sum()
            own = apart - apart.mean()
            low, high = gap_limits(
                label[inside].mean(),
                score[inside].mean(),
                apart.var(ddof=1),
                n / self.alike(own, inside),
                told["alpha"],
            )
            far = (
                {"low": low, "high": high}
                if group["p_value"] is None
                else {"high": high}
                if group["gap"] > 0
                else {"low": low}
            )
            if group["p_value"] is not None:
                far["p_value"] = min(round(group["p_value"] * draws) / draws, chance)
            self.each("calibration", at, group, 1e-6, **far)
            sure.append(max(group["low"], -group["high"], 0.0))
            gaps.append((group["share"], abs(apart.mean())))
        persons = rows if people is None else len({*people[known]})
        shares, smaller = self.shares_from(told, persons), math.inf
        for i, one in enumerate(told["ruled_out"]):
            mine = {"rows": rows, "max_conditions": 4, "max_share": min(0.9, 1 - told["min_rows"] / persons)}
            mine |= {
                "min_share": min(shares, key=lambda x: abs(x - one["min_share"])),
                "confirmed_difference": max(sure),
            }
            mine["found_difference"] = max(gap for share, gap in gaps if share >= one["min_share"])
            self.each("calibration", f"calibration.ruled_out[{i}]", one, 1e-6, **mine)
            self.attempt(self.not_farther, f"calibration.ruled_out[{i}]", one, score, label, known, chance)
            self.each(
                "calibration",
                f"calibration.ruled_out[{i}]",
                {"falls": True},
                falls=one["largest_difference"] <= smaller,
            )
            smaller = one["largest_difference"]
        nearest = max(range(len(sure)), key=sure.__getitem__)
        if nearest and told["ruled_out"]:
            at, group = listed[nearest]
            sign, end = (1, "low") if group["gap"] > 0 else (-1, "high")
            self.each("calibration", at, group, **{end: sign * told["ruled_out"][0]["confirmed_difference"]})

    def shares_from(self, told, persons):
        """The shares of the people from which on it is said what is ruled out."""
        least = max(told["min_share"], told["min_rows"] / persons)
        named = [one.get(name) for one in self.spec["gate"] for name in ("min_share", "ruled_out_from")]
        return [least, *(x for x in {0.02, 0.05, 0.1, 0.2, 0.5, *filter(None, named)} if x > least)]

    def not_worse(self, at, part):
        """The largest difference that is not ruled out of any group: the bound of the group that words name.

        Of rates Newcombe's (1998) on the rows that are searched, or that of two means on all, where it is higher. Of
        means, whose reach is drawn, only that it falls with the share.
        """
        rows, smaller = self.audited & self.drawn_rows(), math.inf
        persons = int(rows.sum()) if self.whose is None else len({*self.whose[rows]})
        shares = self.shares_from(part, persons)
        for name, one in [
            ("certificate", part["certificate"]),
            *((f"limited[{i}]", x) for i, x in enumerate(part["limited"])),
        ]:
            mine = {"min_share": min(shares, key=lambda x: abs(x - one["min_share"]))}
            self.each("people found", f"{at}.{name}", one, **mine)
            falls = one["largest_difference"] <= smaller
            self.each("people found", f"{at}.{name}", {"falls": True}, falls=falls)
            smaller = one["largest_difference"]
            if part["is_rate"] and not part["legitimate"]:
                self.attempt(self.bound_of, f"{at}.{name}", one, part["alpha"])

    def bound_of(self, at, one, alpha):
        """The upper bound of how much higher the rate of harm is in a group than outside of it."""
        inside, y, reach = self.described(one["words"]), self.y, -float(special.ndtri(alpha))
        harm = y == (min(y[self.audited]) if self.spec["bias_variable"]["better"] == "higher" else max(y[self.audited]))
        among = self.audited & self.drawn_rows()  # Newcombe's, by persons with their degrees of freedom
        sides, z = [harm[among & inside], harm[among & ~inside]], [reach, reach]
        if self.whose is not None:
            each = 1 / np.maximum(np.bincount(self.whose[among]), 1)
            people = [each[self.whose[among & side]].sum() for side in (inside, ~inside)]
            wider = math.sqrt(self.alike((harm - harm[among].mean())[among], among))
            z = [float(special.stdtrit(2 ** int(math.log2(n)) - 1, 1 - alpha)) * wider for n in people]
        (p, _, above), (q, below, _) = (wilson(int(x.sum()), len(x), k) for x, k in zip(sides, z, strict=True))
        newcombes, among = p - q + math.hypot(above - p, q - below), self.audited
        a, b = (among & side for side in (inside, ~inside))
        (n, p), (m, q) = ((one.sum(), harm[one].mean()) for one in (a, b))
        own = np.where(inside, m * (harm - p), n * (q - harm))[among]
        error = math.sqrt((p * (1 - p) / (n - 1) + q * (1 - q) / (m - 1)) * self.alike(own, among))
        self.each("people found", at, one, 1e-6, largest_difference=max(newcombes, p - q + reach * error))

    def not_farther(self, at, one, score, label, known, chance):
        """The bound of the group that words name: Wilson's of its events less its mean chance, or of what is not."""
        inside = known & self.described(one["words"])
        n, y, s = inside.sum(), label[inside].mean(), score[inside].mean()
        reach, whose = -float(special.ndtri(chance)), self.whose
        if whose is not None:
            persons = (1 / np.bincount(whose[known])[whose[inside]]).sum()  # by the share of their rows that is in it
            reach = float(special.stdtrit(2 ** int(math.log2(persons)) - 1, 1 - chance))
            apart = (label - label[known].mean())[known]
            reach *= math.sqrt(self.alike(apart, known))
        bounds = [wilson(share * n, n, reach)[2] - mean for share, mean in ((y, s), (1 - y, 1 - s))]
        self.each("calibration", at, one, 1e-6, largest_difference=max(0.0, *bounds))

    def alike(self, apart, inside):
        """Design effect of a sum of rows' distances: of persons' sums over those of the rows (Liang and Zeger 1986)."""
        if self.whose is None or not apart.any():
            return 1.0
        return max(1.0, (np.bincount(self.whose[inside], apart) ** 2).sum() / (apart**2).sum())

    def cuts_of(self, at, conditions):
        """Numbers that make declared groups are cut in two where the specification says."""
        for c, one in enumerate(conditions):
            for end in ("low", "high"):
                if one[end] is not None:
                    cut = self.spec["groups"]["thresholds"].get(one["column"])
                    self.each("settings", f"{at}.conditions[{c}]", one, **{end: cut})

    def cut_between(self, at, conditions, known):
        """Where intervals of a search end: at a value of whole numbers, else at the roundest number before the next."""
        for c, one in enumerate(conditions):
            seen = self.table.columns[one["column"]][known & self.table.known(one["column"])]
            for end in ("low", "high") if one["kind"] == "interval" else ():
                if one[end] is not None:
                    mine = cut_near(np.unique(seen.astype(float)), one[end])
                    self.each("people found", f"{at}.conditions[{c}]", one, 1e-15, **{end: mine})

    def described(self, words):
        """The rows that words such as "age 30 to 40 and town is a, b or missing" name."""
        columns = sorted(self.table.columns, key=len, reverse=True)
        starts, inside = "|".join(map(re.escape, columns)), np.ones(self.table.rows, dtype=bool)
        for part in re.split(rf" and (?=(?:{starts}) )", words):
            name = next((one for one in columns if part.startswith(f"{one} ")), None)
            text, known = part.removeprefix(f"{name} "), name and self.table.known(name)
            span = name and SPAN.fullmatch(text.removesuffix(" or missing").replace(",", ""))
            values = re.fullmatch("is (not |neither )?(.+)", text)
            if span and not text.startswith("is "):
                met = self.between(name, span) | (~known if text.endswith(" or missing") else False)
            elif values:
                named = {*re.split(", | or | nor ", values[2])}
                levels = {str(x) for x in self.table.columns[name][known]}
                if not named <= levels | {"missing"}:
                    raise Skip("people in words whose values cannot be told apart")
                met = (self.table.among(name, named) | (~known if "missing" in named else False)) != bool(values[1])
            else:
                raise Skip("people in words that name no column")
            inside &= met
        return inside

    def characteristics(self, told):
        """By each value of a profiling column: who was right to be found, who is selected, and whom it burdens."""
        if not told:
            return
        drawn = np.where(self.drawn_rows(), 0.0, math.nan)
        alpha, names = self.spec["significance"]["alpha"], ("found", "selected")
        outcomes = [told[x] and self.outcome(told[x]) for x in ("label", "prediction")]
        kinds = {"found": [], "selected": [], "burdens": []}
        for c, column in enumerate(told["characteristics"]):
            for k, level in enumerate(column["levels"]):
                side = self.valued(column["column"], level["words"]) + drawn
                at = f"characteristics.characteristics[{c}].levels[{k}]"
                self.each("characteristics", at, level, rows=int((side == 1).sum()))
                kinds["burdens"] += [
                    (f"{at}.burdens[{b}]", one["relation"], self.valued(one["column"], one["group"]), side)
                    for b, one in enumerate(level["burdens"])
                ]
                for name, outcome in zip(names, outcomes, strict=True):
                    kinds[name] += [(f"{at}.{name}", level[name], side, outcome)] if level[name] else []
        for listed in kinds.values():
            compared = []
            for _, _, side, outcome in listed:
                known = ~np.isnan(side + outcome)
                compared.append((self.whose, outcome, known & (side == 1), known & (side == 0), alpha))
            held = holm([mid_p_of(*counts_of_people(*each)) for each in compared])
            for (at, one, _, _), both, p_value in zip(listed, compared, held, strict=True):
                each = counts_of_people(*both, alpha / len(listed))
                gap, low, high = newcombe(*each, z_of(alpha, len(listed)))
                if p_value > alpha:
                    low, high = min(low, 0.0), max(high, 0.0)
                else:
                    low, high = (max(low, 0.0), high) if gap > 0 else (low, min(high, 0.0))
                mine = {"share": each[0] / each[1], "share_others": each[2] / each[3], "low": low, "high": high}
                self.each("characteristics", at, one, p_adjusted=p_value, significant=p_value <= alpha, **mine)

    def valued(self, name, text):
        """1 for who has the value of a column, or a number in the interval, that words name, 0 for who has another."""
        cut, text = self.spec["groups"]["thresholds"].get(name), text.removeprefix(f"{name} ").removeprefix("is ")
        x, span = self.table.columns[name], SPAN.fullmatch(text.replace(",", ""))
        if cut is not None:
            x = self.table.numbers(name)
            return np.where(np.isnan(x) | ~self.complete, math.nan, (x > cut) == ("above" in text or ">" in text))
        if span and span[0] and not any(isinstance(one, (str, bool)) for one in x):
            return np.where(self.complete & self.table.known(name), self.between(name, span), math.nan)
        if not self.table.among(name, [text]).any():
            raise Skip("characteristics in words that leave their limits open")
        return np.where(self.complete, self.table.positive(name, text), math.nan)

    def between(self, name, span):
        """Rows whose number lies in an interval in words."""
        met = {"least": np.greater_equal, "at_least": np.greater_equal, "above": np.greater}
        x, of_span = self.table.numbers(name), {key: float(value) for key, value in span.groupdict().items() if value}
        return np.all([met.get(key, np.less_equal)(x, end) for key, end in of_span.items()], axis=0)

    def tree(self):
        """The clusters' tree: all train rows, and of each part what its parent leaves beside the other part of it."""
        nodes, y = (self.report.get("tree") or {"nodes": []})["nodes"], self.y[self.audited & self.train]
        sign = -1 if self.spec["bias_variable"]["better"] == "higher" else 1
        leaves = [one for one in nodes if one["label"] is not None]
        for i, node in enumerate(nodes):
            above = nodes[node["parent"]] if i else None
            for one in (nodes[k] for k in node["children"]):
                self.each("clusters", f"tree.nodes[{one['id']}]", one, parent=i)
            mine = {"children": [one["id"] for one in nodes if one["parent"] == i]}
            if above is None:
                mine |= {"rows": len(y), "mean": y.mean(), "std": y.std()} | ({"gap": 0} if node["children"] else {})
            else:
                beside = nodes[sum(above["children"]) - i]
                n = mine["rows"] = above["rows"] - beside["rows"]
                mine["mean"] = (above["rows"] * above["mean"] - beside["rows"] * beside["mean"]) / n
                squares = [one["rows"] * (one["std"] ** 2 + one["mean"] ** 2) for one in (above, beside)]
                variance = (squares[0] - squares[1]) / n - mine["mean"] ** 2
                rest = (y.sum() - n * mine["mean"]) / (len(y) - n)
                mine["gap"] = sign * (mine["mean"] - rest)
                if variance > 1e-6 * squares[0] / n:
                    self.each("clusters", f"tree.nodes[{i}]", node, 1e-6, std=math.sqrt(variance))
                else:
                    self.each("clusters", f"tree.nodes[{i}]", {"none": node["std"]}, 1e-3, none=0)
            if node["label"] is not None:
                mine["label"] = sum(one["gap"] > node["gap"] for one in leaves) if i else 0
            self.each("clusters", f"tree.nodes[{i}]", node, 1e-8, id=i, **mine)
            for c, one in enumerate(self.report["clusters"]):
                if one["cluster"] == node["label"]:
                    gap = node["gap"] if i else 0.0  # beside everybody there is nobody
                    mine = {"train_rows": node["rows"], "train_mean": node["mean"], "train_gap": gap}
                    self.each("clusters", f"clusters[{c}]", one, **mine)

    def without_others(self):
        """Clusters that differ, beside everybody but those that stand out more: one after another."""
        told, y = self.report["clusters"], self.y[self.audited & self.test]
        high = y.max() if len(y) else 0
        later = sorted((one for one in told if one["without"]), key=lambda one: len(one["without"]["left_out"]))
        first = [one for one in told if one["significant"] and not one["without"]]
        out = [min(first, key=lambda one: one["comparison"]["p_value"])["cluster"]] if first else []
        for one in later:
            at, apart, part = f"clusters[{one['cluster']}].without", one["without"], one["without"]["comparison"]
            self.each("clusters", at, apart, left_out=sorted(out))
            if part:
                beside = [told[k]["comparison"] for k in apart["left_out"]]
                n = one["comparison"]["n_a"]
                mine = {"n_a": n, "n_b": len(y) - n - sum(x["n_a"] for x in beside)}
                if part["events_a"] is not None:
                    mine["events_a"] = one["comparison"]["events_a"]
                    mine["events_b"] = (y == high).sum() - mine["events_a"] - sum(x["events_a"] for x in beside)
                elif part["mean_a"] is not None:
                    left = y.sum() - n * part["mean_a"] - sum(x["n_a"] * x["mean_a"] for x in beside)
                    mine |= {"mean_a": one["comparison"]["mean_a"], "mean_b": left / mine["n_b"]}
                self.each("clusters", f"{at}.comparison", part, 1e-8, **mine)
            out += [one["cluster"]] if apart["stands_out"] else []

    def clusters_together(self):
        """What clusters add up to: of each one what all rows leave beside the others, which are in no second one."""
        told, y, train = self.report["clusters"], self.y[self.audited & self.test], self.audited & self.train
        high = y.max() if len(y) else 0
        counted = [(c, one["comparison"]) for c, one in enumerate(told) if one["comparison"] and len(told) > 1]
        for c, part in counted:
            others = [one for k, one in counted if k != c]
            left = len(y) - sum(one["n_a"] for one in others)
            self.each("clusters", f"clusters[{c}]", told[c], cluster=c, test_rows=left)
            mine = {"n_a": left, "n_b": len(y) - left}
            if part["events_a"] is not None and all(one["events_a"] is not None for one in others):
                events = (y == high).sum() - sum(one["events_a"] for one in others)
                mine |= {"events_a": events, "events_b": (y == high).sum() - events}
            if part["mean_a"] is not None and all(one["mean_a"] is not None for one in others):
                total = y.sum() - sum(one["n_a"] * one["mean_a"] for one in others)
                means = total / left, (y.sum() - total) / (len(y) - left)
                mine |= {"mean_a": means[0], "mean_b": means[1]}
                self.each("clusters", f"clusters[{c}]", told[c], test_mean=means[0])
            self.each("clusters", f"clusters[{c}].comparison", part, 1e-9 * len(y) / left, **mine)
            if part["test"] and part["test"] != "exact mid-p":
                self.attempt(self.spread_of_cluster, f"clusters[{c}].comparison", part, others, y)
        for c, one in enumerate(told):
            for name, value in one["profile"].items():
                if isinstance(value, float) and self.table.known(name)[train].all() and len(told) > 1:
                    whole = self.table.numbers(name)[train].sum()
                    left = whole - sum(x["train_rows"] * x["profile"][name] for x in told if x is not one)
                    within = 1e-6 * max(1, abs(whole / left)) if left else 1e-3  # of seven digits each
                    self.each(
                        "clusters", f"clusters[{c}].profile", one["profile"], within, **{name: left / one["train_rows"]}
                    )

    def spread_of_cluster(self, where, part, others, y):
        """t of a cluster's mean: squares of all rows less those of the other clusters are its own."""
        effect = math.sqrt(part["persons"]["design_effect"]) if part.get("persons") else 1
        if part["events_a"] is not None:
            tests = t_tests(*(part[name] for name in ("events_a", "n_a", "events_b", "n_b")))
        else:
            squares = 0
            if any(one["welch_t"] is None for one in others):
                raise Skip("spreads of clusters, where too few are in one of them")
            for one in others:
                by = math.sqrt(one["persons"]["design_effect"]) if one.get("persons") else 1
                v, _ = variances(
                    one["n_a"],
                    one["n_b"],
                    one["mean_a"] - one["mean_b"],
                    *(by * one[x] for x in ("welch_t", "pooled_t")),
                )
                squares += (one["n_a"] - 1) * v + one["n_a"] * one["mean_a"] ** 2
            n, m, mean, other = (part[name] for name in ("n_a", "n_b", "mean_a", "mean_b"))
            own = ((y**2).sum() - squares - n * mean**2) / (n - 1)
            tests = t_of_means(n, mean, own, m, other, (squares - m * other**2) / (m - 1))
        self.each("clusters", where, part, 1e-6, **{name: tests[name] / effect for name in ("welch_t", "pooled_t")})

    def primary(self):
        """The test of the first cluster, again on splits each of which divides the train rows of the one before."""
        told, clusters = self.report.get("primary_test") or {}, self.report["clusters"]
        sign, at = -1 if self.spec["bias_variable"]["better"] == "higher" else 1, "primary_test"
        own, again = told.get("comparison"), told.get("repeated_splits")
        if own:
            same = {name: x for name, x in clusters[0]["comparison"].items() if isinstance(x, (int, float))}
            self.each("clusters", f"{at}.comparison", own, **same)
        if told.get("shrinkage"):
            mine = {"train_gap": clusters[0]["train_gap"], "test_gap": sign * own["difference"]}
            self.each("clusters", f"{at}.shrinkage", told["shrinkage"], **mine)
        drawn = told.get("permuted_procedure")
        if drawn:  # a share of so many permutations, of which the data are one
            mine = {"permutations": self.spec["significance"]["permutations"]}
            mine["p_value"] = max(1, round(drawn["p_value"] * (1 + mine["permutations"]))) / (1 + mine["permutations"])
            y = self.y[self.audited & self.test]
            if not (self.drawn and len(y) > self.spec["large_rows"]):  # in standard errors of everybody
                error = y.std() * math.sqrt(1 / own["n_a"] + 1 / own["n_b"])
                mine["statistic"] = sign * own["difference"] / error
            self.each("clusters", f"{at}.permuted_procedure", drawn, **mine)
        if not again:
            return
        train, tests = (self.sample(one) if self.drawn else one for one in (self.train, self.test))
        tests = [tests]
        for k in range(1, len(again["test_rows"])):
            seed = int(np.random.SeedSequence([self.spec["split"]["random_state"], k]).generate_state(1)[0])
            tests.append(self.divided_again(train, seed))
            train = train & ~tests[-1]
        self.attempt(self.again_from_rows, again, tests)
        rows = [(self.audited & one).sum() for one in tests]
        self.each("clusters", f"{at}.repeated_splits", again, test_rows=[int(n) for n in rows])
        first = {"differences": own["difference"], "p_values": own["p_value"]}
        self.each("clusters", f"{at}.repeated_splits, the first", {name: again[name][0] for name in first}, **first)
        for k, gap in enumerate(again["differences"]):  # of each split: what can be of so many rows and events
            y = self.y[self.audited & tests[k]]
            if k and gap is not None and again["together"]["events_a"] is not None and {*y.tolist()} <= {0, 1}:
                mine, counts = nearest_gap(gap, len(y), int(y.sum()))
                where = f"{at}.repeated_splits.differences"
                held = [*again["differences"][:k], mine, *again["differences"][k + 1 :]]
                self.each("clusters", where, again, differences=held)
                if again["together"]["test"] == "exact mid-p" and math.isclose(mine, gap, rel_tol=1e-9):
                    p_value = min((mid_p(*one) for one in counts), key=lambda p: abs(p - again["p_values"][k]))
                    held = [*again["p_values"][:k], p_value, *again["p_values"][k + 1 :]]
                    self.each("clusters", where, again, p_values=held)
        # Splits of whose train rows no cluster was made have no part in what they say together.
        part = again["together"]
        most = [k for k, p in enumerate(again["p_values"]) if p is None]
        left_out = min(
            (out for size in range(len(most) + 1) for out in combinations(most, size)),
            key=lambda out: abs(sum(rows) - sum(rows[k] for k in out) - part["n_a"] - part["n_b"]),
        )
        y = self.y[self.audited & np.any([one for k, one in enumerate(tests) if k not in left_out], axis=0)]
        mine = {"n_a": len(y) - part["n_b"], "n_b": len(y) - part["n_a"]}
        if part["events_a"] is not None:
            total = (y == y.max()).sum()
            mine |= {"events_a": total - part["events_b"], "events_b": total - part["events_a"]}
        elif part["mean_a"] is not None:
            n, m = part["n_a"], part["n_b"]
            mine |= {"mean_a": (y.sum() - m * part["mean_b"]) / n, "mean_b": (y.sum() - n * part["mean_a"]) / m}
            within = y.var() * len(y) - n * m / (n + m) * part["difference"] ** 2
            if not part.get("persons"):
                mine["pooled_t"] = part["difference"] / math.sqrt(within / (n + m - 2) * (1 / n + 1 / m))
        self.each("clusters", f"{at}.repeated_splits.together", part, 1e-8, **mine)

    def repeated(self):
        """What stands twice: settings in the specification, the level of intervals, the first of repeated splits."""
        for name, part in self.report.items():
            asked = self.spec.get(name)
            for key in part.keys() & asked.keys() if isinstance(part, dict) and isinstance(asked, dict) else ():
                if type(part[key]) in (int, float) and asked[key] is not None:
                    self.each("settings", name, part, **{key: asked[key]})
        positive = self.spec["groups"]["positive"] or self.spec["bias_variable"]["positive"] or 1
        if self.report.get("groups") and self.report["groups"]["label"] not in self.spec["groups"]["thresholds"]:
            mine = {"positive": positive if isinstance(positive, list) else [positive]}
            self.each("settings", "groups", self.report["groups"], **mine)
        self.each("settings", "report", self.report, schema_version=1 + ("sentences" in self.report))
        weights = {"worst_groups": 5, "groups": 2, "clusters": 1, "slices": 1, "local_bias": 1}
        shares = (self.report.get("findings") or {}).get("searches") or {}
        total = sum(weights[one] for one in shares)
        self.each("settings", "findings.searches", shares, **{one: weights[one] / total for one in shares})
        searched = (self.report.get("worst_groups") or {}).get("groups", [])
        if self.report.get("worst_groups"):
            told, alpha = self.report["worst_groups"], self.spec["significance"]["alpha"]
            self.each("settings", "worst_groups", told, alpha=alpha)
        for i, one in enumerate((self.report.get("findings") or {"findings": []})["findings"]):
            for same in searched if one["found_by"] == "worst_groups" and one["measured"] == self.name else ():
                if same["conditions"] == one["conditions"]:
                    sign = -1 if self.spec["bias_variable"]["better"] == "higher" else 1  # told as harm
                    gap = sorted(sign * same[name] for name in ("low", "difference", "high"))
                    mine = {} if one["remaining"] else ends(gap, ("low", "difference", "high"))
                    mine |= {name: same[name] for name in ("rows", "share", "mean_inside")}
                    self.each("settings", f"findings.findings[{i}]", one, **mine)
        self.confidence({name: part for name, part in self.report.items() if name != "spec"}, "")

    def confidence(self, part, where):
        """Every interval's: 1 - alpha. Every difference of two shares that stand beside it."""
        if isinstance(part, dict) and part.get("difference") is not None and {"share", "share_others"} <= part.keys():
            self.each("tests", where, part, difference=part["share"] - part["share_others"])
        if isinstance(part, dict) and part.get("confidence") is not None:
            self.each("settings", where, part, confidence=1 - self.spec["significance"]["alpha"])
        for name in ("alpha", "min_rows") if isinstance(part, dict) else ():
            if part.get(name) is not None:
                self.each("settings", where, part, **{name: self.spec["significance"][name]})
        for name, inner in (
            part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        ):
            self.confidence(inner, f"{where}.{name}")

    def families(self):
        """Clusters, and what sets the most deviating one apart: intervals that hold at once, p-values by Holm."""
        report, alpha = self.report, self.spec["significance"]["alpha"]
        compared = [(f"clusters[{i}]", one) for i, one in enumerate(report["clusters"]) if one["comparison"]]
        clusters = [(at, one) for at, one in compared if one["comparison"]["n_a"]]  # none where none were searched
        tested = [(at, one) for at, one in clusters if one["comparison"]["test"]]
        correction = self.spec["significance"]["correction"]
        p_values = [one["comparison"]["p_value"] for _, one in tested]
        held = {"holm": holm, "bh": benjamini_hochberg}.get(correction, list)(p_values)
        held = [min(1.0, p * len(held)) for p in held] if correction == "bonferroni" else held
        statements = {"none": 1, "bh": len(held) / max(sum(p <= alpha for p in held), 1)}.get(correction, len(held))
        for (at, one), p_value in zip(tested, held, strict=True):
            self.each("families of tests", at, one, p_adjusted=p_value, significant=p_value <= alpha)
            low, high = self.widened(one["comparison"], alpha, statements)
            if p_value > alpha:
                low, high = min(low, 0.0), max(high, 0.0)
            else:
                low, high = (max(low, 0.0), high) if one["comparison"]["difference"] > 0 else (low, min(high, 0.0))
            self.each("families of tests", at, one, 1e-6, corrected_low=low, corrected_high=high)
            level = alpha / (1 if correction == "none" else len(report["clusters"]))
            self.attempt(self.visible, at, one, level)
        for at, one in clusters:
            rule, rows = one["rule"], one["comparison"]["n_a"]
            if rule and rule["precision"] and rule["recall"]:  # of as many as a whole number of people, met by one
                both = round(rule["recall"] * rows)
                mine = {"recall": both / rows, "precision": both / round(both / rule["precision"])}
                self.each("clusters", f"{at}.rule", rule, 1e-12, **mine)
        told = report["differences"]
        for i, feature in enumerate(told["features"]):
            for j, level in enumerate(feature.get("levels") or []):
                test, at = level["comparison"], f"differences.features[{i}].levels[{j}]"
                if test["test"] in COUNTED:
                    mine = {"share_cluster": test["mean_a"], "share_rest": test["mean_b"]}
                    self.each("families of tests", at, level, rows=test["events_a"] + test["events_b"], **mine)
                    sizes = {"n_a": told["rows_cluster"], "n_b": told["rows_rest"]}
                    self.each("test rows", f"{at}.comparison", test, **sizes)
            test, counted = feature.get("comparison"), feature.get("table")
            if test and test["test"]:
                means = {"mean_cluster": test["mean_a"], "mean_rest": test["mean_b"], "effect": test["effect_size"]}
                self.each("families of tests", f"differences.features[{i}]", feature, **means)
            if counted and counted.get("chi2") is not None:
                mine = {"pearson_p_value": float(stats.chi2.sf(counted["pearson_chi2"], counted["dof"]))}
                mine |= self.table_of(feature, told) | (
                    {"p_value": mine["pearson_p_value"]} if counted["method"] == "chi-squared" else {}
                )
                self.each("families of tests", f"differences.features[{i}].table", counted, **mine)
                held = [one["p_adjusted"] for one in feature["levels"] if one["p_adjusted"] is not None]
                self.each(
                    "families of tests", f"differences.features[{i}]", feature, p_adjusted=min(held, default=None)
                )
                self.each("families of tests", f"differences.features[{i}]", feature, effect=counted["cramers_v"])
        families = [[one for one in enumerate(told["features"]) if one[1]["declared"] == x] for x in (False, True)]
        others, declared = (self.family(family, alpha) for family in families)
        mine = {"tests": others + declared, "tests_declared": declared, "cluster": 0}
        self.each("families of tests", "differences", told, **mine)
        self.attempt(self.columns_apart, told)
        self.attempt(self.columns_of_rows, told)

    def table_of(self, feature, told):
        """Chi-squared of a column's levels by cluster (Pearson 1900) and Cramér's V; {} where not all are printed."""
        tests = [one["comparison"] for one in feature["levels"]]
        counts = np.array([[test["events_a"] or 0, test["events_b"] or 0] for test in tests], dtype=float)
        rare = "(rare levels)" in (one["level"] for one in feature["levels"])  # tested level by level, and told as one
        if rare or self.by_person or counts.sum(axis=0).tolist() != [told["rows_cluster"], told["rows_rest"]]:
            return {}
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
        chi2, dof = float(((counts - expected) ** 2 / expected).sum()), len(tests) - 1
        return {"pearson_chi2": chi2, "chi2": chi2, "dof": dof, "cramers_v": math.sqrt(chi2 / counts.sum())}

    def family(self, features, alpha):
        """Tests of columns and of levels, corrected together; where there are two levels, they are one test."""
        tests, correction = [], self.report["differences"]["correction"]
        for i, feature in features:
            at, levels = f"differences.features[{i}]", feature.get("levels") or []
            several = [(f"{at}.levels[{j}]", one) for j, one in enumerate(levels) if one["comparison"]["test"]]
            alone = [(at, feature)] if feature.get("comparison") and feature["comparison"]["test"] else []
            tests += [several] if len(levels) == 2 and several else [[one] for one in (*alone, *several)]
        held = adjusted([same[0][1]["comparison"]["p_value"] for same in tests], correction)
        rejected = sum(p_value <= alpha for p_value in held)
        statements = {"bh": len(tests) / max(rejected, 1), "none": 1}.get(correction, len(tests))
        for same, p_value in zip(tests, held, strict=True):
            for at, one in same:
                self.each("families of tests", at, one, p_adjusted=p_value, significant=p_value <= alpha)
                self.at_once_of(at, one, alpha, statements)
                test = one["comparison"]
                if test["test"] == "studentised permutation":  # its values are drawn; how they are used is known
                    df = min(test["n_a"], test["n_b"]) - 1
                    wider = special.stdtrit(df, 1 - alpha / statements / 2) / special.stdtrit(df, 1 - alpha / 2)
                    mine = {"p_value": round(test["p_value"] * 10_000) / 10_000}
                    for end in ("low", "high"):
                        if one[f"corrected_{end}"]:  # else 0 took its place
                            mine[end] = test["difference"] + (one[f"corrected_{end}"] - test["difference"]) / wider
                    self.each("families of tests", f"{at}.comparison", test, **mine)
        return len(tests)

    def columns_apart(self, told):
        """How many people are compared by each column and level, and whom a column's value is missing of."""
        test, rows = self.report["primary_test"], [told["rows_cluster"], told["rows_rest"]]
        if not test or not test["comparison"]:
            raise Skip("columns that set a cluster apart, where none was tested")
        test = test["comparison"]
        both = dict(zip(("rows_cluster", "rows_rest"), (test["n_a"], test["n_b"]), strict=True))
        self.each("families of tests", "differences", told, **both)
        present = {  # of numbers that are missing of some
            feature["column"].removesuffix(" is missing"): [level["comparison"][x] for x in ("events_a", "events_b")]
            for feature in told["features"] for level in feature.get("levels") or []
            if feature["column"].endswith(" is missing") and level["level"] == "no"
        }  # fmt: skip
        for i, feature in enumerate(told["features"]):
            at, levels, number = f"differences.features[{i}]", feature.get("levels") or [], feature.get("comparison")
            n, m = present.get(feature["column"], rows) if number else rows
            compared = [(f"{at}.comparison", number)] if number else []
            compared += [(f"{at}.levels[{j}].comparison", level["comparison"]) for j, level in enumerate(levels)]
            for where, one in compared:
                self.each("families of tests", where, one, **({"n_a": n, "n_b": m} if n is not None else {}))
                if one.get("persons") and test.get("persons") and [n, m] == rows:
                    same = {name: test["persons"][name] for name in ("a", "b", "df")}
                    same |= {"df": None} if one["persons"]["df"] is None else {}
                    self.each("families of tests", f"{where}.persons", one["persons"], **same)
            if number and number["test"]:
                means = {"mean_a": feature["mean_cluster"], "mean_b": feature["mean_rest"]}
                self.each("families of tests", f"{at}.comparison", number, **means)
            for j, level in enumerate(levels):
                others = sum(one["rows"] for one in levels) - level["rows"]
                self.each("families of tests", f"{at}.levels[{j}]", level, rows=sum(rows) - others)
            if feature.get("table") and feature["table"]["chi2"] is not None:
                self.attempt(self.table_test, at, feature, rows)

    def table_test(self, at, feature, rows):
        """Pearson's chi-squared, by persons divided by the mean design effect of levels (Rao and Scott 1984)."""
        told, levels, effect = feature["table"], feature["levels"], 1.0
        tests, whole = [one["comparison"] for one in levels], sum(rows)
        rare = "(rare levels)" in (one["level"] for one in levels)
        if self.by_person:
            if rare or any(one["persons"]["design_effect"] is None for one in tests):
                raise Skip("tables of persons with levels that are shown together")
            effect = np.average(
                [x["persons"]["design_effect"] for x in tests], weights=[1 - x["rows"] / whole for x in levels]
            )
        statistic = told["cramers_v"] ** 2 * whole / effect
        mine = {"chi2": told["pearson_chi2"], "pearson_chi2": statistic}
        mine["cramers_v"] = math.sqrt(told["pearson_chi2"] * effect / whole)
        self.each("families of tests", f"{at}.table", told, **mine)
        if rare:
            raise Skip("tables of levels that are shown together")
        order = sorted(range(len(levels)), key=lambda i: levels[i]["level"])
        a, b = (np.array([tests[i][x] for i in order], dtype=float) for x in ("events_a", "events_b"))
        p_value = chi_squared(np.rint(a / effect), np.rint(b / effect), self.spec["split"]["random_state"])
        self.each("families of tests", f"{at}.table", told, dof=len(levels) - 1, p_value=p_value)

    def at_once_of(self, where, one, alpha, statements):
        """The interval of a difference that holds with those of all others: 0 is in it where Holm does not reject.

        Of what only Holm's steps reject, the direction is known and no more (Guilbaud 2008).
        """
        test = one["comparison"]
        difference, low, high = (test[name] for name in ("difference", "low", "high"))
        if test["events_a"] is None:  # of means: with the fewest degrees of freedom that there can be
            df = test["persons"]["df"] if test.get("persons") else min(test["n_a"], test["n_b"]) - 1
            wider = special.stdtrit(df, 1 - alpha / statements / 2) / special.stdtrit(df, 1 - alpha / 2)
            low, high = (difference + wider * (end - difference) for end in (low, high))
        else:
            counts = [test[name] for name in ("events_a", "n_a", "events_b", "n_b")]
            alone, wide = (newcombe(*effective(test, alpha / k), z_of(alpha, k))[1:] for k in (1, statements))
            step = (high - low) / (alone[1] - alone[0])  # between the two values of what is compared
            low, high = (step * end for end in wide)
        if one["p_adjusted"] > alpha:
            low, high = min(low, 0.0), max(high, 0.0)
        else:
            low, high = (max(low, 0.0), high) if difference > 0 else (low, min(high, 0.0))
        mine = {"corrected_low": low, "corrected_high": high}
        if one.get("smallest_visible") is not None and test["events_a"] is not None:
            rate = (counts[0] + counts[2]) / (counts[1] + counts[3])
            mine["smallest_visible"] = step * detectable(rate, counts[1], counts[3], alpha / statements)
        self.each("families of tests", where, one, **mine)

    def repeated_ranges(self):
        """p-values of criteria, adjusted together; rows of sections."""
        report, rows = self.report, int(self.audited.sum())
        facets = (report.get("groups") or {"facets": []})["facets"]
        listed = [
            (f"groups.facets[{f}].ranges[{r}]", one)
            for f, facet in enumerate(facets) for r, one in enumerate(facet["ranges"]) if one["p_adjusted"] is not None
        ]  # fmt: skip
        held = holm([one["p_value"] for _, one in listed])
        for (at, one), p_value in zip(listed, held, strict=True):
            self.each(
                "families of tests",
                at,
                one,
                p_adjusted=p_value,
                significant=p_value <= self.spec["significance"]["alpha"],
            )
        for name, mine in (
            ("declared_outcomes", {"rows": rows, "mean": self.y[self.audited].mean()}),
            ("pooled_groups", {"mean": self.y[self.audited].mean(), "pooled_from": self.spec["groups"]["pooled_from"]}),
            ("worst_groups", {"rows": rows}),
            ("slices", {x: report["split"][x] for x in ("train_rows", "test_rows")}),
            ("stability", {} if self.drawn else {"rows": report["split"]["train_rows"]}),
        ):  # fmt: skip
            if report.get(name):
                self.each("settings", name, report[name], **mine)

    def of_proxies(self):
        """What gives a cluster away stands with what sets it apart, too."""
        levels = {
            (feature["column"], level["level"]): level
            for feature in self.report["differences"]["features"] for level in feature.get("levels") or []
        }  # fmt: skip
        levels |= {(one["column"], None): one for one in self.report["differences"]["features"]}
        same = {"cluster": "share_cluster", "rest": "share_rest", "low": "corrected_low", "high": "corrected_high"}
        of_numbers = same | {"cluster": "mean_cluster", "rest": "mean_rest"}
        for i, one in enumerate(self.report.get("proxies") or []):
            level = levels[one["column"], one["level"]]
            mine = {name: level[other] for name, other in (same if one["level"] else of_numbers).items()}
            mine |= {"difference": one["cluster"] - one["rest"], "p_adjusted": level["p_adjusted"]}
            if one["level"] is not None:  # a score of 0 or 1: who is in the cluster
                n, m, x, y = (level["comparison"][name] for name in ("n_a", "n_b", "events_a", "events_b"))
                alpha = self.spec["significance"]["alpha"]
                has, inside = np.repeat([[1, 1, 0, 0], [1, 0, 1, 0]], (x, y, n - x, m - y), axis=1)
                limits = area(has, inside, alpha)
                if level["comparison"].get("persons"):  # on the logit scale as much wider as effective counts are fewer
                    at, *beside = special.logit(limits)
                    wider = math.sqrt(n / effective(level["comparison"], alpha)[1])
                    limits = limits[0], *(special.expit(at + wider * (end - at)) for end in beside)
                mine |= ends(limits, ("auc", "auc_low", "auc_high"))
            self.each("clusters", f"proxies[{i}]", one, **mine)

    def tried(self, told):
        """Thresholds that were tried: rates of groups on the test rows, and what follows from them."""
        alpha, made = told["settings"]["alpha"], told["thresholds"]
        if self.by_person:
            raise Skip("thresholds for persons, or without a column of present decisions")
        z, at = z_of(alpha), "mitigation.thresholds"
        counts = {}
        for g, group in enumerate(made["groups"]):
            for one, side in product(group["rates"], ("before", "after")):
                stated = one[side]
                limits = wilson(stated["events"], stated["n"], z, 40)
                self.attempt(
                    self.each, "thresholds", f"{at}.groups[{g}].{one['metric']}.{side}", stated, **ends(limits)
                )
                counts.setdefault((one["metric"], side), []).append((stated["events"], stated["n"]))
            sizes = [one["before"]["n"] for one in group["rates"] if one["metric"] == "selection_rate"]
            self.each("thresholds", f"{at}.groups[{g}]", group, **({"test_rows": sizes[0]} if sizes else {}))
        for f, one in enumerate(made["frontier"]):
            accuracy = one["accuracy"]
            self.attempt(
                self.each, "thresholds", f"{at}.frontier[{f}].accuracy", accuracy,
                **ends(wilson(accuracy["events"], accuracy["n"], z, 40)), n=told["test_rows"],
            )  # fmt: skip
            self.each("thresholds", f"{at}.frontier[{f}].gap", one["gap"], n=told["test_rows"])
        cells = told["reweighing"]["cells"] if told["reweighing"] else []
        for c, cell in enumerate(cells):
            alike = [sum(x["rows"] for x in cells if x[name] == cell[name]) for name in ("group", "label")]
            expected, rows = alike[0] * alike[1] / told["reweighing"]["rows"], cell["rows"]
            mine = {"expected": expected, "weight": expected / rows if rows else math.nan}
            self.each("thresholds", f"mitigation.reweighing.cells[{c}]", cell, **mine)
        for side in ("before", "after"):
            stated = made["accuracy"][side]
            limits = wilson(stated["events"], stated["n"], z, 40)
            self.each("thresholds", f"{at}.accuracy.{side}", stated, n=told["test_rows"], **ends(limits))
            for m, one in enumerate((made["gap"], *made["metrics"])):
                (name, _, what), spans = one["metric"].rpartition("_"), []
                for rate in CRITERIA.get(name, []) if name != "four_fifths" else []:
                    enough = [pair for pair in counts.get((rate, side), []) if pair[1] >= 10]
                    spans += [span_of(enough, what, alpha / len(CRITERIA[name]))] if len(enough) > 1 else []
                if spans and len(spans) == len(CRITERIA[name]):
                    worst = [(max if what == "difference" else min)(x) for x in zip(*spans, strict=True)]
                    where = f"{at}.metrics[{m - 1}].{side}" if m else f"{at}.gap.{side}"
                    self.attempt(self.each, "thresholds", where, one[side], **ends(worst))

    def thresholds_of_rows(self, told):
        """Decide on the rows again: by the present decisions, and by the thresholds of each group."""
        asked, made, table = told["settings"], told["thresholds"], self.table
        if self.by_person or asked["threshold"] is not None or asked["prediction"] is None:
            raise Skip("thresholds for persons, or without a column of present decisions")
        label, said = (table.positive(asked[x], asked[y]) for x, y in (
            ("label", "positive"), ("prediction", "positive_prediction")
        ))  # fmt: skip
        score, known = table.numbers(asked["score"]), table.known(*asked["group"])
        known = known & ~np.isnan(label + said + score)
        columns = [table.columns[name] for name in asked["group"]]
        names = np.array([" & ".join(map(str, one)) for one in zip(*columns, strict=True)])
        parts = [self.sample(x) if self.drawn else x for x in (self.train, self.test)]
        lacking = {
            name: table.known(name) for name in (*asked["group"], asked["score"], asked["label"], asked["prediction"])
        }
        mine = {name: sum((~lacking[name] & x).sum() for x in parts) for name in told["missing"] if name in lacking}
        self.each("thresholds", "mitigation.missing", told["missing"], **mine)
        groups, positives = [one["group"] for one in made["groups"]], label == 1
        for i, one in enumerate(told["left_out"]):
            mine = ends(((known & x & (names == one["group"])).sum() for x in parts), ("train_rows", "test_rows"))
            self.each("thresholds", f"mitigation.left_out[{i}]", one, **mine)
        train, test = (x & known & np.isin(names, groups) for x in parts)
        sizes = {"train_rows": int(train.sum()), "test_rows": int(test.sum())}
        self.each("thresholds", "mitigation", told, **sizes)
        for c, cell in enumerate(told["reweighing"]["cells"] if told["reweighing"] else []):
            rows = int((train & (names == cell["group"]) & (positives == (cell["label"] == 1))).sum())
            self.each("thresholds", f"mitigation.reweighing.cells[{c}]", cell, rows=rows, label=c % 2)
        if told["reweighing"]:
            self.each("thresholds", "mitigation.reweighing", told["reweighing"], rows=sizes["train_rows"])
        same = {x: y for x, y in self.spec["mitigation"].items() if type(y) in (int, float) and x in asked}
        same |= {"random_state": self.spec["split"]["random_state"]}
        wanted = self.spec["groups"]["positive"] or self.spec["bias_variable"]["positive"] or 1
        same["positive"] = same["positive_prediction"] = wanted if isinstance(wanted, list) else [wanted]
        self.each("settings", "mitigation.settings", asked, **same)
        # Whom a rule selects: who scores at or above the threshold, or draws a lot below the chance.
        rows = np.flatnonzero(test)
        rows = rows[np.lexsort((said[rows], label[rows], score[rows], names[rows]))]
        chance = np.zeros(len(rows))
        for one in made["groups"]:
            for threshold, share in one["mixture"]:
                chance += share * (names[rows] == one["group"]) * (score[rows] >= float(threshold))
        lots = any(len(one["mixture"]) > 1 for one in made["groups"])
        lots = np.random.default_rng(asked["random_state"]).random(len(rows)) if lots else 0.5
        decided = {"before": said[rows] == 1, "after": lots < chance.clip(max=1)}
        of_group, right = [names[rows] == one for one in groups], positives[rows]
        cells = {side: [counted(right, x, one) for one in of_group] for side, x in decided.items()}
        at = "mitigation.thresholds"
        for g, (one, inside) in enumerate(zip(made["groups"], of_group, strict=True)):
            mine = {"train_rows": (train & (names == one["group"])).sum(), "test_rows": inside.sum()}
            if one["selected_now"] is not None:
                mine["selected_now"] = (inside & decided["after"] & ~decided["before"]).sum()
                mine["selected_no_longer"] = (inside & decided["before"] & ~decided["after"]).sum()
            lowest = score[
                train & (said == 1)
            ].min()  # the one threshold that there was, if nobody above it is rejected
            if one["threshold_before"] is not None:
                above = (score[train & (said == 0)] >= lowest).any()
                mine["threshold_before"] = math.nan if above else lowest
            mine["threshold_after"] = one["mixture"][0][0] if len(one["mixture"]) == 1 else math.nan
            self.each("thresholds", f"{at}.groups[{g}]", one, **mine)
            for rate, side in product(one["rates"], decided):
                mine = ends(of(rate["metric"], cells[side][g]), ("events", "n"))
                where = f"{at}.groups[{g}].{rate['metric']}.{side}"
                self.attempt(self.each, "thresholds", where, rate[side], **mine)
        for side, x in decided.items():
            self.each("thresholds", f"{at}.accuracy.{side}", made["accuracy"][side], events=int((x == right).sum()))
            for m, one in enumerate((made["gap"], *made["metrics"])):
                mine = self.of_decisions(asked, groups, cells[side], one["metric"], one["group"])
                where = f"{at}.metrics[{m - 1}].{side}" if m else f"{at}.gap.{side}"
                self.attempt(self.each, "thresholds", where, one[side], **mine)
        gained, lost = (
            int((decided[x] == right)[decided[y] != right].sum()) for x, y in (("after", "before"), ("before", "after"))
        )
        limits = tango(gained, lost, len(rows), z_of(asked["alpha"]))
        mine = ends(limits) | {"events": gained + lost, "n": len(rows)}
        self.each("thresholds", f"{at}.accuracy_change", made["accuracy_change"], **mine)
        # What thresholds cost: on the train rows the gap and the objective, and what comes of them on the test rows.
        before = math.inf
        for f, one in enumerate(made["frontier"]):
            least = np.select([names == x for x in groups], [float(one["thresholds"][x]) for x in groups], math.nan)
            known_train, chosen = (
                [counted(positives, score >= least, train & (names == x)) for x in groups],
                score >= least,
            )
            gap, objective = self.on_train(asked, known_train)
            mine = {"train_gap": gap, "train_objective": objective}
            mine["tolerance"] = 1.0 if f == 0 else max(x for x in TOLERANCES if x < before - 1e-12)
            before = gap
            self.each("thresholds", f"{at}.frontier[{f}]", one, **mine)
            after = [counted(right, chosen[rows], inside) for inside in of_group]
            mine = self.of_decisions(asked, groups, after, made["gap"]["metric"], None)
            self.attempt(self.each, "thresholds", f"{at}.frontier[{f}].gap", one["gap"], **mine)
            events = int((chosen[rows] == right).sum())
            self.each("thresholds", f"{at}.frontier[{f}].accuracy", one["accuracy"], events=events)
            mine = {}
            for x in groups:  # a threshold is the lowest score of who is selected
                scores = score[train & (names == x)]
                mine[x] = near(float(one["thresholds"][x]), [-math.inf, *sorted({*scores} - {scores.min()}), math.inf])
            self.each("thresholds", f"{at}.frontier[{f}].thresholds", one["thresholds"], **mine)
        shares = []
        for one in made["groups"]:
            cell = Counter()
            for threshold, share in one["mixture"]:
                of_rows = counted(positives, score >= float(threshold), train & (names == one["group"]))
                cell += Counter({x: share * n for x, n in of_rows.items()})
            shares.append(cell)
            total = {"chances": sum(share for _, share in one["mixture"])}
            self.each("thresholds", f"{at}.groups, lots", total, chances=1.0)
        self.each("thresholds", at, made, train_gap=self.on_train(asked, shares)[0])

    def told_by_features(self, told):
        """How well each feature tells each protected attribute, on the rows of both parts."""
        alpha = told["settings"]["alpha"]
        if self.by_person:
            raise Skip("what features tell of the protected attributes of persons")
        rows = self.sample(self.train) | self.sample(self.test) if self.drawn else self.train | self.test
        columns = {name: self.table.columns[name][rows] for name in self.table.columns}
        numbers = {name: self.table.numeric(name) and len({*x} - {None}) > 2 for name, x in columns.items()}
        for p, one in enumerate(told["proxies"]["proxies"] if told["proxies"] else []):
            sides = [one["feature"], one["protected"]]
            x, y = (columns[name] for name in sorted(sides, key=lambda name: not numbers[name]))
            of_numbers = sum(numbers[name] for name in sides)
            measure = (association, told_by_number, rank_correlation)[of_numbers]
            mine = self.table.again(measure, x, y, alpha, one["level"])
            self.each("thresholds", f"mitigation.proxies.proxies[{p}]", one, **mine)

    def on_train(self, asked, cells):
        """The largest difference of the rates that are to be equal, and the objective."""
        rates = CRITERIA[asked["constraint"]]
        values = [[ratio(*of(rate, one)) for one in cells] for rate in rates]
        total, name = sum(cells, Counter()), asked["objective"]
        both = [ratio(*of(rate, total)) for rate in ("true_positive_rate", "true_negative_rate")]
        gap = max(max(one) - min(one) for one in values)
        return gap, sum(both) / 2 if name == "balanced_accuracy" else ratio(*of("accuracy", total))

    def of_decisions(self, asked, names, cells, metric, group):
        """A metric of decisions in groups, or over all of them, with its limits, events, and of how many rows it is."""
        alpha, total, (name, _, what) = asked["alpha"], sum(cells, Counter()), metric.rpartition("_")
        turn = {"TP": "TN", "FP": "FN", "FN": "FP", "TN": "TP"} if asked["favourable"] == "negative" else {}
        good = [Counter({turn.get(x, x): n for x, n in one.items()}) for one in cells]
        if group is None and metric == "GE":
            sides = good[0], sum(good[1:], Counter())
            whole, p = sides[0] + sides[1], np.array([0.5, 0.5])  # shares of labels, which it does not rest on
            limits = clarify_limits(*sides, p, p, alpha, sides, lambda rate, rest: of(rate, sides[rest]))["GE"]
            mine = {"estimate": clarify(*sides, p, p)["GE"], "events": whole["FP"] + whole["FN"], "n": whole.total()}
            return mine | ends(limits, ("low", "high"))
        if group is None:
            spans, mine = [], {"events": total["TP"] + total["FN"], "n": total.total()}
            usual = [one for one in (good if name == "four_fifths" else cells) if one.total() >= asked["min_rows"]]
            for rate in CRITERIA.get(name, []):
                counts = [(x, n) for x, n in (of(rate, one) for one in usual) if n >= 10]
                changes = [odds_of] * len(counts) if name == "treatment_equality" else None
                spans += [span_of(counts, what, alpha / len(CRITERIA[name]), changes)] if len(counts) > 1 else []
            worst = [(max if what == "difference" else min)(x) for x in zip(*spans, strict=True)]
            return mine | (ends(worst) if spans and len(spans) == len(CRITERIA[name]) else {})
        i, z = names.index(group), z_of(alpha)
        if metric in RATES:
            return ends(of(metric, cells[i]), ("events", "n")) | ends(wilson(*of(metric, cells[i]), z, 40))
        largest = max(cells, key=Counter.total)
        if name in RATES and what in ("difference", "ratio"):
            pair = *of(name, cells[i]), *of(name, largest)
            limits = (
                newcombe(*pair, z)
                if what == "difference"
                else (ratio(pair[0] * pair[3], pair[1] * pair[2]), *koopman(*pair, z))
            )
            return ends(pair[:2], ("events", "n")) | ends(limits)
        rate = "selection_rate" if metric == "DI" else CLARIFY[metric]
        pair = of(rate, good[i]), of(rate, sum(good, Counter()) - good[i])
        if metric == "DI":
            limits = ratio(ratio(*pair[0]), ratio(*pair[1])), *koopman(*pair[0], *pair[1], z)
        else:
            sides = pair if metric in ("SD", "DRR") else pair[::-1]
            limits = newcombe(*sides[0], *sides[1], z)
        return ends(pair[0], ("events", "n")) | ends(limits)

    def gaps_within(self, told):
        """Groups within clusters: train and test rows together, all clusters together, and what held-out rows show."""
        everybody = told["everywhere"]
        for method in ("kmeans", "logan"):
            clusters = (told.get(method) or {"clusters": []})["clusters"]
            for part, (g, whole) in product(("train", "test"), enumerate(everybody["train"])):
                whole = everybody[part][g]
                for name in ("rows", "counted", "events") if clusters and whole["events"] is not None else ():
                    total = {name: sum(one[part][g][name] for one in clusters)}
                    self.each("local bias", f"local_bias.{method}, all clusters, {part}[{g}]", whole, **total)
            for c, one in enumerate([everybody, *clusters]):
                where = f"local_bias.{method}.clusters[{c - 1}]" if c else "local_bias.everywhere"
                for part in ("train", "test", "together"):
                    for g, group in enumerate(one[part]):
                        mine = {} if group["events"] is None else {"value": ratio(group["events"], group["counted"])}
                        if part == "together" and method == "kmeans":  # LOGAN's clusters are found anew
                            mine |= {x: one["train"][g][x] + one["test"][g][x] for x in ("rows", "counted")}
                            mine |= (
                                {}
                                if group["events"] is None
                                else {"events": one["train"][g]["events"] + one["test"][g]["events"]}
                            )
                        self.each("local bias", f"{where}.{part}[{g}]", group, **mine)
                self.attempt(self.held_out, where, one)

    def held_out(self, where, one):
        """The two groups of a cluster that are furthest apart on the train rows, on the others."""
        test, told = {group["group"]: group for group in one["test"]}, one["held_out"]
        if told["test"] != "exact mid-p" or self.by_person:
            raise Skip("gaps within clusters by other tests")
        sides = [test[told[name]] for name in ("higher", "lower")]
        counts = [side[name] for side in sides for name in ("events", "counted")]
        gap, low, high = newcombe(*counts, z_of(self.report["local_bias"]["settings"]["alpha"]))
        mine = {"counted_higher": counts[1], "counted_lower": counts[3], "gap": gap, "low": low, "high": high}
        self.each("local bias", f"{where}.held_out", told, p_value=mid_p(*counts), **mine)

    def local_clusters(self, told):
        """The summaries of gaps (Zhao and Chang 2020), what chance gives, and what the report states twice."""
        asked, everybody = told["settings"], told["everywhere"]
        smallest = {"train": asked["min_group_size"], "test": asked["min_test_rows"], "together": 1}
        mine = {"n_init": 10, "permutations": 999, "refits": 0, "max_off_centre": 0.02, "min_clusters": 5}
        mine |= {"random_state": self.spec["split"]["random_state"]}
        mine |= {"min_test_rows": self.spec["significance"]["min_rows"], "threshold": 0.05}
        mine |= {x: y for x, y in self.spec["local_bias"].items() if x in asked and type(y) in (int, float)}
        mine |= {"threshold": self.spec["local_bias"]["max_gap"] or 0.05}
        self.each("local bias", "local_bias.settings", asked, **mine)
        self.each("local bias", "local_bias", told, **{f"{x}_rows": everybody[f"{x}_rows"] for x in ("train", "test")})
        alike = all([x["train"], x["test"], x["together"]] == [y["train"], y["test"], y["together"]] for x, y in zip(
            told["kmeans"]["clusters"], told["logan"]["clusters"], strict=False
        )) and not told["kmeans"]["off_centre"] + told["logan"]["off_centre"]  # fmt: skip
        for method in ("kmeans", "logan"):
            made, where = told[method], f"local_bias.{method}"
            clusters = made["clusters"]
            for part in ("train", "test"):
                for one, g in product(clusters, range(len(told["groups"]))):  # together they are everybody
                    others = [other[part][g] for other in clusters if other is not one]
                    names = [name for name in ("rows", "counted", "events") if one[part][g][name] is not None]
                    rest = {name: everybody[part][g][name] - sum(other[name] for other in others) for name in names}
                    self.each("local bias", f"{where}.clusters[{one['label']}].{part}[{g}]", one[part][g], **rest)
                self.attempt(self.gap_summary, f"{where}.{part}", made[part], clusters, part, smallest[part])
            for one, g in product(clusters, range(len(told["groups"]))):
                both = [everybody[part][g] for part in ("train", "test")]
                others = [other["together"][g] for other in clusters if other is not one]
                names = [name for name in ("rows", "counted", "events") if both[0][name] is not None]
                rest = {x: both[0][x] + both[1][x] - sum(other[x] for other in others) for x in names}
                self.each("local bias", f"{where}.clusters[{one['label']}].together[{g}]", one["together"][g], **rest)
            near = [[one[part][g]["rows"] for part in ("train", "test", "together")] for one in clusters
                    for g in range(len(told["groups"]))]  # fmt: skip
            away = made["off_centre"] * told["train_rows"]  # rows of the train part nearer to another centre
            least = sum(abs(together - train - test) for train, test, together in near) / 2
            mine = {"off_centre": max(round(away), math.ceil(least)) / told["train_rows"]}
            mine["confirmed"] = sum(one["held_out"]["confirmed"] for one in clusters)
            mine |= {"merged": 0 if made["method"] == "named places" else asked["n_clusters"] - len(clusters)}
            mine["inertia_ratio"] = made["inertia"] / told["kmeans"]["inertia"]
            mine["inertia"] = made["inertia_ratio"] * told["logan"]["inertia"] / told["logan"]["inertia_ratio"]
            self.each("local bias", where, made, **mine)
            held = [one["held_out"] for one in clusters]
            tests = [one for one in held if one["p_value"] is not None]
            adjusted = benjamini_hochberg([one["p_value"] for one in tests])
            for one, p_value in zip(tests, adjusted, strict=True):
                mine = {"p_adjusted": p_value, "significant": p_value <= asked["alpha"]}
                mine["confirmed"] = mine["significant"] and one["gap"] > 0
                self.each("local bias", f"{where}, held out", one, **mine)
            for c, one in enumerate(clusters):
                self.each("local bias", f"{where}.clusters[{c}]", one, label=c)
                if alike:  # both methods found the same clusters, and say the same of them
                    other = told["logan" if method == "kmeans" else "kmeans"]["clusters"][c]["about"]
                    for f, (stated, same) in enumerate(zip(one["about"]["features"], other["features"], strict=True)):
                        same = {name: same[name] for name in same if name != "kind"}
                        self.each("local bias", f"{where}.clusters[{c}].about.features[{f}]", stated, **same)
                    self.each(
                        "local bias", f"{where}.clusters[{c}].about", one["about"], nearest_rows=other["nearest_rows"]
                    )
                self.attempt(self.apart, f"{where}.clusters[{c}]", one, len(tests), smallest)
        self.attempt(self.apart, "local_bias.everywhere", everybody, 1, smallest)
        if everybody["held_out"]["p_value"] is not None:
            mine = {"p_adjusted": everybody["held_out"]["p_value"]}
            self.each("local bias", "local_bias.everywhere.held_out", everybody["held_out"], **mine)

    def clusters_of_rows(self, told):
        """Search for the clusters again, and count each group in them; describe them by what test rows are."""
        asked, groups, bias = told["settings"], self.spec["groups"], self.spec["bias_variable"]
        if isinstance(asked["embeddings"], str) or asked["metric"] == "auc":
            raise Skip("clusters of rows by a file of embeddings, or by areas under the curve")
        table, wanted = self.table, groups["positive"] or bias["positive"]
        label, said = (table.positive(groups[x] or bias[x], wanted) for x in ("label", "prediction"))
        named = asked.get("places")  # a column whose values are the places: nothing is searched
        known = ~np.isnan(label + said) & table.known(asked["group"], *([named] if named else []))
        train, test = ((self.sample(x) if self.drawn else x) & known for x in (self.train, self.test))
        value = {
            "accuracy": label == said,
            "tpr": np.where(label == 1, said, -1),
            "fpr": np.where(label == 0, said, -1),
        }
        value = np.where(known, value[asked["metric"]], -1).astype(int)
        code = np.select([table.among(asked["group"], [one]) for one in told["groups"]], range(len(told["groups"])), -1)
        test &= code >= 0
        self.cells(
            "local_bias.everywhere",
            told["everywhere"],
            [(code[x], value[x], np.zeros(x.sum(), int)) for x in (train, test)],
            0,
        )
        if named:
            for c, one in enumerate(told["logan"]["clusters"]):
                inside = [x & table.among(named, [one["name"]]) for x in (train, test)]
                parts = [(code[x], value[x], np.full(x.sum(), c)) for x in inside]
                self.cells(f"local_bias.logan.clusters[{c}]", one, parts, c, parts)
        if train.sum() > 4 * 8_192:
            raise Skip("clusters of so many rows that the search starts on some of them")
        features = [one["name"] for one in self.report["data"]["columns"] if one["role"] == "feature"]
        x = as_points(*encoded(table, asked["embeddings"] or features, train), train)
        given = x[:, train], code[train], value[train], len(told["groups"]), asked
        search = table.again(LocalClusters, *given)
        for method in ("kmeans",) if named else ("kmeans", "logan"):
            made, (labels, _, into, inertia) = told[method], search.found[method]
            nearest = search.nearest(x[:, train], method), search.nearest(x[:, test], method)
            mine = {"inertia": inertia, "off_centre": (nearest[0] != labels).mean()}
            mine["inertia_ratio"] = inertia / search.found["kmeans"][3]
            mine["merged"] = len(into) - 1 - max(into)
            self.each("local bias", f"local_bias.{method}", made, **mine)
            events, counted = search.counts(labels[search.order], max(into) + 1)
            gaps = np.sqrt(search.squared_gap(events, counted))
            gaps[(counted >= search.smallest).sum(axis=1) < 2] = -1  # those without a gap are the last
            numbers = np.argsort(np.lexsort((-np.bincount(labels), -gaps)))
            parts = [(train, labels), (test, nearest[1])]
            parts = [(code[rows], value[rows], numbers[of]) for rows, of in parts]
            both = [(code[rows], value[rows], numbers[of]) for rows, of in ((train, nearest[0]), (test, nearest[1]))]
            for c, one in enumerate(made["clusters"]):
                self.cells(f"local_bias.{method}.clusters[{c}]", one, parts, c, both)
            columns = asked["describe_by"] or asked["embeddings"] or features
            self.attempt(self.topics, f"local_bias.{method}", made["clusters"], columns, test, parts[1][2])

    def cells(self, where, one, parts, number, both=None):
        """Rows, those that the rate rests on, and events of each group in a cluster."""
        together = [np.concatenate(x) for x in zip(*both, strict=True)] if both else None
        for part, made in (("train", parts[0]), ("test", parts[1]), ("together", together)):
            for g, group in enumerate(one[part]):
                code, value, labels = made
                of_value = value[(labels == number) & (code == g)]
                mine = {"rows": len(of_value), "counted": (of_value >= 0).sum(), "events": (of_value == 1).sum()}
                self.each("local bias", f"{where}.{part}[{g}]", group, **mine)

    def topics(self, where, clusters, columns, test, labels):
        """Columns that differ most between the test rows of a cluster and all others: Welch's test, or chi-squared."""
        if self.by_person:
            raise Skip("columns that describe clusters of persons")
        apart = []
        for c, name in product(range(len(clusters)), columns):
            of_column = numbers_apart if self.table.numeric(name) else levels_apart
            found = self.table.again(of_column, self.table.columns[name][test], labels == c)
            apart += [(c, {"column": name} | found)] if found else []
        for (_, found), p_value in zip(apart, benjamini_hochberg([x["p_value"] for _, x in apart]), strict=True):
            found["p_adjusted"] = p_value
        for c, one in enumerate(clusters):
            mine = sorted((x for at, x in apart if at == c), key=lambda x: (-abs(x["effect"]), x["column"]))[:10]
            self.each(
                "local bias", f"{where}.clusters[{c}]", {"columns": len(one["about"]["features"])}, columns=len(mine)
            )
            for f, (stated, found) in enumerate(zip(one["about"]["features"], mine, strict=True)):
                self.each("local bias", f"{where}.clusters[{c}].about.features[{f}]", stated, 1e-8, **found)

    def tree_of_rows(self):
        """The tree of clusters, grown anew from the train rows."""
        asked, search = self.spec["clustering"], self.report["search"]
        if asked["engine"] != "bdt" or not asked["scale"]:
            raise Skip("clusters by the engine of another tool, or of numbers that are not standardised")
        known = ~np.isnan(self.y)
        train, share, least = self.train & known, self.spec["split"]["test_size"], self.spec["significance"]["min_rows"]
        rows, size = int(train.sum()), asked["min_cluster_size"]
        people = rows if self.whose is None else len({*self.whose[train]})
        needed = math.ceil(rows / people * (least + 2 * math.sqrt(least)) * (1 - share) / share)
        least = max(math.ceil(0.01 * rows), min(needed, rows // 4))
        least = least if size is None else math.ceil(size * rows) if size < 1 else int(size)
        self.each("clusters", "search", search, min_cluster_rows=least)
        return self.tree_of(train, least, self.spec["split"]["random_state"])

    def tree_of(self, train, least, seed):
        """The tree of some train rows, and the cluster of each audited row."""
        table, asked, here = self.table, self.spec["clustering"], self.audited & (self.train | self.test)
        features = [one["name"] for one in self.report["data"]["columns"] if one["role"] == "feature"]
        numbers, codes, levels = encoded(table, features, train, self.report["search"]["method"] == "kmodes")
        y = self.y[train]
        unit = (y - y.min()) / (np.ptp(y) or 1)
        mean = math.fsum(unit) / len(y)
        whole = np.rint((unit - mean) / (max(mean, 1 - mean) / (2**31 - 1))).astype(np.int64)
        whole = -whole if self.spec["bias_variable"]["better"] == "higher" else whole
        tree = table.again(ClusterTree, numbers[:, train], codes[:, train], levels, whole, asked, least, seed)
        labels = np.full(table.rows, -1)
        labels[here] = tree.labels(numbers[:, here], codes[:, here])
        return tree, labels

    def again_from_rows(self, again, tests):
        """The clusters of further splits: each search sees the train rows that the tests before have left."""
        if self.placed is None or self.drawn:
            raise Skip("clusters of further splits, of drawn rows")
        share, told = (
            self.report["search"]["min_cluster_rows"] / (self.train & self.audited).sum(),
            again["differences"],
        )
        train, inside = self.train & self.audited, self.test & (self.placed == 0)
        among, mine, p_values = self.test & self.audited, [told[0]], [again["p_values"][0]]
        for k, test in enumerate(tests[1:], 1):
            seed = int(np.random.SeedSequence([self.spec["split"]["random_state"], k]).generate_state(1)[0])
            train = train & ~test
            tree, placed = self.tree_of(train, math.ceil(min(share, 0.999) * train.sum()), seed)
            test = test & self.audited
            a, b = self.y[test & (placed == 0)], self.y[test & (placed > 0)]
            found = len(tree.clusters) > 1
            inside, among = inside | (test & (placed == 0) & found), among | (test & found)
            shown = found and told[k] is not None
            mine.append(a.mean() - b.mean() if shown else told[k] if found else math.nan)
            two = shown and not self.by_person and again["together"]["test"] == "exact mid-p"
            high = self.y[self.audited].max()
            counts = [int(x) for one in (a, b) for x in ((one == high).sum(), len(one))]
            p_values.append(mid_p(*counts) if two else again["p_values"][k] if found else math.nan)
        self.each("clusters", "primary_test.repeated_splits", again, differences=mine, p_values=p_values)
        where = "primary_test.repeated_splits.together"
        self.compared("clusters", where, again["together"], inside, among)
        self.permuted_again(where, again["together"], self.y[among & inside], self.y[among & ~inside])

    def clusters_of_tree(self):
        """Each part of the tree and each cluster, from its rows."""
        tree, self.placed = self.tree_of_rows()
        train, sign = (
            np.flatnonzero(self.train & self.audited),
            -1 if self.spec["bias_variable"]["better"] == "higher" else 1,
        )
        for node, stated in zip(tree.nodes, self.report["tree"]["nodes"], strict=True):
            y, rest = self.y[train[node["rows"]]], np.delete(self.y[train], node["rows"])
            mine = {"rows": len(y), "mean": y.mean(), "std": y.std(), "id": node["id"], "parent": node["parent"]}
            mine |= {
                "gap": sign * (y.mean() - rest.mean()) if len(rest) else 0.0,
                "label": tree.clusters.get(node["id"]),
            }
            self.each("clusters", f"tree.nodes[{node['id']}]", stated, children=node.get("children", []), **mine)
        for c, one in enumerate(self.report["clusters"]):
            inside = self.placed == c
            y, rest = self.y[self.train & inside], self.y[self.train & self.audited & ~inside]
            test = self.y[self.test & inside]
            mine = {"cluster": c, "train_rows": len(y), "train_mean": y.mean(), "test_rows": len(test)}
            mine |= {"train_gap": sign * (y.mean() - rest.mean()) if len(rest) else 0.0}
            shown = one["comparison"] and one["comparison"]["mean_a"] is not None
            self.each("clusters", f"clusters[{c}]", one, **mine, **({"test_mean": test.mean()} if shown else {}))
            if one["comparison"]:
                among = self.test & self.audited
                for what, part in (
                    (f"clusters[{c}]", one),
                    *([("primary_test", self.report["primary_test"])] if c == 0 else []),
                ):
                    if part and part["comparison"]:
                        self.compared("clusters", f"{what}.comparison", part["comparison"], inside, among)
                        sides = self.y[among & inside], self.y[among & ~inside]
                        self.permuted_again(f"{what}.comparison", part["comparison"], *sides)
            mine = {}
            for name in one["profile"]:
                x = self.table.columns[name][self.train & inside]
                known = [value for value in x if value is not None]
                if self.table.numeric(name) and self.report["search"]["method"] != "kmodes":
                    spread = np.nanstd(self.table.numbers(name)[train])
                    mine[name] = np.mean(known) if known else math.nan
                    mine[name] = round(mine[name], 6 - math.floor(math.log10(spread))) if spread else mine[name]
            self.each("clusters", f"clusters[{c}].profile", one["profile"], 1e-5, **mine)

    def permuted_again(self, where, test, a, b):
        """A test of means by permutations: the same draws give the same p-value and limits."""
        if test["test"] != "studentised permutation" or not test["welch_t"]:
            return
        asked = self.spec["significance"]["alpha"], self.spec["split"]["random_state"]
        drawn, error = self.table.again(permuted, a, b, *asked), test["difference"] / test["welch_t"]
        limits = {"low": test["difference"] - drawn[2] * error, "high": test["difference"] - drawn[1] * error}
        self.each("tests", where, test, 1e-8, p_value=drawn[0], **limits)

    def columns_of_rows(self, told):
        """What sets the most deviating cluster apart, from the test rows themselves."""
        if self.placed is None:
            raise Skip("columns that set a cluster apart, as it is not known who is in it")
        table, test, seed = self.table, self.test & self.audited, self.spec["split"]["random_state"]
        alpha, inside = self.spec["significance"]["alpha"], self.placed[test] == 0
        sizes = {"rows_cluster": int(inside.sum()), "rows_rest": int((~inside).sum())}
        self.each("families of tests", "differences", told, **sizes)
        proxies = {(one["column"], one["level"]): one for one in self.report["proxies"] or []}
        for i, feature in enumerate(told["features"]):
            at, name = f"differences.features[{i}]", feature["column"]
            of_missing = name.endswith(" is missing") and name not in table.columns
            x = table.columns[name.removesuffix(" is missing") if of_missing else name][test]
            known = np.array([one is not None for one in x])
            if feature["kind"] == "numeric":
                a, b, one = x[known & inside].astype(float), x[known & ~inside].astype(float), feature["comparison"]
                mine = {"n_a": len(a), "n_b": len(b)}
                if one["test"]:
                    mine |= {"mean_a": a.mean(), "mean_b": b.mean()}
                if one["test"] and one["events_a"] is None and not one.get("persons"):
                    for t, equal in (("welch_t", False), ("pooled_t", True)):
                        mine[t] = float(stats.ttest_ind(a, b, equal_var=equal).statistic)
                self.each("families of tests", f"{at}.comparison", one, 1e-8, **mine)
                self.permuted_again(f"{at}.comparison", one, a, b)
                if (name, None) in proxies and not self.by_person and not self.drawn:
                    limits = area(inside[known], x[known].astype(float), alpha)
                    mine = ends(limits, ("auc", "auc_low", "auc_high"))
                    self.each("clusters", f"proxies of {name}", proxies[name, None], **mine)
                continue
            texts = (
                np.where(known, "no", "yes")
                if of_missing
                else np.array(["(missing)" if one is None else str(one) for one in x])
            )
            levels, codes = np.unique(texts, return_inverse=True)
            a, b = (np.bincount(codes[side], minlength=len(levels)) for side in (inside, ~inside))
            number = {level: k for k, level in enumerate(levels.tolist())}
            rare = a + b < 10
            for j, level in enumerate(feature["levels"]):
                which = (
                    rare if level["level"] == "(rare levels)" else np.arange(len(levels)) == number.get(level["level"])
                )
                n, m = int(a[which].sum()), int(b[which].sum())
                self.each("families of tests", f"{at}.levels[{j}]", level, rows=n + m)
                mine = {"n_a": sizes["rows_cluster"], "n_b": sizes["rows_rest"]}
                mine |= {"events_a": n, "events_b": m} if level["comparison"]["test"] else {}
                self.each("families of tests", f"{at}.levels[{j}].comparison", level["comparison"], **mine)
            if feature["table"] and feature["table"]["chi2"] is not None and not self.by_person:
                expected = (a + b) * a.sum() / len(x)
                chi2 = float(((a - expected) ** 2 / expected).sum() * len(x) / b.sum())
                mine = {
                    "chi2": chi2,
                    "pearson_chi2": chi2,
                    "dof": len(levels) - 1,
                    "cramers_v": math.sqrt(chi2 / len(x)),
                }
                self.each("families of tests", f"{at}.table", feature["table"], p_value=chi_squared(a, b, seed), **mine)

    def apart(self, where, one, tests, smallest):
        """The gap of a cluster in either part, and of its two groups that are furthest apart on the train rows."""
        mine = {f"{part}_rows": sum(group["rows"] for group in one[part]) for part in ("train", "test")}
        mine |= {f"{part}_gap": gap_of(one[part], smallest[part]) for part in ("train", "test")}
        self.each("local bias", where, one, **mine)
        pairs = list(zip(one["train"], one["test"], strict=True))
        enough = [pair for pair in pairs if pair[0]["counted"] >= smallest["train"]]
        tested = [pair for pair in enough if pair[1]["counted"] >= smallest["test"]]
        chosen = tested if len(tested) > 1 else enough
        if len(chosen) < 2:
            raise Skip("gaps within clusters that have fewer than two groups with enough rows")
        told, value = one["held_out"], lambda pair: pair[0]["value"]
        (high, high_test), (low, low_test) = max(chosen, key=value), min(reversed(chosen), key=value)
        mine = {"higher": high["group"], "lower": low["group"], "train_gap": high["value"] - low["value"]}
        mine |= {"counted_higher": high_test["counted"], "counted_lower": low_test["counted"]}
        if told["minimum_detectable_gap"] is not None and not self.by_person:
            n, m = high_test["counted"], low_test["counted"]
            alpha = self.report["local_bias"]["settings"]["alpha"] / tests
            rate = (high_test["events"] + low_test["events"]) / (n + m)
            mine["minimum_detectable_gap"] = detectable(rate, n, m, alpha)
        self.each("local bias", f"{where}.held_out", told, **mine)

    def gap_summary(self, where, told, clusters, part, smallest):
        """Bias ratios of clusters, and the same where groups change hands within each (multivariate hypergeometric)."""
        asked, groups = self.report["local_bias"]["settings"], [one[part] for one in clusters]
        rows = np.array([sum(group["rows"] for group in one) for one in groups])
        gaps = np.array([gap_of(one, smallest) for one in groups])
        if asked["metric"] == "auc":
            raise Skip("gaps of areas under the curve within clusters")
        names = ("bcr", "bir", "mean_gap", "largest_gap")
        seen = dict(zip(names, (x[0] for x in bias_ratios(gaps[None], rows, asked["threshold"])), strict=True))
        biased = int((gaps >= asked["threshold"] - 1e-12).sum())
        self.each("local bias", where, told, clusters=int((~np.isnan(gaps)).sum()), biased=biased, **seen)
        null = told["within_clusters"]
        if not null or self.by_person:
            raise Skip("what chance gives within clusters where persons have several rows, or where nothing is known")
        rng, draws = np.random.default_rng([asked["random_state"], 1]), asked["permutations"]
        drawn = np.full((draws, len(groups)), np.nan)
        for j in np.flatnonzero(~np.isnan(gaps)):
            n, x = ([group[name] for group in groups[j]] for name in ("counted", "events"))
            made = rng.multivariate_hypergeometric(n, sum(x), size=draws, method="marginals")
            counts = np.array(n) >= max(smallest, 1)
            rates = made[:, counts] / np.array(n)[counts]
            drawn[:, j] = rates.max(axis=1) - rates.min(axis=1)
        by_chance = dict(zip(names, bias_ratios(drawn, rows, asked["threshold"]), strict=True))
        mean = by_chance["mean_gap"]
        mine = {name: np.nan_to_num(by_chance[name]).mean() for name in names if name != "mean_gap"}
        mine |= {"mean_gap": np.nanmean(mean) if not np.isnan(mean).all() else math.nan, "permutations": draws}
        for name in ("bcr", "bir", "largest_gap"):
            as_much = (np.nan_to_num(by_chance[name]) >= seen[name] - 1e-12).sum()
            mine[f"p_{name}"] = (1 + as_much) / (1 + draws)
        self.each("local bias", f"{where}.within_clusters", null, **mine)

    def pooled(self, told):
        """Groups of declared columns, estimated with help of the others, in steps in which no single person shows."""
        alpha, everybody = 1 - told["confidence"], self.y[self.audited]
        two = (
            (0.0, 1.0) if told["is_rate"] else tuple(np.unique(everybody)) if len({*everybody.tolist()}) == 2 else None
        )
        step = 0.01 if told["is_rate"] else 10.0 ** math.floor(math.log10(0.1 * everybody.std()))
        for i, grouping in enumerate(told["groupings"]):
            groups, masks = grouping["groups"], []
            for group in groups:
                masks.append(self.audited & self.table.known(*grouping["columns"]))
                for name, level in zip(grouping["columns"], group["values"], strict=True):
                    cut = self.spec["groups"]["thresholds"].get(name)
                    above = (self.table.numbers(name) > cut) == level.startswith(">") if cut is not None else None
                    masks[-1] &= self.table.among(name, [level]) if above is None else above
            if not groups:
                continue
            number, worth = self.sizes_of(masks)
            own = number >= min(told["pooled_from"], told["min_rows"])
            of_group = [self.y[inside] for inside in masks]
            mean = np.array([one.mean() for one in of_group])
            design = [np.full((len(groups), 1), 10.0)]
            if len(grouping["columns"]) > 1:
                levels = [np.array(one) for one in zip(*(group["values"] for group in groups), strict=True)]
                design += [(one[:, None] == np.unique(one)) * 1.0 for one in levels]
            design = np.concatenate(design, axis=1)
            if two:
                share = ((mean - two[0]) / (two[1] - two[0])).clip(0, 1)
                found = two[0] + (two[1] - two[0]) * self.table.again(
                    pooled_rates, share * worth, worth, design, own, alpha
                )
            else:
                variance = np.array([one.var(ddof=1) if len(one) > 1 else 0.0 for one in of_group])
                found = self.table.again(pooled_means, mean, variance, worth, design, own, alpha)
            for j, group in enumerate(groups):
                estimate, low, high = found[j] / step
                steps = round(estimate), math.floor(low + 1e-9), math.ceil(high - 1e-9)
                mine = ends([float(f"{x * step:.12g}") for x in steps]) | {"size": int(number[j]) if own[j] else None}
                mine |= {"has_own_rows": bool(own[j]), "has_few_rows": bool(number[j] < told["min_rows"])}
                self.each("pooled groups", f"pooled_groups.groupings[{i}].groups[{j}]", group, **mine)

    def sizes_of(self, masks):
        """People in each group, and as how many rows of different people its rows count.

        How alike rows of a person are is learnt from all groups together (Kish 1965).
        """
        rows = np.array([one.sum() for one in masks])
        if self.whose is None:
            return rows, rows.astype(float)
        parts = []
        for inside in masks:
            y, (_, people, of_each) = (
                self.y[inside],
                np.unique(self.whose[inside], return_inverse=True, return_counts=True),
            )
            off = np.bincount(people, y - y.mean())
            between = (off**2).sum() * len(of_each) / max(len(of_each) - 1, 1)
            parts.append((len(of_each), (of_each**2).sum(), between, y.var(ddof=1) if len(y) > 1 else 0.0))
        number, squares, between, variance = map(np.array, zip(*parts, strict=True))
        several = number > 1
        pairs = (variance * (squares - rows))[several].sum()
        alike = (between - variance * rows)[several].sum() / pairs if pairs > 0 else 1.0
        return number, rows / (1 + np.clip(alike, 0, 1) * (squares / np.maximum(rows, 1) - 1))

    def declared(self, told):
        """The bias variable of each declared group against everybody else; intervals of differences hold at once."""
        tested = []
        for f, g, group in ((f, g, x) for f, facet in enumerate(told["facets"]) for g, x in enumerate(facet["groups"])):
            where, (of, others) = f"declared_outcomes.facets[{f}].groups[{g}]", self.sides(group["conditions"])
            mine, alpha = {"rows": len(of), "share": len(of) / self.audited.sum()}, told["alpha"]
            self.cuts_of(where, group["conditions"])
            inside = self.table.holding(group["conditions"]) & self.audited
            people = None if self.whose is None else self.whose[inside]
            mine |= {} if people is None else {"persons": len({*people})}
            if group["mean"] is not None:
                mine |= ends(mean_of_people(people, of, alpha, told["is_rate"]), ("mean", "low", "high"))
            if group["difference"] is not None:
                mine |= {"mean_others": others.mean(), "difference": of.mean() - others.mean()}
                mine["significant"] = group["p_adjusted"] <= alpha
                between = self.whose, self.y, inside, self.audited & ~inside, alpha
                p, *limits = (rates_apart if told["is_rate"] else means_apart)(*between, told["comparisons"])
                mine |= {} if p is None else ends(limits, ("difference_low", "difference_high"))
                tested.append((where, group, p))
            self.each("declared groups", where, group, **mine)
        if told["facets"]:
            self.each("declared groups", "declared_outcomes", told, comparisons=len(tested))
        for f, facet in enumerate(told["facets"]):
            unknown = (self.audited & ~self.table.known(*facet["columns"])).sum() if facet["groups"] else 0
            self.each("declared groups", f"declared_outcomes.facets[{f}]", facet, unknown=unknown)
        if None not in [one[2] for one in tested]:
            for (where, group, _), p in zip(tested, holm([one[2] for one in tested]), strict=True):
                self.each("declared groups", where, group, p_adjusted=p)

    def tests(self, part, where="", values=(0, 1)):
        """Every exact test of two rates in the report, from the counts that stand beside it."""
        if isinstance(part, dict) and part.keys() >= {"n_a", "events_a", "test"} and part["test"]:
            if part["test"] not in COUNTED:
                mine = {"mean_a": part["mean_b"] + part["difference"], "mean_b": part["mean_a"] - part["difference"]}
                self.each("tests", where, part, difference=part["mean_a"] - part["mean_b"], **mine)
                told = part.get("persons") or not self.by_person
                mine = of_means(part) | {"p_value": part["welch_t_p_value"]} if told else {}
                drawn = ("low", "high", "p_value") if part["test"] == "studentised permutation" else ()
                self.each("tests", where, part, 1e-6, **{name: x for name, x in mine.items() if name not in drawn})
                self.attempt(self.design_effect, where, part, mine)
                raise Skip(f"p-values by {part['test']}")
            x, n, y, m = (part[name] for name in ("events_a", "n_a", "events_b", "n_b"))
            pairs = [(0, 1), *combinations(values[:50], 2)]  # the two values of what is compared, nearly always 0 and 1
            fits = [pair for pair in pairs if math.isclose(part["mean_a"], pair[0] + (pair[1] - pair[0]) * x / n)]
            low, step = fits[0][0] if fits else 0, fits[0][1] - fits[0][0] if fits else 1
            alpha, by = 1 - part["confidence"], part.get("persons")
            worth = effective(part, alpha)
            mine = ends([step * one for one in newcombe(*worth, z_of(alpha))], ("difference", "low", "high"))
            mine |= {"mean_a": low + step * x / n, "mean_b": low + step * y / m}
            mine |= {"events_a": (part["mean_a"] - low) / step * n, "events_b": (part["mean_b"] - low) / step * m}
            (a, c, b, d) = map(round, worth)
            mine["p_value"] = mid_p(min(a, c), c, min(b, d), d)
            mine["effect_size"] = 2 * math.asin(math.sqrt(x / n)) - 2 * math.asin(math.sqrt(y / m))  # Cohen's h
            seen, t_of = detectable((x + y) / (n + m), worth[1], worth[3], alpha), {**t_tests(x, n, y, m)}
            for name in ("welch_t", "pooled_t") if t_of and by else ():
                t_of[name] /= math.sqrt(by["design_effect"])
                t_of[f"{name}_p_value"] = 2 * float(special.stdtr(by["df"], -abs(t_of[name])))
            mine |= t_of | {"minimum_detectable_difference": step * seen}
            if part["ratio"] is not None:
                of_ratio = (ratio(x / n, y / m), *koopman(*worth, z_of(alpha)))
                mine |= ends(of_ratio, ("ratio", "ratio_low", "ratio_high"))
            self.each("tests", where, part, **mine)
            self.attempt(self.design_effect, where, part, mine)
        if isinstance(part, dict) and part.get("comparison") and part.get("column") in self.table.columns:
            values = sorted({x for x in self.table.columns[part["column"]] if isinstance(x, (int, float))})
        inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else []
        for name, one in inner:
            step = f"[{name}]" if isinstance(part, list) else f".{name}"
            self.attempt(self.tests, one, (where + step).strip("."), values)

    def design_effect(self, where, test, mine):
        """By how much t statistics by persons are smaller than those of rows."""
        if test.get("persons") and test["pooled_t"]:
            effect = test["persons"]["design_effect"] * (mine["pooled_t"] / test["pooled_t"]) ** 2
            self.each("tests", f"{where}.persons", test["persons"], 1e-6, design_effect=effect)

    def metrics(self, at, facet, told):
        """Rates, criteria and the composite score of one declared grouping; then Clarify's metrics."""
        table, kind, alpha, spec = self.table, "metrics of groups", 1 - told["confidence"], self.spec["groups"]
        named, z = [told[x] for x in ("label", "prediction") if told[x]], z_of(alpha)
        cuts = spec["thresholds"]
        label, said = (self.outcome(told[x]) if told[x] else None for x in ("label", "prediction"))
        score = table.numbers(told["score"]) if told["score"] else None
        there = [*RATES] if len(named) == 2 else ["selection_rate" if label is None else "prevalence"]
        # Who is in which group: rows that have the group, the label and the prediction.
        known, masks, names = table.known(*facet["columns"], *named), [], [one["group"] for one in facet["groups"]]
        for group in facet["groups"]:
            masks.append(known.copy())
            for name, level in zip(facet["columns"], group["values"], strict=True):
                above = (table.numbers(name) > cuts[name]) == level.startswith(">") if name in cuts else None
                masks[-1] &= table.among(name, [level]) if above is None else above
        cells, total = [counted(label, said, inside) for inside in masks], counted(label, said, known)
        turn = {"TP": "TN", "FP": "FN", "FN": "FP", "TN": "TP"} if told["favourable"] == "negative" else {}
        good = [Counter({turn.get(x, x): n for x, n in one.items()}) for one in cells]  # positive is favourable
        groups_of = sum(i * one for i, one in enumerate(masks, 1))
        people = None if self.whose is None else self.whose * (len(masks) + 1) + groups_of  # of each in each group
        outcomes = cells_of(label, said, known)
        sizes = [int(one.sum()) if people is None else len({*people[one]}) for one in masks]
        enough, few = (
            [size >= told["min_rows"] for size in sizes],
            np.array([fewer_by_person(people, one) for one in masks]),
        )
        judged = max(sum(enough), 1)

        def worth(i, turned, rate, rest=False):
            """Events and rows of a group or of everybody else, as of so many different persons."""
            whose = good if turned else cells
            x, n = of(rate, sum(whose, Counter()) - whose[i] if rest else whose[i])
            if people is None:
                return x, n
            event, among = (
                np.isin(outcomes, [turned[one] if turned else one for one in part.split()])
                for part in (RATES | SHARES)[rate]
            )
            less = fewer_by_person(people, among & (known & ~masks[i] if rest else masks[i]), event)
            return x / less, n / less

        # Rates of everybody and of each group, and metrics of scores.
        self.each(kind, at, facet, rows=self.table.rows)
        self.each(kind, at, facet["missing"], **{name: int((~table.known(name)).sum()) for name in facet["missing"]})
        self.each(kind, f"{at}.overall", facet["overall"], **{rate: ratio(*of(rate, total)) for rate in there})
        of_score = self.scores_of(label, score, masks, people, few, told, judged)
        for i, group in enumerate(facet["groups"]):
            self.each(kind, f"{at}.groups[{i}]", group, rows=cells[i].total())
            self.each(kind, f"{at}.groups[{i}]", group, **({} if people is None else {"persons": sizes[i]}))
            alone, strict = of_score[i] if of_score else ({}, {})
            mine = {name: dict(one) for name, one in alone.items()}
            for name, limits in strict.items():
                self.at_once[facet["facet"], group["group"], name] = limits
            for rate in there:
                counts = worth(i, {}, rate)
                mine[rate] = ends(wilson(*counts, z, 40)) | ends(of(rate, cells[i]), ("events", "n"))
                self.at_once[facet["facet"], group["group"], rate] = ends(
                    wilson(*counts, z_of(alpha, judged), 40)[1:], ("low", "high")
                )
            if len(named) == 2:  # F1 is 2 s / (1 + s) of the share s of true positives among all that is positive
                scored = [2 * x / (1 + x) for x in wilson(*worth(i, {}, "f1_share"), z, 40)]
                mine["f1_score"] = {"n": of("f1_share", cells[i])[1], **ends(scored)}
            for name, stated in (group["rates"] or {}).items():
                within = 1e-6 if name in alone else TOLERANCE
                where = f"{at}.groups[{i}].rates.{name}"
                self.attempt(self.each, kind, where, stated, within, **mine.get(name, {}))
        # Each group against the reference: one group, or everybody else.
        reference = names.index(facet["reference"]) if facet["reference"] in names else None
        for j, metric in enumerate(facet["against_reference"]):
            rate, _, what = metric["metric"].rpartition("_")
            ours = [worth(i, {}, rate) for i in range(len(cells))] if rate in there else []
            critical = for_all(tuple(ours), reference, alpha) if ours else math.nan
            for i, stated in enumerate(metric["values"] if rate in there else []):
                (x, n), (y, m) = ours[i], worth(i, {}, rate, rest=True) if reference is None else ours[reference]
                if what == "difference":
                    mine, both = ends(newcombe(x, n, y, m, z)), newcombe(x, n, y, m, critical)[1:]
                else:
                    mine, both = {"estimate": ratio(ratio(x, n), ratio(y, m))}, (math.nan, math.nan)
                    if n and m and x + y:
                        mine |= ends(koopman(x, n, y, m, z), ("low", "high"))
                        both = mover(x, n, y, m, critical)
                mine |= ends(both, ("together_low", "together_high"))
                self.attempt(self.each, kind, f"{at}.against_reference[{j}].values[{i}]", stated, **mine)
        # Criteria: the largest difference and the smallest ratio over all groups with enough rows.
        means = [math.nan if score is None else np.nanmean(score[one]) if one.any() else math.nan for one in masks]
        for j, stated in enumerate(facet["ranges"]):
            (name, _, what), spans, tests = stated["metric"].rpartition("_"), [], []
            fewest = told["min_rows"] if name == "calibration" else 10
            for rate in CRITERIA.get(name, []):
                turned = turn if name == "four_fifths" else {}
                there_are = [
                    i
                    for i, is_one in enumerate(enough)
                    if is_one
                    and self.among(rate, (good if turned else cells)[i], masks[i], outcomes, people, turned) >= fewest
                ]
                counts = [worth(i, turned, rate) for i in there_are]
                changes = {
                    "treatment_equality": [odds_of] * len(counts),
                    "calibration": [partial(mul, ratio(1, means[i])) for i in there_are],
                }
                spans += (
                    [span_of(counts, what, alpha / len(CRITERIA[name]), changes.get(name))] if len(counts) > 1 else []
                )
                tests.append(equal_rates(tuple(counts)))
            worst = [(max if what == "difference" else min)(one) for one in zip(*spans, strict=True)]
            mine = ends(worst) if worst and len(spans) == len(CRITERIA[name]) else {}
            if stated.get("p_value") is not None and tests and None not in tests:
                mine["p_value"] = min(1.0, len(tests) * min(tests))
            self.attempt(
                self.each, kind, f"{at}.ranges[{j}]", stated, 1e-6 if name == "calibration" else TOLERANCE, **mine
            )
        if facet["bias_score"]:
            self.composite(f"{at}.bias_score", facet["bias_score"], names, score, masks, cells, few, worth, alpha)
        # Clarify's metrics: d is the group, a everybody else.
        labels = known if label is None else label if told["label"] in cuts else table.columns[told["label"]]
        strata = table.columns[told["stratum"]] if told["stratum"] else np.full(table.rows, None)
        varying = [Counter({name: n * less for name, n in one.items()}) for one, less in zip(good, few, strict=True)]
        for i, inside in enumerate(masks):
            p, q = (np.array([(labels[m] == x).mean() for x in {*labels[known]}]) for m in (inside, known & ~inside))
            d, a = good[i], sum(good, Counter()) - good[i]
            spread = varying[i], sum((one for k, one in enumerate(varying) if k != i), Counter())
            mine = clarify(d, a, p, q)
            alone_and_all = {
                k: clarify_limits(d, a, p, q, alpha / k, spread, partial(worth, i, turn))
                if d.total() and a.total()
                else {}
                for k in (1, judged)
            }
            for name, column in (("CDDL", label), ("CDDPL", said)):
                if column is not None:
                    bad = column == (1 if turn else 0)
                    mine[name] = disparity(inside, known, strata, bad)[0]
                    for k in (1, judged) if people is None else ():
                        alone_and_all[k][name] = disparity(inside, known, strata, bad, z_of(alpha, k))[1:]
            if spec["similar_by"] and said is not None and people is None and a.total() >= 5:
                rows = self.drawn_alike(told)[0]
                rows = rows[known[rows]]
                plus, minus, n = table.again(
                    flip_test, places_of(table, spec["similar_by"], rows), inside[rows], said[rows]
                )
                plus, minus = (minus, plus) if turn else (plus, minus)
                mine["FT"] = (plus - minus) / n
                for k in (1, judged):
                    alone_and_all[k]["FT"] = flip_limits(plus, minus, n, z_of(alpha, k))
            for j, metric in enumerate(facet["clarify"]):
                name, value = metric["metric"], {"estimate": mine.get(metric["metric"], math.nan)}
                if rate := CLARIFY.get(name):
                    sides = [worth(i, turn, rate, rest) for rest in (False, True)][
                        :: 1 if name in ("SD", "DRR") else -1
                    ]
                    alone, all_of = (newcombe(*sides[0], *sides[1], z_of(alpha, k)) for k in (1, judged))
                    value |= ends(alone) | ends(all_of[1:], ("together_low", "together_high"))
                for k, names_of_ends in ((1, ("low", "high")), (judged, ("together_low", "together_high"))):
                    if name in alone_and_all[k] and not (name == "GE" and k == judged and judged > 1):
                        value |= ends(alone_and_all[k][name], names_of_ends)
                stated = metric["values"][i if len(metric["values"]) > 1 else 0]
                where, value = f"{at}.clarify[{j}].values[{i}]", value if name in mine else {}
                self.attempt(
                    self.each, "Clarify's metrics", where, stated, TOLERANCE if people is None else 1e-6, **value
                )

    def numbered(self):
        """A number of each row's person; None where each row is a person."""
        if not self.by_person:
            return None
        return np.unique([str(x) for x in self.table.columns[self.spec["split"]["key"]]], return_inverse=True)[1]

    def outcome(self, name):
        """1 where a label or a prediction is positive or above its cut, 0 where not, not a number where missing."""
        if name in self.spec["groups"]["thresholds"]:
            x = self.table.numbers(name)
            return np.where(np.isnan(x), math.nan, x > self.spec["groups"]["thresholds"][name])
        return self.table.positive(name, self.spec["groups"]["positive"] or self.spec["bias_variable"]["positive"])

    def drawn_alike(self, told):
        """Rows of the flip test, some of them several times, and of how many they are drawn.

        Of m rows that are alike in the columns that it reads, m times the share that is drawn are, rounded up or down
        by a hash of what they have in common.
        """
        table, wanted = self.table, min(50_000, self.spec["large_rows"])
        if not self.drawn:
            return np.arange(table.rows), table.rows
        names = [(*one["columns"], told["label"], told["prediction"], *self.spec["groups"]["similar_by"])
                 for one in told["facets"]]  # fmt: skip
        hashes = np.zeros(table.rows, dtype=np.uint64)
        for name in dict.fromkeys(name for several in names for name in several if name):
            hashes = mixed(hashes ^ table.once(name, "alike", lambda _, name=name: table.hashes_alike(name)))
        if self.by_person:
            who = table.row_hashes({self.spec["split"]["key"]: "categorical"}).astype(float)
            hashes = mixed(hashes ^ mixed(who.view(np.uint64)))
        each, first, times = np.unique(hashes, return_index=True, return_counts=True)
        chance = (mixed(each) >> np.uint64(11)).astype(float) * 2.0**-53
        drawn = np.floor(min(1.0, wanted / table.rows) * times + chance).astype(int)
        return np.repeat(first, drawn), table.rows

    def drawn_rows(self):
        """Which rows searches see: all, or of a large table those that are drawn."""
        return self.sample(self.complete) if self.drawn else self.complete

    def among(self, rate, cells, inside, outcomes, people, turn):
        """How many persons a rate of a group is of."""
        if people is None:
            return of(rate, cells)[1]
        rows = inside & np.isin(outcomes, [turn[x] if turn else x for x in (RATES | SHARES)[rate][1].split()])
        return len({*people[rows]})

    def scores_of(self, label, score, masks, people, few, told, judged):
        """Metrics of a score in each group, with limits of each alone and of all at once."""
        if score is None or label is None:
            return []
        rows = [one & ~np.isnan(score) for one in masks]
        occupied = max(len({*(score[one] * 10).clip(max=9).astype(int)}) for one in rows)
        steps, alpha, out = score, 1 - told["confidence"], []
        if self.drawn:  # of many rows, areas are of scores in 65,535 steps
            low, high = min(0.0, np.nanmin(score)), max(1.0, np.nanmax(score))
            steps = np.rint((score - low) / (high - low) * 65_535)
        for here, less in zip(rows, few, strict=True):
            y, s, whose = label[here], score[here], None if people is None else people[here]
            if not len(y):
                out.append(({}, {}))
                continue
            values, both = of_scores(y, s), []
            for level in (alpha, alpha / judged):
                limits = score_limits(y, s, level, occupied, 1 / less)
                limits |= {"auc": area_limits(y, steps[here], level, whose)} if 0 < y.sum() < len(y) else {}
                both.append({name: ends(one, ("low", "high")) for name, one in limits.items()})
            values = {name: {"estimate": value, "n": len(y), **both[0].get(name, {})} for name, value in values.items()}
            out.append((values, both[1]))
        return out

    def composite(self, at, told, groups, score, masks, cells, few, worth, alpha):
        """The composite score (docs/declared-groups.md): ranges of rates of all groups, weighted; and its noise."""
        names = [one["name"] for one in told["parts"]]
        kept, total = [groups.index(one) for one in told["groups"]], [0.0, 0.0, 0.0]
        weights = [0.333, 0.333, 0.334] if "mean_score" in names else [0.333 / 0.666, 0.333 / 0.666, 0.0]
        factors, errors, values = [weights[0], weights[1] / 2, weights[1] / 2, weights[2]], [], {}
        critical = for_pairs(len(kept), alpha / len(names)) if names else math.nan
        self.each("metrics of groups", at, told, weights=weights)
        for part, factor in zip(told["parts"], factors, strict=False):
            if part["name"] in RATES:
                each = [wilson(*worth(i, {}, part["name"]), critical) for i in kept]
            else:
                each = []
                for i in kept:
                    s = score[masks[i] & ~np.isnan(score)]
                    errors.append(math.sqrt(s.var() / max(len(s) / few[i] - 1, 1)))
                    each.append((s.mean(), s.mean() - critical * errors[-1], s.mean() + critical * errors[-1]))
            value, low, high = spread_of(each, "difference")
            low, high = max(low, 0.0), min(high, 1.0)
            mine = {"value": value, "low": low, "high": high}
            mine |= {"signed": each[0][0] - each[1][0]} if len(kept) == 2 else {}
            self.each("metrics of groups", f"{at}.{part['name']}", part, 1e-6, **mine)
            total = [sum_of + factor * x for sum_of, x in zip(total, (value, low, high), strict=True)]
            values[part["name"]] = value
        if not names:
            return
        shares = [ratio(*of("selection_rate", cells[i])) for i in kept]
        mine = {"demographic_parity_difference": values["selection_rate"]}
        mine["disparate_impact_ratio"] = ratio(min(shares), max(shares))
        mine["equalized_odds_difference"] = (values["true_positive_rate"] + values["false_positive_rate"]) / 2
        mine |= {"calibration_difference": values["mean_score"]} if "mean_score" in values else {}
        mine |= {"score": total[0], "low": min(total[1], total[0]), "high": max(min(total[2], 1.0), total[0])}
        sizes = sorted(int(max(np.rint(cells[i].total() / few[i]), 1)) for i in kept)
        whole = [sum(cells[i][name] for i in kept) for name in ("TP", "FP", "FN", "TN")]
        noise = noise_of(
            tuple(sizes),
            tuple(x / sum(whole) for x in whole),
            tuple(factors),
            tuple(errors),
            self.spec["split"]["random_state"],
        )
        mine |= {"noise_mean": noise.mean(), "noise_high": np.quantile(noise, 0.95)}
        mine["p_value"] = (1 + (noise >= total[0] - 1e-12).sum()) / (1 + len(noise))
        self.each("metrics of groups", at, told, 1e-6, **mine)

    def numeric_groups(self, told):
        """Means, medians and errors of numbers by group; differences and ratios from the limits of two groups."""
        if self.by_person:
            raise Skip("numbers of groups of persons")
        label, said = (
            self.table.numbers(told[x]) if told[x] else np.full(self.table.rows, 0.0) for x in ("label", "prediction")
        )
        error, near = said - label, self.spec["groups"]["tolerance"] or 0
        amounts = {"outcome": label, "prediction": said, "error": error, "absolute_error": abs(error)}
        amounts |= {"squared_error": error**2, "tolerance": (abs(error) <= near) * 1.0}
        alpha, known = 1 - told["confidence"], np.isfinite(label + said)

        def measured(name, rows, level):
            what = name.split("_", 1 + name.startswith("root"))[-1]
            x = amounts[what][rows]
            if name.startswith("median"):
                return median(x, level)
            if not len(x) or (np.ptp(x) == 0 and what != "tolerance"):  # which says nothing of how far others are off
                return (
                    (math.sqrt(x[0]) if name.startswith("root") else x[0]) if len(x) else math.nan,
                    math.nan,
                    math.nan,
                )
            limits = wilson(x.sum(), len(x), z_of(level)) if what == "tolerance" else student(x, level)
            limits = limits if amounts[what][known].min() < 0 else (limits[0], max(limits[1], 0), limits[2])
            return tuple(map(math.sqrt, limits)) if name.startswith("root") else limits

        for f, facet in enumerate(told["facets"]):
            at, names = f"numeric_groups.facets[{f}]", [one["group"] for one in facet["groups"]]
            here, masks = known & self.table.known(*facet["columns"]), []
            missing = {name: int((~self.table.known(name)).sum()) for name in facet["missing"]}
            self.each("numbers of groups", f"{at}.missing", facet["missing"], **missing)
            self.each("numbers of groups", at, facet, rows=self.table.rows)
            overall = {name: measured(name, here, alpha)[0] for name in facet["overall"]}
            self.each("numbers of groups", f"{at}.overall", facet["overall"], **overall)
            for g, group in enumerate(facet["groups"]):
                masks.append(here.copy())
                for name, level in zip(facet["columns"], group["values"], strict=True):
                    cut = self.spec["groups"]["thresholds"].get(name)
                    above = (self.table.numbers(name) > cut) == level.startswith(">") if cut is not None else None
                    masks[-1] &= self.table.among(name, [level]) if above is None else above
                n = int(masks[-1].sum())
                self.each("numbers of groups", f"{at}.groups[{g}]", group, rows=n)
                for name, stated in (group["rates"] or {}).items():
                    mine = ends(measured(name, masks[-1], alpha)) | {"n": n}
                    mine |= {} if stated["events"] is None else {"events": mine["estimate"] * n}
                    self.attempt(self.each, "numbers of groups", f"{at}.groups[{g}].rates.{name}", stated, **mine)
            alone = facet["reference"] in names
            contrasts = len(names) - 1 if alone else len(names) if len(names) > 2 else 1
            for (m, metric), g in product(enumerate(facet["against_reference"]), range(len(names))):
                name, _, what = metric["metric"].rpartition("_")
                other = masks[names.index(facet["reference"])] if alone else here & ~masks[g]
                mine = {}
                for level, two in (
                    (alpha, ("low", "high")),
                    (1 - (1 - alpha) ** (1 / contrasts), ("together_low", "together_high")),
                ):
                    a, b = (measured(name, rows, level) for rows in (masks[g], other))
                    mine["estimate"] = a[0] - b[0] if what == "difference" else ratio(a[0], b[0])
                    mine |= ends((joined if what == "difference" else over)(*a, *b), two)
                where = f"{at}.against_reference[{m}].values[{g}]"
                self.attempt(self.each, "numbers of groups", where, metric["values"][g], **mine)

    def limits(self):
        """Every limit's verdict from its evidence, which stands elsewhere in the report, and that of all together."""
        verdicts, order = [], ("fail", "inconclusive", "not_testable", "pass")
        self.attempt(self.of_limits)
        others = json.dumps({name: part for name, part in self.report.items() if name not in ("gate", "spec")})
        elsewhere = {one.lstrip("-") for one in re.findall(r"[-+.\de]+", others)}
        for i, limit in enumerate(self.report["gate"]):
            asked = self.spec["gate"][i] if i < len(self.spec["gate"]) else {}
            mine = {"maximum": asked["max"]} if "max" in asked else {}
            mine |= {"limit": asked["max_difference"]} if asked.get("max_difference") is not None else {}
            own = (limit.get("facet"), limit.get("group"), limit.get("metric"))
            widened = own[2] in SCORES.split() or {limit["check"], limit["kind"]} & WIDENED  # stands nowhere else
            for name in ("value", "difference", *(() if widened and not limit.get("broken_by") else ("low", "high"))):
                if limit.get(name) is not None and (own not in self.at_once or name == "value"):
                    mine[name] = limit[name] if json.dumps(abs(limit[name])) in elsewhere else math.nan
            mine |= {"minimum": asked["min"]} if asked.get("min") is not None and "minimum" in limit else {}
            facets = {one["facet"]: one for one in (self.report.get("groups") or {"facets": []})["facets"]}
            if limit.get("rows_seen") is not None and own[0] in facets and not self.by_person:
                both, of_facet = limit["rows_seen"] + limit["rows_unseen"], facets[own[0]]["rows"]
                rows = of_facet if both == of_facet else self.table.rows  # with those whose group is missing
                self.each("limits", f"gate[{i}]", {"rows seen and not": both}, **{"rows seen and not": rows})
            for same in facets[own[0]]["ranges"] if own[0] in facets and own[1] is None else ():
                if same["metric"] == own[2] and limit.get("p_value") is not None:
                    mine["p_value"] = same["p_value"]
            mine["verdict"] = self.verdict_of(limit, asked)
            mine["blocks"] = mine["verdict"] == "fail" or (
                mine["verdict"] != "pass" and limit["inconclusive"] == "block"
            )
            self.each("limits", f"gate[{i}]", limit, **mine)
            verdicts.append(limit["verdict"])
        together = min(verdicts, key=order.index, default="no_limit")
        if self.spec["require"] == "majority" and verdicts:
            passed, failed = (2 * verdicts.count(one) for one in ("pass", "fail"))
            left = min((one for one in verdicts if one in order[1:3]), key=order.index, default="fail")
            together = "pass" if passed > len(verdicts) else "fail" if failed >= len(verdicts) else left
        told, majority = self.report["verdict"], self.spec["require"] == "majority" and bool(verdicts)
        blocks = any(one["blocks"] for one in self.report["gate"]) and not (majority and together == "pass")
        if told.get("held_back"):  # no seal that fits, or more looks than the plan allows
            together, blocks = "inconclusive" if together == "pass" else together, True
        self.each("limits", "verdict", told, verdict=together, blocks=blocks or (majority and together == "fail"))

    def of_limits(self):
        """What limits say: of groups, of clusters, and of whoever a search found; and who breaks them."""
        asked = [*self.spec["gate"], *[{}] * (len(self.report["gate"]) - len(self.spec["gate"]))]
        y = self.y[self.audited]
        for i, (limit, of_spec) in enumerate(zip(self.report["gate"], asked, strict=True)):
            at, scope = f"gate[{i}]", limit.get("scope")
            if limit["kind"] == "metric":
                self.attempt(self.limit_on_groups, at, limit, of_spec)
                continue
            if "limit" in limit and of_spec.get("max_difference") is None and limit["check"] != "local_bias":
                most = 0.05 if len({*y.tolist()}) == 2 else 0.2 * self.y[self.audited & self.test].std()
                self.attempt(self.each, "limits", at, limit, limit=most)
            if scope and scope["people"] in ("clusters", "intersections"):
                several = self.report["clusters" if scope["people"] == "clusters" else "slices"]
                tested = len(several) if isinstance(several, list) else several["tests"]
                self.each("limits", f"{at}.scope", scope, tested=tested)
                if scope["people"] == "intersections":
                    self.attempt(self.limit_on_slices, at, limit, scope, several)
            if limit.get("broken_by"):
                self.attempt(self.limit_broken, at, limit, scope)
            if limit["kind"] == "cluster" and limit["cluster"] is not None:
                self.attempt(self.limit_on_clusters, at, limit)
            if limit["check"] == "worst_group" and limit["min_share"] is not None:
                self.attempt(self.limit_on_worst_group, at, limit, scope, of_spec)

    def limit_broken(self, at, limit, scope):
        """Who breaks a limit is one of the findings."""
        told, by = self.report["findings"], limit["broken_by"]
        same = next(x for x in (*told["findings"], *told["at_first_sight"]) if x["who"] == by["who"])
        alike = same["remaining"] if scope["of"] == "remaining" else None
        names = ("remaining", "remaining_low", "remaining_high") if alike else ("difference", "low", "high")
        mine = ends([(alike or same)[name] for name in names], ("as_found", "at_least", "at_most"))
        mine |= {name: same[name] for name in ("rows", "share", "p_value")}
        mine["groups_before"] = 0 if same["remaining"] else same["groups_before"]
        self.each("limits", f"{at}.broken_by", by, **mine)
        for c, (one, other) in enumerate(zip(by["conditions"], same["conditions"], strict=True)):
            self.each("limits", f"{at}.broken_by.conditions[{c}]", one, low=other["low"], high=other["high"])
        mine = ends([by[name] for name in ("as_found", "at_least", "at_most")], ("difference", "low", "high"))
        self.each("limits", at, limit, p_value=by["p_value"], **mine)

    def limit_on_clusters(self, at, limit):
        """The cluster that decides, and what would have been found beyond the limit with 80 % power."""
        alpha, up = self.spec["significance"]["alpha"], self.spec["bias_variable"]["better"] == "lower"
        clusters, each = self.report["clusters"], limit["check"] == "any_cluster"
        again = ((self.report["primary_test"] or {}).get("repeated_splits") or {}).get("together")
        several, tests = len(clusters) if each else 1, [one["comparison"] for one in clusters]
        tests = tests if each else [again or tests[0]]
        labels, sides = [one["cluster"] for one in clusters[: len(tests)]], []
        for one, test in zip(clusters, tests, strict=False):
            if test["difference"] is None:
                continue
            low, high, p = test["low"], test["high"], one["p_adjusted"] if each else test["p_value"]
            if each and test["events_a"] is not None and test["test"].startswith("exact"):
                step = test["difference"] / (newcombe(*self.counts_in(test, alpha), 1.96)[0] or 1)
                low, high = (
                    step * x for x in newcombe(*self.counts_in(test, alpha / several), z_of(alpha, several))[1:]
                )
            value, low, high = (test["difference"], low, high) if up else (-test["difference"], -high, -low)
            verdict = 2 if low > limit["limit"] and p <= alpha else 0 if high <= limit["limit"] else 1
            sides.append((verdict, low if verdict == 2 else high, -len(sides), one["cluster"], test, value, low, high))
        _, _, _, cluster, test, value, low, high = max(sides, key=lambda x: x[:3])
        exact = test["test"].startswith("exact")
        mine = (
            {"cluster": cluster}
            if exact or len(labels) == 1
            else {"cluster": min(labels, key=lambda x: abs(x - limit["cluster"]))}
        )
        test = tests[labels.index(mine["cluster"])]
        mine["smallest_visible"] = self.beyond(test, limit["limit"], several, up)
        if not limit["broken_by"]:
            mine |= {"difference": test["difference"] if up else -test["difference"], "p_value": test["p_value"]}
            mine |= {"low": low, "high": high} if exact or not each else {}
        self.each("limits", at, limit, **mine)

    def limit_on_slices(self, at, limit, scope, told):
        """The intersection that decides is named; it was chosen among all, with its own share of the errors."""
        self.each("limits", f"{at}.scope", scope, conditions=told["max_conditions"])
        one = next(x for x in told["slices"] if x["name"] == limit["slice"])
        share, up = max(1.0, told["tests"] / one["weight"]), told["better"] == "lower"
        mine = {
            "slices_tested": told["tests"],
            "smallest_visible": self.beyond(one["comparison"], limit["limit"], share, up),
        }
        self.each("limits", at, limit, **mine)

    def counts_in(self, test, alpha):
        """Events and rows of a comparison; of persons with several rows, as its design effect has them."""
        persons = test.get("persons") or {}
        less = persons["design_effect"] * few_people(persons["df"], alpha) if persons.get("df") else 1.0
        return [test[name] / less for name in ("events_a", "n_a", "events_b", "n_b")]

    def beyond(self, test, limit, several, up):
        """The difference found beyond a limit with 80 % power (Fleiss, Levin and Paik 2003, chapter 4)."""
        alpha, power = self.spec["significance"]["alpha"], float(special.ndtri(0.8))
        each = alpha / several
        if not test["test"].startswith("exact"):
            df = (test.get("persons") or {}).get("df") or min(test["n_a"], test["n_b"]) - 1
            far, near, further = (float(special.stdtrit(df, x)) for x in (1 - each / 2, 1 - alpha / 2, 0.8))
            return limit + (far + further) * (test["high"] - test["low"]) / (2 * near)
        alone = newcombe(*self.counts_in(test, alpha), z_of(alpha))
        unit = (test["high"] - test["low"]) / (alone[2] - alone[1])
        step = 1.0 if test["mean_a"] == test["events_a"] / test["n_a"] else unit
        _, n, y, m = self.counts_in(test, each)
        rate = (y + 1) / (m + 2) if up else 1 - (y + 1) / (m + 2)

        def error(gap):
            return unit / step * math.sqrt(max((rate + gap) * (1 - rate - gap), 0.0) / n + rate * (1 - rate) / m)

        if limit / step + rate >= 1:
            return math.nan
        start = limit / step + z_of(each) * error(limit / step)
        if start + power * error(1 - rate) >= 1 - rate:
            return math.nan
        return step * optimize.brentq(lambda x: start + power * error(x) - x, limit / step, 1 - rate, xtol=1e-12)

    def limit_on_worst_group(self, at, limit, scope, asked):
        """What is ruled out from the share on that is asked for; about how many rows would settle the limit."""
        part = self.report["worst_groups"]
        part = (part["raw"] or part) if asked.get("of") == "raw" else part
        part = self.report["calibration"] if scope["people"] == "scored" else part
        named = [asked.get(name) for name in ("ruled_out_from", "min_share")]
        least = max(filter(None, named), default=max(0.05, part["min_share"]))
        told = part["ruled_out"] if "ruled_out" in part else [part["certificate"], *part["limited"]]
        told = sorted(told, key=lambda one: one["min_share"])
        one = [told[0], *(x for x in told if x["min_share"] <= least)][-1]
        self.each("limits", at, limit, min_share=one["min_share"])
        same = [
            x["p_value"]
            for x in part["groups"]
            if math.isclose(abs(x.get("difference") or x["gap"]), limit["difference"])
        ]
        self.each("limits", at, limit, **({"p_value": same[0]} if same else {}))
        mine = {"conditions": one["max_conditions"], "ruled_out_from": one["min_share"]}
        self.each("limits", f"{at}.scope", scope, **mine)
        if limit["broken_by"]:
            return
        mine, most = {"high": one["largest_difference"]}, limit["limit"]
        if limit["verdict"] == "inconclusive":
            gap, bound = one["found_difference"], one["largest_difference"]
            times = (
                ((bound if most > gap else one["confirmed_difference"]) - gap) / (most - gap) if most != gap else 1e9
            )
            rows = (
                one["rows"] if most >= bound or most < one["confirmed_difference"] else one["rows"] * max(1, times**2)
            )
            digit = 10 ** max(len(str(math.ceil(rows - 1e-6))) - 2, 0)
            mine["rows_to_settle"] = (
                math.ceil(math.ceil(rows - 1e-6) / digit) * digit if rows < 1e3 * one["rows"] else None
            )
        self.each("limits", at, limit, **mine)

    def limit_on_groups(self, at, limit, asked):
        """The group of a grouping whose metric decides: the one farthest beyond a limit, or nearest to it."""
        facet = next(one for one in self.report["groups"]["facets"] if one["facet"] == limit["facet"])
        told, name = self.report["groups"], LONG_NAMES.get(limit["metric"], limit["metric"])
        least, most, alpha = asked.get("min"), asked.get("max"), 1 - limit["confidence"]
        least = -most if least is None and most is not None and most >= 0 and name in SIGNED else least
        self.each("limits", at, limit, minimum=least, maximum=most)
        ends_of = [("low", "high"), ("together_low", "together_high")]
        known, p_value, groups = [], None, {one["group"]: one for one in facet["groups"]}
        for one in facet["ranges"]:
            if one["metric"] == name:
                known.append((None, one["estimate"], one["low"], one["high"]))
                p_value, out = one["p_value"], one["left_out"]
        if name == "bias_score" and facet["bias_score"]:
            one = facet["bias_score"]
            known.append((None, one["score"], one["low"], one["high"]))
            p_value, out = one["p_value"], one["excluded"]
        for metric in (*facet["against_reference"], *facet["clarify"]):
            for one in metric["values"] if metric["metric"] == name else ():
                low, high = (one[a] if one.get(b) is None else one[b] for a, b in zip(*ends_of, strict=True))
                known.append((one["group"] if len(metric["values"]) > 1 else None, one["estimate"], low, high))
                out = []
        for group in groups:
            if name in (groups[group]["rates"] or {}):
                limits = self.at_once.get((facet["facet"], group, name), {"low": None, "high": None})
                known.append((group, groups[group]["rates"][name]["estimate"], limits["low"], limits["high"]))
        known = [
            one for one in known if self.is_judged(groups.get(one[0]), name, told["min_rows"]) and one[1] is not None
        ]
        needed = {*facet["columns"], told["label"], told["prediction"]}
        needed |= {told["stratum"]} if name in ("CDDL", "CDDPL") else set()
        of_score = (name in SCORES.split() and name != "f1_score") or name.startswith("calibration_")
        needed |= {told["score"]} if of_score else set()
        seen = int(self.table.known(*(needed - {None})).sum())
        self.each("limits", at, limit, rows_seen=seen, rows_unseen=facet["rows"] - seen)
        if not known:
            self.each("limits", at, limit, groups_judged=0)
            return
        beyond = partial(how_far, least=least, most=most)
        rule = "significant" if limit["kind"] == "four_fifths" else limit["rule"]

        def order(one):
            """The severest verdict first, then the value that lies farthest beyond the limit."""
            _, value, low, high = one
            if rule == "point" or low is None or high is None:
                return (2 if beyond(value) > 0 else 0) if rule == "point" else 1, beyond(value)
            outside = (least is not None and high < least) or (most is not None and low > most)
            return 2 if outside else 0 if beyond(low) <= 0 and beyond(high) <= 0 else 1, beyond(value)

        group, value, low, high = max(known, key=order)
        there = sum(one["rows"] > 0 for one in facet["groups"])
        judged = len(known) if group is not None else there - len(out)
        mine = {"value": value, "low": low, "high": high, "p_value": p_value, "groups_judged": judged}
        mine["smallest_visible"] = visible_beyond(value, low, high, least, most, alpha, name)
        self.each("limits", at, limit, 1e-6, **mine)

    def is_judged(self, group, name, min_rows):
        """Whether a group has rows enough for a metric: as many persons, and ten in what its rate is of."""
        if group is None:
            return True
        rate = CLARIFY.get(name, "selection_rate" if name == "DI" else re.sub("_(difference|ratio)$", "", name))
        n = ((group["rates"] or {}).get(rate) or {"n": group["rows"]})["n"]
        persons = group.get("persons") or group["rows"]
        return persons >= min_rows and n >= 10 * group["rows"] / max(persons, 1)

    def verdict_of(self, limit, asked):
        """The whole interval within the limit passes, the whole interval beyond it fails; else the rows cannot tell."""
        least, most = limit.get("minimum"), limit.get("maximum", limit.get("limit"))
        least, most = -math.inf if least is None else least, math.inf if most is None else most
        value, low, high = limit.get("value", limit.get("difference")), limit["low"], limit["high"]
        proven = [*self.proven(limit.get("scope") or {"measured": ""})]  # by whichever search
        if any(at_least > most for _, at_least in proven):
            return "fail"
        if value is None:
            return "not_testable"
        low, high = (value, value) if limit.get("rule") == "point" else (low, high)
        if low is None or high is None:
            return "inconclusive"
        if high < least or low > most or (limit["kind"] == "four_fifths" and value < least):
            return "fail" if self.tested(limit)[1] else "inconclusive"
        is_open = limit.get("reopened_by") or any(gap > most for gap, _ in proven) or not self.tested(limit)[0]
        if limit["check"] == "worst_group":  # a pass rules out groups from 5 of 100 people on, or as it was asked
            named = asked.get("min_share"), asked.get("ruled_out_from")
            searched = 0 if any(named) else (self.report["worst_groups"] or {"min_share": 0})["min_share"]
            is_open = is_open or max(named[0] or 0, named[1] or 0.05, searched) < limit["min_share"]
        return "pass" if least <= low and high <= most and not is_open else "inconclusive"

    def proven(self, scope):
        """Difference and lower bound of all who are confirmed to fare worse, as the limit measures it (docs/ci.md)."""
        told = self.report.get("findings") or {"findings": [], "at_first_sight": []}
        for one in [*told["findings"], *(told["at_first_sight"] if scope.get("of") == "raw" else [])]:
            if one["measured"] == scope["measured"] and one["share"] >= (scope["min_share"] or 0):
                alike = one["remaining"] if scope["of"] == "remaining" else None
                if alike is None or (alike["overlap"] >= 0.05 and alike["rows"] >= 200):  # else too few are alike
                    names = ("remaining", "remaining_low") if alike else ("difference", "low")
                    yield [(alike or one)[name] for name in names]

    def tested(self, limit):
        """Whether all that a limit is on were tested, and whether the test beside its interval finds a difference."""
        check, several = limit["check"], []
        if check == "any_cluster":
            several = [(one["cluster"], one["comparison"], one) for one in self.report["clusters"]]
        elif check == "worst_slice":
            several = [(one["name"], one["comparison"], one) for one in self.report["slices"]["slices"]]
        elif check == "local_bias":
            clusters = self.report["local_bias"]["logan"]["clusters"]
            several = [(one["label"], one["held_out"], one["held_out"]) for one in clusters]
        named = [one["significant"] for name, _, one in several if name == limit.get("slice", limit.get("cluster"))]
        tests = check in ("worst_cluster", "declared_group", "four_fifths")
        rejects = any(named) if several else not tests or limit["p_value"] <= self.spec["significance"]["alpha"]
        return all(test["status"] == "tested" for _, test, _ in several), rejects


# 7. From the top ----------------------------------------------------------------------------------------------------
def main(files):
    """Print, kind by kind, what was recomputed and agrees; then what differs, and what was not recomputed."""
    try:
        report = json.loads(Path(files[0]).read_text(encoding="utf-8"))
        done = Recomputed(report, Table(files[1:], report["spec"]["source"]))
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError, Skip) as error:
        print(f"Cannot be read: {error!r}\n{__doc__}", file=sys.stderr)
        return 2
    for kind, made in done.made.items():
        print(f"{kind}: {made} recomputed, {made - sum(one[0] == kind for one in done.differing)} agree")
    for _, where, told, mine in done.differing:
        print(f"differs: {where} is {told} in the report, and {mine} recomputed")
    for why, times in done.left_out.items():
        print(f"not recomputed: {why} ({times})")
    return 1 if done.differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
