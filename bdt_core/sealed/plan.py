"""The plan of an audit: what its specification decides, written one way, and what was changed between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bdt_core import words
from bdt_core.derivations import are_numbers
from bdt_core.metrics import GATE_METRICS, LOCAL_METRICS
from bdt_core.said import Column, Numeral, Text, of_ours, say
from bdt_core.sealed.canonical import canonical_bytes, digest
from bdt_core.spec import AuditSpec
from bdt_core.spec.gate import name_of_check

FORMAT = "bdt-plan/1"
Plan = Mapping[str, Any]
_PLACE_OF_A_TABLE = ("path", "separator", "encoding", "sheet", "database")
DECIDES_NOTHING: Mapping[str, tuple[str, ...]] = {
    "": (
        "name", "title", "language", "pdf", "labels", "units", "about", "partition_by", "inbox", "schedule",
        "automation", "freshness_hours", "pool", "keep", "history", "notify", "notify_from", "report_url", "engine",
        "seal",
    ),
    "source": (*_PLACE_OF_A_TABLE, "asset", "arrays", "partition"),
    "source.join": _PLACE_OF_A_TABLE,
    "bias_variable": ("better_by",),
    "clustering": ("memory", "memory_limit"),
}  # fmt: skip
"""By section, the keys that decide neither a result nor a verdict: where the table is, how results are told, when and
where the work is done. That rows which are never in memory at once are divided by hash stands as "split.method"."""
FOLDED: Mapping[str, tuple[str, ...]] = {
    "features": ("leaks",),
    "significance": ("alpha_of_all_looks",),
    "slices": ("max_difference",),
    "local_bias": ("max_gap",),
}
"""By section, the keys that stand in a plan as part of another one: of "features.exclude",
"significance.alpha" and "gate"."""
_IN_ORDER = ("groups.reference", "legitimate", "worst_groups.columns", "local_bias.embeddings")
"""Lists whose order means something: of groups, or what is drawn at random, which another order draws anew."""
_AS_LISTS = ("bias_variable.positive", "groups.positive", "source.join.key", "mitigation.group")
_SEARCHES: Mapping[str, Text] = {
    "worst_groups": say("the search for the worst-treated groups"),
    "clustering": say("the search for clusters"),
    "slices": say("the search for intersections"),
    "local_bias": say("the search for local bias"),
    "mitigation": say("the search for thresholds per group"),
}
_LIMITED: Mapping[str, Text] = {
    "worst_group": say("the worst group"),
    "declared_group": say("the declared groups"),
    "worst_cluster": say("the most deviating cluster"),
    "any_cluster": say("the clusters"),
    "worst_slice": say("the intersections"),
    "local_bias": say("gaps within clusters"),
    "four_fifths": say("shares selected (four-fifths rule)"),
}
_COMPARED: Mapping[str, Text] = {
    "raw": say("against everybody else"),
    "remaining": say("against people alike in the factors"),
    "calibration": say("how far the score is off"),
}
_TAKEN_OVER = ("groups.label", "groups.prediction", "groups.positive")
_ENDS = ("max_difference", "max_gap", "max", "min")
_WHICH = ("kind", "check", "metric", "facet", "of")


def plan_of(spec: AuditSpec) -> dict[str, Any]:
    """What a specification decides, with its defaults written out.

    Parameters
    ----------
    spec : AuditSpec

    Returns
    -------
    dict
        JSON-able; two ways of writing the same specification give the same. Names of files, titles and words for
        readers, and what says when and where the work is done, are not in it (`DECIDES_NOTHING`). Lists whose order
        means nothing are sorted.

    Examples
    --------
    >>> from bdt_core.spec import spec_of_keywords
    >>> one = spec_of_keywords({"outcome": "error", "protected": ["sex", "race"], "title": "Loans"})
    >>> other = spec_of_keywords({"outcome": "error", "protected": ["race", "sex"], "name": "loans"})
    >>> plan_of(one) == plan_of(other), plan_of(one)["protected"]
    (True, ['race', 'sex'])
    """
    plain = spec.to_dict()
    for section, keys in (*DECIDES_NOTHING.items(), *FOLDED.items()):
        within = _section(plain, section)
        for key in keys:
            within.pop(key, None)
    plain["gate"] = [_limit(one) for one in (x.model_dump(mode="json") | {"kind": x.kind} for x in spec.limits)]
    plain["significance"]["alpha"] = spec.significance.alpha_of_all_looks or spec.significance.alpha
    plain["favourable"] = spec.favourable_outcome
    plain["features"]["exclude"] = sorted(_left_out(spec))
    plain["legitimate"] = [str(one) for one in spec.legitimate]
    plain["groups"] |= _of_groups(spec)
    plain["split"]["method"] = _divided_by(spec)
    if isinstance((plain["local_bias"] or {}).get("embeddings"), str):
        plain["local_bias"]["embeddings"] = "(file)"
    for place in _AS_LISTS:
        section, _, key = place.rpartition(".")
        within = _section(plain, section)
        if within.get(key) is not None:
            within[key] = _listed(within[key])
    return {"format": FORMAT, **{key: _sorted(value, key) for key, value in plain.items()}}


def plan_digest(spec: AuditSpec) -> str:
    """SHA-256 of the plan's canonical bytes, in hexadecimal digits.

    Examples
    --------
    >>> from bdt_core.spec import spec_of_keywords
    >>> plan_digest(spec_of_keywords({"outcome": "error"})) == plan_digest(spec_of_keywords({"outcome": "fined"}))
    False
    """
    return digest(plan_of(spec))


def _section(plain: dict[str, Any], path: str) -> dict[str, Any]:
    """A section by its path; an empty one where the specification has none."""
    for part in path.split(".") if path else ():
        plain = plain.get(part) or {}
    return plain


def _limit(plain: dict[str, Any]) -> dict[str, Any]:
    """A limit with the metric's own name, and its columns as a list."""
    if plain.get("metric") is not None:
        plain["metric"] = GATE_METRICS[plain["metric"]]
    if plain.get("facet") is not None:
        plain["facet"] = _listed(plain["facet"])
    return plain


