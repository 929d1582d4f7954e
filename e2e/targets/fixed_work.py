"""Work that takes some tenths of a second on any interpreter, and always has the same result."""


def burn(count):
    total = 0
    for number in range(count):
        total = (total * 31 + number) % 1_000_003
    return total


def main():
    for _ in range(20):
        result = burn(400_000)
    print(result)


main()
