"""Reading in a process of its own: its death is a sentence, and everything else is left to whoever reads next."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bdt_core.errors import SourceError
from bdt_core.spec import Source
from bdt_core.table.read_alone import refuse_deadly
from tests.deadly import NATIVE_DEATH, deadly


def test_a_file_that_ends_its_reader_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    with deadly(file) as died, pytest.raises(SourceError, match=re.escape(f"{file} ends the program")) as caught:
        refuse_deadly(Source(path=str(file)))
    assert f"(code -{NATIVE_DEATH.value})" in str(caught.value)
    assert len(died) == 1


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "a,b\n1\n", None], ids=["good", "ragged", "not there"])
def test_all_else_is_left_to_whoever_reads_it(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    if content is not None:
        file.write_text(content)
    refuse_deadly(Source(path=str(file)))
