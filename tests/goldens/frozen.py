"""What an audit writes, as it is frozen; and where two frozen texts differ."""

from __future__ import annotations

import contextlib
import gc
import json
import math
import multiprocessing
import os
import platform
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from difflib import unified_diff
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from typer.testing import CliRunner

from bdt_core.audit import audit
from bdt_core.report.markdown import render_markdown
from bdt_core.report.write import canonical_json
from bdt_core.spec import AuditSpec, load_spec, parse_spec
from bdt_pipeline.cli import app
from tests.goldens.audits import AUDITS, GATES, GoldenAudit

FOLDER = Path(__file__).parent
VERSIONS = FOLDER / "made_with.txt"
LAST_DIGITS = 1e-9
_ABSENT = "(nothing)"

_ARITHMETIC = {
    # What NumPy and BLAS choose by processor differs in the last digit: exponentials, logarithms, matrix products.
    "NPY_DISABLE_CPU_FEATURES": (
        "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR AVX512_KNL AVX512_KNM"
    ),
    "OPENBLAS_CORETYPE": "Haswell",
    "PYTHONWARNINGS": "ignore::ImportWarning",  # NumPy's, of features that the processor does not have
}


@contextlib.contextmanager
def same_arithmetic() -> Iterator[Executor]:
    """A process that calculates to the last digit as every x86-64 processor with AVX2 can: goldens are made there."""
    before = {name: os.environ.get(name) for name in _ARITHMETIC}
    # Most of what is imported stays until the end: it is not looked through, as in the command line.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), gc.set_threshold, (50_000,)) as process:
        os.environ.update(_ARITHMETIC)
        try:
            process.submit(int).result()  # it is started now
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
        yield process


def golden_names() -> list[str]:
    """The audits; a run of ``bdt gate`` is named after its audit, with ``.gate``."""
    return [*AUDITS, *(f"{name}.gate" for name in GATES)]


def made(name: str) -> dict[str, bytes]:
    """The frozen files of an audit or of a run of ``bdt gate``, made anew: by name of the golden.

    To be called in the process of `same_arithmetic`.

    Of a report the versions of Python and of the packages are blanked, and nothing else: the files that are audited
    are named by paths relative to a folder of their own.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return _gate_result(name.removesuffix(".gate")) if name.endswith(".gate") else _reports(name)


def versions() -> dict[str, str]:
    """What the last digits of a golden depend on, besides the code: the processor's kind and the packages."""
    packages = {name: metadata.version(name) for name in ("numpy", "scipy", "pandas", "scikit-learn", "numba")}
    return {"machine": platform.machine().lower(), **packages}


def is_to_the_byte() -> bool:
    """Whether goldens were made with what is here; elsewhere the last digits of numbers may differ."""
    frozen: dict[str, str] = json.loads(VERSIONS.read_text())
    return frozen == versions()


def differences(old: bytes, new: bytes, *, is_json: bool, tolerance: float = 0.0) -> list[str]:
    """Where two goldens differ: one line per path into the document, or per line of a text.

    With a tolerance, numbers may differ by so much of themselves, and bytes that hold equal data may.
    """
    if is_json:
        changed = list(_changed(json.loads(old), json.loads(new), "$", tolerance))
        if tolerance:
            return changed
        return changed or ["the bytes differ, though not the data: order of keys, spaces, or how numbers are written"]
    told = unified_diff(old.decode().splitlines(), new.decode().splitlines(), "golden", "now", lineterm="", n=0)
    return list(told)


def settled_spec(name: str) -> AuditSpec:
    """The specification of an audit; its name and its source are those of the audit where it does not say."""
    golden = AUDITS[name]
    if isinstance(golden.spec, Path):
        return load_spec(golden.spec)
    settled: AuditSpec = parse_spec({"name": name, "source": {"path": golden.file or "(DataFrame)"}, **golden.spec})
    return settled


def _reports(name: str) -> dict[str, bytes]:
    golden = AUDITS[name]
    frame = None if golden.people is None else golden.people()
    if frame is not None and golden.file is not None:
        write_table(frame, golden.file)
        frame = None
    for file, values in (golden.files or {}).items():
        np.save(file, values())
    document = audit(frame, settled_spec(name)).document
    document = {**document, "software": dict.fromkeys(document["software"], "")}
    files = {f"{golden.report or name}.json": canonical_json(document)}
    if golden.markdown:
        files[f"{golden.report or name}.md"] = render_markdown(document)
    return {file: text.encode(errors="backslashreplace") for file, text in files.items()}


def _gate_result(name: str) -> dict[str, bytes]:
    """Through the command line, with files for everything, as a CI system runs it."""
    gate = GATES[name]
    golden: GoldenAudit = AUDITS[gate.audit]
    frame = (gate.people or golden.people or pd.DataFrame)()
    assert golden.file is not None, "bdt gate reads files"
    write_table(frame, golden.file)
    Path("spec.yaml").write_text(yaml.safe_dump(settled_spec(gate.audit).to_dict()), encoding="utf-8")
    baseline = [] if gate.baseline is None else ["--baseline", str(FOLDER / f"{gate.baseline}.json")]
    asked = ["gate", "spec.yaml", "--format", "json", "--out", "gate.json", *baseline]
    ended = CliRunner().invoke(app, asked)
    assert ended.exit_code in (0, 1, 3), ended.output
    return {f"{name}.gate.json": Path("gate.json").read_bytes()}


def write_table(frame: pd.DataFrame, file: str) -> None:
    """Write a table where the audit will read it."""
    if file.endswith(".parquet"):
        frame.to_parquet(file, index=False)
    else:
        frame.to_csv(file, index=False)


def _changed(old: Any, new: Any, path: str, tolerance: float) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _changed(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{path}.{key}", tolerance)
    elif isinstance(old, list) and isinstance(new, list):
        for i in range(max(len(old), len(new))):
            pair = (x[i] if i < len(x) else _ABSENT for x in (old, new))
            yield from _changed(*pair, f"{path}[{i}]", tolerance)
    elif tolerance and isinstance(old, float) and isinstance(new, float):
        if not math.isclose(old, new, rel_tol=tolerance, abs_tol=tolerance):
            yield f"{path}: {_short(old)} -> {_short(new)}"
    elif type(old) is not type(new) or old != new:
        yield f"{path}: {_short(old)} -> {_short(new)}"


def _short(value: Any, longest: int = 300) -> str:
    told = value if value is _ABSENT else json.dumps(value, ensure_ascii=False)
    return told if len(told) <= longest else told[: longest - 1] + "…"
