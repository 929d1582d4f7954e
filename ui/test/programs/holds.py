"""Objects that hold each other, texts that are there twice. Argument: `few` or `more`. It waits for its input."""

import sys


class Session:
    def __init__(self, number):
        self.name = f"session {number}"
        self.rows = [bytes(200 + number) for _ in range(20)]
        self.note = "".join(["the same note of each session, ", "made anew each time"])


sessions = {number: Session(number) for number in range(60 if sys.argv[1] == "few" else 200)}
sys.stdin.read()
