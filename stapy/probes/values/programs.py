"""Variables at places of user programs, by the debug information of their files.

They are described as those of the kernel are; what makes them a program's is that registers
are those of the hit, memory is the process's, and addresses are moved as far as it was.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes, view
from stapy.debuginfo.dwarf.query.addresses import statement_at
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.symbols.clones import is_clone
from stapy.debuginfo.user import tls
from stapy.debuginfo.user.file import UserFileError
from stapy.diagnostics import NOWHERE
from stapy.ir.program import LONG, Conditional, ContextValue, Expr, FileImage, MemoryRead
from stapy.ir.scope import TargetScope, TargetVariable
from stapy.ir.walk import walk
from stapy.probes import abi
from stapy.probes.programs import identity
from stapy.probes.values.conventions import prototype_of
from stapy.probes.values.frames import Here
from stapy.probes.values.location import describe
from stapy.probes.values.numbers import Unavailable, add, binary, const, vector
from stapy.probes.values.operands import moved, of_program
from stapy.probes.values.variables import where_else
from stapy.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.arch import Architecture
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.tls import TlsBlock
    from stapy.services import Services

_WORD = 8


class _InProgram(Here):
    """The call that a probe of a program is in."""

    def __init__(
        self,
        place: CodePlace,
        dwarf: DwarfFile,
        address: int,
        block: TlsBlock | None,
        machine: Architecture,
    ) -> None:
        super().__init__(place, dwarf, machine)
        self._probe = address
        self._block = block

    def address_of(self, address: int) -> Expr:
        """Turn an address of the debug file into one of the process."""
        return moved(address, self._probe)

    def held(self, number: int, size: int = _WORD, signed: bool = False) -> Expr:
        """Read a register that a variable is in; vectors have bits of numbers."""
        first = self.machine.vectors[0]
        if number >= first:
            return vector(number - first, size, self.machine)
        return super().held(number, size, signed)

    def in_thread(self, offset: Expr) -> Expr:
        """Compute an address in the thread's block of the file."""
        return in_thread(self._block, self.address_of, offset)

    def at_entry(self, number: int) -> Expr:
        """Read what a register had when the function was entered, or `Unavailable`."""
        if not self.place.is_exact:
            raise Unavailable("the register that it came in has another value by now")
        return self.register(number)


def scope(
    file: UserFile,
    address: int,
    is_return: bool,
    services: Services,
    place: CodePlace | None = None,
) -> TargetScope | None:
    """Describe what ``$name`` means at a place of a file; None without debug information of it.

    ``place`` is what DWARF knows of the address, where it was found by that: several
    functions that are inlined into each other may share it.
    """
    dwarf = services.debuginfo.programs.dwarf(file)
    if dwarf is None:
        return None
    if place is None:
        place = services.debuginfo.safe(None, place_at, dwarf, address)
    if place is None:
        return None
    found = _entry_scope(file, place, dwarf, address, services)
    return _return_scope(found, place, dwarf, services, file.machine) if is_return else found


def in_thread(block: TlsBlock | None, where: Callable[[int], Expr], offset: Expr) -> Expr:
    """Compute an address in the thread's block of a file, or raise `Unavailable`.

    ``where`` tells where a process has the file.
    """
    if block is None:
        raise Unavailable("it is thread-local, and the file does not tell where threads have it")
    base: Expr = ContextValue(NOWHERE, LONG, "thread_base", 0, _WORD, False)
    if block.how == tls.BASE:
        return add(binary("+", base, offset), block.distance)
    slot = _word(where(block.slot))
    near = add(binary("+", binary("+", base, slot), offset), block.distance)
    if block.how == tls.DISTANCE:
        return near
    by_number = block.how == tls.NUMBER
    number = slot if by_number else _word(slot)
    row = binary("+", _word(add(base, _WORD)), binary("*", number, const(2 * _WORD)))
    far = binary("+", _word(row), offset)
    return far if by_number else Conditional(NOWHERE, LONG, binary("<", slot, const(0)), near, far)


def _word(address: Expr) -> Expr:
    return MemoryRead(NOWHERE, LONG, address, _WORD, True, True)


def place_at(dwarf: DwarfFile, address: int) -> CodePlace | None:
    """Look up what DWARF knows of an address, None for nothing."""
    row = dwarf.index.function_at(address)
    for site in row.sites if row is not None else ():
        if row is not None and site.pc == address and not site.inlined:
            return dwarf.place(row, site, address, row.line)
    found = statement_at(dwarf, address)
    if found is None:
        return None
    place = replace(found.place, address=address, is_exact=False)
    return place


