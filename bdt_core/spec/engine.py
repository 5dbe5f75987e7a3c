"""Engine for a table that is too large for one process."""

from __future__ import annotations

import re
from typing import Self

from pydantic import Field, field_validator, model_validator

from bdt_core.spec.section import SpecSection

_ADDRESS = re.compile(r"\$\{\w+\}|^((tcp|tls|ws|wss)://)?[\w.\-\[\]:]+:\d+/?$")


class DaskEngine(SpecSection):
    """A Dask cluster: one that runs already, or processes of this machine."""

    address: str | None = Field(
        None, description="Of the scheduler, such as tcp://scheduler:8786 or ${DASK_ADDRESS}; instead of local_workers."
    )
    local_workers: int | None = Field(
        None, ge=1, le=1_000, description="Processes on this machine; instead of address."
    )
    memory_limit: str = Field(
        "auto",
        pattern=r"^auto$|^[0-9]+(\.[0-9]+)?\s*[MGT]i?B$",
        description='Memory of each local process, such as "4 GiB"; auto shares that of this machine.',
    )

    @field_validator("address")
    @classmethod
    def _is_a_schedulers(cls, address: str | None) -> str | None:
        if address is not None and "{{" in address:
            raise ValueError(
                "only Dagster fills in {{ env.NAME }}, in a defs.yaml; write ${NAME}, which works everywhere"
            )
        if address is not None and not _ADDRESS.search(address):
            raise ValueError("not the address of a scheduler: expected one such as tcp://scheduler:8786")
        return address

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.address is None) == (self.local_workers is None):
            raise ValueError('give either "address" (a scheduler that runs) or "local_workers" (a number of processes)')
        return self


class Engine(SpecSection):
    """This process with its threads, unless another engine is named."""

    dask: DaskEngine | None = Field(None, description="Work on a Dask cluster; needs the extra bdt-pipeline[dask].")
