"""Two models, or two versions of one, side by side: what has become better or worse, and for whom."""

from bdt_core.changes.results import Change, ChangedGroup, Changes, HeldToLimit, People

__all__ = ["Change", "ChangedGroup", "Changes", "HeldToLimit", "People"]
