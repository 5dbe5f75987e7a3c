"""Components for YAML definitions."""

from bdt_pipeline.components.bias_audit import BiasAudit

__all__ = ["BiasAudit"]
