"""Makes known numbers of objects of known types."""

texts = [b"x" * (1000 + number) for number in range(500)]
grown = []
for number in range(100_000):
    grown.append(None)
table = {number: None for number in range(20_000)}
known = {number for number in range(20_000)}
halves = [number / 2 for number in range(20_000)]
buffer = bytearray()
for number in range(5_000):
    buffer += b"0123456789"
