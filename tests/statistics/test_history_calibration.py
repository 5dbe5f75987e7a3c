"""Ninety looks at the whole history: alarms without any difference stay rare, whatever else one does to the batches."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from scipy import stats

from bdt_core.fairness.confusion import Confusion
from bdt_core.fairness.counts import CountTable
from bdt_core.fairness.declared_groups import GroupCounts
from bdt_core.fairness.persons import PersonMoments
from bdt_core.history import Batch, batch_of, follow
from bdt_core.history.change import drifts_of, trend_of
from bdt_core.history.counted import Counted, Pair, count_batches
from bdt_core.history.limits import judge_limits
from bdt_core.history.results import LimitOverTime
from bdt_core.inference.sequential import compare_rates_over_time
from bdt_core.metrics import RATES
from bdt_core.spec import AuditSpec, parse_spec

DAYS, ALPHA = 90, 0.05
FIRST = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SAME = (0.2, 0.15, 0.1, 0.55)  # true positives, false positives, false negatives, true negatives
GROUPINGS = {("sex",): (300, 200), ("race",): (250, 150, 60, 40)}  # rows per day and group


def spec_of(**changes) -> AuditSpec:
    return parse_spec(
        {
            "name": "loans",
            "source": {"path": "{partition}.csv"},
            "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
            "protected": ["sex", "race"],
            **changes,
        }
    )


SPEC = spec_of()


def table(facets, cells) -> CountTable:
    counts = np.asarray(cells)[:, [3, 1, 2, 0]].reshape(-1, 1, 2, 2, 1)
    return CountTable(
        facets=facets, groups=tuple((f"g{i}",) for i in range(len(counts))), stratum=None, strata=(None,),
        label="repaid", labels=(0, 1), prediction="granted", predictions=(0, 1), score=None, weight=None,
        counts=counts.astype(np.int64),
    )  # fmt: skip


def batch(number, cells_by_facets, spec=SPEC) -> Batch:
    tables = tuple(table(facets, cells) for facets, cells in cells_by_facets.items())
    time = FIRST + datetime.timedelta(days=number)
    return batch_of(GroupCounts(spec, tables, ()), id=str(time.date()), time=time)


def drawn(rng, days=DAYS, rates=None):
    """Counts per grouping, of shape (days, groups, 4); the same rates in every group unless others are given."""
    return {
        facets: np.stack([rng.multinomial(n, SAME if rates is None else rates[i], size=days)
                          for i, n in enumerate(rows)], axis=1)
        for facets, rows in GROUPINGS.items()
    }  # fmt: skip


def batches(cells, spec=SPEC) -> list[Batch]:
    days = len(next(iter(cells.values())))
    return [batch(day, {facets: one[day] for facets, one in cells.items()}, spec) for day in range(days)]


def daily_p_values(stream) -> np.ndarray:
    """The naive monitor: a z test of each day by itself."""
    pair = stream.pair
    pooled = (pair.events + pair.reference_events) / (pair.rows + pair.reference_rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = pooled * (1 - pooled) * (1 / pair.rows + 1 / pair.reference_rows)
        z = (pair.events / pair.rows - pair.reference_events / pair.reference_rows) / np.sqrt(variance)
    return np.nan_to_num(2 * stats.norm.sf(np.abs(z)), nan=1.0)


def at_most(runs: int, level: float) -> int:
    return int(stats.binom.ppf(0.999, runs, level))


def test_false_alarms_of_the_whole_history_over_ninety_looks(full):
    """Two groupings, four pairs, twenty streams, and e-BH after every batch."""
    runs = 2000 if full else 120
    rng = np.random.default_rng(11)
    alarms = one_stream = all_streams = corrected = 0
    for _ in range(runs):
        history = follow(batches(drawn(rng)), SPEC)
        assert len(history.streams) == 20
        alarms += any(one.alarm is not None for one in history.streams)
        p = np.stack([daily_p_values(one) for one in history.streams])
        one_stream += bool((p[0] <= ALPHA).any())
        all_streams += bool((p <= ALPHA).any())
        corrected += bool((p <= ALPHA / len(p)).any())
    print(f"whole history {alarms / runs:.3f}; daily test of one stream {one_stream / runs:.3f}, of all "
          f"{all_streams / runs:.3f}, of all with Bonferroni per day {corrected / runs:.3f}")  # fmt: skip
    assert alarms <= at_most(runs, ALPHA)
    assert one_stream >= 0.95 * runs  # what a daily test does
    assert all_streams == runs
    assert corrected >= 0.5 * runs


def test_late_and_corrected_batches_add_no_alarms(full):
    """Batches come in any order, some half counted at first; somebody looks after every arrival."""
    runs, days = (150, 60) if full else (25, 20)
    rng = np.random.default_rng(12)
    alarms = 0
    for _ in range(runs):
        cells = drawn(rng, days)
        final = batches(cells)
        early = batches({facets: rng.binomial(one, 0.5) for facets, one in cells.items()})
        arrivals = [(number + rng.exponential(2.0), final[number]) for number in range(days)]
        arrivals += [(when - rng.exponential(1.0), early[number]) for number, (when, _) in enumerate(arrivals)
                     if rng.random() < 0.3]  # fmt: skip
        seen: list[Batch] = []
        alarmed = False
        for _, one in sorted(arrivals, key=lambda pair: pair[0]):
            seen.append(one)
            alarmed |= any(stream.discovered for stream in follow(seen, SPEC).streams)
        assert follow(seen, SPEC) == follow(final, SPEC)
        alarms += alarmed
    print(f"late and corrected batches: {alarms / runs:.3f}")
    assert alarms <= at_most(runs, ALPHA)


@pytest.mark.parametrize(
    ("rate", "other", "rows", "other_rows"),
    [(0.01, 0.01, 20, 2000), (0.002, 0.002, 5, 500), (0.05, 0.05, 5, 500), (0.02, 0.3, 20, 2000), (0.97, 0.7, 20, 2000),
     (0.3, 0.3, 200, 200)],
)  # fmt: skip
def test_rare_events_in_a_small_group_beside_a_large_one(rate, other, rows, other_rows, full):
    """The confidence sequence holds the true difference at all looks, and equal rates raise no alarm."""
    runs = 4000 if full else 400
    rng = np.random.default_rng(int(1000 * rate) + rows)
    n, m = np.full(DAYS, float(rows)), np.full(DAYS, float(other_rows))
    misses = alarms = 0
    for _ in range(runs):
        pair = Pair(rng.binomial(rows, rate, DAYS) * 1.0, n, rng.binomial(other_rows, other, DAYS) * 1.0, m)
        found = compare_rates_over_time(*pair.effective(), alpha=ALPHA, effect=0.02)
        misses += bool(((found.at_least > rate - other) | (found.at_most < rate - other)).any())
        alarms += bool((found.e_value >= 1 / ALPHA).any())
    print(f"{rate} of {rows} beside {other} of {other_rows}: misses {misses / runs:.3f}, alarms {alarms / runs:.3f}")
    assert misses <= at_most(runs, ALPHA)
    if rate == other:
        assert alarms <= at_most(runs, ALPHA)


@pytest.mark.parametrize(("gap", "wrong"), [(0.05, {"fail", "pass"}), (0.02, {"fail"}), (0.08, {"pass"})])
def test_the_verdict_on_a_limit_is_seldom_wrong_at_any_look(gap, wrong, full):
    """A difference at the limit, within it and beyond it: the wrong verdict at any look."""
    runs, days = (300, DAYS) if full else (40, 40)
    limit = {"metric": "selection_rate_difference", "facet": "sex", "min": -0.05, "max": 0.05}
    spec = spec_of(protected=["sex"], gate=[limit])
    rates = [SAME, (0.2, 0.15 + gap, 0.1, 0.55 - gap)]
    rng = np.random.default_rng(int(100 * gap))
    wrongly, last = 0, []
    for _ in range(runs):
        cells = {("sex",): drawn_two(rng, days, rates)}
        several = batches(cells, spec)
        looks = [several[: look + 1] for look in range(1, days, 4)]
        verdicts = [judged(seen, spec)[0].verdict for seen in looks]
        assert follow(looks[-1], spec).limits == judged(looks[-1], spec)
        wrongly += bool(set(verdicts) & wrong)
        last.append(verdicts[-1])
    print(f"gap {gap}: wrong {wrongly / runs:.3f}, in the end "
          f"{({one: round(last.count(one) / runs, 2) for one in sorted(set(last))})}")  # fmt: skip
    assert wrongly <= at_most(runs, 2 * ALPHA if len(wrong) == 2 else ALPHA)


def judged(seen: list[Batch], spec: AuditSpec) -> tuple[LimitOverTime, ...]:
    """What `follow` says of the limits, without its streams."""
    return judge_limits(count_batches(seen, spec)[0], spec, [one.id for one in seen], spec.history.look_back)[0]


def drawn_two(rng, days, rates):
    return np.stack([rng.multinomial(300, one, size=days) for one in rates], axis=1)


def test_a_difference_is_found_soon_among_twenty_streams(full):
    """Delay beside a test of fixed size that knows stream and gap, and has to be planned for it."""
    runs = 300 if full else 30
    worse = (0.2, 0.25, 0.1, 0.45)  # 10 points more positive predictions, 14 points more false positives
    rng = np.random.default_rng(13)
    delays = []
    for _ in range(runs):
        cells = drawn(rng, 60)
        cells[("sex",)][:, 1] = rng.multinomial(200, worse, size=60)
        streams = follow(batches(cells), SPEC).streams
        (one,) = [one for one in streams if one.facets == ("sex",) and one.metric == "false_positive_rate"]
        delays.append(61 if one.alarm is None else one.alarm + 1)
    a, b = 0.15 / 0.7, 0.25 / 0.7
    z = stats.norm.isf(0.025) + stats.norm.isf(0.2)
    fixed = z**2 * (a * (1 - a) / (300 * 0.7) + b * (1 - b) / (200 * 0.7)) / (a - b) ** 2
    print(f"found after {np.median(delays):.0f} days (90 %: {np.quantile(delays, 0.9):.0f}); fixed sample {fixed:.1f}")
    assert np.median(delays) <= 6 * max(fixed, 1.0)
    assert max(delays) <= 60


def test_noise_is_not_called_drift(full):
    """Groups of 120 rows a day, no change at all: the bare value moves all the time, certain drift is rare."""
    runs = 2000 if full else 200
    rng = np.random.default_rng(14)
    drift = moved = found = 0
    for _ in range(runs):
        pairs = [pair_of(rng, 0.3, 120, 31) for _ in range(10)]
        states = [one.state for one in drifts(pairs)]
        drift += "drift" in states
        moved += bool({"moved", "drift"} & set(states))
        changed = [*pairs[:9], pair_of(rng, 0.3, 1000, 31, last=0.5)]
        found += drifts(changed)[9].state == "drift"
    print(f"drift {drift / runs:.3f}; the value alone moved {moved / runs:.3f}; a change of 20 points found "
          f"{found / runs:.3f}")  # fmt: skip
    assert drift <= at_most(runs, ALPHA)
    assert moved >= 0.9 * runs  # what the bare value does
    assert found >= 0.95 * runs


def drifts(pairs):
    rows = [(one.rows[-1], one.reference_rows[-1]) for one in pairs]
    return drifts_of(pairs, rows, limit=0.05, look_back=30, min_rows=100, alpha=ALPHA)


def pair_of(rng, rate, rows, days, last=None):
    events = rng.binomial(rows, rate, days) * 1.0
    if last is not None:
        events[-1] = rng.binomial(rows, last)
    n = np.full(days, float(rows))
    return Pair(events, n, rng.binomial(rows, rate, days) * 1.0, n)


@pytest.mark.parametrize("extra", [0.0, 0.05])
def test_the_trend_covers_its_slope(extra, full):
    """With and without days that differ by more than counting does."""
    runs = 4000 if full else 400
    rng = np.random.default_rng(15)
    days = np.arange(30)
    missed = 0
    for _ in range(runs):
        rate = np.clip(0.3 + 0.002 * days + rng.normal(0, extra, 30), 0.01, 0.99)
        n = rng.integers(50, 300, 30)
        m = rng.integers(50, 300, 30)
        found = trend_of(Pair(rng.binomial(n, rate) * 1.0, n * 1.0, rng.binomial(m, 0.3) * 1.0, m * 1.0), 30, ALPHA)
        assert found is not None
        missed += not found.low <= 0.002 <= found.high
    print(f"trend, days scattered by {extra}: missed {missed / runs:.3f}")
    assert missed <= at_most(runs, ALPHA)
    assert missed >= 1  # an interval that is never wrong is too wide


def test_persons_with_many_rows_a_day_raise_no_more_alarms(full):
    """No effect, rows of a person alike: persons count; rows alarm far more often."""
    runs, days, persons, rows = (1000 if full else 200), 60, 40, 10
    rng = np.random.default_rng(16)
    alarms = {"persons": 0, "rows": 0}
    for _ in range(runs):
        events = rng.binomial(rows, rng.beta(0.5, 0.7, (days, 2, persons)))  # by day, group and person
        counts = np.stack([0 * events, events, 0 * events, rows - events], axis=-1).astype(float)
        present = np.zeros((days, 2, 16))
        for bits in (2, 8, 10):  # positive predictions, negative ones, both
            present[..., bits] = ((2 * (events > 0) + 8 * (events < rows)) == bits).sum(axis=-1)
        moments = PersonMoments(np.einsum("tgpi,tgpj->tgij", counts, counts).reshape(-1, 4, 4), present.reshape(-1, 16))
        confusion = Confusion(*np.moveaxis(counts.sum(axis=2), -1, 0))
        for unit, its in (("persons", moments), ("rows", None)):
            pair = Counted(("sex",), (("f",), ("m",)), confusion, 1, its).pair(RATES["selection_rate"], 0, 1)
            found = compare_rates_over_time(*pair.effective(), alpha=ALPHA, effect=0.02)
            alarms[unit] += bool((found.e_value >= 1 / ALPHA).any() or (found.at_least > 0).any())
    print(f"persons {alarms['persons'] / runs:.3f}, rows {alarms['rows'] / runs:.3f}")
    assert alarms["persons"] <= at_most(runs, ALPHA)
    assert alarms["rows"] > 0.3 * runs  # what rows do
