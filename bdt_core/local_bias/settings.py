"""Settings of the search for local bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bdt_core.errors import SpecError
from bdt_core.local_bias.metrics import Metric


@dataclass(frozen=True)
class LocalBiasSettings:
    """What is looked for, and how surely.

    Attributes
    ----------
    group : str
        Column with the groups.
    embeddings : tuple of str, str or None
        Columns to cluster on, or a ``.npy`` file with one row per row of the table; None: the features.
    texts : str or None
        Column with what the rows say.
    words_by : {"ctfidf", "lda"}
        How words are chosen that tell a cluster; see `bdt_core.local_bias.topics.top_words`.
    places : str or None
        Column whose values are the places; None: they are looked for.
    describe_by : tuple of str or None
        Columns by which clusters are described; None: those clustered on, or the features beside a file.
    n_clusters, weight, metric, min_group_size, min_clusters, max_off_centre, n_init, random_state
        As in `LOGAN`.
    threshold : float
        A cluster with a gap of at least this counts as biased in the published summaries.
    alpha : float
        Level of the tests, corrected by Benjamini-Hochberg over the clusters; intervals are at 1 - alpha.
    min_test_rows : int
        Fewest test rows of either group, counted as in `min_group_size`, for a test.
    permutations : int
        Of the groups within clusters.
    refits : int
        Repetitions of the whole search on permuted groups; 0 leaves that out.
    """

    group: str = "group"
    embeddings: tuple[str, ...] | str | None = None
    texts: str | None = None
    describe_by: tuple[str, ...] | None = None
    n_clusters: int = 10
    weight: float = 0.003
    metric: Metric = "accuracy"
    min_group_size: int = 20
    min_clusters: int = 5
    max_off_centre: float = 0.02
    n_init: int = 10
    threshold: float = 0.05
    alpha: float = 0.05
    min_test_rows: int = 10
    permutations: int = 999
    refits: int = 0
    random_state: int = 0
    words_by: Literal["ctfidf", "lda"] = "ctfidf"
    places: str | None = None


def check_settings(settings: LocalBiasSettings) -> None:
    """Refuse with a SpecError what `LOGAN` does not check itself."""
    for name, low, high in (("threshold", 0.0, 1.0), ("alpha", 0.0, 1.0)):
        value = getattr(settings, name)
        if not low < value < high:
            raise SpecError(f"{name} must lie between {low:g} and {high:g}, both excluded; found {value!r}.")
    for name, least in (("min_test_rows", 1), ("permutations", 0), ("refits", 0)):
        value = getattr(settings, name)
        if value != int(value) or value < least:
            raise SpecError(f"{name} must be a whole number from {least} up, not {value!r}.")
