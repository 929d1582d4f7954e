"""A parent and two children, each with work of its own."""

import os


def burn(rounds):
    for _ in range(rounds):
        sum(i * i for i in range(30000))


children = []
for rounds in (40, 80):
    child = os.fork()
    if child == 0:
        burn(rounds)
        os._exit(0)
    children.append(child)
burn(60)
for child in children:
    os.waitpid(child, 0)
