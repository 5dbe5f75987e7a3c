"""Does an answer contradict its own audit? Random audits, and rules that read report, page 1 and gate.json.

``python -m benchmarks contradictions`` makes 300 audits, some minutes of a processor; ``--runs=60`` fewer;
``--kept=FILE`` keeps each as a line of JSON and does not repeat what stands there; with ``--done`` only that is written
down. ``--before=FILE --commit=X`` names what such a run found at an earlier commit: the proof that the rules can fail.
"""

from __future__ import annotations

import copy
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bdt_core import audit
from bdt_core.errors import BDTError
from bdt_core.report.catalogue import say_in
from bdt_core.report.gate_result import build_gate_result
from bdt_core.report.markdown import render_first_page
from bdt_core.report.printed import printed
from bdt_core.sentences import with_sentences
from bdt_core.spec import load_spec
from bdt_pipeline.commands.asked import Request, spec_of
from bdt_pipeline.commands.run_gate import exit_code, run_gate
from bdt_pipeline.proposed.init_spec import write_spec
from benchmarks.tables import record, table

Document = dict[str, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

SEARCHED = ("worst_group", "worst_cluster", "any_cluster", "worst_slice", "local_bias")
"""Checks of limits on groups that a search finds."""
RULES = {
    "denied": "a limit on searched groups is kept, or cannot tell, beside a confirmed finding beyond it",
    "nobody": "nobody is worse off for certain, beside a raw difference that is certain",
    "any": '"any group" of a limit with a share, without the share in the sentence',
    "scope": "a limit's sentence without its share, its people alike or its confidence",
    "yes": "a plain Yes over a broken limit",
    "more": "more people are asked for beside a proven breach",
    "none": '"pass" without any limit',
    "apart": "gate.json says otherwise than report.json",
}
DOORS = ("frame", "keywords", "file", "gate", "command", "init")
_CERTAIN = 6.0
_LEAST_RAW = 0.03


@dataclass(frozen=True)
class Phrases:
    """How page 1 and the sentences of limits say what the rules look for."""

    nobody: str
    yes: str
    any_group: str
    share: str
    alike: str
    at_first: str
    confidence: str
    more: str


PHRASES = {
    "en": Phrases(
        nobody=r"(for no group is it|of nobody it is|for nobody is it) proven|(no group|nobody) is (confirmed|proven)",
        yes=r"^## (May it be used\? Yes|.* explained\? No)\b",
        any_group=r"\b(any|every|each|whatever) group\b",
        share=r"\d of (10|100|1,000|10,000)\b|\d %|\bhalf\b",
        alike=r"\balike\b",
        at_first=r"at first sight",
        confidence=r"confidence|% CI|\d of 100 (times|audits)",
        more=r"collect data on more people|too few to tell",
    ),
    "nl": Phrases(
        nobody=r"(van (geen enkele|geen) groep|van niemand) is bewezen",
        yes=r"^## (Mag het worden gebruikt\? Ja|.* verklaard\? Nee)\b",
        any_group=r"\b(elke|iedere|welke) groep\b",
        share=r"\d van de (10|100|1\.000|10\.000)\b|\d %|\bhelft\b",
        alike=r"\bgelijk\w* (zijn )?in\b|\bgelijken\b",
        at_first=r"op het eerste gezicht",
        confidence=r"betrouwbaarheid|%-BI|\d van de 100 (keer|onderzoeken)",
        more=r"verzamel gegevens over meer mensen|te weinig mensen onderzocht",
    ),
}


@dataclass(frozen=True)
class Case:
    """A table, what is asked of it, and through which door.

    Attributes
    ----------
    number : int
    frame : DataFrame
    spec : dict
    door : str
    planted : tuple of (tuple of str, mask)
        Columns that say who is harmed, and who they are.
    outcome : str
        Kind of what is measured.
    in_dutch : bool
        Whether the Dutch page is read, too.
    """

    number: int
    frame: pd.DataFrame
    spec: dict[str, Any]
    door: str
    planted: tuple[tuple[tuple[str, ...], Mask], ...]
    outcome: str
    in_dutch: bool


def case(number: int) -> Case:
    """The random audit of this number."""
    rng = np.random.default_rng([97, number])
    door = str(rng.choice(DOORS, p=[0.46, 0.12, 0.14, 0.14, 0.07, 0.07]))
    by_itself = door in ("command", "init")
    rows = int(rng.choice([1500, 3000, 6000, 12_000], p=[0.3, 0.35, 0.27, 0.08])) if not by_itself else 1500
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows, p=[0.4, 0.6]),
            "region": rng.choice(["north", "south", "east", "west"], rows),
            "contract": rng.choice(["fixed", "open", "none"], rows),
            "age": rng.integers(18, 80, rows),
            "income": rng.normal(50, 10, rows).round(1),
        }
    )
    planted = tuple(_group(frame, rng) for _ in range(rng.integers(0, 4)))
    harm = np.zeros(rows)
    for _, inside in planted:
        harm += inside * rng.uniform(0.08, 0.3)
    outcome = str(rng.choice(["rate", "amount", "error", "granted", "persons"], p=[0.4, 0.15, 0.2, 0.15, 0.1]))
    outcome = "rate" if by_itself else outcome
    spec = _measured(frame, harm, outcome, rng)
    if not by_itself:
        spec |= _asked(outcome, rng)
    return Case(number, frame, spec, door, planted, outcome, number % 10 == 0)


