"""How sure is a mean? An adaptive bootstrap that lets numpy draw.

    2_numpy_draws.py [N]

Draws N values, resamples them again and again, and prints an interval in which the mean lies
with 95 % confidence. The number of resamples is doubled until five intervals agree.
"""

import random
import sys

import numpy


def mean(numbers):
    total = 0
    for number in numbers:
        total += number
    return total / len(numbers)


def variance(numbers):
    middle = mean(numbers)
    return sum((number - middle) ** 2 for number in numbers) / len(numbers)


def draw(count):
    return numpy.random.randint(0, count, count)


def resample(values):
    indices = draw(len(values))
    return [values[index] for index in indices]


def interval(values, iterations, alpha=0.05):
    """The pivots on both sides of the mean."""
    means = sorted(mean(resample(values)) for _ in range(iterations))
    high = means[min(int(iterations * (1 - alpha / 2)), iterations - 1)]
    low = means[int(iterations * alpha / 2)]
    middle = mean(values)
    return 2 * middle - high, 2 * middle - low


def confidence(values, trials=5, most=1000, enough=0.5):
    """One of several intervals, taken with as many iterations as make them agree."""
    iterations = 10
    while True:
        intervals = [interval(values, iterations) for _ in range(trials)]
        spread = max(variance([ends[side] for ends in intervals]) for side in (0, 1))
        if spread < enough or iterations >= most:
            return random.choice(intervals), iterations
        iterations = min(2 * iterations, most)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 600_000
    random.seed(12345)
    numpy.random.seed(12345)
    values = [random.randint(0, 1000) for _ in range(count)]
    (low, high), iterations = confidence(values)
    print(f"mean {mean(values):.2f}, 95 % sure between {low:.2f} and {high:.2f}")
    print(f"({count} values, {iterations} iterations)")


if __name__ == "__main__":
    main()
