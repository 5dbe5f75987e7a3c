"""``bdt verify``: what holds is said, whatever was changed is found, in English and Dutch."""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from bdt_core.errors import BDTError
from bdt_core.sealed.attestation import read_attestations, read_folder
from bdt_core.sealed.canonical import canonical_bytes, digest_of_file
from bdt_core.sealed.signing import ssh_sign
from bdt_core.sealed.verify import Asked, checks_of, exit_code
from bdt_pipeline.commands.run_verify import audited_again
from tests.pipeline.sealed.conftest import Office, bdt

FLIPS = int(os.environ.get("BDT_FLIPS", "1000"))
"""How many bytes are changed, one at a time; the full size is 10,000."""


@pytest.fixture
def bundle(office: Office) -> Path:
    """A bundle of the report that passed, with its attestation, all of it signed."""
    assert bdt("attest", office.passed, "--subject", office.model, "--key", office.key()).exit_code == 0
    assert bdt("bundle", office.passed, "--key", office.key()).exit_code == 0
    return office.passed.with_suffix(".zip")


def test_of_a_bundle_everything_is_checked_that_can_be(office: Office, bundle: Path) -> None:
    options = ("--key", office.public(), "--subject", office.model, "--passed", "--data", office.folder / "loans.csv")
    done = bdt("verify", bundle, *options, "--again")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert all(line.startswith("Holds: ") for line in lines)
    for says in (
        "All 18 files are as the manifest says.",
        "Plan and counts are those of the report.",
        "gate.json says what the report does.",
        "report.html, report.pdf and report.md say what report.json does.",
        "The ledger is whole: each of its 2 lines follows from the one before.",
        "The ledger holds the look that wrote this report, with its plan and verdict, on 2026-",
        "The table is the one that was audited.",
        " numbers were recomputed from the table, by other code, and agree.",
        "Audited again, the table gives every number and word of report.json.",
        "The attestation is of this model or these predictions.",
        "The attestation says what the report does.",
        "The audit passed.",
    ):
        assert any(says in line for line in lines), says
    assert sum("Signed by SHA256:" in line for line in lines) == 4


def test_it_speaks_dutch(office: Office, bundle: Path) -> None:
    english = bdt("verify", bundle, "--key", office.public("somebody")).stdout.splitlines()
    dutch = bdt("verify", bundle, "--key", office.public("somebody"), "--language", "nl").stdout.splitlines()
    assert len(english) == len(dutch)
    assert not set(english) & set(dutch)
    assert sum(line.startswith("Klopt niet: De envelop is niet met SHA256:") for line in dutch) == 3
    assert bdt("verify", bundle, "--language", "xx").exit_code == 2


def test_without_a_key_signatures_are_not_taken_to_be_checked(office: Office, bundle: Path) -> None:
    done = bdt("verify", bundle)
    assert done.exit_code == 0
    assert "Not checked: Says that SHA256:" in done.stdout
    attestation = office.passed / "attestation.intoto.jsonl"
    assert bdt("verify", attestation).exit_code == 2
    for option in (("--passed",), ("--subject", office.model)):
        refused = bdt("verify", attestation, *option)
        assert refused.exit_code == 2
        assert "need --key: without a key anybody can have written what is checked" in refused.stderr


def test_an_unsigned_bundle_says_so(office: Office) -> None:
    assert bdt("bundle", office.passed).exit_code == 0
    bundle = office.passed.with_suffix(".zip")
    assert "Not checked: Nobody signed the bundle." in bdt("verify", bundle).stdout
    asked = bdt("verify", bundle, "--key", office.public())
    assert asked.exit_code == 1
    assert "Does not hold: Nobody signed the bundle." in asked.stdout


