"""``bdt init``: look at a table and write a commented specification."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from bdt_core.errors import OutputError
from bdt_core.harmless import escaped_in_json
from bdt_core.proposal import Measured, Proposal, outcome_of, propose
from bdt_core.spec import LANGUAGES, UNANSWERED
from bdt_core.words import printable
from bdt_pipeline.proposed.named_table import name_of, source_of
from bdt_pipeline.proposed.proposal_in_words import proposal_in_words, reach_in_words

if TYPE_CHECKING:
    from jinja2 import Template

_IN_ONE_LINE: dict[str, Any] = {
    "default_flow_style": True, "width": float("inf"), "allow_unicode": True, "sort_keys": False
}  # fmt: skip
_NO_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def write_spec(data: str, out: Path | None) -> str:
    """Write a specification for a table.

    Parameters
    ----------
    data : str
    out : Path, optional
        Default: the table's name with ``.yaml``, in the working directory.

    Returns
    -------
    str
        What was done, what comes next, what was taken for what, and last all that is doubtful.

    Raises
    ------
    SourceError
        When the table cannot be read.
    DataError
        When nothing in it can be audited.
    OutputError
        When the file exists or cannot be written.
    """
    proposal = propose(source_of(data))
    target = out or Path(f"{name_of(data)}.yaml")
    text = spec_text(proposal, name_of(data), _beside(data, target))
    try:
        _write_new(target, text)
    except FileExistsError:
        raise OutputError(f"{target} exists and is not overwritten. Name another file with --out.") from None
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}.") from None
    todo = text.count("TODO")
    first = f"look at the {todo} TODO in it, then run" if todo else "check it, then run"
    if not proposal.measured.is_better_sure:
        first = f"answer the question marked {UNANSWERED} in it (better), {first}"
    return "\n".join([f"Wrote {target}: {first}  bdt audit {target}", *proposal_in_words(proposal)])


def _write_new(target: Path, text: str) -> None:
    """Write a file where there is none, whole or not at all, with the folders that it lacks."""
    lacks = [one for one in target.parents if not one.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                target.unlink()
                raise
    except BaseException:
        with suppress(OSError):  # a folder goes only if it is empty
            for folder in lacks:
                folder.rmdir()
        raise


def spec_text(
    proposal: Proposal,
    name: str,
    path: str,
    *,
    reading: Mapping[str, str] | None = None,
    legitimate: Sequence[str] = (),
    person: str | None = None,
    language: str | None = None,
    labels: Mapping[str, Mapping[str, Any]] | None = None,
    about: Mapping[str, str] | None = None,
    max_difference: float | None = None,
    clustering: Mapping[str, float] | None = None,
) -> str:
    """The specification as commented YAML.

    Parameters
    ----------
    proposal : Proposal
    name, path : str
    reading : mapping, optional
        What else the source says of how the table is read.
    legitimate : sequence of str
        What the decision may depend on, where somebody said it.
    person : str, optional
        Column that says whose a row is.
    language : str, optional
        Of the report.
    labels, about : mapping, optional
        Names for readers and what no table says, where somebody said it.
    max_difference : float, optional
        Limit on the worst group, where somebody set one.
    clustering : mapping, optional
        Settings of the clustering, where somebody chose them.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": range(40), "sex": ["f", "m"] * 20, "wrong_error": [0.5, 1.5, 2.0, 4.0] * 10})
    >>> lines = spec_text(propose(table), "loans", "loans.csv").splitlines()
    >>> [line for line in lines if line.startswith("  column:")]
    ['  column: wrong_error']
    """
    return _template().render(
        name=name,
        path=path,
        source={"path": path, **(reading or {})},
        legitimate=legitimate,
        person=person,
        settings=_of_persons(proposal.settings, person) | ({"clustering": dict(clustering)} if clustering else {}),
        language=language,
        labels=labels or {},
        about=about or {},
        max_difference=max_difference,
        proposal=proposal,
        bias=proposal.measured.settings,
        features=proposal.of_role("feature", "left out"),
        kept=proposal.of_role("feature"),
        excluded=[one for one in proposal.columns if one.is_excluded],
        leaks=[one for one in proposal.columns if one.is_leak],
        unanswered=UNANSWERED,
        protected=proposal.of_role("protected"),
        numbers=[one.name for one in proposal.of_role("feature") if one.look == "numeric"],
        reach=reach_in_words(proposal.reach),
        languages=LANGUAGES,
    )


def _of_persons(settings: dict[str, dict[str, Any]], person: str | None) -> dict[str, dict[str, Any]]:
    return settings if person is None else {**settings, "split": {**settings.get("split", {}), "key": person}}


def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("bdt_pipeline", "proposed")
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["quoted"] = _quoted
    environment.filters["level_line"] = lambda level: f"{_flow(level)}: WORDS"
    environment.filters["count_line"] = lambda level: f"{_flow(level)}: 0"
    environment.filters["flow"] = _flow
    environment.filters["choice"] = _choice
    environment.filters["pairs"] = lambda keys: ", ".join(f"{key}: {_quoted(value)}" for key, value in keys.items())
    environment.filters["printable"] = printable
    return environment.get_template("spec.yaml.jinja")


def _beside(data: str, target: Path) -> str:
    """The table's path as seen from the specification, which is where it is looked up."""
    if ":" in data.split("/")[0] or Path(data).is_absolute():
        return data
    return Path(os.path.relpath(data, target.parent)).as_posix()


def _choice(measured: Measured) -> str:
    """Another bias variable, in one line."""
    better = measured.settings.better if measured.is_better_sure else UNANSWERED
    return _flow({**outcome_of(measured.settings), "better": better})


def _quoted(text: str) -> str:
    """A YAML scalar; quoted unless it is a plain word."""
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", text) and text.lower() not in _NO_WORDS
    return text if plain else _flow(text)


def _flow(value: Any) -> str:
    """A value as YAML, in one line; texts in quotation marks, and in them escapes for whatever turns or controls."""
    text: str = yaml.dump(value, None, _Quoting, **_IN_ONE_LINE)
    return escaped_in_json(text.removesuffix("\n").removesuffix("\n..."))


class _Quoting(yaml.SafeDumper):
    """Writes texts in quotation marks."""


_Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))
