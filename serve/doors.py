"""A request -> the application, or a refusal: nothing is answered that another site, machine or
program of this one may have asked."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The header that bears the token of the address which `parc serve` prints.
TOKEN = "x-parc-token"
#: Headers of every answer: kept nowhere, read as what they are, by this page alone, and the last one of their
#: connection: what else comes on it, be it a body that nothing reads, is not waited for.
HEADERS = {
    "Connection": "close",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def refusal(status: int, message: str) -> JSONResponse:
    """An answer that says why there is none."""
    return JSONResponse({"error": message}, status)


@dataclass
class Doors:
    """Asks each request for the name of this server, and those below `/api/` for the token and their origin.

    A page of another site can send a request here, and by a name of its own that leads to 127.0.0.1 (DNS
    rebinding) also read the answer: hence Host and Origin. Another user of this machine can connect too:
    hence the
    token.
    """

    app: ASGIApp
    port: int
    token: str
    body_bytes: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refused = self._refused(scope, Headers(scope=scope))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (refused or self.app)(scope, receive, send_with_headers)

    def bears_token(self, scope: Scope) -> bool:
        """Whether a request is the owner's."""
        given = Headers(scope=scope).get(TOKEN, "")
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> JSONResponse | None:
        names = (f"127.0.0.1:{self.port}", f"localhost:{self.port}")
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in names:
            return refusal(403, "this server is not called so")
        if origin is not None and origin != f"http://{host}":
            return refusal(403, "a page of another origin asks")
        if not scope["path"].startswith("/api/"):
            return None
        if not self.bears_token(scope):
            return refusal(401, "open the address that `parc serve` printed: it bears a token")
        return self._refused_body(origin, headers) if scope["method"] == "POST" else None

    def _refused_body(self, origin: str | None, headers: Mapping[str, str]) -> JSONResponse | None:
        if origin is None:
            return refusal(403, "nothing says which page asks")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return refusal(415, "requests are JSON")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self.body_bytes:
            return refusal(413, f"a request has at most {self.body_bytes:,} bytes")
        return None
