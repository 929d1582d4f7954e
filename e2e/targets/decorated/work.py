# A module with `@profile` in it, which is not imported where the name is missing.


@profile  # noqa: F821
def module(count):
    return count * 2
