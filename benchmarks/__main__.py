"""``python -m benchmarks NAME [--option[=value] ...]`` runs ``benchmarks.NAME.run(option=value)``."""

from __future__ import annotations

import importlib
import inspect
import sys

NAMES = (
    "amounts",
    "calibration",
    "contradictions",
    "cost_model",
    "deaths",
    "definitions",
    "differencing",
    "doors",
    "fairness",
    "finding",
    "fuzz",
    "hbac",
    "inbox",
    "large",
    "large_dask",
    "logan",
    "looks",
    "mitigation",
    "nobody",
    "numeric",
    "over_time",
    "privacy",
    "production",
    "ruled_out",
    "scanning",
    "slices",
    "splits",
    "stories",
    "tables",
    "validity",
    "verified",
)


def main(arguments: list[str]) -> None:
    """Run one benchmark; options become keyword arguments, True when they have no value."""
    if not arguments or arguments[0] not in NAMES:
        sys.exit(f"Usage: python -m benchmarks {{{','.join(NAMES)}}} [--option[=value] ...]")
    run = importlib.import_module(f"benchmarks.{arguments[0]}").run
    known = list(inspect.signature(run).parameters)
    options: dict[str, str | bool] = {}
    for argument in arguments[1:]:
        name, _, value = argument.removeprefix("--").partition("=")
        if name not in known:
            sys.exit(f"Unknown option {argument}. This benchmark has: {', '.join(f'--{one}' for one in known)}")
        options[name] = value or True
    run(**options)


if __name__ == "__main__":
    main(sys.argv[1:])
