# Code for kernprof and memory_profiler: the builtin `profile` as programs use it.
import builtins
import sys

has_profile = 'profile' in dir(builtins)

if not has_profile:
    def profile(function=None, **_):
        return profile if function is None else function


@profile
def work(count):
    """Adds up."""
    return sum(range(count))


@profile(precision=4)
def other(count):
    return work(count) + 1


class Class:
    @staticmethod
    @profile
    def static(count):
        return other(count)


assert work.__name__ == 'work' and work.__doc__ == 'Adds up.'
print(Class.static(1000))
if len(sys.argv) > 1:
    import work as other_module

    print(has_profile, other_module.module(2), profile(work) is work)
