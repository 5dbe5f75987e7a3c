"""Proposal of an audit for a table: which column is what, what could be measured, and what is doubtful.

Content decides first, names in English, Dutch, German, French and Spanish second. Nothing is written here: a proposal
is data, from which a specification, a page or a scaffold is made.
"""

from bdt_core.proposal.looks import FEW, Glance, Look, SeenColumn
from bdt_core.proposal.measured import Level, Measured, as_value, chosen, outcome_of
from bdt_core.proposal.proposal import Proposal, ProposedColumn, Reach, Role, listed, look_at, propose, proposed
from bdt_core.proposal.undecided import with_proposed_roles

__all__ = [
    "FEW",
    "Glance",
    "Level",
    "Look",
    "Measured",
    "Proposal",
    "ProposedColumn",
    "Reach",
    "Role",
    "SeenColumn",
    "as_value",
    "chosen",
    "listed",
    "look_at",
    "outcome_of",
    "propose",
    "proposed",
    "with_proposed_roles",
]
