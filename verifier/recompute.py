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


def of_means(part):
    """A difference of two means by Welch (1947): g with its small-sample factor (Hedges 1981), t, p, limits.

    The report holds no variances; they follow from its two t statistics, so that what else it says has to fit them.
    """
    n, m, gap = part["n_a"], part["n_b"], part["mean_a"] - part["mean_b"]
    whole, pooled = ((gap / part[name]) ** 2 if part[name] else math.nan for name in ("welch_t", "pooled_t"))
    spread, parts = pooled / (1 / n + 1 / m), ((n - 1) * n, (m - 1) * m)
    if not whole > 0 or abs(parts[0] - parts[1]) < 0.01 * sum(parts):
        raise Skip("means without t statistics, or of as many people")
    v = ((n + m - 2) * spread - parts[1] * whole) / (parts[0] - parts[1])
    degrees = whole**2 / (v**2 / (n - 1) + (whole - v) ** 2 / (m - 1)) if n > 1 and m > 1 else math.nan
    half = (n + m - 2) / 2
    g = gap / math.sqrt(spread * half) * math.exp(special.gammaln(half) - special.gammaln(half - 0.5))

    reach = float(special.stdtrit(degrees, (1 + part["confidence"]) / 2)) * math.sqrt(whole)
    seen = math.sqrt(whole) * sum(float(special.stdtrit(degrees, x)) for x in ((1 + part["confidence"]) / 2, 0.8))
    mine = {"effect_size": g, "minimum_detectable_difference": seen}
    mine |= {
        f"{name}_p_value": 2 * float(special.stdtr(df, -abs(part[name])))
        for name, df in (("welch_t", degrees), ("pooled_t", n + m - 2))
    }
    return mine | {"difference": gap, "low": gap - reach, "high": gap + reach}


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


def holm(p_values):
    """Adjusted for their number (Holm 1979)."""
    out, worst = list(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(out)), key=out.__getitem__)):
        worst = out[i] = min(1.0, max(worst, (len(out) - rank) * out[i]))
    return out


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


def shrink(people, rows, events=None):
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


def how_far(value, least, most):
    """How far a value lies beyond a limit; negative within."""
    return max(-math.inf if least is None else least - value, -math.inf if most is None else value - most)


def visible(value, low, high, least, most, alpha, name):
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


