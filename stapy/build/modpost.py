"""What the kernel's ``modpost`` does, for one module: check its imports, make its CRC table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.debuginfo.elf import ElfFile
    from stapy.kernel.exports import Export, Exports

_GLOBAL = 1  # binding of a symbol
_NAME_BYTES = 56  # of a row of __versions, with the NUL
_GPL = frozenset(
    (
        "GPL",
        "GPL v2",
        "GPL and additional rights",
        "Dual BSD/GPL",
        "Dual MIT/GPL",
        "Dual MPL/GPL",
    )
)


class Imports(Record):
    """What a module takes from elsewhere.

    ``missing`` are names that nobody exports, ``refused`` pairs of name and
    reason.  ``depends`` are the modules that must be loaded first.
    """

    found: list[Export]
    missing: list[str] = new(list)
    refused: list[tuple[str, str]] = new(list)
    depends: list[str] = new(list)


def modinfo(elf: ElfFile) -> list[tuple[str, str]]:
    """List the ``name=value`` pairs of an object's ``.modinfo``."""
    pairs = []
    for item in (elf.read(".modinfo") or b"").split(b"\0"):
        name, equals, value = item.decode("utf-8", "replace").partition("=")
        if equals:
            pairs.append((name, value))
    return pairs


class GlobalNames(Record):
    """What an object gives to others, and what must come from elsewhere (weak names need not)."""

    defined: set[str]
    undefined: set[str]


def global_names(elf: ElfFile) -> GlobalNames:
    """Find an object's names that others can see."""
    names = GlobalNames(set(), set())
    for symbol in elf.symbols(with_local=False):
        if symbol.section:
            names.defined.add(symbol.name)
        elif symbol.binding == _GLOBAL and symbol.name:
            names.undefined.add(symbol.name)
    return names


def refusal(namespace: str) -> str:
    """Tell why a name is refused: its namespace, or ("") the module's licence."""
    if namespace:
        return f"needs MODULE_IMPORT_NS({namespace})"
    return "is for modules under the GPL only"


def resolve(elf: ElfFile, exports: Exports) -> Imports:
    """Look up all that a linked module needs, by the rules of ``modpost``."""
    info = modinfo(elf)
    licensed = any(name == "license" and value in _GPL for name, value in info)
    namespaces = {value for name, value in info if name == "import_ns"}
    imports = Imports([])
    for name in sorted(global_names(elf).undefined):
        export = exports.get(name)
        if export is None or export.name != name:
            imports.missing.append(name)
            continue
        imports.found.append(export)
        if export.gpl_only and not licensed:
            imports.refused.append((name, refusal("")))
        if export.namespace and export.namespace not in namespaces:
            imports.refused.append((name, refusal(export.namespace)))
        if export.owner != "vmlinux":
            owner = re.sub(r".*/", "", export.owner).replace("-", "_")
            if owner not in imports.depends:
                imports.depends.append(owner)
    return imports


def assembly(imports: Imports, exports: Exports, with_versions: bool, word: int = 8) -> str:
    """Write assembler text of the CRC table and the list of modules to be loaded first."""
    lines = [
        '\t.section .modinfo,"a",@progbits',
        f'\t.asciz "depends={",".join(imports.depends)}"',
    ]
    layout = exports.get("module_layout")
    rows = [*imports.found, *([layout] if layout else [])]
    if with_versions and rows:
        lines += ['\t.section __versions,"a",@progbits', "\t.balign 32"]
        for export in rows:
            lines += [
                f"\t.{'quad' if word == 8 else 'long'} {export.crc:#x}",
                f'\t.asciz "{export.name}"',
                f"\t.zero {_NAME_BYTES - len(export.name) - 1}",
            ]
    lines.append('\t.section .note.GNU-stack,"",@progbits')
    return "\n".join(lines) + "\n"


def too_long(imports: Imports) -> list[str]:
    """List the names that do not fit into a row of the CRC table."""
    return [e.name for e in imports.found if len(e.name) >= _NAME_BYTES]
