"""Shared by simulations of whole audits."""

from __future__ import annotations

import pytest

from bdt_core.clustering import clusters
from bdt_core.clustering.rule import Rule
from bdt_core.inference import categories, permutation
from bdt_core.table import validate


@pytest.fixture
def without_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters are not described and tables not warned of, which takes longer than to find and test clusters."""
    nobody = Rule(())
    monkeypatch.setattr(clusters, "find_rules", lambda X, labels, n: [nobody] * n)
    monkeypatch.setattr(validate, "warnings_on_rows", lambda table, repeats: ())


@pytest.fixture
def fewer_permutations(monkeypatch: pytest.MonkeyPatch, full: bool) -> None:
    """A tenth of them: tests by permutation are as exact at their level, of which 25 of 1,000 splits are one tail."""
    if not full:
        monkeypatch.setattr(permutation, "PERMUTATIONS", 999)
        monkeypatch.setattr(categories, "DRAWS", 999)
