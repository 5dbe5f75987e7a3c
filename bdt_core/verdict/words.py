"""The four answers of a limit."""

from __future__ import annotations

from typing import Literal

Verdict = Literal["pass", "fail", "inconclusive", "not_testable"]
SEVEREST_FIRST: tuple[Verdict, ...] = ("fail", "inconclusive", "not_testable", "pass")


def stops(verdict: Verdict, inconclusive: Literal["warn", "block"]) -> bool:
    """Whether what stands behind the gate is stopped."""
    return verdict == "fail" or (verdict != "pass" and inconclusive == "block")
