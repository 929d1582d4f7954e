import profundo.statprof as statprof


def work():
    return sum(number % 7 for number in range(10_000_000))


with statprof.profile():
    work()
