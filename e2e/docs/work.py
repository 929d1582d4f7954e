def work(n):
    # a comment
    data = bytearray(n)
    small = [1, 2,
             3]
    return data, small


work(8_000_000)
