"""Functions that are marked for having their lines counted, and one that is not."""


@profile
def sums(count):
    total = 0
    for number in range(count):
        total += number
    return total


class Kept:
    @profile(precision=4)
    def method(self):
        return sums(3)

    @classmethod
    @profile
    def of_class(cls):
        return cls


def unmarked():
    return 1


sums(10)
Kept().method()
Kept.of_class()
unmarked()
