"""Makes numba ready to take kernels from their cache; for the process that others are forked from."""

from numba.core.registry import cpu_target

cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
