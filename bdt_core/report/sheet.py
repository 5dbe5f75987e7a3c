"""A sheet to draw a figure on: points from the top left corner, text that is measured before it is set.

Same input, same bytes: no dates, a fixed salt for identifiers, one font that comes along, and no settings taken
from the user's matplotlib configuration.
"""

from __future__ import annotations

import io
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from bdt_core.report.catalogue import AS_WRITTEN, Sayings
from bdt_core.said import AsItIs, Sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 480.0
"""As wide as the text of a printed page, on which figures are drawn as large as they are."""
SMALL = 8.0
"""Size of the smallest text; its letters are as tall as those of the text around it in print."""
INK = "#1a2330"
GREY = "#5b6673"
FAINT = "#c9d0d8"
# Okabe and Ito's palette: told apart by colour-blind readers; marks differ in shape as well.
HARM = "#b34700"
CALM = "#0067a3"
HARM_TINT = "#fdeee3"
CALM_TINT = "#e6f1f8"
SHADES = ("#f1f3f6", "#869fb9")
"""From low to high, where a colour is a number; ink can be read on both."""
_SETTINGS = {
    "svg.hashsalt": "bdt",
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana"],  # the first one measures; who lacks it has one as wide
    "svg.fonttype": "none",  # text stays text, which can be found and read aloud: a fifth as large as its outlines
    "text.hinting": "no_hinting",  # so that a text is as wide on the screen as in print
    "text.parse_math": False,  # a $ in a column name is a $
    "axes.unicode_minus": True,
    "path.simplify": False,
}
_TITLE, _SUBTITLE = 11.0, 8.5
_TITLE_LINES, _SUBTITLE_LINES = 3, 2
_HINTED = 1.05
"""On a person's own axes so many times as wide: from 100 dots per inch on letters are fitted to pixels by no more."""
_ABOVE_LINES = 2.5  # matplotlib draws lines at 2, and texts at 3
_one_at_a_time = threading.Lock()  # matplotlib's settings are global


_said: ContextVar[Sayings] = ContextVar("said", default=AS_WRITTEN)
_onto: ContextVar[Callable[[float, float], Axes] | None] = ContextVar("onto", default=None)


@contextmanager
def onto(axes: Callable[[float, float], Axes]) -> Iterator[None]:
    """For the time of one drawing, a sheet is drawn onto axes: those that are made for its width and height."""
    token = _onto.set(axes)
    try:
        yield
    finally:
        _onto.reset(token)


@contextmanager
def settings(say: Sayings = AS_WRITTEN) -> Iterator[None]:
    """Matplotlib's own defaults and ours, for the time of one drawing; `say` says texts in the report's language."""
    import warnings

    import matplotlib as mpl

    with _one_at_a_time, mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        token = _said.set(say)
        try:
            yield
        finally:
            _said.reset(token)


class _Page:
    """A figure of its own, in points from the top left corner."""

    times = 1.0

    def __init__(self, width: float, height: float) -> None:
        from matplotlib.figure import Figure
        from matplotlib.transforms import Affine2D

        self.figure = Figure(facecolor="white")
        self.figure.set_size_inches(width / 72, height / 72)
        self._size = width, height
        self.points = Affine2D().scale(1, -1).translate(0, height).scale(1 / 72) + self.figure.dpi_scale_trans
        self.text, self.add = self.figure.text, self.figure.add_artist

    def axes(self, x: float, y: float, width: float, height: float) -> Axes:
        """Axes within it."""
        whole, high = self._size
        return self.figure.add_axes((x / whole, 1 - (y + height) / high, width / whole, height / high))


class _Given:
    """Axes that somebody else has, as a page of points: texts and lines are as many times as large as it is."""

    def __init__(self, axes: Axes, width: float, height: float) -> None:
        figure, box = axes.get_figure(root=True), axes.get_window_extent()
        assert figure is not None  # axes that are drawn on are somewhere
        self.times = min(box.width / width, box.height / height) * 72 / figure.dpi
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.set_aspect("equal", adjustable="box", anchor="NW")
        axes.set_axis_off()
        self.figure, self._axes, self.points = figure, axes, axes.transData
        self._size = width, height
        self.text = axes.text

    def add(self, artist: Any) -> None:
        """Put a line or a shape on it."""
        self._axes.add_artist(artist)
        artist.set_clip_on(False)

    def axes(self, x: float, y: float, width: float, height: float) -> Axes:
        """Axes within it."""
        whole, high = self._size
        return self._axes.inset_axes((x / whole, 1 - (y + height) / high, width / whole, height / high), zorder=0)