# 2. The table, as docs/reading.md has it ----------------------------------------------------------------------------
class Skip(Exception):  # noqa: N818 - it is no error
    """Something that is not recomputed, and why."""


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

    def numbers(self, name):
        if self.once(name, "texts", lambda column: any(isinstance(x, str) for x in column)):
            raise Skip(f"what takes the column {name}: it holds texts, dates or numbers in a notation of their own")
        return self.once(name, "numbers", lambda column: column.astype(float))

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
    share, index = wilson(n, n + m, z), (a.total() - d.total()) / (a + d).total()
    out = {"CI": (min(1 - 2 * share[2], index), max(1 - 2 * share[1], index))}
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
        before = searched.get("groups", [])
        for i, one in enumerate((report.get("findings") or {}).get("findings", [])):
            self.attempt(self.people, f"findings.findings[{i}]", one, before[: one["groups_before"]])
        for i, one in enumerate((report.get("findings") or {}).get("at_first_sight", [])):
            self.attempt(self.people, f"findings.at_first_sight[{i}]", {**one, "remaining": None}, [])
        self.attempt(self.repeated_ranges)
        self.attempt(self.intersections, report.get("slices") or {"slices": []})
        self.attempt(self.of_intersections, report.get("slices") or {})
        self.attempt(self.columns)
        self.attempt(self.characteristics, report.get("characteristics"))
        self.attempt(self.tree)
        self.attempt(self.of_proxies)
        if (report.get("mitigation") or {}).get("thresholds"):
            self.attempt(self.tried, report["mitigation"])
        if report.get("local_bias"):
            self.attempt(self.gaps_within, report["local_bias"])
        if report.get("pooled_groups"):
            self.attempt(self.pooled, report["pooled_groups"])
        self.attempt(self.repeated)
        self.attempt(self.families)
        self.attempt(self.declared, report.get("declared_outcomes") or {"facets": []})
        self.tests(report, values=sorted({*self.y[self.audited].tolist()}))
        for i, facet in enumerate((report.get("groups") or {}).get("facets", [])):
            self.attempt(self.metrics, f"groups.facets[{i}]", facet, report["groups"])
        if report.get("calibration"):
            self.attempt(self.calibration, report["calibration"])
        self.attempt(self.parts_of_rows)
        self.limits()

    def attempt(self, check, *given, **named):
        try:
            check(*given, **named)
        except Skip as skip:
            self.left_out[str(skip)] += 1
        except (ArithmeticError, LookupError, ValueError) as error:  # such as more events than people
            self.made["contradictions"] += 1
            self.differing.append(("contradictions", check.__name__, "contradicting itself", repr(error)))

    def each(self, kind, where, stated, within=TOLERANCE, **mine):
        """Hold members of an object of the report against what was recomputed; what is no number is null."""
        if stated.get("undefined_reason") is not None:
            raise Skip("metrics that the report calls undefined, or does not print as a group has too few rows")
        for name, pair in ((name, (stated[name], value)) for name, value in mine.items()):
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

    def sides(self, conditions):
        """The bias variable of the people for whom conditions hold, and of everybody else."""
        inside = self.table.holding(conditions)
        return self.y[inside & self.audited], self.y[~inside & self.audited]

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
        if split["method"] == "hash" or split["key"] or (split["method"] == "auto" and self.drawn):
            people = persons["(key)"] if split["key"] else drawn
            test = by_hash(people, split["test_size"], split["random_state"]) & self.complete
        else:
            rest = self.table.row_hashes(carried, **persons, **lists, **numbers)
            order = np.flatnonzero(self.complete)[np.lexsort((rest[self.complete], content[self.complete]))]
            test[order] = stratified(self.y[order], split["test_size"], split["random_state"], split["stratify"])
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

    def people(self, where, group, before):
        """People whom a search found, against everybody else: what the search found, not how it searched."""
        if not group["conditions"]:
            raise Skip("people whom no conditions describe: clusters, and places of the data")
        of, others = self.sides(group["conditions"])
        drawn = group.get("on_test_rows") and self.report["findings"]["drawn"]
        if drawn or group.get("measured", self.name) != self.name:
            raise Skip("findings on drawn rows, and on something else than the bias variable")
        self.each("people found", where, group, rows=len(of), share=len(of) / self.audited.sum())
        gap, alike = of.mean() - others.mean(), group.get("remaining") or group.get("among_alike")
        self.each("people found", where, group, mean_inside=of.mean(), mean_outside=others.mean())
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

    def intersections(self, told):
        """Rows and sums of the train and test rows together, whichever rows are in which."""
        for i, one in enumerate(told["slices"]):
            (inside, _), test = self.sides(one["conditions"]), one["comparison"]
            total = one["train_rows"] * one["train_value"]
            both = {"rows of both parts": one["train_rows"] + one["test_rows"]}
            both["sum of both parts"] = total + test["n_a"] * (test["mean_a"] or 0)
            others = ratio(told["train_rows"] * told["train_value"] - total, told["train_rows"] - one["train_rows"])
            mine = {"rows of both parts": len(inside), "train_difference": one["train_value"] - others}
            mine |= {"sum of both parts": inside.sum()} if test["mean_a"] is not None else {}
            mine |= {f"{part}_support": one[f"{part}_rows"] / told[f"{part}_rows"] for part in ("train", "test")}
            if one["ratio_to_overall"] is not None:
                mine["ratio_to_overall"] = test["mean_a"] / told["test_value"]
            self.each("intersections", f"slices.slices[{i}]", one | both, **mine)
            if not self.by_person:
                self.parts(f"slices.slices[{i}]", one, told["test_rows"], told["test_value"])

    def of_intersections(self, told):
        """Weights by the evidence on the train rows, p-values over the family, limits of what was chosen, shrinkage."""
        listed = [one for one in told.get("slices") or [] if one["comparison"]["status"] == "tested"]
        exact = {one["comparison"]["test"] for one in listed} <= {"exact mid-p"} and told.get("metric") == "mean"
        if not listed or not exact or self.by_person or told["in_sample"] or told["correction"] != "bh":
            raise Skip("p-values of intersections by other tests, or of drawn or repeated rows")
        step, sign = np.ptp(self.y[self.audited]), 1 if told["better"] == "lower" else -1
        whole = told["train_rows"]

        def evidence(one):
            n = one["train_rows"]
            return round(sign * one["train_difference"] / math.sqrt(1 / n + 1 / (whole - n)), 9)

        listed.sort(key=lambda one: (-evidence(one), -one["weight"]))
        tests = [one["comparison"] for one in listed]
        weights = [
            len(listed) / rank / sum(1 / x for x in range(1, len(listed) + 1)) for rank in range(1, len(listed) + 1)
        ]
        harm = [
            one["p_value"] / 2 if sign * one["difference"] > 0 and one["p_value"] <= told["alpha"] else 1
            for one in tests
        ]
        adjusted = benjamini_hochberg([min(1, p / w) for p, w in zip(harm, weights, strict=True)])
        chosen = max(
            1, sum(p <= told["fdr"] and one["parent"] is None for p, one in zip(adjusted, listed, strict=True))
        )
        # Shrunk towards the mean of all, by how much true differences vary (Hedges and Olkin 1985, chapter 9).
        rate = (told["test_value"] - min(self.y[self.audited])) / step
        errors = [step**2 * rate * (1 - rate) * (1 / one["n_a"] + 1 / one["n_b"]) for one in tests]
        gaps = np.array([one["difference"] for one in tests])
        mean, variance = gaps.mean(), max(0, np.mean((gaps - gaps.mean()) ** 2 - errors))
        self.each("intersections", "slices", told, prior_mean=mean, prior_sd=math.sqrt(variance))
        for one, test, w, p, error in zip(listed, tests, weights, adjusted, errors, strict=True):
            alike = max(1, told["tests"] / (w * chosen)) if p <= told["fdr"] else 1
            counts = [test[name] for name in ("events_a", "n_a", "events_b", "n_b")]
            alone, wide = ([step * x for x in newcombe(*counts, z_of(told["alpha"], k))] for k in (1, alike))
            low, high = (wide[1], alone[2]) if sign > 0 else (alone[1], wide[2])
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
        told, cuts = self.report.get("slices") or {"columns": [], "slices": [], "lattice": []}, []
        for i, column in enumerate(told["columns"]):
            cuts += column["conditions"]
            for below, above in pairwise(column["conditions"] if column["kind"] == "intervals" else []):
                if below["high"] is not None and above["low"] is not None:
                    self.each("intersections", f"slices.columns[{i}]", below, high=above["low"])
        for one in (*told["slices"], *told["lattice"]):
            known = all(condition in cuts for condition in one["conditions"])
            self.each("intersections", one["name"], {"of these cuts": True}, **{"of these cuts": known})
        for i, node in enumerate([] if self.by_person else told["lattice"]):
            sizes = [node["comparison"][name] for name in ("n_a", "n_b")]
            mine = {"rows": sizes[0], "support": node["rows"] / told["test_rows"], "n_a and n_b": sum(sizes)}
            self.each("test rows", f"slices.lattice[{i}]", node | {"n_a and n_b": told["test_rows"]}, **mine)

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
        least = max(told["min_share"], told["min_rows"] / persons)
        named = [one.get(name) for one in self.spec["gate"] for name in ("min_share", "ruled_out_from")]
        shares = [least, *(x for x in {0.02, 0.05, 0.1, 0.2, 0.5, *filter(None, named)} if x > least)]
        smaller = math.inf
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
        """Each part of the clusters' tree from its own parts, and each cluster as the part that became it."""
        nodes, data = (self.report.get("tree") or {"nodes": []})["nodes"], self.report
        for i, node in enumerate(nodes):
            below, mine = [nodes[k] for k in node["children"]], {}
            for one in below:
                self.each("clusters", f"tree.nodes[{one['id']}]", one, parent=i)
            rows, whole = node["rows"], nodes[0]["rows"]
            if below:
                mine = {"rows": sum(one["rows"] for one in below)}
                mine["mean"] = sum(one["rows"] * one["mean"] for one in below) / mine["rows"]
                self.each("clusters", f"tree.nodes[{i}]", {"ids": [one["id"] for one in below]}, ids=node["children"])
            if i:
                rest = (whole * nodes[0]["mean"] - rows * node["mean"]) / (whole - rows)
                mine["gap"] = (node["mean"] - rest) * (-1 if self.spec["bias_variable"]["better"] == "higher" else 1)
            if {*self.y[self.audited].tolist()} <= {0, 1}:
                mine["std"] = math.sqrt(max(0, node["mean"] * (1 - node["mean"])))
            self.each("clusters", f"tree.nodes[{i}]", node, id=i, **mine)
            for c, one in enumerate(data["clusters"]):
                if one["cluster"] == node["label"]:
                    gap = node["gap"] if i else 0.0  # beside everybody there is nobody
                    mine = {"train_rows": rows, "train_mean": node["mean"], "train_gap": gap}
                    self.each("clusters", f"clusters[{c}]", one, **mine)

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
        first = self.report.get("primary_test") or {}
        if first.get("shrinkage"):
            self.each(
                "settings",
                "primary_test.shrinkage",
                first["shrinkage"],
                train_gap=self.report["clusters"][0]["train_gap"],
            )
        if first.get("repeated_splits"):
            again = first["repeated_splits"]
            mine = {"differences": first["comparison"]["difference"], "p_values": first["comparison"]["p_value"]}
            self.each("settings", "primary_test.repeated_splits", {name: again[name][0] for name in mine}, **mine)
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

    def parts(self, where, one, rows, mean):
        """Test rows of a group and of everybody else, which together are all that the report has."""
        test, sizes = one["comparison"], [one["comparison"]["n_a"], one["comparison"]["n_b"]]
        self.each("test rows", where, one, test_rows=sizes[0])
        stated, mine = {"n_a and n_b": sum(sizes)}, {"n_a and n_b": rows}
        if test["mean_a"] is not None:
            stated["sum of both"] = sizes[0] * test["mean_a"] + sizes[1] * test["mean_b"]
            mine["sum of both"] = rows * mean
        if test["test"] == "exact mid-p" and set(self.y[self.audited]) <= {0, 1}:
            events = [size * test[rate] for size, rate in zip(sizes, ("mean_a", "mean_b"), strict=True)]
            mine |= ends(events, ("events_a", "events_b"))
        self.each("test rows", f"{where}.comparison", test | stated, **mine)

    def families(self):
        """Clusters, and what sets the most deviating one apart: intervals that hold at once, p-values by Holm."""
        report, alpha = self.report, self.spec["significance"]["alpha"]
        compared = [(f"clusters[{i}]", one) for i, one in enumerate(report["clusters"]) if one["comparison"]]
        clusters = [(at, one) for at, one in compared if one["comparison"]["n_a"]]  # none where none were searched
        exact = [(at, one) for at, one in clusters if one["comparison"]["test"] == "exact mid-p"]
        for at, one in [] if self.by_person or report.get("drawn") else clusters:
            self.parts(at, one, report["split"]["test_rows"], report["bias_variable"]["test_mean"])
            self.each("test rows", at, one, test_mean=one["comparison"]["mean_a"])
        if self.spec["significance"]["correction"] == "holm" and len(exact) == len(clusters):
            held = holm([one["comparison"]["p_value"] for _, one in exact])
            for (at, one), p_value in zip(exact, held, strict=True):
                self.each("families of tests", at, one, p_adjusted=p_value)
                self.at_once_of(at, one, alpha, len(exact))
        for at, one in [] if self.by_person else clusters:
            rule, rows = one["rule"], one["comparison"]["n_a"]
            if rule and rule["precision"] and rule["recall"]:  # of as many as a whole number of people, met by one
                both = round(rule["recall"] * rows)
                mine = {"recall": both / rows, "precision": both / round(both / rule["precision"])}
                self.each("clusters", f"{at}.rule", rule, 1e-12, **mine)
        again = (report.get("primary_test") or {}).get("repeated_splits")
        exactly = again and again.get("together") and None not in again["differences"]
        if exactly and not self.by_person:
            rows = again["together"]["n_a"] + again["together"]["n_b"]
            stated = {"rows of all splits": sum(again["test_rows"]), "first": again["test_rows"][0]}
            mine = {"rows of all splits": rows, "first": report["split"]["test_rows"]}
            self.each("test rows", "primary_test.repeated_splits", stated, **mine)
        told = report["differences"]
        for i, feature in enumerate(told["features"]):
            for j, level in enumerate(feature.get("levels") or []):
                test, at = level["comparison"], f"differences.features[{i}].levels[{j}]"
                if test["test"] == "exact mid-p":
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
        if told["correction"] == "holm":
            self.family([one for one in enumerate(told["features"]) if not one[1]["declared"]], alpha)
            self.family([one for one in enumerate(told["features"]) if one[1]["declared"]], alpha)

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
        """Tests of columns and of levels, by Holm together; where there are two levels, they are one test."""
        tests = []
        for i, feature in features:
            at, levels = f"differences.features[{i}]", feature.get("levels") or []
            several = [(f"{at}.levels[{j}]", one) for j, one in enumerate(levels) if one["comparison"]["test"]]
            alone = [(at, feature)] if feature.get("comparison") and feature["comparison"]["test"] else []
            tests += [several] if len(levels) == 2 and several else [[one] for one in (*alone, *several)]
        held = holm([same[0][1]["comparison"]["p_value"] for same in tests])
        for same, p_value in zip(tests, held, strict=True):
            for at, one in same:
                self.each("families of tests", at, one, p_adjusted=p_value)
                if not self.by_person:
                    self.at_once_of(at, one, alpha, len(tests))

    def at_once_of(self, where, one, alpha, statements):
        """The interval of a difference that holds with those of all others: 0 is in it where Holm does not reject.

        Of what only Holm's steps reject, the direction is known and no more (Guilbaud 2008).
        """
        test = one["comparison"]
        difference, low, high = (test[name] for name in ("difference", "low", "high"))
        if test["events_a"] is None:  # of means: with the fewest degrees of freedom that there can be
            df = min(test["n_a"], test["n_b"]) - 1
            wider = special.stdtrit(df, 1 - alpha / statements / 2) / special.stdtrit(df, 1 - alpha / 2)
            low, high = (difference + wider * (end - difference) for end in (low, high))
        else:
            counts = [test[name] for name in ("events_a", "n_a", "events_b", "n_b")]
            alone, wide = (newcombe(*counts, z_of(alpha, k))[1:] for k in (1, statements))
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
        same = {"cluster": "share_cluster", "rest": "share_rest", "low": "corrected_low", "high": "corrected_high"}
        for i, one in enumerate(self.report.get("proxies") or []):
            level = levels.get((one["column"], one["level"]))
            if level is None:
                raise Skip("what gives a cluster away by numbers")
            mine = {name: level[other] for name, other in same.items()} | {"p_adjusted": level["p_adjusted"]}
            self.each("clusters", f"proxies[{i}]", one, difference=one["cluster"] - one["rest"], **mine)

    def tried(self, told):
        """Thresholds that were tried: rates of groups on the test rows, and what follows from them."""
        alpha, made = told["settings"]["alpha"], told["thresholds"]
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
        for p, one in enumerate(told["proxies"]["proxies"] if told["proxies"] else []):
            levels = self.table.among(one["protected"], [one["level"]])
            if one["measure"] == "AUC" and one["estimate"] is not None and not self.drawn and levels.any():
                x, has = self.table.numbers(one["feature"]), levels
                here = self.table.known(one["feature"])
                wins = stats.rankdata(x[here])[has[here]].sum() - has[here].sum() * (has[here].sum() + 1) / 2
                area = wins / has[here].sum() / (~has[here]).sum()
                mine = {"estimate": area, "strength": 2 * abs(area - 0.5), "rows": here.sum()}
                self.each("thresholds", f"mitigation.proxies.proxies[{p}]", one, **mine)
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

    def pooled(self, told):
        """Sizes of groups of declared columns; estimates are in steps, so that no single person shows."""
        for i, grouping in enumerate(told["groupings"]):
            for j, group in enumerate(grouping["groups"]):
                where, inside = f"pooled_groups.groupings[{i}].groups[{j}]", self.audited.copy()
                for name, level in zip(grouping["columns"], group["values"], strict=False):
                    cut = self.spec["groups"]["thresholds"].get(name)
                    above = (self.table.numbers(name) > cut) == level.startswith(">") if cut is not None else None
                    inside &= self.table.among(name, [level]) if above is None else above
                if len(group["values"]) == len(grouping["columns"]):
                    inside &= self.table.known(*grouping["columns"])
                few = int(inside.sum()) < min(told["pooled_from"], told["min_rows"])
                mine = (
                    {"size": None if few else int(inside.sum())}
                    if len(grouping["columns"]) == len(group["values"])
                    else {}
                )
                if told["is_rate"]:
                    mine |= {name: round(group[name], 2) for name in ("estimate", "low", "high")}
                self.each("pooled groups", where, group, **({} if self.by_person else mine))

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
            if part["test"] != "exact mid-p":
                self.each("tests", where, part, difference=part["mean_a"] - part["mean_b"])
                mine = {} if self.by_person else of_means(part) | {"p_value": part["welch_t_p_value"]}
                drawn = () if part["test"] == "Welch's t" else ("low", "high", "p_value")
                self.each("tests", where, part, 1e-6, **{name: x for name, x in mine.items() if name not in drawn})
                raise Skip(f"p-values by {part['test']}")
            x, n, y, m = (part[name] for name in ("events_a", "n_a", "events_b", "n_b"))
            pairs = [(0, 1), *combinations(values[:50], 2)]  # the two values of what is compared, nearly always 0 and 1
            fits = [pair for pair in pairs if math.isclose(part["mean_a"], pair[0] + (pair[1] - pair[0]) * x / n)]
            low, step = fits[0][0] if fits else 0, fits[0][1] - fits[0][0] if fits else 1
            mine = ends(
                [step * one for one in newcombe(x, n, y, m, z_of(1 - part["confidence"]))],
                ("difference", "low", "high"),
            )
            mine |= {"mean_a": low + step * x / n, "mean_b": low + step * y / m, "p_value": mid_p(x, n, y, m)}
            mine["effect_size"] = 2 * math.asin(math.sqrt(x / n)) - 2 * math.asin(math.sqrt(y / m))  # Cohen's h
            alpha, pooled = 1 - part["confidence"], (x + y) / (n + m)
            mine |= t_tests(x, n, y, m) | {"minimum_detectable_difference": step * detectable(pooled, n, m, alpha)}
            if part["ratio"] is not None:
                of_ratio = (ratio(x / n, y / m), *koopman(x, n, y, m, z_of(alpha)))
                mine |= ends(of_ratio, ("ratio", "ratio_low", "ratio_high"))
            self.each("tests", where, part, **mine)
        if isinstance(part, dict) and part.get("comparison") and part.get("column") in self.table.columns:
            values = sorted({x for x in self.table.columns[part["column"]] if isinstance(x, (int, float))})
        inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else []
        for name, one in inner:
            step = f"[{name}]" if isinstance(part, list) else f".{name}"
            self.attempt(self.tests, one, (where + step).strip("."), values)

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
        enough, few = [size >= told["min_rows"] for size in sizes], np.array([shrink(people, one) for one in masks])
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
            less = shrink(people, among & (known & ~masks[i] if rest else masks[i]), event)
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
                plus, minus, n = flip_test(places_of(table, spec["similar_by"], rows), inside[rows], said[rows])
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
                self.attempt(self.of_groups, at, limit, of_spec)
                continue
            if "limit" in limit and of_spec.get("max_difference") is None and limit["check"] != "local_bias":
                most = 0.05 if len({*y.tolist()}) == 2 else 0.2 * self.y[self.audited & self.test].std()
                self.attempt(self.each, "limits", at, limit, limit=most)
            if scope and scope["people"] in ("clusters", "intersections"):
                several = self.report["clusters" if scope["people"] == "clusters" else "slices"]
                tested = len(several) if isinstance(several, list) else several["tests"]
                self.each("limits", f"{at}.scope", scope, tested=tested)
                if scope["people"] == "intersections":
                    self.attempt(self.of_slices, at, limit, scope, several)
            if limit.get("broken_by"):
                self.attempt(self.broken, at, limit, scope)
            if limit["kind"] == "cluster" and limit["cluster"] is not None:
                self.attempt(self.of_clusters, at, limit)
            if limit["check"] == "worst_group" and limit["min_share"] is not None:
                self.attempt(self.of_worst_group, at, limit, scope, of_spec)

    def broken(self, at, limit, scope):
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

    def of_clusters(self, at, limit):
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

    def of_slices(self, at, limit, scope, told):
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

    def of_worst_group(self, at, limit, scope, asked):
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

    def of_groups(self, at, limit, asked):
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
        mine["smallest_visible"] = visible(value, low, high, least, most, alpha, name)
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
