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
from functools import cache
from itertools import combinations, pairwise, permutations, product
from pathlib import Path

import numpy as np
from scipy import optimize, special, stats

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
CLARIFY = """DPL prevalence, DPPL selection_rate, RD true_positive_rate, AD accuracy, SD true_negative_rate,
    DAR positive_predictive_value, DRR negative_predictive_value"""  # others less group; SD and DRR: group less others
CLARIFY = dict(map(str.split, CLARIFY.split(",")))
SCORES = "f1_score auc mean_score brier_score calibration_error calibration_gap observed_to_expected"
WIDENED = {"any_cluster", "worst_slice", "local_bias", "four_fifths", "numeric_metric"}


# 1. Formulas; z is a quantile of the normal distribution ------------------------------------------------------------
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
    """Limits of a ratio of two rates from Wilson's of each, joined by MOVER-R (Donner and Zou 2012)."""
    (a, a_low, a_high), (b, b_low, b_high) = wilson(x, n, z), wilson(y, m, z)

    def parts(p, q):  # p of the numerator, q of the denominator
        return p * (2 * a - p), q * (2 * b - q)

    product, (up, down), (top, bottom) = a * b, parts(a_low, b_high), parts(a_high, b_low)
    low = up / (product + math.sqrt(max(product**2 - up * down, 0))) if a_low > 0 else 0.0
    return low, (product + math.sqrt(max(product**2 - top * bottom, 0))) / bottom if b_low > 0 else math.inf


def for_all(cells, rate, reference, alpha):
    """The quantile for all comparisons of groups: with one of them Dunnett's (1955), with the rest Šidák's (1967)."""
    counts = [of(rate, one) for one in cells]
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


def span_of(counts, what, alpha):
    """The largest difference or the smallest ratio of rates, each x of n, with limits from those of all pairs."""
    rates, z = [x / n for x, n in counts], for_pairs(len(counts), alpha)
    least, most, of_pair = min(rates), max(rates), newcombe if what == "difference" else mover
    limits = [of_pair(*one, *other, z)[-2:] for one, other in permutations(counts, 2)]
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
    v, w = variances(n, m, gap, part["welch_t"], part["pooled_t"])
    whole, spread = v / n + w / m, ((n - 1) * v + (m - 1) * w) / (n + m - 2)
    v = v / n
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


def shrink(effect, df, alpha):
    """What counts are divided by: the design effect (Rao and Scott 1992), and what few persons leave uncertain."""
    return effect * float(special.stdtrit(df, 1 - alpha / 2) / special.ndtri(1 - alpha / 2)) ** 2


def rates_by_person(counts, effect, df, alpha):
    """All that says how sure the difference of two rates is, x of n less y of m, where persons have several rows."""
    x, n, y, m = (one / shrink(effect, df, alpha) for one in counts)
    rounded = min(round(x), round(n)), round(n), min(round(y), round(m)), round(m)
    out = dict(zip(("low", "high"), newcombe(x, n, y, m, z_of(alpha))[1:], strict=True)) | {"p_value": mid_p(*rounded)}
    if x + y:
        out |= dict(zip(("ratio_low", "ratio_high"), koopman(x, n, y, m, z_of(alpha)), strict=True))
    out["minimum_detectable_difference"] = detectable((x + y) / (n + m), n, m, alpha)
    return out | classical(t_tests(*counts), effect, df)


def means_by_person(gap, error, df, alpha):
    """The same of two means, whose difference has this error."""
    reach, power = (float(special.stdtrit(df, x)) for x in (1 - alpha / 2, 0.8))
    out = {"low": gap - reach * error, "high": gap + reach * error}
    out["minimum_detectable_difference"] = (reach + power) * error
    return out | {"p_value": 2 * float(special.stdtr(df, -abs(gap) / error))}


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
    """p-value of one rate for all groups of ten or more, by chi-squared (Pearson 1900); None where it is drawn."""
    x, n = np.array([one for one in counts if one[1] >= 10], dtype=float).reshape(-1, 2).T
    rate = ratio(x.sum(), n.sum())
    if len(n) < 2 or rate in (0, 1):
        return None if len(n) < 2 else 1.0
    usual = min(n) * min(rate, 1 - rate) >= 5
    return float(stats.chi2.sf(((x - n * rate) ** 2 / n).sum() / rate / (1 - rate), len(n) - 1)) if usual else None


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
    reach = float(special.stdtrit(len(x) - 1, 1 - alpha / 2) * np.std(x, ddof=1)) / math.sqrt(len(x))
    return x.mean(), x.mean() - reach, x.mean() + reach


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
    label, said = (np.zeros(len(inside)) if x is None else x for x in (label, said))
    return Counter(np.array(["TN", "FP", "FN", "TP"])[(2 * label + said)[inside].astype(int)].tolist())


