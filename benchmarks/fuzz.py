"""Mutated inputs of every kind: what comes of them, counted.

``python -m benchmarks fuzz [--runs=5000] [--seed=0] [--kind=csv]`` goes through all kinds in turn, and prints what came
out by kind and the seeds of what should not have come out. ``--runs=1 --seed=N --kind=KIND`` repeats one.
"""

from __future__ import annotations

from benchmarks.measuring import markdown_table


def run(runs: str = "5000", seed: str = "0", kind: str | None = None) -> None:
    """Mutate, count, print."""
    from tests.fuzz.check import GOOD, Outcome, counted, outcome_of
    from tests.fuzz.inputs import kinds

    known = kinds()
    names = [kind] if kind else list(known)
    failed: list[Outcome] = []
    every: list[Outcome] = []
    for number in range(int(runs)):
        one = outcome_of(known[names[number % len(names)]], int(seed) + number // len(names))
        every.append(one)
        if not one.is_good:
            failed.append(one)
            print(f"{one.kind}, seed {one.seed}: {one.result}: {one.told[:600]!r}", flush=True)
    by_kind = counted(every)
    results = [*GOOD, *sorted({one.result for one in failed})]
    rows = [[name, *(f"{by_kind[name][one]:,}" for one in results)] for name in by_kind]
    rows.append(["all", *(f"{sum(found[one] for found in by_kind.values()):,}" for one in results)])
    print(markdown_table(["kind", *results], rows))
