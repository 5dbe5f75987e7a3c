"""HBAC on rows in shards: the model of rows in memory, to the bit, for any division into shards."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bdt_core.clustering import HBAC, sharded
from bdt_core.clustering.sharded import fit_sharded
from bdt_core.errors import SpecError
from bdt_core.shards.engine import LocalEngine
from bdt_core.shards.ingest import ingest
from bdt_core.shards.scratch import scratch_folder
from bdt_core.spec import parse_spec
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate

ROWS = 24_000
SPEC = parse_spec({"name": "t", "source": {"path": "t.csv"}, "large_rows": 1000, "bias_variable": {"column": "wrong"}})


def people(kind):
    rng = np.random.default_rng(5)
    numbers = {name: rng.normal(size=ROWS) * size for name, size in zip("abc", (1, 10, 1e4), strict=True)}
    texts = {name: rng.choice(list("uvwxyz"), ROWS) for name in "defgh"}
    few = {name: rng.choice(list("uv"), ROWS) for name in "de"}
    frame = pd.DataFrame({"numbers": numbers, "texts": texts, "both": {**numbers, **texts}, "few": few}[kind])
    if "a" in frame:
        frame.loc[rng.random(ROWS) < 0.1, "a"] = np.nan
    signal = frame["a"] > 1 if "a" in frame else frame["d"] == "u"
    return frame.assign(wrong=rng.normal(size=ROWS) + signal)


def model():
    return HBAC(max_iter=5, min_cluster_size=0.01, n_init=3, better="higher")


@pytest.mark.parametrize("room", [0, 10**12], ids=["in files", "in memory"])
@pytest.mark.parametrize("kind", ["numbers", "texts", "both", "few"])
def test_the_model_is_that_of_rows_in_memory(kind, room):
    frame = people(kind)
    train, _ = split_rows(validate(frame, SPEC), SPEC.split)
    expected = model().fit(train.X, train.y)
    assert expected.n_clusters_ > 2
    parts = [frame.iloc[:10], frame.iloc[10:9000], frame.iloc[9000:]]
    with scratch_folder() as folder, LocalEngine(2, room) as engine:
        train_shards, _ = ingest(parts, SPEC, folder, engine).divided(SPEC.split)
        said = []
        found = fit_sharded(model(), train_shards, progress=lambda *done: said.append(done))
        assert found.to_dict() == expected.to_dict()
        assert said[-1] == (5, 5)
        assert not sharded._held  # the rows are let go of


def test_rows_that_were_lost_are_made_again():
    """What a worker that takes over from a lost one does: another answer must not come of it."""
    frame = people("both")
    with scratch_folder() as folder, LocalEngine(1) as engine:
        train, _ = ingest([frame.iloc[:9000], frame.iloc[9000:]], SPEC, folder, engine).divided(SPEC.split)
        expected = fit_sharded(model(), train)

        class Forgetful(LocalEngine):
            def map(self, function, shards):
                sharded._held.clear()
                return super().map(function, shards)

        with Forgetful(1) as forgetful:
            again = fit_sharded(model(), train.__class__(**{**vars(train), "engine": forgetful}))
        assert again.to_dict() == expected.to_dict()


def test_the_libraries_of_the_original_tool_need_memory():
    frame = people("few")
    with scratch_folder() as folder, LocalEngine(1) as engine:
        train, _ = ingest([frame], SPEC, folder, engine).divided(SPEC.split)
        with pytest.raises(SpecError, match='"memory: in_memory"'):
            fit_sharded(HBAC(engine="reference"), train)
