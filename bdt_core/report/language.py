"""Numbers, dates, lists and plurals as a language writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bdt_core.words import is_ambiguous

if TYPE_CHECKING:
    import datetime

_DIGITS = 3
_DIGITS_OF_BOUNDS = 6  # whoever is told from others by 62.985 is not by 63
_QUOTES = {"en": ("“", "”"), "nl": ("‘", "’")}
_OF_LANGUAGE = {"en": "en_GB"}  # 31 January 2026; a, b and c


def locale_of(language: str) -> str:
    """The locale that a language's numbers and dates are written by."""
    return _OF_LANGUAGE.get(language, language)


def filters(language: str) -> Mapping[str, Callable[..., Any]]:
    """Filters for templates in a language.

    Examples
    --------
    >>> import datetime
    >>> nl = filters("nl")
    >>> nl["told"](7214), nl["told"](0.4567), nl["day"](datetime.date(2026, 1, 31)), nl["all_of"](["a", "b", "c"])
    ('7.214', '0,457', '31 januari 2026', 'a, b en c')
    >>> filters("en")["form"](1), nl["form"](2)
    ('one', 'other')
    """
    locale = locale_of(language)
    return {
        "told": partial(number, locale=locale),
        "tenths": partial(tenths, locale=locale),
        "bound": partial(number, locale=locale, digits=_DIGITS_OF_BOUNDS),
        "day": partial(day, locale=locale),
        "form": partial(plural_form, locale=locale),
        "all_of": partial(listing, style="standard", locale=locale),
        "any_of": partial(listing, style="or", locale=locale),
        "quoted": partial(quoted, locale=locale),
    }


def number(x: float, *, locale: str, digits: int = _DIGITS) -> str:
    """A number: whole ones whole, others with a few significant digits."""
    from babel.numbers import format_decimal

    rounded = x if float(x).is_integer() else float(f"{x:.{digits}g}")
    return format_decimal(rounded, locale=locale, decimal_quantization=False)


def tenths(x: float, *, locale: str) -> str:
    """A number with one decimal, so that those of a column line up."""
    from babel.numbers import format_decimal

    return format_decimal(x, format="#,##0.0", locale=locale)


def day(date: datetime.date, *, locale: str) -> str:
    """A day in full."""
    from babel.dates import format_date

    return format_date(date, "long", locale=locale)


def plural_form(n: float, *, locale: str) -> str:
    """The form of a noun that goes with a number: "one", "other", and what else a language has."""
    from babel import Locale

    return Locale.parse(locale).plural_form(n)


def listing(parts: Sequence[str], *, style: str, locale: str) -> str:
    """A list within a sentence."""
    from babel.lists import format_list

    return format_list(list(parts), style=style, locale=locale)  # type: ignore[arg-type]


def quoted(name: str, *, locale: str) -> str:
    """A level within a condition: in quotes where it could be read as a part of that."""
    before, after = _QUOTES.get(locale.partition("_")[0], _QUOTES["en"])
    return f"{before}{name}{after}" if is_ambiguous(name) else name
