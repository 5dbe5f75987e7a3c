"""Noise of the form for publication: drawn by a key of the owner's, so that the same count always has the same noise.

The cell key method of statistical offices (Fraser and Wooton, 2005), with two changes. The key of a count is made of
the whole table, not of the rows of the cell: where any row differs, all noise is drawn anew, so that nobody sees by
what stayed the same in which cell a person is. And noise is normal, so that what several counts tell together is known
exactly: where counts would differ by s, as a vector, if a person had another label or decision, the two are told apart
as well as two normal distributions s / deviation apart (Dong, Roth and Su, 2022), whatever is worked out of the counts
afterwards.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import secrets
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scipy.special import ndtr, ndtri

from bdt_core.errors import OutputError, SourceError
from bdt_core.sealed.canonical import canonical_bytes

DEVIATION = 7.5
"""Standard deviation of the noise, in people."""
EDITIONS = 10
"""Of so many editions of a table it is told what they tell together."""
VARIABLE = "BDT_PUBLICATION_KEY"
"""Names the file of the key, where it is not that of the user."""
_BYTES = 32
_OF_ITS_OWNER = 0o700


@dataclass(frozen=True)
class Noise:
    """Noise of the counts of one table.

    Attributes
    ----------
    key : bytes
        The owner's secret.
    table : str
        Fingerprint of the table.
    shifts : dict of str to float
        By a name: squared distance between the counts that are told with it where a person has one label and decision
        and where he has another one.
    """

    key: bytes
    table: str
    shifts: dict[Hashable, float] = field(default_factory=dict)

    def of(self, *what: Any) -> float:
        """A standard normal number for a count: the same for the same count of the same table.

        Parameters
        ----------
        what : JSON-able
            What is counted, with the exact count.

        Examples
        --------
        >>> noise = Noise(b"a secret", "sha256:1")
        >>> noise.of("women", 412) == noise.of("women", 412), noise.of("women", 412) == noise.of("women", 413)
        (True, False)
        """
        drawn = hmac.digest(self.key, canonical_bytes([self.table, *what]), hashlib.sha256)
        return float(ndtri((int.from_bytes(drawn[:8]) // 2**11 + 0.5) / 2.0**53))

    def guessed(self, editions: int = 1) -> float:
        """How often at best a label or decision is guessed right from so many editions, where .5 is a guess.

        By somebody who knows all else of everybody, of two possible ones; in whole percents, rounded up.

        Examples
        --------
        >>> Noise(b"", "", {"sex": 2.0}).guessed(), Noise(b"", "", {"sex": 2.0}).guessed(10), Noise(b"", "").guessed()
        (0.54, 0.62, 0.5)
        """
        distance = math.sqrt(editions * sum(self.shifts.values())) / DEVIATION
        return math.ceil(100.0 * float(ndtr(distance / 2.0))) / 100.0


def key_file() -> Path:
    """Where the owner's key is: the file that BDT_PUBLICATION_KEY names, else one of the user's on this machine."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".config" / "bdt" / "publication.key"


def owners_key() -> bytes:
    """The owner's key, which is made where there is none.

    Raises
    ------
    SourceError
        The file cannot be read, or holds no key.
    OutputError
        There is none, and none can be written.
    """
    path = key_file()
    with suppress(FileNotFoundError):
        return _read(path)
    try:
        _make(path)
    except OSError as error:
        raise OutputError(
            f"The key of the noise in forms for publication cannot be written to {path}: {error.strerror}. Set "
            f"{VARIABLE} to a file that can."
        ) from None
    return _read(path)


def _make(path: Path) -> None:
    """Write a new key, which its owner alone can read; another process may be the first, whose key stays then."""
    path.parent.mkdir(mode=_OF_ITS_OWNER, parents=True, exist_ok=True)
    written = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as stream:
        stream.write(f"{secrets.token_hex(_BYTES)}\n")
    try:
        with suppress(FileExistsError):
            os.link(written, path)
    finally:
        written.unlink()


def _read(path: Path) -> bytes:
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SourceError(
            f"The key of the noise in forms for publication cannot be read from {path}: {error.strerror}. Make it "
            f"readable, or set {VARIABLE} to another file."
        ) from None
    except ValueError:
        key = b""
    if len(key) < _BYTES:
        raise SourceError(
            f"{path} holds no key: {2 * _BYTES} hexadecimal digits were expected. Restore it, or remove it and a new "
            "one is made, with which all noise is drawn anew."
        )
    return key
