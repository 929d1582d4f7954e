"""How a cell is rewritten so that all of it runs in one region.

A magic of a cell gets its text, and would have to run it by itself: what the cell awaits, its last
value and its place in the traceback would be lost. So the cell stays a cell. Its first line becomes
a call (`head`), and the tree that IPython runs gets a ``with`` statement around the rest
(`Wrapping`):

    with REGISTRY["ProfundoMagics"].shown("--memory") as __profundo_1__:
        with __profundo_1__.region:
            ...
            __profundo_1__.keep(LAST)
        __profundo_1__.show_value()
"""

from __future__ import annotations

import ast
import itertools
import re
from typing import Any, Callable, List, Optional

#: The magic's name, and that of the class that has it.
NAME, CLASS = "profundo", "ProfundoMagics"
#: What has the magics, as a cell finds it.
_REGISTRY = f"get_ipython().magics_manager.registry[{CLASS!r}]"

_FIRST = re.compile(r"^%%profundo(?![\w?!])[ \t]*(.*?)[ \t]*\r?\n?$")
_FIRST_BENCH = re.compile(r"^%%bench(?![\w?!])[ \t]*(.*?)[ \t]*\r?\n?$")
#: A line of %bench as IPython writes it, with what stands in front.
_LINE_BENCH = re.compile(
    r"^(\s*(?:[^\W\d]\w*\s*=\s*)?)get_ipython\(\)\.run_line_magic\('bench', (.+)\)\s*$"
)
#: A line magic as IPython writes it, with what it is assigned to.
_LINE = re.compile(
    r"^(\s*)(?:([^\W\d]\w*)\s*=\s*)?get_ipython\(\)\.run_line_magic\('profundo', (.+)\)\s*$"
)

#: Numbers for the names of variables, so that regions may nest.
_numbers = itertools.count(1)


def head(lines: List[str]) -> List[str]:
    """The lines of a cell; ``%%profundo OPTIONS`` in the first becomes a call."""
    first = _FIRST.match(lines[0]) if lines else None
    if first is None:
        return _head_of_bench(lines)
    call = f"get_ipython().run_cell_magic('{NAME}', {first.group(1)!r}, '')\n"
    return [call] + lines[1:]


def _head_of_bench(lines: List[str]) -> List[str]:
    """``%%bench`` of candidates that await becomes a statement that awaits them in turn."""
    first = _FIRST_BENCH.match(lines[0]) if lines else None
    if first is None or not any("await" in line or "async" in line for line in lines):
        return lines
    from .options import BENCH, rest_of

    body = "".join(lines[1:])
    pieces = re.split(r"^-{3,}.*$", body, flags=re.MULTILINE)
    if not any(map(is_async, pieces + [rest_of(first.group(1), BENCH)])):
        return lines
    return [f"await {_REGISTRY}.bench_awaiting({first.group(1)!r}, {body!r})\n"]


# A terminal asks whether a cell is complete, and knows that of magics.
head.has_side_effects = True  # type: ignore[attr-defined]


def second_magic(lines: List[str]) -> List[str]:
    """A further magic of the whole cell, such as ``%%capture``, in the line below ours."""
    if not lines or not lines[0].startswith(f"get_ipython().run_cell_magic('{NAME}', "):
        return lines
    for index in range(1, len(lines)):
        line = lines[index]
        if line.startswith("%%") and not line.startswith(f"%%{NAME}"):
            name, _, rest = line[2:].strip().partition(" ")
            body = "".join(lines[index + 1 :])
            call = f"get_ipython().run_cell_magic({name!r}, {rest.strip()!r}, {body!r})\n"
            return lines[:index] + [call]
        if line.strip():
            break
    return lines


def awaiting(lines: List[str]) -> List[str]:
    """``%profundo await …`` in a line of a cell becomes a ``with`` statement that awaits it.

    IPython decides by the text of a cell whether it awaits anything.
    """
    return [_awaiting(line) for line in lines] if any("await" in line for line in lines) else lines


def _awaiting(line: str) -> str:
    bench = _LINE_BENCH.match(line)
    if bench is not None:
        return _awaiting_bench(line, bench.group(1), bench.group(2))
    found = _LINE.match(line)
    if found is None:
        return line
    try:
        text = ast.literal_eval(found.group(3))
    except (SyntaxError, ValueError):
        return line
    from .options import statement_of

    statement = statement_of(text)
    if not statement or not is_async(statement):
        return line
    indent, target = found.group(1), found.group(2)
    options = text[: len(text) - len(statement)].strip()
    variable = f"__profundo_{next(_numbers)}__"
    call = f"get_ipython().magics_manager.registry[{CLASS!r}].shown({options!r}, {target!r})"
    return f"{indent}with {call} as {variable}, {variable}.region: {statement}\n"


