"""Raises exceptions whose ends are known.

A line that raises has a mark behind a hash and a colon, COUNT TYPE -> END. END is the name of a line, which has a mark
such as `at NAME`, or `left` (it left the program or a thread), `unseen` (C code dropped it), or `elsewhere` (a library's
handler caught it). A line may have several marks. Some marks are only for one of the program's arguments, behind `if`.
"""

import asyncio
import contextlib
import os
import sys
import threading
import _thread


class Own(Exception):
    pass


def raises(kind):
    raise kind  #: 30 Own -> two; 7 OSError -> clause; 5 KeyError -> clause_of_two; 3 TypeError -> bare; 4 MemoryError -> outer; 2 Own -> thread


def simple():
    for _ in range(100):
        try:
            raise ValueError("x")  #: 100 ValueError -> one
        except ValueError:  #: at one
            pass
    for _ in range(30):
        try:
            raises(Own)
        except Own as error:  #: at two
            str(error)


def of_c(table):
    return table["missing"]  #: 25 KeyError -> three


def c_code():
    for _ in range(25):
        try:
            of_c({})
        except LookupError:  #: at three
            pass
    try:
        int("x")  #: 1 ValueError -> four
    except ValueError:  #: at four
        pass


def clauses():
    for kind, count in (OSError, 7), (KeyError, 5), (TypeError, 3), (MemoryError, 4):
        for _ in range(count):
            try:
                try:
                    raises(kind)
                except MemoryError if count == 0 else ZeroDivisionError:
                    pass
                except OSError:  #: at clause
                    count += 0
                except (KeyError, AttributeError) as error:  #: at clause_of_two
                    del error
                except BaseException if kind is TypeError else LookupError:  #: at bare
                    pass
            except MemoryError:  #: at outer
                pass


def bare():
    for _ in range(6):
        try:
            None.x  #: 6 AttributeError -> bare_clause
        except KeyError:
            pass
        except:  #: at bare_clause
            pass


def cleans():
    try:
        raise Own  #: 8 Own -> after_finally
    finally:
        len("")


def again():
    try:
        raise Own  #: 9 Own -> after_again
    except Own:
        len("")
        raise


def named_again():
    try:
        raise Own  #: 5 Own -> first_named
    except Own as error:  #: at first_named
        raise error  #: 5 Own -> after_named


def other():
    try:
        raise Own  #: 4 Own -> first_other
    except Own as error:  #: at first_other
        raise KeyError(1) from error  #: 4 KeyError -> after_other


def replaced():
    try:
        raise Own  #: 4 Own -> replacer
    except Own:  #: at replacer
        raise KeyError from None  #: 4 KeyError -> after_replaced


def while_handled():
    try:
        raise Own  #: 3 Own -> after_while
    except Own:
        try:
            raise KeyError  #: 3 KeyError -> within_while
        except KeyError:  #: at within_while
            pass
        raise


def in_finally():
    try:
        raise Own  #: 2 Own -> after_in_finally
    finally:
        try:
            raise KeyError  #: 2 KeyError -> within_finally
        except KeyError:  #: at within_finally
            pass


def raised_on():
    for _ in range(8):
        try:
            cleans()
        except Own:  #: at after_finally
            pass
    for _ in range(9):
        try:
            again()
        except Own:  #: at after_again
            pass
    for _ in range(5):
        try:
            named_again()
        except Own:  #: at after_named
            pass
    for _ in range(4):
        try:
            other()
        except KeyError:  #: at after_other
            pass
    for _ in range(4):
        try:
            replaced()
        except KeyError:  #: at after_replaced
            pass
    for _ in range(3):
        try:
            while_handled()
        except Own:  #: at after_while
            pass
    for _ in range(2):
        try:
            in_finally()
        except Own:  #: at after_in_finally
            pass


KEPT = Own("kept")


def kept():
    for _ in range(50):
        try:
            raise KEPT  #: 50 Own -> keeper
        except Own:  #: at keeper
            pass


def swallows():
    try:
        raise Own  #: 2 Own -> swallower
    finally:
        return 1  #: at swallower


def managed():
    for _ in range(11):
        with contextlib.suppress(Own):  #: at manager
            len("")
            raise Own  #: 11 Own -> manager
    for _ in range(12):
        with contextlib.suppress(Own): raise Own  #: 12 Own -> line_manager; at line_manager
    swallows()
    swallows()


def managed_twice():
    with contextlib.suppress(KeyError):  #: at outer_manager
        with contextlib.suppress(Own):
            raise KeyError  #: 1 KeyError -> outer_manager if nested