class Ruler:
    """Measures texts in the language of a report."""

    def __init__(self) -> None:
        self._say = _said.get()
        self._wider = _HINTED if _onto.get() is not None else 1.0

    def said(self, words: str) -> str:
        """A sentence or a number in the report's language, data as it is; what is in several lines is so already."""
        if isinstance(words, AsItIs) or "\n" in words:
            return words
        return AsItIs(self._say(words) if isinstance(words, Sentence) else self._say.name(words))

    def level(self, column: str, level: str) -> str:
        """A level, as readers of its column call it."""
        return AsItIs(self._say.level(column, level))

    def measure(self, words: str, size: float, bold: bool = False) -> float:
        """Width of a text in points."""
        return size * self._wider * math.fsum(_advance(one, bold) for one in self.said(words))

    def fit(self, words: str, width: float, size: float, bold: bool = False) -> str:
        """The text, its middle taken out until it fits."""
        words = self.said(words)
        if self.measure(words, size, bold) <= width:
            return words
        return self._longest(words, _shortened, width, size, bold)

    def wrap(self, words: str, width: float, size: float, lines: int, bold: bool = False) -> list[str]:
        """The text in at most so many lines; what does not fit ends in three dots."""
        wrapped: list[str] = []
        line, rest = "", str(self.said(words))
        while rest:
            word, _, after = rest.partition(" ")
            if "-" in word[1:-1] and self.measure(AsItIs(word), size, bold) > width:
                head, dash, tail = word.partition("-")
                word, after = head + dash, f"{tail} {after}".rstrip()
            longer = f"{line} {word}" if line else word
            if self.measure(AsItIs(longer), size, bold) <= width:
                line, rest = longer, after
            elif not line:
                line, rest = self.fit(AsItIs(word), width, size, bold), after
            elif len(wrapped) == lines - 1:
                return [*wrapped, self._longest(f"{line} {rest}", _cut, width, size, bold)]
            else:
                wrapped.append(AsItIs(line))
                line = ""
        return [*wrapped, AsItIs(line)]

    def _longest(self, words: str, shorten: Callable[[str, int], str], width: float, size: float, bold: bool) -> str:
        """The longest shortened form that fits."""
        low, high = 1, min(len(words) - 1, 400)
        while low < high:
            kept = (low + high + 1) // 2
            fits = self.measure(AsItIs(shorten(words, kept)), size, bold) <= width
            low, high = (kept, high) if fits else (low, kept - 1)
        return AsItIs(shorten(words, low))


