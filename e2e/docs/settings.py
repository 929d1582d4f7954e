"""Reads settings: numbers where they are numbers, and defaults where there are none."""

DEFAULTS = {"name": "server", "port": "8080"}


class Missing(Exception):
    """A setting that has no value."""


def number(text):
    try:
        return int(text)
    except ValueError:
        return text


def setting(given, name):
    try:
        return number(given[name])
    except KeyError:
        if name not in DEFAULTS:
            raise Missing(name) from None
        return number(DEFAULTS[name])


class Rows:
    def __getattr__(self, name):
        raise AttributeError(name)


found = 0
for at in range(5000):
    given = {"host": "here", "timeout": "30", "port": "80"} if at % 2 else {"host": "there"}
    for name in ("host", "port", "name", "timeout"):
        try:
            found += setting(given, name) is not None
        except Missing:
            pass
print(found, "settings,", hasattr(Rows(), "length"))
