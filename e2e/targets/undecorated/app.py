# No `@profile` here, so the builtins are Python's own.
import builtins

print([name for name in dir(builtins) if name.startswith("prof")])
