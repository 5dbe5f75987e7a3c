"""Envelopes and signatures: what other tools read, and what is refused."""

import base64
import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey

from bdt_core.errors import SourceError, SpecError
from bdt_core.sealed.signing import (
    SignatureError,
    names_of,
    payload_of,
    public_name,
    sign,
    ssh_sign,
    ssh_verify,
    verify,
)

TYPE = "application/vnd.in-toto+json"
PAYLOAD = '{"verdict": "café"}'.encode()
SSH_KEYGEN = shutil.which("ssh-keygen")
needs_ssh_keygen = pytest.mark.skipif(SSH_KEYGEN is None, reason="ssh-keygen is not installed")


def written_key(
    folder: Path, name: str, form: PrivateFormat, locked: KeySerializationEncryption | None = None, seed: int = 1
) -> Path:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    path = folder / name
    path.write_bytes(key.private_bytes(Encoding.PEM, form, locked or NoEncryption()))
    is_ssh = form is PrivateFormat.OpenSSH
    encoding = (Encoding.OpenSSH, PublicFormat.OpenSSH) if is_ssh else (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    path.with_name(f"{name}.pub").write_bytes(key.public_key().public_bytes(*encoding))
    path.chmod(0o600)
    return path


@pytest.fixture(params=[PrivateFormat.OpenSSH, PrivateFormat.PKCS8], ids=["ssh", "pem"])
def key(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return written_key(tmp_path, "key", request.param)


@pytest.fixture
def ssh_key(tmp_path: Path) -> Path:
    return written_key(tmp_path, "ssh", PrivateFormat.OpenSSH)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return written_key(tmp_path, "other", PrivateFormat.OpenSSH, seed=2)


def public(path: Path) -> Path:
    return path.with_name(f"{path.name}.pub")


def test_what_is_signed_is_given_back_to_whoever_has_the_public_key(key: Path) -> None:
    envelope = sign(PAYLOAD, TYPE, key)
    assert verify(envelope, public(key)) == verify(envelope, key) == PAYLOAD
    assert names_of(envelope) == (public_name(public(key)),)


def test_a_key_has_one_name_in_all_its_forms(tmp_path: Path) -> None:
    ssh, pem = (
        written_key(tmp_path, name, form)
        for name, form in (("ssh", PrivateFormat.OpenSSH), ("pem", PrivateFormat.PKCS8))
    )
    assert len({public_name(path) for path in (ssh, public(ssh), pem, public(pem))}) == 1


def test_another_key_is_told_by_both_names(key: Path, other: Path) -> None:
    with pytest.raises(SignatureError) as told:
        verify(sign(PAYLOAD, TYPE, key), public(other))
    assert public_name(key) in str(told.value)
    assert public_name(other) in str(told.value)


@pytest.mark.parametrize("member", ["payload", "payloadType", "sig", "keyid"])
def test_no_part_of_an_envelope_can_be_changed(key: Path, member: str) -> None:
    envelope = sign(PAYLOAD, TYPE, key)
    part = envelope["signatures"][0] if member in ("sig", "keyid") else envelope
    part[member] = {"payload": base64.b64encode(b"{}").decode(), "payloadType": "text/plain"}.get(
        member, part[member][:-4] + "AAA="
    )
    with pytest.raises((SignatureError, SourceError)):
        verify(envelope, public(key))


def test_every_flipped_bit_of_an_envelope_is_noticed(key: Path) -> None:
    written = json.dumps(sign(PAYLOAD, TYPE, key), separators=(",", ":")).encode()
    for place in range(len(written)):
        changed = bytearray(written)
        changed[place] ^= 1 << random.Random(place).randrange(8)
        with pytest.raises((SignatureError, SourceError, ValueError)):
            verify(json.loads(bytes(changed)), public(key))


def test_securesystemslib_accepts_our_envelope(key: Path) -> None:
    envelope = sign(PAYLOAD, TYPE, key)
    crypto = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32).public_key()
    theirs = SSlibKey.from_crypto(crypto, keyid=public_name(key))
    read = Envelope.from_dict(json.loads(json.dumps(envelope)))
    assert list(read.verify([theirs], 1)) == [public_name(key)]
    assert read.payload == PAYLOAD


def test_we_accept_the_envelope_of_securesystemslib(key: Path, other: Path) -> None:
    crypto = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32)
    theirs = Envelope(PAYLOAD, TYPE, {})
    theirs.sign(CryptoSigner(crypto, SSlibKey.from_crypto(crypto.public_key(), keyid=public_name(key))))
    assert verify(theirs.to_dict(), public(key)) == PAYLOAD
    with pytest.raises(SignatureError):
        verify(theirs.to_dict(), public(other))


