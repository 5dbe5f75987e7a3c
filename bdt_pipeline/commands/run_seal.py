"""``bdt seal``: fix the plan of an audit, and for whom, before anybody has seen an outcome."""

from __future__ import annotations

from pathlib import Path

from bdt_core import words
from bdt_core.errors import OutputError
from bdt_core.sealed.seal import Seal, seal_of
from bdt_core.spec.reading import SEAL
from bdt_core.table.named_files import refuse_missing
from bdt_pipeline.commands.asked import Request


def run_seal(spec: Path, data: str | None, key: Path | None, out: Path | None) -> str:
    """Write the seal, and say what it holds.

    Raises
    ------
    BDTError
        The specification or the table is at fault, or a seal is there already.
    """
    audited = Request(spec, data).audited
    path = out or spec.parent / f"{audited.name}{SEAL}"
    if path.exists():
        raise OutputError(f"{path} is there already: a plan that was fixed stays as it is. Name another with --out.")
    refuse_missing(audited.source, "source.path" if data is None else "--data")
    seal = seal_of(audited)
    if key is not None:
        seal = seal.with_signature(key)
    seal.write(path)
    return f"{path}: plan {seal.plan_digest[:16]}…, fixed on {seal.time}. {_people_of(seal)} {_signed(seal)}"


def _people_of(seal: Seal) -> str:
    if seal.rows is None or seal.columns is None:
        return (
            "For whom is not in it: the features of these people cannot be read without all other columns, or are not "
            "known yet."
        )
    listed = words.printable(words.listing(seal.columns))
    return f"For {seal.rows:,} rows, of which nothing was read but {listed}: no label, prediction or bias variable."


def _signed(seal: Seal) -> str:
    if seal.signature is None:
        return "Nobody has signed it (--key)."
    return f"Signed by {seal.signature['signatures'][0]['keyid']}."