def _left_out(spec: AuditSpec) -> set[str]:
    """Columns that are no features, whoever left them out; one that "include" names is one all the same."""
    features = spec.features
    return {*features.exclude, *features.leaks} - set(features.include or ())


def _of_groups(spec: AuditSpec) -> dict[str, Any]:
    """What the groups take over from the bias variable, and their columns as lists."""
    groups = spec.groups
    counted = spec.group_columns()
    label, prediction = spec.numeric_columns() if counted == (None, None) else counted
    return {
        "label": label,
        "prediction": prediction,
        "positive": spec.bias_variable.positive if groups.positive is None else groups.positive,
        "facets": None if groups.facets is None else [_listed(one) for one in groups.facets],
    }


def _divided_by(spec: AuditSpec) -> str:
    """How rows are divided: by hash wherever that is certain before the table is seen."""
    is_in_files = spec.engine.dask is not None or spec.room.memory == "out_of_core"
    return "hash" if spec.split.key is not None or is_in_files else spec.split.method


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _sorted(value: Any, path: str) -> Any:
    """The same with all lists sorted, but those whose order means something."""
    if isinstance(value, dict):
        return {key: _sorted(one, f"{path}.{key}") for key, one in value.items()}
    if not isinstance(value, list):
        return value
    inner = [_sorted(one, path) for one in value]
    return inner if path in _IN_ORDER else sorted(inner, key=canonical_bytes)


def changes_between(before: Plan, after: Plan) -> tuple[Text, ...]:
    """What was changed from one plan to the next.

    Parameters
    ----------
    before, after : mapping
        As `plan_of` gives them.

    Returns
    -------
    tuple of str
        Sentences (`bdt_core.said.Said`), what decides most first: limits, level, what is measured, columns, searches,
        the seed; empty where the plans are the same.

    Examples
    --------
    >>> from bdt_core.spec import spec_of_keywords
    >>> keys = {"derive": "error", "label": "repaid", "prediction": "granted"}
    >>> before, after = (
    ...     plan_of(spec_of_keywords({**keys, "gate": [{"check": "worst_group", "max_difference": most}]}))
    ...     for most in (0.05, 0.2)
    ... )
    >>> changes_between(before, after)
    ('The limit on the worst group was moved from 5 to 20 of 100.',)
    """
    changed = {key: pair for key, pair in _pairs(before, after) if pair[0] != pair[1]}
    changes = [*_of_limits(before, after)]
    for key in ("gate", *_followed(changed)):
        changed.pop(key, None)
    for key, sentences in _KNOWN.items():
        if key in changed:
            changes += sentences(*changed.pop(key))
    for search, name in _SEARCHES.items():
        changes += _of_search(name, {key: changed.pop(key) for key in list(changed) if _is_in(key, search)})
    for key in (*_LAST, *changed):
        if key in changed:
            changes.append(_of_key(key, *changed.pop(key)))
    return tuple(changes)


