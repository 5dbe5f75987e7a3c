"""Loaded last: what is there stays, and no process that is forked looks through it, nor copies it by that."""

import gc

gc.enable()
gc.set_threshold(50_000)  # as in the command line
gc.freeze()
