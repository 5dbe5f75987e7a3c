"""Commands of programs that a test's machine has not: their words are held against what the repository has."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
Check = Callable[[list[str]], list[list[str]]]
"""Looks at the words after a program's name; gives back the commands within that others have to look at."""
OAUTH2_PROXY = {
    "provider", "oidc-issuer-url", "email-domain", "upstream", "https-address", "tls-cert-file", "tls-key-file",
    "client-id", "client-secret", "cookie-secret",
}  # fmt: skip
"""Options that are used, as its page of options has them; each is also a variable of the environment."""


@cache
def manifests() -> dict[tuple[str, str], dict[str, Any]]:
    """What is put up on Kubernetes, by kind and name."""
    files = sorted((ROOT / "docs" / "kubernetes").glob("*.yaml"))
    several = [one for file in files for one in yaml.safe_load_all(file.read_text()) if "metadata" in (one or {})]
    return {(one["kind"], one["metadata"]["name"]): one for one in several}


def within(tree: Any, key: str) -> Iterator[Any]:
    """Every value of a key, however deep."""
    if isinstance(tree, dict):
        yield from (value for name, value in tree.items() if name == key)
        tree = list(tree.values())
    for one in tree if isinstance(tree, list) else ():
        yield from within(one, key)


def asked(words: list[str], *flags: str, **more: Any) -> argparse.Namespace:
    """The options of a command that takes no others, and what stands alone."""
    parser = argparse.ArgumentParser(exit_on_error=False, add_help=False, allow_abbrev=False)
    for flag in flags:
        parser.add_argument(*flag.split())
    parser.add_argument("alone", nargs="*", **more)
    found, unknown = parser.parse_known_intermixed_args(words)
    assert not unknown, unknown
    return found


def docker(words: list[str]) -> list[list[str]]:
    verb, *rest = words
    assert verb == "build"
    found = asked(rest, "-f", "-t")
    (context,) = found.alone
    assert (ROOT / found.f).is_file()
    assert (ROOT / context).is_dir()
    assert found.t in set(within(list(manifests().values()), "image"))
    return []


def kubectl(words: list[str]) -> list[list[str]]:
    words, command = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    found = asked(words, "-n", "-k", "--from-env-file")
    launcher = yaml.safe_load((ROOT / "docs" / "kubernetes" / "dagster.yaml").read_text())["run_launcher"]["config"]
    assert found.n in (None, launcher["job_namespace"])
    match found.alone:
        case ["create", "namespace", name]:
            assert ("Namespace", name) in manifests()
        case ["create", "secret", "generic", name]:
            secrets = [one["name"] for one in within(list(manifests().values()), "secretRef")]
            assert name in {*secrets, *launcher["env_secrets"]}
            assert f"`{found.from_env_file}`" in (ROOT / "docs" / "kubernetes" / "README.md").read_text()
        case ["apply"]:
            assert (ROOT / found.k / "kustomization.yaml").exists()
        case ["kustomize", *folders]:
            assert all((ROOT / one / "kustomization.yaml").exists() for one in folders)
        case ["exec", one]:
            resource(one)
            return [command]
        case ["port-forward", one, port]:
            ports = [*within(resource(one), "port"), *within(resource(one), "containerPort")]
            given = [word for args in within(resource(one), "args") for word in args]
            assert port in map(str, [*ports, *given])
        case other:
            raise AssertionError(f"nobody checks kubectl {' '.join(other)}")
    return []


def resource(told: str) -> dict[str, Any]:
    """A manifest by ``kind/name``; Dask's operator makes one more service, which it names after the cluster."""
    kind, _, name = told.partition("/")
    found = manifests().get((kind.capitalize(), name))
    if found is None and kind == "service":
        found = manifests()["DaskCluster", name.removesuffix("-scheduler")]["spec"]["scheduler"]["service"]
    assert found is not None, told
    return found


def sed(words: list[str]) -> list[list[str]]:
    """Carried out on a copy of the files: every image has its new name then."""
    in_place, expression, *patterns = words
    assert in_place == "-i"
    _, before, after, _ = expression[1:].split(expression[1])
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(shutil.copy(one, folder)) for pattern in patterns for one in ROOT.glob(pattern)]
        subprocess.run(["sed", "-i", expression, *map(str, copies)], check=True)
        text = "".join(one.read_text() for one in copies)
    assert after in text
    assert before not in text.replace(after, "")
    return []


def oauth2_proxy(words: list[str]) -> list[list[str]]:
    from dagster_webserver.cli import create_dagster_webserver_cli

    given = dict(re.fullmatch(r"--([\w-]+)=(.+)", one).groups() for one in words)  # type: ignore[union-attr]
    assert set(given) <= OAUTH2_PROXY
    (port,) = [one.default for one in create_dagster_webserver_cli().params if one.name == "port"]
    assert given["upstream"] == f"http://127.0.0.1:{port or 3000}"
    return []


def export(words: list[str]) -> list[list[str]]:
    known = {f"OAUTH2_PROXY_{one.upper().replace('-', '_')}" for one in OAUTH2_PROXY}
    assert {one.partition("=")[0] for one in words} <= known
    return []


def pipx(words: list[str]) -> list[list[str]]:
    if words[0] != "run":
        return [["pip", *words]]
    for one in words:
        assert not one.startswith("requirements/") or (ROOT / one).exists()
    named = dict.fromkeys(one for one in words[1:] if not one.startswith("-"))
    assert any(one in named for one in ("cyclonedx-py", "pip-audit")), "a program that no page speaks of"
    return []


def cp(words: list[str]) -> list[list[str]]:
    """A report, from where the gate writes it."""
    source, _ = words
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert source == f"{action['inputs']['report']['default']}/report.json"
    return []


def bash(words: list[str]) -> list[list[str]]:
    (script,) = words
    assert reads((ROOT / script).read_text())
    return []


def pytest(words: list[str]) -> list[list[str]]:
    assert all((ROOT / one).exists() for one in words)
    return []


def reads(script: str) -> bool:
    """Whether a shell can read a script; nothing of it is run."""
    return subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False).returncode == 0


def ssh_keygen(words: list[str]) -> list[list[str]]:
    """Signatures are for our purpose, and of files that there are."""
    from bdt_core.sealed.signing import NAMESPACE

    words, read = (words[: words.index("<")], words[words.index("<") + 1 :]) if "<" in words else (words, [])
    found = asked(words, "-t", "-f", "-C", "-Y", "-I", "-n", "-s")
    if found.Y is None:
        assert found.t == "ed25519"
    else:
        assert found.n == NAMESPACE
        assert [f"{file}.sig" for file in read] == [found.s]
    return []


def unzip(words: list[str]) -> list[list[str]]:
    """What is taken out of a bundle is in it."""
    from bdt_core.sealed.bundle import MANIFEST, SIGNATURE

    assert set(words[1:]) <= {MANIFEST, SIGNATURE}
    return []


CHECKS: dict[str, Check] = {
    "docker": docker, "kubectl": kubectl, "sed": sed, "oauth2-proxy": oauth2_proxy, "export": export, "pipx": pipx,
    "cp": cp, "bash": bash, "pytest": pytest, "ssh-keygen": ssh_keygen, "unzip": unzip,
}  # fmt: skip
