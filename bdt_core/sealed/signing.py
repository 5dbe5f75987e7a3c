"""Signatures of an Ed25519 key: DSSE envelopes, and the signatures of ``ssh-keygen -Y``.

Keys are files, as ``ssh-keygen -t ed25519`` or OpenSSL writes them. No service is asked, and no key is stored.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bdt_core.errors import DataError, SourceError, SpecError
from bdt_core.said import say

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PASSPHRASE = "BDT_KEY_PASSPHRASE"
"""The environment variable with a key's passphrase."""
NAMESPACE = "bdt"
"""What a signature of ``ssh-keygen -Y`` is for: ``-n bdt``. One made for another purpose counts for nothing here."""
_LONGEST = 100_000
"""Bytes; a file that is longer is no key."""
_MAGIC = b"SSHSIG"
_KIND = b"ssh-ed25519"
_HASHES = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_LINE = 70
_MEND = "Make one with: ssh-keygen -t ed25519 -f bdt-key"
_MEMBERS = {"payload", "payloadType", "signatures"}


class SignatureError(DataError):
    """A signature is not of this key and these bytes."""


def sign(payload: bytes, payload_type: str, key: Path) -> dict[str, Any]:
    """Sign bytes: a DSSE envelope.

    Parameters
    ----------
    payload : bytes
    payload_type : str
        What they are, as ``application/vnd.in-toto+json``; it is signed with them.
    key : Path
        A private Ed25519 key in OpenSSH's form or as PEM (PKCS 8). Its passphrase, where it has one, is read from the
        environment variable BDT_KEY_PASSPHRASE.

    Returns
    -------
    dict
        ``payload`` (base64), ``payloadType``, and ``signatures`` of one entry: ``keyid``, the key's name as ssh-keygen
        prints it, and ``sig`` (base64).

    Raises
    ------
    SpecError
        The file is no private Ed25519 key, or its passphrase is missing or wrong; or ``cryptography`` is not
        installed.
    SourceError
        The file cannot be read.

    References
    ----------
    DSSE 1.0.2, https://github.com/secure-systems-lab/dsse/blob/v1.0.2/protocol.md

    Examples
    --------
    >>> import tempfile
    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     key = Path(folder) / "key.pem"
    ...     new = Ed25519PrivateKey.generate()
    ...     _ = key.write_bytes(new.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    ...     verify(sign(b"{}", "application/json", key), key)
    b'{}'
    """
    private = _private_key(key)
    signature = private.sign(pre_authentication_encoding(payload_type, payload))
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": payload_type,
        "signatures": [{"keyid": _name(private.public_key()), "sig": base64.b64encode(signature).decode()}],
    }


def verify(envelope: Mapping[str, Any], public_key: Path) -> bytes:
    """Give what an envelope holds, once its signature is found to be of a key.

    Parameters
    ----------
    envelope : mapping
        As `sign` makes it, or another tool that writes DSSE. One signature of the key is enough.
    public_key : Path
        A public Ed25519 key in OpenSSH's form (``.pub``) or as PEM; a private one is read for its public half.

    Returns
    -------
    bytes
        The payload. What kind it is stands in ``payloadType``, which is signed, too.

    Raises
    ------
    SignatureError
        No signature is of this key and these bytes.
    SourceError
        It is no envelope, or the key cannot be read.
    SpecError
        The file is no Ed25519 key.
    """
    from cryptography.exceptions import InvalidSignature

    public, payload = _public_key(public_key), payload_of(envelope)
    encoded = pre_authentication_encoding(envelope["payloadType"], payload)
    for entry in _signatures(envelope):
        if entry.get("keyid", "") not in ("", _name(public)):
            continue
        try:
            public.verify(_from_base64(entry.get("sig")), encoded)
        except InvalidSignature:
            continue
        return payload
    raise SignatureError(
        say(
            "The envelope is not signed by {key}: it was changed since, or another key signed it ({names}).",
            key=_name(public),
            names=", ".join(names_of(envelope)) or "none",
        )
    )


def payload_of(envelope: Mapping[str, Any]) -> bytes:
    """What an envelope holds, whoever signed it.

    Raises
    ------
    SourceError
        It is no envelope.

    Examples
    --------
    >>> payload_of({"payload": "e30=", "payloadType": "application/json", "signatures": [{"sig": ""}]})
    b'{}'
    """
    if not isinstance(envelope, Mapping) or not isinstance(envelope.get("payloadType"), str):
        raise _no_envelope()
    _signatures(envelope)
    return _from_base64(envelope.get("payload"))


