"""Python's own handlers, among them one of SIGURG; timers, wakeup descriptors, waiting for
signals, and calls that must not be interrupted."""
import os
import select
import signal
import socket
import sys
import threading
import time

counts = {}


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(500):
            pass


def handler(number, frame):
    assert frame is not None
    counts[number] = counts.get(number, 0) + 1


def main():
    print(signal.getsignal(signal.SIGURG))
    burn(0.1)
    for number in signal.SIGURG, signal.SIGPROF, signal.SIGTRAP, signal.SIGSEGV, signal.SIGALRM:
        print(signal.signal(number, handler))
        for i in range(20):
            os.kill(os.getpid(), number)
            signal.raise_signal(number)
            burn(0.002)
        print(number, counts[number])
        print(signal.getsignal(number) is handler)
    read, write = socket.socketpair()
    write.setblocking(False)
    signal.set_wakeup_fd(write.fileno())
    burn(0.2)
    print("nothing woke us" if not select.select([read], [], [], 0)[0] else read.recv(100))
    os.kill(os.getpid(), signal.SIGURG)
    burn(0.02)
    print(read.recv(100))
    signal.set_wakeup_fd(-1)
    counts.clear()
    signal.setitimer(signal.ITIMER_PROF, 0.005, 0.005)
    burn(0.3)
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(20 <= counts[signal.SIGPROF] <= 120, sorted(counts))
    thread = threading.Thread(target=burn, args=(0.3,))
    thread.start()
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    burn(0.05)
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    print(signal.sigwait([signal.SIGUSR1, signal.SIGURG]))
    print(signal.sigtimedwait(signal.valid_signals(), 0.2))
    print(signal.sigpending())
    thread.join()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGURG, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGURG)
    burn(0.05)
    print(signal.getsignal(signal.SIGURG))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGTERM)
    burn(10)


main()
