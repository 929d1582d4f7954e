"""Allocates in all ways that usual programs do: small objects, texts, tables, buffers of many sizes, and copies of
large ones. One list only ever grows.

    python blocks.py [ROUNDS]
"""
import sys

kept_for_ever = []


class Order:
    def __init__(self, number):
        self.number = number
        self.customer = "customer %d" % (number % 977)
        self.lines = [(number, 1), (number + 1, 2)]


def orders(count):
    return [Order(number) for number in range(count)]


def report(orders):
    by_customer = {}
    for order in orders:
        by_customer.setdefault(order.customer, []).append(order.number)
    return "\n".join("%s: %d" % (name, sum(numbers)) for name, numbers in by_customer.items())


def buffers(count):
    window = [None] * 50
    for number in range(count):
        window[number % 50] = bytearray(32 << (number * 7 % 12))
    return window


def copies(times):
    picture = bytes(range(256)) * 8192
    total = 0
    for _ in range(times):
        changed = bytearray(picture)
        changed[0] = 1
        total += len(bytes(changed)[: 1 << 20])
    return total


def main(rounds):
    total = 0
    for number in range(rounds):
        total += len(report(orders(20_000)))
        total += len(buffers(30_000))
        total += copies(10)
        kept_for_ever.append(bytearray(200_000 + number))
    print(total, len(kept_for_ever))


main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
