# Waits in a frame whose containers another thread changes all the time.
import collections, sys, threading


class Mine:
    pass


def change(numbers, names, members, queue, mine, shared):
    turn = 0
    while not shared["ends"]:
        turn += 1
        numbers[:] = range(turn % 50)
        names.clear()
        names.update((str(number), [number]) for number in range(turn % 20))
        members.symmetric_difference_update(range(turn % 30))
        queue.append({turn: turn})
        if len(queue) > 100:
            queue.clear()
        setattr(mine, "attribute%d" % (turn % 40), [turn])
        shared["last"] = (turn, "x" * (turn % 100), Mine())


def main():
    numbers, names, members, queue = [], {}, set(), collections.deque()
    mine, shared = Mine(), {"ends": False}
    attributes = vars(mine)
    number = 17
    arguments = numbers, names, members, queue, mine, shared
    thread = threading.Thread(target=change, args=arguments, name="changes")
    thread.start()
    print("begun", flush=True)
    sys.stdin.read()
    shared["ends"] = True
    thread.join()
    print(number, len(attributes) > 0)


main()
