import profundo


def parse(text):
    return [int(word) for word in text.split()]


def total(numbers):
    return sum(number * number % 97 for number in numbers)


def load(count):
    text = " ".join(map(str, range(count)))
    with profundo.profile("load") as p:
        numbers = parse(text)
        total(numbers)
    return p


p = load(4_000_000)
for function in p.functions[:3]:
    print(function.self_share, function.function)
for line in p.lines[:2]:
    print(line.self_share, f"line {line.line}:", line.text)
