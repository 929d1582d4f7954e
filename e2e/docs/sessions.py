"""A program that forgets to forget: its table of sessions grows."""
import time


class Session:
    def __init__(self, number):
        self.number = number
        self.items = [number, str(number)]


SESSIONS = {}


def open_sessions():
    number = 0
    while True:
        for _ in range(20):
            SESSIONS[number] = Session(number)
            number += 1
        time.sleep(0.01)


open_sessions()
