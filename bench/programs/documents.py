"""Work of which most is in C: JSON, regular expressions, compression and hashing.

    python documents.py ROUNDS [SLOWER]
"""
import hashlib
import json
import re
import sys
import zlib

ORDERS = [{"number": n, "name": "customer %d" % (n % 97), "lines": [n, n + 1, n + 2]} for n in range(300)]
WORD = re.compile(r"customer (\d+)")


def first(times):
    total = 0
    for _ in range(times):
        total += len(json.loads(TEXT))
    return total


def search(text):
    return len(WORD.findall(text))


def pack(text):
    return len(zlib.compress(text.encode(), 6))


def digest(text):
    return hashlib.blake2b(text.encode() * 8).hexdigest()


def main(rounds, slower):
    total = 0
    carry = 0
    for _ in range(rounds):
        # Hundredths of a call, carried from round to round.
        carry += 4 * slower
        total += first(4 + carry // 100)
        carry %= 100
        for _ in range(14):
            total += search(TEXT)
        total += pack(TEXT)
        total += pack(TEXT[::-1])
        total += len(digest(TEXT))
    print(total)


TEXT = json.dumps(ORDERS)
numbers = [int(word) for word in sys.argv[1:]] + [0]
main(numbers[0], numbers[1])