def _pairs(before: Plan, after: Plan, path: str = "") -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Every key with what it was and what it is; a section that is on one side only is one value."""
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _pairs(old, new, f"{path}{key}.")
        else:
            yield f"{path}{key}", (old, new)


def _followed(changed: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """What changed with the bias variable, from which it is taken over."""
    taken = [key for key in _TAKEN_OVER if changed.get(key) == changed.get(key.replace("groups", "bias_variable"), ())]
    direction = {"bias_variable.derive", "bias_variable.better"} & changed.keys()
    return [*taken, "favourable"] if direction else taken


def _is_in(key: str, section: str) -> bool:
    return key == section or key.startswith(f"{section}.")


def _of_limits(before: Plan, after: Plan) -> Iterator[Text]:
    """Limits that were moved, then those that came or went, then what else of a limit is not as it was."""
    gone, came = list(before["gate"]), list(after["gate"])
    for limit in before["gate"]:
        if limit in came:
            gone.remove(limit)
            came.remove(limit)
    same: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for old in list(gone):
        new = next((one for one in came if _which(one) == _which(old)), None)
        if new is not None:
            same.append((old, new))
            gone.remove(old)
            came.remove(new)
    for old, new in same:
        yield from (_moved(key, old, new, after) for key in _ENDS if old.get(key) != new.get(key))
    yield from (say("The limit on {what} was taken out.", what=_limited(one)) for one in gone)
    yield from (say("A limit on {what} was added.", what=_limited(one)) for one in came)
    for old, new in same:
        others = [key for key in new if key not in _ENDS and old.get(key) != new[key]]
        yield from (_of_limit(key, old, new) for key in others)


def _which(limit: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(str(limit.get(key)) for key in _WHICH)


def _limited(limit: Mapping[str, Any]) -> Text:
    """What a limit is on, within a sentence."""
    check = str(limit.get("metric") or limit.get("check") or limit["kind"])
    what = _LIMITED.get(check) or of_ours(name_of_check(check))
    if limit.get("of") is not None:
        what = say("{what} ({of})", what=what, of=_COMPARED[limit["of"]])
    return say("{what} by {list}", what=what, list=_columns(limit["facet"])) if limit.get("facet") else what


def _moved(key: str, old: Mapping[str, Any], new: Mapping[str, Any], plan: Plan) -> Text:
    """A limit that has another end, in its own unit."""
    what, before, after, is_rate = _limited(new), old.get(key), new.get(key), _is_rate(new, plan)
    if is_rate and before is not None and after is not None:
        return say(
            "The limit on {what} was moved from {Nbefore} to {Nafter} of 100.",
            what=what,
            Nbefore=_plain(100 * before),
            Nafter=_plain(100 * after),
        )
    first, second = (_amount(one, key, is_rate=is_rate) for one in (before, after))
    if key == "min":
        return say(
            "The lower limit on {what} was moved from {before} to {after}.", what=what, before=first, after=second
        )
    return say("The limit on {what} was moved from {before} to {after}.", what=what, before=first, after=second)


def _is_rate(limit: Mapping[str, Any], plan: Plan) -> bool:
    """Whether what is tolerated is a share of people."""
    if limit["kind"] in ("metric", "numeric_metric"):
        return False
    if limit["kind"] == "local_bias":
        return not LOCAL_METRICS[(plan["local_bias"] or {"metric": "accuracy"})["metric"]].is_area
    derive = plan["bias_variable"]["derive"]
    return limit.get("of") == "calibration" or derive == "top_k" or not are_numbers(derive)


def _amount(value: float | None, key: str, *, is_rate: bool) -> Text:
    if value is None:
        return say("none") if key in ("min", "max") else say("the default")
    return say("{N} of 100", N=_plain(100 * value)) if is_rate else _plain(value)


def _plain(value: float) -> Numeral:
    return Numeral(f"{value:.10g}")


def _of_limit(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Text:
    what = _limited(new)
    if key in ("min_share", "ruled_out_from"):
        before, after = (_amount(one.get(key), key, is_rate=True) for one in (old, new))
        if key == "min_share":
            return say(
                "The share of the people from which on the limit on {what} judges groups was moved from {before} to "
                "{after}.",
                what=what, before=before, after=after,
            )  # fmt: skip
        return say(
            "The share of the people from which on the limit on {what} has to rule groups out was moved from {before} "
            "to {after}.",
            what=what, before=before, after=after,
        )  # fmt: skip
    if key == "inconclusive":
        if new[key] == "block":
            return say("Where the data cannot tell, the limit on {what} now keeps the gate shut.", what=what)
        return say("Where the data cannot tell, the limit on {what} now only warns.", what=what)
    return say('The setting "{key}" of the limit on {what} was changed.', key=key, what=what)


Told = Callable[[Any, Any], Iterable[Text]]
"""What is said of a key, from its value before and now."""


def _by_value(sentences: Mapping[Any, Text]) -> Told:
    """One sentence for each value that a key can have now."""
    return lambda _, now: (sentences[now],)


def _of_alpha(before: float, now: float) -> Iterator[Text]:
    yield say(
        "The level of the tests was changed from {Nbefore} to {Nafter}.", Nbefore=_plain(before), Nafter=_plain(now)
    )


def _of_looks(before: int | None, now: int | None) -> Iterator[Text]:
    numbers = [say("any number") if one is None else _plain(one) for one in (before, now)]
    yield say("The looks that are allowed were changed from {before} to {after}.", before=numbers[0], after=numbers[1])


def _of_derive(before: str | None, now: str | None) -> Iterator[Text]:
    names = [say("a column as it stands") if one is None else one for one in (before, now)]
    yield say("What is measured was changed from {before} to {after}.", before=names[0], after=names[1])


def _of_column(what: Text) -> Told:
    """The sentence on a key that names one column."""

    def sentences(before: str | None, now: str | None) -> Iterator[Text]:
        names = [say("none") if one is None else Column(one) for one in (before, now)]
        yield say("{what} was changed from {before} to {after}.", what=what, before=names[0], after=names[1])

    return sentences


def _of_columns(added: str, removed: str) -> Told:
    """The sentences on a key that lists columns."""

    def sentences(before: list[str] | None, now: list[str] | None) -> Iterator[Text]:
        if before is None or now is None:
            yield _listing_begun(now)
            return
        if sorted(before) == sorted(now):
            yield say("The order was changed of {list}.", list=_columns(now))
        for message, more, fewer in ((removed, before, now), (added, now, before)):
            if columns := [one for one in more if one not in fewer]:
                yield say(message, list=_columns(columns))

    return sentences


def _listing_begun(now: list[str] | None) -> Text:
    if now is None:
        return say("Every column that has no other role is a feature now; before, the features were listed.")
    return say(
        "The features are listed now: {list}. Before, every column without another role was one.", list=_columns(now)
    )


def _columns(names: Iterable[str]) -> Text:
    return words.listing([Column(one) for one in names])


def _of_search(name: Text, changed: Mapping[str, tuple[Any, Any]]) -> Iterator[Text]:
    """A search that was switched off or on, or that has other settings."""
    for before, after in changed.values():
        if isinstance(before, Mapping):
            yield say("Switched off: {search}.", search=name)
            return
        if isinstance(after, Mapping):
            yield say("Switched on: {search}.", search=name)
            return
    if changed:
        keys = words.listing([f'"{key.partition(".")[2]}"' for key in changed])
        yield say("Settings of {search} were changed: {keys}.", search=name, keys=keys)


def _of_key(key: str, before: Any, after: Any) -> Text:
    if key == "split.random_state":
        return say("The seed was changed from {before} to {after}.", before=_plain(before), after=_plain(after))
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in (before, after)):
        return say('"{key}" was changed from {before} to {after}.', key=key, before=_plain(before), after=_plain(after))
    return say('"{key}" was changed.', key=key)


_KNOWN: Mapping[str, Told] = {
    "require": _by_value(
        {
            "all": say("All limits must hold now; before, more than half of them had to."),
            "majority": say("More than half of the limits must hold now; before, all of them had to."),
        }
    ),
    "sealed": _by_value(
        {
            "required": say("Nothing passes any more unless the plan was fixed beforehand."),
            "optional": say("An audit may pass now without a plan that was fixed beforehand."),
        }
    ),
    "looks": _of_looks,
    "significance.alpha": _of_alpha,
    "bias_variable.derive": _of_derive,
    "bias_variable.column": _of_column(say("The column that is measured")),
    "bias_variable.label": _of_column(say("The column with what happened")),
    "bias_variable.prediction": _of_column(say("The column with the prediction")),
    "bias_variable.positive": lambda *_: (say("Other values of label and prediction count as positive than before."),),
    "bias_variable.better": _by_value(
        {
            "lower": say("A lower value is now taken as better for people; before, a higher one was."),
            "higher": say("A higher value is now taken as better for people; before, a lower one was."),
        }
    ),
    "protected": _of_columns(
        "Added to the protected columns: {list}.",
        "Taken out of the protected columns: {list}.",
    ),
    "legitimate": _of_columns(
        "People are now compared with people alike in {list}.",
        "People are no longer compared with people alike in {list}.",
    ),
    "features.include": _of_columns("Added to the features: {list}.", "Taken out of the features: {list}."),
    "features.exclude": _of_columns(
        "Left out of the features: {list}.",
        "No longer left out of the features: {list}.",
    ),
}
"""What is said of a key by itself, what decides most first."""
_LAST = ("split.method", "split.test_size", "split.random_state")
