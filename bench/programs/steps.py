"""Work in lines of known shares: 30, 25, 20, 15 and 10 % of the time. The third argument makes the
first of them slower, in percent.

    python steps.py ROUNDS [SLOWER [ALLOCATED]]
"""
import sys

kept = []


def first(count):
    return sum(number * number for number in range(count))


def second(count):
    text = "".join("%d," % number for number in range(count // 3))
    return len(text.split(","))


def third(count):
    found = {}
    for number in range(count):
        found[number & 255] = found.get(number & 255, 0) + number
    return len(found)


def fourth(count):
    return len(sorted((number * 7919) % 10007 for number in range(count)))


def buffers(count, extra):
    made = [bytearray(5000) for _ in range(count)]
    made += more(extra)
    return len(made)


def more(extra):
    return [bytearray(5000) for _ in range(extra)]


def main(rounds, slower, allocated):
    total = 0
    for _ in range(rounds):
        total += first(4000 + 40 * slower)
        total += second(2700)
        total += third(1750)
        total += fourth(1000)
        total += buffers(100, allocated)
    print(total)


numbers = [int(word) for word in sys.argv[1:]] + [0, 0]
main(numbers[0], numbers[1], numbers[2])
