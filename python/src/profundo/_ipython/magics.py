"""The magics: ``%profundo``, ``%%profundo``, ``%bench``, ``%%bench``, ``%memit``, ``%mprun``."""

from __future__ import annotations

import sys
from typing import Any, List, Optional

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from . import memory, options, rewriting
from .options import Options
from .shown import Shown, cell_of, functions_of, statement_as_cell

#: What of a cell is not profiled by `%profundo on`: cells that only set something up.
_SET_UP = ("%profundo", "%load_ext", "%reload_ext", "%matplotlib")


@magics_class
class ProfundoMagics(Magics):
    """Profiles of cells and statements."""

    #: IPython's shell.
    shell: Any

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        #: The options of `%profundo on`.
        self._each: Optional[str] = None
        self._is_pending = False

    # %profundo

    @no_var_expand
    @line_cell_magic
    def profundo(self, line: str, cell: Optional[str] = None) -> Any:
        """Profile a statement or a cell: time and memory, by line and by function.

        Usage::

            %profundo [OPTIONS] STATEMENT
            %%profundo [OPTIONS]
            CELL
            %profundo on [OPTIONS]       (every cell from now on)
            %profundo off

        What is recorded:

          --memory[=exact]   what is allocated, by line; each single allocation if ``exact``
          --wall             where it waits, too
          --trace            count and time every call, as ``%prun`` does
          --trace=lines      count and time every line, as ``%lprun`` does; ``--lines`` is the same
          --trace=exceptions count every exception, with who raises and who catches it
          --rate HZ          samples per second (1000)

        What is shown:

          -f FUNCTION        the lines of this function, too; may be repeated (as in ``%lprun``)
          -m MODULE          the lines of this module, too; may be repeated (as in ``%lprun``)
          -s KEY             functions in this order (as in ``%prun``: time, cumulative, name, …)
          -l LIMIT           so many functions, a part of them as .1, or a part of the name
          --tree             who called whom, as text
          --height PIXELS    the height of the page in a notebook

        What becomes of it:

          -r                 return the profile
          -o FILE, -D FILE   write the profile, in the format of the file's name
          -T FILE            write the text
          -q                 show nothing
        """
        if cell is not None:
            # Another magic has the cell, or a program: it runs as a cell of its own.
            call = f"%%profundo {line}\n{cell}"
            return self.shell.run_cell(call, store_history=False).result
        word, _, rest = line.partition(" ")
        if word == "on":
            Options(rest)
            self._each = rest
            print("Every cell is profiled from now on; %profundo off ends it.")
            return None
        if word == "off":
            self._each = None
            return None
        return self._statement(line)

    def _statement(self, line: str) -> Any:
        asked = Options(line)
        if not asked.statement:
            raise UsageError("%profundo needs a statement; %%profundo profiles a cell")
        frame = _frame_of_cell(self.shell)
        source = statement_as_cell(self.shell, asked.statement, frame)
        functions_of(self.shell, asked)
        code = self.shell.compile(
            "\n" * (source.first - 1) + self.shell.transform_cell(asked.statement),
            source.file,
            "exec",
        )
        with Shown(self.shell, asked, source) as shown:
            with shown.region:
                exec(code, self.shell.user_global_ns, self.shell.user_ns)
        return shown.profile if asked.returns else None

    def shown(self, line: str, target: Optional[str] = None) -> Shown:
        """What stands around a cell that was rewritten."""
        file = sys._getframe(1).f_code.co_filename
        asked = Options(line)
        if asked.statement:
            raise UsageError(f"%%profundo has options only in its line, not {asked.statement!r}")
        return Shown(self.shell, asked, cell_of(self.shell, file), target)

    # %profundo on

    def before_cell(self, info: Any = None) -> None:
        """A cell will run."""
        text = getattr(info, "raw_cell", None) or ""
        self._is_pending = (
            self._each is not None
            and bool(getattr(info, "store_history", True))
            and not text.strip().startswith(_SET_UP + ("%%",))
        )

    def pending(self) -> Optional[str]:
        """The options of the cell that begins now, once."""
        is_pending, self._is_pending = self._is_pending, False
        return self._each if is_pending else None

    # %bench

    @no_var_expand
    @line_cell_magic
    def bench(self, line: str, cell: Optional[str] = None) -> Any:
        """Compare candidates: how fast each is, and how sure the difference is.

        Usage::

            %bench [OPTIONS] STATEMENT [--- STATEMENT …]
            %%bench [OPTIONS] [SETUP]
            CANDIDATE
            --- [NAME]
            CANDIDATE

        Candidates are separated by lines of three dashes; a name may follow them. They run in
        turn, in an order that is drawn by chance, and the ratio of each two has its 95 % interval.
        The rest of the first line is the setup, as in ``%%timeit``: it runs before each run and is
        not timed.

          -n LOOPS           the loops of a run
          -r RUNS            the number of runs
          --min-time SECONDS the least time of a run (0.1)
          -c                 CPU time
          --check            see first that all candidates give the same
          -o                 return the measurement
          -q                 show nothing
        """
        from .bench import Bench

        __tracebackhide__ = True
        given, rest = options.split(line, options.BENCH)
        return Bench(self.shell, given, rest, cell, _frame_of_cell(self.shell)).run()

    async def bench_awaiting(self, line: str, cell: Optional[str] = None) -> Any:
        """``%bench`` of what awaits: a line or a cell was rewritten to await this."""
        from .bench import Bench

        __tracebackhide__ = True
        given, rest = options.split(line, options.BENCH)
        frame: Any = sys._getframe(1)
        return await Bench(self.shell, given, rest, cell, frame.f_lineno).run_awaiting()

    # %memit and %mprun

    @no_var_expand
    @line_cell_magic
    def memit(self, line: str, cell: Optional[str] = None) -> Any:
        """The peak of memory that a statement needs, and its increment.

        Usage::

            %memit [OPTIONS] STATEMENT
            %%memit [OPTIONS] [SETUP]
            CELL

        As in memory_profiler. The kernel keeps the peak, so no short one is missed.

          -r RUNS   the best of so many runs
          -c        with the memory of child processes
          -o        return the result
          -q        show nothing
          -t, -i    accepted, and without a meaning here
        """
        given, rest = options.split(line, options.MEMIT)
        return memory.memit(self.shell, given, rest, cell)

    @no_var_expand
    @line_cell_magic
    def mprun(self, line: str, cell: Optional[str] = None) -> Any:
        """The memory of functions by line: what each has allocated, and what of it is held.

        Usage::

            %mprun -f FUNCTION STATEMENT
            %%mprun -f FUNCTION
            CELL

        As ``%profundo --memory -f FUNCTION``. ``-T FILE`` writes the text, and ``-r`` returns the
        profile.
        """
        given, rest = options.split(line, options.MPRUN)
        words: List[str] = ["--memory"]
        for name in ("-f", "-T"):
            for value in given.get(name, []):
                words += [name, f'"{value}"' if " " in value else value]
        words += ["-r"] if "-r" in given else []
        if cell is None:
            return self.profundo(" ".join(words + [rest]))
        return self.profundo(" ".join(words), f"{rest}\n{cell}" if rest else cell)


