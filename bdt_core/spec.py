"""The audit specification: one file says what is audited, how, and what fails it.

The same model is read from YAML, built by the command line and by Python callers, and offered in Dagster's
launchpad, so there is one set of names and one set of defaults.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bdt_core.errors import SpecError

Kind = Literal["numeric", "categorical"]
Better = Literal["lower", "higher"]
Derivation = Literal[
    "error",
    "false_positive",
    "false_negative",
    "false_positive_rate",
    "false_negative_rate",
    "positive_prediction",
    "absolute_error",
    "squared_error",
]
Value = bool | int | float | str


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Section):
    """Where the table is."""

    path: str = Field(
        description="A .csv, .tsv or .parquet file, a folder of Parquet files, or demo:compas, demo:adult."
    )
    separator: str | None = Field(
        None,
        description="Column separator of a text file; detected when left out.",
        min_length=1,
        max_length=1,
    )
    encoding: str | None = Field(None, description="Encoding of a text file, such as utf-8; detected when left out.")


class BiasVariable(_Section):
    """What is measured per person, and which way is worse."""

    column: str | None = Field(None, description="A numeric column that is the bias variable as it stands.")
    derive: Derivation | None = Field(
        None,
        description=(
            "Made from label and prediction instead. error, false_positive, false_negative and "
            "positive_prediction: 0/1 on all rows. false_positive_rate: rows with a negative label only. "
            "false_negative_rate: rows with a positive label only. absolute_error, squared_error: numbers."
        ),
    )
    label: str | None = Field(None, description="Column with what really happened.")
    prediction: str | None = Field(None, description="Column with what the algorithm said.")
    positive: Value | list[Value] | None = Field(
        None,
        description="The value (or values) of label and prediction that count as positive; 1 or true by default.",
    )
    better: Better = Field("lower", description="Whether people are better off with a lower or a higher value.")

    @model_validator(mode="after")
    def _column_or_derived(self) -> BiasVariable:
        if (self.column is None) == (self.derive is None):
            raise ValueError('give either "column" (a numeric column) or "derive" (made from label and prediction)')
        if self.column is not None and (self.label is not None or self.prediction is not None):
            raise ValueError('"label" and "prediction" go with "derive", not with "column"')
        if self.derive is not None:
            if self.prediction is None:
                raise ValueError(f'"derive: {self.derive}" needs "prediction"')
            if self.label is None and self.derive != "positive_prediction":
                raise ValueError(f'"derive: {self.derive}" needs "label"')
        return self


class Features(_Section):
    """Which columns the search may use to tell people apart."""

    include: list[str] | None = Field(
        None, description="Only these columns; by default every column that is not used elsewhere."
    )
    exclude: list[str] = Field([], description="Not these columns.")
    kinds: dict[str, Kind] = Field(
        {}, description="numeric or categorical, where the column's type does not say it, e.g. zip_code."
    )


class Split(_Section):
    """How rows are divided: clusters are found on the train rows and tested on the test rows."""

    test_size: float = Field(0.2, gt=0, lt=1, description="Share of the rows kept for testing.")
    stratify: bool = Field(True, description="Keep the distribution of the bias variable equal in both parts.")
    random_state: int = Field(42, ge=0, description="Seed of everything random in the audit.")
    repeats: int = Field(
        1,
        ge=1,
        description="Independent splits; above 1 their p-values are combined, so that no lucky split decides.",
    )


class Clustering(_Section):
    """Hierarchical bias-aware clustering (HBAC)."""

    method: Literal["auto", "kmeans", "kmodes", "kprototypes"] = Field(
        "auto", description="kmeans for numbers, kmodes for categories, kprototypes for both; auto looks."
    )
    max_iter: int = Field(10, ge=1, description="Number of splits tried.")
    min_cluster_size: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description=(
            "Smallest cluster: a share of the train rows below 1, else a number of rows. Default: 1 % of the train "
            "rows, and enough that the test part will hold significance.min_rows of the cluster."
        ),
    )
    n_init: int = Field(10, ge=1, description="Starts per split; the best one counts.")
    margin: float = Field(0.0, ge=0, description="A split must worsen a child's gap by this many standard deviations.")
    scale: bool = Field(True, description="Standardise numeric columns, so that units do not matter.")
    stability: int = Field(
        50, ge=0, description="Bootstrap refits that measure how stable the clusters are; 0 leaves it out."
    )
    engine: Literal["bdt", "reference"] = Field(
        "bdt", description="reference runs scikit-learn and kmodes as the original tool did."
    )


class Significance(_Section):
    """How differences are tested on the test rows."""

    alpha: float = Field(0.05, gt=0, lt=1, description="Error rate; intervals are at 1 - alpha.")
    test: Literal["auto", "exact", "welch", "permutation"] = Field(
        "auto",
        description=(
            "auto: exact mid-p for two-valued bias variables, Welch or permutation of the test rows for the others. "
            "permutation: the same, and the whole procedure is repeated on permuted bias variables as well."
        ),
    )
    permutations: int = Field(199, ge=19, description="Repetitions of the whole procedure, with test: permutation.")
    correction: Literal["holm", "bonferroni", "bh", "none"] = Field(
        "holm", description="Correction over the scan of all clusters, and over the features."
    )
    min_rows: int = Field(
        30, ge=5, description="A cluster with fewer test rows is not tested and its rates are not printed."
    )


class Limit(_Section):
    """One limit of the gate."""

    check: Literal["worst_cluster", "any_cluster"] = Field(
        "worst_cluster",
        description="worst_cluster: the most deviating cluster of the train rows. any_cluster: each of them.",
    )
    max_difference: float | None = Field(
        None,
        ge=0,
        description=(
            "Largest tolerated difference from everybody else in the harmful direction, in units of the bias "
            "variable. Default: 0.05 for a two-valued one, a fifth of its standard deviation otherwise."
        ),
    )
    inconclusive: Literal["warn", "block"] = Field(
        "warn", description="What happens when the data cannot tell: a warning, or the gate stays shut."
    )


class AuditSpec(_Section):
    """A whole audit.

    ``name``, ``source`` and ``bias_variable`` are enough; everything else has a default.

    Examples
    --------
    >>> spec = AuditSpec.model_validate(
    ...     {
    ...         "name": "loans",
    ...         "source": {"path": "loans.csv"},
    ...         "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
    ...     }
    ... )
    >>> spec.clustering.max_iter
    10
    """

    name: str = Field(description="Short name: letters, digits and _ ; it prefixes the Dagster assets.")
    source: Source = Field(description="Where the table is.")
    bias_variable: BiasVariable = Field(description="What is measured per person, and which way is worse.")
    features: Features = Field(Features(), description="Columns that may tell people apart.")
    protected: list[str] = Field(
        [], description="Kept out of the clustering, compared with the clusters afterwards, e.g. [race, sex]."
    )
    missing: Literal["keep", "drop", "error"] = Field(
        "keep", description="Missing feature values: own category or mean + flag, drop the row, or stop."
    )
    split: Split = Field(Split(), description="Train and test rows.")
    clustering: Clustering = Field(Clustering(), description="How clusters are searched.")
    significance: Significance = Field(Significance(), description="How differences are tested.")
    gate: list[Limit] = Field([Limit()], description="Limits that a model must keep to be let through.")

    @field_validator("name")
    @classmethod
    def _name_is_an_identifier(cls, name: str) -> str:
        if not name.isascii() or not name.replace("_", "a").isalnum():
            raise ValueError("use letters, digits and _ only, as in credit_model_2")
        return name

    def to_dict(self) -> dict[str, Any]:
        """The specification as plain JSON-able data, defaults written out."""
        return self.model_dump(mode="json")


def parse_spec(data: Any, origin: str = "the specification") -> AuditSpec:
    """Check plain data and return the specification.

    Parameters
    ----------
    data : mapping
        What a YAML or JSON file holds.
    origin : str
        Named in error messages, usually the file.

    Raises
    ------
    SpecError
        For each unknown key, missing key and wrong value, with its path and a suggestion.
    """
    if not isinstance(data, dict):
        raise SpecError(
            f'{origin} must be a mapping with the keys "name", "source" and "bias_variable", not {_noun(data)}.'
        )
    try:
        return AuditSpec.model_validate(data)
    except ValidationError as error:
        problems = [_sentence(one) for one in error.errors(include_url=False)]
        raise SpecError(f"{origin} is not a valid audit specification.\n" + "\n".join(problems)) from None


def load_spec(path: str | Path) -> AuditSpec:
    """Read a specification from a YAML file.

    A relative ``source.path`` is looked up beside the file.

    Raises
    ------
    SpecError
        When the file is missing, is not YAML or does not hold a valid specification.
    """
    file = Path(path)
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError(f"{file} does not exist. Write one with: bdt init YOUR_DATA.csv") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{file} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 1}" if where else ""
        problem = getattr(error, "problem", None) or "not readable"
        raise SpecError(f"{file} is not valid YAML{line}: {problem}.") from None
    if isinstance(data, dict) and set(data) == {"type", "attributes"}:
        data = data["attributes"]  # a Dagster component file holds the same specification
    spec = parse_spec(data, str(file))
    return spec.model_copy(
        update={"source": spec.source.model_copy(update={"path": resolve_path(spec.source.path, file.parent)})}
    )


def resolve_path(path: str, folder: Path) -> str:
    """Look a relative local path up in ``folder``; leave demo data, URLs and absolute paths alone."""
    if ":" in path.split("/")[0] or Path(path).is_absolute() or (not (folder / path).exists()):
        return path
    return str(folder / path)


def json_schema() -> dict[str, Any]:
    """JSON Schema of the specification, for editors that complete and check YAML."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **AuditSpec.model_json_schema(),
        "title": "Bias audit specification",
    }


def _sentence(error: Any) -> str:
    """One line for one pydantic error: where, what, and the nearest known key."""
    path = ".".join(str(part) for part in error["loc"]) or "top level"
    if error["type"] == "extra_forbidden":
        known = _known_keys(error["loc"][:-1])
        near = difflib.get_close_matches(str(error["loc"][-1]), known, n=1, cutoff=0.5)
        hint = f'did you mean "{near[0]}"?' if near else f"known keys here: {', '.join(known)}."
        return f"  {path}: unknown key; {hint}"
    if error["type"] == "missing":
        return f"  {path}: required key is missing."
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"  {path}: {message[:1].lower()}{message[1:]}."


def _known_keys(location: tuple[Any, ...]) -> list[str]:
    """Names allowed at a place in the specification."""
    model: type[BaseModel] = AuditSpec
    for part in location:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        for candidate in (annotation, *getattr(annotation, "__args__", ())):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                model = candidate
    return list(model.model_fields)


def _noun(data: Any) -> str:
    return {type(None): "empty", list: "a list", str: "a text"}.get(type(data), "a single value")