def of(rate, cells):
    """Events, and among whom."""
    return [sum(cells[name] for name in part.split()) for part in RATES[rate]]


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


def clarify_limits(d, a, p, q, alpha):
    """Limits of Clarify's metrics that are no difference of two rates (docs/declared-groups.md)."""
    z, n, m = z_of(alpha), d.total(), a.total()
    share = wilson(n, n + m, z)
    out = {"CI": (1 - 2 * share[2], 1 - 2 * share[1])}
    (x, k), (y, j) = (of("selection_rate", one) for one in (d, a))
    out |= {"DI": koopman(x, k, y, j, z)} if k and j and x + y else {}
    # Ratios of counts that overlap, by the logarithm, with half a row more per cell; then joined.
    for name, both, label, prediction in (("DCA", "TP", "FN", "FP"), ("DCR", "TN", "FP", "FN")):
        sides = []
        for one in (a, d) if name == "DCA" else (d, a):
            up, down = one[both] + one[label] + 1, one[both] + one[prediction] + 1
            variance = (one[both] + 0.5) * (1 / up - 1 / down) ** 2
            variance += (one[label] + 0.5) / up**2 + (one[prediction] + 0.5) / down**2
            spread, value = math.exp(z * math.sqrt(variance)), ratio(up - 1, down - 1)
            sides += [value, min(value, up / down / spread), max(value, up / down * spread)]
        out[name] = joined(*sides)
    odds = [ratio(x, 1 - x) for one in (d, a) for x in wilson(one["FN"], one["FN"] + one["FP"], z, 40)]
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
    whole = a + d
    first, second = ((whole["TP"] + whole["TN"] + k * whole["FP"]) / whole.total() for k in (2, 4))
    slope = (
        {b: b * b / 2 / first**2 - second * b / first**3 + second / 2 / first**2 for b in (0, 1, 2)} if first else {}
    )
    rows = {0: whole["FN"] + 0.5, 1: whole["TP"] + whole["TN"], 2: whole["FP"] + 0.5}
    reach = z * math.sqrt(sum(rows[b] * slope[b] ** 2 for b in slope)) / whole.total()
    index = (ratio(second, first**2) - 1) / 2
    return out | {"GE": (max(index - reach, 0), index + reach)}


def joined(a, a_low, a_high, b, b_low, b_high):
    """Limits of a - b from those of each, by MOVER (Zou and Donner 2008)."""
    return a - b - math.hypot(a - a_low, b_high - b), a - b + math.hypot(a_high - a, b - b_low)


