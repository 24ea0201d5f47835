"""All questions about a file of one kind, for `fuzz.py`: each may end in a `DebuginfoError`."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from stapy.debuginfo import ctypes as c
from stapy.debuginfo import pack
from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.dwarf.files.separate import debug_link
from stapy.debuginfo.dwarf.index.build import build
from stapy.debuginfo.dwarf.index.reader import DwarfIndex
from stapy.debuginfo.dwarf.query import addresses, callees, labels
from stapy.debuginfo.dwarf.query.answers import CodePlace
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.dwarf.query.spec import EVERY, Spec
from stapy.debuginfo.dwarf.read import calls
from stapy.debuginfo.dwarf.read.frames import Frames
from stapy.debuginfo.dwarf.read.ranges import arange_units
from stapy.debuginfo.elf import ElfFile, map_file
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.lookup import line_pack
from stapy.debuginfo.symbols import table as symbols
from stapy.debuginfo.tracepoints.events import of_module, shapes
from stapy.debuginfo.user import operands, sdt
from stapy.debuginfo.user import symbols as user_symbols
from stapy.debuginfo.user.boundaries import NoBoundary, check
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.sdt import Mark
from stapy.debuginfo.user.symbols import FunctionTable
from stapy.debuginfo.vmlinuz import extract, inflate, payload

Question = Callable[[], object]
Ask = Callable[[bytes], object]
_SOME = 24  # functions that are looked at closely
_TYPES = 400


def asked(questions: Iterable[Question]) -> None:
    """Ask all, whatever the others answered."""
    for question in questions:
        try:
            question()
        except DebuginfoError:
            continue


def walk_type(type: c.CType, left: list[int]) -> None:
    """Print a type and those of its members, as long as there is something left."""
    if left[0] <= 0:
        return
    left[0] -= 1
    c.c_name(type, "x")
    c.size_of(type)
    c.is_signed(type)
    inner = c.strip(type)
    if isinstance(inner, c.Struct):
        c.find_member(inner, "no such member")
        c.member_names(inner)
        for member in inner.members():
            walk_type(member.type, left)
    elif isinstance(inner, (c.Pointer, c.Array)):
        walk_type(inner.target if isinstance(inner, c.Pointer) else inner.element, left)
    elif isinstance(inner, c.FunctionType):
        for part in inner.params:
            walk_type(part.type, left)


# --- ELF ----------------------------------------------------------------------


def ask_elf(data: bytes) -> None:
    """Ask for headers, sections, symbols, notes."""
    elf = ElfFile(data, "damaged")
    asked(lambda row=row: elf.content(row) for row in elf.sections)  # type: ignore[misc]
    asked((
        elf.build_id,
        lambda: symbols.elf_lines(elf),
        lambda: list(elf.symbols(".dynsym", with_local=False)),
        lambda: debug_link(elf),
    ))  # fmt: skip


def ask_module(base: Btf | None) -> Ask:
    """Ask a module as the cheap sources read it."""

    def ask(data: bytes) -> None:
        ask_elf(data)
        elf = ElfFile(data, "damaged")
        shape = shapes(base) if base is not None else None
        if shape is not None:
            asked((lambda: list(of_module(elf, shape)),))
        text = elf.read(".BTF")
        if text:
            ask_btf(base)(text)

    return ask


# --- BTF ----------------------------------------------------------------------


def ask_btf(base: Btf | None) -> Ask:
    """Ask for everything in a BTF section."""

    def ask(data: bytes) -> None:
        btf = Btf(data, "damaged", base)
        step = max(1, (btf.end - btf.first) // _TYPES)
        for number in range(btf.first, btf.end + 2, step):
            asked((lambda number=number: walk_type(btf.type_by_number(number), [60]),))
        names = list(islice(btf.functions(), 0, None, max(1, btf.end // 4000)))
        asked(lambda name=name: btf.function(name) for name in names)  # type: ignore[misc]
        asked(lambda name=name: btf.type(name) for name in islice(btf.type_names(), 300))  # type: ignore[misc]
        for name in ("task_struct", "struct list_head", "unsigned int", "enum pid_type"):
            asked((lambda name=name: walk_type(btf.type(name) or c.Void(), [300]),))
        asked((
            lambda: [btf.tracepoint(name) for name in btf.tracepoints("sched_*")],
            lambda: btf.per_cpu("runqueues"),
            lambda: btf.variable("runqueues"),
            lambda: btf.enumerator("PIDTYPE_MAX"),
            lambda: list(islice(btf.enumerators(), 2000)),
        ))  # fmt: skip

    return ask


# --- DWARF --------------------------------------------------------------------


def ask_dwarf(path: Path) -> Ask:
    """Everything in a debug file; ``path`` is where it lies (dwz: beside its alternate file)."""

    def ask(data: bytes) -> None:
        elf = ElfFile(data, str(path))
        asked((lambda: debug_link(elf), elf.build_id))
        ask_opened(DwarfFile(path, DwarfIndex(build(elf)), elf))

    return ask


def ask_alternate(path: Path) -> Ask:
    """Ask a file ``one`` whose alternate file is damaged: beside ``path``, as dwz left the two."""
    folder = Path(tempfile.mkdtemp(prefix="stapy-fuzz-"))
    one = folder / "one"
    one.write_bytes((path.parent / "one").read_bytes())
    whole = one.read_bytes()

    def ask(data: bytes) -> None:
        (folder / path.name).write_bytes(data)
        ask_dwarf(one)(whole)

    return ask


def ask_opened(dwarf: DwarfFile) -> None:
    """Ask all questions of a file whose index is there."""
    asked((
        lambda: dwarf.find(Spec("*")),
        lambda: dwarf.find(Spec("*", "*", [EVERY])),
        lambda: dwarf.find(Spec("*", "*.c", [(1, 40)], True), allow_nearest=True),
        lambda: dwarf.find(Spec("*", "*", [(10, 60)]), lines_as_functions=True),
        lambda: labels.labels(dwarf, Spec("*"), "*"),
        lambda: callees.callees(dwarf, Spec("*"), Spec("*"), 2, with_tail_calls=True),
        lambda: line_pack.table(dwarf),
        lambda: arange_units(dwarf.info),
        lambda: dwarf.enumerator("GREEN"),
        lambda: dwarf.enumerator("HRTIMER_NORESTART"),
        lambda: dwarf.index.files_like("a/sample.c"),
    ))  # fmt: skip
    places: list[CodePlace] = []
    asked((
        lambda: places.extend(dwarf.find(Spec("*")).places[:_SOME]),
        lambda: places.extend(dwarf.find(Spec("*", "*", [EVERY])).places[: 8 * _SOME : 8]),
    ))  # fmt: skip
    for place in places:
        asked(questions_of(dwarf, place))
    things = [bytes(text).decode("latin-1") for text in islice(dwarf.index._things, 150)]
    for text in things:
        letter, name = text[:1], text[1:]
        if letter == "v":
            asked((lambda name=name: dwarf.global_variable(name),))
        word = {"s": "struct ", "u": "union ", "e": "enum "}.get(letter, "")
        asked((lambda name=word + name: walk_type(dwarf.type(name) or c.Void(), [60]),))


def questions_of(dwarf: DwarfFile, place: CodePlace) -> list[Question]:
    """List what a probe at a place needs."""

    def variables() -> None:
        for variable in dwarf.variables(place):
            walk_type(variable.type, [20])
            for op in variable.ops or ():
                if op.name == "implicit_pointer":
                    asked((lambda op=op: dwarf.pointed_to(op.first, place),))
                elif op.name == "parameter":
                    asked((lambda op=op: dwarf.calls_with(op.first, place),))
            asked((lambda variable=variable: dwarf.lines_with(place, variable),))

    def called() -> None:
        entry = dwarf.info.entry(place.entry)
        asked((lambda: list(calls.calls(entry)),))

    return [
        variables,
        called,
        lambda: dwarf.prototype(place),
        lambda: dwarf.frame(place),
        lambda: dwarf.frame_base(place),
        lambda: dwarf.entrance(place),
        lambda: labels.behind_prologue(dwarf, place),
        lambda: addresses.statement_at(dwarf, place.address),
        lambda: addresses.function_at(dwarf, place.address, inlined=True),
        lambda: dwarf.place_of(place.symbol),
        lambda: dwarf.refused(place.address),
        lambda: dwarf.unit_variable(place.entry, "sink"),
    ]


def ask_frames(path: Path) -> Ask:
    """Ask for the frames of all functions, whatever the other sections say."""

    def ask(data: bytes) -> None:
        elf = ElfFile(data, str(path))
        dwarf = DwarfFile(path, index_of(path), elf)
        frames = Frames(dwarf.info.sections)
        for start, end, *_ in frames._rows[:500]:
            for address in (start, start + 1, (start + end) // 2, end - 1):
                frames.row(address)

    return ask


def ask_with_index(path: Path) -> Ask:
    """Ask a debug file that was damaged after its index was made."""

    def ask(data: bytes) -> None:
        ask_opened(DwarfFile(path, index_of(path), ElfFile(data, str(path))))

    return ask


_INDICES: dict[Path, bytes] = {}


def index_of(path: Path) -> DwarfIndex:
    """Return the index of a whole file, made once."""
    if path not in _INDICES:
        _INDICES[path] = build(ElfFile.open(path))
    return DwarfIndex(_INDICES[path])


def ask_index(path: Path) -> Ask:
    """Ask a damaged index of a debug file that is whole."""
    elf = ElfFile.open(path)

    def ask(data: bytes) -> None:
        dwarf = DwarfFile(path, DwarfIndex(data), elf)
        asked((lambda: list(dwarf.index.anchors()), lambda: list(dwarf.index.similar("sa"))))
        asked((lambda: dwarf.index.function_at(0x401000),))
        ask_opened(dwarf)

    return ask


def ask_pack(base: Btf | None) -> Ask:
    """Ask a damaged file of the cache with a kernel's or module's BTF and symbols."""
    from stapy.cache import Cache
    from stapy.debuginfo.loading import _from_pack

    cache = Cache(Path("/nowhere"), is_enabled=False)

    def ask(data: bytes) -> None:
        loaded = _from_pack(data, "damaged", base, cache, "")
        if loaded.symbols is not None:
            table = loaded.symbols
            asked((lambda: list(table.rows("vfs")), lambda: table.kinds("vfs_read")))
        btf = loaded.btf
        if btf is None:
            return
        names = list(islice(btf.functions("vfs*"), 50))
        asked(lambda name=name: btf.function(name) for name in names)  # type: ignore[misc]
        for number in range(btf.first, btf.end, max(1, (btf.end - btf.first) // 100)):
            asked((lambda number=number: walk_type(btf.type_by_number(number), [20]),))
        asked((lambda: btf.enumerator("PIDTYPE_MAX"), lambda: btf.per_cpu("runqueues")))

    return ask


# --- images and compressed modules ---------------------------------------------


def ask_image(data: bytes) -> None:
    """Ask a packed kernel image."""
    parts = extract(inflate(payload(data, "damaged"), "damaged"))
    if parts.layout is None:
        return
    from stapy.debuginfo.symbols.kallsyms import Kallsyms

    tables = Kallsyms(parts.symbols, parts.layout)
    asked((tables.text, lambda: tables.find("vfs_read"), lambda: tables.address("vfs_read")))
    asked((lambda: Btf(parts.btf, "damaged"),))


def ask_file(suffix: str) -> Ask:
    """Ask a file as `map_file` opens it: perhaps compressed."""
    folder = Path(tempfile.mkdtemp(prefix="stapy-fuzz-"))

    def ask(data: bytes) -> None:
        path = folder / f"damaged{suffix}"
        path.write_bytes(data)
        ask_elf(bytes(map_file(path)))

    return ask


# --- targets ------------------------------------------------------------------


def ask_user(data: bytes) -> None:
    """Ask all about a user program: functions, marks, what it needs, where it may be armed."""
    file = UserFile(Path("program"), ElfFile(data, "program"))
    table = FunctionTable(user_symbols.encoded(file, None), file)
    rows = table.matching("*")
    places: list[Mark] = []
    asked(
        (
            lambda: (file.build_id, file.dynamic, file.is_library, file.code),
            lambda: places.extend(sdt.marks(file)),
            lambda: [operands.operands(row.arguments) for row in places],
            lambda: user_symbols.addresses(file, None, {"value"}),
            lambda: [(table.at(row.address + 3), table.aliases(row.address)) for row in rows],
        )
    )
    for row in rows[:_SOME]:
        for address in range(row.address, row.address + 16):
            with contextlib.suppress(NoBoundary):
                check(file, table, address)


Made = tuple[bytes, Ask]


def _btf_of(path: Path) -> bytes:
    data = bytes(map_file(path))
    if data[:2] == b"\x9f\xeb":
        return data
    if data[:4] == b"\x7fELF":
        return ElfFile(data, str(path)).read(".BTF") or b""
    parts = extract(inflate(payload(data, path.name), path.name))
    return parts.btf


def _base(path: Path | None) -> Btf | None:
    return Btf(_btf_of(path), "base") if path is not None else None


def _pack_of(path: Path, base: Btf | None) -> bytes:
    from stapy.debuginfo import loading

    if base is None:
        return pack.encode(loading._read_image_parts(path))
    return pack.encode(loading._read_module_parts(path, base))


def _debug(name: str) -> bool:
    return name.startswith((".debug", ".rela.debug", ".zdebug", ".gnu_debug", ".symtab", ".strtab"))


TARGETS: dict[str, tuple[Callable[[str], bool], Callable[[Path, Path | None], Made]]] = {
    "elf": (lambda name: True, lambda path, base: (bytes(map_file(path)), ask_elf)),
    "btf": (lambda name: True, lambda path, base: (_btf_of(path), ask_btf(_base(base)))),
    "module": (
        lambda name: not name.startswith((".text", ".init.text", ".rela.text")),
        lambda path, base: (bytes(map_file(path)), ask_module(_base(base))),
    ),
    "dwarf": (_debug, lambda path, base: (bytes(map_file(path)), ask_dwarf(path))),
    "alternate": (_debug, lambda path, base: (path.read_bytes(), ask_alternate(path))),
    "later": (_debug, lambda path, base: (bytes(map_file(path)), ask_with_index(path))),
    "frames": (
        lambda name: name in (".debug_frame", ".rela.debug_frame"),
        lambda path, base: (bytes(map_file(path)), ask_frames(path)),
    ),
    "index": (lambda name: True, lambda path, base: (build(ElfFile.open(path)), ask_index(path))),
    "pack": (
        lambda name: True,
        lambda path, base: (_pack_of(path, made := _base(base)), ask_pack(made)),
    ),
    "image": (lambda name: True, lambda path, base: (path.read_bytes(), ask_image)),
    "user": (lambda name: True, lambda path, base: (path.read_bytes(), ask_user)),
    "file": (lambda name: True, lambda path, base: (path.read_bytes(), ask_file(path.suffix))),
}
