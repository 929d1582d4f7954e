import profundo


@profundo.lines
def primes(limit):
    found = []
    for number in range(2, limit):
        if all(number % prime for prime in found):
            found.append(number)
    return found


@profundo.lines(exact=True)
def collatz(number):
    steps = 0
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        steps += 1
    return steps


primes(10_000)
collatz(837_799)
print(primes.profile)
print(collatz.profile)
