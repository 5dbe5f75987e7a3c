"""Freeze the goldens anew after a deliberate change: ``python -m tests.goldens [NAME...]``."""

from __future__ import annotations

import json
import sys

from tests.goldens.frozen import FOLDER, VERSIONS, differences, golden_names, made, same_arithmetic, versions


def main(names: list[str]) -> None:
    """Make the goldens of these names, or all; print what has changed, and write it."""
    unknown = set(names) - set(golden_names())
    if unknown:
        raise SystemExit(f"No such golden: {', '.join(sorted(unknown))}. There are: {', '.join(golden_names())}")
    with same_arithmetic() as process:
        for name in names or golden_names():
            for file, content in process.submit(made, name).result().items():
                golden = FOLDER / file
                frozen = golden.read_bytes() if golden.exists() else None
                if frozen == content:
                    print(f"{file} is as it was")
                    continue
                changed = [] if frozen is None else differences(frozen, content, is_json=golden.suffix == ".json")
                print("\n  ".join([f"{file} is {'new' if frozen is None else 'written anew'}", *changed]))
                golden.write_bytes(content)
    if not names:
        VERSIONS.write_text(json.dumps(versions(), indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
