"""Where the action keeps its own environment, and by which key it is kept: printed as outputs of the step.

Run by the Python that the environment is to have; needs nothing installed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = ("pyproject.toml", "gate", "bdt_core", "bdt_pipeline")


def key(root: Path) -> str:
    """What the environment depends on: the system, the Python, and every source that is installed into it."""
    told = hashlib.sha256(sys.base_prefix.encode())
    for path in sources(root):
        told.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return "-".join(
        ("bdt-gate", platform.system(), platform.machine(), platform.python_version(), told.hexdigest()[:16])
    )


def sources(root: Path) -> Iterator[Path]:
    """Every file that the wheel is built from, in one order."""
    for top in SOURCES:
        found = [root / top] if (root / top).is_file() else sorted((root / top).rglob("*"))
        yield from (path for path in found if path.is_file() and "__pycache__" not in path.parts)


def main() -> None:
    """Print folder, python and key."""
    folder = Path(os.environ["RUNNER_TEMP"]) / "bdt-gate"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    print(f"folder={folder}\npython={python}\nkey={key(Path(__file__).resolve().parents[1])}")


if __name__ == "__main__":
    main()
