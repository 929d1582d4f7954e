"""Children by subprocess in every manner, and what each of them sees of its surroundings."""
import concurrent.futures
import os
import signal
import subprocess
import sys
import time
import warnings

LOOK = ("import os, sys; print(sorted(k for k in os.environ if k not in ('LC_CTYPE',)), "
        "sorted(int(f) for f in os.listdir('/proc/self/fd'))[:-1], len(os.listdir('/proc/self/task')))")
WORK = """
import time
def burn_in_subprocess():
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        for i in range(500): pass
burn_in_subprocess()
print('worked')
"""


def look(*arguments, **options):
    ran = subprocess.run([sys.executable, "-I", "-c", LOOK, *arguments], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, **options)
    print(ran.returncode, ran.stdout.decode())


def before_exec():
    os.write(1, b"before exec\n")


def main():
    # A debug build names processes in its warnings.
    warnings.simplefilter("ignore", ResourceWarning)
    look()
    look(env={})
    look(env={"A": "1"})
    look(close_fds=False)
    look(preexec_fn=before_exec)
    look(start_new_session=True)
    look(stdin=subprocess.DEVNULL)
    look(restore_signals=False)
    read, write = os.pipe()
    look(pass_fds=(read, write))
    os.close(read), os.close(write)
    look(env=dict(os.environ, LD_PRELOAD="libm.so.6"))
    print(subprocess.run("env -i PATH=/usr/bin:/bin env; echo $0; exit 4", shell=True, stdout=subprocess.PIPE))
    print(subprocess.call(["sh", "-c", "kill -9 $$"]))
    print(os.system("exit 3"), os.popen("echo from popen").read())
    try:
        subprocess.run(["/nonexistent"])
    except FileNotFoundError as error:
        print(error)
    try:
        subprocess.run(["sleep", "1000"], timeout=0.2)
    except subprocess.TimeoutExpired as error:
        print(type(error).__name__)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print(list(pool.map(lambda n: subprocess.check_output([sys.executable, "-c", WORK]), range(8))))
    first = subprocess.Popen(["sh", "-c", "echo one; echo two"], stdout=subprocess.PIPE)
    second = subprocess.Popen(["cat", "-n"], stdin=first.stdout, stdout=subprocess.PIPE)
    first.stdout.close()
    print(second.communicate()[0], first.wait())
    if hasattr(os, "posix_spawn"):
        child = os.posix_spawn(sys.executable, [sys.executable, "-c", WORK], {}, setsigdef=[signal.SIGPIPE])
        print(os.waitpid(child, 0)[1])
    child = os.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-I", "-c", LOOK], {"B": "2"})
    print(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    main()
