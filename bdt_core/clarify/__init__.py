"""SageMaker Clarify: its analysis configuration in, its JSON out, and a page to read."""

from bdt_core.clarify.analysis import ClarifyAnalysis, clarify_analysis, write_analysis
from bdt_core.clarify.config import ClarifyConfig, read_analysis_config

__all__ = ["ClarifyAnalysis", "ClarifyConfig", "clarify_analysis", "read_analysis_config", "write_analysis"]
