"""Greenlets switch all the time; under gevent they sleep, wait and serve each other."""
import sys
import time


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(500):
            pass


def plain():
    from greenlet import greenlet

    def left(n):
        for _ in range(n):
            burn_left()
            right_one.switch()

    def right(*_):
        while True:
            burn_right()
            left_one.switch()

    def burn_left():
        burn(0.0007)

    def burn_right():
        burn(0.0004)

    left_one, right_one = greenlet(left), greenlet(right)
    left_one.switch(500)
    print("plain: over")


def under_gevent():
    import gevent
    from gevent import monkey, queue
    from gevent.pool import Pool
    monkey.patch_all()

    def burn_in_pool(n):
        burn(0.002)
        gevent.sleep(0.001)
        return n

    print(sum(Pool(10).imap_unordered(burn_in_pool, range(200))))
    channel = queue.Queue(1)

    def produces():
        for i in range(100):
            channel.put(i)
        channel.put(StopIteration)

    gevent.spawn(produces)
    print(sum(channel))


{"greenlet": plain, "gevent": under_gevent}[sys.argv[1]]()
