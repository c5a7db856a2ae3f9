"""A server: a free port and a token, who may use it and what they may send, and an end without loss."""

from __future__ import annotations

import hmac
import json
import re
import secrets
import signal
import socket
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from ipaddress import ip_address
from threading import Timer, current_thread, main_thread
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response

from semistruct.app.work.limits import LARGEST_REQUEST
from semistruct.app.work.pool import refuse_half_characters
from semistruct.base.errors import DataError, ParameterError
from semistruct.base.files import reason

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LOCAL = {"localhost", "127.0.0.1", "::1"}
SAFE = {"GET", "HEAD", "OPTIONS"}
HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
HALF = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""What may be half of a character, which JSON can carry and no text can."""
RAW_HEADERS = [(key.encode(), value.encode()) for key, value in HEADERS.items()]


@dataclass(frozen=True)
class Place:
    """Where a server listens."""

    host: str
    port: int
    token: str
    socket: socket.socket

    @property
    def site(self) -> str:
        shown = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}/"

    @property
    def address(self) -> str:
        """What a person opens."""
        return f"{self.site}?token={self.token}"


def find_place(host: str, port: int, say: Callable[[str], None], token: str | None = None) -> Place:
    """A port to listen on: the one wanted, or the next that is free."""
    for tried in range(port, 65536):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio then sends answers at once
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, tried))
            bound.listen(128)
        except OSError as err:
            bound.close()
            if isinstance(err, PermissionError):
                raise ParameterError(f"port {tried} cannot be used: {reason(err)}") from None
            if isinstance(err, socket.gaierror):
                raise ParameterError(f"there is no address {host!r} on this machine") from None
            if tried == port:
                say(f"port {port} cannot be used ({reason(err)}), so the next free one is taken")
            continue
        if host not in LOCAL:
            say(f"this machine can be reached by others at {host}: whoever has the token can use the server")
        return Place(host, bound.getsockname()[1], token or secrets.token_urlsafe(24), bound)
    raise ParameterError(f"no port from {port} on is free at {host}")


def run(app: Any, place: Place, hint: str, *, open_page: bool) -> None:
    """Serve until interrupted; `hint` tells those who have no token how to get it."""
    import uvicorn

    guarded = Guard(app, place.token, place.host, hint)
    config = uvicorn.Config(guarded, log_level="warning", timeout_graceful_shutdown=2, server_header=False)
    if current_thread() is main_thread():
        signal.signal(signal.SIGTERM, _interrupt)  # ends as Ctrl+C does
    if open_page:
        Timer(0.5, webbrowser.open, [place.address]).start()
    uvicorn.Server(config).run(sockets=[place.socket])


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@dataclass(frozen=True)
class Guard:
    """Lets through who knows the token, calls the server by its own name, and comes from its own pages.

    host  that the server is bound to: besides the names of the own machine, it may be called by that
    hint  what those are told who have no token
    """

    app: Callable[..., Awaitable[None]]
    token: str
    host: str
    hint: str

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refusal, body = self._refusal(scope, headers), b""
        if refusal is None or headers.get("expect", "").lower() != "100-continue":
            read = await _read_body(receive, LARGEST_REQUEST if refusal is None else 0)
            if read is None:
                return
            body, is_whole = read
            refusal = refusal or (_half_character(headers, body) if is_whole else _too_large())
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay() -> Message:
            return next(messages, None) or await receive()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *RAW_HEADERS]
            await send(message)

        await self.app(scope, replay, send_with_headers)

    def _refusal(self, scope: Message, headers: Headers) -> Response | None:
        """The answer to a request that is not let through."""
        method, path = scope["method"], scope["path"]
        host = _name(headers.get("host", ""))
        is_public = self.host not in LOCAL
        if host not in LOCAL and host != self.host.lower() and not (is_public and _is_address(host)):
            return _refused(403, "This server does not go by that name.")
        origin = headers.get("origin")
        is_foreign = method not in SAFE and origin and urlsplit(origin).netloc != headers.get("host")
        if is_foreign or (headers.get("sec-fetch-site") == "cross-site" and path != "/"):
            return _refused(403, "This request comes from another page.")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST_REQUEST:
            return _too_large()
        is_page = method in ("GET", "HEAD") and (path == "/" or path.startswith("/page/"))  # holds no data
        kind, _, token = headers.get("authorization", "").partition(" ")
        if is_page or (kind.lower() == "bearer" and hmac.compare_digest(token.encode(), self.token.encode())):
            return None
        return _refused(401, self.hint)


def _refused(status: int, words: str) -> Response:
    return PlainTextResponse(words, status, HEADERS)


def _too_large() -> Response:
    return _refused(413, f"Too large: at most {LARGEST_REQUEST // 1_000_000} MB can be sent.")


def _half_character(headers: Headers, body: bytes) -> Response | None:
    """The answer to JSON with half of a character, which could be neither written nor answered."""
    if HALF.search(body) and "json" in headers.get("content-type", ""):
        try:
            refuse_half_characters(json.loads(body))
        except DataError as err:
            return JSONResponse({"problem": str(err)}, 422, HEADERS)
        except (ValueError, RecursionError):
            return None  # the application says that it is no JSON
    return None


async def _read_body(receive: Receive, most: int) -> tuple[bytes, bool] | None:
    """The body of a request and whether it is whole, None if the client is gone.

    Of a body that is too large nothing is kept, but all is read: who still sends does not hear an answer.
    """
    chunks, size, more = list[bytes](), 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk, more = message.get("body", b""), message.get("more_body", False)
        size += len(chunk)
        chunks.append(chunk)
        if size > most:
            chunks.clear()
    return b"".join(chunks), size <= most


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
