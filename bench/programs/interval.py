"""Pure Python: how sure is a mean? Drawn again and again from the values themselves.

usage: interval.py [VALUES]      (the time is linear in VALUES)
"""
import random
import sys


def mean_of(values):
    total = 0
    for value in values:
        total += value
    return total / len(values)


def drawn_from(values):
    last = len(values) - 1
    places = [random.randint(0, last) for _ in values]
    return [values[place] for place in places]


def interval_of(values, draws, part):
    means = sorted(mean_of(drawn_from(values)) for _ in range(draws))
    edge = int(draws * part / 2)
    middle = mean_of(values)
    return 2 * middle - means[-1 - edge], 2 * middle - means[edge]


def main(count):
    random.seed(1)
    values = [random.randint(0, 1000) for _ in range(count)]
    intervals = [interval_of(values, 10, 0.05) for _ in range(5)]
    print(mean_of(values), intervals[0])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60_000)