def _entry_scope(
    file: UserFile, place: CodePlace, dwarf: DwarfFile, address: int, services: Services
) -> TargetScope:
    block: TlsBlock | None = services.debuginfo.safe(None, tls.block_of, file)
    here = _InProgram(place, dwarf, address, block, file.machine)
    variables: dict[str, TargetVariable] = {}
    unavailable: dict[str, Callable[[], str]] = {}
    parameters: list[str] = []
    locals_: list[str] = []
    missing = f"these are the variables of '{place.function}'"
    if block is None and tls.has_variables(file):
        missing += ", but for thread-local ones: the file does not tell where threads have them"
    try:
        passed = _passed(place, dwarf, file.machine)
        for variable in dwarf.variables(place):
            name = "$" + variable.name
            (parameters if variable.is_parameter else locals_).append(name)
            if variable.is_parameter and passed is not None and name in passed:
                variables[name] = in_program(passed[name], file.machine)
                continue
            if variable.is_parameter and passed is not None and not file.machine.reads_vectors:
                # What is told of the entry holds behind it: on the stack nothing is stored yet.
                unavailable[name] = partial(str, abi.IN_VECTORS)
                continue
            try:
                described = describe(variable, place, dwarf, here)
                variables[name] = in_program(described, file.machine)
            except Unavailable as error:
                unavailable[name] = partial(where_else, variable, place, dwarf, str(error))
    except DebuginfoError as error:  # what was read before the damage is good
        missing = str(error)

    known = _Statics(dwarf, block, here.address_of, services)
    return TargetScope(
        str(file.path),
        variables,
        {"$$parms": parameters, "$$locals": locals_, "$$vars": parameters + locals_},
        missing=missing,
        key=f"user:{file.path}:{address:#x}:{place.entry:#x}",
        unavailable=unavailable,
        outside=partial(known.seen_from, place),
        is_user=True,
        everywhere=known.named,
        constant=partial(services.debuginfo.safe, None, dwarf.seen_enumerator, place.entry),
    )


def statics(
    path: str, where: Callable[[int], Expr], services: Services
) -> Callable[[str], tuple[ctypes.CType, Expr] | None]:
    """Make what finds globals and statics of a file, ``name`` or ``name@file``.

    It is for ``everywhere``, and gives type and address or None. ``where`` tells where a process
    has what the file was linked with at an address. The file is opened when it is asked for the
    first time.
    """

    def named(name: str) -> tuple[ctypes.CType, Expr] | None:
        known = services.debuginfo
        dwarf = known.programs.dwarf_at(path)
        if dwarf is None and name not in _STANDARD:
            return None
        try:
            file = known.programs.open(path)
        except UserFileError:
            return None
        block = known.safe(None, tls.block_of, file)
        found = _Statics(dwarf, block, where, services).named(name) if dwarf is not None else None
        return found or _of_standard(file, name, block, where, services)

    return named


# What a standard says the type of, so that no debug information is needed for it.
_STANDARD: dict[str, ctypes.CType] = {"errno": ctypes.Int("int", 4, True, "signed")}


def _of_standard(
    file: UserFile,
    name: str,
    block: TlsBlock | None,
    where: Callable[[int], Expr],
    services: Services,
) -> tuple[ctypes.CType, Expr] | None:
    at = services.debuginfo.safe(None, tls.variable, file, name) if name in _STANDARD else None
    if at is None:
        return None
    try:
        return _STANDARD[name], in_thread(block, where, const(at))
    except Unavailable:
        return None


def of_other_file(path: str, name: str, services: Services) -> tuple[ctypes.CType, Expr] | None:
    """Find a global or static of a program or library, wherever the process has it.

    None for a name that the file does not have, and for what is no program.
    """
    try:
        file = services.debuginfo.programs.open(path)
    except UserFileError:
        return None
    start = file.first_code
    code = file.code_offset(start)
    if code is None:
        return None
    here = FileImage(NOWHERE, LONG, view.there(path), identity(file), code)
    return statics(path, lambda address: add(here, address - start), services)(name)


