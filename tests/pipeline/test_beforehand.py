"""What `bdt demo` compiles beforehand is what it needs later, for the types that it will be called with."""

from __future__ import annotations

import threading
from collections import defaultdict
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.clustering import kernels as of_clusters
from bdt_core.clustering import refine, split
from bdt_core.scan import kernels as of_scan
from bdt_pipeline.commands.beforehand import compiled_beforehand

LOOPS = {of_scan: ("climb",), of_clusters: ("refine", "split_statistics")}
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


def test_loops_are_compiled_for_the_types_that_an_audit_calls_them_with(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: Types = defaultdict(set)
    with monkeypatch.context() as patched:
        for module, names in LOOPS.items():
            for name in names:
                patched.setattr(getattr(module, name), "compile", compiled[name].add)
        with compiled_beforehand():
            wait_for_the_thread()
    called: Types = defaultdict(set)
    monkeypatch.setattr("bdt_core.scan.kernels", Watched(of_scan, called))
    for caller in (refine, split):
        monkeypatch.setattr(caller, "kernels", Watched(of_clusters, called))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 400), "town": rng.choice(list("abc"), 400)})
    frame["error"] = (rng.random(400) < 0.2 + 0.3 * (frame["age"] < 40)).astype(int)
    audit(frame, outcome="error", slices=None, clustering={"stability": 0}, worst_groups={"permutations": 39})
    assert compiled == {name: called[name] for names in LOOPS.values() for name in names}
    assert all(len(one) == 1 for one in compiled.values())


def test_what_cannot_be_compiled_is_left_to_who_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    def fails() -> None:
        begun.append("scan")
        raise OSError("the compiler's cache cannot be written")

    monkeypatch.setattr(of_scan, "compile_beforehand", fails)
    monkeypatch.setattr(of_clusters, "compile_beforehand", lambda: begun.append("clusters"))
    with compiled_beforehand():
        wait_for_the_thread()
    assert begun == ["scan", "clusters"]


def test_nothing_is_begun_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    ended = threading.Event()

    def waits() -> None:
        begun.append("scan")
        ended.wait()

    monkeypatch.setattr(of_scan, "compile_beforehand", waits)
    monkeypatch.setattr(of_clusters, "compile_beforehand", lambda: begun.append("clusters"))
    with compiled_beforehand():
        threading.Timer(0.3, ended.set).start()
    assert begun == ["scan"]
    assert "compiler" not in [one.name for one in threading.enumerate()]
