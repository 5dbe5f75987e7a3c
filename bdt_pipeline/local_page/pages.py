"""The pages: where the visit stands, drawn as HTML, and what its forms do."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from bdt_core.errors import BDTError
from bdt_core.harmless import harmless
from bdt_core.result import FORMS
from bdt_core.said import changed, say
from bdt_core.spec import LANGUAGES
from bdt_core.words import count, printable, size
from bdt_pipeline.local_page.child import MEMBERS, problem_of
from bdt_pipeline.local_page.guard import OF_REPORT
from bdt_pipeline.local_page.language import PageLanguage, language, wanted_language
from bdt_pipeline.local_page.upload import TooLargeError, received
from bdt_pipeline.local_page.visit import BusyError, Visit
from bdt_pipeline.local_page.work import Work

if TYPE_CHECKING:
    from bdt_pipeline.local_page.answers import Answers

_LONGEST_FORM = 4_000_000
_MOST_FIELDS = 20_000
_STATIC = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
EXAMPLE = "demo:compas"
"""By its address: the specification that is saved then finds the table wherever it lies."""
Handler = Callable[[Request], Awaitable[Response]]
OTHER_OUTCOME = (
    "You have chosen another outcome, so the columns were looked at again. See whether all is right now, then start."
)
Why = Literal["entering", "left", "over", "full"]
"""Why somebody stands outside of all visits."""
_TOO_LARGE = "The file is larger than the {N} MB that this page takes. Ask whoever runs it to allow more."


@dataclass(frozen=True)
class Guest:
    """Somebody who has a visit beside others.

    Attributes
    ----------
    name : str
        As the log-in says it.
    hours : int
        How long files are kept that nobody asks for.
    """

    name: str
    hours: int


class Pages:
    """What the browser is shown of a visit.

    Parameters
    ----------
    visit : Visit
    most : int
        Bytes of the largest file that may be sent.
    guest : Guest, optional
        Whose visit it is, where several have one.
    """

    def __init__(self, visit: Visit, most: int, guest: Guest | None = None) -> None:
        self.visit = visit
        self._most = most
        self._guest = guest
        self._language: str | None = None
        self._one_by_one = asyncio.Lock()

    def application(self) -> Starlette:
        """All pages, by their paths after the token."""
        actions: dict[str, Handler] = {
            "table": self._take, "example": self._take_example, "read": self._read, "answers": self._answer,
            "stop": self._stop, "back": self._back, "forget": self._forget, "language": self._speak,
        }  # fmt: skip
        return Starlette(
            routes=[
                Route("/", self._show),
                Route("/progress", self._progress),
                Route("/score", self._score),
                Route("/audit.yaml", self._spec),
                Route(f"/{MEMBERS}", self._members),
                *(Route(f"/report.{form}", self._report) for form in FORMS),
                Route("/{file}", self._file),
                *(Route(f"/{name}", self._guarded(act), methods=["POST"]) for name, act in actions.items()),
            ],
        )

    async def _show(self, request: Request) -> Response:
        return self._page(request)

    def _page(self, request: Request, status: int = 200, *, problem: str = "", notice: str = "") -> Response:
        drawn = draw(
            self.visit, self._spoken(request), self._most, problem=problem, notice=notice, guest=self._guest
        )  # fmt: skip
        return HTMLResponse(drawn, status)

    def _spoken(self, request: Request) -> PageLanguage:
        return language(self._language or wanted_language(request.headers.get("accept-language", "")))

    def _guarded(self, act: Handler) -> Handler:
        """One form after the other, and what is wrong as a sentence on the page."""

        async def acted(request: Request) -> Response:
            try:
                return await act(request)
            except Exception as error:  # nothing is logged
                return self._page(request, _status_of(error), problem=problem_of(error))
            finally:  # a browser reads no answer before it has sent everything
                with suppress(RuntimeError, ClientDisconnect):  # it was read to its end, or will not come
                    async for _ in request.stream():
                        pass

        return acted

    async def _take(self, request: Request) -> Response:
        folder = self.visit.new_folder()
        try:
            name = await received(request.headers.get("content-type", ""), request.stream(), folder, self._most)
        except BaseException as error:
            folder.rmdir()
            if isinstance(error, TooLargeError) and self._guest is not None:  # who can begin no program with options
                raise TooLargeError(say(_TOO_LARGE, N=count(self._most // 1_000_000))) from None
            raise
        self.visit.take(folder, name)
        return _home()

    async def _take_example(self, _request: Request) -> Response:
        self.visit.take(self.visit.new_folder(), EXAMPLE)
        return _home()

    async def _read(self, request: Request) -> Response:
        self.visit.read(await _form(request))
        return _home()

    async def _answer(self, request: Request) -> Response:
        form, spoken = await _form(request), self._spoken(request)
        start = form.get("do") == "start"
        async with self._one_by_one:
            is_other = await asyncio.to_thread(self.visit.answer, form, spoken.name, start=start)
        return self._page(request, notice=OTHER_OUTCOME) if is_other and start else _home()

    async def _stop(self, _request: Request) -> Response:
        work = self.visit.work
        if work is not None:  # another page may be asked for while it ends: only its end changes where the visit stands
            await asyncio.to_thread(work.stop)
            self.visit.leave(work)
        return _home()

    async def _back(self, _request: Request) -> Response:
        self.visit.back()
        return _home()

    async def _forget(self, _request: Request) -> Response:
        self.visit.forget()
        return _home()

    async def _speak(self, request: Request) -> Response:
        asked = (await _form(request)).get("language")
        self._language = asked if asked in LANGUAGES else None
        return _home()

    async def _progress(self, request: Request) -> Response:
        place = self.visit.place
        return JSONResponse({"place": place, **progress_of(self.visit.work, self._spoken(request))})

    async def _score(self, request: Request) -> Response:
        return await asyncio.to_thread(scored, dict(request.query_params), self._spoken(request), self._guest)

    async def _spec(self, _request: Request) -> Response:
        if not self.visit.spec:
            return _nothing()
        return Response(self.visit.spec, media_type="application/yaml", headers=_saved_as(self.visit.spec_file))

    async def _members(self, _request: Request) -> Response:
        file = self.visit.members
        if file is None:
            return _nothing()
        return FileResponse(file, media_type="text/csv", headers=_saved_as(f"{self.visit.name}-{MEMBERS}"))

    async def _report(self, request: Request) -> Response:
        form = request.url.path.rpartition(".")[2]
        if self.visit.place != "report" or self.visit.report is None:
            return _nothing()
        file = self.visit.report / f"report.{form}"
        if not file.is_file():  # it could not be drawn, as the page says
            return _nothing()
        if form == "html" and "save" not in request.query_params:
            return FileResponse(file, media_type=FORMS[form], headers={"Content-Security-Policy": OF_REPORT})
        return FileResponse(file, media_type=FORMS[form], headers=_saved_as(f"{self.visit.name}-report.{form}"))

    async def _file(self, request: Request) -> Response:
        return static(request.path_params["file"]) or _nothing()


def static(name: str) -> Response | None:
    """A file that is the same for everybody, of those that there are."""
    if name == "report.css":  # one set of colours for the report and what is around it
        return Response(_text("bdt_core.report", name), media_type="text/css")
    if name not in _STATIC:
        return None
    return Response(_text("bdt_pipeline.local_page", name), media_type=_STATIC[name])


def door(spoken: PageLanguage, why: Why, status: int) -> Response:
    """A page beside all visits: why there is none, and the way to one.

    Parameters
    ----------
    spoken : PageLanguage
    why : {"entering", "left", "over", "full"}
        Who enters is led on at once.
    status : int
    """
    page = _templates().get_template("door.html.jinja")
    return HTMLResponse(page.render(spoken=spoken, say=spoken.say, why=why), status)


def scored(form: Mapping[str, str], spoken: PageLanguage, guest: Guest | None) -> Response:
    """The page of the composite score: its form, and what came of it.

    Parameters
    ----------
    form : mapping
        As it was sent; empty at first.
    spoken : PageLanguage
    guest : Guest, optional
    """
    from bdt_core.fairness.score_parts import DEFAULT_WEIGHTS, severity_of
    from bdt_pipeline.local_page.score_form import score_of_form

    score, problem = None, ""
    try:
        score = score_of_form(form)
    except BDTError as error:
        problem = str(error)
    drawn = (
        _templates()
        .get_template("score.html.jinja")
        .render(
            form=form, score=score, severity_of=severity_of, weights=DEFAULT_WEIGHTS, infinity=math.inf,
            number=lambda x: spoken.said(f"{x:.3f}"), problem=problem, notice="", place="score",
            **_around(spoken, guest),
        )
    )  # fmt: skip
    return HTMLResponse(drawn, 400 if problem else 200)


def _around(spoken: PageLanguage, guest: Guest | None) -> dict[str, Any]:
    """What every page is drawn with."""
    return {
        "guest": guest,
        "spoken": spoken,
        "say": spoken.say,
        "said": spoken.marked,
        "languages": {name: language(name).say("English") for name in LANGUAGES},
    }


def draw(
    visit: Visit, spoken: PageLanguage, most: int, *, problem: str = "", notice: str = "", guest: Guest | None = None
) -> str:  # fmt: skip
    """The page as it stands.

    Parameters
    ----------
    visit : Visit
    spoken : PageLanguage
    most : int
        Bytes of the largest file that may be sent.
    problem : str
        What was wrong with what was just asked.
    notice : str
        Why the page is here once more.
    guest : Guest, optional
    """
    place = visit.place
    return (
        _templates()
        .get_template(f"{place}.html.jinja")
        .render(
            visit=visit,
            place=place,
            problem=changed(problem or visit.problem, harmless),
            notice=notice,
            megabytes=most // 1_000_000,
            progress=progress_of(visit.work, spoken),
            **({} if visit.answers is None else _questions(visit.answers, spoken)),
            **_around(spoken, guest),
        )
    )


def _questions(answers: Answers, spoken: PageLanguage) -> dict[str, Any]:
    """What the questions are drawn from."""
    from bdt_core.verdict.kinds import DEFAULT_LIMIT_TWO_VALUED
    from bdt_pipeline.local_page.answers import LARGEST_SMALLEST, MOST_ITERATIONS, choice_of, levels_of, numbers_of
    from bdt_pipeline.local_page.outcomes import outcome_in_words
    from bdt_pipeline.proposed.proposal_in_words import limit_in_words

    glance = answers.glance
    return {
        "answers": answers,
        "proposal": answers.proposal,
        "settled": limit_in_words(answers.proposal.reach),
        "default_limit": spoken.said(size(DEFAULT_LIMIT_TWO_VALUED, "rate")),
        "outcomes": [
            (choice_of(one.settings), outcome_in_words(one, glance, spoken), one.why) for one in answers.outcomes
        ],
        "levels": levels_of(glance),
        "numbers": numbers_of(glance),
        "most_of": {"smallest": LARGEST_SMALLEST, "iterations": MOST_ITERATIONS},
    }


def progress_of(work: Work | None, spoken: PageLanguage) -> dict[str, Any]:
    """How far some work is: its stages, which of them runs, and how far that is."""
    if work is None:
        return {"stages": [], "at": 0, "share": 0.0, "notices": [], "waiting": ""}
    titles, step, place = work.task.titles, work.step, work.place
    at = titles.index(step.title) if step is not None and step.title in titles else 0
    of_stage = min(1.0, step.done / step.steps) if step is not None and step.steps else 0.0
    return {
        "stages": [spoken.said(one) for one in titles],
        "at": at,
        "share": (at + of_stage) / len(titles),
        "notices": [spoken.said(one) for one in work.notices],
        "waiting": (
            spoken.say("Others are at work. You are number {place} in the line; it begins by itself.", place=place)
            if place
            else ""
        ),
    }


def _status_of(error: Exception) -> int:
    kinds: dict[type[Exception], int] = {BusyError: 409, TooLargeError: 413, BDTError: 400}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), 500)


def _home() -> Response:
    return RedirectResponse("./", 303)


def _nothing() -> Response:
    return PlainTextResponse("There is nothing here.", 404)


def _saved_as(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form.

    Raises
    ------
    BDTError
        It is larger than any form of ours.
    """
    body = b""
    async for piece in request.stream():
        body += piece[: _LONGEST_FORM + 1 - len(body)]
    if len(body) > _LONGEST_FORM:
        raise BDTError("This is no form of this page: it is too large.")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise BDTError("This is no form of this page: it cannot be read.") from None


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("bdt_pipeline.local_page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["printable"] = printable
    return environment


@cache
def _text(package: str, name: str) -> str:
    return resources.files(package).joinpath("templates", name).read_text(encoding="utf-8")
