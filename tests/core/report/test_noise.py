"""Noise of the form for publication: of whom it is, how large, what it lets through, and where its key is kept."""

from __future__ import annotations

import copy
import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from bdt_core.errors import OutputError, SourceError
from bdt_core.report import for_publication
from bdt_core.report.noise import DEVIATION, VARIABLE, Noise, key_file, owners_key
from bdt_core.report.publication import Coarseness

GOLDENS = Path(__file__).parents[2] / "goldens"
KEY = b"the owner's"


def _golden(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDENS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_noise_is_normal_and_that_of_neighbours_is_unrelated() -> None:
    noise = Noise(KEY, "sha256:1")
    drawn = np.array([noise.of("women", n) for n in range(20_000)])
    assert abs(drawn.mean()) < 0.03
    assert abs(drawn.std() - 1.0) < 0.02
    assert abs(np.mean(drawn < 1.0) - ndtr(1.0)) < 0.01
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.03


def test_another_table_key_or_group_has_other_noise() -> None:
    noises = Noise(KEY, "sha256:1"), Noise(KEY, "sha256:2"), Noise(b"another", "sha256:1")
    assert len({noise.of("women", 412) for noise in noises} | {noises[0].of("men", 412)}) == 4


def test_the_bound_is_that_of_two_normal_distributions() -> None:
    """Whoever tells apart by the likelihood ratio is right as often as is said, and rounded up at most."""
    random = np.random.default_rng(0)
    shift = np.array([1.0, -1.0, 1.0, -1.0])  # two groupings
    seen = shift * random.integers(0, 2, (200_000, 1)) + random.normal(0.0, DEVIATION, (200_000, 4))
    truth = np.random.default_rng(0).integers(0, 2, (200_000, 1))[:, 0]
    right = np.mean((seen @ shift > shift @ shift / 2.0) == truth)
    noise = Noise(KEY, "sha256:1", {"sex": 2.0, "race": 2.0})
    assert noise.guessed() - 0.012 < right < noise.guessed() + 0.003
    assert noise.guessed(10) == np.ceil(100.0 * ndtr(np.sqrt(40.0) / DEVIATION / 2.0)) / 100.0


def test_ten_editions_of_a_table_that_grows_tell_no_more_than_is_said() -> None:
    """By who knows all others, and so how many came to each count from one edition to the next."""
    random, right, cases, editions = np.random.default_rng(1), 0, 1_000, 10
    for case in range(cases):
        person, others = int(random.integers(2)), random.integers(20, 90, 2)
        likelihoods = np.zeros(2)
        for edition in range(editions):
            coarse = Coarseness(10, 30, None, Noise(KEY, f"{case} {edition}"))
            others += random.integers(0, 9, 2)
            exact = others + np.eye(2)[person]
            told = np.array([coarse.count(n, "women", exact.tolist(), kind) for kind, n in enumerate(exact)])
            ends = told + np.array([[-5.0], [5.0]])
            ends[0][told == 0] = -np.inf
            chances = [np.diff(ndtr((ends - others - one) / DEVIATION), axis=0) for one in np.eye(2)]
            likelihoods += np.log(chances).sum(axis=(1, 2))
        right += int(np.argmax(likelihoods)) == person
    stated = Noise(KEY, "", {"sex": 2.0}).guessed(editions)
    assert stated == 0.62
    assert 0.53 < right / cases < stated + 3.0 * np.sqrt(0.25 / cases)


def test_a_count_is_told_as_a_multiple_of_ten_and_never_below_nought() -> None:
    coarse = Coarseness(10, 30, None, Noise(KEY, "sha256:1"))
    counted = [coarse.count(3, "women", place) for place in range(200)]
    assert {n % 10 for n in counted} == {0}
    assert min(counted) == 0 < max(counted)
    large = np.array([coarse.count(n, "men") - n for n in range(1_000, 3_000)])
    assert abs(large.std() - coarse.variance**0.5) < 0.5
    assert Coarseness(40, 120, 4, coarse.noise).deviation == 4 * DEVIATION


@pytest.mark.parametrize("name", ["compas", "everything", "limits"])
def test_the_same_table_has_the_same_numbers_in_another_language_on_another_day_by_another_level(name: str) -> None:
    document = _golden(name)
    other = copy.deepcopy(document)
    other["spec"] |= {"language": "nl", "title": "Again"}
    other["spec"]["significance"]["alpha"] /= 5
    other["software"] = dict.fromkeys(other["software"], "9")
    first, second = (for_publication(one, KEY) for one in (document, other))
    for part in ("groups", "selection_rules", "data", "split", "bias_variable", "publication"):
        assert first.get(part) == second.get(part)
    assert first != for_publication(document, b"another key")


def test_who_knows_a_count_of_another_table_knows_nothing_of_its_noise() -> None:
    """One person came: every count is drawn anew, also those that stayed as they were."""
    document = _golden("compas")
    first = for_publication(document, KEY)
    document["data"]["fingerprint"] = "sha256:of one person more"
    rates = [
        [(group["group"], one["n"]) for facet in form["groups"]["facets"] for group in facet["groups"]
         for one in group["rates"].values()]
        for form in (first, for_publication(document, KEY))
    ]  # fmt: skip
    same = np.mean([one == other for one, other in zip(*rates, strict=True)])
    assert same < 0.3


def test_labels_or_predictions_alone_have_noise_in_two_counts() -> None:
    document = _golden("compas")
    for facet in document["groups"]["facets"]:
        for group in facet["groups"]:
            group["rates"] = {"selection_rate": group["rates"]["selection_rate"]} if group["rates"] else None
    published = for_publication(document, KEY)["groups"]["facets"]
    for facet, owners in zip(published, document["groups"]["facets"], strict=True):
        exact = {one["group"]: one["rows"] for one in owners["groups"]}
        assert all(abs(one["rows"] - exact[one["group"]]) < 2 * (5 + 4 * DEVIATION) for one in facet["groups"])
        assert all(set(one["rates"]) == {"selection_rate"} for one in facet["groups"])


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert key_file() == tmp_path / ".config" / "bdt" / "publication.key"
    key = owners_key()
    assert len(key) == 32
    assert owners_key() == key
    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600
    assert [one.name for one in key_file().parent.iterdir()] == ["publication.key"]
    monkeypatch.setenv(VARIABLE, str(tmp_path / "another" / "key"))
    assert owners_key() != key


def test_what_is_no_key_or_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    monkeypatch.setenv(VARIABLE, str(path))
    for content in ("", "abc", "00" * 31, "no key " * 20):
        path.write_text(content)
        with pytest.raises(SourceError, match="holds no key: 64 hexadecimal digits were expected"):
            owners_key()
    monkeypatch.setenv(VARIABLE, str(path / "in a file"))
    with pytest.raises((OutputError, SourceError), match="The key of the noise in forms for publication cannot be"):
        owners_key()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(SourceError, match="cannot be read from"):
        owners_key()


def test_no_form_holds_the_key() -> None:
    assert owners_key().hex() not in json.dumps(for_publication(_golden("compas")))
