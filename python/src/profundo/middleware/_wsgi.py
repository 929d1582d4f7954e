"""The middleware for WSGI: Flask, Bottle, Django's and others' applications, under any server."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from ._answer import Answer, Seen, answer, keep
from ._asking import environ_asks, form_of
from ._base import Folder, When, Wishes

Environ = Dict[str, Any]
StartResponse = Callable[..., Callable[[bytes], object]]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

_REASONS = {200: "200 OK", 500: "500 Internal Server Error"}


class WSGIMiddleware:
    """Profiles the requests that ask for it.

    Args:
        app: The application.
        when: A function of ``environ`` that says whether a request is profiled. By default a
            request asks with ``?profile`` in its address, from this machine.
        directory: A folder. With it, requests have the application's answer, and their profiles
            are files there.
        ending: The kind of these files: ``".html"``, ``".txt"``, ``".json"``, ``".svg"``,
            ``".speedscope.json"``, ``".pb.gz"`` …
        options: Those of :func:`profundo.profile`, such as ``memory=True``.
    """

    def __init__(
        self,
        app: Application,
        when: When = environ_asks,
        directory: Optional[Folder] = None,
        ending: str = ".html",
        **options: Any,
    ) -> None:
        self.app = app
        self._wishes = Wishes(when, directory, ending, options)
        self._when = self._wishes.when

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if not self._when(environ):
            return self.app(environ, start_response)
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        seen = Seen(environ.get("REQUEST_METHOD", ""), path)
        if self._wishes.directory is not None:
            return _Kept(self, environ, start_response, seen)
        return self._answered(environ, start_response, seen)

    def _answered(
        self, environ: Environ, start_response: StartResponse, seen: Seen
    ) -> Iterable[bytes]:
        """The profile in place of the application's answer, unless that says that it failed."""
        started: List[Tuple[Any, ...]] = []
        body: List[bytes] = []

        def write(part: bytes) -> None:
            seen.size += len(part)
            if seen.has_failed:
                body.append(part)

        def start(status: str, headers: Any, *more: Any) -> Callable[[bytes], object]:
            seen.status = _number(status)
            started[:] = [(status, headers, *more)]
            return write

        with self._wishes.region() as profile:
            parts = self.app(environ, start)
            try:
                for part in parts:
                    write(part)
            finally:
                close = getattr(parts, "close", None)
                if close is not None:
                    close()
        seen.end()
        if seen.has_failed:
            start_response(*started[0])
            return body
        reply: Answer = answer(profile, form_of(environ.get("QUERY_STRING", "")) or "html", seen)
        start_response(_REASONS[reply.status], reply.headers)
        return [reply.body]


class _Kept:
    """The application's answer, whose profile is kept when all of it is sent.

    The region is open while the application runs, and not while the server sends.
    """

    def __init__(
        self,
        outer: WSGIMiddleware,
        environ: Environ,
        start_response: StartResponse,
        seen: Seen,
    ) -> None:
        self._wishes = outer._wishes
        self._seen = seen
        self._region = self._wishes.region()

        def start(status: str, headers: Any, *more: Any) -> Callable[[bytes], object]:
            seen.status = _number(status)
            return start_response(status, headers, *more)

        try:
            with self._region:
                self._parts = outer.app(environ, start)
                self._iterator: Iterator[bytes] = iter(self._parts)
        except BaseException:
            self._keep()
            raise

    def __iter__(self) -> _Kept:
        return self

    def __next__(self) -> bytes:
        with self._region:
            part = next(self._iterator)
        self._seen.size += len(part)
        return part

    def close(self) -> None:
        """The server has sent all, or has given up."""
        try:
            close = getattr(self._parts, "close", None)
            if close is not None:
                with self._region:
                    close()
        finally:
            self._keep()

    def _keep(self) -> None:
        self._seen.end()
        assert self._wishes.directory is not None
        keep(self._region, self._wishes.directory, self._wishes.ending, self._seen)


def _number(status: str) -> Optional[int]:
    digits = status[:3]
    return int(digits) if digits.isdigit() else None
