"""Python that does little but call: recursion, methods, a queue of small tasks.

usage: calls.py [ROUNDS]
"""
import sys


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


class Letter:
    __slots__ = ("to", "text", "next")

    def __init__(self, to, text):
        self.to = to
        self.text = text
        self.next = None


class Box:
    def __init__(self, name):
        self.name = name
        self.first = None
        self.seen = 0

    def put(self, letter):
        letter.next = self.first
        self.first = letter

    def take(self):
        letter = self.first
        if letter is not None:
            self.first = letter.next
        return letter

    def step(self, office):
        letter = self.take()
        if letter is None:
            return 0
        self.seen += 1
        letter.text = self.read(letter)
        office.send(self.name + 1, letter)
        return 1

    def read(self, letter):
        return letter.text + 1 & 0xFF


class Office:
    def __init__(self, boxes):
        self.boxes = [Box(i) for i in range(boxes)]

    def send(self, to, letter):
        self.boxes[to % len(self.boxes)].put(letter)

    def work(self, turns):
        steps = 0
        for _ in range(turns):
            for box in self.boxes:
                steps += box.step(self)
        return steps


def main(rounds):
    total = 0
    for _ in range(rounds):
        total += fibonacci(20)
        office = Office(4)
        for i in range(8):
            office.send(i, Letter(i, i))
        total += office.work(2000)
    print(total)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600)
