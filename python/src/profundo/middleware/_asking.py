"""Which requests ask for a profile, and in which form.

A profile shows source code and costs time, so a stranger must not get one. By default a request
has to come from this machine, past no proxy, and under a name of this machine: a page in a browser
elsewhere can send requests to ``localhost`` under a name of its own.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

#: The word in a query.
WORD = "profile"

#: What ``?profile=`` may say, and the form that it means. Other values are the application's own.
FORMS = {
    "": "html",
    "1": "html",
    "true": "html",
    "html": "html",
    "json": "json",
    "speedscope": "speedscope",
    "text": "text",
}

#: Headers that proxies add. Behind a proxy, every client has the proxy's address.
_OF_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")

_OF_PROXIES_CGI = tuple("HTTP_" + name.upper().replace("-", "_") for name in _OF_PROXIES)
_OF_PROXIES_ASGI = tuple(name.encode("ascii") for name in _OF_PROXIES)


def scope_asks(scope: Mapping[str, Any]) -> bool:
    """Whether a request of ASGI asks: the default ``when`` of its middleware."""
    query = scope.get("query_string", b"")
    if b"profile" not in query or form_of(query.decode("latin-1")) is None:
        return False
    host = ""
    for name, value in scope["headers"]:
        if name in _OF_PROXIES_ASGI:
            return False
        if name == b"host":
            host = value.decode("latin-1")
    address = (scope.get("client") or ("",))[0]
    return _is_here(address) and _names_this_machine(host)


def environ_asks(environ: Mapping[str, Any]) -> bool:
    """Whether a request of WSGI asks: the default ``when`` of its middleware."""
    query = environ.get("QUERY_STRING") or ""
    if WORD not in query or form_of(query) is None:
        return False
    if any(name in environ for name in _OF_PROXIES_CGI):
        return False
    address, host = environ.get("REMOTE_ADDR") or "", environ.get("HTTP_HOST") or ""
    return _is_here(address) and _names_this_machine(host)


def form_of(query: str) -> Optional[str]:
    """The form that a query asks for; ``None`` where it does not."""
    if WORD in query:
        for part in query.split("&"):
            name, _, value = part.partition("=")
            if name == WORD and value.lower() in FORMS:
                return FORMS[value.lower()]
    return None


def _is_here(address: str) -> bool:
    """Whether an address is that of this machine's loopback."""
    if address.startswith("::ffff:"):
        address = address[len("::ffff:") :]
    if address == "::1":
        return True
    parts = address.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isdigit() for part in parts)


def _names_this_machine(host: str) -> bool:
    """Whether the header ``Host`` has a name or an address that only this machine has.

    A client of HTTP/1.0 may send none, and no browser is such a client.
    """
    if host.startswith("["):
        return host.partition("]")[0] == "[::1"
    name = host.partition(":")[0].lower()
    return name in ("", "localhost") or name.endswith(".localhost") or _is_here(name)