def _frame_of_cell(shell: Any) -> int:
    """The line of the cell that calls a magic; 1 where it is not known."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_globals is shell.user_global_ns and frame.f_code.co_name.startswith("<"):
            return int(frame.f_lineno)
        frame = frame.f_back
    return 1


class Loaded:
    """What the extension has put into a shell, and takes out again."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.magics = ProfundoMagics(shell)
        self._wrapping = rewriting.Wrapping(
            lambda: shell.ast_node_interactivity, self.magics.pending
        )
        shell.register_magics(self.magics)
        shell.ast_transformers.append(self._wrapping)
        shell.input_transformers_post.append(rewriting.awaiting)
        shell.input_transformer_manager.cleanup_transforms.append(rewriting.head)
        shell.input_transformer_manager.line_transforms.append(rewriting.second_magic)
        shell.events.register("pre_run_cell", self.magics.before_cell)

    def unload(self) -> None:
        """Take all of it out."""
        shell = self._shell
        manager = shell.input_transformer_manager
        for things, thing in (
            (shell.ast_transformers, self._wrapping),
            (shell.input_transformers_post, rewriting.awaiting),
            (manager.cleanup_transforms, rewriting.head),
            (manager.line_transforms, rewriting.second_magic),
        ):
            if thing in things:
                things.remove(thing)
        shell.events.unregister("pre_run_cell", self.magics.before_cell)
        for kind in ("line", "cell"):
            for name in ("profundo", "bench", "memit", "mprun"):
                shell.magics_manager.magics[kind].pop(name, None)
        shell.magics_manager.registry.pop(rewriting.CLASS, None)
