"""A small shop, in which one line is slow, one waits, and one keeps too much.

    app.py [ORDERS]
"""

import sys
import time

printed = []


def fetch(number):
    """Asks the warehouse, which takes its time."""
    time.sleep(0.005)
    return [number + item for item in range(1000)]


def price(items):
    """The sum of all items, with the best of some discounts on each."""
    total = 0
    for item in items:
        total += min(item * (100 - percent) % 997 for percent in range(100))
    return total


def receipt(number, total):
    """A page to be printed. It is kept, in case that somebody asks again."""
    page = f"Order {number}: {total}\n".encode().ljust(300_000)
    printed.append(page)
    return page


def main():
    orders = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    size = 0
    for number in range(orders):
        total = price(fetch(number))
        size += len(receipt(number, total))
    print(f"{orders} orders, {size // 1000} kB of receipts")


if __name__ == "__main__":
    main()