def _group(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[tuple[str, ...], Mask]:
    """Some people whom one to three conditions describe."""
    columns = tuple(map(str, rng.choice(["sex", "region", "contract", "age"], rng.integers(1, 4), replace=False)))
    inside = np.ones(len(frame), dtype=bool)
    for column in columns:
        values = frame[column].to_numpy()
        inside &= values <= rng.integers(30, 60) if column == "age" else values == rng.choice(np.unique(values))
    return columns, inside


def _measured(
    frame: pd.DataFrame, harm: np.ndarray[Any, Any], outcome: str, rng: np.random.Generator
) -> dict[str, Any]:
    """Put what is measured into the table, and say so."""
    rows, base = len(frame), float(rng.choice([0.1, 0.2, 0.4]))
    happens = (rng.random(rows) < np.clip(base + harm, 0, 1)).astype(int)
    if outcome == "amount":
        frame["days"] = np.round(20 + 10 * rng.gamma(2, 1, rows) + 40 * harm, 1)
        return {"bias_variable": {"column": "days", "better": "lower"}}
    if outcome in ("error", "granted"):
        frame["repaid"] = rng.integers(0, 2, rows)
        said = np.where(happens == 1, 1 - frame["repaid"], frame["repaid"]) if outcome == "error" else 1 - happens
        frame["approved"] = said
        derive = "error" if outcome == "error" else "positive_prediction"
        better = {} if outcome == "error" else {"better": "higher"}
        bias = {"derive": derive, "prediction": "approved", **({"label": "repaid"} if derive == "error" else {})}
        return {"bias_variable": bias | better, "favourable": "positive"}
    frame["refused"] = happens
    spec: dict[str, Any] = {"bias_variable": {"column": "refused", "better": "lower"}}
    if outcome == "persons":
        frame["person"] = np.arange(rows) // 2
        spec |= {"split": {"key": "person"}}
    return spec


def _asked(outcome: str, rng: np.random.Generator) -> dict[str, Any]:
    """Searches, factors, limits and how many of them must hold."""
    protected: list[str] = list(map(str, rng.choice(["sex", "region"], rng.integers(0, 3), replace=False)))
    free = [one for one in ("sex", "region", "contract", "age") if one not in protected]
    spec: dict[str, Any] = {
        "protected": protected,
        "clustering": {"stability": 0, "n_init": 1, "max_iter": 3},
        "slices": {} if rng.random() < 0.35 else None,
        "worst_groups": {"permutations": 39},
        "significance": {"alpha": float(rng.choice([0.05, 0.1, 0.01], p=[0.7, 0.2, 0.1]))},
        "require": "majority" if rng.random() < 0.25 else "all",
    }
    if rng.random() < 0.3:
        spec["worst_groups"]["min_share"] = float(rng.choice([0.05, 0.2]))
    if rng.random() < 0.35:
        spec["legitimate"] = list(map(str, rng.choice(free, rng.integers(1, 3), replace=False)))
    has_prediction = outcome in ("error", "granted")
    if outcome == "error" and protected and rng.random() < 0.6:
        spec["local_bias"] = {"group": protected[0], "n_clusters": 3}
    if rng.random() < 0.08:
        return spec  # whatever stands for no limits
    kinds = ["worst_group", "worst_cluster", "any_cluster"]
    kinds += ["worst_slice"] * (spec["slices"] is not None) + ["local_bias"] * ("local_bias" in spec)
    kinds += ["metric", "four_fifths"] * (has_prediction and bool(protected))
    of = 8.0 if outcome == "amount" else 1.0
    several = rng.choice(kinds, rng.integers(0 if rng.random() < 0.2 else 1, 4))
    spec["gate"] = [_limit(str(kind), of, protected, rng) for kind in several]
    return spec


def _limit(kind: str, of: float, protected: list[str], rng: np.random.Generator) -> dict[str, Any]:
    most = round(of * float(rng.choice([0.02, 0.05, 0.1, 0.15, 0.3])), 3)
    if kind == "metric":
        return {"metric": "demographic_parity_difference", "facet": protected[0], "max": most}
    if kind == "four_fifths":
        return {"check": "four_fifths"}
    if kind == "local_bias":
        return {"check": "local_bias", "max_gap": most}
    own = {"min_share": float(rng.choice([0.1, 0.3]))} if kind == "worst_group" and rng.random() < 0.4 else {}
    return {"check": kind, "max_difference": most, **own}


def answered(asked: Case) -> tuple[Document, Document]:
    """Report and gate.json of an audit, through its door.

    Raises
    ------
    BDTError
        The door does not take what is asked.
    """
    spec = {"name": "random", **asked.spec}
    if asked.door == "frame":
        return _with_gate(audit(asked.frame, spec).document)
    if asked.door == "keywords":
        return _with_gate(audit(asked.frame, **asked.spec).document)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, written = folder / "random.csv", folder / "random.yaml"
        asked.frame.to_csv(data, index=False)
        written.write_text(json.dumps({**spec, "source": {"path": str(data)}}), encoding="utf-8")
        if asked.door == "gate":
            run_gate(Request(written, report=folder / "report"))
            made = [folder / "report" / one for one in ("report.json", "gate.json")]
            report, gate = (json.loads(one.read_text(encoding="utf-8")) for one in made)
            return report, gate
        if asked.door == "command":
            quick = {"worst_groups": {"permutations": 99}, "clustering": {"stability": 0}}
            proposed = spec_of(str(data), {**asked.spec, **quick})
            return _with_gate(audit(None, proposed).document)
        if asked.door == "init":
            written.unlink()
            write_spec(str(data), written)
        return _with_gate(audit(None, load_spec(written)).document)


def _with_gate(document: Document) -> tuple[Document, Document]:
    return document, build_gate_result(document, exit_code(document["verdict"]))


def contradictions(
    document: Document, gate: Document, *, certain: bool = False, language: str = "en"
) -> Iterator[tuple[str, str]]:
    """What an audit says against itself: the rule that is broken, and where.

    Parameters
    ----------
    document : dict
        report.json.
    gate : dict
        gate.json.
    certain : bool
        Whether a raw difference is certain that all searches could see.
    language : {"en", "nl"}
        Of the page that is read.
    """
    words = PHRASES[language]
    read = in_language(document, language)
    page, say = render_first_page(read), say_in(printed(read))
    limits = with_sentences(document)["gate"]
    broken = [one for one in limits if one["verdict"] == "fail" or one.get("broken_by")]
    denied = [(one, other) for one in limits for other in _beyond(one, document)]
    yield from (
        ("denied", f"{one['check']} {one['limit']:g}: {one['verdict']} beside {other['who']}, {other['low']:.3f}")
        for one, other in denied
        if one["verdict"] in ("pass", "inconclusive")
    )
    raw = certain or bool(document["findings"].get("at_first_sight")) or bool(_findings(document))
    for sentence in _sentences(page):
        if _has(words.nobody, sentence) and raw:
            scoped = _has(words.alike, sentence) and _has(words.at_first, page)
            if not scoped:
                yield "nobody", sentence
    shares = [_share(one) for one in limits if one["check"] == "worst_group"]
    shared = bool(shares) and None not in shares
    told = [say(one["sentence"]) for one in limits]
    for sentence in (*_sentences(_section(page)), *(each for one in told for each in _sentences(one))):
        if shared and _has(words.any_group, sentence) and not _has(words.share, sentence):
            yield "any", sentence
    for one, sentence in zip(limits, told, strict=True):
        yield from (
            ("scope", f"{one['check']}, no {what}: {sentence}") for what in _left_out(one, document, sentence, words)
        )
    if _has(words.yes, page) and broken:
        yield "yes", f"{', '.join(one['check'] for one in broken)} broken"
    if _has(words.more, page) and (broken or denied):
        yield "more", f"{len(broken)} broken, {len(denied)} findings beyond a limit"
    if document["verdict"]["verdict"] == "pass" and not limits:
        yield "none", str(document["verdict"]["sentence"])
    same = [(one["check"], one["verdict"]) for one in limits] == [
        (one["check"], one["verdict"]) for one in gate["limits"]
    ]
    code = {"pass": (0,), "no_limit": (0,), "fail": (0, 1)}.get(gate["verdict"], (1, 3))
    if not same or gate["verdict"] != document["verdict"]["verdict"] or gate["exit_code"] not in code:
        yield "apart", f"{gate['verdict']}, exit {gate['exit_code']}"


def in_language(document: Document, language: str) -> Document:
    """The same report, to be read in another language."""
    other = copy.deepcopy(document)
    other["spec"]["language"] = language
    return other


def _findings(document: Document) -> list[Document]:
    """Those that are worse off for certain than everybody else, at first sight."""
    return [one for one in document["findings"]["findings"] if one["low"] > 0.0]


def _beyond(limit: Document, document: Document) -> Iterator[Document]:
    """Confirmed findings of what a limit measures, of at least its share, that are beyond it for certain."""
    if limit["check"] not in SEARCHED:
        return
    every, scope = document["findings"]["findings"], limit.get("scope") or {}
    own = next((one["measured"] for one in every if one["found_by"] != "local_bias"), None)
    is_local = limit["check"] == "local_bias"
    for one in every:
        of_limit = one["found_by"] == "local_bias" if is_local else one["measured"] == scope.get("measured", own)
        if not is_local and one["found_by"] == "local_bias":
            of_limit = False  # compared with another group of its place, and not with everybody else
        remaining = one["remaining"]
        among_alike = one["low"] if remaining is None else remaining["remaining_low"]
        least = {"raw": one["low"], "remaining": among_alike}.get(str(scope.get("of")), min(one["low"], among_alike))
        if of_limit and one["share"] >= (_share(limit) or 0.0) and least > limit["limit"] + 1e-9:
            yield one


def _share(limit: Document) -> float | None:
    """From which share of the people on a limit judges groups; None where it names none."""
    share: float | None = (limit.get("scope") or limit).get("min_share")
    return share


def _left_out(limit: Document, document: Document, sentence: str, words: Phrases) -> Iterator[str]:
    """What belongs to a limit's scope, and is not in its sentence."""
    if limit["verdict"] == "not_testable" or (limit["check"] not in SEARCHED and "scope" not in limit):
        return
    scope = limit.get("scope")
    factors = document["spec"].get("legitimate") if limit["check"] == "worst_group" else None
    alike = factors if scope is None else scope.get("of") == "remaining" and scope.get("alike")
    has_confidence = limit["check"] in SEARCHED if scope is None else scope.get("confidence") is not None
    if _share(limit) is not None and not _has(words.share, sentence):
        yield "share"
    if alike and not _has(words.alike, sentence):
        yield "people alike"
    if has_confidence and not _has(words.confidence, sentence):
        yield "confidence"


def _section(page: str) -> str:
    """Of page 1 whether it may be used."""
    return page.split("\n## ")[1]


def _sentences(text: str) -> list[str]:
    return [one for one in re.split(r"(?<=[.!?])\s+|\n", text) if one]


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE | re.MULTILINE) is not None


