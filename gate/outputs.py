"""What the gate found, as outputs of the action's step."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def outputs(report: str) -> dict[str, str]:
    """Verdicts of a report that is whole, and where its files are.

    Parameters
    ----------
    report : str
        The folder that ``bdt gate --report`` wrote.

    Raises
    ------
    FileNotFoundError
        A file is missing: of a report that is whole, report.json is written last.
    ValueError
        The folder's name holds a line break.
    """
    if "\n" in report:
        raise ValueError("The folder's name would be read as another output.")
    folder = Path(report)
    told = json.loads((folder / "gate.json").read_text(encoding="utf-8"))
    for name in ("gate.md", "report.json"):
        (folder / name).stat()
    return {
        "verdict": told["verdict"],
        "baseline-verdict": (told["baseline"] or {}).get("verdict", ""),
        "report": report,
        "comment": f"{report}/gate.md",
    }


if __name__ == "__main__":
    print("\n".join(f"{name}={value}" for name, value in outputs(sys.argv[1]).items()))
