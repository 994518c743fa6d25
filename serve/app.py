"""Requests of the page -> the page's files, and answers of the processes that check, complete and solve."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from .doors import Doors, refusal
from .limits import Limits
from .processes import Busy, Died, Pool, TookTooLong, TookTooMuch

#: The page's files by their endings.
MEDIA = {".js": "text/javascript", ".css": "text/css", ".txt": "text/plain; charset=utf-8"}
#: The colours that the page shares with the report.
COLOURS = "colours.css"
#: What the page may load and ask: itself alone. `%s` is the nonce of the styles that the editor adds.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: A report has its own policy within; as a frame of the page it is of no origin, so it can ask nothing.
REPORT_POLICY = "sandbox allow-scripts allow-popups allow-downloads; frame-ancestors 'self'"
#: A client that goes before it has its answer. No standard has a number for it; nginx's is well known.
GONE = 499

#: The fields of a request with their types; all of them must be there, and no others may.
Fields = Mapping[str, type]
TEXT: Fields = {"text": str}
PLACE: Fields = {"text": str, "place": int}
TWO: Fields = {"text": str, "other": str}
EDITING: dict[str, Fields] = {"check": TEXT, "complete": PLACE, "hover": PLACE, "format": TEXT}
SOLVING: dict[str, Fields] = {"plan": TEXT, "compare": TWO, "files": TEXT}


@dataclass
class Page:
    """State that the routes share: the pools, the job that was opened, and the newest reports by their
    addresses."""

    opened: Callable[[], Mapping[str, object]]
    editing: Pool
    solving: Pool
    limits: Limits
    reports: OrderedDict[str, str] = field(default_factory=OrderedDict)

    def keep(self, report: str) -> str:
        """The name of a report, which nobody can guess."""
        name = secrets.token_urlsafe(16)
        self.reports[name] = report
        while len(self.reports) > self.limits.reports:
            self.reports.popitem(last=False)
        return name


class Refused(Exception):
    """A request that is not answered: a status of HTTP and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def app_of(page: Page, port: int, token: str) -> Doors:
    """The application behind its doors."""
    names = {COLOURS, *(each.name for each in _folder().iterdir())}
    routes = [
        Route("/", _page, methods=["GET"]),
        Route("/page/{name}", _asset(names), methods=["GET"]),
        Route("/report/{name}", _report(page), methods=["GET"]),
        Route("/api/opened", _opened(page), methods=["GET"]),
    ]
    for pool, kinds in ((page.editing, EDITING), (page.solving, SOLVING)):
        routes += [
            Route(f"/api/{kind}", _asked(page, pool, kind, fields), methods=["POST"])
            for kind, fields in kinds.items()
        ]
    application = Starlette(routes=routes)
    application.router.redirect_slashes = False
    return Doors(application, port, token, page.limits.body_bytes)


def _folder() -> resources.abc.Traversable:
    return resources.files(__package__).joinpath("page")


def _shared() -> resources.abc.Traversable:
    """The folder of styles that the page and the report share."""
    return resources.files("parc.templates").joinpath("report")


async def _page(request: Request) -> Response:
    nonce = secrets.token_urlsafe(16)
    text = _folder().joinpath("page.html").read_text("utf-8").replace("{{ nonce }}", nonce)
    return HTMLResponse(text, headers={"Content-Security-Policy": PAGE_POLICY % nonce})


def _asset(names: set[str]) -> Callable[[Request], Awaitable[Response]]:
    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        folder = _shared() if name == COLOURS else _folder()
        media = MEDIA.get(name[name.rfind(".") :])
        if name not in names or media is None:
            return refusal(404, "there is no such file")
        return Response(folder.joinpath(name).read_bytes(), media_type=media)

    return asset


def _report(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def report(request: Request) -> Response:
        text = page.reports.get(request.path_params["name"])
        if text is None:
            return refusal(404, "the report is no longer kept")
        return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY})

    return report


def _opened(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def opened(request: Request) -> Response:
        return JSONResponse(page.opened())

    return opened


def _asked(
    page: Page, pool: Pool, kind: str, fields: Fields
) -> Callable[[Request], Awaitable[Response]]:
    async def asked(request: Request) -> Response:
        try:
            wanted = {"kind": kind, **await _fields(request, fields, page.limits)}
            media, body = await _while_there(request, pool, wanted)
        except Refused as refused:
            return refusal(refused.status, refused.message)
        except ClientDisconnect:
            return Response(status_code=GONE)
        if kind == "plan":
            body = _with_report(page, body)
        return Response(body, media_type=media)

    return asked


def _with_report(page: Page, body: bytes) -> bytes:
    """The answer with the address of the report in place of its text."""
    answer = json.loads(body)
    report = answer.pop("report", None)
    answer["report"] = f"/report/{page.keep(report)}" if report else None
    return json.dumps(answer).encode()


async def _fields(request: Request, fields: Fields, limits: Limits) -> dict[str, object]:
    """The fields of the body. Raises `Refused` for one that is slow, large or not what is asked for."""
    try:
        async with asyncio.timeout(limits.body_seconds):
            body = await _body(request, limits.body_bytes)
    except TimeoutError:
        raise Refused(408, "the request does not end") from None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON") from None
    if not isinstance(found, dict) or found.keys() != fields.keys():
        raise Refused(400, f"the body is an object with {', '.join(fields)}")
    for name, kind in fields.items():
        if type(found[name]) is not kind or (kind is int and found[name] < 0):
            raise Refused(400, f"{name} is no {'text' if kind is str else 'place'}")
    return found


async def _body(request: Request, most: int) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise Refused(413, f"a request has at most {most:,} bytes")
    return bytes(body)


async def _while_there(
    request: Request, pool: Pool, wanted: dict[str, object]
) -> tuple[str, bytes]:
    """The answer of a pool. Once the client has gone, as a page that asks anew does, its process is killed.

    Raises `Refused`, or `ClientDisconnect`.
    """
    answer = asyncio.ensure_future(pool.ask(wanted))
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientDisconnect
        return answer.result()
    except Busy:
        raise Refused(503, "too much is being solved already: try again") from None
    except TookTooLong:
        message = (
            f"no answer in {pool.seconds:g} s, so it was stopped; `parc plan` has no such limit"
        )
        raise Refused(504, message) from None
    except TookTooMuch:
        raise Refused(507, _too_much(pool)) from None
    except Died:
        message = (
            f"its process was ended from outside: the machine may lack memory, or {_too_much(pool)}"
        )
        raise Refused(500, message) from None
    finally:
        gone.cancel()
        answer.cancel()
        await asyncio.gather(answer, gone, return_exceptions=True)


def _too_much(pool: Pool) -> str:
    """A library that has no memory left ends its process and says nothing, so this may be true of any that
    ends."""
    most = f"{pool.most_bytes / 2**20:,.0f} MiB"
    return (
        f"it needs more than the {most} that a process may take: `parc serve --memory` gives more"
    )
