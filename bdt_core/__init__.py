"""The method of the bias audit: plain Python, usable in a notebook, without any orchestrator.

Start with :func:`bdt_core.audit.audit`; the parts are in ``bdt_core.clustering``, ``bdt_core.inference`` and
``bdt_core.report``. Importing the package itself costs nothing.
"""
