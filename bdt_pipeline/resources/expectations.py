"""Great Expectations, asked for verdicts only: no cell value ever leaves it."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.core.batch_definition import BatchDefinition

_THERE: list[_Beside] = []
"""Who evaluates, inside of `evaluated_beside`."""
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class _Beside:
    """A process that evaluates, and the modules that are imported while it is waited for."""

    process: subprocess.Popen[bytes]
    modules: Sequence[str]


@dataclass(frozen=True)
class Expectation:
    """One expectation by its name in Great Expectations, such as ``ExpectColumnToExist``."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


def evaluate(frame: pd.DataFrame, expectations: Sequence[Expectation]) -> list[bool]:
    """Whether each expectation holds on a table.

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
    return _asked(_THERE[-1], frame, expectations) if _THERE else _evaluated(frame, expectations)


@contextmanager
def evaluated_beside(modules: Sequence[str] = ()) -> Iterator[None]:
    """Meanwhile `evaluate` asks a process of its own, which loads Great Expectations while this one does other things.

    For audits of which only one is run, of a table that Arrow can hold.

    Parameters
    ----------
    modules : sequence of str, optional
        What this process needs later, and imports while it waits for the first answer.
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-P", __file__],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    beside = _Beside(process, modules)
    _THERE.append(beside)
    try:
        yield
    finally:
        _THERE.remove(beside)
        process.kill()
        process.communicate()


def _evaluated(frame: pd.DataFrame, expectations: Sequence[Expectation]) -> list[bool]:
    import great_expectations as gx  # a third of the time of a short audit: only when a check runs
    import great_expectations.expectations as gxe
    import pandas as pd

    suite = gx.ExpectationSuite(
        name="quality",
        expectations=[
            getattr(gxe, one.name)(**one.arguments, meta={"position": position})
            for position, one in enumerate(expectations)
        ],
    )
    with _one_at_a_time:
        whole = _whole_table()
        try:
            batch = whole.get_batch(batch_parameters={"dataframe": frame})
            results = batch.validate(suite, result_format="BOOLEAN_ONLY").results
        finally:
            whole.get_batch(batch_parameters={"dataframe": pd.DataFrame()})  # the last table would be kept
    verdicts = [False] * len(expectations)
    for result in results:
        position = result.expectation_config.meta["position"]
        if _raised(result.exception_info or {}):
            raise RuntimeError(f"Great Expectations could not evaluate {expectations[position].name}.")
        verdicts[position] = bool(result.success)
    return verdicts


@cache
def _whole_table() -> BatchDefinition[Any]:
    """What takes a table, for all tables of this process: Great Expectations writes its settings down for each anew."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("pandas").add_dataframe_asset("table")
    return asset.add_batch_definition_whole_dataframe("whole")


def _raised(information: dict[str, Any]) -> bool:
    """Whether an expectation, or one of the metrics it needs, ended in an exception."""
    parts = [information, *(one for one in information.values() if isinstance(one, dict))]
    return any(bool(one.get("raised_exception")) for one in parts)


def _asked(beside: _Beside, frame: pd.DataFrame, expectations: Sequence[Expectation]) -> list[bool]:
    """The other process's answer: a line of expectations and the table go there, a line of verdicts comes back."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = pa.Table.from_pandas(frame)
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content = sink.getvalue().to_pybytes()
    question = {"expectations": [asdict(one) for one in expectations], "size": len(content)}
    process = beside.process
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(question).encode() + b"\n" + content)
        process.stdin.flush()
        for module in beside.modules:
            import_module(module)
        answer = json.loads(process.stdout.readline())
    except (OSError, ValueError) as error:
        raise RuntimeError("The process of Great Expectations has ended.") from error
    if "problem" in answer:
        raise RuntimeError(answer["problem"])
    verdicts: list[bool] = answer["verdicts"]
    return verdicts


def _answer() -> None:
    """What the other process does, until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what is printed is no answer
    gc.set_threshold(50_000)  # most of what is imported stays
    import great_expectations  # noqa: F401  # while nobody asks yet
    import pyarrow as pa

    for line in iter(sys.stdin.buffer.readline, b""):
        question = json.loads(line)
        frame = pa.ipc.open_stream(sys.stdin.buffer.read(question["size"])).read_all().to_pandas()
        try:
            expectations = [Expectation(**one) for one in question["expectations"]]
            answer: dict[str, Any] = {"verdicts": _evaluated(frame, expectations)}
        except Exception as error:
            answer = {"problem": str(error)}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    _answer()
