"""Open a Python prompt over what is known of one kernel: `Debuginfo` and the runtime's questions.

``python -m stapy.tools.prompt [-r RELEASE] [--sysroot=DIR] [EXPRESSION ...]``

Expressions are evaluated and shown instead of a prompt.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from code import interact
from collections.abc import Callable, Sequence

from stapy.cache import Cache
from stapy.debuginfo import ctypes, facts
from stapy.debuginfo.facade import Debuginfo
from stapy.diagnostics import Diagnostics, SourceMap, Stop
from stapy.diagnostics.render import render, use_color
from stapy.diagnostics.suggest import listed, nearest
from stapy.kernel import Kernel, find_kernel
from stapy.options import Options

_HELP = """\
info            Debuginfo: info.functions("vfs_*"), info.places("vfs_read@fs/read_write.c:*"),
                info.type("struct file"), info.tracepoints("sched:*"), info.dwarf, ...
kernel          its release, files, configuration and exports
fact("NAME")    what the runtime is told of NAME, and where from; fact() for all
c_text(type)    a type as C has it, structs with their members' offsets
"""


def c_text(type: ctypes.CType) -> str:
    """Write a type as C does; a struct with its members and their offsets in bytes."""
    whole = ctypes.strip(type)
    if not isinstance(whole, ctypes.Struct):
        return ctypes.c_name(type)
    rows = [
        f"  /* {row.bit_offset // 8:5} */ {ctypes.c_name(row.type, row.name)}"
        f"{f' : {row.bit_size}' if row.bit_size else ''};\n"
        for row in whole.members()
    ]
    return f"{ctypes.c_name(whole)} {{ /* {whole.size} bytes */\n{''.join(rows)}}}"


def fact_of(kernel: Kernel, info: Debuginfo) -> Callable[[str], str]:
    """Make the function that answers a question of the runtime, or all of them."""

    def fact(name: str = "") -> str:
        name = name.removeprefix("STAPY_HAVE_")
        rows = [row for row in facts.QUESTIONS if name in ("", row.name)]
        if not rows:
            near = nearest(name, [row.name for row in facts.QUESTIONS])
            hint = f"; did you mean {listed(near)}?" if near else ""
            raise LookupError(f"the runtime asks nothing called '{name}'{hint}")
        answers = [facts.answer(row, kernel, info.btf, kernel.exports) for row in rows]
        return "\n".join(
            f"{row.name}: {'yes' if yes else 'no'} ({origin})"
            for row, (yes, origin) in zip(rows, answers, strict=True)
        )

    return fact


def names_of(kernel: Kernel, info: Debuginfo) -> dict[str, object]:
    """List what the prompt knows by name."""
    return {"info": info, "kernel": kernel, "fact": fact_of(kernel, info), "c_text": c_text}


def shown(value: object) -> str:
    """Write a value: types as C, lists a row for each item, texts as they are."""
    if isinstance(value, ctypes.CType):
        return c_text(value)
    if isinstance(value, list):
        return "\n".join(map(shown, value))
    return value if isinstance(value, str) else repr(value)


def main(words: Sequence[str]) -> int:
    """Open the prompt, or evaluate the expressions among ``words``."""
    parser = ArgumentParser(prog="python -m stapy.tools.prompt", description=_HELP.splitlines()[0])
    parser.add_argument("-r", dest="release", help="a release, a line such as 6.1, a build tree")
    parser.add_argument("--sysroot", help="where the kernel is installed")
    parser.add_argument("expressions", nargs="*", metavar="EXPRESSION")
    options = parser.parse_args(words)
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    try:
        kernel = find_kernel(options.release, diagnostics, options.sysroot)
    except Stop:
        _tell(diagnostics, sources)
        return 1
    info = Debuginfo(kernel, Cache.of(Options()), diagnostics)
    names = names_of(kernel, info)
    status = 0
    for expression in options.expressions:
        try:
            print(shown(eval(expression, names)))
        except Exception as error:
            # It is a Python expression of the user's: its line says it all.
            print(f"ERROR: {expression}: {type(error).__name__}: {error}", file=sys.stderr)
            status = 1
    if not options.expressions:
        interact(f"kernel {kernel.release}\n{_HELP}", local=names, exitmsg="")
    _tell(diagnostics, sources)
    return status


def _tell(diagnostics: Diagnostics, sources: SourceMap) -> None:
    """Say what was wrong with the kernel's files."""
    for item in diagnostics.items:
        print(render(item, sources, use_color("auto")), end="", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
