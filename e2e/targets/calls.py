"""Calls of all kinds, whose counts are the same in each run: recursion, generators, coroutines, exceptions, methods and
functions of C's, what those call, and lines of all kinds. With `threads`, from threads and children too."""
import sys, threading, asyncio, functools, re, json, collections
def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)
def even(n): return True if n == 0 else odd(n-1)
def odd(n): return False if n == 0 else even(n-1)
def gen(n):
    for i in range(n):
        x = yield i
def delegating(n):
    yield from gen(n)
    return 3
def use_gens():
    assert sum(gen(10)) == 45
    g = gen(5); next(g); g.send(1)
    try: g.throw(ValueError)
    except ValueError: pass
    g = gen(3); next(g); g.close()
    g = gen(3)
    try: g.throw(KeyError)
    except KeyError: pass
    list(delegating(4))
    [i for i in gen(3)]; {i for i in gen(3)}; list(i*2 for i in gen(3))
async def leaf(n):
    await asyncio.sleep(0)
    return n
async def agen(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
async def coro():
    r = await asyncio.gather(*(leaf(i) for i in range(5)))
    async for i in agen(3): r.append(i)
    return r
def raises(n):
    if n: return raises(n-1)
    raise ValueError(n)
def catch():
    for _ in range(10):
        try: raises(3)
        except ValueError: pass
    try: int('x')
    except ValueError: pass
    try: [].pop()
    except IndexError: pass
class A:
    def __init__(self): self.l = []
    def m(self, k): self.l.append(k); return len(self.l)
    @property
    def p(self): return self.m(1)
    @staticmethod
    def s(): return min(1, 2)
    @classmethod
    def c(cls): return cls()
    def __eq__(self, o): return isinstance(o, A)
    def __hash__(self): return 1
    def __lt__(self, o): return False
class L(list):
    def append(self, x): super().append(x)
def callbacks():
    sorted(range(30), key=lambda x: -x)
    list(map(fib, [1,2,3])); list(filter(None, [0,1]))
    functools.reduce(lambda a, b: a+b, range(10))
    re.sub('a', lambda m: 'b', 'banana')
    d = collections.defaultdict(list); d[1].append(2)
    s = {A(), A()}; sorted([A(), A(), A()])
    a = A(); a.p; a.s(); a.c(); A.c(); a.m(k=3); a.m(*[4]); a.m(**{'k': 5})
    f = a.l.append; f(1); list.append(a.l, 2); str.join(',', ['a','b']); print(end='')
    L().append(3); dict.fromkeys([1]); object.__new__(A); functools.partial(fib, 3)()
    json.dumps({'a': [1, 2, {'b': None}]}); json.loads('{"a": [1, 2]}')
    exec('fib(3)'); eval('fib(2)')
@functools.lru_cache(None)
def memo(n): return n if n < 2 else memo(n-1) + memo(n-2)
def main():
    fib(12); even(20); use_gens(); catch(); callbacks(); memo(30)
    loop = asyncio.new_event_loop(); loop.run_until_complete(coro()); loop.close()

def loops():
    n = 0
    while n < 20: n += 1
    for i in range(7): n += i
    for i in range(3):
        n += 1
        if n % 2:
            continue
        n += 2
    x = [a for a in range(4)
         if a]
    y = (n +
         len(x) +
         fib(3))
    with open('/dev/null') as f:
        f.read()
    try:
        raise KeyError(1)
    except KeyError:
        pass
    finally:
        n = 1
    return (lambda q: q + 1)(n)
def child():
    fib(5)


if __name__ == '__main__':
    main()
    loops()
    if sys.argv[1:] == ['threads']:
        import os
        import warnings
        warnings.simplefilter('ignore')
        for _ in range(5):
            thread = threading.Thread(target=fib, args=(10,))
            thread.start()
            thread.join()
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                child()
                os._exit(0)
            os.waitpid(pid, 0)
        print('done')
