"""Python ends in the way that its argument says."""
import atexit
import os
import signal
import sys
import threading
import time


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(500):
            pass


class Late:
    def __del__(self):
        burn(0.02)
        print("finalised")


late = Late()
atexit.register(lambda: (burn(0.02), print("at exit")))
how = sys.argv[1]
burn(0.2)
print("begun", flush=True)
if how == "exit":
    sys.exit(3)
elif how == "text":
    sys.exit("a text")
elif how == "_exit":
    os._exit(5)
elif how == "exception":
    raise ValueError("nobody catches it")
elif how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif how == "interrupt":
    raise KeyboardInterrupt
elif how == "thread":
    threading.Thread(target=lambda: (burn(0.1), print("the thread outlives main"))).start()
elif how == "pipe":
    os.close(1)
    os.close(2)
elif how == "exec":
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, __file__, "exit"])
elif how == "fork":
    child = os.fork()
    burn(0.1)
    if child == 0:
        sys.exit(7)
    print(os.waitpid(child, 0)[1])
