"""``bdt gate``: the audit on files, as a CI system wants it. No Dagster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from bdt_core import words
from bdt_core.audit import audit
from bdt_core.errors import OutputError
from bdt_core.report.annotations import Place, github_annotations, gitlab_code_quality
from bdt_core.report.catalogue import say_in
from bdt_core.report.comment import render_comment
from bdt_core.report.gate_result import GateResult, build_gate_result
from bdt_core.report.junit import render_junit
from bdt_core.report.printed import printed
from bdt_core.report.write import canonical_json
from bdt_core.sealed.looking import looking
from bdt_core.sentences import with_sentences
from bdt_core.spec import AuditSpec
from bdt_core.verdict import Verdict
from bdt_core.verdict.baseline import compare_with_baseline
from bdt_core.verdict.comparable import ComparableReport, read_baseline
from bdt_core.words import verdict_line, verdict_word
from bdt_pipeline.commands.asked import Format, Request
from bdt_pipeline.commands.console import (
    REPORTS,
    guessed_direction,
    report_folder,
    tell,
    write_file,
)
from bdt_pipeline.commands.record_batch import record_batch

EXIT_CODES: Mapping[Verdict, int] = {"pass": 0, "fail": 1, "inconclusive": 3, "not_testable": 3, "no_limit": 0}
FILES: Mapping[Format, str] = {
    "json": "gate.json",
    "junit": "gate.xml",
    "markdown": "gate.md",
    "gitlab": "gate-codequality.json",
}
"""Forms that stand in the report's folder, beside the report."""


def run_gate(asked: Request) -> tuple[int, str]:
    """Audit, write what was asked for, and give the exit code and what is to be printed.

    Raises
    ------
    BDTError
        The specification, the table or the baseline is at fault, or something cannot be written.
    """
    spec = asked.audited
    baseline = None if asked.baseline is None else read_baseline(asked.baseline, spec)
    if asked.report is None:
        return _judged(asked, spec, baseline, None)
    with report_folder(asked.report, spec.name) as folder:
        return _judged(asked, spec, baseline, folder)


def _judged(asked: Request, spec: AuditSpec, baseline: ComparableReport | None, folder: Path | None) -> tuple[int, str]:
    with looking(REPORTS if folder is None else folder.parent, spec, "gate") as look:
        findings = audit(None, spec).recorded(look)
    if recorded := record_batch(findings, spec, asked.storage):
        tell(recorded)
    document = findings.document
    comparison = (
        None if baseline is None else compare_with_baseline(ComparableReport.of(with_sentences(document)), baseline)
    )
    code = exit_code(document["verdict"] if comparison is None else comparison.to_dict())
    result = build_gate_result(document, code, comparison)
    forms = _forms(asked, document, result)
    if folder is not None:
        for form, name in FILES.items():
            write_file(folder / name, _encoded(forms[form]))
        findings.write(folder, notice=tell)  # of all files report.json comes last: where it is, the others are
    if asked.format == "github":
        _tell_github(forms["markdown"], result)
    if asked.out is None:
        return code, forms[asked.format]
    write_file(asked.out, _encoded(forms[asked.format]))
    return code, forms["text"]


def exit_code(verdict: dict[str, Any]) -> int:
    """0 pass, 1 fail or blocked, 3 the data cannot tell.

    An inconclusive limit with ``inconclusive: block`` gives 1: what stops a deployment in Dagster stops it here, also
    where a CI job lets 3 pass with a warning.

    Examples
    --------
    >>> [exit_code({"verdict": "inconclusive", "blocks": blocks}) for blocks in (False, True)]
    [3, 1]
    """
    return 1 if verdict["blocks"] else EXIT_CODES[verdict["verdict"]]


def verdict_in_words(result: GateResult, say: Callable[[str], str] = str) -> str:
    """Verdict and reason in one line; one where the direction was guessed; with a baseline, one on it and per limit."""
    line = verdict_line(result["name"], result, say)
    guess = guessed_direction(result["bias_variable"])
    if guess is not None:
        line = f"{line}\n  {say('Note')}: {say(guess)}"
    if result["baseline"] is None:
        return line
    word = verdict_word(result["baseline"]["verdict"], say)
    changes = [f"  {say(one['change']['sentence'])}" for one in result["limits"]]
    compared = f"{word} {say('against the baseline')}: {say(result['baseline']['sentence'])}"
    return "\n".join([line, compared, *changes])


def _forms(asked: Request, document: dict[str, Any], result: GateResult) -> dict[Format, str]:
    lines = _places(asked.spec, len(result["limits"]))
    places, say = [Place(_in_repository(asked.spec), 1)] * len(result["held_back"]) + lines, say_in(printed(document))
    return {
        "text": verdict_in_words(result, say),
        "github": github_annotations(result, places, say),
        "gitlab": gitlab_code_quality(result, places, say),
        "junit": render_junit(result, say),
        "json": canonical_json(result).rstrip("\n"),
        "markdown": render_comment(document, result).rstrip("\n"),
    }


def _tell_github(summary: str, result: GateResult) -> None:
    """Hand the summary and the outputs to the runner, where there is one."""
    outputs = {"verdict": result["verdict"], "exit-code": result["exit_code"]}
    if result["baseline"] is not None:
        outputs["baseline-verdict"] = result["baseline"]["verdict"]
    _append(os.environ.get("GITHUB_STEP_SUMMARY"), summary)
    _append(os.environ.get("GITHUB_OUTPUT"), "\n".join(f"{name}={value}" for name, value in outputs.items()))


def _append(path: str | None, phrase: str) -> None:
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(phrase + "\n")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from None


def _encoded(form: str) -> bytes:
    return (form + "\n").encode(errors="backslashreplace")


def _places(path: Path, limits: int) -> list[Place]:
    """The lines of the specification that set the limits; its first line for limits by default."""
    gate, own = _lines(path)
    lines = [*gate, *[1] * (limits - len(gate) - len(own)), *own][:limits]
    return [Place(_in_repository(path), line) for line in lines]


def _lines(path: Path) -> tuple[list[int], list[int]]:
    """The lines of the gate's limits, and of the keys elsewhere that set a limit themselves."""
    root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    spec = _under(root, "attributes") or root
    gate = _under(spec, "gate")
    keys = (("slices", "max_difference"), ("local_bias", "max_gap"))
    own = [_under(_under(spec, section), key) for section, key in keys]
    return (
        [_line(one) for one in gate.value] if isinstance(gate, yaml.SequenceNode) else [],
        [_line(one) for one in own if one is not None and one.tag != "tag:yaml.org,2002:null"],
    )


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _under(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _in_repository(path: Path) -> str:
    """The file as the repository names it, when it lies in there."""
    top = Path(os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or ".").resolve()
    whole = path.resolve()
    return str(words.printable((whole.relative_to(top) if whole.is_relative_to(top) else path).as_posix()))
