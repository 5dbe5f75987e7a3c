"""The bias variable of every declared group, against everybody else."""

from bdt_core.declared.outcomes import DeclaredFacet, DeclaredGroup, DeclaredOutcomes

__all__ = ["DeclaredFacet", "DeclaredGroup", "DeclaredOutcomes"]
