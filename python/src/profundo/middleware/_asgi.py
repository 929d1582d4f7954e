"""The middleware for ASGI: FastAPI, Starlette, Quart, Django's and others' applications."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, List, MutableMapping, Optional

from ._answer import Seen, answer, keep
from ._asking import form_of, scope_asks
from ._base import Folder, When, Wishes

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class ASGIMiddleware:
    """Profiles the requests that ask for it. Websockets and events of the lifespan pass.

    Args:
        app: The application.
        when: A function of ``scope`` that says whether a request is profiled. By default a request
            asks with ``?profile`` in its address, from this machine.
        directory: A folder. With it, requests have the application's answer, and their profiles
            are files there.
        ending: The kind of these files: ``".html"``, ``".txt"``, ``".json"``, ``".svg"``,
            ``".speedscope.json"``, ``".pb.gz"`` …
        options: Those of :func:`profundo.profile`, such as ``memory=True``.
    """

    def __init__(
        self,
        app: Application,
        when: When = scope_asks,
        directory: Optional[Folder] = None,
        ending: str = ".html",
        **options: Any,
    ) -> None:
        self.app = app
        self._wishes = Wishes(when, directory, ending, options)
        self._when = self._wishes.when

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._when(scope):
            await self.app(scope, receive, send)
        elif self._wishes.directory is None:
            await self._answer(scope, receive, send)
        else:
            await self._keep(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the profile in place of the application's answer, unless that says it failed."""
        seen = _seen(scope)
        held: List[Message] = []

        async def hold(message: Message) -> None:
            _look(message, seen)
            if seen.has_failed:
                held.append(message)

        with self._wishes.region() as profile:
            await self.app(scope, receive, hold)
        seen.end()
        if seen.has_failed:
            for message in held:
                await send(message)
            return
        form = form_of(scope["query_string"].decode("latin-1")) or "html"
        reply = await _aside(answer, profile, form, seen)
        headers = [(name.lower().encode(), value.encode()) for name, value in reply.headers]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})

    async def _keep(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the application's answer, and keep the profile."""
        seen = _seen(scope)

        async def look(message: Message) -> None:
            _look(message, seen)
            await send(message)

        region = self._wishes.region()
        try:
            with region:
                await self.app(scope, receive, look)
        finally:
            seen.end()
            await _aside(keep, region, self._wishes.directory, self._wishes.ending, seen)


def _seen(scope: Scope) -> Seen:
    return Seen(scope.get("method", ""), scope.get("path", ""))


def _look(message: Message, seen: Seen) -> None:
    if message["type"] == "http.response.start":
        seen.status = message["status"]
    elif message["type"] == "http.response.body":
        seen.size += len(message.get("body", b""))


async def _aside(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that takes long, while the loop serves others."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        import trio  # type: ignore[import-not-found]

        return await trio.to_thread.run_sync(function, *arguments)
    return await loop.run_in_executor(None, function, *arguments)