class Sheet(Ruler):
    """A figure as high as its title and its body need; lengths in points, (0, 0) is the top left corner.

    Attributes
    ----------
    top : float
        Where the body may begin, below the title and the subtitle, which are as wide as `room` at most.
    figure : Figure
        What it is drawn on.
    """

    def __init__(
        self, title: str, body: float, width: float = WIDTH, subtitle: str = "", room: float | None = None
    ) -> None:
        super().__init__()
        room = width if room is None else room
        most = math.ceil(_TITLE_LINES * width / room)
        lines = self.wrap(title, room - 16, _TITLE, most, bold=True)
        below = self.wrap(subtitle, room - 16, _SUBTITLE, _SUBTITLE_LINES) if subtitle else []
        self.top = 14.0 + 15 * len(lines) + 12 * len(below)
        self.width, self.height = width, self.top + body
        onto = _onto.get()
        self._on = _Page(width, self.height) if onto is None else _Given(onto(width, self.height), width, self.height)
        self.figure, self._points, self._times = self._on.figure, self._on.points, self._on.times
        for number, line in enumerate(lines):
            self.text(8, 13 + 15 * number, line, size=_TITLE, bold=True)
        for number, line in enumerate(below):
            self.text(8, 13 + 15 * len(lines) + 12 * number, line, size=_SUBTITLE, color=GREY)

    def axes(self, x: float, y: float, width: float, height: float) -> Axes:
        """Axes whose top left corner is (x, y), without a frame."""
        axes = self._on.axes(x, y, width, height)
        axes.spines[:].set_visible(False)
        axes.tick_params(left=False, labelleft=False, labelsize=SMALL * self._times, colors=GREY, length=3)
        return axes

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 8.5,
        bold: bool = False,
        color: str = INK,
        align: Literal["left", "center", "right"] = "left",
        spacing: float = 1.25,
    ) -> None:
        """Set a text whose middle line is at height y."""
        lines = self.said(words).split("\n")
        for number, line in enumerate(lines):
            down = (number - (len(lines) - 1) / 2) * size * spacing
            self._on.text(
                x, y + down, line, transform=self._points, fontsize=size * self._times,
                fontweight="bold" if bold else "normal", color=color, ha=align, va="center_baseline",
            )  # fmt: skip

    def line(self, x: list[float], y: list[float], *, color: str = FAINT, width: float = 0.8, style: str = "-") -> None:
        """A line through the points."""
        from matplotlib.lines import Line2D

        drawn = Line2D(x, y, transform=self._points, color=color, linewidth=width * self._times)
        drawn.set_linestyle(style)
        self._on.add(drawn)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str,
        edge: str,
        round_by: float = 4,
        hatch: str | None = None,
    ) -> None:
        """A box whose top left corner is (x, y); a hatch takes the colour of the edge."""
        from matplotlib.patches import FancyBboxPatch

        style = f"round,pad=0,rounding_size={round_by}" if round_by else "square,pad=0"
        drawn = FancyBboxPatch((x, y), width, height, boxstyle=style, transform=self._points)
        drawn.set(facecolor=fill, edgecolor=edge, linewidth=0.8 * self._times, hatch=hatch)
        self._on.add(drawn)

    def cover(self, x: float, y: float, width: float, height: float) -> None:
        """White that hides lines, for a text to stand on."""
        from matplotlib.patches import Rectangle

        white = Rectangle((x, y), width, height, transform=self._points, linewidth=0, zorder=_ABOVE_LINES)
        white.set(facecolor="white")
        self._on.add(white)

    def mark(self, x: float, y: float, *, shape: str, fill: str, edge: str, size: float = 7) -> None:
        """A mark of a size in points."""
        from matplotlib.lines import Line2D

        drawn = Line2D([x], [y], transform=self._points, marker=shape, linestyle="none")
        drawn.set(markersize=size * self._times, markerfacecolor=fill)
        drawn.set(markeredgecolor=edge, markeredgewidth=1.2 * self._times)
        self._on.add(drawn)

    def legend(self, y: float, marks: Sequence[tuple[str, str, str, str]]) -> None:
        """Marks in a row, each with shape, fill, edge and what it stands for."""
        x = 14.0
        for shape, fill, edge, phrase in marks:
            self.mark(x, y, shape=shape, fill=fill, edge=edge)
            label = self.fit(phrase, self.width - 8 - x - 9, SMALL)
            self.text(x + 8, y, label, size=SMALL, color=GREY)
            x += 21 + self.measure(label, SMALL)

    def svg(self) -> str:
        """The drawing as SVG."""
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        written = io.StringIO()
        nothing: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        FigureCanvasSVG(self.figure).print_svg(written, metadata=nothing)
        return written.getvalue()

    def png(self, dpi: int) -> bytes:
        """The drawing as PNG, ``dpi`` / 72 times as many pixels wide as points."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        self.figure.set_dpi(dpi)
        written = io.BytesIO()
        FigureCanvasAgg(self.figure).print_png(written, metadata={"Software": None})
        return written.getvalue()


@cache
def _advance(character: str, bold: bool) -> float:
    """How far a character moves the pen, at one point of size; a guess where the font does not have it."""
    from matplotlib.font_manager import FontProperties, findfont, get_font
    from matplotlib.ft2font import LoadFlags

    font = get_font(findfont(FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")))
    if ord(character) not in font.get_charmap():
        return 1.0
    font.set_size(100, 72)
    glyph = font.load_char(ord(character), flags=LoadFlags.NO_HINTING)
    return float(glyph.linearHoriAdvance) / 65536 / 100


def _cut(words: str, kept: int) -> str:
    return f"{words[:kept].rstrip(' ;,')} …"


def _shortened(words: str, kept: int) -> str:
    """So many characters of a text: most of its start, a little of its end."""
    end = kept // 3
    return f"{words[: kept - end]}…{words[len(words) - end :] if end else ''}"
