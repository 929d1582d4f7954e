"""A program that is asked for its objects again and again while it does one thing that is easily disturbed.

`asked.py KIND SECONDS` says `ready`, and in the end what it noticed: `nothing was noticed`, or what was wrong.
"""

import ctypes
import errno
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
KIND, SECONDS = sys.argv[1], float(sys.argv[2])
WRONG = []
END = time.monotonic() + SECONDS
keep = [{"number": number, "text": str(number)} for number in range(500)]


def wrong(what):
    if len(WRONG) < 20:
        WRONG.append(what)


def each(step):
    while time.monotonic() < END:
        step()


def lasts(seconds, what, call):
    """The call takes so long, and no less."""
    began = time.monotonic()
    found = call()
    took = time.monotonic() - began
    if took < seconds - 0.002:
        wrong(f"{what} took {took:.4f} s of {seconds}")
    return found


def no_error(what, call, *words):
    """A call of C's, which shows what Python would hide."""
    ctypes.set_errno(0)
    found = call(*words)
    if found < 0 and ctypes.get_errno() == errno.EINTR:
        wrong(f"{what} was interrupted")
    return found


class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("rest", ctypes.c_long)]


def sleep():
    each(lambda: lasts(0.3, "sleep", lambda: time.sleep(0.3)))


def nanosleep():
    def step():
        wanted = Time(0, 300_000_000)
        lasts(0.3, "nanosleep", lambda: no_error("nanosleep", libc.nanosleep, ctypes.byref(wanted), None))

    each(step)


def select_():
    each(lambda: lasts(0.3, "select", lambda: select.select([], [], [], 0.3)))


def poll():
    each(lambda: lasts(0.3, "poll", lambda: no_error("poll", libc.poll, None, 0, 300)))


def epoll():
    poller = select.epoll()
    each(lambda: lasts(0.3, "epoll", lambda: poller.poll(0.3)))


def epoll_for_ever():
    """No limit: begun again, nobody can see it."""
    poller = select.epoll()
    one, other = os.pipe()
    poller.register(one, select.EPOLLIN)
    events = ctypes.create_string_buffer(64)

    def step():
        timer = threading.Timer(0.4, os.write, (other, b"x"))
        timer.start()
        if no_error("epoll_wait", libc.epoll_wait, poller.fileno(), events, 1, -1) != 1:
            wrong("epoll_wait found nothing")
        os.read(one, 1)
        timer.join()

    each(step)


def accept():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()

    def step():
        client = socket.socket()
        timer = threading.Timer(0.3, client.connect, (server.getsockname(),))
        timer.start()
        found = no_error("accept", libc.accept, server.fileno(), None, None)
        os.close(found)
        timer.join()
        client.close()

    each(step)


def pipe():
    one, other = os.pipe()
    place = ctypes.create_string_buffer(8)

    def step():
        timer = threading.Timer(0.3, os.write, (other, b"12345678"))
        timer.start()
        if no_error("read", libc.read, one, place, 8) != 8:
            wrong("read found less")
        timer.join()

    each(step)


def locks():
    lock = threading.Lock()
    lock.acquire()
    things = queue.Queue()

    def empty():
        try:
            things.get(timeout=0.2)
        except queue.Empty:
            pass

    def step():
        lasts(0.2, "lock", lambda: lock.acquire(timeout=0.2))
        lasts(0.2, "queue", empty)
        thread = threading.Thread(target=time.sleep, args=(0.2,))
        thread.start()
        thread.join()
        if thread.is_alive():
            wrong("join came back too early")

    each(step)


def waits_for_child():
    def step():
        child = os.fork()
        if child == 0:
            time.sleep(0.2)
            os._exit(7)
        status = ctypes.c_int()
        if no_error("wait4", libc.wait4, -1, ctypes.byref(status), 0, None) != child:
            wrong("wait4 found somebody else")
        if status.value != 7 << 8:
            wrong(f"the child ended with {status.value}")
        try:
            found = os.waitpid(-1, os.WNOHANG)
            wrong(f"there is a child: {found}")
        except ChildProcessError:
            pass

    each(step)


def children():
    """A handler that must never hear of a child that is not ours."""
    heard = []
    signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))
    count = 0
    while time.monotonic() < END:
        time.sleep(0.01)
        try:
            wrong(f"there is a child: {os.waitpid(-1, os.WNOHANG)}")
        except ChildProcessError:
            pass
        count += 1
    if heard:
        wrong(f"{len(heard)} signals of children")


def sigwait():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

    def step():
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        if signal.sigwait([signal.SIGUSR1]) != signal.SIGUSR1:
            wrong("another signal")
        timer.join()
        if signal.sigtimedwait([signal.SIGUSR1], 0) is not None:
            wrong("a signal twice")
        lasts(0.2, "sigtimedwait", lambda: signal.sigtimedwait([signal.SIGUSR1], 0.2))

    each(step)


def pause():
    signal.signal(signal.SIGUSR1, lambda *_: None)
    main = threading.main_thread().ident

    def step():
        done = threading.Event()
        came = []

        def kick():
            # Until it has come back, which only a signal may make it do.
            time.sleep(0.2)
            came.append(1)
            while not done.wait(0.05):
                signal.pthread_kill(main, signal.SIGUSR1)

        thread = threading.Thread(target=kick)
        thread.start()
        signal.pause()
        if not came:
            wrong("pause came back by itself")
        done.set()
        thread.join()

    each(step)


