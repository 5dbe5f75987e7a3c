"""Great Expectations, asked for verdicts only: no cell value ever leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Expectation:
    """One expectation by its name in Great Expectations, such as ``ExpectColumnToExist``."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


def evaluate(frame: pd.DataFrame, expectations: Sequence[Expectation]) -> list[bool]:
    """Whether each expectation holds on a table.

    Parameters
    ----------
    frame : DataFrame
    expectations : sequence of Expectation

    Returns
    -------
    list of bool
        In the same order.

    Raises
    ------
    RuntimeError
        When Great Expectations could not evaluate one of them, which is not the data's fault.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20, None, 40]})
    >>> evaluate(table, [Expectation("ExpectColumnToExist", {"column": "age"}),
    ...                  Expectation("ExpectColumnValuesToNotBeNull", {"column": "age", "mostly": 0.95})])
    [True, False]
    """
    if not expectations:
        return []
    import great_expectations as gx  # half the time of a short audit: only when a check runs
    import great_expectations.expectations as gxe
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    batch = (
        context.data_sources.add_pandas("pandas")
        .add_dataframe_asset("table")
        .add_batch_definition_whole_dataframe("whole")
        .get_batch(batch_parameters={"dataframe": frame})
    )
    suite = gx.ExpectationSuite(
        name="quality",
        expectations=[
            getattr(gxe, one.name)(**one.arguments, meta={"position": position})
            for position, one in enumerate(expectations)
        ],
    )
    verdicts = [False] * len(expectations)
    for result in batch.validate(suite, result_format="BOOLEAN_ONLY").results:
        position = result.expectation_config.meta["position"]
        if _raised(result.exception_info or {}):
            raise RuntimeError(f"Great Expectations could not evaluate {expectations[position].name}.")
        verdicts[position] = bool(result.success)
    return verdicts


def _raised(information: dict[str, Any]) -> bool:
    """Whether an expectation, or one of the metrics it needs, ended in an exception."""
    parts = [information, *(one for one in information.values() if isinstance(one, dict))]
    return any(bool(one.get("raised_exception")) for one in parts)
