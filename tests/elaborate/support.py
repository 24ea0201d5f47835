"""Pass 1 and 2 over small texts, with a library and debug information made by hand."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from stapy.cache import Cache
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.query.answers import CodePlace
from stapy.debuginfo.dwarf.query.spec import parse as parse_spec
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.loading import Loaded
from stapy.debuginfo.lookup.addresses import FunctionStart
from stapy.debuginfo.lookup.line_pack import LineTable
from stapy.debuginfo.sites import FunctionSite, FunctionSites
from stapy.debuginfo.tracepoints.matching import Tracepoint
from stapy.debuginfo.user.programs import Programs
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.elaborate import elaborate
from stapy.ir.program import Program
from stapy.kernel import Kernel
from stapy.options import Options
from stapy.parse import nodes as n
from stapy.parse import parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.record import Record
from stapy.services import DebuginfoLike, LibraryLike, Services

T = TypeVar("T")

LONG = c.Int("long", 8, True, "signed")
INT = c.Int("int", 4, True, "signed")
UINT = c.Int("unsigned int", 4, False, "unsigned")
USHORT = c.Int("unsigned short", 2, False, "unsigned")
CHAR = c.Int("char", 1, True, "char")
SIZE_T = c.Typedef("size_t", c.Int("unsigned long", 8, False, "unsigned"))
VOID = c.Void()


def struct(name: str, size: int, *members: tuple[Any, ...], kind: str = "struct") -> c.Struct:
    """Make a struct from ``(name, type, byte offset)`` or ``(name, type, bit offset, bits)``."""
    made = [
        c.Member(m[0], m[1], m[2], m[3]) if len(m) == 4 else c.Member(m[0], m[1], m[2] * 8)
        for m in members
    ]
    return c.Struct(kind, name, size, lambda: made)


def pointer(type: c.CType, user: bool = False) -> c.Pointer:
    return c.Pointer(type, is_user=user)


QSTR = struct("qstr", 16, ("len", UINT, 0), ("name", pointer(CHAR), 8))
DENTRY = struct("dentry", 64, ("d_name", QSTR, 32), ("d_iname", c.Array(CHAR, 16), 48))
PATH = struct("path", 16, ("mnt", pointer(VOID), 0), ("dentry", pointer(DENTRY), 8))
ANON = struct("", 8, ("f_one", INT, 0), ("f_two", LONG, 0), kind="union")
MODE = c.Enum("mode", 4, False, [c.Enumerator("MODE_READ", 1), c.Enumerator("MODE_WRITE", 2)])
FILE = struct(
    "file",
    128,
    ("f_flags", UINT, 64),
    ("f_path", PATH, 16),
    ("", ANON, 8),
    ("f_pos", LONG, 72),
    ("low", UINT, 640, 3),
    ("high", INT, 643, 5),
    ("table", c.Array(INT, 4), 96),
    ("mode", MODE, 112),
)
SMALL = struct("small", 16, ("a", INT, 0), ("b", INT, 4), ("c", LONG, 8))
BIG = struct("big", 24, ("x", LONG, 0), ("y", LONG, 8), ("z", LONG, 16))
TASK = struct("task_struct", 256, ("pid", INT, 16), ("comm", c.Array(CHAR, 16), 32))

TYPES: dict[str, c.CType] = {t.name: t for t in (QSTR, DENTRY, PATH, FILE, SMALL, BIG, TASK)} | {
    "int": INT,
    "mode": MODE,
    "size_t": SIZE_T,
}


def function(result: c.CType, *params: tuple[str, c.CType]) -> c.FunctionType:
    return c.FunctionType(result, [c.Parameter(name, type) for name, type in params])


READ = function(
    c.Typedef("ssize_t", LONG),
    ("file", pointer(FILE)),
    ("buf", pointer(CHAR, user=True)),
    ("count", SIZE_T),
)
FUNCTIONS: dict[tuple[str, str | None], c.FunctionType | None] = {
    ("vfs_read", None): READ,
    ("vfs_readv", None): function(LONG, ("file", pointer(FILE)), ("vlen", UINT)),
    ("vfs_write", None): READ,
    ("do_small", None): function(VOID, ("s", SMALL), ("n", INT)),
    ("do_big", None): function(BIG, ("b", BIG), ("n", INT)),
    ("do_many", None): function(
        INT, *((f"a{i}", LONG) for i in range(6)), ("seventh", INT), ("eighth", USHORT)
    ),
    ("no_type", None): None,
    ("mutex_lock", None): function(VOID),
    ("m_show", None): None,  # twice
    ("ext_read", "ext"): READ,
}


TRACEPOINTS = [
    Tracepoint(
        "sched",
        "sched_switch",
        None,
        [
            c.Parameter("preempt", c.Int("bool", 1, False, "bool")),
            c.Parameter("prev", pointer(TASK)),
            c.Parameter("next", pointer(TASK)),
        ],
    ),
    Tracepoint("sched", "sched_wakeup", None, [c.Parameter("p", pointer(TASK))]),
    Tracepoint("ext", "ext_event", "ext", [c.Parameter("n", INT)]),
]


class FakeDebuginfo:
    """Functions, types and tracepoints from the tables above."""

    dwarf: Any = None  # a kernel without debug files
    warnings = 0
    btf = None

    def __init__(self) -> None:
        self.programs = Programs(Cache(Path("/nowhere"), is_enabled=False), print)

    @property
    def kernel(self) -> Kernel:
        raise NotImplementedError("there is no kernel behind these tables")

    @property
    def loaded(self) -> Loaded:
        raise NotImplementedError("there are no files behind these tables")

    def units(self, module: str | None) -> Iterator[tuple[str | None, Loaded]]:
        return iter(())

    def kept(self, key: str, make: Callable[[], bytes]) -> Buffer:
        return make()

    def note(self, modules: list[str]) -> None:
        pass

    def safe(self, otherwise: T, question: Callable[..., T], *arguments: object) -> T:
        return question(*arguments)

    def loaded_modules(self) -> list[str]:
        return []

    def module_files(self) -> list[Path]:
        return []

    def line_table(self, module: str | None = None) -> LineTable | None:
        return None

    def site_at(self, place: CodePlace) -> FunctionSite:
        raise NotImplementedError("there are no places without DWARF")

    def function(self, name: str, module: str | None = None) -> FunctionSite | None:
        return next(iter(self.functions(name, module)), None)

    def complete(self, type: c.CType, modules: Sequence[str] = ()) -> c.CType:
        return type

    def dwarf_of(self, module: str | None, *, download: bool = True) -> Any:
        return self.dwarf

    def build_ids(self, modules: Iterable[str]) -> dict[str, str]:
        return {"kernel": "abcd", **dict.fromkeys(modules, "ef01")}

    def place_of(self, symbol: str, module: str | None = None) -> None:
        return None

    def module_names(self, pattern: str = "*") -> list[str]:
        names = {owner for _, owner in FUNCTIONS if owner is not None}
        return sorted(name for name in names if fnmatchcase(name, pattern))

    def places(
        self,
        text: str,
        module: str | None = None,
        *,
        allow_nearest: bool = False,
        lines_as_functions: bool = False,
        download: bool = True,
        known: Container[tuple[str, str | None]] = (),
    ) -> FunctionSites:
        return FunctionSites([], False, parse_spec(text) is not None)

    def functions(self, pattern: str, module: str | None = None) -> list[FunctionSite]:
        return [
            FunctionSite(name, owner, type, "BTF", namesakes=2 if name == "m_show" else 1)
            for (name, owner), type in FUNCTIONS.items()
            if fnmatchcase(name, pattern)
            and (owner is None if module is None else owner and fnmatchcase(owner, module))
        ]

    def symbol_kinds(self, name: str) -> list[str] | None:
        return {"pid_max": ["D"], "current_task": ["A"]}.get(name, [])

    def similar_symbols(self, name: str, limit: int = 3) -> list[str]:
        return ["pid_max"]

    def variable(self, name: str) -> c.CType | None:
        return LONG if name == "current_task" else None

    def function_at(self, address: int, module: str | None = None) -> FunctionStart | None:
        if module is not None or not 0x1000 <= address < 0x1100:
            return None
        return FunctionStart(FunctionSite("vfs_read", None, READ, "BTF"), "vfs_open", 0x40, 0x1000)

    def exporter(self, name: str) -> str | None:
        return "kernel" if self.exported(name) else None

    def exported(self, name: str) -> bool:
        return name in ("vfs_read", "mutex_lock")

    def type(self, name: str, modules: Sequence[str] = ()) -> c.CType | None:
        return TYPES.get(name.rpartition(" ")[2])

    def enumerator(self, name: str, modules: Sequence[str] = ()) -> int | None:
        own = {"MODE_READ": 77, "EXT_ONLY": 5} if "ext" in modules else {}
        return own.get(name, {item.name: item.value for item in MODE.values}.get(name))

    def tracepoints(self, pattern: str, module: str | None = None) -> list[Tracepoint]:
        system, _, name = pattern.rpartition(":")
        return [
            t
            for t in TRACEPOINTS
            if fnmatchcase(t.name, name)
            and (not system or fnmatchcase(t.system, system))
            and (t.module is None) == (module is None)
            and fnmatchcase(t.module or "", module or "")
        ]

    def per_cpu(self, name: str, module: str | None = None) -> tuple[c.CType, int] | None:
        return (INT, 0x40) if name == "ticks" else None

    def similar_functions(self, name: str, limit: int = 3, module: str | None = None) -> list[str]:
        from stapy.diagnostics.suggest import nearest

        return nearest(name, [n for n, _ in FUNCTIONS], limit)

    def similar_types(self, name: str, limit: int = 3) -> list[str]:
        from stapy.diagnostics.suggest import nearest

        return nearest(name.rpartition(" ")[2], TYPES, limit)

    def similar_enumerators(self, name: str, limit: int = 3) -> list[str]:
        from stapy.diagnostics.suggest import nearest

        return nearest(name, [item.name for item in MODE.values], limit)

    def similar_tracepoints(self, name: str, limit: int = 3) -> list[str]:
        from stapy.diagnostics.suggest import nearest

        return nearest(name.rpartition(":")[2], [t.name for t in TRACEPOINTS], limit)

    def built_in(self, pattern: str) -> list[str]:
        return [name for name in ("ext4",) if fnmatchcase(name, pattern)]

    def missing_hint(self, what: str) -> str:
        return f"install debuginfo ({what})"


class NoLibrary:
    """A library without files: what most cases need."""

    def files_with_function(self, name: str) -> Sequence[str]:
        """Return no files."""
        return ()

    def files_with_global(self, name: str) -> Sequence[str]:
        """Return no files."""
        return ()

    def alias_names(self) -> Iterable[tuple[tuple[str, ...], str]]:
        """Return no aliases."""
        return ()

    def exact_alias_names(self) -> set[str]:
        """Return no aliases."""
        return set()

    def function_names(self) -> Iterable[str]:
        """Return no functions."""
        return ()

    def load(self, path: str) -> n.Script | None:
        """Load nothing."""
        return None


class TextLibrary(NoLibrary):
    """A library of texts in memory."""

    def __init__(self, texts: dict[str, str], sources: SourceMap, diagnostics: Diagnostics):
        self.loads: list[str] = []
        self._trees: dict[str, n.Script] = {}
        for name, text in texts.items():
            facts = PreprocessFacts(guru=True)
            tree = parse_script(name, text, facts, None, sources, diagnostics, is_library=True)
            assert tree is not None, [d.message for d in diagnostics.errors]
            self._trees[name] = tree

    def _with(self, kind: type, name: str) -> list[str]:
        return [
            path
            for path, tree in self._trees.items()
            if any(isinstance(d, kind) and getattr(d, "name", "") == name for d in tree.decls)
        ]

    def files_with_function(self, name: str) -> list[str]:
        return self._with(n.FunctionDecl, name)

    def files_with_global(self, name: str) -> list[str]:
        return self._with(n.GlobalDecl, name)

    def alias_names(self) -> list[tuple[tuple[str, ...], str]]:
        return [
            (tuple(x.name for x in d.name), path)
            for path, tree in self._trees.items()
            for d in tree.decls
            if isinstance(d, n.AliasDecl)
        ]

    def function_names(self) -> list[str]:
        return [
            d.name
            for tree in self._trees.values()
            for d in tree.decls
            if isinstance(d, n.FunctionDecl)
        ]

    def load(self, path: str) -> n.Script | None:
        self.loads.append(path)
        return self._trees[path]


class Result(Record):
    program: Program | None
    diagnostics: Diagnostics
    services: Services

    def shown(self) -> list[str]:
        """List the messages as ``CODE message @ text``."""
        sources = self.services.sources
        return [f"{d.code} {d.message} @ {sources.text(d.span)}" for d in self.diagnostics.items]

    @property
    def codes(self) -> list[str]:
        return [d.code for d in self.diagnostics.items]


def run(
    text: str,
    library: dict[str, str] | None = None,
    debuginfo: DebuginfoLike | None = None,
    **options: Any,
) -> Result:
    """Elaborate a script."""
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    guru = bool(options.get("guru"))
    facts = PreprocessFacts(guru=guru, compatible=options.get("compatible", ""))
    script = parse_script("<input>", text, facts, None, sources, diagnostics)
    shelf: LibraryLike
    shelf = TextLibrary(library, sources, diagnostics) if library else NoLibrary()
    services = Services(
        Options(**options), diagnostics, sources, None, debuginfo or FakeDebuginfo(), shelf
    )
    program = elaborate([script], services) if script is not None else None
    return Result(program, diagnostics, services)
