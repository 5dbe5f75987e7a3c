"""Loaded first: nothing is collected while the rest of what processes are forked with is loaded."""

import gc

gc.disable()
