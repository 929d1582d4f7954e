"""What a Python program sees of its own surroundings."""
import gc
import os
import signal
import sys
import threading

print(sys.argv, sys.orig_argv if hasattr(sys, "orig_argv") else "")
print(sys.flags, sys.executable, sys.prefix == sys.base_prefix, sys.path)
print({name: value for name, value in sorted(os.environ.items()) if name != "LC_CTYPE"})
print(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1], os.listdir("/proc/self/task").__len__())
print([signal.getsignal(n) for n in sorted(signal.valid_signals())])
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), threading.active_count(), threading.main_thread().name)
print(sorted(sys.modules), sys.gettrace(), sys.getprofile(), gc.get_threshold(), gc.isenabled())
print(os.getcwd(), os.umask(0), os.getpriority(os.PRIO_PROCESS, 0), sys.stdin.encoding, sys.stdout.isatty())
print(getattr(sys, "monitoring", None) and [sys.monitoring.get_tool(n) for n in range(6)])
print(sys.getrecursionlimit(), threading.stack_size(), sys.getswitchinterval())
