"""Which places of user programs are not armed, because the program or the probe would suffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo.user.golang import is_go
from stapy.debuginfo.user.instructions import reader
from stapy.probes.family import PointError

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.plt import Stub
    from stapy.debuginfo.user.symbols import FunctionTable, UserFunction
    from stapy.parse.nodes import PointComponent
    from stapy.probes.programs import Head
    from stapy.services import Services

_CAUGHT = ("libstdc++.so", "libc++.so", "libc++abi.so")
_WIDE = 256  # places of one point; a pattern over the C library has some 2,000


def check_returns(asking: PointComponent, file: UserFile) -> None:
    """Refuse returns of programs whose stacks move: the kernel changes what is on the stack."""
    if is_go(file.elf):
        raise PointError(
            "E0231",
            "no match",
            asking.span,
            notes=[
                f"return probes break Go programs, whose stacks move: '{file.path}' was made by Go"
            ],
            hint="probe the function without .return",
        )


def warn_of_exceptions(asking: PointComponent, file: UserFile, services: Services) -> None:
    """Warn of a file with returns that are probed where exceptions pass functions."""
    if _has_exceptions(file):
        services.diagnostics.warning(
            "W0692",
            f"'{file.path}' has exceptions, which return probes stop",
            asking.span,
            where="an exception or panic that leaves a function of this probe ends the program",
        )


def warn_of_width(asking: PointComponent, head: Head, count: int, services: Services) -> None:
    """Warn of a pattern over a library that arms whatever process maps it.

    Each of them gets breakpoints one by one, and copies of all pages that they are in.
    """
    options = services.options
    if options.listing is not None:
        return
    is_everywhere = head.program is None and not head.pid and head.file.is_library
    has_target = options.command is not None or bool(options.target)
    if count >= _WIDE and is_everywhere and not has_target:
        services.diagnostics.warning(
            "W0697",
            f"{count} probes in every process that maps '{head.file.path}'",
            asking.span,
            where="as long as neither -c nor -x says whose processes are meant",
            hint='process("PROGRAM").library(…) means the processes of a program alone',
        )


def _has_exceptions(file: UserFile) -> bool:
    """Tell whether C++ or Rust code catches, or cleans up, exceptions or panics."""
    if file.elf.section(".gcc_except_table") is None:
        return False
    names = [file.dynamic.soname, *file.dynamic.needed]
    if any(name.startswith(_CAUGHT) for name in names):
        return True
    return b"rustc version" in (file.elf.read(".comment") or b"")


def returnable(
    functions: list[UserFunction], table: FunctionTable, file: UserFile, asking: PointComponent
) -> list[UserFunction]:
    """Select the functions whose return may be probed; `PointError` when that is none."""
    from stapy.debuginfo.user.returns import why_not

    found: list[UserFunction] = []
    notes: list[str] = []
    for function in functions:
        names = table.aliases(function.address)
        reason = why_not(names, is_entry=function.address == file.entry)
        if reason is None:
            found.append(function)
        elif not notes:
            notes.append(f"the return of '{function.name}' cannot be probed: {reason}")
    if not found and notes:
        hint = "probe the function without .return"
        raise PointError("E0231", "no match", asking.span, notes=notes, hint=hint)
    return found


def returnable_stubs(stubs: list[Stub], file: UserFile, asking: PointComponent) -> list[Stub]:
    """Select stubs whose return may be probed, by what they call, or `PointError`."""
    from stapy.debuginfo.user.returns import why_not

    found = [stub for stub in stubs if why_not([stub.name]) is None]
    if stubs and not found:
        reason = why_not([stubs[0].name])
        notes = [f"the return of '{stubs[0].name}' cannot be probed: {reason}"]
        hint = "probe the call without .return"
        raise PointError("E0231", "no match", asking.span, notes=notes, hint=hint)
    return found


def unreturnable(address: int, table: FunctionTable, file: UserFile) -> str:
    """Say why the return of the function at an address must not be probed, "" when it may."""
    from stapy.debuginfo.user.returns import why_not

    names = table.aliases(address)
    reason = why_not(names, is_entry=address == file.entry)
    return f"its return cannot be probed: {reason}" if reason else ""


def instruction(file: UserFile, address: int) -> tuple[str, bool]:
    """Say why an instruction cannot be probed ("" if it can), and whether it would harm."""
    return reader(file.machine).why_not(file, address)


def accepted(
    places: list[tuple[str, int]],
    file: UserFile,
    asking: PointComponent,
    services: Services,
    *,
    is_pattern: bool,
) -> set[int]:
    """Select the addresses, of some with names, that the kernel puts breakpoints on.

    What it refuses is a warning, as when it is armed: a single one stays, of a pattern it is left
    out. What it would do wrongly is left out always; `PointError` when nothing remains.
    """
    refused: list[str] = []
    mistaken: list[str] = []
    harm = ""
    found = {address for _, address in places}
    asked = {*reader(file.machine).doubtful(file, list(found))}
    found -= asked
    for name, address in places if asked else ():
        if address not in asked:
            continue
        why, harmful = instruction(file, address)
        if harmful:
            mistaken.append(name)
            harm = harm or why
        elif why:
            refused.append(name)
        if not why or not (harmful or is_pattern):
            found.add(address)
    if places and not found:
        why = (
            f"'{mistaken[0]}': {harm}, and the program would go wrong"
            if mistaken
            else f"the kernel puts no breakpoint on the first instruction of '{refused[0]}'"
        )
        raise PointError("E0231", "no match", asking.span, notes=[why])
    out = mistaken + refused
    if out:
        single = not is_pattern and bool(refused)
        warn_of(out, file, asking, services, is_pattern=not single)
    return found


def warn_of(
    names: list[str],
    file: UserFile,
    asking: PointComponent,
    services: Services,
    *,
    is_pattern: bool,
) -> None:
    """Tell of places whose instructions the kernel refuses; of a pattern they are left out."""
    shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    services.diagnostics.warning(
        "W0691",
        "the kernel puts no breakpoint on some instructions"
        if is_pattern
        else "the kernel puts no breakpoint on this instruction",
        asking.span,
        where=f"{len(names)} left out" if is_pattern else "this is not hit",
        notes=[f"'{file.path}': {shown}"],
    )
