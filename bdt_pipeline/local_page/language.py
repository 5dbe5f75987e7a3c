"""The page's words: English stands in the templates, other languages in the catalogue of `bdt_core.report.translation`.

It also holds what proposals, stages and errors say, by the rules of `bdt_core.report.catalogue`. A sentence that is in
no catalogue stays English, and is marked as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from markupsafe import Markup, escape

from bdt_core.report.catalogue import sayings_of_page
from bdt_core.report.translation import PAGE, texts
from bdt_core.spec import LANGUAGES

ENGLISH = "en"


class PageLanguage:
    """What the page says in a language.

    Parameters
    ----------
    name : str
        One of `LANGUAGES`.

    Attributes
    ----------
    said : callable
        What a sentence of the product is; itself where no catalogue has it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.said: Callable[[str], str] = str
        self._words = texts(name, PAGE)
        if name != ENGLISH:
            self.said = sayings_of_page(name)

    def say(self, text: str, **names: object) -> str:
        """Words of the page itself, with names in their places."""
        return self._words.get(text, text).format(**names)

    def marked(self, sentence: str) -> Markup:
        """What the product says, with its language where that is not the page's."""
        said = self.said(sentence)
        if said == sentence and self.name != ENGLISH and re.search("[A-Za-z]{2} [A-Za-z]", sentence):
            return Markup('<span lang="en">{}</span>').format(sentence)
        return escape(said)

    def number(self, x: float) -> str:
        """A whole number, with its thousands set apart."""
        return self.said(f"{x:,}")


@cache
def language(name: str) -> PageLanguage:
    """A language, read once."""
    return PageLanguage(name)


def wanted_language(accepted: str) -> str:
    """The first language of a browser's list that the page has; English without any.

    Examples
    --------
    >>> [wanted_language(one) for one in ("nl-BE,nl;q=0.9,en;q=0.8", "de, en;q=0.3, nl;q=0.5", "fr", "")]
    ['nl', 'nl', 'en', 'en']
    """
    weighed = []
    for place, part in enumerate(accepted.split(",")):
        name, _, quality = part.strip().partition(";q=")
        weight = float(quality) if re.fullmatch(r"[01](\.\d{1,3})?", quality) else 1.0
        weighed.append((-weight, place, name.split("-")[0].lower()))
    return next((name for _, _, name in sorted(weighed) if name in LANGUAGES), ENGLISH)
