# Runs texts as the kernel of a notebook runs cells: each is a file that only `linecache` knows.
import linecache
import time

In = [""]


def run(text, name):
    In.append(text)
    linecache.cache[name] = (len(text), None, [line + "\n" for line in text.splitlines()], name)
    exec(compile(text, name, "exec"), globals())


run("x = 1", "/tmp/ipykernel_7/1.py")
run(
    """def hot(until):
    while time.process_time() < until:
        total = 0
        for i in range(2000):
            total += i * i
""",
    "/tmp/ipykernel_7/22.py",
)
run("hot(0.4)", "/tmp/ipykernel_7/5.py")
