"""The picture of the rooms is the one that the import contracts hold."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PICTURE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def drawn(package: str) -> list[str]:
    block = re.search(r"```text\n(.*?)```", PICTURE, re.DOTALL)
    assert block is not None
    lines = block[1].splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(package))
    rooms = [lines[first].removeprefix(package).strip()]
    for line in lines[first + 1 :]:
        if not line.startswith(" "):
            break
        rooms.append(line.strip())
    return rooms


def test_the_floors_are_those_of_the_contracts() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    floors = {one["containers"][0]: one["layers"] for one in contracts if one["type"] == "layers"}
    for package in ("bdt_core", "bdt_pipeline"):
        assert drawn(package) == floors[package]


def test_every_room_is_described() -> None:
    rooms = {one.stem for one in (ROOT / "bdt_core").iterdir() if (one / "__init__.py").exists() or one.suffix == ".py"}
    described = set(re.findall(r"`(\w+)`", "\n".join(line for line in PICTURE.splitlines() if line.startswith("| `"))))
    assert rooms - {"__init__"} <= described
