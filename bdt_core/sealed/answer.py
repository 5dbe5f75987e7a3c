"""The answer of an audit: what all limits together say, and what else keeps it from being a pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bdt_core.result import Part
from bdt_core.said import Numeral, Text, joined, say
from bdt_core.sentences import with_part, with_sentences


class GateAnswer(Part):
    """What all limits together say.

    Attributes
    ----------
    verdict : {"pass", "fail", "inconclusive", "not_testable", "no_limit"}
    blocks : bool
        Whether what stands behind the gate is stopped.
    sentence : Text
        Why, for a person.
    held_back : tuple of Text
        What is no limit and keeps it from being a pass: a plan that was not fixed beforehand, or looks that are used
        up.
    """

    verdict: Literal["pass", "fail", "inconclusive", "not_testable", "no_limit"]
    blocks: bool
    sentence: Text
    held_back: tuple[Text, ...] = ()

    def held(self, *why: Text) -> GateAnswer:
        """The same where something is lacking: no pass, and the gate stays shut; a failure stays one.

        Examples
        --------
        >>> GateAnswer(verdict="pass", blocks=False, sentence="All is well.").held("The plan is not sealed.")
        GateAnswer(verdict='inconclusive', blocks=True, sentence='The plan is not sealed. All is well.', \
held_back=('The plan is not sealed.',))
        """
        if not why:
            return self
        return type(self)(
            verdict="inconclusive" if self.verdict == "pass" else self.verdict,
            blocks=True,
            sentence=self.sentence if self.verdict == "fail" else joined([*why, self.sentence], " "),
            held_back=(*self.held_back, *why),
        )


def after_looks(document: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """A report whose plan allows so many looks at these people, after this many, this one included.

    Parameters
    ----------
    document : mapping
        The report as data.
    number : int
        The number of the look.

    Returns
    -------
    mapping
        The same where it is one of those that the plan allows, or any number is; else one whose answer is no pass.
    """
    allowed = document["spec"].get("looks")
    if allowed is None or number <= allowed:
        return document
    why = say(
        'This is look {N} at these people, and the plan allows {Nlooks} ("looks"): nothing passes any more. Audit '
        "other people by it, or seal a new plan for them.",
        N=Numeral(number),
        Nlooks=Numeral(allowed),
    )
    return with_part(document, "verdict", GateAnswer.model_validate(with_sentences(document)["verdict"]).held(why))