def interrupted_read():
    """A signal ends a read, as its handler wants, also when it comes while we are asked."""
    class Came(Exception):
        pass

    def handler(*_):
        raise Came

    signal.signal(signal.SIGALRM, handler)
    one, other = os.pipe()
    late = []

    def step():
        # Should the signal be lost in the read, somebody has to end it.
        timer = threading.Timer(5, os.write, (other, b"x"))
        timer.daemon = True
        timer.start()
        began = time.monotonic()
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            os.read(one, 1)
            wrong("the signal was not heard of")
        except Came:
            pass
        timer.cancel()
        if time.monotonic() - began > 4:
            late.append(1)

    each(step)
    # One may come right before the read, on a slow machine.
    if len(late) > 1:
        wrong("signals came late")


def signals():
    """Each of them is counted by the C library's own means: signals of real time queue, and none is lost."""
    number = signal.SIGRTMIN + 3
    heard = [0]

    def handler(*_):
        heard[0] += 1

    signal.signal(number, handler)
    ticks = [0]
    signal.signal(signal.SIGALRM, lambda *_: ticks.__setitem__(0, ticks[0] + 1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    sent = 0
    total = 0
    while time.monotonic() < END:
        os.kill(os.getpid(), number)
        sent += 1
        total += sum(range(200))
        for _ in range(1000):
            if heard[0] == sent:
                break
            time.sleep(0.001)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if heard[0] != sent:
        wrong(f"{sent} signals were sent, {heard[0]} came")
    if ticks[0] < 50:
        wrong(f"only {ticks[0]} ticks")


def floats():
    """Registers of all kinds are as they were."""
    import hashlib
    text = bytes(range(256)) * 400
    first = hashlib.sha512(text).digest()
    number = sum(1.0 / (k * k) for k in range(1, 2000))

    def step():
        if hashlib.sha512(text).digest() != first:
            wrong("a hash is another one")
        if sum(1.0 / (k * k) for k in range(1, 2000)) != number:
            wrong("a sum is another one")

    each(step)


def allocates():
    """Threads that are in the C library's allocator nearly all the time, without the lock of the interpreter."""
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]

    def work():
        while time.monotonic() < END:
            held = [libc.malloc(size) for size in (24, 100_000, 600, 3_000_000, 4000)]
            for one in held:
                libc.free(one)
            bytearray(100_000)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def loads():
    """In the loader all the time."""
    import _ctypes
    import importlib
    import json
    path = _ctypes.__file__

    def step():
        handle = ctypes.CDLL(None)._handle
        other = _ctypes.dlopen(path, 2)
        _ctypes.dlclose(other)
        importlib.reload(json)
        assert handle

    each(step)


def forks():
    def step():
        child = os.fork()
        if child == 0:
            os._exit(3)
        _, status = os.waitpid(child, 0)
        if status != 3 << 8:
            wrong(f"a child ended with {status}")

    each(step)


def forks_that_live():
    """Children that go on in Python for a while: none of them may answer for its parent."""
    def step():
        child = os.fork()
        if child == 0:
            until = time.monotonic() + 0.2
            while time.monotonic() < until:
                sum(range(1000))
            path = f"/proc/self/task/{os.getpid()}/children"
            os._exit(5 if os.path.exists(path) and open(path).read().strip() else 0)
        _, status = os.waitpid(child, 0)
        if status:
            wrong(f"a child ended with {status}")

    each(step)


def spawns():
    def step():
        if subprocess.run(["true"]).returncode:
            wrong("a program failed")

    each(step)


def threads():
    def step():
        several = [threading.Thread(target=sum, args=(range(100),)) for _ in range(8)]
        for thread in several:
            thread.start()
        for thread in several:
            thread.join()

    each(step)


def no_files():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    each(lambda: time.sleep(0.05))
    for file in held:
        os.close(file)


def little_memory():
    import resource
    size = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20), size + (1 << 20)))
    each(lambda: time.sleep(0.05))


def fault_handler():
    import faulthandler
    faulthandler.enable()
    signal.signal(signal.SIGTRAP, lambda *_: wrong("a trap"))
    each(lambda: sum(range(1000)))
    if not faulthandler.is_enabled():
        wrong("the handler of faults is gone")


def keeps_the_lock():
    """The lock of the interpreter is held for long, by C code that never gives it back."""
    library = ctypes.PyDLL(None)
    each(lambda: library.usleep(3_000_000))


def many_interpreters():
    import _testcapi  # noqa: F401
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters
    one = interpreters.create()

    def step():
        if hasattr(interpreters, "exec"):
            interpreters.exec(one, "x = [[] for _ in range(1000)]")
        else:
            interpreters.run_string(one, "x = [[] for _ in range(1000)]")
        time.sleep(0.001)

    each(step)
    interpreters.destroy(one)


def collects():
    import gc

    def step():
        one = []
        one.append(one)
        gc.collect()

    each(step)


def left_over():
    """What there is of descriptors, threads and children now."""
    files = sorted(os.listdir("/proc/self/fd"), key=int)
    kinds = []
    for file in files:
        try:
            kinds.append(os.readlink(f"/proc/self/fd/{file}"))
        except OSError:
            pass
    return len(kinds), len(os.listdir("/proc/self/task"))


KINDS = {
    name.rstrip("_"): kind
    for name, kind in list(globals().items())
    if callable(kind) and name not in {"wrong", "each", "lasts", "no_error", "left_over", "Time"}
}

print("ready", flush=True)
before = left_over()
mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
KINDS[KIND]()
if KIND not in {"sigwait"} and signal.pthread_sigmask(signal.SIG_BLOCK, []) != mask:
    wrong("signals are blocked")
with_us = "epoll", "epoll_for_ever", "accept", "pipe", "interrupted_read"
after = left_over()
if KIND not in with_us and after != before:
    time.sleep(0.3)
    after = left_over()
    if after != before:
        wrong(f"descriptors and threads: {before} before, {after} after")
print("\n".join(WRONG) or "nothing was noticed", flush=True)
