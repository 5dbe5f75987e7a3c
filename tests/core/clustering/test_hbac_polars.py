"""A polars table is as good as a pandas one."""

import numpy as np
import pandas as pd
import polars as pl

from bdt_core.clustering import HBAC


def test_polars_and_pandas_give_the_same_labels():
    rng = np.random.default_rng(4)
    columns = {
        "age": rng.integers(18, 80, 400).astype(float),
        "city": rng.choice(["Riga", "Oslo", "Bern"], 400),
        "member": rng.random(400) < 0.5,
    }
    columns["age"][:9] = np.nan
    y = rng.normal(size=400)
    polars_table = pl.DataFrame({**columns, "age": pl.Series(columns["age"]).fill_nan(None)})
    ours = HBAC(min_cluster_size=0.05).fit(polars_table, y)
    theirs = HBAC(min_cluster_size=0.05).fit(pd.DataFrame(columns), y)
    assert ours.n_clusters_ >= 2
    assert np.array_equal(ours.labels_, theirs.labels_)
    assert np.array_equal(theirs.predict(polars_table), theirs.labels_)
    assert list(ours.feature_names_in_) == ["age", "city", "member"]
