"""Memory that grows steadily: what it keeps is never freed."""

import time

kept = []


def remember(number):
    kept.append(bytearray(100_000))
    return sum(index * index for index in range(20_000))


# It is ended from outside.
for number in range(100_000):
    remember(number)
    time.sleep(0.01)