class _Statics:
    """Globals, statics and thread-locals of a file in a process."""

    def __init__(
        self,
        dwarf: DwarfFile,
        block: TlsBlock | None,
        where: Callable[[int], Expr],
        services: Services,
    ) -> None:
        self._dwarf = dwarf
        self._block = block
        self._where = where
        self._safe = services.debuginfo.safe

    def seen_from(self, place: CodePlace, name: str) -> tuple[ctypes.CType, Expr] | None:
        """Find type and address of what a name means for the source of a place, or None."""
        dwarf = self._dwarf
        found = self._moved(self._safe(None, dwarf.unit_variable, place.entry, name))
        own = self._safe(None, dwarf.thread_variable, name, "", place.entry)
        return found or self._of_thread(own)

    def named(self, name: str) -> tuple[ctypes.CType, Expr] | None:
        """Find type and address of ``name`` or ``name@file``, or None."""
        plain, _, source = name.partition("@")
        found = self._moved(self._safe(None, self._dwarf.global_variable, plain, source))
        own = self._safe(None, self._dwarf.thread_variable, plain, source)
        return found or self._of_thread(own)

    def _of_thread(
        self, found: tuple[ctypes.CType, int] | None
    ) -> tuple[ctypes.CType, Expr] | None:
        if found is None:
            return None
        try:
            return found[0], in_thread(self._block, self._where, const(found[1]))
        except Unavailable:
            return None

    def _moved(self, found: tuple[ctypes.CType, int] | None) -> tuple[ctypes.CType, Expr] | None:
        return None if found is None else (found[0], self._where(found[1]))


def _passed(
    place: CodePlace, dwarf: DwarfFile, machine: Architecture
) -> dict[str, TargetVariable] | None:
    """Describe parameters where callers put them, by name.

    Debug information tells of a function's entry what holds behind it: without optimisation,
    places on the stack where nothing was stored yet; with it, values that were changed
    without an instruction.  Of a copy that the compiler made only it knows the parameters: None
    there, and where no call puts any.
    """
    if not place.is_exact or is_clone(place.symbol):
        return None
    prototype = prototype_of(place, dwarf, machine)
    if prototype.own_convention:
        return None
    found = abi.parameters(prototype, machine, with_vectors=True)
    return {row.name: row for row in found}


def _return_scope(
    entry: TargetScope,
    place: CodePlace,
    dwarf: DwarfFile,
    services: Services,
    machine: Architecture,
) -> TargetScope:
    prototype = services.debuginfo.safe(None, prototype_of, place, dwarf, machine)
    result = abi.result(prototype, machine, with_vectors=True) if prototype is not None else None
    own = {"$return": in_program(result, machine)} if result is not None else {}
    unknown = abi.unknown_result(prototype, machine)
    shown = [*own, *unknown]
    names = entry.groups["$$parms"]
    return TargetScope(
        entry.module,
        own,
        {"$$return": shown, "$$vars": [*names, *shown], "$$parms": names, "$$locals": []},
        entry=entry,
        is_return=True,
        missing=entry.missing,
        key=f"{entry.key}:return",
        unavailable={**entry.unavailable, **unknown, **abi.no_result(prototype)},
        is_user=True,
        everywhere=entry.everywhere,
    )


# --- from the kernel's terms to the program's --------------------------------


def in_program(variable: TargetVariable, machine: Architecture) -> TargetVariable:
    """Give a variable the registers and the memory of the program."""
    behind = variable.behind
    if behind is not None:
        inner = behind

        def behind() -> TargetVariable | str:
            found = inner()
            return found if isinstance(found, str) else in_program(found, machine)

    result = replace(
        variable,
        value=_expression(variable.value, machine),
        address=_expression(variable.address, machine),
        parts=[part for row in variable.parts if (part := _expression(row, machine)) is not None],
        behind=behind,
        is_user=True,
    )
    return result


def _expression(value: Expr | None, machine: Architecture) -> Expr | None:
    if isinstance(value, ContextValue) and value.name == "stack_arg":
        above = _WORD * value.index + machine.stack_arguments
        address = add(of_program(machine.stack_pointer), above)
        return MemoryRead(NOWHERE, LONG, address, value.size, value.signed, True)
    for node in walk(value) if value is not None else ():
        if isinstance(node, MemoryRead):
            node.is_user = True
        elif isinstance(node, ContextValue):
            _register(node, machine)
    return value


def _register(node: ContextValue, machine: Architecture) -> None:
    if node.name == "arg":
        node.index = machine.argument_numbers[node.index]
    elif node.name == "return":
        node.index = machine.results[0]
    elif node.name != "register":
        return
    node.name = "program_register"
