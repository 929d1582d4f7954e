# Threads of many kinds, each of which says what it is called and then blocks.
import sys, threading

def block():
    say("thread", state_of(), threading.current_thread().name)
    os.read(0, 1)

def run(thread):
    thread.start(); thread.join()

def make(*, name=None, before=lambda: None, cls=threading.Thread):
    thread = cls(target=lambda: (before(), block()), name=name)
    run(thread)

class Derived(threading.Thread):
    def __init__(self, **k):
        self.first = 1
        super().__init__(**k)
        self.last = 2

class Slotted(threading.Thread):
    __slots__ = ("one", "two")

class Crowded(threading.Thread):
    def __init__(self, **k):
        for n in range(50):
            setattr(self, "a%d" % n, n)
        super().__init__(**k)

class Mixed(Exception, threading.Thread):
    def __init__(self, **k):
        threading.Thread.__init__(self, **k)

class Bytes(dict, threading.Thread):
    def __init__(self, **k):
        threading.Thread.__init__(self, **k)
    __hash__ = object.__hash__

def me():
    return threading.current_thread()

def deleted():
    thread = me()
    del thread._daemonic
    thread.more = thread._daemonic = False
    del thread.more

def rename():
    me().name = "another name"

for name in (None, "worker-3", "", "\xfcml\xe4ut", "\u4e2d\u6587", "\U0001d4b3y", "x" * 300):
    make(name=name)
for cls in (Derived, Slotted, Crowded, Mixed, Bytes):
    make(name="a " + cls.__name__, cls=cls)
for before in (deleted, rename, lambda: vars(me()), lambda: vars(me()).update(z=1),
               lambda: [setattr(me(), "b%d" % n, n) for n in range(40)],
               lambda: setattr(me(), "__dict__", dict(vars(me())))):
    make(name="changed", before=before)
run(threading.Timer(0, block))
for _ in range(40):
    make(cls=Derived)
say("none")
import _thread
lock = _thread.allocate_lock(); lock.acquire()
_thread.start_new_thread(lambda: (say("thread", state_of(), "-"), os.read(0, 1), lock.release()), ())
lock.acquire()
say("thread", state_of(), "-")
os.read(0, 1)
say("done")