def is_certain(asked: Case, document: Document) -> bool:
    """Whether people whom two conditions describe are worse off for certain, reckoned without the audit.

    Of groups of the share that it looked for: every audit looks at the columns that say who is harmed.
    """
    measured = _harm(asked.frame, asked.outcome)
    least = max(0.05, float((document["spec"].get("worst_groups") or {}).get("min_share") or 0.0))
    return any(
        len(columns) <= 2
        and inside.mean() >= least
        and _least(measured, inside, 2 if asked.outcome == "persons" else 1) > _LEAST_RAW * float(measured.std())
        for columns, inside in asked.planted
    )


def _harm(frame: pd.DataFrame, outcome: str) -> np.ndarray[Any, Any]:
    if outcome == "amount":
        return frame["days"].to_numpy(dtype=float)
    if outcome == "error":
        return (frame["repaid"] != frame["approved"]).to_numpy(dtype=float)
    return (
        1.0 - frame["approved"].to_numpy(dtype=float)
        if outcome == "granted"
        else frame["refused"].to_numpy(dtype=float)
    )


def _least(measured: np.ndarray[Any, Any], inside: Mask, rows_per_person: int) -> float:
    """How much worse they are at least: `_CERTAIN` standard errors below what was seen."""
    a, b = measured[inside], measured[~inside]
    if min(len(a), len(b)) < 2:
        return 0.0
    error = float(np.sqrt(rows_per_person * (a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))))
    return float(a.mean() - b.mean()) - _CERTAIN * error


