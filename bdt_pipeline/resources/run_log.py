"""What runs, checks and sensors tell Dagster, which a terminal, a CI runner or a message may show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bdt_core import words
from bdt_core.harmless import harmless


def log(context: Any, sentence: str, level: Literal["debug", "info", "warning", "error"] = "info") -> None:
    """Write a sentence, in which names may be anything, into the log of a run or of a sensor's look.

    Parameters
    ----------
    context : AssetExecutionContext or SensorEvaluationContext
    sentence : str
    level : {"debug", "info", "warning", "error"}
    """
    getattr(context.log, level)(harmless(sentence))


def harmless_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata whose texts do nothing; tables and lists are made so."""
    return {name: harmless(words.printable(one)) if isinstance(one, str) else one for name, one in metadata.items()}


def in_check(description: str | None, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What a check says, with names that do nothing.

    Parameters
    ----------
    description : str, optional
    metadata : mapping

    Returns
    -------
    dict
        ``description`` and ``metadata`` of an AssetCheckResult.
    """
    return {**harmless_metadata({"description": description}), "metadata": harmless_metadata(metadata)}
