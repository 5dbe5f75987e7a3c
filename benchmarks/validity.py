"""The record of the audit's validity: false alarms, power and the winner's curse, written to docs/validity.md.

``python -m benchmarks validity`` takes an hour or two; ``--quick`` a few minutes. ``--only=persons`` runs one section
(alarms, persons, power or chosen) and writes it anew, leaving the others as they are; ``--runs=100`` does with so many.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from bdt_core.clustering import HBAC
from bdt_core.inference import compare_samples
from benchmarks import searched, selected, simulated

DOCS = Path(__file__).parent.parent / "docs"
ALPHA = 0.05
SIZES = (0.02, 0.05, 0.10)
GAPS = (0.05, 0.10, 0.15, 0.20, 0.30)
ROWS = 5000


HEAD = """\
# Validity, by simulation

Made by `python -m benchmarks validity`, each section with the number of runs that it names. The tests run the same
studies at a smaller size.
"""

FALSE_ALARMS = """\
## False alarms

Whole audits of tables in which nobody is worse off, {runs} runs a row, at 5 %.

- *Tested*: in how many runs the primary test was made. Clusters of fewer than 5 test rows are not tested.
- *Primary*: the most deviating cluster against everybody else, over as many splits as an audit takes itself.
- *Any*: any cluster after Holm's correction.
- *Gate*: the check `any_cluster` with limit 0 says fail. It counts harm only, so 2.5 % is expected at most.

More than {bound} alarms of {runs} would be unbelievable (p < .001) at a true rate of 5 %.

| bias variable | table | rows | smallest cluster | tested | primary | any | gate |
|---|---|---|---|---|---|---|---|"""

POWER = """\
## Power

{runs} runs a row: {rows:,} rows, ten mixed features, base rate 20 %. A planted group of the given size has a
rate higher by the gap.

- *Ours*: the primary test of a whole audit rejects, in the harmful direction, over as many splits as it takes itself.
- *Oracle*: the same test, by somebody who knows the group, on what one split keeps apart. Several splits see more.
- *Original*: unscaled k-means on the numbers and Welch's t, its threshold lowered until it raises 5 % false alarms.
- *Train gap* and *test gap*: what the search saw in its cluster 0, and what the held-out rows say. Their difference
  is the winner's curse, which every report shows.

![Power against the gap, by size of the planted group](images/power.svg)

| group | gap | ours | oracle | original | train gap | test gap |
|---|---|---|---|---|---|---|"""


PERSONS = """\
## Persons with several rows

Tables in which nobody is worse off, {runs} runs a row, at 5 % (intersections: at a false discovery rate of 10 %, which
without any true difference is the chance of reporting any). *Alike* is the correlation of the outcomes of a person's
rows. With a key, `split.key` names the person; without, every row counts.

| persons | rows each | alike | key | primary | any cluster | intersections | groups |
|---|---|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Alarms:
    """Alarms of one kind of table without any difference."""

    outcome: str
    kind: str
    rows: int
    min_size: float
    runs: int
    tested: int
    primary: int
    anyone: int
    gate: int


SECTIONS: dict[str, tuple[str, int, Callable[[int], str]]]
"""By name: the heading in the page, how many runs, and what makes the text of so many."""