def read(asked: Case) -> dict[str, Any]:
    """One audit, and what in it contradicts itself: a line of the file that is kept."""
    try:
        document, gate = answered(asked)
    except BDTError as error:
        return {"number": asked.number, "door": asked.door, "refused": str(error), "found": []}
    certain = is_certain(asked, document)
    languages = ("en", "nl") if asked.in_dutch else ("en",)
    found = [
        [rule, language, what]
        for language in languages
        for rule, what in contradictions(document, gate, certain=certain, language=language)
    ]
    told = {"verdict": document["verdict"]["verdict"], "limits": [one["check"] for one in document["gate"]]}
    return {
        "number": asked.number,
        "door": asked.door,
        "outcome": asked.outcome,
        "refused": None,
        **told,
        "found": found,
    }


def run(runs: str = "300", kept: str = "", done: bool = False, before: str = "", commit: str = "") -> None:
    """Make what has not been made yet, and write down how many audits contradict themselves, by rule."""
    file = Path(kept) if kept else None
    lines = {one["number"]: one for one in _kept(file)}
    for number in range(int(runs)):
        if number in lines or done:
            continue
        lines[number] = read(case(number))
        print(
            number,
            lines[number]["door"],
            lines[number].get("verdict"),
            [one[:2] for one in lines[number]["found"]],
            flush=True,
        )
        if file:
            with file.open("a", encoding="utf-8") as stream:
                print(json.dumps(lines[number]), file=stream)
    earlier = _kept(Path(before)) if before else []
    record("contradictions", studied(list(lines.values()), earlier, commit), keep=int(runs) >= 300 or bool(before))


def _kept(file: Path | None) -> list[dict[str, Any]]:
    lines = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    return [json.loads(line) for line in lines]


def studied(now: list[dict[str, Any]], before: list[dict[str, Any]], commit: str) -> dict[str, Any]:
    """How many audits break each rule, now and before."""
    columns = {"rule": "", "audits": ",", "before": ","}
    ours, theirs = _by_rule(now), _by_rule(before)
    rows = [[words, ours[rule] if now else None, theirs[rule] if before else None] for rule, words in RULES.items()]
    return {
        "audits": len(now),
        "refused": sum(one["refused"] is not None for one in now),
        "with_any": sum(bool(one["found"]) for one in now),
        "before_audits": len(before),
        "before_with_any": sum(bool(one["found"]) for one in before),
        "before_commit": commit,
        "by_rule": table(columns, rows),
    }


def _by_rule(lines: list[dict[str, Any]]) -> Counter[str]:
    return Counter(rule for one in lines for rule in {found[0] for found in one["found"]})
