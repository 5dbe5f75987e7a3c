"""The seal: the plan of an audit and the people it is for, fixed before anybody has seen an outcome."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdt_core.errors import OutputError, SourceError
from bdt_core.result import Part
from bdt_core.said import AsItIs, Numeral, Text, joined, say
from bdt_core.sealed.canonical import canonical_bytes, digest
from bdt_core.sealed.people import overlap
from bdt_core.sealed.plan import changes_between, plan_of
from bdt_core.spec import AuditSpec
from bdt_core.table.people import PeopleFingerprint
from bdt_core.version import installed_version
from bdt_core.words import percent

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "bdt-seal/1"
PAYLOAD = "application/vnd.bdt.seal+json"
"""What is signed: the canonical bytes of a seal without its signature."""
_CHANGES_TOLD = 4
_STAND_IN = "\N{REPLACEMENT CHARACTER}outcome"
"""Stands in the place of the outcome, of which nothing is read."""


@dataclass(frozen=True)
class Seal:
    """A plan that was fixed, and for whom.

    Attributes
    ----------
    name : str
        Of the audit.
    time : str
        When it was fixed, by the clock of the machine, as ``2026-11-27T03:00:00Z``.
    plan : mapping
        See `bdt_core.sealed.plan.plan_of`.
    plan_digest : str
    people : mapping or None
        Their fingerprint (`bdt_core.table.people.PeopleFingerprint`).
    rows : int or None
    columns : tuple of str or None
        Features and protected columns: all that was read.
    looks : int or None
        How many the plan allows.
    version : str
        Of the software.
    signature : mapping or None
        A DSSE envelope over the seal without it.
    """

    name: str
    time: str
    plan: Mapping[str, Any]
    plan_digest: str
    people: Mapping[str, Any] | None = None
    rows: int | None = None
    columns: tuple[str, ...] | None = None
    looks: int | None = None
    version: str = ""
    signature: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, path: Path) -> Seal:
        """Read a seal from its file.

        Raises
        ------
        SourceError
            It is not there, cannot be read or is no seal.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error.strerror}.") from None
        except ValueError:
            data = None
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise SourceError(f"{path.name} is no seal. Expected a file that `bdt seal` has written.")
        try:
            return cls(**{**data, "columns": None if data["columns"] is None else tuple(data["columns"])})
        except (KeyError, TypeError):
            raise SourceError(f"{path.name} is no whole seal: a member is missing, or one is unknown.") from None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {"format": FORMAT, **asdict(self), "columns": None if self.columns is None else list(self.columns)}

    @property
    def signed(self) -> bytes:
        """What a signature is of: all but itself."""
        return canonical_bytes({key: one for key, one in self.to_dict().items() if key != "signature"})

    @property
    def digest(self) -> str:
        """SHA-256 of what a signature is of."""
        return digest(json.loads(self.signed))

    def with_signature(self, key: Path) -> Seal:
        """The same, signed.

        Raises
        ------
        SpecError, SourceError
            The file is no private key, or cannot be read.
        """
        from bdt_core.sealed.signing import sign

        return replace(self, signature=sign(self.signed, PAYLOAD, key))

    def write(self, path: Path) -> None:
        """Write it into a new file.

        Raises
        ------
        OutputError
            It is there already, or cannot be written.
        """
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(json.dumps(self.to_dict(), indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        except FileExistsError:
            raise OutputError(
                f"{path} is there already: a plan that was fixed stays as it is. Name another file with --out."
            ) from None
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}.") from None


def seal_of(spec: AuditSpec) -> Seal:
    """Fix a plan, and the people that its source holds now.

    Of a text or Parquet file the features and protected columns are read, and nothing else. Of any other source no
    people are in the seal, for it hands over all its columns.

    Parameters
    ----------
    spec : AuditSpec

    Raises
    ------
    SourceError, DataError
        The table cannot be read, or does not fit the specification.
    """
    plan = plan_of(spec)
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    sealed = Seal(spec.name, now, plan, digest(plan), looks=spec.looks, version=installed_version())
    read = _features(spec)
    if read is None:
        return sealed
    frame, features, protected = read
    people = _people(frame, features, protected, spec)
    return replace(sealed, people=people.to_dict(), rows=len(frame), columns=(*features, *protected))


def _features(spec: AuditSpec) -> tuple[pd.DataFrame, list[str], list[str]] | None:
    """Features and protected columns, and which column is which; None where they cannot be read alone."""
    from bdt_core.table.column_types import stacked
    from bdt_core.table.files import FilesTable
    from bdt_core.table.named_files import filled, hiding_secrets
    from bdt_core.table.source_tables import refuse_without_rows
    from bdt_core.table.sources import as_source_reads_it

    source = spec.source
    if source.path is None or source.stacked is not None or (source.partition is None and source.names_a_part):
        return None
    path = filled(source.path, source, "source.path", is_pattern=True)
    with hiding_secrets(source.path):
        header = FilesTable(path, source).header()
        roles = None if header is None else _roles(header, spec)
        if roles is None:
            return None
        ages = {name: one for name, one in source.ages.items() if name in (*roles[0], *roles[1])}
        beside = {spec.split.key, *ages.values()}
        names = [one for one in header or () if one in (*roles[0], *roles[1]) or one in beside]
        table = FilesTable(path, source, only=names)
        table.settle(names, keep=True)
        refuse_without_rows(source, table.rows)
        frame = stacked(list(table.pieces(names)))
    frame.attrs = table.notes.beside(frame.attrs)
    return as_source_reads_it(frame, source.model_copy(update={"ages": ages})), *roles


def _roles(header: Sequence[str], spec: AuditSpec) -> tuple[list[str], list[str]] | None:
    """Features and protected columns by the names alone; None where some stand elsewhere, or say what happened."""
    from bdt_core.table.roles import assign_roles

    bias, source = spec.bias_variable, spec.source
    outcomes = {bias.column, bias.label, bias.prediction, *spec.group_columns(), *spec.numeric_columns(), *spec.scores}
    elsewhere = {*source.arrays, *((source.join.columns or ()) if source.join else ())}
    known = [*header, *(one for one in {*outcomes, *elsewhere} if one is not None and one not in header)]
    roles = assign_roles(known, spec)
    features, protected = ([name for name in roles if roles[name] == role] for role in ("feature", "protected"))
    unknown = source.join is not None and source.join.columns is None and spec.features.include is None
    if unknown or (outcomes | elsewhere) & {*features, *protected}:
        return None
    return features, protected


def _people(frame: pd.DataFrame, features: list[str], protected: list[str], spec: AuditSpec) -> PeopleFingerprint:
    """The fingerprint that an audit of these rows makes, which has outcomes besides."""
    from bdt_core.table.validate import complete_rows, settle, sketched_people, telling_of, type_rows

    kinds = {name: kind for name, kind in spec.features.kinds.items() if name in (*features, *protected)}
    without = AuditSpec.model_validate(
        {
            "name": spec.name,
            "source": {"path": "(DataFrame)"},
            "bias_variable": {"column": _STAND_IN, "better": "lower"},
            "features": {"include": features, "kinds": kinds},
            "protected": protected,
            "missing": spec.missing,
            "split": {"key": spec.split.key},
            **dict.fromkeys(("clustering", "slices", "worst_groups")),
            "gate": [],
        }
    )
    typed, roles, facts = type_rows(frame.assign(**{_STAND_IN: [row % 2 for row in range(len(frame))]}), without)
    settled = settle(facts, roles, without)
    keep, _ = complete_rows(typed, settled, without)
    return sketched_people(typed[keep], settled, telling_of(settled, facts)).fingerprint


class SealedPlan(Part):
    """What a report tells of the seal that was found.

    Attributes
    ----------
    time : str or None
        When the plan was fixed; None where the seal cannot be read.
    digest : str or None
        Of the seal.
    signed_by : str or None
        The key's name, as ssh-keygen prints it. Whether the signature is of it, `bdt verify` says.
    differs : tuple of Text
        What of this audit is not as the seal says.
    """

    time: str | None = None
    digest: str | None = None
    signed_by: str | None = None
    differs: tuple[Text, ...] = ()


def sealed_plan(spec: AuditSpec, people: PeopleFingerprint | None) -> SealedPlan | None:
    """Compare an audit with its seal; None where the specification has none.

    Parameters
    ----------
    spec : AuditSpec
    people : PeopleFingerprint or None
        Of those who were audited.
    """
    if spec.seal is None:
        return None
    try:
        seal = Seal.read(Path(spec.seal))
    except SourceError as error:
        return SealedPlan(differs=(AsItIs(str(error)),))
    signatures = (seal.signature or {}).get("signatures") or [{}]
    return SealedPlan(
        time=seal.time,
        digest=seal.digest,
        signed_by=signatures[0].get("keyid"),
        differs=seal_fits(spec, seal, people),
    )


def seal_digest(spec: AuditSpec) -> str | None:
    """The digest of the seal that a specification has; None without one, or where it cannot be read."""
    try:
        return None if spec.seal is None else Seal.read(Path(spec.seal)).digest
    except SourceError:
        return None


def seal_fits(spec: AuditSpec, seal: Seal, people: PeopleFingerprint | None) -> tuple[Text, ...]:
    """What of an audit is not as its seal says, in neutral words; empty where all is.

    Parameters
    ----------
    spec : AuditSpec
    seal : Seal
    people : PeopleFingerprint or None
        Of those who were audited; None says nothing about them.
    """
    plan = plan_of(spec)
    if digest(seal.plan) != seal.plan_digest or not _is_signed_as_it_is(seal):
        return (say("The seal was changed after it was written."),)
    changes = changes_between(seal.plan, plan)
    if seal.plan_digest != digest(plan) and not changes:
        changes = (say("The plan is written in another version of its form."),)
    return (*changes, *_other_people(seal, people))


def _is_signed_as_it_is(seal: Seal) -> bool:
    """Whether what was signed is what the seal says; by whom, only their public key can tell."""
    if seal.signature is None:
        return True
    from bdt_core.sealed.signing import payload_of

    try:
        return payload_of(seal.signature) == seal.signed
    except SourceError:
        return False


def _other_people(seal: Seal, people: PeopleFingerprint | None) -> tuple[Text, ...]:
    if seal.people is None or people is None:
        return ()
    sealed = PeopleFingerprint.from_dict(seal.people)
    if sealed.content == people.content:
        return ()
    common = overlap(people, sealed)
    if common is None:
        return (say("The people are others than those of the seal, or their features were changed."),)
    return (
        say(
            "{share} of the people of this audit are those of the seal, and {other} of those are in this audit.",
            share=percent(common.of_these),
            other=percent(common.of_those),
        ),
    )


def lacks(spec: AuditSpec, sealed: SealedPlan | None) -> tuple[Text, ...]:
    """Why nothing passes where a seal is required: there is none, or it does not fit; empty where one fits."""
    if spec.sealed != "required" or (sealed is not None and not sealed.differs):
        return ()
    if sealed is None:
        return (
            say(
                'The plan has to be fixed beforehand ("sealed: required"), and there is no seal of it. Write one '
                'with "bdt seal" for people whose outcomes nobody has seen yet, and audit these.'
            ),
        )
    return (
        say(
            'The plan has to be fixed beforehand ("sealed: required"), and this audit is not as its seal says. {what} '
            "Audit these people by the plan that was fixed, or seal this one for others.",
            what=joined(sealed.differs[:_CHANGES_TOLD], " "),
        ),
    )


def said_plan(sealed: SealedPlan | None, spec: Mapping[str, Any]) -> tuple[Text, ...]:
    """The sentences of page 1: when the plan was fixed, whether the audit keeps to it, and at which level.

    Parameters
    ----------
    sealed : SealedPlan or None
    spec : mapping
        The specification of the report.
    """
    sentences: list[Text] = []
    if sealed is not None and sealed.time is not None and not sealed.differs:
        sentences.append(
            say("The plan was fixed on {time}, as its seal says, and this audit keeps to it.", time=sealed.time)
        )
    elif sealed is not None:
        sentences.append(
            say("This audit is not as its seal says. {what}", what=joined(sealed.differs[:_CHANGES_TOLD], " "))
        )
    elif spec.get("sealed") == "required":
        sentences.append(say('The plan was not fixed beforehand, as "sealed: required" asks.'))
    level = spec.get("significance") or {}
    of_all, looks = level.get("alpha_of_all_looks"), spec.get("looks")
    if of_all is not None and looks is not None:
        sentences.append(
            say(
                "Level {N}: {Nall} over the {Nlooks} looks that the plan allows.",
                N=Numeral(f"{level['alpha']:.3g}"),
                Nall=Numeral(f"{of_all:.3g}"),
                Nlooks=Numeral(looks),
            )
        )
    return tuple(sentences)
