"""The manifest: a module's own description, readable without loading it.

It is JSON, deflated when it is long, in the ELF section `SECTION`, beside the ``stapy=HASH`` line
that ``modinfo`` shows.  It is read by `stapy.run.elf`, on machines that have nothing else of ours.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

from stapy import __version__
from stapy.run.ground.manifest import PROTOCOL, SECTION

if TYPE_CHECKING:
    # Types only: who builds or runs modules has them from here.
    from stapy.run.ground.manifest import Manifest as Manifest
    from stapy.run.ground.manifest import ProbeRow as ProbeRow
    from stapy.run.ground.manifest import ProcessIdentity as ProcessIdentity
    from stapy.run.ground.manifest import ProgramFile as ProgramFile
    from stapy.run.ground.manifest import TableDemand as TableDemand

__all__ = ["SECTION", "assembly", "encode", "make_manifest"]

FORMAT = 1
_LONG = 4096  # bytes of JSON from which on it is deflated; a short one can be read by eye


def make_manifest(
    *,
    name: str,
    script_name: str,
    script_text: str,
    release: str,
    arch: str,
    probes: list[ProbeRow],
    limits: dict[str, int],
    build_ids: dict[str, str] | None = None,
    globals: dict[str, str] | None = None,
    files: dict[str, ProgramFile] | None = None,
    objects: TableDemand | None = None,
    input: str = "",
    any_release: bool = False,
    namespaces: int | None = None,
    process: ProcessIdentity | None = None,
    privilege: str = "stapdev",
) -> Manifest:
    """Build the manifest of one module.

    ``probes`` has a row per derived probe (``written``, ``points``, ``place``);
    ``build_ids`` maps "kernel", a module's name or a file's path to its build-id
    in hexadecimal; ``globals`` maps what ``NAME=VALUE`` can set at load time to
    its type ("long" or "string").  ``files`` maps the paths of programs that points
    name to what the consumer must know to open them (``optional``).  ``objects`` says
    which tables user stacks need.  ``input`` says how the script wants standard input, as
    "keys" or as "lines".  ``namespaces`` is the process in whose name spaces programs
    were looked up, ``process`` what tells it from another one of its number.  ``any_release``
    leaves it to the kernel itself whether the module fits.  ``privilege`` is the level that the
    script was translated for, which is left out where it is the highest.
    """
    more: Manifest = {"any_release": True} if any_release else {}
    if namespaces:
        more["namespaces"] = namespaces
    if process:
        more["process"] = process
    if files:
        more["files"] = files
    if objects:
        more["objects"] = objects
    if input:
        more["input"] = input
    if privilege != "stapdev":
        more["privilege"] = privilege
    return {
        **more,
        "format": FORMAT,
        "protocol": PROTOCOL,
        "stapy": __version__,
        "name": name,
        "script": {"name": script_name, "text": script_text},
        "release": release,
        "arch": arch,
        "probes": probes,
        "limits": limits,
        "build_ids": build_ids or {},
        "globals": globals or {},
    }


def encode(manifest: Manifest) -> bytes:
    """Encode the bytes that go into the section; equal manifests give equal bytes."""
    data = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode("ascii")
    if len(data) < _LONG:
        return data
    return zlib.compress(data, 9)


def assembly(data_file: str, digest: str) -> str:
    """Write assembler text that puts an encoded manifest, in ``data_file``, into a module.

    The section is not allocated: a loaded module does not pay for it.
    """
    quoted = data_file.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'\t.section {SECTION},"",@0x80000000\n'
        f'\t.incbin "{quoted}"\n'
        f'\t.section .modinfo,"a",@progbits\n'
        f'\t.asciz "stapy={digest}"\n'
        f'\t.section .note.GNU-stack,"",@progbits\n'
    )
