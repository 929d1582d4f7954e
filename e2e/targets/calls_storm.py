"""Many children that live at the same time, and each make the same calls."""
import os
import sys


def dive(depth):
    return depth and 1 + dive(depth - 1)


reader, writer = os.pipe()
children = []
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        dive(99)
        os.close(writer)
        # Until all of them are there.
        os.read(reader, 1)
        os._exit(0)
    children.append(child)
os.close(writer)
for child in children:
    os.waitpid(child, 0)
