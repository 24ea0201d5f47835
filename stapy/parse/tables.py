"""The grammar's tables: made by PLY once, then loaded from a cache in a millisecond.

The cache file's name carries a digest of all productions, precedences and
tokens and of the versions of PLY and Python, so a stale table is never used.
An installed package may ship the file beside this module.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from stapy.parse.rules import declarations, expressions, operators, statements
from stapy.parse.tokens import GRAMMAR_TOKENS
from stapy.paths import cache_dir

if TYPE_CHECKING:
    from stapy.parse.production import GrammarEngine, Production
    from stapy.parse.tokens import Token

Action: TypeAlias = "Callable[[Production], None]"
ErrorHandler: TypeAlias = "Callable[[Token | None], None]"
# In each state: what to do at a token, and which state comes behind a rule.
Actions: TypeAlias = dict[int, dict[str, int]]
Gotos: TypeAlias = dict[int, dict[str, int]]
# Of each production its left side, the number of symbols on the right, and the action's name.
Productions: TypeAlias = list[tuple[str, int, str]]
TableData: TypeAlias = tuple[Actions, Gotos, Productions]
_MODULES = (declarations, statements, expressions, operators)


def rules() -> dict[str, Action]:
    """Map the names of all actions to them."""
    found: dict[str, Action] = {}
    for module in _MODULES:
        for name, value in vars(module).items():
            if name.startswith("p_"):
                assert name not in found, f"two rules are called {name}"
                found[name] = value
    return found


def digest() -> str:
    """Make a text that changes whenever the tables must."""
    import ply  # type: ignore[import-untyped]

    text = "\n".join(
        [f"{name} {rule.__doc__}" for name, rule in rules().items()]
        + [repr(expressions.precedence), repr(GRAMMAR_TOKENS), ply.__version__, sys.version]
    ).encode()
    return f"{len(text):x}-{zlib.crc32(text):08x}-{zlib.adler32(text):08x}"


def make_parser(on_error: ErrorHandler) -> GrammarEngine:
    """Make a PLY parser; the tables come from a cache when there is a good one."""
    with _loaded_when_used("inspect"):  # which PLY asks where a grammar stands, to make tables
        from ply.yacc import LRParser  # type: ignore[import-untyped]

    functions = rules()
    data = _load()
    if data is None:
        data = generate()
        _save(data)
    action, goto, productions = data
    tables = _Tables(action, goto, productions, functions)
    parser: GrammarEngine = LRParser(tables, on_error)
    return parser


@contextmanager
def _loaded_when_used(name: str) -> Iterator[None]:
    """Have a module that is imported meanwhile loaded at the first use of one of its names.

    `importlib.util.LazyLoader` is of no use: Python 3.11 loads such a module at its second import.
    """
    if name in sys.modules:
        yield
        return
    later = ModuleType(name)

    def leave() -> None:
        if sys.modules.get(name) is later:
            del sys.modules[name]

    def ask(attribute: str) -> object:
        leave()
        return getattr(import_module(name), attribute)

    later.__getattr__ = ask  # type: ignore[method-assign]
    sys.modules[name] = later
    try:
        yield
    finally:
        leave()


class _Rule:
    """What PLY's engine wants to know of a production."""

    __slots__ = ("callable", "len", "name")

    def __init__(self, name: str, length: int, action: Action | None) -> None:
        self.name = name
        self.len = length
        self.callable = action


class _Tables:
    """The three attributes that PLY's engine reads from its tables."""

    def __init__(
        self,
        action: Actions,
        goto: Gotos,
        productions: Productions,
        functions: dict[str, Action],
    ) -> None:
        self.lr_action = action
        self.lr_goto = goto
        self.lr_productions = [
            _Rule(name, length, functions.get(function)) for name, length, function in productions
        ]


def grammar_module() -> ModuleType:
    """Make one module with everything that PLY reads: rules, tokens, precedence."""
    module = ModuleType("stapy_grammar")
    module.__file__ = __file__
    vars(module).update(rules())
    vars(module).update(
        tokens=GRAMMAR_TOKENS,
        precedence=expressions.precedence,
        start="script",
        p_error=lambda token: None,
    )
    return module


def generate(log: object = None) -> TableData:
    """Build the tables (half a second); conflicts go to ``log``."""
    from ply import yacc

    module = grammar_module()
    sys.modules[module.__name__] = module
    original = yacc.LRGeneratedTable
    yacc.LRGeneratedTable = _faster(original)
    try:
        parser = yacc.yacc(
            module=module,
            write_tables=False,
            debug=False,
            errorlog=log or yacc.NullLogger(),
        )
    finally:
        yacc.LRGeneratedTable = original
        del sys.modules[module.__name__]
    productions = [(rule.name, rule.len, rule.func or "") for rule in parser.productions]
    return parser.action, parser.goto, productions


class _Item(Protocol):
    """A production of PLY's generator; per state, the tokens after which it is complete."""

    lookaheads: dict[int, list[str]]


_Transition = tuple[int, str]  # from a state by the left side of a rule


def _faster(generator: type) -> type:
    """Derive PLY's generator with one step done by dictionaries instead of searches in lists.

    For a grammar of our size that step takes three quarters of the whole time.
    """

    def add_lookaheads(
        self: object,
        lookbacks: dict[_Transition, list[tuple[int, _Item]]],
        followset: dict[_Transition, list[str]],
    ) -> None:
        found: dict[tuple[int, int], tuple[_Item, dict[str, None]]] = {}
        for transition, lookback in lookbacks.items():
            follow = dict.fromkeys(followset.get(transition, ()))
            for state, production in lookback:
                key = (state, id(production))
                if key not in found:
                    found[key] = (production, {})
                found[key][1].update(follow)
        for (state, _), (production, tokens) in found.items():
            # Tokens in the order in which PLY would have added them.
            production.lookaheads[state] = list(tokens)

    return type("Generator", (generator,), {"add_lookaheads": add_lookaheads})


def _candidates() -> list[Path]:
    name = f"grammar-{digest()}.tables"
    return [Path(__file__).parent / name, cache_dir() / "parse" / name]


def _load() -> TableData | None:
    for path in _candidates():
        try:
            data = marshal.loads(path.read_bytes())
        except (OSError, ValueError, EOFError, TypeError):
            continue
        if isinstance(data, tuple) and len(data) == 3:
            return data
    return None


def _save(data: TableData) -> None:
    write(_candidates()[-1], data)


def write(path: Path, data: TableData) -> None:
    """Store the tables; a cache that cannot be written only costs time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_bytes(marshal.dumps(data))
        temporary.replace(path)
    except OSError:
        return
