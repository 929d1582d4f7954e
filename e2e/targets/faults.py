"""faulthandler: a dump on request, one after a while, one by a signal, and those of real crashes;
they go to stderr and are the same with and without a profiler."""
import ctypes
import faulthandler
import os
import resource
import signal
import sys
import threading
import time

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
faulthandler.enable(all_threads=False)


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(100))


def crashes(how):
    burn(0.2)
    if how == "dumps":
        faulthandler.dump_traceback()
        faulthandler.register(signal.SIGUSR1, all_threads=False, chain=False)
        os.kill(os.getpid(), signal.SIGUSR1)
        # Only the header is sure to be the same: the line that is at work is not.
        with open("later.txt", "w+") as file:
            faulthandler.dump_traceback_later(0.2, file=file)
            burn(0.6)
            faulthandler.cancel_dump_traceback_later()
            file.seek(0)
            print(file.read().split("\n")[0])
            file.truncate(0)
    elif how == "segv":
        ctypes.string_at(8)
    elif how == "abort":
        os.abort()
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGBUS)
    elif how == "thread":
        thread = threading.Thread(target=ctypes.string_at, args=(16,))
        thread.start()
        thread.join()
    elif how == "exception":
        raise ValueError("an ordinary one")
    elif how == "disabled":
        faulthandler.disable()
        ctypes.string_at(24)


crashes(sys.argv[1])
print("over")
