"""Whether a module is for this kernel and this program; what it is for, when it is not."""

from __future__ import annotations

import os
import struct

from . import refusals
from .elf import ModuleFile
from .ground.manifest import PROTOCOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

# e_machine of ELF, as `uname -m` has it.
_MACHINES = {
    3: ("i386", "i486", "i586", "i686"),
    21: ("ppc64", "ppc64le"),
    22: ("s390x", "s390"),
    40: ("armv7l", "armv6l"),
    62: ("x86_64",),
    183: ("aarch64",),
    243: ("riscv64", "riscv32"),
    258: ("loongarch64",),
}


def other_protocol(module: ModuleFile) -> str:
    """Say that a module speaks a language that this program does not; "" when they agree."""
    manifest = module.manifest()
    theirs = manifest.get("protocol", 1)  # those of the time before modules told it
    if theirs == PROTOCOL:
        return ""
    return (
        f"was made by another version of stapy ({manifest.get('stapy', '?')}, protocol {theirs}, "
        f"this one's is {PROTOCOL}): make it again with this one, or take the stapy-run of that one"
    )


def other_machine(module: ModuleFile) -> str:
    """Say which machine a module is for, "" when for this one or when that is not known."""
    (number,) = struct.unpack_from(module.elf.order + "H", module.elf.data, 18)
    names = _MACHINES.get(number, ())
    here = os.uname().machine
    known = any(here in row for row in _MACHINES.values())
    if not names or not known or here in names:
        return ""
    return f"was built for machines of kind {names[0]}, this is {here}"


def other_release(release: str, root: str = "/") -> str:
    """Say which kernel a module is for, and how this one differs; "" for this one.

    ``release`` is what the module tells, "" when it does not. Making it for this kernel is advised
    only where it would be loaded then.
    """
    running = os.uname().release
    if not release or release == running:
        return ""
    (number, flavour), (ours, our_flavour) = _parts(release), _parts(running)
    if number == ours:
        what = f"another flavour, '{flavour}' and not '{our_flavour}'"
    elif flavour == our_flavour:
        what = f"another release, {number} and not {ours}"
    else:
        what = "another release and flavour"
    why = refusals.no_modules(root)
    way = f"build it with -r {running}"
    if why:
        way = f"{why}: load it where {release} runs, or try the script with stapy --vm={release}"
    return f"was built for kernel {release}, this is {running}: {what}; {way}"


def _parts(release: str) -> "tuple[str, str]":
    """Cut a release into its number and its flavour: ("6.1.0-9", "rt-amd64")."""
    words = release.split("-")
    count = 1
    while count < len(words) and words[count][:1].isdigit():
        count += 1
    return "-".join(words[:count]), "-".join(words[count:])


def other_options(said: "List[str]") -> str:
    """Say which of the kernel's options differ, by what it printed when it refused a module.

    "" when it spoke of none.
    """
    for line in said:
        _, found, rest = line.partition("version magic '")
        mine, found_too, rest = rest.partition("' should be '")
        if not (found and found_too):
            continue
        theirs = rest.rpartition("'")[0] or rest
        extra = [word for word in mine.split() if word not in theirs.split()]
        missing = [word for word in theirs.split() if word not in mine.split()]
        what = [f"it has {' '.join(extra)}"] if extra else []
        what += [f"it lacks {' '.join(missing)}"] if missing else []
        if what:
            return (
                f"it was built for a kernel with other options ({', '.join(what)}): build it "
                "with the headers of this very kernel"
            )
    return ""
