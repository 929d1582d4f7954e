"""Four ways to the n-th number of Fibonacci. One of them is wrong, from some n on."""

from functools import lru_cache
from math import sqrt


def iterative(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def recursive(n):
    return n if n < 2 else recursive(n - 1) + recursive(n - 2)


@lru_cache(maxsize=None)
def remembered(n):
    return n if n < 2 else remembered(n - 1) + remembered(n - 2)


def memoised(n):
    remembered.cache_clear()
    return remembered(n)


def closed_form(n):
    """Binet's formula, in floating point."""
    golden = (1 + sqrt(5)) / 2
    return round((golden**n - (1 - golden) ** n) / sqrt(5))