def names_of(envelope: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the keys that an envelope says it is signed by; only `verify` makes sure of one."""
    return tuple(str(entry["keyid"]) for entry in _signatures(envelope) if entry.get("keyid"))


def public_name(key: Path) -> str:
    """The name of a key, public or private, as ``ssh-keygen -l`` prints it: ``SHA256:`` and its fingerprint.

    Raises
    ------
    SpecError
        The file is no Ed25519 key.
    SourceError
        The file cannot be read.
    """
    return _name(_public_key(key))


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """The bytes that an envelope's signature is of.

    Examples
    --------
    >>> pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode(errors="surrogatepass")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def ssh_sign(message: bytes, key: Path) -> str:
    """Sign bytes as ``ssh-keygen -Y sign -n bdt`` does; ``ssh-keygen -Y verify -n bdt`` accepts it.

    Parameters
    ----------
    message : bytes
    key : Path
        As in `sign`.

    Returns
    -------
    str
        What stands in a file beside the signed one, of the same name and ``.sig``.

    Raises
    ------
    SpecError
        As in `sign`.
    SourceError
        As in `sign`.

    References
    ----------
    PROTOCOL.sshsig of OpenSSH.
    """
    private = _private_key(key)
    signature = private.sign(_ssh_signed(message, b"sha512"))
    fields = (_ssh_public(private.public_key()), NAMESPACE.encode(), b"", b"sha512", _ssh(_KIND, signature))
    return _armoured(_MAGIC + (1).to_bytes(4, "big") + _ssh(*fields))


def ssh_verify(message: bytes, signature: str, public_key: Path) -> None:
    """Make sure that a signature of ``ssh-keygen -Y sign -n bdt`` is of a key and of these bytes.

    Raises
    ------
    SignatureError
        It is not.
    SpecError
        The file is no Ed25519 key.
    SourceError
        The key cannot be read.
    """
    from cryptography.exceptions import InvalidSignature

    public = _public_key(public_key)
    wrong = SignatureError(say("The signature is not one of {key} for these bytes.", key=_name(public)))
    try:
        blob = base64.b64decode("".join(signature.split("\n")[1:-2]), validate=True)
        told_key, namespace, reserved, hash_name, inner = _ssh_fields(blob.removeprefix(_MAGIC)[4:])
        kind, bare = _ssh_fields(inner)
        hashed = _ssh_signed(message, hash_name)
    except (ValueError, KeyError, IndexError):
        raise wrong from None
    header = blob[: len(_MAGIC) + 4] == _MAGIC + (1).to_bytes(4, "big") and signature == _armoured(blob)
    if not header or (told_key, namespace, reserved, kind) != (_ssh_public(public), NAMESPACE.encode(), b"", _KIND):
        raise wrong
    try:
        public.verify(bare, hashed)
    except InvalidSignature:
        raise wrong from None


def _signatures(envelope: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All of them. Nothing stands beside what is signed or checked: whatever does was put there by somebody else."""
    entries = envelope.get("signatures")
    if not isinstance(entries, list) or not entries or not set(envelope) <= _MEMBERS:
        raise _no_envelope()
    if not all(isinstance(entry, Mapping) and set(entry) <= {"keyid", "sig"} for entry in entries):
        raise _no_envelope()
    return entries


def _no_envelope() -> SourceError:
    return SourceError(
        "This is no signed envelope (DSSE), which has payload, payloadType and signatures, and nothing else. Name a "
        "file that bdt attest wrote."
    )


def _from_base64(text: object) -> bytes:
    """Bytes of one text only: another text that stands for the same bytes was changed by somebody."""
    try:
        read = base64.b64decode(str(text), validate=True)
    except (binascii.Error, ValueError):
        raise _no_envelope() from None
    if base64.b64encode(read).decode() != text:
        raise _no_envelope()
    return read


def _private_key(path: Path) -> Ed25519PrivateKey:
    ed25519, serialization = _library()
    content = _content(path)
    passphrase = os.environ.get(PASSPHRASE, "").encode() or None
    opener = serialization.load_pem_private_key
    if b"BEGIN OPENSSH PRIVATE KEY" in content:
        opener = serialization.load_ssh_private_key
    try:
        key = _opened(opener, content, passphrase)
    except TypeError:  # it is locked, and no passphrase is given
        raise SpecError(f"{path} is locked with a passphrase. Set the environment variable {PASSPHRASE}.") from None
    except Exception:  # the libraries beneath raise kinds of their own
        locked = "" if passphrase is None else f", or {PASSPHRASE} is not its passphrase"
        raise SpecError(f"{path} is no private key that can be read{locked}. {_MEND}") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise SpecError(f"{path} is no Ed25519 key. {_MEND}")
    return cast("Ed25519PrivateKey", key)


def _opened(opener: Any, content: bytes, passphrase: bytes | None) -> Any:
    """Open a key, with the passphrase only where it has one."""
    try:
        return opener(content, None)
    except TypeError:
        return opener(content, passphrase)


def _public_key(path: Path) -> Ed25519PublicKey:
    ed25519, serialization = _library()
    content = _content(path)
    if b"PRIVATE KEY" in content:
        return _private_key(path).public_key()
    opener = serialization.load_ssh_public_key if content[:4] == b"ssh-" else serialization.load_pem_public_key
    try:
        key = opener(content.strip())
    except Exception:  # the libraries beneath raise kinds of their own
        raise SpecError(f"{path} is no public key that can be read. Name the file that ends in .pub.") from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise SpecError(f"{path} is no Ed25519 key. {_MEND}")
    return cast("Ed25519PublicKey", key)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_LONGEST)
    except OSError as error:
        raise SourceError(f"The key {path} cannot be read: {error.strerror or error}.") from None


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise SpecError('Signatures need the package cryptography. Try: pip install "cryptography[ssh]"') from None
    return ed25519, serialization


def _name(public: Ed25519PublicKey) -> str:
    digest = hashlib.sha256(_ssh_public(public)).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def _ssh_public(public: Ed25519PublicKey) -> bytes:
    return _ssh(_KIND, public.public_bytes_raw())


def _ssh_signed(message: bytes, hash_name: bytes) -> bytes:
    return _MAGIC + _ssh(NAMESPACE.encode(), b"", hash_name, _HASHES[hash_name](message).digest())


def _ssh(*fields: bytes) -> bytes:
    """Fields as SSH writes them, each after its length."""
    return b"".join(len(field).to_bytes(4, "big") + field for field in fields)


def _ssh_fields(blob: bytes) -> list[bytes]:
    fields = []
    while blob:
        length = int.from_bytes(blob[:4], "big")
        if len(blob) < 4 + length:
            raise ValueError
        fields.append(blob[4 : 4 + length])
        blob = blob[4 + length :]
    return fields


def _armoured(blob: bytes) -> str:
    text = base64.b64encode(blob).decode()
    return "\n".join([_BEGIN, *(text[i : i + _LINE] for i in range(0, len(text), _LINE)), _END, ""])
