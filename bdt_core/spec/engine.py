"""What works on a table that is too large for one process."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from bdt_core.spec.section import Section


class DaskEngine(Section):
    """A Dask cluster: one that runs already, or processes of this machine."""

    address: str | None = Field(
        None, description="Of the scheduler, such as tcp://scheduler:8786 or ${DASK_ADDRESS}; instead of local_workers."
    )
    local_workers: int | None = Field(None, ge=1, description="Processes on this machine; instead of address.")
    memory_limit: str = Field("auto", description='Memory of each local process, such as "4 GiB".')

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.address is None) == (self.local_workers is None):
            raise ValueError('give either "address" (a scheduler that runs) or "local_workers" (a number of processes)')
        return self


class Engine(Section):
    """This process with its threads, unless another engine is named."""

    dask: DaskEngine | None = Field(None, description="Work on a Dask cluster; needs the extra bdt-pipeline[dask].")
