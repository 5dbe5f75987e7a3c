"""Checks of a bundle, a report, an attestation, a ledger or its page: what holds, and what does not."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bdt_core.errors import SourceError
from bdt_core.said import AsItIs, Text, say
from bdt_core.sealed import bundle as bundles
from bdt_core.sealed.attestation import (
    ATTESTATION,
    BIAS_AUDIT,
    SEAL,
    TEST_RESULT,
    AuditFiles,
    audit_of,
    digests_of,
    read_attestations,
    read_folder,
    result_of,
)
from bdt_core.sealed.canonical import canonical_bytes, digest
from bdt_core.sealed.ledger import FILE as LEDGER
from bdt_core.sealed.ledger import HEAD, Chain, Ledger
from bdt_core.sealed.seal import PAYLOAD as SEAL_TYPE
from bdt_core.sealed.signing import SignatureError, names_of, public_name, ssh_verify, verify
from bdt_core.words import count, listing

_PAGES = (".html", ".pdf", ".md")
"""Endings of the page on looks, beside that of its data."""


@dataclass(frozen=True)
class Checked:
    """An answer.

    Attributes
    ----------
    holds : bool or None
        None where nobody could check it.
    sentence : Text
    """

    holds: bool | None
    sentence: Text


@dataclass(frozen=True)
class Asked:
    """What is to be checked beside the bytes themselves.

    Attributes
    ----------
    key : Path, optional
        The public key by which everything has to be signed.
    subject : str, optional
        SHA-256 of the model or the predictions that it has to be about.
    passed : bool
        Whether the audit has to have passed.
    ledger : Path, optional
        The ledger; by default the one in the bundle, or beside the report's folder.
    fingerprint : callable, optional
        Gives the fingerprint of the table that has to be the audited one.
    recompute : callable, optional
        Gives what `recompute.py` prints of a report and that table.
    redraw : callable, optional
        Gives the forms of a report for people, by name, drawn anew; None where another version drew them.
    audit : callable, optional
        Gives report.json as an audit of that table gives it now, by the report's specification; a sentence where there
        can be none.
    """

    key: Path | None = None
    subject: str | None = None
    passed: bool = False
    ledger: Path | None = None
    fingerprint: Callable[[AuditFiles], str] | None = None
    recompute: Callable[[AuditFiles], str] | None = None
    redraw: Callable[[AuditFiles], Mapping[str, bytes] | None] | None = None
    audit: Callable[[AuditFiles], Mapping[str, Any] | Text] | None = None


def checks_of(path: Path, asked: Asked) -> tuple[tuple[Checked, ...], str]:
    """Check a bundle, the folder of a report, a file of attestations, a ledger, the page on its looks, or a seal.

    Parameters
    ----------
    path : Path
    asked : Asked

    Returns
    -------
    tuple of Checked
    str
        The language of the report; English where there is none.

    Raises
    ------
    BDTError
        The path, the key, the ledger or the table cannot be read.
    """
    if path.is_dir():
        report, ledger = read_folder(path), asked.ledger or path.resolve().parent / LEDGER
        chain = _read_chain(ledger) if asked.ledger or ledger.is_file() else None
        return tuple(_of_report(report, chain, asked)), _language(report)
    content = _read(path)
    beside = tuple(_of_file_beside(path, content, asked.key))
    if path.name == LEDGER:
        return (*_of_ledger(_read_chain(path)), *beside), "en"
    if path.name.endswith(SEAL):
        return (*_of_seal(content, str(path), asked), *beside), "en"
    if path.suffix in _PAGES or _is_of_looks(content):
        return (*_of_page(path, content, asked), *beside), "en"
    if content[:2] != b"PK":
        return (*_of_attestations(content, asked, str(path)), *beside), "en"
    try:
        files = bundles.read_bundle(content, str(path))
        report = bundles.report_in(files, str(path))
    except SourceError as error:
        return (Checked(False, error.sentence), *beside), "en"
    ledger_in = Chain.of(files[LEDGER], json.loads(files.get(HEAD, b"{}"))) if LEDGER in files else None
    chain = ledger_in if asked.ledger is None else _read_chain(asked.ledger)
    return (*_of_bundle(files, report, asked), *_of_report(report, chain, asked), *beside), _language(report)


def exit_code(checks: tuple[Checked, ...]) -> int:
    """0 all holds, 1 something does not, 2 nothing could be checked.

    Examples
    --------
    >>> exit_code(()), exit_code((Checked(True, ""), Checked(None, ""))), exit_code((Checked(False, ""),))
    (2, 0, 1)
    """
    answers = {check.holds for check in checks}
    return 1 if False in answers else 0 if True in answers else 2


def _of_page(path: Path, content: bytes, asked: Asked) -> Iterator[Checked]:
    """Whether a page on looks is signed, and tells of all lines that a ledger has."""
    if not path.with_name(f"{path.name}.sig").is_file():
        yield Checked(None if asked.key is None else False, say("Nobody signed the page."))
    elif asked.key is None:
        yield Checked(None, say("Somebody signed the page; name the public key with --key to check who."))
    if asked.ledger is not None and _is_of_looks(content):
        chain, page = _read_chain(asked.ledger), json.loads(content)
        yield _either(
            (chain.lines, chain.head) == (page["lines"], page["head"]),
            say("The page tells of all lines of the ledger."),
            say("The ledger has other lines than the page tells of."),
        )


def _is_of_looks(content: bytes) -> bool:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and {"looks", "lines", "head", "problems"} <= set(data)


def _of_bundle(files: Mapping[str, bytes], report: AuditFiles, asked: Asked) -> Iterator[Checked]:
    yield Checked(True, say("All {N} files are as the manifest says.", N=count(len(files))))
    envelope, signature = files.get(bundles.ENVELOPE), files.get(bundles.SIGNATURE)
    if envelope is None or signature is None:
        yield Checked(None if asked.key is None else False, say("Nobody signed the bundle."))
    else:
        yield from _signed(json.loads(envelope), asked.key, files[bundles.MANIFEST], bundles.MANIFEST_TYPE)
        if asked.key is not None:
            yield _of_ssh(files[bundles.MANIFEST], signature, asked.key)
    own = {bundles.PLAN: report.plan, bundles.COUNTS: bundles.counts_of(report.document)}
    same = all(files.get(name) == canonical_bytes(data) for name, data in own.items())
    yield _either(same, say("Plan and counts are those of the report."), say("Plan or counts are not of this report."))


def _of_report(report: AuditFiles, chain: Chain | None, asked: Asked) -> Iterator[Checked]:
    document = report.document
    if "gate.json" in report.files:
        gate = json.loads(report.files["gate.json"])
        same = (gate["verdict"], gate["sentence"]) == tuple(document["verdict"][x] for x in ("verdict", "sentence"))
        yield _either(same, say("gate.json says what the report does."), say("gate.json says something else."))
    if asked.redraw is not None:
        yield from _of_forms(report.files, asked.redraw(report))
    if report.seal is not None:
        yield from _of_seal(report.files[report.seal], report.seal, asked)
        sealed = json.loads(report.files[report.seal])
        day, in_report = str(sealed.get("time"))[:10], document.get("seal") or {}
        fits = sealed.get("plan_digest") == digest(report.plan) and not in_report.get("differs")
        yield _either(
            fits and in_report.get("digest") == digest({k: x for k, x in sealed.items() if k != "signature"}),
            say("The audit is as it was sealed, on {day}.", day=day),
            say("The audit is not as it was sealed."),
        )
    if chain is None:
        yield Checked(None, say("There is no ledger of looks, so that nobody knows how many there were."))
    else:
        yield from _of_ledger(chain)
        yield from _of_look(report, chain)
    if asked.fingerprint is not None:
        yield _either(
            asked.fingerprint(report) == document["data"]["fingerprint"],
            say("The table is the one that was audited."),
            say("The table is not the one that was audited."),
        )
    if asked.recompute is not None:
        yield _recomputed(asked.recompute(report))
    if asked.audit is not None:
        yield _audited_again(document, asked.audit(report))
    audited = (document.get("subject") or {}).get("sha256")
    if asked.subject is not None and audited is not None:
        yield _either(
            audited == asked.subject,
            say("The audit is of this model or these predictions."),
            say("The audit is of another model or other predictions."),
        )
    if ATTESTATION in report.files:
        yield from _of_attestations(report.files[ATTESTATION], asked, ATTESTATION, report)
    elif asked.subject is not None and audited is None:
        yield Checked(
            False, say("Nothing says which model or predictions were audited: no attestation, and no about.model_file.")
        )
    if asked.passed:
        yield _passed({result_of(report)["result"]})


def _of_forms(files: Mapping[str, bytes], drawn: Mapping[str, bytes] | None) -> Iterator[Checked]:
    """Whether people are told what report.json says."""
    if drawn is None:
        yield Checked(None, say("The pages for people were not drawn anew: another version wrote the report."))
        return
    if not drawn:
        yield Checked(False, say("No page can be drawn of report.json: it was changed."))
    known = [name for name in drawn if name in files]
    others = [name for name in known if files[name] != drawn[name]]
    for name in others:
        yield Checked(
            False, say("{file} is not what report.json gives: it was changed, or drawn by other code.", file=name)
        )
    if known and not others:
        yield Checked(True, say("{files} say what report.json does.", files=listing(known)))


def _of_seal(content: bytes, called: str, asked: Asked) -> Iterator[Checked]:
    try:
        sealed = json.loads(content)
        signature = sealed.pop("signature")
        is_whole = sealed["plan_digest"] == digest(sealed["plan"])
    except (ValueError, LookupError, TypeError, AttributeError):
        raise SourceError(say("{file} is no seal, or was changed.", file=called)) from None
    yield _either(is_whole, say("The seal is of the plan in it."), say("The plan in the seal was changed."))
    if signature is None:
        yield Checked(None if asked.key is None else False, say("Nobody signed the seal."))
    else:
        yield from _signed(signature, asked.key, canonical_bytes(sealed), SEAL_TYPE)


def _of_ledger(chain: Chain) -> Iterator[Checked]:
    yield from (Checked(False, say("The ledger: {problem}.", problem=problem)) for problem in chain.problems)
    if not chain.problems:
        yield Checked(
            True, say("The ledger is whole: each of its {N} lines follows from the one before.", N=count(chain.lines))
        )


def _of_look(report: AuditFiles, chain: Chain) -> Iterator[Checked]:
    ended = next((event for event in chain.events if event.get("report") == report.digest), None)
    if ended is None:
        yield Checked(False, say("No look in the ledger wrote this report: it was changed, or is from elsewhere."))
        return
    begun = next((x for x in chain.events if x["look"] == ended["look"] and x["event"] == "begun"), {})
    yield _either(
        begun.get("plan") == report.plan and ended.get("verdict") == report.document["verdict"]["verdict"],
        say(
            "The ledger holds the look that wrote this report, with its plan and verdict, on {day}.",
            day=ended["time"][:10],
        ),
        say("The ledger holds another plan or verdict of the look that wrote this report."),
    )


def _of_attestations(content: bytes, asked: Asked, called: str, report: AuditFiles | None = None) -> Iterator[Checked]:
    envelopes, statements = read_attestations(content, called)
    for envelope in envelopes:
        yield from _signed(envelope, asked.key)
    if asked.subject is not None:
        yield _either(
            digests_of(statements) == {asked.subject},
            say("The attestation is of this model or these predictions."),
            say("The attestation is of another model or other predictions."),
        )
    if report is not None:
        own = {TEST_RESULT: result_of(report), BIAS_AUDIT: audit_of(report)}
        yield _either(
            {x["predicateType"]: _of_report_only(x["predicate"]) for x in statements}
            == {kind: _of_report_only(predicate) for kind, predicate in own.items()},
            say("The attestation says what the report does."),
            say("The attestation is of another report."),
        )
    elif asked.passed:
        yield _passed({x["predicate"].get("result") for x in statements if x["predicateType"] == TEST_RESULT})


def _signed(
    envelope: Mapping[str, Any], key: Path | None, payload: bytes | None = None, kind: str | None = None
) -> Iterator[Checked]:
    """Whether an envelope is signed by the key, and of what it should be."""
    if key is None:
        names = ", ".join(names_of(envelope))
        yield Checked(None, say("Says that {key} signed it; name the public key with --key to check that.", key=names))
        return
    try:
        is_ours = verify(envelope, key) == payload or payload is None
    except (SignatureError, SourceError) as error:
        yield Checked(False, error.sentence)
        return
    is_ours = is_ours and envelope["payloadType"] == (kind or envelope["payloadType"])
    name = public_name(key)
    yield _either(is_ours, say("Signed by {key}.", key=name), say("What {key} signed is something else.", key=name))


def _of_ssh(message: bytes, signature: bytes, key: Path) -> Checked:
    try:
        ssh_verify(message, signature.decode("latin-1"), key)
    except SignatureError as error:
        return Checked(False, error.sentence)
    return Checked(True, say("Signed by {key}, as ssh-keygen does it.", key=public_name(key)))


def _of_file_beside(path: Path, content: bytes, key: Path | None) -> Iterator[Checked]:
    """Of what ``ssh-keygen -Y sign`` wrote beside a file."""
    beside = path.with_name(f"{path.name}.sig")
    if key is not None and beside.is_file():
        yield _of_ssh(content, _read(beside), key)


def _recomputed(printed: str) -> Checked:
    """Of what the independent verifier prints."""
    counts, differing = (
        re.findall(r": (\d+) recomputed", printed),
        re.findall(r"^differs: (\S+)", printed, re.MULTILINE),
    )
    if differing:
        sentence = say(
            "{N} numbers of the report are not those of the table; the first is {place}.",
            N=count(len(differing)),
            place=differing[0],
        )
        return Checked(False, sentence)
    numbers = sum(map(int, counts))
    if not numbers:
        return Checked(None, say("The numbers could not be recomputed from this table, which has to be CSV for that."))
    return Checked(True, say("{N} numbers were recomputed from the table, by other code, and agree.", N=count(numbers)))


def _audited_again(document: Mapping[str, Any], made: Mapping[str, Any] | Text) -> Checked:
    """Of another audit of the same table, which finds what no other code recomputes: searches, and what is drawn."""
    if isinstance(made, str):
        return Checked(None, made)
    places = list(_differing(document, made))
    if not places:
        return Checked(True, say("Audited again, the table gives every number and word of report.json."))
    return Checked(
        False,
        say(
            "Audited again, the table gives something else than report.json in {N} places; the first is {place}.",
            N=count(len(places)),
            place=AsItIs(places[0]),
        ),
    )


def _differing(reported: Any, made: Any, place: str = "") -> Iterator[str]:
    """Where two reports differ, by more than the last digits of which processors make different ones.

    Examples
    --------
    >>> list(_differing({"a": [1, {"b": 0.1 + 0.2}], "c": True}, {"a": [1, {"b": 0.3}], "c": 1}))
    ['c']
    """
    if isinstance(reported, dict) and isinstance(made, dict):
        for name in {**reported, **made}:  # no set: that has another order each time
            yield from _differing(reported.get(name), made.get(name), f"{place}.{name}".removeprefix("."))
    elif isinstance(reported, list) and isinstance(made, list) and len(reported) == len(made):
        for number, (left, right) in enumerate(zip(reported, made, strict=True)):
            yield from _differing(left, right, f"{place}[{number}]")
    elif type(reported) is float and type(made) is float and math.isclose(reported, made, rel_tol=1e-9, abs_tol=1e-12):
        return
    elif type(reported) is not type(made) or reported != made:
        yield place


def _passed(results: set[object]) -> Checked:
    return _either(results == {"PASSED"}, say("The audit passed."), say("The audit did not pass."))


def _either(holds: bool, it_holds: Text, it_does_not: Text) -> Checked:
    return Checked(holds, it_holds if holds else it_does_not)


def _of_report_only(predicate: Mapping[str, Any]) -> dict[str, Any]:
    """A predicate without what is not in report.json: the seal, and the version that signed."""
    return {name: x for name, x in predicate.items() if name not in ("configuration", "seal", "tool")}


def _read_chain(ledger: Path) -> Chain:
    """The ledger as whoever wrote it reads it; its end stands in a file beside it."""
    content = _read(ledger)
    return Ledger(ledger.parent).read() if ledger.name == LEDGER else Chain.of(content, None)


def _language(report: AuditFiles) -> str:
    return str(report.document["spec"].get("language") or "en")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}.") from None
