"""Who may use the server: those who know its token, under its own name, from its own pages; and what they may send."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LARGEST = 64_000_000  # bytes of a request
READ_OFF = 2_000_000_000  # bytes of a request that is refused
TOO_LARGE = f"Too large: at most {LARGEST // 1_000_000} MB can be sent."
LOCAL = {"localhost", "127.0.0.1", "::1"}
SAFE = {"GET", "HEAD", "OPTIONS"}
HEADERS = [
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


@dataclass(frozen=True)
class Guard:
    """Lets through what may be let through.

    host  that the server is bound to: besides the names of the own machine, it may be called by that
    hint  what those are told who have no token
    """

    app: Callable[..., Awaitable[None]]
    token: str
    host: str
    port: int
    hint: str

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        request = _Request(scope)
        if refusal := self._refusal(request):
            if request.header("expect").lower() != "100-continue":  # who asks first has not yet sent anything
                await read_off(receive)
            await answer(send, *refusal)
            return
        if not (request.is_for_the_page or self._fits(request.bearer)):
            await read_off(receive)
            await answer(send, 401, self.hint)
            return
        await self._passed(scope, receive, send)

    def _fits(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.token.encode())

    def _refusal(self, request: _Request) -> tuple[int, str] | None:
        host = _name(request.header("host"))
        if host not in LOCAL and host != self.host.lower() and not (self._is_public and _is_address(host)):
            return 403, "This server does not go by that name."
        origin = request.header("origin")
        if request.method not in SAFE and origin and urlsplit(origin).netloc != request.header("host"):
            return 403, "This request comes from another page."
        if request.header("sec-fetch-site") == "cross-site" and request.path != "/":
            return 403, "This request comes from another page."
        length = request.header("content-length")
        if length and (not length.isdigit() or int(length) > LARGEST):
            return 413, TOO_LARGE
        return None

    @property
    def _is_public(self) -> bool:
        return self.host not in LOCAL

    async def _passed(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        read, more, begun = 0, True, False

        async def limited() -> Message:
            nonlocal read, more
            message = await receive()
            read, more = read + len(message.get("body", b"")), message.get("more_body", False)
            return {"type": "http.disconnect"} if read > LARGEST else message

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if read > LARGEST and not begun:
                return  # what the application says to a request that broke off
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        try:
            await self.app(scope, limited, with_headers)
        except Exception:
            if read <= LARGEST:
                raise
        if read > LARGEST and not begun:
            if more:
                await read_off(receive)
            await answer(send, 413, TOO_LARGE)


class _Request:
    """The parts of a request that a guard looks at."""

    def __init__(self, scope: MutableMapping[str, Any]) -> None:
        self.method, self.path = scope["method"], scope["path"]
        self._headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}

    def header(self, name: str) -> str:
        return self._headers.get(name, "")

    @property
    def bearer(self) -> str:
        kind, _, value = self.header("authorization").partition(" ")
        return value if kind.lower() == "bearer" else ""

    @property
    def is_for_the_page(self) -> bool:
        """Whether it asks for a file of the page, which are the same for everybody and hold no data."""
        return self.method in ("GET", "HEAD") and (self.path == "/" or self.path.startswith("/page/"))


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


async def read_off(receive: Receive) -> None:
    """Reads the rest of a request, within reason: who still sends does not hear an answer."""
    read, more = 0, True
    while more and read <= READ_OFF:
        message = await receive()
        read, more = read + len(message.get("body", b"")), message.get("more_body", False)


async def answer(send: Send, code: int, words: str) -> None:
    """A plain answer."""
    body = words.encode()
    kind = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": code, "headers": [*HEADERS, *kind]})
    await send({"type": "http.response.body", "body": body})
