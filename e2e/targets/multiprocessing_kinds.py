"""Processes of the kind that the argument names: alone, in a Pool, in a ProcessPoolExecutor; one
that fails, one that is terminated, one that uses a queue and a lock."""
import concurrent.futures
import multiprocessing
import signal
import sys
import time


def burn_in_child(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(500):
            pass
    return "burnt"


def square(n):
    burn_in_child(0.02)
    return n * n


def fails():
    sys.exit(3)


def sleeps():
    time.sleep(1000)


def through_queue(queue, lock, n):
    with lock:
        burn_in_child(0.02)
        queue.put(n)


def main():
    context = multiprocessing.get_context(sys.argv[1])
    process = context.Process(target=burn_in_child, args=(0.3,), name="alone")
    process.start()
    process.join()
    print(process.exitcode)
    with context.Pool(2) as pool:
        print(pool.map(square, range(12)))
        print(list(pool.imap_unordered(str, [1])))
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        print(list(executor.map(square, range(12))))
    process = context.Process(target=fails)
    process.start()
    process.join()
    print(process.exitcode)
    process = context.Process(target=sleeps)
    process.start()
    process.terminate()
    process.join()
    print(process.exitcode == -signal.SIGTERM)
    queue, lock = context.Queue(), context.Lock()
    processes = [context.Process(target=through_queue, args=(queue, lock, n)) for n in range(3)]
    for process in processes:
        process.start()
    print(sorted(queue.get() for _ in processes))
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
