"""Who may ask: pages of this very server, called by its own name. Every answer forbids a browser to do anything else.

A page from elsewhere can make a browser send requests to 127.0.0.1. It is refused by the names of host and origin: also
one whose own name was pointed here (DNS rebinding), for a browser then says that name.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

__all__ = ["HEADERS", "Guard", "own_names"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_TYPES = ("application/json", "application/octet-stream")  # forms cannot send these


def own_names(host: str, port: int, more: Iterable[str] = ()) -> frozenset[str]:
    """How a browser may call this server: by its address, by localhost if it is that, and by ``more`` names."""
    names = {host, *more}
    if host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::"):
        names |= {"127.0.0.1", "::1", "localhost"}
    shown = {f"[{name}]" if ":" in name else name for name in names - {"0.0.0.0", "::"}}
    found = {f"{name}:{port}".lower() for name in shown}
    return frozenset(
        found | {name.lower() for name in shown} if port == 80 else found
    )  # browsers leave 80 out


class Guard:
    """Between the server and the application."""

    def __init__(self, app: Any, names: Callable[[], frozenset[str]]) -> None:
        self.app, self.names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses, or passes on and adds `HEADERS` to the answer."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets
            return

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *own]
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal is None:
            await self.app(scope, receive, send_guarded)
        else:
            told, status = refusal
            await PlainTextResponse(told, status)(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers) -> tuple[str, int] | None:
        names = self.names()
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in names:
            return "this server does not answer to that name", 421
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in names}:
            return "pages from elsewhere may not ask", 403
        if method in ("GET", "HEAD"):
            return None
        if method != "POST":
            return "there is nothing to do so", 405
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "pages from elsewhere may not ask", 403
        if headers.get("content-type", "").partition(";")[0].strip() not in _TYPES:
            return "expected JSON, or a file", 415
        return None
