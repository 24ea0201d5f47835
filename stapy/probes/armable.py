"""Which places of user programs are not armed, because the program or the probe would suffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.probes.family import PointError

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.symbols import FunctionTable, UserFunction
    from stapy.parse.nodes import PointComponent
    from stapy.services import Services

_GO = (".gopclntab", ".note.go.buildid")
_CAUGHT = ("libstdc++.so", "libc++.so", "libc++abi.so")


def check_returns(asking: PointComponent, file: UserFile, services: Services) -> None:
    """Refuse returns of programs whose stacks move; warn where exceptions pass functions.

    The kernel changes what is on the stack.
    """
    if any(file.elf.section(name) is not None for name in _GO):
        raise PointError(
            "E0231",
            "no match",
            asking.span,
            notes=[
                f"return probes break Go programs, whose stacks move: '{file.path}' was made by Go"
            ],
            hint="probe the function without .return",
        )
    if _has_exceptions(file):
        services.diagnostics.warning(
            "W0692",
            f"'{file.path}' has exceptions, which return probes stop",
            asking.span,
            where="an exception or panic that leaves a function of this probe ends the program",
        )


def _has_exceptions(file: UserFile) -> bool:
    """True for a file of C++ or Rust in which exceptions or panics are caught, or cleaned up."""
    if file.elf.section(".gcc_except_table") is None:
        return False
    names = [file.dynamic.soname, *file.dynamic.needed]
    if any(name.startswith(_CAUGHT) for name in names):
        return True
    return b"rustc version" in (file.elf.read(".comment") or b"")


def returnable(
    functions: list[UserFunction], table: FunctionTable, file: UserFile, asking: PointComponent
) -> list[UserFunction]:
    """Functions whose return may be probed; `PointError` when that is none of them."""
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


def accepted(
    places: list[tuple[str, int]],
    file: UserFile,
    asking: PointComponent,
    services: Services,
    *,
    is_pattern: bool,
) -> set[int]:
    """Addresses, of some with names, whose instructions the kernel puts breakpoints on.

    What it refuses is a warning, as when it is armed: a single one stays, of a pattern it is left
    out. What it would do wrongly is left out always; `PointError` when nothing remains.
    """
    from stapy.debuginfo.user import x86

    found, refused, mistaken = set(), [], []
    for name, address in places:
        instruction = x86.decode(file.read(address, x86.LONGEST))
        if instruction is not None and instruction.is_mistaken:
            mistaken.append(name)
        elif instruction is not None and instruction.is_refused:
            refused.append(name)
            if not is_pattern:
                found.add(address)
        else:
            found.add(address)
    if places and not found:
        why = (
            f"the kernel takes the vector instruction of '{mistaken[0]}' for another one, and the "
            "program would go wrong"
            if mistaken
            else f"the kernel puts no breakpoint on the first instruction of '{refused[0]}'"
        )
        raise PointError("E0231", "no match", asking.span, notes=[why])
    out = mistaken + refused
    if out:
        shown = ", ".join(out[:4]) + (", …" if len(out) > 4 else "")
        services.diagnostics.warning(
            "W0691",
            "the kernel puts no breakpoint on this instruction"
            if refused and not is_pattern
            else "the kernel puts no breakpoint on some instructions",
            asking.span,
            where="this is not hit" if not is_pattern else f"{len(out)} left out",
            notes=[f"'{file.path}': {shown}"],
        )
    return found
