"""Proposal for a table, in words and as a commented specification."""