@pytest.mark.parametrize("form", [PrivateFormat.OpenSSH, PrivateFormat.PKCS8])
def test_a_locked_key_asks_for_its_passphrase(
    form: PrivateFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = written_key(tmp_path, "locked", form, BestAvailableEncryption(b"between us"))
    with pytest.raises(SpecError, match="locked with a passphrase. Set the environment variable BDT_KEY_PASSPHRASE"):
        sign(PAYLOAD, TYPE, key)
    monkeypatch.setenv("BDT_KEY_PASSPHRASE", "another")
    with pytest.raises(SpecError, match="or BDT_KEY_PASSPHRASE is not its passphrase"):
        sign(PAYLOAD, TYPE, key)
    monkeypatch.setenv("BDT_KEY_PASSPHRASE", "between us")
    assert verify(sign(PAYLOAD, TYPE, key), public(key)) == PAYLOAD


@pytest.mark.parametrize("form", [PrivateFormat.OpenSSH, PrivateFormat.PKCS8])
def test_a_key_without_a_passphrase_needs_none(
    form: PrivateFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BDT_KEY_PASSPHRASE", "of another key")
    key = written_key(tmp_path, "open", form)
    assert verify(sign(PAYLOAD, TYPE, key), public(key)) == PAYLOAD


def test_files_that_are_no_key_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with pytest.raises(SourceError, match="key cannot be read: No such file"):
        sign(PAYLOAD, TYPE, path)
    path.write_text("no key")
    with pytest.raises(SpecError, match="no private key that can be read. Make one with: ssh-keygen -t ed25519"):
        sign(PAYLOAD, TYPE, path)
    with pytest.raises(SpecError, match="no public key that can be read. Name the file that ends in .pub"):
        public_name(path)
    wrong = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(wrong.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(SpecError, match="no Ed25519 key"):
        sign(PAYLOAD, TYPE, path)


@pytest.mark.parametrize(
    "envelope",
    [
        [],
        {},
        {"payload": "e30=", "payloadType": "a", "signatures": []},
        {"payload": "e30=", "payloadType": "a", "signatures": [[]]},
        {"payload": "e31=", "payloadType": "a", "signatures": [{"sig": ""}]},
        {"payload": "e30=", "payloadType": "a", "signatures": [{"sig": ""}], "more": 1},
        {"payload": "e30=", "payloadType": "a", "signatures": [{"sig": "", "more": 1}]},
        {"payload": "e30=", "payloadType": 5, "signatures": [{"sig": ""}]},
    ],
)
def test_what_is_no_envelope_is_refused(envelope: Any) -> None:
    with pytest.raises(SourceError, match="no signed envelope"):
        payload_of(envelope)


def test_a_signature_beside_a_file_is_of_its_bytes_and_its_key(ssh_key: Path, other: Path) -> None:
    signature = ssh_sign(PAYLOAD, ssh_key)
    ssh_verify(PAYLOAD, signature, public(ssh_key))
    for message, text, by in [
        (PAYLOAD + b" ", signature, ssh_key),
        (PAYLOAD, signature, other),
        (PAYLOAD, "", ssh_key),
        (PAYLOAD, signature.replace("\n", "\r\n"), ssh_key),
        (PAYLOAD, signature + "\n", ssh_key),
    ]:
        with pytest.raises(SignatureError):
            ssh_verify(message, text, public(by))


def test_every_flipped_bit_of_a_signature_beside_a_file_is_noticed(ssh_key: Path) -> None:
    written = ssh_sign(PAYLOAD, ssh_key).encode()
    for place in range(len(written)):
        changed = bytearray(written)
        changed[place] ^= 1 << random.Random(place).randrange(8)
        with pytest.raises(SignatureError):
            ssh_verify(PAYLOAD, changed.decode("latin-1"), public(ssh_key))


@needs_ssh_keygen
def test_ssh_keygen_accepts_our_signature_and_names_the_key_as_we_do(ssh_key: Path, other: Path) -> None:
    assert public_name(ssh_key) in ssh_keygen("-l", "-f", str(public(ssh_key))).stdout
    signature = ssh_key.with_name("file.sig")
    signature.write_text(ssh_sign(PAYLOAD, ssh_key))
    for by, code in [(ssh_key, 0), (other, 255)]:
        signers = ssh_key.with_name("signers")
        signers.write_text(f"auditor@example.org {public(by).read_text()}\n")
        verifying = ("verify", "-f", str(signers), "-I", "auditor@example.org", "-n", "bdt", "-s", str(signature))
        assert ssh_keygen("-Y", *verifying, text=PAYLOAD.decode()).returncode == code


@needs_ssh_keygen
def test_we_accept_the_signature_of_ssh_keygen_for_our_purpose_only(tmp_path: Path, other: Path) -> None:
    key, file = tmp_path / "made", tmp_path / "file"
    ssh_keygen("-t", "ed25519", "-N", "", "-q", "-f", str(key))
    assert verify(sign(PAYLOAD, TYPE, key), public(key)) == PAYLOAD
    for options in ((), ("-O", "hashalg=sha256")):
        file.write_bytes(PAYLOAD)
        signature = tmp_path / "file.sig"
        signature.unlink(missing_ok=True)
        ssh_keygen("-Y", "sign", "-n", "bdt", *options, "-f", str(key), str(file))
        ssh_verify(PAYLOAD, signature.read_text(), public(key))
        with pytest.raises(SignatureError):
            ssh_verify(PAYLOAD, signature.read_text(), public(other))
    signature.unlink()
    ssh_keygen("-Y", "sign", "-n", "git", "-f", str(key), str(file))
    with pytest.raises(SignatureError):
        ssh_verify(PAYLOAD, signature.read_text(), public(key))


@needs_ssh_keygen
def test_a_key_that_ssh_keygen_locked_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "locked"
    ssh_keygen("-t", "ed25519", "-N", "between us", "-q", "-f", str(key))
    monkeypatch.setenv("BDT_KEY_PASSPHRASE", "between us")
    assert verify(sign(PAYLOAD, TYPE, key), public(key)) == PAYLOAD


def ssh_keygen(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    assert SSH_KEYGEN is not None
    return subprocess.run([SSH_KEYGEN, *arguments], input=text, capture_output=True, text=True, check=False)