def run(quick: bool = False, only: str | None = None, runs: str | None = None) -> None:
    """Run the studies and write the page and its figure.

    Parameters
    ----------
    quick : bool
        A few runs of each.
    only : str, optional
        One section, the others being kept.
    runs : str, optional
        How many, where not as many as a section has by default.
    """
    if only is not None and only not in SECTIONS:
        raise SystemExit(f"Unknown section {only}. There are: {', '.join(SECTIONS)}")
    kept = _sections((DOCS / "validity.md").read_text(encoding="utf-8"))
    for name, (heading, usual, made) in SECTIONS.items():
        if only in (None, name):
            kept[heading] = made(int(runs) if runs else max(usual // 30, 5) if quick else usual).strip()
            print(f"Done: {heading}", flush=True)
    told = [HEAD.strip(), *(kept[heading] for heading, _, _ in SECTIONS.values() if heading in kept)]
    (DOCS / "validity.md").write_text("\n\n".join(told) + "\n", encoding="utf-8")
    print(f"Written: {DOCS / 'validity.md'}")


def _sections(text: str) -> dict[str, str]:
    """The sections of the page by their headings."""
    parts = [f"## {part}".strip() for part in text.split("\n## ")[1:]]
    return {part.splitlines()[0].removeprefix("## "): part for part in parts}


def false_alarms(runs: int) -> Iterator[Alarms]:
    """Whole audits of tables in which nobody is worse off, the kinds of table side by side on all cores."""
    kinds = itertools.product(
        ("binary .1", "binary .3", "continuous", "skewed count"),
        ("numeric", "categorical", "mixed"),
        (1000, 5000),
        (0.01, 0.05),
    )
    with ProcessPoolExecutor() as pool:
        studies = [pool.submit(_alarms, number, *kind, runs) for number, kind in enumerate(kinds)]
        for number, study in enumerate(studies, start=1):
            yield study.result()
            print(f"false alarms {number} of {len(studies)}", flush=True)


def _alarms(number: int, outcome: str, kind: str, rows: int, min_size: float, runs: int) -> Alarms:
    """One row of the table. No seed is shared with another row: their errors are independent."""
    counts = np.zeros(4, dtype=int)
    for run in range(runs):
        rng = np.random.default_rng([number, run])
        frame = simulated.features(rng, rows, kind).assign(y=simulated.outcome(rng, rows, outcome))
        found = simulated.run(
            frame,
            number * 10_000 + run,
            repeats=None,
            clustering={"stability": 0, "min_cluster_size": min_size},
            significance={"min_rows": 5},
            gate=[{"check": "any_cluster", "max_difference": 0}],
        )
        proven = found.significance.main_significant
        counts += [
            proven is not None,
            bool(proven),
            any(one.significant for one in found.significance.clusters),
            found.verdict == "fail",
        ]
    return Alarms(outcome, kind, rows, min_size, runs, *map(int, counts))


def alarms_of_persons(runs: int) -> Iterator[str]:
    """Lines of the table on persons with several rows."""
    kinds = [(240, 5, False, 1.0), (240, 5, True, 0.5), (1000, 5, False, 1.0), (1000, 5, True, 0.2)]
    with ProcessPoolExecutor() as pool:
        studies = [(kind, key, pool.submit(_of_persons, kind, key, runs)) for kind in kinds for key in ("person", None)]
        for (persons, each, uneven, alike), key, study in studies:
            shares = " | ".join(f"{100 * one / runs:.1f} %" for one in study.result())
            rows = f"{each}{' on average' if uneven else ''}"
            yield f"| {persons:,} | {rows} | {alike:g} | {'yes' if key else 'no'} | {shares} |"
            print("persons with several rows", flush=True)


def _of_persons(kind: tuple[int, int, bool, float], key: str | None, runs: int) -> list[int]:
    """Alarms of one row of that table."""
    found = [
        simulated.alarms_of_persons(simulated.of_persons(np.random.default_rng([41, run]), *kind), run, key)
        for run in range(runs)
    ]
    return [sum(one[name] for one in found) for name in ("primary", "any cluster", "intersections", "groups")]


def power_table(runs: int) -> pd.DataFrame:
    """Chance of proving a planted group: ours, an oracle that knows the group, and the original procedure."""
    threshold = _original_threshold(3 * runs)
    rows = []
    for size, gap in itertools.product(SIZES, GAPS):
        ours = oracle = original = 0
        curse: list[tuple[float, float]] = []
        for seed in range(runs):
            frame, group = simulated.planted(
                np.random.default_rng([int(size * 100), int(gap * 100), seed]), ROWS, size, gap
            )
            found = simulated.run(frame, seed, repeats=None)
            first, together = found.significance.primary, found.significance.deciding
            comparison = first.comparison if first else None
            ours += bool(found.significance.main_significant and together and (together.difference or 0.0) > 0.0)
            if first and comparison and comparison.p_value is not None and comparison.difference is not None:
                curse.append((first.found.gap, comparison.difference))
            test = np.random.default_rng(seed).random(ROWS) < 0.2
            y = frame["y"].to_numpy()
            known = compare_samples(y[test & group], y[test & ~group], min_rows=5).p_value
            oracle += known is not None and known <= ALPHA
            original += _original_p(frame, seed) <= threshold
        train, held_out = np.mean(curse, axis=0) if curse else (np.nan, np.nan)
        rows.append((size, gap, ours / runs, oracle / runs, original / runs, train, held_out))
        print(f"power {len(rows)} of {len(SIZES) * len(GAPS)}", flush=True)
    names = ["size", "gap", "ours", "oracle", "original", "train gap", "test gap"]
    return pd.DataFrame(rows, columns=names)


def _original_p(frame: pd.DataFrame, seed: int) -> float:
    """The original tool's way: unscaled k-means on the numbers, 80/20 split, Welch's t for cluster 0."""
    X = frame.filter(like="x").to_numpy()
    y = frame["y"].to_numpy()
    test = np.random.default_rng(seed).random(len(y)) < 0.2
    model = HBAC(engine="reference", method="kmeans", random_state=seed).fit(X[~test], y[~test])
    inside = model.predict(X[test]) == 0
    if min(inside.sum(), (~inside).sum()) < 2:
        return 1.0
    p = stats.ttest_ind(y[test][inside], y[test][~inside], equal_var=False).pvalue
    return 1.0 if np.isnan(p) else float(p)


def _original_threshold(runs: int) -> float:
    """The p-value below which the original procedure raises a false alarm in 5 % of the runs."""
    p_values = []
    for seed in range(runs):
        rng = np.random.default_rng([99, seed])
        frame = simulated.features(rng, ROWS).assign(y=(rng.random(ROWS) < 0.2).astype(float))
        p_values.append(_original_p(frame, seed))
    return float(np.quantile(p_values, ALPHA, method="lower"))


def alarms_section(runs: int) -> str:
    """The section on tables in which nobody is worse off."""
    alarms = list(false_alarms(runs))
    bound = int(stats.binom.ppf(0.999, runs, ALPHA))
    lines = [FALSE_ALARMS.format(runs=runs, bound=bound)]
    for one in alarms:
        shares = [f"{100 * hits / one.runs:.1f} %" for hits in (one.tested, one.primary, one.anyone, one.gate)]
        lines.append(f"| {one.outcome} | {one.kind} | {one.rows:,} | {one.min_size:.0%} | " + " | ".join(shares) + " |")
    worst = max(one.primary for one in alarms), max(one.anyone for one in alarms), max(one.gate for one in alarms)
    lines.append(f"\nLargest counts of {runs}: primary {worst[0]}, any {worst[1]}, gate {worst[2]}.")
    every = sum(one.runs for one in alarms)
    primary, anyone, gate = (
        100 * sum(getattr(one, x) for one in alarms) / every for x in ("primary", "anyone", "gate")
    )
    lines.append(f"Of all {every:,} runs together: primary {primary:.1f} %, any {anyone:.1f} %, gate {gate:.1f} %.")
    return "\n".join(lines)


def persons_section(runs: int) -> str:
    """The section on persons with several rows."""
    return "\n".join([PERSONS.format(runs=runs), *alarms_of_persons(runs)])


def power_section(runs: int) -> str:
    """The section on planted groups, and its figure."""
    power = power_table(runs)
    (DOCS / "images").mkdir(parents=True, exist_ok=True)
    draw_power(power, DOCS / "images" / "power.svg")
    lines = [POWER.format(rows=ROWS, runs=runs)]
    lines += [
        f"| {row.size_:.0%} | {row.gap:.0%} | {row.ours:.0%} | {row.oracle:.0%} | {row.original:.0%} "
        f"| {row.train:.1%} | {row.test:.1%} |"
        for row in power.set_axis(["size_", "gap", "ours", "oracle", "original", "train", "test"], axis=1).itertuples()
    ]
    return "\n".join(lines)


def draw_power(power: pd.DataFrame, file: Path) -> None:
    """One panel per size of group."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3), layout="constrained")
    for axes, size in zip(figure.subplots(1, len(SIZES), sharey=True), SIZES, strict=True):
        part = power[power["size"] == size]
        for name, marker, colour in (("oracle", "^", "0.5"), ("ours", "o", "#0072b2"), ("original", "s", "#d55e00")):
            axes.plot(100 * part["gap"], part[name], marker=marker, color=colour, label=name)
        axes.set(title=f"group of {size:.0%} of the rows", xlabel="gap in points", ylim=(-0.03, 1.03))
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("chance of proving it")
    figure.axes[0].legend()
    figure.savefig(file, metadata={"Date": None})


SECTIONS = {
    "alarms": ("False alarms", 300, alarms_section),
    "persons": ("Persons with several rows", 300, persons_section),
    "power": ("Power", 50, power_section),
    "chosen": ("What was chosen", 200, selected.page),
    "searched": ("The search for the worst group", 300, searched.page),
}