def disparity(inside, known, strata, bad):
    """Conditional demographic disparity: in each stratum d's share of bad outcomes less its share of good ones."""
    parts = [(here & bad, here & ~bad) for here in (known & (strata == one) for one in {*strata[known]} - {None})]
    parts = [(b.sum() + g.sum(), inside[b].mean() - inside[g].mean()) for b, g in parts if b.any() and g.any()]
    return sum(n * gap for n, gap in parts) / sum(n for n, _ in parts) if parts else math.nan


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
        for i, one in enumerate((report.get("findings") or {}).get("at_first_sight", [])):
            self.attempt(self.people, f"findings.at_first_sight[{i}]", one, [], first_sight=True)
        self.attempt(self.repeated_ranges)
        self.attempt(self.intersections, report.get("slices") or {"slices": [], "columns": []})
        self.attempt(self.of_intersections, report.get("slices") or {})
        self.attempt(self.columns)
        self.attempt(self.calibration, report.get("calibration") or {"facets": []})
        self.attempt(self.characteristics, report.get("characteristics"))
        self.attempt(self.tree)
        self.attempt(self.of_clusters)
        self.attempt(self.without_others)
        self.attempt(self.primary)
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
        if self.by_person and kind in ("metrics of groups", "Clarify's metrics"):
            mine = {name: value for name, value in mine.items() if "low" not in name and "high" not in name}
        pairs = [(name, stated[name], value) for name, value in mine.items()]
        for name, told, value in list(pairs):
            if isinstance(told, list) and isinstance(value, list) and len(told) == len(value):
                pairs.remove((name, told, value))
                pairs += [(f"{name}[{i}]", *both) for i, both in enumerate(zip(told, value, strict=True))]
        for name, *pair in pairs:
            told, value = (None if isinstance(x, float) and math.isnan(x) else x for x in pair)
            rounded = 2.0**-26 if ".rates.calib" in where else 1e-12  # scores are counted in whole multiples of it
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
        self.each("rows", "data", stated, rows=len(y), rows_audited=int(self.audited.sum()), rows_left_out=out, **mine)

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
            self.attempt(self.alike, f"{where} among people alike", group, alike, *sides)
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

    def alike(self, where, group, part, of, others):
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
        persons, low_and_high = test.get("persons"), []
        if "exact" not in test["test"]:  # with the fewest degrees of freedom that there can be
            df = persons["df"] if persons else min(test["n_a"], test["n_b"]) - 1
            wider = special.stdtrit(df, 1 - alpha / comparisons / 2) / special.stdtrit(df, 1 - alpha / 2)
            return [test["difference"] + wider * (end - test["difference"]) for end in alone]
        for level in (alpha, alpha / comparisons):
            by = shrink(persons["design_effect"], persons["df"], level) if persons else 1
            counts = [test[name] / by for name in ("events_a", "n_a", "events_b", "n_b")]
            low_and_high.append(newcombe(*counts, z_of(level))[1:])
        step = (alone[1] - alone[0]) / (low_and_high[0][1] - low_and_high[0][0])
        return [step * end for end in low_and_high[1]]

    def visible(self, where, one, level):
        """The difference that a comparison would have found at this level with 80 % power."""
        test, persons, step = one["comparison"], one["comparison"].get("persons"), 1
        if "exact" in test["test"]:
            counts = [test[name] for name in ("events_a", "n_a", "events_b", "n_b")]
            gap = counts[0] / counts[1] - counts[2] / counts[3]
            step = test["difference"] / gap if gap else 1
            by = shrink(persons["design_effect"], persons["df"], level) if persons else 1
            x, n, y, m = (one / by for one in counts)
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
            if column["role"] != "unused":  # of which only the name was read
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

    def calibration(self, told):
        """How right the score is for the declared groups and those that a search found: all of it, and by tenths."""
        groups = [
            (f"facets[{f}].groups[{g}]", x) for f, one in enumerate(told["facets"]) for g, x in enumerate(one["groups"])
        ]
        groups += [(f"groups[{g}]", x) for g, x in enumerate(told.get("groups") or [])]
        if not groups or self.by_person or told["drawn"]:
            raise Skip("calibration of persons, of drawn rows, or of nobody")
        score = self.table.numbers(told["score"])
        label = self.table.positive(told["label"], self.spec["bias_variable"]["positive"])
        known = ~np.isnan(score + label)
        for at, group in groups:
            inside = known & self.table.holding(group["conditions"])
            among = known & self.table.known(*(c["column"] for c in group["conditions"])) if "facets" in at else known
            mine = {"rows": inside.sum(), "share": inside.sum() / among.sum()}
            if inside.any() and group["gap"] is not None:
                mine |= {"mean_score": score[inside].mean(), "share_positive": label[inside].mean()}
                mine["gap"] = mine["share_positive"] - mine["mean_score"]
            self.each("calibration", f"calibration.{at}", group, 1e-6, **mine)
            for i, one in enumerate(group.get("bins") or []):
                here = inside & ((score * 10).clip(max=9).astype(int) == int(min(one["mean_score"] * 10, 9)))
                limits = wilson(int(label[here].sum()), int(here.sum()), z_of(told["alpha"]))
                mine = ends(limits, ("share_positive", "low", "high"))
                mine |= {"rows": here.sum(), "mean_score": score[here].mean() if here.any() else math.nan}
                self.each("calibration", f"calibration.{at}.bins[{i}]", one, 1e-6, **mine)

    def characteristics(self, told):
        """By each value of a profiling column: who was right to be found, who is selected, and whom it burdens."""
        cut = {told["label"], told["prediction"]} & self.spec["groups"]["thresholds"].keys() if told else ()
        if self.by_person or not told or told["drawn"] or cut:
            raise Skip("characteristics of persons, of drawn rows, of outcomes that are cut in two, or of none")
        alpha, names = self.spec["significance"]["alpha"], ("found", "selected")
        positive = self.spec["groups"]["positive"] or self.spec["bias_variable"]["positive"]
        outcomes = [told[x] and self.table.positive(told[x], positive) for x in ("label", "prediction")]
        kinds = {"found": [], "selected": [], "burdens": []}
        for c, column in enumerate(told["characteristics"]):
            for k, level in enumerate(column["levels"]):
                side = self.valued(column["column"], level["words"])
                at = f"characteristics.characteristics[{c}].levels[{k}]"
                self.each("characteristics", at, level, rows=int((side == 1).sum()))
                kinds["burdens"] += [
                    (f"{at}.burdens[{b}]", one["relation"], self.valued(one["column"], one["group"]), side)
                    for b, one in enumerate(level["burdens"])
                ]
                for name, outcome in zip(names, outcomes, strict=True):
                    kinds[name] += [(f"{at}.{name}", level[name], side, outcome)] if level[name] else []
        for listed in kinds.values():
            counts = []
            for _, _, side, outcome in listed:
                known = ~np.isnan(side + outcome)
                counts.append([int(f(outcome[known & (side == has)])) for has in (1, 0) for f in (np.sum, len)])
            held = holm([mid_p(*each) for each in counts])
            for (at, one, _, _), each, p_value in zip(listed, counts, held, strict=True):
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
            ends_of_span = {key: float(value) for key, value in span.groupdict().items() if value}
            met = {"least": np.greater_equal, "at_least": np.greater_equal, "above": np.greater}
            inside = [met.get(key, np.less_equal)(x.astype(float), end) for key, end in ends_of_span.items()]
            return np.where(self.complete & self.table.known(name), np.all(inside, axis=0), math.nan)
        if not self.table.among(name, [text]).any():
            raise Skip("characteristics in words that leave their limits open")
        return np.where(self.complete, self.table.positive(name, text), math.nan)

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

    def of_clusters(self):
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
            mine = {"rows": len(of), "share": len(of) / self.audited.sum()}
            counts = int(of.sum()), len(of), int(others.sum()), len(others)
            if group["mean"] is not None:
                limits = wilson(*counts[:2], z_of(told["alpha"])) if told["is_rate"] else student(of, told["alpha"])
                mine |= dict(zip(("mean", "low", "high"), limits[: 1 if self.by_person else 3], strict=False))
            if group["difference"] is not None:
                mine |= {"mean_others": others.mean(), "difference": of.mean() - others.mean()}
                mine["significant"] = group["p_adjusted"] <= told["alpha"]
                if told["is_rate"] and not self.by_person:
                    limits = newcombe(*counts, z_of(told["alpha"], told["comparisons"]))
                    mine |= {"difference_low": limits[1], "difference_high": limits[2]}
                    tested.append((where, group, mid_p(*counts)))
            self.each("declared groups", where, group, **mine)
        for (where, group, _), p in zip(tested, holm([one[2] for one in tested]), strict=True):
            self.each("declared groups", where, group, p_adjusted=p)

    def tests(self, part, where="", values=(0, 1)):
        """Every exact test of two rates in the report, from the counts that stand beside it."""
        if isinstance(part, dict) and part.keys() >= {"n_a", "events_a", "test"} and part["test"]:
            if part["test"] != "exact mid-p":
                self.each("tests", where, part, difference=part["mean_a"] - part["mean_b"])
                if part.get("persons"):
                    self.of_persons(where, part)
                    return
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

    def of_persons(self, where, part):
        """A test of persons with several rows: what follows from its counts, or means, and from its design effect."""
        alpha, effect, df = 1 - part["confidence"], part["persons"]["design_effect"], part["persons"]["df"]
        gap, n, m = part["difference"], part["n_a"], part["n_b"]
        plain, mine = part["pooled_t"] and part["pooled_t"] * math.sqrt(effect), {}
        if part["events_a"] is not None:
            x, y = part["events_a"], part["events_b"]
            step = gap / (x / n - y / m) if gap else 1
            mine = rates_by_person((x, n, y, m), effect, df, alpha)
            mine |= {name: step * mine[name] for name in ("low", "high", "minimum_detectable_difference")}
            mine["effect_size"] = 2 * math.asin(math.sqrt(x / n)) - 2 * math.asin(math.sqrt(y / m))
            tests = t_tests(x, n, y, m)
            if tests and part["pooled_t"]:
                persons = {"design_effect": (tests["pooled_t"] / part["pooled_t"]) ** 2}
                self.each("tests", f"{where}.persons", part["persons"], 1e-6, **persons)
            mine["ratio"] = ratio(x / n, y / m)
            mine = {name: one for name, one in mine.items() if part[name] is not None}
        elif part["welch_t"]:
            half, tests = (n + m - 2) / 2, {name: part[name] * math.sqrt(effect) for name in ("welch_t", "pooled_t")}
            mine = means_by_person(gap, abs(gap / part["welch_t"]), df, alpha) | classical(tests, effect, df)
            mine["effect_size"] = plain * math.sqrt(1 / n + 1 / m) / math.sqrt(half)
            mine["effect_size"] *= math.exp(special.gammaln(half) - special.gammaln(half - 0.5))
        self.each("tests", where, part, 1e-6, mean_a=part["mean_b"] + gap, mean_b=part["mean_a"] - gap, **mine)

    def metrics(self, at, facet, told):
        """Rates, criteria and the composite score of one declared grouping; then Clarify's metrics."""
        table, kind, alpha, spec = self.table, "metrics of groups", 1 - told["confidence"], self.spec["groups"]
        named, z = [told[x] for x in ("label", "prediction") if told[x]], z_of(alpha)
        cuts = spec["thresholds"]
        if {*named} & {*cuts}:
            raise Skip("metrics of a label or prediction that groups.thresholds cuts in two")
        wanted = spec["positive"] or self.spec["bias_variable"]["positive"]
        label, said = (table.positive(told[x], wanted) if told[x] else None for x in ("label", "prediction"))
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
        judged = max(sum(one.total() >= told["min_rows"] for one in cells), 1)
        turn = {"TP": "TN", "FP": "FN", "FN": "FP", "TN": "TP"} if told["favourable"] == "negative" else {}
        good = [Counter({turn.get(x, x): n for x, n in one.items()}) for one in cells]  # positive is favourable
        # Rates of everybody and of each group, and metrics of scores.
        self.each(kind, at, facet, **({} if self.by_person else {"rows": self.table.rows}))
        self.each(kind, f"{at}.overall", facet["overall"], **{rate: ratio(*of(rate, total)) for rate in there})
        for i, group in enumerate(facet["groups"]):
            self.each(kind, f"{at}.groups[{i}]", group, rows=cells[i].total())
            mine = {} if score is None or label is None else of_scores(label[masks[i]], score[masks[i]])
            scored = int((~np.isnan(score[masks[i]])).sum()) if mine else 0
            mine = {name: {"estimate": value, "n": scored} for name, value in mine.items()}
            for rate in there:
                x, n = of(rate, cells[i])
                mine[rate] = {"events": x, "n": n, **ends(wilson(x, n, z, 40))}
                limits = ends(wilson(x, n, z_of(alpha, judged), 40)[1:], ("low", "high"))
                self.at_once[facet["facet"], group["group"], rate] = {} if self.by_person else limits
            hits, either = cells[i]["TP"], cells[i]["TP"] + cells[i]["FP"] + cells[i]["FN"]
            if len(named) == 2:  # F1 is 2 s / (1 + s) of the share s of true positives among all that is positive
                scored = [2 * x / (1 + x) for x in wilson(hits, either, z, 40)]
                mine["f1_score"] = {"n": either, **ends(scored)}
            for name, stated in (group["rates"] or {}).items():
                self.attempt(self.each, kind, f"{at}.groups[{i}].rates.{name}", stated, **mine.get(name, {}))
        # Each group against the reference: one group, or everybody else.
        for j, metric in enumerate(facet["against_reference"]):
            rate, _, what = metric["metric"].rpartition("_")
            compared = names.index(facet["reference"]) if facet["reference"] in names else None
            critical = for_all(cells, rate, compared, alpha) if rate in there else math.nan
            for i, stated in enumerate(metric["values"] if rate in there else []):
                other = cells[names.index(facet["reference"])] if facet["reference"] in names else total - cells[i]
                (x, n), (y, m) = of(rate, cells[i]), of(rate, other)
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
        for j, stated in enumerate(facet["ranges"]):
            (name, _, what), spans = stated["metric"].rpartition("_"), []
            usual = [one for one in (good if name == "four_fifths" else cells) if one.total() >= told["min_rows"]]
            for rate in CRITERIA.get(name, []):
                counts = [(x, n) for x, n in (of(rate, one) for one in usual) if n >= 10]
                spans += [span_of(counts, what, alpha / len(CRITERIA[name]))] if len(counts) > 1 else []
            worst = [(max if what == "difference" else min)(one) for one in zip(*spans, strict=True)]
            mine = ends(worst) if worst and len(spans) == len(CRITERIA[name]) else {}
            mine = {"estimate": mine["estimate"]} if mine and self.by_person else mine
            tests = [equal_rates(of(rate, one) for one in usual) for rate in CRITERIA.get(name, [])]
            if stated.get("p_value") is not None and tests and None not in tests and not self.by_person:
                mine["p_value"] = min(1.0, len(tests) * min(tests))
            self.attempt(self.each, kind, f"{at}.ranges[{j}]", stated, **mine)
        # The composite score: ranges of four rates, weighted.
        composite = facet["bias_score"] or {"parts": [], "weights": [0, 0, 0]}
        weights, kept, sum_of_parts = composite["weights"], [names.index(one) for one in composite.get("groups", [])], 0
        for part, weight in zip(composite["parts"], (weights[0], *[weights[1] / 2] * 2, weights[2]), strict=False):
            rate = part["name"]
            rates = [ratio(*of(rate, cells[i])) if rate in RATES else np.nanmean(score[masks[i]]) for i in kept]
            self.each(kind, f"{at}.bias_score.{rate}", part, value=max(rates) - min(rates))
            sum_of_parts += weight * (max(rates) - min(rates))
        values = {one["name"]: one["value"] for one in composite["parts"]}
        if "selection_rate" in values:
            shares = [ratio(*of("selection_rate", cells[i])) for i in kept]
            both = [values[x] for x in ("true_positive_rate", "false_positive_rate") if x in values]
            mine = {"demographic_parity_difference": max(shares) - min(shares)}
            mine["disparate_impact_ratio"] = ratio(min(shares), max(shares))
            mine |= {"equalized_odds_difference": sum(both) / 2} if len(both) == 2 else {}
            self.each(kind, f"{at}.bias_score", composite, **mine)
        self.each(kind, f"{at}.bias_score", composite, **({"score": sum_of_parts} if composite["parts"] else {}))
        # Clarify's metrics: d is the group, a everybody else.
        labels = table.columns[told["label"]] if label is not None else known
        strata = table.columns[told["stratum"]] if told["stratum"] else np.full(table.rows, None)
        for i, inside in enumerate(masks):
            p, q = (np.array([(labels[m] == x).mean() for x in {*labels[known]}]) for m in (inside, known & ~inside))
            d, a = good[i], sum(good, Counter()) - good[i]
            mine = clarify(d, a, p, q)
            alone_and_all = {
                k: clarify_limits(d, a, p, q, alpha / k) if d.total() and a.total() else {} for k in (1, judged)
            }
            for name, column in (("CDDL", label), ("CDDPL", said)):
                if column is not None:
                    mine[name] = disparity(inside, known, strata, column == (1 if turn else 0))
            for j, metric in enumerate(facet["clarify"]):
                name, value = metric["metric"], {"estimate": mine.get(metric["metric"], math.nan)}
                if rate := CLARIFY.get(name):
                    sides = [of(rate, d), of(rate, a)][:: 1 if name in ("SD", "DRR") else -1]
                    alone, all_of = (newcombe(*sides[0], *sides[1], z_of(alpha, k)) for k in (1, judged))
                    value |= ends(alone) | ends(all_of[1:], ("together_low", "together_high"))
                for k, names_of_ends in ((1, ("low", "high")), (judged, ("together_low", "together_high"))):
                    if name in alone_and_all[k] and not (name == "GE" and k == judged and judged > 1):
                        value |= ends(alone_and_all[k][name], names_of_ends)
                stated = metric["values"][i if len(metric["values"]) > 1 else 0]
                where, value = f"{at}.clarify[{j}].values[{i}]", {} if name == "FT" else value
                self.attempt(self.each, "Clarify's metrics", where, stated, **value)

    def limits(self):
        """Every limit's verdict from its evidence, which stands elsewhere in the report, and that of all together."""
        verdicts, order = [], ("fail", "inconclusive", "not_testable", "pass")
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
            mine |= {"verdict": self.verdict_of(limit, asked), **self.at_once.get(own, {})}
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
