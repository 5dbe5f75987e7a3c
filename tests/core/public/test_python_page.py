"""The table of keywords in docs/python.md is the one of the code; its sessions are run with those of all pages."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from bdt_core import bias_metrics, find_miscalibrated_groups, find_slices, find_worst_groups
from bdt_core.spec import SHORT

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
SEARCHES = {one.__name__: one for one in (find_worst_groups, find_miscalibrated_groups, find_slices, bias_metrics)}


def test_the_table_of_keywords_is_that_of_the_code() -> None:
    lines = [one for one in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| `\w+`.*: \{", one)]
    told = {}
    for line in lines:
        words, short_for, same = (part.strip() for part in line.strip("|").split("|"))
        section, keys = re.fullmatch(r"`(\w+): \{(.+)\}`", short_for).groups()  # type: ignore[union-attr]
        names = re.findall(r"`(\w+)`", words)
        told |= dict(zip(names, ((section, key) for key in keys.split(", ")), strict=True))
        for name in names:
            for search in re.findall(r"`(\w+)`", same):
                assert name in inspect.signature(SEARCHES[search]).parameters, (name, search)
    assert told == dict(SHORT)
