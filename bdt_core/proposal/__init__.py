"""What a table seems to be about: which column is what, what could be measured, and what is doubtful.

Content decides first, names in English, Dutch, German, French and Spanish second. Nothing is written here: a proposal
is data, from which a specification, a page or a scaffold is made.
"""

from bdt_core.proposal.measured import Measured
from bdt_core.proposal.proposal import Proposal, ProposedColumn, Reach, propose

__all__ = ["Measured", "Proposal", "ProposedColumn", "Reach", "propose"]
