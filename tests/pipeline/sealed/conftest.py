"""Reports of a small table, one that passes and one that fails, and keys; made once for all files of this folder."""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from typer.testing import CliRunner, Result

from bdt_pipeline.cli import app

SPEC = {
    "name": "loans",
    "source": {"path": "loans.csv"},
    "protected": ["sex"],
    "bias_variable": {"derive": "error", "label": "repaid", "prediction": "approved"},
    "clustering": None,
    "slices": None,
    "worst_groups": {"permutations": 39},
}


@dataclass(frozen=True)
class Office:
    """A folder with a table, a model, keys, and the folders of two reports."""

    folder: Path

    @property
    def passed(self) -> Path:
        return self.folder / "passed"

    @property
    def failed(self) -> Path:
        return self.folder / "failed"

    @property
    def model(self) -> Path:
        return self.folder / "model.bin"

    def key(self, name: str = "auditor") -> Path:
        return self.folder / name

    def public(self, name: str = "auditor") -> Path:
        return self.folder / f"{name}.pub"


def bdt(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(x) for x in arguments])


def write_key(path: Path, seed: int) -> None:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    path.chmod(0o600)
    path.with_suffix(".pub").write_bytes(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))


def write_table(path: Path) -> None:
    draw = random.Random(4)
    lines = ["age,sex,repaid,approved"]
    for _ in range(1200):
        sex, repaid = draw.choice("fm"), draw.random() < 0.6
        approved = repaid if draw.random() < (0.6 if sex == "f" else 0.95) else not repaid
        lines.append(f"{draw.randrange(20, 70)},{sex},{repaid:d},{approved:d}")
    path.write_text("\n".join(lines) + "\n")


def write_spec(path: Path, maximum: float) -> Path:
    limits = [
        {"metric": "accuracy_equality_difference", "facet": "sex", "max": maximum},
        {"metric": "equal_opportunity_ratio", "facet": "sex", "min": 0.2},
    ]
    path.write_text(yaml.safe_dump({**SPEC, "gate": limits}))
    return path


@pytest.fixture(scope="session")
def made_office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    office = Office(tmp_path_factory.mktemp("office"))
    write_table(office.folder / "loans.csv")
    office.model.write_bytes(b"weights")
    for seed, name in enumerate(("auditor", "somebody"), 1):
        write_key(office.key(name), seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BDT_LOOKS", raising=False)
        for maximum, folder, code in ((0.9, office.passed, 0), (0.05, office.failed, 1)):
            spec = write_spec(office.folder / f"{folder.name}.yaml", maximum)
            gated = bdt("gate", spec, "--data", office.folder / "loans.csv", "--report", folder)
            assert gated.exit_code == code, gated.output
    return office


@pytest.fixture
def office(made_office: Office, tmp_path: Path) -> Office:
    """A copy for one test."""
    copy = Office(tmp_path / "office")
    shutil.copytree(made_office.folder, copy.folder)
    return copy
