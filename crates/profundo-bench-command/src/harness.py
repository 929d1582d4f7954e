# What `profundo bench` has an interpreter do: it compiles a statement into a loop as timeit does, and
# runs it when it is asked to. It is asked over a socket that is its standard input to begin with, so
# that what the statement prints is the statement's own.
def _profundo_bench():
    import gc, itertools, os, sys, time

    names = sys.modules["__main__"].__dict__
    names.pop("_profundo_bench", None)
    process = os.getpid()
    # Not inherited by what the statement starts, as every descriptor that Python opens.
    channel = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.argv[:] = ["-c"]
    # As timeit: what lies in the current folder can be imported.
    if sys.path[:1] not in ([""], [os.curdir]):
        sys.path.insert(0, os.curdir)

    source_name = "<statement>"

    class Leave(BaseException):
        """Nobody is there any more to ask, or to be told."""

    def leave(code):
        # A child that the statement has forked has come here too, and what its parent cleans up is none of its.
        if os.getpid() != process:
            os._exit(0)
        raise Leave(code)

    def receive():
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(channel, 1)
            if not byte:
                leave(0)
            line += byte
        word, sizes = line.split()[0].decode(), [int(size) for size in line.split()[1:]]
        return word, sizes

    def receive_text(size):
        text = b""
        while len(text) < size:
            part = os.read(channel, size - len(text))
            if not part:
                leave(0)
            text += part
        return text.decode("utf-8", "surrogateescape")

    def send(word, text):
        # A child that the statement has forked has come here too, and is none of ours.
        if os.getpid() != process:
            os._exit(0)
        text = text.encode("utf-8", "backslashreplace")
        rest = ("%s %d\n" % (word, len(text))).encode() + text
        while rest:
            try:
                rest = rest[os.write(channel, rest) :]
            except OSError:
                # The statement has closed what we talk over, and there is nobody left to tell.
                leave(1)

    def say_error(source):
        import linecache, traceback

        kind, error, trace = sys.exc_info()
        if source is not None:
            lines = source.split("\n")
            linecache.cache[source_name] = (len(source), None, lines, source_name)
        while trace is not None and trace.tb_frame.f_code.co_filename != source_name:
            trace = trace.tb_next
        try:
            text = "".join(traceback.format_exception(kind, error, trace))
        except BaseException:
            text = "%s (its traceback cannot be printed)\n" % kind.__name__
        sys.stdout.flush()
        send("error", text)

    def reindent(source, indent):
        return source.replace("\n", "\n" + " " * indent)

    def looped(setup, statement):
        source = "\ndef inner(_it, _timer):\n    %s\n    _t0 = _timer()\n    for _i in _it:\n        %s\n" % (
            reindent(setup, 4),
            reindent(statement, 8),
        )
        # Since 3.10 timeit ends the loop like this, which may be an instruction.
        if sys.version_info >= (3, 10):
            source += "        pass\n"
        return source + "    _t1 = _timer()\n    return _t1 - _t0\n"

    def plain(value, depth=0):
        # Equal values in equal words, whatever order they were made in.
        kind = type(value)
        if depth > 50:
            return "..."
        if kind is dict:
            items = sorted((plain(key, depth + 1), plain(it, depth + 1)) for key, it in value.items())
            return "{%s}" % ", ".join("%s: %s" % item for item in items)
        if kind in (set, frozenset):
            return "%s(%s)" % (kind.__name__, ", ".join(sorted(plain(it, depth + 1) for it in value)))
        if kind in (list, tuple):
            return ("[%s]" if kind is list else "(%s)") % ", ".join(plain(it, depth + 1) for it in value)
        if hasattr(kind, "__next__"):
            import itertools

            items = [plain(it, depth + 1) for it in itertools.islice(value, most + 1)]
            return "%s of [%s]" % (kind.__name__, ", ".join(items))
        import re

        text = repr(value)
        shown = re.sub(r" at 0x[0-9a-fA-F]+", "", text)
        if shown == text:
            return text
        # It says where it is, and not what: then what is in it is looked at.
        code = getattr(value, "__code__", value)
        if hasattr(code, "co_consts"):
            # What is done with these differs in its words from one interpreter to the next.
            opaque.append(shown)
            return "%s of %s" % (code.co_name, plain(code.co_names + code.co_consts, depth + 1))
        inner = getattr(value, "__dict__", None)
        if not inner:
            opaque.append(shown)
            return shown
        return "%s with %s" % (shown, plain(dict(inner), depth + 1))

    # So many items of an iterator are compared.
    most = 10000
    opaque = []

    def check(setup, statement):
        import ast

        names["__name__"] = "__main__"
        exec(compile(setup, source_name, "exec"), names)
        tree = ast.parse(statement, source_name)
        value = None
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, source_name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), source_name, "eval"), names)
        if "numpy" in sys.modules:
            sys.modules["numpy"].set_printoptions(threshold=sys.maxsize)
        if hasattr(sys, "set_int_max_str_digits"):
            sys.set_int_max_str_digits(0)
        text = plain(value)
        sys.stdout.flush()
        send("value", ("\0" if opaque else "") + text)

    implementation = sys.implementation.name
    version = "%d.%d.%d" % tuple(sys.version_info[:3])
    named = {"cpython": "CPython", "pypy": "PyPy", "graalpy": "GraalPy"}
    send("ready", "%s %s" % (named.get(implementation, implementation), version))

    def serve():
        source = None
        timer = time.perf_counter
        try:
            word, (clock, setup_size, statement_size) = receive()
            setup, statement = receive_text(setup_size), receive_text(statement_size)
            if clock:
                timer = time.process_time
            # timeit's statements see its own modules.
            names.update(gc=gc, itertools=itertools, sys=sys, time=time)
            if word == "check":
                return check(setup, statement)
            # Both have to be complete outside of a function too.
            compile(setup, source_name, "exec")
            compile(setup + "\n" + statement, source_name, "exec")
            source = looped(setup, statement)
            local = {}
            exec(compile(source, source_name, "exec"), names, local)
            inner = local["inner"]
            send("compiled", "")
            while True:
                _, (number,) = receive()
                loops = itertools.repeat(None, number)
                was_enabled = gc.isenabled()
                gc.disable()
                try:
                    taken = inner(loops, timer)
                finally:
                    if was_enabled:
                        gc.enable()
                send("time", repr(taken))
        except Leave:
            raise
        except BaseException:
            say_error(source)

    try:
        serve()
    except Leave as left:
        # It ends as programs end: what was printed is flushed, and who was started is ended, as the processes of a pool.
        (code,) = left.args
    else:
        return
    try:
        sys.stdout.flush()
    except BaseException:
        pass
    raise SystemExit(code)


_profundo_bench()
