"""The method of the bias audit: plain Python, usable in a notebook, without any orchestrator."""
