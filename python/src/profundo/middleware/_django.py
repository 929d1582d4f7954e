"""The middleware for Django, with synchronous and asynchronous views.

    MIDDLEWARE = ["profundo.middleware.DjangoMiddleware", ...]

Its options are settings: ``PROFUNDO_WHEN`` is a function of the request or its dotted name,
``PROFUNDO_DIRECTORY`` and ``PROFUNDO_ENDING`` keep profiles in a folder, and ``PROFUNDO_OPTIONS``
is a dictionary for :func:`profundo.profile`.
"""

from __future__ import annotations

import os
from inspect import iscoroutinefunction
from typing import Any, Callable

from ._answer import Answer, Seen, answer, keep
from ._asking import environ_asks, form_of
from ._base import When, Wishes


def DjangoMiddleware(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Profiles the requests that ask for it: by default with ``?profile``, from this machine."""
    wishes = _wishes()
    when = wishes.when

    def profiled(request: Any) -> Any:
        seen = _seen(request)
        with wishes.region() as profile:
            response = get_response(request)
            if is_replaced(response) and response.streaming:
                seen.size = sum(map(len, response.streaming_content))
        return finish(request, response, profile, seen)

    async def profiled_async(request: Any) -> Any:
        from asgiref.sync import sync_to_async  # type: ignore[import-not-found]

        seen = _seen(request)
        with wishes.region() as profile:
            response = await get_response(request)
            if is_replaced(response) and response.streaming:
                if getattr(response, "is_async", False):
                    async for part in response.streaming_content:
                        seen.size += len(part)
                else:
                    parts = response.streaming_content
                    seen.size = await sync_to_async(lambda: sum(map(len, parts)))()
        aside = sync_to_async(finish, thread_sensitive=False)
        return await aside(request, response, profile, seen)

    def is_replaced(response: Any) -> bool:
        """Whether the profile takes the place of the application's answer."""
        return wishes.directory is None and response.status_code < 500

    def finish(request: Any, response: Any, profile: Any, seen: Seen) -> Any:
        """The answer to send."""
        seen.end()
        seen.status = response.status_code
        if not response.streaming:
            seen.size = len(response.content)
        if wishes.directory is not None:
            keep(profile, wishes.directory, wishes.ending, seen)
        if is_replaced(response):
            form = form_of(request.META.get("QUERY_STRING", "")) or "html"
            return _replaced(response, answer(profile, form, seen))
        return response

    def middleware(request: Any) -> Any:
        return profiled(request) if when(request) else get_response(request)

    async def middleware_async(request: Any) -> Any:
        if when(request):
            return await profiled_async(request)
        return await get_response(request)

    return middleware_async if iscoroutinefunction(get_response) else middleware


DjangoMiddleware.sync_capable = True  # type: ignore[attr-defined]
DjangoMiddleware.async_capable = True  # type: ignore[attr-defined]


def _asks(request: Any) -> bool:
    return environ_asks(request.META)


def _wishes() -> Wishes:
    from django.conf import settings  # type: ignore[import-not-found]
    from django.utils.module_loading import import_string  # type: ignore[import-not-found]

    when: When = getattr(settings, "PROFUNDO_WHEN", None) or _asks
    if isinstance(when, str):
        when = import_string(when)
    directory = getattr(settings, "PROFUNDO_DIRECTORY", None)
    ending = getattr(settings, "PROFUNDO_ENDING", ".html")
    options = getattr(settings, "PROFUNDO_OPTIONS", {})
    return Wishes(when, None if directory is None else os.fspath(directory), ending, options)


def _seen(request: Any) -> Seen:
    return Seen(request.method or "", request.path)


def _replaced(response: Any, reply: Answer) -> Any:
    """The profile as a response, which also closes what the application's has opened."""
    from django.http import HttpResponse  # type: ignore[import-not-found]

    ours = HttpResponse(reply.body, status=reply.status)
    for name, value in reply.headers:
        ours[name] = value
    ours._resource_closers += response._resource_closers
    return ours
