"""What `bdt demo` compiles beforehand is what it needs later, for the types that it will be called with."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.clustering import kernels as of_clusters
from bdt_core.clustering import refine, split
from bdt_core.groups.scan import kernels as of_scan
from bdt_pipeline.commands import beforehand
from bdt_pipeline.commands.beforehand import compiled_beforehand

Types = dict[str, set[Any]]


class Watched:
    """The loops of a module, of which the types are noted that they are called with."""

    def __init__(self, module: ModuleType, called: Types) -> None:
        self._module, self._called = module, called

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)

        def watched(*values: Any) -> Any:
            self._called[name].add(tuple(map(numba.typeof, values)))
            return found(*values)

        return watched if callable(found) else found


def wait_for_the_thread() -> None:
    for thread in threading.enumerate():
        if thread.name == "compiler":
            thread.join()


class Loop:
    """A loop that says when it is asked for."""

    def __init__(self, cache: Path, does: Callable[[], None] = lambda: None) -> None:
        self.__name__, self.stats, self.asked = "loop", SimpleNamespace(cache_path=str(cache)), 0
        self._does = does

    def compile(self, types: object) -> None:
        self.asked += 1
        self._does()


def test_loops_are_compiled_for_the_types_that_an_audit_calls_them_with(monkeypatch: pytest.MonkeyPatch) -> None:
    called: Types = defaultdict(set)
    monkeypatch.setattr("bdt_core.groups.scan.kernels", Watched(of_scan, called))
    for caller in (refine, split):
        monkeypatch.setattr(caller, "kernels", Watched(of_clusters, called))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 400), "town": rng.choice(list("abc"), 400)})
    frame["error"] = (rng.random(400) < 0.2 + 0.3 * (frame["age"] < 40)).astype(int)
    audit(frame, outcome="error", slices=None, clustering={"stability": 0}, worst_groups={"permutations": 39})
    asked = {loop.__name__: {types} for one in (of_scan, of_clusters) for loop, types in one.CALLED_WITH.items()}
    assert asked == {name: called[name] for name in asked}


def test_another_process_compiles_and_who_needs_a_loop_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new interpreter with an empty cache compiles none itself, not even the one that it asks for at once."""
    asked = """
import threading
from bdt_pipeline.commands.beforehand import _loops, compiled_beforehand
loops = _loops()
with compiled_beforehand():
    (first, types), *_ = loops.items()
    first.compile(types)
    for thread in threading.enumerate():
        if thread.name == "compiler":
            thread.join()
    for loop, types in loops.items():
        loop.compile(types)
        print(loop.__name__, sum(loop.stats.cache_misses.values()))
"""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for _ in ("compiled", "there already"):
        done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
        assert done.stdout == "climb 0\nrefine 0\nsplit_statistics 0\n", done.stderr


def test_what_is_imported_beforehand_is_there() -> None:
    assert all(map(find_spec, beforehand.MODULES))


def test_what_cannot_be_compiled_is_left_to_who_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise OSError("the compiler's cache cannot be written")

    loops = {Loop(tmp_path, fails): (), Loop(tmp_path): ()}
    monkeypatch.setattr(beforehand, "_loops", lambda: loops)
    monkeypatch.setattr(beforehand, "_compiler", lambda: subprocess.Popen(["false"], stdout=subprocess.PIPE))
    with compiled_beforehand():
        wait_for_the_thread()
    assert [one.asked for one in loops] == [1, 1]


def test_nothing_is_begun_after_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernels.loop-1.py3.nbi").touch()
    ended = threading.Event()

    class Compiler(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            ended.set()  # the first loop is there when the end is waited for
            super().join(timeout)

    monkeypatch.setattr(beforehand, "Thread", Compiler)
    loops = {Loop(tmp_path, lambda: ended.wait() and None): (), Loop(tmp_path): ()}
    monkeypatch.setattr(beforehand, "_loops", lambda: loops)
    monkeypatch.setattr(beforehand, "_compiler", lambda: pytest.fail("all are in the cache"))
    with compiled_beforehand():
        pass
    assert [one.asked for one in loops] == [1, 0]
    assert "compiler" not in [one.name for one in threading.enumerate()]


def test_a_process_that_still_compiles_at_the_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(tmp_path)
    process = subprocess.Popen(["sleep", "600"], stdout=subprocess.PIPE)
    monkeypatch.setattr(beforehand, "_loops", lambda: {loop: ()})
    monkeypatch.setattr(beforehand, "_compiler", lambda: process)
    with compiled_beforehand():
        pass
    assert process.returncode == -signal.SIGKILL
    assert loop.asked == 0
