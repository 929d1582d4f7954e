"""numpy at work, in one thread and in several, the pools of its own libraries included."""
import threading
import numpy


def multiplies(n):
    matrix = numpy.arange(90000.0).reshape(300, 300) % 17
    for _ in range(n):
        matrix = matrix @ matrix % 17
    return matrix.sum()


def sorts(n):
    values = numpy.arange(200000) * 7919 % 100003
    for _ in range(n):
        values.tolist().sort()
        numpy.sort(values)


results = []
threads = [threading.Thread(target=lambda: results.append(multiplies(60)), name=f"multiplier-{i}") for i in range(3)]
for thread in threads:
    thread.start()
sorts(60)
for thread in threads:
    thread.join()
print(len(set(results)), len(results))
