"""What requests carry: JSON that is text throughout, and files, by themselves or in a form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from email.message import Message
from email.parser import HeaderParser
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from semistruct.errors import DataError
from semistruct.work.importing import refuse_half

HALF = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""What may be half of a character, which JSON can carry and no text can."""


class TextRoute(APIRoute):
    """A route that refuses JSON with halves of characters, which could be neither written nor answered."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            if self.body_field is not None:
                refuse_halves(await request.body())
            return await handle(request)

        return checked


def refuse_halves(body: bytes) -> None:
    """Refuse JSON that holds half of a character; what is no JSON is refused elsewhere."""
    if HALF.search(body):
        try:
            refuse_half(json.loads(body))
        except (ValueError, RecursionError) as err:
            if isinstance(err, DataError):
                raise


async def file_of(request: Request, name: str) -> tuple[str, bytes]:
    """A file and its name: the body of a request, called `name`; or that of a form, as `curl -F file=@x.txt` sends."""
    body, kind = await request.body(), Message()
    kind["content-type"] = request.headers.get("content-type", "")
    boundary = kind.get_boundary()
    if kind.get_content_type() != "multipart/form-data" or boundary is None:
        return name, body
    for part in (b"\r\n" + body).split(f"\r\n--{boundary}".encode("latin-1"))[1:]:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if found := HeaderParser().parsestr(head.decode("utf-8", "replace")).get_filename():
            return name if "name" in request.query_params else found, content
    raise DataError("the form has no file; send one with `curl -F file=@FILE`")