def spoiled(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def edited(path: Path, **members: object) -> None:
    spoiled(path, lambda content: json.dumps(json.loads(content) | members).encode())


@pytest.mark.parametrize(
    ("cheat", "says"),
    [
        ("another model", "The attestation is of another model or other predictions."),
        ("another table", "The table is not the one that was audited."),
        ("another key", "is not signed by SHA256:"),
        ("report edited", "No look in the ledger wrote this report: it was changed, or is from elsewhere."),
        ("gate edited", "gate.json says something else."),
        ("page edited", "report.html is not what report.json gives: it was changed, or drawn by other code."),
        ("old attestation", "The attestation is of another report."),
        (
            "attestation taken out",
            "Nothing says which model or predictions were audited: no attestation, and no about.model_file.",
        ),
        ("ledger cut", "The ledger: lines are missing at the end."),
        ("ledger reordered", "The ledger: lines before line 2 were changed, taken out or moved."),
        ("ledger of others", "No look in the ledger wrote this report"),
        ("failed", "The audit did not pass."),
    ],
)
def test_whatever_was_changed_in_a_folder_is_said(office: Office, cheat: str, says: str) -> None:
    for report in (office.passed, office.failed):
        assert bdt("attest", report, "--subject", office.model, "--key", office.key()).exit_code == 0
    folder, model, key, table = office.passed, office.model, office.public(), office.folder / "loans.csv"
    ledger = office.folder / "looks.jsonl"
    match cheat:
        case "another model":
            model.write_bytes(b"retrained")
        case "another table":
            spoiled(table, lambda content: content.replace(b",f,1,0", b",f,1,1", 1))
        case "another key":
            key = office.public("somebody")
        case "report edited":
            spoiled(folder / "report.json", lambda content: content.replace(b'"maximum": 0.9', b'"maximum": 0.1'))
        case "gate edited":
            edited(office.failed / "gate.json", verdict="pass")
            folder = office.failed
        case "page edited":
            spoiled(folder / "report.html", lambda content: content.replace(b"loans", b"loans, which are fine", 1))
        case "old attestation":
            (office.failed / "attestation.intoto.jsonl").replace(folder / "attestation.intoto.jsonl")
        case "attestation taken out":
            (folder / "attestation.intoto.jsonl").unlink()
        case "ledger cut":
            spoiled(ledger, lambda content: b"".join(content.splitlines(keepends=True)[:-1]))
        case "ledger reordered":
            spoiled(ledger, lambda content: b"".join(content.splitlines(keepends=True)[::-1]))
        case "ledger of others":
            spoiled(ledger, lambda content: b"".join(content.splitlines(keepends=True)[:1]))
        case "failed":
            folder = office.failed
    options = ("--key", key, "--subject", model, "--passed", "--data", table)
    done = bdt("verify", folder, *options)
    assert done.exit_code == 1, done.output
    assert any(line.startswith("Does not hold: ") and says in line for line in done.stdout.splitlines()), done.stdout


def test_a_number_that_was_changed_is_recomputed(office: Office) -> None:
    """Report, ledger and its end are made to fit; the table is not."""
    report = json.loads((office.passed / "report.json").read_text())
    report["groups"]["facets"][0]["groups"][0]["rates"]["accuracy"]["estimate"] += 0.01
    (office.passed / "report.json").write_text(json.dumps(report))
    done = bdt("verify", office.passed, "--data", office.folder / "loans.csv")
    assert done.exit_code == 1
    assert "Holds: The table is the one that was audited." in done.stdout
    assert "numbers of the report are not those of the table; the first is groups.facets[0]" in done.stdout


FALSIFIED = 50
_OF_THE_LOOK = ("spec", "software", "looks", "subject", "sentences")
"""What another audit of the table takes from the report: the ledger and the pages hold it."""


def numbers(part: Any) -> Iterator[tuple[Any, Any]]:
    """Every number that another audit finds, as what holds it and its place there."""
    for name, inner in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        if isinstance(inner, (int, float)):
            yield part, name
        elif name not in _OF_THE_LOOK:
            yield from numbers(inner)


def test_audited_again_every_number_that_was_changed_is_found(office: Office) -> None:
    """Without ledger, signature and pages: whoever falsifies a report makes them to fit.

    The table is audited once, since the plan stays as it is.
    """
    file = office.failed / "report.json"
    report = json.loads(file.read_bytes())
    places = list(numbers(report))
    made = audited_again(read_folder(office.failed), str(office.folder / "loans.csv"))
    asked = Asked(audit=lambda _: made)
    missed = []
    for part, name in random.Random(28).sample(places, FALSIFIED):
        before = part[name]
        part[name] = not before if isinstance(before, bool) else before * 1.0001 + 1e-6
        file.write_text(json.dumps(report))
        again = [one for one in checks_of(office.failed, asked)[0] if "Audited again" in str(one.sentence)]
        assert len(again) == 1
        if again[0].holds is not False or " in 1 place" not in str(again[0].sentence):
            missed.append((name, before, str(again[0].sentence)))
        part[name] = before
    assert missed == []
    file.write_text(json.dumps(report))
    assert exit_code(tuple(one for one in checks_of(office.failed, asked)[0] if "Audited" in str(one.sentence))) == 0


def test_a_table_is_audited_again_by_the_same_version_and_seal_or_not_at_all(office: Office) -> None:
    options = ("--data", office.folder / "loans.csv", "--again")
    spec = yaml.safe_load((office.folder / "passed.yaml").read_text())
    spec |= {"about": {"model_file": "model.bin"}, "sealed": "required", "looks": 1}
    (office.folder / "strict.yaml").write_text(yaml.safe_dump(spec))
    seal = office.folder / "loans.seal.json"
    assert bdt("seal", office.folder / "strict.yaml", *options[:2], "--out", seal).exit_code == 0
    report = office.folder / "strict"
    bdt("gate", office.folder / "strict.yaml", *options[:2], "--report", report)
    document = json.loads((report / "report.json").read_bytes())
    assert {"seal", "subject", "looks"} <= set(document)
    assert document["verdict"]["held_back"], "more looks than the plan allows"
    says = "Not checked: The table was not audited again: the seal by which it was audited is not here."
    assert says in bdt("verify", report, *options).stdout
    shutil.copy(seal, report)
    office.model.unlink()
    assert "Holds: Audited again" in bdt("verify", report, *options).stdout
    document["software"]["bdt"] = "0.0.1"
    (report / "report.json").write_text(json.dumps(document))
    says = "Not checked: The table was not audited again: another version wrote the report."
    assert says in bdt("verify", report, *options).stdout
    refused = bdt("verify", report, "--again")
    assert refused.exit_code == 2
    assert "--again needs --data" in refused.stderr


def test_a_table_of_another_form_is_not_recomputed(office: Office) -> None:
    table = office.folder / "loans.parquet"
    pd.read_csv(office.folder / "loans.csv").to_parquet(table)
    done = bdt("verify", office.passed, "--data", table)
    assert "Holds: The table is the one that was audited." in done.stdout
    assert "Not checked: The numbers could not be recomputed from this table" in done.stdout
    dutch = bdt("verify", office.passed, "--data", table, "--again", "--language", "nl").stdout
    assert "Klopt: Opnieuw onderzocht geeft de tabel elk getal en elk woord van report.json." in dutch


def test_an_old_bundle_does_not_let_a_new_model_pass(office: Office, bundle: Path) -> None:
    office.model.write_bytes(b"retrained")
    done = bdt("verify", bundle, "--key", office.public(), "--subject", office.model, "--passed")
    assert done.exit_code == 1
    assert "Does not hold: The attestation is of another model or other predictions." in done.stdout


def test_the_look_of_a_report_had_its_plan(office: Office) -> None:
    """A specification that was changed in report.json after the look, with the ledger's line made to fit."""
    ledger = office.folder / "looks.jsonl"
    before = digest_of_file(office.passed / "report.json")
    spoiled(office.passed / "report.json", lambda content: content.replace(b'"max": 0.9', b'"max": 0.8'))
    after = digest_of_file(office.passed / "report.json")
    assert before != after
    spoiled(ledger, lambda content: content.replace(before.encode(), after.encode()))
    done = bdt("verify", office.passed)
    assert done.exit_code == 1
    assert "The ledger holds another plan or verdict of the look that wrote this report." in done.stdout


@pytest.fixture
def sealed(office: Office) -> Office:
    """An audit whose plan was sealed and signed, and that was carried out so."""
    spec, options = office.folder / "passed.yaml", ("--data", office.folder / "loans.csv")
    seal = office.folder / "loans.seal.json"
    assert bdt("seal", spec, *options, "--key", office.key(), "--out", seal).exit_code == 0
    gated = bdt("gate", spec, *options, "--report", office.folder / "sealed")
    assert gated.exit_code == 0, gated.output
    return office


def test_an_audit_that_was_carried_out_as_it_was_sealed(sealed: Office) -> None:
    report, seal = sealed.folder / "sealed", sealed.folder / "loans.seal.json"
    assert bdt("attest", report, "--subject", sealed.model, "--key", sealed.key()).exit_code == 0
    assert bdt("bundle", report, "--seal", seal, "--key", sealed.key()).exit_code == 0
    done = bdt("verify", report.with_suffix(".zip"), "--key", sealed.public())
    assert done.exit_code == 0, done.output
    assert "Holds: The audit is as it was sealed, on 2" in done.stdout
    assert "Holds: The seal is of the plan in it." in done.stdout
    _, statements = read_attestations((report / "attestation.intoto.jsonl").read_bytes(), "it")
    digest = json.loads((report / "report.json").read_bytes())["seal"]["digest"]
    assert statements[0]["predicate"]["configuration"][1]["digest"] == {"sha256": digest}
    assert statements[1]["predicate"]["seal"]["digest"] == {"sha256": digest}
    assert bdt("verify", seal, "--key", sealed.public()).exit_code == 0
    assert bdt("verify", seal, "--key", sealed.public("somebody")).exit_code == 1


def test_an_audit_with_another_plan_than_the_sealed_one(sealed: Office) -> None:
    seal = sealed.folder / "loans.seal.json"
    assert bdt("bundle", sealed.failed, "--seal", seal).exit_code == 0
    done = bdt("verify", sealed.failed.with_suffix(".zip"))
    assert done.exit_code == 1
    assert "Does not hold: The audit is not as it was sealed." in done.stdout


def test_a_seal_whose_plan_was_changed(sealed: Office) -> None:
    seal = sealed.folder / "loans.seal.json"
    spoiled(seal, lambda content: content.replace(b'"max": 0.9', b'"max": 0.5'))
    done = bdt("verify", seal, "--key", sealed.public())
    assert done.exit_code == 1
    assert "Does not hold: The plan in the seal was changed." in done.stdout
    assert "Does not hold: What SHA256:" in done.stdout
    seal.write_text("{}")
    assert bdt("verify", seal).exit_code == 2


def test_a_ledger_is_checked_by_itself(office: Office) -> None:
    ledger = office.folder / "looks.jsonl"
    done = bdt("verify", ledger)
    assert done.exit_code == 0
    assert done.stdout == "Holds: The ledger is whole: each of its 4 lines follows from the one before.\n"
    (office.folder / "looks.head").unlink()
    assert "Does not hold: The ledger: the file looks.head" in bdt("verify", ledger).stdout


def test_a_signature_of_ssh_keygen_beside_a_file_is_checked(office: Office) -> None:
    ledger = office.folder / "looks.jsonl"
    beside = office.folder / "looks.jsonl.sig"
    beside.write_text(ssh_sign(ledger.read_bytes(), office.key()))
    assert "Holds: Signed by SHA256:" in bdt("verify", ledger, "--key", office.public()).stdout
    assert bdt("verify", ledger, "--key", office.public("somebody")).exit_code == 1
    beside.write_text(ssh_sign(b"an older ledger", office.key()))
    assert bdt("verify", ledger, "--key", office.public()).exit_code == 1


def test_a_ledger_that_others_kept_counts_before_that_in_the_bundle(office: Office, bundle: Path) -> None:
    kept = office.folder / "kept" / "looks.jsonl"
    kept.parent.mkdir()
    kept.write_bytes((office.folder / "looks.jsonl").read_bytes())
    (kept.parent / "looks.head").write_bytes((office.folder / "looks.head").read_bytes())
    assert "each of its 4 lines" in bdt("verify", bundle, "--ledger", kept).stdout
    kept.write_bytes(b"")
    assert bdt("verify", bundle, "--ledger", kept).exit_code == 1


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nowhere", "nowhere cannot be read: No such file"),
        (".", "There is no report.json. Name the folder of a report that bdt audit or bdt gate wrote."),
        ("loans.csv", "loans.csv is no bundle, report, ledger or signed attestation, or was changed."),
        ("model.bin", "model.bin is no bundle, report, ledger or signed attestation, or was changed."),
    ],
)
def test_what_cannot_be_read_is_said_by_name(
    office: Office, path: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(office.folder)
    done = bdt("verify", path)
    assert done.exit_code == 2
    assert says in done.stderr


def test_a_table_that_cannot_be_read_or_audited_is_said(office: Office) -> None:
    for table in ("nowhere.csv", office.model):
        done = bdt("verify", office.passed, "--data", table)
        assert done.exit_code == 2
        assert "Error: " in done.stderr


def is_found(path: Path, asked: Asked) -> bool:
    try:
        checks, _ = checks_of(path, asked)
    except BDTError:
        return True
    return exit_code(checks) != 0


@pytest.mark.parametrize("which", ["bundle", "unsigned bundle", "attestation", "ledger", "seal", "signature"])
def test_every_byte_that_is_flipped_is_found(office: Office, bundle: Path, which: str) -> None:
    asked = Asked(None if which == "unsigned bundle" else office.public())
    path = {
        "attestation": office.passed / "attestation.intoto.jsonl",
        "ledger": office.folder / "looks.jsonl",
        "seal": office.folder / "loans.seal.json",
        "signature": office.folder / "looks.jsonl",
    }.get(which, bundle)
    changed = path
    if which == "unsigned bundle":
        assert bdt("bundle", office.passed).exit_code == 0
    if which == "seal":
        seal_options = ("--data", office.folder / "loans.csv", "--key", office.key(), "--out", path)
        assert bdt("seal", office.folder / "passed.yaml", *seal_options).exit_code == 0
    if which == "signature":
        changed = path.with_name(f"{path.name}.sig")
        changed.write_text(ssh_sign(path.read_bytes(), office.key()))
    assert not is_found(path, asked)
    whole, draw = changed.read_bytes(), random.Random(which)
    missed = []
    for place in [0, len(whole) - 1, *(draw.randrange(len(whole)) for _ in range(FLIPS // 6))]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << draw.randrange(8)
        changed.write_bytes(flipped)
        if not is_found(path, asked):
            missed.append(place)
    assert missed == []


def test_a_bundle_whose_manifest_was_made_to_fit_is_not_signed(office: Office, bundle: Path) -> None:
    """Whoever edits the report, and makes manifest and zip anew, has no signature of them."""
    from bdt_core.sealed import bundle as bundles

    files = bundles.read_bundle(bundle.read_bytes(), "it")
    files["gate.md"] = files["gate.md"].replace(b"sex", b"age")
    manifest = json.loads(files["manifest.json"]) | {"files": bundles.digests_of(files)}
    files["manifest.json"] = canonical_bytes(manifest)
    bundle.write_bytes(bundles._packed(files))
    assert bdt("verify", bundle).exit_code == 0
    done = bdt("verify", bundle, "--key", office.public())
    assert done.exit_code == 1
    assert "Does not hold: What SHA256:" in done.stdout


def test_a_form_for_publication_is_named(office: Office) -> None:
    table, form = office.folder / "loans.csv", office.folder / "form"
    spec = yaml.safe_load((office.folder / "passed.yaml").read_text()) | {"source": {"path": str(table)}}
    (office.folder / "own.yaml").write_text(yaml.safe_dump(spec))
    assert bdt("audit", office.folder / "own.yaml", "--for", "publication", "--out", form).exit_code == 0
    done = bdt("verify", form)
    assert done.exit_code == 2
    assert "report.json is the form for publication" in done.stderr


def test_a_report_of_which_nothing_can_be_drawn_was_changed_and_one_of_another_version_is_not_drawn(
    office: Office,
) -> None:
    report = json.loads((office.passed / "report.json").read_text())
    edited(office.passed / "report.json", clusters=[])
    assert "Does not hold: No page can be drawn of report.json" in bdt("verify", office.passed).stdout
    edited(office.passed / "report.json", clusters=report["clusters"], software=report["software"] | {"bdt": "0.0.1"})
    assert "Not checked: The pages for people were not drawn anew" in bdt("verify", office.passed).stdout
