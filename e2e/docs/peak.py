import profundo


def squares(count):
    numbers = list(range(count))
    return sum([number * number for number in numbers])


print(profundo.memit(squares, 2_000_000))
