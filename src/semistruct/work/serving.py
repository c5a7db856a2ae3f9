"""Starting a server: a free port, a token, an address to open, and an end without loss."""

from __future__ import annotations

import secrets
import signal
import socket
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from threading import Timer, current_thread, main_thread
from typing import Any

from semistruct.errors import ParameterError
from semistruct.files import reason
from semistruct.work.guard import LOCAL, Guard

TRIED = 50  # ports


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


def place(host: str, port: int, say: Callable[[str], None], token: str | None = None) -> Place:
    """A port to listen on: the one wanted, or the next that is free."""
    for tried in range(port, min(port + TRIED, 65536)):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio then sends answers at once
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, tried))
            found.listen(128)
        except PermissionError as err:
            found.close()
            raise ParameterError(f"port {tried} cannot be used: {reason(err)}") from None
        except socket.gaierror:
            found.close()
            raise ParameterError(f"there is no address {host!r} on this machine") from None
        except OSError as err:
            found.close()
            if tried == port:
                say(f"port {port} cannot be used ({reason(err)}), so the next free one is taken")
            continue
        if host not in LOCAL:
            say(f"this machine can be reached by others at {host}: whoever has the token can use the server")
        number = found.getsockname()[1]
        return Place(host, number, token or secrets.token_urlsafe(24), found)
    raise ParameterError(f"no port from {port} on is free at {host}")


def run(app: Any, where: Place, hint: str, *, open_page: bool) -> None:
    """Serve until interrupted; `hint` tells those who have no token how to get it."""
    import uvicorn

    guarded = Guard(app, where.token, where.host, where.port, hint)
    config = uvicorn.Config(guarded, log_level="warning", timeout_graceful_shutdown=2, server_header=False)
    if current_thread() is main_thread():
        signal.signal(signal.SIGTERM, _interrupt)  # ends as Ctrl+C does
    if open_page:
        Timer(0.5, webbrowser.open, [where.address]).start()
    uvicorn.Server(config).run(sockets=[where.socket])


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
