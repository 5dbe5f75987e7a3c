"""Names of all scripts, directions and joinings, the same each time."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections import defaultdict
from functools import cache

JOINED = ("\u200d", "\u200c", "\u0301", "\u0323", "\u20dd", "\ufe0f")
"""What joins letters or keeps them apart, and marks above, below and around them."""
TURNED = ("\u202e{}\u202c", "\u2067{}\u2069", "\u200f{}", "{} 12", "a {} b", "({})")
"""Names that turn the direction of writing, or stand beside writing of the other direction."""
NO_LETTERS = (
    "👨\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "👩🏽\u200d🚀", "🇳🇱", "1\ufe0f\u20e3", "\ue000", "\U000f0000x",
    "\u0378", "\U000e0041a", "\ufdd0", "a\ufeffb", "\ufeff", "a\u00adb", "\u2060", "\u3164", "\u115f",
    "q" + "\u0301\u0334\u0489" * 9, "\u0301", "\u093f", "k\u093f", "ﷺ", "ǅ", "ﬁ", "\u1100\u1161\u11a8", "각",
    "が", "か\u3099", "葛\U000e0100",
    "\u2028x", "a\x07b", "a\x1b[31mb", "\ud800", "<b>&amp;</b>", "[U+0041]", "x\ty", "$x$ #let", "𝔸𝒷", "𓀀𓀁", "𠮷",
)  # fmt: skip


@cache
def letters() -> dict[str, list[str]]:
    """Letters and marks by script, as the names of characters begin."""
    found = defaultdict(list)
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(character)[0] in "LM":
            found[unicodedata.name(character, "").partition(" ")[0]].append(character)
    return {script: known for script, known in found.items() if len(known) >= 12}


def names(number: int) -> list[str]:
    """So many names, no two of which are the same."""
    chance = random.Random(20261127)
    made = dict.fromkeys(NO_LETTERS)
    scripts = sorted(letters())
    while len(made) < number:
        script = scripts[len(made) % len(scripts)]
        name = "".join(chance.choice(letters()[script]) for _ in range(chance.randint(1, 8)))
        if chance.random() < 0.3:
            place = chance.randint(0, len(name))
            name = name[:place] + chance.choice(JOINED) + name[place:]
        made[chance.choice(TURNED).format(name) if chance.random() < 0.3 else name] = None
    return list(made)