@contextlib.contextmanager
def catching():
    try:
        yield
    except Own:  #: at catching
        pass


@contextlib.contextmanager
def passing():
    try:
        yield
    finally:
        len("")


def by_generators():
    for _ in range(6):
        with catching():
            raise Own  #: 6 Own -> catching
    for _ in range(5):
        try:
            with passing():
                raise Own  #: 5 Own -> passed
        except Own:  #: at passed
            pass


class Rows:
    def __init__(self):
        self.left = 2

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration  #: 3 StopIteration -> loop
        self.left -= 1
        return self.left


def numbers():
    yield 1
    yield 2


def guarded():
    try:
        yield 1  #: 4 Own -> thrown
    except Own:  #: at thrown
        yield 2


def pausing():
    try:
        raise Own  #: 1 Own -> after_pause
    except Own:
        yield 1
        raise


def iterates():
    for _ in range(3):
        for row in Rows():  #: at loop
            len(str(row))
    for _ in range(10):
        for _ in numbers():
            pass
    rows = numbers()
    list(rows)
    try:
        next(rows)  #: 1 StopIteration -> exhausted
    except StopIteration:  #: at exhausted
        pass
    for _ in range(4):
        rows = guarded()
        next(rows)
        rows.throw(Own())
        rows.close()
    rows = guarded()
    next(rows)
    rows.close()
    rows = pausing()
    next(rows)
    try:
        next(rows)
    except Own:  #: at after_pause
        pass


class Evasive:
    def __getattr__(self, name):
        raise AttributeError(name)  #: 20 AttributeError -> unseen

    def __del__(self):
        raise Own  #: 3 Own -> unseen


def drops():
    evasive = Evasive()
    for _ in range(10):
        hasattr(evasive, "x")
        getattr(evasive, "y", None)
    del evasive
    Evasive()
    Evasive()


def dives(depth):
    if depth == 0:
        assert depth, "deep"  #: 2 AssertionError -> surface
    return dives(depth - 1)


def recurses():
    for _ in range(2):
        try:
            dives(60)
        except AssertionError:  #: at surface
            pass


def in_thread():
    for _ in range(2):
        try:
            raises(Own)
        except Own:  #: at thread
            pass
    raise Own  #: 1 Own -> elsewhere


def ends_thread(done):
    done.append(1)
    raise Own  #: 1 Own -> left


def threads():
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    done = []
    _thread.start_new_thread(ends_thread, (done,))
    while not done or _thread._count() > 0:
        pass


class Aiterator:
    def __init__(self):
        self.left = 2

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.left == 0:
            raise StopAsyncIteration  #: 1 StopAsyncIteration -> async_loop
        self.left -= 1
        return self.left


async def anumbers():
    yield 1
    yield 2


async def fails(kind):
    await asyncio.sleep(0)
    raise kind  #: 1 Own -> awaited; 1 KeyError -> of_task; 2 ValueError -> unseen


async def waits():
    try:
        await asyncio.sleep(30)
    finally:
        len("")


class Amanager:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await asyncio.sleep(0)
        return True


async def main():
    try:
        await fails(Own)
    except Own:  #: at awaited
        pass
    task = asyncio.ensure_future(fails(KeyError))
    try:
        await task
    except KeyError:  #: at of_task
        pass
    await asyncio.gather(fails(ValueError), fails(ValueError), return_exceptions=True)
    async for _ in anumbers():
        pass
    async for _ in Aiterator():  #: at async_loop
        pass
    async with Amanager():  #: at async_manager
        raise Own  #: 1 Own -> async_manager


def forks():
    child = os.fork()
    if child == 0:
        try:
            raise Own  #: 1 Own -> in_child
        except Own:  #: at in_child
            pass
        os._exit(0)
    os.waitpid(child, 0)
    try:
        raise KeyError  #: 1 KeyError -> by_fork
    except KeyError:  #: at by_fork
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)


sys.unraisablehook = threading.excepthook = lambda *_: None
simple()
c_code()
clauses()
bare()
raised_on()
kept()
managed()
by_generators()
iterates()
drops()
recurses()
threads()
asyncio.run(main())
forks()
print([1 / 2 for _ in range(3)])
if sys.argv[1:] == ["nested"]:
    managed_twice()
if sys.argv[1:] == ["error"]:
    raise Own("end")  #: 1 Own -> left if error
elif sys.argv[1:] == ["exit"]:
    sys.exit(3)  #: 1 SystemExit -> left if exit
