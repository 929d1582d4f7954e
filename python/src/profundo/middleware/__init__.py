"""Profiles of single requests, for web applications.

    from profundo.middleware import ASGIMiddleware, WSGIMiddleware

    app.add_middleware(ASGIMiddleware)              # FastAPI, Starlette
    app.wsgi_app = WSGIMiddleware(app.wsgi_app)     # Flask
    MIDDLEWARE = ["profundo.middleware.DjangoMiddleware", ...]

A request that has ``?profile`` in its address and comes from this machine is answered with its
profile. All others pass, at the cost of one look at their query.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._asgi import ASGIMiddleware as ASGIMiddleware
    from ._django import DjangoMiddleware as DjangoMiddleware
    from ._wsgi import WSGIMiddleware as WSGIMiddleware

__all__ = ["ASGIMiddleware", "DjangoMiddleware", "WSGIMiddleware"]

# The module of each name.
_PLACES = {
    "ASGIMiddleware": "_asgi",
    "DjangoMiddleware": "_django",
    "WSGIMiddleware": "_wsgi",
}


def __getattr__(name: str) -> object:
    """Import a middleware when it is used: each kind of server wants another."""
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module("." + place, __name__), name)
    globals()[name] = value
    return value
