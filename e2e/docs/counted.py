import profundo


def collatz(number):
    steps = 0
    while number != 1:
        number = step(number)
        steps += 1
    return steps


def step(number):
    return number // 2 if number % 2 == 0 else 3 * number + 1


with profundo.profile("calls", trace=True) as calls:
    collatz(837_799)
with profundo.profile("lines", trace="lines") as lines:
    collatz(837_799)

print(calls.report(sort="calls"))
print(lines)
for function in calls.functions:
    if function.function == "step":
        print(function.calls, "calls of", function.function)