def _awaiting_bench(line: str, before: str, literal: str) -> str:
    """``%bench await …`` in a line of a cell."""
    from .options import BENCH, rest_of

    try:
        text = ast.literal_eval(literal)
    except (SyntaxError, ValueError):
        return line
    pieces = re.split(r"\s+-{3}\s+", rest_of(text, BENCH))
    if not any(map(is_async, pieces)):
        return line
    return f"{before}await {_REGISTRY}.bench_awaiting({text!r})\n"


def is_async(text: str) -> bool:
    """Whether a text awaits something outside of its functions."""
    import inspect

    try:
        code = compile(text, "<text>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):
        return False
    return bool(code.co_flags & inspect.CO_COROUTINE)


class Wrapping(ast.NodeTransformer):
    """Puts a region around a cell.

    Args:
        interactivity: What IPython shows of a cell: its ``ast_node_interactivity``.
        pending: Returns the options of a cell that has none of its own but is to be profiled
            (``%profundo on``), once.
    """

    def __init__(
        self, interactivity: Callable[[], str], pending: Callable[[], Optional[str]]
    ) -> None:
        self._interactivity = interactivity
        self._pending = pending

    def visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, ast.Module):
            return node
        pending = self._pending()
        own = _options_of(node.body[0]) if node.body else None
        if own is not None:
            node.body = _wrapped(node.body[1:], own, node.body[0], self._interactivity())
        elif pending is not None and node.body:
            node.body = _wrapped(node.body, pending, node.body[0], self._interactivity())
        return node


def _options_of(node: ast.stmt) -> Optional[str]:
    """The options in the call that `head` has made."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    function, arguments = node.value.func, node.value.args
    if not isinstance(function, ast.Attribute) or function.attr != "run_cell_magic":
        return None
    try:
        values = [ast.literal_eval(argument) for argument in arguments]
    except ValueError:
        return None
    is_ours = len(values) == 3 and values[0] == NAME and values[2] == ""
    return str(values[1]) if is_ours else None


def _wrapped(
    body: List[ast.stmt], options: str, place: ast.stmt, interactivity: str
) -> List[ast.stmt]:
    first = 0
    while first < len(body) and _must_be_first(body[first]):
        first += 1
    before, inner = body[:first], body[first:]
    variable = f"__profundo_{next(_numbers)}__"
    template = (
        f"with get_ipython().magics_manager.registry[{CLASS!r}].shown({options!r}) as {variable}:\n"
        f"    with {variable}.region:\n"
        "        pass\n"
        f"    {variable}.show_value()\n"
    )
    outer: Any = ast.parse(template).body[0]
    for node in ast.walk(outer):
        # All of it is at the first line.
        if hasattr(node, "lineno"):
            ast.copy_location(node, place)
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset  # type: ignore
    region = outer.body[0]
    if inner:
        region.body = _shown(inner, variable, interactivity)
    return before + [ast.fix_missing_locations(outer)]


def _must_be_first(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _shown(body: List[ast.stmt], variable: str, interactivity: str) -> List[ast.stmt]:
    """The statements, those of which IPython shows the value given to `variable`."""
    if interactivity == "all":
        return [_kept(node, variable, "show") for node in body]
    last = body[-1]
    if interactivity == "last_expr_or_assign":
        name = _assigned(last)
        if name is not None:
            shown = ast.Expr(ast.Name(name, ast.Load()))
            body = body + [ast.fix_missing_locations(ast.copy_location(shown, last))]
    if interactivity != "none":
        body = body[:-1] + [_kept(body[-1], variable, "keep")]
    return body


def _kept(node: ast.stmt, variable: str, method: str) -> ast.stmt:
    if not isinstance(node, ast.Expr):
        return node
    keeper = ast.Attribute(ast.Name(variable, ast.Load()), method, ast.Load())
    call = ast.Expr(ast.Call(keeper, [node.value], []))
    return ast.fix_missing_locations(ast.copy_location(call, node))


def _assigned(node: ast.stmt) -> Optional[str]:
    target: Any = None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        target = node.target
    return target.id if isinstance(target, ast.Name) else None
